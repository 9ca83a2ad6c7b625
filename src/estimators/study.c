/* study.c - wm_study: from two tables to an answer. Waymarks are placed by the moments, candidates
 * fitted on folds, the better kept by held-out loss; bridges that are too hard are halved, idle
 * ones merged, and the candidates fitted again. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "base/speak.h"
#include "base/sums.h"
#include "estimators/intervals.h"
#include "estimators/study_impl.h"
#include "train/auto_spacing.h"

enum {
    ROUNDS = 4,         /* of placing bridges */
    NETWORK_ROWS = 200, /* below, a network has nothing to learn from */
    CONTRIBUTORS = 200, /* columns, at most, whose contribution is computed */
    CONTRIBUTION_ROWS = 500,
};
static const double HARD = 0.3;  /* logistic loss of a bridge that is halved: accuracy 0.95 */
static const double IDLE = 1.33; /* of two neighbours that are merged; chance is 1.386 */

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

/* ---- placing waymarks ---- */

/* Number of bridges and alphas from the moments of both ends. */
static wm_status place_by_moments(wm_alphas *out, wmi_path *path, const wmi_study_data *data,
                                  const wm_study_opts *o, wm_error *err)
{
    const int64_t d = data->dim, qi = o->pairs ? 0 : 1;
    const int64_t blocks_want = data->blocks < o->max_bridges ? data->blocks : o->max_bridges;
    wmi_end_moments end[2] = {{0}, {0}};
    int64_t m = o->bridges;
    wm_status st;

    for (int t = 0; t < 2; t++) {
        const int64_t from = t ? qi : 0, n = data->n[from], held = n / 5 > 1 ? n / 5 : 1;

        if ((st = wmi_end_moments_new(&end[t], d, err)) ||
            (st = wmi_end_moments_of(&end[t], n, d, data->x[from], err)) ||
            (st = wmi_end_moments_shrink(&end[t], d, held, data->x[from], NULL, err)))
            goto done;
    }
    if ((st = wmi_path_new(path, d, &end[0], &end[1], data->columns, err)))
        goto done;
    if (!m) {
        m = data->linear ? wmi_path_bridges(path, o->max_bridges) : 1;
        m = m > blocks_want ? m : blocks_want;
    }
    if (o->given_spacing)
        st = wm_spacing_alphas(out, &o->spacing,
                               o->spacing.kind == WM_SPACING_LIST ? o->bridges : m, err);
    else
        wmi_path_alphas(path, m, out);
done:
    wmi_end_moments_free(&end[0]);
    wmi_end_moments_free(&end[1]);
    return st;
}

/* A bridge is too long where classification is too easy, or where its ratio hangs on a few rows. */
static wm_status is_hard(const wmi_trial *t, int64_t k, bool *hard, wm_error *err)
{
    wm_normaliser n[2];
    wm_status st;

    if ((st = wmi_trial_normaliser(&n[0], t, k, 0, err)) ||
        (st = wmi_trial_normaliser(&n[1], t, k, 1, err)))
        return st;
    *hard = wmi_trial_bridge(t, k).loss < HARD || !wmi_normaliser_judged(&n[0]) ||
            !wmi_normaliser_judged(&n[1]);
    return WM_OK;
}

/* Halves hard bridges and merges idle neighbours; *changed is false where nothing is to be done.
 * Chains without linear columns cannot be halved. */
