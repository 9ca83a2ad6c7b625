/* heads.c - energies of the features, and the log-ratio that they add up to (heads.h).
 *
 * Paper, energy-based models: log r_k(x) = -f_k(x)' W_k f_k(x) - f_k(x)' b_k - c_k, W_k positive
 * definite, which bounds the density; Gaussians: x' W_k x + b_k; mutual information: g(u)' W_k
 * f_k(v). The authors' code has the first sign for all of them, and a constant in the last. */
#include "nn/heads.h"

static const wmi_init zero = {.kind = WMI_INIT_CONST};

wmi_head_opts wmi_head_linear(void)
{
    return (wmi_head_opts){.linear = true};
}

wmi_head_opts wmi_head_quadratic(wmi_quadratic_kind kind, bool linear)
{
    return (wmi_head_opts){.quadratic = true, .kind = kind, .linear = linear};
}

/* h' w_k: (m or 1, n, d) times (m, d, 1), read as (m, n). */
static wmi_node *inner(wmi_graph *g, wmi_node *h, wmi_node *w)
{
    wmi_node *x = h, *y;

    if (h && h->shape.dim[0] == 1) /* one matrix of rows for every bridge */
        x = wmi_reshape(g, h, 2, h->shape.dim + 1);
    y = wmi_matmul(g, x, w, false, false);
    return y ? wmi_reshape(g, y, 2, y->shape.dim) : NULL;
}

int64_t wmi_net_rows(const wmi_net *net)
{
    return net->smooth > 0 ? net->smooth : net->m;
}

wmi_node *wmi_head_levels(wmi_net *net, wmi_node *w, wmi_node *x)
{
    wmi_node *rows = wmi_matmul(net->graph, w, x, false, true);

    return net->smooth > 0 ? wmi_matmul(net->graph, net->basis, rows, false, false) : rows;
}

wmi_node *wmi_head_energy(wmi_net *net, const wmi_head_opts *opts, wmi_value h)
{
    const int64_t m = net->m, d = h.c;
    const wmi_init start =
        opts->quadratic || opts->from_zero ? zero : (wmi_init){.kind = WMI_INIT_GLOROT_NORMAL};
    wmi_node *x = wmi_value_by_bridge(net, h), *energy = NULL;

    if (!opts->quadratic && !opts->linear)
        wmi_net_fail(net, WM_EINVAL, "a head with neither a quadratic nor a linear term");
    if (opts->quadratic) {
        wmi_node *a = wmi_net_table(net, "a", 3, (int64_t[]){m, d, d}, zero, WMI_GROUP_BODY);

        if (net->graph)
            energy = wmi_quadratic(net->graph, x, a, opts->kind);
    }
    if (opts->linear && net->levels) {
        wmi_node *w =
            wmi_net_param(net, "w", 2, (int64_t[]){wmi_net_rows(net), d}, start, WMI_GROUP_BODY);

        if (net->graph)
            energy = wmi_energy_add(net, energy, wmi_head_levels(net, w, h.node));
    } else if (opts->linear) {
        wmi_node *w = wmi_net_table(net, "w", 3, (int64_t[]){m, d, 1}, start, WMI_GROUP_BODY);

        if (net->graph)
            energy = wmi_energy_add(net, energy, inner(net->graph, x, w));
    }
    return energy;
}

wmi_node *wmi_head_bilinear_weights(wmi_net *net, int64_t e, int64_t f)
{
    const wmi_init start = {WMI_INIT_NORMAL, 0, 0.005};

    return wmi_net_table(net, "w", 3, (int64_t[]){net->m, e, f}, start, WMI_GROUP_BODY);
}

wmi_node *wmi_head_bilinear(wmi_net *net, wmi_value u, wmi_value v)
{
    wmi_node *w = wmi_head_bilinear_weights(net, u.c, v.c);

    if (!net->graph)
        return NULL;
    return wmi_bilinear(net->graph, wmi_value_by_bridge(net, u), w, wmi_value_by_bridge(net, v));
}

wmi_node *wmi_head_additive(wmi_net *net, int64_t bases, wmi_node *knots, wmi_value x)
{
    wmi_node *coef =
        wmi_net_table(net, "coef", 3, (int64_t[]){net->m, x.c, bases}, zero, WMI_GROUP_SPLINE);

    if (!net->graph)
        return NULL;
    if (!knots)
        wmi_net_fail(net, WM_EINVAL, "the additive head has no knots");
    return wmi_additive(net->graph, wmi_value_by_bridge(net, x), coef, knots);
}

wmi_node *wmi_energy_add(wmi_net *net, wmi_node *a, wmi_node *b)
{
    return a && net->graph ? wmi_add(net->graph, a, b) : b;
}

wmi_node *wmi_energy_capped(wmi_net *net, wmi_node *energy, wmi_node *cap)
{
    wmi_graph *g = net->graph;
    const int64_t column[] = {net->m, 1};
    wmi_node *most = wmi_reshape(g, wmi_slice(g, cap, 0, 0, 1), 2, column),
             *edge = wmi_reshape(g, wmi_slice(g, cap, 0, 1, 2), 2, column);
    wmi_node *left = wmi_bent_relu(g, wmi_div(g, wmi_add(g, energy, most), edge), 0);

    return wmi_sub(g, wmi_mul(g, left, edge), most);
}

wmi_node *wmi_log_ratio(wmi_net *net, wmi_node *energy)
{
    wmi_node *c = wmi_net_table(net, "c", 1, &net->m, zero, WMI_GROUP_CONSTANT);

    if (!net->graph)
        return NULL;
    c = wmi_reshape(net->graph, c, 2, (int64_t[]){net->m, 1});
    return wmi_affine(net->graph, wmi_add(net->graph, energy, c), -1, 0);
}

void wmi_head_read(wmi_net *net, wmi_value x, double slope)
{
    const wmi_head_opts linear = {.linear = true, .from_zero = true};
    size_t mark;

    if (!net->levels)
        return;
    mark = wmi_net_enter(net, "read");
    x = wmi_layer_leaky_relu(net, x, slope);
    x.c *= x.h > 0 ? x.h * x.w : 1;
    x.h = x.w = 0;
    if (x.node)
        x.node = wmi_reshape(net->graph, x.node, 2, (int64_t[]){x.node->shape.dim[0], x.c});
    net->read = wmi_energy_add(net, net->read, wmi_head_energy(net, &linear, x));
    wmi_net_leave(net, mark);
}
