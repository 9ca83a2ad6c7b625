/* flow.c - what the flows of images and of tables share: linear maps, couplings, the way from x to
 * z and back. The start from data is flow_start.c. */
#include "noise/flow.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* A matrix takes d^3 / 3 multiply-adds to make from its factors, so wide tables mix their columns
 * by a permutation. */
enum { WIDEST_LU = 256 };

static const wmi_init zero = {.kind = WMI_INIT_CONST};
static const wmi_init one = {.kind = WMI_INIT_CONST, .a = 1};

static bool is_image(const wmi_noise_opts *o)
{
    return o->height > 0;
}

int64_t wmi_flow_stages(const wmi_noise_opts *o)
{
    return (int64_t)o->levels * o->steps;
}

/* ---- log-determinants ---- */

static void add_to(wmi_flow *f, wmi_node **total, wmi_node *term)
{
    *total = *total ? wmi_add(f->net.graph, *total, term) : term;
}

/* `times` the sum of a vector of parameters, log |det dz/dx|. */
static void add_constant(wmi_flow *f, wmi_node *v, int64_t times)
{
    const double factor = (double)(f->inverse ? -times : times);

    add_to(f, &f->constant,
           wmi_affine(f->net.graph, wmi_sum(f->net.graph, v, WMI_ALL_AXES), factor, 0));
}

/* ---- actnorm ---- */

wmi_flow_actnorm wmi_flow_actnorm_params(wmi_flow *f, const char *name, int64_t c)
{
    const size_t mark = wmi_net_enter(&f->net, "%s", name);
    wmi_flow_actnorm a = {0};

    a.b = wmi_net_param(&f->net, "b", 1, &c, zero, WMI_GROUP_BODY);
    a.s = wmi_net_param(&f->net, "s", 1, &c, zero, WMI_GROUP_BODY);
    if (f->net.graph)
        a.scale = wmi_exp(f->net.graph, a.s);
    wmi_net_leave(&f->net, mark);
    return a;
}

void wmi_flow_note(wmi_flow *f, const char *name, wmi_node *node)
{
    wmi_flow_norm *n = &f->norm[f->n_norms];

    if (!f->net.graph || f->n_norms == WMI_FLOW_NORMS)
        return;
    if (snprintf(n->path, sizeof n->path, "%s%s", f->net.path, name) >= (int)sizeof n->path) {
        wmi_net_fail(&f->net, WM_EINVAL, "the path of a parameter is too long");
        return;
    }
    n->node = node;
    f->n_norms++;
}

/* ---- linear maps ---- */

static wmi_value with_pixels(wmi_flow *f, wmi_value like, wmi_node *flat)
{
    const int64_t image[] = {f->rows, like.h, like.w, like.c};

    like.node = like.h ? wmi_reshape(f->net.graph, flat, 4, image) : flat;
    return like;
}

static wmi_node *without_pixels(wmi_flow *f, wmi_value x)
{
    const int64_t pixels = x.h ? x.h * x.w : 1;

    return wmi_reshape(f->net.graph, x.node, 2, (int64_t[]){f->rows * pixels, x.c});
}

/* (d, rows) of (rows, d), its rows picked by order, and back: columns in another order. */
static wmi_node *reorder(wmi_graph *g, wmi_node *x, wmi_node *order)
{
    static const int swap[] = {1, 0};

    return wmi_permute(g, wmi_gather(g, wmi_permute(g, x, swap), order), swap);
}

/* Actnorm and a fixed order of the columns, for tables too wide for a matrix. */
static wmi_value permutation(wmi_flow *f, wmi_value x)
{
    wmi_graph *g = f->net.graph;
    const wmi_flow_actnorm a = wmi_flow_actnorm_params(f, "norm", x.c);
    wmi_node *order = wmi_net_param(&f->net, "order", 1, &x.c, zero, WMI_GROUP_BODY);
    wmi_node *back = wmi_net_param(&f->net, "inverse", 1, &x.c, zero, WMI_GROUP_BODY);

    if (!g)
        return x;
    wmi_flow_note(f, "norm", x.node);
    add_constant(f, a.s, 1);
    if (f->inverse)
        x.node = wmi_sub(g, wmi_div(g, reorder(g, x.node, back), a.scale), a.b);
    else
        x.node = reorder(g, wmi_mul(g, wmi_add(g, x.node, a.b), a.scale), order);
    return x;
}

/* x V + shift for every pixel. A handful of channels is too little for the dense layer's kernels;
 * then the shift is spread over a whole image first (taps of 1x1 are never outside), so that adding
 * it is a loop over thousands of numbers and not over four. */
