/* matmul_tmpl.c - y = op(a) op(b), op being nothing or the transpose of the last two axes.
 *
 * op(a) is (n, k) or (m, n, k), op(b) is (k, p) or (m, k, p); y is (n, p) when both are matrices,
 * else (m, n, p): a matrix serves all m, and its gradient is the sum over m. All three passes are
 * one kind of call, a batch of products that are kept apart or summed. x (m, n, k) times a matrix,
 * the dense layer on grouped rows, is folded to (m n, k) first, so that each pass is a single
 * product. */
#include <string.h>

#include "engine/infer.h"
#include "engine/kernels/gemm.h"
#include "engine/ops.h"

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

/* c_i (rows, cols) = or += op(a_i) (rows, inner) op(b_i) (inner, cols) for i < count. With
 * step_c 0 there is one c, and it receives the sum of the products. */
static void batch(const wmi_node *nd, int64_t count, bool ta, bool tb, int64_t rows, int64_t cols,
                  int64_t inner, const real *a, int64_t step_a, const real *b, int64_t step_b,
                  bool add, real *c, int64_t step_c)
{
    const int threads = nd->run->threads;
    const int64_t lda = ta ? rows : inner, ldb = tb ? inner : cols;
    const int64_t work = rows * cols * inner; /* of one product */
    const bool spread = count >= threads && work <= SMALL_PRODUCT && count * work >= WMI_OMP_MIN;

    if (step_c == 0) {
        if (count == 0 && !add)
            memset(c, 0, (size_t)(rows * cols) * sizeof *c);
        for (int64_t i = 0; i < count; i++)
            PRODUCT(threads, ta, tb, rows, cols, inner, a + i * step_a, lda, b + i * step_b, ldb,
                    add || i > 0, c, cols);
        return;
    }
#pragma omp parallel for schedule(static) num_threads(threads) if (spread)
    for (int64_t i = 0; i < count; i++)
        PRODUCT(threads, ta, tb, rows, cols, inner, a + i * step_a, lda, b + i * step_b, ldb, add,
                c + i * step_c, cols);
}

/* ---- rows times a vector: y (m, n) = a (m, n, k) b (m, k), a linear head ----
 *
 * Read once, in order, with sums over fixed lanes: BLAS copies a first, and makes a matrix of b. */

enum { LANES = 4 * VL }; /* sums under way along a row */

static bool is_rows_times_vector(const dims *z)
{
    return z->p == 1 && !z->ta && z->k > 0;
}

static real dot(int64_t k, const real *restrict a, const real *restrict b)
{
    real lane[LANES] = {0}, rest = 0;
    int64_t i = 0;

    for (; i + LANES <= k; i += LANES)
        for (int l = 0; l < LANES; l++)
            lane[l] += a[i + l] * b[i + l];
    for (; i < k; i++)
        rest += a[i] * b[i];
    if (k < LANES) /* a short row: no sums to fold, which took longer than the row itself */
        return rest;
    for (int width = LANES / 2; width > 0; width /= 2)
        for (int l = 0; l < width; l++)
            lane[l] += lane[l + width];
    return lane[0] + rest;
}

static void vector_forward(const wmi_node *nd, const dims *z)
{
    const real *a = nd->in[0]->val, *b = nd->in[1]->val;
    real *y = nd->val;
#pragma omp parallel for schedule(static)                                                          \
    num_threads(nd->run->threads) if (nd->n * z->k >= WMI_OMP_MIN)
    for (int64_t r = 0; r < z->m * z->n; r++) {
        const int64_t i = r / z->n;

        y[r] = dot(z->k, a + i * z->step_a + r % z->n * z->k, b + i * z->step_b);
    }
}

