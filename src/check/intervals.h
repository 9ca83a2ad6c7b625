/* intervals.h - how far a mean of cross-fitted log-ratios may be from the truth.
 *
 * Two things are random: the rows that the mean is taken over, and the fits. The spread of the rows
 * gives the first. The second is often the larger by far (the KL divergence of distant Gaussians
 * hangs on one estimated variance), and only fits on other data show it: leaving out one fold at a
 * time gives the delete-a-group jackknife, which holds both. */
#ifndef WMI_CHECK_INTERVALS_H
#define WMI_CHECK_INTERVALS_H

#include <stdint.h>

#include "waymark/check.h"

#define WMI_Z_975 1.959963985 /* quantile 0.975 of the normal distribution */
/* And of Student's t with df degrees of freedom. */
double wmi_t_975(int64_t df);

/* x (n): log-ratios, each by a fit that has not seen its row; w (n) weights of mean one or NULL.
 * without (folds): the estimate by each fold's fit on the rows that it was fitted on. The larger of
 * the two errors counts. */
wm_estimate wmi_interval(int64_t n, const double *x, const double *w, int64_t folds,
                         const double *without);

#endif
