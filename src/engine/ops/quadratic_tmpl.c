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
#include "engine/kernels/gemm.h"
#include "engine/ops.h"

enum {
    ROWS = 48,                     /* of X that a task takes at a time */
    CHUNK = 256,                   /* rows that dA is summed over at a time, at most */
    STRIDE = (CHUNK + 1) * GEMM_NR /* of packed columns of a chunk; not a power of two */
};

typedef struct sizes {
    int64_t m, n, d, panels;
    int64_t blocks; /* of ROWS rows */
    int64_t chunk;  /* rows: equal ones, of at most CHUNK */
    int64_t tri;    /* reals of all panels of one T, with room for either triangle */
    bool shared;    /* x serves every bridge */
} sizes;

static sizes sizes_of(const wmi_node *nd)
{
    const wmi_shape *x = &nd->in[0]->shape, *a = &nd->in[1]->shape;
    sizes z = {.m = a->dim[0], .n = x->dim[1], .d = x->dim[2], .shared = x->dim[0] != a->dim[0]};
    const int64_t chunks = z.n > CHUNK ? (z.n + CHUNK - 1) / CHUNK : 1;

    z.panels = (z.d + GEMM_NR - 1) / GEMM_NR;
    z.blocks = (z.n + ROWS - 1) / ROWS;
    z.chunk = (z.n + chunks - 1) / chunks;
    z.tri = z.panels * GEMM_NR * z.d;
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

/* Tasks lo .. hi of the calling thread. Consecutive ones, so that a thread packs few matrices, each
 * for itself: they stay in its cache, and nobody waits. */
typedef struct share {
    int64_t lo, hi;
    real *own; /* the thread's part of the scratch */
} share;

static share share_of(const wmi_node *nd, int64_t tasks, int64_t own)
{
    const int64_t me = omp_get_thread_num(), all = omp_get_num_threads();

    return (share){tasks * me / all, tasks * (me + 1) / all, (real *)nd->scratch + me * own};
}

/* T_k in panels: panel p has rows j0 .. d of columns j0 .. j0 + NR. Read along the rows of A. */
static void pack_t(const wmi_node *nd, const sizes *z, int64_t k, real *to)
{
    const real *a = (const real *)nd->in[1]->val + k * z->d * z->d, factor = is_psd(nd) ? 1 : 2;

    for (int64_t r = 0; r < z->d; r++) {
        const int64_t last = r / GEMM_NR, corner = last * GEMM_NR;
        real *at = to + last * GEMM_NR * z->d + (r - corner) * GEMM_NR;

        for (int64_t p = 0; p < last; p++) {
            const real *restrict from = a + r * z->d + p * GEMM_NR;
            real *restrict put = to + p * GEMM_NR * z->d + (r - p * GEMM_NR) * GEMM_NR;

            for (int64_t j = 0; j < GEMM_NR; j++)
                put[j] = factor * from[j];
        }
        for (int64_t j = 0; j < GEMM_NR; j++)
            at[j] = corner + j <= r ? triangle(nd, a, z->d, r, corner + j) : 0;
    }
}

/* T_k' in panels: panel p has rows 0 .. j0 + NR, of columns j0 .. j0 + NR. */
static void pack_t_transposed(const wmi_node *nd, const sizes *z, int64_t k, real *to)
{
    const real *a = (const real *)nd->in[1]->val + k * z->d * z->d, factor = is_psd(nd) ? 1 : 2;

    for (int64_t j = 0; j < z->panels * GEMM_NR; j++) {
        const int64_t corner = j / GEMM_NR * GEMM_NR;
        const int64_t end = corner + GEMM_NR < z->d ? corner + GEMM_NR : z->d; /* of the rows */
        const int64_t inside = j < z->d ? j : 0; /* columns that fill the last panel are zero */
        real *at = to + corner * z->d + j % GEMM_NR;

        for (int64_t r = 0; r < inside; r++)
            at[r * GEMM_NR] = factor * a[j * z->d + r];
        for (int64_t r = inside; r < end; r++)
            at[r * GEMM_NR] = r == j ? triangle(nd, a, z->d, j, j) : 0;
    }
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

static void forward_block(const wmi_node *nd, const sizes *z, int64_t k, int64_t b, const real *t,
                          real *own)
{
    const int64_t r0 = b * ROWS, rows = z->n - r0 < ROWS ? z->n - r0 : ROWS;
    const real *x = rows_of(nd, z, k, r0);
    real *y = saves_y(nd) ? (real *)nd->saved + (k * z->n + r0) * z->d : own;
    real *out = (real *)nd->val + k * z->n + r0;

    for (int64_t p = 0; p < z->panels; p++) {
        const int64_t j0 = p * GEMM_NR, cols = z->d - j0 < GEMM_NR ? z->d - j0 : GEMM_NR;

        GEMM_NN(rows, cols, z->d - j0, x + j0, z->d, t + j0 * z->d, GEMM_NR, 0, y + j0, z->d,
                false);
    }
    for (int64_t r = 0; r < rows; r++)
        out[r] = (real)dot(z->d, (is_psd(nd) ? y : x) + r * z->d, y + r * z->d);
}

/* Reals that a thread has for itself in forward and grad_x: T, and a block of rows. */
static int64_t own_of_rows(const sizes *z)
{
    return z->tri + ROWS * z->d;
}

static bool worth_threads(const wmi_node *nd, const sizes *z)
{
    return nd->run->threads > 1 && z->m * z->n * z->d >= WMI_OMP_MIN;
}

static void forward(const wmi_node *nd)
{
    const sizes z = sizes_of(nd);

#pragma omp parallel num_threads(nd->run->threads) if (worth_threads(nd, &z))
    {
        const share s = share_of(nd, z.m * z.blocks, own_of_rows(&z));

        for (int64_t i = s.lo; i < s.hi; i++) {
            if (i == s.lo || i % z.blocks == 0)
                pack_t(nd, &z, i / z.blocks, s.own);
            forward_block(nd, &z, i / z.blocks, i % z.blocks, s.own, s.own + z.tri);
        }
    }
}

/* ---- the gradient of A ---- */

/* right (rows, NR) = 2 ds from: columns of x, or of Y where there is an L. */
static void scale_columns(const wmi_node *nd, const sizes *z, int64_t k, int64_t r0, int64_t rows,
                          int64_t p, const real *x, real *restrict right)
{
    const real *ds = (const real *)nd->grad + k * z->n + r0;
    const int64_t j0 = p * GEMM_NR, cols = z->d - j0 < GEMM_NR ? z->d - j0 : GEMM_NR;
    const real *y = is_psd(nd) ? (const real *)nd->saved + (k * z->n + r0) * z->d + j0 : NULL;

    for (int64_t r = 0; r < rows; r++, right += GEMM_NR) {
        const real twice = 2 * ds[r], *restrict from = y ? y + r * z->d : x + r * GEMM_NR;

        if (!y || cols == GEMM_NR)
            for (int64_t j = 0; j < GEMM_NR; j++)
                right[j] = twice * from[j];
        else
            for (int64_t j = 0; j < GEMM_NR; j++)
                right[j] = j < cols ? twice * from[j] : 0;
    }
}

/* Adds the corner on the diagonal: off it d/dA is d/dL or 2 d/dQ, on it d/dL or d/dQ, through
 * exp(a - 5). */
static void add_corner(const wmi_node *nd, const sizes *z, int64_t k, int64_t p, const real *corner)
{
    const int64_t d = z->d, j0 = p * GEMM_NR, cols = d - j0 < GEMM_NR ? d - j0 : GEMM_NR;
    const bool has_exp = ((const wmi_quadratic_attr *)nd->attr)->kind != WMI_QUADRATIC_FREE;
    const real *a = (const real *)nd->in[1]->val + k * d * d;
    real *da = (real *)nd->in[1]->grad + k * d * d;

    for (int64_t i = 0; i < cols; i++) {
        const int64_t at = (j0 + i) * (d + 1);
        const real diagonal = corner[i * GEMM_NR + i] * (is_psd(nd) ? 1 : R(0.5));

        for (int64_t j = 0; j < i; j++)
            da[(j0 + i) * d + j0 + j] += corner[i * GEMM_NR + j];
        da[at] += has_exp ? diagonal * exp(a[at] - 5) : diagonal;
    }
}

/* Rows r0 .. r0 + rows into the lower triangle of dA_k, columns of panel p. x are their packed
 * columns, `right` CHUNK x NR reals. */
static void grad_a_panel(const wmi_node *nd, const sizes *z, int64_t k, int64_t p, int64_t r0,
                         int64_t rows, const real *x, real *right)
{
    const int64_t d = z->d, j0 = p * GEMM_NR, cols = d - j0 < GEMM_NR ? d - j0 : GEMM_NR;
    const bool first = nd->fresh >> 1 & 1 && r0 == 0;
    real *da = (real *)nd->in[1]->grad + k * d * d;
    real corner[GEMM_NR * GEMM_NR];

    for (int64_t i = 0; first && i < j0 + cols; i++) /* nothing above the diagonal is read */
        memset(da + i * d + j0, 0, (size_t)cols * sizeof *da);
    scale_columns(nd, z, k, r0, rows, p, x + p * STRIDE, right);
    for (int64_t q = p + 1; q < z->panels; q++) { /* then cols is GEMM_NR */
        const int64_t i0 = q * GEMM_NR, left = d - i0;

        GEMM_TN(left < GEMM_NR ? left : GEMM_NR, GEMM_NR, rows, x + q * STRIDE, GEMM_NR, right,
                GEMM_NR, 0, da + i0 * d + j0, d, !first);
    }
    GEMM_TN(cols, GEMM_NR, rows, x + p * STRIDE, GEMM_NR, right, GEMM_NR, 0, corner, GEMM_NR,
            false);
    add_corner(nd, z, k, p, corner);
}

static int64_t own_of_columns(const sizes *z)
{
    return z->panels * STRIDE + CHUNK * GEMM_NR;
}

/* Tasks (bridge, panel): long and short columns in turn, so that shares are about equal. */
static void grad_a_share(const wmi_node *nd, const sizes *z, share s)
{
    while (s.lo < s.hi) {
        const int64_t k = s.lo / z->panels, p0 = s.lo % z->panels;
        const int64_t left = s.hi - s.lo, p1 = z->panels - p0 < left ? z->panels : p0 + left;

        for (int64_t r0 = 0; r0 < z->n; r0 += z->chunk) {
            const int64_t rows = z->n - r0 < z->chunk ? z->n - r0 : z->chunk;

            for (int64_t r = 0; r < rows; r++)
                VNAME(pack_row)
            (z->d, rows_of(nd, z, k, r0 + r), NULL, 1, STRIDE, s.own + r * GEMM_NR);
            for (int64_t p = p0; p < p1; p++)
                grad_a_panel(nd, z, k, p % 2 ? z->panels - 1 - p / 2 : p / 2, r0, rows, s.own,
                             s.own + z->panels * STRIDE);
        }
        s.lo += p1 - p0;
    }
}

static void grad_a(const wmi_node *nd, const sizes *z)
{
    if (z->n == 0 && nd->fresh >> 1 & 1)
        memset(nd->in[1]->grad, 0, (size_t)nd->in[1]->n * sizeof(real));
#pragma omp parallel num_threads(nd->run->threads) if (worth_threads(nd, z))
    grad_a_share(nd, z, share_of(nd, z->m * z->panels, own_of_columns(z)));
}

/* ---- the gradient of x: with V = 2 ds Y (semi-definite) V T', else ds Y + (ds X) T' ---- */

static void grad_x_block(const wmi_node *nd, const sizes *z, int64_t k, int64_t b, const real *t,
                         real *restrict v)
{
    const int64_t d = z->d, r0 = b * ROWS, rows = z->n - r0 < ROWS ? z->n - r0 : ROWS;
    const real *x = rows_of(nd, z, k, r0), *y = (const real *)nd->saved + (k * z->n + r0) * d;
    const real *ds = (const real *)nd->grad + k * z->n + r0;
    real *dx = (real *)nd->in[0]->grad + ((z->shared ? 0 : k * z->n) + r0) * d;
    const bool fresh = nd->fresh & 1 && (!z->shared || k == 0), psd = is_psd(nd);

    for (int64_t r = 0; r < rows; r++) {
        const real *restrict from = (psd ? y : x) + r * d, *restrict yr = y + r * d;
        const real s = ds[r], f = psd ? 2 * s : s;
        real *restrict to = dx + r * d;

        for (int64_t j = 0; j < d; j++)
            v[r * d + j] = f * from[j];
        if (!psd && fresh)
            for (int64_t j = 0; j < d; j++)
                to[j] = s * yr[j];
        else if (!psd)
            for (int64_t j = 0; j < d; j++)
                to[j] += s * yr[j];
    }
    for (int64_t p = 0; p < z->panels; p++) {
        const int64_t j0 = p * GEMM_NR, cols = d - j0 < GEMM_NR ? d - j0 : GEMM_NR;

        GEMM_NN(rows, cols, j0 + cols, v, d, t + j0 * d, GEMM_NR, 0, dx + j0, d, !psd || !fresh);
    }
}

/* Tasks (group of rows, block); where all bridges share the rows, they are added in order. */
static void grad_x_share(const wmi_node *nd, const sizes *z, share s)
{
    while (s.lo < s.hi) {
        const int64_t g = s.lo / z->blocks, b0 = s.lo % z->blocks;
        const int64_t left = s.hi - s.lo, b1 = z->blocks - b0 < left ? z->blocks : b0 + left;

        for (int64_t k = g; k < (z->shared ? z->m : g + 1); k++) {
            pack_t_transposed(nd, z, k, s.own);
            for (int64_t b = b0; b < b1; b++)
                grad_x_block(nd, z, k, b, s.own, s.own + z->tri);
        }
        s.lo += b1 - b0;
    }
}

static void grad_x(const wmi_node *nd, const sizes *z)
{
#pragma omp parallel num_threads(nd->run->threads) if (worth_threads(nd, z))
    grad_x_share(nd, z, share_of(nd, (z->shared ? 1 : z->m) * z->blocks, own_of_rows(z)));
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
    const bool rows = phase == WMI_FORWARD || nd->in[0]->wants_grad;
    const bool columns = phase == WMI_BACKWARD && nd->in[1]->wants_grad;
    int64_t own = rows ? own_of_rows(&z) : 0;

    if (columns && own < own_of_columns(&z))
        own = own_of_columns(&z);
    return (size_t)(nd->run->threads * own) * sizeof(real);
}

static size_t saved(const wmi_node *nd)
{
    const sizes z = sizes_of(nd);

    return saves_y(nd) ? (size_t)(z.m * z.n * z.d) * sizeof(real) : 0;
}

DEFINE_OP(quadratic, .n_in = 2, .infer = infer, .forward = forward, .backward = backward,
          .keep = WMI_KEEP_IN(0) | WMI_KEEP_IN(1), .flags = WMI_OP_WRITES_FRESH, .scratch = scratch,
          .saved = saved);
