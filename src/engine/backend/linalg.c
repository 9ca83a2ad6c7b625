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

/* The upper triangle from the lower one. */
static void mirror(int64_t d, double *a)
{
    for (int64_t i = 0; i < d; i++)
        for (int64_t j = 0; j < i; j++)
            a[j * d + i] = a[i * d + j];
}

void wmi_column_means(int64_t n, int64_t d, const double *x, double *mean)
{
    memset(mean, 0, (size_t)d * sizeof *mean);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < d; j++)
            mean[j] += x[i * d + j];
    for (int64_t j = 0; j < d; j++)
        mean[j] /= (double)n;
}

/* A column that does not vary leaves the rounding of its mean, and not a variance: at most some
 * 1e-14 of the mean for each row. */
static void clear_rounding(int64_t n, int64_t d, const double *mean, double *s)
{
    static const double rounding = 1e-13;

    for (int64_t j = 0; j < d; j++) {
        const double least = rounding * mean[j];

        if (s[j * d + j] > (double)n * least * least)
            continue;
        for (int64_t i = 0; i < d; i++)
            s[i * d + j] = s[j * d + i] = 0;
    }
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
    mirror(d, s);
    clear_rounding(n, d, mean, s);
    wmi_free(rows);
    return WM_OK;
}

wm_status wmi_weighted_gram(int64_t n, int64_t d, const double *x, const double *w, double *s,
                            wm_error *err)
{
    enum { CHUNK = 1024 }; /* rows: the scaled copy stays in cache */
    double *rows = NULL;
    wm_status st = wmi_alloc(&rows, CHUNK * d, sizeof *rows, "weighted products", err);

    if (st)
        return st;
    memset(s, 0, (size_t)(d * d) * sizeof *s);
    for (int64_t r0 = 0; r0 < n; r0 += CHUNK) {
        const int64_t m = n - r0 < CHUNK ? n - r0 : CHUNK;

        for (int64_t r = 0; r < m; r++) {
            const double scale = sqrt(w[r0 + r]);

            for (int64_t j = 0; j < d; j++)
                rows[r * d + j] = scale * x[(r0 + r) * d + j];
        }
        cblas_dsyrk(CblasRowMajor, CblasLower, CblasTrans, narrow(d), narrow(m), 1, rows, narrow(d),
                    1, s, narrow(d));
    }
    mirror(d, s);
    wmi_free(rows);
    return WM_OK;
}

/* A pivot is what a column's variance keeps when the columns before it explain what they can. Below
 * this share of the variance it is rounding, whose sign and size depend on the processor's BLAS
 * kernel (d x 2e-16 for factors of d columns), and its inverse would mean nothing. */
static const double least_pivot = 1e-12;

static wm_status singular(const char *what, int64_t column, wm_error *err)
{
    return wmi_fail(err, WM_EINVAL,
                    "%s: not positive definite at column %" PRId64
                    ": columns that are constant or sums of "
                    "others? drop them",
                    what, column);
}

wm_status wmi_cholesky(int64_t d, double *a, const char *what, wm_error *err)
{
    double *variance = NULL; /* (d) the diagonal of a */
    lapack_int info;
    wm_status st = wmi_alloc(&variance, d, sizeof *variance, "Cholesky factor", err);

    if (st)
        return st;
    for (int64_t i = 0; i < d; i++)
        variance[i] = a[i * d + i];
    info = LAPACKE_dpotrf(LAPACK_ROW_MAJOR, 'L', narrow(d), a, narrow(d));
    if (info < 0)
        st = wmi_fail(err, WM_EINVAL, "%s: holds a number that is not finite", what);
    if (info > 0)
        st = singular(what, info, err);
    for (int64_t i = 0; !st && i < d; i++) {
        const double l = a[i * d + i];

        if (!(l * l > least_pivot * variance[i]))
            st = singular(what, i + 1, err);
        memset(a + i * d + i + 1, 0, (size_t)(d - i - 1) * sizeof *a);
    }
    wmi_free(variance);
    return st;
}

void wmi_cholesky_inverse(int64_t d, double *l)
{
    const lapack_int info = LAPACKE_dpotri(LAPACK_ROW_MAJOR, 'L', narrow(d), l, narrow(d));

    assert(info == 0); /* a factor has no zero on its diagonal */
    (void)info;
    mirror(d, l);
}

double wmi_cholesky_logdet(int64_t d, const double *l)
{
    double sum = 0;

    for (int64_t i = 0; i < d; i++)
        sum += log(l[i * d + i]);
    return 2 * sum;
}

/* Rows of X times (L')^-1: each row is one vector. */
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
    /* A product of matrices packs both, which for a vector is most of the work. */
    if (n == 1 && m > 0 && k > 0)
        cblas_dgemv(CblasRowMajor, CblasNoTrans, narrow(m), narrow(k), alpha, a, narrow(k), b, 1,
                    beta, c, 1);
    else if (m == 1 && n > 0 && k > 0)
        cblas_dgemv(CblasRowMajor, CblasTrans, narrow(k), narrow(n), alpha, b, narrow(n), a, 1,
                    beta, c, 1);
    else
        wmi_gemm_f64(false, false, m, n, k, alpha, a, k, b, n, beta, c, n);
}
