/* test_witness.c - trees beside a log-ratio: they win where it lacks something, lose where it is
 * right. */
#include <math.h>

#include "asserts.h"
#include "base/rng.h"
#include "check/witness.h"

enum { N = 2000, D = 4 };

static double p[N * D], q[N * D], log_p[N], log_q[N];

static void draw(uint64_t seed)
{
    const wmi_rng of_p = wmi_rng_make(seed, "p"), of_q = wmi_rng_make(seed, "q");

    wmi_rng_normal_f64(&of_p, 0, N * D, p);
    wmi_rng_normal_f64(&of_q, 0, N * D, q);
}

static wmi_witness ask(int64_t n)
{
    const wmi_witness_rows rows = {.n = n, .d = D, .x = {p, q}, .log_r = {log_p, log_q}};
    wmi_witness out;
    wm_error err;

    assert_ok(wmi_witness_ask(&out, &rows, 1, &err), err);
    return out;
}

/* p has rows only where the product of three columns is positive; any two are those of q. The right
 * ratio, log 2 or nothing, then has nothing to learn from trees. */
static void a_product_of_three_columns_is_seen(void **state)
{
    wmi_witness w;

    (void)state;
    draw(1);
    for (int i = 0; i < N; i++) {
        double *x = p + i * (int64_t)D;

        x[0] = x[0] * x[1] * x[2] < 0 ? -x[0] : x[0];
        log_p[i] = log_q[i] = 0;
    }
    w = ask(N);
    assert_true(w.gain > 0.05 && w.gain > 10 * w.se); /* of 0.43 that there are to win */
    for (int i = 0; i < N; i++) {
        const double *x = q + i * (int64_t)D;

        log_p[i] = log(2);
        log_q[i] = x[0] * x[1] * x[2] > 0 ? log(2) : -20;
    }
    w = ask(N);
    assert_true(w.gain < 0);
}

/* N(m, 1) and N(0, 1), m in two columns: trees blur a straight ratio, whichever rows are drawn. */
static void a_right_ratio_is_not_helped(void **state)
{
    static const double m = 0.8;

    (void)state;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        wmi_witness w;

        draw(seed);
        for (int i = 0; i < N; i++) {
            p[i * D] += m;
            p[i * D + 1] += m;
            log_p[i] = m * (p[i * D] + p[i * D + 1] - m);
            log_q[i] = m * (q[i * D] + q[i * D + 1] - m);
        }
        w = ask(N);
        assert_true(w.gain < 2 * w.se);
        for (int i = 0; i < N; i++)
            log_p[i] = log_q[i] = 0; /* the shift is missed */
        w = ask(N);
        assert_true(w.gain > 5 * w.se);
    }
}

static void few_rows_say_nothing(void **state)
{
    (void)state;
    draw(1);
    assert_true(ask(99).se == 0);
    assert_true(ask(200).se > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_product_of_three_columns_is_seen),
        cmocka_unit_test(a_right_ratio_is_not_helped),
        cmocka_unit_test(few_rows_say_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
