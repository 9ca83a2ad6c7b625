/* bridge1d.c - the three losses of a bridge log r = c - w x^2, w = exp(2 theta), and their exact
 * minimisers.
 *
 * With u = x^2, a loss is N(w) + D(w), the means of the two sides. N rises with w (the numerator's
 * samples lose probability), D falls. All work is done with
 *     g(theta) = log N'(w) - log -D'(w),
 * which has the sign of the slope of the loss, and is a well-scaled function where the slope itself
 * spans thirty orders of magnitude: its root is the minimiser. The logistic and the NWJ loss are
 * convex in w, so that g has one root. LSQ is not: the global minimum is found first, by branch and
 * bound (on [a, b] the loss is at least N(a) + D(b)), and then polished as the root of g.
 *
 * The range of the search comes from the samples: below w = 1e-6 / max u every log r is c, above
 * w = (c + 40) / min u every log r is below -40. */
#include "bridge1d.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "../experiment.h"

const char *const peaked_loss_names[PEAKED_LOSSES] = {"logistic", "nwj", "lsq"};

/* log(1 + exp(z)) without overflow. */
static double softplus(double z)
{
    return (z > 0 ? z : 0) + log1p(exp(-fabs(z)));
}

static double sigmoid(double z)
{
    const double e = exp(-fabs(z)); /* in [0, 1] */

    return (z >= 0 ? 1 : e) / (1 + e);
}

/* N and D at a theta, or the absolute values of their slopes in w. */
typedef struct sides {
    double theta, n, d;
} sides;

/* Beyond, a sample of q adds less than exp(-80) = 2e-35 to what is at least 1e-13: nothing. At the
 * thetas that matter that is most of them, and half of the work. */
#define NOTHING (-80.0)

/* What one sample adds to N, or else to D, where z is large if the bridge errs. */
static double value(peaked_loss loss, double z, bool numerator)
{
    if (loss == PEAKED_LOGISTIC)
        return softplus(z);
    if (loss == PEAKED_NWJ)
        return numerator ? z : exp(z);
    return 0.5 * sigmoid(z) * sigmoid(z);
}

/* And to the absolute values of their slopes. */
static double slope(peaked_loss loss, double u, double z, bool numerator)
{
    const double t = sigmoid(z);

    if (loss == PEAKED_LOGISTIC)
        return u * t;
    if (loss == PEAKED_NWJ)
        return numerator ? u : u * exp(z);
    return u * t * t * sigmoid(-z); /* not 1 - t, which cancels */
}

static sides values(peaked_loss loss, const peaked_bridge *b, double theta)
{
    const double w = exp(2 * theta), c = b->c;
    sides s = {.theta = theta};

    for (int64_t i = 0; i < b->n; i++)
        s.n += value(loss, w * b->p[i] - c, true);
    for (int64_t i = 0; i < b->n; i++)
        if (c - w * b->q[i] >= NOTHING)
            s.d += value(loss, c - w * b->q[i], false);
    s.n = s.n / (double)b->n - (loss == PEAKED_NWJ);
    s.d /= (double)b->n;
    return s;
}

static sides slopes(peaked_loss loss, const peaked_bridge *b, double theta)
{
    const double w = exp(2 * theta), c = b->c;
    sides s = {.theta = theta};

    for (int64_t i = 0; i < b->n; i++)
        s.n += slope(loss, b->p[i], w * b->p[i] - c, true);
    for (int64_t i = 0; i < b->n; i++)
        if (c - w * b->q[i] >= NOTHING)
            s.d += slope(loss, b->q[i], c - w * b->q[i], false);
    return s;
}

double peaked_loss_at(peaked_loss loss, const peaked_bridge *b, double theta)
{
    const sides s = values(loss, b, theta);

    return s.n + s.d;
}

/* g, cut at +-50: beyond, one side's slope has underflowed or is nothing beside the other. */
static double tilt(peaked_loss loss, const peaked_bridge *b, double theta)
{
    const sides s = slopes(loss, b, theta);

    return s.d == 0 ? 50 : fmin(fmax(log(s.n / s.d), -50), 50);
}

/* The root of g in [lo, hi] with g(lo) < 0 < g(hi), by Chandrupatla's method (1997): inverse
 * quadratic interpolation where it is safe, else bisection. About ten evaluations. */
