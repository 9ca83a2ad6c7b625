/* test_figure.c - what a figure leaves: numbers, a script that gnuplot accepts without a word, two
 * pictures; and what happens without gnuplot, or when it fails. */
#include "asserts.h"

#include <stdint.h>

#include "base/alloc.h"
#include "base/file.h"
#include "listener.h"
#include "scratch.h"
#include "waymark/report.h"

static const double x[] = {10, 100, 1000}, y[] = {0.5, NAN, 0.05}, lo[] = {0.4, 0.1, 0.04},
                    hi[] = {0.6, 0.3, 0.06};

/* Texts with all that means something to gnuplot or to CSV. */
static wm_figure *awkward(const char *name)
{
    wm_figure *f;
    wm_panel *p;

    f = wm_figure_new(name, "it's {p_0}^x @ \\n \"q\" $1 # `date`");
    for (int k = 0; k < 2; k++) {
        p = wm_figure_panel(f, k ? "second, with \"quotes\"" : "first {");
        wm_panel_axes(p, "n's", "|\xce\xb8 \xe2\x88\x92 \xce\xb8*|", WM_LOG_X | WM_LOG_Y);
        for (int m = WM_MARK_LINE; m <= WM_MARK_LEVEL_BARS; m++)
            wm_panel_series(p, &(wm_series){.name = m ? "a_b, c" : "",
                                            .mark = (wm_mark)m,
                                            .n = 3,
                                            .x = x,
                                            .y = y,
                                            .lo = lo,
                                            .hi = hi,
                                            .dashed = m % 2});
        wm_panel_y_line(p, 0.2, "truth's");
        wm_panel_x_line(p, 50, k ? "here" : NULL);
        wm_panel_legend(p, k ? WM_LEGEND_RIGHT : WM_LEGEND_AUTO);
    }
    p = wm_figure_panel(f, NULL); /* nothing in it */
    wm_panel_x_ticks(p, x, NULL, 3);
    p = wm_figure_panel(f, "one point, no points");
    wm_panel_series(p, &(wm_series){.name = "p", .mark = WM_MARK_POINTS, .n = 1, .x = x, .y = y});
    wm_panel_series(p, &(wm_series){.name = "none", .mark = WM_MARK_LINE, .x = x, .y = y});
    wm_panel_x_ticks(p, x, (const char *[]){"t'1 %s fat %", "t_2", "3"}, 3);
    return f;
}

static void numbers_are_kept_as_csv(void **state)
{
    wm_error err = {0};
    wm_figure *f;
    wm_panel *p;

    (void)state;
    f = wm_figure_new("fig-1", NULL);
    p = wm_figure_panel(f, "a \"b\"");
    wm_panel_series(p, &(wm_series){.name = "c, d", .n = 3, .x = x, .y = y});
    p = wm_figure_panel(f, "e");
    wm_panel_series(
        p, &(wm_series){
               .name = "g", .mark = WM_MARK_BAND, .n = 2, .x = x, .y = y, .lo = lo, .hi = hi});
    wm_panel_series(p, &(wm_series){.name = "empty", .x = x, .y = y});
    assert_ok(wm_figure_write(f, scratch("deep/figures"), NULL, &err), err);
    assert_string_equal(scratch_read(scratch("deep/figures/fig-1.csv")),
                        "panel,series,x,y,lo,hi\n"
                        "\"a \"\"b\"\"\",\"c, d\",10,0.5,,\n"
                        "\"a \"\"b\"\"\",\"c, d\",100,,,\n"
                        "\"a \"\"b\"\"\",\"c, d\",1000,0.05,,\n"
                        "\n\n"
                        "\"e\",\"g\",10,0.5,0.4,0.6\n"
                        "\"e\",\"g\",100,,0.1,0.3\n"
                        "\n\n"
                        "\"e\",\"empty\",,,,\n");
    wm_figure_free(f);
    wm_figure_free(NULL);
}

