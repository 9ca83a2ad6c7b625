/* study_fit.c - one model on every fold: fits in parallel, one thread each. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <omp.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "base/sums.h"
#include "dist/comm.h"
#include "ratio/ratio_mixture.h"
#include "study/study_impl.h"
#include "waymark/sink.h"

enum {
    GROUPS = 20,       /* of the jackknife where fits cost nothing */
    PILOTS = 2,        /* folds on which a network is tried before it is fitted on all */
    PILOT_STEPS = 300, /* at most */
    LEAST_STEPS = 200, /* of a full training */
};

bool wmi_is_network(wm_ratio_model model)
{
    return model & (WM_RATIO_MLP | WM_RATIO_SEPARABLE);
}

bool wmi_keeps_members(wm_ratio_model model)
{
    return wmi_is_network(model) || model & WM_RATIO_MIXTURE;
}

void wmi_fold_rows(int64_t n, int64_t folds, int64_t f, int64_t *first, int64_t *count)
{
    *first = n * f / folds;
    *count = n * (f + 1) / folds - *first;
}

/* ---- rows of a fold ---- */

/* Rows of a fit, owned. */
typedef struct fold_rows {
    wmi_ratio_rows rows;
    double *own[2];
} fold_rows;

static void free_fold_rows(fold_rows *r)
{
    wmi_free(r->own[0]);
    wmi_free(r->own[1]);
}

/* Row numbers outside fold f; with weights as many, each as often as its weight wants (systematic
 * resampling, which keeps the counts within one of that), in random order. */
static void choose_rows(const wmi_study_data *data, int which, int64_t folds, int64_t f,
                        uint64_t seed, int64_t *list, int64_t *scratch)
{
    const int64_t n = data->n[which];
    const double *w = data->weight[which];
    int64_t first, count, at = 0, taken = 0;
    double sum = 0, reached = 0;

    wmi_fold_rows(n, folds, f, &first, &count);
    for (int64_t i = 0; i < n; i++)
        if (i < first || i >= first + count) {
            list[at++] = i;
            sum += w ? w[i] : 1;
        }
    if (!w)
        return;
    for (int64_t i = 0; i < at; i++) {
        reached += w[list[i]] * (double)at / sum;
        while (taken < at && (double)taken + 0.5 < reached)
            scratch[taken++] = list[i];
    }
    while (taken < at)
        scratch[taken++] = list[at - 1];
    const wmi_rng rng = wmi_rng_make(seed, which ? "resample/q" : "resample/p");
    int64_t *order = list; /* the list has served */

    wmi_rng_permutation(&rng, at, order);
    for (int64_t i = 0; i < at; i++)
        order[i] = scratch[order[i]];
}

/* Rows of table t that a fit of fold f trains on, and those that it looks at meanwhile. */
static void size_fold(const wmi_study_data *data, const wm_study_opts *opts, int t, int64_t f,
                      int64_t *n_train, int64_t *n_valid)
{
    int64_t first, count, rest;

    wmi_fold_rows(data->n[t], opts->folds, f, &first, &count);
    rest = data->n[t] - count;
    *n_valid = rest / 8 > 1 ? rest / 8 : 2;
    *n_train = rest - *n_valid;
}

static wm_status gather_fold(fold_rows *r, const wmi_study_data *data, const wm_study_opts *opts,
                             int64_t f, wm_error *err)
{
    const int64_t d = data->dim;
    int64_t *list = NULL, *scratch = NULL;
    wm_status st = WM_OK;

    r->rows = (wmi_ratio_rows){.dim = d,
                               .straight = data->straight,
                               .products = data->found.mixed,
                               .unmix = data->whitening.unmix,
                               .pairs = opts->pairs > 0,
                               .levels = data->levels,
                               .seed = opts->control.seed};
    for (int t = 0; !st && t < (opts->pairs ? 1 : 2); t++) {
        int64_t rest, n_valid, n_train;

        size_fold(data, opts, t, f, &n_train, &n_valid);
        rest = n_train + n_valid;
        if ((st = wmi_alloc(&list, rest, sizeof *list, "rows", err)) ||
            (st = wmi_alloc(&scratch, rest, sizeof *scratch, "rows", err)) ||
            (st = wmi_alloc(&r->own[t], rest * d, sizeof *r->own[t], "rows", err)))
            break;
        choose_rows(data, t, opts->folds, f, opts->control.seed, list, scratch);
        for (int64_t i = 0; i < rest; i++)
            memcpy(r->own[t] + i * d, data->x[t] + list[i] * d, (size_t)d * sizeof *r->own[t]);
        r->rows.n_valid[t] = n_valid;
        r->rows.n_train[t] = n_train;
        r->rows.valid[t] = r->own[t];
        r->rows.train[t] = r->own[t] + n_valid * d;
        wmi_free(scratch);
        wmi_free(list);
        scratch = list = NULL;
    }
    wmi_free(scratch);
    wmi_free(list);
    if (opts->pairs) {
        r->rows.n_train[1] = r->rows.n_train[0];
        r->rows.n_valid[1] = r->rows.n_valid[0];
        r->rows.train[1] = r->rows.train[0];
        r->rows.valid[1] = r->rows.valid[0];
    }
    return st;
}