static double root(peaked_loss loss, const peaked_bridge *b, double lo, double hi)
{
    double x1 = lo, x2 = hi, x3 = hi, f1 = tilt(loss, b, lo), f2 = tilt(loss, b, hi), f3;
    const double tol = 1e-12;
    double t = 0.5;

    for (;;) {
        const double x = x1 + t * (x2 - x1), f = tilt(loss, b, x);
        double width, xi, phi;

        if ((f > 0) == (f1 > 0)) {
            x3 = x1, f3 = f1;
        } else {
            x3 = x2, f3 = f2;
            x2 = x1, f2 = f1;
        }
        x1 = x, f1 = f;
        width = fabs(x2 - x1);
        if (f1 == 0 || width <= 2 * tol)
            return fabs(f1) <= fabs(f2) ? x1 : x2;
        xi = (x1 - x2) / (x3 - x2);
        phi = (f1 - f2) / (f3 - f2);
        t = 0.5;
        if (phi * phi < xi && (1 - phi) * (1 - phi) < 1 - xi)
            t = f1 / (f2 - f1) * f3 / (f2 - f3) +
                (x3 - x1) / (x2 - x1) * f1 / (f3 - f1) * f2 / (f3 - f2);
        t = fmin(fmax(t, tol / width), 1 - tol / width); /* so that both ends close in */
    }
}

typedef struct interval {
    sides lo, hi;
} interval;

static void keep_best(sides *best, sides x)
{
    if (x.n + x.d < best->n + best->d)
        *best = x;
}

/* The intervals that may still hold the minimum, in place. */
static int64_t prune(interval *list, int64_t count, const sides *best)
{
    int64_t kept = 0;

    for (int64_t i = 0; i < count; i++)
        if (list[i].lo.n + list[i].hi.d <= best->n + best->d)
            list[kept++] = list[i];
    return kept;
}

/* The global minimum of N + D on [lo, hi]. Intervals are halved until they are short against the
 * width of what one sample does to the loss (log r falls from 2 to -2 over log((c+2)/(c-2)) / 2 =
 * 0.15 in theta for the largest c) and the slope says that a minimum is around the best point;
 * -inf if nothing is below the loss at w = 0. About 70 evaluations. */
static wm_status global(double *theta, peaked_loss loss, const peaked_bridge *b, double lo,
                        double hi)
{
    const double fine = 1.0 / 256, deep = 1e-7;
    interval *list = malloc(sizeof *list);
    sides best = values(loss, b, lo);
    int64_t count = 1;
    wm_status st = WM_OK;

    if (!list)
        return WM_ENOMEM;
    list[0] = (interval){.lo = best, .hi = values(loss, b, hi)};
    keep_best(&best, list[0].hi);
    for (double width = hi - lo; width > deep; width *= 0.5) {
        interval *halves;

        count = prune(list, count, &best);
        if (width <= fine && tilt(loss, b, best.theta - width) < 0 &&
            tilt(loss, b, best.theta + width) > 0) {
            *theta = root(loss, b, best.theta - width, best.theta + width);
            goto done;
        }
        if (!(halves = malloc((size_t)(2 * count) * sizeof *halves))) {
            st = WM_ENOMEM;
            goto done;
        }
        for (int64_t i = 0; i < count; i++) {
            const sides mid = values(loss, b, 0.5 * (list[i].lo.theta + list[i].hi.theta));

            keep_best(&best, mid);
            halves[2 * i] = (interval){.lo = list[i].lo, .hi = mid};
            halves[2 * i + 1] = (interval){.lo = mid, .hi = list[i].hi};
        }
        free(list);
        list = halves;
        count *= 2;
    }
    *theta = best.theta <= lo ? -INFINITY : best.theta;
done:
    free(list);
    return st;
}

/* Least non-zero and greatest value of both sides. */
static wm_status range(const peaked_bridge *b, double *least, double *most, wm_error *err)
{
    *least = INFINITY;
    *most = 0;
    for (int64_t i = 0; i < 2 * b->n; i++) {
        const double u = i < b->n ? b->p[i] : b->q[i - b->n];

        if (!isfinite(u) || u < 0)
            return WM_FAIL(err, WM_EINVAL, "a squared sample is not finite");
        if (u > 0 && u < *least)
            *least = u;
        if (u > *most)
            *most = u;
    }
    if (!(*most > 0))
        return WM_FAIL(err, WM_EINVAL, "no sample differs from 0");
    return WM_OK;
}

wm_status peaked_minimise(double *theta, peaked_loss loss, const peaked_bridge *b, wm_error *err)
{
    double least, most, lo, hi;
    wm_status st;

    *theta = NAN;
    if (b->n < 1)
        return WM_FAIL(err, WM_EINVAL, "a bridge needs at least one sample of each side");
    if ((st = range(b, &least, &most, err)))
        return st;
    lo = 0.5 * log(1e-6 / most);
    hi = 0.5 * log((b->c + 40) / least);
    if (loss == PEAKED_LSQ)
        return global(theta, loss, b, lo, hi);
    /* At hi the slope is positive: every u exp(c - w u) is at most least exp(-40). */
    *theta = tilt(loss, b, lo) >= 0 ? -INFINITY : root(loss, b, lo, hi);
    return WM_OK;
}
