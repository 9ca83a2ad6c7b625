/* plug_in.h - divergences of the Gaussians that have the moments of two tables, freed of their
 * bias.
 *
 * The mean of a fitted log-ratio over the rows that it was fitted to is too large, and over other
 * rows it is off as well: of a quadratic form by about d^2 / n, which is more than any other error
 * where columns are many. Both hang on the rows through means and covariances alone, so that the
 * fit without each of many groups costs one factor of a covariance, all rows are used, and the
 * delete-a-group jackknife gives the estimate without its bias of order 1 / n, and its error.
 * Bridges by moments add up to these log-ratios however many there are. */
#ifndef WMI_MOMENTS_PLUG_IN_H
#define WMI_MOMENTS_PLUG_IN_H

#include <stdint.h>

#include "base/fail.h"
#include "moments/group_moments.h"

/* Rows x[0] (n[0], dim) of p and x[1] of q in random order. Of pairs there is no q: it has the
 * first `pairs` columns of p and the others independently, each with their own covariance. */
typedef struct wmi_plug_in_rows {
    int64_t n[2], dim, pairs;
    const double *x[2];
    const wm_moments *groups[2]; /* instead of x, where rows were only passed by; or NULL */
} wmi_plug_in_rows;

/* The mean of log p/q over rows of p, or of log q/p over rows of q. */
typedef struct wmi_plug_in {
    double unseen;    /* each row by the fit to the other folds */
    double corrected; /* of the fit to all rows, without its bias */
    double se;        /* of corrected: rows and fit, and half of what the next order may be */
    int64_t groups;
} wmi_plug_in;

/* out[0] of p, out[1] of q. WM_EINVAL where a covariance is singular or there are too few rows. */
WM_MUST_CHECK wm_status wmi_plug_in_divergences(wmi_plug_in out[2], const wmi_plug_in_rows *rows,
                                                int64_t folds, wm_error *err);

#endif
