/* quadratic_tmpl.c - x' Q_k x through a triangle: half the flops of full matrix products.
 *
 * All three kinds are one lower-triangular matrix T_k made from A_k. With Y = X T (rows times T):
 *   semi-definite      T = L            x'Qx = sum_j y_j^2     dL = X' diag(2 ds) Y     dX = 2 ds Y
 * L' symmetric, free    T = diag + 2 off x'Qx = sum_j x_j y_j   dQ = X' diag(ds) X       dX = ds (Y
 * + X T') Column j of T starts at row j, so a panel of columns is a product over the remaining rows
 * only. */
#include <omp.h>
#include <string.h>

#include "engine/infer.h"
#include "engine/ops.h"
#include "engine/ops/gemm.h"

enum {
    ROWS = 48,
    CHUNK = 256
}; /* rows of X a task takes forward; rows summed at a time backward */

typedef struct sizes {
    int64_t m, n, d, panels, tri; /* tri: reals of all panels of one T */
    int64_t blocks;               /* of ROWS rows */
    bool shared;                  /* x serves every bridge */
} sizes;

static sizes sizes_of(const wmi_node *nd)
{
    const wmi_shape *x = &nd->in[0]->shape, *a = &nd->in[1]->shape;
    sizes z = {.m = a->dim[0], .n = x->dim[1], .d = x->dim[2], .shared = x->dim[0] != a->dim[0]};

    z.panels = (z.d + GEMM_NR - 1) / GEMM_NR;
    z.tri = z.panels * GEMM_NR * z.d; /* room for either triangle without counting corners */
    z.blocks = (z.n + ROWS - 1) / ROWS;
    return z;
}

static wm_status infer(wmi_node *nd, wm_error *err)
{
    const wmi_shape *x = &nd->in[0]->shape, *a = &nd->in[1]->shape;

    if (x->rank != 3 || a->rank != 3)
        return wmi_infer_fail(nd, err, "expected x (bridges or 1, n, d) and A (bridges, d, d)");
    if (a->dim[1] != a->dim[2] || a->dim[1] != x->dim[2])
        return wmi_infer_fail(nd, err, "A is not (d, d) with the d of x");
    if (x->dim[0] != a->dim[0] && x->dim[0] != 1)
        return wmi_infer_fail(nd, err, "x has neither one group nor one for each bridge");
    return wmi_infer_set(nd, 2, (int64_t[]){a->dim[0], x->dim[1]}, err);
}

static bool is_psd(const wmi_node *nd)
{
    return ((const wmi_quadratic_attr *)nd->attr)->kind == WMI_QUADRATIC_PSD;
}

/* T_ij for i >= j, from A. */
static inline real triangle(const wmi_node *nd, const real *a, int64_t d, int64_t i, int64_t j)
{
    if (i != j)
        return is_psd(nd) ? a[i * d + j] : 2 * a[i * d + j];
    if (((const wmi_quadratic_attr *)nd->attr)->kind == WMI_QUADRATIC_FREE)
        return a[i * d + i];
    return exp(a[i * d + i] - 5);
}

/* Panel `p` of T: rows j0 .. d of columns j0 .. j0 + NR; of T' (trans): rows 0 .. end of column
 * panel. */
static void pack_triangle(const wmi_node *nd, const real *a, int64_t d, int64_t p, bool trans,
                          real *restrict panel)
{
    const int64_t j0 = p * GEMM_NR, j1 = j0 + GEMM_NR < d ? j0 + GEMM_NR : d;
    const int64_t first = trans ? 0 : j0, last = trans ? j1 : d;
    const real factor = is_psd(nd) ? 1 : 2;

    for (int64_t r = first; r < last; r++, panel += GEMM_NR) {
        if (!trans && r >= j1 && j1 - j0 == GEMM_NR) { /* below the corner: a plain row */
            for (int64_t j = 0; j < GEMM_NR; j++)
                panel[j] = factor * a[r * d + j0 + j];
            continue;
        }
        for (int64_t j = j0; j < j0 + GEMM_NR; j++) {
            const int64_t row = trans ? j : r, col = trans ? r : j;

            panel[j - j0] = j < j1 && row >= col ? triangle(nd, a, d, row, col) : 0;
        }
    }
}

/* Where the packed panels of T (and of T' after them) and each thread's own memory lie in scratch.
 */
static real *packed(const wmi_node *nd, const sizes *z, int64_t k, int64_t p)
{
    return (real *)nd->scratch + k * z->tri + p * GEMM_NR * z->d;
}

