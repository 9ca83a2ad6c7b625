/* gemm_tmpl.c - C = or += A B on data in cache; see gemm.h.
 *
 * The kernel keeps an mr x 2 block of vectors of C in registers and walks along k: two loads of B,
 * mr broadcasts of A, 2 mr multiply-adds. On AVX2 that is 12 independent chains, enough to hide the
 * 4 cycles of two FMA units, and 8 loads for 12 FMAs, so the FMAs set the pace. mr, nv (vectors per
 * row of B) and the form of A are constants in every copy of the kernel. */
#include "engine/kernels/gemm.h"

#include <omp.h>
#include <string.h>

#include "engine/kernels/conv_lanes.h"

enum {
    SMALL_B = 8 * 1024,            /* bytes of a B that lives in L1 beside the rest */
    PRODUCT_DEPTH = 192,           /* rows of a panel of product(): it is in L1 beside rows of A */
    PRODUCT_THREADS_MIN = 1 << 18, /* multiply-adds: below, waking the threads costs more */
};

/* Where the operands stand; see gemm.h. The depth is cut into `runs` pieces of k, `run_step` apart
 * in A and consecutive in B: one piece but for convolution windows. */
typedef struct operands {
    const real *a, *b;
    int64_t lda, ldb, k;
    int64_t runs, run_step;
} operands;

/* `last` lanes of the last vector of C are there; those of B are readable. */
ALWAYS_INLINE void kernel(const int mr, const int nv, const bool trans, const operands o, int last,
                          real *c, int64_t ldc, bool add)
{
    const real *b = o.b;
    vreal acc[GEMM_MR][2];

    if (!add) {
#pragma GCC unroll 12
        for (int i = 0; i < mr; i++)
#pragma GCC unroll 2
            for (int v = 0; v < nv; v++)
                acc[i][v] = (vreal){0};
    } else {
#pragma GCC unroll 12
        for (int i = 0; i < mr; i++)
#pragma GCC unroll 2
            for (int v = 0; v < nv; v++)
                acc[i][v] = v < nv - 1 || last == VL ? vload(c + i * ldc + v * VL)
                                                     : vload_first(c + i * ldc + v * VL, last);
    }
    for (int64_t run = 0; run < o.runs; run++) {
        const real *a = o.a + run * o.run_step;

#pragma GCC unroll 4
        for (int64_t p = 0; p < o.k; p++) {
            vreal bv[2];

#pragma GCC unroll 2
            for (int v = 0; v < nv; v++)
                bv[v] = vload(b + v * VL);
#pragma GCC unroll 12
            for (int i = 0; i < mr; i++) {
                const vreal ai = vsplat(trans ? a[i] : a[i * o.lda]);
#pragma GCC unroll 2
                for (int v = 0; v < nv; v++)
                    acc[i][v] += ai * bv[v];
            }
            a += trans ? o.lda : 1;
            b += o.ldb;
        }
    }
    if (last == VL) {
#pragma GCC unroll 12
        for (int i = 0; i < mr; i++)
#pragma GCC unroll 2
            for (int v = 0; v < nv; v++)
                vstore(c + i * ldc + v * VL, acc[i][v]);
    } else {
#pragma GCC unroll 12
        for (int i = 0; i < mr; i++) {
            if (nv == 2)
                vstore(c + i * ldc, acc[i][0]);
            vstore_first(c + i * ldc + (nv - 1) * VL, acc[i][nv - 1], last);
        }
    }
}

/* mr becomes a constant. */
ALWAYS_INLINE void block_of(int64_t mr, const int nv, const bool trans, const operands o, int last,
                            real *c, int64_t ldc, bool add)
{
#define CASE(r)                                                                                    \
    case r:                                                                                        \
        kernel(r, nv, trans, o, last, c, ldc, add);                                                \
        break;
    switch (mr) {
        CASE(1)
        CASE(2)
        CASE(3)
        CASE(4)
        CASE(5)
        CASE(6)
#if GEMM_MAX_MR == 12
        CASE(7)
        CASE(8)
        CASE(9)
        CASE(10)
        CASE(11)
        CASE(12)
#endif
    default:
        break;
    }
#undef CASE
}

/* mr rows of C and at most GEMM_NR columns. */
ALWAYS_INLINE void block(int64_t mr, int64_t nc, const bool trans, const operands o, real *c,
                         int64_t ldc, bool add)
{
    if (nc > VL)
        block_of(mr, 2, trans, o, (int)(nc < GEMM_NR ? nc - VL : VL), c, ldc, add);
    else
        block_of(mr, 1, trans, o, (int)nc, c, ldc, add);
}

/* Rows are cut into equal blocks, since a block of one or two rows runs at a fraction of the speed:
 * 14 is 5 + 5 + 4, not 6 + 6 + 2. A panel serves all rows while it is in L1; where all of B fits
 * there, the rows of C are written one block after the other, which memory likes better. */
