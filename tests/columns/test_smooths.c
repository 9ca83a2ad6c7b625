/* test_smooths.c - curves of columns: their moments, their order, and that sums of them are
 * splines.
 */
#include <math.h>

#include "asserts.h"
#include "base/rng.h"
#include "columns/knots.h"
#include "columns/smooths.h"

enum { N = 2000, D = 3, BASES = 16 };

static double x[N * D];
static float knots[D * (BASES + 4)];

/* A normal column, an indicator, a constant. */
static wmi_smooths make(void)
{
    const wmi_rng rng = wmi_rng_make(1, "test");
    const double straight[D] = {0, 4, 0};
    static float rows[N * D];
    wmi_smooths s;
    wm_error err;

    wmi_rng_normal_f64(&rng, 0, N * D, x);
    for (int i = 0; i < N; i++) {
        x[i * D + 1] = x[i * D + 1] > 0.5;
        x[i * D + 2] = 3;
    }
    for (int i = 0; i < N * D; i++)
        rows[i] = (float)x[i];
    assert_ok(wmi_knots_of(N, D, rows, BASES, knots, &err), err);
    wmi_knots_even(0, 1, BASES, knots + BASES + 4);
    assert_ok(wmi_smooths_new(&s, N, D, x, straight, BASES, knots, NULL, &err), err);
    return s;
}

static void features_are_centred_uncorrelated_and_ordered(void **state)
{
    static double f[N * 24];
    wmi_smooths s = make();
    const int64_t curves = s.first[1];

    (void)state;
    assert_int_equal(s.count, curves + 1); /* one line for the indicator, none for the constant */
    assert_true(curves >= 6);
    wmi_smooths_apply(&s, N, x, f);
    for (int64_t a = 0; a < s.count; a++)
        for (int64_t b = 0; b <= a; b++) {
            double mean = 0, product = 0;

            for (int i = 0; i < N; i++) {
                mean += f[i * s.count + a] / N;
                product += f[i * s.count + a] * f[i * s.count + b] / N;
            }
            assert_near(mean, 0, 1e-9);
            if (a < curves)
                assert_near(product, a == b, 1e-6);
        }
    for (int64_t c = 1; c < curves; c++)
        assert_true(s.penalty[c] > s.penalty[c - 1]);
    assert_near(s.penalty[1] - s.penalty[0], 1, 0.1); /* in units of the second's roughness */
    assert_near(s.penalty[curves], 4, 0);
    wmi_smooths_free(&s);
}

/* The straightest curve of a normal column is nearly the column itself. */
static void the_first_curve_is_nearly_a_line(void **state)
{
    static double f[N * 24];
    wmi_smooths s = make();
    double xy = 0, xx = 0, mean = 0;

    (void)state;
    wmi_smooths_apply(&s, N, x, f);
    for (int i = 0; i < N; i++)
        mean += x[i * D] / N;
    for (int i = 0; i < N; i++) {
        xy += (x[i * D] - mean) * f[i * s.count] / N;
        xx += (x[i * D] - mean) * (x[i * D] - mean) / N;
    }
    assert_true(xy * xy > 0.98 * xx);
    wmi_smooths_free(&s);
}

static void a_sum_of_features_is_one_spline_a_column(void **state)
{
    static double f[N * 24], g[N * 24];
    wmi_smooths s = make(), single;
    double b[24], coef[D * BASES], constant;

    (void)state;
    for (int64_t c = 0; c < s.count; c++)
        b[c] = sin(1.7 * (double)c + 1);
    constant = wmi_smooths_sum(&s, b, coef);
    wmi_smooths_apply(&s, N, x, f);
    single = s; /* the splines with the summed coefficients, as features of their own */
    single.count = D;
    single.first = (int64_t[]){0, 1, 2, 3};
    single.spline = coef;
    single.shift = (double[]){0, 0, 0};
    wmi_smooths_apply(&single, N, x, g);
    for (int i = 0; i < N; i++) {
        double want = 0, got = -constant;

        for (int64_t c = 0; c < s.count; c++)
            want += b[c] * f[i * s.count + c];
        for (int j = 0; j < D; j++)
            got += g[i * D + j];
        assert_near(got, want, 1e-9);
    }
    wmi_smooths_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(features_are_centred_uncorrelated_and_ordered),
        cmocka_unit_test(the_first_curve_is_nearly_a_line),
        cmocka_unit_test(a_sum_of_features_is_one_spline_a_column),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
