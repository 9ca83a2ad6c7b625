/* intervals.c - standard errors by rows and by folds. */
#include "check/intervals.h"

#include <math.h>

#include "base/sums.h"

double wmi_t_975(int64_t df)
{
    static const double first[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306,
                                   2.262,  2.228, 2.201, 2.179, 2.160, 2.145, 2.131};
    const double z = WMI_Z_975, z2 = z * z, v = (double)df;

    if (df < 1)
        return INFINITY;
    if (df <= (int64_t)(sizeof first / sizeof *first))
        return first[df - 1];
    return z * (1 + (z2 + 1) / (4 * v) + (5 * z2 * z2 + 16 * z2 + 3) / (96 * v * v));
}

wm_estimate wmi_interval(int64_t n, const double *x, const double *w, int64_t folds,
                         const double *without)
{
    const double jack = folds ? sqrt(wmi_jackknife(without, folds).var) : 0;
    double sum_w = 0, mean = 0, var = 0, rows, half;

    for (int64_t i = 0; i < n; i++) {
        const double wi = w ? w[i] : 1;

        sum_w += wi;
        mean += wi * x[i];
    }
    mean /= sum_w;
    for (int64_t i = 0; i < n; i++) {
        const double dev = (w ? w[i] : 1) * (x[i] - mean);

        var += dev * dev;
    }
    rows = sqrt(var) / sum_w;
    half = jack > rows ? jack * wmi_t_975(folds - 1) : WMI_Z_975 * rows;
    return (wm_estimate){
        .value = mean, .se = fmax(jack, rows), .lo = mean - half, .hi = mean + half};
}

wm_estimate wm_mean(const double *x, int64_t n)
{
    double mean = 0, squares = 0, se;

    for (int64_t i = 0; i < n; i++)
        mean += x[i] / (double)n;
    for (int64_t i = 0; i < n; i++)
        squares += (x[i] - mean) * (x[i] - mean);
    se = n > 1 ? sqrt(squares / (double)(n - 1) / (double)n) : (double)NAN;
    return (wm_estimate){mean, se, mean - WMI_Z_975 * se, mean + WMI_Z_975 * se};
}
