/* matmul_tmpl.c - y = op(a) op(b), op being nothing or the transpose of the last two axes.
 *
 * op(a) is (n, k) or (m, n, k), op(b) is (k, p) or (m, k, p); y is (n, p) when both are matrices,
 * else (m, n, p): a matrix serves all m, and its gradient is the sum over m. All three passes are
 * one kind of call, a batch of products that are kept apart or summed. x (m, n, k) times a matrix,
 * the dense layer on grouped rows, is folded to (m n, k) first, so that each pass is a single
 * product. */
#include <string.h>

#include "engine/backend/blas.h"
#include "engine/infer.h"
#include "engine/ops.h"
#include "engine/real.h"

#define gemm _Generic((real)0, float : wmi_gemm_f32, double : wmi_gemm_f64)

/* Multiply-adds. Below, threads inside one product gain less than a product for each thread. */
#define SMALL_PRODUCT ((int64_t)1 << 22)

typedef struct dims {
    bool ta, tb;
    int64_t m, n, k, p;
    int64_t step_a, step_b; /* reals from one matrix of the batch to the next; 0: one serves all */
} dims;

static dims dims_of(const wmi_node *nd)
{
    const wmi_matmul_attr *at = nd->attr;
    const wmi_shape *a = &nd->in[0]->shape, *b = &nd->in[1]->shape;
    dims z = {.ta = at->ta, .tb = at->tb, .m = nd->shape.rank == 3 ? nd->shape.dim[0] : 1};

    z.n = a->dim[a->rank - (z.ta ? 1 : 2)];
    z.k = a->dim[a->rank - (z.ta ? 2 : 1)];
    z.p = b->dim[b->rank - (z.tb ? 2 : 1)];
    if (a->rank == 3 && b->rank == 2 && !z.ta && z.m * z.n <= WMI_MAX_DIM) {
        z.n *= z.m; /* rows of all m lie one after the other, in a and in y */
        z.m = 1;
        return z;
    }
    z.step_a = a->rank == 3 ? z.n * z.k : 0;
    z.step_b = b->rank == 3 ? z.k * z.p : 0;
    return z;
}

/* c_i (rows, cols) = op(a_i) (rows, inner) op(b_i) (inner, cols) + beta c_i for i < count. With
 * step_c 0 there is one c, and it receives the sum of the products. */
static void batch(const wmi_node *nd, int64_t count, bool ta, bool tb, int64_t rows, int64_t cols,
                  int64_t inner, const real *a, int64_t step_a, const real *b, int64_t step_b,
                  real beta, real *c, int64_t step_c)
{
    const int threads = nd->run->threads;
    const int64_t lda = ta ? rows : inner, ldb = tb ? inner : cols;
    const int64_t work = rows * cols * inner; /* of one product */
    const bool spread = count >= threads && work <= SMALL_PRODUCT && count * work >= WMI_OMP_MIN;

    if (step_c == 0) {
        if (count == 0 && beta == 0)
            memset(c, 0, (size_t)(rows * cols) * sizeof *c);
        for (int64_t i = 0; i < count; i++)
            gemm(ta, tb, rows, cols, inner, R(1.0), a + i * step_a, lda, b + i * step_b, ldb,
                 i ? R(1.0) : beta, c, cols);
        return;
    }
#pragma omp parallel for schedule(static) num_threads(threads) if (spread)
    for (int64_t i = 0; i < count; i++)
        gemm(ta, tb, rows, cols, inner, R(1.0), a + i * step_a, lda, b + i * step_b, ldb, beta,
             c + i * step_c, cols);
}

static void forward(const wmi_node *nd)
{
    const dims z = dims_of(nd);
    const int64_t step = z.n * z.p;

    if (nd->n == 0)
        return;
    batch(nd, z.m, z.ta, z.tb, z.n, z.p, z.k, nd->in[0]->val, z.step_a, nd->in[1]->val, z.step_b, 0,
          nd->val, step);
}

/* da = dy op(b)', db = op(a)' dy; transposed as a and b themselves are. */
static void backward(const wmi_node *nd)
{
    const dims z = dims_of(nd);
    const real *a = nd->in[0]->val, *b = nd->in[1]->val, *dy = nd->grad;
    real *da = nd->in[0]->grad, *db = nd->in[1]->grad;
    const real beta_a = nd->fresh & 1u ? 0 : 1, beta_b = nd->fresh & 2u ? 0 : 1;
    const int64_t step = z.n * z.p;

    if (da && !z.ta) /* (n, k) = (n, p) (p, k) */
        batch(nd, z.m, false, !z.tb, z.n, z.k, z.p, dy, step, b, z.step_b, beta_a, da, z.step_a);
    else if (da) /* (k, n) = (k, p) (p, n) */
        batch(nd, z.m, z.tb, true, z.k, z.n, z.p, b, z.step_b, dy, step, beta_a, da, z.step_a);
    if (db && !z.tb) /* (k, p) = (k, n) (n, p) */
        batch(nd, z.m, !z.ta, false, z.k, z.p, z.n, a, z.step_a, dy, step, beta_b, db, z.step_b);
    else if (db) /* (p, k) = (p, n) (n, k) */
        batch(nd, z.m, true, z.ta, z.p, z.k, z.n, dy, step, a, z.step_a, beta_b, db, z.step_b);
}

static unsigned keeps(const wmi_node *nd)
{
    return (nd->in[1]->wants_grad ? WMI_KEEP_IN(0) : 0) |
           (nd->in[0]->wants_grad ? WMI_KEEP_IN(1) : 0);
}

static wm_status infer(wmi_node *nd, wm_error *err)
{
    const wmi_matmul_attr *at = nd->attr;
    const wmi_shape *a = &nd->in[0]->shape, *b = &nd->in[1]->shape;

    if (a->rank < 2 || a->rank > 3 || b->rank < 2 || b->rank > 3)
        return wmi_infer_fail(nd, err, "operands must be of rank 2 or 3");
    if (a->rank == 3 && b->rank == 3 && a->dim[0] != b->dim[0])
        return wmi_infer_fail(nd, err, "batches of %lld and %lld matrices", (long long)a->dim[0],
                              (long long)b->dim[0]);
    const int64_t n = a->dim[a->rank - (at->ta ? 1 : 2)], ka = a->dim[a->rank - (at->ta ? 2 : 1)];
    const int64_t p = b->dim[b->rank - (at->tb ? 2 : 1)], kb = b->dim[b->rank - (at->tb ? 1 : 2)];
    if (ka != kb)
        return wmi_infer_fail(nd, err, "a%s has %lld columns, b%s has %lld rows", at->ta ? "'" : "",
                              (long long)ka, at->tb ? "'" : "", (long long)kb);
    if (a->rank == 2 && b->rank == 2)
        return wmi_infer_set(nd, 2, (const int64_t[]){n, p}, err);
    return wmi_infer_set(nd, 3, (const int64_t[]){a->rank == 3 ? a->dim[0] : b->dim[0], n, p}, err);
}

extern const wmi_op_def OPNAME(matmul);
const wmi_op_def OPNAME(matmul) = {
    "matmul", 2, infer, forward, backward, .keeps = keeps, .flags = WMI_OP_WRITES_FRESH};
