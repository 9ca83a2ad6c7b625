/* test_neighbours.c - mutual information by nearest neighbours, beside a log-ratio. */
#include <math.h>

#include "asserts.h"
#include "base/rng.h"
#include "check/neighbours.h"

enum { N = 1500 };

static double x[2 * N], log_r[N];

static wmi_neighbours ask(int64_t n)
{
    wmi_neighbours out;
    wm_error err;

    assert_ok(wmi_neighbours_ask(&out, &(wmi_neighbours_rows){n, 2, 1, x, log_r}, &err), err);
    return out;
}

/* Correlation 0.8, 0.511 nats: local estimates have a standard deviation of about 1, 0.026 of their
 * mean, 0.037 as neighbours go together. Beside the right ratio they say nothing more, beside none
 * all of it. */
static void normal_pairs_are_known(void **state)
{
    const double rho = 0.8, left = 1 - rho * rho, truth = -0.5 * log(left);
    const wmi_rng rng = wmi_rng_make(3, "pairs");
    wmi_neighbours w;

    (void)state;
    wmi_rng_normal_f64(&rng, 0, 2 * N, x);
    for (int i = 0; i < N; i++) {
        const double u = x[2 * i], v = rho * u + sqrt(left) * x[2 * i + 1];

        x[2 * i + 1] = v;
        log_r[i] = truth - 0.5 * ((u * u - 2 * rho * u * v + v * v) / left - u * u - v * v);
    }
    w = ask(N);
    assert_near(w.value, truth, 5 * 0.037);
    assert_true(fabs(w.more) < 4 * w.se && w.se < 0.03);
    for (int i = 0; i < N; i++)
        log_r[i] = 0;
    w = ask(N);
    assert_near(w.more, w.value, 1e-9);
    assert_true(w.more > 10 * w.se);
}

/* v = u^2 and noise: no correlation, so that a form says 0. */
static void a_curve_is_seen(void **state)
{
    const wmi_rng rng = wmi_rng_make(4, "pairs");
    wmi_neighbours w;

    (void)state;
    wmi_rng_normal_f64(&rng, 0, 2 * N, x);
    for (int i = 0; i < N; i++) {
        x[2 * i + 1] = (x[2 * i] * x[2 * i] - 1) / sqrt(2) + x[2 * i + 1];
        log_r[i] = 0;
    }
    w = ask(N);
    assert_true(w.more > 5 * w.se);
    assert_true(w.value > 0.2 && w.value < 0.5);
}

static void few_rows_say_nothing(void **state)
{
    const wmi_neighbours w = ask(49);

    (void)state;
    assert_true(w.value == 0 && w.se == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(normal_pairs_are_known),
        cmocka_unit_test(a_curve_is_seen),
        cmocka_unit_test(few_rows_say_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
