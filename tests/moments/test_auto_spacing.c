/* test_auto_spacing.c - lengths of curves of Gaussians that are known, and waymarks along them. */
#include "asserts.h"
#include "moments/auto_spacing.h"

/* Ends of one column. */
static void one_column(wmi_end_moments *m, double mean, double sd)
{
    wm_error err;

    assert_ok(wmi_end_moments_new(m, 1, &err), err);
    m->mean[0] = mean;
    m->cov[0] = sd * sd;
}

/* Equal variances: the symmetrised divergence of means a distance D apart is D^2, so that length is
 * distance, whatever the segments. 10 units in bridges of 1.5 are 7 bridges. */
static void a_shift_is_as_long_as_it_is_far(void **state)
{
    wmi_end_moments p, q;
    wmi_alpha_path path;
    wm_alphas a;
    wm_error err;

    (void)state;
    one_column(&p, -5, 1);
    one_column(&q, 5, 1);
    assert_ok(wmi_alpha_path_new(&path, 1, &p, &q, NULL, &err), err);
    assert_near(path.length, 10, 1e-9);
    assert_int_equal(wmi_alpha_path_bridges(&path, 30), 7);
    assert_int_equal(wmi_alpha_path_bridges(&path, 3), 3);
    wmi_alpha_path_alphas(&path, 10, &a);
    assert_int_equal(a.bridges, 10);
    for (int k = 0; k <= 10; k++) /* within the curvature of a segment of at most 0.5 */
        assert_near(-5 * sqrt(1 - a.alpha[k] * a.alpha[k]) + 5 * a.alpha[k], -5 + k, 0.02);
    assert_near(wmi_alpha_path_half(&path, 0, 1), sqrt(0.5), 2e-3); /* symmetric: 45 degrees */
    wmi_alpha_path_free(&path);
    wmi_end_moments_free(&p);
    wmi_end_moments_free(&q);
}

/* A scale family has length sqrt(2) |log of the ratio of scales|, here 19.54; waymarks then have
 * scales in geometric progression. Segments of length 0.5 cost 1 % at most. */
static void a_peak_gets_waymarks_on_every_scale(void **state)
{
    wmi_end_moments p, q;
    wmi_alpha_path path;
    wm_alphas a;
    wm_error err;

    (void)state;
    one_column(&p, 0, 1e-6);
    one_column(&q, 0, 1);
    assert_ok(wmi_alpha_path_new(&path, 1, &p, &q, NULL, &err), err);
    assert_near(path.length, sqrt(2) * log(1e6), 0.2);
    wmi_alpha_path_alphas(&path, 6, &a);
    for (int k = 1; k < 6; k++) {
        const double sd = hypot(1e-6 * sqrt(1 - a.alpha[k] * a.alpha[k]), a.alpha[k]);

        assert_near(log10(sd), -6 + k, 0.1);
    }
    wmi_alpha_path_free(&path);
    wmi_end_moments_free(&p);
    wmi_end_moments_free(&q);
}

static void ends_that_are_the_same_need_one_bridge(void **state)
{
    wmi_end_moments p;
    wmi_alpha_path path;
    wm_alphas a;
    wm_error err;

    (void)state;
    one_column(&p, 3, 2);
    p.mean[0] = 0; /* else waymarks between two equal ends wander: sqrt(1 - a^2) + a is not 1 */
    assert_ok(wmi_alpha_path_new(&path, 1, &p, &p, NULL, &err), err);
    assert_near(path.length, 0, 1e-6);
    assert_int_equal(wmi_alpha_path_bridges(&path, 30), 1);
    wmi_alpha_path_alphas(&path, 4, &a);
    assert_near(a.alpha[2], 0.5, 1e-12);
    assert_near(wmi_alpha_path_half(&path, 0, 1), sqrt(0.5), 1e-12); /* by angle */
    wmi_alpha_path_free(&path);
    wmi_end_moments_free(&p);
}

/* Kept columns do not move: only the correlation of the second with the first goes. */
static void kept_columns_stay(void **state)
{
    const int64_t columns[] = {WM_COLUMN_KEPT, WM_COLUMN_LINEAR};
    wmi_end_moments p;
    wmi_alpha_path moving, kept;
    wm_error err;

    (void)state;
    assert_ok(wmi_end_moments_new(&p, 2, &err), err);
    p.mean[0] = p.mean[1] = 0;
    p.cov[0] = p.cov[3] = 1;
    p.cov[1] = p.cov[2] = 0.9;
    assert_ok(wmi_alpha_path_new(&moving, 2, &p, &p, NULL, &err), err);
    assert_ok(wmi_alpha_path_new(&kept, 2, &p, &p, columns, &err), err);
    assert_near(moving.length, 0, 1e-6); /* both move together: nothing changes */
    /* the Fisher information of a correlation r is (1 + r^2) / (1 - r^2)^2; its root from 0 to 0.9
     * integrates to something between atanh(0.9) = 1.47 and sqrt(1.81) times that */
    assert_true(kept.length > 1.48 && kept.length < 1.98);
    wmi_alpha_path_free(&kept);
    wmi_alpha_path_free(&moving);
    wmi_end_moments_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_shift_is_as_long_as_it_is_far),
        cmocka_unit_test(a_peak_gets_waymarks_on_every_scale),
        cmocka_unit_test(ends_that_are_the_same_need_one_bridge),
        cmocka_unit_test(kept_columns_stay),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
