/* cond_resnet.c - CondResNet (paper, appendix "ResNet architectures with parameter sharing"; what
 * it leaves open is as in the authors' code):
 *
 *   stem conv -> ScaleShift_k -> blocks -> LeakyReLU -> sum over positions -> dense -> ScaleShift_k
 *   -> LeakyReLU                 (flat: without the sum, which knows what there is but not where)
 *   block:     act -> 3x3 conv -> ScaleShift_k -> act -> 3x3 conv -> ScaleShift_k -> [2x2 pool]
 *   shortcut:  [1x1 conv -> ScaleShift_k] -> [2x2 pool], added to the block; no activation after it
 *
 * An activation before a convolution goes into the convolution; ScaleShift, sum and average pooling
 * are one op. The average of a sum is the sum of averages, so average pooling follows the sum; the
 * maximum is not linear and is taken of both paths. Images are (rows, h, w, c). */
#include "nn/cond_resnet.h"

#include "nn/heads.h"

#include <inttypes.h>
#include <string.h>

static void set_blocks(wmi_resnet_opts *o, int count, const wmi_resnet_block *block)
{
    o->n_blocks = count;
    memcpy(o->block, block, (size_t)count * sizeof *block);
}

void wmi_resnet_mnist(wmi_resnet_opts *o)
{
    static const wmi_resnet_block block[] = {
        {.width = 64, .down = true},  {.width = 64},  {.width = 64, .down = true},  {.width = 64},
        {.width = 128, .down = true}, {.width = 128}, {.width = 128, .down = true}, {.width = 128}};

    *o = (wmi_resnet_opts){.height = 28,
                           .width = 28,
                           .channels = 1,
                           .stem = {.window = 3, .stride = 1, .width = 64},
                           .attention = 1,
                           .dense = 128,
                           .slope = 0.3};
    set_blocks(o, 8, block);
}

void wmi_resnet_omniglot(wmi_resnet_opts *o, int64_t n, int64_t width)
{
    const wmi_resnet_block block[] = {{.width = width, .down = true},     {.width = width},
                                      {.width = 2 * width, .down = true}, {.width = 2 * width},
                                      {.width = 2 * width, .down = true}, {.width = 2 * width}};

    *o = (wmi_resnet_opts){.height = 28 * n,
                           .width = 28 * n,
                           .channels = 1,
                           .stem = {.window = 5, .stride = 3, .width = width},
                           .max_pool = true,
                           .dense = 300 * n,
                           .slope = 0.3};
    set_blocks(o, 6, block);
}

void wmi_resnet_laptop(wmi_resnet_opts *o)
{
    static const wmi_resnet_block block[] = {{.width = 32},
                                             {.width = 32, .down = true},
                                             {.width = 64},
                                             {.width = 64, .down = true},
                                             {.width = 64}};

    *o = (wmi_resnet_opts){.height = 28,
                           .width = 28,
                           .channels = 1,
                           .stem = {.window = 5, .stride = 2, .width = 32},
                           .dense = 128,
                           .slope = 0.3};
    set_blocks(o, 5, block);
}

/* ScaleShift_k after the layer `name`, [+ residual], [2x2 average]. */
static wmi_value cond(wmi_net *net, const wmi_resnet_opts *o, const char *name, wmi_value x,
                      const wmi_value *residual, int pool)
{
    return wmi_layer_scale_shift(net, name, x, residual, (wmi_fused){1, pool, o->per_channel});
}

static wmi_value res_block(wmi_net *net, const wmi_resnet_opts *o, const wmi_resnet_block *b,
                           wmi_value x)
{
    wmi_value h, shortcut = x;

    h = wmi_layer_conv(net, "conv1", x, 3, 1, b->width, o->slope);
    h = cond(net, o, "conv1", h, NULL, 1);
    h = wmi_layer_dropout(net, h, o->dropout);
    h = wmi_layer_conv(net, "conv2", h, 3, 1, b->width, o->slope);
    if (b->project || b->width != x.c) {
        shortcut = wmi_layer_conv(net, "shortcut", x, 1, 1, b->width, 1);
        shortcut = cond(net, o, "shortcut", shortcut, NULL, 1);
    }
    if (b->down && o->max_pool) {
        h = wmi_layer_max_pool(net, cond(net, o, "conv2", h, NULL, 1));
        return wmi_layer_add(net, h, wmi_layer_max_pool(net, shortcut));
    }
    return cond(net, o, "conv2", h, &shortcut, b->down ? 2 : 1);
}

/* x + gamma out(softmax(g f') h), where f, g, h, out are 1x1 convolutions with bias, f and g to an
 * eighth of the channels; gamma starts at 0. The same for all bridges. */
