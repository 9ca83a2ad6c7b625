/* build.c - the builders of ops.h: each gathers inputs and settings and appends one node. */
#include <inttypes.h>
#include <string.h>

#include "engine/ops.h"

static wmi_node *append1(wmi_graph *g, const char *op, wmi_node *x, const void *attr, size_t size)
{
    return wmi_graph_append(g, op, 1, &x, attr, size);
}

static wmi_node *append2(wmi_graph *g, const char *op, wmi_node *a, wmi_node *b, const void *attr,
                         size_t size)
{
    wmi_node *const in[] = {a, b};

    return wmi_graph_append(g, op, 2, in, attr, size);
}

static wmi_node *leaf(wmi_graph *g, const char *op, const char *name, int rank, const int64_t *dim)
{
    wmi_leaf_attr attr = {.rank = rank};
    wmi_node *nd;

    if (rank < 0 || rank > WMI_MAX_RANK)
        return wmi_graph_fail(g, WM_ESHAPE, "%s '%s': rank %d, at most %d", op, name, rank,
                              WMI_MAX_RANK);
    if (rank > 0) /* a scalar may come with dim NULL */
        memcpy(attr.dim, dim, (size_t)rank * sizeof *dim);
    nd = wmi_graph_append(g, op, 0, NULL, &attr, sizeof attr);
    wmi_node_rename(g, nd, name);
    return nd;
}

wmi_node *wmi_input(wmi_graph *g, const char *name, int rank, const int64_t *dim)
{
    return leaf(g, "input", name, rank, dim);
}

wmi_node *wmi_param(wmi_graph *g, const char *name)
{
    const wmi_params *p = wmi_graph_params(g);
    const wmi_param_entry *e = p ? wmi_params_find(p, name) : NULL;

    if (!e)
        return wmi_graph_fail(g, WM_EINVAL, "no parameter is called '%s'", name);
    /* one node for each: its gradient has one place, where readers add up */
    for (int64_t id = 0; id < wmi_graph_size(g); id++)
        if (strcmp(wmi_graph_node(g, id)->op->name, "param") == 0 &&
            strcmp(wmi_graph_node(g, id)->name, name) == 0)
            return wmi_graph_node(g, id);
    return leaf(g, "param", name, e->shape.rank, e->shape.dim);
}

wmi_node *wmi_affine(wmi_graph *g, wmi_node *x, double a, double b)
{
    return append1(g, "affine", x, &(wmi_affine_attr){a, b}, sizeof(wmi_affine_attr));
}

wmi_node *wmi_leaky_relu(wmi_graph *g, wmi_node *x, double slope)
{
    if (slope == 1)
        return x;
    return append1(g, "leaky_relu", x, &(wmi_leaky_attr){slope}, sizeof(wmi_leaky_attr));
}

wmi_node *wmi_exp(wmi_graph *g, wmi_node *x)
{
    return append1(g, "exp", x, NULL, 0);
}

wmi_node *wmi_bent_relu(wmi_graph *g, wmi_node *x, double slope)
{
    if (slope == 1)
        return x;
    return append1(g, "bent_relu", x, &(wmi_leaky_attr){slope}, sizeof(wmi_leaky_attr));
}

wmi_node *wmi_hinges(wmi_graph *g, wmi_node *x, wmi_node *table)
{
    return append2(g, "hinges", x, table, NULL, 0);
}

wmi_node *wmi_add(wmi_graph *g, wmi_node *a, wmi_node *b)
{
    return append2(g, "add", a, b, NULL, 0);
}

wmi_node *wmi_sub(wmi_graph *g, wmi_node *a, wmi_node *b)
{
    return append2(g, "sub", a, b, NULL, 0);
}

wmi_node *wmi_mul(wmi_graph *g, wmi_node *a, wmi_node *b)
{
    return append2(g, "mul", a, b, NULL, 0);
}

wmi_node *wmi_div(wmi_graph *g, wmi_node *a, wmi_node *b)
{
    return append2(g, "div", a, b, NULL, 0);
}

wmi_node *wmi_sum(wmi_graph *g, wmi_node *x, unsigned axes)
{
    return append1(g, "sum", x, &(wmi_sum_attr){axes}, sizeof(wmi_sum_attr));
}