static wmi_value shifted_product(wmi_flow *f, wmi_value x, wmi_node *v, wmi_node *shift)
{
    wmi_graph *g = f->net.graph;
    wmi_node *taps, *y;

    if (!x.h || x.c >= 16)
        return with_pixels(f, x,
                           wmi_dense_layer(g, without_pixels(f, x), v, shift, NULL, NULL, NULL,
                                           (wmi_dense_attr){1, 1}));
    taps = wmi_reshape(g, shift, 3, (int64_t[]){1, 1, x.c});
    y = with_pixels(f, x, wmi_matmul(g, without_pixels(f, x), v, false, false)).node;
    x.node = wmi_add(g, y, wmi_edge_bias(g, taps, shift, x.h, x.w));
    return x;
}

/* y = ((x + b) exp(s)) W = x V + b V with V = diag(exp(s)) W: actnorm costs no pass of its own. */
static wmi_value matrix(wmi_flow *f, bool actnorm, wmi_value x)
{
    const int64_t c = x.c, square[] = {c, c}, pixels = x.h ? x.h * x.w : 1;
    wmi_graph *g = f->net.graph;
    wmi_net *net = &f->net;
    wmi_flow_actnorm a = {0};
    wmi_node *lu, *log_diag, *sign, *order, *inverse, *v, *shift;

    if (actnorm)
        a = wmi_flow_actnorm_params(f, "norm", c);
    lu = wmi_net_param(net, "lu", 2, square, zero, WMI_GROUP_BODY);
    log_diag = wmi_net_param(net, "log_diag", 1, &c, zero, WMI_GROUP_BODY);
    sign = wmi_net_param(net, "sign", 1, &c, one, WMI_GROUP_BODY);
    order = wmi_net_param(net, "order", 1, &c, zero, WMI_GROUP_BODY);
    inverse = wmi_net_param(net, "inverse", 2, square, zero, WMI_GROUP_BODY); /* of V */
    if (!g)
        return x;
    add_constant(f, log_diag, pixels);
    if (actnorm) {
        wmi_flow_note(f, "norm", x.node);
        add_constant(f, a.s, pixels);
    }
    if (f->inverse) {
        v = wmi_matmul(g, without_pixels(f, x), inverse, false, false);
        return with_pixels(f, x, actnorm ? wmi_sub(g, v, a.b) : v);
    }
    v = wmi_lu_matrix(g, lu, log_diag, sign, order, a.s);
    if (!actnorm)
        return with_pixels(f, x, wmi_matmul(g, without_pixels(f, x), v, false, false));
    shift = wmi_matmul(g, wmi_reshape(g, a.b, 2, (int64_t[]){1, c}), v, false, false);
    return shifted_product(f, x, v, wmi_reshape(g, shift, 1, &c));
}

wmi_value wmi_flow_linear(wmi_flow *f, const char *name, bool actnorm, wmi_value x)
{
    const size_t mark = wmi_net_enter(&f->net, "%s", name);

    x = !x.h && x.c > WIDEST_LU ? permutation(f, x) : matrix(f, actnorm, x);
    wmi_net_leave(&f->net, mark);
    return x;
}

/* ---- couplings ---- */

static wmi_value part(wmi_flow *f, wmi_value x, int64_t from, int64_t to)
{
    if (f->net.graph && to > from && to - from < x.c) /* an empty part keeps the node of x */
        x.node = wmi_slice(f->net.graph, x.node, x.h ? 3 : 1, from, to);
    x.c = to - from;
    return x;
}

/* Numbers through their splines; their log slopes are added up for each row. */
static wmi_value splines(wmi_flow *f, wmi_value x, wmi_value raw)
{
    const int64_t pixels = x.h ? x.h * x.w : 1;
    const wmi_rq_coupling_attr attr = {(int)f->opts->bins, f->opts->bound, f->inverse};
    wmi_graph *g = f->net.graph;
    wmi_node *y, *log_slope;

    y = wmi_rq_coupling(g, without_pixels(f, x), without_pixels(f, raw), attr);
    log_slope = wmi_reshape(g, wmi_slice(g, y, 0, 1, 2), 2, (int64_t[]){f->rows, pixels * x.c});
    add_to(f, &f->log_det, wmi_sum(g, log_slope, 1u << 1));
    y = wmi_reshape(g, wmi_slice(g, y, 0, 0, 1), 2, (int64_t[]){f->rows * pixels, x.c});
    return with_pixels(f, x, y);
}

wmi_value wmi_flow_coupling(wmi_flow *f, wmi_value x, bool swap, wmi_flow_network *network)
{
    const int64_t half = x.c / 2, values = 3 * f->opts->bins - 1;
    const wmi_value low = part(f, x, 0, half), high = part(f, x, half, x.c);
    const wmi_value given = swap ? high : low;
    wmi_value moved = swap ? low : high;
    const wmi_value raw = network(f, given, moved.c, values);

    if (!f->net.graph)
        return x;
    moved = splines(f, moved, raw);
    if (given.c) {
        wmi_node *const both[] = {swap ? moved.node : given.node, swap ? given.node : moved.node};

        moved.node = wmi_concat(f->net.graph, 2, both, x.h ? 3 : 1);
        moved.c = x.c;
    }
    return moved;
}

