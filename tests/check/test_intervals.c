/* test_intervals.c - standard errors against those of a plain mean, which are known. */
#include <math.h>

#include "asserts.h"
#include "check/intervals.h"

static void quantiles_of_t(void **state)
{
    (void)state;
    assert_near(wmi_t_975(1), 12.706, 1e-3);
    assert_near(wmi_t_975(4), 2.776, 1e-3);
    assert_near(wmi_t_975(19), 2.0930, 1e-3);
    assert_near(wmi_t_975(100), 1.9840, 1e-3);
    assert_true(wmi_t_975(0) > 1e300);
}

/* For a mean the jackknife by groups of one row is the usual standard error exactly (with n - 1),
 * and the larger of the two counts. */
static void jackknife_of_a_mean(void **state)
{
    const double x[] = {1, 2, 4, 7, 11, 16};
    double without[6], sum = 41, mean = sum / 6, var = 0;
    wm_estimate e;

    (void)state;
    for (int i = 0; i < 6; i++) {
        without[i] = (sum - x[i]) / 5;
        var += (x[i] - mean) * (x[i] - mean);
    }
    e = wmi_interval(6, x, NULL, 6, without);
    assert_near(e.value, mean, 1e-14);
    assert_near(e.se, sqrt(var / 5 / 6), 1e-14);
    assert_near(e.hi - e.value, wmi_t_975(5) * e.se, 1e-13);
    assert_near(e.value - e.lo, wmi_t_975(5) * e.se, 1e-13);
}

/* Fits that agree leave the error of the rows, with normal quantiles. */
static void rows_count_where_fits_agree(void **state)
{
    const double x[] = {1, 2, 4, 7, 11, 16}, same[] = {3, 3, 3};
    wm_estimate e = wmi_interval(6, x, NULL, 3, same);

    (void)state;
    assert_near(e.se, sqrt(447 - 41 * 41 / 6.0) / 6, 1e-12); /* sum of squares about the mean */
    assert_near(e.hi - e.value, 1.959963985 * e.se, 1e-12);
}

/* A weight of two is a row that came twice. */
static void weights_are_counts(void **state)
{
    const double x[] = {1, 5}, w[] = {1.5, 0.5}, same[] = {0, 0};

    (void)state;
    assert_near(wmi_interval(2, x, w, 2, same).value, 2, 1e-15);
}

static void mean_with_its_error(void **state)
{
    const double x[] = {1, 2, 3, 6}; /* squares about 3: 14, of 3 degrees of freedom */
    const wm_estimate e = wm_mean(x, 4), one = wm_mean(x, 1);

    (void)state;
    assert_near(e.value, 3, 1e-15);
    assert_near(e.se, sqrt(14.0 / 3 / 4), 1e-15);
    assert_near(e.hi - e.lo, 2 * 1.96 * e.se, 1e-4);
    assert_near(one.value, 1, 0);
    assert_true(isnan(one.se));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantiles_of_t),
        cmocka_unit_test(jackknife_of_a_mean),
        cmocka_unit_test(rows_count_where_fits_agree),
        cmocka_unit_test(weights_are_counts),
        cmocka_unit_test(mean_with_its_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
