/* lbfgs.c - libLBFGS with its traps closed. Its default line search (More-Thuente) has a cubic-step
 * bug for gtol <= 0.1 (chokkan/liblbfgs issue 28), so backtracking with the strong Wolfe conditions
 * is used; its test of the decrease divides by f, which misleads where f is near 0, so that test is
 * ours; it cannot be stopped by the objective and takes NaN for a good step, so it is told +inf. */
#include "optim/lbfgs.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include <lbfgs.h>

#include "base/alloc.h"

enum {
    STOP_DECREASE = 1000, /* what progress() returns: positive, and none of the library's codes */
    STOP_BROKEN,
    MAX_TRIALS = 60, /* of one line search: a step shorter by 2^-60 is beyond rounding */
    PADDING = 16     /* the library's SSE build rounds n up to a multiple of 8 */
};

typedef struct run {
    int64_t n;
    wmi_lbfgs_f *f;
    void *ctx;
    double decrease_tol;
    double *x;                    /* (n) the caller's: the last point accepted, as are ... */
    double fx, grad_norm, x_norm; /* ... these three */
    int64_t iterations, evaluations;
    bool started; /* this start has evaluated its first point */
    bool wild;    /* f or its gradient was not finite at the last trial */
    wm_error err; /* code is WM_OK until something fails; from then on f is not called */
} run;

static double norm(const double *x, int64_t n)
{
    double s = 0;

    for (int64_t i = 0; i < n; i++)
        s += x[i] * x[i];
    return sqrt(s);
}

static void accept(run *r, const double *x, double fx, double grad_norm)
{
    memcpy(r->x, x, (size_t)r->n * sizeof *x);
    r->fx = fx;
    r->grad_norm = grad_norm;
    r->x_norm = norm(x, r->n);
}

/* The answer for a point that must not be accepted: the line search sees no decrease and shortens
 * the step; at the first point of a start the zero gradient ends the run. */
static double refuse(const run *r, double *grad)
{
    memset(grad, 0, (size_t)r->n * sizeof *grad);
    return HUGE_VAL;
}

static lbfgsfloatval_t evaluate(void *instance, const lbfgsfloatval_t *x, lbfgsfloatval_t *grad,
                                const int n, const lbfgsfloatval_t step)
{
    run *r = instance;
    double fx, grad_norm;

    (void)n, (void)step;
    r->wild = !isfinite(norm(x, r->n)); /* a direction that overflowed */
    if (r->err.code || r->wild)
        return refuse(r, grad);
    fx = r->f(r->ctx, x, grad, &r->err);
    r->evaluations++;
    if (r->err.code)
        return refuse(r, grad);
    grad_norm = norm(grad, r->n);
    r->wild = !isfinite(fx) || !isfinite(grad_norm);
    if (r->wild) {
        if (!r->started || fx == -HUGE_VAL)
            (void)wmi_fail(&r->err, WM_EDIVERGED,
                           "L-BFGS iteration %" PRId64 ": f = %g, gradient norm %g", r->iterations,
                           fx, grad_norm);
        return refuse(r, grad);
    }
    if (!r->started)
        accept(r, x, fx, grad_norm);
    r->started = true;
    return fx;
}

/* Called with the point that a line search chose. */
static int progress(void *instance, const lbfgsfloatval_t *x, const lbfgsfloatval_t *grad,
                    const lbfgsfloatval_t fx, const lbfgsfloatval_t x_norm,
                    const lbfgsfloatval_t grad_norm, const lbfgsfloatval_t step, int n, int k,
                    int ls)
{
    run *r = instance;
    const double decrease = r->fx - fx;

    (void)grad, (void)x_norm, (void)step, (void)n, (void)k, (void)ls;
    if (r->err.code || r->wild) /* a direction of NaNs makes the library accept anything */
        return STOP_BROKEN;
    accept(r, x, fx, grad_norm);
    r->iterations++;
    if (r->decrease_tol > 0 && decrease <= r->decrease_tol * fmax(1, fabs(fx)))
        return STOP_DECREASE;
    return 0;
}

