/* test_page_numbers.c - figures and CSV files as tables, and the messages for files that are none.
 */
#include "asserts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "report/page/page_numbers.h"

/* The tables without their tags: cells end with '|', rows with a line end. Borrowed until the next
 * call. */
static const char *plain(const char *html)
{
    static char text[8192];
    char *to = text;

    for (const char *p = html; *p; p++) {
        if (strncmp(p, "</t", 3) == 0 && (p[3] == 'd' || (p[3] == 'h' && p[4] == '>')))
            *to++ = '|';
        if (*p == '<')
            p = strchr(p, '>');
        else if (*p != '\n' || (to > text && to[-1] != '\n'))
            *to++ = *p;
        assert_true(to < text + sizeof text - 2);
    }
    *to = '\0';
    return text;
}

/* The tables of a figure, which is freed. */
static const char *tables_of(wm_figure *f)
{
    const char *text;
    char *html = NULL;
    size_t n;
    wmi_numbers t = {.file = "a.csv", .out = open_memstream(&html, &n)};

    assert_int_equal(f->status, WM_OK);
    wmi_numbers_of_figure(&t, f);
    fclose(t.out);
    text = plain(html);
    free(html);
    wm_figure_free(f);
    return text;
}

static wm_figure *figure(const char *title)
{
    wm_figure *f;

    f = wm_figure_new("f", title);
    return f;
}

static void series_with_the_same_x_stand_side_by_side(void **state)
{
    const double x[] = {1, 2}, y[] = {0.5, 0.25}, z[] = {5, NAN};
    wm_figure *f = figure(NULL);
    wm_panel *p = wm_figure_panel(f, "A");

    (void)state;
    wm_panel_axes(p, "n", NULL, 0);
    wm_panel_series(p, &(wm_series){.name = "p", .n = 2, .x = x, .y = y});
    wm_panel_series(p, &(wm_series){.name = "q", .n = 2, .x = x, .y = z});
    assert_string_equal(tables_of(f), "A\nn|p|q|\n1|0.5000|5|\n2|0.2500|\xe2\x80\x93|\n");
}

static void another_panel_or_another_x_is_another_table(void **state)
{
    const double one[] = {1}, two[] = {2}, three[] = {3}, four[] = {4};
    wm_figure *f = figure(NULL);
    wm_panel *p = wm_figure_panel(f, "A");

    (void)state;
    wm_panel_axes(p, NULL, "y's", 0);
    wm_panel_series(p, &(wm_series){.name = "p", .n = 1, .x = one, .y = one});
    p = wm_figure_panel(f, "B");
    wm_panel_axes(p, "u", NULL, 0);
    wm_panel_series(p, &(wm_series){.name = "p",
                                    .mark = WM_MARK_ERROR_BARS,
                                    .n = 1,
                                    .x = one,
                                    .y = two,
                                    .lo = one,
                                    .hi = three});
    wm_panel_series(p, &(wm_series){.name = "q", .n = 1, .x = four, .y = two});
    wm_panel_series(p, &(wm_series){.name = "nothing", .x = one, .y = one});
    assert_string_equal(tables_of(f), "A: p\nx|y&#39;s|\n1|1|\nB: p\nu|y|low|high|\n1|2|1|3|\n"
                                      "B: q\nu|y|\n4|2|\n");
}

static void labels_stand_for_positions(void **state)
{
    const double at[] = {0, 1}, y[] = {7.5, 9}, lo[] = {7, 8}, hi[] = {8, 10};
    wm_figure *f = figure("T");
    wm_panel *p = wm_figure_panel(f, NULL);

    (void)state;
    wm_panel_axes(p, NULL, "nats", 0);
    wm_panel_x_ticks(p, at, (const char *const[]){"one, \"two\"", "<b>"}, 2);
    wm_panel_series(p, &(wm_series){.mark = WM_MARK_BARS, .n = 2, .x = at, .y = y});
    assert_string_equal(tables_of(f),
                        "T\nname|nats|\none, &quot;two&quot;|7.500|\n&lt;b&gt;|9.000|\n");
    f = figure(NULL);
    p = wm_figure_panel(f, NULL);
    wm_panel_axes(p, "nats", NULL, 0);
    wm_panel_y_ticks(p, at, (const char *const[]){"a", "b"}, 2);
    wm_panel_series(
        p, &(wm_series){.mark = WM_MARK_LEVEL_BARS, .n = 2, .x = y, .y = at, .lo = lo, .hi = hi});
    assert_string_equal(
        tables_of(f),
        "Numbers\nname|nats|low|high|\na|7.500|7.000|8.000|\nb|9.000|8.000|10.000|\n");
}

