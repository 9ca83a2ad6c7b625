/* sums.h - sums that keep their digits: compensated sums, moments, and sums of exponentials in
 * logs. Serial and in index order, so that results do not depend on threads. NaN goes through to
 * the result. */
#ifndef WMI_BASE_SUMS_H
#define WMI_BASE_SUMS_H

#include <math.h>
#include <stdint.h>

/* Neumaier's running sum: the error is about one rounding of the result plus n eps^2 sum |x|,
 * whatever the order and cancellation. Starts as {0}. */
typedef struct wmi_running_sum {
    double sum, lost; /* lost: what rounding took from sum so far */
} wmi_running_sum;

static inline void wmi_sum_add(wmi_running_sum *s, double x)
{
    const double t = s->sum + x;

    s->lost += fabs(s->sum) >= fabs(x) ? (s->sum - t) + x : (x - t) + s->sum;
    s->sum = t;
}

static inline double wmi_sum_value(const wmi_running_sum *s)
{
    return isfinite(s->sum) ? s->sum + s->lost : s->sum; /* lost is NaN after an infinity */
}

/* Sum of x (n); 0 when empty. */
double wmi_sum_f64(const double *x, int64_t n);

typedef struct wmi_moments {
    double mean; /* NaN when n = 0 */
    double var;  /* with divisor n - 1; NaN when n < 2 */
} wmi_moments;

/* Mean and variance of x (n) in two passes: the variance keeps its digits under a large mean. */
wmi_moments wmi_moments_f64(const double *x, int64_t n);

/* Mean and variance of an estimate that was made n times, each time without another n-th of the
 * data (the delete-a-group jackknife): the variance is that of the estimate from all of them. */
wmi_moments wmi_jackknife(const double *without, int64_t n);

/* log sum exp(x); -inf when empty or all are -inf, +inf when one is +inf. */
double wmi_log_sum_exp(const double *x, int64_t n);

/* log(1 + exp(x)), "softplus": for every x to a few units in the last place. */
double wmi_log1pexp(double x);
/* log(1 - exp(x)) for x <= 0: -inf at 0, NaN above. */
double wmi_log1mexp(double x);

#endif
