/* test_whiten.c - the coordinates of whiten.h have what their definition asks for, columns that are
 * white or do not take part are left alone. */
#include <stdlib.h>
#include <string.h>

#include "asserts.h"
#include "base/rng.h"
#include "columns/whiten.h"

enum { N = 4000, D = 4 };

static const bool all[D] = {true, true, true, true};

static double *normals(const char *stream)
{
    const wmi_rng rng = wmi_rng_make(1, stream);
    double *x = calloc(N * D, sizeof *x);

    wmi_rng_normal_f64(&rng, 0, N * D, x);
    return x;
}

/* Covariance of columns i and j of x M. */
static double covariance(const double *x, const double *mix, int i, int j)
{
    double sum = 0, mean_i = 0, mean_j = 0;

    for (int r = 0; r < N; r++) {
        double a = 0, b = 0;

        for (int l = 0; l < D; l++) {
            a += x[r * D + l] * mix[l * D + i];
            b += x[r * D + l] * mix[l * D + j];
        }
        sum += a * b / N;
        mean_i += a / N;
        mean_j += b / N;
    }
    return sum - mean_i * mean_j;
}

static void assert_inverse(const wmi_whitening *w)
{
    for (int i = 0; i < D; i++)
        for (int j = 0; j < D; j++) {
            double sum = 0;

            for (int l = 0; l < D; l++)
                sum += w->mix[i * D + l] * w->unmix[l * D + j];
            assert_near(sum, i == j, 1e-9);
        }
}

/* Two Gaussians of the same mean: both covariances diagonal, with sum 2. The third column takes no
 * part. */
static void both_covariances_become_diagonal(void **state)
{
    const bool takes[D] = {true, true, false, true};
    double *p = normals("p"), *q = normals("q");
    wmi_whitening w = {0};
    wm_error err;

    (void)state;
    for (int i = 0; i < N; i++) { /* strongly correlated, differently in p and in q */
        p[i * D + 1] = p[i * D] + 0.01 * p[i * D + 1];
        q[i * D + 1] = q[i * D] + 0.03 * q[i * D + 1];
        p[i * D + 3] += 2 * p[i * D];
        q[i * D + 3] -= q[i * D];
    }
    for (int j = 0; j < D; j++) /* means 0, so that these have no part in it */
        for (int t = 0; t < 2; t++) {
            double *x = t ? q : p, mean = 0;

            for (int i = 0; i < N; i++)
                mean += x[i * D + j] / N;
            for (int i = 0; i < N; i++)
                x[i * D + j] -= mean;
        }
    assert_ok(
        wmi_whitening_of(&w, D, takes, 0, (wmi_whiten_end[]){{N, p, NULL}, {N, q, NULL}}, &err),
        err);
    assert_non_null(w.mix);
    assert_true(w.condition > 1000);
    assert_inverse(&w);
    for (int i = 0; i < D; i++)
        for (int j = 0; j < D; j++) {
            if (i == 2 || j == 2) {
                assert_near(w.mix[i * D + j], i == j, 0);
                continue;
            }
            assert_near(covariance(p, w.mix, i, j) + covariance(q, w.mix, i, j), i == j ? 2 : 0,
                        1e-8);
            if (i != j)
                assert_near(covariance(p, w.mix, i, j), 0, 1e-8);
        }
    wmi_whitening_free(&w);
    free(q);
    free(p);
}

/* u (2 columns) and v with correlation 0.8 and 0.3: the sums and differences of canonical pairs,
 * whose variances under p are 1 +- rho. */
static void pairs_become_sums_and_differences(void **state)
{
    const double rho[2] = {0.8, 0.3}, noise = 5 / sqrt(N); /* five standard errors of a moment */
    double *p = normals("pairs");
    wmi_whitening w = {0};
    wm_error err;

    (void)state;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < 2; j++)
            p[i * D + 2 + j] = rho[j] * p[i * D + j] + sqrt(1 - rho[j] * rho[j]) * p[i * D + 2 + j];
    assert_ok(wmi_whitening_of(&w, D, all, 2, (wmi_whiten_end[]){{N, p, NULL}, {0}}, &err), err);
    assert_non_null(w.mix);
    assert_inverse(&w);
    /* pooled: 1 +- rho / 2; p's own in units of that, falling differences first */
    for (int i = 0; i < D; i++) {
        const double r = (i < 2 ? -1 : 1) * rho[i == 0 || i == 3 ? 0 : 1];

        assert_near(covariance(p, w.mix, i, i), (1 + r) / (1 + r / 2), 2 * noise);
        for (int j = 0; j < i; j++)
            assert_near(covariance(p, w.mix, i, j), 0, 1e-8);
    }
    wmi_whitening_free(&w);
    free(p);
}

static void nothing_is_done_where_nothing_is_to_be_done(void **state)
{
    double *p = normals("p"), *q = normals("q"), *weight = calloc(N, sizeof *weight);
    const wmi_whiten_end white[] = {{N, p, NULL}, {N, q, NULL}};
    const wmi_whiten_end few[] = {{30, p, NULL}, {30, q, NULL}};
    const wmi_whiten_end weighted[] = {{N, p, weight}, {N, q, NULL}};
    const bool one[D] = {false, true, false, false};
    wmi_whitening w = {0};
    wm_error err;

    (void)state;
    assert_ok(wmi_whitening_of(&w, D, all, 0, white, &err), err);
    assert_null(w.mix);
    assert_near(w.condition, 1, 0.2);
    for (int i = 0; i < N; i++) { /* rows with columns of the same sign alone: correlated */
        weight[i] = p[i * D] * p[i * D + 1] > 0;
        q[i * D + 1] += 3 * q[i * D];
    }
    assert_ok(wmi_whitening_of(&w, D, one, 0, white, &err), err);
    assert_null(w.mix); /* one column alone */
    assert_ok(wmi_whitening_of(&w, D, all, 0, few, &err), err);
    assert_null(w.mix); /* too few rows */
    assert_ok(wmi_whitening_of(&w, D, all, 0, weighted, &err), err);
    assert_non_null(w.mix);
    wmi_whitening_free(&w);
    assert_ok(
        wmi_whitening_of(&w, D, all, 0, (wmi_whiten_end[]){{N, p, weight}, {N, p, weight}}, &err),
        err);
    assert_non_null(w.mix); /* p alone is white, with its weights not */
    wmi_whitening_free(&w);
    free(weight);
    free(q);
    free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_covariances_become_diagonal),
        cmocka_unit_test(pairs_become_sums_and_differences),
        cmocka_unit_test(nothing_is_done_where_nothing_is_to_be_done),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
