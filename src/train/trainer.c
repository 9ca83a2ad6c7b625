/* trainer.c - the loop of stochastic training: batch, gradient, Adam; evaluate, keep the best,
 * checkpoint. */
#include "train/trainer.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/sums.h"
#include "engine/program.h"
#include "train/cell_mixer.h"
#include "train/train_loop.h"

void wmi_train_opts_init(wmi_train_opts *opts)
{
    *opts = (wmi_train_opts){
        .objective = WMI_LOGISTIC,
        .form = WMI_BATCH_COUPLED,
        .batch = 512,
        .iterations = 10000,
        .max_valid_batches = 500,
        .lr = 1e-4,
        .lr_constants = 10,
        .schedule = WMI_LR_COSINE,
        .saturated = 0.02,
        .seed = 1,
        .checkpoint_seconds = 30,
    };
}

enum { KL_ROWS = 256, KL_BATCHES = 8 }; /* held-out rows on which log r is watched */

/* The whole ratio at rows of p0, compiled apart: training sees every bridge at its own rows only.
 */
typedef struct whole_ratio {
    wmi_graph *graph;
    wmi_program *program;
    wmi_node *scores; /* (m, KL_ROWS) */
    float *x, *work;  /* the program's input; (2, KL_ROWS, dim) for the source */
    float *u;         /* the other input, or NULL */
} whole_ratio;

/* One training run: the compiled step and what it changes. */
typedef struct trainer {
    const wmi_train_opts *opts;
    const wmi_source *source;
    const wmi_params *params;
    const wm_chain *chain;
    bool apart;      /* bridges share no parameter, and the objective judges them one by one */
    int64_t m, rows; /* bridges; trajectories of a bridge in a step */
    wmi_train_rates rates;
    wmi_batcher *batcher;
    wmi_cell_mixer *mixer; /* or NULL: rows are waymarks */
    wmi_graph *graph;
    wmi_program *program;
    wmi_node *scores, *loss;
    float *x;   /* the program's input */
    float *u;   /* the other one, (rows, dim_u), where the source has a u; else NULL */
    float *mix; /* the third one, with a mixer; else NULL */
    float *grad;
    whole_ratio whole;
    wmi_train_state state;
    int64_t first_step;    /* of this process */
    wmi_bridge_eval *eval; /* (m) of the last evaluation */
    char *settings;
} trainer;

static bool is_multinomial(const trainer *t)
{
    return t->opts->objective == WMI_MULTINOMIAL;
}

static bool is_infonce(const trainer *t)
{
    return t->opts->objective == WMI_INFONCE;
}

/* ---- building ---- */

/* Rows of x in a step. */
static int64_t step_rows(const trainer *t)
{
    if (t->mixer)
        return 2 * t->rows;
    return t->rows * (is_infonce(t) ? 1 : is_multinomial(t) ? t->m + 1 : 2 * t->m);
}

/* The input for u, with so many rows; NULL where the source has none. */
static wmi_node *input_u(const trainer *t, wmi_graph *g, int64_t rows)
{
    const int64_t u[] = {rows, t->source->dim_u};

    return t->source->dim_u > 0 ? wmi_input(g, "u", 2, u) : NULL;
}

/* Grouped rows and a loss for each bridge; or, multinomial, every bridge at the rows of all
 * waymarks; or all pairs. */
static void build_graph(trainer *t, const wmi_model *model)
{
    wmi_graph *g = t->graph;
    const int64_t dim = t->source->dim;
    const int64_t x[] = {step_rows(t), dim};
    const int64_t label[] = {step_rows(t)};
    wmi_model_inputs in = {
        .layout = is_multinomial(t) ? WMI_ROWS_SHARED : WMI_ROWS_GROUPED,
        .x = wmi_input(g, "x", 2, x),
        .u = input_u(t, g, t->rows),
    };

    if (t->mixer) {
        const int64_t cells = wm_chain_blocks(t->chain);
        const int64_t mix[] = {t->m * (1 + t->opts->cell_negatives) * t->rows * cells};

        in.mix = wmi_input(g, "mix", 1, mix);
    }
    wmi_model_constants(g, model, &in);
    if (is_infonce(t)) {
        wmi_node *own;

        t->scores = wmi_model_pairs(g, "", model, in.u, in.x, &own);
        t->loss = wmi_infonce_loss(g, t->scores, own);
        return;
    }
    t->scores = wmi_model_build(g, "", model, &in);
    if (is_multinomial(t))
        t->loss = wmi_multinomial_loss(g, t->scores, wmi_input(g, "label", 1, label), NULL);
    else
        t->loss = wmi_loss_bridges(g, t->opts->objective, t->scores, NULL, t->rows, NULL);
}

