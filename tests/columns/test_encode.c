/* test_encode.c - columns as models see them: scaled, ranked, as indicators; and what they do in a
 * chain. */
#include <string.h>

#include "asserts.h"
#include "columns/encode.h"
#include "waymark/waymarks.h"

enum { RAW = 4, N = 6, DIM = 9 }; /* 1 + (1 + 4) + 2 + 1 features */

/* A number, a count, three categories, two categories. */
static const wm_kind kinds[RAW] = {WM_KIND_CONTINUOUS, WM_KIND_INTEGER, WM_KIND_CATEGORICAL,
                                   WM_KIND_CATEGORICAL};
static const int64_t levels[RAW] = {0, 0, 3, 2};
static const double p[N * RAW] = {0, 1, 0, 0, 1, 2, 1, 1, 2, 3, 2, 0,
                                  3, 4, 0, 1, 4, 5, 1, 0, 5, 6, 2, 1};
static const double q[N * RAW] = {2, 1, 1, 0, 3, 2, 1, 1, 4, 3, 2, 0,
                                  5, 4, 0, 1, 6, 5, 1, 0, 7, 6, 1, 1};

static wmi_encoder fit(bool by_rank)
{
    const int64_t n[2] = {N, N};
    const double *const x[2] = {p, q};
    const wmi_encode_opts o = {
        .kind = kinds, .levels = levels, .standardize = true, .by_rank = by_rank};
    wmi_encoder e;
    wm_error err;

    assert_ok(wmi_encoder_fit(&e, RAW, n, x, &o, &err), err);
    return e;
}

/* Column 1: means 2.5 and 4.5, variances 35/12: pooled 3.5 and 35/12 + 1. */
static void numbers_are_standardised_by_both_tables(void **state)
{
    wmi_encoder e = fit(false);
    double out[N * DIM];
    wm_error err;

    (void)state;
    assert_int_equal(e.dim, DIM);
    assert_ok(wmi_encoder_apply(&e, N, p, out, &err), err);
    for (int i = 0; i < N; i++) {
        assert_near(out[i * DIM], (p[i * RAW] - 3.5) / sqrt(35 / 12.0 + 1), 1e-14);
        assert_near(out[i * DIM + 1], (p[i * RAW + 1] - 3.5) / sqrt(35 / 12.0), 1e-14);
    }
    wmi_encoder_free(&e);
}

/* Level 1 of column 3 has shares 1/3 and 2/3: indicator less 1/2, over 1/2. */
/* Few whole numbers: the number, and indicators of all but the first and the last. */
static void few_whole_numbers_become_indicators_too(void **state)
{
    const double x[] = {2, 5, 5, 9, 11, 2, 9, 5}, new[] = {7};
    const int64_t n[2] = {8, 0};
    const double *const both[2] = {x, NULL};
    const wm_kind kind[] = {WM_KIND_INTEGER};
    const wmi_encode_opts o = {.kind = kind, .standardize = true};
    double out[8 * 3];
    wmi_encoder e;
    wm_error err;

    (void)state;
    assert_ok(wmi_encoder_fit(&e, 1, n, both, &o, &err), err);
    assert_int_equal(e.dim, 3); /* 2, 5, 9, 11: the number, 5 and 9 */
    assert_ok(wmi_encoder_apply(&e, 8, x, out, &err), err);
    assert_near(out[0], (2 - 6.0) / e.scale[0], 1e-14);       /* the mean is 48 / 8 */
    assert_true(out[3 + 1] > 0 && out[3 + 2] < 0);            /* the 5 */
    assert_true(out[9 + 1] < 0 && out[9 + 2] > 0);            /* the 9 */
    assert_true(out[12 + 1] < 0 && out[12 + 2] < 0);          /* the 11 */
    assert_ok(wmi_encoder_apply(&e, 1, new, out, &err), err); /* as a number, it is one */
    assert_true(out[1] < 0 && out[2] < 0);
    wmi_encoder_free(&e);
}

