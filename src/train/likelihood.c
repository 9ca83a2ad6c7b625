/* likelihood.c - the loop of maximum likelihood: rows of an epoch's permutation, gradient of the
 * mean -log q, Adam; evaluate, keep the best, checkpoint. The start is evaluated too, so that a fit
 * never ends below it. */
#include "train/likelihood.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "engine/program.h"
#include "optim/lr_schedule.h"
#include "train/train_loop.h"

enum { FROZEN_BYTES = 176 };

void wmi_likelihood_opts_init(wmi_likelihood_opts *opts, wmi_noise_kind kind)
{
    const bool flow = kind == WMI_NOISE_FLOW;

    opts->adam = (wm_adam_opts){.iterations = flow ? 20000 : 3000,
                                .batch = flow ? 256 : 512,
                                .lr = flow ? 1e-3 : 5e-3,
                                .average = flow ? 0.995 : 0.99,
                                .warmup = flow ? 200 : 100,
                                .lr_constants = 1,
                                .clip = flow ? 50 : 0,
                                .eval_every = WM_AUTO,
                                .patience = 30};
    wm_fit_control_init(&opts->control);
}

typedef struct fit {
    const wmi_likelihood_opts *opts;
    const wmi_rows_source *source;
    char frozen[FROZEN_BYTES]; /* what the noise declared as fixed */
    int64_t rows, epoch;       /* rows of a step, steps of an epoch */
    int64_t drawn;             /* the epoch that order holds, or -1 */
    int64_t *order;            /* (n_train) */
    wmi_graph *graph;
    wmi_program *program;
    wmi_node *log_q, *loss; /* (rows), scalar */
    float *x, *grad;        /* (rows, dim), the program's input; (n) */
    wmi_train_state state;
    char *settings;
} fit;

/* ---- building ---- */

static wm_status check_opts(const wmi_noise_opts *noise, const wmi_rows_source *source,
                            const wm_adam_opts *o, wm_error *err)
{
    if (source->dim != noise->dim)
        return wmi_fail(err, WM_ESHAPE, "rows of %" PRId64 " columns for a noise of %" PRId64,
                        source->dim, noise->dim);
    if (source->n_train < 1 || source->n_valid < 1)
        return wmi_fail(err, WM_EINVAL,
                        "%" PRId64 " rows to train and %" PRId64
                        " to validate: both need at least 1",
                        source->n_train, source->n_valid);
    if (o->iterations < 1 || o->batch < 1)
        return wmi_fail(err, WM_EINVAL,
                        "%" PRId64 " iterations of %" PRId64 " rows: both need at least 1",
                        o->iterations, o->batch);
    if (!(o->lr > 0) || !(o->clip >= 0) || !(o->weight_decay >= 0))
        return wmi_fail(err, WM_EINVAL,
                        "learning rate %g must be positive, clip %g and weight decay %g not "
                        "negative",
                        o->lr, o->clip, o->weight_decay);
    if (!(o->average >= 0 && o->average < 1))
        return wmi_fail(err, WM_EINVAL, "decay %g of the weight average is not in [0, 1)",
                        o->average);
    return WM_OK;
}

/* Training rows of a step: batch `step` of its epoch's permutation. */
static wm_status draw_batch(fit *f, int64_t step, wm_error *err)
{
    const int64_t epoch = step / f->epoch;

    if (f->drawn != epoch) {
        const wmi_rng root = wmi_rng_make(f->opts->control.seed, "likelihood order");
        const wmi_rng rng = wmi_rng_sub(&root, (uint64_t)epoch);

        wmi_rng_permutation(&rng, f->source->n_train, f->order);
        f->drawn = epoch;
    }
    return f->source->train(f->source->ctx, epoch, f->rows, f->order + step % f->epoch * f->rows,
                            f->x, err);
}

/* What the bits of a run depend on: options, names of parameters, the start, and the first batch,
 * which stands for data and seed. */
