/* normality.c - columns, lengths and directions of whitened rows (normality.h). */
#include "moments/normality.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/order.h"
#include "base/special.h"
#include "engine/backend/linalg.h"

enum {
    ROWS = 20000,  /* that are looked at: more would see what does not matter */
    CANONICAL = 6, /* directions, at most, in which u and v go together */
};
/* Squared canonical correlations that are taken for more than chance, times its largest. */
static const double CLEAR = 1.5;
static const double HARMLESS = 0.02, CHANCE = 1.2; /* of distances; the latter over sqrt(n) */
static const double RARE = 0.001; /* how often chance may pass the limit of all products */
static const double HEAVY = 1.05; /* products have tails that a normal z has not */

/* Distribution function of chi-squared with d degrees of freedom: beyond two of them Wilson and
 * Hilferty's, which is off by less than 0.005. */
static double chi_squared(double x, double d)
{
    if (d < 2)
        return 2 * wmi_normal_cdf(sqrt(x)) - 1;
    if (d < 3)
        return -expm1(-0.5 * x);
    return wmi_normal_cdf((cbrt(x / d) - 1 + 2 / (9 * d)) / sqrt(2 / (9 * d)));
}

/* Largest distance of the distribution of v (n, sorted here) from a normal one, or with d > 0 from
 * chi-squared. */
static double distance(int64_t n, double *v, double d)
{
    double most = 0;

    wmi_sort_f64(v, n);
    for (int64_t i = 0; i < n; i++) {
        const double f = d > 0 ? chi_squared(v[i], d) : wmi_normal_cdf(v[i]);

        most = fmax(most, fmax(f - (double)i / (double)n, (double)(i + 1) / (double)n - f));
    }
    return most;
}

/* Columns first .. first + d of rows x (n, stride), whitened into z (n, d). WM_EINVAL where they
 * have no covariance with an inverse. */
static wm_status whiten(int64_t n, int64_t stride, int64_t first, int64_t d, const double *x,
                        double *z, wm_error *err)
{
    double *mean = NULL, *cov = NULL;
    wm_status st;

    if ((st = wmi_alloc(&mean, d, sizeof *mean, "normality", err)) ||
        (st = wmi_alloc(&cov, d * d, sizeof *cov, "normality", err)))
        goto done;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < d; j++) {
            z[i * d + j] = x[i * stride + first + j];
            mean[j] += z[i * d + j] / (double)n;
        }
    if ((st = wmi_scatter(n, d, z, mean, cov, err)))
        goto done;
    for (int64_t j = 0; j < d * d; j++)
        cov[j] /= (double)n;
    if ((st = wmi_cholesky(d, cov, "covariance", err)))
        goto done;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < d; j++)
            z[i * d + j] -= mean[j];
    wmi_lower_solve(n, d, cov, z);
done:
    wmi_free(cov);
    wmi_free(mean);
    return st;
}

static double squared_length(int64_t d, const double *z)
{
    double sum = 0;

    for (int64_t j = 0; j < d; j++)
        sum += z[j] * z[j];
    return sum;
}

/* Columns and lengths of whitened rows. */
static double find_shape(int64_t n, int64_t d, const double *z, double *scratch)
{
    double most = 0;

    for (int64_t j = 0; j < d; j++) {
        for (int64_t i = 0; i < n; i++)
            scratch[i] = z[i * d + j];
        most = fmax(most, distance(n, scratch, 0));
    }
    for (int64_t i = 0; i < n; i++)
        scratch[i] = squared_length(d, z + i * d);
    return fmax(most, distance(n, scratch, (double)d));
}

/* Largest z of the means of (|a|^2 - d - 2) a_i b_j over rows a (n, da), b (n, db); sums is
 * (2, da, db). */
static double find_tie(int64_t n, int64_t da, const double *a, int64_t db, const double *b,
                       double *sums)
{
    double *const mean = sums, *const square = sums + da * db, most = 0;

    memset(sums, 0, (size_t)(2 * da * db) * sizeof *sums);
    for (int64_t r = 0; r < n; r++) {
        const double length = squared_length(da, a + r * da) - (double)da - 2;

        for (int64_t i = 0; i < da; i++)
            for (int64_t j = 0; j < db; j++) {
                const double v = length * a[r * da + i] * b[r * db + j];

                mean[i * db + j] += v;
                square[i * db + j] += v * v;
            }
    }
    for (int64_t i = 0; i < da * db; i++)
        most = fmax(most, fabs(mean[i]) / sqrt(square[i] + 1e-300));
    return most;
}

