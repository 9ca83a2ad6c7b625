/* isotonic.h - log-ratios from the scores of a classifier, by the one assumption that a higher
 * score means a higher ratio: isotonic regression on rows that the classifier was not trained on.
 * What comes out is the ratio of the scores' own densities, so its mean over numerator rows
 * estimates a divergence that cannot exceed that of the rows, however wrong the scores' size is. */
#ifndef WMI_CHECK_ISOTONIC_H
#define WMI_CHECK_ISOTONIC_H

#include <stdint.h>

#include "base/fail.h"

/* A step function, ascending: log_r[b] from score from[b] on; the first reaches down to -inf. */
typedef struct wmi_isotonic {
    int64_t steps;
    double *from, *log_r, *var; /* (steps) var: of log_r, by the counts of rows in the step */
} wmi_isotonic;

/* Starts as {0}; freed also after a failure. Scores are finite, and at least one a side. */
WM_MUST_CHECK wm_status wmi_isotonic_fit(wmi_isotonic *f, int64_t n_num, const double *num,
                                         int64_t n_den, const double *den, wm_error *err);
void wmi_isotonic_free(wmi_isotonic *f);
/* The step that a score falls in. */
int64_t wmi_isotonic_step(const wmi_isotonic *f, double score);

#endif
