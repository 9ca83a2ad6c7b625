/* test_computable.c - columns that others make up are found, and others are not. */
#include "asserts.h"
#include "base/rng.h"
#include "check/computable.h"

enum { N = 500, D = 6 };

/* a, b, a copy of a, a constant; a + b / 2 - 3; and that with a hundred-thousandth of noise. */
static void fill(double *x)
{
    const wmi_rng rng = wmi_rng_make(1, "computable");

    for (int64_t i = 0; i < N; i++) {
        double *row = x + i * D;
        double z[4];

        wmi_rng_normal_f64(&rng, 4 * (uint64_t)i, 4, z);
        row[0] = z[0];
        row[1] = 1e3 * z[1];
        row[2] = z[0];
        row[3] = 7;
        row[4] = z[0] + 0.5 * row[1] - 3;
        row[5] = row[4] + 5e-3 * z[2];
    }
}

static void sums_are_found_and_noise_is_measured(void **state)
{
    static double x[N * D];
    double share[D];
    wm_error err;

    (void)state;
    fill(x);
    assert_ok(wmi_unexplained(share, N, D, x, 0, 4, &err),
              err); /* one of them twice, one constant */
    for (int j = 0; j < 4; j++)
        assert_true(isnan(share[j]));
    assert_true(share[4] < 1e-20);
    assert_true(share[5] > 0.8e-10 && share[5] < 1.2e-10); /* (5e-3 / 500)^2, standard error 6 % */
    assert_ok(wmi_unexplained(share, N, D, x, 4, 2, &err), err);
    assert_true(share[0] > 0.9 && isnan(share[3])); /* what b hides */
}

static void few_rows_say_nothing(void **state)
{
    static double x[N * D];
    double share[D];
    wm_error err;

    (void)state;
    fill(x);
    assert_ok(wmi_unexplained(share, 39, D, x, 0, 4, &err), err);
    for (int j = 0; j < D; j++)
        assert_true(isnan(share[j]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sums_are_found_and_noise_is_measured),
                                       cmocka_unit_test(few_rows_say_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
