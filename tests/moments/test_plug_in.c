/* test_plug_in.c - Gaussian divergences by moments: without bias, with an error that holds. */
#include <math.h>
#include <string.h>

#include "asserts.h"
#include "base/alloc.h"
#include "base/rng.h"
#include "moments/plug_in.h"

/* Mean over many tables of what is corrected, with its standard error, and how often the truth is
 * within two standard errors. */
typedef struct summary {
    double mean, se, unseen;
    int covered, tables;
} summary;

static summary repeat(int tables, int64_t n, int64_t d, int64_t pairs, double truth,
                      void (*draw)(int64_t n, int64_t d, const double *z, double *x[2]))
{
    summary s = {.tables = tables};
    double *z = NULL, *x[2] = {NULL, NULL}, sum = 0, squares = 0;
    wm_error err;

    assert_ok(wmi_alloc(&z, 2 * n * d, sizeof *z, "z", &err), err);
    for (int t = 0; t < 2; t++)
        assert_ok(wmi_alloc(&x[t], n * d, sizeof *x[t], "x", &err), err);
    for (int i = 0; i < tables; i++) {
        const wmi_rng rng = wmi_rng_make((uint64_t)i + 1, "plug-in");
        wmi_plug_in out[2];

        wmi_rng_normal_f64(&rng, 0, 2 * n * d, z);
        draw(n, d, z, x);
        assert_ok(wmi_plug_in_divergences(out,
                                          &(wmi_plug_in_rows){.n = {n, pairs ? 0 : n},
                                                              .dim = d,
                                                              .pairs = pairs,
                                                              .x = {x[0], pairs ? NULL : x[1]}},
                                          5, &err),
                  err);
        sum += out[0].corrected;
        squares += out[0].corrected * out[0].corrected;
        s.unseen += out[0].unseen / tables;
        s.covered += fabs(out[0].corrected - truth) < 2 * out[0].se;
    }
    s.mean = sum / tables;
    s.se = sqrt((squares / tables - s.mean * s.mean) / tables);
    wmi_free(x[1]);
    wmi_free(x[0]);
    wmi_free(z);
    return s;
}

/* p = N(1/2 in every column, 1), q = N(0, 1). */
static void shifted(int64_t n, int64_t d, const double *z, double *x[2])
{
    for (int64_t i = 0; i < n * d; i++) {
        x[0][i] = 0.5 + z[i];
        x[1][i] = z[n * d + i];
    }
}

/* Column j of v is correlated with column j of u. */
static void correlated(int64_t n, int64_t d, const double *z, double *x[2])
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < d; j++)
            x[0][i * d + j] =
                j < d / 2 ? z[i * d + j] : 0.5 * z[i * d + j - d / 2] + sqrt(0.75) * z[i * d + j];
}

/* 20 columns and 400 rows: rows that a fit has not seen give 0.3 nats too little or too much; the
 * bound is five standard errors of the mean over tables. */
static void divergences_have_no_bias(void **state)
{
    enum { D = 20 };
    const double truth = 0.5 * D * 0.25;
    const summary s = repeat(60, 400, D, 0, truth, shifted);

    (void)state;
    assert_true(fabs(s.mean - truth) < 5 * s.se + 0.02); /* and what is of second order */
    assert_true(s.covered >= 52);                        /* 57 are expected, 2 is the spread */
}

static void pairs_have_no_bias(void **state)
{
    enum { D = 40 };
    const double truth = -0.5 * (D / 2) * log(1 - 0.25);
    const summary s = repeat(60, 1000, D, D / 2, truth, correlated);

    (void)state;
    assert_true(truth - s.unseen > 0.15); /* d_u d_v / 2 n is 0.2 */
    assert_true(fabs(s.mean - truth) < 5 * s.se + 0.02);
    assert_true(s.covered >= 52);
}

/* Two columns that are one have no divergence, and ten rows no jackknife. */
static void what_cannot_be_is_refused(void **state)
{
    enum { N = 100 };
    double x[2 * N];
    wmi_plug_in out[2];
    wm_error err;

    (void)state;
    for (int i = 0; i < N; i++)
        x[2 * i] = x[2 * i + 1] = sin(i);
    assert_int_equal(wmi_plug_in_divergences(
                         out, &(wmi_plug_in_rows){.n = {N, N}, .dim = 2, .x = {x, x}}, 5, &err),
                     WM_EINVAL);
    assert_non_null(strstr(err.text, "not positive definite"));
    assert_int_equal(wmi_plug_in_divergences(
                         out, &(wmi_plug_in_rows){.n = {10, 10}, .dim = 2, .x = {x, x}}, 5, &err),
                     WM_EINVAL);
    assert_non_null(strstr(err.text, "too few"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(divergences_have_no_bias),
        cmocka_unit_test(pairs_have_no_bias),
        cmocka_unit_test(what_cannot_be_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
