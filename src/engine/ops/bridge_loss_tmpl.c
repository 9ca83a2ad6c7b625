/* bridge_loss_tmpl.c - the losses of single bridges (paper, section 3 and appendix on other
 * objectives).
 *
 * s (m, n) holds log r_k: n_num columns from the numerator's waymark, then those of the
 * denominator's. Each side is a weighted mean, and on both a loss is a function of z, which is
 * large where the bridge errs: z = -s for numerator rows, z = s for the others. logistic
 * softplus(z)             f' = sigmoid(z) lsq       sigmoid(z)^2 / 2        f' = sigmoid(z)^2
 * sigmoid(-z) nwj       z - 1, exp(z)           f' = 1, exp(z)
 * -> (m). exp() is only ever taken of a non-positive number, but for nwj, whose true value
 * overflows. Weights are constants: they get no gradient. A row of weight 0 does not count,
 * whatever its score; a side without weight is 0/0, NaN. */
#include <math.h>

#include "engine/infer.h"
#include "engine/ops.h"
#include "engine/real.h"

typedef enum objective { LOGISTIC, NWJ, LSQ } objective;

enum {
    PIECE = 8192
}; /* columns summed by one thread; sums do not depend on the number of threads */

typedef struct dims {
    int64_t m, n;
    int64_t from[2], to[2]; /* columns of the two sides */
    int64_t pieces[2];
} dims;

static dims dims_of(const wmi_node *nd)
{
    const int64_t *s = nd->in[0]->shape.dim;
    const int64_t n_num = ((const wmi_bridge_loss_attr *)nd->attr)->n_num;
    dims z = {.m = s[0], .n = s[1], .from = {0, n_num}, .to = {n_num, s[1]}};

    for (int side = 0; side < 2; side++)
        z.pieces[side] = (z.to[side] - z.from[side] + PIECE - 1) / PIECE;
    return z;
}

static inline __attribute__((always_inline)) real sigmoid(real z)
{
    const real e = exp(-fabs(z)); /* in [0, 1] */

    return (z >= 0 ? R(1.0) : e) / (R(1.0) + e);
}

static inline __attribute__((always_inline)) real loss_of(objective o, int side, real z)
{
    switch (o) {
    case LOGISTIC:
        return (z > 0 ? z : R(0.0)) + log1p(exp(-fabs(z)));
    case LSQ:
        return R(0.5) * sigmoid(z) * sigmoid(z);
    default:
        return side == 0 ? z : exp(z);
    }
}

static inline __attribute__((always_inline)) real slope_of(objective o, int side, real z)
{
    switch (o) {
    case LOGISTIC:
        return sigmoid(z);
    case LSQ:
        return sigmoid(z) * sigmoid(z) * sigmoid(-z);
    default:
        return side == 0 ? R(1.0) : exp(z);
    }
}

/* Sums of one piece: {weighted losses, weights}. */
static inline __attribute__((always_inline)) void
sum_piece(objective o, int side, const real *s, const real *weight, int64_t count, double sums[2])
{
    double loss = 0, total = 0;

    for (int64_t i = 0; i < count; i++) {
        const double w = weight ? (double)weight[i] : 1;

        if (w == 0)
            continue;
        loss += w * (double)loss_of(o, side, side == 0 ? -s[i] : s[i]);
        total += w;
    }
    sums[0] = loss;
    sums[1] = total;
}

/* scratch: (m, pieces of both sides, 2); saved: (m, 2) sums of weights. */
static inline __attribute__((always_inline)) void forward(const wmi_node *nd, objective o)
{
    const dims z = dims_of(nd);
    const int64_t pieces = z.pieces[0] + z.pieces[1], tasks = z.m * pieces;
    const real *s = nd->in[0]->val, *weights = nd->n_in > 1 ? nd->in[1]->val : NULL;
    double *sums = nd->scratch, *totals = nd->saved;
    real *y = nd->val;

#pragma omp parallel for schedule(static) num_threads(nd->run->threads) if (z.m * z.n >= PIECE)
    for (int64_t task = 0; task < tasks; task++) {
        const int64_t k = task / pieces, piece = task % pieces;
        const int side = piece >= z.pieces[0];
        const int64_t from = z.from[side] + (piece - (side ? z.pieces[0] : 0)) * PIECE;
        const int64_t count = z.to[side] - from < PIECE ? z.to[side] - from : PIECE;
        const int64_t at = k * z.n + from;

        sum_piece(o, side, s + at, weights ? weights + at : NULL, count, sums + 2 * task);
    }
    for (int64_t k = 0; k < z.m; k++) {
        double loss[2] = {0}, total[2] = {0};

        for (int64_t piece = 0; piece < pieces; piece++) {
            loss[piece >= z.pieces[0]] += sums[2 * (k * pieces + piece)];
            total[piece >= z.pieces[0]] += sums[2 * (k * pieces + piece) + 1];
        }
        y[k] = (real)(loss[0] / total[0] + loss[1] / total[1] - (o == NWJ ? 1 : 0));
        for (int side = 0; totals && side < 2; side++)
            totals[2 * k + side] = total[side];
    }
}