/* ---- fitting ---- */

/* Floating-point operations of a step of the network, forward and back. */
static double step_cost(const wmi_trial *t, const wmi_study_data *data, const wm_study_opts *s,
                        int64_t rows)
{
    const double w = (double)s->width, d = (double)data->dim;

    return 12 * (double)(rows * t->m) * w * (2 * d + (2 * (double)s->blocks + 2) * w);
}

/* A hundred and fifty times through the data, 1000 to 8000 steps; of a candidate among others no
 * more than takes a hundred seconds of one core for all folds. A short trial gets a quarter of
 * that, and some four seconds a fold. */
static int64_t steps_for(const wmi_trial *t, const wmi_study_data *data, const wm_study_opts *s,
                         int64_t rows, int64_t n_train)
{
    const double cost = step_cost(t, data, s, rows);
    const double budget = (s->n_models == 1 ? 2e13 : 4e12) / (cost * (double)s->folds);
    const double want = fmin(fmax(150 * (double)n_train / (double)rows, 1000), 8000);
    const double all =
        s->adam.iterations > 0 ? (double)s->adam.iterations : fmax(fmin(want, budget), LEAST_STEPS);

    if (!t->brief)
        return (int64_t)all;
    return (int64_t)ceil(fmin(all / 4, fmax(fmin(1.5e11 / cost, PILOT_STEPS), LEAST_STEPS / 2.0)));
}

static wm_ratio_opts fit_opts(const wmi_trial *t, const wmi_study_data *data,
                              const wm_study_opts *s, int64_t n_train)
{
    wm_ratio_opts o;

    wm_ratio_opts_init(&o);
    o.model = t->model;
    o.squares = true;
    o.refine = t->refine;
    o.all_rows = true; /* the fold is there to judge by */
    o.objective = s->objective;
    o.optimizer = s->optimizer;
    o.adam = s->adam;
    o.adam.batch *= t->m + 1;
    o.adam.iterations = steps_for(t, data, s, s->adam.batch, n_train);
    if (o.adam.eval_every == WM_AUTO)
        o.adam.eval_every = o.adam.iterations / 20 > 0 ? o.adam.iterations / 20 : 1;
    if (!wm_is_set(o.adam.lr)) /* coefficients of splines, unlike weights, are log-ratios */
        o.adam.lr = t->model & (WM_RATIO_MLP | WM_RATIO_SEPARABLE) ? 3e-3 : 3e-2;
    o.width = s->width;
    o.blocks = s->blocks;
    o.stop_saturated = false;
    o.control = s->control;
    o.control.time_limit = 0; /* these are the study's, and set for each fold */
    o.control.checkpoint = NULL;
    o.control.on_eval = NULL;
    o.control.on_resume = NULL;
    o.control.comm = NULL; /* ranks share folds */
    o.pairs = s->pairs;
    o.columns = data->columns;
    return o;
}

/* Every member from the mixtures of all rows. */
static void start_mixture(wm_ratio *r, const wmi_study_data *data)
{
    for (int64_t i = 0; i < r->members; i++)
        for (int t = 0; t < 2; t++) {
            const wmi_mixture *from = &data->mixture[t];
            const wmi_mixture to = wmi_ratio_mixture(r, i, t);

            memcpy(to.weight, from->weight, (size_t)from->k * sizeof *to.weight);
            memcpy(to.mean, from->mean, (size_t)(from->k * from->d) * sizeof *to.mean);
            memcpy(to.root, from->root, (size_t)(from->k * from->d * from->d) * sizeof *to.root);
        }
}

