/* ebm_fit.c - fitting an energy-based model: the noise by maximum likelihood, then the bridges from
 * the data to it, heads first where there is a network beside them. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/opts.h"
#include "base/rng.h"
#include "base/sums.h"
#include "columns/filters.h"
#include "columns/knots.h"
#include "dist/comm.h"
#include "ebm/ebm_impl.h"
#include "train/adam_fill.h"
#include "train/trainer.h"
#include "waymark/check.h"
#include "waymark/sink.h"

enum {
    LEAST_STEPS = 40,  /* of the bridges between two evaluations */
    PIECES = 4,        /* of a step of convolutions: as many processes may share it */
    LEAST_SHARED = 32, /* trajectories of such a step */
};

#define NETWORKS (WM_EBM_MLP | WM_EBM_RESNET)

/* One fit and what it needs. */
typedef struct fitting {
    wm_ebm *e;
    const wm_ebm_opts *opts;
    wmi_ebm_rows rows;
    double *own;     /* (n, dim) rows of data in an order of ours, where they had to be cut */
    double jacobian; /* mean log |det dy/dx| of the held-out rows */
    double start;    /* clock */
    wm_stage stage;
    bool asked; /* by on_eval, to leave */
    char path[WM_STAGES][512];
} fitting;

/* Passes an evaluation on, with seconds of the whole fit. */
static int report(fitting *f, wm_evaluation *e)
{
    const wm_fit_control *c = &f->opts->control;

    e->seconds = wm_clock(c->sink) - f->start;
    if (c->on_eval && c->on_eval(c->ctx, e))
        f->asked = true;
    return f->asked;
}

static void report_resume(void *ctx, wm_stage stage, int64_t step)
{
    const wm_fit_control *c = &((const fitting *)ctx)->opts->control;

    if (c->on_resume)
        c->on_resume(c->ctx, stage, step);
}

/* The time that is left of the fit's, 0 where there is no limit. */
static double time_left(const fitting *f)
{
    const wm_fit_control *c = &f->opts->control;
    const double left = c->time_limit - (wm_clock(c->sink) - f->start);

    return c->time_limit > 0 ? fmax(left, 0.001) : 0;
}

/* Whether this rank or another is asked to leave: all go on, or none. */
static wm_status ask_all(const fitting *f, bool *stop, wm_error *err)
{
    const wm_fit_control *c = &f->opts->control;

    *stop = f->asked || (c->stop && *c->stop);
    return wmi_comm_any(c->comm, stop, err);
}

/* The caller's control for the present stage, its callbacks by way of ours. */
static wm_fit_control control_of(fitting *f, int (*on_eval)(void *ctx, const wm_evaluation *e))
{
    wm_fit_control c = f->opts->control;

    c.time_limit = time_left(f);
    c.checkpoint = c.checkpoint ? f->path[f->stage] : NULL;
    c.on_eval = on_eval;
    c.on_resume = report_resume;
    c.ctx = f;
    return c;
}

/* How heads or bridges are trained: what the caller left open by the kind of data. */
static wm_adam_opts training_of(const fitting *f, wm_stage stage)
{
    static const wm_adam_opts image[] = {
        [WM_STAGE_HEADS] = WM_ADAM(3000, 600, 4e-3, 0.99),
        [WM_STAGE_BRIDGES] = WM_ADAM(8000, 750, 1e-3, 0.99),
    };
    static const wm_adam_opts denoised[] = {
        [WM_STAGE_HEADS] = WM_ADAM(0, 138, 4e-3, 0.998),
        [WM_STAGE_BRIDGES] = WM_ADAM(5000, 138, 4e-3, 0.998),
    };
    static const wm_adam_opts convolved = WM_ADAM(20000, 550, 5e-4, 0.999);
    static const wm_adam_opts table[] = {
        [WM_STAGE_HEADS] = WM_ADAM(1000, 1024, 1e-2, 0.99),
        [WM_STAGE_BRIDGES] = WM_ADAM(5000, 2048, 2e-3, 0.995),
    };
    const bool convolves = stage == WM_STAGE_BRIDGES && f->e->net.terms & WM_EBM_RESNET;
    const bool denoises = f->opts->objective == WM_OBJECTIVE_DENOISE;
    wm_adam_opts t = f->opts->train[stage];

    wmi_adam_fill(&t, f->opts->height == 0 ? &table[stage]
                      : denoises           ? &denoised[stage]
                      : convolves          ? &convolved
                                           : &image[stage]);
    if (t.warmup == WM_AUTO)
        t.warmup = (int64_t)(f->opts->warmup * (double)t.iterations);
    if (t.eval_every == WM_AUTO) /* one takes the time of some eight steps: short fits get few */
        t.eval_every = t.iterations / 25 > LEAST_STEPS ? t.iterations / 25 : LEAST_STEPS;
    return t;
}

