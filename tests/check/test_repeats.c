/* test_repeats.c - copies of rows are found, and what chance repeats is not taken for copies. */
#include "asserts.h"

#include <math.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "check/repeats.h"

enum { N = 2000 };

static wm_data *normals(int64_t n, int64_t dim, uint64_t seed)
{
    const wmi_rng rng = wmi_rng_make(seed, "test");
    wm_data *d;
    wm_error err;

    assert_ok(wm_data_new(&d, n, dim, NULL, &err), err);
    wmi_rng_normal_f64(&rng, 0, n * dim, wm_data_rows_mut(d));
    return d;
}

static double share_of(const wm_data *p, const wm_data *q)
{
    double share;
    wm_error err;

    assert_ok(wmi_repeated_rows(&share, p, q, NULL, &err), err);
    return share;
}

static void the_same_table_twice_is_half_copies(void **state)
{
    wm_data *p = normals(N, 3, 1), *q = normals(N, 3, 2);

    (void)state;
    assert_near(share_of(p, NULL), 0, 0);
    assert_near(share_of(p, q), 0, 0);
    assert_near(share_of(p, p), 0.5, 0);
    wm_data_free(p);
    wm_data_free(q);
}

static void copies_are_counted_wherever_they_are(void **state)
{
    wm_data *p = normals(N, 2, 1), *q = normals(N, 2, 2);
    double *x = wm_data_rows_mut(p), *y = wm_data_rows_mut(q);

    (void)state;
    for (int64_t i = 0; i < 100; i++) { /* in p itself, and of p in q */
        x[2 * (N - 1 - i)] = x[2 * i];
        x[2 * (N - 1 - i) + 1] = x[2 * i + 1];
        y[2 * (N / 2 + i)] = x[2 * (500 + i)];
        y[2 * (N / 2 + i) + 1] = x[2 * (500 + i) + 1];
    }
    assert_near(share_of(p, NULL), 100.0 / N, 1e-12);
    assert_near(share_of(p, q), 200.0 / (2 * N), 1e-12);
    wm_data_free(p);
    wm_data_free(q);
}

/* Values of one decimal meet by chance, also beside a category. */
static void rounded_values_are_no_copies(void **state)
{
    wm_data *p = normals(N, 2, 1), *one = normals(N, 1, 1);
    double *x = wm_data_rows_mut(p);

    (void)state;
    for (int64_t i = 0; i < N; i++) {
        x[2 * i] = 0.1 * round(10 * x[2 * i]);
        x[2 * i + 1] = x[2 * i + 1] > 0;
    }
    assert_near(share_of(p, p), 0, 0);
    assert_near(share_of(one, one), 0, 0);
    for (int64_t i = 0; i < N; i++) /* a fine column beside it tells them from copies */
        x[2 * i + 1] = wm_data_rows(one)[i];
    assert_near(share_of(p, NULL), 0, 0);
    assert_near(share_of(p, p), 0.5, 0);
    wm_data_free(p);
    wm_data_free(one);
}

/* Ten towns and their numbers, and 30 of another column: rows of levels that go with each other. */
static void levels_that_go_together_are_no_copies(void **state)
{
    wm_data *d;
    wm_error err;

    (void)state;
    assert_ok(wm_data_new(&d, N, 2, NULL, &err), err);
    for (int64_t levels = 10; levels <= 30; levels += 20) {
        for (int64_t i = 0; i < N; i++) {
            wm_data_rows_mut(d)[2 * i] = (double)(i % levels);
            wm_data_rows_mut(d)[2 * i + 1] = sqrt((double)(i % levels));
        }
        assert_near(share_of(d, NULL), 0, 0);
    }
    wm_data_free(d);
}

static void kinds_of_rows_are_counted(void **state)
{
    static const double x[] = {1, 5, 1, 0, 2, 7, 1, 5, 2, 0, 2, 7, 1, 5, 3}; /* (5, 3) */
    int64_t *count, kinds;
    wm_data *d;
    wm_error err;

    (void)state;
    assert_ok(wm_data_new(&d, 5, 3, x, &err), err);
    assert_ok(wmi_row_kinds(&count, &kinds, d, 0, 2, &err), err);
    assert_int_equal(kinds, 2);
    assert_int_equal(count[0] + count[1], 5);
    assert_true(count[0] == 2 || count[0] == 3);
    wmi_free(count);
    wm_data_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(levels_that_go_together_are_no_copies),
        cmocka_unit_test(kinds_of_rows_are_counted),
        cmocka_unit_test(the_same_table_twice_is_half_copies),
        cmocka_unit_test(copies_are_counted_wherever_they_are),
        cmocka_unit_test(rounded_values_are_no_copies),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
