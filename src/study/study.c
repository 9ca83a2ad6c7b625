/* study.c - wm_study: from two tables to an answer. Model and waymarks are found by study_search.c,
 * the checks are those of study_checks.c. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/opts.h"
#include "base/rng.h"
#include "base/sums.h"
#include "study/study_impl.h"
#include "waymark/sink.h"

void wm_study_opts_init(wm_study_opts *opts)
{
    *opts = (wm_study_opts){
        .struct_size = sizeof *opts,
        .max_bridges = 30,
        .bridges = WM_AUTO,
        .standardize = true,
        .folds = 5,
        .ensemble = 1,
        .width = 64,
        .blocks = 1,
        .adam = {.iterations = WM_AUTO,
                 .batch = 256,
                 .lr = WM_UNSET,
                 .average = 0.98,
                 .lr_constants = 1,
                 .weight_decay = 0.01,
                 .eval_every = WM_AUTO,
                 .patience = 8},
    };
    wm_spacing_init(&opts->spacing);
    wm_fit_control_init(&opts->control);
}

static wm_status check_opts(const wm_study_opts *o, wm_error *err)
{
    if (o->folds < 2 || o->folds > 100)
        return wmi_fail(err, WM_EINVAL, "%" PRId64 " folds: 2 to 100 are possible", o->folds);
    if (o->ensemble < 1 || o->ensemble > 100)
        return wmi_fail(err, WM_EINVAL, "an ensemble of %" PRId64 ": 1 to 100 are possible",
                        o->ensemble);
    if ((o->bridges != WM_AUTO && o->bridges < 1) || o->bridges > WM_ALPHAS_MAX - 1 ||
        o->max_bridges < 1 || o->max_bridges > WM_ALPHAS_MAX - 1)
        return wmi_fail(err, WM_EINVAL,
                        "%" PRId64 " bridges, at most %" PRId64 ": 1 to %d are possible",
                        o->bridges, o->max_bridges, WM_ALPHAS_MAX - 1);
    if (o->n_models < 0 || o->n_models > WM_STUDY_MAX_MODELS)
        return wmi_fail(err, WM_EINVAL, "%" PRId64 " candidates: at most %d are possible",
                        o->n_models, WM_STUDY_MAX_MODELS);
    return WM_OK;
}

/* ---- the answer ---- */

/* Weights among which most count: only then is their mean free of what large ones, too rare to be
 * in the sample, would add. */
static bool even(const wm_normaliser *n, int64_t rows)
{
    return n->pareto_k < 0.5 && n->ess >= 0.3 * (double)rows;
}

/* p = r q must integrate to one, but for rows that q cannot have, and so must q = p / r. An error
 * e(x) of log r with mean m and variance v moves log E_q[r] by m + v/2 and log E_p[1/r] by -m +
 * v/2: half their difference is m. Where both are sure and m is more than noise, log-ratios are
 * shifted by it, here and in the ratio (log r_0 = -(energy + c_0)). The other half, v/2, is the
 * noise of the fits and stays. The means are kept, as they are then. */
static wm_status renormalise(wm_study *s, double *shift, double *se, wm_error *err)
{
    const int q = s->pairs ? 0 : 1;
    const int64_t count = wmi_params_count(s->ratio->params);
    const int64_t c = wmi_params_find(s->ratio->params, "c")->offset;
    wm_normaliser *under_q = &s->info.under_q, *under_p = &s->info.under_p;
    wm_status st;

    *shift = *se = 0;
    if ((st = wmi_normaliser_of(under_q, s->data.n[q], s->trial.log_r[1], 1, err)) ||
        (st = wmi_normaliser_of(under_p, s->data.n[0], s->trial.log_r[0], -1, err)))
        return st;
    *shift = 0.5 * (under_q->log_mean - log1p(-s->info.lone_p) -
                    (under_p->log_mean - log1p(-s->info.lone_q)));
    *se = 0.5 * hypot(under_q->se, under_p->se);
    if (wmi_trial_counts(&s->trial, &s->data) || !even(under_q, s->data.n[q]) ||
        !even(under_p, s->data.n[0]) || fabs(*shift) < 2 * *se || s->data.weight[0] ||
        s->data.weight[q]) {
        *shift = *se = 0;
        return WM_OK;
    }
    under_q->log_mean -= *shift;
    under_p->log_mean += *shift;
    for (int t = 0; t < 2; t++)
        for (int64_t i = 0; i < s->data.n[s->pairs ? 0 : t]; i++)
            s->trial.log_r[t][i] -= *shift;
    for (int64_t i = 0; i < s->ratio->members; i++)
        s->ratio->theta[i * count + c] += *shift;
    return WM_OK;
}

/* The bridge that has taken up the constant is shown with it, as it stands in the ratio. Checks,
 * and the losses by which candidates were compared, are those of the fits. */
static void show_constant(wm_study *s, double shift)
{
    wmi_trial *t = &s->trial;

    for (int64_t i = 0; i < t->n_path; i++) {
        t->num[i] -= shift;
        t->den[i] -= shift;
    }
    for (int64_t j = 0; j <= t->m; j++)
        t->grid[j] -= shift;
    s->ratio->bridges[0] = wmi_trial_bridge(t, 0);
}

