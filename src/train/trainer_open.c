/* trainer_open.c - what wmi_train() trains: the compiled step of a model and a source, the batches
 * it gets, the text that a checkpoint must agree with. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "optim/lr_schedule.h"
#include "train/trainer_impl.h"

/* ---- the graphs ---- */

/* Rows of x in a step. */
static int64_t step_rows(const wmi_trainer *t)
{
    if (t->mixer)
        return 2 * t->rows;
    if (t->denoiser)
        return wmi_denoise_rows(wmi_denoiser_shape(t->denoiser));
    return t->rows * (wmi_is_infonce(t) ? 1 : wmi_is_multinomial(t) ? t->m + 1 : 2 * t->m);
}

/* The input for u, with so many rows; NULL where the source has none. */
static wmi_node *input_u(const wmi_trainer *t, wmi_graph *g, int64_t rows)
{
    const int64_t u[] = {rows, t->source->dim_u};

    return t->source->dim_u > 0 ? wmi_input(g, "u", 2, u) : NULL;
}

/* Grouped rows and a loss for each bridge; or, multinomial, every bridge at the rows of all
 * waymarks; or all pairs; or the levels' gradients. */
static void build_graph(wmi_trainer *t, const wmi_model *model)
{
    wmi_graph *g = t->graph;

    if (t->denoiser) {
        wmi_model_inputs constants = {0};

        wmi_model_constants(g, model, &constants);
        t->loss = wmi_denoise_build(g, model, constants, wmi_denoiser_shape(t->denoiser),
                                    t->opts.classify / (double)t->source->dim, &t->scores);
        return;
    }
    const int64_t dim = t->source->dim;
    const int64_t x[] = {step_rows(t), dim};
    const int64_t label[] = {step_rows(t)};
    wmi_model_inputs in = {
        .layout = wmi_is_multinomial(t) ? WMI_ROWS_SHARED : WMI_ROWS_GROUPED,
        .x = wmi_input(g, "x", 2, x),
        .u = input_u(t, g, t->rows),
    };

    if (t->mixer) {
        const int64_t cells = wm_chain_blocks(t->chain);
        const int64_t mix[] = {t->m * (1 + t->opts.cell_negatives) * t->rows * cells};

        in.mix = wmi_input(g, "mix", 1, mix);
    }
    wmi_model_constants(g, model, &in);
    if (wmi_is_infonce(t)) {
        wmi_node *own;

        t->scores = wmi_model_pairs(g, "", model, in.u, in.x, &own);
        t->loss = wmi_infonce_loss(g, t->scores, own);
        return;
    }
    t->scores = wmi_model_build(g, "", model, &in);
    if (wmi_is_multinomial(t))
        t->loss = wmi_multinomial_loss(g, t->scores, wmi_input(g, "label", 1, label), NULL);
    else
        t->loss = wmi_loss_bridges(g, t->opts.objective, t->scores, NULL, t->rows, NULL);
}

/* Where the program wants its u; NULL where there is none. */
static wm_status find_u(const wmi_trainer *t, wmi_program *p, float **u, wm_error *err)
{
    void *at = NULL;
    const wm_status st = t->source->dim_u > 0 ? wmi_program_input(p, "u", &at, err) : WM_OK;

    *u = at;
    return st;
}

static wm_status open_whole_ratio(wmi_trainer *t, const wmi_model *model, const wmi_params *params,
                                  wm_error *err)
{
    const int64_t dim = t->source->dim, x[] = {WMI_KL_ROWS, dim};
    wmi_whole_ratio *w = &t->whole;
    wmi_model_inputs in = {.layout = WMI_ROWS_SHARED};
    void *at;
    wm_status st;

    if ((st = wmi_graph_new(&w->graph, WMI_F32, params, err)))
        return st;
    in.x = wmi_input(w->graph, "x", 2, x);
    in.u = input_u(t, w->graph, WMI_KL_ROWS);
    wmi_model_constants(w->graph, model, &in);
    w->parts = wmi_model_parts(w->graph, "", model, &in);
    if ((st = wmi_compile(&w->program, w->graph,
                          &(wmi_compile_opts){.outputs = &w->parts, .n_outputs = 1}, err)) ||
        (st = wmi_alloc(&w->work, 2 * WMI_KL_ROWS * dim, sizeof *w->work, "rows", err)) ||
        (st = wmi_program_input(w->program, "x", &at, err)) ||
        (st = find_u(t, w->program, &w->u, err)))
        return st;
    w->x = at;
    wmi_program_bind(w->program, t->state.theta, NULL);
    return wmi_model_fill(w->program, model, t->opts.knots, t->opts.filter, err);
}