/* Adds the means of a_i b_j over rows a (n, da), b (n, db) to cross (da, db). */
static void add_products(int64_t n, int64_t da, const double *a, int64_t db, const double *b,
                         double *cross)
{
    for (int64_t r = 0; r < n; r++)
        for (int64_t i = 0; i < da; i++)
            for (int64_t j = 0; j < db; j++)
                cross[i * db + j] += a[r * da + i] * b[r * db + j] / (double)n;
}

/* What is left of whitened rows b (n, db) without what rows a (n, da) say of them linearly, white
 * again: out (n, db). WM_EINVAL where nothing is left of some direction. */
static wm_status take_out_linear(int64_t n, int64_t da, const double *a, int64_t db,
                                 const double *b, double *out, wm_error *err)
{
    double *cross = NULL, *left = NULL;
    wm_status st;

    if ((st = wmi_alloc(&cross, da * db, sizeof *cross, "normality", err)) ||
        (st = wmi_alloc(&left, n * db, sizeof *left, "normality", err)))
        goto done;
    add_products(n, da, a, db, b, cross);
    for (int64_t r = 0; r < n; r++)
        for (int64_t j = 0; j < db; j++) {
            left[r * db + j] = b[r * db + j];
            for (int64_t i = 0; i < da; i++)
                left[r * db + j] -= a[r * da + i] * cross[i * db + j];
        }
    st = whiten(n, db, 0, db, left, out, err);
done:
    wmi_free(left);
    wmi_free(cross);
    return st;
}

/* Largest z of the means of (a_i^2 - 1)(e_j^2 - 1), and of the same of squared lengths, over rows
 * a (n, da), e (n, db); sums is (2, da, db). */
static double find_spread(int64_t n, int64_t da, const double *a, int64_t db, const double *e,
                          double *sums)
{
    double *const mean = sums, *const square = sums + da * db, most = 0, all = 0, all2 = 0;

    memset(sums, 0, (size_t)(2 * da * db) * sizeof *sums);
    for (int64_t r = 0; r < n; r++) {
        const double *ar = a + r * da, *er = e + r * db;
        const double v =
            (squared_length(da, ar) - (double)da) * (squared_length(db, er) - (double)db);

        all += v;
        all2 += v * v;
        for (int64_t i = 0; i < da; i++)
            for (int64_t j = 0; j < db; j++) {
                const double w = (ar[i] * ar[i] - 1) * (er[j] * er[j] - 1);

                mean[i * db + j] += w;
                square[i * db + j] += w * w;
            }
    }
    most = fabs(all) / sqrt(all2 + 1e-300);
    for (int64_t i = 0; i < da * db; i++)
        most = fmax(most, fabs(mean[i]) / sqrt(square[i] + 1e-300));
    return most;
}

/* Of pairs: v less what u says of it linearly, and the other way round, has the same spread
 * wherever u is. Where nothing is left, there is nothing to ask. */
static wm_status look_at_spread(wmi_normality *out, int64_t n, const int64_t d[2],
                                double *const z[2], double *sums, wm_error *err)
{
    wm_status st = WM_OK;

    for (int b = 0; b < 2 && !st; b++) {
        double *left = NULL;

        if (!(st = wmi_alloc(&left, n * d[1 - b], sizeof *left, "normality", err)) &&
            !(st = take_out_linear(n, d[b], z[b], d[1 - b], z[1 - b], left, err)))
            out->tie = fmax(out->tie, find_spread(n, d[b], z[b], d[1 - b], left, sums));
        wmi_free(left);
        st = st == WM_EINVAL ? WM_OK : st;
    }
    return st;
}

/* Whitened rows a (n, da) along the directions in which they go with b (n, db) by more than chance:
 * into out (n, k). */