/* Rows for training and for choosing the best step. */
static wm_status cut_rows(fitting *f, const wm_data *data, const wm_data *valid, wm_error *err)
{
    const int64_t n = wm_data_count(data), d = wm_data_dim(data);
    const double share = f->opts->held_out;
    const wmi_rng rng = wmi_rng_make(f->opts->control.seed, "ebm/held out");
    wmi_ebm_rows *r = &f->rows;
    int64_t *order = NULL;
    wm_status st;

    if (valid) {
        if (wm_data_dim(valid) != d)
            return wmi_fail(err, WM_ESHAPE,
                            "validation rows have %" PRId64 " columns, training rows %" PRId64,
                            wm_data_dim(valid), d);
        r->train = wm_data_rows(data);
        r->valid = wm_data_rows(valid);
        r->n_train = n;
        r->n_valid = wm_data_count(valid);
    } else {
        if (!(share > 0 && share < 1))
            return wmi_fail(err, WM_EINVAL, "held-out share %g is not in (0, 1)", share);
        r->n_valid = (int64_t)ceil(share * (double)n);
        r->n_train = n - r->n_valid;
        if ((st = wmi_alloc(&f->own, n * d, sizeof *f->own, "rows", err)) ||
            (st = wmi_alloc(&order, n, sizeof *order, "order", err)))
            return st;
        wmi_rng_permutation(&rng, n, order);
        for (int64_t i = 0; i < n; i++)
            memcpy(f->own + i * d, wm_data_rows(data) + order[i] * d, (size_t)d * sizeof *f->own);
        wmi_free(order);
        r->train = f->own;
        r->valid = f->own + r->n_train * d;
    }
    if (r->n_train < 4 || r->n_valid < 1)
        return wmi_fail(err, WM_EINVAL,
                        "%" PRId64 " rows to train and %" PRId64 " to validate are too few",
                        r->n_train, r->n_valid);
    f->e->info.n_train = r->n_train;
    f->e->info.n_valid = r->n_valid;
    return WM_OK;
}

/* Mean log |det dy/dx| over the validation rows, with the uniform numbers that the trainers use. */
static wm_status mean_jacobian(fitting *f, wm_error *err)
{
    const wmi_ebm_rows *r = &f->rows;
    const wmi_rng rng = wmi_rng_make(f->opts->control.seed, "ebm/valid");
    const int64_t d = f->e->info.dim, raw = f->e->transform.raw;
    double *u = NULL, *y = NULL, log_det;
    wmi_running_sum sum = {0};
    wm_status st;

    if ((st = wmi_alloc(&u, d, sizeof *u, "row", err)) ||
        (st = wmi_alloc(&y, d, sizeof *y, "row", err)))
        goto done;
    for (int64_t i = 0; i < r->n_valid; i++) {
        wmi_rng_uniform_f64(&rng, (uint64_t)(i * d), d, u);
        wmi_transform_rows(&f->e->transform, 1, r->valid + i * raw, u, y, &log_det);
        wmi_sum_add(&sum, log_det);
    }
    f->jacobian = wmi_sum_value(&sum) / (double)r->n_valid;
done:
    wmi_free(y);
    wmi_free(u);
    return st;
}

