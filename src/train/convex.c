/* convex.c - bridges from moments: Gaussian log-ratios of neighbouring waymarks. The test and the
 * refinement of a bridge are in refine.c. */
#include "train/convex.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/speak.h"
#include "engine/backend/linalg.h"
#include "train/refine.h"

typedef struct moments {
    double *mean; /* (d) */
    double *cov;  /* (d, d) */
} moments;

/* A Gaussian with the moments of one waymark, ready for log-densities. */
typedef struct gaussian {
    double *mean;      /* (d) */
    double *precision; /* (d, d) inverse of the covariance */
    double *pm;        /* (d) precision times mean */
    double logdet;     /* of the covariance */
} gaussian;

static wm_status moments_of(moments *m, int64_t n, int64_t d, const double *x, wm_error *err)
{
    wm_status st;

    memset(m->mean, 0, (size_t)d * sizeof *m->mean);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < d; j++)
            m->mean[j] += x[i * d + j];
    for (int64_t j = 0; j < d; j++)
        m->mean[j] /= (double)n;
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

/* Mean log-density of the rows, up to a constant; -INFINITY where the covariance is singular. */
static double held_out_likelihood(int64_t d, const double *mean, double *cov, int64_t n,
                                  const double *x, double *rows)
{
    double sum = 0;

    if (wmi_cholesky(d, cov, "covariance", NULL))
        return -INFINITY;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < d; j++)
            rows[i * d + j] = x[i * d + j] - mean[j];
    wmi_lower_solve(n, d, cov, rows);
    for (int64_t i = 0; i < n * d; i++)
        sum += rows[i] * rows[i];
    return -0.5 * (sum / (double)n + wmi_cholesky_logdet(d, cov));
}

/* Weight of the diagonal that held-out rows like best. */
static wm_status choose_shrinkage(moments *m, int64_t d, int64_t n, const double *x, double *weight,
                                  wm_error *err)
{
    static const double grid[] = {0, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 1};
    const int64_t rows_used = n < 2000 ? n : 2000; /* plenty to tell the grid's values apart */
    double *cov = NULL, *rows = NULL, best = -INFINITY, value;
    wm_status st;

    *weight = 1;
    if ((st = wmi_alloc(&cov, d * d, sizeof *cov, "covariance", err)) ||
        (st = wmi_alloc(&rows, rows_used * d, sizeof *rows, "held-out rows", err)))
        goto done;
    for (size_t i = 0; i < sizeof grid / sizeof *grid; i++) {
        shrink_to_diagonal(d, m->cov, grid[i], cov);
        value = held_out_likelihood(d, m->mean, cov, rows_used, x, rows);
        if (value > best) {
            best = value;
            *weight = grid[i];
        }
    }
    shrink_to_diagonal(d, m->cov, *weight, cov);
    memcpy(m->cov, cov, (size_t)(d * d) * sizeof *cov);
done:
    wmi_free(rows);
    wmi_free(cov);
    return st;
}

/* Waymark alpha: mean sqrt(1-a^2) mu_0 + a mu_m, covariance (1-a^2) S_0 + a^2 S_m. */
static wm_status gaussian_at(gaussian *g, int64_t d, const moments *m0, const moments *mm,
                             double alpha, int64_t k, wm_error *err)
{
    const double b = sqrt(1 - alpha * alpha);
    char what[64];
    wm_status st;

    for (int64_t j = 0; j < d; j++)
        g->mean[j] = b * m0->mean[j] + alpha * mm->mean[j];
    for (int64_t j = 0; j < d * d; j++)
        g->precision[j] = (1 - alpha * alpha) * m0->cov[j] + alpha * alpha * mm->cov[j];
    snprintf(what, sizeof what, "covariance of waymark %" PRId64, k);
    if ((st = wmi_cholesky(d, g->precision, what, err)))
        return st;
    g->logdet = wmi_cholesky_logdet(d, g->precision);
    wmi_cholesky_inverse(d, g->precision);
    wmi_product(d, 1, d, 1, g->precision, g->mean, 0, g->pm);
    return WM_OK;
}

static double dot(int64_t n, const double *a, const double *b)
{
    double s = 0;

    for (int64_t i = 0; i < n; i++)
        s += a[i] * b[i];
    return s;
}

/* -log r = (x-a)'P(x-a)/2 + log|A|/2 - (x-b)'R(x-b)/2 - log|B|/2 for Gaussians (a, A = P^-1), (b, B
 * = R^-1). */
static void quadratic_bridge(int64_t d, const gaussian *a, const gaussian *b,
                             wmi_convex_bridge *out)
{
    for (int64_t j = 0; j < d * d; j++)
        out->q[j] = 0.5 * (a->precision[j] - b->precision[j]);
    for (int64_t j = 0; j < d; j++)
        out->w[j] = b->pm[j] - a->pm[j];
    out->c = 0.5 * (dot(d, a->mean, a->pm) - dot(d, b->mean, b->pm) + a->logdet - b->logdet);
}

