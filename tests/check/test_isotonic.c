/* test_isotonic.c - log-ratios as a rising step function of scores. */
#include <string.h>

#include "asserts.h"
#include "base/rng.h"
#include "check/isotonic.h"

/* By hand: scores 1 2 3 4 5 with classes d n d n n. 2 (n) before 3 (d) falls, so they are one step:
 * ratios 0/1, 1/1, 2/0. */
static void violators_are_pooled(void **state)
{
    const double num[] = {5, 2, 4}, den[] = {3, 1};
    wmi_isotonic f = {0};
    wm_error err;

    (void)state;
    assert_ok(wmi_isotonic_fit(&f, 3, num, 2, den, &err), err);
    assert_int_equal(f.steps, 3);
    assert_near(f.from[0], 1, 0);
    assert_near(f.from[1], 2, 0);
    assert_near(f.from[2], 4, 0);
    assert_near(f.log_r[0], log(0.5 / 4) - log(1.5 / 3), 1e-15);
    assert_near(f.log_r[1], log(1.5 / 4) - log(1.5 / 3), 1e-15);
    assert_near(f.log_r[2], log(2.5 / 4) - log(0.5 / 3), 1e-15);
    assert_near(f.var[1], 2 / 1.5, 1e-15);
    assert_int_equal(wmi_isotonic_step(&f, -1e9), 0);
    assert_int_equal(wmi_isotonic_step(&f, 1.99), 0);
    assert_int_equal(wmi_isotonic_step(&f, 2), 1);
    assert_int_equal(wmi_isotonic_step(&f, 3.5), 1);
    assert_int_equal(wmi_isotonic_step(&f, 1e9), 2);
    wmi_isotonic_free(&f);
}

static void equal_scores_are_one(void **state)
{
    const double num[] = {1, 1, 2}, den[] = {1, 2, 2, 2};
    wmi_isotonic f = {0};
    wm_error err;

    (void)state;
    assert_ok(wmi_isotonic_fit(&f, 3, num, 4, den, &err), err);
    assert_int_equal(f.steps, 1); /* 2 : 1, then 1 : 3, which falls */
    assert_near(f.log_r[0], log(3.5 / 4) - log(4.5 / 5), 1e-15);
    wmi_isotonic_free(&f);
}

/* N(1, 1) against N(0, 1): log r = x - 1/2, KL = 1/2, whatever rising function of x the score is,
 * here one that says ten times too much. */
static void the_size_of_scores_does_not_matter(void **state)
{
    enum { N = 20000 };
    static double x[2 * N], num[N], den[N];
    const wmi_rng rng = wmi_rng_make(5, "scores");
    wmi_isotonic f = {0};
    double mean = 0, off = 0;
    wm_error err;

    (void)state;
    wmi_rng_normal_f64(&rng, 0, 2 * N, x);
    for (int i = 0; i < N; i++) {
        num[i] = 10 * (x[i] + 1) + 3;
        den[i] = 10 * x[N + i] + 3;
    }
    assert_ok(wmi_isotonic_fit(&f, N, num, N, den, &err), err);
    wmi_rng_normal_f64(&rng, 2 * N, N, x); /* fresh ones */
    for (int i = 0; i < N; i++) {
        const double z = x[i] + 1, got = f.log_r[wmi_isotonic_step(&f, 10 * z + 3)];

        mean += got / N;
        off += fabs(got - (z - 0.5)) / N;
    }
    for (int64_t b = 1; b < f.steps; b++)
        assert_true(f.log_r[b] > f.log_r[b - 1]);
    assert_near(mean, 0.5, 0.035); /* 5 / sqrt(N): log r has a standard deviation of 1 */
    assert_near(off, 0,
                0.2); /* isotonic fits err by the cube root of the rows, more in the tails */
    wmi_isotonic_free(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(violators_are_pooled),
        cmocka_unit_test(equal_scores_are_one),
        cmocka_unit_test(the_size_of_scores_does_not_matter),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
