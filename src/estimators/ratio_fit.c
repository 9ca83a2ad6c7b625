/* ratio_fit.c - the two ways to fit the bridges of a wm_ratio: stochastic training, and moments
 * with convex refinement. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "base/speak.h"
#include "base/sums.h"
#include "estimators/calibrate.h"
#include "estimators/ratio_impl.h"
#include "train/convex.h"
#include "train/trainer.h"

enum { HELD_OUT = 10000 };            /* rows at most: plenty for one number a bridge */
static const double SATURATED = 0.02; /* logistic loss */

/* ---- held-out rows ---- */

/* Scores of the bridges at held-out rows of their own waymarks. */
typedef struct held_out {
    int64_t n;
    double *num, *den; /* (m, n): bridge k at waymark k, and at waymark k + 1 */
} held_out;

static void free_held_out(held_out *h)
{
    wmi_free(h->num);
    wmi_free(h->den);
}

static wm_status score_held_out(held_out *h, const wm_ratio *r, const wmi_ratio_rows *rows,
                                wm_error *err)
{
    const int64_t d = rows->dim, m = r->info.bridges;
    const int64_t n = rows->n_valid[0] < HELD_OUT ? rows->n_valid[0] : HELD_OUT;
    double *xm = NULL, *x = NULL, *s = NULL;
    wm_status st;

    *h = (held_out){.n = n};
    if ((st = wmi_alloc(&h->num, m * n, sizeof *h->num, "held-out scores", err)) ||
        (st = wmi_alloc(&h->den, m * n, sizeof *h->den, "held-out scores", err)) ||
        (st = wmi_alloc(&xm, n * d, sizeof *xm, "held-out rows", err)) ||
        (st = wmi_alloc(&x, n * d, sizeof *x, "held-out rows", err)) ||
        (st = wmi_alloc(&s, m * n, sizeof *s, "held-out scores", err)))
        goto done;
    wmi_ratio_rows_q(rows, true, 0, n, xm);
    for (int64_t j = 0; j <= m; j++) { /* waymark j: numerator of bridge j, denominator of j - 1 */
        wm_waymark_linear_f64(r->alphas.alpha[j], n * d, rows->valid[0], xm, x);
        if ((st = wmi_ratio_scores(r, n, x, s, err)))
            goto done;
        if (j < m)
            memcpy(h->num + j * n, s + j * n, (size_t)n * sizeof *s);
        if (j > 0)
            memcpy(h->den + (j - 1) * n, s + (j - 1) * n, (size_t)n * sizeof *s);
    }
done:
    wmi_free(s);
    wmi_free(x);
    wmi_free(xm);
    return st;
}

/* Loss, accuracy and mean log-ratio of every bridge from its held-out scores. */
static void evaluate_bridges(wm_ratio *r, const held_out *h)
{
    const int64_t m = r->info.bridges, n = h->n;

    r->info.held_out_loss = 0;
    for (int64_t k = 0; k < m; k++) {
        wm_ratio_bridge *b = &r->bridges[k];

        b->loss = b->accuracy = b->mean_log_ratio = 0;
        for (int64_t i = 0; i < n; i++) {
            const double num = h->num[k * n + i], den = h->den[k * n + i];

            b->loss += (wmi_log1pexp(-num) + wmi_log1pexp(den)) / (double)n;
            b->accuracy += 0.5 * ((num > 0) + (den < 0)) / (double)n;
            b->mean_log_ratio += num / (double)n;
        }
        r->info.held_out_loss += b->loss / (double)m;
    }
}

/* The constant of every bridge that is not saturated: there held-out rows cannot tell. */
static void calibrate_bridges(wm_ratio *r, held_out *h)
{
    double *c = r->theta + wmi_params_find(r->params, "c")->offset;

    for (int64_t k = 0; k < r->info.bridges; k++) {
        double *num = h->num + k * h->n, *den = h->den + k * h->n, offset;

        if (r->bridges[k].loss < SATURATED)
            continue;
        offset = wmi_calibrate(h->n, num, den);
        c[k] -= offset; /* log r = -(energy + c) */
        for (int64_t i = 0; i < h->n; i++) {
            num[i] += offset;
            den[i] += offset;
        }
    }
}

