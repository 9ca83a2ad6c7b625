/* special.h - the special functions of statistics that C11 lacks, and one integral. Each is a pure
 * function, safe from any thread (lgamma() of the C library writes a global). */
#ifndef WMI_BASE_SPECIAL_H
#define WMI_BASE_SPECIAL_H

/* log Gamma(x) and its derivative, x > 0, to 1e-14 of the larger of 1 and the value; NaN
 * elsewhere. */
double wmi_log_gamma(double x);
double wmi_psi(double x);

/* Standard normal: distribution function, and its inverse for p in (0, 1), -inf and +inf at the
 * ends, NaN outside. Both keep their relative digits in the lower tail, down to p = 1e-300. */
double wmi_normal_cdf(double z);
double wmi_normal_inverse(double p);

typedef double wmi_integrand(double x, const void *ctx);

/* The integral of f over the real line by the double-exponential rule, for f that is analytic and
 * falls faster than |x|^-1.2. centre and scale (> 0) say where f lives: within a factor of some
 * hundreds is enough. *error (may be NULL) is the last change plus the rounding of the sum. */
double wmi_integrate(wmi_integrand *f, const void *ctx, double centre, double scale, double *error);

#endif
