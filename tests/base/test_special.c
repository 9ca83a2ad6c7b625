/* test_special.c - known values, functional equations and integrals with known answers. */
#include "asserts.h"

#include "base/special.h"

#define PI 3.14159265358979323846
#define EULER 0.57721566490153286061

static void gamma_has_its_known_values(void **state)
{
    double log_factorial = 0;

    (void)state;
    assert_near(wmi_log_gamma(0.5), 0.5 * log(PI), 1e-14);
    assert_near(wmi_log_gamma(1), 0, 1e-14);
    for (int n = 1; n <= 170; n++) {
        log_factorial += log(n);
        assert_near(wmi_log_gamma(n + 1), log_factorial, 1e-14 * (1 + log_factorial));
    }
    assert_near(wmi_log_gamma(1e-8), 18.420680738180209, 1e-13); /* -log x - gamma x */
    /* Gamma(2 x) Gamma(1/2) = 2^(2 x - 1) Gamma(x) Gamma(x + 1/2) */
    for (double x = 0.07; x < 400; x *= 1.7)
        assert_near(wmi_log_gamma(2 * x) + 0.5 * log(PI),
                    (2 * x - 1) * log(2) + wmi_log_gamma(x) + wmi_log_gamma(x + 0.5),
                    1e-14 * (10 + wmi_log_gamma(2 * x)));
    assert_true(isnan(wmi_log_gamma(0)) && isnan(wmi_log_gamma(-1)));
}

static void psi_is_the_slope_of_log_gamma(void **state)
{
    (void)state;
    assert_near(wmi_psi(1), -EULER, 1e-15);
    assert_near(wmi_psi(0.5), -EULER - 2 * log(2), 4e-15);
    for (double x = 0.05; x < 1e4; x *= 1.9) {
        const double h = 1e-4 * x; /* truncation h^2 psi'' / 6 ~ 1e-8 relative to psi' x */

        assert_near(wmi_psi(x + 1), wmi_psi(x) + 1 / x, 1e-14 * (1 + 1 / x));
        assert_near(wmi_psi(x), (wmi_log_gamma(x + h) - wmi_log_gamma(x - h)) / (2 * h),
                    1e-7 * (1 + 1 / x));
    }
    assert_true(isnan(wmi_psi(0)));
}

static void normal_inverse_inverts(void **state)
{
    (void)state;
    assert_near(wmi_normal_inverse(0.975), 1.959963984540054, 1e-15);
    assert_near(wmi_normal_inverse(0.5), 0, 1e-16);
    assert_near(wmi_normal_inverse(1e-300), -37.0471, 1e-4);
    for (double p = 1e-300; p < 0.5; p *= 3.7) {
        const double z = wmi_normal_inverse(p);

        assert_near(wmi_normal_cdf(z) / p, 1, 1e-14 * (1 + z * z)); /* slope of log cdf is ~ z */
        if (p > 1e-12)
            assert_near(wmi_normal_inverse(1 - p), -z, 1e-15 / p);
    }
    for (double z = -8; z < 8; z += 0.37)
        assert_near(wmi_normal_inverse(wmi_normal_cdf(z)), z, z < 2 ? 1e-13 : 1e-16 * exp(z * z));
    assert_true(wmi_normal_inverse(0) == -INFINITY && wmi_normal_inverse(1) == INFINITY);
    assert_true(isnan(wmi_normal_inverse(-0.1)) && isnan(wmi_normal_inverse(NAN)));
}

static double normal_moment(double x, const void *ctx)
{
    return fabs(x) > 50 ? 0 : pow(x, *(const int *)ctx) * exp(-0.5 * x * x) / sqrt(2 * PI);
}

/* Student's density with dof degrees: at 0.5 it falls as |x|^-1.5. */
static double student(double x, const void *ctx)
{
    const double nu = *(const double *)ctx;

    return exp(wmi_log_gamma(0.5 * (nu + 1)) - wmi_log_gamma(0.5 * nu) - 0.5 * log(nu * PI) -
               0.5 * (nu + 1) * log1p(x * x / nu));
}

/* Twenty narrow normals side by side. */
static double comb(double x, const void *ctx)
{
    double sum = 0;

    (void)ctx;
    for (int k = 0; k < 20; k++)
        sum += normal_moment(x - 10 * k, &(const int){0}) / 20;
    return sum;
}

static void integrals_are_exact_and_know_their_error(void **state)
{
    const double odd[] = {0.5, 1, 2.5, 30}, even[] = {1, 0, 1, 0, 3, 0, 15};
    double error;

    (void)state;
    for (int k = 0; k < 7; k++) {
        const double at[] = {0, 3, -0.2}, scale[] = {1, 20, 0.1};

        for (int i = 0; i < 3; i++) { /* the place is a hint, no more */
            assert_near(wmi_integrate(normal_moment, &k, at[i], scale[i], &error), even[k], 2e-13);
            assert_true(error < 1e-12);
        }
    }
    for (int i = 0; i < 4; i++) {
        assert_near(wmi_integrate(student, &odd[i], 0, 1, &error), 1, 1e-12);
        assert_near(wmi_integrate(student, &odd[i], 7, 3, NULL), 1, 1e-11);
    }
    assert_near(wmi_integrate(comb, NULL, 95, 60, &error), 1, 1e-12);
    assert_true(error < 1e-11);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gamma_has_its_known_values),
        cmocka_unit_test(psi_is_the_slope_of_log_gamma),
        cmocka_unit_test(normal_inverse_inverts),
        cmocka_unit_test(integrals_are_exact_and_know_their_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