static wm_status describe(fit *f, const wmi_params *params, wm_error *err)
{
    const wm_adam_opts *o = &f->opts->adam;
    uint64_t h = wmi_hash_params(WMI_HASH_START, params);
    wm_status st = wmi_alloc(&f->settings, 512, 1, "settings", err);

    if (st || (st = draw_batch(f, 0, err)))
        return st;
    h = wmi_hash(h, f->x, (size_t)(f->rows * f->source->dim) * sizeof *f->x);
    h = wmi_hash(h, f->state.theta, (size_t)f->state.n * sizeof *f->state.theta);
    snprintf(f->settings, 512,
             "likelihood batch=%" PRId64 " iterations=%" PRId64 " eval_every=%" PRId64
             " patience=%" PRId64 " lr=%.17g schedule=%d warmup=%" PRId64
             " clip=%.17g average=%.17g seed=%" PRIu64 " hash=%016" PRIx64,
             o->batch, o->iterations, o->eval_every > 0 ? o->eval_every : 0, o->patience, o->lr,
             o->constant_lr ? WMI_LR_CONSTANT : WMI_LR_COSINE, o->warmup, o->clip, o->average,
             f->opts->control.seed, h);
    if (o->weight_decay > 0) {
        const size_t used = strlen(f->settings);

        snprintf(f->settings + used, 512 - used, " decay=%.17g", o->weight_decay);
    }
    return WM_OK;
}

static wm_status open_fit(fit *f, const wmi_noise_opts *noise, const char *prefix,
                          const wmi_params *params, const double *theta, wm_error *err)
{
    const int64_t dim = f->source->dim, x[] = {f->rows, dim};
    wmi_node *outputs[2];
    void *at;
    wm_status st;

    if (snprintf(f->frozen, sizeof f->frozen, "%s%sfixed/", prefix, *prefix ? "/" : "") >=
        FROZEN_BYTES)
        return wmi_fail(err, WM_EINVAL, "noise under '%.40s...': the name is too long", prefix);
    if ((st = wmi_train_state_open(&f->state, params, 1, &f->opts->adam,
                                   &(wmi_train_tune){.splines = 1, .frozen = f->frozen}, err)) ||
        (st = wmi_alloc(&f->grad, f->state.n, sizeof *f->grad, "gradient", err)) ||
        (st = wmi_alloc(&f->order, f->source->n_train, sizeof *f->order, "order of rows", err)) ||
        (st = wmi_graph_new(&f->graph, WMI_F32, params, err)))
        return st;
    for (int64_t i = 0; i < f->state.n; i++)
        f->state.theta[i] = (float)theta[i];
    outputs[0] = f->log_q =
        wmi_noise_log_density(f->graph, prefix, noise, wmi_input(f->graph, "x", 2, x));
    outputs[1] = f->loss = wmi_affine(f->graph, wmi_mean(f->graph, f->log_q, WMI_ALL_AXES), -1, 0);
    if ((st = wmi_compile(&f->program, f->graph,
                          &(wmi_compile_opts){.outputs = outputs,
                                              .n_outputs = 2,
                                              .loss = f->loss,
                                              .param_grads = true,
                                              .frozen = f->frozen},
                          err)) ||
        (st = wmi_program_input(f->program, "x", &at, err)))
        return st;
    f->x = at;
    wmi_program_bind(f->program, f->state.theta, f->grad);
    return describe(f, params, err);
}

static void close_fit(fit *f)
{
    wmi_program_free(f->program);
    wmi_graph_free(f->graph);
    wmi_train_state_close(&f->state);
    wmi_free(f->grad);
    wmi_free(f->order);
    wmi_free(f->settings);
}

/* ---- evaluation ---- */

/* Mean log-likelihood of the validation rows, all of them and each once; where the last batch is
 * not full, rows of the one before stand behind it and are not counted. */
static wm_status evaluate(fit *f, double *mean, wm_error *err)
{
    const int64_t n = f->source->n_valid, dim = f->source->dim;
    double sum = 0;

    wmi_program_step(f->program, f->opts->control.seed, (uint64_t)f->state.step, false);
    for (int64_t first = 0; first < n; first += f->rows) {
        const int64_t count = n - first < f->rows ? n - first : f->rows;
        const float *log_q;
        wm_status st;

        if ((st = f->source->valid(f->source->ctx, first, count, f->x, err)))
            return st;
        for (int64_t i = count; i < f->rows && first == 0; i++)
            memcpy(f->x + i * dim, f->x, (size_t)dim * sizeof *f->x);
        if ((st = wmi_program_forward(f->program, err)))
            return st;
        log_q = wmi_program_value(f->program, f->log_q);
        for (int64_t i = 0; i < count; i++)
            sum += (double)log_q[i];
    }
    *mean = sum / (double)n;
    return WM_OK;
}

