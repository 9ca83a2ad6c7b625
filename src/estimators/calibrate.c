/* calibrate.c - Platt's scaling (1999) of a bridge, by Newton's method in two dimensions.
 *
 * A network that is trained for long enough overfits, which makes its scores too steep, and one
 * that is trained for too short a time has constants that have not arrived; both errors are in
 * slope and offset, which a thousand held-out rows find to a few percent. The loss is convex, so
 * damped Newton steps end at its minimum from anywhere. */
#include "estimators/calibrate.h"

#include <math.h>

typedef struct derivatives {
    double loss, g[2], h[3]; /* gradient by (slope, offset), Hessian (aa, ab, bb) */
} derivatives;

/* One class: softplus(sign (a s + b)), sign -1 for the numerator. */
static void add_class(derivatives *d, int64_t n, const double *s, double sign, wmi_calibration c)
{
    for (int64_t i = 0; i < n; i++) {
        const double z = sign * (c.slope * s[i] + c.offset), e = exp(-fabs(z));
        const double p = z > 0 ? 1 / (1 + e) : e / (1 + e), q = p * (1 - p);

        d->loss += (fmax(z, 0) + log1p(e)) / (double)n;
        d->g[0] += sign * p * s[i] / (double)n;
        d->g[1] += sign * p / (double)n;
        d->h[0] += q * s[i] * s[i] / (double)n;
        d->h[1] += q * s[i] / (double)n;
        d->h[2] += q / (double)n;
    }
}

static derivatives at(int64_t n, const double *num, const double *den, wmi_calibration c)
{
    const double ridge = 1 / (double)n;
    derivatives d = {0};

    add_class(&d, n, num, -1, c);
    add_class(&d, n, den, 1, c);
    d.loss += ridge * ((c.slope - 1) * (c.slope - 1) + c.offset * c.offset);
    d.g[0] += 2 * ridge * (c.slope - 1);
    d.g[1] += 2 * ridge * c.offset;
    d.h[0] += 2 * ridge;
    d.h[2] += 2 * ridge;
    return d;
}

wmi_calibration wmi_calibrate(int64_t n, const double *num, const double *den)
{
    wmi_calibration c = {1, 0};
    derivatives d = at(n, num, den, c);

    for (int step = 0; step < 50; step++) {
        const double det = d.h[0] * d.h[2] - d.h[1] * d.h[1];
        const double da = -(d.h[2] * d.g[0] - d.h[1] * d.g[1]) / det;
        const double db = -(d.h[0] * d.g[1] - d.h[1] * d.g[0]) / det;
        double length = 1;
        derivatives next = d;
        wmi_calibration to = c;

        if (!isfinite(da) || !isfinite(db))
            break;
        for (; length > 1e-6; length /= 2) {
            to = (wmi_calibration){c.slope + length * da, c.offset + length * db};
            next = at(n, num, den, to);
            if (next.loss < d.loss)
                break;
        }
        if (!(next.loss < d.loss))
            break;
        c = to;
        if (d.loss - next.loss < 1e-12)
            break;
        d = next;
    }
    return c;
}