/* A ratio of the trial's model with the study's encoder, without parameters yet. */
static wm_status new_ratio(wm_ratio **out, const wmi_trial *t, const wmi_study_data *data,
                           const wm_ratio_opts *o, int64_t members, wm_error *err)
{
    wm_ratio *r = NULL;
    wm_status st;

    *out = NULL;
    if ((st = wmi_alloc(&r, 1, sizeof *r, "ratio", err)))
        return st;
    wmi_ratio_take_opts(r, o);
    r->alphas = t->alphas;
    r->members = members;
    for (int s = 0; s < 2; s++)
        r->components[s] = data->mixture[s].k;
    if ((st = wmi_encoder_copy(&r->encoder, &data->encoder, err)) ||
        (st = wmi_alloc(&r->columns, data->dim, sizeof *r->columns, "columns", err)))
        goto failed;
    memcpy(r->columns, data->columns, (size_t)data->dim * sizeof *r->columns);
    if (t->whiten) {
        if ((st = wmi_alloc(&r->mix, data->dim * data->dim, sizeof *r->mix, "whitening", err)))
            goto failed;
        memcpy(r->mix, data->whitening.mix, (size_t)(data->dim * data->dim) * sizeof *r->mix);
    }
    if ((st = wmi_ratio_open(r, err)) ||
        (st = wmi_ratio_place_knots(r, data->n, (const double *const[]){data->x[0], data->x[1]},
                                    err)))
        goto failed;
    if (t->model & WM_RATIO_MIXTURE)
        start_mixture(r, data);
    *out = r;
    return WM_OK;
failed:
    wm_ratio_free(r);
    return st;
}

/* Evaluations of a fit, told as those of the study. */
typedef struct watcher {
    const wm_fit_control *to;
    wm_ratio_model model;
    int64_t round;
    bool asked; /* to leave */
} watcher;

static int watch_eval(void *ctx, const wm_evaluation *e)
{
    watcher *w = ctx;
    wm_evaluation own = *e;

    own.round = w->round;
    own.model = w->model;
    w->asked = w->to->on_eval(w->to->ctx, &own) != 0;
    return w->asked;
}

static int64_t members_of(const wmi_trial *t, const wm_study_opts *s)
{
    return wmi_is_network(t->model) ? s->ensemble : 1;
}

/* Fold f: an ensemble of fits, as the members of one ratio. */
static wm_status fit_fold(wmi_trial *t, const wmi_study_data *data, const wm_study_opts *s,
                          const fold_rows *rows, int64_t f, int64_t round, const wm_sink *sink,
                          wm_error *err)
{
    wm_ratio_opts o = fit_opts(t, data, s, rows->rows.n_train[0]);
    const bool network = wmi_is_network(t->model);
    const int64_t members = members_of(t, s);
    wm_ratio *one = NULL;
    char path[4096], model[WMI_MODEL_TEXT];
    wm_status st;

    watcher watch = {&s->control, t->model, round, false};

    if ((st = wmi_ratio_check_opts(&o, err)) ||
        (st = new_ratio(&t->fit[f], t, data, &o, members, err)))
        return st;
    o.control.sink = sink;
    if (s->control.on_eval && f == 0 && !t->brief) { /* the caller's thread */
        o.control.on_eval = watch_eval;
        o.control.ctx = &watch;
    }
    if (s->control.time_limit > 0) { /* fits of this thread, with something left for scoring */
        const int64_t threads = omp_get_num_threads(),
                      own = wmi_comm_own(s->control.comm, s->folds);

        o.control.time_limit =
            0.6 * s->control.time_limit / (double)((own + threads - 1) / threads * members);
    }
    for (int64_t e = 0; e < members; e++) {
        if (s->control.checkpoint && network) {
            snprintf(path, sizeof path, "%s%" PRId64 "-%s-%" PRId64 "-%" PRId64 ".safetensors",
                     s->control.checkpoint, round,
                     wm_ratio_model_text(t->model, model, sizeof model), f, e);
            o.control.checkpoint = path;
        }
        o.control.seed = s->control.seed + (uint64_t)e;
        if ((st = new_ratio(&one, t, data, &o, 1, err)) ||
            (st = wmi_ratio_fit_rows(one, &rows->rows, &o, err)))
            break;
        if (watch.asked) {
            st = wmi_fail(err, WM_EINTERRUPTED, "stopped on request");
            break;
        }
        memcpy(t->fit[f]->theta + e * wmi_params_count(one->params), one->theta,
               (size_t)wmi_params_count(one->params) * sizeof *one->theta);
        t->fit[f]->info = one->info;
        t->fit[f]->info.members = members;
        wm_ratio_free(one);
        one = NULL;
    }
    wm_ratio_free(one);
    return st;
}