/* The same with one covariance for both: (S_k + S_{k+1}) / 2, so that x'x drops out. */
static wm_status linear_bridge(int64_t d, const moments *m0, const moments *mm, double alpha,
                               double next, const gaussian *a, const gaussian *b, gaussian *pooled,
                               wmi_convex_bridge *out, wm_error *err)
{
    const double mid = sqrt(0.5 * (alpha * alpha + next * next));
    double *diff = pooled->mean;
    wm_status st = gaussian_at(pooled, d, m0, mm, mid, 0, err);

    if (st)
        return st;
    memset(out->q, 0, (size_t)(d * d) * sizeof *out->q);
    for (int64_t j = 0; j < d; j++)
        diff[j] = b->mean[j] - a->mean[j];
    wmi_product(d, 1, d, 1, pooled->precision, diff, 0, out->w);
    out->c = 0;
    for (int64_t j = 0; j < d; j++)
        out->c -= 0.5 * out->w[j] * (a->mean[j] + b->mean[j]);
    return WM_OK;
}

static wm_status new_gaussian(gaussian *g, int64_t d, wm_error *err)
{
    wm_status st;

    if ((st = wmi_alloc(&g->mean, d, sizeof *g->mean, "mean", err)) ||
        (st = wmi_alloc(&g->pm, d, sizeof *g->pm, "mean", err)) ||
        (st = wmi_alloc(&g->precision, d * d, sizeof *g->precision, "precision", err)))
        return st;
    return WM_OK;
}

static void free_gaussian(gaussian *g)
{
    wmi_free(g->mean);
    wmi_free(g->pm);
    wmi_free(g->precision);
}

static wm_status fit_bridges(const wmi_convex_data *data, const wm_alphas *alphas,
                             const wmi_convex_opts *opts, const moments *m0, const moments *mm,
                             wmi_convex_bridge *bridges, wm_error *err)
{
    const int64_t d = data->dim, m = alphas->bridges;
    gaussian a = {0}, b = {0}, pooled = {0};
    wmi_progress progress;
    wm_status st;

    wmi_progress_start(&progress, opts->sink, "bridges", 0, m);
    if ((st = new_gaussian(&a, d, err)) || (st = new_gaussian(&b, d, err)) ||
        (st = new_gaussian(&pooled, d, err)) ||
        (st = gaussian_at(&a, d, m0, mm, alphas->alpha[0], 0, err)))
        goto done;
    for (int64_t k = 0; k < m; k++) {
        const gaussian next = a;

        if ((st = gaussian_at(&b, d, m0, mm, alphas->alpha[k + 1], k + 1, err)))
            goto done;
        if (opts->quadratic)
            quadratic_bridge(d, &a, &b, &bridges[k]);
        else if ((st = linear_bridge(d, m0, mm, alphas->alpha[k], alphas->alpha[k + 1], &a, &b,
                                     &pooled, &bridges[k], err)))
            goto done;
        bridges[k].ridge = INFINITY;
        bridges[k].valid_loss = NAN;
        bridges[k].valid_gain = 0;
        if (opts->refine && (st = wmi_refine_bridge(data, alphas, opts, k, &bridges[k], err)))
            goto done;
        a = b;
        b = next;
        wmi_progress_update(&progress, k + 1, "held-out loss %.4f", bridges[k].valid_loss);
    }
done:
    free_gaussian(&pooled);
    free_gaussian(&b);
    free_gaussian(&a);
    return st;
}

wm_status wmi_convex_fit(const wmi_convex_data *data, const wm_alphas *alphas,
                         const wmi_convex_opts *opts, wmi_convex_bridge *bridges, double *shrink,
                         wm_error *err)
{
    const int64_t d = data->dim;
    moments m0 = {0}, mm = {0};
    double weight = 0;
    wm_status st;

    if ((st = wmi_alloc(&m0.mean, d, sizeof *m0.mean, "moments", err)) ||
        (st = wmi_alloc(&m0.cov, d * d, sizeof *m0.cov, "moments", err)) ||
        (st = wmi_alloc(&mm.mean, d, sizeof *mm.mean, "moments", err)) ||
        (st = wmi_alloc(&mm.cov, d * d, sizeof *mm.cov, "moments", err)) ||
        (st = moments_of(&m0, data->n0_train, d, data->x0_train, err)) ||
        (st = choose_shrinkage(&m0, d, data->n0_valid, data->x0_valid, &weight, err)))
        goto done;
    if (shrink)
        *shrink = weight;
    if (data->xm_standard) {
        for (int64_t j = 0; j < d; j++)
            mm.cov[j * (d + 1)] = 1;
    } else if ((st = moments_of(&mm, data->nm_train, d, data->xm_train, err)) ||
               (st = choose_shrinkage(&mm, d, data->nm_valid, data->xm_valid, &weight, err))) {
        goto done;
    }
    st = fit_bridges(data, alphas, opts, &m0, &mm, bridges, err);
done:
    wmi_free(mm.cov);
    wmi_free(mm.mean);
    wmi_free(m0.cov);
    wmi_free(m0.mean);
    return st;
}
