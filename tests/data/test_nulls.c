/* test_nulls.c - arguments that are missing are refused by name, not read. */
#include "asserts.h"

#include <string.h>

#include "waymark/read.h"
#include "waymark/write.h"

static void missing_arguments_are_refused(void **state)
{
    const int64_t dim[1] = {1};
    wm_schema *s = NULL;
    wm_data *d = NULL;
    wm_error err = {0};

    (void)state;
    assert_ok(wm_schema_new(&s, &err), err);
    assert_int_equal(wm_schema_new(NULL, &err), WM_EINVAL);
    assert_int_equal(wm_schema_parse(&s, NULL, &err), WM_EINVAL);
    assert_int_equal(wm_data_read(&d, NULL, s, NULL, &err), WM_EINVAL);
    assert_non_null(
        strstr(err.text, "wm_data_read: NULL where none may be: out && path && schema"));
    assert_int_equal(wm_data_read(&d, "x.csv", NULL, NULL, &err), WM_EINVAL);
    assert_int_equal(wm_data_read(NULL, "x.csv", s, NULL, &err), WM_EINVAL);
    assert_int_equal(wm_data_new(NULL, 1, 1, NULL, &err), WM_EINVAL);
    assert_int_equal(wm_data_new(&d, -1, 1, NULL, &err), WM_EINVAL);
    assert_int_equal(wm_data_new(&d, 1, -1, NULL, NULL), WM_EINVAL); /* err may be NULL */
    assert_int_equal(wm_data_write_npy(NULL, "x.npy", &err), WM_EINVAL);
    assert_int_equal(wm_npy_write(NULL, (double[]){1}, 1, dim, &err), WM_EINVAL);
    assert_int_equal(wm_data_write_csv(NULL, NULL, 1, "x.csv", &err), WM_EINVAL);
    wm_schema_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(missing_arguments_are_refused)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
