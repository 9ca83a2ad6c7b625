/* mi_baselines.h - mutual information by a single ratio, as others estimate it: what `waymark mi
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
#ifndef WMI_ESTIMATORS_MI_BASELINES_H
#define WMI_ESTIMATORS_MI_BASELINES_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"
#include "waymark/sink.h"

typedef enum wmi_mi_baseline {
    WMI_MI_INFONCE,
    WMI_MI_NWJ,
    WMI_MI_DV,
    WMI_MI_JS,
    WMI_MI_SMILE,
    WMI_MI_KSG
} wmi_mi_baseline;
#define WMI_MI_BASELINES 6

/* "infonce", "nwj", "dv", "js", "smile", "ksg" */
const char *wmi_mi_baseline_name(wmi_mi_baseline kind);
/* false, and *out left alone, for a name that is none of them. */
bool wmi_mi_baseline_find(const char *name, wmi_mi_baseline *out);

typedef struct wmi_mi_baseline_opts {
    uint64_t seed;
    int64_t steps;      /* of Adam, at most */
    int64_t batch;      /* rows of p in a step, and as many of q; no more than there are */
    int64_t width;      /* of both hidden layers */
    int64_t embed;      /* columns of g(u) and f(v), for InfoNCE */
    double lr;          /* falls to 0 along a cosine */
    int64_t eval_every; /* steps between two looks at the held-out rows */
    int64_t patience;   /* looks without a better objective before the end; 0: for ever */
    double held_out;    /* share of the rows that are not trained on; never more than 10,000 */
    double mine; /* share of the present batch in DV's moving average, MINE's 0.01; 1: no average,
                    the plain gradient */
    double tau;  /* of SMILE */
    int64_t k;   /* neighbours of KSG */
    int64_t ksg_rows;    /* KSG reads no more rows than this, a random choice; 0: all */
    double time_limit;   /* seconds of training; 0: none */
    const wm_sink *sink; /* or NULL */
    const volatile sig_atomic_t *stop; /* or NULL */
} wmi_mi_baseline_opts;

/* Seed 1, 3,000 steps of 256 rows, width 128, 32 columns, lr 5e-4, every 50 steps, patience 20, a
 * fifth held out, mine 0.01, tau 5, k 3, 20,000 rows. */
void wmi_mi_baseline_opts_init(wmi_mi_baseline_opts *opts);

typedef struct wmi_mi_baseline_result {
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
} wmi_mi_baseline_result;

/* I(u; v) of rows u (n, du), v (n, dv), n >= 40, standardised or normal by ranks. opts may be NULL.
 *
 * The held-out rows are two halves. The critic that was best on one half is judged on the other, so
 * that choosing it does not flatter it; the estimate is the mean of both. The choice goes by the
 * loss of JS and SMILE, the bound of InfoNCE, and that of NWJ and DV less two standard errors.
 * Critics are trained in the caller's thread alone, so that the bits do not depend on the number of
 * threads. Stopped early, it answers with what it has. WM_EINVAL (options, too few rows, values not
 * finite), WM_ENOMEM, WM_EINTERRUPTED (KSG). */
WM_MUST_CHECK wm_status wmi_mi_baseline_run(wmi_mi_baseline kind, int64_t n, int64_t du,
                                            const double *u, int64_t dv, const double *v,
                                            const wmi_mi_baseline_opts *opts,
                                            wmi_mi_baseline_result *out, wm_error *err);

/* Several of them, the same bits as one by one, side by side on the threads that there are; KSG,
 * which uses them all, first. out (count), count <= WMI_MI_BASELINES. The sink hears of those that
 * the caller's thread is at. An error is that of the first method that failed. */
WM_MUST_CHECK wm_status wmi_mi_baselines_run(int count, const wmi_mi_baseline *kinds, int64_t n,
                                             int64_t du, const double *u, int64_t dv,
                                             const double *v, const wmi_mi_baseline_opts *opts,
                                             wmi_mi_baseline_result *out, wm_error *err);

#endif
