/* transform.h - from data as given to what densities are fitted to, and back:
 *
 *   x -> (x + u) / levels -> logit(lambda + (1 - 2 lambda) .) -> (. - shift) / scale
 *
 * where each step but the last may be absent. The Jacobian of all of it belongs to the likelihood.
 */
#ifndef WMI_ESTIMATORS_TRANSFORM_H
#define WMI_ESTIMATORS_TRANSFORM_H

#include <stdbool.h>

#include "waymark/data.h"

typedef struct wmi_transform {
    int64_t dim;
    double levels;         /* 0: values are continuous already */
    double lambda;         /* 0: no logit */
    double *shift, *scale; /* (dim) */
} wmi_transform;

/* Settings, and the moments of the rows: standardize, else columns are only centred. WM_EINVAL
 * names row, column and value of what the settings do not allow (not in 0 .. levels - 1, not in [0,
 * 1]), and a constant column that is to be standardized. seed: of the uniform numbers. */
WM_MUST_CHECK wm_status wmi_transform_fit(wmi_transform *t, double levels, double lambda,
                                          bool standardize, int64_t n, int64_t dim, const double *x,
                                          uint64_t seed, wm_error *err);
/* The same with moments to be filled in: zeros and ones. */
WM_MUST_CHECK wm_status wmi_transform_new(wmi_transform *t, double levels, double lambda,
                                          int64_t dim, wm_error *err);
void wmi_transform_free(wmi_transform *t);

/* WM_EINVAL as above; what names the table. */
WM_MUST_CHECK wm_status wmi_transform_check(const wmi_transform *t, const char *what, int64_t n,
                                            const double *x, wm_error *err);
/* Rows x (n, dim) to y (n, dim), which may be x; u (n, dim) in (0, 1), read where there are levels,
 * or NULL: 1/2. log_det (n): log |det dy/dx|, or NULL. */
void wmi_transform_rows(const wmi_transform *t, int64_t n, const double *x, const double *u,
                        double *y, double *log_det);
/* And back, to numbers that are not rounded: 0 <= x < levels. */
void wmi_transform_back(const wmi_transform *t, int64_t n, const double *y, double *x);

#endif
