/* test_row_sample.c - tables that are longer than memory may be: samples of rows, and files that
 * are one table. */
#include <inttypes.h>
#include <stdlib.h>

#include "asserts.h"
#include "data/formats/paths.h"
#include "data/table/row_sample.h"
#include "scratch.h"
#include "waymark/fit.h"
#include "waymark/read.h"
#include "waymark/write.h"

enum { ROWS = 20000, DIM = 2 };

/* Row i is (i, -i): a row that was moved shows where it came from. */
static wm_data *numbered(int64_t first, int64_t n)
{
    wm_data *d;
    wm_error err;

    assert_ok(wm_data_new(&d, n, DIM, NULL, &err), err);
    for (int64_t i = 0; i < n; i++) {
        wm_data_rows_mut(d)[DIM * i] = (double)(first + i) + 0.5;
        wm_data_rows_mut(d)[DIM * i + 1] = -(double)(first + i);
    }
    return d;
}

static void write_rows(const char *name, int64_t first, int64_t n)
{
    wm_data *d = numbered(first, n);
    wm_error err;

    assert_ok(wm_data_write_npy(d, scratch(name), &err), err);
    wm_data_free(d);
}

static wm_data *read_rows(const char *name, int64_t max_rows)
{
    wm_schema *schema;
    wm_read_opts o;
    wm_data *d;
    wm_error err;

    wm_read_opts_init(&o);
    o.max_rows = max_rows;
    assert_ok(wm_schema_new(&schema, &err), err);
    assert_ok(wm_data_read(&d, scratch(name), schema, &o, &err), err);
    wm_schema_free(schema);
    return d;
}

/* Rows that are whole, in order, none of them twice. */
static void check_rows(const wm_data *d)
{
    const double *x = wm_data_rows(d);

    for (int64_t i = 0; i < wm_data_count(d); i++) {
        assert_true(x[DIM * i] - 0.5 == -x[DIM * i + 1]);
        assert_true(i == 0 || x[DIM * i] > x[DIM * (i - 1)]);
    }
}

static void the_sample_hangs_on_row_numbers_alone(void **state)
{
    const int64_t block[] = {1, 37, 5000, ROWS};
    double first_sum = 0;

    (void)state;
    for (int b = 0; b < 4; b++) {
        wm_data *d = numbered(0, ROWS);
        double *x = wm_data_rows_mut(d), sum = 0;
        wmi_row_sample s = {0};
        int64_t kept = 0;

        wmi_row_sample_begin(&s, 1000, DIM, -1);
        for (int64_t at = 0; at < ROWS; at += block[b]) {
            const int64_t n = ROWS - at < block[b] ? ROWS - at : block[b];
            int64_t taken;

            memmove(x + DIM * kept, x + DIM * at, (size_t)(DIM * n) * sizeof *x);
            assert_int_equal(wmi_row_sample_take(&s, n, DIM, x + DIM * kept, &taken, NULL), WM_OK);
            kept += taken;
            if (kept > 1000)
                kept = wmi_row_sample_thin(&s, 0, 1000, DIM, x);
        }
        assert_int_equal(s.seen, ROWS);
        assert_in_range((uintmax_t)kept, 700, 1000); /* 0.8 of the limit, 6 sd of the binomial */
        for (int64_t i = 0; i < kept; i++)
            sum += x[DIM * i];
        if (b == 0)
            first_sum = sum;
        assert_true(sum == first_sum);
        /* uniform: the mean row is the middle one within 5 of ROWS / sqrt(12 kept) */
        assert_near(sum / (double)kept, ROWS / 2.0, 5 * ROWS / sqrt(12.0 * (double)kept));
        wmi_row_sample_free(&s);
        wm_data_free(d);
    }
}

static void a_long_table_is_sampled(void **state)
{
    wm_data *d;

    (void)state;
    write_rows("long.npy", 0, ROWS);
    d = read_rows("long.npy", 0);
    assert_int_equal(wm_data_count(d), ROWS);
    assert_int_equal(wm_data_total(d), ROWS);
    wm_data_free(d);
    d = read_rows("long.npy", WM_AUTO); /* not long enough */
    assert_int_equal(wm_data_count(d), ROWS);
    wm_data_free(d);
    d = read_rows("long.npy", 3000);
    assert_int_equal(wm_data_total(d), ROWS);
    assert_in_range((uintmax_t)wm_data_count(d), 2300, 3000);
    check_rows(d);
    wm_data_free(d);
}

static void files_are_one_table(void **state)
{
    wm_data *one, *many;

    (void)state;
    write_rows("part-0.npy", 0, 7000);
    write_rows("part-1.npy", 7000, 1);
    write_rows("part-2.npy", 7001, ROWS - 7001);
    many = read_rows("part-*.npy", 0);
    assert_int_equal(wm_data_count(many), ROWS);
    check_rows(many);
    wm_data_free(many);
    /* The sample is uniform over all of them: as large a share of the first as of the last. */
    many = read_rows("part-?.npy", 2000);
    assert_int_equal(wm_data_total(many), ROWS);
    check_rows(many);
    int64_t early = 0;
    const int64_t n = wm_data_count(many);

    for (int64_t i = 0; i < n; i++)
        early += wm_data_rows(many)[DIM * i] < 7000;
    assert_near((double)early / (double)n, 0.35, 5 * sqrt(0.35 * 0.65 / (double)n));
    wm_data_free(many);
    write_rows("a[0].npy", 0, 3); /* a name is a name */
    one = read_rows("a[0].npy", 0);
    assert_int_equal(wm_data_count(one), 3);
    wm_data_free(one);
}

static void patterns_that_match_nothing_are_said(void **state)
{
    wmi_paths p = {0};
    wm_error err = {0};

    (void)state;
    assert_int_equal(wmi_paths_find(&p, scratch("nothing-*.csv"), &err), WM_EIO);
    assert_non_null(strstr(err.text, "no file has such a name"));
    wmi_paths_free(&p);
    assert_int_equal(wmi_paths_find(&p, "plain.csv", &err), WM_OK);
    assert_int_equal(p.n, 1);
    assert_string_equal(p.path[0], "plain.csv");
    wmi_paths_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_sample_hangs_on_row_numbers_alone),
        cmocka_unit_test(a_long_table_is_sampled),
        cmocka_unit_test(files_are_one_table),
        cmocka_unit_test(patterns_that_match_nothing_are_said),
    };

    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
