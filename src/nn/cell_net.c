/* cell_net.c - one ResNet for all cells, and their codes side by side or joined (cell_net.h). */
#include "nn/cell_net.h"

#include <inttypes.h>

/* (rows, height, width, c) -> (rows * cells, height / down, width / across, c) */
static wmi_node *cut(wmi_graph *g, const wmi_resnet_opts *o, wmi_node *x)
{
    const int64_t rows = x->shape.dim[0], down = o->cells_down, across = o->cells_across;
    const int64_t h = o->height / down, w = o->width / across, c = o->channels;

    x = wmi_reshape(g, x, 4, (int64_t[]){rows * down, h, across, w * c});
    x = wmi_permute(g, x, (int[]){0, 2, 1, 3});
    return wmi_reshape(g, x, 2, (int64_t[]){rows * down * across, h * w * c});
}

/* The code of every cell, (rows * cells, dense). */
static wmi_value cell_codes(wmi_net *net, const wmi_resnet_opts *o, wmi_value x)
{
    const int64_t m = net->m;
    wmi_resnet_opts one = *o;
    wmi_value cells = {.c = x.c / (o->cells_down * o->cells_across)};

    one.height /= o->cells_down;
    one.width /= o->cells_across;
    one.cells_down = one.cells_across = 0;
    if (x.node)
        cells.node = cut(net->graph, o, x.node);
    net->m = 1;
    cells = wmi_cond_resnet(net, &one, cells);
    net->m = m;
    return cells;
}

static bool sane(wmi_net *net, const wmi_resnet_opts *o, int64_t columns)
{
    if (o->height * o->width * o->channels != columns)
        wmi_net_fail(net, WM_ESHAPE,
                     "%" PRId64 " columns are no image of %" PRId64 " x %" PRId64 " x %" PRId64,
                     columns, o->height, o->width, o->channels);
    else if (o->cells_down < 1 || o->cells_across < 1 || o->height % o->cells_down ||
             o->width % o->cells_across)
        wmi_net_fail(net, WM_ESHAPE,
                     "an image of %" PRId64 " x %" PRId64 " has no %" PRId64 " x %" PRId64
                     " equal cells",
                     o->height, o->width, o->cells_down, o->cells_across);
    return !net->st;
}

wmi_value wmi_cell_net(wmi_net *net, const wmi_resnet_opts *o, wmi_value x, wmi_node *mix)
{
    const wmi_init glorot = {.kind = WMI_INIT_GLOROT};
    const bool shared = x.shared && !mix;
    const int64_t cells = o->cells_down * o->cells_across;

    if (!sane(net, o, x.c))
        return x;
    x = cell_codes(net, o, x);
    if (x.node && mix)
        x.node = wmi_gather(net->graph, x.node, mix);
    if (x.node)
        x.node = wmi_reshape(net->graph, x.node, 2,
                             (int64_t[]){x.node->shape.dim[0] / cells, cells * x.c});
    x.c *= cells;
    x.shared = shared;
    if (!o->join)
        return wmi_layer_scale_shift(net, "codes", x, NULL, (wmi_fused){1, 1, false});
    return wmi_layer_conditional(net, "join", x, o->join, glorot, NULL, 1, o->slope);
}