/* ---- the folds together ---- */

static wm_status new_trial(wmi_trial *t, const wmi_study_data *data, const wm_study_opts *s,
                           wm_error *err)
{
    const int64_t m = t->m;
    wm_status st;

    t->n_path = wmi_trial_path_rows(t, data, s) * t->scored;
    if ((st = wmi_alloc(&t->fit, s->folds, sizeof(wm_ratio *), "fits", err)) ||
        (st = wmi_alloc(&t->num, m * t->n_path, sizeof *t->num, "scores", err)) ||
        (st = wmi_alloc(&t->den, m * t->n_path, sizeof *t->den, "scores", err)) ||
        (st = wmi_alloc(&t->loss, t->n_path, sizeof *t->loss, "losses", err)) ||
        (st = wmi_alloc(&t->grid, m * (m + 1), sizeof *t->grid, "grid", err)))
        return st;
    for (int w = 0; w < 2; w++)
        if ((st = wmi_alloc(&t->log_r[w], data->n[s->pairs ? 0 : w], sizeof *t->log_r[w],
                            "log-ratios", err)) ||
            (st = wmi_alloc(&t->without[w], s->folds, sizeof *t->without[w], "folds", err)) ||
            (st = wmi_alloc(&t->beyond[w], m, sizeof *t->beyond[w], "bridges", err)))
            return st;
    return WM_OK;
}

void wmi_trial_free(wmi_trial *t)
{
    for (int64_t f = 0; t->fit && f < t->folds; f++)
        wm_ratio_free(t->fit[f]);
    wmi_free(t->fit);
    wmi_free(t->num);
    wmi_free(t->den);
    wmi_free(t->loss);
    wmi_free(t->grid);
    for (int w = 0; w < 2; w++) {
        wmi_free(t->log_r[w]);
        wmi_free(t->without[w]);
        wmi_free(t->beyond[w]);
    }
    *t = (wmi_trial){0};
}

/* Progress of the fits of one thread as that of all. */
typedef struct relay {
    wm_sink sink;
    const wm_sink *to;
    double share, before; /* fits of this thread in all, and those that are done */
    char name[WMI_MODEL_TEXT];
} relay;

static void relay_progress(void *ctx, const wm_progress *p)
{
    const relay *r = ctx;
    char text[160];
    wm_progress all = *p;
    const double left =
        (double)(p->total - p->done) + (r->share - r->before - 1) * (double)p->total;

    if (!r->to->progress || p->total < 1)
        return;
    snprintf(text, sizeof text, "%s, %s", r->name, p->message);
    all.message = text;
    all.total = (int64_t)(r->share * (double)p->total);
    all.done = (int64_t)(r->before * (double)p->total) + p->done;
    all.eta = p->rate > 0 ? left / p->rate : NAN;
    r->to->progress(r->to->ctx, &all);
}

/* Fold f from rows to scores. */
typedef struct fold_result {
    wm_status st;
    wm_error err;
    wmi_fold_score score;
} fold_result;

static void run_fold(wmi_trial *t, const wmi_study_data *data, const wm_study_opts *s,
                     const wm_chain *chain, int64_t f, int64_t round, const wm_sink *sink,
                     fold_result *out)
{
    fold_rows rows = {0};
    wm_error *err = &out->err;

    if (!(out->st = wmi_heed(s->control.stop, err)) &&
        !(out->st = gather_fold(&rows, data, s, f, err)) &&
        !(out->st = fit_fold(t, data, s, &rows, f, round, sink, err)) &&
        (t->brief || !(out->st = wmi_trial_score_ends(t, data, s, chain, f, err))))
        out->st = wmi_trial_score_fold(t, data, s, chain, f, &out->score, err);
    free_fold_rows(&rows);
}