static void pack_all(const wmi_node *nd, const sizes *z, bool trans)
{
    const real *a = nd->in[1]->val;

#pragma omp parallel for collapse(2) schedule(static, 1)                                           \
    num_threads(nd->run->threads) if (z->m * z->d * z->d >= WMI_OMP_MIN)
    for (int64_t k = 0; k < z->m; k++)
        for (int64_t p = 0; p < z->panels; p++)
            pack_triangle(nd, a + k * z->d * z->d, z->d, p, trans, packed(nd, z, k, p));
}

static const real *rows_of(const wmi_node *nd, const sizes *z, int64_t k, int64_t row)
{
    return (const real *)nd->in[0]->val + ((z->shared ? 0 : k * z->n) + row) * z->d;
}

/* Backward reads Y in all cases but one: symmetric, and only A wants a gradient. */
static bool saves_y(const wmi_node *nd)
{
    return nd->wants_grad && (is_psd(nd) || nd->in[0]->wants_grad);
}

/* In double, over eight lanes that become vectors; the order is fixed. */
static double dot(int64_t n, const real *restrict a, const real *restrict b)
{
    double lane[8] = {0}, rest = 0;
    int64_t i = 0;

    for (; i + 8 <= n; i += 8)
        for (int l = 0; l < 8; l++)
            lane[l] += (double)a[i + l] * (double)b[i + l];
    for (; i < n; i++)
        rest += (double)a[i] * (double)b[i];
    for (int l = 0; l < 8; l++)
        rest += lane[l];
    return rest;
}

static void forward(const wmi_node *nd)
{
    const sizes z = sizes_of(nd);
    real *own = (real *)nd->scratch + z.m * z.tri;
    real *out = nd->val;

    pack_all(nd, &z, false);
#pragma omp parallel for collapse(2) schedule(static)                                              \
    num_threads(nd->run->threads) if (z.m * z.n * z.d >= WMI_OMP_MIN)
    for (int64_t k = 0; k < z.m; k++)
        for (int64_t b = 0; b < z.blocks; b++) {
            const int64_t r0 = b * ROWS, rows = z.n - r0 < ROWS ? z.n - r0 : ROWS;
            const real *x = rows_of(nd, &z, k, r0);
            real *y = saves_y(nd) ? (real *)nd->saved + (k * z.n + r0) * z.d
                                  : own + omp_get_thread_num() * ROWS * z.d;

            for (int64_t p = 0; p < z.panels; p++) {
                const int64_t j0 = p * GEMM_NR, cols = z.d - j0 < GEMM_NR ? z.d - j0 : GEMM_NR;

                VNAME(gemm_nn)
                (rows, cols, z.d - j0, x + j0, z.d, packed(nd, &z, k, p), GEMM_NR, 0, y + j0, z.d,
                 false);
            }
            for (int64_t r = 0; r < rows; r++) {
                const real *left = (is_psd(nd) ? y : x) + r * z.d, *right = y + r * z.d;

                out[k * z.n + r0 + r] = (real)dot(z.d, left, right);
            }
        }
}

/* Lower triangle of dA_k, columns of panel p, over all rows; one thread. `right` is CHUNK x NR
 * reals. */
static void grad_a_panel(const wmi_node *nd, const sizes *z, int64_t k, int64_t p,
                         real *restrict right)
{
    const int64_t d = z->d, j0 = p * GEMM_NR, cols = d - j0 < GEMM_NR ? d - j0 : GEMM_NR;
    const int64_t below = j0 + cols; /* first row under the corner */
    const bool fresh = nd->fresh >> 1 & 1;
    const bool has_exp = ((const wmi_quadratic_attr *)nd->attr)->kind != WMI_QUADRATIC_FREE;
    const real *a = (const real *)nd->in[1]->val + k * d * d;
    const real *ds = (const real *)nd->grad + k * z->n;
    real *da = (real *)nd->in[1]->grad + k * d * d;
    real corner[GEMM_NR * GEMM_NR];

    for (int64_t i = 0; fresh && i < below; i++) /* nothing above the diagonal is read */
        memset(da + i * d + j0, 0, (size_t)cols * sizeof *da);
    if (fresh && z->n == 0)
        for (int64_t i = below; i < d; i++)
            memset(da + i * d + j0, 0, (size_t)cols * sizeof *da);
    for (int64_t r0 = 0; r0 < z->n; r0 += CHUNK) {
        const int64_t rows = z->n - r0 < CHUNK ? z->n - r0 : CHUNK;
        const real *x = rows_of(nd, z, k, r0);
        const real *from = is_psd(nd) ? (const real *)nd->saved + (k * z->n + r0) * d : x;

        for (int64_t r = 0; r < rows; r++)
            for (int64_t j = 0; j < GEMM_NR; j++)
                right[r * GEMM_NR + j] = j < cols ? 2 * ds[r0 + r] * from[r * d + j0 + j] : 0;
        VNAME(gemm_tn)
        (d - below, cols, rows, x + below, d, right, GEMM_NR, 0, da + below * d + j0, d,
         !fresh || r0 > 0);
        VNAME(gemm_tn)(cols, GEMM_NR, rows, x + j0, d, right, GEMM_NR, 0, corner, GEMM_NR, false);
        for (int64_t i = 0; i < cols; i++) {
            /* off the diagonal d/dA is d/dL or 2 d/dQ, on it d/dL or d/dQ, through exp(a - 5) */
            const real diagonal = corner[i * GEMM_NR + i] * (is_psd(nd) ? 1 : R(0.5));

            for (int64_t j = 0; j < i; j++)
                da[(j0 + i) * d + j0 + j] += corner[i * GEMM_NR + j];
            da[(j0 + i) * (d + 1)] +=
                has_exp ? diagonal * exp(a[(j0 + i) * (d + 1)] - 5) : diagonal;
        }
    }
}