ALWAYS_INLINE void gemm(const bool trans, int64_t m, int64_t n, const operands o, int64_t step,
                        real *c, int64_t ldc, bool add)
{
    const int64_t blocks = (m + GEMM_MR - 1) / GEMM_MR;
    const int64_t rows = blocks ? m / blocks : 0, longer = blocks ? m % blocks : 0;
    const bool small_b = o.runs * o.k * n * (int64_t)sizeof(real) <= SMALL_B;
    const int64_t width = small_b ? n : GEMM_NR; /* columns at a time */

    for (int64_t j0 = 0; j0 < n; j0 += width)
        for (int64_t q = 0, i = 0; q < blocks; q++) {
            const int64_t mr = rows + (q < longer);

            for (int64_t j = j0; j < n && j < j0 + width; j += GEMM_NR) {
                operands at = o;

                at.a = trans ? o.a + i : o.a + i * o.lda;
                at.b = o.b + j / GEMM_NR * step;
                block(mr, n - j, trans, at, c + i * ldc + j, ldc, add);
            }
            i += mr;
        }
}

void VNAME(gemm_nn)(int64_t m, int64_t n, int64_t k, const real *a, int64_t lda, const real *b,
                    int64_t ldb, int64_t step, real *c, int64_t ldc, bool add)
{
    gemm(false, m, n, (operands){a, b, lda, ldb, k, 1, 0}, step, c, ldc, add);
}

void VNAME(gemm_tn)(int64_t m, int64_t n, int64_t k, const real *a, int64_t lda, const real *b,
                    int64_t ldb, int64_t step, real *c, int64_t ldc, bool add)
{
    gemm(true, m, n, (operands){a, b, lda, ldb, k, 1, 0}, step, c, ldc, add);
}

void VNAME(gemm_windows)(int64_t m, int64_t n, int64_t runs, int64_t len, const real *a,
                         int64_t lda, int64_t run_step, const real *panels, real *c, int64_t ldc)
{
    gemm(false, m, n, (operands){a, panels, lda, GEMM_NR, len, runs, run_step},
         runs * len * GEMM_NR, c, ldc, false);
}

/* A piece of C on one thread, panel by panel: a panel serves all rows while it is in L1. A whole
 * one of few rows is read where it stands, which takes less than packing it. */
static void product_piece(bool ta, bool tb, int64_t m, int64_t n, int64_t k, const real *a,
                          int64_t lda, const real *b, int64_t ldb, bool add, real *c, int64_t ldc)
{
    _Alignas(64) real panel[PRODUCT_DEPTH * GEMM_NR];

    for (int64_t i = 0; k == 0 && !add && i < m; i++)
        memset(c + i * ldc, 0, (size_t)n * sizeof *c);
    for (int64_t p0 = 0; p0 < k; p0 += PRODUCT_DEPTH) {
        const int64_t depth = k - p0 < PRODUCT_DEPTH ? k - p0 : PRODUCT_DEPTH;

        for (int64_t j0 = 0; j0 < n; j0 += GEMM_NR) {
            const int64_t cols = n - j0 < GEMM_NR ? n - j0 : GEMM_NR;
            const real *from = tb ? b + j0 * ldb + p0 : b + p0 * ldb + j0;
            const bool packed = tb || cols < GEMM_NR || m > GEMM_MR;
            const real *at = ta ? a + p0 * lda : a + p0;

            if (packed)
                VNAME(pack_panels)(depth, cols, from, ldb, tb, panel);
            if (ta)
                VNAME(gemm_tn)
            (m, cols, depth, at, lda, packed ? panel : from, packed ? GEMM_NR : ldb, 0, c + j0, ldc,
             add || p0 > 0);
            else VNAME(gemm_nn)(m, cols, depth, at, lda, packed ? panel : from,
                                packed ? GEMM_NR : ldb, 0, c + j0, ldc, add || p0 > 0);
        }
    }
}

void VNAME(product)(int threads, bool ta, bool tb, int64_t m, int64_t n, int64_t k, const real *a,
                    int64_t lda, const real *b, int64_t ldb, bool add, real *c, int64_t ldc)
{
    const int64_t panels = (n + GEMM_NR - 1) / GEMM_NR;
    const bool by_rows = m >= n; /* else by panels */

#pragma omp parallel num_threads(threads) if (threads > 1 && !omp_in_parallel() &&                 \
                                              m * n * k >= PRODUCT_THREADS_MIN)
    {
        const int64_t me = omp_get_thread_num(), all = omp_get_num_threads();
        const int64_t i0 = by_rows ? m * me / all : 0, i1 = by_rows ? m * (me + 1) / all : m;
        const int64_t j0 = by_rows ? 0 : panels * me / all * GEMM_NR,
                      end = by_rows ? n : panels * (me + 1) / all * GEMM_NR, j1 = end < n ? end : n;

        product_piece(ta, tb, i1 - i0, j1 - j0, k, ta ? a + i0 : a + i0 * lda, lda,
                      tb ? b + j0 * ldb : b + j0, ldb, add, c + i0 * ldc + j0, ldc);
    }
}

