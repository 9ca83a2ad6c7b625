/* test_lbfgs.c - minima known in closed form, and every way of not getting there. */
#include "asserts.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "base/rng.h"
#include "base/sums.h"
#include "optim/lbfgs.h"

static double rosenbrock(void *ctx, const double *x, double *g, wm_error *err)
{
    const int64_t n = *(const int64_t *)ctx; /* even */
    double f = 0;

    (void)err;
    for (int64_t i = 0; i < n; i += 2) {
        const double a = 1 - x[i], b = x[i + 1] - x[i] * x[i];

        f += a * a + 100 * b * b;
        g[i] = -2 * a - 400 * x[i] * b;
        g[i + 1] = 200 * b;
    }
    return f;
}

/* At sizes around the library's rounding of n, from the classical start. |x - 1| <= |g| / 0.4, the
 * smallest eigenvalue of the Hessian at the minimum, so a gradient of 1e-11 leaves 3e-11. */
static void rosenbrock_is_solved(void **state)
{
    wmi_lbfgs_opts opts;

    (void)state;
    wmi_lbfgs_opts_init(&opts);
    opts.grad_tol = 1e-11;
    for (int64_t n = 2; n <= 34; n += 2) {
        wm_error err = {0};
        wmi_lbfgs_result result;
        double x[34];

        for (int64_t i = 0; i < n; i++)
            x[i] = i % 2 ? 1 : -1.2;
        assert_ok(wmi_lbfgs(x, n, rosenbrock, &n, &opts, &result, &err), err);
        assert_true(result.converged);
        assert_true(result.iterations > 10 && result.evaluations > result.iterations);
        for (int64_t i = 0; i < n; i++)
            assert_near(x[i], 1, 1e-10);
        assert_near(result.f, 0, 1e-20);
    }
}

/* f = sum_i a_i (x_i - b_i)^2 / 2 + shift with a_i from 1 to 1e6: minimum `shift` at b, where
 * |x - b| <= |g| since the smallest a_i is 1. */
enum { QUADRATIC_N = 200 };

static double quadratic(void *ctx, const double *x, double *g, wm_error *err)
{
    double f = *(const double *)ctx;

    (void)err;
    for (int i = 0; i < QUADRATIC_N; i++) {
        const double d = x[i] - sin(i);

        g[i] = pow(10, 6.0 * i / (QUADRATIC_N - 1)) * d;
        f += g[i] * d / 2;
    }
    return f;
}

static void ill_conditioned_quadratic_is_solved(void **state)
{
    wm_error err = {0};
    wmi_lbfgs_result result;
    wmi_lbfgs_opts opts;
    double x[QUADRATIC_N] = {0}, shift = 0;

    (void)state;
    wmi_lbfgs_opts_init(&opts);
    opts.max_iterations = 20000;
    assert_ok(wmi_lbfgs(x, QUADRATIC_N, quadratic, &shift, &opts, &result, &err), err);
    assert_true(result.converged && result.stop == WMI_LBFGS_GRADIENT);
    for (int i = 0; i < QUADRATIC_N; i++)
        assert_near(x[i], sin(i), 1e-7); /* grad_tol 1e-8 times |b|, which is 10 */
    assert_near(result.f, 0, 1e-14);     /* at most |g|^2 / 2 */
}

/* Also where f is negative: the test that libLBFGS has of its own divides by f. */
static void a_small_decrease_stops_it(void **state)
{
    wm_error err = {0};
    wmi_lbfgs_result loose, tight;
    wmi_lbfgs_opts opts;
    double x[QUADRATIC_N] = {0}, y[QUADRATIC_N] = {0}, shift = -1e6;

    (void)state;
    wmi_lbfgs_opts_init(&opts);
    opts.max_iterations = 20000;
    opts.decrease_tol = 1e-6;
    assert_ok(wmi_lbfgs(x, QUADRATIC_N, quadratic, &shift, &opts, &loose, &err), err);
    opts.decrease_tol = 1e-9;
    assert_ok(wmi_lbfgs(y, QUADRATIC_N, quadratic, &shift, &opts, &tight, &err), err);
    assert_true(loose.converged && loose.stop == WMI_LBFGS_DECREASE);
    assert_true(tight.converged && tight.stop == WMI_LBFGS_DECREASE);
    assert_true(loose.iterations < tight.iterations && tight.f < loose.f);
    assert_near(loose.f, shift, 1e3); /* f was 5e6 above the minimum at the start */
}

/* Logistic regression with a small ridge on labels drawn from the model. At the minimum the
 * gradient vanishes; f is 0.001-strongly convex, so |x - x*| <= |g| / 0.001, and two starts must
 * agree. */