static wm_status place_again(const wmi_trial *t, const wmi_path *path, const wmi_study_data *data,
                             const wm_study_opts *o, wm_alphas *out, bool *did, wm_error *err)
{
    wm_alphas next = {.bridges = 0};
    bool changed = false;

    *did = false;
    if (!data->linear) {
        /* Blocks turn as evenly as they can: only their number can be changed. */
        double idle = 0;

        for (int64_t k = 0; k < t->m; k++)
            idle += (wmi_trial_bridge(t, k).loss > IDLE) / (double)t->m;
        if (t->m < 2 || idle < 1)
            return WM_OK;
        next.bridges = (t->m + 1) / 2;
        for (int64_t k = 0; k <= next.bridges; k++)
            next.alpha[k] = (double)k / (double)next.bridges;
        *out = next;
        *did = true;
        return WM_OK;
    }
    for (int64_t k = 0; k < t->m; k++) {
        const double loss = wmi_trial_bridge(t, k).loss;
        const double a = t->alphas.alpha[k], b = t->alphas.alpha[k + 1];
        bool hard;
        wm_status st = is_hard(t, k, &hard, err);

        if (st)
            return st;
        if (hard && t->m < o->max_bridges && next.bridges + t->m - k < o->max_bridges &&
            b - a > 1e-12) {
            next.alpha[++next.bridges] = wmi_path_half(path, a, b);
            changed = true;
        } else if (k + 1 < t->m && loss > IDLE && wmi_trial_bridge(t, k + 1).loss > IDLE) {
            k++; /* the next one is joined to this one */
            changed = true;
        }
        next.alpha[++next.bridges] = t->alphas.alpha[k + 1];
    }
    next.alpha[0] = t->alphas.alpha[0];
    *did = changed;
    if (changed)
        *out = next;
    return WM_OK;
}

/* ---- choosing a model ---- */

/* A linear ratio assumes equal covariances, and where the ends are far apart the price of that does
 * not show in the losses of the bridges: it is for those who have no rows for more. */
static void choose_candidates(wm_study *s, const wm_study_opts *o)
{
    const int64_t q = o->pairs ? 0 : 1, d = s->data.dim;
    const int64_t n = s->data.n[0] < s->data.n[q] ? s->data.n[0] : s->data.n[q];

    for (int64_t i = 0; i < o->n_models; i++)
        s->candidate[s->n_candidates++].model = o->models[i];
    if (o->n_models)
        return;
    if (!o->pairs && n < d * (d + 3)) /* no linear ratio tells u from v */
        s->candidate[s->n_candidates++].model = WM_RATIO_LINEAR;
    s->candidate[s->n_candidates++].model = WM_RATIO_QUADRATIC;
    if (n >= NETWORK_ROWS)
        s->candidate[s->n_candidates++].model = WM_RATIO_QUADRATIC | WM_RATIO_MLP;
}

/* Mean difference of losses of the same trajectories, a - b, and its standard error. Trials may
 * have scored different numbers of them: fold by fold the first are the same. */
static double compare(const wmi_trial *a, const wmi_trial *b, double *se)
{
    const int64_t na = a->n_path / a->folds, nb = b->n_path / b->folds, n = na < nb ? na : nb;
    const double count = (double)(n * a->folds);
    double mean = 0, var = 0;

    for (int pass = 0; pass < 2; pass++)
        for (int64_t f = 0; f < a->folds; f++)
            for (int64_t i = 0; i < n; i++) {
                const double diff = a->loss[f * na + i] - b->loss[f * nb + i];

                if (pass)
                    var += (diff - mean) * (diff - mean) / count;
                else
                    mean += diff / count;
            }
    *se = sqrt(var / count);
    return mean;
}

/* Fits every candidate on this chain; keeps the best in s->trial. A later, richer one must be
 * better by more than the noise of the comparison. */
static wm_status try_candidates(wm_study *s, const wm_study_opts *o, const wm_alphas *alphas,
                                int64_t round, wm_error *err)
{
    char name[32];
    int64_t kept = -1;
    wm_status st;

    wmi_trial_free(&s->trial);
    for (int64_t i = 0; i < s->n_candidates; i++) {
        wm_candidate *c = &s->candidate[i];
        wmi_trial t;
        double se = 0;

        if ((st = wmi_trial_run(&t, &s->data, o, c->model, alphas, round, err)))
            return st;
        c->loss = t.mean_loss;
        c->seconds += t.seconds;
        wmi_say(o->sink, WM_LOG_DEBUG, "round %d, %s: held-out loss %.5f in %.1f s", (int)round + 1,
                wm_ratio_model_text(c->model, name, sizeof name), t.mean_loss, t.seconds);
        if (kept < 0 || compare(&s->trial, &t, &se) > 2 * se) {
            wmi_trial_free(&s->trial);
            s->trial = t;
            kept = i;
        } else {
            wmi_trial_free(&t);
        }
        c->loss_se = se;
    }
    for (int64_t i = 0; i < s->n_candidates; i++)
        s->candidate[i].kept = i == kept;
    return WM_OK;
}