int64_t VNAME(panels_size)(int64_t k, int64_t n)
{
    return (n + GEMM_NR - 1) / GEMM_NR * GEMM_NR * k;
}

/* Lanes of a, then of b, that `from` names. clang has no shuffle by a variable. */
ALWAYS_INLINE vreal lanes(vreal a, vreal b, vmask from)
{
#ifdef __clang__
    vreal v = a;

    for (int l = 0; l < VL; l++)
        v[l] = from[l] < VL ? a[from[l]] : b[from[l] - VL];
    return v;
#else
    return __builtin_shuffle(a, b, from);
#endif
}

/* One step of transpose(): lanes that differ in bit h change places with those of row i ^ h. */
ALWAYS_INLINE void exchange(const int h, vreal *v)
{
    vmask low = {0}, high = {0};

#pragma GCC unroll 16
    for (int l = 0; l < VL; l++) {
        low[l] = l & h ? VL + l - h : l;
        high[l] = l & h ? VL + l : l + h;
    }
#pragma GCC unroll 16
    for (int i = 0; i < VL; i++)
        if (!(i & h)) {
            const vreal a = v[i], b = v[i + h];

            v[i] = lanes(a, b, low);
            v[i + h] = lanes(a, b, high);
        }
}

/* VL x VL reals, rows ld apart, transposed to rows GEMM_NR apart. */
ALWAYS_INLINE void transpose(const real *from, int64_t ld, real *to)
{
    vreal v[VL];

#pragma GCC unroll 16
    for (int i = 0; i < VL; i++)
        v[i] = vload(from + i * ld);
    if (VL >= 16)
        exchange(8, v);
    if (VL >= 8)
        exchange(4, v);
    if (VL >= 4)
        exchange(2, v);
    exchange(1, v);
#pragma GCC unroll 16
    for (int i = 0; i < VL; i++)
        vstore(to + i * GEMM_NR, v[i]);
}

/* A panel of nc columns from its transpose: column c stands at b[c * ldb]. */
static void pack_transposed(int64_t k, int64_t nc, const real *b, int64_t ldb, real *panel)
{
    const int64_t whole = k / VL * VL;
    int64_t c = 0;

    for (; c + VL <= nc; c += VL) {
        for (int64_t p = 0; p < whole; p += VL)
            transpose(b + c * ldb + p, ldb, panel + p * GEMM_NR + c);
        for (int64_t p = whole; p < k; p++)
            for (int i = 0; i < VL; i++)
                panel[p * GEMM_NR + c + i] = b[(c + i) * ldb + p];
    }
    for (; c < nc; c++)
        for (int64_t p = 0; p < k; p++)
            panel[p * GEMM_NR + c] = b[c * ldb + p];
}

void VNAME(pack_panels)(int64_t k, int64_t n, const real *b, int64_t ldb, bool trans, real *panels)
{
    if (k == 0) /* there may be no memory for nothing */
        return;
    for (int64_t j = 0; j < n; j += GEMM_NR, panels += k * GEMM_NR) {
        const int64_t nc = n - j < GEMM_NR ? n - j : GEMM_NR;

        if (nc < GEMM_NR)
            memset(panels, 0, (size_t)(k * GEMM_NR) * sizeof *panels);
        if (trans)
            pack_transposed(k, nc, b + j * ldb, ldb, panels);
        else if (nc < GEMM_NR)
            for (int64_t p = 0; p < k; p++)
                memcpy(panels + p * GEMM_NR, b + p * ldb + j, (size_t)nc * sizeof *b);
        else /* of a constant size: no call */
            for (int64_t p = 0; p < k; p++)
                memcpy(panels + p * GEMM_NR, b + p * ldb + j, GEMM_NR * sizeof *b);
    }
}

/* x > 0 ? 1 : slope, lane by lane. */
ALWAYS_INLINE vreal gate(vreal x, vreal slope)
{
    const vreal one = vsplat(1);
    typedef __typeof__(one > one) mask;
    const mask up = x > 0;

    return (vreal)(((mask)one & up) | ((mask)slope & ~up));
}

void VNAME(pack_row)(int64_t n, const real *row, const real *sign, real slope, int64_t stride,
                     real *to)
{
    const vreal slopes = vsplat(slope);
    int64_t j = 0;

    for (; j + GEMM_NR <= n; j += GEMM_NR, to += stride)
        for (int h = 0; h < GEMM_NR; h += VL) {
            vreal u = vload(row + j + h);

            if (slope != 1)
                u *= gate(vload(sign + j + h), slopes);
            vstore(to + h, u);
        }
    if (j == n)
        return;
    memset(to, 0, GEMM_NR * sizeof *to);
    for (int64_t i = j; i < n; i++)
        to[i - j] = slope == 1 || sign[i] > 0 ? row[i] : slope * row[i];
}