/* What stays in a program of the denoising objective, and where the rest goes. */
static wm_status fill_denoising(const wmi_trainer *t, const wmi_model *model, wmi_program *p,
                                wmi_denoise_inputs *in, wm_error *err)
{
    static const char *const names[] = {"x", "slope", "rest", "pull"};
    float **const to[] = {&in->x, &in->slope, &in->rest, &in->pull};
    const int count = p == t->late.program ? 4 : 3;
    void *at;
    wm_status st;

    for (int i = 0; i < count; i++) {
        if ((st = wmi_program_input(p, names[i], &at, err)))
            return st;
        *to[i] = at;
    }
    if ((st = wmi_program_input(p, "label", &at, err)))
        return st;
    for (int64_t i = 0; i < (t->m + 1) * t->rows; i++)
        ((float *)at)[i] = (float)(i / t->rows);
    return wmi_model_fill(p, model, t->opts.knots, t->opts.filter, err);
}

static wm_status fill_constant_inputs(wmi_trainer *t, const wmi_model *model, wm_error *err)
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
    if (t->denoiser)
        return fill_denoising(t, model, t->program, &t->denoised, err);
    if ((st = wmi_model_fill(t->program, model, t->opts.knots, t->opts.filter, err)))
        return st;
    if (wmi_is_multinomial(t)) {
        if ((st = wmi_program_input(t->program, "label", &at, err)))
            return st;
        for (int64_t i = 0; i < (t->m + 1) * t->rows; i++)
            ((float *)at)[i] = (float)(i / t->rows);
    }
    return WM_OK;
}

/* ---- batches ---- */

wm_status wmi_trainer_draw(wmi_trainer *t, int64_t step, wm_error *err)
{
    wm_status st;

    if (t->denoiser)
        return wmi_denoiser_train(t->denoiser, step, &t->denoised, err);
    if (t->u && (st = wmi_batcher_train_u(t->batcher, step, t->u, err)))
        return st;
    if (wmi_is_infonce(t))
        return wmi_batcher_train_starts(t->batcher, step, t->x, err);
    if (t->mixer) {
        wmi_cell_mixer_fill(t->mixer, step, t->mix);
        return wmi_batcher_train_ends(t->batcher, step, t->x, err);
    }
    return wmi_is_multinomial(t) ? wmi_batcher_train_waymarks(t->batcher, step, t->x, err)
                                 : wmi_batcher_train(t->batcher, step, t->x, err);
}

int64_t wmi_trainer_valid_batches(const wmi_trainer *t)
{
    return t->denoiser ? wmi_denoiser_valid_batches(t->denoiser)
                       : wmi_batcher_valid_batches(t->batcher);
}

wm_status wmi_trainer_draw_valid(wmi_trainer *t, int64_t i, wm_error *err)
{
    wm_status st;

    if (t->denoiser)
        return wmi_denoiser_valid(t->denoiser, i, &t->denoised, err);
    if (t->u && (st = wmi_batcher_valid_u(t->batcher, i, t->u, err)))
        return st;
    if (wmi_is_infonce(t))
        return wmi_batcher_valid_starts(t->batcher, i, t->x, err);
    if (t->mixer) {
        wmi_cell_mixer_fill(t->mixer, -1 - i, t->mix);
        return wmi_batcher_valid_ends(t->batcher, i, t->x, err);
    }
    return wmi_is_multinomial(t) ? wmi_batcher_valid_waymarks(t->batcher, i, t->x, err)
                                 : wmi_batcher_valid(t->batcher, i, t->x, err);
}

/* ---- opening ---- */

/* What the bits of a run depend on, as a text: options, parameter names, and the first batch, which
 * stands for data, waymarks and seed. */