/* Every rank hears how the folds of the others went; the lowest fold's failure is reported. */
static wm_status agree_on_folds(wm_comm *comm, int64_t folds, fold_result *result, wm_error *err)
{
    wm_status st = WM_OK;

    for (int64_t f = 0; f < folds && !st; f++)
        st = wmi_comm_tell(comm, wmi_comm_owner(comm, f), &result[f].st, &result[f].err, err);
    for (int64_t f = 0; f < folds && !st; f++)
        if ((st = result[f].st) && err)
            *err = result[f].err;
    return st;
}

/* Fold f, which its owner has fitted and scored, to all ranks. */
static wm_status share_fold(wmi_trial *t, const wmi_study_data *data, const wm_study_opts *s,
                            int64_t f, fold_result *result, wm_error *err)
{
    wm_comm *comm = s->control.comm;
    const int64_t owner = wmi_comm_owner(comm, f), m = t->m, n = t->n_path / t->scored;
    const size_t real = sizeof(double);
    wm_ratio *fit;
    wm_status st;

    if (owner != wm_comm_rank(comm)) {
        int64_t n_train, n_valid;
        wm_ratio_opts o;

        size_fold(data, s, 0, f, &n_train, &n_valid);
        o = fit_opts(t, data, s, n_train);
        if ((st = new_ratio(&t->fit[f], t, data, &o, members_of(t, s), err)))
            return st;
    }
    fit = t->fit[f];
    const wmi_piece piece[] = {
        {fit->theta, (size_t)(fit->members * wmi_params_count(fit->params)) * real},
        {&fit->info, sizeof fit->info},
        {fit->bridges, (size_t)m * sizeof *fit->bridges},
        {t->loss + f * n, (size_t)n * real},
        {result->score.grid, (size_t)(m * (m + 1)) * real},
        {result->score.beyond, (size_t)(2 * m) * real},
        {&result->score.train, real},
    };

    st = wmi_comm_send(comm, owner, piece, sizeof piece / sizeof *piece, err);
    for (int64_t k = 0; k < m && !st; k++)
        st = wmi_comm_send(comm, owner,
                           (wmi_piece[]){{t->num + k * t->n_path + f * n, (size_t)n * real},
                                         {t->den + k * t->n_path + f * n, (size_t)n * real}},
                           2, err);
    for (int w = 0; w < 2 && !st && !t->brief; w++) {
        int64_t first, count;

        wmi_fold_rows(data->n[s->pairs ? 0 : w], s->folds, f, &first, &count);
        st = wmi_comm_send(
            comm, owner,
            (wmi_piece[]){{t->log_r[w] + first, (size_t)count * real}, {&t->without[w][f], real}},
            2, err);
    }
    return st;
}

static void collect(wmi_trial *t, const fold_result *result)
{
    const int64_t m = t->m;
    const double part = 1 / (double)t->folds;

    t->finished = true;
    for (int64_t f = 0; f < t->folds; f++) {
        t->train_loss += part * result[f].score.train;
        t->finished = t->finished && t->fit[f]->info.finished;
        for (int64_t i = 0; i < m * (m + 1); i++)
            t->grid[i] += part * result[f].score.grid[i];
        for (int64_t k = 0; k < m; k++)
            for (int w = 0; w < 2; w++)
                t->beyond[w][k] += part * result[f].score.beyond[2 * k + w];
    }
    t->mean_loss = wmi_moments_f64(t->loss, t->n_path).mean;
}

bool wmi_trial_only_moments(const wmi_trial *t)
{
    int64_t refined = 0;

    if (t->model & (WM_RATIO_ADDITIVE | WM_RATIO_MIXTURE))
        return false;
    for (int64_t f = 0; f < t->folds; f++) {
        if (!t->fit[f]->info.convex)
            return false;
        refined += t->fit[f]->info.refined;
    }
    return 10 * refined <= t->folds * t->m;
}

bool wmi_trial_counts(const wmi_trial *t, const wmi_study_data *data)
{
    return data->levels && t->model == WM_RATIO_QUADRATIC && t->m == 1 && t->fit[0]->info.convex;
}

