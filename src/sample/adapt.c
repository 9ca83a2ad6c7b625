/* adapt.c - dual averaging, running variances, and Stan's plan of the warm-up. */
#include "sample/adapt.h"

#include <math.h>
#include <string.h>

#define GAMMA 0.05
#define T0 10
#define KAPPA 0.75

void wmi_dual_start(wmi_dual *d, double step, double pull, double target)
{
    *d = (wmi_dual){.target = target, .mu = log(pull * step), .log_step = log(step)};
}

double wmi_dual_learn(wmi_dual *d, double accept)
{
    double eta, weight;

    d->count++;
    eta = 1 / (d->count + T0);
    d->deficit += eta * (d->target - accept - d->deficit);
    d->log_step = d->mu - d->deficit * sqrt(d->count) / GAMMA;
    weight = pow(d->count, -KAPPA);
    d->mean += weight * (d->log_step - d->mean);
    return exp(d->log_step);
}

double wmi_dual_settle(const wmi_dual *d)
{
    return exp(d->count > 0 ? d->mean : d->log_step);
}

void wmi_variances_start(wmi_variances *v, int64_t dim)
{
    v->count = 0;
    memset(v->mean, 0, (size_t)dim * sizeof *v->mean);
    memset(v->m2, 0, (size_t)dim * sizeof *v->m2);
}

void wmi_variances_add(wmi_variances *v, int64_t dim, const double *x)
{
    double *restrict mean = v->mean, *restrict m2 = v->m2;
    double share;

    v->count++;
    share = 1 / v->count;
#pragma omp simd
    for (int64_t i = 0; i < dim; i++) {
        const double d = x[i] - mean[i];

        mean[i] += d * share;
        m2[i] += d * (x[i] - mean[i]);
    }
}

void wmi_variances_read(const wmi_variances *v, int64_t dim, double *inv_mass)
{
    const double n = v->count, weight = n / (n + 5), prior = 1e-3 * (5 / (n + 5));

    for (int64_t i = 0; i < dim; i++)
        inv_mass[i] = weight * (n > 1 ? v->m2[i] / (n - 1) : 1) + prior;
}

enum { BEGIN = 75, END = 50, BASE = 25 };

wmi_windows wmi_windows_plan(int64_t total)
{
    if (total < 20)
        return (wmi_windows){.total = total, .first = total, .last = total};
    if (total < BEGIN + BASE + END) /* one window of three quarters */
        return (wmi_windows){.total = total,
                             .first = (int64_t)(0.15 * (double)total),
                             .last = total - (int64_t)(0.1 * (double)total)};
    return (wmi_windows){.total = total, .first = BEGIN, .last = total - END};
}

bool wmi_windows_has(const wmi_windows *w, int64_t t)
{
    return t >= w->first && t < w->last;
}

/* Windows of 25, 50, 100, ...; one after which the next would not fit takes all that is left. */
bool wmi_windows_ends(const wmi_windows *w, int64_t t)
{
    int64_t from = w->first, size = BASE;

    if (!wmi_windows_has(w, t))
        return false;
    if (w->total < BEGIN + BASE + END)
        return t == w->last - 1;
    for (;;) {
        const bool last = from + size + 2 * size > w->last;
        const int64_t to = last ? w->last : from + size;

        if (t < to)
            return t == to - 1;
        from = to;
        size *= 2;
    }
}
