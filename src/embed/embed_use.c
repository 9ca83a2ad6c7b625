/* embed_use.c - what a fitted wm_embed gives: representations, log-ratios, mutual information. Rows
 * pass through a compiled program a block at a time. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/stop.h"
#include "base/sums.h"
#include "embed/embed_impl.h"
#include "engine/program.h"

enum { BLOCK = 64 }; /* rows at once: every bridge's images of them are in memory */

typedef enum pass_kind {
    PASS_EMBED,  /* g(u): (rows, features) */
    PASS_RATIOS, /* every bridge at every pair: (m, rows) */
    PASS_PAIRS   /* InfoNCE: all pairs, (rows, rows) */
} pass_kind;

/* A program for blocks of rows. Starts as {0}; to be closed. */
typedef struct pass {
    int64_t rows;
    wmi_graph *graph;
    wmi_program *program;
    wmi_node *result;
    float *u, *v; /* inputs; v NULL for PASS_EMBED */
} pass;

static void close_pass(pass *p)
{
    wmi_program_free(p->program);
    wmi_graph_free(p->graph);
}

static wm_status open_pass(pass *p, const wm_embed *e, pass_kind kind, int64_t rows, wm_error *err)
{
    wmi_node *u, *v = NULL, *own;
    void *at;
    wm_status st;

    p->rows = rows;
    if ((st = wmi_graph_new(&p->graph, WMI_F32, e->params, err)))
        return st;
    u = wmi_input(p->graph, "u", 2, (int64_t[]){rows, e->info.dim_u});
    if (kind != PASS_EMBED)
        v = wmi_input(p->graph, "v", 2, (int64_t[]){rows, e->info.dim_v});
    if (kind == PASS_EMBED)
        p->result = wmi_model_embed(p->graph, "", &e->net, u);
    else if (kind == PASS_PAIRS)
        p->result = wmi_model_pairs(p->graph, "", &e->net, u, v, &own);
    else
        p->result = wmi_model_build(p->graph, "", &e->net,
                                    &(wmi_model_inputs){.layout = WMI_ROWS_SHARED, .x = v, .u = u});
    if ((st = wmi_compile(&p->program, p->graph,
                          &(wmi_compile_opts){.outputs = &p->result, .n_outputs = 1}, err)))
        return st;
    wmi_program_bind(p->program, e->theta, NULL);
    if ((st = wmi_program_input(p->program, "u", &at, err)))
        return st;
    p->u = at;
    if (!v)
        return WM_OK;
    if ((st = wmi_program_input(p->program, "v", &at, err)))
        return st;
    p->v = at;
    return WM_OK;
}

/* n rows, at most those of a block, into the program, and through it. What a short block leaves
 * over are rows of the one before, or zeros: nobody reads what comes of them. */
static wm_status run_block(const pass *p, const wm_embed *e, int64_t n, const float *u,
                           const float *v, const float **result, wm_error *err)
{
    wm_status st;

    memcpy(p->u, u, (size_t)(n * e->info.dim_u) * sizeof *u);
    if (p->v && v)
        memcpy(p->v, v, (size_t)(n * e->info.dim_v) * sizeof *v);
    wmi_program_step(p->program, 0, 0, false);
    st = wmi_program_forward(p->program, err);
    *result = st ? NULL : wmi_program_value(p->program, p->result);
    return st;
}

static wm_status check_count(int64_t n, wm_error *err)
{
    return n < 1 ? wmi_fail(err, WM_EINVAL, "%" PRId64 " rows: at least 1 is needed", n) : WM_OK;
}

wm_status wm_embed_rows(const wm_embed *e, int64_t n, const float *u, float *g,
                        const volatile sig_atomic_t *stop, wm_error *err)
{
    const int64_t width = e->info.features;
    pass p = {0};
    wm_status st;

    if ((st = check_count(n, err)) || (st = open_pass(&p, e, PASS_EMBED, BLOCK, err)))
        goto done;
    for (int64_t at = 0; at < n; at += BLOCK) {
        const int64_t take = n - at < BLOCK ? n - at : BLOCK;
        const float *rows;

        if ((st = wmi_heed(stop, err)) ||
            (st = run_block(&p, e, take, u + at * e->info.dim_u, NULL, &rows, err)))
            goto done;
        memcpy(g + at * width, rows, (size_t)(take * width) * sizeof *g);
    }
done:
    close_pass(&p);
    return st;
}

