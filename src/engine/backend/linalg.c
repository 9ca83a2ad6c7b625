/* linalg.c - Cholesky factors and the like, on LAPACKE. */
#include "engine/backend/linalg.h"

#include <assert.h>
#include <cblas.h>
#include <inttypes.h>
#include <lapacke.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "engine/backend/blas.h"

static int narrow(int64_t v)
{
    assert(v >= 0 && v <= INT32_MAX);
    return (int)v;
}

wm_status wmi_scatter(int64_t n, int64_t d, const double *x, const double *mean, double *s,
                      wm_error *err)
{
    enum { CHUNK = 4096 }; /* rows: the centred copy stays small */
    double *rows = NULL;
    wm_status st = wmi_alloc(&rows, CHUNK * d, sizeof *rows, "scatter matrix", err);

    if (st)
        return st;
    memset(s, 0, (size_t)(d * d) * sizeof *s);
    for (int64_t r0 = 0; r0 < n; r0 += CHUNK) {
        const int64_t m = n - r0 < CHUNK ? n - r0 : CHUNK;

        for (int64_t r = 0; r < m; r++)
            for (int64_t j = 0; j < d; j++)
                rows[r * d + j] = x[(r0 + r) * d + j] - mean[j];
        cblas_dsyrk(CblasRowMajor, CblasLower, CblasTrans, narrow(d), narrow(m), 1, rows, narrow(d),
                    1, s, narrow(d));
    }
    for (int64_t i = 0; i < d; i++)
        for (int64_t j = 0; j < i; j++)
            s[j * d + i] = s[i * d + j];
    wmi_free(rows);
    return WM_OK;
}

wm_status wmi_cholesky(int64_t d, double *a, const char *what, wm_error *err)
{
    const lapack_int info = LAPACKE_dpotrf(LAPACK_ROW_MAJOR, 'L', narrow(d), a, narrow(d));

    if (info > 0)
        return wmi_fail(
            err, WM_EINVAL,
            "%s: not positive definite at column %d: columns that are constant or sums of "
            "others? drop them",
            what, (int)info);
    if (info < 0)
        return wmi_fail(err, WM_EINVAL, "%s: holds a number that is not finite", what);
    for (int64_t i = 0; i < d; i++)
        memset(a + i * d + i + 1, 0, (size_t)(d - i - 1) * sizeof *a);
    return WM_OK;
}

void wmi_cholesky_inverse(int64_t d, double *l)
{
    const lapack_int info = LAPACKE_dpotri(LAPACK_ROW_MAJOR, 'L', narrow(d), l, narrow(d));

    assert(info == 0); /* a factor has no zero on its diagonal */
    (void)info;
    for (int64_t i = 0; i < d; i++)
        for (int64_t j = 0; j < i; j++)
            l[j * d + i] = l[i * d + j];
}

double wmi_cholesky_logdet(int64_t d, const double *l)
{
    double sum = 0;

    for (int64_t i = 0; i < d; i++)
        sum += log(l[i * d + i]);
    return 2 * sum;
}

/* Rows of X times (L')^-1 or L': each row is one vector. */
void wmi_lower_solve(int64_t n, int64_t d, const double *l, double *x)
{
    cblas_dtrsm(CblasRowMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, narrow(n),
                narrow(d), 1, l, narrow(d), x, narrow(d));
}

void wmi_lower_solve_right(int64_t n, int64_t d, const double *l, double *x)
{
    cblas_dtrsm(CblasRowMajor, CblasRight, CblasLower, CblasNoTrans, CblasNonUnit, narrow(n),
                narrow(d), 1, l, narrow(d), x, narrow(d));
}

void wmi_lower_multiply(int64_t n, int64_t d, const double *l, double *x)
{
    cblas_dtrmm(CblasRowMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, narrow(n),
                narrow(d), 1, l, narrow(d), x, narrow(d));
}

wm_status wmi_eigen(int64_t d, double *a, double *w, wm_error *err)
{
    const lapack_int info = LAPACKE_dsyevd(LAPACK_ROW_MAJOR, 'V', 'L', narrow(d), a, narrow(d), w);

    return info ? wmi_fail(err, WM_EDIVERGED, "eigenvalues of %lld columns: LAPACK gives %d",
                           (long long)d, (int)info)
                : WM_OK;
}

void wmi_product(int64_t m, int64_t n, int64_t k, double alpha, const double *a, const double *b,
                 double beta, double *c)
{
    wmi_gemm_f64(false, false, m, n, k, alpha, a, k, b, n, beta, c, n);
}
