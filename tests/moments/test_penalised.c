/* test_penalised.c - ridge logistic regression: its optimum, its choice of strength, separable
 * rows, and that nothing singular stops it. */
#include <math.h>
#include <string.h>

#include "asserts.h"
#include "base/rng.h"
#include "moments/penalised.h"

enum { N = 3000, K = 4 };

static double x[2 * N * K];

/* p: column 0 is N(shift, 1), the others N(0, 1), the last a copy of the first; q: all N(0, 1). The
 * log-ratio is shift x - shift^2 / 2. */
static void draw(double shift, uint64_t seed)
{
    const wmi_rng rng = wmi_rng_make(seed, "test");

    wmi_rng_normal_f64(&rng, 0, 2 * N * K, x);
    for (int i = 0; i < 2 * N; i++) {
        x[i * K] += i < N ? shift : 0;
        x[i * K + K - 1] = x[i * K];
    }
}

static wmi_penalised_fit solve(const double *rows, const int64_t n[2], const double *penalty,
                               double b[K])
{
    wmi_penalised_fit fit;
    wm_error err;

    assert_ok(wmi_penalised_solve(
                  &fit, b,
                  &(wmi_penalised_data){.n = {n[0], n[1]}, .k = K, .x = rows, .penalty = penalty},
                  NULL, &err),
              err);
    return fit;
}

/* Two copies of a column share its effect; standard error of their sum about sqrt(2 (1 / n) (1 +
 * shift^2 / 4)) = 0.03. */
static void a_shift_is_found_though_columns_repeat(void **state)
{
    const double even[K] = {1, 1, 1, 1};
    const int64_t n[2] = {N, N};
    double b[K];

    (void)state;
    draw(0.8, 1);
    const wmi_penalised_fit fit = solve(x, n, even, b);

    assert_near(b[0] + b[K - 1], 0.8, 5 * 0.03);
    assert_near(b[0], b[K - 1], 1e-6);
    assert_near(b[1], 0, 5 * 0.03);
    assert_near(fit.c, -0.32, 5 * 0.03);
    assert_true(fit.numbers > 1.5 && fit.numbers < K + 1); /* three numbers and a constant */
}

/* The gradient of losses and penalty vanishes: an independent sum over rows. */
static void the_optimum_is_one(void **state)
{
    const double penalty[K] = {1, 2, 0.5, 3};
    const int64_t n[2] = {N, 2 * N - N};
    double b[K], grad[K] = {0};

    (void)state;
    draw(0.5, 2);
    const wmi_penalised_fit fit = solve(x, n, penalty, b);

    for (int i = 0; i < 2 * N; i++) {
        double s = fit.c;

        for (int j = 0; j < K; j++)
            s += b[j] * x[i * K + j];
        for (int j = 0; j < K; j++)
            grad[j] += (1 / (1 + exp(-s)) - (i < N)) * x[i * K + j];
    }
    for (int j = 0; j < K; j++)
        assert_near(grad[j] + fit.strength * penalty[j] * b[j], 0, 1e-2); /* of sums of 6000 */
}

/* Twenty samples without a difference: a ridge may keep some noise, but little of it, and a third
 * of them or more none at all. */
static void without_a_difference_little_is_kept(void **state)
{
    const double even[K] = {1, 1, 1, 1};
    const int64_t n[2] = {N, N};
    int nulls = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        double b[K];

        draw(0, seed);
        nulls += isinf(solve(x, n, even, b).strength);
        for (int j = 0; j < K; j++)
            assert_true(fabs(b[j]) < 0.15); /* five standard errors of an effect held by nothing */
    }
    assert_true(nulls >= 7);
}

/* The tables' sizes are no part of the ratio. */
static void tables_of_unequal_size_give_the_same_ratio(void **state)
{
    const double even[K] = {1, 1, 1, 1};
    const int64_t n[2] = {N, N / 10};
    double b[K];

    (void)state;
    draw(0.8, 3);
    const wmi_penalised_fit fit = solve(x, n, even, b);

    assert_near(b[0] + b[K - 1], 0.8, 5 * 0.09);
    assert_near(fit.c, -0.32, 5 * 0.09);
}

/* Rows that one column tells apart without error: effects stay finite. */
static void separable_rows_have_a_finite_answer(void **state)
{
    const double even[K] = {1, 1, 1, 1};
    const int64_t n[2] = {N, N};
    double b[K];

    (void)state;
    draw(60, 4);
    const wmi_penalised_fit fit = solve(x, n, even, b);

    assert_true(isfinite(fit.c) && isfinite(fit.strength));
    for (int j = 0; j < K; j++)
        assert_true(isfinite(b[j]));
    assert_true(b[0] > 0);
}

/* One column of forty differs, by 0.7, in 150 rows each: one strength for all holds it back with
 * the others, one for each column need not. Its standard error, held by nothing, is
 * sqrt(2 (1 + 0.7^2 / 4) / 150) = 0.12. */
static void one_column_of_many_is_not_held_back(void **state)
{
    enum { FEW = 150, MANY = 40 };
    static double rows[2 * FEW * MANY];
    const wmi_rng rng = wmi_rng_make(5, "test");
    double even[MANY], b[2][MANY], noise[2] = {0, 0};
    int64_t group[MANY];

    (void)state;
    wmi_rng_normal_f64(&rng, 0, 2 * FEW * MANY, rows);
    for (int i = 0; i < FEW; i++)
        rows[i * MANY + 7] += 0.7;
    for (int j = 0; j < MANY; j++) {
        even[j] = 1;
        group[j] = j;
    }
    for (int t = 0; t < 2; t++) {
        wmi_penalised_fit fit;
        wm_error err;

        assert_ok(wmi_penalised_solve(&fit, b[t],
                                      &(wmi_penalised_data){.n = {FEW, FEW},
                                                            .k = MANY,
                                                            .x = rows,
                                                            .penalty = even,
                                                            .group = t ? group : NULL},
                                      NULL, &err),
                  err);
        for (int j = 0; j < MANY; j++)
            noise[t] += j == 7 ? 0 : b[t][j] * b[t][j];
    }
    assert_true(b[0][7] < 0.5);
    assert_near(b[1][7], 0.7, 3 * 0.12);
    assert_true(b[1][7] > 0.5);
    assert_true(noise[1] < 0.1 * noise[0]); /* dropped, but for some that chance favours */
}

static void no_features_are_the_null_model(void **state)
{
    wmi_penalised_fit fit;
    double b = 7;
    wm_error err;

    (void)state;
    assert_ok(wmi_penalised_solve(&fit, &b, &(wmi_penalised_data){.n = {3, 9}}, NULL, &err), err);
    assert_true(isinf(fit.strength) && fit.c == 0 && b == 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_shift_is_found_though_columns_repeat),
        cmocka_unit_test(the_optimum_is_one),
        cmocka_unit_test(one_column_of_many_is_not_held_back),
        cmocka_unit_test(without_a_difference_little_is_kept),
        cmocka_unit_test(tables_of_unequal_size_give_the_same_ratio),
        cmocka_unit_test(separable_rows_have_a_finite_answer),
        cmocka_unit_test(no_features_are_the_null_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
