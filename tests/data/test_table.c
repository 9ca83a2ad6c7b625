/* test_table.c - wm_data: ownership, bounds, and the message about values that are not finite. */
#include "asserts.h"

#include <string.h>

#include "base/alloc.h"
#include "data/table/table.h"
#include "waymark/data.h"

static void a_table_copies_its_rows(void **state)
{
    double rows[6] = {1, 2, 3, 4, 5, 6};
    const int64_t live = wmi_alloc_live();
    wm_data *d;
    wm_error err;

    (void)state;
    assert_ok(wm_data_new(&d, 3, 2, rows, &err), err);
    rows[5] = 99;
    assert_int_equal(wm_data_count(d), 3);
    assert_int_equal(wm_data_dim(d), 2);
    assert_true(wm_data_rows(d)[5] == 6);
    wm_data_rows_mut(d)[0] = -1;
    assert_true(wm_data_rows(d)[0] == -1);
    assert_int_equal((uintptr_t)wm_data_rows(d) % 64, 0);
    wm_data_free(d);
    assert_ok(wm_data_new(&d, 2, 2, NULL, &err), err);
    for (int i = 0; i < 4; i++)
        assert_true(wm_data_rows(d)[i] == 0);
    wm_data_free(d);
    wm_data_free(NULL);
    assert_int_equal(wmi_alloc_live(), live);
}

static void borrowed_rows_stay_where_they_are(void **state)
{
    double rows[6] = {1, 2, 3, 4, 5, 6};
    const int64_t live = wmi_alloc_live();
    wm_data *d;
    wm_error err;

    (void)state;
    assert_ok(wm_data_borrow(&d, 2, 3, rows, &err), err);
    assert_ptr_equal(wm_data_rows(d), rows);
    assert_int_equal(wm_data_count(d), 2);
    assert_int_equal(wm_data_dim(d), 3);
    wm_data_free(d); /* which would end the program if it freed the rows */
    assert_true(rows[5] == 6);
    assert_int_equal(wm_data_borrow(&d, 0, 3, rows, &err), WM_EINVAL);
    assert_null(d);
    assert_int_equal(wmi_alloc_live(), live);
}

static void the_number_of_rows_may_change(void **state)
{
    const double rows[6] = {1, 2, 3, 4, 5, 6};
    const int64_t live = wmi_alloc_live();
    wm_data *d;
    wm_error err;

    (void)state;
    assert_ok(wm_data_new(&d, 3, 2, rows, &err), err);
    assert_ok(wmi_data_resize(d, 1, &err), err);
    assert_int_equal(wm_data_count(d), 1);
    assert_ok(wmi_data_resize(d, 2, &err), err); /* what was forgotten does not come back */
    assert_true(wm_data_rows(d)[1] == 2 && wm_data_rows(d)[2] == 0);
    assert_ok(wmi_data_resize(d, 100, &err), err);
    assert_int_equal(wm_data_count(d), 100);
    assert_true(wm_data_rows(d)[0] == 1 && wm_data_rows(d)[1] == 2);
    for (int i = 2; i < 200; i++)
        assert_true(wm_data_rows(d)[i] == 0);
    wmi_alloc_fail_at(1);
    assert_int_equal(wmi_data_resize(d, 1000, &err), WM_ENOMEM);
    wmi_alloc_fail_at(0);
    assert_int_equal(wmi_data_resize(d, INT64_MAX, &err), WM_ENOMEM);
    assert_int_equal(wm_data_count(d), 100);
    assert_true(wm_data_rows(d)[1] == 2);
    wm_data_free(d);
    assert_int_equal(wmi_alloc_live(), live);
}

static void sizes_that_cannot_be(void **state)
{
    wm_error err = {0};
    wm_data *d = (wm_data *)&err;

    (void)state;
    assert_int_equal(wm_data_new(&d, 0, 3, NULL, &err), WM_EINVAL);
    assert_null(d);
    assert_non_null(strstr(err.text, "0 rows and 3 columns"));
    assert_int_equal(wm_data_new(&d, 3, -1, NULL, &err), WM_EINVAL);
    assert_int_equal(wm_data_new(&d, INT64_MAX / 2, 3, NULL, &err),
                     WM_ENOMEM); /* overflows n dim */
    assert_int_equal(wm_data_new(&d, INT64_MAX / 4, 2, NULL, &err), WM_ENOMEM); /* and its bytes */
    assert_null(d);
    for (int k = 1; k <= 2; k++) {
        const int64_t live = wmi_alloc_live();

        wmi_alloc_fail_at(k);
        assert_int_equal(wm_data_new(&d, 1, 1, NULL, &err), WM_ENOMEM);
        wmi_alloc_fail_at(0);
        assert_int_equal(wmi_alloc_live(), live);
    }
}

static void the_first_bad_value_is_named(void **state)
{
    wm_error err = {0};
    wm_data *d;

    (void)state;
    assert_ok(wm_data_new(&d, 4, 3, NULL, &err), err);
    assert_ok(wm_data_check_finite(d, "p", &err), err);
    wm_data_rows_mut(d)[2 * 3 + 1] = -INFINITY;
    assert_int_equal(wm_data_check_finite(d, "q", &err), WM_EINVAL);
    assert_string_equal(err.text, "q: row 3, column 2 is -inf (1 such value in all): "
                                  "remove or impute these rows");
    wm_data_rows_mut(d)[1 * 3 + 2] = NAN;
    assert_int_equal(wm_data_check_finite(d, "train.csv", &err), WM_EINVAL);
    assert_string_equal(err.text, "train.csv: row 2, column 3 is NaN (2 such values in all): "
                                  "remove or impute these rows");
    assert_int_equal(wm_data_check_finite(d, "p", NULL), WM_EINVAL);
    wm_data_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_table_copies_its_rows),
        cmocka_unit_test(borrowed_rows_stay_where_they_are),
        cmocka_unit_test(the_number_of_rows_may_change),
        cmocka_unit_test(sizes_that_cannot_be),
        cmocka_unit_test(the_first_bad_value_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