wmi_node *wmi_mean(wmi_graph *g, wmi_node *x, unsigned axes)
{
    wmi_node *s = wmi_sum(g, x, axes);

    if (!s)
        return NULL;
    if (x->n == 0)
        return wmi_graph_fail(g, WM_ESHAPE, "mean of '%s', which is empty", x->name);
    return wmi_affine(g, s, (double)s->n / (double)x->n, 0);
}

wmi_node *wmi_global_sum_pool(wmi_graph *g, wmi_node *x)
{
    if (x && x->shape.rank != 4)
        return wmi_graph_fail(g, WM_ESHAPE, "global_sum_pool of '%s': rank %d, not (n, h, w, c)",
                              x->name, x->shape.rank);
    return wmi_sum(g, x, 1u << 1 | 1u << 2);
}

wmi_node *wmi_logsumexp(wmi_graph *g, wmi_node *x)
{
    return append1(g, "logsumexp", x, NULL, 0);
}

wmi_node *wmi_reshape(wmi_graph *g, wmi_node *x, int rank, const int64_t *dim)
{
    wmi_reshape_attr attr = {.rank = rank};

    if (rank < 0 || rank > WMI_MAX_RANK)
        return wmi_graph_fail(g, WM_ESHAPE, "reshape: rank %d, at most %d", rank, WMI_MAX_RANK);
    if (rank > 0) /* a scalar may come with dim NULL */
        memcpy(attr.dim, dim, (size_t)rank * sizeof *dim);
    return append1(g, "reshape", x, &attr, sizeof attr);
}

wmi_node *wmi_permute(wmi_graph *g, wmi_node *x, const int *axis)
{
    wmi_permute_attr attr = {{0}};

    if (!x)
        return append1(g, "permute", NULL, NULL, 0); /* the sticky failure */
    memcpy(attr.axis, axis, (size_t)x->shape.rank * sizeof *axis);
    return append1(g, "permute", x, &attr, sizeof attr);
}

wmi_node *wmi_slice(wmi_graph *g, wmi_node *x, int axis, int64_t start, int64_t stop)
{
    return append1(g, "slice", x, &(wmi_slice_attr){axis, start, stop}, sizeof(wmi_slice_attr));
}

wmi_node *wmi_concat(wmi_graph *g, int count, wmi_node *const *x, int axis)
{
    return wmi_graph_append(g, "concat", count, x, &(wmi_concat_attr){axis},
                            sizeof(wmi_concat_attr));
}

wmi_node *wmi_gather(wmi_graph *g, wmi_node *x, wmi_node *index)
{
    return append2(g, "gather", x, index, NULL, 0);
}

wmi_node *wmi_squeeze2x2(wmi_graph *g, wmi_node *x)
{
    return append1(g, "squeeze2x2", x, NULL, 0);
}

wmi_node *wmi_unsqueeze2x2(wmi_graph *g, wmi_node *x)
{
    return append1(g, "unsqueeze2x2", x, NULL, 0);
}

wmi_node *wmi_dropout(wmi_graph *g, wmi_node *x, double rate)
{
    if (rate == 0)
        return x;
    if (!(rate > 0 && rate < 1))
        return wmi_graph_fail(g, WM_EINVAL, "dropout: rate %g is not in [0, 1)", rate);
    return append1(g, "dropout", x, &(wmi_dropout_attr){rate}, sizeof(wmi_dropout_attr));
}

wmi_node *wmi_matmul(wmi_graph *g, wmi_node *a, wmi_node *b, bool ta, bool tb)
{
    return append2(g, "matmul", a, b, &(wmi_matmul_attr){ta, tb}, sizeof(wmi_matmul_attr));
}

wmi_node *wmi_dense_layer(wmi_graph *g, wmi_node *x, wmi_node *w, wmi_node *bias, wmi_node *scale,
                          wmi_node *shift, wmi_node *residual, wmi_dense_attr attr)
{
    wmi_node *const in[] = {x, w, bias, scale, shift, residual};

    return wmi_graph_append(g, "dense",
                            residual         ? 6
                            : scale || shift ? 5
                                             : 3,
                            in, &attr, sizeof attr);
}

wmi_node *wmi_conv2d(wmi_graph *g, wmi_node *x, wmi_node *w, int stride, double pre_slope)
{
    return append2(g, "conv2d", x, w, &(wmi_conv_attr){stride, pre_slope}, sizeof(wmi_conv_attr));
}

wmi_node *wmi_pool2d(wmi_graph *g, wmi_node *x, bool max, int size)
{
    return append1(g, "pool2d", x, &(wmi_pool_attr){max, size}, sizeof(wmi_pool_attr));
}

