/* test_kinds.c - what columns of arrays are found to be, their levels, and filling in. */
#include "asserts.h"

#include <string.h>

#include "base/alloc.h"
#include "data/table/kinds.h"
#include "data/table/schema.h"

/* Settles a table of n x dim values; forced may be NULL. */
static wm_status settle(wm_schema *s, wm_data **d, int64_t n, int64_t dim, const double *rows,
                        const wmi_cursor *c, const int *forced, wm_error *err)
{
    const bool first = wm_schema_dim(s) == 0;
    int none[8] = {-1, -1, -1, -1, -1, -1, -1, -1};

    assert_ok(wm_data_new(d, n, dim, rows, err), *err);
    assert_ok(wmi_schema_begin(s, "t", dim, NULL, err), *err);
    return wmi_kinds_settle(s, "t", *d, c, forced ? forced : none, first, err);
}

static void floats_are_integer_only_if_they_repeat(void **state)
{
    static const wmi_cursor floats = {.integers = false};
    static const struct {
        double x[5];
        wm_kind kind;
    } cases[] = {
        {{1, 2, 3, 2, 5}, WM_KIND_INTEGER},
        {{1, 2, 3, 4, 5}, WM_KIND_CONTINUOUS},   /* whole, but no repeat */
        {{1, 2, 3, 2, 5.5}, WM_KIND_CONTINUOUS}, /* repeats, but not whole */
        {{0, -0.0, 1, 2, 3}, WM_KIND_INTEGER},
        {{1e20, 1e20, 2, 3, 4}, WM_KIND_CONTINUOUS}, /* every float up there is whole */
        {{-5, 0x1p53, -5, 7, 8}, WM_KIND_INTEGER},
        {{NAN, 3, NAN, 3, NAN}, WM_KIND_INTEGER},
        {{NAN, 3, NAN, 4, NAN}, WM_KIND_CONTINUOUS},
        {{NAN, NAN, NAN, NAN, NAN}, WM_KIND_CONTINUOUS},
        {{0, 0, 0, 0, 0}, WM_KIND_INTEGER},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        wm_schema *s;
        wm_error err;
        wm_data *d;

        assert_ok(wm_schema_new(&s, &err), err);
        assert_ok(settle(s, &d, 5, 1, cases[i].x, &floats, NULL, &err), err);
        if (wm_schema_kind(s, 0) != cases[i].kind)
            fail_msg("case %d is %s", (int)i, wmi_kind_name(wm_schema_kind(s, 0)));
        assert_memory_equal(wm_data_rows(d), cases[i].x, sizeof cases[i].x);
        wm_data_free(d);
        wm_schema_free(s);
    }
}

/* A late repeat, after the first part that is sorted. */
static void a_repeat_is_found_wherever_it_is(void **state)
{
    static const wmi_cursor floats = {.integers = false};
    enum { N = 5000 };
    double *x = NULL;
    wm_error err;

    (void)state;
    assert_ok(wmi_alloc(&x, N, sizeof *x, "x", &err), err);
    for (int late = 0; late < 3; late++) {
        wm_schema *s;
        wm_data *d;

        for (int i = 0; i < N; i++)
            x[i] = (i * 7919) % 10007;
        if (late < 2)
            x[late ? N - 1 : 1] = x[0];
        assert_ok(wm_schema_new(&s, &err), err);
        assert_ok(settle(s, &d, N, 1, x, &floats, NULL, &err), err);
        assert_int_equal(wm_schema_kind(s, 0), late < 2 ? WM_KIND_INTEGER : WM_KIND_CONTINUOUS);
        wm_data_free(d);
        wm_schema_free(s);
    }
    wmi_free(x);
}

static void later_tables_meet_the_first(void **state)
{
    static const wmi_cursor floats = {.integers = false}, ints = {.integers = true},
                            bools = {.integers = true, .bools = true};
    const double counts[4] = {1, 1, 2, 3}, reals[4] = {0.5, 1, 2, 3};
    wm_schema *s;
    wm_error err;
    wm_data *d;

    (void)state;
    assert_ok(wm_schema_new(&s, &err), err);
    assert_ok(settle(s, &d, 4, 1, counts, &ints, NULL, &err), err);
    assert_int_equal(wm_schema_kind(s, 0), WM_KIND_INTEGER);
    wm_data_free(d);
    assert_ok(settle(s, &d, 2, 1, (double[]){0, 1}, &bools, NULL, &err), err);
    assert_int_equal(wm_schema_kind(s, 0), WM_KIND_INTEGER); /* a bool may be a number */
    wm_data_free(d);
    assert_ok(settle(s, &d, 4, 1, reals, &floats, NULL, &err), err);
    assert_int_equal(wm_schema_kind(s, 0), WM_KIND_CONTINUOUS);
    wm_data_free(d);
    assert_ok(settle(s, &d, 4, 1, counts, &floats, NULL, &err), err);
    assert_int_equal(wm_schema_kind(s, 0), WM_KIND_CONTINUOUS);
    wm_data_free(d);
    assert_int_equal(settle(s, &d, 4, 1, counts, &ints, (int[]){WM_KIND_CATEGORICAL}, &err),
                     WM_EINVAL);
    wm_data_free(d);
    wm_schema_free(s);
    /* The other way: a number can name the level of a bool. */
    assert_ok(wm_schema_new(&s, &err), err);
    assert_ok(settle(s, &d, 2, 1, (double[]){1, 1}, &bools, NULL, &err), err);
    assert_int_equal(wm_schema_kind(s, 0), WM_KIND_CATEGORICAL);
    assert_int_equal(wm_schema_levels(s, 0), 2); /* 0 too */
    assert_string_equal(wm_schema_level(s, 0, 0), "0");
    wm_data_free(d);
    assert_ok(settle(s, &d, 2, 1, (double[]){2, 1}, &ints, NULL, &err), err);
    assert_int_equal(wm_schema_levels(s, 0), 3);
    assert_true(wm_data_rows(d)[0] == 2 && wm_data_rows(d)[1] == 1);
    wm_data_free(d);
    wm_schema_free(s);
}

