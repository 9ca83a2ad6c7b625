/* test_summary.c - the JSON of summaries: order, exact numbers, and failures that are kept. */
#include "asserts.h"

#include <float.h>
#include <locale.h>

#include <jansson.h>

#include "base/alloc.h"
#include "report/text.h"
#include "scratch.h"
#include "waymark/report.h"

static const char *printed(const wm_summary *s)
{
    static char text[16384];
    FILE *f = fmemopen(text, sizeof text, "w");
    wm_error err = {0};

    assert_non_null(f);
    assert_ok(wm_summary_print(s, f, &err), err);
    fclose(f);
    return text;
}

static wm_summary *fresh(void)
{
    wm_summary *s;
    wm_error err;

    assert_ok(wm_summary_new(&s, &err), err);
    return s;
}

static void keys_keep_their_order(void **state)
{
    const double x[] = {0, 0.1, NAN};
    const int64_t k[] = {1, INT64_MIN};
    const char *const t[] = {"a", NULL};
    wm_summary *s = fresh(), *row;

    (void)state;
    wm_summary_text(s, "z", "a \"quoted\" \xce\xb8");
    wm_summary_integer(s, "y", INT64_MAX);
    wm_summary_real(s, "x", 1);
    wm_summary_bool(s, "b", true);
    wm_summary_null(s, "n");
    wm_summary_reals(s, "list", x, 3);
    wm_summary_integers(s, "ints", k, 2);
    wm_summary_texts(s, "texts", t, 2);
    wm_summary_list(s, "empty");
    for (int i = 0; i < 2; i++) {
        row = wm_summary_row(s, "rows");
        wm_summary_integer(row, "k", i);
        wm_summary_real(wm_summary_object(row, "in"), "v", -INFINITY);
    }
    wm_summary_text(s, "z", NULL); /* replaced where it stands */
    assert_string_equal(printed(s), "{\n"
                                    "  \"z\": null,\n"
                                    "  \"y\": 9223372036854775807,\n"
                                    "  \"x\": 1.0,\n"
                                    "  \"b\": true,\n"
                                    "  \"n\": null,\n"
                                    "  \"list\": [0.0, 0.1, null],\n"
                                    "  \"ints\": [1, -9223372036854775808],\n"
                                    "  \"texts\": [\"a\", null],\n"
                                    "  \"empty\": [],\n"
                                    "  \"rows\": [{\"k\": 0, \"in\": {\"v\": null}}, "
                                    "{\"k\": 1, \"in\": {\"v\": null}}]\n"
                                    "}\n");
    wm_summary_free(s);
}

/* Doubles of every size, and lines that must fold, read back by jansson to the same bits. */
static void keys_can_be_put_together(void **state)
{
    wm_summary *one = fresh(), *all = fresh();
    char text[512];

    (void)state;
    wm_summary_text(one, "t", NULL);
    wm_summary_integer(one, "n", -3);
    wm_summary_real(one, "x", NAN);
    wm_summary_bool(one, "b", true);
    WM_PUT(all, WM_TEXT("t", NULL), WM_INTEGER("n", -3), WM_REAL("x", (double)NAN),
           WM_BOOL("b", true));
    snprintf(text, sizeof text, "%s", printed(one));
    assert_string_equal(printed(all), text);
    wm_summary_free(one);
    wm_summary_free(all);
}

static void numbers_survive_exactly(void **state)
{
    double x[64], value = 1.0 / 3;
    wm_summary *s = fresh();
    json_t *back;
    json_error_t why;

    (void)state;
    for (int i = 0; i < 60; i++) {
        x[i] = value;
        value *= i % 2 ? -1.7e10 : 1e-9 / 7;
    }
    x[60] = DBL_MAX;
    x[61] = DBL_TRUE_MIN;
    x[62] = 0.1;
    x[63] = 5e22;
    wm_summary_reals(s, "x", x, 64);
    for (int i = 0; i < 64; i++)
        wm_summary_real(wm_summary_row(s, "rows"), "a rather long key to make the line fold", x[i]);
    back = json_loads(printed(s), 0, &why);
    assert_non_null(back);
    for (size_t i = 0; i < 64; i++) {
        const json_t *row = json_array_get(json_object_get(back, "rows"), i);

        assert_true(json_real_value(json_array_get(json_object_get(back, "x"), i)) == x[i]);
        assert_true(json_real_value(json_object_get(row, "a rather long key to make the line "
                                                         "fold")) == x[i]);
    }
    json_decref(back);
    for (const char *p = printed(s), *end; (end = strchr(p, '\n')); p = end + 1)
        assert_true(end - p <= 100);
    wm_summary_free(s);
}

