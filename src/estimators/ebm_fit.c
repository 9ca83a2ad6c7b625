/* ebm_fit.c - fitting an energy-based model: the noise by maximum likelihood, then the bridges from
 * the data to it, heads first where there is a network beside them. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "base/speak.h"
#include "base/sums.h"
#include "estimators/ebm_impl.h"
#include "estimators/filters.h"
#include "estimators/knots.h"
#include "train/trainer.h"

enum { LEAST_STEPS = 40 }; /* of the bridges between two evaluations */

#define NETWORKS (WM_EBM_MLP | WM_EBM_RESNET)

/* One fit and what it needs. */
typedef struct fitting {
    wm_ebm *e;
    const wm_ebm_opts *opts;
    wmi_ebm_rows rows;
    double *own;         /* (n, dim) rows of data in an order of ours, where they had to be cut */
    double jacobian;     /* mean log |det dy/dx| of the held-out rows */
    double noise_loglik; /* mean over the held-out rows the trainer watches, of y */
    double start;        /* clock */
    wm_ebm_stage stage;
    char path[WM_EBM_STAGES][512];
} fitting;

static double time_left(const fitting *f)
{
    const double left = f->opts->time_limit - (wmi_clock(f->opts->sink) - f->start);

    return f->opts->time_limit > 0 ? fmax(left, 0.001) : 0;
}

static bool stopped(const fitting *f)
{
    return f->opts->stop && *f->opts->stop;
}

/* The batch, steps, rate and averaging of a stage where the caller left them at 0. */
static wm_ebm_training training_of(const fitting *f, wm_ebm_stage stage)
{
    static const wm_ebm_training image[] = {
        [WM_EBM_STAGE_HEADS] = {.batch = 600, .iterations = 3000, .lr = 4e-3, .average = 0.99},
        [WM_EBM_STAGE_BRIDGES] = {.batch = 750, .iterations = 8000, .lr = 1e-3, .average = 0.99},
    };
    static const wm_ebm_training convolved = {
        .batch = 550, .iterations = 20000, .lr = 5e-4, .average = 0.999};
    static const wm_ebm_training table[] = {
        [WM_EBM_STAGE_HEADS] = {.batch = 1024, .iterations = 1000, .lr = 1e-2, .average = 0.99},
        [WM_EBM_STAGE_BRIDGES] = {.batch = 2048, .iterations = 5000, .lr = 2e-3, .average = 0.995},
    };
    wm_ebm_training t = f->opts->train[stage];

    if (stage != WM_EBM_STAGE_NOISE) {
        const bool convolves = stage == WM_EBM_STAGE_BRIDGES && f->e->net.terms & WM_EBM_RESNET;
        const wm_ebm_training *usual =
            convolves ? &convolved : (f->opts->height > 0 ? image : table) + stage;

        t.batch = t.batch ? t.batch : usual->batch;
        t.iterations = t.iterations ? t.iterations : usual->iterations;
        t.lr = t.lr > 0 ? t.lr : usual->lr;
        t.average = t.average > 0 ? t.average : usual->average;
    }
    return t;
}

/* Rows for training and for choosing the best step. */
static wm_status cut_rows(fitting *f, const wm_data *data, const wm_data *valid, wm_error *err)
{
    const int64_t n = wm_data_count(data), d = wm_data_dim(data);
    const double share = f->opts->held_out;
    const wmi_rng rng = wmi_rng_make(f->opts->seed, "ebm/held out");
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
    const wmi_rng rng = wmi_rng_make(f->opts->seed, "ebm/valid");
    const int64_t d = f->e->info.dim;
    double *u = NULL, *y = NULL, log_det;
    wmi_running_sum sum = {0};
    wm_status st;

    if ((st = wmi_alloc(&u, d, sizeof *u, "row", err)) ||
        (st = wmi_alloc(&y, d, sizeof *y, "row", err)))
        goto done;
    for (int64_t i = 0; i < r->n_valid; i++) {
        wmi_rng_uniform_f64(&rng, (uint64_t)(i * d), d, u);
        wmi_transform_rows(&f->e->transform, 1, r->valid + i * d, u, y, &log_det);
        wmi_sum_add(&sum, log_det);
    }
    f->jacobian = wmi_sum_value(&sum) / (double)r->n_valid;
done:
    wmi_free(y);
    wmi_free(u);
    return st;
}

