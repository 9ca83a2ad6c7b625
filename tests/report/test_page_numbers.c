/* test_page_numbers.c - CSV files of figures as tables, and the messages for those that are none.
 */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "report/page_numbers.h"

#define HEAD "panel,series,x,y,lo,hi\n"

static wmi_plan plan_of(const char *script, wmi_arena *arena)
{
    wm_error err = {0};
    wmi_plan plan;

    assert_ok(wmi_plan_read(&plan, script, arena, &err), err);
    return plan;
}

/* The tables without their tags: cells end with '|', rows with a line end. Borrowed until the next
 * call. */
static const char *tables(const char *csv, const char *script)
{
    static char plain[8192];
    wmi_arena arena = {0};
    const wmi_plan plan = plan_of(script, &arena);
    char *text = strdup(csv), *html = NULL, *to = plain;
    wmi_numbers numbers;
    wm_error err = {0};
    size_t n;
    FILE *out = open_memstream(&html, &n);

    assert_ok(wmi_numbers_read(&numbers, text, strlen(text), "a.csv", &err), err);
    wmi_numbers_print(&numbers, &plan, "a.csv", out);
    wmi_numbers_clear(&numbers);
    fclose(out);
    for (const char *p = html; *p; p++) {
        if (strncmp(p, "</t", 3) == 0 && (p[3] == 'd' || (p[3] == 'h' && p[4] == '>')))
            *to++ = '|';
        if (*p == '<')
            p = strchr(p, '>');
        else if (*p != '\n' || (to > plain && to[-1] != '\n'))
            *to++ = *p;
        assert_true(to < plain + sizeof plain - 2);
    }
    *to = '\0';
    free(html);
    free(text);
    wmi_arena_free(&arena);
    return plain;
}

static void series_with_the_same_x_stand_side_by_side(void **state)
{
    (void)state;
    assert_string_equal(tables(HEAD "\"A\",\"p\",1,0.5,,\n\"A\",\"p\",2,0.25,,\n\n\n"
                                    "\"A\",\"q\",1,5,,\n\"A\",\"q\",2,,,\n",
                               "# Panel 1.\nset xlabel 'n'\n"),
                        "A\nn|p|q|\n1|0.5000|5|\n2|0.2500|\xe2\x80\x93|\n");
    /* Another panel or another x is another table. */
    assert_string_equal(
        tables(HEAD "\"A\",\"p\",1,1,,\n\n\n\"B\",\"p\",1,2,1,3\n\n\n"
                    "\"B\",\"q\",4,2,,\n",
               "# Panels: 2 in rows of 2, 1 x 1 each, 0 of title above, 0 of legend "
               "below\n# Panel 1.\nset title 'A'\nset ylabel 'y''s'\n# Panel 2.\nset "
               "title 'B'\nset xlabel 'u'\n"),
        "A: p\nx|y&#39;s|\n1|1|\nB: p\nu|y|low|high|\n1|2|1|3|\nB: q\nu|y|\n4|2|\n");
}

static void labels_stand_for_positions(void **state)
{
    (void)state;
    assert_string_equal(
        tables("panel,series,x,y,lo,hi,label\n\"\",\"\",0,7.5,,,\"one, \"\"two\"\"\"\n"
               "\"\",\"\",1,9,,,\"<b>\"\n",
               "set multiplot title 'T'\n# Panel 1.\nset ylabel 'nats'\n"),
        "T\nname|nats|\none, &quot;two&quot;|7.500|\n&lt;b&gt;|9.000|\n");
    assert_string_equal(
        tables("panel,series,x,y,lo,hi,label\n\"\",\"\",7.5,0,7,8,\"a\"\n"
               "\"\",\"\",9,1,8,10,\"b\"\n",
               "# Panel 1.\nset xlabel 'nats'\n"),
        "Numbers\nname|nats|low|high|\na|7.500|7.000|8.000|\nb|9.000|8.000|10.000|\n");
}

static void grids_are_grids(void **state)
{
    (void)state;
    assert_string_equal(
        tables("panel,series,x,y,lo,hi,z\n\"P\",\"z\",0,0,,,1\n\"P\",\"z\",1,0,,,2.5\n\n"
               "\"P\",\"z\",0,1,,,\n\"P\",\"z\",1,1,,,-3\n",
               "# Panel 1.\nset xlabel 'waymark'\nset ylabel 'bridge'\n"),
        "P: z\nbridge \\ waymark|0|1|\n0|1.000|2.500|\n1|\xe2\x80\x93|-3.000|\n");
}

static void long_tables_are_thinned_and_say_so(void **state)
{
    char csv[40000] = HEAD;
    size_t n = strlen(csv);
    const char *text;

    (void)state;
    for (int i = 0; i <= 1000; i++)
        n += (size_t)snprintf(csv + n, sizeof csv - n, "\"\",\"\",%d,%d,,\n", i, 2 * i);
    text = tables(csv, "");
    assert_non_null(strstr(text, "(200 of 1,001 rows; a.csv has all)"));
    assert_non_null(strstr(text, "\n0|0|\n"));
    assert_non_null(strstr(text, "\n1000|2000|\n"));
}

static void tables_of_others_are_shown_as_they_are(void **state)
{
    (void)state;
    assert_string_equal(tables("\xef\xbb\xbfname,value\r\na,1.23456789\r\n\r\n\"b\nc\",x\r\n", ""),
                        "Numbers\nname|value|\na|1.235|\nb\nc|x|\n");
}

static void refuses(const char *csv, const char *message)
{
    char *text = strdup(csv);
    wmi_numbers numbers;
    wm_error err = {0};

    assert_int_equal(wmi_numbers_read(&numbers, text, strlen(text), "a.csv", &err), WM_EFORMAT);
    assert_string_equal(err.text, message);
    assert_null(numbers.cell);
    free(text);
}

static void broken_tables_are_named(void **state)
{
    (void)state;
    refuses("", "a.csv:1: the file is empty");
    refuses(HEAD "\"A\",\"p\",1,1,,\n\"A\",\"p\",1\n", "a.csv:3: 3 columns, expected 6");
    refuses(HEAD "\"A\",\"p\",1,1,,,\n", "a.csv:2: 7 columns, expected 6");
    refuses(HEAD "\"A\",\"p", "a.csv:2: a quote that is never closed");
    refuses("\"panel", "a.csv:1: a quote that is never closed");
}

/* Any cut of a good file is read or refused, and leaks nothing. */
static void cuts_are_survived(void **state)
{
    static const char whole[] = HEAD "\"A \"\"b\"\"\",\"p\",1,0.5,,\n\n\n\"A\",\"q\",1,5,,\r\n";
    const int64_t live = wmi_alloc_live();

    (void)state;
    for (size_t k = 1; k < sizeof whole; k++) {
        char *text = calloc(1, k + 1);
        wmi_numbers numbers;
        wm_error err = {0};

        memcpy(text, whole, k);
        if (wmi_numbers_read(&numbers, text, k, "a.csv", &err) == WM_OK)
            wmi_numbers_clear(&numbers);
        else
            assert_non_null(strstr(err.text, "a.csv:"));
        free(text);
    }
    assert_int_equal(wmi_alloc_live(), live);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(series_with_the_same_x_stand_side_by_side),
        cmocka_unit_test(labels_stand_for_positions),
        cmocka_unit_test(grids_are_grids),
        cmocka_unit_test(long_tables_are_thinned_and_say_so),
        cmocka_unit_test(tables_of_others_are_shown_as_they_are),
        cmocka_unit_test(broken_tables_are_named),
        cmocka_unit_test(cuts_are_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
