/* bent_relu_tmpl.c - rectifiers without a kink, for networks whose gradients are fitted: those of a
 * broken line jump.
 *
 *     H(x) = 0 up to -1/2, (x + 1/2)^2 / 2, x from 1/2 on
 *     bent_relu: y = B(x) = slope x + (1 - slope) H(x), LeakyReLU but for (-1/2, 1/2)
 *     hinges: y_rj = gain_rj (H(u) - H(u - top_rj)) - base_rj, u = rate_rj x_j + offset_rj, r = 0
 * .. h - 1, for every column j: from -base up to gain top - base, however far x goes
 *
 * B'(x)^2 = slope + 2 (1 - slope) B(x), held in [slope^2, 1]: bent_relu's backward reads its output
 * alone. */
#include "engine/infer.h"
#include "engine/ops.h"
#include "engine/real.h"

/* H'(x), in [0, 1]. */
static inline real rise(real x)
{
    const real v = x + R(0.5);

    return v < 0 ? R(0.0) : v > 1 ? R(1.0) : v;
}

static inline real hinge(real x)
{
    const real up = rise(x);

    return up * (x + R(0.5) - R(0.5) * up);
}

/* ---- bent_relu ---- */

/* Beyond [0, 1] the output would not tell the slope. */
static wm_status bent_infer(wmi_node *nd, wm_error *err)
{
    const double slope = ((const wmi_leaky_attr *)nd->attr)->slope;

    if (!(slope >= 0 && slope <= 1))
        return wmi_infer_fail(nd, err, "slope %g is not in [0, 1]", slope);
    return wmi_infer_same(nd, err);
}

static void bent_forward(const wmi_node *nd)
{
    const real slope = (real)((const wmi_leaky_attr *)nd->attr)->slope;
    const real *x = nd->in[0]->val; /* (n) */
    real *y = nd->val;              /* (n) */
#pragma omp parallel for simd schedule(static)                                                     \
    num_threads(nd->run->threads) if (nd->n >= WMI_OMP_MIN)
    for (int64_t i = 0; i < nd->n; i++)
        y[i] = slope * x[i] + (1 - slope) * hinge(x[i]);
}

static void bent_backward(const wmi_node *nd)
{
    const real slope = (real)((const wmi_leaky_attr *)nd->attr)->slope, least = slope * slope;
    const bool fresh = nd->fresh & 1u;
    const real *y = nd->val, *dy = nd->grad; /* (n), (n) */
    real *dx = nd->in[0]->grad;              /* (n) or NULL */
    if (!dx)
        return;
#pragma omp parallel for simd schedule(static)                                                     \
    num_threads(nd->run->threads) if (nd->n >= WMI_OMP_MIN)
    for (int64_t i = 0; i < nd->n; i++) {
        const real square = slope + 2 * (1 - slope) * y[i];
        const real held = square < least ? least : square > 1 ? R(1.0) : square;

        dx[i] = (fresh ? R(0.0) : dx[i]) + sqrt(held) * dy[i];
    }
}

/* ---- hinges: x (n, d), table (h, 5, d) -> (n, h, d) ---- */

static wm_status hinges_infer(wmi_node *nd, wm_error *err)
{
    const wmi_shape *x = &nd->in[0]->shape, *t = &nd->in[1]->shape;

    if (x->rank != 2 || t->rank != 3 || t->dim[1] != 5 || t->dim[2] != x->dim[1])
        return wmi_infer_fail(nd, err, "expected x (n, d) and a table (hinges, 5, d)");
    return wmi_infer_set(nd, 3, (const int64_t[]){x->dim[0], t->dim[0], x->dim[1]}, err);
}

static void hinges_forward(const wmi_node *nd)
{
    const int64_t n = nd->shape.dim[0], h = nd->shape.dim[1], d = nd->shape.dim[2];

#pragma omp parallel for schedule(static) num_threads(nd->run->threads) if (nd->n >= WMI_OMP_MIN)
    for (int64_t i = 0; i < n; i++)
        for (int64_t r = 0; r < h; r++) {
            const real *restrict x = (const real *)nd->in[0]->val + i * d;
            const real *restrict rate = (const real *)nd->in[1]->val + 5 * r * d;
            const real *restrict offset = rate + d, *restrict gain = offset + d;
            const real *restrict top = gain + d, *restrict base = top + d;
            real *restrict y = (real *)nd->val + (i * h + r) * d;

            for (int64_t j = 0; j < d; j++) {
                const real u = rate[j] * x[j] + offset[j], limit = top[j] + 1;
                const real low = u < limit ? u : limit; /* far beyond, differences lose digits */

                y[j] = gain[j] * (hinge(low) - hinge(low - top[j])) - base[j];
            }
        }
}

static void hinges_backward(const wmi_node *nd)
{
    const int64_t n = nd->shape.dim[0], h = nd->shape.dim[1], d = nd->shape.dim[2];

    if (!nd->in[0]->grad)
        return;
#pragma omp parallel for schedule(static) num_threads(nd->run->threads) if (nd->n >= WMI_OMP_MIN)
    for (int64_t i = 0; i < n; i++)
        for (int64_t r = 0; r < h; r++) {
            const bool fresh = nd->fresh & 1u && r == 0;
            const real *restrict x = (const real *)nd->in[0]->val + i * d;
            const real *restrict rate = (const real *)nd->in[1]->val + 5 * r * d;
            const real *restrict offset = rate + d, *restrict gain = offset + d;
            const real *restrict top = gain + d;
            const real *restrict dy = (const real *)nd->grad + (i * h + r) * d;
            real *restrict dx = (real *)nd->in[0]->grad + i * d;

            for (int64_t j = 0; j < d; j++) {
                const real u = rate[j] * x[j] + offset[j], slope = rise(u) - rise(u - top[j]);

                dx[j] = (fresh ? R(0.0) : dx[j]) + gain[j] * rate[j] * slope * dy[j];
            }
        }
}

DEFINE_OP(bent_relu, .n_in = 1, .infer = bent_infer, .forward = bent_forward,
          .backward = bent_backward, .keep = WMI_KEEP_OUT,
          .flags = WMI_OP_WRITES_FRESH | WMI_OP_INPLACE | WMI_OP_INPLACE_GRAD);
DEFINE_OP(hinges, .n_in = 2, .infer = hinges_infer, .forward = hinges_forward,
          .backward = hinges_backward, .no_grad = 1u << 1, .keep = WMI_KEEP_IN(0) | WMI_KEEP_IN(1),
          .flags = WMI_OP_WRITES_FRESH);
