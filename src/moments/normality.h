/* normality.h - whether rows look as if they were drawn from one normal distribution.
 *
 * A form by moments says what a ratio is also where there are no rows, and is right there if the
 * tables are normal. Of pairs it finds only what is linear between u and v. Whitened rows z of a
 * normal table have columns that are normal, squared lengths that are chi-squared, and directions
 * that do not depend on the length: E[(|z|^2 - d - 2) z_i z_j] = 0, and of pairs
 * E[(|u|^2 - d_u - 2) u_i v_j] = 0. Of normal pairs, what u does not say of v linearly, e, has the
 * same spread wherever u is: E[(u_i^2 - 1)(e_j^2 - 1)] = 0, and so of squared lengths. */
#ifndef WMI_MOMENTS_NORMALITY_H
#define WMI_MOMENTS_NORMALITY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"

typedef struct wmi_normality {
    double shape;       /* largest distance of a distribution function, of a column or of |z|^2,
                           from what it should be */
    double shape_limit; /* what chance and a harmless departure make of that */
    double tie;         /* largest of the products, in standard errors */
    double tie_limit;   /* what chance makes of as many */
} wmi_normality;

/* Of rows x (n, d); pairs: columns of u, or 0. Where a covariance is singular nothing is normal:
 * both are infinite. */
WM_MUST_CHECK wm_status wmi_normality_of(wmi_normality *out, int64_t n, int64_t d, const double *x,
                                         int64_t pairs, wm_error *err);
bool wmi_looks_normal(const wmi_normality *n);

#endif
