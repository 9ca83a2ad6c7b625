/* test_csv_scan.c - rows and fields: quotes, line ends, line numbers, and rows that lie across the
 * ends of the buffer. */
#include "asserts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "data/csv/csv_scan.h"

static void start(wmi_csv_scan *s, const char *text, size_t n, char delimiter)
{
    wm_error err;

    *s = (wmi_csv_scan){.path = "t.csv"};
    assert_ok(wmi_bytes_memory(&s->bytes, "t.csv", text, n, &err), err);
    assert_ok(wmi_csv_scan_start(s, &err), err);
    wmi_csv_scan_delimiter(s, delimiter);
}

static void stop(wmi_csv_scan *s)
{
    wmi_csv_scan_close(s);
    wmi_bytes_close(s->bytes);
}

/* A text as "line:field|field;line:..." with '.' for a blank line, '~' after a quoted field. */
static const char *shown(const char *text, char delimiter)
{
    static char out[4096];
    char field[WMI_CSV_MAX_TEXT + 1];
    wmi_csv_scan s;
    wm_error err = {0};
    bool got = true;
    size_t n;

    out[0] = '\0';
    start(&s, text, strlen(text), delimiter);
    for (;;) {
        if (wmi_csv_scan_row(&s, &got, &err)) {
            sprintf(out + strlen(out), "%s", err.text);
            break;
        }
        if (!got)
            break;
        sprintf(out + strlen(out), "%s%d:", *out ? ";" : "", (int)s.row_line);
        if (!s.n)
            sprintf(out + strlen(out), ".");
        for (int64_t j = 0; j < s.n; j++) {
            if (!wmi_csv_text(&s.field[j], field, &n))
                sprintf(field, "long");
            sprintf(out + strlen(out), "%s%s%s", j ? "|" : "", field, s.field[j].quoted ? "~" : "");
        }
    }
    stop(&s);
    return out;
}

