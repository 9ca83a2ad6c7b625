/* test_figure_json.c - a figure as its description says it: what was built is read back, and what
 * describes no figure is refused with a reason. */
#include "asserts.h"

#include <math.h>

#include "base/alloc.h"
#include "base/file.h"
#include "report/figure/plot_layout.h"
#include "scratch.h"

static const double x[] = {1, NAN, 3}, y[] = {3, 4.5, -1e-9}, lo[] = {2, 4, -1}, hi[] = {4, 5, 1};

/* All that a figure can hold. */
static wm_figure *rich(void)
{
    static const char *const names[] = {"it's", "\"two\"", ""};
    wm_figure *f;

    f = wm_figure_new("f", "it's a \"title\"");
    for (int k = 0; k < 4; k++) {
        wm_panel *p = wm_figure_panel(f, k ? "other" : "first's");

        wm_panel_axes(p, "n", "error", k ? 0 : WM_LOG_Y);
        wm_panel_series(p, &(wm_series){.name = "one", .n = 3, .x = x, .y = y, .dashed = true});
        wm_panel_series(p, &(wm_series){.name = "two",
                                        .mark = WM_MARK_ERROR_BARS,
                                        .colour = WM_COLOUR_SKY,
                                        .width = 0.5,
                                        .n = 3,
                                        .x = x,
                                        .y = y,
                                        .lo = lo,
                                        .hi = hi});
        wm_panel_y_line(p, 3, "truth");
        wm_panel_x_line(p, -2, NULL);
        wm_panel_x_range(p, NAN, 9);
        wm_panel_y_ticks(p, y, k ? NULL : names, 3);
        if (k == 2)
            wm_panel_heat_map(p, &(wm_heat_map){.name = "z",
                                                .nx = 3,
                                                .ny = 1,
                                                .x_to = 2,
                                                .z = x,
                                                .scale = WM_COLOURS_DIVERGING,
                                                .middle = 1,
                                                .hi = 7,
                                                .labels = true,
                                                .digits = 2,
                                                .contours = y,
                                                .n_contours = 3});
    }
    return f;
}

static wm_figure *reread(const char *file)
{
    char *text = NULL;
    wm_error err = {0};
    wm_figure *f;
    size_t n;

    assert_ok(wmi_file_read(&text, &n, scratch(file), 1 << 20, &err), err);
    assert_ok(wmi_figure_read(&f, text, n, file, &err), err);
    wmi_free(text);
    return f;
}

/* The description of what was read is the same, byte by byte: nothing is lost on the way. */
static void what_is_written_is_read(void **state)
{
    wm_error err = {0};
    wm_figure *f = rich(), *g;
    char *first = NULL;
    size_t n;

    (void)state;
    assert_ok(wmi_figure_describe(f, scratch("a.json"), &err), err);
    g = reread("a.json");
    assert_ok(wmi_figure_describe(g, scratch("b.json"), &err), err);
    assert_ok(wmi_file_read(&first, &n, scratch("a.json"), 1 << 20, &err), err);
    assert_string_equal(scratch_read(scratch("b.json")), first);
    wmi_free(first);

    assert_string_equal(g->title, "it's a \"title\"");
    assert_int_equal(g->n_panels, 4);
    assert_string_equal(g->panels->title, "first's");
    assert_string_equal(g->panels->x_label, "n");
    assert_int_equal(g->panels->flags, WM_LOG_Y);
    assert_true(isnan(g->panels->x_range[0]) && g->panels->x_range[1] == 9);
    assert_string_equal(g->panels->y_ticks.text[0], "it's");
    assert_null(g->last_panel->y_ticks.text);
    assert_string_equal(g->panels->series->name, "one");
    assert_true(g->panels->series->dashed && isnan(g->panels->series->x[1]));
    assert_true(g->panels->series->y[2] == -1e-9);
    assert_int_equal(g->panels->last_series->colour, WM_COLOUR_SKY);
    assert_true(g->panels->last_series->hi[1] == 5);
    assert_string_equal(g->panels->references->label, "truth");
    assert_true(g->panels->last_reference->upright && g->panels->last_reference->at == -2);
    wm_figure_free(f);
    wm_figure_free(g);
}