/* Where the program wants its u; NULL where there is none. */
static wm_status find_u(const trainer *t, wmi_program *p, float **u, wm_error *err)
{
    void *at = NULL;
    const wm_status st = t->source->dim_u > 0 ? wmi_program_input(p, "u", &at, err) : WM_OK;

    *u = at;
    return st;
}

static wm_status open_whole_ratio(trainer *t, const wmi_model *model, const wmi_params *params,
                                  wm_error *err)
{
    const int64_t dim = t->source->dim, x[] = {KL_ROWS, dim};
    whole_ratio *w = &t->whole;
    wmi_model_inputs in = {.layout = WMI_ROWS_SHARED};
    void *at;
    wm_status st;

    if ((st = wmi_graph_new(&w->graph, WMI_F32, params, err)))
        return st;
    in.x = wmi_input(w->graph, "x", 2, x);
    in.u = input_u(t, w->graph, KL_ROWS);
    wmi_model_constants(w->graph, model, &in);
    w->scores = wmi_model_build(w->graph, "", model, &in);
    if ((st = wmi_compile(&w->program, w->graph,
                          &(wmi_compile_opts){.outputs = &w->scores, .n_outputs = 1}, err)) ||
        (st = wmi_alloc(&w->work, 2 * KL_ROWS * dim, sizeof *w->work, "rows", err)) ||
        (st = wmi_program_input(w->program, "x", &at, err)) ||
        (st = find_u(t, w->program, &w->u, err)))
        return st;
    w->x = at;
    wmi_program_bind(w->program, t->state.theta, NULL);
    return wmi_model_fill(w->program, model, t->opts->knots, t->opts->filter, err);
}

static wm_status fill_constant_inputs(trainer *t, const wmi_model *model, wm_error *err)
{
    wm_status st;
    void *at;

    if ((st = wmi_program_input(t->program, "x", &at, err)) ||
        (st = find_u(t, t->program, &t->u, err)))
        return st;
    t->x = at;
    if (t->mixer) {
        if ((st = wmi_program_input(t->program, "mix", &at, err)))
            return st;
        t->mix = at;
    }
    if ((st = wmi_model_fill(t->program, model, t->opts->knots, t->opts->filter, err)))
        return st;
    if (is_multinomial(t)) {
        if ((st = wmi_program_input(t->program, "label", &at, err)))
            return st;
        for (int64_t i = 0; i < (t->m + 1) * t->rows; i++)
            ((float *)at)[i] = (float)(i / t->rows);
    }
    return WM_OK;
}

/* The rows of a training step into the program. */
static wm_status draw_batch(trainer *t, int64_t step, wm_error *err)
{
    if (t->u)
        wmi_batcher_train_u(t->batcher, step, t->u);
    if (is_infonce(t))
        return wmi_batcher_train_starts(t->batcher, step, t->x, err);
    if (t->mixer) {
        wmi_batcher_train_ends(t->batcher, step, t->x);
        wmi_cell_mixer_fill(t->mixer, step, t->mix);
        return WM_OK;
    }
    return is_multinomial(t) ? wmi_batcher_train_waymarks(t->batcher, step, t->x, err)
                             : wmi_batcher_train(t->batcher, step, t->x, err);
}