enum { ROWS = 500, COLUMNS = 8 };

typedef struct regression {
    double x[ROWS][COLUMNS], label[ROWS]; /* labels are -1 and +1 */
} regression;

static double logistic_loss(void *ctx, const double *w, double *g, wm_error *err)
{
    const regression *r = ctx;
    double f = 0;

    (void)err;
    for (int j = 0; j < COLUMNS; j++) {
        g[j] = 0.001 * w[j];
        f += 0.0005 * w[j] * w[j];
    }
    for (int i = 0; i < ROWS; i++) {
        double s = 0, slope;

        for (int j = 0; j < COLUMNS; j++)
            s += w[j] * r->x[i][j];
        f += wmi_log1pexp(-r->label[i] * s) / ROWS;
        slope = -r->label[i] / (1 + exp(r->label[i] * s)) / ROWS;
        for (int j = 0; j < COLUMNS; j++)
            g[j] += slope * r->x[i][j];
    }
    return f;
}

static void logistic_regression_finds_the_weights(void **state)
{
    const wmi_rng rng = wmi_rng_make(1, "logistic"), coin = wmi_rng_make(1, "label");
    regression *r = malloc(sizeof *r);
    wmi_lbfgs_result result;
    wm_error err = {0};
    double w[COLUMNS] = {0}, far[COLUMNS], g[COLUMNS], u[ROWS];

    (void)state;
    assert_non_null(r);
    wmi_rng_normal_f64(&rng, 0, (int64_t)ROWS * COLUMNS, &r->x[0][0]);
    wmi_rng_uniform_f64(&coin, 0, ROWS, u);
    for (int i = 0; i < ROWS; i++) {
        double s = 0;

        for (int j = 0; j < COLUMNS; j++)
            s += (j % 2 ? -1 : 1) * r->x[i][j]; /* true weights +-1 */
        r->label[i] = u[i] < 1 / (1 + exp(-s)) ? 1 : -1;
    }
    for (int j = 0; j < COLUMNS; j++)
        far[j] = 20;
    assert_ok(wmi_lbfgs(w, COLUMNS, logistic_loss, r, NULL, &result, &err), err);
    assert_true(result.converged && result.stop == WMI_LBFGS_GRADIENT);
    assert_near(logistic_loss(r, w, g, NULL), result.f, 1e-15);
    for (int j = 0; j < COLUMNS; j++) {
        assert_near(g[j], 0, 1e-7);
        /* standard error sqrt(1 / (500 E[p (1-p)])), E about 0.1: 0.15; the ridge shrinks by 2 % */
        assert_near(w[j], j % 2 ? -1 : 1, 5 * 0.15);
    }
    assert_ok(wmi_lbfgs(far, COLUMNS, logistic_loss, r, NULL, &result, &err), err);
    for (int j = 0; j < COLUMNS; j++)
        assert_near(far[j], w[j], 1e-4);
    free(r);
}

static void the_iteration_cap_holds(void **state)
{
    const int64_t n = 2;
    wm_error err = {0};
    wmi_lbfgs_result result;
    wmi_lbfgs_opts opts;
    double x[2] = {-1.2, 1}, g[2];

    (void)state;
    wmi_lbfgs_opts_init(&opts);
    opts.max_iterations = 5;
    assert_ok(wmi_lbfgs(x, n, rosenbrock, (void *)&n, &opts, &result, &err), err);
    assert_false(result.converged);
    assert_int_equal(result.stop, WMI_LBFGS_ITERATIONS);
    assert_int_equal(result.iterations, 5);
    /* f and the norm belong to the x that came back, which is better than the start's 24.2 */
    assert_true(rosenbrock((void *)&n, x, g, NULL) == result.f && result.f < 24.2);
    assert_near(result.grad_norm, hypot(g[0], g[1]), 1e-12 * result.grad_norm);
}

static void a_start_at_the_minimum_stays(void **state)
{
    const int64_t n = 2;
    wm_error err = {0};
    wmi_lbfgs_result result;
    double x[2] = {1, 1};

    (void)state;
    assert_ok(wmi_lbfgs(x, n, rosenbrock, (void *)&n, NULL, &result, &err), err);
    assert_true(result.converged && result.stop == WMI_LBFGS_GRADIENT);
    assert_int_equal(result.iterations, 0);
    assert_int_equal(result.evaluations, 1);
    assert_true(x[0] == 1 && x[1] == 1 && result.f == 0);
}

/* 20 (x - log x): minimum 20 at 1, and NaN for x < 0, where trial steps from the right land. */
static double barrier(void *ctx, const double *x, double *g, wm_error *err)
{
    int *outside = ctx;

    (void)err;
    *outside += x[0] < 0;
    g[0] = 20 * (1 - 1 / x[0]);
    return 20 * (x[0] - log(x[0]));
}

