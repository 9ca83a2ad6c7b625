/* test_calibrate.c - the offset of scores whose law is known. */
#include <stdlib.h>

#include "asserts.h"
#include "base/rng.h"
#include "check/calibrate.h"

enum { N = 20000 };

/* Rows N(1, 1) and N(0, 1) have log-ratio x - 1/2, so scores N(1/2, 1) and N(-1/2, 1). Shifted by
 * 7, the offset must be -7. Its standard error is 1 / sqrt(2 N p (1 - p)) with p (1 - p) about 0.2:
 * 0.011; 5 of them. */
static void undoes_a_shift(void **state)
{
    const double shift[] = {0, 7, -300};
    double *num = malloc(N * sizeof *num), *den = malloc(N * sizeof *den);
    const wmi_rng a = wmi_rng_make(1, "num"), b = wmi_rng_make(1, "den");

    (void)state;
    assert_non_null(num);
    assert_non_null(den);
    for (int k = 0; k < 3; k++) {
        wmi_rng_normal_f64(&a, 0, N, num);
        wmi_rng_normal_f64(&b, 0, N, den);
        for (int i = 0; i < N; i++) {
            num[i] += 0.5 + shift[k];
            den[i] += -0.5 + shift[k];
        }
        /* the ridge o^2 / n pulls by 2 o / n against a curvature of 0.4 */
        assert_near(wmi_calibrate(N, num, den), -shift[k], 5 * 0.011 + 5 * fabs(shift[k]) / N);
    }
    free(den);
    free(num);
}

static void separated_scores_stay_finite(void **state)
{
    const double num[] = {5, 6, 7, 8}, den[] = {-5, -6, -7, -8}, far[] = {1e4, 2e4, 3e4, 4e4};

    (void)state;
    assert_near(wmi_calibrate(4, num, den), 0, 0.1); /* symmetric: the middle */
    assert_true(fabs(wmi_calibrate(4, far, num)) < 1e4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(undoes_a_shift),
        cmocka_unit_test(separated_scores_stay_finite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