static int report_noise(void *ctx, const wm_evaluation *e)
{
    fitting *f = ctx;
    wm_evaluation own = *e;

    own.train_loss -= f->jacobian;
    own.valid_loss -= f->jacobian;
    return report(f, &own);
}

/* Rows of training as the densities see them, in double, for the start of the noise. */
static wm_status start_noise(fitting *f, wm_error *err)
{
    enum { MOST = 50000 };
    wm_ebm *e = f->e;
    const int64_t d = e->info.dim, n = f->rows.n_train < MOST ? f->rows.n_train : MOST;
    const wmi_rng rng = wmi_rng_make(f->opts->control.seed, "ebm/start");
    double *y = NULL, *u = NULL;
    wm_status st;

    if ((st = wmi_alloc(&y, n * d, sizeof *y, "rows", err)) ||
        (st = wmi_alloc(&u, n * d, sizeof *u, "rows", err)))
        goto done;
    if (wmi_transform_jitters(&e->transform))
        wmi_rng_uniform_f64(&rng, 0, n * d, u);
    wmi_transform_rows(&e->transform, n, f->rows.train, u, y, NULL);
    st = wmi_noise_start(&e->noise, WMI_EBM_NOISE, e->noise_params, n, y, f->opts->control.seed,
                         e->noise_theta, err);
done:
    wmi_free(u);
    wmi_free(y);
    return st;
}

static wm_status fit_noise(fitting *f, wm_error *err)
{
    const wm_ebm_opts *o = f->opts;
    const wmi_rows_source source = wmi_ebm_noise_source(&f->rows);
    wm_adam_opts adam = o->train[WM_STAGE_NOISE];
    wm_ebm *e = f->e;
    wmi_likelihood_opts l;
    wmi_likelihood_result result = {0};
    wm_status st;

    f->stage = WM_STAGE_NOISE;
    if (o->noise_of) {
        memcpy(e->noise_theta, o->noise_of->noise_theta,
               (size_t)wmi_params_count(e->noise_params) * sizeof *e->noise_theta);
        return WM_OK;
    }
    if ((st = start_noise(f, err)) || wmi_noise_is_closed(&e->noise) || adam.iterations == 0)
        return st;
    wmi_likelihood_opts_init(&l, e->noise.kind);
    wmi_adam_fill(&adam, &l.adam);
    l.adam = adam;
    l.control = control_of(f, report_noise);
    wm_say(o->control.sink, WM_LOG_INFO,
           "noise: %" PRId64 " parameters, %" PRId64 " steps of %" PRId64 " rows",
           wmi_params_count(e->noise_params), l.adam.iterations, l.adam.batch);
    if ((st = wmi_likelihood_fit(&e->noise, WMI_EBM_NOISE, e->noise_params, &source, &l,
                                 e->noise_theta, &result, err)))
        return st;
    e->info.steps[WM_STAGE_NOISE] = result.steps;
    e->info.seconds[WM_STAGE_NOISE] = result.seconds;
    e->info.finished = e->info.finished && result.finished;
    return WM_OK;
}

/* Mean log-likelihoods of the validation rows under the model as it is now, by the functions that
 * everyone else asks, to the last bit: what is said of a model is true of the one that is saved. */
static wm_status score(fitting *f, bool bridges, wm_error *err)
{
    const wmi_ebm_rows *r = &f->rows;
    const int64_t n = r->n_valid;
    wm_ebm_info *info = &f->e->info;
    wm_data *rows = NULL;
    double *log_q = NULL, *log_phi = NULL;
    wm_status st;

    if ((st = wm_data_new(&rows, n, info->columns, r->valid, err)) ||
        (st = wmi_alloc(&log_q, n, sizeof *log_q, "densities", err)) ||
        (st = wmi_alloc(&log_phi, n, sizeof *log_phi, "densities", err)) ||
        (st = wm_ebm_log_density(f->e, rows, r->seed, log_q, bridges ? log_phi : NULL, NULL, err)))
        goto done;
    info->noise_loglik = wm_mean(log_q, n).value;
    info->direct = bridges ? wm_mean(log_phi, n).value : info->noise_loglik;
done:
    wmi_free(log_phi);
    wmi_free(log_q);
    wm_data_free(rows);
    return st;
}