/* ---- Adam ---- */

/* The trainer's source: rows as float, gathered by the pairing of the step. */
typedef struct row_source {
    const wmi_ratio_rows *rows;
    float *train[2], *valid[2];
    int64_t *order[2]; /* (capacity) scratch for a step's row numbers */
} row_source;

static void gather(int64_t n, int64_t d, const float *from, const int64_t *order, float *to)
{
    for (int64_t i = 0; i < n; i++)
        memcpy(to + i * d, from + order[i] * d, (size_t)d * sizeof *to);
}

static void source_train(void *ctx, int64_t step, int64_t n, float *x0, float *xm)
{
    const row_source *s = ctx;
    const wmi_ratio_rows *rows = s->rows;
    const int64_t nm = rows->normal_q ? 1 : rows->n_train[1];

    wm_pairing_draw(rows->seed, step, rows->n_train[0], nm, n, s->order[0], s->order[1]);
    gather(n, rows->dim, s->train[0], s->order[0], x0);
    if (rows->normal_q) {
        const wmi_rng all = wmi_rng_make(rows->seed, "normal_q/step");
        const wmi_rng now = wmi_rng_sub(&all, (uint64_t)step);

        wmi_rng_normal_f32(&now, 0, n * rows->dim, xm);
    } else {
        gather(n, rows->dim, s->train[1], s->order[1], xm);
    }
}

static void source_valid(void *ctx, int64_t first, int64_t n, float *x0, float *xm)
{
    const row_source *s = ctx;
    const wmi_ratio_rows *rows = s->rows;
    const int64_t d = rows->dim;

    memcpy(x0, s->valid[0] + first * d, (size_t)(n * d) * sizeof *x0);
    if (rows->normal_q) {
        const wmi_rng rng = wmi_rng_make(rows->seed, "normal_q/valid");

        wmi_rng_normal_f32(&rng, (uint64_t)(first * d), n * d, xm);
        return;
    }
    for (int64_t i = 0; i < n; i++)
        memcpy(xm + i * d, s->valid[1] + (first + i) % rows->n_valid[1] * d,
               (size_t)d * sizeof *xm);
}

static void free_source(row_source *s)
{
    for (int t = 0; t < 2; t++) {
        wmi_free(s->train[t]);
        wmi_free(s->valid[t]);
        wmi_free(s->order[t]);
    }
}

static wm_status to_float(float **out, int64_t n, const double *x, wm_error *err)
{
    wm_status st = wmi_alloc(out, n, sizeof **out, "rows", err);

    for (int64_t i = 0; !st && i < n; i++)
        (*out)[i] = (float)x[i];
    return st;
}

static wm_status open_source(row_source *s, const wmi_ratio_rows *rows, int64_t capacity,
                             wm_error *err)
{
    wm_status st = WM_OK;

    s->rows = rows;
    for (int t = 0; t < 2; t++) {
        if ((st = wmi_alloc(&s->order[t], capacity, sizeof *s->order[t], "row numbers", err)))
            return st;
        if (t == 1 && rows->normal_q)
            continue;
        if ((st = to_float(&s->train[t], rows->n_train[t] * rows->dim, rows->train[t], err)) ||
            (st = to_float(&s->valid[t], rows->n_valid[t] * rows->dim, rows->valid[t], err)))
            return st;
    }
    return WM_OK;
}

typedef struct reporter {
    const wm_ratio_opts *opts;
    wm_ratio *r;
    double start;
} reporter;

static void take_evals(wm_ratio *r, const wmi_bridge_eval *e)
{
    for (int64_t k = 0; k < r->info.bridges; k++) {
        r->bridges[k].loss = e[k].loss;
        r->bridges[k].accuracy = e[k].accuracy;
        r->bridges[k].mean_log_ratio = e[k].mean_log_ratio;
    }
}

