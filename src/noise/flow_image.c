/* flow_image.c - the flow of images (the paper's RQ-NSF): at each level 2x2 pixels become channels,
 * then steps of linear map and coupling, then one linear map more. Nothing is factored out: all
 * numbers pass all levels. */
#include "noise/flow.h"

static const wmi_init zero = {.kind = WMI_INIT_CONST};
static const wmi_init small = {.kind = WMI_INIT_NORMAL, .b = 0.05};

/* A 3x3 convolution times `scale` plus a bias, both for each channel, whose window also sees where
 * the image ends: a channel that is 1 on the padding and 0 inside, with weights "pad". All that is
 * not of the rows is worked into weights and bias map, so that one pass follows the convolution. */
static wmi_value edge_conv(wmi_flow *f, const char *name, wmi_value x, int64_t width, wmi_init init,
                           wmi_node *bias, wmi_node *scale, double pre_slope)
{
    wmi_graph *g = f->net.graph;
    const size_t mark = wmi_net_enter(&f->net, "%s", name);
    wmi_node *w =
        wmi_net_param(&f->net, "w", 4, (int64_t[]){3, 3, x.c, width}, init, WMI_GROUP_BODY);
    wmi_node *pad =
        wmi_net_param(&f->net, "pad", 3, (int64_t[]){3, 3, width}, init, WMI_GROUP_BODY);

    if (g) {
        wmi_node *map = wmi_mul(g, wmi_edge_bias(g, pad, bias, x.h, x.w), scale);

        x.node = wmi_add(g, wmi_conv2d(g, x.node, wmi_mul(g, w, scale), 1, pre_slope), map);
    }
    wmi_net_leave(&f->net, mark);
    x.c = width;
    return x;
}

/* A 1x1 convolution of relu(x), and actnorm. */
static wmi_value pixel_dense(wmi_flow *f, const char *name, wmi_value x, wmi_flow_actnorm a)
{
    const int64_t c = x.c, rows = f->rows * x.h * x.w;
    wmi_graph *g = f->net.graph;
    const size_t mark = wmi_net_enter(&f->net, "%s", name);
    wmi_node *w = wmi_net_param(&f->net, "w", 2, (int64_t[]){c, c}, small, WMI_GROUP_BODY);

    if (g) {
        wmi_node *flat = wmi_reshape(g, x.node, 2, (int64_t[]){rows, c});

        flat = wmi_dense_layer(g, flat, wmi_mul(g, w, a.scale), wmi_mul(g, a.b, a.scale), NULL,
                               NULL, NULL, (wmi_dense_attr){0, 1});
        x.node = wmi_reshape(g, flat, 4, (int64_t[]){f->rows, x.h, x.w, c});
    }
    wmi_net_leave(&f->net, mark);
    return x;
}

/* ReLUs happen where the next layer reads: a dropped number is 0 before and after one. */
static wmi_value network(wmi_flow *f, wmi_value x, int64_t count, int64_t values)
{
    const int64_t hidden = f->opts->hidden, out = count * values;
    wmi_net *net = &f->net;
    wmi_node *bias, *logs, *scale = NULL;
    wmi_flow_actnorm a;

    a = wmi_flow_actnorm_params(f, "norm1", hidden);
    x = edge_conv(f, "conv1", x, hidden, small, a.b, a.scale, 1);
    wmi_flow_note(f, "norm1", x.node);
    x = wmi_layer_dropout(net, x, f->opts->dropout);
    a = wmi_flow_actnorm_params(f, "norm2", hidden);
    x = pixel_dense(f, "conv2", x, a);
    wmi_flow_note(f, "norm2", x.node);
    x = wmi_layer_dropout(net, x, f->opts->dropout);
    bias = wmi_net_param(net, "bias", 1, &out, zero, WMI_GROUP_BODY);
    logs = wmi_net_param(net, "logs", 1, &out, zero, WMI_GROUP_BODY);
    if (net->graph)
        scale = wmi_exp(net->graph, logs);
    return edge_conv(f, "conv3", x, out, zero, bias, scale, 0);
}

static wmi_value squeeze(wmi_flow *f, wmi_value x)
{
    if (f->net.graph)
        x.node = wmi_squeeze2x2(f->net.graph, x.node);
    return (wmi_value){.node = x.node, .h = x.h / 2, .w = x.w / 2, .c = 4 * x.c};
}

static wmi_value unsqueeze(wmi_flow *f, wmi_value x)
{
    x.node = wmi_unsqueeze2x2(f->net.graph, x.node);
    return (wmi_value){.node = x.node, .h = 2 * x.h, .w = 2 * x.w, .c = x.c / 4};
}

wmi_value wmi_flow_image_stage(wmi_flow *f, int64_t i, wmi_value x)
{
    const int level = (int)(i / f->opts->steps), step = (int)(i % f->opts->steps);
    const bool first = step == 0, last = step == f->opts->steps - 1;
    const size_t mark = wmi_net_enter(&f->net, "level%d/step%d", level + 1, step + 1);

    if (f->inverse) {
        if (last)
            x = wmi_flow_linear(f, "last", false, x);
        x = wmi_flow_coupling(f, x, false, network);
        x = wmi_flow_linear(f, "mix", true, x);
        if (first)
            x = unsqueeze(f, x);
    } else {
        if (first)
            x = squeeze(f, x);
        x = wmi_flow_linear(f, "mix", true, x);
        x = wmi_flow_coupling(f, x, false, network);
        if (last)
            x = wmi_flow_linear(f, "last", false, x);
    }
    wmi_net_leave(&f->net, mark);
    return x;
}