/* Rows of both ends of the chain as the bridges see them: x (2 n, dim), data first. */
static wm_status draw_ends(fitting *f, int64_t n, float *x, wm_error *err)
{
    const int64_t d = f->e->info.dim;
    const wmi_source source = wmi_ebm_bridge_source(&f->rows);
    float *z = NULL;
    wm_status st = WM_OK;

    for (int64_t first = 0; first < n; first += f->rows.capacity) {
        const int64_t left = n - first, count = left < f->rows.capacity ? left : f->rows.capacity;

        if ((st = source.train(source.ctx, first / f->rows.capacity, count, x + first * d,
                               x + (n + first) * d, err)))
            return st;
    }
    if (source.map && !(st = wmi_alloc(&z, 2 * n * d, sizeof *z, "rows", err))) {
        memcpy(z, x, (size_t)(2 * n * d) * sizeof *z);
        st = source.map(source.ctx, 2 * n, d, z, x, err);
    }
    wmi_free(z);
    return st;
}

/* Filters of the data, and knots over both ends of the chain: waymarks lie between. */
static wm_status place_knots(fitting *f, wm_error *err)
{
    enum { MOST = 6000 };
    wm_ebm *e = f->e;
    const int64_t n = f->rows.n_train < MOST ? f->rows.n_train : MOST, d = e->info.dim,
                  columns = wmi_model_columns(&e->net);
    float *x = NULL, *all = NULL;
    wm_status st;

    if (!e->knots)
        return WM_OK;
    if ((st = wmi_alloc(&x, 2 * n * d, sizeof *x, "rows", err)) ||
        (st = wmi_alloc(&all, 2 * n * columns, sizeof *all, "rows", err)) ||
        (st = draw_ends(f, n, x, err)))
        goto done;
    if (e->filter) {
        if ((st = wmi_filters_make(n, d, x, e->filter, err)) ||
            (st = wmi_filters_rows(2 * n, d, x, e->filter, all, err)))
            goto done;
    } else {
        memcpy(all, x, (size_t)(2 * n * d) * sizeof *all);
    }
    st = wmi_knots_of(2 * n, columns, all, e->net.bases, e->knots, err);
done:
    wmi_free(all);
    wmi_free(x);
    return st;
}

static int report_bridges(void *ctx, const wm_evaluation *e)
{
    fitting *f = ctx;
    wm_evaluation own = *e;

    own.estimate += f->e->info.noise_loglik;
    return report(f, &own);
}

/* Trajectories of a Gaussian's own space cost nothing; those of others pass through a map. */
static bool spreads(const wm_ebm_opts *o)
{
    return wm_is_chosen(o->spread, o->height > 0 && o->noise == WM_NOISE_GAUSSIAN &&
                                       o->objective != WM_OBJECTIVE_MULTINOMIAL);
}

/* Chains of the model's own, in the last steps of denoising: three for each level, a trajectory of
 * 15 leapfrogs every fourth step, a start for each once in sixty of these. */
static wm_status settle(const fitting *f, wmi_train_opts *w, wmi_mover *mover, wm_error *err)
{
    const wm_ebm_opts *o = f->opts;
    const wm_ebm_info *info = &f->e->info;
    const int64_t steps = (int64_t)(o->settle * (double)w->adam.iterations);

    if (o->objective != WM_OBJECTIVE_DENOISE || !(f->e->net.terms & NETWORKS) || steps < 1)
        return WM_OK;
    w->own = (wmi_own_opts){.mover = mover,
                            .rows = 3,
                            .weight = 1,
                            .from = w->adam.iterations - steps,
                            .every = 4,
                            .stay = 60};
    return wmi_ebm_mover_open(mover, w->own.rows * info->bridges, info->dim, 15, o->control.seed,
                              err);
}