static void report_eval(void *ctx, const wmi_train_eval *e)
{
    const reporter *rep = ctx;

    take_evals(rep->r, e->bridges);
    rep->opts->on_eval(rep->opts->ctx,
                       &(wm_ratio_progress){.step = e->step,
                                            .train_loss = e->train_loss,
                                            .valid_loss = e->valid_loss,
                                            .kl = e->kl,
                                            .seconds = wmi_clock(rep->opts->sink) - rep->start,
                                            .n_bridges = rep->r->info.bridges,
                                            .bridges = rep->r->bridges});
}

static void report_resume(void *ctx, int64_t step)
{
    const reporter *rep = ctx;

    rep->opts->on_resume(rep->opts->ctx, step);
}

static wmi_train_opts train_opts(const wm_ratio_opts *o, reporter *rep)
{
    static const wmi_objective objectives[] = {
        [WM_OBJECTIVE_LOGISTIC] = WMI_LOGISTIC,
        [WM_OBJECTIVE_NWJ] = WMI_NWJ,
        [WM_OBJECTIVE_LSQ] = WMI_LSQ,
        [WM_OBJECTIVE_MULTINOMIAL] = WMI_MULTINOMIAL,
    };
    wmi_train_opts t;

    wmi_train_opts_init(&t);
    t.objective = objectives[o->objective];
    t.form = o->spread ? WMI_BATCH_SPREAD : WMI_BATCH_COUPLED;
    t.batch = o->batch;
    t.iterations = o->iterations;
    t.eval_every = o->eval_every;
    t.patience = o->patience;
    t.lr = o->lr;
    t.lr_constants = o->lr_constants;
    t.schedule = o->cosine ? WMI_LR_COSINE : WMI_LR_CONSTANT;
    t.average = o->average;
    t.saturated = o->stop_saturated ? t.saturated : 0;
    t.seed = o->seed;
    t.time_limit = o->time_limit;
    t.checkpoint = o->checkpoint;
    t.checkpoint_seconds = o->checkpoint_seconds;
    t.resume = o->resume;
    t.sink = o->sink;
    t.stop = o->stop;
    t.on_eval = o->on_eval ? report_eval : NULL;
    t.on_resume = o->on_resume ? report_resume : NULL;
    t.on_eval_ctx = rep;
    return t;
}

static void say_how_it_ended(const wm_ratio *r, const wmi_train_result *result,
                             const wm_ratio_opts *o)
{
    const int k = (int)result->saturated_bridge;

    if (result->stop == WMI_STOP_SATURATED)
        wmi_say(
            o->sink, WM_LOG_WARN,
            "bridge %d (alpha %.4g to %.4g) classifies perfectly, so it does not learn its ratio: "
            "use more bridges, or a spacing with a smaller gap there",
            k, r->bridges[k].alpha_from, r->bridges[k].alpha_to);
    else if (result->stop == WMI_STOP_TIME)
        wmi_say(o->sink, WM_LOG_WARN,
                "time is up after %lld of %lld steps: the best so far is kept",
                (long long)result->steps, (long long)o->iterations);
    else if (result->stop == WMI_STOP_ASKED)
        wmi_say(o->sink, WM_LOG_WARN, "stopped after %lld of %lld steps%s",
                (long long)result->steps, (long long)o->iterations,
                o->checkpoint ? ": --resume goes on from here" : "");
}

