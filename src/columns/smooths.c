/* smooths.c - bases of curves for additive models (smooths.h). */
#include "columns/smooths.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "engine/backend/linalg.h"

static const double SEEN = 1e-8; /* share of the variance of a spline that rows can speak of */

/* ---- one column ---- */

/* The four splines that are not zero at x, and the first of them: de Boor's recursion. x beyond
 * the outer breaks counts as the nearest of them. */
static int64_t splines_at(const double *knots, int64_t bases, double x, double value[4])
{
    double left[4], right[4];
    int64_t span = 3;

    x = fmin(fmax(x, knots[3]), knots[bases]);
    while (span + 1 < bases && x >= knots[span + 1])
        span++;
    value[0] = 1;
    for (int j = 1; j < 4; j++) {
        double saved = 0;

        left[j] = x - knots[span + 1 - j];
        right[j] = knots[span + j] - x;
        for (int r = 0; r < j; r++) {
            const double part = value[r] / (right[r + 1] + left[j - r]);

            value[r] = saved + right[r + 1] * part;
            saved = left[j - r] * part;
        }
        value[j] = saved;
    }
    return span - 3;
}

/* Where spline r has its weight: with these as coefficients the sum is x itself. */
static double place_of(const double *knots, int64_t r)
{
    return (knots[r + 1] + knots[r + 2] + knots[r + 3]) / 3;
}

/* Scratch for one column; all arrays (bases, bases) but for those said otherwise. */
typedef struct column_work {
    double *mean;      /* (bases) of the splines */
    double *cov;       /* of the splines, then its vectors */
    double *value;     /* (bases) */
    double *roughness; /* c' R c is the integral of the squared second derivative, about */
    double *white;     /* combinations of splines with variance one */
    double *half, *turned;
} column_work;

static void free_work(column_work *w)
{
    wmi_free(w->mean);
    wmi_free(w->cov);
    wmi_free(w->value);
    wmi_free(w->roughness);
    wmi_free(w->white);
    wmi_free(w->half);
    wmi_free(w->turned);
}

static wm_status new_work(column_work *w, int64_t b, wm_error *err)
{
    wm_status st;

    *w = (column_work){0};
    if ((st = wmi_alloc(&w->mean, b, sizeof *w->mean, "splines", err)) ||
        (st = wmi_alloc(&w->cov, b * b, sizeof *w->cov, "splines", err)) ||
        (st = wmi_alloc(&w->value, b, sizeof *w->value, "splines", err)) ||
        (st = wmi_alloc(&w->roughness, b * b, sizeof *w->roughness, "splines", err)) ||
        (st = wmi_alloc(&w->white, b * b, sizeof *w->white, "splines", err)) ||
        (st = wmi_alloc(&w->half, b * b, sizeof *w->half, "splines", err)) ||
        (st = wmi_alloc(&w->turned, b * b, sizeof *w->turned, "splines", err)))
        return st;
    return WM_OK;
}

/* Mean and covariance of the splines of a column, of which rows x (n) with a stride are given. */
static void spline_moments(column_work *w, int64_t b, const double *knots, int64_t n,
                           const double *x, int64_t stride)
{
    memset(w->mean, 0, (size_t)b * sizeof *w->mean);
    memset(w->cov, 0, (size_t)(b * b) * sizeof *w->cov);
    for (int64_t i = 0; i < n; i++) {
        double v[4];
        const int64_t at = splines_at(knots, b, x[i * stride], v);

        for (int r = 0; r < 4; r++) {
            w->mean[at + r] += v[r] / (double)n;
            for (int q = 0; q < 4; q++)
                w->cov[(at + r) * b + at + q] += v[r] * v[q] / (double)n;
        }
    }
    for (int64_t r = 0; r < b; r++)
        for (int64_t q = 0; q < b; q++)
            w->cov[r * b + q] -= w->mean[r] * w->mean[q];
}

/* Differences of the slopes between neighbouring coefficients, squared, for every unit of length.
 */
static void set_roughness(double *out, int64_t b, const double *knots)
{
    memset(out, 0, (size_t)(b * b) * sizeof *out);
    for (int64_t i = 0; i + 2 < b; i++) {
        const double p[] = {place_of(knots, i), place_of(knots, i + 1), place_of(knots, i + 2)};
        const double d[] = {1 / (p[1] - p[0]), -1 / (p[1] - p[0]) - 1 / (p[2] - p[1]),
                            1 / (p[2] - p[1])};

        for (int r = 0; r < 3; r++)
            for (int q = 0; q < 3; q++)
                out[(i + r) * b + i + q] += d[r] * d[q] / (p[2] - p[0]);
    }
}

