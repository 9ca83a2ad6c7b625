/* ratio_adam.c - the bridges of a wm_ratio by stochastic training. */
#include <string.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "engine/backend/linalg.h"
#include "ratio/held_out.h"
#include "train/trainer.h"
#include "waymark/sink.h"

/* The trainer's source: rows as float, gathered by the pairing of the step. */
typedef struct row_source {
    const wmi_ratio_rows *rows;
    float *train[2], *valid[2];
    int64_t *order[2]; /* (capacity) scratch for a step's row numbers */
    float *mix;        /* (dim, dim) of waymarks to what the network reads, or NULL */
} row_source;

static void gather(int64_t n, int64_t d, const float *from, const int64_t *order, float *to)
{
    for (int64_t i = 0; i < n; i++)
        memcpy(to + i * d, from + order[i] * d, (size_t)d * sizeof *to);
}

static wm_status source_train(void *ctx, int64_t step, int64_t n, float *x0, float *xm,
                              wm_error *err)
{
    const row_source *s = ctx;
    const wmi_ratio_rows *rows = s->rows;
    const int64_t nm = rows->normal_q ? 1 : rows->n_train[1];

    (void)err;
    wm_pairing_draw(rows->seed, step, rows->n_train[0], nm, n, s->order[0], s->order[1]);
    gather(n, rows->dim, s->train[0], s->order[0], x0);
    if (rows->normal_q) {
        const wmi_rng all = wmi_rng_make(rows->seed, "normal_q/step");
        const wmi_rng now = wmi_rng_sub(&all, (uint64_t)step);

        wmi_rng_normal_f32(&now, 0, n * rows->dim, xm);
    } else {
        gather(n, rows->dim, s->train[1], s->order[1], xm);
    }
    return WM_OK;
}

static wm_status source_valid(void *ctx, int64_t first, int64_t n, float *x0, float *xm,
                              wm_error *err)
{
    const row_source *s = ctx;
    const wmi_ratio_rows *rows = s->rows;
    const int64_t d = rows->dim;

    (void)err;
    memcpy(x0, s->valid[0] + first * d, (size_t)(n * d) * sizeof *x0);
    if (rows->normal_q) {
        const wmi_rng rng = wmi_rng_make(rows->seed, "normal_q/valid");

        wmi_rng_normal_f32(&rng, (uint64_t)(first * d), n * d, xm);
        return WM_OK;
    }
    const int64_t ahead = rows->pairs ? rows->n_valid[1] / 2 : 0; /* no row meets itself */

    for (int64_t i = 0; i < n; i++)
        memcpy(xm + i * d, s->valid[1] + (first + i + ahead) % rows->n_valid[1] * d,
               (size_t)d * sizeof *xm);
    return WM_OK;
}

/* x (n, d) = z mix: the source's map. */
static wm_status mix_rows(void *ctx, int64_t n, int64_t d, float *z, float *x, wm_error *err)
{
    const float *mix = ((const row_source *)ctx)->mix;

    (void)err;
    memset(x, 0, (size_t)(n * d) * sizeof *x);
#pragma omp parallel for schedule(static) if (n * d * d > 1000000)
    for (int64_t i = 0; i < n; i++)
        for (int64_t l = 0; l < d; l++) {
            const float a = z[i * d + l];

            for (int64_t j = 0; j < d; j++)
                x[i * d + j] += a * mix[l * d + j];
        }
    return WM_OK;
}