static void report_noise(void *ctx, const wmi_likelihood_eval *v)
{
    const fitting *f = ctx;

    if (f->opts->on_eval)
        f->opts->on_eval(f->opts->ctx,
                         &(wm_ebm_progress){.stage = WM_EBM_STAGE_NOISE,
                                            .step = v->step,
                                            .train_loss = v->train + f->jacobian,
                                            .valid_loss = v->valid + f->jacobian,
                                            .direct = NAN,
                                            .seconds = wmi_clock(f->opts->sink) - f->start});
}

static void report_resume(void *ctx, int64_t step)
{
    const fitting *f = ctx;

    if (f->opts->on_resume)
        f->opts->on_resume(f->opts->ctx, f->stage, step);
}

/* Rows of training as the densities see them, in double, for the start of the noise. */
static wm_status start_noise(fitting *f, wm_error *err)
{
    enum { MOST = 50000 };
    wm_ebm *e = f->e;
    const int64_t d = e->info.dim, n = f->rows.n_train < MOST ? f->rows.n_train : MOST;
    const wmi_rng rng = wmi_rng_make(f->opts->seed, "ebm/start");
    double *y = NULL, *u = NULL;
    wm_status st;

    if ((st = wmi_alloc(&y, n * d, sizeof *y, "rows", err)) ||
        (st = wmi_alloc(&u, n * d, sizeof *u, "rows", err)))
        goto done;
    if (e->transform.levels > 0)
        wmi_rng_uniform_f64(&rng, 0, n * d, u);
    wmi_transform_rows(&e->transform, n, f->rows.train, u, y, NULL);
    st = wmi_noise_start(&e->noise, WMI_EBM_NOISE, e->noise_params, n, y, f->opts->seed,
                         e->noise_theta, err);
done:
    wmi_free(u);
    wmi_free(y);
    return st;
}

static wm_status fit_noise(fitting *f, wm_error *err)
{
    const wm_ebm_opts *o = f->opts;
    const wm_ebm_training t = training_of(f, WM_EBM_STAGE_NOISE);
    const wmi_rows_source source = wmi_ebm_noise_source(&f->rows);
    wm_ebm *e = f->e;
    wmi_likelihood_opts l;
    wmi_likelihood_result result = {0};
    wm_status st;

    f->stage = WM_EBM_STAGE_NOISE;
    if (o->noise_of) {
        memcpy(e->noise_theta, o->noise_of->noise_theta,
               (size_t)wmi_params_count(e->noise_params) * sizeof *e->noise_theta);
        return WM_OK;
    }
    if ((st = start_noise(f, err)) || wmi_noise_is_closed(&e->noise) || t.iterations < 0)
        return st;
    wmi_likelihood_opts_init(&l, e->noise.kind);
    l.batch = t.batch > 0 ? t.batch : l.batch;
    l.iterations = t.iterations > 0 ? t.iterations : l.iterations;
    l.lr = t.lr > 0 ? t.lr : l.lr;
    l.average = t.average > 0 ? t.average : l.average;
    l.seed = o->seed;
    l.time_limit = time_left(f);
    l.checkpoint = o->checkpoint ? f->path[WM_EBM_STAGE_NOISE] : NULL;
    l.checkpoint_seconds = o->checkpoint_seconds;
    l.resume = o->resume;
    l.sink = o->sink;
    l.stop = o->stop;
    l.on_eval = report_noise;
    l.on_resume = report_resume;
    l.on_eval_ctx = f;
    wmi_say(o->sink, WM_LOG_INFO,
            "noise: %" PRId64 " parameters, %" PRId64 " steps of %" PRId64 " rows",
            wmi_params_count(e->noise_params), l.iterations, l.batch);
    if ((st = wmi_likelihood_fit(&e->noise, WMI_EBM_NOISE, e->noise_params, &source, &l,
                                 e->noise_theta, &result, err)))
        return st;
    e->info.steps[WM_EBM_STAGE_NOISE] = result.steps;
    e->info.seconds[WM_EBM_STAGE_NOISE] = result.seconds;
    e->info.finished = e->info.finished && result.finished;
    return WM_OK;
}