/* The smoothest uncorrelated curves of a column into spline (*count, b) and penalty (*count). */
static wm_status find_curves(column_work *w, int64_t b, const double *knots, double *spline,
                             double *penalty, int64_t *count, wm_error *err)
{
    int64_t seen = 0;
    wm_status st;

    *count = 0;
    if ((st = wmi_eigen(b, w->cov, w->value, err)))
        return st;
    for (int64_t i = b - 1; i >= 0 && w->value[i] > SEEN * w->value[b - 1] && w->value[i] > 0; i--)
        seen++;
    for (int64_t i = 0; i < seen; i++) /* white (seen, b): rows, the most seen first */
        for (int64_t r = 0; r < b; r++)
            w->white[i * b + r] = w->cov[r * b + b - 1 - i] / sqrt(w->value[b - 1 - i]);
    set_roughness(w->roughness, b, knots);
    wmi_product(seen, b, b, 1, w->white, w->roughness, 0, w->half);
    for (int64_t i = 0; i < seen; i++)
        for (int64_t j = 0; j < seen; j++) {
            w->turned[i * seen + j] = 0;
            for (int64_t r = 0; r < b; r++)
                w->turned[i * seen + j] += w->half[i * b + r] * w->white[j * b + r];
        }
    if (!seen || (st = wmi_eigen(seen, w->turned, w->value, err)))
        return st;
    *count = seen < WMI_SMOOTHS_MAX ? seen : WMI_SMOOTHS_MAX;
    const double unit = w->value[seen > 1 ? 1 : 0];

    for (int64_t c = 0; c < *count; c++) {
        penalty[c] = WMI_STRAIGHT + (unit > 0 ? fmax(w->value[c], 0) / unit : 0);
        for (int64_t r = 0; r < b; r++) {
            spline[c * b + r] = 0;
            for (int64_t i = 0; i < seen; i++)
                spline[c * b + r] += w->turned[i * seen + c] * w->white[i * b + r];
        }
    }
    return WM_OK;
}

/* ---- all of them ---- */

void wmi_smooths_free(wmi_smooths *s)
{
    wmi_free(s->first);
    wmi_free(s->knots);
    wmi_free(s->spline);
    wmi_free(s->shift);
    wmi_free(s->penalty);
    *s = (wmi_smooths){0};
}

static bool varies(int64_t n, int64_t stride, const double *x)
{
    for (int64_t i = 1; i < n; i++)
        if (x[i * stride] != x[0])
            return true;
    return false;
}

wm_status wmi_smooths_new(wmi_smooths *s, int64_t n, int64_t dim, const double *x,
                          const double *straight, int64_t bases, const float *knots, wmi_stop stop,
                          wm_error *err)
{
    const int64_t per = bases + 4;
    column_work w;
    wm_status st;

    *s = (wmi_smooths){.dim = dim, .bases = bases};
    if ((st = new_work(&w, bases, err)) ||
        (st = wmi_alloc(&s->first, dim + 1, sizeof *s->first, "curves", err)) ||
        (st = wmi_alloc(&s->knots, dim * per, sizeof *s->knots, "curves", err)) ||
        (st = wmi_alloc(&s->spline, dim * WMI_SMOOTHS_MAX * bases, sizeof *s->spline, "curves",
                        err)) ||
        (st = wmi_alloc(&s->shift, dim * WMI_SMOOTHS_MAX, sizeof *s->shift, "curves", err)) ||
        (st = wmi_alloc(&s->penalty, dim * WMI_SMOOTHS_MAX, sizeof *s->penalty, "curves", err)))
        goto done;
    for (int64_t j = 0; j < dim * per; j++)
        s->knots[j] = (double)knots[j];
    for (int64_t j = 0; j < dim; j++) {
        const double *k = s->knots + j * per;
        double *spline = s->spline + s->count * bases;
        int64_t count = 0;

        s->first[j] = s->count;
        if ((st = wmi_heed(stop, err)))
            goto done;
        if (!varies(n, dim, x + j))
            continue;
        spline_moments(&w, bases, k, n, x + j, dim);
        if (straight[j] > 0) {
            count = 1;
            s->penalty[s->count] = straight[j];
            for (int64_t r = 0; r < bases; r++)
                spline[r] = place_of(k, r);
        } else if ((st = find_curves(&w, bases, k, spline, s->penalty + s->count, &count, err))) {
            goto done;
        }
        for (int64_t c = 0; c < count; c++)
            for (int64_t r = 0; r < bases; r++)
                s->shift[s->count + c] += w.mean[r] * spline[c * bases + r];
        s->count += count;
    }
    s->first[dim] = s->count;
done:
    free_work(&w);
    if (st)
        wmi_smooths_free(s);
    return st;
}

void wmi_smooths_apply(const wmi_smooths *s, int64_t n, const double *x, double *out)
{
    const int64_t b = s->bases;

    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < s->dim; j++) {
            double v[4];
            int64_t at;

            if (s->first[j] == s->first[j + 1])
                continue;
            at = splines_at(s->knots + j * (b + 4), b, x[i * s->dim + j], v);
            for (int64_t c = s->first[j]; c < s->first[j + 1]; c++) {
                const double *spline = s->spline + c * b + at;

                out[i * s->count + c] = v[0] * spline[0] + v[1] * spline[1] + v[2] * spline[2] +
                                        v[3] * spline[3] - s->shift[c];
            }
        }
}

double wmi_smooths_sum(const wmi_smooths *s, const double *b, double *coef)
{
    double constant = 0;

    memset(coef, 0, (size_t)(s->dim * s->bases) * sizeof *coef);
    for (int64_t j = 0; j < s->dim; j++)
        for (int64_t c = s->first[j]; c < s->first[j + 1]; c++) {
            constant += b[c] * s->shift[c];
            for (int64_t r = 0; r < s->bases; r++)
                coef[j * s->bases + r] += b[c] * s->spline[c * s->bases + r];
        }
    return constant;
}
