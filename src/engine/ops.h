/* ops.h - the operations: settings (attr structs) and builders.
 *
 * A builder checks shapes through the op's infer() and returns the new node. Building is sticky:
 * the graph keeps the first error with the op's name and shapes, later builders return NULL
 * quietly, and wmi_compile() reports it. So calls can be nested without checks in between.
 *
 * Shapes are written (rows, ...). Images are NHWC. Rows that belong to bridges are grouped: all
 * rows of bridge 0, then all of bridge 1, and so on; m is the number of bridges. */
#ifndef WMI_ENGINE_OPS_H
#define WMI_ENGINE_OPS_H

#include "engine/graph.h"

/* ---- leaves ---- */
typedef struct wmi_leaf_attr {
    int rank;
    int64_t dim[WMI_MAX_RANK];
} wmi_leaf_attr;
wmi_node *wmi_input(wmi_graph *g, const char *name, int rank, const int64_t *dim);
/* The parameter `name` of the graph's table, which must exist; the same node every time. */
wmi_node *wmi_param(wmi_graph *g, const char *name);

/* ---- elementwise ---- */
typedef struct wmi_affine_attr {
    double a, b;
} wmi_affine_attr;
wmi_node *wmi_affine(wmi_graph *g, wmi_node *x, double a, double b); /* a x + b */

typedef struct wmi_leaky_attr {
    double slope;
} wmi_leaky_attr;
wmi_node *wmi_leaky_relu(wmi_graph *g, wmi_node *x, double slope); /* x > 0 ? x : slope x */
wmi_node *wmi_exp(wmi_graph *g, wmi_node *x);
/* LeakyReLU with a parabola for its kink, from -1/2 to 1/2; slope in [0, 1]. */
wmi_node *wmi_bent_relu(wmi_graph *g, wmi_node *x, double slope);
/* x (n, d), table (h, 5, d) of rates, offsets, gains, tops and bases -> (n, h, d): with u = rate x
 * + offset, gain times what u is above 0, at most top, its edges bent, less the base. No gradient
 * for the table. */
wmi_node *wmi_hinges(wmi_graph *g, wmi_node *x, wmi_node *table);

/* Broadcasting as in NumPy: shapes are aligned at the right, a 1 stretches. */
wmi_node *wmi_add(wmi_graph *g, wmi_node *a, wmi_node *b);
wmi_node *wmi_sub(wmi_graph *g, wmi_node *a, wmi_node *b);
wmi_node *wmi_mul(wmi_graph *g, wmi_node *a, wmi_node *b);
wmi_node *wmi_div(wmi_graph *g, wmi_node *a, wmi_node *b);

/* ---- reductions ---- */
typedef struct wmi_sum_attr {
    unsigned axes; /* bit i: sum over axis i, which disappears */
} wmi_sum_attr;
#define WMI_ALL_AXES ((1u << WMI_MAX_RANK) - 1)
wmi_node *wmi_sum(wmi_graph *g, wmi_node *x, unsigned axes);
wmi_node *wmi_mean(wmi_graph *g, wmi_node *x, unsigned axes);
wmi_node *wmi_global_sum_pool(wmi_graph *g, wmi_node *x); /* (n, h, w, c) -> (n, c) */
wmi_node *wmi_logsumexp(wmi_graph *g, wmi_node *x);       /* over the last axis, which disappears */

/* ---- rearranging ---- */
typedef struct wmi_reshape_attr {
    int rank;
    int64_t dim[WMI_MAX_RANK];
} wmi_reshape_attr;
wmi_node *wmi_reshape(wmi_graph *g, wmi_node *x, int rank, const int64_t *dim); /* no copy */
typedef struct wmi_permute_attr {
    int axis[WMI_MAX_RANK]; /* output axis i is input axis axis[i] */
} wmi_permute_attr;
wmi_node *wmi_permute(wmi_graph *g, wmi_node *x, const int *axis);
typedef struct wmi_slice_attr {
    int axis;
    int64_t start, stop;
} wmi_slice_attr;
wmi_node *wmi_slice(wmi_graph *g, wmi_node *x, int axis, int64_t start, int64_t stop);
typedef struct wmi_concat_attr {
    int axis;
} wmi_concat_attr;
wmi_node *wmi_concat(wmi_graph *g, int count, wmi_node *const *x, int axis);
/* Rows of x named by index (k), whole numbers held as reals: (n, ...) -> (k, ...). A row out of
 * range comes out as NaN, which the loss check reports; nothing outside x is read. No gradient for
 * index. */
