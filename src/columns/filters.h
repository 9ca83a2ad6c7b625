/* filters.h - directions in which rows are looked at beside their columns: principal components,
 * scaled to variance 1, and the columns whitened (ZCA: the whitening that stays nearest to them).
 */
#ifndef WMI_COLUMNS_FILTERS_H
#define WMI_COLUMNS_FILTERS_H

#include <stdint.h>

#include "base/fail.h"

/* W (d, 2 d) = [V w^-1/2, V w^-1/2 V'] of the covariance V diag(w) V' of the rows x (n, d).
 * Directions without variance are held at 1e-9 of the largest. */
WM_MUST_CHECK wm_status wmi_filters_make(int64_t n, int64_t d, const float *x, float *filter,
                                         wm_error *err);
/* x (n, d) and x W side by side: out (n, 3 d). */
WM_MUST_CHECK wm_status wmi_filters_rows(int64_t n, int64_t d, const float *x, const float *filter,
                                         float *out, wm_error *err);

#endif
