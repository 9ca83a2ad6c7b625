/* study.c - wm_study: from two tables to an answer. Model and waymarks are found by study_search.c,
 * the checks are those of study_checks.c. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "base/speak.h"
#include "base/sums.h"
#include "estimators/intervals.h"
#include "estimators/study_impl.h"

enum {
    CONTRIBUTORS = 200, /* columns, at most, whose contribution is computed */
    CONTRIBUTION_ROWS = 500,
};

void wm_study_opts_init(wm_study_opts *opts)
{
    *opts = (wm_study_opts){
        .struct_size = sizeof *opts,
        .max_bridges = 30,
        .standardise = true,
        .folds = 5,
        .ensemble = 1,
        .width = 64,
        .blocks = 1,
        .seed = 1,
    };
    wm_spacing_init(&opts->spacing);
}

static wm_status check_opts(const wm_study_opts *o, wm_error *err)
{
    if (o->struct_size != sizeof *o)
        return wmi_fail(err, WM_EINVAL, "options were not made by wm_study_opts_init()");
    if (o->folds < 2 || o->folds > 100)
        return wmi_fail(err, WM_EINVAL, "%" PRId64 " folds: 2 to 100 are possible", o->folds);
    if (o->ensemble < 1 || o->ensemble > 100)
        return wmi_fail(err, WM_EINVAL, "an ensemble of %" PRId64 ": 1 to 100 are possible",
                        o->ensemble);
    if (o->bridges < 0 || o->bridges > WM_ALPHAS_MAX - 1 || o->max_bridges < 1 ||
        o->max_bridges > WM_ALPHAS_MAX - 1)
        return wmi_fail(err, WM_EINVAL,
                        "%" PRId64 " bridges, at most %" PRId64 ": 1 to %d are possible",
                        o->bridges, o->max_bridges, WM_ALPHAS_MAX - 1);
    if (o->n_models < 0 || o->n_models > WM_STUDY_MAX_MODELS)
        return wmi_fail(err, WM_EINVAL, "%" PRId64 " candidates: at most %d are possible",
                        o->n_models, WM_STUDY_MAX_MODELS);
    return WM_OK;
}

/* ---- the answer ---- */

/* How much KL(p, q) falls when rows of p get column j from rows of q. */
static wm_status find_contributions(wm_study *s, const wm_data *p, const wm_data *q, wm_error *err)
{
    const int64_t raw = wm_data_dim(p), all = wm_data_count(p);
    const int64_t n = all < CONTRIBUTION_ROWS ? all : CONTRIBUTION_ROWS;
    const wm_data *other = q ? q : p;
    wm_scorer *scorer = NULL;
    double *x = NULL, *log_r = NULL, base = 0;
    wm_status st;

    if (raw > CONTRIBUTORS || raw < 2)
        return WM_OK;
    if ((st = wm_scorer_new(&scorer, s->ratio, err)) ||
        (st = wmi_alloc(&x, n * raw, sizeof *x, "rows", err)) ||
        (st = wmi_alloc(&log_r, n, sizeof *log_r, "log-ratios", err)) ||
        (st = wmi_alloc(&s->contributions, raw, sizeof *s->contributions, "contributions", err)))
        goto done;
    for (int64_t j = -1; j < raw; j++) { /* first as they are */
        double mean;

        memcpy(x, wm_data_rows(p), (size_t)(n * raw) * sizeof *x);
        for (int64_t i = 0; j >= 0 && i < n; i++)
            x[i * raw + j] = wm_data_rows(other)[(i * 7919 + 1) % wm_data_count(other) * raw + j];
        if ((st = wm_scorer_log(scorer, n, x, log_r, err)))
            goto done;
        mean = wmi_moments_f64(log_r, n).mean;
        if (j < 0)
            base = mean;
        else
            s->contributions[j] = base - mean;
    }
done:
    wmi_free(log_r);
    wmi_free(x);
    wm_scorer_free(scorer);
    return st;
}

/* Weights among which most count: only then is their mean free of what large ones, too rare to be
 * in the sample, would add. */
static bool even(const wm_normaliser *n, int64_t rows)
{
    return n->pareto_k < 0.5 && n->ess >= 0.3 * (double)rows;
}

/* p = r q must integrate to one, and so must q = p / r. An error e(x) of log r with mean m and
 * variance v moves log E_q[r] by m + v/2 and log E_p[1/r] by -m + v/2: half their difference is m.
 * Where both are sure and m is more than noise, log-ratios are shifted by it, here and in the
 * ratio (log r_0 = -(energy + c_0)). The other half, v/2, is the noise of the fits and stays. */
