/* test_plot_grid.c - heat maps, maps with contours, level bars and filled steps: their numbers, and
 * that gnuplot draws each of them without a word. */
#include "asserts.h"

#include <stdint.h>

#include "base/file.h"
#include "listener.h"
#include "scratch.h"
#include "waymark/report.h"

enum { SIDE = 40 };

static double z[SIDE * SIDE];

/* Writes f as scratch/f/NAME, without a word from gnuplot, and frees it. */
static void draw(wm_figure *f)
{
    listener l = {0};
    const wm_sink sink = sink_to(&l);
    wm_error err = {0};

    assert_ok(wm_figure_write(f, scratch("f"), &sink, &err), err);
    wm_figure_free(f);
    if (l.lines && have_gnuplot())
        fail_msg("said: %s", l.text);
}

static wm_panel *panel_of(wm_figure **f, const char *name)
{

    *f = wm_figure_new(name, "a title");
    return wm_figure_panel(*f, "a panel");
}

/* Polygons of the SVG with this fill. */
static int count_fills(const char *svg, const char *fill)
{
    int n = 0;

    for (const char *p = strstr(svg, fill); p; p = strstr(p + 1, fill))
        n++;
    return n;
}

static void cells_are_rows_of_the_csv(void **state)
{
    wm_figure *f;
    wm_panel *p = panel_of(&f, "small");

    (void)state;
    wm_panel_heat_map(p, &(wm_heat_map){.name = "v",
                                        .nx = 2,
                                        .ny = 2,
                                        .x_to = 1,
                                        .y_from = 5,
                                        .y_to = 3,
                                        .z = (const double[]){1, 2.5, NAN, -4}});
    wm_panel_series(p, &(wm_series){.name = "s",
                                    .mark = WM_MARK_POINTS,
                                    .n = 1,
                                    .x = (const double[]){0.5},
                                    .y = (const double[]){4}});
    draw(f);
    assert_string_equal(scratch_read(scratch("f/small.csv")),
                        "panel,series,x,y,lo,hi,z\n"
                        "\"a panel\",\"v\",0,5,,,1\n\"a panel\",\"v\",1,5,,,2.5\n\n"
                        "\"a panel\",\"v\",0,3,,,\n\"a panel\",\"v\",1,3,,,-4\n\n\n"
                        "\"a panel\",\"s\",0.5,4,,,\n");
}

static void colours_mean_what_they_say(void **state)
{
    wm_figure *f;
    const char *svg;

    (void)state;
    if (!have_gnuplot())
        skip();
    wm_panel_heat_map(panel_of(&f, "even"), &(wm_heat_map){.nx = 3,
                                                           .ny = 1,
                                                           .x_to = 2,
                                                           .z = (const double[]){1, 2, 7},
                                                           .scale = WM_COLOURS_DIVERGING,
                                                           .middle = 2,
                                                           .labels = true,
                                                           .digits = 1});
    draw(f);
    svg = scratch_read(scratch("f/even.svg"));
    /* 2 is white; 7 is as red as it gets; 1 is only a little blue, for the scale is symmetric. */
    assert_true(count_fills(svg, "<polygon fill = 'rgb(246, 246, 244)'") >= 1);
    assert_true(count_fills(svg, "<polygon fill = 'rgb(127,  15,  36)'") >= 1);
    assert_int_equal(count_fills(svg, ">1.0<"), 1); /* labels with their digits */
    assert_int_equal(count_fills(svg, ">7.0<"), 1);
    assert_non_null(strstr(scratch_read(scratch("f/even.gp")), "set cbrange [-3:7]"));
}

static void ends_that_are_given_hold(void **state)
{
    wm_figure *f;

    (void)state;
    wm_panel_heat_map(
        panel_of(&f, "ends"),
        &(wm_heat_map){
            .nx = 2, .ny = 1, .x_to = 1, .z = (const double[]){1, 1e9}, .lo = 0, .hi = 5});
    draw(f);
    assert_non_null(strstr(scratch_read(scratch("f/ends.gp")), "set cbrange [0:5]"));
    wm_panel_heat_map(panel_of(&f, "none"),
                      &(wm_heat_map){.nx = 1, .ny = 1, .z = (const double[]){NAN}, .labels = true});
    draw(f);
    wm_panel_heat_map(panel_of(&f, "one"),
                      &(wm_heat_map){.nx = 1, .ny = 1, .z = (const double[]){3}});
    draw(f);
}

static void the_largest_heat_map_is_drawn(void **state)
{
    wm_figure *f;
    wm_panel *p = panel_of(&f, "heat");

    (void)state;
    for (int i = 0; i < 30 * 31; i++)
        z[i] = i % 31 - i / 31.0;
    wm_panel_axes(p, "waymark", "bridge", 0);
    wm_panel_y_range(p, 29.5, -0.5);
    wm_panel_heat_map(p, &(wm_heat_map){.name = "logit",
                                        .nx = 31,
                                        .ny = 30,
                                        .x_to = 30,
                                        .y_to = 29,
                                        .z = z,
                                        .scale = WM_COLOURS_DIVERGING,
                                        .labels = true,
                                        .digits = 1});
    draw(f);
    /* No room for labels in cells of 14 pixels. */
    assert_null(strstr(scratch_read(scratch("f/heat.gp")), "with labels"));
    assert_non_null(strstr(scratch_read(scratch("f/heat.gp")), "with image pixels"));
    assert_non_null(strstr(scratch_read(scratch("f/heat.gp")), "set yrange [29.5:-0.5]"));
}

