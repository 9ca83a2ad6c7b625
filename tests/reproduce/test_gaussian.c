/* test_gaussian.c - the Gaussian experiment's smoke preset against the closed form, and the closed
 * form against the paper's numbers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "asserts.h"
#include "reproduce/gaussian/gaussian.h"

/* facts: d = 320, m = 8. */
static void closed_form_of_the_bridges(void **state)
{
    const double kl[] = {0.14, 0.97, 1.83, 2.29, 2.42, 2.43, 2.50, 2.83};
    const gaussian_job job = {.dim = 320, .bridges = 8, .mi = 80};

    (void)state;
    for (int64_t k = 0; k < 8; k++)
        assert_near(gaussian_true_kl(&job, k), kl[k], 0.0051);
}

static json_t *run_smoke(void)
{
    const reproduce_settings settings = {.preset = "smoke", .control = {.seed = 1}};
    reproduce_result result = {0};
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    wm_error err;
    json_t *json;

    assert_non_null(f);
    assert_ok(wm_summary_new(&result.summary, &err), err);
    assert_ok(reproduce_gaussian(&result, &settings, &err), err);
    assert_ok(wm_summary_print(result.summary, f, &err), err);
    fclose(f);
    json = json_loads(text, 0, NULL);
    assert_non_null(json);
    free(text);
    reproduce_result_clear(&result);
    wm_summary_free(result.summary);
    return json;
}

/* The mean over fresh rows has the standard error that the row gives. The fit adds its own error,
 * which is at most 0: E[log r_hat] = MI - KL(p, p_hat), for a quadratic of d(d+1)/2 parameters
 * about d(d+1)/(4n) = 0.006 at n = 18,000, d = 20; Adam after 3,000 steps is further off, within
 * the 3 % that the experiment promises. The single ratio must fall short by more than that: this is
 * what the experiment is about. */
static void smoke_agrees_with_the_closed_form(void **state)
{
    json_t *json = run_smoke(), *row;
    size_t i;
    int seen = 0;

    (void)state;
    json_array_foreach(json_object_get(json, "rows"), i, row)
    {
        const char *method = json_string_value(json_object_get(row, "method"));
        const double mi = json_number_value(json_object_get(row, "mi"));
        const double se = json_number_value(json_object_get(row, "mi_se"));
        const double truth = json_number_value(json_object_get(row, "truth"));
        const double dim = json_number_value(json_object_get(row, "dim"));

        assert_near(truth, dim / 4, 1e-12);
        assert_true(se > 0 && se < 0.03);
        if (strcmp(method, "tre-convex") == 0)
            assert_near(mi, truth, 5 * se + dim * (dim + 1) / (4 * 18000));
        else if (strcmp(method, "tre-adam") == 0)
            assert_near(mi, truth, 5 * se + 0.03 * truth);
        else if (dim == 20)
            assert_true(mi < 0.85 * truth);
        seen++;
    }
    assert_int_equal(seen, 8);
    json_decref(json);
}

static void only_picks_rows(void **state)
{
    reproduce_settings settings = {
        .preset = "smoke", .control = {.seed = 1}, .only = "tre-convex-quadratic-10"};
    reproduce_result result = {0};
    wm_error err = {0};

    (void)state;
    assert_ok(wm_summary_new(&result.summary, &err), err);
    assert_ok(reproduce_gaussian(&result, &settings, &err), err);
    reproduce_result_clear(&result);
    settings.only = "320";
    assert_int_equal(reproduce_gaussian(&result, &settings, &err), WM_EINVAL);
    assert_non_null(strstr(err.text, "320"));
    reproduce_result_clear(&result);
    wm_summary_free(result.summary);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(closed_form_of_the_bridges),
        cmocka_unit_test(smoke_agrees_with_the_closed_form),
        cmocka_unit_test(only_picks_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