static wm_status put_in_order(wm_study *s, wm_error *err)
{
    for (int t = 0; t < 2; t++) {
        const int table = s->pairs ? 0 : t;
        const int64_t n = s->data.n[table];
        wm_status st = wmi_alloc(&s->log_r[t], n, sizeof *s->log_r[t], "log-ratios", err);

        if (st)
            return st;
        for (int64_t i = 0; i < n; i++)
            s->log_r[t][s->data.order[table][i]] = s->trial.log_r[t][i];
    }
    return WM_OK;
}

static void fill_info(wm_study *s, const wm_study_opts *o)
{
    wm_study_info *info = &s->info;
    const wmi_trial *t = &s->trial;
    const int q = s->pairs ? 0 : 1;

    info->dim = s->data.encoder.raw;
    info->bridges = t->m;
    info->folds = o->folds;
    info->members = s->ratio->members;
    info->n_p = s->data.n[0];
    info->n_q = s->data.n[q];
    info->n_train = t->fit[0]->info.n_train;
    info->n_test = s->data.n[0];
    info->model = t->model;
    info->alphas = t->alphas;
    info->linear_columns = s->data.linear;
    info->mixed_columns = s->data.blocks;
    info->whitened = t->whiten;
    info->train_loss = t->train_loss;
    info->test_loss = t->mean_loss;
    info->finished = t->finished;
}

static wm_status run(wm_study **out, const wm_data *p, const wm_data *q, const wm_schema *schema,
                     const wm_study_opts *opts, wm_error *err)
{
    const double start = wm_clock(opts->control.sink);
    wm_study *s = NULL;
    double shift, norm_se;
    wm_status st;

    if ((st = check_opts(opts, err)) || (st = wmi_alloc(&s, 1, sizeof *s, "study", err)))
        return st;
    s->pairs = opts->pairs > 0;
    if ((st = wmi_study_data_new(&s->data, p, q, schema, opts, err)))
        goto done;
    if ((st = wmi_study_search(s, opts, err)) ||
        (st = wmi_trial_ratio(&s->ratio, &s->trial, &s->data, err)) ||
        (st = wmi_study_take_moments(s, opts, err)) || (st = wmi_study_use_moments(s, err)) ||
        (st = wmi_study_columns(s, p, q, schema, opts, err)) ||
        (st = wmi_heed(opts->control.stop, err)) || (st = renormalise(s, &shift, &norm_se, err)))
        goto done;
    fill_info(s, opts);
    if ((st = wmi_study_estimate(s, opts, shift, norm_se, err)) ||
        (st = wmi_study_widen_by_rivals(s, err)) || (st = put_in_order(s, err)) ||
        (st = wmi_heed(opts->control.stop, err)) || (st = wmi_study_shares(s, p, q, err)) ||
        (st = wmi_heed(opts->control.stop, err)) || (st = wmi_study_judge(s, p, opts, err)) ||
        (st = wmi_study_estimate_rest(s, opts, err)))
        goto done;
    show_constant(s, shift);
    wmi_ratio_judge(s->ratio, &s->checks);
    s->info.seconds = wm_clock(opts->control.sink) - start;
    *out = s;
    s = NULL; /* the caller's now */
done:
    wm_study_free(s);
    return st;
}

wm_status wm_study_run(wm_study **out, const wm_data *p, const wm_data *q, const wm_schema *schema,
                       const wm_study_opts *opts, wm_error *err)
{
    wm_study_opts o;
    wm_status st;
    int threads;

    *out = NULL;
    wm_study_opts_init(&o);
    if ((st = wmi_opts_take(&o, sizeof o, opts, "wm_study_opts_init", err)))
        return st;
    threads = wmi_threads_use(o.control.threads);
    st = run(out, p, q, schema, &o, err);
    wmi_threads_restore(threads);
    return st;
}

void wm_study_free(wm_study *s)
{
    if (!s)
        return;
    wmi_trial_free(&s->trial);
    wmi_study_data_free(&s->data);
    wm_ratio_free(s->ratio);
    wmi_free(s->log_r[0]);
    wmi_free(s->log_r[1]);
    wmi_free(s->lone[0]);
    wmi_free(s->lone[1]);
    wmi_free(s->contributions);
    wmi_free(s->column);
    wmi_arena_free(&s->arena);
    wm_moments_free(s->whole[0]);
    wm_moments_free(s->whole[1]);
    wmi_free(s);
}

void wm_study_get_info(const wm_study *s, wm_study_info *info)
{
    *info = s->info;
}

void wm_study_get_bridge(const wm_study *s, int64_t k, wm_bridge *bridge)
{
    *bridge = wmi_trial_bridge(&s->trial, k);
}

const wm_checks *wm_study_checks(const wm_study *s)
{
    return &s->checks;
}

int64_t wm_study_candidates(const wm_study *s)
{
    return s->n_candidates;
}

const wm_candidate *wm_study_candidate(const wm_study *s, int64_t i)
{
    return &s->candidate[i];
}

const double *wm_study_log_ratios(const wm_study *s, int side, int64_t *n)
{
    *n = s->data.n[s->pairs ? 0 : side];
    return s->log_r[side];
}

const double *wm_study_bridge_means(const wm_study *s)
{
    return s->trial.grid;
}

const double *wm_study_contributions(const wm_study *s)
{
    return s->contributions;
}

const wm_ratio *wm_study_ratio(const wm_study *s)
{
    return s->ratio;
}
