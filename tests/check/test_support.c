/* test_support.c - rows of p where q has none: at the end of a column, behind a border in the
 * plane; and none of that where both are normal, however far apart. */
#include <math.h>

#include "asserts.h"
#include "base/alloc.h"
#include "base/rng.h"
#include "check/support.h"

enum { N = 2000, MOST = 5 };

static double p[N * MOST], q[N * MOST];

static wmi_support look(int64_t d)
{
    const int64_t n[] = {N, N};
    const double *const x[] = {p, q};
    wmi_support out;

    wmi_support_of(&out, n, d, x);
    return out;
}

static void draw_uniform(double *x, int64_t d, uint64_t seed, double scale)
{
    const wmi_rng rng = wmi_rng_make(seed, "support");

    wmi_rng_uniform_f64(&rng, 0, N * d, x);
    for (int64_t i = 0; i < N * d; i++)
        x[i] *= scale;
}

static void an_end_of_a_column_is_seen(void **state)
{
    wmi_support s;

    (void)state;
    draw_uniform(p, 2, 1, 1);
    draw_uniform(q, 2, 2, 1);
    for (int i = 0; i < N; i++)
        p[2 * i + 1] *= 1.1;
    s = look(2);
    assert_int_equal(s.column, 1);
    assert_near(s.beyond, 0.1 / 1.1, 0.04); /* 5 standard errors are 0.032 */
    for (int i = 0; i < N * 2; i++)         /* and from the other side */
        p[i] = -p[i], q[i] = -q[i];
    assert_int_equal(look(2).column, 1);
}

/* The disc is in the square, but q has a hole there. */
static void a_border_in_the_plane_is_seen(void **state)
{
    wmi_support s;

    (void)state;
    draw_uniform(p, 2, 1, 2);
    draw_uniform(q, 2, 2, 2);
    for (int i = 0; i < N; i++) {
        double *x = q + 2 * i;
        const double r = hypot(x[0] - 1, x[1] - 1);

        if (r < 0.5) { /* out of the disc */
            x[0] = 1 + (x[0] - 1) * 0.6 / r;
            x[1] = 1 + (x[1] - 1) * 0.6 / r;
        }
    }
    s = look(2);
    assert_int_equal(s.column, -1);
    assert_true(s.beyond > 0.02);
    assert_true(s.alone > 0.1 && s.alone < 0.25); /* the hole has 0.196 of the square */
}

static void normal_tables_have_no_border(void **state)
{
    (void)state;
    for (int64_t d = 1; d <= MOST; d += 2)
        for (int apart = 0; apart <= 8; apart += 2) {
            const wmi_rng of_p = wmi_rng_make(1, "p"), of_q = wmi_rng_make(1, "q");
            wmi_support s;

            wmi_rng_normal_f64(&of_p, 0, N * d, p);
            wmi_rng_normal_f64(&of_q, 0, N * d, q);
            for (int i = 0; i < N; i++)
                p[i * d] += apart;
            s = look(d);
            assert_true(s.beyond < 0.005);
            assert_true(apart ? apart < 6 || s.alone > 0.9 : s.alone < 0.01);
        }
}

/* Numbers written to one digit: 40 rows for each value, and no row is alone. */
static void rows_that_share_their_values_have_company(void **state)
{
    (void)state;
    draw_uniform(p, 1, 1, 50);
    draw_uniform(q, 1, 2, 50);
    for (int i = 0; i < N; i++)
        p[i] = floor(p[i]), q[i] = floor(q[i]);
    assert_true(look(1).alone == 0);
    for (int i = 0; i < N; i++) /* nor are they where the other table rounds otherwise */
        q[i] += 0.5;
    assert_true(look(1).alone == 0);
}

/* 40 rows of q for each of p: the neighbours of a row of q are nearer than any row of p can be. */
static void a_long_table_has_company_in_a_short_one(void **state)
{
    const int64_t n[] = {N, N / 40};
    const double *const x[] = {p, q};
    wmi_support out;

    (void)state;
    for (int64_t d = 1; d <= MOST; d += 2) {
        draw_uniform(p, d, 3, 1);
        draw_uniform(q, d, 4, 1);
        wmi_support_of(&out, n, d, x);
        assert_true(out.alone < 0.01);
        for (int64_t i = 0; i < N / 2 * d; i++)
            p[i] += 3; /* half of the rows are elsewhere */
        wmi_support_of(&out, n, d, x);
        assert_true(out.alone > 0.4);
    }
}

static void few_rows_say_nothing(void **state)
{
    const double x[] = {1, 2, 3};
    const int64_t n[] = {3, 3};
    wmi_support s;

    (void)state;
    wmi_support_of(&s, n, 1, (const double *const[]){x, x});
    assert_true(s.alone == 0 && s.beyond == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_end_of_a_column_is_seen),
        cmocka_unit_test(a_border_in_the_plane_is_seen),
        cmocka_unit_test(normal_tables_have_no_border),
        cmocka_unit_test(rows_that_share_their_values_have_company),
        cmocka_unit_test(a_long_table_has_company_in_a_short_one),
        cmocka_unit_test(few_rows_say_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
