/* transform.h - from data as given to what densities are fitted to, and back:
 *
 *   x -> (x + u) / levels -> logit(lambda + (1 - 2 lambda) .) -> (. - shift) / scale
 *
 * where each step but the last may be absent. In a table where columns differ in kind, the first
 * two are those of steps.h instead, and constant columns are left out. The Jacobian of all of it
 * belongs to the likelihood.
 */
#ifndef WMI_COLUMNS_TRANSFORM_H
#define WMI_COLUMNS_TRANSFORM_H

#include <stdbool.h>

#include "columns/steps.h"
#include "waymark/data.h"

typedef struct wmi_transform {
    int64_t raw;           /* columns as given */
    int64_t dim;           /* of y */
    wmi_steps steps;       /* raw 0: every column is alike, and raw is dim */
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
/* The same behind steps, which it takes over. */
WM_MUST_CHECK wm_status wmi_transform_fit_steps(wmi_transform *t, wmi_steps *steps,
                                                bool standardize, int64_t n, const double *x,
                                                uint64_t seed, wm_error *err);
/* With moments to be filled in: zeros and ones. */
WM_MUST_CHECK wm_status wmi_transform_new(wmi_transform *t, double levels, double lambda,
                                          int64_t dim, wm_error *err);
void wmi_transform_free(wmi_transform *t);
/* Whether rows need uniform numbers. */
bool wmi_transform_jitters(const wmi_transform *t);

/* WM_EINVAL as above; what names the table. */
WM_MUST_CHECK wm_status wmi_transform_check(const wmi_transform *t, const char *what, int64_t n,
                                            const double *x, wm_error *err);
/* Rows x (n, raw) to y (n, dim), which may be x where raw is dim; u (n, dim) in (0, 1), read where
 * rows need it, or NULL: 1/2. log_det (n): log |det dy/dx|, or NULL. */
void wmi_transform_rows(const wmi_transform *t, int64_t n, const double *x, const double *u,
                        double *y, double *log_det);
/* And back: y (n, dim) to x (n, raw), which may be y where raw is dim. Levels are not rounded, 0 <=
 * x < levels; behind steps every value is one that its column may have. */
void wmi_transform_back(const wmi_transform *t, int64_t n, const double *y, double *x);

#endif
