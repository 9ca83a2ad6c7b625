/* ratio_additive.c - additive bridges of a wm_ratio: curves and levels by penalised logistic
 * regression (smooths.h, penalised.h), as smooth as the rows want them. Alone, or on top of a form
 * that comes from moments, or below products of columns (ratio_products.c). */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "columns/smooths.h"
#include "moments/penalised.h"
#include "ratio/ratio_impl.h"

enum { MOST_FEATURES = 1000 }; /* of a Newton step */

bool wmi_ratio_can_curve(const wmi_encoder *e)
{
    return e->dim <= MOST_FEATURES;
}

/* Where curves of all numbers would be too many features, numbers get straight lines too. */
static void choose_straight(const wmi_ratio_rows *rows, double *straight)
{
    int64_t features = 0;

    for (int64_t f = 0; f < rows->dim; f++) {
        straight[f] = rows->straight ? rows->straight[f] : 0;
        features += straight[f] > 0 ? 1 : WMI_SMOOTHS_MAX;
    }
    for (int64_t f = 0; f < rows->dim && features > MOST_FEATURES; f++)
        straight[f] = straight[f] > 0 ? straight[f] : WMI_STRAIGHT;
}

/* Waymark k: the ends as they are, or as many rows between them as the larger one has. */
static int64_t waymark_rows(const wmi_ends *e, int64_t k, int64_t m)
{
    return k == 0 ? e->n[0] : k == m ? e->n[1] : e->n[0] > e->n[1] ? e->n[0] : e->n[1];
}

static wm_status set_waymark(const wmi_ends *e, const wm_chain *chain, int64_t k, int64_t m,
                             int64_t d, double *out, wm_error *err)
{
    const int64_t n = waymark_rows(e, k, m);
    int64_t *row[2] = {NULL, NULL};
    wm_status st = WM_OK;

    if (k == 0 || k == m) {
        memcpy(out, e->x[k ? 1 : 0], (size_t)(n * d) * sizeof *out);
        return WM_OK;
    }
    for (int t = 0; !st && t < 2; t++)
        if (!(st = wmi_alloc(&row[t], n, sizeof *row[t], "rows", err)))
            for (int64_t i = 0; i < n; i++)
                row[t][i] = i % e->n[t];
    if (!st)
        wm_chain_waymark_f64(
            chain, k,
            &(wm_ends_f64){.rows = n, .x0 = e->x[0], .xm = e->x[1], .row0 = row[0], .rowm = row[1]},
            out);
    wmi_free(row[1]);
    wmi_free(row[0]);
    return st;
}

/* ---- a bridge ---- */

/* log r_k at rows x, by what r has so far. */
static wm_status score_bridge(const wm_ratio *r, int64_t k, int64_t n, const double *x, double *out,
                              wm_error *err)
{
    double *all = NULL;
    wm_status st = wmi_alloc(&all, r->info.bridges * n, sizeof *all, "scores", err);

    if (!st && !(st = wmi_ratio_scores(r, n, x, all, err)))
        memcpy(out, all + k * n, (size_t)n * sizeof *out);
    wmi_free(all);
    return st;
}

/* A group is the curve of a number, or the levels of a column. */
static void group_features(const wmi_encoder *e, const wmi_smooths *curves, int64_t *group)
{
    int64_t g = 0;

    for (int64_t j = 0; j < e->raw; j++)
        for (int64_t f = e->first[j]; f < e->first[j + 1]; f++) {
            g += f == e->first[j] || isnan(e->level[f - 1]);
            for (int64_t c = curves->first[f]; c < curves->first[f + 1]; c++)
                group[c] = g;
        }
}

/* Bridge k into the parameters: curves on top of the form that is there, then products, where the
 * quadratic term is for them. */
