/* separable.c - log r_k(u, v) = -(g(u)' W_k f_k(v) + c_k), of which this is the part in front of
 * c_k. */
#include "nn/separable.h"

#include <inttypes.h>

#include "nn/cell_net.h"
#include "nn/heads.h"

void wmi_separable_opts_init(wmi_separable_opts *opts)
{
    *opts = (wmi_separable_opts){.g = {.kind = WMI_BODY_MLP}, .f = {.kind = WMI_BODY_MLP}};
    wmi_mlp_opts_init(&opts->g.mlp);
    wmi_mlp_opts_init(&opts->f.mlp);
    wmi_resnet_mnist(&opts->g.resnet);
    wmi_resnet_mnist(&opts->f.resnet);
}

void wmi_separable_omniglot(wmi_separable_opts *opts, int64_t n, int64_t width)
{
    wmi_separable_opts_init(opts);
    opts->g.kind = opts->f.kind = WMI_BODY_RESNET;
    wmi_resnet_omniglot(&opts->g.resnet, n, width);
    wmi_resnet_omniglot(&opts->f.resnet, n, width);
}

/* "The ConditionalScaleShift layers simply become ScaleShift layers, with no dependence on k": one
 * bridge, as far as this network is told. */
wmi_value wmi_separable_embed(wmi_net *net, const wmi_separable_opts *opts, wmi_value u)
{
    const int64_t m = net->m;
    const size_t mark = wmi_net_enter(net, "g");
    const bool shared = u.shared;

    net->m = 1;
    u.shared = false;
    u = wmi_body_features(net, &opts->g, false, u);
    u.shared = shared;
    net->m = m;
    wmi_net_leave(net, mark);
    return u;
}

/* Shared rows of g(u), repeated up to the n rows that v has for a bridge. */
static wmi_value match_rows(wmi_net *net, wmi_value u, wmi_value v)
{
    int64_t have, want;

    if (!net->graph || !u.node || !v.node || !u.shared)
        return u;
    have = u.node->shape.dim[0];
    want = v.node->shape.dim[0] / (v.shared ? 1 : net->m);
    if (have < 1 || want % have)
        wmi_net_fail(net, WM_ESHAPE, "%" PRId64 " rows of u for %" PRId64 " rows of v a bridge",
                     have, want);
    else
        u.node = wmi_rows_repeat(net->graph, u.node, want / have);
    return u;
}

static wmi_value features_of_v(wmi_net *net, const wmi_separable_opts *opts, bool independent,
                               wmi_value v, wmi_node *mix)
{
    if (!mix)
        return wmi_body_features(net, &opts->f, independent, v);
    if (independent || opts->f.kind != WMI_BODY_RESNET || !wmi_resnet_has_cells(&opts->f.resnet))
        wmi_net_fail(net, WM_EINVAL,
                     "only a network of cells, which all bridges share, mixes them");
    return wmi_cell_net(net, &opts->f.resnet, v, mix);
}

wmi_node *wmi_separable(wmi_net *net, const wmi_separable_opts *opts, bool independent, wmi_value u,
                        wmi_value v, wmi_node *mix)
{
    wmi_node *energy;
    size_t mark;

    u = wmi_separable_embed(net, opts, u);
    mark = wmi_net_enter(net, "f");
    v = features_of_v(net, opts, independent, v, mix);
    wmi_net_leave(net, mark);
    u = match_rows(net, u, v);
    mark = wmi_net_enter(net, "head");
    energy = wmi_head_bilinear(net, u, v);
    wmi_net_leave(net, mark);
    return energy;
}

wmi_node *wmi_separable_pairs(wmi_net *net, const wmi_separable_opts *opts, wmi_value u,
                              wmi_value v, wmi_node **own)
{
    wmi_graph *g = net->graph;
    wmi_node *uw; /* (n, f): rows g(u_i)' W */
    size_t mark;

    *own = NULL;
    u = wmi_separable_embed(net, opts, u);
    mark = wmi_net_enter(net, "f");
    v = wmi_body_features(net, &opts->f, false, v);
    wmi_net_leave(net, mark);
    mark = wmi_net_enter(net, "head");
    uw = wmi_head_bilinear_weights(net, u.c, v.c);
    wmi_net_leave(net, mark);
    uw = wmi_matmul(g, u.node, wmi_reshape(g, uw, 2, (int64_t[]){u.c, v.c}), false, false);
    *own = wmi_sum(g, wmi_mul(g, uw, v.node), 2u);
    return wmi_matmul(g, uw, v.node, false, true);
}
