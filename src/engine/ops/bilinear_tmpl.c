/* bilinear_tmpl.c - y_ki = u_ki' W_k v_ki for bridge k and row i: u (m or 1, n, e), W (m, e, f),
 * v (m or 1, n, f) -> y (m, n). A factor with one group serves every bridge; its gradient is the
 * sum over bridges.
 *
 * Work is cut into blocks of ROWS rows, each a product on one thread with an intermediate (block,
 * f) or (block, e) in that thread's scratch. Where blocks are fewer than threads, the products use
 * the threads themselves. */
#include <omp.h>
#include <string.h>

#include "engine/infer.h"
#include "engine/kernels/gemm.h"
#include "engine/ops.h"

enum { ROWS = 256 }; /* enough to read W_k at the product's full speed */

typedef struct dims {
    int64_t m, n, e, f;
    int64_t blocks; /* of rows */
    int64_t wide;   /* scratch of one thread, in reals */
} dims;

static dims dims_of(const wmi_node *nd)
{
    const int64_t *w = nd->in[1]->shape.dim;
    dims z = {.m = w[0], .n = nd->shape.dim[1], .e = w[1], .f = w[2]};

    z.blocks = (z.n + ROWS - 1) / ROWS;
    z.wide = (z.n < ROWS ? z.n : ROWS) * (z.e > z.f ? z.e : z.f);
    return z;
}

static int64_t rows_in(const dims *z, int64_t block)
{
    return z->n - block * ROWS < ROWS ? z->n - block * ROWS : ROWS;
}

/* The rows of bridge k in u or v. */
static const real *group(const wmi_node *x, int64_t k)
{
    return (const real *)x->val +
           (x->shape.dim[0] == 1 ? 0 : k * x->shape.dim[1] * x->shape.dim[2]);
}

static real dot(const real *a, const real *b, int64_t n)
{
    vreal part = {0};
    real s = 0;
    int64_t i = 0;

    for (; i + VL <= n; i += VL)
        part += vload(a + i) * vload(b + i);
    for (int l = 0; l < VL; l++)
        s += part[l];
    for (; i < n; i++)
        s += a[i] * b[i];
    return s;
}

/* out (rows, width) = x (rows, width) with row i times s[i] */
static void scale_rows(const real *x, const real *s, int64_t rows, int64_t width,
                       real *restrict out)
{
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < width; j++)
            out[i * width + j] = s[i] * x[i * width + j];
}

static size_t scratch(const wmi_node *nd, wmi_phase phase)
{
    const dims z = dims_of(nd);

    (void)phase;
    return (size_t)nd->run->threads * (size_t)z.wide * sizeof(real);
}

static void forward(const wmi_node *nd)
{
    const dims z = dims_of(nd);
    const int64_t tasks = z.m * z.blocks;
    real *y = nd->val; /* (m, n) */

#pragma omp parallel for schedule(static)                                                          \
    num_threads(nd->run->threads) if (tasks >= nd->run->threads && nd->n * z.e >= WMI_OMP_MIN)
    for (int64_t task = 0; task < tasks; task++) {
        const int64_t k = task / z.blocks, block = task % z.blocks, rows = rows_in(&z, block);
        const real *u = group(nd->in[0], k) + block * ROWS * z.e;     /* (rows, e) */
        const real *w = (const real *)nd->in[1]->val + k * z.e * z.f; /* (e, f) */
        const real *v = group(nd->in[2], k) + block * ROWS * z.f;     /* (rows, f) */
        real *uw = (real *)nd->scratch + omp_get_thread_num() * z.wide;

        PRODUCT(nd->run->threads, false, false, rows, z.f, z.e, u, z.e, w, z.f, false, uw, z.f);
        for (int64_t i = 0; i < rows; i++)
            y[k * z.n + block * ROWS + i] = dot(uw + i * z.f, v + i * z.f, z.f);
    }
}

/* The gradient of one factor from the other: du = diag(dy) v W' (trans) or dv = diag(dy) u W. A
 * shared factor receives its bridges one after the other from one thread, in order. */