static wm_status search(wm_study *s, const wm_study_opts *o, wm_error *err)
{
    const bool found = !o->bridges && !o->given_spacing;
    wm_alphas alphas = {.bridges = 0};
    wmi_path path = {0};
    wm_status st;

    if ((st = place_by_moments(&alphas, &path, &s->data, o, err)))
        goto done;
    for (s->info.rounds = 0; s->info.rounds < ROUNDS; s->info.rounds++) {
        const int64_t before = alphas.bridges;
        bool changed = false;

        if ((st = try_candidates(s, o, &alphas, s->info.rounds, err)) ||
            (found && s->info.rounds < ROUNDS - 1 &&
             (st = place_again(&s->trial, &path, &s->data, o, &alphas, &changed, err))))
            goto done;
        if (!changed) {
            s->info.rounds++;
            break;
        }
        wmi_say(o->sink, WM_LOG_INFO, "from %d to %d bridges: some were too %s", (int)before,
                (int)alphas.bridges, alphas.bridges > before ? "hard" : "easy");
    }
    s->info.spacing_found = found;
done:
    wmi_path_free(&path);
    return st;
}

/* ---- the answer ---- */

/* How much KL(p, q) falls when rows of p get column j from rows of q. */
static wm_status find_contributions(wm_study *s, const wm_data *p, const wm_data *q, wm_error *err)
{
    const int64_t raw = wm_data_dim(p), all = wm_data_count(p);
    const int64_t n = all < CONTRIBUTION_ROWS ? all : CONTRIBUTION_ROWS;
    const wm_data *other = q ? q : p;
    wm_data *rows = NULL;
    double *log_r = NULL, base = 0;
    wm_status st;

    if (raw > CONTRIBUTORS || raw < 2)
        return WM_OK;
    if ((st = wm_data_new(&rows, n, raw, wm_data_rows(p), err)) ||
        (st = wmi_alloc(&log_r, n, sizeof *log_r, "log-ratios", err)) ||
        (st = wmi_alloc(&s->contributions, raw, sizeof *s->contributions, "contributions", err)))
        goto done;
    for (int64_t j = -1; j < raw; j++) { /* first as they are */
        double *x = wm_data_rows_mut(rows), mean = 0;

        memcpy(x, wm_data_rows(p), (size_t)(n * raw) * sizeof *x);
        for (int64_t i = 0; j >= 0 && i < n; i++)
            x[i * raw + j] = wm_data_rows(other)[(i * 7919 + 1) % wm_data_count(other) * raw + j];
        if ((st = wm_ratio_log(s->ratio, rows, log_r, err)))
            goto done;
        mean = wmi_moments_f64(log_r, n).mean;
        if (j < 0)
            base = mean;
        else
            s->contributions[j] = base - mean;
    }
done:
    wmi_free(log_r);
    wm_data_free(rows);
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
    info->kl_pq =
        wmi_interval(s->data.n[0], t->log_r[0], s->data.weight[0], t->n_without, t->without[0]);
    info->kl_qp = negative(
        wmi_interval(s->data.n[q], t->log_r[1], s->data.weight[q], t->n_without, t->without[1]));
    info->kl_pq = widened(info->kl_pq, norm_se);
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
    choose_candidates(s, opts);
    if ((st = search(s, opts, err)) ||
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
