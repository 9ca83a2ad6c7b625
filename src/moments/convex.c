/* convex.c - bridges from moments: Gaussian log-ratios of neighbouring waymarks. The test and the
 * refinement of a bridge are in refine.c. */
#include "moments/convex.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "engine/backend/linalg.h"
#include "moments/path_moments.h"
#include "moments/refine.h"
#include "waymark/sink.h"
#include "waymarks/chain.h"

static const double ROUNDING = 1e-12; /* of a mean, which a constant column may vary by */

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

/* Bridges from the moments of the ends; those that were refined are left alone. */
static wm_status moment_bridges(const wm_chain *chain, bool quadratic, const wmi_end_moments *m0,
                                const wmi_end_moments *mm, wmi_convex_bridge *bridges,
                                wm_error *err)
{
    const int64_t d = wm_chain_dim(chain), m = wm_chain_bridges(chain);
    wmi_gaussian a = {0}, b = {0};
    double *pooled = NULL, *coef = NULL;
    wm_status st;

    if ((st = wmi_gaussian_new(&a, d, err)) || (st = wmi_gaussian_new(&b, d, err)) ||
        (st = wmi_alloc(&pooled, d * d, sizeof *pooled, "covariance", err)) ||
        (st = wmi_alloc(&coef, 2 * d, sizeof *coef, "coefficients", err)) ||
        (st = gaussian_of(&a, chain, m0, mm, 0, coef, err)))
        goto done;
    for (int64_t k = 0; k < m; k++) {
        const wmi_gaussian next = a;

        if ((st = gaussian_of(&b, chain, m0, mm, k + 1, coef, err)))
            goto done;
        if (bridges[k].ridge == INFINITY && quadratic)
            quadratic_bridge(d, &a, &b, &bridges[k]);
        else if (bridges[k].ridge == INFINITY &&
                 (st = linear_bridge(d, &a, &b, pooled, &bridges[k], err)))
            goto done;
        a = b;
        b = next;
    }
done:
    wmi_free(coef);
    wmi_free(pooled);
    wmi_gaussian_free(&b);
    wmi_gaussian_free(&a);
    return st;
}

static wm_status refine_bridges(const wmi_convex_data *data, const wm_chain *chain,
                                const wmi_convex_opts *opts, wmi_convex_bridge *bridges,
                                wm_error *err)
{
    const int64_t m = wm_chain_bridges(chain);
    wm_task progress;

    wm_task_start(&progress, opts->sink, "bridges", 0, m);
    for (int64_t k = 0; k < m; k++) {
        const wm_status st = wmi_refine_bridge(data, chain, opts, k, &bridges[k], err);

        if (st)
            return st;
        wm_task_update(&progress, k + 1, "held-out loss %.4f", bridges[k].valid_loss);
    }
    return WM_OK;
}

/* Moments of one end: of the training rows, and of all, shrunk as the held-out rows like it best.
 */
typedef struct end_fit {
    wmi_end_moments train, all;
    double weight; /* of the diagonal */
} end_fit;

/* all, which holds the moments of the held-out rows, becomes those of both together:
 * n S = n_t S_t + n_v S_v + (n_t n_v / n) e e' with e the difference of the means. */
static void pool_moments(int64_t d, int64_t n_train, int64_t n_valid, end_fit *e)
{
    const double t = (double)n_train / (double)(n_train + n_valid), v = 1 - t;
    const double *mt = e->train.mean, *mv = e->all.mean;

    for (int64_t i = 0; i < d; i++)
        for (int64_t j = 0; j < d; j++)
            e->all.cov[i * d + j] = t * e->train.cov[i * d + j] + v * e->all.cov[i * d + j] +
                                    t * v * (mt[i] - mv[i]) * (mt[j] - mv[j]);
    for (int64_t i = 0; i < d; i++)
        e->all.mean[i] = t * mt[i] + v * mv[i];
}