/* The same of validation batch i. */
static wm_status draw_valid(trainer *t, int64_t i, wm_error *err)
{
    if (t->u)
        wmi_batcher_valid_u(t->batcher, i, t->u);
    if (is_infonce(t))
        return wmi_batcher_valid_starts(t->batcher, i, t->x, err);
    if (t->mixer) {
        wmi_batcher_valid_ends(t->batcher, i, t->x);
        wmi_cell_mixer_fill(t->mixer, -1 - i, t->mix);
        return WM_OK;
    }
    return is_multinomial(t) ? wmi_batcher_valid_waymarks(t->batcher, i, t->x, err)
                             : wmi_batcher_valid(t->batcher, i, t->x, err);
}

/* What the bits of a run depend on, as a text: options, parameter names, and the first batch, which
 * stands for data, waymarks and seed. */
static wm_status describe(trainer *t, const wmi_params *params, wm_error *err)
{
    const wmi_train_opts *o = t->opts;
    uint64_t h = wmi_hash_params(WMI_HASH_START, params);
    wm_status st = wmi_alloc(&t->settings, 512, 1, "settings", err);

    if (st)
        return st;
    if ((st = draw_batch(t, 0, err)))
        return st;
    h = wmi_hash(h, t->x, (size_t)(step_rows(t) * t->source->dim) * sizeof *t->x);
    if (t->u)
        h = wmi_hash(h, t->u, (size_t)(t->rows * t->source->dim_u) * sizeof *t->u);
    if (o->start)
        h = wmi_hash(h, o->start, (size_t)t->state.n * sizeof *o->start);
    if (o->frozen)
        h = wmi_hash(h, o->frozen, strlen(o->frozen));
    snprintf(t->settings, 512,
             "objective=%s form=%d batch=%" PRId64 " iterations=%" PRId64 " eval_every=%" PRId64
             " lr=%.17g constants=%.17g schedule=%d warmup=%" PRId64
             " average=%.17g saturated=%.17g "
             "patience=%" PRId64 " decay=%.17g clip=%.17g negatives=%" PRId64 " seed=%" PRIu64
             " hash=%016" PRIx64 "%s",
             wmi_objective_name(o->objective), (int)o->form, o->batch, o->iterations, o->eval_every,
             o->lr, o->lr_constants, (int)o->schedule, o->warmup, o->average, o->saturated,
             o->patience, o->weight_decay, o->clip, o->cell_negatives, o->seed, h,
             o->random_order ? " random_order" : "");
    return WM_OK;
}

static wm_status check_opts(const trainer *t, const wmi_model *model, wm_error *err)
{
    const wmi_train_opts *o = t->opts;

    if (t->source->dim_u > 0 && t->source->dim_u != model->dim_u)
        return wmi_fail(err, WM_ESHAPE,
                        "the source gives %" PRId64 " columns of u, the model has %" PRId64,
                        t->source->dim_u, model->dim_u);
    if (is_infonce(t) && (!t->source->dim_u || t->rows < 2))
        return wmi_fail(err, WM_EINVAL,
                        "InfoNCE tells pairs (u, x) of a batch apart: it needs a u apart, and a "
                        "batch of 4 or more");
    if (o->iterations < 1)
        return wmi_fail(err, WM_EINVAL, "%" PRId64 " iterations: at least 1 is needed",
                        o->iterations);
    if (!(o->lr > 0) || !(o->lr_constants > 0))
        return wmi_fail(err, WM_EINVAL, "learning rate %g (constants x %g) must be positive", o->lr,
                        o->lr_constants);
    if (!(o->weight_decay >= 0) || !(o->clip >= 0))
        return wmi_fail(err, WM_EINVAL, "weight decay %g and clip %g must not be negative",
                        o->weight_decay, o->clip);
    if (t->source->n_train < 1 || t->source->n_valid < 1)
        return wmi_fail(err, WM_EINVAL,
                        "%" PRId64 " rows to train and %" PRId64
                        " to validate: both need at least 1",
                        t->source->n_train, t->source->n_valid);
    return WM_OK;
}

