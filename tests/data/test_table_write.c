/* test_table_write.c - npy and CSV files as they stand on the disk. */
#include "asserts.h"
#include "scratch.h"

#include "waymark/generators.h"
#include "waymark/write.h"

static void csv_has_names_and_digits(void **state)
{
    const double x[] = {1, 0.1, 1.0 / 3, -2e-300}, y[] = {1e22, 5};
    const char *const prefixes[] = {"X", "Y"};
    wm_error err = {0};
    wm_data *a, *b, *longer;

    (void)state;
    assert_ok(wm_data_new(&a, 2, 2, x, &err), err);
    assert_ok(wm_data_new(&b, 2, 1, y, &err), err);
    assert_ok(wm_data_new(&longer, 3, 1, NULL, &err), err);
    assert_ok(wm_data_write_csv((const wm_data *[]){a, b}, prefixes, 2, scratch("t.csv"), &err),
              err);
    assert_string_equal(scratch_read(scratch("t.csv")),
                        "X0,X1,Y0\n1,0.1,1e+22\n0.3333333333333333,-2e-300,5\n");
    assert_int_equal(
        wm_data_write_csv((const wm_data *[]){a, longer}, prefixes, 2, scratch("bad.csv"), &err),
        WM_ESHAPE);
    assert_non_null(strstr(err.text, "tables of 2 and 3 rows"));
    assert_int_equal(wm_data_write_csv(NULL, NULL, 0, scratch("bad.csv"), &err), WM_EINVAL);
    assert_int_equal(
        wm_data_write_csv((const wm_data *[]){a}, prefixes, 1, scratch("nowhere/t.csv"), &err),
        WM_EIO);
    assert_int_equal(scratch_count(scratch_folder), 1); /* no temporaries, no bad.csv */
    wm_data_free(a), wm_data_free(b), wm_data_free(longer);
}

static void npy_holds_the_same_bytes(void **state)
{
    const double x[] = {1, 2, 3, 4, 5, 6};
    char bytes[256];
    wm_error err = {0};
    wm_data *a;
    FILE *f;
    size_t n;

    (void)state;
    assert_ok(wm_data_new(&a, 3, 2, x, &err), err);
    assert_ok(wm_data_write_npy(a, scratch("a.npy"), &err), err);
    f = fopen(scratch("a.npy"), "rb");
    assert_non_null(f);
    n = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    assert_int_equal(n, 128 + sizeof x);
    assert_memory_equal(bytes, "\x93NUMPY", 6);
    assert_non_null(strstr(bytes + 10, "(3, 2)"));
    assert_memory_equal(bytes + 128, x, sizeof x);
    wm_data_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(csv_has_names_and_digits),
        cmocka_unit_test(npy_holds_the_same_bytes),
    };

    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