wm_status wmi_ratio_fit_adam(wm_ratio *r, const wmi_ratio_rows *rows, const wm_ratio_opts *opts,
                             wm_error *err)
{
    const int64_t m = r->info.bridges, count = wmi_params_count(r->params);
    reporter rep = {opts, r, wmi_clock(opts->sink)};
    const wmi_train_opts t = train_opts(opts, &rep);
    row_source own = {0};
    wmi_source source = {rows->dim,    rows->n_train[0], rows->n_valid[0],
                         source_train, source_valid,     &own};
    wm_chain *chain = NULL;
    float *theta = NULL;
    wmi_bridge_eval *last = NULL;
    wmi_train_result result;
    held_out held = {0};
    wm_status st;

    if ((st = wm_chain_new(&chain, m, &r->alphas, rows->dim, NULL, err)) ||
        (st = open_source(&own, rows, opts->batch * (opts->spread ? m : 1), err)) ||
        (st = wmi_alloc(&theta, count, sizeof *theta, "parameters", err)) ||
        (st = wmi_alloc(&last, m, sizeof *last, "evaluation", err)) ||
        (st = wmi_train(&r->net, r->params, chain, &source, &t, theta, last, &result, err)))
        goto done;
    for (int64_t i = 0; i < count; i++)
        r->theta[i] = (double)theta[i];
    take_evals(r, last);
    r->info.steps = result.steps;
    r->info.best_step = result.best_step;
    r->info.finished = result.stop == WMI_STOP_DONE || result.stop == WMI_STOP_PATIENCE;
    r->info.saturated_bridge = result.saturated_bridge;
    r->info.held_out_loss = result.best_loss;
    r->info.seconds = result.seconds;
    say_how_it_ended(r, &result, opts);
    if (opts->calibrate &&
        (opts->objective == WM_OBJECTIVE_LOGISTIC || opts->objective == WM_OBJECTIVE_MULTINOMIAL)) {
        if ((st = score_held_out(&held, r, rows, err)))
            goto done;
        calibrate_bridges(r, &held);
        evaluate_bridges(r, &held);
    }
done:
    free_held_out(&held);
    wmi_free(last);
    wmi_free(theta);
    free_source(&own);
    wm_chain_free(chain);
    return st;
}

/* ---- convex ---- */

/* Q, w and c into the parameters of the linear or the free quadratic model. */
static void store_bridge(wm_ratio *r, int64_t k, const wmi_convex_bridge *b)
{
    const int64_t d = r->info.dim;
    const bool quadratic = r->model == WM_RATIO_QUADRATIC;
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

static wm_status draw_q(double **out, const wmi_ratio_rows *rows, bool valid, int64_t n,
                        wm_error *err)
{
    wm_status st = wmi_alloc(out, n * rows->dim, sizeof **out, "rows of q", err);

    if (!st)
        wmi_ratio_rows_q(rows, valid, 0, n, *out);
    return st;
}

wm_status wmi_ratio_fit_convex(wm_ratio *r, const wmi_ratio_rows *rows, const wm_ratio_opts *opts,
                               wm_error *err)
{
    const int64_t d = rows->dim, m = r->info.bridges;
    const double start = wmi_clock(opts->sink);
    const wmi_convex_opts o = {opts->model == WM_RATIO_QUADRATIC, opts->refine, opts->seed,
                               opts->sink, opts->stop};
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
    };
    wmi_convex_bridge *bridges = NULL;
    double *q_train = NULL, *q_valid = NULL, *store = NULL;
    held_out held = {0};
    wm_status st;

    if (rows->normal_q && opts->refine) {
        if ((st = draw_q(&q_train, rows, false, data.nm_train, err)) ||
            (st = draw_q(&q_valid, rows, true, data.nm_valid, err)))
            goto done;
        data.xm_train = q_train;
        data.xm_valid = q_valid;
    }
    if ((st = wmi_alloc(&bridges, m, sizeof *bridges, "bridges", err)) ||
        (st = wmi_alloc(&store, m * (d * d + d), sizeof *store, "bridges", err)))
        goto done;
    for (int64_t k = 0; k < m; k++) {
        bridges[k].q = store + k * (d * d + d);
        bridges[k].w = bridges[k].q + d * d;
    }
    if ((st = wmi_convex_fit(&data, &r->alphas, &o, bridges, NULL, err)))
        goto done;
    for (int64_t k = 0; k < m; k++) {
        store_bridge(r, k, &bridges[k]);
        r->info.refined += isfinite(bridges[k].ridge);
    }
    r->info.convex = true;
    r->info.finished = true;
    r->info.seconds = wmi_clock(opts->sink) - start;
    if ((st = score_held_out(&held, r, rows, err)))
        goto done;
    evaluate_bridges(r, &held);
done:
    free_held_out(&held);
    wmi_free(store);
    wmi_free(bridges);
    wmi_free(q_valid);
    wmi_free(q_train);
    return st;
}