static wm_status open_mixer(trainer *t, wm_error *err)
{
    const wmi_train_opts *o = t->opts;
    wm_status st;

    if (o->form != WMI_BATCH_COUPLED || t->source->map || is_infonce(t) || is_multinomial(t))
        return wmi_fail(err, WM_EINVAL,
                        "cells are mixed in coupled batches, with a loss for each bridge");
    if ((st = wmi_cell_mixer_new(&t->mixer, t->m, wm_chain_blocks(t->chain), t->rows,
                                 o->cell_negatives, err)) ||
        !o->random_order)
        return st;
    return wmi_cell_mixer_random_order(t->mixer, o->seed, err);
}

static wm_status open_trainer(trainer *t, const wmi_model *model, const wmi_params *params,
                              const wm_chain *chain, wm_error *err)
{
    wmi_train_state *s = &t->state;
    wm_status st;

    t->params = params;
    t->chain = chain;
    t->apart = t->opts->objective == WMI_LOGISTIC &&
               !(model->terms & (WMI_TERM_MLP | WMI_TERM_RESNET | WMI_TERM_SEPARABLE));
    t->rates = (wmi_train_rates){.constants = t->opts->lr_constants,
                                 .weight_decay = t->opts->weight_decay,
                                 .clip = t->opts->clip,
                                 .average = t->opts->average,
                                 .frozen = t->opts->frozen};
    if ((st = check_opts(t, model, err)) ||
        (st = wmi_train_state_open(s, params, t->m, &t->rates, err)) ||
        (st = wmi_batcher_new(&t->batcher, chain, t->source, t->rows, t->opts->form, err)) ||
        (t->opts->random_order &&
         (st = wmi_batcher_random_order(t->batcher, t->opts->seed, err))) ||
        (t->opts->cell_negatives > 0 && (st = open_mixer(t, err))) ||
        (st = wmi_graph_new(&t->graph, WMI_F32, params, err)))
        return st;
    build_graph(t, model);
    if ((st = wmi_compile(&t->program, t->graph,
                          &(wmi_compile_opts){.outputs = &t->scores,
                                              .n_outputs = 1,
                                              .loss = t->loss,
                                              .param_grads = true,
                                              .frozen = t->opts->frozen},
                          err)) ||
        (st = wmi_alloc(&t->grad, s->n, sizeof *t->grad, "gradient", err)) ||
        (st = wmi_alloc(&t->eval, t->m, sizeof *t->eval, "evaluation", err)))
        return st;
    if (t->opts->start)
        memcpy(s->theta, t->opts->start, (size_t)s->n * sizeof *s->theta);
    else
        wmi_params_init(params, t->opts->seed, WMI_F32, s->theta);
    wmi_program_bind(t->program, s->theta, t->grad);
    if ((st = fill_constant_inputs(t, model, err)) ||
        (!is_infonce(t) && (st = open_whole_ratio(t, model, params, err))))
        return st;
    return describe(t, params, err);
}

static void close_trainer(trainer *t)
{
    wmi_program_free(t->whole.program);
    wmi_graph_free(t->whole.graph);
    wmi_free(t->whole.work);
    wmi_program_free(t->program);
    wmi_graph_free(t->graph);
    wmi_batcher_free(t->batcher);
    wmi_cell_mixer_free(t->mixer);
    wmi_train_state_close(&t->state);
    wmi_free(t->grad);
    wmi_free(t->eval);
    wmi_free(t->settings);
}

/* ---- evaluation ---- */

/* InfoNCE: scores (rows, rows) of all pairs. */
static void add_pairs(trainer *t)
{
    const float *s = wmi_program_value(t->program, t->scores);
    const int64_t n = t->rows;

    t->eval->loss += (double)n * wmi_program_scalar(t->program, t->loss);
    for (int64_t i = 0; i < n; i++) {
        const float *row = s + i * n;
        int64_t above = 0, equal = 0; /* others that score more than the true one, or as much */

        for (int64_t j = 0; j < n; j++) {
            above += row[j] > row[i];
            equal += j != i && row[j] == row[i];
        }
        t->eval->accuracy += above ? 0 : 2 / (double)(1 + equal); /* of two a row, as below */
    }
    t->eval->mean_log_ratio +=
        (double)n * (log((double)n) - wmi_program_scalar(t->program, t->loss));
}

