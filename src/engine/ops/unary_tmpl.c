/* unary_tmpl.c - functions of one number, elementwise.
 * They find their derivative in the output, so that forward can run in place and the input dies
 * early; gradients are written in place too. Loops therefore carry no restrict: x and y, or dx
 * and dy, may be the same array, and `simd` tells the compiler that no other overlap exists. */
#include <math.h>

#include "engine/infer.h"
#include "engine/ops.h"
#include "engine/real.h"

#define ELEMENTWISE_FLAGS (WMI_OP_WRITES_FRESH | WMI_OP_INPLACE | WMI_OP_INPLACE_GRAD)

/* ---- a x + b ---- */

static void affine_forward(const wmi_node *nd)
{
    const wmi_affine_attr *at = nd->attr;
    const real a = (real)at->a, b = (real)at->b;
    const real *x = nd->in[0]->val; /* (n) */
    real *y = nd->val;              /* (n) */
#pragma omp parallel for simd schedule(static)                                                     \
    num_threads(nd->run->threads) if (nd->n >= WMI_OMP_MIN)
    for (int64_t i = 0; i < nd->n; i++)
        y[i] = a * x[i] + b;
}

static void affine_backward(const wmi_node *nd)
{
    const real a = (real)((const wmi_affine_attr *)nd->attr)->a;
    const bool fresh = nd->fresh & 1u;
    const real *dy = nd->grad;  /* (n) */
    real *dx = nd->in[0]->grad; /* (n) or NULL */
    if (!dx)
        return;
#pragma omp parallel for simd schedule(static)                                                     \
    num_threads(nd->run->threads) if (nd->n >= WMI_OMP_MIN)
    for (int64_t i = 0; i < nd->n; i++)
        dx[i] = (fresh ? R(0.0) : dx[i]) + a * dy[i];
}

/* ---- x > 0 ? x : slope x ---- */

/* A negative slope would hide the sign of x in the output, which is all that backward reads. */
static wm_status leaky_infer(wmi_node *nd, wm_error *err)
{
    const double slope = ((const wmi_leaky_attr *)nd->attr)->slope;
    if (!(slope >= 0 && isfinite(slope)))
        return wmi_infer_fail(nd, err, "slope %g is not a number from 0 up", slope);
    return wmi_infer_same(nd, err);
}

static void leaky_forward(const wmi_node *nd)
{
    const real slope = (real)((const wmi_leaky_attr *)nd->attr)->slope;
    const real *x = nd->in[0]->val; /* (n) */
    real *y = nd->val;              /* (n) */
#pragma omp parallel for simd schedule(static)                                                     \
    num_threads(nd->run->threads) if (nd->n >= WMI_OMP_MIN)
    for (int64_t i = 0; i < nd->n; i++)
        y[i] = x[i] > 0 ? x[i] : slope * x[i];
}

static void leaky_backward(const wmi_node *nd)
{
    const real slope = (real)((const wmi_leaky_attr *)nd->attr)->slope;
    const bool fresh = nd->fresh & 1u;
    const real *y = nd->val, *dy = nd->grad; /* (n), (n) */
    real *dx = nd->in[0]->grad;              /* (n) or NULL */
    if (!dx)
        return;
#pragma omp parallel for simd schedule(static)                                                     \
    num_threads(nd->run->threads) if (nd->n >= WMI_OMP_MIN)
    for (int64_t i = 0; i < nd->n; i++)
        dx[i] = (fresh ? R(0.0) : dx[i]) + (y[i] > 0 ? R(1.0) : slope) * dy[i];
}

/* ---- exp ---- */

static void exp_forward(const wmi_node *nd)
{
    const real *x = nd->in[0]->val; /* (n) */
    real *y = nd->val;              /* (n) */
#pragma omp parallel for schedule(static) num_threads(nd->run->threads) if (nd->n >= WMI_OMP_MIN)
    for (int64_t i = 0; i < nd->n; i++)
        y[i] = exp(x[i]);
}

static void exp_backward(const wmi_node *nd)
{
    const bool fresh = nd->fresh & 1u;
    const real *y = nd->val, *dy = nd->grad; /* (n), (n) */
    real *dx = nd->in[0]->grad;              /* (n) or NULL */
    if (!dx)
        return;
#pragma omp parallel for simd schedule(static)                                                     \
    num_threads(nd->run->threads) if (nd->n >= WMI_OMP_MIN)
    for (int64_t i = 0; i < nd->n; i++)
        dx[i] = (fresh ? R(0.0) : dx[i]) + dy[i] * y[i];
}

DEFINE_OP(affine, .n_in = 1, .infer = wmi_infer_same, .forward = affine_forward,
          .backward = affine_backward, .flags = ELEMENTWISE_FLAGS);
DEFINE_OP(leaky_relu, .n_in = 1, .infer = leaky_infer, .forward = leaky_forward,
          .backward = leaky_backward, .keep = WMI_KEEP_OUT, .flags = ELEMENTWISE_FLAGS);
DEFINE_OP(exp, .n_in = 1, .infer = wmi_infer_same, .forward = exp_forward, .backward = exp_backward,
          .keep = WMI_KEEP_OUT, .flags = ELEMENTWISE_FLAGS);
