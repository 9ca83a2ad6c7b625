/* test_rank_normal.c - ranks with ties, thinned knots, new points, knots out and in. */
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "asserts.h"
#include "base/alloc.h"
#include "base/rng.h"
#include "base/special.h"
#include "columns/rank_normal.h"

static void equal_values_share_their_average_rank(void **state)
{
    /* two columns: {10, 20, 20, 30} in some order, and a constant */
    const double x[] = {20, 7, 10, 7, 30, 7, 20, 7};
    double z[8], again[8];
    wmi_rank *r;
    wm_error err;

    (void)state;
    assert_ok(wmi_rank_fit(&r, 4, 2, x, 100, z, NULL, &err), err);
    assert_near(z[0], 0, 1e-15); /* ranks 2 and 3 of 4: 2.5 / 5 */
    assert_near(z[6], 0, 1e-15);
    assert_near(z[2], wmi_normal_inverse(0.2), 1e-15);
    assert_near(z[4], wmi_normal_inverse(0.8), 1e-15);
    for (int i = 0; i < 4; i++)
        assert_near(z[2 * i + 1], 0, 1e-15);
    assert_int_equal(wmi_rank_dim(r), 2);
    assert_int_equal(wmi_rank_knots(r), 4);
    wmi_rank_apply(r, 4, x, again); /* all values are knots */
    assert_memory_equal(z, again, sizeof z);
    wmi_rank_free(r);
}

/* Cauchy values, where thinned knots have the hardest time. Between two knots of neighbouring kept
 * ranks the exact score lies between theirs: with 512 knots of 20,000 rows, 64 at either end and
 * every 52nd between, ranks 64 and 116 are the widest apart in z: 0.21; in the middle 0.0065. */
static void thinned_knots_stay_close_to_the_exact_ranks(void **state)
{
    enum { N = 20000 };
    const wmi_rng rng = wmi_rng_make(3, "cauchy");
    double *x = malloc(N * sizeof *x), *z = malloc(N * sizeof *z), *a = malloc(N * sizeof *a);
    wmi_rank *r;
    wm_error err;

    (void)state;
    assert_true(x && z && a);
    wmi_rng_uniform_f64(&rng, 0, N, x);
    for (int i = 0; i < N; i++)
        x[i] = tan(3.141592653589793 * (x[i] - 0.5));
    assert_ok(wmi_rank_fit(&r, N, 1, x, 512, z, NULL, &err), err);
    assert_int_equal(wmi_rank_knots(r), 512);
    wmi_rank_apply(r, N, x, a);
    for (int i = 0; i < N; i++) {
        assert_near(a[i], z[i], fabs(z[i]) > 2 ? 0.21 : 0.02);
        if (fabs(z[i]) > wmi_normal_inverse(1 - 63.0 / (N + 1)))
            assert_true(a[i] == z[i]); /* the ends are kept whole */
    }
    wmi_rank_free(r);
    free(a), free(z), free(x);
}

/* Never falling, continuous at the ends, and at most 2 beyond them. */
static void new_points_are_mapped_monotonically(void **state)
{
    enum { N = 50, GRID = 4001 };
    const wmi_rng rng = wmi_rng_make(1, "x");
    double x[N], grid[GRID], out[GRID], top = -INFINITY;
    const double odd[] = {-INFINITY, INFINITY, NAN, 1e308, -1e308};
    double mapped[5];
    wmi_rank *r;
    wm_error err;

    (void)state;
    wmi_rng_normal_f64(&rng, 0, N, x);
    x[1] = x[0] + 1e-13; /* the two largest, so close that their own slope is 1e12 */
    x[0] += 10, x[1] += 10;
    assert_ok(wmi_rank_fit(&r, N, 1, x, 16, NULL, NULL, &err), err);
    for (int i = 0; i < N; i++)
        top = fmax(top, x[i]);
    for (int i = 0; i < GRID; i++)
        grid[i] = -40 + i * 0.02;
    wmi_rank_apply(r, GRID, grid, out);
    for (int i = 1; i < GRID; i++)
        assert_true(out[i] >= out[i - 1]);
    assert_near(out[0], wmi_normal_inverse(1.0 / 51) - 2, 1e-12);
    assert_near(out[GRID - 1], wmi_normal_inverse(50.0 / 51) + 2, 1e-12);
    grid[0] = top + 1e-9;
    wmi_rank_apply(r, 1, grid, out);
    assert_near(out[0], wmi_normal_inverse(50.0 / 51), 1e-8);
    wmi_rank_apply(r, 5, odd, mapped);
    assert_near(mapped[0], wmi_normal_inverse(1.0 / 51) - 2, 1e-12);
    assert_near(mapped[1], wmi_normal_inverse(50.0 / 51) + 2, 1e-12);
    assert_true(isnan(mapped[2]) && mapped[3] == mapped[1] && mapped[4] == mapped[0]);
    wmi_rank_free(r);
}

