/* attention_tmpl.c - y = softmax(q k') v for every row: q, k (n, t, e), v (n, t, c), no scaling.
 *
 * The (t, t) probabilities of one row live in a thread's scratch and nowhere else: backward
 * computes them again, which costs one product with the short inner dimension e. Rows are
 * independent, so they are what the threads share; with a single row the products use the threads
 * themselves. */
#include <math.h>
#include <omp.h>

#include "engine/infer.h"
#include "engine/kernels/gemm.h"
#include "engine/ops.h"

typedef struct dims {
    int64_t n, t, e, c;
    int64_t ld; /* t rounded up to whole vectors: a row of probabilities */
} dims;

static dims dims_of(const wmi_node *nd)
{
    const int64_t *q = nd->in[0]->shape.dim;
    dims z = {.n = q[0], .t = q[1], .e = q[2], .c = nd->shape.dim[2]};

    z.ld = (z.t + VL - 1) / VL * VL;
    return z;
}

#if WMI_REAL_BITS == 32
typedef uint32_t vbits __attribute__((vector_size(WMI_VBYTES), may_alias));

/* exp for x up to 0, and 0 below -87: 2^i exp(r) with r in +-ln(2)/2 and Cephes' polynomial for
 * exp(r), error 2 ulp. A call of expf for each of the n t^2 scores would cost more than both
 * products. NaN stays NaN. */
static inline __attribute__((always_inline)) vreal exp_nonpositive(vreal x)
{
    const real magic = 12582912.0f; /* 1.5 * 2^23: adding it rounds to a whole number */
    const vbits keep = (vbits) ~(x < -87.0f);
    const vreal shifted = x * 1.44269504f + magic, i = shifted - magic;
    const vreal r = (x - i * 0.693359375f) + i * 2.12194440e-4f;
    vreal y = r * 1.9875691500e-4f + 1.3981999507e-3f;

    y = y * r + 8.3334519073e-3f;
    y = y * r + 4.1665795894e-2f;
    y = y * r + 1.6666665459e-1f;
    y = y * r + 5.0000001201e-1f;
    y = y * r * r + r + 1.0f;
    y *= (vreal)(((vbits)shifted + 127) << 23); /* 2^i: i stands in the low bits of shifted */
    return (vreal)((vbits)y & keep);
}
#else
typedef uint64_t vbits __attribute__((vector_size(WMI_VBYTES), may_alias));

static inline __attribute__((always_inline)) vreal exp_nonpositive(vreal x)
{
    for (int i = 0; i < VL; i++)
        x[i] = x[i] < -700.0 ? 0.0 : exp(x[i]);
    return x;
}
#endif

static inline __attribute__((always_inline)) real lane_sum(vreal v)
{
    real s = 0;

    for (int i = 0; i < VL; i++)
        s += v[i];
    return s;
}

static inline __attribute__((always_inline)) real lane_max(vreal v)
{
    real most = v[0];

    for (int i = 1; i < VL; i++)
        most = v[i] > most ? v[i] : most;
    return most;
}

/* s (t, ld): probabilities of one row of the batch; the columns beyond t come out 0. */
static void probabilities(int threads, const dims *z, const real *q, const real *k, real *s)
{
    PRODUCT(threads, false, true, z->t, z->t, z->e, q, z->e, k, z->e, false, s, z->ld);
    for (int64_t i = 0; i < z->t; i++) {
        real *row = s + i * z->ld;
        vreal most = vsplat(-INFINITY), total = {0};

        for (int64_t j = z->t; j < z->ld; j++)
            row[j] = -INFINITY;
        for (int64_t j = 0; j < z->ld; j += VL) {
            const vreal v = vload(row + j);
            const vbits more = (vbits)(v > most);

            most = (vreal)((more & (vbits)v) | (~more & (vbits)most));
        }
        const real top = lane_max(most);
        for (int64_t j = 0; j < z->ld; j += VL) {
            const vreal p = exp_nonpositive(vload(row + j) - top);

            vstore(row + j, p);
            total += p;
        }
        const real scale = 1 / lane_sum(total);
        for (int64_t j = 0; j < z->ld; j += VL)
            vstore(row + j, vload(row + j) * scale);
    }
}

/* dp (t, ld), the gradient for probabilities p, becomes the gradient for the scores:
 * p (dp - sum p dp). */
static void softmax_gradient(const dims *z, const real *restrict p, real *restrict dp)
{
    for (int64_t i = 0; i < z->t; i++) {
        const real *row = p + i * z->ld;
        real *drow = dp + i * z->ld;
        vreal total = {0};

        for (int64_t j = z->t; j < z->ld; j++)
            drow[j] = 0;
        for (int64_t j = 0; j < z->ld; j += VL)
            total += vload(row + j) * vload(drow + j);
        const real mean = lane_sum(total);
        for (int64_t j = 0; j < z->ld; j += VL)
            vstore(drow + j, vload(row + j) * (vload(drow + j) - mean));
    }
}