static void numbers_are_short_and_have_a_point(void **state)
{
    char text[WMI_REAL_TEXT];

    (void)state;
    assert_string_equal(wmi_real_text(text, 0.1), "0.1");
    assert_string_equal(wmi_real_text(text, -2.5e-300), "-2.5e-300");
    assert_string_equal(wmi_real_text(text, 1.0 / 3), "0.3333333333333333");
    assert_string_equal(wmi_real_text(text, NAN), "");
    if (setlocale(LC_NUMERIC, "de_DE.UTF-8")) {
        assert_string_equal(wmi_real_text(text, 0.1), "0.1");
        setlocale(LC_NUMERIC, "C");
    }
}

static void bytes_that_are_no_text_are_replaced(void **state)
{
    wm_summary *s = fresh();

    (void)state;
    wm_summary_text(s, "name", "a\xff\xc3z\xed\xa0\x80\tb");
    assert_string_equal(printed(s), "{\n  \"name\": \"a\xef\xbf\xbd\xef\xbf\xbdz\xef\xbf\xbd"
                                    "\xef\xbf\xbd\xef\xbf\xbd b\"\n}\n");
    wm_summary_free(s);
}

static void widths_count_letters(void **state)
{
    (void)state;
    assert_int_equal(wmi_text_width("abc"), 3);
    assert_int_equal(wmi_text_width("\xce\xb8\xc2\xb1"), 2);
    assert_int_equal(wmi_text_width("e\xcc\x81"), 1);    /* a combining accent */
    assert_int_equal(wmi_text_width("\xe6\x97\xa5"), 2); /* a wide letter */
}

static void the_first_failure_is_kept(void **state)
{
    wm_error err = {0};
    wm_summary *s = fresh();

    (void)state;
    wm_summary_integer(s, "rows", 1);
    wm_summary_integer(wm_summary_row(s, "rows"), "k", 1); /* not a list */
    wm_summary_integer(s, "\xff", 1);
    assert_int_equal(wm_summary_print(s, stderr, &err), WM_EINVAL);
    assert_non_null(strstr(err.text, "'rows' is not a list"));
    assert_int_equal(wm_summary_write(s, scratch("never.json"), NULL), WM_EINVAL);
    assert_int_equal(scratch_count(scratch_folder), 0);
    wm_summary_free(s);
    wm_summary_free(NULL);
    wm_summary_integer(NULL, "k", 1); /* ignored */
    assert_null(wm_summary_row(NULL, "k"));

    s = fresh();
    wmi_alloc_fail_at(1);
    assert_null(wm_summary_object(s, "child"));
    wmi_alloc_fail_at(0);
    assert_int_equal(wm_summary_print(s, stderr, &err), WM_ENOMEM);
    wm_summary_free(s);
}

static void a_child_that_was_replaced_is_harmless(void **state)
{
    wm_summary *s = fresh(), *child = wm_summary_object(s, "k");

    (void)state;
    wm_summary_integer(s, "k", 7);
    wm_summary_integer(child, "lost", 1);
    assert_string_equal(printed(s), "{\n  \"k\": 7\n}\n");
    wm_summary_free(s);
}

static void files_are_written_and_full_streams_noticed(void **state)
{
    wm_error err = {0};
    wm_summary *s = fresh();
    FILE *full = fopen("/dev/full", "w");

    (void)state;
    wm_summary_integer(s, "k", 7);
    assert_ok(wm_summary_write(s, scratch("s.json"), &err), err);
    assert_string_equal(scratch_read(scratch("s.json")), "{\n  \"k\": 7\n}\n");
    if (full) {
        setvbuf(full, NULL, _IONBF, 0); /* flushing is the caller's */
        assert_int_equal(wm_summary_print(s, full, &err), WM_EIO);
        fclose(full);
    }
    wm_summary_free(s);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, scratch_make, scratch_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(keys_keep_their_order),
        TEST(keys_can_be_put_together),
        TEST(numbers_survive_exactly),
        TEST(numbers_are_short_and_have_a_point),
        TEST(bytes_that_are_no_text_are_replaced),
        TEST(widths_count_letters),
        TEST(the_first_failure_is_kept),
        TEST(a_child_that_was_replaced_is_harmless),
        TEST(files_are_written_and_full_streams_noticed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
