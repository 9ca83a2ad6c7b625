/* path_moments.c - moments of the ends of a chain, and the Gaussians between them. */
#include "moments/path_moments.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "engine/backend/linalg.h"

wm_status wmi_end_moments_new(wmi_end_moments *m, int64_t d, wm_error *err)
{
    wm_status st;

    if ((st = wmi_alloc(&m->mean, d, sizeof *m->mean, "moments", err)) ||
        (st = wmi_alloc(&m->cov, d * d, sizeof *m->cov, "moments", err)))
        return st;
    return WM_OK;
}

void wmi_end_moments_free(wmi_end_moments *m)
{
    wmi_free(m->mean);
    wmi_free(m->cov);
}

wm_status wmi_end_moments_of(wmi_end_moments *m, int64_t n, int64_t d, const double *x,
                             wm_error *err)
{
    wm_status st;

    wmi_column_means(n, d, x, m->mean);
    if ((st = wmi_scatter(n, d, x, m->mean, m->cov, err)))
        return st;
    for (int64_t j = 0; j < d * d; j++)
        m->cov[j] /= (double)n;
    return WM_OK;
}

/* (1 - weight) cov + weight diag(cov) */
static void shrink_to_diagonal(int64_t d, const double *cov, double weight, double *out)
{
    for (int64_t i = 0; i < d; i++)
        for (int64_t j = 0; j < d; j++)
            out[i * d + j] = cov[i * d + j] * (i == j ? 1 : 1 - weight);
}

/* Log-densities of the rows into each (n), up to a constant; false where the covariance is
 * singular. */
static bool held_out_likelihood(int64_t d, const double *mean, double *cov, int64_t n,
                                const double *x, double *rows, double *each)
{
    double logdet;

    if (wmi_cholesky(d, cov, "covariance", NULL))
        return false;
    logdet = wmi_cholesky_logdet(d, cov);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < d; j++)
            rows[i * d + j] = x[i * d + j] - mean[j];
    wmi_lower_solve(n, d, cov, rows);
    for (int64_t i = 0; i < n; i++) {
        double sum = 0;

        for (int64_t j = 0; j < d; j++)
            sum += rows[i * d + j] * rows[i * d + j];
        each[i] = -0.5 * (sum + logdet);
    }
    return true;
}

/* Mean of a - b, in units of its own noise. */
static double clear_by(int64_t n, const double *a, const double *b)
{
    double mean = 0, var = 0;

    for (int64_t i = 0; i < n; i++)
        mean += (a[i] - b[i]) / (double)n;
    for (int64_t i = 0; i < n; i++)
        var += (a[i] - b[i] - mean) * (a[i] - b[i] - mean) / (double)n;
    return mean > 0 ? mean / sqrt(var / (double)n + 1e-300) : 0;
}

/* Shrinkage halves a dependence as soon as it is strong, and some hundred rows like one weight or
 * another by chance: a heavier one must be better by more than the noise of the comparison. */
wm_status wmi_end_moments_shrink(wmi_end_moments *m, int64_t d, int64_t n, const double *x,
                                 double *weight, wm_error *err)
{
    static const double grid[] = {0, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 1};
    static const double sure = 1;
    const int64_t rows_used = n < 2000 ? n : 2000; /* plenty to tell the grid's values apart */
    double *cov = NULL, *rows = NULL, *best = NULL, *now = NULL, chosen = 1;
    bool found = false;
    wm_status st;

    if ((st = wmi_alloc(&cov, d * d, sizeof *cov, "covariance", err)) ||
        (st = wmi_alloc(&rows, rows_used * d, sizeof *rows, "held-out rows", err)) ||
        (st = wmi_alloc(&best, rows_used, sizeof *best, "held-out rows", err)) ||
        (st = wmi_alloc(&now, rows_used, sizeof *now, "held-out rows", err)))
        goto done;
    for (size_t i = 0; i < sizeof grid / sizeof *grid; i++) {
        shrink_to_diagonal(d, m->cov, grid[i], cov);
        if (!held_out_likelihood(d, m->mean, cov, rows_used, x, rows, now) ||
            (found && clear_by(rows_used, now, best) < sure))
            continue;
        found = true;
        chosen = grid[i];
        memcpy(best, now, (size_t)rows_used * sizeof *best);
    }
    shrink_to_diagonal(d, m->cov, chosen, cov);
    memcpy(m->cov, cov, (size_t)(d * d) * sizeof *cov);
    if (weight)
        *weight = chosen;
done:
    wmi_free(now);
    wmi_free(best);
    wmi_free(rows);
    wmi_free(cov);
    return st;
}

wm_status wmi_gaussian_new(wmi_gaussian *g, int64_t d, wm_error *err)
{
    wm_status st;

    if ((st = wmi_alloc(&g->mean, d, sizeof *g->mean, "mean", err)) ||
        (st = wmi_alloc(&g->pm, d, sizeof *g->pm, "mean", err)) ||
        (st = wmi_alloc(&g->cov, d * d, sizeof *g->cov, "covariance", err)) ||
        (st = wmi_alloc(&g->precision, d * d, sizeof *g->precision, "precision", err)))
        return st;
    return WM_OK;
}

void wmi_gaussian_free(wmi_gaussian *g)
{
    wmi_free(g->mean);
    wmi_free(g->pm);
    wmi_free(g->cov);
    wmi_free(g->precision);
}

wm_status wmi_gaussian_at(wmi_gaussian *g, int64_t d, const wmi_end_moments *m0,
                          const wmi_end_moments *mm, const double *a, const double *b, int64_t k,
                          wm_error *err)
{
    char what[64];
    wm_status st;

    for (int64_t i = 0; i < d; i++) {
        g->mean[i] = a[i] * m0->mean[i] + b[i] * mm->mean[i];
        for (int64_t j = 0; j < d; j++)
            g->cov[i * d + j] = a[i] * m0->cov[i * d + j] * a[j] + b[i] * mm->cov[i * d + j] * b[j];
    }
    memcpy(g->precision, g->cov, (size_t)(d * d) * sizeof *g->cov);
    snprintf(what, sizeof what, "covariance of waymark %" PRId64, k);
    if ((st = wmi_cholesky(d, g->precision, what, err)))
        return st;
    g->logdet = wmi_cholesky_logdet(d, g->precision);
    wmi_cholesky_inverse(d, g->precision);
    wmi_product(d, 1, d, 1, g->precision, g->mean, 0, g->pm);
    return WM_OK;
}

/* (tr(F G^-1) + tr(G F^-1)) / 2 - d + D'(F^-1 + G^-1) D / 2 with D the difference of the means. */
double wmi_gaussian_divergence(int64_t d, const wmi_gaussian *f, const wmi_gaussian *g)
{
    double sum = 0;

    for (int64_t i = 0; i < d; i++)
        for (int64_t j = 0; j < d; j++) {
            const int64_t at = i * d + j;
            const double step = (f->mean[i] - g->mean[i]) * (f->mean[j] - g->mean[j]);

            sum += (f->cov[at] + step) * g->precision[at] + (g->cov[at] + step) * f->precision[at];
        }
    return fmax(0.5 * sum - (double)d, 0);
}
