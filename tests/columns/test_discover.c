/* test_discover.c - what columns are: by their values, whatever they were read as. */
#include <math.h>

#include "asserts.h"
#include "columns/discover.h"

enum { N = 1000, RAW = 8 };

static double p[N * RAW], q[N * RAW];

/* A continuous column, a two-valued float, five whole numbers, tens of prices, zeros in a third of
 * a continuous column, a category with a rare level, a constant, a category of one level but for
 * two rows. */
static wmi_found_columns look(void)
{
    static const wm_kind kind[RAW] = {[5] = WM_KIND_CATEGORICAL, [7] = WM_KIND_CATEGORICAL};
    const int64_t n[2] = {N, N};
    const double *const x[2] = {p, q};
    wmi_found_columns f;
    wm_error err;

    for (int i = 0; i < N; i++)
        for (int t = 0; t < 2; t++) {
            double *row = (t ? q : p) + i * RAW;
            const double u = fmod(0.618033988749895 * (i + 1) + 0.1 * t, 1);

            row[0] = u;
            row[1] = u < 0.3 ? -0.05068 : 0.04464;
            row[2] = floor(5 * u);
            row[3] = 9.99 + floor(40 * u);
            row[4] = i % 3 ? u : 0;
            row[5] = i < 2 && t ? 3 : floor(3 * u);
            row[6] = 4;
            row[7] = i < 2 && t;
        }
    assert_ok(wmi_discover(&f, RAW, n, x, kind, &err), err);
    return f;
}

static void kinds_follow_the_values(void **state)
{
    wmi_found_columns f = look();
    const wm_kind want[] = {WM_KIND_CONTINUOUS, WM_KIND_INTEGER,    WM_KIND_INTEGER,
                            WM_KIND_INTEGER,    WM_KIND_CONTINUOUS, WM_KIND_CATEGORICAL};
    const int64_t indicators[] = {0, 0, 3, 0, 1, 3, 0, 0};

    (void)state;
    for (int j = 0; j < 6; j++) {
        assert_int_equal(f.kind[j], want[j]);
        assert_int_equal(f.aside[j], WMI_ASIDE_NOT);
    }
    for (int j = 0; j < RAW; j++)
        assert_int_equal(f.first[j + 1] - f.first[j], indicators[j]);
    assert_true(f.curved[0] && f.curved[3] && f.curved[4] && !f.curved[1] && !f.curved[2]);
    assert_int_equal(f.aside[6], WMI_ASIDE_CONSTANT);
    assert_int_equal(f.aside[7], WMI_ASIDE_RARE);
    assert_int_equal(f.discrete, 4);
    wmi_found_free(&f);
}

/* Five values: the number and the three inner ones. Zeros: the spike. Levels 0 to 2 have rows
 * enough, level 3 has two and stands for what is pooled. */
static void values_that_many_rows_share_are_indicated(void **state)
{
    wmi_found_columns f = look();

    (void)state;
    for (int i = 0; i < 3; i++) {
        assert_near(f.value[f.first[2] + i], i + 1, 0);
        assert_near(f.value[f.first[5] + i], i, 0);
    }
    assert_near(f.value[f.first[4]], 0, 0);
    wmi_found_free(&f);
}

/* What two tables were split by tells them apart without error, and nothing else. */
static void a_category_without_a_common_level_is_left_aside(void **state)
{
    const double a[] = {1, 5, 1, 6, 2, 7, 2, 5}, b[] = {3, 5, 3, 6, 4, 7, 4, 5};
    const int64_t n[2] = {4, 4};
    const double *const x[2] = {a, b};
    const wm_kind kind[] = {WM_KIND_CATEGORICAL, WM_KIND_CONTINUOUS};
    wmi_found_columns f;
    wm_error err;

    (void)state;
    assert_ok(wmi_discover(&f, 2, n, x, kind, &err), err);
    assert_int_equal(f.aside[0], WMI_ASIDE_SPLIT);
    assert_int_equal(f.aside[1], WMI_ASIDE_NOT);
    wmi_found_free(&f);
}

/* Zeros where the other table has wages tell the two apart as well; a zero in both does not, and
 * neither do numbers on a continuum. */
static void values_that_one_table_always_has_are_left_aside(void **state)
{
    enum { ROWS = 40, COLUMNS = 3 };
    double a[ROWS * COLUMNS], b[ROWS * COLUMNS];
    const int64_t n[2] = {ROWS, ROWS};
    const double *const x[2] = {a, b};
    wmi_found_columns f;
    wm_error err;

    (void)state;
    for (int i = 0; i < ROWS; i++) {
        a[i * COLUMNS] = 7.5 + 0.25 * i;
        b[i * COLUMNS] = 0;
        a[i * COLUMNS + 1] = i == 0 ? 0 : 7.5 + 0.25 * i;
        b[i * COLUMNS + 1] = 0;
        a[i * COLUMNS + 2] = 0.5 * i;
        b[i * COLUMNS + 2] = 0.5 * i + 0.25;
    }
    assert_ok(wmi_discover(&f, COLUMNS, n, x, NULL, &err), err);
    assert_int_equal(f.aside[0], WMI_ASIDE_SPLIT);
    assert_int_equal(f.aside[1], WMI_ASIDE_NOT);
    assert_int_equal(f.aside[2], WMI_ASIDE_NOT);
    wmi_found_free(&f);
}

/* Dates of January in p and of February in q, in whole days; numbers of rows that go on in q; and
 * days of which one is in both. */
static void whole_numbers_that_go_on_are_what_tables_were_split_by(void **state)
{
    static double a[N * 4], b[N * 4];
    static const wm_kind kind[4] = {[1] = WM_KIND_INTEGER, [2] = WM_KIND_INTEGER};
    const int64_t n[2] = {N, N};
    const double *const x[2] = {a, b};
    wmi_found_columns f;
    wm_error err;

    (void)state;
    for (int i = 0; i < N; i++)
        for (int t = 0; t < 2; t++) {
            double *row = (t ? b : a) + (ptrdiff_t)i * 4;

            row[0] = i % 31 + 31 * t;
            row[1] = i + N * t;
            row[2] = i % 31 + 30 * t;
            row[3] = 0.618033988749895 * (i + 1) + N * t; /* a number may lie far away */
        }
    assert_ok(wmi_discover(&f, 4, n, x, kind, &err), err);
    assert_int_equal(f.aside[0], WMI_ASIDE_SPLIT);
    assert_int_equal(f.aside[1], WMI_ASIDE_SPLIT);
    assert_int_equal(f.aside[2], WMI_ASIDE_NOT);
    assert_int_equal(f.aside[3], WMI_ASIDE_NOT);
    wmi_found_free(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_numbers_that_go_on_are_what_tables_were_split_by),
        cmocka_unit_test(kinds_follow_the_values),
        cmocka_unit_test(values_that_many_rows_share_are_indicated),
        cmocka_unit_test(a_category_without_a_common_level_is_left_aside),
        cmocka_unit_test(values_that_one_table_always_has_are_left_aside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