wmi_node *wmi_gather(wmi_graph *g, wmi_node *x, wmi_node *index);
/* (n, h, w, c) -> (n, h/2, w/2, 4c), channel c becomes c*4 + 2*dy + dx; and back. */
wmi_node *wmi_squeeze2x2(wmi_graph *g, wmi_node *x);
wmi_node *wmi_unsqueeze2x2(wmi_graph *g, wmi_node *x);
typedef struct wmi_dropout_attr {
    double rate; /* in [0, 1) */
} wmi_dropout_attr;
wmi_node *wmi_dropout(wmi_graph *g, wmi_node *x, double rate);

/* ---- products ---- */
typedef struct wmi_matmul_attr {
    bool ta, tb; /* use the transpose of the last two axes */
} wmi_matmul_attr;
/* a (m, n, k) or (n, k), b (m, k, p) or (k, p); ranks 3 and 2 mix: the matrix serves all m. */
wmi_node *wmi_matmul(wmi_graph *g, wmi_node *a, wmi_node *b, bool ta, bool tb);
/* A layer of a conditional MLP in one op: leaky(scale_k (leaky(x, pre_slope) W + bias) + shift_k +
 * residual, slope) for the rows of bridge k. x (rows, in), W (in, out), bias (out); scale and shift
 * (m, out), or both NULL; residual (rows, out) or NULL, and NULL without them. A slope of 1 is no
 * activation; both are in [0, 1]. */
typedef struct wmi_dense_attr {
    double pre_slope, slope;
} wmi_dense_attr;
wmi_node *wmi_dense_layer(wmi_graph *g, wmi_node *x, wmi_node *w, wmi_node *bias, wmi_node *scale,
                          wmi_node *shift, wmi_node *residual, wmi_dense_attr attr);

/* ---- images ---- */
typedef struct wmi_conv_attr {
    int stride;
    double pre_slope; /* the input passes LeakyReLU(pre_slope) on its way in; 1 is none */
} wmi_conv_attr;
/* x (n, h, w, ci) * w (kh, kw, ci, co), SAME padding as in TensorFlow (surplus at bottom and
 * right): (n, ceil(h/stride), ceil(w/stride), co). No bias: a scale-shift follows. */
wmi_node *wmi_conv2d(wmi_graph *g, wmi_node *x, wmi_node *w, int stride, double pre_slope);
typedef struct wmi_pool_attr {
    bool max; /* else the average over valid cells */
    int size; /* window and stride; odd sizes round up */
} wmi_pool_attr;
wmi_node *wmi_pool2d(wmi_graph *g, wmi_node *x, bool max, int size);

/* y = pool(leaky(scale_k x + shift_k + residual)) for the rows of bridge k, in one pass.
 * x (rows, unit...); scale, shift (m, unit...) for one pair per unit, or (m, c) per last axis;
 * residual (rows, unit...) or NULL. With expand, x has rows/m rows that serve every bridge. pool is
 * 1 (none) or 2 (average 2x2 of an image, ceil). slope 1 is no activation. With pool the slope must
 * be 1. */
typedef struct wmi_scale_shift_attr {
    double slope;
    int pool;
    bool expand;
} wmi_scale_shift_attr;
wmi_node *wmi_scale_shift(wmi_graph *g, wmi_node *x, wmi_node *scale, wmi_node *shift,
                          wmi_node *residual, wmi_scale_shift_attr attr);

/* softmax(q k') v per row, no scaling: q, k (n, t, e), v (n, t, c) -> (n, t, c). */
wmi_node *wmi_attention(wmi_graph *g, wmi_node *q, wmi_node *k, wmi_node *v);

/* ---- flows ---- */
typedef struct wmi_rq_coupling_attr {
    int bins;     /* at most 64 */
    double bound; /* the spline acts on [-bound, bound] */
    bool inverse;
} wmi_rq_coupling_attr;
/* A rational-quadratic spline for every number: x (rows, d), raw (rows, d * (3 bins - 1)), a
 * number's widths, heights and inner slopes lying together -> (2, rows, d): y and log dy/dx. Raw
 * values of 0 are the identity. The inverse takes y to x, and log dx/dy. */
wmi_node *wmi_rq_coupling(wmi_graph *g, wmi_node *x, wmi_node *raw, wmi_rq_coupling_attr attr);
/* The matrix (d, d) of an invertible map, diag(exp(scale)) P L (U + diag(sign exp(log_diag))): lu
 * (d, d) holds L below and U above its diagonal, row i of P names row order[i] (whole numbers);
 * scale (d) or NULL. log |det| is the sum of log_diag and scale. No gradient for sign and order. */
wmi_node *wmi_lu_matrix(wmi_graph *g, wmi_node *lu, wmi_node *log_diag, wmi_node *sign,
                        wmi_node *order, wmi_node *scale);
/* What a SAME convolution sees of a channel that is 1 on the padding and 0 inside, plus a bias:
 * taps (kh, kw, c), bias (c) -> (h, w, c). */
