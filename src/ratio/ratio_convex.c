/* ratio_convex.c - linear and quadratic bridges of a wm_ratio from moments, tested and refined: the
 * whole answer, or what a network starts from. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "engine/backend/linalg.h"
#include "moments/convex.h"
#include "moments/count_table.h"
#include "ratio/held_out.h"
#include "waymark/sink.h"

/* Q, w and c into the parameters of the linear or the free quadratic model. */
static void store_bridge(wm_ratio *r, int64_t k, const wmi_convex_bridge *b)
{
    const int64_t d = r->encoder.dim;
    const bool quadratic = r->model & WM_RATIO_QUADRATIC;
    double *w = r->theta +
                wmi_params_find(r->params, quadratic ? "quadratic/w" : "linear/w")->offset + k * d;

    r->theta[wmi_params_find(r->params, "c")->offset + k] = b->c;
    memcpy(w, b->w, (size_t)d * sizeof *w);
    if (!quadratic)
        return;
    double *a = r->theta + wmi_params_find(r->params, "quadratic/a")->offset + k * d * d;

    for (int64_t i = 0; i < d; i++)
        memcpy(a + i * d, b->q + i * d, (size_t)(i + 1) * sizeof *a); /* the lower triangle */
}

/* m bridges with their matrices and vectors, in one store. */
static wm_status new_bridges(wmi_convex_bridge **bridges, double **store, int64_t m, int64_t d,
                             wm_error *err)
{
    wm_status st;

    if ((st = wmi_alloc(bridges, m, sizeof **bridges, "bridges", err)) ||
        (st = wmi_alloc(store, m * (d * d + d), sizeof **store, "bridges", err)))
        return st;
    for (int64_t k = 0; k < m; k++) {
        (*bridges)[k].q = *store + k * (d * d + d);
        (*bridges)[k].w = (*bridges)[k].q + d * d;
    }
    return WM_OK;
}

wm_status wmi_ratio_set_ends(wm_ratio *r, const wmi_end_moments *m0, const wmi_end_moments *mm,
                             wm_error *err)
{
    const int64_t m = r->info.bridges;
    wmi_convex_bridge *bridges = NULL;
    double *store = NULL;
    wm_chain *chain = NULL;
    wm_status st;

    if (!(st = wmi_ratio_chain(&chain, r, err)) &&
        !(st = new_bridges(&bridges, &store, m, r->encoder.dim, err)) &&
        !(st = wmi_convex_of_ends(chain, m0, mm, bridges, err)))
        for (int64_t k = 0; k < m; k++)
            store_bridge(r, k, &bridges[k]);
    wm_chain_free(chain);
    wmi_free(store);
    wmi_free(bridges);
    return st;
}

static wm_status draw_q(double **out, const wmi_ratio_rows *rows, bool valid, int64_t n,
                        wm_error *err)
{
    wm_status st = wmi_alloc(out, n * rows->dim, sizeof **out, "rows of q", err);

    if (!st)
        wmi_ratio_rows_q(rows, valid, 0, n, *out);
    return st;
}

/* Pairs of levels: what a single bridge's form should be is known from their counts. */
static wm_status set_counts(wm_ratio *r, const wmi_ratio_rows *rows, bool all_rows, wm_error *err)
{
    const wmi_encoder *e = &r->encoder;
    const wmi_count_rows counted = {.n = {rows->n_train[0], all_rows ? rows->n_valid[0] : 0},
                                    .dim = rows->dim,
                                    .first = e->first[r->pairs],
                                    .x = {rows->train[0], rows->valid[0]},
                                    .shift = e->shift,
                                    .scale = e->scale,
                                    .level = e->level};
    wmi_convex_bridge *bridge = NULL;
    wmi_count_fit fit;
    double *store = NULL;
    wm_status st;

    if ((st = new_bridges(&bridge, &store, 1, rows->dim, err)) ||
        (st = wmi_count_table(bridge, &fit, &counted, err)))
        goto done;
    store_bridge(r, 0, bridge);
    r->info.numbers = fit.numbers;
    r->info.missed = fit.missed;
done:
    wmi_free(store);
    wmi_free(bridge);
    return st;
}

