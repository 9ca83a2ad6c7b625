/* calibrate.c - one convex problem in one number: where the constants c_k of trained bridges should
 * be.
 *
 * Constants move by at most the learning rate a step and may not have arrived, and what they miss
 * is missing from every log-ratio. Held-out rows find them to 1 / sqrt(n p (1 - p)). Only the
 * constant: a slope refitted in the same way (Platt 1999) is below 1 wherever a large model has
 * fitted noise, which lowers the loss but shrinks the signal with the noise (66.6 of 80 nats at d =
 * 320, where the raw scores said 82.4). */
#include "check/calibrate.h"

#include <math.h>

/* Adds slope and curvature of mean softplus(sign (s + o)) in o. */
static void add_class(int64_t n, const double *s, double sign, double o, double *slope,
                      double *curve)
{
    for (int64_t i = 0; i < n; i++) {
        const double z = sign * (s[i] + o), e = exp(-fabs(z));
        const double p = z > 0 ? 1 / (1 + e) : e / (1 + e);

        *slope += sign * p / (double)n;
        *curve += p * (1 - p) / (double)n;
    }
}

static double slope_at(int64_t n, const double *num, const double *den, double o, double *curve)
{
    double slope = 2 * o / (double)n;

    *curve = 2 / (double)n;
    add_class(n, num, -1, o, &slope, curve);
    add_class(n, den, 1, o, &slope, curve);
    return slope;
}

/* Newton's method between bounds that always hold the root, so that it cannot leave. */
double wmi_calibrate(int64_t n, const double *num, const double *den)
{
    double lo = -1e4, hi = 1e4, o = 0;

    for (int step = 0; step < 200 && hi - lo > 1e-12; step++) {
        double curve, slope = slope_at(n, num, den, o, &curve), to;

        if (slope > 0)
            hi = o;
        else
            lo = o;
        to = o - slope / curve;
        if (!(to > lo && to < hi))
            to = 0.5 * (lo + hi);
        if (fabs(to - o) < 1e-12)
            break;
        o = to;
    }
    return o;
}
