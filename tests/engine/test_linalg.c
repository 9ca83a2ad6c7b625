/* test_linalg.c - Cholesky and its relatives against products written out. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "asserts.h"
#include "engine/backend/linalg.h"

enum { D = 7, N = 50 };

/* A positive definite matrix: B B' + I with B from a formula. */
static void definite(double *a)
{
    for (int i = 0; i < D; i++)
        for (int j = 0; j < D; j++) {
            a[i * D + j] = i == j;
            for (int k = 0; k < D; k++)
                a[i * D + j] += sin(1.0 + 3 * i + k) * sin(1.0 + 3 * j + k);
        }
}

static void factor_inverse_and_determinant_agree(void **state)
{
    double a[D * D], l[D * D], inv[D * D], product[D * D];
    wm_error err;

    (void)state;
    definite(a);
    memcpy(l, a, sizeof a);
    assert_ok(wmi_cholesky(D, l, "a", &err), err);
    for (int i = 0; i < D; i++)
        for (int j = 0; j < D; j++) {
            double s = 0;

            for (int k = 0; k < D; k++)
                s += l[i * D + k] * l[j * D + k];
            assert_near(s, a[i * D + j], 1e-12);
        }
    memcpy(inv, l, sizeof l);
    wmi_cholesky_inverse(D, inv);
    wmi_product(D, D, D, 1, a, inv, 0, product);
    for (int i = 0; i < D * D; i++)
        assert_near(product[i], i % (D + 1) == 0, 1e-12);
    const double two[] = {2, 0, 1, 1}; /* L L' = (4, 2; 2, 2), determinant 4 */

    assert_near(wmi_cholesky_logdet(2, two), log(4), 1e-14);
}

static void solving_undoes_multiplying(void **state)
{
    double a[D * D], x[N * D], z[N * D];
    wm_error err;

    (void)state;
    definite(a);
    assert_ok(wmi_cholesky(D, a, "a", &err), err);
    for (int i = 0; i < N * D; i++)
        x[i] = cos(0.3 * i);
    for (int i = 0; i < N * D; i++) { /* (L x)_j = sum_k L_jk x_k */
        z[i] = 0;
        for (int k = 0; k < D; k++)
            z[i] += a[i % D * D + k] * x[i / D * D + k];
    }
    wmi_lower_solve(N, D, a, z);
    for (int i = 0; i < N * D; i++)
        assert_near(z[i], x[i], 1e-12);
}

static void scatter_is_the_sum_of_squares(void **state)
{
    enum { ROWS = 5000 }; /* more than one chunk */
    static double x[ROWS * 2];
    const double mean[] = {1, -2};
    double s[4], want[4] = {0};
    wm_error err;

    (void)state;
    for (int i = 0; i < ROWS; i++) {
        x[2 * i] = sin(i);
        x[2 * i + 1] = sin(i) + cos(2 * i);
        for (int j = 0; j < 4; j++)
            want[j] += (x[2 * i + j / 2] - mean[j / 2]) * (x[2 * i + j % 2] - mean[j % 2]);
    }
    assert_ok(wmi_scatter(ROWS, 2, x, mean, s, &err), err);
    for (int j = 0; j < 4; j++)
        assert_near(s[j], want[j], 1e-9 * fabs(want[j]));
}

static void a_singular_matrix_is_named(void **state)
{
    double a[] = {1, 1, 0, 1, 1, 0, 0, 0, 1};
    wm_error err;

    (void)state;
    assert_int_equal(wmi_cholesky(3, a, "covariance of p", &err), WM_EINVAL);
    assert_non_null(strstr(err.text, "covariance of p"));
    assert_non_null(strstr(err.text, "column 2"));
}

/* Whether rounding leaves the last pivot a little above or below zero depends on the processor; the
 * answer must not. */
static void a_sum_of_other_columns_is_refused_at_any_size(void **state)
{
    enum { ROWS = 600, MOST = 120 };
    static double x[ROWS * MOST], s[MOST * MOST];
    double mean[MOST] = {0};
    wm_error err;

    (void)state;
    for (int d = 2; d <= MOST; d += 1 + d / 3)
        for (int near = 0; near < 2; near++) { /* 1: a sum but for 1e-4 of its size */
            for (int i = 0; i < ROWS; i++) {
                double sum = 0;

                for (int j = 0; j + 1 < d; j++)
                    sum += x[i * d + j] = sin(1 + i * (0.37 + j) + j * j);
                x[i * d + d - 1] = sum / 3 + near * 1e-4 * cos(7.3 * i);
            }
            assert_ok(wmi_scatter(ROWS, d, x, mean, s, &err), err);
            if (near) {
                assert_ok(wmi_cholesky(d, s, "a", &err), err);
            } else {
                char column[24];

                snprintf(column, sizeof column, "column %d:", d);
                assert_int_equal(wmi_cholesky(d, s, "a", &err), WM_EINVAL);
                assert_non_null(strstr(err.text, column));
            }
        }
}

/* 0.1 many times over has a mean that is not 0.1 to the last bit. */
static void a_column_that_does_not_vary_is_refused(void **state)
{
    enum { ROWS = 1000 };
    double x[2 * ROWS], mean[2] = {0}, s[4];
    wm_error err;

    (void)state;
    for (int i = 0; i < ROWS; i++) {
        x[2 * i] = sin(i);
        x[2 * i + 1] = 0.1;
        for (int j = 0; j < 2; j++)
            mean[j] += x[2 * i + j] / ROWS;
    }
    assert_true(mean[1] != 0.1);
    assert_ok(wmi_scatter(ROWS, 2, x, mean, s, &err), err);
    assert_true(s[3] == 0);
    assert_int_equal(wmi_cholesky(2, s, "a", &err), WM_EINVAL);
    assert_non_null(strstr(err.text, "column 2"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(factor_inverse_and_determinant_agree),
        cmocka_unit_test(solving_undoes_multiplying),
        cmocka_unit_test(scatter_is_the_sum_of_squares),
        cmocka_unit_test(a_singular_matrix_is_named),
        cmocka_unit_test(a_sum_of_other_columns_is_refused_at_any_size),
        cmocka_unit_test(a_column_that_does_not_vary_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