static void levels_are_numbers_in_ascending_order(void **state)
{
    static const wmi_cursor floats = {.integers = false};
    const double first[10] = {7, 0.5, -3, 0.5, NAN, 0.5, 7, 0.5, 1e30, 0.5};
    const double later[6] = {-3, 0.5, 0.25, 0.5, -3, 0.5};
    static const char *const texts[] = {"-3", "7", "1e+30", "0.25"};
    const double numbers[5] = {1, 0, -1, 1, 2};
    wm_schema *s;
    wm_error err;
    wm_data *d;

    (void)state;
    assert_ok(wm_schema_new(&s, &err), err);
    assert_ok(settle(s, &d, 5, 2, first, &floats, (int[]){WM_KIND_CATEGORICAL, -1}, &err), err);
    assert_int_equal(wm_schema_levels(s, 0), 3);
    for (int i = 0; i < 5; i++) {
        if (numbers[i] < 0)
            assert_true(isnan(wm_data_rows(d)[2 * i]));
        else
            assert_true(wm_data_rows(d)[2 * i] == numbers[i]);
        assert_true(wm_data_rows(d)[2 * i + 1] == 0.5);
    }
    wm_data_free(d);
    assert_ok(settle(s, &d, 3, 2, later, &floats, NULL, &err), err); /* 0.25 is new, and last */
    assert_int_equal(wm_schema_levels(s, 0), 4);
    for (int i = 0; i < 4; i++)
        assert_string_equal(wm_schema_level(s, 0, i), texts[i]);
    assert_true(wm_data_rows(d)[2] == 3);
    wm_data_free(d);
    wm_schema_free(s);
}

static void too_many_levels_are_refused(void **state)
{
    static const wmi_cursor ints = {.integers = true};
    double x[WMI_MAX_LEVELS + 1];
    wm_schema *s;
    wm_error err;
    wm_data *d;

    (void)state;
    for (int i = 0; i <= WMI_MAX_LEVELS; i++)
        x[i] = -i;
    assert_ok(wm_schema_new(&s, &err), err);
    assert_ok(settle(s, &d, WMI_MAX_LEVELS, 1, x, &ints, (int[]){WM_KIND_CATEGORICAL}, &err), err);
    assert_int_equal(wm_schema_levels(s, 0), WMI_MAX_LEVELS);
    wm_data_free(d);
    assert_int_equal(settle(s, &d, WMI_MAX_LEVELS + 1, 1, x, &ints, NULL, &err), WM_EINVAL);
    assert_non_null(strstr(err.text, "t: column 1 is to be categorical, but has more than 1000"));
    wm_data_free(d);
    assert_int_equal(settle(s, &d, 1, 1, (double[]){5}, &ints, NULL, &err), WM_EINVAL);
    assert_non_null(strstr(err.text, "one level too many"));
    wm_data_free(d);
    wm_schema_free(s);
}

static void a_fixed_schema_does_not_learn(void **state)
{
    static const wmi_cursor ints = {.integers = true};
    wm_schema *learned, *s;
    wm_error err = {0};
    wm_data *d;
    char *text;

    (void)state;
    assert_ok(wm_schema_new(&learned, &err), err);
    assert_ok(settle(learned, &d, 4, 2, (double[]){3, 1, 5, 1, 3, 2, 9, 4}, &ints,
                     (int[]){WM_KIND_CATEGORICAL, -1}, &err),
              err);
    wm_data_free(d);
    assert_ok(wm_schema_write(learned, &text, &err), err);
    assert_ok(wm_schema_parse(&s, text, &err), err);
    wm_text_free(text);
    wm_schema_free(learned);
    assert_ok(settle(s, &d, 2, 2, (double[]){9, 0.5, 3, 1}, &ints, NULL, &err), err);
    assert_true(wm_data_rows(d)[0] == 2 && wm_data_rows(d)[2] == 0);
    assert_int_equal(wm_schema_kind(s, 1), WM_KIND_INTEGER);
    wm_data_free(d);
    assert_int_equal(settle(s, &d, 2, 2, (double[]){9, 1, 4, 1}, &ints, NULL, &err), WM_EINVAL);
    assert_string_equal(err.text, "t: row 2, column 1: 4 is none of its 3 levels (3, 5, 9)");
    wm_data_free(d);
    wm_schema_free(s);
}