static void grad_a(const wmi_node *nd, const sizes *z)
{
    real *right = (real *)nd->scratch + z->m * z->tri;

#pragma omp parallel for collapse(2) schedule(static, 1)                                           \
    num_threads(nd->run->threads) if (z->m * z->n * z->d >= WMI_OMP_MIN)
    for (int64_t k = 0; k < z->m; k++)
        for (int64_t p = 0; p < z->panels; p++)
            grad_a_panel(nd, z, k, p, right + omp_get_thread_num() * CHUNK * GEMM_NR);
}

/* dX: with V = 2 ds Y (semi-definite) V T', else ds Y + (ds X) T'. */
static void grad_x(const wmi_node *nd, const sizes *z)
{
    const int64_t d = z->d, groups = z->shared ? 1 : z->m; /* shared: bridges are added in order */
    const real *y = nd->saved, *ds = nd->grad;
    real *left = (real *)nd->scratch + z->m * z->tri;

    pack_all(nd, z, true);
#pragma omp parallel for collapse(2) schedule(static)                                              \
    num_threads(nd->run->threads) if (z->m * z->n * d >= WMI_OMP_MIN)
    for (int64_t g = 0; g < groups; g++)
        for (int64_t b = 0; b < z->blocks; b++)
            for (int64_t k = g; k < (z->shared ? z->m : g + 1); k++) {
                const int64_t r0 = b * ROWS, rows = z->n - r0 < ROWS ? z->n - r0 : ROWS;
                const real *x = rows_of(nd, z, k, r0), *yk = y + (k * z->n + r0) * d;
                const real *s = ds + k * z->n + r0;
                real *v = left + omp_get_thread_num() * ROWS * d;
                real *dx = (real *)nd->in[0]->grad + ((z->shared ? 0 : k * z->n) + r0) * d;
                const bool fresh = nd->fresh & 1 && (!z->shared || k == 0);

                for (int64_t r = 0; r < rows; r++)
                    for (int64_t j = 0; j < d; j++) {
                        const int64_t at = r * d + j;

                        v[at] = s[r] * (is_psd(nd) ? 2 * yk[at] : x[at]);
                        if (!is_psd(nd))
                            dx[at] = (fresh ? 0 : dx[at]) + s[r] * yk[at];
                    }
                for (int64_t p = 0; p < z->panels; p++) {
                    const int64_t j0 = p * GEMM_NR, cols = d - j0 < GEMM_NR ? d - j0 : GEMM_NR;

                    VNAME(gemm_nn)
                    (rows, cols, j0 + cols, v, d, packed(nd, z, k, p), GEMM_NR, 0, dx + j0, d,
                     !is_psd(nd) || !fresh);
                }
            }
}

static void backward(const wmi_node *nd)
{
    const sizes z = sizes_of(nd);

    if (nd->in[1]->grad)
        grad_a(nd, &z);
    if (nd->in[0]->grad)
        grad_x(nd, &z);
}

static size_t scratch(const wmi_node *nd, wmi_phase phase)
{
    const sizes z = sizes_of(nd);
    const int64_t rows = ROWS * z.d, panel = CHUNK * GEMM_NR;
    const int64_t own = phase == WMI_FORWARD || rows > panel ? rows : panel; /* of a thread */

    return (size_t)(z.m * z.tri + nd->run->threads * own) * sizeof(real);
}

static size_t saved(const wmi_node *nd)
{
    const sizes z = sizes_of(nd);

    return saves_y(nd) ? (size_t)(z.m * z.n * z.d) * sizeof(real) : 0;
}

extern const wmi_op_def OPNAME(quadratic);
const wmi_op_def OPNAME(quadratic) = {
    "quadratic",
    2,
    infer,
    forward,
    backward,
    .keep = WMI_KEEP_IN(0) | WMI_KEEP_IN(1),
    .flags = WMI_OP_WRITES_FRESH,
    .scratch = scratch,
    .saved = saved,
};