wm_status wmi_trial_finer_jackknife(wmi_trial *t, const wmi_study_data *data,
                                    const wm_study_opts *opts, wm_error *err)
{
    wm_comm *comm = opts->control.comm;
    wm_study_opts o = *opts;
    wmi_trial fine = {.model = t->model, .alphas = t->alphas, .m = t->m};
    fold_result result[GROUPS] = {{0}};
    wm_chain *chain = NULL;
    wm_status st;

    for (int which = 0; which < (opts->pairs ? 1 : 2); which++)
        if (data->n[which] < 4 * GROUPS)
            return WM_OK;
    fine.folds = fine.n_without = fine.scored = o.folds = GROUPS;
    if ((st = new_trial(&fine, data, &o, err)) ||
        (st = wm_chain_new(&chain, t->m, &t->alphas, data->dim, data->columns, err)))
        goto done;
#pragma omp parallel
    {
        omp_set_num_threads(1);
#pragma omp for schedule(static, 1)
        for (int64_t i = 0; i < wmi_comm_own(comm, GROUPS); i++) {
            const int64_t g = wm_comm_rank(comm) + i * wm_comm_size(comm);
            fold_rows rows = {0};
            wm_error *own = &result[g].err;

            if (!(result[g].st = gather_fold(&rows, data, &o, g, own)) &&
                !(result[g].st = fit_fold(&fine, data, &o, &rows, g, 0, NULL, own)))
                result[g].st = wmi_trial_score_ends(&fine, data, &o, chain, g, own);
            free_fold_rows(&rows);
        }
    }
    st = agree_on_folds(comm, GROUPS, result, err);
    for (int64_t g = 0; g < GROUPS && !st; g++) {
        const wmi_piece piece[] = {{&fine.without[0][g], sizeof(double)},
                                   {&fine.without[1][g], sizeof(double)}};

        st = wmi_comm_send(comm, wmi_comm_owner(comm, g), piece, 2, err);
    }
    for (int which = 0; which < 2 && !st; which++) {
        double *const coarse = t->without[which];

        t->without[which] = fine.without[which];
        fine.without[which] = coarse;
        t->n_without = GROUPS;
    }
done:
    wm_chain_free(chain);
    wmi_trial_free(&fine);
    return st;
}

/* Results of `folds` folds, in one store. */
static wm_status new_results(fold_result **result, double **store, int64_t folds, int64_t m,
                             wm_error *err)
{
    wm_status st;

    if ((st = wmi_alloc(result, folds, sizeof **result, "folds", err)) ||
        (st = wmi_alloc(store, folds * m * (m + 3), sizeof **store, "folds", err)))
        return st;
    for (int64_t f = 0; f < folds; f++) {
        (*result)[f].score.grid = *store + f * m * (m + 3);
        (*result)[f].score.beyond = (*result)[f].score.grid + m * (m + 1);
    }
    return WM_OK;
}

/* The first `folds` folds, each by its rank and there in parallel, one thread each. */
static wm_status run_folds(wmi_trial *t, const wmi_study_data *data, const wm_study_opts *opts,
                           const wm_chain *chain, int64_t folds, int64_t round, fold_result *result,
                           wm_error *err)
{
    wm_comm *comm = opts->control.comm;
    const int64_t ours = wmi_comm_own(comm, folds);
    wm_status st;

#pragma omp parallel num_threads((int)(ours < 1                       ? 1                          \
                                       : ours < omp_get_max_threads() ? ours                       \
                                                                      : omp_get_max_threads()))
    {
        relay own = {.to = opts->control.sink, .share = ceil((double)ours / omp_get_num_threads())};
        const bool speaks = omp_get_thread_num() == 0 && opts->control.sink;

        if (speaks) {
            own.sink = *opts->control.sink;
            own.sink.ctx = &own;
            own.sink.log = NULL;
            own.sink.clock = NULL;
            own.sink.progress = relay_progress;
            (void)wm_ratio_model_text(t->model, own.name, sizeof own.name);
        }
        omp_set_num_threads(1); /* a fold of its own rank has the same bits */
#pragma omp for schedule(static, 1)
        for (int64_t i = 0; i < ours; i++) {
            const int64_t f = wm_comm_rank(comm) + i * wm_comm_size(comm);

            run_fold(t, data, opts, chain, f, round, speaks ? &own.sink : NULL, &result[f]);
            own.before++;
        }
    }
    st = agree_on_folds(comm, folds, result, err);
    for (int64_t f = 0; f < folds && !st && comm; f++)
        st = share_fold(t, data, opts, f, &result[f], err);
    return st;
}

