/* test_text_table.c - tables as they stand on a terminal. */
#define _XOPEN_SOURCE 700 /* posix_openpt */

#include "asserts.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "waymark/report.h"

#define LINE10                                                                                     \
    "\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94" \
    "\x80\xe2\x94\x80\xe2\x94\x80"
#define DASH "\xe2\x94\x80"

static wm_text_table *make_table(void)
{
    wm_text_table *t;

    t = wm_text_table_new("Mutual information", NULL);
    wm_text_table_column(t, "method", WM_ALIGN_LEFT);
    wm_text_table_column(t, "nats", WM_ALIGN_RIGHT);
    wm_text_table_column(t, "n", WM_ALIGN_RIGHT);
    wm_text_table_column(t, "verdict", WM_ALIGN_LEFT);
    WM_ROW(t, WM_CELL_TEXT("tre \xce\xb8")); /* 5 letters, 6 bytes */
    WM_ROW(t, WM_CELL_SE(19.934, 0.04, 2));
    WM_ROW(t, WM_CELL_INTEGER(100000));
    WM_ROW(t, WM_CELL_TEXT("trust"));
    wm_text_table_tone(t, WM_TONE_GOOD);
    wm_text_table_rule(t);
    WM_ROW(t, WM_CELL_TEXT("single"));
    WM_ROW(t, WM_CELL_REAL(9.876, 1));
    WM_ROW(t, WM_CELL_REAL(NAN, 2));
    return t;
}

static void print_to(const wm_text_table *t, char *out, size_t size)
{
    FILE *f = tmpfile();
    wm_error err = {0};
    size_t n;

    assert_non_null(f);
    assert_ok(wm_text_table_print(t, f, &err), err);
    rewind(f);
    n = fread(out, 1, size - 1, f);
    out[n] = '\0';
    fclose(f);
}

static void columns_line_up(void **state)
{
    wm_text_table *t = make_table();
    char text[2048];

    (void)state;
    print_to(t, text, sizeof text);
    assert_string_equal(text, "Mutual information\n"
                              "method          nats       n  verdict\n" LINE10 LINE10 LINE10 DASH
                                  DASH DASH DASH DASH DASH DASH "\n"
                              "tre \xce\xb8   19.93 \xc2\xb1 0.04  100000  trust\n" LINE10 LINE10
                                  LINE10 DASH DASH DASH DASH DASH DASH DASH "\n"
                              "single           9.9       -  \n");
    wm_text_table_free(t);
    wm_text_table_free(NULL);
}

static const char *cell(double x, int digits)
{
    static char text[256];
    char *start, *end;
    wm_text_table *t;

    t = wm_text_table_new(NULL, NULL);
    wm_text_table_column(t, "", WM_ALIGN_LEFT);
    WM_ROW(t, WM_CELL_REAL(x, digits));
    print_to(t, text, sizeof text);
    wm_text_table_free(t);
    end = strrchr(text, '\n');
    *end = '\0';
    start = strrchr(text, '\n');
    return start + 1;
}

static void columns_at_once_and_the_end(void **state)
{
    wm_text_table *one, *all;
    char text[2][512];
    wm_error err = {0};
    FILE *full = fopen("/dev/full", "w");

    (void)state;
    one = wm_text_table_new(NULL, NULL);
    all = wm_text_table_new(NULL, NULL);
    wm_text_table_column(one, "method", WM_ALIGN_LEFT);
    wm_text_table_column(one, "in nats", WM_ALIGN_RIGHT);
    wm_text_table_columns(all, "<method|in nats");
    for (int i = 0; i < 2; i++) {
        WM_ROW(i ? all : one, WM_CELL_TEXT("a longer name"));
        WM_ROW(i ? all : one, WM_CELL_INTEGER(7));
        print_to(i ? all : one, text[i], sizeof text[i]);
    }
    assert_string_equal(text[0], text[1]);
    wm_text_table_free(one);
    assert_non_null(full);
    setvbuf(full, NULL, _IONBF, 0);                                  /* flushing is the caller's */
    assert_int_equal(wm_text_table_finish(all, full, &err), WM_EIO); /* and frees it */
    fclose(full);
}

