/* test_mi.c - joining, shuffling, and the estimators that a mutual information is compared with. */
#include <string.h>

#include "asserts.h"
#include "waymark/generators.h"
#include "waymark/mi.h"

static void tables_are_joined_and_shuffled(void **state)
{
    enum { N = 500 };
    wm_data *u, *v, *joint, *shuffled;
    int same = 0;
    double sum = 0;
    wm_error err;

    (void)state;
    assert_ok(wm_data_normal(&u, N, 2, 0, 1, 1, "u", &err), err);
    assert_ok(wm_data_normal(&v, N, 1, 0, 1, 1, "v", &err), err);
    assert_ok(wm_mi_join(&joint, u, v, &err), err);
    assert_int_equal(wm_data_dim(joint), 3);
    assert_ok(wm_mi_shuffle(&shuffled, joint, 2, 1, &err), err);
    for (int i = 0; i < N; i++) {
        const double *row = wm_data_rows(joint) + 3 * i, *other = wm_data_rows(shuffled) + 3 * i;

        assert_memory_equal(row, wm_data_rows(u) + 2 * i, 2 * sizeof *row);
        assert_true(row[2] == wm_data_rows(v)[i]);
        assert_memory_equal(other, row, 2 * sizeof *row); /* u stays */
        same += other[2] == row[2];
        sum += other[2] - row[2];
    }
    assert_true(same < 10);     /* one is expected */
    assert_near(sum, 0, 1e-10); /* the values are the same */
    wm_data_free(shuffled);
    wm_data_free(joint);
    assert_int_equal(wm_mi_join(&joint, u, u, &err), WM_OK);
    wm_data_free(joint);
    wm_data_free(v);
    assert_ok(wm_data_normal(&v, N - 1, 1, 0, 1, 1, "v", &err), err);
    assert_int_equal(wm_mi_join(&joint, u, v, &err), WM_ESHAPE);
    assert_non_null(strstr(err.text, "u has 500 rows and v 499"));
    wm_data_free(v);
    wm_data_free(u);
}

/* One nat in one pair of columns, by neighbours: the bias of KSG is below 0.05 here, and its
 * standard error 0.03. Networks are tested in test_mi_methods. */
static void neighbours_find_a_nat(void **state)
{
    const wm_mi_method ksg = WM_MI_KSG;
    wm_mi_by_method got;
    wm_mi_opts o;
    wm_data *x;
    wm_error err;

    (void)state;
    assert_ok(wm_data_gaussian_pairs(&x, 2000, 2, wm_gaussian_pairs_rho(2, 1), 1, "x", &err), err);
    wm_mi_opts_init(&o);
    o.by_rank = true;
    assert_ok(wm_mi_methods_run(&got, 1, &ksg, x, NULL, &o, &err), err);
    assert_near(got.mi, 1, 0.15);
    assert_false(got.doubtful);
    assert_string_equal(wm_mi_method_name(WM_MI_KSG), "ksg");
    assert_string_equal(wm_mi_method_name(WM_MI_INFONCE), "infonce");
    wm_data_free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_are_joined_and_shuffled),
        cmocka_unit_test(neighbours_find_a_nat),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
