/* bend.c - which map of a column, by the likelihood of normal columns behind it (bend.h). */
#include "columns/bend.h"

#include <math.h>

enum { LOOKED_AT = 10000 }; /* rows of a table, about */
/* Nats a row, both tables together, that a map must win; and over all rows. A straight line has a
 * reason to be there that the others lack: it is what people have drawn. */
static const double LEAST_GAIN = 0.03, LEAST_IN_ALL = 10;

/* f of a value and the log of its slope there. */
static double bent(wmi_bend_kind kind, double y, double *log_slope)
{
    switch (kind) {
    case WMI_BEND_LOG:
        *log_slope = -log(y);
        return log(y);
    case WMI_BEND_ROOT:
        *log_slope = -2 * log(y) / 3 - log(3);
        return cbrt(y);
    case WMI_BEND_LOGIT:
        *log_slope = -log(y) - log1p(-y);
        return log(y) - log1p(-y);
    case WMI_BEND_ASINH:
        *log_slope = -0.5 * log1p(y * y);
        return asinh(y);
    case WMI_BEND_NOT:
        break;
    }
    *log_slope = 0;
    return y;
}

/* A column of a table, some of its rows. */
typedef struct sample {
    int64_t n, step;
    const double *x;
    double lo, hi, mean, sd;
} sample;

static sample sample_of(int64_t n, const double *x, int64_t stride)
{
    const int64_t every = n > LOOKED_AT ? n / LOOKED_AT : 1;
    sample s = {.n = n / every, .step = stride * every, .x = x, .lo = INFINITY, .hi = -INFINITY};
    double squares = 0;

    for (int64_t i = 0; i < n; i++) { /* the ends of all rows: a map must be there for each */
        s.lo = fmin(s.lo, x[i * stride]);
        s.hi = fmax(s.hi, x[i * stride]);
    }
    for (int64_t i = 0; i < s.n; i++)
        s.mean += x[i * s.step] / (double)s.n;
    for (int64_t i = 0; i < s.n; i++)
        squares += (x[i * s.step] - s.mean) * (x[i * s.step] - s.mean) / (double)s.n;
    s.sd = sqrt(squares);
    return s;
}

/* Mean log-density of a table's rows, as if they were normal behind the map: up to a constant that
 * all maps share. *mean and *var are those behind it. */
static double log_density(const sample *s, const wmi_bend *b, double *mean, double *var)
{
    double slopes = 0;

    *mean = *var = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int64_t i = 0; i < s->n; i++) {
            double log_slope;
            const double z =
                bent(b->kind, b->side * (s->x[i * s->step] - b->from) / b->unit, &log_slope);

            if (pass == 0) {
                *mean += z / (double)s->n;
                slopes += (log_slope - log(b->unit)) / (double)s->n;
            } else {
                *var += (z - *mean) * (z - *mean) / (double)s->n;
            }
        }
    return slopes - 0.5 * log(*var);
}

/* Tries one map; it takes the place of best where it gains more, and in neither table loses. */
static void try(wmi_bend b, const sample s[2], const double plain[2], wmi_bend *best, double *most)
{
    double gain = 0, least = INFINITY, mean[2], var[2];

    for (int t = 0; t < 2; t++) {
        const double own = log_density(&s[t], &b, &mean[t], &var[t]) - plain[t];

        gain += own;
        least = fmin(least, own);
    }
    if (!(least >= 0 && gain > *most))
        return;
    b.mean = 0.5 * (mean[0] + mean[1]);
    b.sd = sqrt(0.5 * (var[0] + var[1]) + 0.25 * (mean[0] - mean[1]) * (mean[0] - mean[1]));
    *best = b;
    *most = gain;
}

wmi_bend wmi_bend_find(const int64_t n[2], const double *const x[2], int64_t stride)
{
    static const double units[] = {0.3, 1, 3};
    const sample s[] = {sample_of(n[0], x[0], stride), sample_of(n[1], x[1], stride)};
    const double lo = fmin(s[0].lo, s[1].lo), hi = fmax(s[0].hi, s[1].hi);
    const double unit = fmin(s[0].sd, s[1].sd), middle = 0.5 * (s[0].mean + s[1].mean);
    const double rows = (double)(s[0].n < s[1].n ? s[0].n : s[1].n);
    const wmi_bend line = {WMI_BEND_NOT, 1, 0, 1, 0, 1};
    double most = fmax(LEAST_GAIN, LEAST_IN_ALL / rows), plain[2], ignored[2];
    wmi_bend best = line;

    if (!(unit > 0) || !isfinite(hi - lo))
        return line;
    for (int t = 0; t < 2; t++)
        plain[t] = log_density(&s[t], &line, &ignored[0], &ignored[1]);
    if (lo > 0 || hi < 0) /* of one sign: 0 is where they end */
        for (int kind = WMI_BEND_LOG; kind <= WMI_BEND_ROOT; kind++)
            try((wmi_bend){kind, lo > 0 ? 1 : -1, 0, unit, 0, 1}, s, plain, &best, &most);
    if (lo > 0 && hi < 1)
        try((wmi_bend){WMI_BEND_LOGIT, 1, 0, 1, 0, 1}, s, plain, &best, &most);
    for (int i = 0; i < 3; i++) {
        try((wmi_bend){WMI_BEND_ASINH, 1, middle, units[i] * unit, 0, 1}, s, plain, &best, &most);
        try((wmi_bend){WMI_BEND_LOG, 1, lo - units[i] * unit, unit, 0, 1}, s, plain, &best, &most);
        try((wmi_bend){WMI_BEND_LOG, -1, hi + units[i] * unit, unit, 0, 1}, s, plain, &best, &most);
    }
    return best;
}

double wmi_bend_at(const wmi_bend *b, double x)
{
    double ignored;

    return b->side * (bent(b->kind, b->side * (x - b->from) / b->unit, &ignored) - b->mean) / b->sd;
}