static wm_status fit_end(end_fit *e, int64_t d, int64_t n_train, const double *train,
                         int64_t n_valid, const double *valid, wm_error *err)
{
    wm_status st;

    if ((st = wmi_end_moments_new(&e->train, d, err)) ||
        (st = wmi_end_moments_new(&e->all, d, err)) ||
        (st = wmi_end_moments_of(&e->train, n_train, d, train, err)) ||
        (st = wmi_end_moments_of(&e->all, n_valid, d, valid, err)))
        return st;
    pool_moments(d, n_train, n_valid, e);
    if ((st = wmi_end_moments_shrink(&e->train, d, n_valid, valid, &e->weight, err)))
        return st;
    for (int64_t i = 0; i < d * d; i++)
        e->all.cov[i] *= i % (d + 1) == 0 ? 1 : 1 - e->weight;
    return WM_OK;
}

/* N(0, I), known. */
static wm_status standard_end(end_fit *e, int64_t d, wm_error *err)
{
    wm_status st;

    if ((st = wmi_end_moments_new(&e->train, d, err)) ||
        (st = wmi_end_moments_new(&e->all, d, err)))
        return st;
    for (int64_t j = 0; j < d; j++)
        e->train.cov[j * (d + 1)] = e->all.cov[j * (d + 1)] = 1;
    return WM_OK;
}

static bool is_constant(const wmi_end_moments *m, int64_t d, int64_t j)
{
    return sqrt(m->cov[j * (d + 1)]) <= ROUNDING * fabs(m->mean[j]);
}

/* A column with one and the same value at both ends, such as the indicator of a level that no row
 * of a fold has, is in no ratio: with any variance, the same at both ends, it is in none. */
static void settle_constants(int64_t d, wmi_end_moments *a, wmi_end_moments *b)
{
    for (int64_t j = 0; j < d; j++)
        if (is_constant(a, d, j) && is_constant(b, d, j) &&
            fabs(a->mean[j] - b->mean[j]) <= ROUNDING * fabs(a->mean[j]))
            a->cov[j * (d + 1)] = b->cov[j * (d + 1)] = 1;
}

static void free_end(end_fit *e)
{
    wmi_end_moments_free(&e->train);
    wmi_end_moments_free(&e->all);
}

wm_status wmi_convex_fit(const wmi_convex_data *data, const wm_chain *chain,
                         const wmi_convex_opts *opts, wmi_convex_bridge *bridges, double *shrink,
                         wm_error *err)
{
    const int64_t d = data->dim;
    end_fit e0 = {0}, em = {0};
    wm_status st;

    for (int64_t k = 0; k < wm_chain_bridges(chain); k++) {
        bridges[k].ridge = INFINITY;
        bridges[k].valid_loss = NAN;
        bridges[k].valid_gain = 0;
    }
    if ((st = fit_end(&e0, d, data->n0_train, data->x0_train, data->n0_valid, data->x0_valid,
                      err)) ||
        (st = data->xm_standard ? standard_end(&em, d, err)
                                : fit_end(&em, d, data->nm_train, data->xm_train, data->nm_valid,
                                          data->xm_valid, err)))
        goto done;
    settle_constants(d, &e0.train, &em.train);
    settle_constants(d, &e0.all, &em.all);
    if ((st = moment_bridges(chain, opts->quadratic, &e0.train, &em.train, bridges, err)) ||
        (opts->refine && (st = refine_bridges(data, chain, opts, bridges, err))))
        goto done;
    if (shrink)
        *shrink = e0.weight;
    if (opts->all_rows)
        st = moment_bridges(chain, opts->quadratic, &e0.all, &em.all, bridges, err);
done:
    free_end(&em);
    free_end(&e0);
    return st;
}

wm_status wmi_convex_of_ends(const wm_chain *chain, const wmi_end_moments *m0,
                             const wmi_end_moments *mm, wmi_convex_bridge *bridges, wm_error *err)
{
    for (int64_t k = 0; k < wm_chain_bridges(chain); k++)
        bridges[k].ridge = INFINITY;
    return moment_bridges(chain, true, m0, mm, bridges, err);
}