static size_t scratch(const wmi_node *nd, wmi_phase phase)
{
    const dims z = dims_of(nd);

    return (size_t)nd->run->threads * (phase == WMI_FORWARD ? 1 : 2) * (size_t)(z.t * z.ld) *
           sizeof(real);
}

static void forward(const wmi_node *nd)
{
    const dims z = dims_of(nd);
    const real *q = nd->in[0]->val, *k = nd->in[1]->val, *v = nd->in[2]->val;
    real *y = nd->val;

    if (nd->n == 0)
        return;
#pragma omp parallel for schedule(static) num_threads(nd->run->threads) if (z.n > 1)
    for (int64_t i = 0; i < z.n; i++) {
        real *p = (real *)nd->scratch + omp_get_thread_num() * z.t * z.ld; /* (t, ld) */

        probabilities(nd->run->threads, &z, q + i * z.t * z.e, k + i * z.t * z.e, p);
        PRODUCT(nd->run->threads, false, false, z.t, z.c, z.t, p, z.ld, v + i * z.t * z.c, z.c,
                false, y + i * z.t * z.c, z.c);
    }
}

/* dv = p' dy; for the scores s = q k': ds by way of dp = dy v', then dq = ds k and dk = ds' q. In
 * the order of the inputs, since they may be one node and nd->fresh then speaks of the first. */
static void backward(const wmi_node *nd)
{
    const dims z = dims_of(nd);
    const real *q = nd->in[0]->val, *k = nd->in[1]->val, *v = nd->in[2]->val, *dy = nd->grad;
    real *dq = nd->in[0]->grad, *dk = nd->in[1]->grad, *dv = nd->in[2]->grad;
    const bool add_q = !(nd->fresh & 1u), add_k = !(nd->fresh & 2u), add_v = !(nd->fresh & 4u);

#pragma omp parallel for schedule(static) num_threads(nd->run->threads) if (z.n > 1)
    for (int64_t i = 0; i < z.n; i++) {
        const int64_t at_e = i * z.t * z.e, at_c = i * z.t * z.c;
        real *p = (real *)nd->scratch + omp_get_thread_num() * 2 * z.t * z.ld; /* (t, ld) */
        real *ds = p + z.t * z.ld;                                             /* (t, ld) */

        probabilities(nd->run->threads, &z, q + at_e, k + at_e, p);
        if (dq || dk) {
            PRODUCT(nd->run->threads, false, true, z.t, z.t, z.c, dy + at_c, z.c, v + at_c, z.c,
                    false, ds, z.ld);
            softmax_gradient(&z, p, ds);
        }
        if (dq)
            PRODUCT(nd->run->threads, false, false, z.t, z.e, z.t, ds, z.ld, k + at_e, z.e, add_q,
                    dq + at_e, z.e);
        if (dk)
            PRODUCT(nd->run->threads, true, false, z.t, z.e, z.t, ds, z.ld, q + at_e, z.e, add_k,
                    dk + at_e, z.e);
        if (dv)
            PRODUCT(nd->run->threads, true, false, z.t, z.c, z.t, p, z.ld, dy + at_c, z.c, add_v,
                    dv + at_c, z.c);
    }
}

static unsigned keeps(const wmi_node *nd)
{
    const bool scores = nd->in[0]->wants_grad || nd->in[1]->wants_grad;

    return WMI_KEEP_IN(0) | WMI_KEEP_IN(1) | (scores ? WMI_KEEP_IN(2) : 0);
}

static wm_status infer(wmi_node *nd, wm_error *err)
{
    const wmi_shape *q = &nd->in[0]->shape, *k = &nd->in[1]->shape, *v = &nd->in[2]->shape;

    if (q->rank != 3 || k->rank != 3 || v->rank != 3)
        return wmi_infer_fail(nd, err, "queries, keys and values must be (rows, places, channels)");
    if (q->dim[0] != k->dim[0] || q->dim[1] != k->dim[1] || q->dim[2] != k->dim[2])
        return wmi_infer_fail(nd, err, "queries and keys differ in shape");
    if (v->dim[0] != q->dim[0] || v->dim[1] != q->dim[1])
        return wmi_infer_fail(nd, err, "values differ from queries in rows or places");
    return wmi_infer_set(nd, 3, v->dim, err);
}

DEFINE_OP(attention, .n_in = 3, .infer = infer, .forward = forward, .backward = backward,
          .keeps = keeps, .scratch = scratch, .flags = WMI_OP_WRITES_FRESH);