static wm_status renormalise(wm_study *s, double *se, wm_error *err)
{
    const int q = s->pairs ? 0 : 1;
    const int64_t count = wmi_params_count(s->ratio->params);
    const int64_t c = wmi_params_find(s->ratio->params, "c")->offset;
    wm_normaliser under[2];
    double shift;
    wm_status st;

    *se = 0;
    if ((st = wmi_normaliser_of(&under[0], s->data.n[q], s->trial.log_r[1], 1, err)) ||
        (st = wmi_normaliser_of(&under[1], s->data.n[0], s->trial.log_r[0], -1, err)))
        return st;
    shift = 0.5 * (under[0].log_mean - under[1].log_mean);
    *se = 0.5 * hypot(under[0].se, under[1].se);
    if (!even(&under[0], s->data.n[q]) || !even(&under[1], s->data.n[0]) || fabs(shift) < 2 * *se ||
        s->data.weight[0] || s->data.weight[q]) {
        *se = 0;
        return WM_OK;
    }
    for (int t = 0; t < 2; t++)
        for (int64_t i = 0; i < s->data.n[s->pairs ? 0 : t]; i++)
            s->trial.log_r[t][i] -= shift;
    for (int64_t i = 0; i < s->ratio->members; i++)
        s->ratio->theta[i * count + c] += shift;
    return WM_OK;
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

static wm_estimate negative(wm_estimate e)
{
    return (wm_estimate){-e.value, e.se, -e.hi, -e.lo};
}

/* With a further, independent error. */
static wm_estimate widened(wm_estimate e, double se)
{
    const double by = e.se > 0 ? hypot(e.se, se) / e.se : 1;

    return (wm_estimate){e.value, e.se * by, e.value - (e.value - e.lo) * by,
                         e.value + (e.hi - e.value) * by};
}

/* Ranks blur: two columns that hardly differ get scores that differ by the noise of their ranks,
 * most at the ends, so that much mutual information in few rows comes out too small. For a pair of
 * normal columns with i nats in n rows by 0.0027 e^(1.07 i) (n / 1000)^(-3/4) nats (simulated, 200
 * to 20,000 rows, 0.2 to 3 nats, within a third: results/calibration/rank_bias.py). How i is shared
 * out among columns is not known here; evenly, it is taken for a further standard error. */
static double blur_of_ranks(const wm_study *s, double mi, const wm_study_opts *o)
{
    const int64_t u = o->pairs, v = s->data.encoder.raw - o->pairs, columns = u < v ? u : v;
    const double k = (double)columns, n = (double)s->data.n[0];

    if (!o->pairs || !s->data.encoder.rank)
        return 0;
    return k * 0.0027 * exp(1.07 * fmin(fmax(mi, 0) / k, 6)) * pow(n / 1000, -0.75);
}

static void fill_info(wm_study *s, const wm_study_opts *o, double norm_se)
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
    info->kl_pq =
        wmi_interval(s->data.n[0], t->log_r[0], s->data.weight[0], t->n_without, t->without[0]);
    info->kl_qp = negative(
        wmi_interval(s->data.n[q], t->log_r[1], s->data.weight[q], t->n_without, t->without[1]));
    info->kl_pq = widened(info->kl_pq, hypot(norm_se, blur_of_ranks(s, info->kl_pq.value, o)));
    info->kl_qp = widened(info->kl_qp, norm_se);
    info->train_loss = t->train_loss;
    info->test_loss = t->mean_loss;
    info->finished = t->finished;
}

wm_status wm_study_run(wm_study **out, const wm_data *p, const wm_data *q, const wm_schema *schema,
                       const wm_study_opts *opts, wm_error *err)
{
    wm_study_opts defaults;
    wm_study *s = NULL;
    double start, norm_se;
    wm_status st;

    *out = NULL;
    wm_study_opts_init(&defaults);
    opts = opts ? opts : &defaults;
    start = wmi_clock(opts->sink);
    if ((st = check_opts(opts, err)) || (st = wmi_alloc(&s, 1, sizeof *s, "study", err)))
        return st;
    s->pairs = opts->pairs > 0;
    if ((st = wmi_study_data_new(&s->data, p, q, schema, opts, err)))
        goto done;
    if ((st = wmi_study_search(s, opts, err)) ||
        (st = wmi_trial_ratio(&s->ratio, &s->trial, &s->data, err)) ||
        (st = renormalise(s, &norm_se, err)))
        goto done;
    fill_info(s, opts, norm_se);
    if ((st = put_in_order(s, err)) || (st = find_contributions(s, p, q, err)) ||
        (st = wmi_study_judge(s, err)))
        goto done;
    s->info.seconds = wmi_clock(opts->sink) - start;
    *out = s;
    s = NULL; /* the caller's now */
done:
    wm_study_free(s);
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
    wmi_free(s->contributions);
    wmi_free(s);
}

void wm_study_get_info(const wm_study *s, wm_study_info *info)
{
    *info = s->info;
}

void wm_study_get_bridge(const wm_study *s, int64_t k, wm_ratio_bridge *bridge)
{
    *bridge = wmi_trial_bridge(&s->trial, k);
}

int64_t wm_study_checks(const wm_study *s)
{
    return s->n_checks;
}

const wm_check *wm_study_check(const wm_study *s, int64_t i)
{
    return &s->check[i];
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

const double *wm_study_grid(const wm_study *s)
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