static wmi_value attention(wmi_net *net, wmi_value x)
{
    const wmi_init glorot = {.kind = WMI_INIT_GLOROT}, zero = {.kind = WMI_INIT_CONST};
    const int64_t c = x.c, e = c < 8 ? 1 : c / 8, cells = x.h * x.w;
    const int64_t rows = x.node ? x.node->shape.dim[0] : 0;
    const size_t mark = wmi_net_enter(net, "attention");
    wmi_graph *g = net->graph;
    wmi_value pixels = {.c = c}, f, q, h; /* a 1x1 convolution: a dense layer on pixels as rows */
    wmi_node *gamma;

    if (g)
        pixels.node = wmi_reshape(g, x.node, 2, (int64_t[]){rows * cells, c});
    f = wmi_layer_dense(net, "f", pixels, e, glorot);
    q = wmi_layer_dense(net, "g", pixels, e, glorot);
    h = wmi_layer_dense(net, "h", pixels, c, glorot);
    if (g) {
        f.node = wmi_reshape(g, f.node, 3, (int64_t[]){rows, cells, e});
        q.node = wmi_reshape(g, q.node, 3, (int64_t[]){rows, cells, e});
        h.node = wmi_reshape(g, h.node, 3, (int64_t[]){rows, cells, c});
        h.node = wmi_attention(g, q.node, f.node, h.node);
        h.node = wmi_reshape(g, h.node, 2, (int64_t[]){rows * cells, c});
    }
    h = wmi_layer_dense(net, "out", h, c, glorot);
    gamma = wmi_net_param(net, "gamma", 1, (int64_t[]){1}, zero, WMI_GROUP_BODY);
    if (g) {
        h.node = wmi_mul(g, h.node, gamma);
        h.node = wmi_reshape(g, h.node, 4, (int64_t[]){rows, x.h, x.w, c});
        x.node = wmi_add(g, x.node, h.node);
    }
    wmi_net_leave(net, mark);
    return x;
}

static bool sane(wmi_net *net, const wmi_resnet_opts *o, int64_t columns)
{
    const int64_t h = o->height, w = o->width, c = o->channels;

    if (h < 1 || w < 1 || c < 1 || columns % h || columns / h % w || columns / h / w != c)
        wmi_net_fail(net, WM_ESHAPE,
                     "%" PRId64 " columns are no image of %" PRId64 " x %" PRId64 " x %" PRId64,
                     columns, h, w, c);
    if (o->stem.window < 1 || o->stem.stride < 1 || o->stem.width < 1 || o->dense < 1)
        wmi_net_fail(net, WM_EINVAL, "stem %dx%d stride %d to %" PRId64 ", dense %" PRId64,
                     o->stem.window, o->stem.window, o->stem.stride, o->stem.width, o->dense);
    if (o->n_blocks < 0 || o->n_blocks > WMI_RESNET_MAX_BLOCKS || o->attention < 0 ||
        o->attention > o->n_blocks)
        wmi_net_fail(net, WM_EINVAL, "%d blocks (at most %d), attention after block %d",
                     o->n_blocks, WMI_RESNET_MAX_BLOCKS, o->attention);
    for (int i = 0; i < o->n_blocks && !net->st; i++)
        if (o->block[i].width < 1)
            wmi_net_fail(net, WM_EINVAL, "block %d has width %" PRId64, i + 1, o->block[i].width);
    if (!(o->dropout >= 0 && o->dropout < 1))
        wmi_net_fail(net, WM_EINVAL, "dropout %g is not in [0, 1)", o->dropout);
    return !net->st;
}

wmi_value wmi_cond_resnet(wmi_net *net, const wmi_resnet_opts *o, wmi_value x)
{
    const wmi_init glorot = {.kind = WMI_INIT_GLOROT};

    if (!sane(net, o, x.c))
        return x;
    x.h = o->height;
    x.w = o->width;
    x.c = o->channels;
    if (x.node)
        x.node =
            wmi_reshape(net->graph, x.node, 4, (int64_t[]){x.node->shape.dim[0], x.h, x.w, x.c});

    x = wmi_layer_conv(net, "stem", x, o->stem.window, o->stem.stride, o->stem.width, 1);
    x = cond(net, o, "stem", x, NULL, 1);
    wmi_head_read(net, x, o->slope);
    for (int i = 0; i < o->n_blocks; i++) {
        const size_t mark = wmi_net_enter(net, "block%d", i + 1);

        x = res_block(net, o, &o->block[i], x);
        wmi_head_read(net, x, o->slope);
        wmi_net_leave(net, mark);
        if (o->attention == i + 1)
            x = attention(net, x);
    }

    x = wmi_layer_leaky_relu(net, x, o->slope);
    if (o->flat)
        x.c *= x.h * x.w;
    if (net->graph && o->flat)
        x.node = wmi_reshape(net->graph, x.node, 2, (int64_t[]){x.node->shape.dim[0], x.c});
    else if (net->graph)
        x.node = wmi_global_sum_pool(net->graph, x.node);
    x.h = x.w = 0;
    x = wmi_layer_dense(net, "dense", x, o->dense, glorot);
    return wmi_layer_scale_shift(net, "dense", x, NULL, (wmi_fused){o->slope, 1, false});
}