/* Trains a model with the terms of a stage; theta (of params) holds the start and gets the best. */
static wm_status train_stage(fitting *f, const wmi_model *net, const wmi_params *params,
                             const wm_chain *chain, float *theta, wm_error *err)
{
    static const wmi_objective objectives[] = {
        [WM_OBJECTIVE_LOGISTIC] = WMI_LOGISTIC, [WM_OBJECTIVE_NWJ] = WMI_NWJ,
        [WM_OBJECTIVE_LSQ] = WMI_LSQ,           [WM_OBJECTIVE_MULTINOMIAL] = WMI_MULTINOMIAL,
        [WM_OBJECTIVE_DENOISE] = WMI_DENOISE,
    };
    const wm_ebm_opts *o = f->opts;
    const wmi_source source = wmi_ebm_bridge_source(&f->rows);
    wm_ebm_info *info = &f->e->info;
    wmi_train_opts w;
    wmi_train_result result;
    wmi_mover mover = {0};
    wm_status st;

    wmi_train_opts_init(&w);
    w.adam = training_of(f, f->stage);
    w.control = control_of(f, report_bridges);
    w.stage = f->stage;
    w.objective = objectives[o->objective];
    w.form = spreads(o) ? WMI_BATCH_SPREAD : WMI_BATCH_COUPLED;
    w.max_valid_batches = o->objective == WM_OBJECTIVE_DENOISE ? 10 : 16;
    if (net->terms & NETWORKS && o->height > 0 && o->objective != WM_OBJECTIVE_DENOISE &&
        w.adam.batch / (info->bridges + 1) >= LEAST_SHARED)
        w.pieces = PIECES;
    if (o->objective == WM_OBJECTIVE_DENOISE)
        w.tune = (wmi_train_tune){.splines = 3, .beta2 = 0.99};
    w.start = theta;
    w.knots = f->e->knots;
    w.filter = f->e->filter;
    if (info->bridges == 1 || o->objective == WM_OBJECTIVE_DENOISE)
        w.saturated = 0; /* one classifier between data and noise saturates: that is the point */
    if (f->stage == WM_STAGE_BRIDGES && (st = settle(f, &w, &mover, err)))
        goto done;
    st = wmi_train(net, params, chain, &source, &w, theta, f->e->bridges, &result, err);
done:
    wmi_ebm_mover_close(&mover);
    if (st)
        return st;
    info->steps[f->stage] = result.steps;
    info->seconds[f->stage] = result.seconds;
    info->finished = info->finished && result.stop == WMI_STOP_DONE;
    if (result.stop == WMI_STOP_SATURATED)
        wm_say(o->control.sink, WM_LOG_WARN,
               "bridge %" PRId64 " classifies perfectly, so it does not learn its ratio: use more "
               "bridges",
               result.saturated_bridge);
    return WM_OK;
}

/* Entries of one table into those of the same name in another. */
static void copy_by_name(const wmi_params *from, const float *a, const wmi_params *to, float *b)
{
    for (int64_t i = 0; i < wmi_params_entries(from); i++) {
        const wmi_param_entry *e = wmi_params_entry(from, i), *same = wmi_params_find(to, e->name);

        if (same)
            memcpy(b + same->offset, a + e->offset, (size_t)e->count * sizeof *b);
    }
}

/* Quadratic and additive terms without the network, which learns what they leave. */
static wm_status fit_heads(fitting *f, const wm_chain *chain, wm_error *err)
{
    wm_ebm *e = f->e;
    wmi_model heads = e->net;
    wmi_params *params = NULL;
    float *theta = NULL;
    wm_status st;

    f->stage = WM_STAGE_HEADS;
    heads.terms &= ~NETWORKS;
    if (!heads.terms || !(e->net.terms & NETWORKS) || training_of(f, f->stage).iterations == 0)
        return WM_OK;
    if ((st = wmi_params_new(&params, err)) || (st = wmi_model_declare(params, "", &heads, err)) ||
        (st = wmi_alloc(&theta, wmi_params_count(params), sizeof *theta, "parameters", err)))
        goto done;
    wmi_params_init(params, f->opts->control.seed, WMI_F32, theta);
    if ((st = train_stage(f, &heads, params, chain, theta, err)))
        goto done;
    copy_by_name(params, theta, e->params, e->theta);
done:
    wmi_free(theta);
    wmi_params_free(params);
    return st;
}