static void grids_are_grids(void **state)
{
    const double z[] = {1, 2.5, NAN, -3};
    wm_figure *f = figure(NULL);
    wm_panel *p = wm_figure_panel(f, "P");

    (void)state;
    wm_panel_axes(p, "waymark", "bridge", 0);
    wm_panel_heat_map(p,
                      &(wm_heat_map){.name = "z", .nx = 2, .ny = 2, .x_to = 1, .y_to = 1, .z = z});
    assert_string_equal(tables_of(f),
                        "P: z\nbridge \\ waymark|0|1|\n0|1.000|2.500|\n1|\xe2\x80\x93|-3.000|\n");
}

static void thinned(const char *text)
{
    assert_non_null(strstr(text, "(200 of 1,001 rows; a.csv has all)"));
    assert_non_null(strstr(text, "\n0|0|\n"));
    assert_non_null(strstr(text, "\n1000|2000|\n"));
}

static wm_status read_csv(char **html, const char *csv, size_t length, wm_error *err)
{
    size_t n;
    wmi_numbers t = {.file = "a.csv", .out = open_memstream(html, &n)};
    wm_status st = wmi_numbers_of_csv(&t, csv, length, "a.csv", "", err);

    fclose(t.out);
    return st;
}

static const char *table_of_csv(const char *csv)
{
    wm_error err = {0};
    char *html = NULL;
    const char *text;

    assert_ok(read_csv(&html, csv, strlen(csv), &err), err);
    text = plain(html);
    free(html);
    return text;
}

static void long_tables_are_thinned_and_say_so(void **state)
{
    char csv[40000] = "x,y\n";
    size_t n = strlen(csv);
    double x[1001], y[1001];
    wm_figure *f = figure(NULL);

    (void)state;
    for (int i = 0; i <= 1000; i++) {
        x[i] = i;
        y[i] = 2 * i;
        n += (size_t)snprintf(csv + n, sizeof csv - n, "%d,%d\n", i, 2 * i);
    }
    wm_panel_series(wm_figure_panel(f, NULL), &(wm_series){.n = 1001, .x = x, .y = y});
    thinned(tables_of(f));
    thinned(table_of_csv(csv));
}

static void a_csv_is_shown_as_it_stands(void **state)
{
    (void)state;
    assert_string_equal(
        table_of_csv("\xef\xbb\xbfname,value\r\na,1.23456789\r\n\r\n\"b\nc\",x\r\n"),
        "Numbers\nname|value|\na|1.235|\nb\nc|x|\n");
    /* As older versions left it: blocks apart by two lines, cells without a number. */
    assert_string_equal(table_of_csv("panel,series,x,y\n\"A \"\"b\"\"\",p,1,0.5\n\n\nA,q,1,\n"),
                        "Numbers\npanel|series|x|y|\nA &quot;b&quot;|p|1|0.5000|\n"
                        "A|q|1|\xe2\x80\x93|\n");
}

static void refuses(const char *csv, const char *message)
{
    wm_error err = {0};
    char *html = NULL;

    assert_int_equal(read_csv(&html, csv, strlen(csv), &err), WM_EFORMAT);
    assert_string_equal(err.text, message);
    free(html);
}

static void broken_tables_are_named(void **state)
{
    (void)state;
    refuses("", "a.csv:1: the file is empty");
    refuses("a,b\n\"A\",1\n\"A\"\n", "a.csv:3: 1 columns, expected 2");
    refuses("a,b\n\"A\",1,2\n", "a.csv:2: 3 columns, expected 2");
    refuses("a,b\n\"A\",\"p", "a.csv:2: column 2: the quote that opens here is not closed");
    refuses("\"panel", "a.csv:1: column 1: the quote that opens here is not closed");
}

/* Any cut of a good file is read or refused, and leaks nothing. */
static void cuts_are_survived(void **state)
{
    static const char whole[] = "panel,series,x\n\"A \"\"b\"\"\",\"p\",1\n\n\n\"A\",\"q\",5\r\n";
    const int64_t live = wmi_alloc_live();

    (void)state;
    for (size_t k = 1; k < sizeof whole; k++) {
        wm_error err = {0};
        char *html = NULL;

        if (read_csv(&html, whole, k, &err))
            assert_non_null(strstr(err.text, "a.csv:"));
        free(html);
    }
    assert_int_equal(wmi_alloc_live(), live);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(series_with_the_same_x_stand_side_by_side),
        cmocka_unit_test(another_panel_or_another_x_is_another_table),
        cmocka_unit_test(labels_stand_for_positions),
        cmocka_unit_test(grids_are_grids),
        cmocka_unit_test(long_tables_are_thinned_and_say_so),
        cmocka_unit_test(a_csv_is_shown_as_it_stands),
        cmocka_unit_test(broken_tables_are_named),
        cmocka_unit_test(cuts_are_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