/* Series may be added to an earlier panel: the script must still find each in its block. */
static void blocks_are_counted_as_they_are_written(void **state)
{
    wm_error err = {0};
    wm_panel *first, *second;
    wm_figure *f;
    const char *script;

    (void)state;
    f = wm_figure_new("order", NULL);
    first = wm_figure_panel(f, "1");
    second = wm_figure_panel(f, "2");
    wm_panel_series(second, &(wm_series){.name = "b", .n = 1, .x = x, .y = y});
    wm_panel_series(first, &(wm_series){.name = "a", .n = 1, .x = x, .y = y});
    assert_ok(wm_figure_write(f, scratch("f"), NULL, &err), err);
    script = scratch_read(scratch("f/order.gp"));
    assert_non_null(strstr(script, "index 0 using 3:4 with lines lc rgb '#0072B2' lw 2 title 'a'"));
    assert_non_null(strstr(script, "index 1 using 3:4 with lines lc rgb '#0072B2' lw 2 title 'b'"));
    wm_figure_free(f);
}

static void gnuplot_draws_it_without_a_word(void **state)
{
    listener l = {0};
    const wm_sink sink = sink_to(&l);
    const char *svg;
    wm_figure *f;
    wm_error err = {0};
    char *png;
    size_t n;

    (void)state;
    if (!have_gnuplot())
        skip();
    f = awkward("awkward");
    /* A folder's name must not be read as a command either. */
    assert_ok(wm_figure_write(f, scratch("it's \"x\""), &sink, &err), err);
    wm_figure_free(f);
    if (l.lines)
        fail_msg("said: %s", l.text);
    assert_int_equal(scratch_count(scratch("it's \"x\"")), 5);
    svg = scratch_read(scratch("it's \"x\"/awkward.svg"));
    assert_non_null(strstr(svg, "<svg"));
    assert_non_null(strstr(svg, "it's {p_0}^x @ \\n \"q\" $1 # `date`"));
    assert_non_null(strstr(svg, "a_b, c"));
    assert_non_null(strstr(svg, "t'1 %s fat %<"));
    assert_ok(wmi_file_read(&png, &n, scratch("it's \"x\"/awkward.png"), 1 << 24, &err), err);
    assert_true(n > 1000);
    assert_memory_equal(png, "\x89PNG\r\n\x1a\n", 8);
    wmi_free(png);
}

static void the_script_works_by_hand(void **state)
{
    char command[2048];
    wm_figure *f;
    wm_error err = {0};

    (void)state;
    if (!have_gnuplot())
        skip();
    f = awkward("hand");
    assert_ok(wm_figure_write(f, scratch("figures"), NULL, &err), err);
    wm_figure_free(f);
    unlink(scratch("figures/hand.svg"));
    unlink(scratch("figures/hand.png"));
    snprintf(command, sizeof command, "cd '%s' && gnuplot hand.gp 2>&1 | grep .",
             scratch("figures"));
    assert_int_not_equal(system(command), 0); /* NOLINT: grep found nothing to say */
    assert_int_equal(scratch_count(scratch("figures")), 5);
}

/* Runs a write with PATH pointing at a folder that holds this as gnuplot, or nothing. */
static wm_status write_with(const char *gnuplot, const wm_sink *sink, wm_error *err)
{
    const char *path = getenv("PATH");
    char *old = strdup(path ? path : "/usr/bin:/bin");
    wm_figure *f = awkward("other");
    wm_status st;

    assert_int_equal(mkdir(scratch("bin"), 0777), 0);
    if (gnuplot) {
        assert_int_equal(wmi_file_write(scratch("bin/gnuplot"), gnuplot, strlen(gnuplot), NULL), 0);
        assert_int_equal(chmod(scratch("bin/gnuplot"), 0755), 0);
    }
    setenv("PATH", scratch("bin"), 1);
    st = wm_figure_write(f, scratch("figures"), sink, err);
    setenv("PATH", old, 1);
    free(old);
    wm_figure_free(f);
    return st;
}