/* Scores of bridge k: where its numerator's and denominator's rows begin in the output (m, n). */
static void add_batch(trainer *t)
{
    const float *s = wmi_program_value(t->program, t->scores);
    const int64_t n = t->scores->shape.dim[1], negatives = t->mixer ? t->opts->cell_negatives : 1;

    for (int64_t k = 0; k < t->m; k++) {
        const float *num = s + k * n + (is_multinomial(t) ? k * t->rows : 0);
        const float *den = num + t->rows;
        double loss = 0, accuracy = 0; /* of the denominator */

        for (int64_t i = 0; i < t->rows; i++) {
            t->eval[k].loss += wmi_log1pexp(-(double)num[i]);
            t->eval[k].accuracy += (num[i] > 0) + 0.5 * (num[i] == 0);
            t->eval[k].mean_log_ratio += (double)num[i];
        }
        for (int64_t i = 0; i < negatives * t->rows; i++) {
            loss += wmi_log1pexp((double)den[i]);
            accuracy += (den[i] < 0) + 0.5 * (den[i] == 0);
        }
        t->eval[k].loss += loss / (double)negatives;
        t->eval[k].accuracy += accuracy / (double)negatives;
    }
}

/* The validation set through the current parameters; *loss is the objective. The logistic loss of
 * each bridge is reported whatever the objective, because its scale tells chance (1.386) from
 * saturation. */
static wm_status evaluate(trainer *t, double *loss, wm_error *err)
{
    int64_t batches = wmi_batcher_valid_batches(t->batcher);
    wm_status st;

    if (t->opts->max_valid_batches && batches > t->opts->max_valid_batches)
        batches = t->opts->max_valid_batches;
    memset(t->eval, 0, (size_t)t->m * sizeof *t->eval);
    *loss = 0;
    wmi_program_step(t->program, t->opts->seed, (uint64_t)t->state.step, false);
    for (int64_t i = 0; i < batches; i++) {
        if ((st = draw_valid(t, i, err)) || (st = wmi_program_forward(t->program, err)))
            return st;
        *loss += wmi_program_scalar(t->program, t->loss) / (double)batches;
        if (is_infonce(t))
            add_pairs(t);
        else
            add_batch(t);
    }
    for (int64_t k = 0; k < t->m; k++) {
        const double rows = (double)(batches * t->rows);

        t->eval[k].loss /= rows;
        t->eval[k].accuracy /= 2 * rows;
        t->eval[k].mean_log_ratio /= rows;
    }
    return WM_OK;
}

/* Mean of the whole log-ratio over held-out rows of p0. */
static wm_status estimate_kl(trainer *t, double *kl, wm_error *err)
{
    const int64_t n = t->source->n_valid;
    int64_t rows = 0;

    if (is_infonce(t)) { /* its scores have a free function of u in them */
        *kl = t->eval->mean_log_ratio;
        return WM_OK;
    }
    *kl = 0;
    for (int64_t first = 0; first < n && first < KL_ROWS * KL_BATCHES; first += KL_ROWS) {
        const int64_t count = n - first < KL_ROWS ? n - first : KL_ROWS;
        const float *s;
        wm_status st;

        if (t->whole.u)
            t->source->valid_u(t->source->ctx, first, count, t->whole.u);
        if ((st = wmi_source_valid_rows(t->source, first, count, t->whole.work, t->whole.x, err)) ||
            (st = wmi_program_forward(t->whole.program, err)))
            return st;
        s = wmi_program_value(t->whole.program, t->whole.scores);
        for (int64_t k = 0; k < t->m; k++)
            for (int64_t i = 0; i < count; i++)
                *kl += (double)s[k * KL_ROWS + i];
        rows += count;
    }
    *kl /= (double)rows;
    return WM_OK;
}

static void keep_eval(trainer *t, int64_t k)
{
    t->state.best_eval[3 * k] = t->eval[k].loss;
    t->state.best_eval[3 * k + 1] = t->eval[k].accuracy;
    t->state.best_eval[3 * k + 2] = t->eval[k].mean_log_ratio;
}