/* A trial that says what it is, from the first of its folds to scores; a full one is collected. */
static wm_status complete(wmi_trial *t, const wmi_study_data *data, const wm_study_opts *opts,
                          int64_t round, wm_error *err)
{
    const double start = wm_clock(opts->control.sink);
    fold_result *result = NULL;
    double *store = NULL;
    wm_chain *chain = NULL;
    wm_status st;

    if ((st = new_trial(t, data, opts, err)) ||
        (st = wm_chain_new(&chain, t->m, &t->alphas, data->dim, data->columns, err)) ||
        (st = new_results(&result, &store, t->scored, t->m, err)) ||
        (st = run_folds(t, data, opts, chain, t->scored, round, result, err)))
        goto done;
    if (t->brief)
        t->mean_loss = wmi_moments_f64(t->loss, t->n_path).mean;
    else
        collect(t, result);
    t->seconds = wm_clock(opts->control.sink) - start;
done:
    wm_chain_free(chain);
    wmi_free(store);
    wmi_free(result);
    if (st)
        wmi_trial_free(t);
    return st;
}

wm_status wmi_trial_pilot(wmi_trial *t, const wmi_study_data *data, const wm_study_opts *opts,
                          wm_ratio_model model, bool whiten, const wm_alphas *alphas, wm_error *err)
{
    wm_study_opts o = *opts;

    o.control.checkpoint = NULL;
    o.ensemble = 1;
    *t = (wmi_trial){.model = model,
                     .alphas = *alphas,
                     .m = alphas->bridges,
                     .folds = opts->folds,
                     .n_without = opts->folds,
                     .scored = PILOTS < opts->folds ? PILOTS : opts->folds,
                     .whiten = whiten,
                     .refine = true,
                     .brief = true};
    return complete(t, data, &o, 0, err);
}

wm_status wmi_trial_run(wmi_trial *t, const wmi_study_data *data, const wm_study_opts *opts,
                        wm_ratio_model model, bool whiten, const wm_alphas *alphas, int64_t round,
                        wm_error *err)
{
    *t = (wmi_trial){.model = model,
                     .alphas = *alphas,
                     .m = alphas->bridges,
                     .folds = opts->folds,
                     .n_without = opts->folds,
                     .scored = opts->folds,
                     .whiten = whiten,
                     .refine = true};
    return complete(t, data, opts, round, err);
}

/* The mean of fits that are linear in their parameters is one of them. */
wm_status wmi_trial_ratio(wm_ratio **out, wmi_trial *t, const wmi_study_data *data, wm_error *err)
{
    const wm_ratio *first = t->fit[0];
    const bool all = wmi_keeps_members(t->model);
    const int64_t count = wmi_params_count(first->params), each = first->members;
    wm_ratio *r;
    wm_ratio_opts o;
    wm_status st;

    wm_ratio_opts_init(&o);
    o.model = t->model;
    o.squares = first->squares;
    o.width = first->width;
    o.blocks = first->blocks;
    o.pairs = first->pairs;
    o.control.seed = first->seed;
    if ((st = new_ratio(&r, t, data, &o, all ? t->folds * each : 1, err)))
        return st;
    for (int64_t f = 0; f < t->folds; f++)
        for (int64_t i = 0; i < each * count; i++)
            if (all)
                r->theta[f * each * count + i] = t->fit[f]->theta[i];
            else
                r->theta[i] += t->fit[f]->theta[i] / (double)t->folds;
    r->info = first->info;
    r->info.members = r->members;
    r->info.held_out_loss = t->mean_loss;
    for (int64_t k = 0; k < t->m; k++)
        r->bridges[k] = wmi_trial_bridge(t, k);
    if (data->schema && (st = wmi_alloc_text(&r->schema, data->schema, "schema", err))) {
        wm_ratio_free(r);
        return st;
    }
    *out = r;
    return WM_OK;
}
