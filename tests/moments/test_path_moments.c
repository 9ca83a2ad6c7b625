/* test_path_moments.c - moments of ends, the Gaussians of waymarks, and their divergence. */
#include <string.h>

#include "asserts.h"
#include "base/alloc.h"
#include "base/rng.h"
#include "moments/path_moments.h"

static void moments_of_rows(void **state)
{
    const double x[] = {1, 2, 3, 6, 5, 10}; /* means 3 and 6 */
    wmi_end_moments m;
    wm_error err;

    (void)state;
    assert_ok(wmi_end_moments_new(&m, 2, &err), err);
    assert_ok(wmi_end_moments_of(&m, 3, 2, x, &err), err);
    assert_near(m.mean[0], 3, 1e-15);
    assert_near(m.mean[1], 6, 1e-15);
    assert_near(m.cov[0], 8 / 3.0, 1e-14);
    assert_near(m.cov[1], 16 / 3.0, 1e-14);
    assert_near(m.cov[2], 16 / 3.0, 1e-14);
    assert_near(m.cov[3], 32 / 3.0, 1e-14);
    wmi_end_moments_free(&m);
}

/* With twice as many columns as rows the sample covariance is singular and only a shrunk one has a
 * likelihood; with many rows of correlated columns shrinking costs. */
static void shrinking_is_for_few_rows(void **state)
{
    enum { D = 20, FEW = 10, MANY = 4000 };
    const wmi_rng rng = wmi_rng_make(1, "shrink");
    wmi_end_moments m;
    double *x = NULL, weight;
    wm_error err;

    (void)state;
    assert_ok(wmi_alloc(&x, 2 * MANY * D, sizeof *x, "rows", &err), err);
    wmi_rng_normal_f64(&rng, 0, 2 * MANY * D, x);
    for (int64_t i = 0; i < 2 * MANY; i++)
        for (int64_t j = 1; j < D; j++)
            x[i * D + j] = 0.8 * x[i * D + j - 1] + 0.6 * x[i * D + j];
    assert_ok(wmi_end_moments_new(&m, D, &err), err);
    assert_ok(wmi_end_moments_of(&m, FEW, D, x, &err), err);
    assert_ok(wmi_end_moments_shrink(&m, D, MANY, x + MANY * D, &weight, &err), err);
    assert_true(weight > 0.05);
    assert_ok(wmi_end_moments_of(&m, MANY, D, x, &err), err);
    assert_ok(wmi_end_moments_shrink(&m, D, MANY, x + MANY * D, &weight, &err), err);
    assert_true(weight < 0.005);
    assert_near(m.cov[1], 0.8, 0.05); /* sd of a covariance: sqrt(1.64 / 4000) = 0.02 */
    wmi_end_moments_free(&m);
    wmi_free(x);
}

/* One column, N(1, 4) and N(3, 9): KL + KL the other way = (4 + 4)/18 + (9 + 4)/8 - 1. */
static void divergence_has_its_closed_form(void **state)
{
    const double one[] = {1}, zero[] = {0};
    wmi_end_moments a, b;
    wmi_gaussian f = {0}, g = {0};
    wm_error err;

    (void)state;
    assert_ok(wmi_end_moments_new(&a, 1, &err), err);
    assert_ok(wmi_end_moments_new(&b, 1, &err), err);
    a.mean[0] = 1, a.cov[0] = 4, b.mean[0] = 3, b.cov[0] = 9;
    assert_ok(wmi_gaussian_new(&f, 1, &err), err);
    assert_ok(wmi_gaussian_new(&g, 1, &err), err);
    assert_ok(wmi_gaussian_at(&f, 1, &a, &b, one, zero, 0, &err), err); /* the ends themselves */
    assert_ok(wmi_gaussian_at(&g, 1, &a, &b, zero, one, 1, &err), err);
    assert_near(f.mean[0], 1, 0);
    assert_near(g.precision[0], 1 / 9.0, 1e-15);
    assert_near(g.logdet, log(9), 1e-14);
    assert_near(wmi_gaussian_divergence(1, &f, &g), 8 / 18.0 + 13 / 8.0 - 1, 1e-13);
    assert_near(wmi_gaussian_divergence(1, &f, &f), 0, 1e-15);
    wmi_gaussian_free(&f);
    wmi_gaussian_free(&g);
    wmi_end_moments_free(&a);
    wmi_end_moments_free(&b);
}

static void a_singular_covariance_is_named(void **state)
{
    const double one[] = {1}, zero[] = {0};
    wmi_end_moments a;
    wmi_gaussian f = {0};
    wm_error err;

    (void)state;
    assert_ok(wmi_end_moments_new(&a, 1, &err), err);
    a.mean[0] = a.cov[0] = 0;
    assert_ok(wmi_gaussian_new(&f, 1, &err), err);
    assert_int_equal(wmi_gaussian_at(&f, 1, &a, &a, one, zero, 3, &err), WM_EINVAL);
    assert_non_null(strstr(err.text, "covariance of waymark 3"));
    wmi_gaussian_free(&f);
    wmi_end_moments_free(&a);
}

/* Four columns with correlations of 0.4, 700 rows, judged by 100: the sample covariance has entries
 * of standard error 0.04, and to take a tenth or more away is wrong by one of these. A
 * hundred rows like it by chance all the same, and must not be asked for more than they know. Twice
 * the noise is 1 time in 40 by chance, for each of the weights: fewer than 5 of 40. */
static void dependence_is_not_shrunk_by_chance(void **state)
{
    enum { D = 4, TRAIN = 700, VALID = 100, SAMPLES = 40 };
    double *x = NULL;
    int heavy = 0;
    wm_error err;

    (void)state;
    assert_ok(wmi_alloc(&x, (TRAIN + VALID) * D, sizeof *x, "rows", &err), err);
    for (int s = 0; s < SAMPLES; s++) {
        const wmi_rng rng = wmi_rng_make((uint64_t)s, "shrink");
        wmi_end_moments m;
        double weight;

        wmi_rng_normal_f64(&rng, 0, (TRAIN + VALID) * D, x);
        for (int64_t i = 0; i < (TRAIN + VALID) * D; i += 2) /* columns in pairs */
            x[i + 1] = 0.4 * x[i] + sqrt(1 - 0.16) * x[i + 1];
        assert_ok(wmi_end_moments_new(&m, D, &err), err);
        assert_ok(wmi_end_moments_of(&m, TRAIN, D, x, &err), err);
        assert_ok(wmi_end_moments_shrink(&m, D, VALID, x + TRAIN * D, &weight, &err), err);
        heavy += weight >= 0.1;
        wmi_end_moments_free(&m);
    }
    assert_true(heavy < 5);
    wmi_free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(moments_of_rows),
        cmocka_unit_test(shrinking_is_for_few_rows),
        cmocka_unit_test(dependence_is_not_shrunk_by_chance),
        cmocka_unit_test(divergence_has_its_closed_form),
        cmocka_unit_test(a_singular_covariance_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