static void a_trial_outside_the_domain_is_stepped_back_from(void **state)
{
    static const double starts[] = {5, 100};

    (void)state;
    for (int k = 0; k < 2; k++) {
        wm_error err = {0};
        wmi_lbfgs_result result;
        int outside = 0;
        double x = starts[k];

        assert_ok(wmi_lbfgs(&x, 1, barrier, &outside, NULL, &result, &err), err);
        assert_true(outside > 0);
        assert_true(result.converged);
        assert_near(x, 1, 1e-8); /* |g| <= 1e-8 and a curvature of 20 leave 5e-10 */
        assert_near(result.f, 20, 1e-12);
    }
}

/* Finite at the start only: f is NaN wherever x differs from it. */
static double needle(void *ctx, const double *x, double *g, wm_error *err)
{
    (void)ctx, (void)err;
    g[0] = 1;
    return x[0] == 2 ? 7 : (double)NAN;
}

static double cliff(void *ctx, const double *x, double *g, wm_error *err)
{
    (void)ctx, (void)err;
    g[0] = 1;
    return x[0] < 1.5 ? -(double)INFINITY : x[0];
}

static double steep(void *ctx, const double *x, double *g, wm_error *err)
{
    (void)ctx, (void)err;
    g[0] = INFINITY;
    return x[0];
}

static void what_is_not_finite_is_reported(void **state)
{
    wm_error err = {0};
    wmi_lbfgs_result result;
    double x = 3;

    (void)state;
    assert_int_equal(wmi_lbfgs(&x, 1, needle, NULL, NULL, &result, &err), WM_EDIVERGED); /* start */
    assert_int_equal(err.code, WM_EDIVERGED);
    assert_int_equal(result.evaluations, 1);
    assert_true(x == 3 && !result.converged);
    x = 2;
    assert_int_equal(wmi_lbfgs(&x, 1, needle, NULL, NULL, &result, &err),
                     WM_EDIVERGED); /* around */
    assert_true(x == 2 && result.f == 7);
    assert_int_equal(wmi_lbfgs(&x, 1, cliff, NULL, NULL, &result, &err), WM_EDIVERGED);
    assert_int_equal(wmi_lbfgs(&x, 1, steep, NULL, NULL, &result, NULL), WM_EDIVERGED);
}

/* The gradient has the wrong sign: no step along it can lower f. */
static double wrong(void *ctx, const double *x, double *g, wm_error *err)
{
    (void)ctx, (void)err;
    g[0] = -2 * x[0];
    return x[0] * x[0];
}

static void a_wrong_gradient_is_not_called_converged(void **state)
{
    wm_error err = {0};
    wmi_lbfgs_result result;
    double x = 3;

    (void)state;
    assert_ok(wmi_lbfgs(&x, 1, wrong, NULL, NULL, &result, &err), err);
    assert_false(result.converged);
    assert_int_equal(result.stop, WMI_LBFGS_LINE_SEARCH);
    assert_true(x == 3 && result.f == 9 && result.grad_norm == 6);
    assert_int_equal(result.evaluations,
                     2 * (1 + 60)); /* two starts, each to the end of its trials */
}

/* x^2 / 2, but a wall stands around the minimum: a line search that has come to it finds no step
 * that satisfies the Wolfe conditions, as happens where f has no more digits. There 1e-3 <= |g| <
 * 2e-3. */
static double walled(void *ctx, const double *x, double *g, wm_error *err)
{
    (void)ctx, (void)err;
    g[0] = x[0];
    return fabs(x[0]) < 1e-3 ? 1e9 : x[0] * x[0] / 2;
}

static void a_failed_line_search_counts_as_converged_only_near_the_tolerance(void **state)
{
    static const double tolerances[] = {1e-5,
                                        1e-7}; /* times 1000: above and below the wall's |g| */

    (void)state;
    for (int k = 0; k < 2; k++) {
        wm_error err = {0};
        wmi_lbfgs_result result;
        wmi_lbfgs_opts opts;
        double x = 5;

        wmi_lbfgs_opts_init(&opts);
        opts.grad_tol = tolerances[k];
        assert_ok(wmi_lbfgs(&x, 1, walled, NULL, &opts, &result, &err), err);
        assert_int_equal(result.stop, WMI_LBFGS_LINE_SEARCH);
        assert_true(result.converged == (k == 0));
        assert_true(result.grad_norm >= 1e-3 && result.grad_norm < 2e-3);
        assert_true(fabs(x) == result.grad_norm);
    }
}