static void without_gnuplot_the_numbers_remain(void **state)
{
    listener l = {0};
    const wm_sink sink = sink_to(&l);
    wm_error err = {0};

    (void)state;
    assert_ok(write_with(NULL, &sink, &err), err);
    assert_int_equal(l.lines, 1);
    assert_non_null(strstr(l.text, "gnuplot is not installed"));
    assert_int_equal(scratch_count(scratch("figures")), 3);
    assert_true(wmi_file_exists(scratch("figures/other.gp")));
}

static void what_a_failing_gnuplot_says_is_passed_on(void **state)
{
    wm_error err = {0};

    (void)state;
    assert_int_equal(
        write_with("#!/bin/sh\necho 'line 3:' >&2\necho ' no  such font' >&2\nexit 7\n", NULL,
                   &err),
        WM_EIO);
    assert_string_equal(err.text, "other.gp: gnuplot failed with code 7: line 3: no such font");
    assert_int_equal(scratch_count(scratch("figures")), 3);
}

static void a_gnuplot_that_draws_nothing_is_noticed(void **state)
{
    listener l = {0};
    const wm_sink sink = sink_to(&l);
    wm_error err = {0};

    (void)state;
    assert_int_equal(write_with("#!/bin/sh\necho warned\n", &sink, &err), WM_EIO);
    assert_non_null(strstr(err.text, "other.svg: gnuplot drew nothing"));
    assert_non_null(strstr(l.text, "gnuplot says: warned"));
}

static void a_killed_gnuplot_is_noticed(void **state)
{
    wm_error err = {0};

    (void)state;
    assert_int_equal(write_with("#!/bin/sh\nkill -9 $$\n", NULL, &err), WM_EIO);
    assert_non_null(strstr(err.text, "gnuplot was killed by signal 9"));
}

static void misuse_is_reported(void **state)
{
    const int64_t live = wmi_alloc_live();
    wm_error err = {0};
    wm_figure *f;
    wm_panel *p;

    (void)state;
    for (int i = 0; i < 2; i++) { /* said when it is written */
        f = wm_figure_new(i ? "" : "../x", NULL);
        wm_figure_panel(f, "p");
        assert_int_equal(wm_figure_write(f, scratch("f"), NULL, &err), WM_EINVAL);
        assert_non_null(strstr(err.text, i ? "without a name" : "'../x'"));
        wm_figure_free(f);
    }
    f = wm_figure_new("x", NULL);
    assert_int_equal(wm_figure_write(f, scratch("f"), NULL, &err), WM_EINVAL);
    assert_string_equal(err.text, "figure 'x' has no panel");
    p = wm_figure_panel(f, "p");
    wm_panel_series(p, &(wm_series){.name = "s", .mark = WM_MARK_BAND, .n = 1, .x = x, .y = y});
    wm_panel_series(p, &(wm_series){.name = "t"});
    assert_int_equal(wm_figure_write(f, scratch("f"), NULL, &err), WM_EINVAL);
    assert_string_equal(err.text, "figure 'x': series 's' lacks lo or hi, or counts below 0");
    assert_false(wmi_file_exists(scratch("f")));
    wm_figure_free(f);
    wm_panel_axes(NULL, "x", "y", 0);
    assert_int_equal(wmi_alloc_live(), live);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, scratch_make, scratch_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(numbers_are_kept_as_csv),
        TEST(blocks_are_counted_as_they_are_written),
        TEST(gnuplot_draws_it_without_a_word),
        TEST(the_script_works_by_hand),
        TEST(without_gnuplot_the_numbers_remain),
        TEST(what_a_failing_gnuplot_says_is_passed_on),
        TEST(a_gnuplot_that_draws_nothing_is_noticed),
        TEST(a_killed_gnuplot_is_noticed),
        TEST(misuse_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