static void a_map_has_contours_and_points(void **state)
{
    wm_figure *f;
    wm_panel *p = panel_of(&f, "map");
    const char *script;

    (void)state;
    for (int j = 0; j < SIDE; j++)
        for (int i = 0; i < SIDE; i++)
            z[j * SIDE + i] = i * i - 20 * j;
    wm_panel_heat_map(p, &(wm_heat_map){.name = "log p/q",
                                        .nx = SIDE,
                                        .ny = SIDE,
                                        .x_from = -1,
                                        .x_to = 1,
                                        .y_from = -2,
                                        .y_to = 2,
                                        .z = z,
                                        .scale = WM_COLOURS_DIVERGING,
                                        .contours = (const double[]){0, 1e9},
                                        .n_contours = 2});
    wm_panel_series(p, &(wm_series){.name = "p",
                                    .mark = WM_MARK_POINTS,
                                    .n = 2,
                                    .x = (const double[]){0, 50},
                                    .y = (const double[]){0, 0}});
    draw(f);
    script = scratch_read(scratch("f/map.gp"));
    assert_non_null(strstr(script, "with image notitle")); /* 1600 cells: one image */
    assert_non_null(strstr(script, "$contours0 using"));
    assert_null(strstr(script, "50:")); /* what lies on a map does not widen it */
}

static void bars_have_their_labels(void **state)
{
    const double x[] = {3, -1, 0.5}, at[] = {0, 1, 2}, lo[] = {2, -2, 0}, hi[] = {4, 0, 1};
    const char *const names[] = {"it's", "a label that is longer than its place allows",
                                 "\xc3\xa4"};
    wm_figure *f;
    wm_panel *p = panel_of(&f, "bars");
    const char *script;

    (void)state;
    wm_panel_y_ticks(p, at, names, 3);
    wm_panel_series(
        p, &(wm_series){.mark = WM_MARK_LEVEL_BARS, .n = 3, .x = x, .y = at, .lo = lo, .hi = hi});
    draw(f);
    script = scratch_read(scratch("f/bars.gp"));
    assert_non_null(strstr(script, "set yrange [2.6:-0.6]")); /* the first on top */
    assert_non_null(strstr(script, "'a label that is longer th\xe2\x80\xa6' 1"));
    assert_non_null(strstr(script, "with xerrorbars"));
    assert_string_equal(
        scratch_read(scratch("f/bars.csv")),
        "panel,series,x,y,lo,hi,label\n\"a panel\",\"\",3,0,2,4,\"it's\"\n"
        "\"a panel\",\"\",-1,1,-2,0,\"a label that is longer than its place allows\"\n"
        "\"a panel\",\"\",0.5,2,0,1,\"\xc3\xa4\"\n");
}

static void filled_marks_are_drawn(void **state)
{
    const double x[] = {1, 2, 3}, y[] = {0.1, 5, 0.2};
    wm_figure *f;

    (void)state;
    f = wm_figure_new("filled", NULL);
    for (int k = 0; k < 2; k++) {
        wm_panel *p = wm_figure_panel(f, NULL);

        wm_panel_axes(p, NULL, NULL, k ? WM_LOG_Y : 0);
        wm_panel_series(
            p, &(wm_series){.name = "h", .mark = WM_MARK_FILLED_STEPS, .n = 3, .x = x, .y = y});
        wm_panel_series(p, &(wm_series){.name = "a", .mark = WM_MARK_AREA, .n = 3, .x = x, .y = y});
    }
    draw(f);
    assert_non_null(strstr(scratch_read(scratch("f/filled.gp")), "3:4:(1) with boxes"));
}

static void misuse_is_reported(void **state)
{
    wm_error err = {0};
    wm_figure *f;

    (void)state;
    wm_panel_heat_map(panel_of(&f, "bad"), &(wm_heat_map){.name = "g", .nx = 0, .ny = 2, .z = z});
    assert_int_equal(wm_figure_write(f, scratch("f"), NULL, &err), WM_EINVAL);
    assert_string_equal(err.text,
                        "figure 'bad': grid 'g' of 0 x 2 needs values, finite ends, and sides "
                        "of 1 to 2000");
    wm_figure_free(f);
    wm_panel_heat_map(NULL, &(wm_heat_map){0});
    wm_panel_y_ticks(NULL, NULL, NULL, 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, scratch_make, scratch_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(cells_are_rows_of_the_csv),     TEST(colours_mean_what_they_say),
        TEST(ends_that_are_given_hold),      TEST(the_largest_heat_map_is_drawn),
        TEST(a_map_has_contours_and_points), TEST(bars_have_their_labels),
        TEST(filled_marks_are_drawn),        TEST(misuse_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