static wm_status project(int64_t n, int64_t da, const double *a, int64_t db, const double *b,
                         double *out, int64_t *k, wm_error *err)
{
    const double chance = (sqrt((double)da) + sqrt((double)db)) / sqrt((double)n);
    double *cross = NULL, *both = NULL, *value = NULL;
    wm_status st;

    *k = 0;
    if ((st = wmi_alloc(&cross, da * db, sizeof *cross, "normality", err)) ||
        (st = wmi_alloc(&both, da * da, sizeof *both, "normality", err)) ||
        (st = wmi_alloc(&value, da, sizeof *value, "normality", err)))
        goto done;
    add_products(n, da, a, db, b, cross);
    for (int64_t i = 0; i < da; i++)
        for (int64_t j = 0; j < da; j++)
            for (int64_t l = 0; l < db; l++)
                both[i * da + j] += cross[i * db + l] * cross[j * db + l];
    if ((st = wmi_eigen(da, both, value, err)))
        goto done;
    while (*k < CANONICAL && *k < da && value[da - 1 - *k] > CLEAR * chance * chance)
        ++*k;
    for (int64_t r = 0; r < n; r++)
        for (int64_t v = 0; v < *k; v++) {
            double sum = 0;

            for (int64_t i = 0; i < da; i++)
                sum += a[r * da + i] * both[i * da + da - 1 - v];
            out[r * *k + v] = sum;
        }
done:
    wmi_free(value);
    wmi_free(both);
    wmi_free(cross);
    return st;
}

/* Of pairs: the shape of the rows in the few directions that matter, which in many columns the
 * others would hide. */
static wm_status look_along(wmi_normality *out, int64_t n, const int64_t d[2], double *const z[2],
                            double *scratch, wm_error *err)
{
    double *rows = NULL;
    wm_status st = wmi_alloc(&rows, n * CANONICAL, sizeof *rows, "normality", err);

    for (int b = 0; b < 2 && !st; b++) {
        int64_t k;

        if (!(st = project(n, d[b], z[b], d[1 - b], z[1 - b], rows, &k, err)) && k > 0)
            out->shape = fmax(out->shape, find_shape(n, k, rows, scratch));
    }
    wmi_free(rows);
    return st;
}

/* Of n whitened rows, one block of columns or two. */
static void judge(wmi_normality *out, int64_t n, const int64_t d[2], double *const z[2],
                  double *scratch, double *sums)
{
    const int64_t blocks = d[1] ? 2 : 1, other = blocks - 1;
    const double lengths = (double)(d[0] * d[other] * blocks);
    const double products = d[1] ? 2 * lengths + 2 : lengths; /* of pairs, those of spread too */

    for (int64_t b = 0; b < blocks; b++) {
        out->shape = fmax(out->shape, find_shape(n, d[b], z[b], scratch));
        out->tie = fmax(out->tie,
                        find_tie(n, d[b], z[b], d[other ? 1 - b : b], z[other ? 1 - b : b], sums));
    }
    out->shape_limit = HARMLESS + CHANCE / sqrt((double)n);
    out->tie_limit = HEAVY * wmi_normal_inverse(1 - 0.5 * RARE / products);
}

wm_status wmi_normality_of(wmi_normality *out, int64_t n, int64_t d, const double *x, int64_t pairs,
                           wm_error *err)
{
    const int64_t rows = n < ROWS ? n : ROWS;
    const int64_t dims[] = {pairs ? pairs : d, pairs ? d - pairs : 0};
    double *z[2] = {NULL, NULL}, *scratch = NULL, *sums = NULL;
    wm_status st;

    *out = (wmi_normality){0};
    if ((st = wmi_alloc(&scratch, rows, sizeof *scratch, "normality", err)) ||
        (st =
             wmi_alloc(&sums, 2 * dims[0] * (pairs ? dims[1] : d), sizeof *sums, "normality", err)))
        goto done;
    for (int b = 0; b < 2 && dims[b]; b++)
        if ((st = wmi_alloc(&z[b], rows * dims[b], sizeof *z[b], "normality", err)) ||
            (st = whiten(rows, d, b ? pairs : 0, dims[b], x, z[b], err)))
            goto done;
    judge(out, rows, dims, z, scratch, sums);
    if (pairs && !(st = look_at_spread(out, rows, dims, z, sums, err)))
        st = look_along(out, rows, dims, z, scratch, err);
done:
    wmi_free(z[1]);
    wmi_free(z[0]);
    wmi_free(sums);
    wmi_free(scratch);
    if (st != WM_EINVAL)
        return st;
    *out = (wmi_normality){
        .shape = INFINITY, .shape_limit = HARMLESS, .tie = INFINITY, .tie_limit = 1};
    return WM_OK;
}

bool wmi_looks_normal(const wmi_normality *n)
{
    return n->shape <= n->shape_limit && n->tie <= n->tie_limit;
}
