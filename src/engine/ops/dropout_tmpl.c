/* dropout_tmpl.c - inverted dropout (Srivastava et al. 2014): in training each number is kept with
 * probability 1 - rate and divided by that, so that evaluation is the identity.
 * The mask is a function of (seed, node, step, element): any thread may draw any part of it, float
 * and double graphs drop the same elements, and a run resumed at step t drops what it would have
 * dropped. */
#include <math.h>

#include "base/rng.h"
#include "engine/infer.h"
#include "engine/ops.h"
#include "engine/real.h"

enum {
    BLOCK = 1024
}; /* elements drawn at a time; a multiple of what the generator makes at once */

static wm_status infer(wmi_node *nd, wm_error *err)
{
    const double rate = ((const wmi_dropout_attr *)nd->attr)->rate;
    if (!(rate >= 0 && rate < 1))
        return wmi_infer_fail(nd, err, "rate %g is not in [0, 1)", rate);
    return wmi_infer_same(nd, err);
}

static void forward(const wmi_node *nd)
{
    const double rate = ((const wmi_dropout_attr *)nd->attr)->rate;
    const real scale = (real)(1 / (1 - rate));
    const real *x = nd->in[0]->val; /* (n), may be y itself */
    real *y = nd->val;              /* (n) */
    uint8_t *kept = nd->saved;      /* (n), or NULL where no gradient is wanted */
    const int64_t blocks = (nd->n + BLOCK - 1) / BLOCK;
    wmi_rng rng = wmi_rng_make(nd->run->seed, "dropout");
    rng = wmi_rng_sub(&rng, (uint64_t)nd->id);
    rng = wmi_rng_sub(&rng, nd->run->step);
#pragma omp parallel for schedule(static) num_threads(nd->run->threads) if (nd->n >= WMI_OMP_MIN)
    for (int64_t k = 0; k < blocks; k++) {
        const int64_t at = k * BLOCK, n = nd->n - at < BLOCK ? nd->n - at : BLOCK;
        float u[BLOCK];
        if (!nd->run->training) {
            for (int64_t i = at; i < at + n && x != y; i++)
                y[i] = x[i];
            continue;
        }
        wmi_rng_uniform_f32(&rng, (uint64_t)at, n, u);
        for (int64_t i = 0; i < n; i++)
            y[at + i] = (double)u[i] >= rate ? scale * x[at + i] : R(0.0);
        for (int64_t i = 0; i < n && kept; i++)
            kept[at + i] = (double)u[i] >= rate;
    }
}

static void backward(const wmi_node *nd)
{
    const double rate = ((const wmi_dropout_attr *)nd->attr)->rate;
    const real scale = (real)(1 / (1 - rate));
    const bool fresh = nd->fresh & 1u, training = nd->run->training;
    const uint8_t *kept = nd->saved;
    const real *dy = nd->grad;  /* (n) */
    real *dx = nd->in[0]->grad; /* (n) or NULL */
    if (!dx)
        return;
#pragma omp parallel for simd schedule(static)                                                     \
    num_threads(nd->run->threads) if (nd->n >= WMI_OMP_MIN)
    for (int64_t i = 0; i < nd->n; i++) {
        const real f = !training ? R(1.0) : kept[i] ? scale : R(0.0);
        dx[i] = (fresh ? R(0.0) : dx[i]) + f * dy[i];
    }
}

static size_t saved(const wmi_node *nd)
{
    return (size_t)nd->n;
}

DEFINE_OP(dropout, .n_in = 1, .infer = infer, .forward = forward, .backward = backward,
          .flags = WMI_OP_WRITES_FRESH | WMI_OP_INPLACE | WMI_OP_INPLACE_GRAD, .saved = saved);