static void rows_and_fields(void **state)
{
    static const struct {
        char delimiter;
        const char *text, *want;
    } cases[] = {
        {',', "", ""},
        {',', "a", "1:a"},
        {',', "a,b\nc,d\n", "1:a|b;2:c|d"},
        {',', "a,b\r\nc,d\r\n", "1:a|b;2:c|d"},
        {',', "a,b\rc,d\r", "1:a|b;2:c|d"},
        {',', "a,b\rc,d", "1:a|b;2:c|d"},
        {',', "a\n\r\nb\n", "1:a;2:.;3:b"}, /* \n\r\n is two ends of lines */
        {',',
         "\xef\xbb\xbf"
         "a,b\n",
         "1:a|b"},
        {',', "# x\n#y\r\n\n#\na\n#b\n", "5:a;6:#b"},
        {',', "# x", ""},
        {',', "#\r\r\ra", "4:a"},
        {',', " a , b\t,\tc d \n", "1:a|b|c d"},
        {',', "a,,\n,,\n", "1:a||;2:||"},
        {',', "a\n\n  \n\nb\n\n", "1:a;2:.;3:.;4:.;5:b;6:."},
        {',', "\"a\",\"b,c\"\n", "1:a~|b,c~"},
        {',', "\"a\"\"b\",\"\"\"\",\"\"\n", "1:a\"b~|\"~|~"},
        {',', " \"a\" ,\t\" b \"\t\n", "1:a~|b~"},
        {',', "\"a\nb\",1\n2,3\n", "1:a\nb~|1;3:2|3"},
        {',', "\"a\r\nb\rc\n\",1\r\n2,3\n", "1:a\r\nb\rc\n~|1;5:2|3"},
        {',', "5\" pipe,6\"\n", "1:5\" pipe|6\""},
        {',', "a\"b\"\n", "1:a\"b\""},
        {';', "1,5;2\n", "1:1,5|2"},
        {'\t', "a b\t c\t\t\n", "1:a b|c||"},
        {'|', "a|\"b|c\"\n", "1:a|b|c~"},
        {' ', "  1   2\t3  \n4 5 6\n", "1:1|2|3;2:4|5|6"},
        {' ', "\"a b\"   c\n\"d\"\n\"e\"  \n", "1:a b~|c;2:d~;3:e~"},
        {' ', "a \"\" b", "1:a|~|b"},
        {'\0', "New York, USA\n\"a\"\n", "1:New York, USA;2:a~"},
        {',', "a,b\n\"c\nd,e\n", "1:a|bt.csv:2: column 1: the quote that opens here is not closed"},
        {',', "a,\"b", "t.csv:1: column 2: the quote that opens here is not closed"},
        {',', "\"a\nb\",c\nd,\"e\"f\n",
         "1:a\nb~|ct.csv:3: column 2: text after the closing quote; inside quotes a quote is "
         "written twice"},
        {',', "\"a\"\"", "t.csv:1: column 1: the quote that opens here is not closed"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(shown(cases[i].text, cases[i].delimiter), cases[i].want);
}

static void bytes_that_are_no_text(void **state)
{
    static const struct {
        const char *text;
        size_t n;
        const char *words;
    } rows[] = {{"1,2\n3,\0\n", 8, "t.csv:2: column 2: a NUL byte"},
                {"1,\"a\nb\0\"\n", 9, "t.csv:1: column 2: a NUL byte"},
                {"a\0b", 3, "t.csv:1: column 1: a NUL byte"}};
    wmi_csv_scan s;
    wm_error err = {0};
    bool got;

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        wm_status st;

        start(&s, rows[i].text, rows[i].n, ',');
        while (!(st = wmi_csv_scan_row(&s, &got, &err)) && got)
            ;
        assert_int_equal(st, WM_EFORMAT);
        if (!strstr(err.text, rows[i].words))
            fail_msg("'%s', expected '%s'", err.text, rows[i].words);
        stop(&s);
    }
}

/* Fields of every length and kind over several buffers, so that each part of a row, each quote and
 * each \r\n falls on an end of the buffer somewhere; checked against what was written. */
static void rows_across_buffers(void **state)
{
    static const char *const ends[] = {"\n", "\r\n", "\r"};
    enum { ROWS = 60000, BYTES = 4 << 20 };
    char *text, field[WMI_CSV_MAX_TEXT + 1], want[64];
    wmi_csv_scan s;
    wm_error err;
    bool got;

    (void)state;
    text = malloc(BYTES);
    assert_non_null(text);
    for (int kind = 0; kind < 3; kind++) {
        size_t n = 0, length;
        int64_t line = 1;

        for (int i = 0; i < ROWS; i++) {
            n += (size_t)sprintf(text + n, "%d,\"%.*s\"\"%s%d\" , %.*s", i, i % 23,
                                 "abcdefghijklmnopqrstuvw", i % 7 ? "" : ends[kind], i, i % 11,
                                 "0123456789a");
            n += (size_t)sprintf(text + n, "%s", ends[kind]);
        }
        assert_true(n > (1 << 20) && n < BYTES);
        start(&s, text, n, ',');
        for (int i = 0; i < ROWS; i++) {
            assert_ok(wmi_csv_scan_row(&s, &got, &err), err);
            assert_true(got);
            assert_int_equal(s.n, 3);
            assert_int_equal(s.row_line, line);
            sprintf(want, "%d", i);
            assert_true(wmi_csv_same(&s.field[0], want));
            sprintf(want, "%.*s\"%s%d", i % 23, "abcdefghijklmnopqrstuvw", i % 7 ? "" : ends[kind],
                    i);
            assert_true(wmi_csv_text(&s.field[1], field, &length));
            assert_string_equal(field, want);
            assert_int_equal(s.field[2].n, i % 11);
            line += 1 + (i % 7 == 0);
        }
        assert_ok(wmi_csv_scan_row(&s, &got, &err), err);
        assert_false(got);
        stop(&s);
    }
    free(text);
}

/* The buffer's first end at each byte of rows with all that needs a look ahead. */
static void every_place_of_an_end(void **state)
{
    static const char tail[] = "\"a\"\"b\" ,\"\"\r\n\"\"\"\",d \r\r\n\"e\nf\",\"g\"\n";
    static const char want[] = "2:a\"b~|~;3:\"~|d;4:.;5:e\nf~|g~";
    const size_t n = sizeof tail - 1, room = 256 << 10; /* as csv_scan.c begins */
    char *text = malloc(room + 128);

    (void)state;
    assert_non_null(text);
    for (size_t k = 0; k <= n; k++) {
        const char *all, *rest;

        memset(text, '7', room + 128);
        text[room - k - 1] = '\n';
        for (size_t i = 0; i < n; i++)
            text[room - k + i] = tail[i];
        text[room - k + n + 50] = '\0'; /* the file goes on behind the buffer's end */
        all = shown(text, ',');
        rest = strchr(all, ';');
        assert_true(rest && strncmp(rest + 1, want, sizeof want - 1) == 0);
    }
    free(text);
}

static void rows_too_long(void **state)
{
    const size_t n = (size_t)WMI_CSV_MAX_ROW + (1 << 20);
    const int64_t live = wmi_alloc_live();
    char *text = malloc(n);
    wmi_csv_scan s;
    wm_error err = {0};
    bool got;

    (void)state;
    assert_non_null(text);
    memset(text, '1', n);
    text[1] = '\n';
    start(&s, text, n, ',');
    assert_ok(wmi_csv_scan_row(&s, &got, &err), err);
    assert_int_equal(wmi_csv_scan_row(&s, &got, &err), WM_EFORMAT);
    assert_non_null(strstr(err.text, "t.csv:2: a line of more than 64 MiB"));
    stop(&s);

    text[3] = ',';
    text[4] = '"';
    start(&s, text, n, ',');
    assert_ok(wmi_csv_scan_row(&s, &got, &err), err);
    assert_int_equal(wmi_csv_scan_row(&s, &got, &err), WM_EFORMAT);
    assert_non_null(strstr(
        err.text, "t.csv:2: column 2: the quote that opens here is not closed within 64 MiB"));
    stop(&s);

    memset(text, ',', n);
    start(&s, text, n, ',');
    assert_int_equal(wmi_csv_scan_row(&s, &got, &err), WM_EFORMAT);
    assert_non_null(strstr(err.text, "t.csv:1: more than 1048576 columns"));
    stop(&s);
    free(text);
    assert_int_equal(wmi_alloc_live(), live);
}

/* A long row is allowed, and the buffer grows for it; a look does not move the scan. */
static void a_look_leaves_the_scan(void **state)
{
    const size_t n = 3 << 20;
    char *text = malloc(n);
    wmi_csv_scan s, look;
    wm_error err;
    bool got;

    (void)state;
    assert_non_null(text);
    memset(text, '7', n);
    for (size_t i = 3; i < n; i += 4)
        text[i] = i + 1 < n ? ',' : '\n';
    start(&s, text, n, ',');
    look = wmi_csv_scan_look(&s, ',');
    assert_ok(wmi_csv_scan_row(&look, &got, &err), err);
    assert_false(got); /* not all of it is in the buffer */
    wmi_csv_scan_unlook(&look);
    assert_ok(wmi_csv_scan_row(&s, &got, &err), err);
    assert_true(got && s.n == (int64_t)(n / 4));
    assert_ok(wmi_csv_scan_row(&s, &got, &err), err);
    assert_false(got);
    stop(&s);

    start(&s, "1,2\n3,4", 7, ',');
    look = wmi_csv_scan_look(&s, ',');
    assert_ok(wmi_csv_scan_row(&look, &got, &err), err);
    assert_ok(wmi_csv_scan_row(&look, &got, &err), err);
    assert_true(got && look.n == 2);
    wmi_csv_scan_unlook(&look);
    assert_ok(wmi_csv_scan_row(&s, &got, &err), err);
    assert_true(got && wmi_csv_same(&s.field[0], "1"));
    stop(&s);
    free(text);
}

static void what_a_field_is(void **state)
{
    static const struct {
        const char *text;
        wmi_csv_value value;
    } cases[] = {
        {"", WMI_CSV_MISSING},     {"NA", WMI_CSV_MISSING},   {"N/A", WMI_CSV_MISSING},
        {"NaN", WMI_CSV_MISSING},  {"nan", WMI_CSV_MISSING},  {"null", WMI_CSV_MISSING},
        {"NULL", WMI_CSV_MISSING}, {"None", WMI_CSV_MISSING}, {"?", WMI_CSV_MISSING},
        {"12", WMI_CSV_WHOLE},     {"1e5", WMI_CSV_WHOLE},    {"-0", WMI_CSV_WHOLE},
        {"1.0", WMI_CSV_REAL},     {".5", WMI_CSV_REAL},      {"inf", WMI_CSV_REAL},
        {"na", WMI_CSV_TEXT},      {"none", WMI_CSV_TEXT},    {"N", WMI_CSV_TEXT},
        {"??", WMI_CSV_TEXT},      {"-", WMI_CSV_TEXT},       {"Nonesuch", WMI_CSV_TEXT},
        {"3,14", WMI_CSV_TEXT},    {"x", WMI_CSV_TEXT},       {"NULLs", WMI_CSV_TEXT},
    };
    static const char *const commas[] = {"3,14", "-0,5", "1,234,567.5", "1,5e3", ",5"};
    static const char *const none[] = {"3.14", "a,b", ",", "1,2;3", "", "12,a", "-,"};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const wmi_csv_field f = {.at = cases[i].text, .n = (uint32_t)strlen(cases[i].text)};
        double x = 7;

        if (wmi_csv_read(&f, &x) != cases[i].value)
            fail_msg("'%s' is read as %d", cases[i].text, (int)wmi_csv_read(&f, &x));
        if (cases[i].value == WMI_CSV_MISSING)
            assert_true(isnan(x));
        if (cases[i].value == WMI_CSV_TEXT)
            assert_true(x == 7);
    }
    for (size_t i = 0; i < sizeof commas / sizeof *commas; i++)
        assert_true(wmi_csv_comma_number(
            &(wmi_csv_field){.at = commas[i], .n = (uint32_t)strlen(commas[i])}));
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_false(
            wmi_csv_comma_number(&(wmi_csv_field){.at = none[i], .n = (uint32_t)strlen(none[i])}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_and_fields),     cmocka_unit_test(bytes_that_are_no_text),
        cmocka_unit_test(rows_across_buffers), cmocka_unit_test(every_place_of_an_end),
        cmocka_unit_test(rows_too_long),       cmocka_unit_test(a_look_leaves_the_scan),
        cmocka_unit_test(what_a_field_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