/* Bridges that share no parameter have their best moments apart: those between far waymarks overfit
 * while others still learn. Slice k of every entry, (m, ...), is bridge k's. Returns the mean of
 * the best losses. */
static double keep_best_bridges(trainer *t)
{
    wmi_train_state *s = &t->state;
    double mean = 0;

    for (int64_t k = 0; k < t->m; k++) {
        if (s->best_step == 0 || t->eval[k].loss < s->best_eval[3 * k]) {
            keep_eval(t, k);
            for (int64_t i = 0; i < wmi_params_entries(t->params); i++) {
                const wmi_param_entry *e = wmi_params_entry(t->params, i);
                const int64_t slice = e->count / t->m, at = e->offset + k * slice;

                memcpy(s->best + at, s->theta + at, (size_t)slice * sizeof *s->best);
            }
        }
        mean += s->best_eval[3 * k] / (double)t->m;
    }
    return mean;
}

static void keep_if_best(trainer *t, double loss)
{
    wmi_train_state *s = &t->state;

    s->stale++;
    if (t->apart)
        loss = keep_best_bridges(t);
    if (!(loss < s->best_loss)) /* also where loss is NaN */
        return;
    s->best_loss = loss;
    s->best_step = s->step;
    s->stale = 0;
    if (t->apart)
        return;
    memcpy(s->best, s->theta, (size_t)s->n * sizeof *s->best);
    for (int64_t k = 0; k < t->m; k++)
        keep_eval(t, k);
}

/* A bridge that classifies perfectly has stopped learning its ratio. Twice running, since one
 * evaluation is noisy. */
static void count_saturated(trainer *t)
{
    for (int64_t k = 0; k < t->m; k++)
        t->state.saturated[k] =
            t->eval[k].loss < t->opts->saturated ? t->state.saturated[k] + 1 : 0;
}

/* The first bridge that has been saturated for two evaluations, or -1. */
static int64_t saturated_bridge(const trainer *t)
{
    for (int64_t k = 0; k < t->m; k++)
        if (t->state.saturated[k] >= 2)
            return k;
    return -1;
}

static wm_status evaluate_and_keep(trainer *t, wm_error *err)
{
    wmi_train_state *s = &t->state;
    double loss = NAN, kl = NAN;
    wm_status st;

    if (s->average)
        wmi_average_swap_in_f32(s->average, s->theta);
    if (!(st = evaluate(t, &loss, err)) && !(st = estimate_kl(t, &kl, err))) {
        keep_if_best(t, loss);
        count_saturated(t);
    }
    if (s->average)
        wmi_average_swap_out_f32(s->average, s->theta);
    if (st)
        return st;
    if (t->opts->on_eval)
        t->opts->on_eval(t->opts->on_eval_ctx,
                         &(wmi_train_eval){.step = s->step,
                                           .train_loss = s->train_sum / (double)s->train_steps,
                                           .valid_loss = loss,
                                           .kl = kl,
                                           .bridges = t->eval});
    s->train_sum = 0;
    s->train_steps = 0;
    return WM_OK;
}

/* ---- the loop ---- */

static wm_status loop_draw(void *ctx, int64_t step, wm_error *err)
{
    return draw_batch(ctx, step, err);
}

static wm_status loop_evaluate(void *ctx, wm_error *err)
{
    return evaluate_and_keep(ctx, err);
}

static bool loop_ended(void *ctx)
{
    const trainer *t = ctx;

    return saturated_bridge(t) >= 0 ||
           (t->opts->patience > 0 && t->state.stale >= t->opts->patience);
}

static void loop_speak(void *ctx, double seconds, char *text, size_t size)
{
    const trainer *t = ctx;
    const int64_t samples = (t->state.step - t->first_step) * (t->m + 1) * t->rows;

    if (t->state.step < t->opts->iterations)
        snprintf(text, size, "loss %.4f, %.0f samples/s", wmi_program_scalar(t->program, t->loss),
                 (double)samples / fmax(seconds, 1e-9));
    else
        snprintf(text, size, "best validation loss %.4f", t->state.best_loss);
}