static void knots_carry_the_whole_map(void **state)
{
    enum { N = 300, D = 3 };
    const wmi_rng rng = wmi_rng_make(1, "x");
    double x[N * D], a[N * D], b[N * D], bad[2][4] = {{1, 2, 2, 2}, {0, 1, 1, 1}};
    wmi_rank *r, *copy;
    wm_error err;

    (void)state;
    wmi_rng_normal_f64(&rng, 0, N * D, x);
    for (int i = 0; i < N; i++)
        x[i * D + 1] = floor(2 * x[i * D + 1]); /* a column with few values: repeated knots */
    assert_ok(wmi_rank_fit(&r, N, D, x, 40, NULL, NULL, &err), err);
    assert_ok(wmi_rank_from_knots(&copy, D, wmi_rank_knots(r), wmi_rank_values(r),
                                  wmi_rank_scores(r), &err),
              err);
    for (int i = 0; i < N * D; i++)
        x[i] = 1.3 * x[i] + 0.01;
    wmi_rank_apply(r, N, x, a);
    wmi_rank_apply(copy, N, x, b);
    assert_memory_equal(a, b, sizeof a);
    wmi_rank_free(copy);
    wmi_rank_free(r);

    assert_ok(wmi_rank_from_knots(&r, 1, 4, bad[0], bad[1], &err), err); /* so far not bad */
    wmi_rank_free(r);
    bad[1][3] = 2; /* one value, two scores */
    assert_int_equal(wmi_rank_from_knots(&r, 1, 4, bad[0], bad[1], &err), WM_EINVAL);
    bad[0][3] = 1.5; /* falling */
    assert_int_equal(wmi_rank_from_knots(&r, 1, 4, bad[0], bad[1], &err), WM_EINVAL);
    bad[0][3] = NAN;
    assert_int_equal(wmi_rank_from_knots(&r, 1, 4, bad[0], bad[1], &err), WM_EINVAL);
    assert_null(r);
    assert_int_equal(wmi_rank_from_knots(&r, 1, 0, bad[0], bad[1], &err), WM_EINVAL);
}

static void threads_do_not_change_the_bits(void **state)
{
    enum { N = 1000, D = 7 };
    const wmi_rng rng = wmi_rng_make(1, "x");
    const int before = omp_get_max_threads();
    double *x = malloc(N * D * sizeof *x), *z[2];
    wmi_rank *r;
    wm_error err;

    (void)state;
    wmi_rng_normal_f64(&rng, 0, N * D, x);
    for (int t = 0; t < 2; t++) {
        omp_set_num_threads(t ? 3 : 1);
        z[t] = malloc(N * D * sizeof *x);
        memcpy(z[t], x, N * D * sizeof *x);
        assert_ok(wmi_rank_fit(&r, N, D, z[t], 64, z[t], NULL, &err), err); /* in place */
        wmi_rank_free(r);
    }
    omp_set_num_threads(before);
    assert_memory_equal(z[0], z[1], N * D * sizeof *x);
    free(z[1]), free(z[0]), free(x);
}

static void refusals_name_the_place(void **state)
{
    const double x[] = {1, 2, 3, 4, 5, NAN};
    wmi_rank *r;
    wm_error err;

    (void)state;
    assert_int_equal(wmi_rank_fit(&r, 3, 2, x, 10, NULL, NULL, &err), WM_EINVAL);
    assert_null(r);
    assert_non_null(strstr(err.text, "row 3, column 2 is nan"));
    assert_int_equal(wmi_rank_fit(&r, 0, 2, x, 10, NULL, NULL, &err), WM_EINVAL);
    assert_int_equal(wmi_rank_fit(&r, 2, 2, x, 1, NULL, NULL, &err), WM_EINVAL);
    assert_int_equal(wmi_rank_fit(&r, 2, 2, x, 10, NULL, &(const sig_atomic_t){1}, &err),
                     WM_EINTERRUPTED);
    assert_null(r);
    for (int k = 1; k <= 5; k++) { /* four blocks of the map, and the column to sort */
        const int64_t live = wmi_alloc_live();

        wmi_alloc_fail_at(k);
        assert_int_equal(wmi_rank_fit(&r, 2, 2, x, 10, NULL, NULL, &err), WM_ENOMEM);
        wmi_alloc_fail_at(0);
        assert_int_equal(wmi_alloc_live(), live);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_values_share_their_average_rank),
        cmocka_unit_test(thinned_knots_stay_close_to_the_exact_ranks),
        cmocka_unit_test(new_points_are_mapped_monotonically),
        cmocka_unit_test(knots_carry_the_whole_map),
        cmocka_unit_test(threads_do_not_change_the_bits),
        cmocka_unit_test(refusals_name_the_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
