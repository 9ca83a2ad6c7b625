/* convex.c - bridges from moments: Gaussian log-ratios of neighbouring waymarks. The test and the
 * refinement of a bridge are in refine.c. */
#include "train/convex.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/speak.h"
#include "engine/backend/linalg.h"
#include "train/path_moments.h"
#include "train/refine.h"
#include "waymarks/chain.h"

static double dot(int64_t n, const double *a, const double *b)
{
    double s = 0;

    for (int64_t i = 0; i < n; i++)
        s += a[i] * b[i];
    return s;
}

/* -log r = (x-a)'P(x-a)/2 + log|A|/2 - (x-b)'R(x-b)/2 - log|B|/2 for Gaussians (a, A = P^-1), (b, B
 * = R^-1). */
static void quadratic_bridge(int64_t d, const wmi_gaussian *a, const wmi_gaussian *b,
                             wmi_convex_bridge *out)
{
    for (int64_t j = 0; j < d * d; j++)
        out->q[j] = 0.5 * (a->precision[j] - b->precision[j]);
    for (int64_t j = 0; j < d; j++)
        out->w[j] = b->pm[j] - a->pm[j];
    out->c = 0.5 * (dot(d, a->mean, a->pm) - dot(d, b->mean, b->pm) + a->logdet - b->logdet);
}

/* The same with one covariance for both, (A + B) / 2, so that x'x drops out. */
static wm_status linear_bridge(int64_t d, const wmi_gaussian *a, const wmi_gaussian *b,
                               double *pooled, wmi_convex_bridge *out, wm_error *err)
{
    wm_status st;

    for (int64_t j = 0; j < d * d; j++)
        pooled[j] = 0.5 * (a->cov[j] + b->cov[j]);
    if ((st = wmi_cholesky(d, pooled, "covariance of two waymarks", err)))
        return st;
    memset(out->q, 0, (size_t)(d * d) * sizeof *out->q);
    for (int64_t j = 0; j < d; j++)
        out->w[j] = b->mean[j] - a->mean[j];
    wmi_lower_solve(1, d, pooled, out->w);
    wmi_lower_solve_right(1, d, pooled, out->w);
    out->c = 0;
    for (int64_t j = 0; j < d; j++)
        out->c -= 0.5 * out->w[j] * (a->mean[j] + b->mean[j]);
    return WM_OK;
}

/* The Gaussian of waymark k of the chain; coef is (2, d) scratch. */
static wm_status gaussian_of(wmi_gaussian *g, const wm_chain *chain, const wmi_end_moments *m0,
                             const wmi_end_moments *mm, int64_t k, double *coef, wm_error *err)
{
    const int64_t d = wm_chain_dim(chain);

    wmi_chain_coefficients(chain, k, coef, coef + d);
    return wmi_gaussian_at(g, d, m0, mm, coef, coef + d, k, err);
}

static wm_status fit_bridges(const wmi_convex_data *data, const wm_chain *chain,
                             const wmi_convex_opts *opts, const wmi_end_moments *m0,
                             const wmi_end_moments *mm, wmi_convex_bridge *bridges, wm_error *err)
{
    const int64_t d = data->dim, m = wm_chain_bridges(chain);
    wmi_gaussian a = {0}, b = {0};
    double *pooled = NULL, *coef = NULL;
    wmi_progress progress;
    wm_status st;

    wmi_progress_start(&progress, opts->sink, "bridges", 0, m);
    if ((st = wmi_gaussian_new(&a, d, err)) || (st = wmi_gaussian_new(&b, d, err)) ||
        (st = wmi_alloc(&pooled, d * d, sizeof *pooled, "covariance", err)) ||
        (st = wmi_alloc(&coef, 2 * d, sizeof *coef, "coefficients", err)) ||
        (st = gaussian_of(&a, chain, m0, mm, 0, coef, err)))
        goto done;
    for (int64_t k = 0; k < m; k++) {
        const wmi_gaussian next = a;

        if ((st = gaussian_of(&b, chain, m0, mm, k + 1, coef, err)))
            goto done;
        if (opts->quadratic)
            quadratic_bridge(d, &a, &b, &bridges[k]);
        else if ((st = linear_bridge(d, &a, &b, pooled, &bridges[k], err)))
            goto done;
        bridges[k].ridge = INFINITY;
        bridges[k].valid_loss = NAN;
        bridges[k].valid_gain = 0;
        if (opts->refine && (st = wmi_refine_bridge(data, chain, opts, k, &bridges[k], err)))
            goto done;
        a = b;
        b = next;
        wmi_progress_update(&progress, k + 1, "held-out loss %.4f", bridges[k].valid_loss);
    }
done:
    wmi_free(coef);
    wmi_free(pooled);
    wmi_gaussian_free(&b);
    wmi_gaussian_free(&a);
    return st;
}

wm_status wmi_convex_fit(const wmi_convex_data *data, const wm_chain *chain,
                         const wmi_convex_opts *opts, wmi_convex_bridge *bridges, double *shrink,
                         wm_error *err)
{
    const int64_t d = data->dim;
    wmi_end_moments m0 = {0}, mm = {0};
    wm_status st;

    if ((st = wmi_end_moments_new(&m0, d, err)) || (st = wmi_end_moments_new(&mm, d, err)) ||
        (st = wmi_end_moments_of(&m0, data->n0_train, d, data->x0_train, err)) ||
        (st = wmi_end_moments_shrink(&m0, d, data->n0_valid, data->x0_valid, shrink, err)))
        goto done;
    if (data->xm_standard) {
        for (int64_t j = 0; j < d; j++)
            mm.cov[j * (d + 1)] = 1;
    } else if ((st = wmi_end_moments_of(&mm, data->nm_train, d, data->xm_train, err)) ||
               (st = wmi_end_moments_shrink(&mm, d, data->nm_valid, data->xm_valid, NULL, err))) {
        goto done;
    }
    st = fit_bridges(data, chain, opts, &m0, &mm, bridges, err);
done:
    wmi_end_moments_free(&mm);
    wmi_end_moments_free(&m0);
    return st;
}