/* The page cuts the drawing where the script put its panels. */
static void the_layout_is_that_of_the_script(void **state)
{
    wm_error err = {0};
    wm_figure *f = rich(), *g;
    wmi_plot_layout a, b;

    (void)state;
    assert_ok(wmi_figure_describe(f, scratch("a.json"), &err), err);
    g = reread("a.json");
    a = wmi_figure_layout(f);
    b = wmi_figure_layout(g);
    assert_memory_equal(&a, &b, sizeof a);
    assert_int_equal(b.columns, 2);
    assert_int_equal(b.width, 480);
    assert_int_equal(b.height, 380);
    assert_true(b.title > 0 && b.legend > 0 && b.shared);
    wm_figure_free(f);
    wm_figure_free(g);
}

static void refuses(const char *text, const char *message)
{
    const int64_t live = wmi_alloc_live();
    char quoted[400];
    wm_error err = {0};
    wm_figure *f;

    snprintf(quoted, sizeof quoted, "%s", text);
    for (char *p = quoted; *p; p++)
        *p = *p == '\'' ? '"' : *p;
    assert_int_equal(wmi_figure_read(&f, quoted, strlen(quoted), "a.json", &err), WM_EFORMAT);
    assert_string_equal(err.text, message);
    assert_null(f);
    assert_int_equal(wmi_alloc_live(), live);
}

#define PANEL(inside)                                                                              \
    "{'columns': 1, 'width': 9, 'height': 9, 'panels': [{'legend': 'auto', " inside "}]}"
#define SERIES(inside) PANEL("'series': [{'colour': 'blue', " inside "}]")

static void what_describes_no_figure_is_refused(void **state)
{
    (void)state;
    refuses("", "a.json:1:0: the file is empty");
    refuses("[]", "a.json: not an object of names and values");
    refuses("{}", "a.json: 0 panels, expected 1 to 100");
    refuses("{'panels': [{}]}", "a.json: columns must be from 1 to 100");
    refuses("{'panels': [{}], 'columns': 1, 'width': 99999, 'height': 9}",
            "a.json: width must be from 1 to 10000");
    refuses("{'panels': [{}], 'columns': 1, 'width': 9, 'height': 9}",
            "a.json: panel 1: no legend is called ''");
    refuses(SERIES("'mark': 'star', 'x': [], 'y': []"),
            "a.json: panel 1: no mark is called 'star'");
    refuses(SERIES("'mark': 'line', 'x': [1]"), "a.json: panel 1: a series lacks x or y");
    refuses(SERIES("'mark': 'line', 'x': [1], 'y': [1, 2]"),
            "a.json: panel 1: y has 2 values, expected 1");
    refuses(SERIES("'mark': 'band', 'x': [1], 'y': [1]"),
            "a.json: panel 1: a series lacks lo or hi");
    refuses(PANEL("'x': {'ticks': [1, 2], 'names': ['a']}"),
            "a.json: panel 1: names has 1 values, expected 2");
    refuses(PANEL("'grid': {'nx': 2, 'ny': 3, 'x': [0, 1], 'y': [0, 1], 'z': [1], 'scale': "
                  "'sequential'}"),
            "a.json: panel 1: z has 1 values, expected 6");
    refuses(PANEL("'grid': {'nx': 4611686018427387904, 'ny': 4, 'x': [0, 1], 'y': [0, 1], 'z': [], "
                  "'scale': 'diverging'}"),
            "a.json: panel 1: a grid lacks x, y or z, or its sides are not 1 to 2000");
}

static void memory_that_runs_out_is_reported(void **state)
{
    const int64_t live = wmi_alloc_live();
    wm_figure *f = rich(), *g = NULL;
    wm_error err = {0};
    char *text = NULL;
    size_t n;

    (void)state;
    assert_ok(wmi_figure_describe(f, scratch("a.json"), &err), err);
    wm_figure_free(f);
    assert_ok(wmi_file_read(&text, &n, scratch("a.json"), 1 << 20, &err), err);
    for (int k = 1; !g; k++) {
        wm_status st;

        wmi_alloc_fail_at(k);
        st = wmi_figure_read(&g, text, n, "a.json", &err);
        wmi_alloc_fail_at(0);
        assert_true(st == WM_OK ? g != NULL : st == WM_ENOMEM && !g);
        assert_true(k < 100);
    }
    wm_figure_free(g);
    wmi_free(text);
    assert_int_equal(wmi_alloc_live(), live);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, scratch_make, scratch_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_is_written_is_read),
        TEST(the_layout_is_that_of_the_script),
        TEST(what_describes_no_figure_is_refused),
        TEST(memory_that_runs_out_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
