/* test_u8_files.c - arrays of bytes, written in blocks, read back from any type of number. */
#include "asserts.h"

#include "base/alloc.h"
#include "data/read_help.h"
#include "images/u8_files.h"

/* Value k of row i. */
static wm_status fill(const wmi_u8_file *file, int64_t first, int64_t n, uint8_t *to, wm_error *err)
{
    const int64_t width = file->rank == 3 ? file->dim[1] * file->dim[2] : file->dim[1];

    (void)err;
    for (int64_t i = 0; i < n * width; i++)
        to[i] = (uint8_t)((first * width + i) * 31 + file->tag);
    return WM_OK;
}

static wm_status refuse(const wmi_u8_file *file, int64_t first, int64_t n, uint8_t *to,
                        wm_error *err)
{
    (void)first, (void)n, (void)to;
    return wmi_fail(err, WM_EINVAL, "%s will not be drawn", file->name);
}

static void blocks_make_one_array(void **state)
{
    /* More than one block of 4 MiB, with an odd width. */
    const wmi_u8_file files[2] = {
        {.name = "one/big", .rank = 3, .dim = {901, 71, 67}, .fill = fill, .tag = 3},
        {.name = "small", .rank = 2, .dim = {2, 3}, .fill = fill, .tag = 5}};
    int64_t n, dim = 0;
    wm_error err = {0};
    uint8_t *x;

    (void)state;
    assert_ok(wmi_u8_files_write(files, 2, scratch("set"), false, &err), err);
    assert_ok(wmi_u8_read(&x, &n, &dim, scratch("set/one/big.npy"), &err), err);
    assert_int_equal(n, 901);
    assert_int_equal(dim, 71 * 67);
    for (int64_t i = 0; i < n * dim; i++)
        if (x[i] != (uint8_t)(i * 31 + 3))
            fail_msg("byte %d is %d", (int)i, x[i]);
    wmi_free(x);
    dim = 4;
    assert_int_equal(wmi_u8_read(&x, &n, &dim, scratch("set/small.npy"), &err), WM_ESHAPE);
    assert_null(x);
    assert_non_null(strstr(err.text, "rows of 3 values, expected 4"));
}

static void a_failure_leaves_no_file(void **state)
{
    const wmi_u8_file files[2] = {{.name = "a", .rank = 2, .dim = {4, 3}, .fill = fill},
                                  {.name = "b", .rank = 2, .dim = {4, 3}, .fill = refuse}};
    wm_error err = {0};

    (void)state;
    assert_int_equal(wmi_u8_files_write(files, 2, scratch("none"), false, &err), WM_EINVAL);
    assert_string_equal(err.text, "b will not be drawn");
    assert_int_equal(scratch_count(scratch("none")), 0);
    assert_ok(wmi_u8_files_write(files, 1, scratch("none"), false, &err), err);
    assert_int_equal(wmi_u8_files_write(files, 1, scratch("none"), false, &err), WM_EINVAL);
    assert_non_null(strstr(err.text, "none/a.npy: is there already"));
}

static void numbers_that_are_no_bytes_are_named(void **state)
{
    const double good[3] = {0, 255, 7}, high[3] = {1, 2, 256}, half[3] = {1, 2.5, 3};
    int64_t n, dim = 0;
    wm_error err = {0};
    uint8_t *x;

    (void)state;
    make_npy("f.npy", 1, "{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }", good,
             sizeof good);
    assert_ok(wmi_u8_read(&x, &n, &dim, scratch("f.npy"), &err), err);
    assert_int_equal(n, 3);
    assert_memory_equal(x, "\0\xff\7", 3);
    wmi_free(x);
    make_npy("f.npy", 1, "{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }", high,
             sizeof high);
    assert_int_equal(wmi_u8_read(&x, &n, &dim, scratch("f.npy"), &err), WM_EFORMAT);
    assert_non_null(strstr(err.text, "f.npy: row 3, column 1 is 256, expected a whole number"));
    make_npy("f.npy", 1, "{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }", half,
             sizeof half);
    assert_int_equal(wmi_u8_read(&x, &n, &dim, scratch("f.npy"), &err), WM_EFORMAT);
    assert_non_null(strstr(err.text, "row 2, column 1 is 2.5"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_make_one_array),
        cmocka_unit_test(a_failure_leaves_no_file),
        cmocka_unit_test(numbers_that_are_no_bytes_are_named),
    };

    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