static void loop_resumed(void *ctx, int64_t step)
{
    const trainer *t = ctx;

    if (t->opts->on_resume)
        t->opts->on_resume(t->opts->on_eval_ctx, step);
}

static wmi_train_loop loop_of(trainer *t)
{
    const wmi_train_opts *o = t->opts;
    const int64_t per_step = t->rows * (o->form == WMI_BATCH_SPREAD ? t->m : 1);
    const int64_t epoch = t->source->n_train / per_step > 0 ? t->source->n_train / per_step : 1;

    return (wmi_train_loop){.state = &t->state,
                            .rates = &t->rates,
                            .program = t->program,
                            .loss = t->loss,
                            .grad = t->grad,
                            .schedule = {o->schedule, o->lr, o->iterations, o->warmup},
                            .seed = o->seed,
                            .iterations = o->iterations,
                            .eval_every = o->eval_every > 0 ? o->eval_every : epoch,
                            .time_limit = o->time_limit,
                            .checkpoint = o->checkpoint,
                            .settings = t->settings,
                            .checkpoint_seconds = o->checkpoint_seconds,
                            .resume = o->resume,
                            .sink = o->sink,
                            .stop = o->stop,
                            .ctx = t,
                            .draw = loop_draw,
                            .evaluate = loop_evaluate,
                            .ended = loop_ended,
                            .speak = loop_speak,
                            .resumed = loop_resumed};
}

/* Why the run ended, in the terms of trainer.h. */
static wmi_train_stop stop_of(const trainer *t, wmi_loop_end end)
{
    switch (end) {
    case WMI_LOOP_ENDED:
        return saturated_bridge(t) >= 0 ? WMI_STOP_SATURATED : WMI_STOP_PATIENCE;
    case WMI_LOOP_TIME:
        return WMI_STOP_TIME;
    case WMI_LOOP_ASKED:
        return WMI_STOP_ASKED;
    default:
        return WMI_STOP_DONE;
    }
}

/* Stopped before the first evaluation: there is a model all the same. */
static wm_status ensure_best(trainer *t, wm_error *err)
{
    if (t->state.best_step > 0 || t->state.step == 0)
        return t->state.step == 0 ? wmi_fail(err, WM_EINTERRUPTED, "stopped before the first step")
                                  : WM_OK;
    return evaluate_and_keep(t, err);
}

wm_status wmi_train(const wmi_model *model, const wmi_params *params, const wm_chain *chain,
                    const wmi_source *source, const wmi_train_opts *opts, float *theta,
                    wmi_bridge_eval *last, wmi_train_result *result, wm_error *err)
{
    const int64_t m = wm_chain_bridges(chain);
    trainer t = {.opts = opts, .source = source, .m = m, .rows = opts->batch / (m + 1)};
    wmi_train_loop loop;
    wmi_loop_end end;
    wm_status st;

    *result = (wmi_train_result){.saturated_bridge = -1};
    if ((st = open_trainer(&t, model, params, chain, err)))
        goto done;
    loop = loop_of(&t);
    if ((st = wmi_train_loop_resume(&loop, err)))
        goto done;
    t.first_step = t.state.step;
    if ((st = wmi_train_loop_run(&loop, &end, err)) || (st = ensure_best(&t, err)))
        goto done;
    result->stop = stop_of(&t, end);
    if (result->stop == WMI_STOP_SATURATED)
        result->saturated_bridge = saturated_bridge(&t);
    result->seconds = t.state.seconds;
    result->steps = t.state.step;
    result->best_step = t.state.best_step;
    result->best_loss = t.state.best_loss;
    memcpy(theta, t.state.best, (size_t)t.state.n * sizeof *theta);
    for (int64_t k = 0; k < m; k++)
        last[k] = (wmi_bridge_eval){t.state.best_eval[3 * k], t.state.best_eval[3 * k + 1],
                                    t.state.best_eval[3 * k + 2]};
done:
    close_trainer(&t);
    return st;
}