static wm_status describe(wmi_trainer *t, const wmi_params *params, wm_error *err)
{
    const wmi_train_opts *o = &t->opts;
    uint64_t h = wmi_hash_params(WMI_HASH_START, params);
    wm_status st = wmi_alloc(&t->settings, 512, 1, "settings", err);

    if (st)
        return st;
    if ((st = wmi_trainer_draw(t, 0, err)))
        return st;
    h = wmi_hash(h, t->x, (size_t)(step_rows(t) * t->source->dim) * sizeof *t->x);
    if (t->u)
        h = wmi_hash(h, t->u, (size_t)(t->rows * t->source->dim_u) * sizeof *t->u);
    if (o->start)
        h = wmi_hash(h, o->start, (size_t)t->state.n * sizeof *o->start);
    if (t->denoiser)
        h = wmi_hash(h, &o->classify, sizeof o->classify);
    if (o->own.mover) {
        const double own[] = {(double)o->own.rows, o->own.weight, (double)o->own.from,
                              (double)o->own.every, o->own.stay};

        h = wmi_hash(h, own, sizeof own);
    }
    if (o->tune.splines != 1)
        h = wmi_hash(h, &o->tune.splines, sizeof o->tune.splines);
    if (o->tune.beta2 > 0)
        h = wmi_hash(h, &o->tune.beta2, sizeof o->tune.beta2);
    if (o->tune.frozen)
        h = wmi_hash(h, o->tune.frozen, strlen(o->tune.frozen));
    snprintf(t->settings, 512,
             "objective=%s form=%d batch=%" PRId64 " iterations=%" PRId64 " eval_every=%" PRId64
             " lr=%.17g constants=%.17g schedule=%d warmup=%" PRId64
             " average=%.17g saturated=%.17g "
             "patience=%" PRId64 " decay=%.17g clip=%.17g negatives=%" PRId64 " seed=%" PRIu64
             " hash=%016" PRIx64 "%s",
             wmi_objective_name(o->objective), (int)o->form, o->adam.batch, o->adam.iterations,
             o->adam.eval_every > 0 ? o->adam.eval_every : 0, o->adam.lr, o->adam.lr_constants,
             o->adam.constant_lr ? WMI_LR_CONSTANT : WMI_LR_COSINE, o->adam.warmup, o->adam.average,
             o->saturated, o->adam.patience, o->adam.weight_decay, o->adam.clip, o->cell_negatives,
             o->control.seed, h, o->random_order ? " random_order" : "");
    return WM_OK;
}

static wm_status check_opts(const wmi_trainer *t, const wmi_model *model, wm_error *err)
{
    const wmi_train_opts *o = &t->opts;

    if (t->source->dim_u > 0 && t->source->dim_u != model->dim_u)
        return wmi_fail(err, WM_ESHAPE,
                        "the source gives %" PRId64 " columns of u, the model has %" PRId64,
                        t->source->dim_u, model->dim_u);
    if (wmi_is_infonce(t) && (!t->source->dim_u || t->rows < 2))
        return wmi_fail(err, WM_EINVAL,
                        "InfoNCE tells pairs (u, x) of a batch apart: it needs a u apart, and a "
                        "batch of 4 or more");
    if (wmi_is_denoising(t) && (t->source->dim_u > 0 || o->cell_negatives > 0))
        return wmi_fail(err, WM_EINVAL, "denoising is for rows that are one thing, without a u");
    if (o->adam.iterations < 1)
        return wmi_fail(err, WM_EINVAL, "%" PRId64 " iterations: at least 1 is needed",
                        o->adam.iterations);
    if (!(o->adam.lr > 0) || !(o->adam.lr_constants > 0))
        return wmi_fail(err, WM_EINVAL, "learning rate %g (constants x %g) must be positive",
                        o->adam.lr, o->adam.lr_constants);
    if (!(o->adam.weight_decay >= 0) || !(o->adam.clip >= 0))
        return wmi_fail(err, WM_EINVAL, "weight decay %g and clip %g must not be negative",
                        o->adam.weight_decay, o->adam.clip);
    if (t->source->n_train < 1 || t->source->n_valid < 1)
        return wmi_fail(err, WM_EINVAL,
                        "%" PRId64 " rows to train and %" PRId64
                        " to validate: both need at least 1",
                        t->source->n_train, t->source->n_valid);
    return WM_OK;
}

static wm_status open_mixer(wmi_trainer *t, wm_error *err)
{
    const wmi_train_opts *o = &t->opts;
    wm_status st;

    if (o->form != WMI_BATCH_COUPLED || t->source->map || wmi_is_infonce(t) ||
        wmi_is_multinomial(t))
        return wmi_fail(err, WM_EINVAL,
                        "cells are mixed in coupled batches, with a loss for each bridge");
    if ((st = wmi_cell_mixer_new(&t->mixer, t->m, wm_chain_blocks(t->chain), t->rows,
                                 o->cell_negatives, err)) ||
        !o->random_order)
        return st;
    return wmi_cell_mixer_random_order(t->mixer, o->control.seed, err);
}

