/* transform.c - dequantisation, logit, centring and scaling of rows (transform.h). */
#include "columns/transform.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/rng.h"

wm_status wmi_transform_new(wmi_transform *t, double levels, double lambda, int64_t dim,
                            wm_error *err)
{
    wm_status st;

    *t = (wmi_transform){.raw = dim, .dim = dim, .levels = levels, .lambda = lambda};
    if (!(levels == 0 || (levels >= 2 && levels == floor(levels))))
        return wmi_fail(err, WM_EINVAL, "%g levels: a whole number of at least 2 is needed",
                        levels);
    if (!(lambda >= 0 && lambda < 0.5))
        return wmi_fail(err, WM_EINVAL, "logit %g: it must be in (0, 0.5)", lambda);
    if ((st = wmi_alloc(&t->shift, dim, sizeof *t->shift, "shifts", err)) ||
        (st = wmi_alloc(&t->scale, dim, sizeof *t->scale, "scales", err)))
        return st;
    for (int64_t j = 0; j < dim; j++)
        t->scale[j] = 1;
    return WM_OK;
}

void wmi_transform_free(wmi_transform *t)
{
    wmi_free(t->shift);
    wmi_free(t->scale);
    wmi_steps_free(&t->steps);
    t->shift = t->scale = NULL;
}

bool wmi_transform_jitters(const wmi_transform *t)
{
    return t->levels > 0 || t->steps.raw > 0;
}

wm_status wmi_transform_check(const wmi_transform *t, const char *what, int64_t n, const double *x,
                              wm_error *err)
{
    for (int64_t i = 0; i < n * t->raw; i++) {
        const int64_t row = i / t->raw + 1, column = i % t->raw + 1;

        if (!isfinite(x[i]))
            return wmi_fail(err, WM_EINVAL, "%s: row %" PRId64 ", column %" PRId64 " is %g", what,
                            row, column, x[i]);
        if (t->steps.raw > 0 && !wmi_steps_knows(&t->steps, column - 1, x[i]))
            return wmi_fail(err, WM_EINVAL,
                            "%s: row %" PRId64 ", column %" PRId64
                            " is %g, a value that the model has not met and gives no share",
                            what, row, column, x[i]);
        if (t->levels > 0 && !(x[i] >= 0 && x[i] <= t->levels - 1 && x[i] == floor(x[i])))
            return wmi_about(wmi_fail(err, WM_EINVAL,
                                      "%s: row %" PRId64 ", column %" PRId64
                                      " is %g, no whole number from 0 to %g",
                                      what, row, column, x[i], t->levels - 1),
                             err, "dequantize");
        if (t->levels == 0 && t->lambda > 0 && !(x[i] >= 0 && x[i] <= 1))
            return wmi_about(wmi_fail(err, WM_EINVAL,
                                      "%s: row %" PRId64 ", column %" PRId64
                                      " is %g, outside of [0, 1], where the logit works",
                                      what, row, column, x[i]),
                             err, "logit");
    }
    return WM_OK;
}

/* One value up to the logit, and its log derivative added to *log_det. */
static double squash(const wmi_transform *t, double x, double u, double *log_det)
{
    double s = x;

    if (t->levels > 0) {
        s = (x + u) / t->levels;
        *log_det -= log(t->levels);
    }
    if (t->lambda > 0) {
        s = t->lambda + (1 - 2 * t->lambda) * s;
        *log_det += log1p(-2 * t->lambda) - log(s) - log1p(-s);
        s = log(s) - log1p(-s);
    }
    return s;
}

void wmi_transform_rows(const wmi_transform *t, int64_t n, const double *x, const double *u,
                        double *y, double *log_det)
{
    double scales = 0;

    for (int64_t j = 0; j < t->dim; j++)
        scales += log(t->scale[j]);
#pragma omp parallel for schedule(static) if (n * t->dim >= 16384)
    for (int64_t i = 0; i < n; i++) {
        double sum = -scales;
        int64_t j = 0; /* of y */

        for (int64_t c = 0; c < t->raw; c++) {
            const int64_t at = i * t->dim + j;
            const double given = x[i * t->raw + c], own = u ? u[at] : 0.5;
            double s;

            if (t->steps.raw == 0)
                s = squash(t, given, own, &sum);
            else if (t->steps.how[c] == WMI_STEP_CONSTANT)
                continue;
            else
                s = wmi_steps_up(&t->steps, c, given, own, &sum);
            y[at] = (s - t->shift[j]) / t->scale[j];
            j++;
        }
        if (log_det)
            log_det[i] = sum;
    }
}

