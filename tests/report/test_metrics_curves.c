/* test_metrics_curves.c - lines of metrics sorted into curves, whatever their keys are. */
#include "asserts.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "report/page/metrics_curves.h"

static wmi_curves all; /* large */

static void read_lines(const char *text)
{
    wm_error err = {0};

    assert_ok(wmi_curves_read(&all, text, strlen(text), &err), err);
}

static const wmi_curve *curve(const char *chart, const char *name)
{
    for (int i = 0; i < all.n; i++)
        if (strcmp(all.curve[i].chart, chart) == 0 && strcmp(all.curve[i].name, name) == 0)
            return &all.curve[i];
    fail_msg("no curve '%s' in chart '%s'", name, chart);
    return NULL;
}

static void losses_share_a_chart_and_lists_are_curves(void **state)
{
    (void)state;
    read_lines(
        "{\"step\": 10, \"train_loss\": 1.5, \"valid_loss\": 2, \"seconds\": 3}\n"
        "{\"step\": 20, \"train_loss\": 1, \"valid_loss\": null, \"accuracy\": [0.5, 0.75]}\n");
    assert_int_equal(all.n, 4);
    assert_string_equal(all.x_name, "step");
    assert_int_equal(curve("loss", "train loss")->n, 2);
    assert_near(curve("loss", "train loss")->x[1], 20, 0);
    assert_near(curve("loss", "train loss")->y[1], 1, 0);
    assert_int_equal(curve("loss", "valid loss")->n, 1);
    assert_near(curve("accuracy", "accuracy 1")->y[0], 0.75, 0);
    wmi_curves_clear(&all);
}

static void texts_and_bridges_name_the_curves(void **state)
{
    (void)state;
    read_lines("{\"epoch\": 1, \"part\": \"mlp\", \"fold\": 2, \"kl\": 5}\n"
               "{\"epoch\": 1, \"bridges\": [{\"k\": 0, \"loss\": 1}, {\"k\": 1, \"loss\": 2}]}\n");
    assert_int_equal(all.n, 3);
    assert_string_equal(all.x_name, "epoch");
    assert_near(curve("kl", "mlp, fold 2: kl")->y[0], 5, 0);
    assert_near(curve("bridges loss", "bridge 1")->y[0], 2, 0);
    wmi_curves_clear(&all);
}

static void stages_have_charts_of_their_own(void **state)
{
    (void)state;
    read_lines("{\"stage\": \"noise\", \"step\": 5, \"valid_loglik\": -3}\n"
               "{\"stage\": \"heads\", \"step\": 1, \"train_loss\": 1, \"valid_loss\": 2}\n"
               "{\"stage\": \"bridges\", \"step\": 1, \"train_loss\": 7, \"bridges\": "
               "[{\"k\": 0, \"loss\": 8}]}\n"
               "{\"step\": 1, \"train_loss\": 9}\n");
    assert_int_equal(all.n, 6);
    assert_near(curve("noise: log-likelihood", "valid loglik")->y[0], -3, 0);
    assert_near(curve("heads: loss", "valid loss")->y[0], 2, 0);
    assert_near(curve("bridges: loss", "train loss")->y[0], 7, 0);
    assert_near(curve("bridges: bridges loss", "bridge 0")->y[0], 8, 0);
    assert_near(curve("loss", "train loss")->y[0], 9, 0);
    wmi_curves_clear(&all);
}

static void what_is_no_json_is_counted(void **state)
{
    const int64_t live = wmi_alloc_live();

    (void)state;
    read_lines("{\"a\": 1}\nnot json\n[1]\n{\"a\": 2}\n\n{\"a\": 3");
    assert_int_equal(all.lines, 2);
    assert_int_equal(all.bad, 2); /* the last line may be just being written */
    assert_string_equal(all.x_name, "line");
    assert_near(curve("a", "a")->x[1], 2, 0);
    wmi_curves_clear(&all);
    read_lines("");
    assert_int_equal(all.n, 0);
    read_lines("{\"x\": 1e308, \"step\": -1e308}\n");
    assert_true(isnan(curve("x", "x")->y[0]));
    wmi_curves_clear(&all);
    assert_int_equal(wmi_alloc_live(), live);
}

static void too_many_keys_are_left_out(void **state)
{
    char text[8192] = "{";
    size_t n = 1;

    (void)state;
    for (int i = 0; i < 300; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s\"key%d\": %d", i ? ", " : "", i, i);
    snprintf(text + n, sizeof text - n, "}\n");
    read_lines(text);
    assert_int_equal(all.n, WMI_CURVES);
    assert_int_equal(all.left_out, 300 - WMI_CURVES);
    wmi_curves_clear(&all);
}

static void memory_that_runs_out_is_reported(void **state)
{
    static const char text[] = "{\"a\": 1, \"b\": 2}\n";
    const int64_t live = wmi_alloc_live();

    (void)state;
    for (int k = 1; k <= 4; k++) {
        wm_error err = {0};

        wmi_alloc_fail_at(k);
        assert_int_equal(wmi_curves_read(&all, text, sizeof text - 1, &err), WM_ENOMEM);
        wmi_alloc_fail_at(0);
        assert_int_equal(wmi_alloc_live(), live);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(losses_share_a_chart_and_lists_are_curves),
        cmocka_unit_test(texts_and_bridges_name_the_curves),
        cmocka_unit_test(stages_have_charts_of_their_own),
        cmocka_unit_test(what_is_no_json_is_counted),
        cmocka_unit_test(too_many_keys_are_left_out),
        cmocka_unit_test(memory_that_runs_out_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