static wm_status check_widths(const wm_embed *e, const wm_pair_rows *r, wm_error *err)
{
    if (r->dim_u != e->info.dim_u || r->dim_v != e->info.dim_v)
        return wmi_fail(err, WM_ESHAPE,
                        "pairs of %" PRId64 " and %" PRId64 " columns; the model was fitted to "
                        "%" PRId64 " and %" PRId64,
                        r->dim_u, r->dim_v, e->info.dim_u, e->info.dim_v);
    return check_count(r->n, err);
}

wm_status wm_embed_log_ratio(const wm_embed *e, const wm_pair_rows *r, double *log_r,
                             const volatile sig_atomic_t *stop, wm_error *err)
{
    pass p = {0};
    wm_status st;

    if ((st = check_widths(e, r, err)) || (st = open_pass(&p, e, PASS_RATIOS, BLOCK, err)))
        goto done;
    for (int64_t at = 0; at < r->n; at += BLOCK) {
        const int64_t take = r->n - at < BLOCK ? r->n - at : BLOCK;
        const float *scores;

        if ((st = wmi_heed(stop, err)) ||
            (st = run_block(&p, e, take, r->u + at * r->dim_u, r->v + at * r->dim_v, &scores, err)))
            goto done;
        for (int64_t k = 0; k < e->info.bridges; k++)
            for (int64_t i = 0; i < take; i++)
                log_r[k * r->n + at + i] = (double)scores[k * BLOCK + i];
    }
done:
    close_pass(&p);
    return st;
}

static wm_estimate mean_of(int64_t n, const double *x)
{
    const wmi_moments m = wmi_moments_f64(x, n);
    const double se = sqrt(m.var / (double)n), half = 1.959963984540054 * se;

    return (wm_estimate){.value = m.mean, .se = se, .lo = m.mean - half, .hi = m.mean + half};
}

/* log(K r_ii / sum_j r_ij) for each pair of whole groups of K; *used receives how many. */
static wm_status infonce_rows(const wm_embed *e, const wm_pair_rows *r, double *x, int64_t *used,
                              wmi_stop stop, wm_error *err)
{
    const int64_t k = e->info.batch_pairs;
    double *row = NULL;
    pass p = {0};
    wm_status st;

    *used = 0;
    if (r->n < k)
        return wmi_fail(err, WM_EINVAL,
                        "InfoNCE was fitted to groups of %" PRId64 " pairs: %" PRId64 " are less",
                        k, r->n);
    if ((st = wmi_alloc(&row, k, sizeof *row, "scores", err)) ||
        (st = open_pass(&p, e, PASS_PAIRS, k, err)))
        goto done;
    for (int64_t at = 0; at + k <= r->n; at += k) {
        const float *scores;

        if ((st = wmi_heed(stop, err)) ||
            (st = run_block(&p, e, k, r->u + at * r->dim_u, r->v + at * r->dim_v, &scores, err)))
            goto done;
        for (int64_t i = 0; i < k; i++) {
            for (int64_t j = 0; j < k; j++)
                row[j] = (double)scores[i * k + j];
            x[(*used)++] = log((double)k) + row[i] - wmi_log_sum_exp(row, k);
        }
    }
done:
    close_pass(&p);
    wmi_free(row);
    return st;
}

wm_status wm_embed_mi(const wm_embed *e, const wm_pair_rows *r, wm_estimate *mi,
                      wm_estimate *by_bridge, const volatile sig_atomic_t *stop, wm_error *err)
{
    const int64_t m = e->info.bridges;
    int64_t used = r->n;
    double *x = NULL; /* (m, n), then the sum over bridges in its first row */
    wm_status st;

    if ((st = check_widths(e, r, err)) || (st = wmi_alloc(&x, m * r->n, sizeof *x, "ratios", err)))
        return st;
    if (e->info.objective == WM_EMBED_INFONCE)
        st = infonce_rows(e, r, x, &used, stop, err);
    else
        st = wm_embed_log_ratio(e, r, x, stop, err);
    if (!st) {
        for (int64_t k = 0; by_bridge && k < m; k++)
            by_bridge[k] = mean_of(used, x + k * r->n);
        for (int64_t k = 1; k < m; k++)
            for (int64_t i = 0; i < used; i++)
                x[i] += x[k * r->n + i];
        *mi = mean_of(used, x);
    }
    wmi_free(x);
    return st;
}