static void levels_of_a_stream(void **state)
{
    static const wmi_cursor ints = {.integers = true};
    wmi_level_map *m;
    wm_schema *s;
    wm_error err;
    wm_data *d;
    int64_t k;

    (void)state;
    assert_ok(wm_schema_new(&s, &err), err);
    assert_ok(settle(s, &d, 3, 2, (double[]){1, 10, 2, 2.5, 3, -1}, &ints,
                     (int[]){-1, WM_KIND_CATEGORICAL}, &err),
              err);
    wm_data_free(d);
    assert_ok(wmi_schema_level_number(s, 1, "word", &k, &err), err);
    assert_ok(wmi_schema_level_number(s, 1, "0", &k, &err), err);
    assert_int_equal(k, 4);
    assert_ok(wmi_level_map_new(&m, s, &err), err);
    assert_true(wmi_level_map_find(m, 0, 77) == 77);
    assert_true(wmi_level_map_find(m, 1, -1) == 0);
    assert_true(wmi_level_map_find(m, 1, 2.5) == 1);
    assert_true(wmi_level_map_find(m, 1, 10) == 2);
    assert_true(wmi_level_map_find(m, 1, 0) == 4);
    assert_true(wmi_level_map_find(m, 1, -0.0) == 4);
    assert_true(wmi_level_map_find(m, 1, 3) == -1);
    assert_true(isnan(wmi_level_map_find(m, 1, NAN)));
    wmi_level_map_free(m);
    wmi_level_map_free(NULL);
    wm_schema_free(s);
}

static void missing_values_are_filled(void **state)
{
    static const wmi_cursor floats = {.integers = false};
    const double rows[15] = {1.5, 1,   4,   /**/
                             NAN, 4,   9,   /**/
                             2,   4,   9,   /**/
                             NAN, 1,   NAN, /**/
                             4,   NAN, 4};
    int64_t filled;
    wm_schema *s;
    wm_error err;
    wm_data *d;

    (void)state;
    assert_ok(wm_schema_new(&s, &err), err);
    assert_ok(settle(s, &d, 5, 3, rows, &floats, (int[]){-1, -1, WM_KIND_CATEGORICAL}, &err), err);
    assert_ok(wmi_kinds_fill(s, "t", &d, 1, &filled, &err), err);
    assert_int_equal(filled, 4);
    assert_near(wm_data_rows(d)[3], 2.5, 1e-15);
    assert_near(wm_data_rows(d)[9], 2.5, 1e-15);
    assert_true(wm_data_rows(d)[13] == 2); /* 2.5, rounded to even */
    assert_true(wm_data_rows(d)[11] == 0); /* levels 4 and 9 twice each: the first */
    wm_data_free(d);
    assert_ok(wm_data_new(&d, 2, 3, (double[]){1, NAN, 0, 1, NAN, 1}, &err), err);
    assert_int_equal(wmi_kinds_fill(s, "t", &d, 1, &filled, &err), WM_EINVAL);
    assert_non_null(strstr(err.text, "t: column 2 has no value at all"));
    wm_data_free(d);
    wm_schema_free(s);
}

static void kinds_as_text(void **state)
{
    static const wmi_cursor ints = {.integers = true}, floats = {.integers = false};
    char text[128];
    wm_schema *s;
    wm_error err;
    wm_data *d;

    (void)state;
    assert_ok(wm_schema_new(&s, &err), err);
    assert_ok(settle(s, &d, 1, 4, (double[]){1, 2, 3, 4}, &ints,
                     (int[]){WM_KIND_CATEGORICAL, -1, WM_KIND_CONTINUOUS, -1}, &err),
              err);
    assert_true(wmi_kinds_text(s, text, sizeof text));
    assert_string_equal(text, "1 continuous, 2 integer, 1 categorical columns");
    wm_data_free(d);
    wm_schema_free(s);
    assert_ok(wm_schema_new(&s, &err), err);
    assert_ok(settle(s, &d, 1, 1, (double[]){1}, &floats, NULL, &err), err);
    assert_false(wmi_kinds_text(s, text, sizeof text));
    assert_string_equal(text, "1 continuous column");
    wm_data_free(d);
    wm_schema_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(floats_are_integer_only_if_they_repeat),
        cmocka_unit_test(a_repeat_is_found_wherever_it_is),
        cmocka_unit_test(later_tables_meet_the_first),
        cmocka_unit_test(levels_are_numbers_in_ascending_order),
        cmocka_unit_test(too_many_levels_are_refused),
        cmocka_unit_test(a_fixed_schema_does_not_learn),
        cmocka_unit_test(levels_of_a_stream),
        cmocka_unit_test(missing_values_are_filled),
        cmocka_unit_test(kinds_as_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