static wm_status fit_bridges(fitting *f, wm_error *err)
{
    wm_ebm *e = f->e;
    wm_chain *chain = NULL;
    bool stop = false;
    wm_status st;

    if ((st = wmi_ebm_rows_map(&f->rows, err)) || (st = place_knots(f, err)) ||
        (st = wmi_ebm_features_make(e, &f->rows, err)) ||
        (st = wm_chain_new(&chain, e->info.bridges, &e->alphas, e->info.dim, NULL, err)))
        return st;
    wmi_params_init(e->params, f->opts->control.seed, WMI_F32, e->theta);
    if (!(st = fit_heads(f, chain, err)) && !(st = ask_all(f, &stop, err)) && !stop) {
        f->stage = WM_STAGE_BRIDGES;
        if (training_of(f, f->stage).iterations > 0)
            st = train_stage(f, &e->net, e->params, chain, e->theta, err);
        if (!st)
            st = wmi_ebm_cap_make(e, &f->rows, err);
    } else {
        e->info.finished = false;
    }
    wm_chain_free(chain);
    return st;
}

static wm_status set_alphas(wm_ebm *e, const wm_ebm_opts *o, wm_error *err)
{
    wm_spacing s = o->spacing;

    if (o->objective == WM_OBJECTIVE_DENOISE) { /* without noise there is nothing to take off */
        if (s.kind == WM_SPACING_POWER && s.power == 1) { /* what nobody has chosen */
            s.kind = WM_SPACING_SNR;
            s.power = 5;
        }
        if (s.kind == WM_SPACING_POWER && s.lowest == 0)
            s.lowest = 0.01;
        s.drop_first = true;
        if (s.kind == WM_SPACING_LIST)
            return wm_spacing_alphas(&e->alphas, &s, 0, err);
    }
    /* The first bridge of images, from data to data with a little noise, overfits: the paper leaves
     * it out. */
    if (o->height > 0 && o->bridges > 1 && s.kind == WM_SPACING_POWER && s.lowest == 0) {
        s.lowest = 0.01;
        s.drop_first = true;
    }
    return wm_spacing_alphas(&e->alphas, &s, o->bridges, err);
}

/* "run/state.safetensors" for the last stage, "run/state.noise.safetensors" for an earlier one. */
static wm_status name_checkpoints(fitting *f, wm_error *err)
{
    static const char *const words[] = {".noise", ".heads", ""};
    const char *path = f->opts->control.checkpoint, *dot = path ? strrchr(path, '.') : NULL;

    if (!path)
        return WM_OK;
    if (strlen(path) > sizeof f->path[0] - 8)
        return wmi_fail(err, WM_EINVAL, "the path of the checkpoint is too long: %.100s...", path);
    if (!dot || strchr(dot, '/'))
        dot = path + strlen(path);
    for (int s = 0; s < WM_STAGES; s++)
        snprintf(f->path[s], sizeof f->path[s], "%.*s%s%s", (int)(dot - path), path, words[s], dot);
    return WM_OK;
}

/* The transform of another model, whose noise was fitted behind it. */
static wm_status copy_transform(wmi_transform *t, const wmi_transform *from, wm_error *err)
{
    wm_status st = wmi_transform_new(t, from->levels, from->lambda, from->dim, err);

    if (st || (from->steps.raw > 0 && (st = wmi_steps_copy(&t->steps, &from->steps, err))))
        return st;
    t->raw = from->raw;
    memcpy(t->shift, from->shift, (size_t)from->dim * sizeof *t->shift);
    memcpy(t->scale, from->scale, (size_t)from->dim * sizeof *t->scale);
    return WM_OK;
}

