/* test_npy.c - the bytes of .npy files, and NumPy's own opinion of them where it is installed. */
#include "asserts.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "data/formats/npy.h"
#include "scratch.h"

static void bytes_are_those_of_the_format(void **state)
{
    static const char head[] = "\x93NUMPY\x01\0v\0{'descr': '<f8', 'fortran_order': False, "
                               "'shape': (3, 2), }";
    const double x[6] = {1, 2, 3, 4, 5, 0.1};
    const float y[2] = {-1, 0.5F};
    wm_error err;
    char *all;
    size_t n;

    (void)state;
    assert_ok(wmi_npy_write_f64(scratch("a.npy"), x, 2, (int64_t[]){3, 2}, &err), err);
    assert_ok(wmi_file_read(&all, &n, scratch("a.npy"), 4096, &err), err);
    assert_int_equal(n, 128 + sizeof x);
    assert_memory_equal(all, head, sizeof head - 1);
    assert_int_equal(all[126], ' ');
    assert_int_equal(all[127], '\n');
    assert_memory_equal(all + 128, x, sizeof x);
    wmi_free(all);
    assert_ok(wmi_npy_write_f32(scratch("b.npy"), y, 1, (int64_t[]){2}, &err), err);
    assert_ok(wmi_file_read(&all, &n, scratch("b.npy"), 4096, &err), err);
    assert_memory_equal(all + 10, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", 57);
    assert_int_equal(n % 64, sizeof y);
    assert_memory_equal(all + n - sizeof y, y, sizeof y);
    wmi_free(all);
}

static void numpy_reads_them(void **state)
{
    /* Debian's NumPy belongs to Debian's Python, which need not be the first on the PATH. */
    static const char *const pythons[] = {"python3", "/usr/bin/python3"};
    double x[24];
    const float y[2] = {-1, 0.5F};
    char command[4096];
    int k = 0;
    wm_error err;

    (void)state;
    while (k < 2) {
        snprintf(command, sizeof command, "%s -c 'import numpy' 2>/dev/null", pythons[k]);
        if (system(command) == 0) /* NOLINT: a command of our own */
            break;
        k++;
    }
    if (k == 2)
        skip();
    for (int i = 0; i < 24; i++)
        x[i] = i / 3.0;
    assert_ok(wmi_npy_write_f64(scratch("c.npy"), x, 3, (int64_t[]){2, 3, 4}, &err), err);
    assert_ok(wmi_npy_write_f32(scratch("d.npy"), y, 1, (int64_t[]){2}, &err), err);
    assert_ok(wmi_npy_write_f64(scratch("e.npy"), NULL, 2, (int64_t[]){0, 7}, &err), err);
    snprintf(command, sizeof command,
             "%s -c 'import numpy as n, sys; c, d, e = map(n.load, sys.argv[1:]);"
             "assert c.shape == (2, 3, 4) and c.dtype == n.float64;"
             "assert (c.ravel() == n.arange(24) / 3.0).all() and c.flags.c_contiguous;"
             "assert d.dtype == n.float32 and d.tolist() == [-1, 0.5];"
             "assert e.shape == (0, 7)' '%s' '%s' '%s'",
             pythons[k], scratch("c.npy"), scratch("d.npy"), scratch("e.npy"));
    assert_int_equal(system(command), 0); /* NOLINT: a command of our own */
}

static void shapes_that_cannot_be(void **state)
{
    const double x = 1;
    wm_error err = {0};

    (void)state;
    assert_int_equal(wmi_npy_write_f64(scratch("f.npy"), &x, 0, NULL, &err), WM_EINVAL);
    assert_int_equal(wmi_npy_write_f64(scratch("f.npy"), &x, 4, (int64_t[]){1, 1, 1, 1}, &err),
                     WM_EINVAL);
    assert_int_equal(wmi_npy_write_f64(scratch("f.npy"), &x, 2, (int64_t[]){1, -1}, &err),
                     WM_EINVAL);
    assert_non_null(strstr(err.text, "f.npy: dimension 1 is -1"));
    assert_int_equal(wmi_npy_write_f64(scratch("f.npy"), &x, 2, (int64_t[]){INT64_MAX, 8}, &err),
                     WM_EINVAL);
    assert_false(wmi_file_exists(scratch("f.npy")));
    assert_int_equal(wmi_npy_write_f64(scratch("no/f.npy"), &x, 1, (int64_t[]){1}, &err), WM_EIO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_are_those_of_the_format),
        cmocka_unit_test(numpy_reads_them),
        cmocka_unit_test(shapes_that_cannot_be),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