/* ds = -+ dy w / W f'(z) */
static inline __attribute__((always_inline)) void backward(const wmi_node *nd, objective o)
{
    const dims z = dims_of(nd);
    const real *s = nd->in[0]->val, *weights = nd->n_in > 1 ? nd->in[1]->val : NULL;
    const real *dy = nd->grad;
    const double *totals = nd->saved;
    const bool fresh = nd->fresh & 1u;
    real *ds = nd->in[0]->grad;

    if (!ds)
        return;
    for (int64_t k = 0; k < z.m; k++)
        for (int side = 0; side < 2; side++) {
            const real scale = (real)((double)dy[k] / totals[2 * k + side]) * (side ? 1 : -1);
            const int64_t to = k * z.n + z.to[side];

#pragma omp parallel for schedule(static) num_threads(nd->run->threads) if (z.n >= PIECE)
            for (int64_t i = k * z.n + z.from[side]; i < to; i++) {
                const real w = weights ? weights[i] * scale : scale;
                const real slope = slope_of(o, side, side == 0 ? -s[i] : s[i]);

                ds[i] = (fresh ? R(0.0) : ds[i]) + (w == 0 ? R(0.0) : w * slope);
            }
        }
}

static size_t scratch(const wmi_node *nd, wmi_phase phase)
{
    const dims z = dims_of(nd);

    return phase == WMI_FORWARD ? (size_t)(z.m * (z.pieces[0] + z.pieces[1]) * 2) * sizeof(double)
                                : 0;
}

static size_t saved(const wmi_node *nd)
{
    return (size_t)(nd->in[0]->shape.dim[0] * 2) * sizeof(double);
}

static unsigned keeps(const wmi_node *nd)
{
    return WMI_KEEP_IN(0) | (nd->n_in > 1 ? WMI_KEEP_IN(1) : 0);
}

static wm_status infer(wmi_node *nd, wm_error *err)
{
    const wmi_shape *s = &nd->in[0]->shape;
    const int64_t n_num = ((const wmi_bridge_loss_attr *)nd->attr)->n_num;

    if (nd->n_in < 1 || nd->n_in > 2)
        return wmi_infer_fail(nd, err, "takes scores, and weights or not");
    if (s->rank != 2)
        return wmi_infer_fail(nd, err, "scores must be (bridges, rows)");
    if (nd->n_in == 2) {
        const wmi_shape *w = &nd->in[1]->shape;

        if (w->rank != 2 || w->dim[0] != s->dim[0] || w->dim[1] != s->dim[1])
            return wmi_infer_fail(nd, err, "weights differ from scores in shape");
    }
    if (n_num < 1 || n_num >= s->dim[1])
        return wmi_infer_fail(nd, err, "%lld numerator rows of %lld leave one side empty",
                              (long long)n_num, (long long)s->dim[1]);
    return wmi_infer_set(nd, 1, s->dim, err);
}

static void logistic_forward(const wmi_node *nd)
{
    forward(nd, LOGISTIC);
}

static void logistic_backward(const wmi_node *nd)
{
    backward(nd, LOGISTIC);
}

static void nwj_forward(const wmi_node *nd)
{
    forward(nd, NWJ);
}

static void nwj_backward(const wmi_node *nd)
{
    backward(nd, NWJ);
}

static void lsq_forward(const wmi_node *nd)
{
    forward(nd, LSQ);
}

static void lsq_backward(const wmi_node *nd)
{
    backward(nd, LSQ);
}

#define BRIDGE_LOSS(loss)                                                                          \
    DEFINE_OP(loss##_loss, .n_in = -1, .infer = infer, .forward = loss##_forward,                  \
              .backward = loss##_backward, .no_grad = 1u << 1, .keeps = keeps,                     \
              .flags = WMI_OP_WRITES_FRESH, .scratch = scratch, .saved = saved)
BRIDGE_LOSS(logistic);
BRIDGE_LOSS(nwj);
BRIDGE_LOSS(lsq);