wmi_node *wmi_scale_shift(wmi_graph *g, wmi_node *x, wmi_node *scale, wmi_node *shift,
                          wmi_node *residual, wmi_scale_shift_attr attr)
{
    wmi_node *const in[] = {x, scale, shift, residual};

    return wmi_graph_append(g, "scale_shift", residual ? 4 : 3, in, &attr, sizeof attr);
}

wmi_node *wmi_attention(wmi_graph *g, wmi_node *q, wmi_node *k, wmi_node *v)
{
    wmi_node *const in[] = {q, k, v};

    return wmi_graph_append(g, "attention", 3, in, NULL, 0);
}

wmi_node *wmi_rq_coupling(wmi_graph *g, wmi_node *x, wmi_node *raw, wmi_rq_coupling_attr attr)
{
    return append2(g, "rq_coupling", x, raw, &attr, sizeof attr);
}

wmi_node *wmi_lu_matrix(wmi_graph *g, wmi_node *lu, wmi_node *log_diag, wmi_node *sign,
                        wmi_node *order, wmi_node *scale)
{
    wmi_node *const in[] = {lu, log_diag, sign, order, scale};

    return wmi_graph_append(g, "lu_matrix", scale ? 5 : 4, in, NULL, 0);
}

wmi_node *wmi_edge_bias(wmi_graph *g, wmi_node *taps, wmi_node *bias, int64_t h, int64_t w)
{
    return append2(g, "edge_bias", taps, bias, &(wmi_edge_bias_attr){h, w},
                   sizeof(wmi_edge_bias_attr));
}

wmi_node *wmi_quadratic(wmi_graph *g, wmi_node *x, wmi_node *a, wmi_quadratic_kind kind)
{
    return append2(g, "quadratic", x, a, &(wmi_quadratic_attr){kind}, sizeof(wmi_quadratic_attr));
}

wmi_node *wmi_bilinear(wmi_graph *g, wmi_node *u, wmi_node *w, wmi_node *v)
{
    wmi_node *const in[] = {u, w, v};

    return wmi_graph_append(g, "bilinear", 3, in, NULL, 0);
}

wmi_node *wmi_additive(wmi_graph *g, wmi_node *x, wmi_node *coef, wmi_node *knots)
{
    wmi_node *const in[] = {x, coef, knots};

    return wmi_graph_append(g, "additive", 3, in, NULL, 0);
}

wmi_node *wmi_lower(wmi_graph *g, wmi_node *below, wmi_node *log_diag)
{
    return append2(g, "lower", below, log_diag, NULL, 0);
}

wmi_node *wmi_rq_knots(wmi_graph *g, wmi_node *raw, double bound)
{
    return append1(g, "rq_knots", raw, &(wmi_rq_knots_attr){bound}, sizeof(wmi_rq_knots_attr));
}

wmi_node *wmi_rq_spline(wmi_graph *g, wmi_node *x, wmi_node *knots, bool inverse)
{
    return append2(g, "rq_spline", x, knots, &(wmi_rq_spline_attr){inverse},
                   sizeof(wmi_rq_spline_attr));
}

static wmi_node *bridge_loss(wmi_graph *g, const char *op, wmi_node *s, wmi_node *weights,
                             int64_t n_num)
{
    wmi_node *const in[] = {s, weights};

    return wmi_graph_append(g, op, weights ? 2 : 1, in, &(wmi_bridge_loss_attr){n_num},
                            sizeof(wmi_bridge_loss_attr));
}

wmi_node *wmi_logistic_loss(wmi_graph *g, wmi_node *s, wmi_node *weights, int64_t n_num)
{
    return bridge_loss(g, "logistic_loss", s, weights, n_num);
}

wmi_node *wmi_nwj_loss(wmi_graph *g, wmi_node *s, wmi_node *weights, int64_t n_num)
{
    return bridge_loss(g, "nwj_loss", s, weights, n_num);
}

wmi_node *wmi_lsq_loss(wmi_graph *g, wmi_node *s, wmi_node *weights, int64_t n_num)
{
    return bridge_loss(g, "lsq_loss", s, weights, n_num);
}

wmi_node *wmi_multinomial_loss(wmi_graph *g, wmi_node *s, wmi_node *label, wmi_node *weights)
{
    wmi_node *const in[] = {s, label, weights};

    return wmi_graph_append(g, "multinomial_loss", weights ? 3 : 2, in, NULL, 0);
}
