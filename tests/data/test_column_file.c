/* test_column_file.c - a column written in pieces: the bytes, and what is left when it fails. */
#include "asserts.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "data/formats/npy.h"
#include "data/table/column_file.h"
#include "scratch.h"

static const double numbers[] = {0.1, -2, 1e300, 0, INFINITY};

static void write_in_pieces(const char *path, wmi_column_format format, const int64_t *rows)
{
    wmi_column_file *c;
    wm_error err;

    assert_ok(wmi_column_file_open(&c, path, format, "weight", 5, NULL, &err), err);
    assert_ok(wmi_column_file_write(c, numbers, rows, 2, &err), err);
    assert_ok(wmi_column_file_write(c, numbers, NULL, 0, &err), err);
    assert_ok(wmi_column_file_write(c, numbers + 2, rows ? rows + 2 : NULL, 3, &err), err);
    assert_false(wmi_file_exists(path)); /* whole or not at all */
    assert_ok(wmi_column_file_commit(c, &err), err);
}

static void bytes_are_those_of_the_formats(void **state)
{
    static const int64_t rows[] = {0, 3, 4, 9, 1000000000000};
    double *want;
    wm_error err;
    char *all;
    size_t n;

    (void)state;
    write_in_pieces(scratch("a.csv"), WMI_COLUMN_CSV, NULL);
    assert_string_equal(scratch_read(scratch("a.csv")),
                        "row,weight\n1,0.1\n2,-2\n3,1e+300\n4,0\n5,inf\n");
    write_in_pieces(scratch("b.csv"), WMI_COLUMN_CSV, rows);
    assert_string_equal(scratch_read(scratch("b.csv")),
                        "row,weight\n1,0.1\n4,-2\n5,1e+300\n10,0\n1000000000001,inf\n");
    write_in_pieces(scratch("a.txt"), WMI_COLUMN_TEXT, NULL);
    assert_string_equal(scratch_read(scratch("a.txt")), "0.1\n-2\n1e+300\n0\ninf\n");
    write_in_pieces(scratch("a.npy"), WMI_COLUMN_NPY, rows);
    assert_ok(wmi_file_read(&all, &n, scratch("a.npy"), 4096, &err), err);
    assert_int_equal(n, 128 + sizeof numbers);
    want = (double *)(void *)(all + 128);
    assert_memory_equal(want, numbers, sizeof numbers);
    assert_non_null(strstr(all + 10, "'shape': (5,)"));
    wmi_free(all);
}

static void heads_of_vectors_have_one_size(void **state)
{
    char head[WMI_NPY_HEAD];

    (void)state;
    for (int64_t n = 0; n < INT64_MAX / 10; n = 10 * n + 9)
        assert_int_equal(wmi_npy_header(head, 8, 1, &n), 128);
}

static void nothing_is_left_of_what_is_abandoned(void **state)
{
    wmi_column_file *c;
    wm_error err;
    int before;

    (void)state;
    before = scratch_count(scratch_folder);
    assert_ok(wmi_column_file_check(scratch("never.npy"), &err), err);
    assert_int_equal(scratch_count(scratch_folder), before);
    assert_ok(wmi_column_file_open(&c, scratch("never.npy"), WMI_COLUMN_NPY, "x", 2, NULL, &err),
              err);
    assert_ok(wmi_column_file_write(c, numbers, NULL, 1, &err), err);
    wmi_column_file_abandon(c);
    wmi_column_file_abandon(NULL);
    assert_int_equal(scratch_count(scratch_folder), before);
}

static void places_that_cannot_be_written_are_told(void **state)
{
    double *many = calloc(100000, sizeof *many);
    wmi_column_file *c;
    wm_error err;

    (void)state;
    assert_int_equal(wmi_column_file_check(scratch("no/such.npy"), &err), WM_EIO);
    assert_non_null(strstr(err.text, "no/such.npy: cannot write: No such file"));
    assert_int_equal(wmi_column_file_check(scratch_folder, &err), WM_EIO);
    assert_non_null(strstr(err.text, "Is a directory"));
    assert_int_equal(
        wmi_column_file_open(&c, scratch("no/such.npy"), WMI_COLUMN_NPY, "x", 2, NULL, &err),
        WM_EIO);
    assert_null(c);
    if (wmi_file_exists("/dev/full")) {
        assert_ok(wmi_column_file_check("/dev/full", &err), err);
        assert_ok(wmi_column_file_open(&c, "/dev/full", WMI_COLUMN_NPY, "x", 100000, NULL, &err),
                  err);
        assert_int_equal(wmi_column_file_write(c, many, NULL, 100000, &err), WM_EIO);
        assert_string_equal(err.text, "/dev/full: cannot write: No space left on device");
        wmi_column_file_abandon(c);
        /* What fits in a buffer is only found out at the end. */
        assert_ok(wmi_column_file_open(&c, "/dev/full", WMI_COLUMN_TEXT, "x", 1, NULL, &err), err);
        assert_ok(wmi_column_file_write(c, many, NULL, 1, &err), err);
        assert_int_equal(wmi_column_file_commit(c, &err), WM_EIO);
        assert_non_null(strstr(err.text, "No space left"));
    }
    free(many);
}

static void memory_that_runs_out_is_told(void **state)
{
    const int64_t live = wmi_alloc_live();
    wm_status st;
    int k = 0, before;

    (void)state;
    before = scratch_count(scratch_folder);
    do {
        wmi_column_file *c;
        wm_error err = {0};

        wmi_alloc_fail_at(++k);
        st = wmi_column_file_open(&c, scratch("m.npy"), WMI_COLUMN_NPY, "x", 1, NULL, &err);
        wmi_alloc_fail_at(0);
        wmi_column_file_abandon(c);
        assert_true(st == WM_OK || st == WM_ENOMEM);
        assert_int_equal(wmi_alloc_live(), live);
        assert_int_equal(scratch_count(scratch_folder), before);
    } while (st && k < 100);
    assert_true(k > 2 && !st);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_are_those_of_the_formats),
        cmocka_unit_test(heads_of_vectors_have_one_size),
        cmocka_unit_test(nothing_is_left_of_what_is_abandoned),
        cmocka_unit_test(places_that_cannot_be_written_are_told),
        cmocka_unit_test(memory_that_runs_out_is_told),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
