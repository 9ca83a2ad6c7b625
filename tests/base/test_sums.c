/* test_sums.c - sums against closed forms where naive code loses every digit. */
#include "asserts.h"

#include <stdlib.h>

#include "base/sums.h"

static const double inf = INFINITY;

static void cancellation_does_not_hurt_a_sum(void **state)
{
    const double x[] = {1, 1e100, 1, -1e100}; /* Neumaier's own example: naive and Kahan give 0 */
    wmi_running_sum tenths = {0};

    (void)state;
    assert_true(wmi_sum_f64(x, 4) == 2);
    assert_true(wmi_sum_f64(x, 0) == 0);
    for (int i = 0; i < 10000000; i++)
        wmi_sum_add(&tenths, 0.1);
    /* 1e7 times the double nearest to 0.1, correctly rounded; the naive sum is 1.6e-4 off */
    assert_true(wmi_sum_value(&tenths) == 1e6);
}

static void infinities_and_nan_go_through_a_sum(void **state)
{
    (void)state;
    assert_true(wmi_sum_f64((double[]){1, inf, 2}, 3) == inf);
    assert_true(wmi_sum_f64((double[]){1, -inf, 2}, 3) == -inf);
    assert_true(isnan(wmi_sum_f64((double[]){inf, -inf}, 2)));
    assert_true(isnan(wmi_sum_f64((double[]){1, NAN, 2}, 3)));
}

/* 0 .. n-1 shifted: mean shift + (n-1)/2, variance n (n+1) / 12. The one-pass formula
 * E x^2 - (E x)^2 has errors of 1e18 * eps = 200 at this shift. */
static void variance_survives_a_large_mean(void **state)
{
    enum { COUNT = 1001 };
    const double shift = 1e9;
    double x[COUNT];
    wmi_moments m;

    (void)state;
    for (int i = 0; i < COUNT; i++)
        x[i] = shift + i;
    m = wmi_moments_f64(x, COUNT);
    assert_true(m.mean == shift + 500);
    assert_near(m.var, COUNT * (COUNT + 1) / 12.0, 1e-9);
    /* The mean of 1e16 and its neighbour 1e16 + 2 is no double; what rounding costs is put back. */
    assert_true(wmi_moments_f64((double[]){1e16, 1e16 + 2}, 2).var == 2);
}

static void moments_of_few_or_bad_values(void **state)
{
    const double x[] = {3, 5}, bad[] = {1, NAN, 2};

    (void)state;
    assert_true(isnan(wmi_moments_f64(x, 0).mean) && isnan(wmi_moments_f64(x, 0).var));
    assert_true(wmi_moments_f64(x, 1).mean == 3 && isnan(wmi_moments_f64(x, 1).var));
    assert_true(wmi_moments_f64(x, 2).mean == 4 && wmi_moments_f64(x, 2).var == 2);
    assert_true(isnan(wmi_moments_f64(bad, 3).mean) && isnan(wmi_moments_f64(bad, 3).var));
}

static void logsumexp_is_stable(void **state)
{
    double many[1000];

    (void)state;
    for (int i = 0; i < 1000; i++)
        many[i] = -1e5;
    assert_near(wmi_log_sum_exp(many, 1000), -1e5 + log(1000), 1e-10);
    assert_near(wmi_log_sum_exp((double[]){1000, 1000}, 2), 1000 + log(2), 1e-12);
    assert_near(wmi_log_sum_exp((double[]){log(1), log(2), log(3)}, 3), log(6), 1e-15);
    /* a term far below the largest still shows: log(1 + e^-40) = e^-40 to double precision */
    assert_near(wmi_log_sum_exp((double[]){-40, 0}, 2), exp(-40), 1e-30);
    assert_true(wmi_log_sum_exp((double[]){-7}, 1) == -7);
}

static void logsumexp_at_the_edges(void **state)
{
    (void)state;
    assert_true(wmi_log_sum_exp(NULL, 0) == -inf);
    assert_true(wmi_log_sum_exp((double[]){-inf, -inf}, 2) == -inf);
    assert_true(wmi_log_sum_exp((double[]){-inf, 3, -inf}, 3) == 3);
    assert_true(wmi_log_sum_exp((double[]){-inf, inf, 0}, 3) == inf);
    assert_true(isnan(wmi_log_sum_exp((double[]){0, NAN, 1}, 3)));
    assert_true(isnan(wmi_log_sum_exp((double[]){NAN, inf}, 2)));
    assert_true(isnan(wmi_log_sum_exp((double[]){-inf, NAN}, 2)));
}

/* Against long double, whose 64 bits leave room for the check, over all scales that matter. */
static void softplus_and_log1mexp_are_accurate(void **state)
{
    (void)state;
    for (double x = 1e-17; x < 700; x *= 1.3) {
        const double up = (double)log1pl(expl((long double)x)), down = (double)log1pl(expl(-x));
        const double minus = (double)(x < 1 ? logl(-expm1l(-x)) : log1pl(-expl(-x)));

        assert_near(wmi_log1pexp(x), up, 4e-16 * up);
        assert_near(wmi_log1pexp(-x), down, 4e-16 * down);
        assert_near(wmi_log1mexp(-x), minus, 1e-15 * fabs(minus));
    }
    assert_true(wmi_log1pexp(800) == 800); /* log(1 + exp(x)) as written gives inf */
    assert_true(wmi_log1pexp(-800) == 0);
    assert_true(wmi_log1pexp(inf) == inf && wmi_log1pexp(-inf) == 0 && isnan(wmi_log1pexp(NAN)));
    assert_true(wmi_log1mexp(0) == -inf && wmi_log1mexp(-inf) == 0);
    assert_true(isnan(wmi_log1mexp(1)) && isnan(wmi_log1mexp(NAN)));
}

/* Of a mean the jackknife is what everybody knows: the variance of the mean of n values. */
static void jackknife_of_a_mean(void **state)
{
    enum { N = 6 };
    const double x[N] = {1, 4, -2, 8, 5, 0.5};
    double sum = 0, without[N];
    wmi_moments m;

    (void)state;
    for (int i = 0; i < N; i++)
        sum += x[i];
    for (int i = 0; i < N; i++)
        without[i] = (sum - x[i]) / (N - 1);
    m = wmi_jackknife(without, N);
    assert_near(m.mean, sum / N, 1e-15);
    assert_near(m.var, wmi_moments_f64(x, N).var / N, 1e-14);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cancellation_does_not_hurt_a_sum),
        cmocka_unit_test(infinities_and_nan_go_through_a_sum),
        cmocka_unit_test(variance_survives_a_large_mean),
        cmocka_unit_test(moments_of_few_or_bad_values),
        cmocka_unit_test(jackknife_of_a_mean),
        cmocka_unit_test(logsumexp_is_stable),
        cmocka_unit_test(logsumexp_at_the_edges),
        cmocka_unit_test(softplus_and_log1mexp_are_accurate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