/* The noise's log-likelihood of the validation rows: what the direct likelihood of phi starts at.
 */
static wm_status score_noise(fitting *f, wm_error *err)
{
    const wmi_ebm_rows *r = &f->rows;
    const int64_t d = f->e->info.dim, n = r->n_valid;
    const wmi_rows_source source = wmi_ebm_noise_source(&f->rows);
    wmi_row_map density = {0};
    float *y = NULL;
    double *log_q = NULL;
    wm_status st;

    if ((st = wmi_alloc(&y, n * d, sizeof *y, "rows", err)) ||
        (st = wmi_alloc(&log_q, n, sizeof *log_q, "densities", err)) ||
        (st = wmi_row_map_open(&density, f->e, WMI_MAP_DENSITY, WMI_F32, 128, err)))
        goto done;
    source.valid(source.ctx, 0, n, y);
    if ((st = wmi_row_map_run(&density, n, WMI_F32, y, NULL, log_q, err)))
        goto done;
    f->noise_loglik = wmi_sum_f64(log_q, n) / (double)n;
    f->e->info.noise_loglik = f->noise_loglik + f->jacobian;
done:
    wmi_row_map_close(&density);
    wmi_free(log_q);
    wmi_free(y);
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

        source.train(source.ctx, first / f->rows.capacity, count, x + first * d,
                     x + (n + first) * d);
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

static void take_bridges(wm_ebm *e, const wmi_bridge_eval *v)
{
    for (int64_t k = 0; k < e->info.bridges; k++) {
        e->bridges[k].loss = v[k].loss;
        e->bridges[k].accuracy = v[k].accuracy;
        e->bridges[k].mean_log_ratio = v[k].mean_log_ratio;
    }
}

static void report_bridges(void *ctx, const wmi_train_eval *v)
{
    fitting *f = ctx;

    f->e->info.direct = f->e->info.noise_loglik + v->kl;
    take_bridges(f->e, v->bridges);
    if (f->opts->on_eval)
        f->opts->on_eval(f->opts->ctx,
                         &(wm_ebm_progress){.stage = f->stage,
                                            .step = v->step,
                                            .train_loss = v->train_loss,
                                            .valid_loss = v->valid_loss,
                                            .direct = f->e->info.direct,
                                            .seconds = wmi_clock(f->opts->sink) - f->start,
                                            .n_bridges = f->e->info.bridges,
                                            .bridges = f->e->bridges});
}

/* Trajectories of a Gaussian's own space cost nothing; those of others pass through a map. */
static bool spreads(const wm_ebm_opts *o)
{
    return o->spread > 0 || (o->spread == 0 && o->height > 0 && o->noise == WM_NOISE_GAUSSIAN &&
                             o->objective != WM_OBJECTIVE_MULTINOMIAL);
}

/* Trains a model with the terms of a stage; theta (of params) holds the start and gets the best. */
static wm_status train_stage(fitting *f, const wmi_model *net, const wmi_params *params,
                             const wm_chain *chain, float *theta, wm_error *err)
{
    static const wmi_objective objectives[] = {
        [WM_OBJECTIVE_LOGISTIC] = WMI_LOGISTIC,
        [WM_OBJECTIVE_NWJ] = WMI_NWJ,
        [WM_OBJECTIVE_LSQ] = WMI_LSQ,
        [WM_OBJECTIVE_MULTINOMIAL] = WMI_MULTINOMIAL,
    };
    const wm_ebm_opts *o = f->opts;
    const wm_ebm_training t = training_of(f, f->stage);
    const wmi_source source = wmi_ebm_bridge_source(&f->rows);
    wmi_train_opts w;
    wmi_train_result result;
    wmi_bridge_eval *last = NULL;
    wm_status st = wmi_alloc(&last, f->e->info.bridges, sizeof *last, "evaluation", err);

    if (st)
        return st;
    wmi_train_opts_init(&w);
    w.objective = objectives[o->objective];
    w.form = spreads(o) ? WMI_BATCH_SPREAD : WMI_BATCH_COUPLED;
    w.batch = t.batch;
    w.iterations = t.iterations;
    w.lr = t.lr;
    w.average = t.average;
    w.warmup = (int64_t)(o->warmup * (double)t.iterations);
    w.weight_decay = o->weight_decay;
    w.max_valid_batches = 16;
    /* An evaluation takes the time of some eight steps: short fits get few. */
    w.eval_every = t.iterations / 25 > LEAST_STEPS ? t.iterations / 25 : LEAST_STEPS;
    w.start = theta;
    w.knots = f->e->knots;
    w.filter = f->e->filter;
    w.seed = o->seed;
    w.time_limit = time_left(f);
    w.checkpoint = o->checkpoint ? f->path[f->stage] : NULL;
    w.checkpoint_seconds = o->checkpoint_seconds;
    w.resume = o->resume;
    w.sink = o->sink;
    w.stop = o->stop;
    w.on_eval = report_bridges;
    w.on_resume = report_resume;
    w.on_eval_ctx = f;
    if (f->e->info.bridges == 1)
        w.saturated = 0; /* one classifier between data and noise saturates: that is the point */
    if ((st = wmi_train(net, params, chain, &source, &w, theta, last, &result, err)))
        goto done;
    if (f->rows.st) {
        if (err)
            *err = f->rows.failure;
        st = f->rows.st;
        goto done;
    }
    f->e->info.steps[f->stage] = result.steps;
    f->e->info.seconds[f->stage] = result.seconds;
    f->e->info.finished = f->e->info.finished && result.stop == WMI_STOP_DONE;
    take_bridges(f->e, last);
    if (result.stop == WMI_STOP_SATURATED)
        wmi_say(o->sink, WM_LOG_WARN,
                "bridge %" PRId64 " classifies perfectly, so it does not learn its ratio: use more "
                "bridges",
                result.saturated_bridge);
done:
    wmi_free(last);
    return st;
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

    f->stage = WM_EBM_STAGE_HEADS;
    heads.terms &= ~NETWORKS;
    if (!heads.terms || !(e->net.terms & NETWORKS) || training_of(f, f->stage).iterations < 0)
        return WM_OK;
    if ((st = wmi_params_new(&params, err)) || (st = wmi_model_declare(params, "", &heads, err)) ||
        (st = wmi_alloc(&theta, wmi_params_count(params), sizeof *theta, "parameters", err)))
        goto done;
    wmi_params_init(params, f->opts->seed, WMI_F32, theta);
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
    wm_status st;

    if ((st = wmi_ebm_rows_map(&f->rows, err)) || (st = place_knots(f, err)) ||
        (st = wm_chain_new(&chain, e->info.bridges, &e->alphas, e->info.dim, NULL, err)))
        return st;
    wmi_params_init(e->params, f->opts->seed, WMI_F32, e->theta);
    if (!(st = fit_heads(f, chain, err)) && !stopped(f)) {
        f->stage = WM_EBM_STAGE_BRIDGES;
        if (training_of(f, f->stage).iterations > 0)
            st = train_stage(f, &e->net, e->params, chain, e->theta, err);
    } else {
        e->info.finished = false;
    }
    wm_chain_free(chain);
    return st;
}

static wm_status set_alphas(wm_ebm *e, const wm_ebm_opts *o, wm_error *err)
{
    wm_spacing s = o->spacing;

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
    const char *path = f->opts->checkpoint, *dot = path ? strrchr(path, '.') : NULL;

    if (!path)
        return WM_OK;
    if (strlen(path) > sizeof f->path[0] - 8)
        return wmi_fail(err, WM_EINVAL, "the path of the checkpoint is too long: %.100s...", path);
    if (!dot || strchr(dot, '/'))
        dot = path + strlen(path);
    for (int s = 0; s < WM_EBM_STAGES; s++)
        snprintf(f->path[s], sizeof f->path[s], "%.*s%s%s", (int)(dot - path), path, words[s], dot);
    return WM_OK;
}

/* The transform from the rows, or the one that another model's noise was fitted behind. */
static wm_status fit_transform(fitting *f, wm_error *err)
{
    const wm_ebm_opts *o = f->opts;
    const wmi_ebm_rows *r = &f->rows;
    const int64_t dim = f->e->info.dim;
    wmi_transform *t = &f->e->transform;
    wm_status st;

    if (!o->noise_of)
        return wmi_transform_fit(t, o->levels, o->logit, o->standardize, r->n_train, dim, r->train,
                                 o->seed, err);
    if ((st = wmi_transform_new(t, o->noise_of->transform.levels, o->noise_of->transform.lambda,
                                dim, err)))
        return st;
    memcpy(t->shift, o->noise_of->transform.shift, (size_t)dim * sizeof *t->shift);
    memcpy(t->scale, o->noise_of->transform.scale, (size_t)dim * sizeof *t->scale);
    return wmi_transform_check(t, "data", r->n_train, r->train, err);
}

static wm_status check_opts(const wm_ebm_opts *o, int64_t dim, wm_error *err)
{
    if (o->noise_of && (o->noise_of->info.dim != dim || o->noise_of->info.noise != o->noise))
        return wmi_fail(err, WM_EINVAL, "the noise of a model of another kind or width");
    if (o->height > 0 && o->height * o->width * o->channels != dim)
        return wmi_fail(err, WM_ESHAPE,
                        "images of %" PRId64 " x %" PRId64 " x %" PRId64 " have %" PRId64
                        " values, the rows %" PRId64,
                        o->height, o->width, o->channels, o->height * o->width * o->channels, dim);
    if (o->bridges < 1)
        return wmi_fail(err, WM_EINVAL, "%" PRId64 " bridges: at least 1 is needed", o->bridges);
    return WM_OK;
}

wm_status wm_ebm_fit(wm_ebm **out, const wm_data *data, const wm_data *valid,
                     const wm_ebm_opts *opts, wm_error *err)
{
    wm_ebm_opts usual;
    wm_ebm *e = NULL;
    fitting f = {0};
    wm_status st;

    *out = NULL;
    if (!opts) {
        wm_ebm_opts_init(&usual);
        opts = &usual;
    }
    if ((st = check_opts(opts, wm_data_dim(data), err)) ||
        (st = wmi_alloc(&e, 1, sizeof *e, "model", err)))
        return st;
    e->info.dim = wm_data_dim(data);
    e->info.finished = true;
    f = (fitting){.e = e, .opts = opts, .start = wmi_clock(opts->sink)};
    f.rows.e = e;
    f.rows.seed = opts->seed;
    /* A Gaussian's waymarks are the same in both spaces, and so are the two ends of any noise:
     * here they cost no maps but that of the noise's own draws. */
    f.rows.z_space = !opts->x_space && opts->noise != WM_NOISE_GAUSSIAN && opts->bridges > 1;
    if ((st = set_alphas(e, opts, err)) || (st = name_checkpoints(&f, err)) ||
        (st = cut_rows(&f, data, valid, err)) || (st = fit_transform(&f, err)) ||
        (st =
             wmi_transform_check(&e->transform, "validation", f.rows.n_valid, f.rows.valid, err)) ||
        (st = wmi_ebm_open(e, opts, err)) || (st = mean_jacobian(&f, err)) ||
        (st = wmi_ebm_rows_open(&f.rows, 4096, err)) || (st = fit_noise(&f, err)) ||
        (st = score_noise(&f, err)))
        goto done;
    e->info.direct = e->info.noise_loglik;
    if (stopped(&f))
        st = wmi_fail(err, WM_EINTERRUPTED, "stopped before the bridges%s",
                      opts->checkpoint ? ": --resume goes on from here" : "");
    else
        st = fit_bridges(&f, err);
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
