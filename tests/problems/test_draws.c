/* test_draws.c - moments of gamma and Student variables, rotations that are rotations. */
#include "asserts.h"

#include "base/rng.h"
#include "problems/draws.h"

enum { N = 100000 };

/* Mean and variance of Gamma(s) are s, its fourth central moment 3 s^2 + 6 s. */
static void gammas_have_their_moments(void **state)
{
    const double shapes[] = {0.25, 0.5, 1, 1.5, 20};
    const wmi_rng rng = wmi_rng_make(1, "gamma");

    (void)state;
    for (int k = 0; k < 5; k++) {
        const double s = shapes[k];
        double mean = 0, var = 0, below = 0;

        for (uint64_t i = 0; i < N; i++) {
            const double x = wmi_draw_gamma(&rng, i, s);

            assert_true(x > 0);
            mean += x / N;
            var += (x - s) * (x - s) / N;
            below += (x < 1) / (double)N;
        }
        assert_near(mean, s, 5 * sqrt(s / N));
        assert_near(var, s, 5 * sqrt((2 * s * s + 6 * s) / N));
        if (k < 3) { /* P(Gamma(s) < 1), from tables of the incomplete gamma function */
            const double known[] = {0.932079, 0.842701, 0.632121};

            assert_near(below, known[k], 5 * sqrt(0.25 / N));
        }
    }
}

/* Degrees above 4: variance nu / (nu - 2). At 1 the distribution is Cauchy's, quartiles +-1. */
static void students_have_their_shape(void **state)
{
    const wmi_rng rng = wmi_rng_make(2, "divisors"), normals = wmi_rng_make(2, "normals");
    static double z[N];
    double var = 0, inner = 0;

    (void)state;
    wmi_rng_normal_f64(&normals, 0, N, z);
    for (int i = 0; i < N; i++) {
        const double x = z[i] / wmi_draw_student_divisor(&rng, (uint64_t)i, 10);
        const double c = z[i] / wmi_draw_student_divisor(&rng, (uint64_t)i, 1);

        var += x * x / N;
        inner += (fabs(c) < 1) / (double)N;
    }
    assert_near(var, 1.25, 5 * sqrt((6.25 - 1.5625) / N)); /* E x^4 = 3 nu^2 / ((nu-2) (nu-4)) */
    assert_near(inner, 0.5, 5 * 0.5 / sqrt(N));
}

static void rotations_turn_and_turn_back(void **state)
{
    const int64_t dims[] = {1, 2, 5, 100};

    (void)state;
    for (int k = 0; k < 4; k++) {
        const int64_t d = dims[k];
        const wmi_rng rng = wmi_rng_make(3, "turn");
        static double w[10000], x[100], y[100];
        double xx = 0, yy = 0, largest = 0;

        assert_true(wmi_rotation_size(d) <= 10000);
        wmi_rotation_make(&rng, d, w);
        for (int64_t j = 0; j < d; j++) /* a unit vector */
            x[j] = y[j] = j == 0;
        wmi_rotation_apply(w, d, y);
        for (int64_t j = 0; j < d; j++) {
            xx += x[j] * x[j];
            yy += y[j] * y[j];
            largest = fmax(largest, fabs(y[j]));
        }
        assert_near(yy, xx, 1e-13);
        if (d == 1)
            assert_true(y[0] == 1);
        else
            assert_true(largest < 0.9999);
        if (d == 100)
            assert_true(largest < 0.5); /* its mass is spread over all columns */
        wmi_rotation_undo(w, d, y);
        for (int64_t j = 0; j < d; j++)
            assert_near(y[j], x[j], 1e-14);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gammas_have_their_moments),
        cmocka_unit_test(students_have_their_shape),
        cmocka_unit_test(rotations_turn_and_turn_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