/* Rosenbrock, but evaluations 5 to 64 say 1e300: the first line search that meets them fails, and a
 * fresh start after it must go on to the minimum. */
static double stumbling(void *ctx, const double *x, double *g, wm_error *err)
{
    const int64_t n = 2;
    int *calls = ctx;
    const double f = rosenbrock((void *)&n, x, g, err);

    ++*calls;
    return *calls >= 5 && *calls < 65 ? 1e300 : f;
}

static void a_fresh_start_recovers(void **state)
{
    wm_error err = {0};
    wmi_lbfgs_result result;
    double x[2] = {-1.2, 1};
    int calls = 0;

    (void)state;
    assert_ok(wmi_lbfgs(x, 2, stumbling, &calls, NULL, &result, &err), err);
    assert_true(calls > 65 && result.evaluations == calls);
    assert_true(result.converged && result.stop == WMI_LBFGS_GRADIENT);
    assert_near(x[0], 1, 1e-7);
    assert_near(x[1], 1, 1e-7);
}

typedef struct fuse {
    int left;
    int64_t n;
} fuse;

static double interrupted(void *ctx, const double *x, double *g, wm_error *err)
{
    fuse *f = ctx;

    assert_true(f->left >= 0); /* not called again after it failed */
    if (f->left-- == 0) {
        (void)wmi_fail(err, WM_EINTERRUPTED, "time is up");
        return 0;
    }
    return rosenbrock(&f->n, x, g, err);
}

static void a_failing_objective_ends_the_run_with_its_status(void **state)
{
    (void)state;
    for (int calls = 0; calls < 12; calls++) {
        fuse f = {calls, 2};
        wm_error err = {0};
        wmi_lbfgs_result result;
        double x[2] = {-1.2, 1}, g[2];

        assert_int_equal(wmi_lbfgs(x, 2, interrupted, &f, NULL, &result, &err), WM_EINTERRUPTED);
        assert_string_equal(err.text, "time is up");
        assert_int_equal(result.evaluations, calls + 1);
        if (calls > 0)
            assert_true(rosenbrock(&f.n, x, g, NULL) == result.f); /* the last point accepted */
    }
}

static void wrong_arguments_and_no_memory_are_reported(void **state)
{
    const int64_t n = 2, live = wmi_alloc_live();
    wm_error err = {0};
    wmi_lbfgs_result result;
    wmi_lbfgs_opts opts;
    double x[2] = {0};

    (void)state;
    assert_int_equal(wmi_lbfgs(x, 0, rosenbrock, (void *)&n, NULL, &result, &err), WM_EINVAL);
    assert_int_equal(wmi_lbfgs(x, 1LL << 31, rosenbrock, (void *)&n, NULL, &result, &err),
                     WM_EINVAL);
    wmi_lbfgs_opts_init(&opts);
    opts.history = 0;
    assert_int_equal(wmi_lbfgs(x, n, rosenbrock, (void *)&n, &opts, &result, &err), WM_EINVAL);
    wmi_lbfgs_opts_init(&opts);
    opts.max_iterations = 0;
    assert_int_equal(wmi_lbfgs(x, n, rosenbrock, (void *)&n, &opts, &result, &err), WM_EINVAL);
    wmi_lbfgs_opts_init(&opts);
    opts.grad_tol = NAN;
    assert_int_equal(wmi_lbfgs(x, n, rosenbrock, (void *)&n, &opts, &result, &err), WM_EINVAL);
    wmi_alloc_fail_at(1);
    assert_int_equal(wmi_lbfgs(x, n, rosenbrock, (void *)&n, NULL, &result, &err), WM_ENOMEM);
    wmi_alloc_fail_at(0);
    assert_int_equal(wmi_alloc_live(), live);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rosenbrock_is_solved),
        cmocka_unit_test(ill_conditioned_quadratic_is_solved),
        cmocka_unit_test(a_small_decrease_stops_it),
        cmocka_unit_test(logistic_regression_finds_the_weights),
        cmocka_unit_test(the_iteration_cap_holds),
        cmocka_unit_test(a_start_at_the_minimum_stays),
        cmocka_unit_test(a_trial_outside_the_domain_is_stepped_back_from),
        cmocka_unit_test(what_is_not_finite_is_reported),
        cmocka_unit_test(a_wrong_gradient_is_not_called_converged),
        cmocka_unit_test(a_failed_line_search_counts_as_converged_only_near_the_tolerance),
        cmocka_unit_test(a_fresh_start_recovers),
        cmocka_unit_test(a_failing_objective_ends_the_run_with_its_status),
        cmocka_unit_test(wrong_arguments_and_no_memory_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
