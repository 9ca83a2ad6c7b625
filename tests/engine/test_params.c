/* test_params.c - the parameter table: offsets, repeated declarations, and the laws of the draws.
 */
#include <stdlib.h>
#include <string.h>

#include "asserts.h"
#include "engine/params.h"

static void entries_are_aligned_and_found(void **state)
{
    const int64_t three[] = {3}, mat[] = {5, 7};
    const wmi_init zero = {WMI_INIT_CONST, 0, 0};
    wmi_params *p;
    wm_error err;

    (void)state;
    assert_ok(wmi_params_new(&p, &err), err);
    assert_ok(wmi_params_add(p, "a", 1, three, zero, WMI_GROUP_BODY, &err), err);
    assert_ok(wmi_params_add(p, "b/w", 2, mat, zero, WMI_GROUP_CONSTANT, &err), err);
    assert_ok(wmi_params_add(p, "scalar", 0, NULL, zero, WMI_GROUP_BODY, &err), err);
    assert_int_equal(wmi_params_find(p, "b/w")->offset, 16);
    assert_int_equal(wmi_params_find(p, "b/w")->count, 35);
    assert_int_equal(wmi_params_find(p, "scalar")->offset, 64);
    assert_int_equal(wmi_params_count(p), 80);
    assert_null(wmi_params_find(p, "b"));
    assert_true(wmi_param_is_under("b/w", "b/") && wmi_param_is_under("b/w", "b/w"));
    assert_false(wmi_param_is_under("b/w", "b/w/") || wmi_param_is_under("b/w", "a"));
    assert_false(wmi_param_is_under("b/w", "") || wmi_param_is_under("b/w", NULL));
    assert_ok(wmi_params_add(p, "a", 1, three, zero, WMI_GROUP_BODY, &err),
              err); /* the same again */
    assert_int_equal(wmi_params_entries(p), 3);
    assert_int_equal(wmi_params_add(p, "a", 2, mat, zero, WMI_GROUP_BODY, &err), WM_EINVAL);
    assert_non_null(strstr(err.text, "'a'"));
    assert_int_equal(
        wmi_params_add(p, "huge", 2, (int64_t[]){INT64_MAX, 4}, zero, WMI_GROUP_BODY, &err),
        WM_ESHAPE);
    wmi_params_free(p);
}

/* Mean and variance of each law over n = 120,000 draws; the bound is 5 standard errors: sd/sqrt(n)
 * for the mean, and for the variance at most sd^2 sqrt(2/n), the normal's (a uniform's is smaller).
 */
static void draws_follow_their_law(void **state)
{
    const struct {
        wmi_init init;
        double mean, sd;
    } laws[] = {
        {{WMI_INIT_NORMAL, 1, 0.02}, 1, 0.02},
        {{WMI_INIT_GLOROT, 0, 0}, 0, sqrt(6.0 / 700) / sqrt(3)},
        {{WMI_INIT_GLOROT_NORMAL, 0, 0}, 0, sqrt(2.0 / 700)},
        {{WMI_INIT_HE, 2, 0}, 0, sqrt(2.0 / 300)},
    };
    const int64_t dim[] = {300, 400};
    const double n = 120000;

    (void)state;
    for (size_t k = 0; k < sizeof laws / sizeof *laws; k++) {
        wmi_params *p;
        wm_error err;
        double *theta, mean = 0, var = 0;

        assert_ok(wmi_params_new(&p, &err), err);
        assert_ok(wmi_params_add(p, "w", 2, dim, laws[k].init, WMI_GROUP_BODY, &err), err);
        theta = malloc((size_t)wmi_params_count(p) * sizeof *theta);
        assert_non_null(theta);
        wmi_params_init(p, 7, WMI_F64, theta);
        for (int i = 0; i < (int)n; i++)
            mean += theta[i] / n;
        for (int i = 0; i < (int)n; i++)
            var += (theta[i] - mean) * (theta[i] - mean) / n;
        assert_near(mean, laws[k].mean, 5 * laws[k].sd / sqrt(n));
        assert_near(var, laws[k].sd * laws[k].sd, 5 * laws[k].sd * laws[k].sd * sqrt(2 / n));
        free(theta);
        wmi_params_free(p);
    }
}

static void draws_depend_on_seed_and_name_only(void **state)
{
    const int64_t dim[] = {64};
    const wmi_init init = {WMI_INIT_NORMAL, 0, 1};
    float one[64], two[128], other[64];
    wmi_params *p, *q;
    wm_error err;

    (void)state;
    assert_ok(wmi_params_new(&p, &err), err);
    assert_ok(wmi_params_new(&q, &err), err);
    assert_ok(wmi_params_add(p, "w", 1, dim, init, WMI_GROUP_BODY, &err), err);
    assert_ok(wmi_params_add(q, "v", 1, dim, init, WMI_GROUP_BODY, &err), err);
    assert_ok(wmi_params_add(q, "w", 1, dim, init, WMI_GROUP_BODY, &err), err);
    wmi_params_init(p, 3, WMI_F32, one);
    wmi_params_init(q, 3, WMI_F32, two);
    wmi_params_init(p, 4, WMI_F32, other);
    assert_memory_equal(one, two + 64, sizeof one);
    assert_memory_not_equal(one, two, sizeof one);
    assert_memory_not_equal(one, other, sizeof one);
    wmi_params_free(q);
    wmi_params_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_are_aligned_and_found),
        cmocka_unit_test(draws_follow_their_law),
        cmocka_unit_test(draws_depend_on_seed_and_name_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
