/* gemm.h - products of matrices that lie in cache: the core of the convolutions and quadratic
 * forms.
 *
 * C (m x n) = or += A (m x k) B (k x n), row-major, one thread. B is read in panels of GEMM_NR
 * columns (two vector registers wide): element (p, j) stands at b[(j / GEMM_NR) * step + p * ldb +
 * j % GEMM_NR], which is what pack_panels() writes (ldb = GEMM_NR, step = k * GEMM_NR), and also a
 * plain row-major matrix (step = GEMM_NR) whose rows can be read up to a multiple of VL columns.
 * Every element of C is one chain of multiply-adds in the order of p, whatever the blocking: the
 * bits do not depend on how a caller cuts m and n. Nothing is blocked over k or for L2: the caller
 * keeps k * GEMM_NR reals within L1 (k up to some 256) and A within L2. For files that include
 * real.h's definitions (*_tmpl.c). */
#ifndef WMI_ENGINE_GEMM_H
#define WMI_ENGINE_GEMM_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/real.h"

/* Rows and columns of C that the kernel holds in registers. 32 registers (AVX-512, arm64) take
 * 12 x 2 vectors of C, 16 take 6 x 2; both leave room for two of B and a broadcast of A. */
#if defined(__AVX512F__) || defined(__aarch64__)
#define GEMM_MAX_MR 12
#else
#define GEMM_MAX_MR 6
#endif
enum { GEMM_MR = GEMM_MAX_MR, GEMM_NR = 2 * VL };

/* A is row-major: element (i, p) at a[i * lda + p]. */
void VNAME(gemm_nn)(int64_t m, int64_t n, int64_t k, const real *a, int64_t lda, const real *b,
                    int64_t ldb, int64_t step, real *c, int64_t ldc, bool add);
/* A is given as its transpose: element (i, p) at a[p * lda + i]. */
void VNAME(gemm_tn)(int64_t m, int64_t n, int64_t k, const real *a, int64_t lda, const real *b,
                    int64_t ldb, int64_t step, real *c, int64_t ldc, bool add);

/* Rows of A are windows of an image and may overlap: `runs` pieces of len reals, run_step apart, so
 * that element (i, p) is a[i * lda + p / len * run_step + p % len]. B is packed, of depth runs *
 * len. */
void VNAME(gemm_windows)(int64_t m, int64_t n, int64_t runs, int64_t len, const real *a,
                         int64_t lda, int64_t run_step, const real *panels, real *c, int64_t ldc);

/* C (m x n) = or += op(A) (m x k) op(B) (k x n) of any size, row-major, op being nothing or the
 * transpose. The same chains as above: a row of C has the same bits whatever stands beside it, and
 * for any number of threads. Inside a parallel region it runs on the calling thread alone. */
void VNAME(product)(int threads, bool ta, bool tb, int64_t m, int64_t n, int64_t k, const real *a,
                    int64_t lda, const real *b, int64_t ldb, bool add, real *c, int64_t ldc);

#define PRODUCT VNAME(product)
#define GEMM_NN VNAME(gemm_nn) /* as callers write it */
#define GEMM_TN VNAME(gemm_tn)

/* Reals that the panels of a (k x n) matrix take: columns are filled up with zeros. */
int64_t VNAME(panels_size)(int64_t k, int64_t n);
/* Packs B, (k x n) at b[p * ldb + j], or with trans its transpose, (n x k) at b[j * ldb + p]. */
void VNAME(pack_panels)(int64_t k, int64_t n, const real *b, int64_t ldb, bool trans, real *panels);
/* One row of n reals into panels `stride` reals apart, filled up with zeros: then the columns of
 * many such rows can be either operand of gemm_tn() (lda = ldb = GEMM_NR). Elements are multiplied
 * by (sign > 0 ? 1 : slope); with slope 1, sign is not read. A stride that is no power of two keeps
 * the panels from meeting in L1. */
void VNAME(pack_row)(int64_t n, const real *row, const real *sign, real slope, int64_t stride,
                     real *to);

#endif