/* da = dy b', row by row; where one a serves all m, in the order of m. */
static void vector_grad_a(const wmi_node *nd, const dims *z)
{
    const real *b = nd->in[1]->val, *dy = nd->grad;
    const int64_t rows = z->step_a || z->m == 1 ? z->m * z->n : z->n;
    const int64_t times = z->step_a || z->m == 1 ? 1 : z->m;
#pragma omp parallel for schedule(static)                                                          \
    num_threads(nd->run->threads) if (nd->n * z->k >= WMI_OMP_MIN)
    for (int64_t r = 0; r < rows; r++)
        for (int64_t i = 0; i < times; i++) {
            const real d = dy[i * z->n + r];
            const real *restrict v = b + (times > 1 ? i : r / z->n) * z->step_b;
            real *restrict to = (real *)nd->in[0]->grad + r * z->k;

            if (nd->fresh & 1u && i == 0)
                for (int64_t j = 0; j < z->k; j++)
                    to[j] = d * v[j];
            else
                for (int64_t j = 0; j < z->k; j++)
                    to[j] += d * v[j];
        }
}

/* db = a' dy: columns are cut among the threads, rows are added in order. */
static void vector_grad_b(const wmi_node *nd, const dims *z)
{
    enum { SPAN = 256 }; /* columns */
    const real *a = nd->in[0]->val, *dy = nd->grad;
    const int64_t vectors = z->step_b || z->m == 1 ? z->m : 1;
    const int64_t rows = z->m * z->n / vectors, spans = (z->k + SPAN - 1) / SPAN;
#pragma omp parallel for collapse(2) schedule(static)                                              \
    num_threads(nd->run->threads) if (nd->n * z->k >= WMI_OMP_MIN)
    for (int64_t i = 0; i < vectors; i++)
        for (int64_t s = 0; s < spans; s++) {
            const int64_t j0 = s * SPAN, cols = z->k - j0 < SPAN ? z->k - j0 : SPAN;
            real *restrict to = (real *)nd->in[1]->grad + i * z->step_b + j0;

            if (nd->fresh & 2u)
                memset(to, 0, (size_t)cols * sizeof *to);
            for (int64_t r = 0; r < rows; r++) {
                const real d = dy[i * rows + r];
                const int64_t batch_of = (i * rows + r) / z->n, row = (i * rows + r) % z->n;
                const real *restrict from = a + batch_of * z->step_a + row * z->k + j0;

                for (int64_t j = 0; j < cols; j++)
                    to[j] += d * from[j];
            }
        }
}

/* ---- all products ---- */

static void forward(const wmi_node *nd)
{
    const dims z = dims_of(nd);
    const int64_t step = z.n * z.p;

    if (nd->n == 0)
        return;
    if (is_rows_times_vector(&z)) {
        vector_forward(nd, &z);
        return;
    }
    batch(nd, z.m, z.ta, z.tb, z.n, z.p, z.k, nd->in[0]->val, z.step_a, nd->in[1]->val, z.step_b,
          false, nd->val, step);
}

/* da = dy op(b)', db = op(a)' dy; transposed as a and b themselves are. */
static void backward(const wmi_node *nd)
{
    const dims z = dims_of(nd);
    const real *a = nd->in[0]->val, *b = nd->in[1]->val, *dy = nd->grad;
    real *da = nd->in[0]->grad, *db = nd->in[1]->grad;
    const bool add_a = !(nd->fresh & 1u), add_b = !(nd->fresh & 2u);
    const int64_t step = z.n * z.p;

    if (is_rows_times_vector(&z) && nd->n > 0) {
        if (da)
            vector_grad_a(nd, &z);
        if (db)
            vector_grad_b(nd, &z);
        return;
    }
    if (da && !z.ta) /* (n, k) = (n, p) (p, k) */
        batch(nd, z.m, false, !z.tb, z.n, z.k, z.p, dy, step, b, z.step_b, add_a, da, z.step_a);
    else if (da) /* (k, n) = (k, p) (p, n) */
        batch(nd, z.m, z.tb, true, z.k, z.n, z.p, b, z.step_b, dy, step, add_a, da, z.step_a);
    if (db && !z.tb) /* (k, p) = (k, n) (n, p) */
        batch(nd, z.m, !z.ta, false, z.k, z.p, z.n, a, z.step_a, dy, step, add_b, db, z.step_b);
    else if (db) /* (p, k) = (p, n) (n, k) */
        batch(nd, z.m, true, z.ta, z.p, z.k, z.n, dy, step, a, z.step_a, add_b, db, z.step_b);
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

DEFINE_OP(matmul, .n_in = 2, .infer = infer, .forward = forward, .backward = backward,
          .keeps = keeps, .flags = WMI_OP_WRITES_FRESH);