/* One start of libLBFGS from r->x by way of `work`; the library's code, or progress()'s. */
static int start(run *r, double *work, const wmi_lbfgs_opts *o)
{
    const int64_t left = o->max_iterations - r->iterations; /* >= 1; 0 would mean no limit */
    lbfgs_parameter_t p;
    int code;

    lbfgs_parameter_init(&p);
    p.m = (int)o->history;
    p.epsilon = o->grad_tol;
    p.linesearch = LBFGS_LINESEARCH_BACKTRACKING_STRONG_WOLFE;
    p.max_linesearch = MAX_TRIALS;
    p.max_iterations = left < INT_MAX ? (int)left : INT_MAX;
    memcpy(work, r->x, (size_t)r->n * sizeof *work);
    r->started = false;
    code = lbfgs((int)r->n, work, NULL, evaluate, progress, r, &p);
    if (code == LBFGSERR_OUTOFMEMORY)
        (void)wmi_fail(&r->err, WM_ENOMEM, "L-BFGS: no memory for history %" PRId64 " of %" PRId64,
                       o->history, r->n);
    return code;
}

static bool gradient_within(const run *r, double tol)
{
    return r->grad_norm <= tol * fmax(1, r->x_norm);
}

/* Why a start ended, into result; false if its line search failed where f is not flat. */
static bool settle(const run *r, int code, const wmi_lbfgs_opts *o, wmi_lbfgs_result *result)
{
    if (code == STOP_DECREASE)
        result->stop = WMI_LBFGS_DECREASE;
    else if (gradient_within(r, o->grad_tol))
        result->stop = WMI_LBFGS_GRADIENT;
    else if (r->iterations >= o->max_iterations)
        result->stop = WMI_LBFGS_ITERATIONS;
    else
        result->stop = WMI_LBFGS_LINE_SEARCH;
    if (result->stop == WMI_LBFGS_LINE_SEARCH)
        result->converged = gradient_within(r, 1000 * o->grad_tol);
    else
        result->converged = result->stop != WMI_LBFGS_ITERATIONS;
    return result->stop != WMI_LBFGS_LINE_SEARCH || result->converged;
}

static wm_status check(int64_t n, const wmi_lbfgs_opts *o, wm_error *err)
{
    if (n < 1 || n > INT_MAX - PADDING)
        return wmi_fail(err, WM_EINVAL, "L-BFGS over %" PRId64 " variables", n);
    if (o->history < 1 || o->history > INT_MAX || o->max_iterations < 1)
        return wmi_fail(err, WM_EINVAL, "L-BFGS with history %" PRId64 ", %" PRId64 " iterations",
                        o->history, o->max_iterations);
    if (!(o->grad_tol >= 0 && o->decrease_tol >= 0))
        return wmi_fail(err, WM_EINVAL, "L-BFGS with tolerances %g, %g", o->grad_tol,
                        o->decrease_tol);
    return WM_OK;
}

void wmi_lbfgs_opts_init(wmi_lbfgs_opts *opts)
{
    *opts = (wmi_lbfgs_opts){.history = 10, .max_iterations = 1000, .grad_tol = 1e-8};
}

wm_status wmi_lbfgs(double *x, int64_t n, wmi_lbfgs_f *f, void *ctx, const wmi_lbfgs_opts *opts,
                    wmi_lbfgs_result *result, wm_error *err)
{
    run r = {.n = n, .f = f, .ctx = ctx, .x = x, .fx = NAN, .grad_norm = NAN};
    wmi_lbfgs_opts o;
    double *work = NULL; /* (n and padding), aligned as the library's SSE build wants it */
    wm_status st;
    int code;

    *result = (wmi_lbfgs_result){.f = NAN, .grad_norm = NAN};
    wmi_lbfgs_opts_init(&o);
    if (opts)
        o = *opts;
    r.decrease_tol = o.decrease_tol;
    if ((st = check(n, &o, err)) ||
        (st = wmi_alloc(&work, n + PADDING, sizeof *work, "L-BFGS", err)))
        return st;
    code = start(&r, work, &o);
    if (!r.err.code && !settle(&r, code, &o, result)) {
        code = start(&r, work, &o);
        if (!r.err.code && !settle(&r, code, &o, result) && r.wild)
            (void)wmi_fail(&r.err, WM_EDIVERGED,
                           "L-BFGS iteration %" PRId64 ": no step from f = %g to a finite f",
                           r.iterations, r.fx);
    }
    result->f = r.fx;
    result->grad_norm = r.grad_norm;
    result->iterations = r.iterations;
    result->evaluations = r.evaluations;
    if (r.err.code && err)
        *err = r.err;
    wmi_free(work);
    return r.err.code;
}
