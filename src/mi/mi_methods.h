/* mi_methods.h - mutual information by a single ratio, as others estimate it: what `waymark mi
 * --compare` sets beside the telescope. All of them are given the same rows and the same effort.
 *
 *   InfoNCE  E log(e^T(u,v) / mean_j e^T(u,v_j)), v_j a batch of B: cannot exceed log B
 *            (van den Oord et al. 2018)
 *   NWJ      E_p[T] - E_q[e^(T-1)]                        (Nguyen, Wainwright and Jordan 2010)
 *   DV       E_p[T] - log E_q[e^T]; "MINE" with its moving average (Belghazi et al. 2018)
 *   JS       T learned by classification (logistic loss), put into NWJ as T + 1 (Poole et al. 2019)
 *   SMILE    the same T, put into DV with e^T clipped to [e^-tau, e^tau] (Song and Ermon 2020)
 *   KSG      nearest neighbours (ksg.h)
 *
 * p is the joint distribution of (u, v), q the product of its marginals. The critic T is a network
 * with two hidden layers on (u, v); for InfoNCE, whose loss reads all B x B pairs, it is
 * g(u)' f(v) + b(v). NWJ, DV and JS are lower bounds in expectation, but the mean of e^T over q has
 * a heavy tail: at I nats it wants some e^I pairs, and with fewer the estimate is noise. */
#ifndef WMI_MI_MI_METHODS_H
#define WMI_MI_MI_METHODS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"
#include "waymark/fit.h"

typedef enum wmi_mi_method {
    WMI_MI_INFONCE,
    WMI_MI_NWJ,
    WMI_MI_DV,
    WMI_MI_JS,
    WMI_MI_SMILE,
    WMI_MI_KSG
} wmi_mi_method;
#define WMI_MI_METHODS 6

/* "infonce", "nwj", "dv", "js", "smile", "ksg" */
const char *wmi_mi_method_name(wmi_mi_method kind);

typedef struct wmi_mi_method_opts {
    /* iterations: at most; batch: rows of p in a step, and as many of q, no more than there are;
     * eval_every: steps between two looks at the held-out rows; patience: looks without a better
     * objective. The rest is not used. */
    wm_adam_opts adam;
    wm_fit_control control; /* seed, sink, stop, time_limit: of training */
    int64_t width;          /* of both hidden layers */
    int64_t embed;          /* columns of g(u) and f(v), for InfoNCE */
    double held_out;        /* share of the rows that are not trained on; never more than 10,000 */
    double mine; /* share of the present batch in DV's moving average, MINE's 0.01; 1: no average,
                    the plain gradient */
    double tau;  /* of SMILE */
    int64_t k;   /* neighbours of KSG */
    int64_t ksg_rows; /* KSG reads no more rows than this, a random choice; 0: all */
} wmi_mi_method_opts;

/* 3,000 steps of 256 rows, width 128, 32 columns, lr 5e-4, every 50 steps, patience 20, a
 * fifth held out, mine 0.01, tau 5, k 3, 20,000 rows. */
void wmi_mi_method_opts_init(wmi_mi_method_opts *opts);

typedef struct wmi_mi_method_result {
    double mi; /* nats, on held-out rows (KSG: all); not bounded below by 0 */
    /* Standard error over the held-out rows, with the critic as it is (by influence values, both
     * through p and through q); KSG: by blocks. It knows nothing of bias, and where the tail of
     * e^T was not sampled it is too small. */
    double se;
    double bound; /* the estimate cannot exceed this: log B of InfoNCE; else infinity */
    int64_t n_train, n_held_out; /* rows; KSG: 0 and those that it read */
    int64_t steps, best_step;    /* taken; at which the (later) kept critic stood */
    double seconds;
    bool diverged; /* training ended in a loss that was not finite; the best until then is used */
    bool doubtful; /* KSG: too many tied values (ksg.h) */
} wmi_mi_method_result;

/* Pairs of rows u (n, du), v (n, dv), standardised or normal by ranks. */
typedef struct wmi_mi_rows {
    int64_t n, du, dv;
    const double *u, *v;
} wmi_mi_rows;

/* I(u; v) of n >= 40 pairs. opts may be NULL.
 *
 * The held-out rows are two halves. The critic that was best on one half is judged on the other, so
 * that choosing it does not flatter it; the estimate is the mean of both. The choice goes by the
 * loss of JS and SMILE, the bound of InfoNCE, and that of NWJ and DV less two standard errors.
 * Critics are trained in the caller's thread alone, so that the bits do not depend on the number of
 * threads. Stopped early, it answers with what it has. WM_EINVAL (options, too few rows, values not
 * finite), WM_ENOMEM, WM_EINTERRUPTED (KSG). */
WM_MUST_CHECK wm_status wmi_mi_method_run(wmi_mi_method kind, const wmi_mi_rows *rows,
                                          const wmi_mi_method_opts *opts, wmi_mi_method_result *out,
                                          wm_error *err);

/* Several of them, the same bits as one by one, side by side on the threads that there are; KSG,
 * which uses them all, first. out (count), count <= WMI_MI_METHODS. The sink hears of those that
 * the caller's thread is at. An error is that of the first method that failed. */
WM_MUST_CHECK wm_status wmi_mi_methods_run(int count, const wmi_mi_method *kinds,
                                           const wmi_mi_rows *rows, const wmi_mi_method_opts *opts,
                                           wmi_mi_method_result *out, wm_error *err);

#endif
