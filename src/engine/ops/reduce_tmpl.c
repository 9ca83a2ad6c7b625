/* reduce_tmpl.c - sum over any axes, and log sum exp over the last axis. Accumulators are double.
 */
#include <math.h>

#include "engine/infer.h"
#include "engine/ops.h"
#include "engine/ops/sweep.h"
#include "engine/real.h"

/* ---- sum ---- */

static wm_status sum_infer(wmi_node *nd, wm_error *err)
{
    const wmi_shape *x = &nd->in[0]->shape;
    const unsigned axes = ((const wmi_sum_attr *)nd->attr)->axes;
    int64_t dim[WMI_MAX_RANK];
    int rank = 0;
    if (axes != WMI_ALL_AXES && axes >> x->rank)
        return wmi_infer_fail(nd, err, "axes 0x%x name more than %d", axes, x->rank);
    for (int i = 0; i < x->rank; i++)
        if (!(axes >> i & 1u))
            dim[rank++] = x->dim[i];
    return wmi_infer_set(nd, rank, dim, err);
}

/* The sweep through x with y as operand 0: y's shape with the summed axes back as 1. */
static sweep sum_sweep(const wmi_node *nd)
{
    const wmi_shape *x = &nd->in[0]->shape;
    const unsigned axes = ((const wmi_sum_attr *)nd->attr)->axes;
    wmi_shape y = *x;
    for (int i = 0; i < x->rank; i++)
        if (axes >> i & 1u)
            y.dim[i] = 1;
    return sweep_make(x, &y, x);
}

static void sum_forward(const wmi_node *nd)
{
    const sweep w = sum_sweep(nd);
    fold(&(fold_job){.w = &w,
                     .term = FOLD_X,
                     .x = nd->in[0]->val,
                     .scale = 1,
                     .out = nd->val,
                     .fresh = true},
         nd->scratch, nd->run->threads);
}

static size_t sum_scratch(const wmi_node *nd, wmi_phase phase)
{
    const sweep w = sum_sweep(nd);
    return phase == WMI_FORWARD ? fold_scratch(&w) : 0;
}

/* dx += dy, stretched */
static void sum_backward(const wmi_node *nd)
{
    enum { BLOCK = 4096 };
    const sweep w = sum_sweep(nd);
    const int64_t total = nd->in[0]->n, len = w.dim[w.rank - 1], step = w.stride[0][w.rank - 1];
    const int64_t blocks = (total + BLOCK - 1) / BLOCK;
    const bool fresh = nd->fresh & 1u;
    const real *dy = nd->grad;
    real *dx = nd->in[0]->grad;
    if (!dx)
        return;
#pragma omp parallel for schedule(static) num_threads(nd->run->threads) if (total >= WMI_OMP_MIN)
    for (int64_t k = 0; k < blocks; k++) {
        const int64_t end = (k + 1) * BLOCK < total ? (k + 1) * BLOCK : total;
        for (int64_t i = k * BLOCK; i < end;) {
            const int64_t col = i % len, n = end - i < len - col ? end - i : len - col;
            const real *restrict g = dy + sweep_row(&w, 0, i / len) + col * step;
            real *restrict d = dx + i;
            if (step) {
                for (int64_t j = 0; j < n; j++)
                    d[j] = (fresh ? R(0.0) : d[j]) + g[j];
            } else {
                for (int64_t j = 0; j < n; j++)
                    d[j] = (fresh ? R(0.0) : d[j]) + g[0];
            }
            i += n;
        }
    }
}

/* ---- log sum exp ---- */

static wm_status logsumexp_infer(wmi_node *nd, wm_error *err)
{
    const wmi_shape *x = &nd->in[0]->shape;
    if (x->rank == 0)
        return wmi_infer_fail(nd, err, "a scalar has no last axis");
    return wmi_infer_set(nd, x->rank - 1, x->dim, err);
}

/* Shifted by the row's maximum; a maximum of +-inf is no shift, and then -inf, inf and NaN come out
 * of the formula by themselves. An empty row gives -inf. */
static void logsumexp_forward(const wmi_node *nd)
{
    const wmi_node *in = nd->in[0];
    const int64_t d = in->shape.dim[in->shape.rank - 1];
    const real *restrict x = in->val; /* (n, d) */
    real *restrict y = nd->val;       /* (n) */
#pragma omp parallel for schedule(static) num_threads(nd->run->threads) if (in->n >= WMI_OMP_MIN)
    for (int64_t i = 0; i < nd->n; i++) {
        const real *row = x + i * d;
        real most = -(real)INFINITY;
        double sum = 0;
        for (int64_t j = 0; j < d; j++)
            most = row[j] > most ? row[j] : most;
        if (!isfinite(most))
            most = 0;
        for (int64_t j = 0; j < d; j++)
            sum += (double)exp(row[j] - most);
        y[i] = (real)((double)most + log(sum));
    }
}

/* dx += dy exp(x - y) */
static void logsumexp_backward(const wmi_node *nd)
{
    const wmi_node *in = nd->in[0];
    const int64_t d = in->shape.dim[in->shape.rank - 1];
    const bool fresh = nd->fresh & 1u;
    const real *restrict x = in->val, *restrict y = nd->val, *restrict dy = nd->grad;
    real *restrict dx = in->grad; /* (n, d) or NULL */
    if (!dx)
        return;
#pragma omp parallel for schedule(static) num_threads(nd->run->threads) if (in->n >= WMI_OMP_MIN)
    for (int64_t i = 0; i < nd->n; i++) {
        const real shift = isfinite(y[i]) ? y[i] : 0; /* a row of -inf: no NaN, but 0 */
        for (int64_t j = i * d; j < (i + 1) * d; j++)
            dx[j] = (fresh ? R(0.0) : dx[j]) + dy[i] * exp(x[j] - shift);
    }
}

DEFINE_OP(sum, .n_in = 1, .infer = sum_infer, .forward = sum_forward, .backward = sum_backward,
          .flags = WMI_OP_WRITES_FRESH, .scratch = sum_scratch);
DEFINE_OP(logsumexp, .n_in = 1, .infer = logsumexp_infer, .forward = logsumexp_forward,
          .backward = logsumexp_backward, .keep = WMI_KEEP_IN(0) | WMI_KEEP_OUT,
          .flags = WMI_OP_WRITES_FRESH);
