/* mlp.c - the conditional MLP of the paper's code. With cond(x) = ScaleShift_k(dense(x)):
 *   residual:  cond -> [act -> cond -> act -> dropout -> cond, + shortcut] x blocks -> act -> cond
 *   plain:     [cond -> act -> dropout] x blocks -> cond
 * The layers of a block start by variance scaling, 2.0 (He) and 0.1, the others Glorot-uniform. The
 * features leave without an activation. That of levels is plain, and knows of no k. */
#include "nn/mlp.h"

#include <inttypes.h>

#include "nn/heads.h"

void wmi_mlp_opts_init(wmi_mlp_opts *opts)
{
    *opts = (wmi_mlp_opts){.width = 128, .out = 128, .blocks = 1, .residual = true, .slope = 0.3};
}

static wmi_value block(wmi_net *net, const wmi_mlp_opts *o, wmi_value x)
{
    const wmi_init he = {.kind = WMI_INIT_HE, .a = 2.0}, small = {.kind = WMI_INIT_HE, .a = 0.1};
    wmi_value h = wmi_layer_conditional(net, "dense1", x, o->width, he, NULL, o->slope, o->slope);

    h = wmi_layer_dropout(net, h, o->dropout);
    return wmi_layer_conditional(net, "dense2", h, o->width, small, &x, 1, 1);
}

static bool sane(wmi_net *net, const wmi_mlp_opts *o)
{
    if (o->width < 1 || o->out < 1 || o->blocks < 0 || !(o->dropout >= 0 && o->dropout < 1))
        wmi_net_fail(net, WM_EINVAL, "width %" PRId64 ", out %" PRId64 ", blocks %d, dropout %g",
                     o->width, o->out, o->blocks, o->dropout);
    return !net->st;
}

/* Of levels: columns of about unit variance -> [dense -> act] x blocks, every layer of which is
 * read, about its mean. */
static wmi_value of_levels(wmi_net *net, const wmi_mlp_opts *o, wmi_value x)
{
    const wmi_init lecun = {.kind = WMI_INIT_HE, .a = 1.0}, spread = {WMI_INIT_NORMAL, 0, 0.3};
    const double mean = 0.65;

    for (int i = 0; i < o->blocks; i++) {
        const size_t mark = wmi_net_enter(net, "block%d", i + 1);
        wmi_node *w, *b;

        w = wmi_net_param(net, "w", 2, (int64_t[]){x.c, o->width}, lecun, WMI_GROUP_BODY);
        b = wmi_net_param(net, "b", 1, &o->width, spread, WMI_GROUP_BODY);
        x.c = o->width;
        if (net->graph) {
            x.node =
                wmi_dense_layer(net->graph, x.node, w, b, NULL, NULL, NULL, (wmi_dense_attr){1, 1});
            x.node = wmi_affine(net->graph, wmi_bent_relu(net->graph, x.node, 0), 1, -mean);
        }
        if (i + 1 < o->blocks)
            wmi_head_read(net, x, 1);
        wmi_net_leave(net, mark);
    }
    return x;
}

wmi_value wmi_mlp(wmi_net *net, const wmi_mlp_opts *o, wmi_value x)
{
    const wmi_init glorot = {.kind = WMI_INIT_GLOROT};

    if (!sane(net, o))
        return x;
    if (net->levels)
        return of_levels(net, o, x);
    if (o->residual)
        x = wmi_layer_conditional(net, "first", x, o->width, glorot, NULL, 1, 1);
    for (int i = 0; i < o->blocks; i++) {
        const size_t mark = wmi_net_enter(net, "block%d", i + 1);

        if (o->residual)
            x = block(net, o, x);
        else
            x = wmi_layer_dropout(
                net, wmi_layer_conditional(net, "dense", x, o->width, glorot, NULL, 1, o->slope),
                o->dropout);
        wmi_net_leave(net, mark);
    }
    return wmi_layer_conditional(net, "last", x, o->out, glorot, NULL, o->residual ? o->slope : 1,
                                 1);
}
