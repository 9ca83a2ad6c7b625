/* sums.c - compensated sums, two-pass moments, log-sum-exp. */
#include "base/sums.h"

double wmi_sum_f64(const double *x, int64_t n)
{
    wmi_running_sum s = {0};

    for (int64_t i = 0; i < n; i++)
        wmi_sum_add(&s, x[i]);
    return wmi_sum_value(&s);
}

/* From the sums of d and d^2, d = x - mean: the first would be 0 but for the rounding of the mean,
 * which this takes out again (Chan, Golub and LeVeque 1983). */
static double variance(const wmi_running_sum *d, const wmi_running_sum *d2, int64_t n)
{
    const double sum = wmi_sum_value(d);

    return n < 2 ? (double)NAN : (wmi_sum_value(d2) - sum * sum / (double)n) / (double)(n - 1);
}

wmi_moments wmi_moments_f64(const double *x, int64_t n)
{
    const double mean = n > 0 ? wmi_sum_f64(x, n) / (double)n : (double)NAN;
    wmi_running_sum d1 = {0}, d2 = {0};

    for (int64_t i = 0; i < n; i++) {
        const double d = x[i] - mean;

        wmi_sum_add(&d1, d);
        wmi_sum_add(&d2, d * d);
    }
    return (wmi_moments){mean, variance(&d1, &d2, n)};
}

wmi_moments wmi_jackknife(const double *without, int64_t n)
{
    wmi_moments m = wmi_moments_f64(without, n);

    m.var *= (double)(n - 1) * (double)(n - 1) / (double)n;
    return m;
}

/* The largest term is left out of the sum and put back by log1p, so that terms far below it still
 * show: {0, -40} gives exp(-40), not 0. */
double wmi_log_sum_exp(const double *x, int64_t n)
{
    int64_t top = 0;
    wmi_running_sum s = {0};

    if (n <= 0)
        return -(double)INFINITY;
    for (int64_t i = 0; i < n; i++) {
        if (isnan(x[i]))
            return x[i];
        if (x[i] > x[top])
            top = i;
    }
    if (isinf(x[top])) /* all -inf, or a +inf: x - x[top] would be NaN */
        return x[top];
    for (int64_t i = 0; i < n; i++)
        if (i != top)
            wmi_sum_add(&s, exp(x[i] - x[top]));
    return x[top] + log1p(wmi_sum_value(&s));
}

double wmi_log1pexp(double x)
{
    return fmax(x, 0) + log1p(exp(-fabs(x)));
}

double wmi_log1mexp(double x)
{
    const double log_half =
        -0.6931471805599453; /* each form cancels on the other side (Maechler 2012) */

    return x > log_half ? log(-expm1(x)) : log1p(-exp(x));
}