/* Says which columns a step is taken with. */
static void name_columns(const fitting *f, wmi_column_step step, const char *what)
{
    const wmi_steps *s = &f->e->transform.steps;
    char line[400] = "", name[96];
    size_t used = 0;

    for (int64_t j = 0; j < s->raw; j++)
        if (s->how[j] == (int64_t)step && used + sizeof name + 2 < sizeof line)
            used += (size_t)snprintf(line + used, sizeof line - used, "%s%s", used ? ", " : "",
                                     wm_schema_describe(f->opts->schema, j, name, sizeof name));
    if (used)
        wm_say(f->opts->control.sink, WM_LOG_INFO, "%s: %s", line, what);
}

/* What the values of the columns say, where it may be asked; steps stay empty if all are numbers.
 */
static wm_status look_at_columns(const fitting *f, wmi_steps *steps, wm_error *err)
{
    const wm_ebm_opts *o = f->opts;
    const wmi_ebm_rows *r = &f->rows;
    const int64_t raw = f->e->info.columns, n[2] = {r->n_train, r->n_valid};
    const double *const x[2] = {r->train, r->valid};
    wm_kind *kind = NULL;
    bool plain = true;
    wm_status st;

    if (!o->schema || o->height > 0 || o->levels > 0 || o->logit > 0 ||
        !wm_is_chosen(o->discrete, true))
        return WM_OK;
    if ((st = wmi_alloc(&kind, raw, sizeof *kind, "columns", err)))
        return st;
    for (int64_t j = 0; j < raw; j++)
        kind[j] = wm_schema_kind(o->schema, j);
    st = wmi_steps_fit(steps, raw, n, x, kind, err);
    wmi_free(kind);
    for (int64_t j = 0; !st && j < raw; j++)
        plain = plain && steps->how[j] == WMI_STEP_NUMBER;
    if (plain)
        wmi_steps_free(steps);
    return st;
}

/* The transform from the rows, or the one that another model's noise was fitted behind. */
static wm_status fit_transform(fitting *f, wm_error *err)
{
    const wm_ebm_opts *o = f->opts;
    const wmi_ebm_rows *r = &f->rows;
    const bool standardize = wm_is_chosen(o->standardize, !(wmi_ebm_terms(o) & WM_EBM_RESNET));
    wmi_transform *t = &f->e->transform;
    wmi_steps steps = {0};
    wm_status st;

    if (o->noise_of) {
        if ((st = copy_transform(t, &o->noise_of->transform, err)))
            return st;
        st = wmi_transform_check(t, "data", r->n_train, r->train, err);
    } else if ((st = look_at_columns(f, &steps, err))) {
        return st;
    } else if (steps.raw > 0) {
        st = wmi_transform_fit_steps(t, &steps, standardize, r->n_train, r->train, o->control.seed,
                                     err);
    } else {
        st = wmi_transform_fit(t, o->levels, o->logit, standardize, r->n_train, f->e->info.columns,
                               r->train, o->control.seed, err);
    }
    if (st)
        return st;
    f->e->info.dim = t->dim;
    if (!o->schema)
        return WM_OK;
    name_columns(f, WMI_STEP_CONSTANT, "constant, left out");
    name_columns(f, WMI_STEP_SHARES, "values with shares, made continuous within them");
    name_columns(f, WMI_STEP_WHOLE, "whole numbers, made continuous between them");
    return WM_OK;
}

static wm_status keep_schema(wm_ebm *e, const wm_schema *schema, wm_error *err)
{
    char *text = NULL;
    wm_status st;

    if (!schema)
        return WM_OK;
    if (!(st = wm_schema_write(schema, &text, err)))
        st = wmi_alloc_text(&e->schema, text, "schema", err);
    wm_text_free(text);
    return st;
}

