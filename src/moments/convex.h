/* convex.h - linear and quadratic bridges without stochastic training.
 *
 * Mean and covariance of every waymark follow from those of p0 and
 * pm (path_moments.h), and the log-ratio of two Gaussians with these moments is a quadratic form:
 * the exact answer for Gaussian data, found in the time of a few Cholesky factors. It is then
 * tested on held-out rows: where a step along the logistic gradient lowers the held-out loss by
 * more than its noise, the bridge is refined by L-BFGS with a ridge toward the moment solution, as
 * strong as held-out loss wants it (the unregularised optimum overfits badly in high dimension). No
 * learning rate; deterministic. */
#ifndef WMI_MOMENTS_CONVEX_H
#define WMI_MOMENTS_CONVEX_H

#include <signal.h>

#include "base/fail.h"
#include "waymark/sink.h"
#include "waymark/waymarks.h"

/* Samples, row-major (n, dim). */
typedef struct wmi_convex_data {
    int64_t dim;
    int64_t n0_train, n0_valid, nm_train, nm_valid;
    const double *x0_train, *x0_valid, *xm_train, *xm_valid;
    bool xm_standard; /* pm is N(0, I): its moments are known */
    bool pairs;       /* rows of p0 and pm meet in any combination: new pairs are new data */
} wmi_convex_data;

typedef struct wmi_convex_opts {
    bool quadratic; /* else linear: equal covariances */
    bool refine;    /* test and refine; else the moments alone */
    bool all_rows;  /* moments that stay are in the end those of all rows, held-out ones too */
    uint64_t seed;  /* pairing of rows */
    const wm_sink *sink;
    const volatile sig_atomic_t *stop;
} wmi_convex_opts;

/* log r_k(x) = -(x' Q_k x + w_k' x + c_k) */
typedef struct wmi_convex_bridge {
    double *q; /* (d, d) symmetric; zeros for linear bridges */
    double *w; /* (d) */
    double c;
    double ridge;      /* INFINITY: the moments won */
    double valid_loss; /* held-out logistic loss; NAN without refine */
    double valid_gain; /* of the refinement over the moments, nats; 0 where the moments won */
} wmi_convex_bridge;

/* With all_rows nothing of the data is left to judge the bridges by: for callers who have kept
 * other rows for that. valid_loss and valid_gain are still those of the training rows' moments.
 *
 * bridges (m) with q and w given by the caller. shrink, if not NULL, receives the weight of the
 * diagonal in the covariance of p0, chosen on held-out likelihood. WM_EINVAL where a covariance is
 * singular. */
WM_MUST_CHECK wm_status wmi_convex_fit(const wmi_convex_data *data, const wm_chain *chain,
                                       const wmi_convex_opts *opts, wmi_convex_bridge *bridges,
                                       double *shrink, wm_error *err);
/* Quadratic bridges from moments of the ends that are known, and nothing else. */
struct wmi_end_moments;
WM_MUST_CHECK wm_status wmi_convex_of_ends(const wm_chain *chain, const struct wmi_end_moments *m0,
                                           const struct wmi_end_moments *mm,
                                           wmi_convex_bridge *bridges, wm_error *err);

#endif