/* Where the rows of a step come from. */
static wm_status open_rows(wmi_trainer *t, const wmi_model *model, const wmi_params *params,
                           wm_error *err)
{
    const wmi_train_opts *o = &t->opts;
    wm_status st;

    /* Always there, for it refuses batches that are too small. */
    if ((st = wmi_batcher_new(&t->batcher, t->chain, t->source, t->rows, o->form, err)))
        return st;
    if (wmi_is_denoising(t)) {
        if ((st = wmi_denoiser_new(&t->denoiser, model, params, t->chain, t->source, t->rows,
                                   t->state.theta, o->knots, o->filter, &o->own, o->control.seed,
                                   err)))
            return st;
        t->state.more = wmi_denoiser_state(t->denoiser, &t->state.n_more);
    }
    if (o->random_order && (st = wmi_batcher_random_order(t->batcher, o->control.seed, err)))
        return st;
    return o->cell_negatives > 0 ? open_mixer(t, err) : WM_OK;
}

/* The step that has chains in it. */
static wm_status open_late(wmi_trainer *t, const wmi_model *model, const wmi_params *params,
                           wm_error *err)
{
    wmi_denoise_shape shape = *wmi_denoiser_shape(t->denoiser);
    wmi_own_step *s = &t->late;
    wmi_model_inputs constants = {0};
    wmi_node *scores;
    wm_status st;

    if ((st = wmi_graph_new(&s->graph, WMI_F32, params, err)))
        return st;
    shape.own = t->opts.own.rows;
    wmi_model_constants(s->graph, model, &constants);
    s->loss = wmi_denoise_build(s->graph, model, constants, &shape,
                                t->opts.classify / (double)shape.dim, &scores);
    if ((st = wmi_compile(&s->program, s->graph,
                          &(wmi_compile_opts){
                              .loss = s->loss, .param_grads = true, .frozen = t->opts.tune.frozen},
                          err)))
        return st;
    wmi_program_bind(s->program, t->state.theta, t->grad);
    return fill_denoising(t, model, s->program, &s->in, err);
}

wm_status wmi_trainer_open(wmi_trainer *t, const wmi_model *model, const wmi_params *params,
                           const wm_chain *chain, wm_error *err)
{
    wmi_train_state *s = &t->state;
    wm_status st;

    t->params = params;
    t->chain = chain;
    t->apart = t->opts.objective == WMI_LOGISTIC &&
               !(model->terms & (WMI_TERM_MLP | WMI_TERM_RESNET | WMI_TERM_SEPARABLE));
    if ((st = check_opts(t, model, err)) ||
        (st = wmi_train_state_open(s, params, t->m, &t->opts.adam, &t->opts.tune, err)) ||
        (st = open_rows(t, model, params, err)) ||
        (st = wmi_graph_new(&t->graph, WMI_F32, params, err)))
        return st;
    build_graph(t, model);
    if ((st = wmi_compile(&t->program, t->graph,
                          &(wmi_compile_opts){.outputs = &t->scores,
                                              .n_outputs = 1,
                                              .loss = t->loss,
                                              .param_grads = true,
                                              .frozen = t->opts.tune.frozen},
                          err)) ||
        (st = wmi_alloc(&t->grad, s->n, sizeof *t->grad, "gradient", err)) ||
        (st = wmi_alloc(&t->eval, t->m, sizeof *t->eval, "evaluation", err)))
        return st;
    if (t->opts.start)
        memcpy(s->theta, t->opts.start, (size_t)s->n * sizeof *s->theta);
    else
        wmi_params_init(params, t->opts.control.seed, WMI_F32, s->theta);
    wmi_program_bind(t->program, s->theta, t->grad);
    if ((st = fill_constant_inputs(t, model, err)) ||
        (!wmi_is_infonce(t) && (st = open_whole_ratio(t, model, params, err))) ||
        (t->opts.own.mover && (st = open_late(t, model, params, err))))
        return st;
    return describe(t, params, err);
}

void wmi_trainer_close(wmi_trainer *t)
{
    wmi_program_free(t->whole.program);
    wmi_graph_free(t->whole.graph);
    wmi_free(t->whole.work);
    wmi_program_free(t->late.program);
    wmi_graph_free(t->late.graph);
    wmi_program_free(t->program);
    wmi_graph_free(t->graph);
    wmi_batcher_free(t->batcher);
    wmi_cell_mixer_free(t->mixer);
    wmi_denoiser_free(t->denoiser);
    wmi_train_state_close(&t->state);
    wmi_free(t->grad);
    wmi_free(t->eval);
    wmi_free(t->settings);
}