static void categories_become_indicators(void **state)
{
    wmi_encoder e = fit(false);
    double out[N * DIM], bad[RAW] = {0, 1, 3, 0};
    wm_error err;

    (void)state;
    assert_ok(wmi_encoder_apply(&e, N, p, out, &err), err);
    for (int i = 0; i < N; i++) {
        assert_near(out[i * DIM + 6], p[i * RAW + 2] == 1 ? 1 : -1, 1e-14);
        assert_near(out[i * DIM + 8], p[i * RAW + 3] == 1 ? 1 : -1, 1e-14);
    }
    assert_int_equal(wmi_encoder_apply(&e, 1, bad, out, &err), WM_EINVAL);
    assert_non_null(strstr(err.text, "column 3 has category 3"));
    wmi_encoder_free(&e);
}

/* Counts and categories are not ranked; a copy does what its original does. */
static void ranks_are_for_continuous_columns(void **state)
{
    wmi_encoder e = fit(true), copy;
    double a[N * DIM], b[N * DIM];
    wm_error err;

    (void)state;
    assert_int_equal(e.how[0], WMI_ENCODE_RANK);
    assert_int_equal(e.how[1], WMI_ENCODE_SCALE);
    assert_ok(wmi_encoder_apply(&e, N, p, a, &err), err);
    for (int i = 1; i < N; i++)
        assert_true(a[i * DIM] > a[(i - 1) * DIM]);
    assert_true(fabs(a[0]) < 2 && a[0] < -1); /* the least of twelve values */
    assert_ok(wmi_encoder_copy(&copy, &e, &err), err);
    assert_ok(wmi_encoder_apply(&copy, N, p, b, &err), err);
    assert_memory_equal(a, b, sizeof a);
    wmi_encoder_free(&copy);
    wmi_encoder_free(&e);
}

static void columns_move_as_their_kind_wants(void **state)
{
    wmi_encoder e = fit(false);
    int64_t columns[DIM];

    (void)state;
    assert_int_equal(wmi_encoder_columns(&e, 0, columns), 3);
    assert_int_equal(columns[0], WM_COLUMN_LINEAR);
    assert_int_equal(columns[1], 0); /* the count */
    assert_int_equal(columns[5], 0); /* with its indicators */
    assert_int_equal(columns[6], 1); /* both indicators of one column in one block */
    assert_int_equal(columns[7], 1);
    assert_int_equal(columns[8], 2);
    assert_int_equal(wmi_encoder_columns(&e, 2, columns), 2);
    assert_int_equal(columns[0], WM_COLUMN_KEPT);
    assert_int_equal(columns[1], WM_COLUMN_KEPT);
    assert_int_equal(columns[6], 0);
    wmi_encoder_free(&e);
}

static void constant_columns_are_refused(void **state)
{
    const double flat[] = {1, 7, 2, 7, 3, 7}, other[] = {1, 8, 2, 9, 3, 7};
    const int64_t n[2] = {3, 3};
    const double *const both[2] = {flat, flat}, *const one[2] = {other, flat};
    const char *const labels[] = {"'a'", "'b'"};
    const wmi_encode_opts o = {.standardize = true, .label = labels};
    wmi_encoder e;
    wm_error err;

    (void)state;
    assert_int_equal(wmi_encoder_fit(&e, 2, n, both, &o, &err), WM_EINVAL);
    assert_non_null(strstr(err.text, "'b' is constant (7)"));
    assert_int_equal(wmi_encoder_fit(&e, 2, n, one, &o, &err), WM_EINVAL);
    assert_non_null(strstr(err.text, "'b' is constant (7) in q but not in the other"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_standardised_by_both_tables),
        cmocka_unit_test(few_whole_numbers_become_indicators_too),
        cmocka_unit_test(categories_become_indicators),
        cmocka_unit_test(ranks_are_for_continuous_columns),
        cmocka_unit_test(columns_move_as_their_kind_wants),
        cmocka_unit_test(constant_columns_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
