/* test_filters.c - filtered columns are white, and the whitened ones stay near the columns. */
#include "columns/filters.h"

#include "asserts.h"
#include "base/rng.h"

enum { N = 3000, D = 3 };
static float x[N * D], all[N * 3 * D], filter[D * 2 * D];

static double covariance(int a, int b)
{
    double mean[2] = {0, 0}, sum = 0;

    for (int i = 0; i < N; i++) {
        mean[0] += (double)all[i * 3 * D + a] / N;
        mean[1] += (double)all[i * 3 * D + b] / N;
    }
    for (int i = 0; i < N; i++)
        sum += ((double)all[i * 3 * D + a] - mean[0]) * ((double)all[i * 3 * D + b] - mean[1]) / N;
    return sum;
}

static void fill(void)
{
    const wmi_rng rng = wmi_rng_make(1, "rows");
    wm_error err;

    wmi_rng_normal_f32(&rng, 0, N * D, x);
    for (int i = 0; i < N; i++) {
        x[i * D + 1] = 0.9f * x[i * D] + 0.3f * x[i * D + 1] + 5; /* correlated, and not centred */
        x[i * D + 2] *= 10;
    }
    assert_ok(wmi_filters_make(N, D, x, filter, &err), err);
    assert_ok(wmi_filters_rows(N, D, x, filter, all, &err), err);
}

static void both_sets_are_white(void **state)
{
    (void)state;
    fill();
    for (int set = 0; set < 2; set++)
        for (int a = 0; a < D; a++)
            for (int b = 0; b < D; b++)
                assert_near(covariance((1 + set) * D + a, (1 + set) * D + b), a == b, 1e-4);
}

static void rows_come_first_and_whitened_ones_stay_near(void **state)
{
    (void)state;
    fill();
    for (int i = 0; i < N * D; i++)
        assert_true(all[i / D * 3 * D + i % D] == x[i]);
    for (int j = 0; j < D; j++) { /* ZCA: each correlates with its own column, positively */
        const double own = covariance(j, 2 * D + j) / sqrt(covariance(j, j));

        assert_true(own > 0.7);
    }
}

static void a_column_without_variance_is_survived(void **state)
{
    wm_error err;

    (void)state;
    fill();
    for (int i = 0; i < N; i++)
        x[i * D + 1] = 4;
    assert_ok(wmi_filters_make(N, D, x, filter, &err), err);
    for (int i = 0; i < D * 2 * D; i++)
        assert_true(isfinite(filter[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_sets_are_white),
        cmocka_unit_test(rows_come_first_and_whitened_ones_stay_near),
        cmocka_unit_test(a_column_without_variance_is_survived)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
