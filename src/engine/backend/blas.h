/* blas.h - matrix products by OpenBLAS. Row-major; narrowing to BLAS's int is checked inside. */
#ifndef WMI_ENGINE_BLAS_H
#define WMI_ENGINE_BLAS_H

#include <stdbool.h>
#include <stdint.h>

/* C (m x n) = alpha op(A) (m x k) op(B) (k x n) + beta C. With beta 0, C is not read. Inside an
 * OpenMP parallel region it runs on the calling thread alone. Empty products are handled. */
void wmi_gemm_f32(bool ta, bool tb, int64_t m, int64_t n, int64_t k, float alpha, const float *a,
                  int64_t lda, const float *b, int64_t ldb, float beta, float *c, int64_t ldc);
void wmi_gemm_f64(bool ta, bool tb, int64_t m, int64_t n, int64_t k, double alpha, const double *a,
                  int64_t lda, const double *b, int64_t ldb, double beta, double *c, int64_t ldc);

#endif