static wm_status fit_bridge(wm_ratio *r, const wmi_ends *e, const wm_chain *chain, int64_t k,
                            const wmi_ratio_rows *rows, const double *straight,
                            const wm_ratio_opts *opts, wm_error *err)
{
    const int64_t m = r->info.bridges, d = r->encoder.dim, bases = r->net.bases;
    const int64_t n[2] = {waymark_rows(e, k, m), waymark_rows(e, k + 1, m)}, all = n[0] + n[1];
    const bool form = opts->model & (WM_RATIO_LINEAR | WM_RATIO_QUADRATIC);
    double *coef = r->theta + wmi_params_find(r->params, "additive/coef")->offset + k * d * bases;
    double *c = r->theta + wmi_params_find(r->params, "c")->offset + k;
    double *x = NULL, *features = NULL, *b = NULL, *so_far = NULL;
    int64_t *group = NULL;
    wmi_smooths curves = {0};
    wmi_penalised_fit fit;
    wm_status st;

    if ((st = wmi_alloc(&x, all * d, sizeof *x, "rows", err)) ||
        (st = wmi_alloc(&so_far, all, sizeof *so_far, "log-ratios", err)) ||
        (st = set_waymark(e, chain, k, m, d, x, err)) ||
        (st = set_waymark(e, chain, k + 1, m, d, x + n[0] * d, err)) ||
        (form && (st = score_bridge(r, k, all, x, so_far, err))) ||
        (st = wmi_smooths_new(&curves, all, d, x, straight, bases, r->knots, opts->control.stop,
                              err)) ||
        (st = wmi_alloc(&features, all * curves.count, sizeof *features, "curves", err)) ||
        (st = wmi_alloc(&b, curves.count, sizeof *b, "curves", err)) ||
        (st = wmi_alloc(&group, curves.count, sizeof *group, "curves", err)))
        goto done;
    wmi_smooths_apply(&curves, all, x, features);
    group_features(&r->encoder, &curves, group);
    if ((st = wmi_penalised_solve(&fit, b,
                                  &(wmi_penalised_data){.n = {n[0], n[1]},
                                                        .k = curves.count,
                                                        .x = features,
                                                        .penalty = curves.penalty,
                                                        .group = group,
                                                        .offset = so_far},
                                  opts->control.stop, err)))
        goto done;
    *c += wmi_smooths_sum(&curves, b, coef) - fit.c; /* log r = -(energy + c) */
    for (int64_t i = 0; i < d * bases; i++)
        coef[i] = -coef[i];
    r->info.numbers = fmax(r->info.numbers, fit.numbers);
    r->info.missed = fmax(r->info.missed, fit.missed);
    if (rows->products && opts->model & WM_RATIO_QUADRATIC &&
        !(st = score_bridge(r, k, all, x, so_far, err)))
        st = wmi_ratio_add_products(r, k, n, x, so_far, opts, err);
done:
    wmi_free(so_far);
    wmi_free(group);
    wmi_free(b);
    wmi_free(features);
    wmi_free(x);
    wmi_smooths_free(&curves);
    return st;
}

wm_status wmi_ratio_set_additive(wm_ratio *r, const wmi_ratio_rows *rows, const wm_ratio_opts *opts,
                                 wm_error *err)
{
    wmi_ends ends = {0};
    double *straight = NULL;
    wm_chain *chain = NULL;
    wm_status st;

    r->info.numbers = r->info.missed = 0;
    if ((opts->model & (WM_RATIO_LINEAR | WM_RATIO_QUADRATIC) && !rows->products &&
         (st = wmi_ratio_set_moments(r, rows, opts, err))) ||
        (st = wmi_ratio_ends(&ends, rows, opts->all_rows, err)) ||
        (st = wmi_alloc(&straight, rows->dim, sizeof *straight, "curves", err)) ||
        (st = wmi_ratio_chain(&chain, r, err)))
        goto done;
    choose_straight(rows, straight);
    for (int64_t k = 0; !st && k < r->info.bridges; k++)
        st = fit_bridge(r, &ends, chain, k, rows, straight, opts, err);
done:
    wm_chain_free(chain);
    wmi_free(straight);
    wmi_ends_free(&ends);
    return st;
}