static void factor_gradient(const wmi_node *nd, const wmi_node *own, const wmi_node *other,
                            bool trans, bool fresh)
{
    const dims z = dims_of(nd);
    const int64_t groups = own->shape.dim[0], per_group = groups == 1 ? z.m : 1;
    const int64_t width = own->shape.dim[2], inner = other->shape.dim[2];
    const int64_t tasks = groups * z.blocks;
    const real *dy = nd->grad;

    if (fresh && z.m == 0)
        memset(own->grad, 0, (size_t)own->n * sizeof(real));
#pragma omp parallel for schedule(static)                                                          \
    num_threads(nd->run->threads) if (tasks >= nd->run->threads && nd->n * z.e >= WMI_OMP_MIN)
    for (int64_t task = 0; task < tasks; task++) {
        const int64_t g = task / z.blocks, block = task % z.blocks, rows = rows_in(&z, block);
        real *out = (real *)own->grad + (g * z.n + block * ROWS) * width; /* (rows, width) */
        real *scaled = (real *)nd->scratch + omp_get_thread_num() * z.wide;

        for (int64_t i = 0; i < per_group; i++) {
            const int64_t k = g + i;

            scale_rows(group(other, k) + block * ROWS * inner, dy + k * z.n + block * ROWS, rows,
                       inner, scaled);
            PRODUCT(nd->run->threads, false, trans, rows, width, inner, scaled, inner,
                    (const real *)nd->in[1]->val + k * z.e * z.f, z.f, !fresh || i > 0, out, width);
        }
    }
}

/* dW_k = u' diag(dy) v; the blocks of one bridge in order. */
static void weight_gradient(const wmi_node *nd, bool fresh)
{
    const dims z = dims_of(nd);
    const real *dy = nd->grad;

    if (fresh && z.n == 0)
        memset(nd->in[1]->grad, 0, (size_t)nd->in[1]->n * sizeof(real));
#pragma omp parallel for schedule(static)                                                          \
    num_threads(nd->run->threads) if (z.m >= nd->run->threads && nd->n * z.e >= WMI_OMP_MIN)
    for (int64_t k = 0; k < z.m; k++) {
        real *dw = (real *)nd->in[1]->grad + k * z.e * z.f; /* (e, f) */
        real *scaled = (real *)nd->scratch + omp_get_thread_num() * z.wide;

        for (int64_t block = 0; block < z.blocks; block++) {
            const int64_t rows = rows_in(&z, block), at = block * ROWS;

            scale_rows(group(nd->in[2], k) + at * z.f, dy + k * z.n + at, rows, z.f, scaled);
            PRODUCT(nd->run->threads, true, false, z.e, z.f, rows, group(nd->in[0], k) + at * z.e,
                    z.e, scaled, z.f, !fresh || block > 0, dw, z.f);
        }
    }
}

static void backward(const wmi_node *nd)
{
    if (nd->in[0]->grad)
        factor_gradient(nd, nd->in[0], nd->in[2], true, nd->fresh & 1u);
    if (nd->in[1]->grad)
        weight_gradient(nd, nd->fresh & 2u);
    if (nd->in[2]->grad)
        factor_gradient(nd, nd->in[2], nd->in[0], false, nd->fresh & 4u);
}

static unsigned keeps(const wmi_node *nd)
{
    const bool du = nd->in[0]->wants_grad, dw = nd->in[1]->wants_grad, dv = nd->in[2]->wants_grad;

    return (dw || dv ? WMI_KEEP_IN(0) : 0) | (du || dv ? WMI_KEEP_IN(1) : 0) |
           (du || dw ? WMI_KEEP_IN(2) : 0);
}

static wm_status infer(wmi_node *nd, wm_error *err)
{
    const wmi_shape *u = &nd->in[0]->shape, *w = &nd->in[1]->shape, *v = &nd->in[2]->shape;

    if (u->rank != 3 || w->rank != 3 || v->rank != 3)
        return wmi_infer_fail(nd, err, "u, W and v must be of rank 3");
    if ((u->dim[0] != 1 && u->dim[0] != w->dim[0]) || (v->dim[0] != 1 && v->dim[0] != w->dim[0]))
        return wmi_infer_fail(nd, err, "u and v need one group of rows, or one for each W");
    if (u->dim[1] != v->dim[1])
        return wmi_infer_fail(nd, err, "u and v differ in rows");
    if (u->dim[2] != w->dim[1] || v->dim[2] != w->dim[2])
        return wmi_infer_fail(nd, err, "W must be (bridges, width of u, width of v)");
    return wmi_infer_set(nd, 2, (const int64_t[]){w->dim[0], u->dim[1]}, err);
}

DEFINE_OP(bilinear, .n_in = 3, .infer = infer, .forward = forward, .backward = backward,
          .keeps = keeps, .scratch = scratch, .flags = WMI_OP_WRITES_FRESH);
