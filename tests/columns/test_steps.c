/* test_steps.c - columns without a density made continuous: shares, derivatives, and back. */
#include <string.h>

#include "asserts.h"
#include "base/rng.h"
#include "columns/steps.h"
#include "columns/transform.h"

enum { N = 600, RAW = 5 };

/* A category of three levels (shares 1/2, 1/3, 1/6), a constant, whole numbers far apart, a number,
 * a yes/no. */
static void fill(double *x, wm_kind *kind)
{
    const wmi_rng rng = wmi_rng_make(3, "steps");
    static const wm_kind kinds[RAW] = {WM_KIND_CATEGORICAL, WM_KIND_CONTINUOUS, WM_KIND_INTEGER,
                                       WM_KIND_CONTINUOUS, WM_KIND_CONTINUOUS};

    memcpy(kind, kinds, sizeof kinds);
    for (int64_t i = 0; i < N; i++) {
        x[i * RAW] = i % 6 < 3 ? 0 : i % 6 < 5 ? 1 : 2;
        x[i * RAW + 1] = 7.5;
        x[i * RAW + 2] = (double)(3 * i - 100);
        wmi_rng_normal_f64(&rng, (uint64_t)i, 1, &x[i * RAW + 3]);
        x[i * RAW + 4] = i % 4 == 0 ? 0.5 : -0.5;
    }
}

static wmi_steps looked_at(double *x)
{
    wm_kind kind[RAW];
    const int64_t n[2] = {N, 0};
    const double *const tables[2] = {x, NULL};
    wmi_steps s;
    wm_error err;

    fill(x, kind);
    assert_ok(wmi_steps_fit(&s, RAW, n, tables, kind, &err), err);
    return s;
}

static void columns_are_what_their_values_say(void **state)
{
    static const int64_t how[RAW] = {WMI_STEP_SHARES, WMI_STEP_CONSTANT, WMI_STEP_WHOLE,
                                     WMI_STEP_NUMBER, WMI_STEP_SHARES};
    static double x[N * RAW];
    wmi_steps s;

    (void)state;
    s = looked_at(x);
    assert_int_equal(s.dim, 4);
    for (int j = 0; j < RAW; j++)
        assert_int_equal(s.how[j], how[j]);
    assert_near(s.share[1], 200.5 / 601.5, 1e-12);
    assert_near(s.below[2], 501. / 601.5, 1e-12);
    assert_true(wmi_steps_knows(&s, 0, 2) && !wmi_steps_knows(&s, 0, 3));
    assert_true(wmi_steps_knows(&s, 2, 12345) && !wmi_steps_knows(&s, 2, 0.5));
    assert_true(wmi_steps_knows(&s, 4, -0.5) && !wmi_steps_knows(&s, 4, 0));
    wmi_steps_free(&s);
}

/* log_det is the log of dy/du: by central differences, with errors of order h^2 = 1e-10 relative to
 * a curvature of some 100 near the ends. */
static void derivatives_are_those_of_the_map(void **state)
{
    const double h = 1e-5;
    static double x[N * RAW];
    wmi_steps s;

    (void)state;
    s = looked_at(x);
    for (int j = 0; j < RAW; j++)
        for (double u = 0.1; u < 0.95 && s.how[j] == WMI_STEP_SHARES; u += 0.2)
            for (int64_t k = s.first[j]; k < s.first[j + 1]; k++) {
                double log_det = 0, none = 0;
                const double up = wmi_steps_up(&s, j, s.value[k], u + h, &none),
                             down = wmi_steps_up(&s, j, s.value[k], u - h, &none),
                             y = wmi_steps_up(&s, j, s.value[k], u, &log_det);

                assert_near(log((up - down) / (2 * h)), log_det, 1e-6);
                assert_true(wmi_steps_down(&s, j, y) == s.value[k]);
            }
    wmi_steps_free(&s);
}

static void rows_go_there_and_back(void **state)
{
    static double x[N * RAW], y[N * RAW], u[N * RAW], back[N * RAW], log_det[N];
    const wmi_rng rng = wmi_rng_make(4, "u");
    wmi_transform t;
    wmi_steps s, same;
    wm_error err;

    (void)state;
    s = looked_at(x);
    assert_ok(wmi_steps_copy(&same, &s, &err), err);
    assert_true(wmi_steps_settle(&same) && same.dim == s.dim);
    wmi_steps_free(&same);
    assert_ok(wmi_transform_fit_steps(&t, &s, true, N, x, 1, &err), err);
    assert_int_equal(t.dim, 4);
    wmi_rng_uniform_f64(&rng, 0, N * t.dim, u);
    wmi_transform_rows(&t, N, x, u, y, log_det);
    wmi_transform_back(&t, N, y, back);
    for (int64_t i = 0; i < N * RAW; i++)
        assert_near(back[i], x[i], i % RAW == 3 ? 1e-12 : 0);
    x[4] = 0;
    assert_int_equal(wmi_transform_check(&t, "data", 1, x, &err), WM_EINVAL);
    assert_non_null(strstr(err.text, "row 1, column 5 is 0, a value that the model has not met"));
    wmi_transform_free(&t);
}

static void nothing_but_constants_is_refused(void **state)
{
    const double x[] = {1, 2, 1, 2, 1, 2};
    const double *const tables[2] = {x, NULL};
    const wm_kind kind[2] = {WM_KIND_CONTINUOUS, WM_KIND_CATEGORICAL};
    wmi_steps s;
    wm_error err;

    (void)state;
    assert_int_equal(wmi_steps_fit(&s, 2, (int64_t[]){3, 0}, tables, kind, &err), WM_EINVAL);
    assert_non_null(strstr(err.text, "every column is constant"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_what_their_values_say),
        cmocka_unit_test(derivatives_are_those_of_the_map),
        cmocka_unit_test(rows_go_there_and_back),
        cmocka_unit_test(nothing_but_constants_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