wm_status wmi_ratio_of_levels(const wm_ratio *r, const int64_t n[2], const double *const x[2],
                              double *out, wm_error *err)
{
    const int64_t d = r->encoder.dim, du = r->encoder.first[r->pairs], dv = d - du;
    const double *a = r->theta + wmi_params_find(r->params, "quadratic/a")->offset,
                 *w = r->theta + wmi_params_find(r->params, "quadratic/w")->offset,
                 c = r->theta[wmi_params_find(r->params, "c")->offset];
    double *ties = NULL, *by_v = NULL, *vt = NULL;
    wm_status st;

    if ((st = wmi_alloc(&ties, du * dv, sizeof *ties, "features", err)) ||
        (st = wmi_alloc(&by_v, n[0] * dv, sizeof *by_v, "features", err)) ||
        (st = wmi_alloc(&vt, dv * n[1], sizeof *vt, "features", err)))
        goto done;
    for (int64_t i = 0; i < du; i++)
        for (int64_t j = 0; j < dv; j++)
            ties[i * dv + j] = 2 * a[(du + j) * d + i];
    for (int64_t i = 0; i < n[1]; i++)
        for (int64_t j = 0; j < dv; j++)
            vt[j * n[1] + i] = x[1][i * dv + j];
    wmi_product(n[0], dv, du, 1, x[0], ties, 0, by_v);
    for (int64_t i = 0; i < n[0]; i++)
        for (int64_t j = 0; j < dv; j++)
            by_v[i * dv + j] += w[du + j];
    wmi_product(n[0], n[1], dv, -1, by_v, vt, 0, out);
    for (int64_t i = 0; i < n[0]; i++) {
        double own = c;

        for (int64_t j = 0; j < du; j++)
            own += w[j] * x[0][i * du + j];
        for (int64_t k = 0; k < n[1]; k++)
            out[i * n[1] + k] -= own;
    }
done:
    wmi_free(vt);
    wmi_free(by_v);
    wmi_free(ties);
    return st;
}

wm_status wmi_ratio_set_moments(wm_ratio *r, const wmi_ratio_rows *rows, const wm_ratio_opts *opts,
                                wm_error *err)
{
    const int64_t d = rows->dim, m = r->info.bridges;
    const wmi_convex_opts o = {.quadratic = (opts->model & WM_RATIO_QUADRATIC) != 0,
                               .refine = opts->refine,
                               .all_rows = opts->all_rows,
                               .seed = opts->control.seed,
                               .sink = opts->control.sink,
                               .stop = opts->control.stop};
    const int64_t drawn = rows->n_train[0] < 32768 ? rows->n_train[0] : 32768; /* of N(0, I) */
    wmi_convex_data data = {
        .dim = d,
        .n0_train = rows->n_train[0],
        .n0_valid = rows->n_valid[0],
        .nm_train = rows->normal_q ? drawn : rows->n_train[1],
        .nm_valid = rows->normal_q ? rows->n_valid[0] : rows->n_valid[1],
        .x0_train = rows->train[0],
        .x0_valid = rows->valid[0],
        .xm_train = rows->train[1],
        .xm_valid = rows->valid[1],
        .xm_standard = rows->normal_q,
        .pairs = rows->pairs,
    };
    wmi_convex_bridge *bridges = NULL;
    double *q_train = NULL, *q_valid = NULL, *store = NULL;
    wm_chain *chain = NULL;
    wm_status st;

    if (rows->levels && o.quadratic && m == 1)
        return set_counts(r, rows, opts->all_rows, err);
    if (rows->normal_q && opts->refine) {
        if ((st = draw_q(&q_train, rows, false, data.nm_train, err)) ||
            (st = draw_q(&q_valid, rows, true, data.nm_valid, err)))
            goto done;
        data.xm_train = q_train;
        data.xm_valid = q_valid;
    }
    if ((st = wmi_ratio_chain(&chain, r, err)) || (st = new_bridges(&bridges, &store, m, d, err)))
        goto done;
    if ((st = wmi_convex_fit(&data, chain, &o, bridges, NULL, err)))
        goto done;
    for (int64_t k = 0; k < m; k++) {
        store_bridge(r, k, &bridges[k]);
        r->info.refined += isfinite(bridges[k].ridge);
    }
done:
    wm_chain_free(chain);
    wmi_free(store);
    wmi_free(bridges);
    wmi_free(q_valid);
    wmi_free(q_train);
    return st;
}

wm_status wmi_ratio_fit_convex(wm_ratio *r, const wmi_ratio_rows *rows, const wm_ratio_opts *opts,
                               wm_error *err)
{
    const double start = wm_clock(opts->control.sink);
    wmi_held_out held = {0};
    wm_status st;

    if ((st = opts->model & WM_RATIO_ADDITIVE ? wmi_ratio_set_additive(r, rows, opts, err)
                                              : wmi_ratio_set_moments(r, rows, opts, err)))
        return st;
    r->info.convex = true;
    r->info.finished = true;
    r->info.seconds = wm_clock(opts->control.sink) - start;
    if (!(st = wmi_held_out_score(&held, r, rows, err)))
        wmi_held_out_evaluate(r, &held);
    wmi_held_out_free(&held);
    return st;
}
