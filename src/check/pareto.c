/* pareto.c - the generalised Pareto fit in logs, and the largest of a sequence. */
#include "check/pareto.h"

#include <math.h>

#include "base/alloc.h"
#include "base/order.h"
#include "base/sums.h"

int64_t wmi_pareto_length(int64_t n)
{
    return (int64_t)ceil(fmin(0.2 * (double)n, 3 * sqrt((double)n)));
}

double wmi_pareto_limit(int64_t n)
{
    return fmin(1 - 1 / log10((double)n), 0.7);
}

/* --- the fit -----------------------------------------------------------------------------------*/

/* Zhang and Stephens write the density by theta = -k / sigma and k = mean log(1 - theta x), average
 * theta over a grid with the profile likelihood as weights, and need no maximum. Here the excesses
 * are y = x / x*, with x* their first quartile, and c = -theta x*: then c is of order 1 however far
 * the weights spread, and log(1 + c y) comes from log y. */
static double shape_at(double c, int64_t m, const double *log_y)
{
    const double log_c = log(fabs(c));
    wmi_running_sum sum = {0};

    for (int64_t i = 0; i < m; i++)
        wmi_sum_add(&sum, c > 0 ? wmi_log1pexp(log_c + log_y[i]) : log1p(c * exp(log_y[i])));
    return wmi_sum_value(&sum) / (double)m;
}

/* Posterior mean of c. ratio: x* over the largest excess, in (0, 1]. */
static double mean_of_grid(int64_t m, const double *log_y, double ratio)
{
    const double n = (double)m;
    const int64_t grid = 30 + (int64_t)sqrt(n);
    double top = -INFINITY, sum = 0, weighted = 0;

    for (int64_t j = 0; j < grid; j++) {
        /* above -ratio, so that all 1 + c y > 0 */
        const double c = (sqrt((double)grid / ((double)j + 0.5)) - 1) / 3 - ratio;
        const double k = shape_at(c, m, log_y), l = n * (log(c / k) - k - 1);

        if (!isfinite(l)) /* c = 0 to rounding */
            continue;
        if (l > top) {
            sum *= exp(top - l);
            weighted *= exp(top - l);
            top = l;
        }
        sum += exp(l - top);
        weighted += exp(l - top) * c;
    }
    return weighted / sum;
}

wmi_pareto wmi_pareto_fit(int64_t m, const double *log_w, double cutoff, double *scratch)
{
    const int64_t quartile = (int64_t)floor(0.25 * (double)m + 0.5) - 1;
    wmi_pareto fit = {NAN, NAN};
    double star, c, k;

    if (m < WMI_PARETO_LEAST)
        return fit;
    fit.k = -INFINITY;
    if (!(log_w[m - 1] > log_w[0])) /* also: all of them at the cutoff */
        return fit;
    for (int64_t i = 0; i < m; i++) /* log(exp(w) - exp(cutoff)) */
        scratch[i] = log_w[i] + wmi_log1mexp(fmin(cutoff - log_w[i], 0));
    star = scratch[quartile];
    for (int64_t i = quartile + 1; !isfinite(star); i++) /* many at the cutoff: the first above */
        star = scratch[i];
    for (int64_t i = 0; i < m; i++)
        scratch[i] -= star;
    c = mean_of_grid(m, scratch, exp(-scratch[m - 1]));
    k = shape_at(c, m, scratch);
    fit.log_sigma = star + log(k / c);
    fit.k = (k * (double)m + 0.5 * 10) / ((double)m + 10);
    return fit;
}

double wmi_pareto_log_quantile(const wmi_pareto *fit, double cutoff, double p)
{
    const double z = -fit->k * log1p(-p); /* of the sign of k */
    double log_x;

    if (z == 0)
        log_x = log(-log1p(-p));
    else if (z > 0)
        log_x = z + wmi_log1mexp(-z) - log(fit->k);
    else
        log_x = wmi_log1mexp(z) - log(-fit->k);
    log_x += fit->log_sigma;
    return fmax(cutoff, log_x) + wmi_log1pexp(-fabs(cutoff - log_x));
}

/* --- the largest of a sequence -----------------------------------------------------------------*/

static void sift_down(double *x, int64_t n, int64_t i)
{
    const double moving = x[i];

    for (int64_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && x[child + 1] < x[child])
            child++;
        if (moving <= x[child])
            break;
        x[i] = x[child];
    }
    x[i] = moving;
}

bool wmi_top_push(wmi_top *t, double x, double *out)
{
    if (t->n < t->room) {
        t->x[t->n++] = x;
        if (t->n == t->room)
            for (int64_t i = t->n / 2 - 1; i >= 0; i--)
                sift_down(t->x, t->n, i);
        return false;
    }
    *out = x;
    if (t->n > 0 && x > t->x[0]) {
        *out = t->x[0];
        t->x[0] = x;
        sift_down(t->x, t->n, 0);
    }
    return true;
}

void wmi_top_sort(wmi_top *t)
{
    if (t->n > 1)
        wmi_sort_f64(t->x, t->n);
}

/* Whether log_w (m) ascends from the cutoff in few steps, of three weights each on average: those
 * of a table of levels, which end at their largest. There is no tail to go on from, and a fit would
 * make one of the steps. A few weights alone above the others are none. */
static bool in_few_steps(int64_t m, const double *log_w, double cutoff)
{
    int64_t above = 0, steps = 0;

    for (int64_t i = 0; i < m; i++) {
        above += log_w[i] > cutoff;
        steps += log_w[i] > (i ? log_w[i - 1] : cutoff);
    }
    return above >= WMI_PARETO_LEAST && 3 * steps <= m;
}

wm_status wmi_pareto_k(double *k, int64_t n, const double *log_w, wm_error *err)
{
    const int64_t m = wmi_pareto_length(n);
    wmi_top top = {.room = m + 1};
    double *x = NULL, out;
    wm_status st;

    *k = NAN;
    if (m < WMI_PARETO_LEAST)
        return WM_OK;
    for (int64_t i = 0; i < n; i++)
        if (isnan(log_w[i]) || log_w[i] == INFINITY)
            return WM_OK;
    if ((st = wmi_alloc(&x, 2 * m + 1, sizeof *x, "tail of the weights", err)))
        return st;
    top.x = x;
    for (int64_t i = 0; i < n; i++)
        (void)wmi_top_push(&top, log_w[i], &out);
    wmi_top_sort(&top);
    *k = in_few_steps(m, x + 1, x[0]) ? -INFINITY : wmi_pareto_fit(m, x + 1, x[0], x + m + 1).k;
    wmi_free(x);
    return WM_OK;
}
