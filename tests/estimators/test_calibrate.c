/* test_calibrate.c - slope and offset of scores whose law is known. */
#include <stdlib.h>

#include "base/rng.h"
#include "check.h"
#include "estimators/calibrate.h"

enum { N = 20000 };

/* Rows N(1, 1) and N(0, 1): the true log-ratio is x - 1/2. */
static void draw(double *num, double *den)
{
    const wmi_rng a = wmi_rng_make(1, "num"), b = wmi_rng_make(1, "den");

    wmi_rng_normal_f64(&a, 0, N, num);
    wmi_rng_normal_f64(&b, 0, N, den);
    for (int i = 0; i < N; i++) {
        num[i] += 0.5;
        den[i] -= 0.5;
    }
}

/* Scores 3 s - 2 instead of s: the calibration must undo that. Its standard errors are those of a
 * logistic regression on 2 N rows: about 1 / sqrt(N p (1 - p)) = 0.016 in slope and offset of s, so
 * a third of that in the slope on 3 s - 2, and the same order in the offset; 5 of them. */
static void undoes_a_known_distortion(void **state)
{
    double *num = malloc(N * sizeof *num), *den = malloc(N * sizeof *den);
    wmi_calibration c;

    (void)state;
    assert_non_null(num);
    assert_non_null(den);
    draw(num, den);
    c = wmi_calibrate(N, num, den);
    assert_near(c.slope, 1, 5 * 0.016);
    assert_near(c.offset, 0, 5 * 0.016);
    for (int i = 0; i < N; i++) {
        num[i] = 3 * num[i] - 2;
        den[i] = 3 * den[i] - 2;
    }
    c = wmi_calibrate(N, num, den);
    assert_near(c.slope, 1.0 / 3, 5 * 0.016 / 3);
    assert_near(c.offset, 2.0 / 3, 5 * 0.02);
    free(den);
    free(num);
}

/* Scores that separate the classes have no best slope; the ridge keeps it finite. */
static void separated_scores_stay_finite(void **state)
{
    const double num[] = {5, 6, 7, 8}, den[] = {-5, -6, -7, -8}, huge[] = {1e4, 2e4, 3e4, 4e4};
    wmi_calibration c = wmi_calibrate(4, num, den);

    (void)state;
    assert_true(c.slope > 0 && c.slope < 10);
    c = wmi_calibrate(4, huge, den);
    assert_true(isfinite(c.slope) && isfinite(c.offset));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(undoes_a_known_distortion),
        cmocka_unit_test(separated_scores_stay_finite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