static void numbers_that_fixed_digits_do_not_show(void **state)
{
    (void)state;
    assert_string_equal(cell(0, 2), "0.00");
    assert_string_equal(cell(-0.005, 2), "-0.01");
    assert_string_equal(cell(0.004, 2), "4.0e-03");
    assert_string_equal(cell(-1e-30, 3), "-1.0e-30");
    assert_string_equal(cell(123456789, 0), "123456789");
    assert_string_equal(cell(1e300, 4), "1.0e+300");
    assert_string_equal(cell(INFINITY, 4), "-");
    assert_string_equal(cell(0.5, 99), "0.50000000000000000");
}

/* What the terminal shows up to the end of the table's last row; it comes in pieces. */
static void read_table(int master, char *seen, size_t size)
{
    size_t n = 0;
    const char *last = NULL;

    seen[0] = '\0';
    while (n + 1 < size && !((last = strstr(seen, "single")) && strchr(last, '\n'))) {
        const ssize_t got = read(master, seen + n, size - 1 - n);

        assert_true(got > 0);
        n += (size_t)got;
        seen[n] = '\0';
    }
}

/* On a terminal the header is bold and tones have colours; NO_COLOR takes them away. */
static void colour_is_for_terminals(void **state)
{
    const int master = posix_openpt(O_RDWR | O_NOCTTY);
    char seen[4096];
    wm_text_table *t = make_table();
    wm_error err;
    FILE *f = NULL;

    (void)state;
    if (master < 0 || grantpt(master) || unlockpt(master) || !(f = fopen(ptsname(master), "w"))) {
        skip();
        return; /* skip() does not, which analyzers cannot see */
    }
    setenv("TERM", "xterm", 1);
    unsetenv("NO_COLOR");
    assert_ok(wm_text_table_print(t, f, &err), err);
    read_table(master, seen, sizeof seen);
    assert_non_null(strstr(seen, "\033[32mtrust\033[0m"));
    assert_non_null(strstr(seen, "\033[1mmethod\033[0m"));
    setenv("NO_COLOR", "1", 1);
    assert_ok(wm_text_table_print(t, f, &err), err);
    read_table(master, seen, sizeof seen);
    assert_non_null(strstr(seen, "trust"));
    assert_null(strchr(seen, '\033'));
    fclose(f);
    close(master);
    wm_text_table_free(t);
}

static void misuse_and_lack_of_memory_are_reported(void **state)
{
    const int64_t live = wmi_alloc_live();
    wm_error err = {0};
    wm_text_table *t;

    (void)state;
    t = wm_text_table_new(NULL, NULL);
    WM_ROW(t, WM_CELL_TEXT("no column yet"));
    assert_int_equal(wm_text_table_print(t, stderr, &err), WM_EINVAL);
    assert_non_null(strstr(err.text, "before the first column"));
    wm_text_table_free(t);

    t = make_table();
    wm_text_table_column(t, "late", WM_ALIGN_LEFT);
    assert_int_equal(wm_text_table_print(t, stderr, &err), WM_EINVAL);
    assert_non_null(strstr(err.text, "'late' after the first cell"));
    wm_text_table_free(t);

    t = wm_text_table_new(NULL, NULL);
    wmi_alloc_fail_at(1);
    wm_text_table_column(t, "a", WM_ALIGN_LEFT);
    wmi_alloc_fail_at(0);
    assert_int_equal(wm_text_table_print(t, stderr, &err), WM_ENOMEM);
    wm_text_table_free(t);
    WM_ROW(NULL, WM_CELL_TEXT("ignored"));
    assert_int_equal(wmi_alloc_live(), live);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_line_up),
        cmocka_unit_test(columns_at_once_and_the_end),
        cmocka_unit_test(numbers_that_fixed_digits_do_not_show),
        cmocka_unit_test(colour_is_for_terminals),
        cmocka_unit_test(misuse_and_lack_of_memory_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
