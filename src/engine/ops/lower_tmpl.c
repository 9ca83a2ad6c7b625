/* lower_tmpl.c - a lower triangular matrix with a positive diagonal from free numbers: A (d, d) and
 * g (d) -> L (d, d), L_ij = A_ij below the diagonal, exp(g_i) on it, 0 above. What stands in A on
 * the diagonal and above is not read, and has no gradient. log det L is the sum of g. */
#include <math.h>

#include "engine/infer.h"
#include "engine/ops.h"
#include "engine/real.h"

static wm_status infer(wmi_node *nd, wm_error *err)
{
    const wmi_shape *a = &nd->in[0]->shape, *g = &nd->in[1]->shape;

    if (a->rank != 2 || a->dim[0] != a->dim[1])
        return wmi_infer_fail(nd, err, "a square matrix is needed");
    if (g->rank != 1 || g->dim[0] != a->dim[0])
        return wmi_infer_fail(nd, err, "the diagonal must have as many entries as the matrix rows");
    return wmi_infer_same(nd, err);
}

static void forward(const wmi_node *nd)
{
    const int64_t d = nd->shape.dim[0];
    const real *g = nd->in[1]->val; /* (d) */

#pragma omp parallel for schedule(static) num_threads(nd->run->threads) if (nd->n >= WMI_OMP_MIN)
    for (int64_t i = 0; i < d; i++) {
        const real *restrict a = (const real *)nd->in[0]->val + i * d;
        real *restrict l = (real *)nd->val + i * d;

        for (int64_t j = 0; j < i; j++)
            l[j] = a[j];
        l[i] = exp(g[i]);
        for (int64_t j = i + 1; j < d; j++)
            l[j] = 0;
    }
}

static void backward(const wmi_node *nd)
{
    const int64_t d = nd->shape.dim[0];
    const bool fresh_a = nd->fresh & 1u, fresh_g = nd->fresh & 2u;
    const real *l = nd->val, *dl = nd->grad;           /* (d, d) */
    real *da = nd->in[0]->grad, *dg = nd->in[1]->grad; /* (d, d), (d); or NULL */

#pragma omp parallel for schedule(static) num_threads(nd->run->threads) if (nd->n >= WMI_OMP_MIN)
    for (int64_t i = 0; i < d; i++) {
        for (int64_t j = 0; da && j < i; j++)
            da[i * d + j] = (fresh_a ? R(0.0) : da[i * d + j]) + dl[i * d + j];
        for (int64_t j = i; da && fresh_a && j < d; j++)
            da[i * d + j] = 0;
        if (dg)
            dg[i] = (fresh_g ? R(0.0) : dg[i]) + dl[i * d + i] * l[i * d + i];
    }
}

DEFINE_OP(lower, .n_in = 2, .infer = infer, .forward = forward, .backward = backward,
          .keep = WMI_KEEP_OUT, .flags = WMI_OP_WRITES_FRESH);