static wm_status check_opts(const wm_ebm_opts *o, int64_t dim, wm_error *err)
{
    if (o->noise_of && (o->noise_of->info.columns != dim || o->noise_of->info.noise != o->noise))
        return wmi_fail(err, WM_EINVAL, "the noise of a model of another kind or width");
    if (o->height > 0 && o->height * o->width * o->channels != dim)
        return wmi_fail(err, WM_ESHAPE,
                        "images of %" PRId64 " x %" PRId64 " x %" PRId64 " have %" PRId64
                        " values, the rows %" PRId64,
                        o->height, o->width, o->channels, o->height * o->width * o->channels, dim);
    if (o->schema && wm_schema_dim(o->schema) != dim)
        return wmi_fail(err, WM_ESHAPE, "the schema has %" PRId64 " columns, the rows %" PRId64,
                        wm_schema_dim(o->schema), dim);
    if (o->objective == WM_OBJECTIVE_DENOISE && o->x_space)
        return wmi_about(wmi_fail(err, WM_EINVAL,
                                  "denoising is for waymarks in the space where the noise is "
                                  "normal, not between data and noise"),
                         err, "x-space");
    if (!(o->settle >= 0 && o->settle <= 1))
        return wmi_about(wmi_fail(err, WM_EINVAL, "%g is no share of the steps", o->settle), err,
                         "settle");
    if (o->bridges < 1)
        return wmi_fail(err, WM_EINVAL, "%" PRId64 " bridges: at least 1 is needed", o->bridges);
    return WM_OK;
}

static wm_status fit(wm_ebm **out, const wm_data *data, const wm_data *valid,
                     const wm_ebm_opts *opts, wm_error *err)
{
    wm_ebm *e = NULL;
    fitting f = {0};
    bool stop = false;
    wm_status st;

    if ((st = check_opts(opts, wm_data_dim(data), err)) ||
        (st = wmi_alloc(&e, 1, sizeof *e, "model", err)))
        return st;
    e->info.dim = e->info.columns = wm_data_dim(data);
    e->info.finished = true;
    f = (fitting){.e = e, .opts = opts, .start = wm_clock(opts->control.sink)};
    f.rows.e = e;
    f.rows.seed = opts->control.seed;
    /* A Gaussian's waymarks are the same in both spaces, and so are the two ends of any noise:
     * here they cost no maps but that of the noise's own draws. */
    f.rows.pulls = opts->objective == WM_OBJECTIVE_DENOISE;
    f.rows.z_space =
        f.rows.pulls || (!opts->x_space && opts->noise != WM_NOISE_GAUSSIAN && opts->bridges > 1);
    if ((st = set_alphas(e, opts, err)) || (st = name_checkpoints(&f, err)) ||
        (st = cut_rows(&f, data, valid, err)) || (st = keep_schema(e, opts->schema, err)) ||
        (st = fit_transform(&f, err)) ||
        (st =
             wmi_transform_check(&e->transform, "validation", f.rows.n_valid, f.rows.valid, err)) ||
        (st = wmi_ebm_open(e, opts, err)) || (st = mean_jacobian(&f, err)) ||
        (st = wmi_ebm_rows_open(&f.rows, 4096, err)) || (st = fit_noise(&f, err)) ||
        (st = score(&f, false, err)) || (st = ask_all(&f, &stop, err)))
        goto done;
    if (stop)
        st = wmi_about(wmi_fail(err, WM_EINTERRUPTED, "stopped before the bridges%s",
                                opts->control.checkpoint ? ": the checkpoint is kept" : ""),
                       err, opts->control.checkpoint ? "resume" : NULL);
    else if (!(st = fit_bridges(&f, err)))
        st = score(&f, true, err);
    if (st)
        goto done;
    *out = e;
    e = NULL;
done:
    wmi_ebm_rows_close(&f.rows);
    wmi_free(f.own);
    wm_ebm_free(e);
    return st;
}

wm_status wm_ebm_fit(wm_ebm **out, const wm_data *data, const wm_data *valid,
                     const wm_ebm_opts *opts, wm_error *err)
{
    wm_ebm_opts o;
    wm_status st;
    int threads;

    *out = NULL;
    wm_ebm_opts_init(&o);
    if ((st = wmi_opts_take(&o, sizeof o, opts, "wm_ebm_opts_init", err)))
        return st;
    threads = wmi_threads_use(o.control.threads);
    st = fit(out, data, valid, &o, err);
    wmi_threads_restore(threads);
    return st;
}
