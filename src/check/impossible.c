/* impossible.c - what cannot be is rejected, not printed as a result (impossible.h). */
#include "check/impossible.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/sums.h"

static const char NAME[] = "impossible";

/* Nats that a divergence may be below 0 beyond its error: cross-fitting under no difference at all
 * ends a little below it. */
static const double BELOW = 0.01;
/* No log-ratio that fewer than MANY rows can support has such a mean: the answer is a number that
 * arithmetic made. */
static const double ABSURD = 1e4;
static const int64_t MANY = 1000000;
/* Standard error, in nats, that says nothing if it is also larger than the answer. */
static const double LOST = 2;
/* A negative divergence of at least this many nats and this share of another is not its error. */
static const double CLEARLY = 0.5, SHARE = 0.1;
/* Beyond an entropy, whatever the error of the estimate: share of it, and nats. */
static const double ABOVE_SHARE = 1.2, ABOVE = 0.05;

/* ---- divergences ---- */

static bool is_finite(const wm_estimate *e)
{
    return isfinite(e->value) && isfinite(e->se) && isfinite(e->lo) && isfinite(e->hi);
}

/* Whether one divergence by itself cannot be; then it is in the list. */
static bool alone(wm_checks *list, const wmi_divergence *d, int64_t rows)
{
    const double top = fmax(d->found.hi, d->found.value + 2 * d->found.se);

    if (!is_finite(&d->found))
        wmi_checks_add(list, NAME, d->found.value, 0, WM_CHECK_FAILED,
                       "%s came out as %g with standard error %g, which is not a number: the model "
                       "has no finite ratio on these data. Another model, or fewer columns.",
                       d->name, d->found.value, d->found.se);
    else if (fabs(d->found.value) > ABSURD && rows < MANY)
        wmi_checks_add(list, NAME, d->found.value, ABSURD, WM_CHECK_FAILED,
                       "%s came out as %.3g nats, more than %" PRId64 " rows can support: the "
                       "model has run away. Another model, or fewer columns.",
                       d->name, d->found.value, rows);
    else if (top < 0)
        wmi_checks_add(list, NAME, d->found.value, 0,
                       top < -BELOW ? WM_CHECK_FAILED : WM_CHECK_DOUBT,
                       "%s cannot be below 0, and is %.3g with standard error %.2g: the model is "
                       "wrong about rows that it has not seen. A simpler model, or more rows.",
                       d->name, d->found.value, d->found.se);
    else if (d->found.value >= 0 && d->found.se > fmax(LOST, d->found.value))
        wmi_checks_add(list, NAME, d->found.se, LOST, WM_CHECK_FAILED,
                       "%s is %.3g with standard error %.2g: the number is lost in its error. More "
                       "rows, or fewer columns.",
                       d->name, d->found.value, d->found.se);
    else
        return false;
    return true;
}

/* A negative one beside a large one. */
static bool beside(wm_checks *list, const wmi_divergence *d, const wmi_divergence *other)
{
    const double v = d->found.value;

    if (!(v < -CLEARLY && v < -SHARE * other->found.value && v + d->found.se < 0))
        return false;
    wmi_checks_add(list, NAME, v, 0, WM_CHECK_FAILED,
                   "%s cannot be below 0, and is %.3g where %s is %.3g: the two do not come from "
                   "one ratio of densities. Another model, or fewer columns.",
                   d->name, v, other->name, other->found.value);
    return true;
}

void wmi_check_divergences(wm_checks *list, int n, const wmi_divergence d[], int64_t rows)
{
    for (int i = 0; i < n; i++)
        if (alone(list, &d[i], rows))
            return;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            if (i != j && beside(list, &d[i], &d[j]))
                return;
}

/* ---- entropy ---- */

void wmi_check_entropy(wm_checks *list, const wm_estimate *mi, const char *what, int64_t levels,
                       const int64_t *count)
{
    wmi_running_sum rows = {0}, logs = {0};
    double n, entropy;
    int64_t seen = 0;

    for (int64_t k = 0; k < levels; k++)
        if (count[k] > 0) {
            seen++;
            wmi_sum_add(&rows, (double)count[k]);
            wmi_sum_add(&logs, (double)count[k] * log((double)count[k]));
        }
    n = wmi_sum_value(&rows);
    if (seen == 0)
        return;
    entropy = log(n) - wmi_sum_value(&logs) / n;
    entropy += (double)(seen - 1) / (2 * n); /* counts make it too small by that (Miller 1955) */
    if (mi->value - 2 * mi->se > entropy || mi->value > ABOVE_SHARE * entropy + ABOVE)
        wmi_checks_add(list, NAME, mi->value, entropy, WM_CHECK_FAILED,
                       "I(u; v) is %.3g nats, but %s has %" PRId64 " level%s with an entropy of "
                       "%.3g, and no mutual information is above that. Another model, or more "
                       "rows.",
                       mi->value, what, seen, seen == 1 ? "" : "s", entropy);
}