static void back_by_steps(const wmi_transform *t, int64_t n, const double *y, double *x)
{
    const wmi_steps *s = &t->steps;

#pragma omp parallel for schedule(static) if (n * t->dim >= 16384)
    for (int64_t i = 0; i < n; i++) {
        const double *from = y + i * t->dim;

        for (int64_t c = 0, j = 0; c < t->raw; c++)
            if (s->how[c] == WMI_STEP_CONSTANT) {
                x[i * t->raw + c] = s->value[s->first[c]];
            } else {
                x[i * t->raw + c] = wmi_steps_down(s, c, t->shift[j] + t->scale[j] * from[j]);
                j++;
            }
    }
}

void wmi_transform_back(const wmi_transform *t, int64_t n, const double *y, double *x)
{
    if (t->steps.raw > 0) {
        back_by_steps(t, n, y, x);
        return;
    }
#pragma omp parallel for schedule(static) if (n * t->dim >= 16384)
    for (int64_t i = 0; i < n * t->dim; i++) {
        const int64_t j = i % t->dim;
        double s = t->shift[j] + t->scale[j] * y[i];

        if (t->lambda > 0) {
            s = s >= 0 ? 1 / (1 + exp(-s)) : exp(s) / (1 + exp(s));
            s = (s - t->lambda) / (1 - 2 * t->lambda);
            s = fmin(fmax(s, 0), 1);
        }
        if (t->levels > 0)
            s = fmin(fmax(s, 0) * t->levels, nextafter(t->levels, 0));
        x[i] = s;
    }
}

/* Moments by columns in two passes, each row by row: rows are what memory has. */
static wm_status take_moments(wmi_transform *t, bool standardize, int64_t n, const double *x,
                              uint64_t seed, wm_error *err)
{
    const wmi_rng rng = wmi_rng_make(seed, "transform/moments");
    const int64_t d = t->dim;
    double *row = NULL, *u = NULL, *mean = NULL, *var = NULL;
    wm_status st;

    if ((st = wmi_alloc(&row, d, sizeof *row, "row", err)) ||
        (st = wmi_alloc(&u, d, sizeof *u, "row", err)) ||
        (st = wmi_alloc(&mean, d, sizeof *mean, "moments", err)) ||
        (st = wmi_alloc(&var, d, sizeof *var, "moments", err)))
        goto done;
    for (int pass = 0; pass < 2; pass++)
        for (int64_t i = 0; i < n; i++) {
            if (wmi_transform_jitters(t))
                wmi_rng_uniform_f64(&rng, (uint64_t)(i * d), d, u);
            wmi_transform_rows(t, 1, x + i * t->raw, u, row, NULL);
            for (int64_t j = 0; j < d; j++)
                if (pass == 0)
                    mean[j] += row[j] / (double)n;
                else
                    var[j] += (row[j] - mean[j]) * (row[j] - mean[j]) / (double)n;
        }
    for (int64_t j = 0; j < d; j++) {
        t->shift[j] = mean[j];
        if (!standardize)
            continue;
        if (!(var[j] > 1e-20 * (1 + mean[j] * mean[j]))) {
            st = wmi_fail(err, WM_EINVAL,
                          "column %" PRId64 " is constant (%g): it has no density, leave it out",
                          j + 1, mean[j]);
            goto done;
        }
        t->scale[j] = sqrt(var[j]);
    }
done:
    wmi_free(var);
    wmi_free(mean);
    wmi_free(u);
    wmi_free(row);
    return st;
}

wm_status wmi_transform_fit(wmi_transform *t, double levels, double lambda, bool standardize,
                            int64_t n, int64_t dim, const double *x, uint64_t seed, wm_error *err)
{
    wm_status st;

    if ((st = wmi_transform_new(t, levels, lambda, dim, err)) ||
        (st = wmi_transform_check(t, "data", n, x, err)))
        return st;
    return take_moments(t, standardize, n, x, seed, err);
}

wm_status wmi_transform_fit_steps(wmi_transform *t, wmi_steps *steps, bool standardize, int64_t n,
                                  const double *x, uint64_t seed, wm_error *err)
{
    wm_status st = wmi_transform_new(t, 0, 0, steps->dim, err);

    t->raw = steps->raw;
    t->steps = *steps;
    *steps = (wmi_steps){0};
    if (st || (st = wmi_transform_check(t, "data", n, x, err)))
        return st;
    return take_moments(t, standardize, n, x, seed, err);
}
