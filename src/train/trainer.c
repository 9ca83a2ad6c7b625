/* trainer.c - the loop of stochastic training: batch, gradient, Adam; evaluate, keep the best,
 * checkpoint. */
#include "train/trainer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/sums.h"
#include "train/adam_fill.h"
#include "train/train_loop.h"
#include "train/trainer_impl.h"
#include "waymarks/chain.h"

void wmi_train_opts_init(wmi_train_opts *opts)
{
    *opts = (wmi_train_opts){
        .objective = WMI_LOGISTIC,
        .form = WMI_BATCH_COUPLED,
        .stage = WM_STAGE_BRIDGES,
        .max_valid_batches = 500,
        .saturated = 0.02,
        .classify = 3,
        .tune = {.splines = 1},
        .adam = {.iterations = 10000,
                 .batch = 512,
                 .lr = 1e-4,
                 .lr_constants = 10,
                 .eval_every = WM_AUTO},
    };
    wm_fit_control_init(&opts->control);
}

/* ---- evaluation ---- */

enum { KL_BATCHES = 8 }; /* of WMI_KL_ROWS rows, on which log r is watched */

/* InfoNCE: scores (rows, rows) of all pairs. */
static void add_pairs(wmi_trainer *t)
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
static void add_batch(wmi_trainer *t)
{
    const float *s = wmi_program_value(t->program, t->scores);
    const int64_t n = t->scores->shape.dim[1], negatives = t->mixer ? t->opts.cell_negatives : 1;

    for (int64_t k = 0; k < t->m; k++) {
        const float *num = s + k * n + (wmi_is_softmax(t) ? k * t->rows : 0);
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

static int64_t parts_of(const wmi_trainer *t)
{
    return t->opts.pieces ? t->opts.pieces : 1;
}

/* The validation set through the current parameters; *loss is the objective. The logistic loss of
 * each bridge is reported whatever the objective, because its scale tells chance (1.386) from
 * saturation. */
static wm_status evaluate(wmi_trainer *t, double *loss, wm_error *err)
{
    int64_t batches = wmi_trainer_valid_batches(t);
    wm_status st;

    if (t->opts.max_valid_batches && batches > t->opts.max_valid_batches * parts_of(t))
        batches = t->opts.max_valid_batches * parts_of(t);
    for (int64_t k = 0; k < t->m; k++)
        t->eval[k] =
            (wm_bridge){.alpha_from = t->chain->alpha[k], .alpha_to = t->chain->alpha[k + 1]};
    *loss = 0;
    wmi_program_step(t->program, t->opts.control.seed, (uint64_t)t->state.step, false);
    for (int64_t i = 0; i < batches; i++) {
        if ((st = wmi_trainer_draw_valid(t, i, err)) || (st = wmi_program_forward(t->program, err)))
            return st;
        *loss += wmi_program_scalar(t->program, t->loss) / (double)batches;
        if (wmi_is_infonce(t))
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
static wm_status estimate_kl(wmi_trainer *t, double *kl, wm_error *err)
{
    const int64_t n = t->source->n_valid;
    int64_t rows = 0;

    if (wmi_is_infonce(t)) { /* its scores have a free function of u in them */
        *kl = t->eval->mean_log_ratio;
        return WM_OK;
    }
    *kl = 0;
    for (int64_t first = 0; first < n && first < WMI_KL_ROWS * KL_BATCHES; first += WMI_KL_ROWS) {
        const int64_t count = n - first < WMI_KL_ROWS ? n - first : WMI_KL_ROWS;
        const float *s;
        wm_status st;

        if ((t->whole.u &&
             (st = t->source->valid_u(t->source->ctx, first, count, t->whole.u, err))) ||
            (st = wmi_source_valid_rows(t->source, first, count, t->whole.work, t->whole.x, err)) ||
            (st = wmi_program_forward(t->whole.program, err)))
            return st;
        s = wmi_program_value(t->whole.program, t->whole.parts);
        for (int64_t k = 0; k < t->whole.parts->shape.dim[0]; k++)
            for (int64_t i = 0; i < count; i++)
                *kl += (double)s[k * WMI_KL_ROWS + i];
        rows += count;
    }
    *kl /= (double)rows;
    return WM_OK;
}

static void keep_eval(wmi_trainer *t, int64_t k)
{
    t->state.best_eval[3 * k] = t->eval[k].loss;
    t->state.best_eval[3 * k + 1] = t->eval[k].accuracy;
    t->state.best_eval[3 * k + 2] = t->eval[k].mean_log_ratio;
}

/* Bridges that share no parameter have their best moments apart: those between far waymarks overfit
 * while others still learn. Slice k of every entry, (m, ...), is bridge k's. Returns the mean of
 * the best losses. */
static double keep_best_bridges(wmi_trainer *t)
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

/* Whether chains have a share in a step. */
static bool is_late(const wmi_trainer *t, int64_t step)
{
    return t->late.program && step >= t->opts.own.from;
}

static void keep_if_best(wmi_trainer *t, double loss)
{
    wmi_train_state *s = &t->state;

    s->stale++;
    if (t->apart)
        loss = keep_best_bridges(t);
    /* Waymarks do not tell what chains have mended: once they walk the last evaluation counts. */
    if (!(loss < s->best_loss || (is_late(t, s->step - 1) && isfinite(loss)))) /* nor NaN */
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
static void count_saturated(wmi_trainer *t)
{
    for (int64_t k = 0; k < t->m; k++)
        t->state.saturated[k] = t->eval[k].loss < t->opts.saturated ? t->state.saturated[k] + 1 : 0;
}

/* The first bridge that has been saturated for two evaluations, or -1. */
static int64_t saturated_bridge(const wmi_trainer *t)
{
    for (int64_t k = 0; k < t->m; k++)
        if (t->state.saturated[k] >= 2)
            return k;
    return -1;
}

/* ---- the loop ---- */

static wm_status loop_draw(void *ctx, int64_t step, wm_error *err)
{
    wmi_trainer *t = ctx;
    const bool late = is_late(t, step);
    wm_status st;

    t->loop->program = late ? t->late.program : t->program;
    t->loop->loss = late ? t->late.loss : t->loss;
    if (!late)
        return wmi_trainer_draw(t, step, err);
    st = wmi_denoiser_train(t->denoiser, step, &t->late.in, err);
    return st ? st : wmi_denoiser_own(t->denoiser, step, &t->late.in, err);
}

static wm_status loop_evaluate(void *ctx, wm_evaluation *e, wm_error *err)
{
    wmi_trainer *t = ctx;
    wm_status st;

    if ((st = evaluate(t, &e->valid_loss, err)) || (st = estimate_kl(t, &e->estimate, err)))
        return st;
    e->n_bridges = t->m;
    e->bridges = t->eval;
    keep_if_best(t, e->valid_loss);
    count_saturated(t);
    return WM_OK;
}

static bool loop_ended(void *ctx)
{
    const wmi_trainer *t = ctx;

    return saturated_bridge(t) >= 0 ||
           (t->opts.adam.patience > 0 && t->state.stale >= t->opts.adam.patience);
}

static void loop_speak(void *ctx, double seconds, char *text, size_t size)
{
    const wmi_trainer *t = ctx;
    const int64_t samples = (t->state.step - t->first_step) * (t->m + 1) * t->rows * parts_of(t);

    if (t->state.step < t->opts.adam.iterations)
        snprintf(text, size, "loss %.4f, %.0f samples/s",
                 wmi_program_scalar(t->loop->program, t->loop->loss),
                 (double)samples / fmax(seconds, 1e-9));
    else
        snprintf(text, size, "best validation loss %.4f", t->state.best_loss);
}

static wmi_train_loop loop_of(wmi_trainer *t)
{
    const bool own = t->opts.form == WMI_BATCH_SPREAD || t->denoiser; /* rows of every bridge */
    const int64_t per_step = t->rows * parts_of(t) * (own ? t->m : 1);

    return (wmi_train_loop){
        .adam = &t->opts.adam,
        .control = &t->opts.control,
        .stage = t->opts.stage,
        .settings = t->settings,
        .epoch = t->source->n_train / per_step > 0 ? t->source->n_train / per_step : 1,
        .state = &t->state,
        .program = t->program,
        .loss = t->loss,
        .grad = t->grad,
        .pieces = t->opts.pieces,
        .ctx = t,
        .draw = loop_draw,
        .evaluate = loop_evaluate,
        .ended = loop_ended,
        .speak = loop_speak};
}

/* Why the run ended, in the terms of trainer.h. */
static wmi_train_stop stop_of(const wmi_trainer *t, wmi_loop_end end)
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
static wm_status ensure_best(wmi_trainer *t, wmi_train_loop *loop, wm_error *err)
{
    if (t->state.step == 0)
        return wmi_fail(err, WM_EINTERRUPTED, "stopped before the first step");
    return t->state.best_step > 0 ? WM_OK : wmi_train_loop_evaluate(loop, err);
}

/* Ranks that have trained together have the same bits; where each has trained for itself, as long
 * as its clock let it, the first one's count. */
static wm_status take_first(wm_comm *comm, int64_t n, float *theta, int64_t m, wm_bridge *last,
                            wmi_train_result *result, wm_error *err)
{
    return wmi_comm_send(comm, 0,
                         (wmi_piece[]){{theta, (size_t)n * sizeof *theta},
                                       {last, (size_t)m * sizeof *last},
                                       {result, sizeof *result}},
                         3, err);
}

wm_status wmi_train(const wmi_model *model, const wmi_params *params, const wm_chain *chain,
                    const wmi_source *source, const wmi_train_opts *opts, float *theta,
                    wm_bridge *last, wmi_train_result *result, wm_error *err)
{
    const int64_t m = wm_chain_bridges(chain);
    wmi_trainer t = {.opts = *opts, .source = source, .m = m};
    wmi_train_opts usual;
    wmi_train_loop loop;
    wmi_loop_end end;
    wm_status st;

    *result = (wmi_train_result){.saturated_bridge = -1};
    wmi_train_opts_init(&usual);
    wmi_adam_fill(&t.opts.adam, &usual.adam);
    t.rows = t.opts.adam.batch / (m + 1) / parts_of(&t);
    if ((st = wmi_trainer_open(&t, model, params, chain, err)))
        goto done;
    loop = loop_of(&t);
    t.loop = &loop;
    if ((st = wmi_train_loop_resume(&loop, err)))
        goto done;
    t.first_step = t.state.step;
    if ((st = wmi_train_loop_run(&loop, &end, err)) || (st = ensure_best(&t, &loop, err)))
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
        last[k] = (wm_bridge){chain->alpha[k], chain->alpha[k + 1], t.state.best_eval[3 * k],
                              t.state.best_eval[3 * k + 1], t.state.best_eval[3 * k + 2]};
    st = take_first(opts->control.comm, t.state.n, theta, m, last, result, err);
done:
    wmi_trainer_close(&t);
    return st;
}
