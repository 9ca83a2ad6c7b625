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
/* A negative divergence of at least this many nats and this share of another is not its error. */
static const double CLEARLY = 0.5, SHARE = 0.1;
/* Beyond an entropy, whatever the error of the estimate: share of it, and nats. */
static const double ABOVE_SHARE = 1.2, ABOVE = 0.05;
/* Rows to be expected on the other side: none by chance in e^-5 = 0.7 % of columns. */
static const double EXPECTED = 5;

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

/* ---- levels ---- */

/* Levels that one side has and the other lacks. */
typedef struct lone {
    int64_t levels;             /* of all columns */
    int64_t most;               /* rows of the level that has the most */
    const char *column, *level; /* that one */
    double expected;            /* rows of it on the other side, most of all levels */
} lone;

static void see_column(lone *l, const wmi_level_counts *c, int side)
{
    int64_t total[2] = {0, 0};

    for (int t = 0; t < 2; t++)
        for (int64_t k = 0; k < c->n; k++)
            total[t] += c->rows[t][k];
    for (int64_t k = 0; k < c->n; k++) {
        const int64_t rows = c->rows[side][k];

        if (rows == 0 || c->rows[!side][k] > 0)
            continue;
        l->levels++;
        l->expected = fmax(l->expected, (double)rows * (double)total[!side] / (double)total[side]);
        if (rows > l->most) {
            l->most = rows;
            l->column = c->column;
            l->level = c->level[k];
        }
    }
}

static void say_lone(char *out, size_t size, const lone *l, int side)
{
    static const char *const direction[] = {"KL(p, q)", "KL(q, p)"};
    const char *const own = side ? "q" : "p", *const other = side ? "p" : "q";
    char more[48] = "";

    if (l->levels > 1)
        snprintf(more, sizeof more, ", and %" PRId64 " more such level%s", l->levels - 1,
                 l->levels == 2 ? "" : "s");
    snprintf(out, size,
             l->expected >= EXPECTED ? "%s is infinite or cannot be told: %" PRId64
                                       " row%s of %s %s %.40s = %.40s, "
                                       "none of %s%s. "
                                     : "%s may be infinite: %" PRId64
                                       " row%s of %s %s %.40s = %.40s, none of %s%s, too "
                                       "few to tell. ",
             direction[side], l->most, l->most == 1 ? "" : "s", own, l->most == 1 ? "has" : "have",
             l->column, l->level, other, more);
}

void wmi_check_levels(wm_checks *list, int64_t n, const wmi_level_counts column[])
{
    lone l[2] = {{0}, {0}};
    char text[2][200] = {"", ""};
    double expected;
    int64_t most;

    for (int side = 0; side < 2; side++) {
        for (int64_t j = 0; j < n; j++)
            see_column(&l[side], &column[j], side);
        if (l[side].levels > 0)
            say_lone(text[side], sizeof text[side], &l[side], side);
    }
    if (l[0].levels + l[1].levels == 0)
        return;
    expected = fmax(l[0].expected, l[1].expected);
    most = l[0].most > l[1].most ? l[0].most : l[1].most;
    if (expected >= EXPECTED)
        wmi_checks_add(list, "levels", (double)most, 0, WM_CHECK_DOUBT,
                       "%s%sThe answer takes that for rare, not for impossible.", text[0], text[1]);
    else
        wmi_checks_add_unknown(list, "levels", (double)most, 0, false,
                               "%s%sThe answer takes that for rare, not for impossible.", text[0],
                               text[1]);
}
