/* softmax_tmpl.c - softmax and its logarithm over the last axis, shifted by the row's maximum.
 * Both find their gradient in the output, so that forward can run in place. */
#include <math.h>

#include "engine/infer.h"
#include "engine/ops.h"
#include "engine/real.h"

static wm_status infer(wmi_node *nd, wm_error *err)
{
    if (nd->in[0]->shape.rank == 0)
        return wmi_infer_fail(nd, err, "a scalar has no last axis");
    return wmi_infer_same(nd, err);
}

static int64_t row_length(const wmi_node *nd)
{
    return nd->shape.dim[nd->shape.rank - 1];
}

static int64_t row_count(const wmi_node *nd)
{
    const int64_t d = row_length(nd);
    return d ? nd->n / d : 0;
}

/* A row of nothing but -inf has no softmax and becomes NaN, which the loss check reports. */
static real row_max(const real *x, int64_t d)
{
    real most = x[0];
    for (int64_t j = 1; j < d; j++)
        most = x[j] > most ? x[j] : most;
    return most;
}

static void softmax_forward(const wmi_node *nd)
{
    const int64_t d = row_length(nd), rows = row_count(nd);
#pragma omp parallel for schedule(static) num_threads(nd->run->threads) if (nd->n >= WMI_OMP_MIN)
    for (int64_t i = 0; i < rows; i++) {
        const real *x = (const real *)nd->in[0]->val + i * d; /* may be y itself */
        real *y = (real *)nd->val + i * d;
        const real most = row_max(x, d);
        double sum = 0;
        real scale;
        for (int64_t j = 0; j < d; j++) {
            y[j] = exp(x[j] - most);
            sum += (double)y[j];
        }
        scale = (real)(1 / sum);
        for (int64_t j = 0; j < d; j++)
            y[j] *= scale;
    }
}

/* dx += y (dy - sum dy y) */
static void softmax_backward(const wmi_node *nd)
{
    const int64_t d = row_length(nd), rows = row_count(nd);
    const bool fresh = nd->fresh & 1u;
    if (!nd->in[0]->grad)
        return;
#pragma omp parallel for schedule(static) num_threads(nd->run->threads) if (nd->n >= WMI_OMP_MIN)
    for (int64_t i = 0; i < rows; i++) {
        const real *restrict y = (const real *)nd->val + i * d;
        const real *restrict dy = (const real *)nd->grad + i * d;
        real *restrict dx = (real *)nd->in[0]->grad + i * d;
        double dot = 0;
        real mean;
        for (int64_t j = 0; j < d; j++)
            dot += (double)dy[j] * (double)y[j];
        mean = (real)dot;
        for (int64_t j = 0; j < d; j++)
            dx[j] = (fresh ? R(0.0) : dx[j]) + y[j] * (dy[j] - mean);
    }
}

static void log_softmax_forward(const wmi_node *nd)
{
    const int64_t d = row_length(nd), rows = row_count(nd);
#pragma omp parallel for schedule(static) num_threads(nd->run->threads) if (nd->n >= WMI_OMP_MIN)
    for (int64_t i = 0; i < rows; i++) {
        const real *x = (const real *)nd->in[0]->val + i * d; /* may be y itself */
        real *y = (real *)nd->val + i * d;
        const real most = row_max(x, d);
        double sum = 0;
        real log_sum;
        for (int64_t j = 0; j < d; j++)
            sum += (double)exp(x[j] - most);
        log_sum = (real)log(sum);
        for (int64_t j = 0; j < d; j++)
            y[j] = (x[j] - most) - log_sum; /* in this order: x - most is exact near the maximum */
    }
}

/* dx += dy - exp(y) sum dy */
static void log_softmax_backward(const wmi_node *nd)
{
    const int64_t d = row_length(nd), rows = row_count(nd);
    const bool fresh = nd->fresh & 1u;
    if (!nd->in[0]->grad)
        return;
#pragma omp parallel for schedule(static) num_threads(nd->run->threads) if (nd->n >= WMI_OMP_MIN)
    for (int64_t i = 0; i < rows; i++) {
        const real *restrict y = (const real *)nd->val + i * d;
        const real *restrict dy = (const real *)nd->grad + i * d;
        real *restrict dx = (real *)nd->in[0]->grad + i * d;
        double sum = 0;
        real total;
        for (int64_t j = 0; j < d; j++)
            sum += (double)dy[j];
        total = (real)sum;
        for (int64_t j = 0; j < d; j++)
            dx[j] = (fresh ? R(0.0) : dx[j]) + (dy[j] - exp(y[j]) * total);
    }
}

extern const wmi_op_def OPNAME(softmax), OPNAME(log_softmax);

const wmi_op_def OPNAME(softmax) = {
    .name = "softmax",
    .n_in = 1,
    .infer = infer,
    .forward = softmax_forward,
    .backward = softmax_backward,
    .keep = WMI_KEEP_OUT,
    .flags = WMI_OP_WRITES_FRESH | WMI_OP_INPLACE,
};
const wmi_op_def OPNAME(log_softmax) = {
    .name = "log_softmax",
    .n_in = 1,
    .infer = infer,
    .forward = log_softmax_forward,
    .backward = log_softmax_backward,
    .keep = WMI_KEEP_OUT,
    .flags = WMI_OP_WRITES_FRESH | WMI_OP_INPLACE,
};