typedef struct wmi_edge_bias_attr {
    int64_t h, w;
} wmi_edge_bias_attr;
wmi_node *wmi_edge_bias(wmi_graph *g, wmi_node *taps, wmi_node *bias, int64_t h, int64_t w);

/* ---- heads ---- */
typedef enum wmi_quadratic_kind {
    WMI_QUADRATIC_PSD,       /* Q = L L', L = strict lower part of A plus diag exp(A_ii - 5) */
    WMI_QUADRATIC_SYMMETRIC, /* off-diagonal = mirrored strict lower part of A, diagonal exp(A_ii -
                                5) */
    WMI_QUADRATIC_FREE       /* mirrored strict lower part of A, diagonal A_ii */
} wmi_quadratic_kind;
typedef struct wmi_quadratic_attr {
    wmi_quadratic_kind kind;
} wmi_quadratic_attr;
/* x' Q_k x: x (m, n, d), or (1, n, d) for the same rows at every bridge; A (m, d, d) of which only
 * the lower triangle is read -> (m, n). */
wmi_node *wmi_quadratic(wmi_graph *g, wmi_node *x, wmi_node *a, wmi_quadratic_kind kind);
/* u' W_k v: u (m or 1, n, e), W (m, e, f), v (m or 1, n, f) -> (m, n). */
wmi_node *wmi_bilinear(wmi_graph *g, wmi_node *u, wmi_node *w, wmi_node *v);
/* Sum over columns of a cubic B-spline: x (m or 1, n, d), coef (m, d, b), knots (d, b + 4)
 * increasing
 * -> (m, n). Outside [knot 3, knot b] a column counts as its nearest end: constant tails, so that
 * the head is bounded. No gradient for the knots. */
wmi_node *wmi_additive(wmi_graph *g, wmi_node *x, wmi_node *coef, wmi_node *knots);

/* ---- invertible maps ---- */
/* A lower triangular matrix (d, d): below (d, d) as it stands under the diagonal, exp(log_diag) (d)
 * on it, 0 above. */
wmi_node *wmi_lower(wmi_graph *g, wmi_node *below, wmi_node *log_diag);
typedef struct wmi_rq_knots_attr {
    double bound;
} wmi_rq_knots_attr;
/* Knots of rational-quadratic splines with K bins on [-bound, bound] from free numbers: raw (...,
 * 3K - 1) are K widths, K heights, K - 1 inner slopes; 0 is the identity -> (..., 3(K + 1)): K + 1
 * positions x, positions y, slopes. Bins are at least 1e-3 wide and high; slopes are at least 1e-3,
 * and 1 at both ends. */
wmi_node *wmi_rq_knots(wmi_graph *g, wmi_node *raw, double bound);
typedef struct wmi_rq_spline_attr {
    bool inverse;
} wmi_rq_spline_attr;
/* y = f(x), or with inverse f^-1(x), and log dy/dx, as (2, ...). x is (...), knots (last axes of
 * x..., 3(K + 1)): for x (rows, d), knots (d, .) are a spline for each column, and (rows, d, .) one
 * for each element. f is the identity outside its knots, which therefore must begin at x_0 = y_0
 * and end at x_K = y_K. */
wmi_node *wmi_rq_spline(wmi_graph *g, wmi_node *x, wmi_node *knots, bool inverse);

/* ---- losses: scores s = log r_k, (m, n): the first n_num columns are rows of waymark k
 * (numerator), the rest rows of waymark k + 1; weights (m, n) or NULL scale the rows, and each side
 * is divided by the sum of its weights. -> (m), one loss for each bridge. ---- */
typedef struct wmi_bridge_loss_attr {
    int64_t n_num;
} wmi_bridge_loss_attr;
/* E_num softplus(-s) + E_den softplus(s) */
wmi_node *wmi_logistic_loss(wmi_graph *g, wmi_node *s, wmi_node *weights, int64_t n_num);
/* -E_num s - 1 + E_den exp(s) */
wmi_node *wmi_nwj_loss(wmi_graph *g, wmi_node *s, wmi_node *weights, int64_t n_num);
/* 1/2 E_num (sigmoid(s) - 1)^2 + 1/2 E_den sigmoid(s)^2 */
wmi_node *wmi_lsq_loss(wmi_graph *g, wmi_node *s, wmi_node *weights, int64_t n_num);
/* One softmax over all m + 1 waymarks: s (m, n) is every bridge at every row, label (n) the waymark
 * that the row came from (0..m, whole numbers), weights (n) or NULL. The logit of waymark j is
 * sum_{k >= j} s_k. -> scalar: weighted mean of -log softmax[label]. */
wmi_node *wmi_multinomial_loss(wmi_graph *g, wmi_node *s, wmi_node *label, wmi_node *weights);

#endif
