/* test_figure_plan.c - what is read back from a figure's script: that of our own writer, and
 * scripts that somebody changed. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "report/figure.h"
#include "report/figure_plan.h"

static void what_the_writer_says_is_read(void **state)
{
    const double x[] = {1, 2}, y[] = {3, 4};
    wmi_arena arena = {0};
    wm_error err = {0};
    char *script = NULL;
    wm_figure *f;
    wmi_plan plan;
    size_t n;
    FILE *out;

    (void)state;
    assert_ok(wm_figure_new(&f, "f", "it's a title", &err), err);
    for (int k = 0; k < 4; k++) {
        wm_panel *p = wm_figure_panel(f, k ? "other" : "first's");

        wm_panel_axes(p, "n", "error", 0);
        wm_panel_series(p,
                        &(wm_series){.name = "one: 'x'", .n = 2, .x = x, .y = y, .dashed = true});
        wm_panel_series(
            p, &(wm_series){.name = "two", .mark = WM_MARK_POINTS, .n = 2, .x = x, .y = y});
        wm_panel_y_line(p, 3, "truth");
    }
    out = open_memstream(&script, &n);
    wmi_figure_script(f, out);
    fclose(out);
    assert_ok(wmi_plan_read(&plan, script, &arena, &err), err);
    assert_string_equal(plan.title, "it's a title");
    assert_int_equal(plan.n_panels, 4);
    assert_int_equal(plan.columns, 2);
    assert_int_equal(plan.width, 480);
    assert_int_equal(plan.height, 380);
    assert_true(plan.top > 0 && plan.legend > 0);
    assert_string_equal(plan.panel[0].title, "first's");
    assert_string_equal(plan.panel[3].title, "other");
    assert_string_equal(plan.panel[3].x, "n");
    assert_string_equal(plan.panel[3].y, "error");
    assert_int_equal(plan.n_keys, 3);
    assert_string_equal(plan.key[0].name, "one: 'x'");
    assert_string_equal(plan.key[0].style, "dashed");
    assert_string_equal(plan.key[0].colour, "#0072B2");
    assert_int_equal(plan.key[0].point, 0);
    assert_int_equal(plan.key[1].point, 5);
    assert_string_equal(plan.key[1].style, "none");
    assert_string_equal(plan.key[2].name, "truth");
    wmi_arena_free(&arena);
    wm_figure_free(f);
    free(script);
}

static void layouts_without_sense_are_none(void **state)
{
    static const char *const scripts[] = {
        "",
        "# Panels:",
        "# Panels: 2 in rows of",
        "set title 'x",
        "# Panel 99.\nset xlabel 'x'\n",
        "# Panel -3.\nset xlabel 'x'\n",
        "# Legend: \n# Legend: red 1 solid x\n",
        "# Panels: 0 in rows of 1, 5 x 5 each, 0 of title above, 0 of legend below",
        "# Panels: 2 in rows of 0, 5 x 5 each, 0 of title above, 0 of legend below",
        "# Panels: 2 in rows of 3, 5 x 5 each, 0 of title above, 0 of legend below",
        "# Panels: 999 in rows of 3, 5 x 5 each, 0 of title above, 0 of legend below",
        "# Panels: 2 in rows of 2, -5 x 5 each, 0 of title above, 0 of legend below",
        "# Panels: 2 in rows of 2, 5 x 99999999 each, 0 of title above, 0 of legend below",
        "# Panels: 2 in rows of 2, 5 x 5 each, -1 of title above, 0 of legend below"};
    wmi_arena arena = {0};

    (void)state;
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
        wm_error err = {0};
        wmi_plan plan;

        assert_ok(wmi_plan_read(&plan, scripts[i], &arena, &err), err);
        assert_int_equal(plan.n_panels, 0);
        assert_int_equal(plan.n_keys, 0);
        assert_string_equal(plan.panel[0].x, "");
    }
    wmi_arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_writer_says_is_read),
        cmocka_unit_test(layouts_without_sense_are_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
