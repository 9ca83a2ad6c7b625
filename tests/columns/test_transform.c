/* test_transform.c - rows to densities and back: values, Jacobians, and what is refused. */
#include "columns/transform.h"

#include <string.h>

#include "asserts.h"

enum { N = 5, D = 3 };
static const double bytes[N * D] = {0, 255, 17, 3, 4, 5, 100, 128, 0, 255, 0, 64, 9, 9, 9};

/* The mean number of nats of a sum of derivatives, by central differences. */
static void jacobian_is_the_derivative(void **state)
{
    const double h = 1e-5, u[D] = {0.3, 0.5, 0.9};
    wmi_transform t;
    wm_error err;

    (void)state;
    assert_ok(wmi_transform_fit(&t, 256, 1e-6, true, N, D, bytes, 1, &err), err);
    for (int i = 0; i < N; i++) {
        double y[D], lo[D], hi[D], x[D], log_det, sum = 0;

        wmi_transform_rows(&t, 1, bytes + i * D, u, y, &log_det);
        for (int j = 0; j < D; j++) {
            memcpy(x, bytes + i * D, sizeof x);
            x[j] += h;
            wmi_transform_rows(&t, 1, x, u, hi, NULL);
            x[j] -= 2 * h;
            wmi_transform_rows(&t, 1, x, u, lo, NULL);
            sum += log((hi[j] - lo[j]) / (2 * h));
        }
        assert_near(log_det, sum, 1e-7); /* h^2 times a third derivative of order 100 */
    }
    wmi_transform_free(&t);
}

static void back_undoes(void **state)
{
    static const double lambda[] = {0, 1e-6, 0.05}, levels[] = {0, 256};

    (void)state;
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 2; b++) {
            double x[N * D], y[N * D], back[N * D];
            wmi_transform t;
            wm_error err;

            for (int i = 0; i < N * D; i++)
                x[i] = levels[b] > 0 || lambda[a] == 0 ? bytes[i] : bytes[i] / 255;
            assert_ok(wmi_transform_fit(&t, levels[b], lambda[a], true, N, D, x, 1, &err), err);
            wmi_transform_rows(&t, N, x, NULL, y, NULL);
            wmi_transform_back(&t, N, y, back);
            for (int i = 0; i < N * D; i++) /* without u it is 1/2 */
                assert_near(back[i], x[i] + (levels[b] > 0 ? 0.5 : 0), 1e-9 * 256);
            wmi_transform_free(&t);
        }
}

static void columns_are_centred_and_scaled(void **state)
{
    const double x[] = {1, 10, 2, 30, 3, 20};
    double y[6];
    wmi_transform t;
    wm_error err;

    (void)state;
    assert_ok(wmi_transform_fit(&t, 0, 0, true, 3, 2, x, 1, &err), err);
    wmi_transform_rows(&t, 3, x, NULL, y, NULL);
    for (int j = 0; j < 2; j++) {
        assert_near(y[j] + y[2 + j] + y[4 + j], 0, 1e-14);
        assert_near(y[j] * y[j] + y[2 + j] * y[2 + j] + y[4 + j] * y[4 + j], 3, 1e-13);
    }
    wmi_transform_free(&t);
    assert_ok(wmi_transform_fit(&t, 0, 0, false, 3, 2, x, 1, &err), err);
    wmi_transform_rows(&t, 3, x, NULL, y, NULL);
    assert_near(y[0], -1, 1e-14);
    assert_near(y[3], 10, 1e-14);
    wmi_transform_free(&t);
}

static void extremes_stay_inside(void **state)
{
    const double far[D] = {1e6, -1e6, 0};
    double x[D];
    wmi_transform t;
    wm_error err;

    (void)state;
    assert_ok(wmi_transform_fit(&t, 256, 1e-6, false, N, D, bytes, 1, &err), err);
    wmi_transform_back(&t, 1, far, x);
    for (int j = 0; j < D; j++)
        assert_true(x[j] >= 0 && x[j] < 256);
    wmi_transform_free(&t);
}

static void bad_values_are_named(void **state)
{
    static const struct {
        double levels, lambda, x[4];
        bool standardize;
        const char *says;
    } bad[] = {
        {256, 1e-6, {1, 2, 3, 256}, false, "row 2, column 2 is 256"},
        {256, 1e-6, {1, 2, 3.5, 2}, false, "row 2, column 1 is 3.5"},
        {0, 1e-6, {0, 1, 1.5, 1}, false, "outside of [0, 1]"},
        {0, 0, {0, 1, NAN, 1}, false, "row 2, column 1"},
        {0, 0, {1, 1, 2, 1}, true, "column 2 is constant"},
        {1.5, 0, {1, 1, 2, 1}, true, "1.5 levels"},
        {0, 0.7, {1, 1, 1, 1}, true, "logit 0.7"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        wmi_transform t;
        wm_error err;

        assert_int_equal(wmi_transform_fit(&t, bad[i].levels, bad[i].lambda, bad[i].standardize, 2,
                                           2, bad[i].x, 1, &err),
                         WM_EINVAL);
        if (!strstr(err.text, bad[i].says))
            fail_msg("case %zu: %s", i, err.text);
        wmi_transform_free(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jacobian_is_the_derivative), cmocka_unit_test(back_undoes),
        cmocka_unit_test(columns_are_centred_and_scaled), cmocka_unit_test(extremes_stay_inside),
        cmocka_unit_test(bad_values_are_named)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