static void free_source(row_source *s)
{
    wmi_free(s->mix);
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
                             const double *mix, wm_error *err)
{
    wm_status st = WM_OK;

    s->rows = rows;
    if (mix && (st = to_float(&s->mix, rows->dim * rows->dim, mix, err)))
        return st;
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

static wmi_train_opts train_opts(const wm_ratio_opts *o)
{
    static const wmi_objective objectives[] = {
        [WM_OBJECTIVE_LOGISTIC] = WMI_LOGISTIC,
        [WM_OBJECTIVE_NWJ] = WMI_NWJ,
        [WM_OBJECTIVE_LSQ] = WMI_LSQ,
        [WM_OBJECTIVE_MULTINOMIAL] = WMI_MULTINOMIAL,
    };
    wmi_train_opts t;

    wmi_train_opts_init(&t);
    t.adam = o->adam;
    t.control = o->control;
    t.objective = objectives[o->objective];
    t.form = o->spread ? WMI_BATCH_SPREAD : WMI_BATCH_COUPLED;
    t.saturated = o->stop_saturated ? t.saturated : 0;
    return t;
}

static void say_how_it_ended(const wm_ratio *r, const wmi_train_result *result,
                             const wm_ratio_opts *o)
{
    const int k = (int)result->saturated_bridge;

    if (result->stop == WMI_STOP_SATURATED)
        wm_say(
            o->control.sink, WM_LOG_WARN,
            "bridge %d (alpha %.4g to %.4g) classifies perfectly, so it does not learn its ratio: "
            "use more bridges, or a spacing with a smaller gap there",
            k, r->bridges[k].alpha_from, r->bridges[k].alpha_to);
    else if (result->stop == WMI_STOP_TIME)
        wm_say(o->control.sink, WM_LOG_WARN,
               "time is up after %lld of %lld steps: the best so far is kept",
               (long long)result->steps, (long long)o->adam.iterations);
    else if (result->stop == WMI_STOP_ASKED)
        wm_say(o->control.sink, WM_LOG_WARN, "stopped after %lld of %lld steps%s",
               (long long)result->steps, (long long)o->adam.iterations,
               o->control.checkpoint ? ": its checkpoint is kept" : "");
}

/* What is fitted before the rest is trained, and stays: a form by its moments, or the curves of a
 * table that is not too wide for them. Other terms start at zero (the separable one near it). */
static const char *frozen_terms(const wm_ratio *r)
{
    if (r->model & WM_RATIO_TRAINED && r->model & (WM_RATIO_LINEAR | WM_RATIO_QUADRATIC))
        return r->model & WM_RATIO_QUADRATIC ? "quadratic/" : "linear/";
    if (r->model & WM_RATIO_ADDITIVE && r->model & (WM_RATIO_MLP | WM_RATIO_SEPARABLE) &&
        !r->pairs && wmi_ratio_can_curve(&r->encoder))
        return "additive/";
    return NULL;
}

/* The form's Q and w, in x, for rows z = x mix: x = z unmix, so Q becomes unmix Q unmix' and w
 * becomes unmix w. Q has its lower triangle only. */
static wm_status mix_form(wm_ratio *r, const double *unmix, wm_error *err)
{
    const int64_t d = r->encoder.dim;
    const bool quadratic = r->model & WM_RATIO_QUADRATIC;
    double *w =
        r->theta + wmi_params_find(r->params, quadratic ? "quadratic/w" : "linear/w")->offset;
    double *a = quadratic ? r->theta + wmi_params_find(r->params, "quadratic/a")->offset : NULL;
    double *q = NULL, *half;
    wm_status st;

    if ((st = wmi_alloc(&q, 2 * d * d, sizeof *q, "form", err)))
        return st;
    half = q + d * d;
    for (int64_t k = 0; k < r->info.bridges; k++, w += d) {
        memcpy(q, w, (size_t)d * sizeof *q);
        wmi_product(d, 1, d, 1, unmix, q, 0, w);
        if (!a)
            continue;
        for (int64_t i = 0; i < d; i++)
            for (int64_t j = 0; j <= i; j++)
                q[i * d + j] = q[j * d + i] = a[i * d + j];
        wmi_product(d, d, d, 1, unmix, q, 0, half); /* and then its transpose, as Q is symmetric */
        for (int64_t i = 0; i < d; i++)
            for (int64_t j = 0; j < d; j++)
                q[j * d + i] = half[i * d + j];
        wmi_product(d, d, d, 1, unmix, q, 0, half);
        for (int64_t i = 0; i < d; i++)
            memcpy(a + i * d, half + i * d, (size_t)(i + 1) * sizeof *a);
        a += d * d;
    }
    wmi_free(q);
    return WM_OK;
}

static wm_status start_from_form(wm_ratio *r, const wmi_ratio_rows *rows, const wm_ratio_opts *opts,
                                 float *start, wm_error *err)
{
    const wmi_param_entry *head = wmi_params_find(r->params, "mlp/head/w");
    wm_ratio_opts quiet = *opts;
    wm_status st;

    quiet.control.sink = NULL;
    quiet.all_rows = false; /* held-out rows tell when the network is done */
    quiet.model &= WM_RATIO_LINEAR | WM_RATIO_QUADRATIC;
    if (!quiet.model)
        quiet.model = WM_RATIO_ADDITIVE;
    if ((st = quiet.model == WM_RATIO_ADDITIVE ? wmi_ratio_set_additive(r, rows, &quiet, err)
                                               : wmi_ratio_set_moments(r, rows, &quiet, err)) ||
        (r->mix && (st = mix_form(r, rows->unmix, err))))
        return st;
    wmi_params_init(r->params, opts->control.seed, WMI_F32, start);
    for (int64_t i = 0; i < wmi_params_entries(r->params); i++) {
        const wmi_param_entry *e = wmi_params_entry(r->params, i);
        const bool of_form =
            wmi_param_is_under(e->name, frozen_terms(r)) || strcmp(e->name, "c") == 0;

        for (int64_t j = 0; j < wmi_shape_count(&e->shape) && (of_form || e == head); j++)
            start[e->offset + j] = of_form ? (float)r->theta[e->offset + j] : 0;
    }
    return WM_OK;
}

/* What was trained; frozen terms keep the digits that a float has not. */
static void take_theta(wm_ratio *r, const float *theta)
{
    const char *frozen = frozen_terms(r);

    for (int64_t i = 0; i < wmi_params_entries(r->params); i++) {
        const wmi_param_entry *e = wmi_params_entry(r->params, i);

        if (frozen && wmi_param_is_under(e->name, frozen))
            continue;
        for (int64_t j = 0; j < wmi_shape_count(&e->shape); j++)
            r->theta[e->offset + j] = (double)theta[e->offset + j];
    }
}

static void take_result(wm_ratio *r, const wmi_train_result *result)
{
    r->info.steps = result->steps;
    r->info.best_step = result->best_step;
    r->info.finished = result->stop == WMI_STOP_DONE || result->stop == WMI_STOP_PATIENCE;
    r->info.saturated_bridge = result->saturated_bridge;
    r->info.held_out_loss = result->best_loss;
    r->info.seconds = result->seconds;
}

wm_status wmi_ratio_fit_adam(wm_ratio *r, const wmi_ratio_rows *rows, const wm_ratio_opts *opts,
                             wm_error *err)
{
    const int64_t m = r->info.bridges, count = wmi_params_count(r->params);
    const bool calibrates =
        opts->objective == WM_OBJECTIVE_LOGISTIC || opts->objective == WM_OBJECTIVE_MULTINOMIAL;
    wmi_train_opts t = train_opts(opts);
    row_source own = {0};
    wmi_source source = {.dim = rows->dim,
                         .n_train = rows->n_train[0],
                         .n_valid = rows->n_valid[0],
                         .train = source_train,
                         .valid = source_valid,
                         .map = r->mix ? mix_rows : NULL,
                         .ctx = &own};
    wm_chain *chain = NULL;
    float *theta = NULL, *start = NULL;
    wmi_train_result result;
    wmi_held_out held = {0};
    wm_status st;

    if ((st = wmi_ratio_chain(&chain, r, err)) ||
        (st = open_source(&own, rows, opts->adam.batch * (opts->spread ? m : 1), r->mix, err)) ||
        (st = wmi_alloc(&theta, count, sizeof *theta, "parameters", err)) ||
        (st = wmi_alloc(&start, count, sizeof *start, "parameters", err)) ||
        (frozen_terms(r) && (st = start_from_form(r, rows, opts, start, err))))
        goto done;
    t.start = frozen_terms(r) ? start : NULL;
    t.tune.frozen = frozen_terms(r);
    t.knots = r->knots;
    if ((st = wmi_train(&r->net, r->params, chain, &source, &t, theta, r->bridges, &result, err)))
        goto done;
    take_theta(r, theta);
    take_result(r, &result);
    say_how_it_ended(r, &result, opts);
    if (opts->calibrate && calibrates) {
        if ((st = wmi_held_out_score(&held, r, rows, err)))
            goto done;
        wmi_held_out_calibrate(r, &held);
        wmi_held_out_evaluate(r, &held);
    }
done:
    wmi_held_out_free(&held);
    wmi_free(start);
    wmi_free(theta);
    free_source(&own);
    wm_chain_free(chain);
    return st;
}