/* ---- the whole flow ---- */

static void check_opts(wmi_net *net, const wmi_noise_opts *o)
{
    const int64_t unit = INT64_C(1) << (o->levels > 0 && o->levels < 16 ? o->levels : 0);

    if (o->dim < 1 || o->steps < 1 || o->levels < 1 || o->levels > 15 || o->hidden < 1)
        wmi_net_fail(net, WM_EINVAL,
                     "a flow of dim %" PRId64 ", %d levels of %d steps, %" PRId64 " hidden units",
                     o->dim, o->levels, o->steps, o->hidden);
    else if (!(o->dropout >= 0 && o->dropout < 1))
        wmi_net_fail(net, WM_EINVAL, "dropout %g is not in [0, 1)", o->dropout);
    else if (o->bins < 1 || o->bins > 64 || !(o->bound > 1e-3 * (double)o->bins))
        wmi_net_fail(net, WM_EINVAL, "splines of %" PRId64 " bins (1 to 64) on +-%g", o->bins,
                     o->bound);
    else if (is_image(o) &&
             (o->width < 1 || o->channels < 1 || o->height * o->width * o->channels != o->dim))
        wmi_net_fail(net, WM_ESHAPE,
                     "images of %" PRId64 " x %" PRId64 " x %" PRId64 " have not %" PRId64
                     " numbers",
                     o->height, o->width, o->channels, o->dim);
    else if (is_image(o) && (o->height % unit || o->width % unit))
        wmi_net_fail(net, WM_ESHAPE,
                     "images of %" PRId64 " x %" PRId64 " cannot be halved %d times: take fewer "
                     "levels, pad them, or treat them as vectors",
                     o->height, o->width, o->levels);
}

static wmi_value stage(wmi_flow *f, int64_t i, wmi_value x)
{
    return is_image(f->opts) ? wmi_flow_image_stage(f, i, x) : wmi_flow_table_stage(f, i, x);
}

wm_status wmi_flow_declare(wmi_params *params, const char *prefix, const wmi_noise_opts *o,
                           wm_error *err)
{
    wmi_flow f = {.net = wmi_net_declare(params, prefix, 1, err), .opts = o};
    wmi_value x = {.h = o->height, .w = o->width, .c = is_image(o) ? o->channels : o->dim};

    check_opts(&f.net, o);
    for (int64_t i = 0; i < wmi_flow_stages(o) && !f.net.st; i++)
        x = stage(&f, i, x);
    return wmi_net_status(&f.net, err);
}

/* 2x2 pixels into channels, or back, once for each level. */
static wmi_value fold_levels(wmi_flow *f, wmi_value x, bool back)
{
    for (int i = 0; i < f->opts->levels; i++) {
        x.node =
            back ? wmi_unsqueeze2x2(f->net.graph, x.node) : wmi_squeeze2x2(f->net.graph, x.node);
        x.h = back ? 2 * x.h : x.h / 2;
        x.w = back ? 2 * x.w : x.w / 2;
        x.c = back ? x.c / 4 : 4 * x.c;
    }
    return x;
}

static wmi_node *go_through(wmi_graph *g, const char *prefix, const wmi_noise_opts *o,
                            wmi_node *from, bool inverse, wmi_node **log_det)
{
    wmi_flow f = {.net = wmi_net_build(g, prefix, 1), .opts = o, .inverse = inverse};
    wmi_value x = {.h = o->height, .w = o->width, .c = is_image(o) ? o->channels : o->dim};
    const int64_t n = wmi_flow_stages(o);
    wmi_node *to;

    if (log_det)
        *log_det = NULL;
    if (!from)
        return NULL;
    check_opts(&f.net, o);
    if (from->shape.rank != 2 || from->shape.dim[1] != o->dim)
        wmi_net_fail(&f.net, WM_ESHAPE, "'%s' is not (rows, %" PRId64 ")", from->name, o->dim);
    if (f.net.st)
        return NULL;
    f.rows = from->shape.dim[0];
    x = with_pixels(&f, x, from);
    if (is_image(o) && inverse)
        x = fold_levels(&f, x, false);
    for (int64_t i = 0; i < n; i++)
        x = stage(&f, inverse ? n - 1 - i : i, x);
    if (is_image(o) && !inverse)
        x = fold_levels(&f, x, true);
    to = wmi_reshape(g, x.node, 2, from->shape.dim);
    if (log_det)
        *log_det = wmi_add(g, f.log_det, f.constant);
    return to;
}

wmi_node *wmi_flow_to_z(wmi_graph *g, const char *prefix, const wmi_noise_opts *opts, wmi_node *x,
                        wmi_node **log_det)
{
    return go_through(g, prefix, opts, x, false, log_det);
}

wmi_node *wmi_flow_to_x(wmi_graph *g, const char *prefix, const wmi_noise_opts *opts, wmi_node *z,
                        wmi_node **log_det)
{
    return go_through(g, prefix, opts, z, true, log_det);
}
