/* lbfgs.h - minimising a smooth function of a flat double vector by L-BFGS (libLBFGS behind it). */
#ifndef WMI_OPTIM_LBFGS_H
#define WMI_OPTIM_LBFGS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"

/* f(x), and its gradient into grad (n). x is finite. A failure is reported by setting
 * err->code (as wmi_fail does), which ends the run with that status: WM_EINTERRUPTED stops it. */
typedef double wmi_lbfgs_f(void *ctx, const double *x, double *grad, wm_error *err);

typedef struct wmi_lbfgs_opts {
    int64_t history;        /* pairs kept; default 10 */
    int64_t max_iterations; /* default 1000, at least 1 */
    double grad_tol;        /* converged when |grad| <= grad_tol * max(1, |x|); default 1e-8 */
    double decrease_tol;    /* or when an iteration lowers f by no more than decrease_tol * max(1,
                               |f|); default 0: off */
} wmi_lbfgs_opts;

void wmi_lbfgs_opts_init(wmi_lbfgs_opts *opts);

typedef enum wmi_lbfgs_stop {
    WMI_LBFGS_GRADIENT,    /* grad_tol reached */
    WMI_LBFGS_DECREASE,    /* decrease_tol reached */
    WMI_LBFGS_ITERATIONS,  /* max_iterations used up */
    WMI_LBFGS_LINE_SEARCH, /* no step lowers f: rounding, or a gradient that is not that of f */
} wmi_lbfgs_stop;

typedef struct wmi_lbfgs_result {
    double f, grad_norm; /* at the x that is returned */
    int64_t iterations, evaluations;
    wmi_lbfgs_stop stop;
    bool converged; /* by gradient or decrease; also if the line search ended where the gradient is
                       within a factor 1000 of its tolerance, which is where rounding ends it */
} wmi_lbfgs_result;

/* Minimises f from x (n), which receives the last point accepted, also on failure. When the line
 * search fails far from a minimum, starts once more from there with an empty history. Not to
 * converge is no failure: look at result->converged. opts may be NULL.
 * WM_EINVAL; WM_ENOMEM; what f reports; WM_EDIVERGED if f or its gradient is not finite at the
 * start, or f is -inf anywhere. A trial step to where they are not finite is stepped back from, and
 * is WM_EDIVERGED only if no shorter step helps. Serial: put threads into f. */
WM_MUST_CHECK wm_status wmi_lbfgs(double *x, int64_t n, wmi_lbfgs_f *f, void *ctx,
                                  const wmi_lbfgs_opts *opts, wmi_lbfgs_result *result,
                                  wm_error *err);

#endif
