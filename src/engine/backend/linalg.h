/* linalg.h - the few pieces of dense linear algebra that statistics needs, in double, row-major, by
 * OpenBLAS and LAPACKE. Matrices are (d, d) and symmetric or lower triangular. */
#ifndef WMI_ENGINE_LINALG_H
#define WMI_ENGINE_LINALG_H

#include <stdint.h>

#include "base/fail.h"

/* Means of the columns of x (n, d). */
void wmi_column_means(int64_t n, int64_t d, const double *x, double *mean);
/* Sum over rows of (x - mean)(x - mean)' into s (d, d), both triangles: x is (n, d). Columns that
 * do not vary, but for rounding, have zeros. */
WM_MUST_CHECK wm_status wmi_scatter(int64_t n, int64_t d, const double *x, const double *mean,
                                    double *s, wm_error *err);
/* Sum over rows of w x x' into s (d, d), both triangles: x is (n, d), w (n) not negative. */
WM_MUST_CHECK wm_status wmi_weighted_gram(int64_t n, int64_t d, const double *x, const double *w,
                                          double *s, wm_error *err);
/* a = L L' in place: L in the lower triangle, zeros above. WM_EINVAL where a is not positive
 * definite, with `what` and the column in the message. Rank is decided by a tolerance relative to
 * the diagonal, not by rounding: a column of which the others explain all but 1e-12 of its variance
 * is refused on every machine. */
WM_MUST_CHECK wm_status wmi_cholesky(int64_t d, double *a, const char *what, wm_error *err);
/* The inverse of L L', both triangles, from the factor L, in place. */
void wmi_cholesky_inverse(int64_t d, double *l);
double wmi_cholesky_logdet(int64_t d, const double *l); /* log det of L L' */
/* Rows x (n, d) become rows of z = L^-1 x (whitening). In place. */
void wmi_lower_solve(int64_t n, int64_t d, const double *l, double *x);
/* Rows x (n, d) become x L^-1: its adjoint. In place. */
void wmi_lower_solve_right(int64_t n, int64_t d, const double *l, double *x);
/* Symmetric a (d, d) = V diag(w) V': V in place of a, its columns the vectors, w (d) rising. */
WM_MUST_CHECK wm_status wmi_eigen(int64_t d, double *a, double *w, wm_error *err);
/* C (m, n) = alpha A (m, k) B (k, n) + beta C */
void wmi_product(int64_t m, int64_t n, int64_t k, double alpha, const double *a, const double *b,
                 double beta, double *c);

#endif
