/* test_edges.c - a table that breaks off along a plane through all columns; and smooth ones, in
 * which nothing does. */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "asserts.h"
#include "base/rng.h"
#include "columns/edges.h"

enum { N = 3000, D = 4, DRAWN = 4 * N };

static double p[N * D], q[N * D], drawn[DRAWN * D];

static double look(void)
{
    double share;
    wm_error err;

    assert_ok(
        wmi_edges_of(&share, (const int64_t[]){N, N}, D, (const double *const[]){p, q}, NULL, &err),
        err);
    return share;
}

static void draw(uint64_t seed)
{
    const wmi_rng of_p = wmi_rng_make(seed, "p"), of_q = wmi_rng_make(seed, "q");

    wmi_rng_normal_f64(&of_p, 0, N * D, p);
    wmi_rng_normal_f64(&of_q, 0, DRAWN * D, drawn);
}

/* The first rows of `drawn` that lie within `limit` along the diagonal; both: in either direction.
 */
static void keep_within(double limit, bool both)
{
    int64_t at = 0;

    for (int64_t i = 0; i < DRAWN && at < N; i++) {
        const double *x = drawn + i * D, t = (x[0] + x[1] + x[2] + x[3]) / 2;

        if ((both ? fabs(t) : t) <= limit)
            memcpy(q + D * at++, x, D * sizeof *q);
    }
    assert_int_equal(at, N);
}

/* 11.5 % of p lies behind 1.2 standard deviations, 13.4 % outside of 1.5. A half of p has a
 * standard error of 1 %. */
static void a_slanting_edge_is_seen(void **state)
{
    int one = 0, two = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        draw(seed);
        keep_within(1.2, false);
        one += look() > 0.06 && look() < 0.165;
        keep_within(1.5, true);
        two += look() > 0.02;
    }
    assert_true(one >= 3);
    assert_true(two >= 3);
}

/* Shifted, wider and narrower by turns; cubed, with long tails; in two clusters. */
static void smooth_tables_have_no_edge(void **state)
{
    int seen = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        draw(seed);
        for (int64_t i = 0; i < (int64_t)N * D; i++) {
            const double x = drawn[i];

            q[i] = seed % 4 == 0   ? x * (1 + x * x)
                   : seed % 4 == 1 ? 0.6 * x + 0.5
                   : seed % 4 == 2 ? 1.5 * x - 1
                                   : 0.4 * x + (i / D % 2 ? 2 : -2);
        }
        seen += look() > 0;
    }
    assert_int_equal(seen, 0);
}

static void what_cannot_be_asked_is_none(void **state)
{
    (void)state;
    draw(1);
    keep_within(1.2, false);
    for (int64_t i = 0; i < N; i++)
        p[i * D] = q[i * D] = 1; /* no covariance with an inverse */
    assert_true(look() == 0);
}

static void whoever_is_asked_to_stop_does(void **state)
{
    const sig_atomic_t stop = 1;
    double share;
    wm_error err;

    (void)state;
    draw(1);
    keep_within(INFINITY, true);
    assert_int_equal(wmi_edges_of(&share, (const int64_t[]){N, N}, D, (const double *const[]){p, q},
                                  &stop, &err),
                     WM_EINTERRUPTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whoever_is_asked_to_stop_does),
        cmocka_unit_test(a_slanting_edge_is_seen),
        cmocka_unit_test(smooth_tables_have_no_edge),
        cmocka_unit_test(what_cannot_be_asked_is_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
