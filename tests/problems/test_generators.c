/* test_generators.c - moments, correlations and the closed forms that go with them. */
#include "asserts.h"

#include <stdbool.h>
#include <string.h>

#include "waymark/data.h"
#include "waymark/generators.h"

/* Mean and central second moments of two columns. */
typedef struct moments {
    double mean[2], var[2], cov;
} moments;

static moments of(const wm_data *d, int64_t a, int64_t b)
{
    const int64_t n = wm_data_count(d), dim = wm_data_dim(d);
    const double *x = wm_data_rows(d);
    moments m = {{0}, {0}, 0};

    for (int64_t i = 0; i < n; i++) {
        m.mean[0] += x[i * dim + a] / (double)n;
        m.mean[1] += x[i * dim + b] / (double)n;
    }
    for (int64_t i = 0; i < n; i++) {
        const double u = x[i * dim + a] - m.mean[0], v = x[i * dim + b] - m.mean[1];

        m.var[0] += u * u / (double)n;
        m.var[1] += v * v / (double)n;
        m.cov += u * v / (double)n;
    }
    return m;
}

static void normals_have_their_moments(void **state)
{
    const int64_t n = 40000;
    const double mean = 3, sd = 1e-6;
    wm_error err = {0};
    wm_data *d;

    (void)state;
    assert_ok(wm_data_normal(&d, n, 3, mean, sd, 1, "a", &err), err);
    assert_int_equal(wm_data_count(d), n);
    assert_int_equal(wm_data_dim(d), 3);
    for (int64_t j = 0; j < 3; j++) {
        const moments m = of(d, j, (j + 1) % 3);

        assert_near(m.mean[0], mean, 5 * sd / sqrt((double)n));
        assert_near(m.var[0] / (sd * sd), 1, 5 * sqrt(2.0 / (double)n));
        assert_near(m.cov / (sd * sd), 0, 5 / sqrt((double)n));
    }
    wm_data_free(d);
    assert_ok(wm_data_normal(&d, 2, 2, -7, 0, 1, "a", &err), err);
    for (int i = 0; i < 4; i++)
        assert_true(wm_data_rows(d)[i] == -7);
    wm_data_free(d);
}

static void draws_are_a_function_of_seed_and_stream(void **state)
{
    wm_error err = {0};
    wm_data *a, *b, *c, *e;

    (void)state;
    assert_ok(wm_data_normal(&a, 10, 2, 0, 1, 5, "p0", &err), err);
    assert_ok(wm_data_normal(&b, 1000, 2, 0, 1, 5, "p0", &err), err);
    assert_ok(wm_data_normal(&c, 10, 2, 0, 1, 6, "p0", &err), err);
    assert_ok(wm_data_normal(&e, 10, 2, 0, 1, 5, "pm", &err), err);
    assert_memory_equal(wm_data_rows(a), wm_data_rows(b), 20 * sizeof(double));
    assert_memory_not_equal(wm_data_rows(a), wm_data_rows(c), 20 * sizeof(double));
    assert_memory_not_equal(wm_data_rows(a), wm_data_rows(e), 20 * sizeof(double));
    wm_data_free(a), wm_data_free(b), wm_data_free(c), wm_data_free(e);
}

static void pairs_are_correlated_within_not_across(void **state)
{
    const int64_t n = 40000;
    const double rho = -0.8, se = 1 / sqrt((double)n);
    wm_error err = {0};
    wm_data *d;

    (void)state;
    assert_ok(wm_data_gaussian_pairs(&d, n, 6, rho, 2, "pairs", &err), err);
    for (int64_t a = 0; a < 6; a++)
        for (int64_t b = a + 1; b < 6; b++) {
            const bool together = a % 2 == 0 && b == a + 1;
            const double r = together ? rho : 0;
            const moments m = of(d, a, b);

            assert_near(m.mean[0], 0, 5 * se);
            assert_near(m.var[0], 1, 5 * sqrt(2.0) * se);
            assert_near(m.var[1], 1, 5 * sqrt(2.0) * se);
            assert_near(m.cov, r, 5 * sqrt(1 + r * r) * se); /* var(xy) = 1 + rho^2 */
        }
    wm_data_free(d);
}

static void mutual_information_has_its_closed_form(void **state)
{
    const struct {
        int64_t dim;
        double mi;
    } paper[] = {{40, 10}, {80, 20}, {160, 40}, {320, 80}};

    (void)state;
    for (int i = 0; i < 4; i++) {
        const double rho = wm_gaussian_pairs_rho(paper[i].dim, paper[i].mi);

        assert_near(rho, 0.79506, 5e-6);
        assert_near(wm_gaussian_pairs_mi(paper[i].dim, rho), paper[i].mi, 1e-12 * paper[i].mi);
    }
    assert_near(wm_gaussian_pairs_mi(320, 0.8), 81.7321,
                1e-4); /* -80 log 0.36: what rounding costs */
    assert_near(wm_gaussian_pairs_mi(2, -0.6), -0.5 * log(0.64), 1e-15);
    assert_true(wm_gaussian_pairs_mi(4, 0) == 0 && wm_gaussian_pairs_rho(4, 0) == 0);
    assert_near(wm_gaussian_pairs_mi(2, wm_gaussian_pairs_rho(2, 1e-12)), 1e-12, 1e-26);
    assert_true(isinf(wm_gaussian_pairs_mi(2, 1)));
}

static void bad_arguments_are_refused(void **state)
{
    wm_error err = {0};
    wm_data *d;

    (void)state;
    assert_int_equal(wm_data_normal(&d, 0, 1, 0, 1, 1, "a", &err), WM_EINVAL);
    assert_null(d);
    assert_int_equal(wm_data_normal(&d, 1, 1, 0, -2, 1, "a", &err), WM_EINVAL);
    assert_non_null(strstr(err.text, "-2"));
    assert_null(d);
    assert_int_equal(wm_data_normal(&d, 1, 1, NAN, 1, 1, "a", &err), WM_EINVAL);
    assert_int_equal(wm_data_normal(&d, 1, 1, 0, INFINITY, 1, "a", &err), WM_EINVAL);
    assert_int_equal(wm_data_gaussian_pairs(&d, 5, 3, 0.5, 1, "a", &err), WM_EINVAL);
    assert_non_null(strstr(err.text, "3 columns"));
    assert_int_equal(wm_data_gaussian_pairs(&d, 5, 4, 1.5, 1, "a", &err), WM_EINVAL);
    assert_non_null(strstr(err.text, "1.5"));
    assert_int_equal(wm_data_gaussian_pairs(&d, 5, 4, NAN, 1, "a", &err), WM_EINVAL);
    assert_null(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(normals_have_their_moments),
        cmocka_unit_test(draws_are_a_function_of_seed_and_stream),
        cmocka_unit_test(pairs_are_correlated_within_not_across),
        cmocka_unit_test(mutual_information_has_its_closed_form),
        cmocka_unit_test(bad_arguments_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
