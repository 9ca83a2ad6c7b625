/* gemm_tmpl.c - C = or += A B on data in cache; see gemm.h.
 *
 * The kernel keeps an mr x 2 block of vectors of C in registers and walks along k: two loads of B,
 * mr broadcasts of A, 2 mr multiply-adds. On AVX2 that is 12 independent chains, enough to hide the
 * 4 cycles of two FMA units, and 8 loads for 12 FMAs, so the FMAs set the pace. mr, nv (vectors per
 * row of B) and the form of A are constants in every copy of the kernel. */
#include "engine/ops/gemm.h"

#include <string.h>

#define ALWAYS_INLINE static inline __attribute__((always_inline))

ALWAYS_INLINE void kernel(const int mr, const int nv, const bool trans, int64_t k, const real *a,
                          int64_t lda, const real *b, int64_t ldb, real *c, int64_t ldc, bool add)
{
    vreal acc[GEMM_MR][2];

#pragma GCC unroll 12
    for (int i = 0; i < mr; i++)
#pragma GCC unroll 2
        for (int v = 0; v < nv; v++)
            acc[i][v] = add ? vload(c + i * ldc + v * VL) : (vreal){0};
    for (int64_t p = 0; p < k; p++) {
        vreal bv[2];

#pragma GCC unroll 2
        for (int v = 0; v < nv; v++)
            bv[v] = vload(b + v * VL);
#pragma GCC unroll 12
        for (int i = 0; i < mr; i++) {
            const vreal ai = vsplat(trans ? a[i] : a[i * lda]);
#pragma GCC unroll 2
            for (int v = 0; v < nv; v++)
                acc[i][v] += ai * bv[v];
        }
        a += trans ? lda : 1;
        b += ldb;
    }
#pragma GCC unroll 12
    for (int i = 0; i < mr; i++)
#pragma GCC unroll 2
        for (int v = 0; v < nv; v++)
            vstore(c + i * ldc + v * VL, acc[i][v]);
}

/* One block of rows; mr becomes a constant. */
ALWAYS_INLINE void block(int mr, const int nv, const bool trans, int64_t k, const real *a,
                         int64_t lda, const real *b, int64_t ldb, real *c, int64_t ldc, bool add)
{
#define CASE(r)                                                                                    \
    case r:                                                                                        \
        kernel(r <= GEMM_MR ? r : 1, nv, trans, k, a, lda, b, ldb, c, ldc, add);                   \
        break;
    switch (mr) {
        CASE(1)
        CASE(2)
        CASE(3)
        CASE(4)
        CASE(5)
        CASE(6)
#if defined(__AVX512F__) || defined(__aarch64__)
        CASE(7)
        CASE(8)
        CASE(9)
        CASE(10)
        CASE(11)
        CASE(12)
#endif
    }
#undef CASE
}

/* m rows of one panel, nv vectors wide. The rows are cut into equal blocks, since a block of one or
 * two rows runs at a fraction of the speed: 14 is 5 + 5 + 4, not 6 + 6 + 2. */
ALWAYS_INLINE void panel(int64_t m, const int nv, const bool trans, int64_t k, const real *a,
                         int64_t lda, const real *b, int64_t ldb, real *c, int64_t ldc, bool add)
{
    int64_t blocks = (m + GEMM_MR - 1) / GEMM_MR;

    for (int64_t i = 0; i < m; blocks--) {
        const int64_t mr = (m - i + blocks - 1) / blocks;

        block((int)mr, nv, trans, k, trans ? a + i : a + i * lda, lda, b, ldb, c + i * ldc, ldc,
              add);
        i += mr;
    }
}

/* A panel with a number of columns that fills no vector goes through a block of scratch. */
static void ragged_panel(int64_t m, int64_t n, const bool trans, int64_t k, const real *a,
                         int64_t lda, const real *b, int64_t ldb, real *c, int64_t ldc, bool add)
{
    for (int64_t i = 0; i < m; i += GEMM_MR) {
        const int64_t mr = m - i < GEMM_MR ? m - i : GEMM_MR;
        const real *ai = trans ? a + i : a + i * lda;
        real t[GEMM_MR * GEMM_NR] = {0};

        if (add)
            for (int64_t r = 0; r < mr; r++)
                memcpy(t + r * GEMM_NR, c + (i + r) * ldc, (size_t)n * sizeof *t);
        if (n > VL)
            panel(mr, 2, trans, k, ai, lda, b, ldb, t, GEMM_NR, add);
        else
            panel(mr, 1, trans, k, ai, lda, b, ldb, t, GEMM_NR, add);
        for (int64_t r = 0; r < mr; r++)
            memcpy(c + (i + r) * ldc, t + r * GEMM_NR, (size_t)n * sizeof *t);
    }
}

ALWAYS_INLINE void gemm(const bool trans, int64_t m, int64_t n, int64_t k, const real *a,
                        int64_t lda, const real *b, int64_t ldb, int64_t step, real *c, int64_t ldc,
                        bool add)
{
    for (int64_t j = 0; j < n; j += GEMM_NR, b += step) {
        const int64_t nc = n - j;

        if (nc >= GEMM_NR)
            panel(m, 2, trans, k, a, lda, b, ldb, c + j, ldc, add);
        else if (nc == VL)
            panel(m, 1, trans, k, a, lda, b, ldb, c + j, ldc, add);
        else
            ragged_panel(m, nc, trans, k, a, lda, b, ldb, c + j, ldc, add);
    }
}

void VNAME(gemm_nn)(int64_t m, int64_t n, int64_t k, const real *a, int64_t lda, const real *b,
                    int64_t ldb, int64_t step, real *c, int64_t ldc, bool add)
{
    gemm(false, m, n, k, a, lda, b, ldb, step, c, ldc, add);
}

void VNAME(gemm_tn)(int64_t m, int64_t n, int64_t k, const real *a, int64_t lda, const real *b,
                    int64_t ldb, int64_t step, real *c, int64_t ldc, bool add)
{
    gemm(true, m, n, k, a, lda, b, ldb, step, c, ldc, add);
}

int64_t VNAME(panels_size)(int64_t k, int64_t n)
{
    return (n + GEMM_NR - 1) / GEMM_NR * GEMM_NR * k;
}

void VNAME(pack_panels)(int64_t k, int64_t n, const real *b, int64_t ldb, bool trans, real *panels)
{
    for (int64_t j = 0; j < n; j += GEMM_NR, panels += k * GEMM_NR) {
        const int64_t nc = n - j < GEMM_NR ? n - j : GEMM_NR;

        if (nc < GEMM_NR)
            memset(panels, 0, (size_t)(k * GEMM_NR) * sizeof *panels);
        if (trans)
            for (int64_t c = 0; c < nc; c++)
                for (int64_t p = 0; p < k; p++)
                    panels[p * GEMM_NR + c] = b[(j + c) * ldb + p];
        else
            for (int64_t p = 0; p < k; p++)
                memcpy(panels + p * GEMM_NR, b + p * ldb + j, (size_t)nc * sizeof *b);
    }
}
