/* special.c - log Gamma, digamma, the normal distribution and its inverse, integrals over the line.
 */
#include "base/special.h"

#include <float.h>
#include <math.h>

#include "base/sums.h"

#define PI 3.14159265358979323846
#define STIRLING 12 /* above this the series below are exact to rounding */

/* Stirling's series, its argument raised to STIRLING by Gamma(x + 1) = x Gamma(x). */
double wmi_log_gamma(double x)
{
    double product = 1, r, r2;

    if (!(x > 0))
        return NAN;
    for (; x < STIRLING; x++)
        product *= x;
    r = 1 / x;
    r2 = r * r;
    return (x - 0.5) * log(x) - x + 0.5 * log(2 * PI) - log(product) +
           r * (1.0 / 12 -
                r2 * (1.0 / 360 -
                      r2 * (1.0 / 1260 -
                            r2 * (1.0 / 1680 - r2 * (1.0 / 1188 - r2 * (691.0 / 360360))))));
}

double wmi_psi(double x)
{
    double sum = 0, r2;

    if (!(x > 0))
        return NAN;
    for (; x < STIRLING; x++)
        sum += 1 / x;
    r2 = 1 / (x * x);
    return log(x) - 0.5 / x - sum -
           r2 * (1.0 / 12 -
                 r2 * (1.0 / 120 -
                       r2 * (1.0 / 252 -
                             r2 * (1.0 / 240 - r2 * (1.0 / 132 - r2 * (691.0 / 32760))))));
}

double wmi_normal_cdf(double z)
{
    return 0.5 * erfc(-z * sqrt(0.5));
}

/* Newton on log cdf(z) = log p in the lower half. The left side is concave and rising, so that the
 * steps from a point below the root stay below it; cdf(-t) <= exp(-t^2 / 2) / 2 gives such a point.
 */
double wmi_normal_inverse(double p)
{
    double z, step;

    if (!(p >= 0 && p <= 1))
        return NAN;
    if (p == 0 || p == 1)
        return p == 0 ? -INFINITY : INFINITY;
    if (p > 0.5)
        return -wmi_normal_inverse(1 - p);
    z = -sqrt(-2 * log(2 * p));
    for (int i = 0; i < 60; i++) {
        const double c = wmi_normal_cdf(z);

        step = log(p / c) * c * sqrt(2 * PI) * exp(0.5 * z * z);
        if (!(step > 0) || !isfinite(step))
            break;
        z += step;
        if (step < 4 * DBL_EPSILON * (1 + fabs(z)))
            break;
    }
    return z;
}

/* With x = centre + scale sinh(pi/2 sinh t) the integrand in t falls double-exponentially, and the
 * trapezoidal rule gains digits in proportion to 1/h. t to 5 reaches |x| = 1e50 scales. */
double wmi_integrate(wmi_integrand *f, const void *ctx, double centre, double scale, double *error)
{
    const double end = 5;
    wmi_running_sum sum = {0}, size = {0};
    double value = 0, change = INFINITY, rounding = 0;
    int64_t half = 20; /* points on either side */

    for (int level = 0; level < 10; level++) {
        const double h = end / (double)half, before = value;

        for (int64_t k = -half; k <= half; k++) {
            const double t = h * (double)k, s = 0.5 * PI * sinh(t);
            double term;

            if (level > 0 && k % 2 == 0) /* a point of the coarser grid */
                continue;
            term = f(centre + scale * sinh(s), ctx) * (0.5 * PI * scale * cosh(s) * cosh(t));
            wmi_sum_add(&sum, term);
            wmi_sum_add(&size, fabs(term));
        }
        value = h * wmi_sum_value(&sum);
        change = fabs(value - before);
        rounding = 4 * DBL_EPSILON * h * wmi_sum_value(&size);
        if (level >= 3 && change <= 10 * rounding)
            break;
        half *= 2;
    }
    if (error)
        *error = change + rounding;
    return value;
}