/* ---- the loop ---- */

static wm_status loop_draw(void *ctx, int64_t step, wm_error *err)
{
    return draw_batch(ctx, step, err);
}

static wm_status loop_evaluate(void *ctx, wm_evaluation *e, wm_error *err)
{
    fit *f = ctx;
    wmi_train_state *s = &f->state;
    double valid;
    wm_status st;

    if ((st = evaluate(f, &valid, err)))
        return st;
    if (s->step == 0 && !isfinite(valid))
        return wmi_fail(err, WM_EDIVERGED,
                        "the start has a log-likelihood of %g on the validation rows", valid);
    e->valid_loss = -valid;
    s->stale += s->step > 0;
    if (e->valid_loss < s->best_loss) { /* not where it is NaN */
        s->best_loss = e->valid_loss;
        s->best_step = s->step;
        s->stale = 0;
        memcpy(s->best, s->theta, (size_t)s->n * sizeof *s->best);
    }
    return WM_OK;
}

static bool loop_ended(void *ctx)
{
    const fit *f = ctx;

    return f->opts->adam.patience > 0 && f->state.stale >= f->opts->adam.patience;
}

static void loop_speak(void *ctx, double seconds, char *text, size_t size)
{
    const fit *f = ctx;

    (void)seconds;
    snprintf(text, size, "log-likelihood %.3f, best held out %.3f",
             -wmi_program_scalar(f->program, f->loss), -f->state.best_loss);
}

static wmi_train_loop loop_of(fit *f)
{
    return (wmi_train_loop){.adam = &f->opts->adam,
                            .control = &f->opts->control,
                            .stage = WM_STAGE_NOISE,
                            .settings = f->settings,
                            .epoch = f->epoch,
                            .state = &f->state,
                            .program = f->program,
                            .loss = f->loss,
                            .grad = f->grad,
                            .ctx = f,
                            .draw = loop_draw,
                            .evaluate = loop_evaluate,
                            .ended = loop_ended,
                            .speak = loop_speak};
}

wm_status wmi_likelihood_fit(const wmi_noise_opts *noise, const char *prefix,
                             const wmi_params *params, const wmi_rows_source *source,
                             const wmi_likelihood_opts *opts, double *theta,
                             wmi_likelihood_result *result, wm_error *err)
{
    fit f = {.opts = opts, .source = source, .drawn = -1};
    wmi_train_loop loop;
    wmi_loop_end end;
    wm_status st;

    *result = (wmi_likelihood_result){0};
    if ((st = check_opts(noise, source, &opts->adam, err)))
        return st;
    f.rows = opts->adam.batch < source->n_train ? opts->adam.batch : source->n_train;
    f.epoch = source->n_train / f.rows;
    if ((st = open_fit(&f, noise, prefix, params, theta, err)))
        goto done;
    loop = loop_of(&f);
    if ((st = wmi_train_loop_resume(&loop, err)) ||
        (f.state.step == 0 && (st = wmi_train_loop_evaluate(&loop, err))) ||
        (st = wmi_train_loop_run(&loop, &end, err)))
        goto done;
    result->finished = end == WMI_LOOP_DONE || end == WMI_LOOP_ENDED;
    result->steps = f.state.step;
    result->best_step = f.state.best_step;
    result->best = -f.state.best_loss;
    result->seconds = f.state.seconds;
    if ((st = wmi_comm_send(opts->control.comm, 0, /* each rank has trained for itself */
                            (wmi_piece[]){{f.state.best, (size_t)f.state.n * sizeof *f.state.best},
                                          {result, sizeof *result}},
                            2, err)))
        goto done;
    for (int64_t i = 0; i < f.state.n; i++)
        theta[i] = (double)f.state.best[i];
    st = wmi_noise_finish(noise, prefix, params, theta, err);
done:
    close_fit(&f);
    return st;
}
