/* test_adapt.c - dual averaging finds the step that gives the target, windows are Stan's, variances
 * are variances. */
#include "asserts.h"

#include "base/rng.h"
#include "base/sums.h"
#include "sample/adapt.h"

/* Acceptance exp(-step) plus noise: 0.8 at step -log 0.8. The noise of one acceptance is 0.1 and
 * the slope of acceptance in log step -0.8 log(1/0.8) = -0.18, so 2000 of them average to an error
 * of 0.1 / 0.18 / sqrt(2000) = 0.012 in log step at least; the decaying weights cost some more. */
static void dual_averaging_reaches_its_target(void **state)
{
    const wmi_rng rng = wmi_rng_make(1, "accept");
    const double starts[] = {0.001, 0.2, 20};

    (void)state;
    for (int i = 0; i < 3; i++) {
        double step = starts[i], u[2000];
        wmi_dual d;

        wmi_rng_uniform_f64(&rng, 0, 2000, u);
        wmi_dual_start(&d, step, 10, 0.8);
        assert_near(wmi_dual_settle(&d), step, 1e-12 * step);
        for (int t = 0; t < 2000; t++)
            step = wmi_dual_learn(&d, fmin(1, fmax(0, exp(-step) + 0.35 * (u[t] - 0.5))));
        assert_near(log(wmi_dual_settle(&d)), log(-log(0.8)), 0.1);
    }
}

/* Ends of Stan's windows with 1000, 200 and 100 transitions of warm-up. */
static void windows_are_those_of_stan(void **state)
{
    static const struct {
        int64_t total, first, ends[6];
    } cases[] = {
        {1000, 75, {99, 149, 249, 449, 949, -1}},
        {200, 75, {99, 149, -1}},
        {150, 75, {99, -1}},
        {100, 15, {89, -1}},
        {20, 3, {17, -1}},
        {19, 19, {-1}},
        {0, 0, {-1}},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const wmi_windows w = wmi_windows_plan(cases[i].total);
        int next = 0;

        assert_int_equal(w.first, cases[i].first);
        for (int64_t t = 0; t < cases[i].total + 5; t++)
            if (wmi_windows_ends(&w, t)) {
                assert_int_equal(t, cases[i].ends[next++]);
                assert_true(wmi_windows_has(&w, t));
            }
        assert_int_equal(cases[i].ends[next], -1);
    }
}

static void variances_are_drawn_a_little_to_the_prior(void **state)
{
    const wmi_rng rng = wmi_rng_make(1, "x");
    double x[300], mean[3], m2[3], inv_mass[3], column[100];
    wmi_variances v = {.mean = mean, .m2 = m2};

    (void)state;
    wmi_rng_normal_f64(&rng, 0, 300, x);
    wmi_variances_start(&v, 3);
    for (int i = 0; i < 100; i++) {
        x[3 * i + 1] = 1e6 + 1e-2 * x[3 * i + 1]; /* a large mean takes no digits */
        wmi_variances_add(&v, 3, &x[3 * i]);
    }
    wmi_variances_read(&v, 3, inv_mass);
    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < 100; i++)
            column[i] = x[3 * i + k];
        assert_near(inv_mass[k], 100.0 / 105 * wmi_moments_f64(column, 100).var + 1e-3 * 5.0 / 105,
                    1e-8 * inv_mass[k]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dual_averaging_reaches_its_target),
        cmocka_unit_test(windows_are_those_of_stan),
        cmocka_unit_test(variances_are_drawn_a_little_to_the_prior),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
