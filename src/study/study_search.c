/* study_search.c - which waymarks and which model. Waymarks are placed by the moments; bridges that
 * are too hard are halved, idle ones merged, and the candidates judged again by held-out loss.
 *
 * Forms (linear, quadratic) cost little and are fitted on all folds in every round. A network is
 * only tried at first, shortly and on two folds (a short trial): most often it has nothing to add,
 * and then that was all. Else its pilots tell where the waymarks should be, and it is fitted once,
 * when they are settled. */
#include <math.h>

#include "base/alloc.h"
#include "columns/smooths.h"
#include "moments/auto_spacing.h"
#include "moments/penalised.h"
#include "ratio/ratio_mixture.h"
#include "study/study_impl.h"
#include "waymark/sink.h"

enum {
    SEARCH_ROWS = 40000,  /* of a table, by which models and waymarks are chosen */
    MIXTURE_COLUMNS = 10, /* at most: more have too many numbers in every component */
    ROUNDS = 4,           /* of placing bridges */
    PRODUCT_ROWS = 50,    /* of the smaller table: below, products of columns are not tried */
    NETWORK_ROWS = 200,   /* below, a network has nothing to learn from */
    TRIAL_ROWS = 2000,    /* of pairs: below, a short trial tells little */
    NEWTON_STEPS = 30,    /* about, that curves take for all their strengths */
};
static const double HARD = 0.3;        /* logistic loss of a bridge that is halved: accuracy 0.95 */
static const double SHORT = 1.2;       /* of a bridge that is short enough: accuracy 0.67 */
static const double IDLE = 1.33;       /* of two neighbours that are merged; chance is 1.386 */
static const double CHEAP = 3e11;      /* operations that curves may cost beside other candidates */
static const double AFFORDABLE = 3e10; /* and for the bridges of tables with discrete columns */
static const double AT_ONCE = 1e10;    /* which are not tried shortly first */
static const double CORRELATED = 10;   /* condition of the covariance of correlated columns */
static const double WORSE_THAN_NOTHING = 1.3963; /* loss; that of log r = 0 is 2 log 2 = 1.3863 */
/* Standard errors of the difference of losses: by which a short trial must win to go on, by which
 * it wins so clearly that forms need not be fitted any more, and by which a richer model must win
 * in the end. */
static const double HOPE = 1, CLEAR = 6, SURE = 2;

/* Operations of curves for all columns on a chain of m bridges, folds and strengths together, in
 * double. */
static double additive_cost(const wmi_study_data *data, const wm_study_opts *o, int64_t m)
{
    const double n = fmin((double)(data->n[0] + data->n[1]), WMI_CHOICE_ROWS);
    double numbers = 0;

    for (int64_t f = 0; f < data->dim; f++)
        numbers += data->straight && data->straight[f] > 0 ? 1 : WMI_SMOOTHS_MAX;
    return (double)(o->folds * m * NEWTON_STEPS) * n * numbers * numbers;
}

/* ---- placing waymarks ---- */

/* The spacing that was given, with m bridges unless its own list says how many. */
static wm_status place_as_given(wm_alphas *out, const wm_study_opts *o, int64_t m, wm_error *err)
{
    const bool listed = o->spacing.kind == WM_SPACING_LIST && o->bridges == WM_AUTO;

    return wm_spacing_alphas(out, &o->spacing, listed ? 0 : m, err);
}

/* Number of bridges and alphas from the moments of both ends. */
static wm_status place_by_moments(wm_alphas *out, wmi_alpha_path *path, const wmi_study_data *data,
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
    if ((st = wmi_alpha_path_new(path, d, &end[0], &end[1], data->columns, err)))
        goto done;
    if (m == WM_AUTO) {
        m = data->linear ? wmi_alpha_path_bridges(path, o->max_bridges) : 1;
        /* Pairs with discrete columns mostly have a mutual information that one classifier can
         * tell: blocks turn one by one where it cannot. */
        m = o->pairs || m > blocks_want ? m : blocks_want;
    }
    if (o->given_spacing)
        st = place_as_given(out, o, m, err);
    else
        wmi_alpha_path_alphas(path, m, out);
done:
    wmi_end_moments_free(&end[0]);
    wmi_end_moments_free(&end[1]);
    return st;
}

static void set_evenly(wm_alphas *out, int64_t m)
{
    *out = (wm_alphas){.bridges = m};
    for (int64_t k = 0; k <= m; k++)
        out->alpha[k] = (double)k / (double)m;
}

/* Tables with discrete columns have no moments to go by: one bridge, or as many as were asked for.
 * Pairs of levels are counted, for which there is one. */
static wm_status place_first(wm_alphas *out, wmi_alpha_path *path, const wmi_study_data *data,
                             const wm_study_opts *o, wm_error *err)
{
    const int64_t m = o->bridges == WM_AUTO ? 1 : o->bridges;

    if (!data->found.mixed && !(data->levels && m == 1))
        return place_by_moments(out, path, data, o, err);
    if (o->given_spacing)
        return place_as_given(out, o, m, err);
    set_evenly(out, m);
    return WM_OK;
}

/* A bridge is too long where classification is too easy, or where its ratio hangs on a few rows and
 * that is not for want of overlap: to halve a short one does not help. */
static wm_status is_hard(const wmi_trial *t, int64_t k, bool *hard, wm_error *err)
{
    const double loss = wmi_trial_bridge(t, k).loss;
    wm_normaliser n[2];
    wm_status st;

    if ((st = wmi_trial_normaliser(&n[0], t, k, 0, err)) ||
        (st = wmi_trial_normaliser(&n[1], t, k, 1, err)))
        return st;
    *hard = loss < HARD || (loss < SHORT && (!wmi_normaliser_judged(&n[0], t->n_path) ||
                                             !wmi_normaliser_judged(&n[1], t->n_path)));
    return WM_OK;
}

/* Bridges k and k + 1 are at chance, and the moments see no more on their way than one bridge can
 * carry: else it is the model that has learned nothing yet, as after a short trial of many columns,
 * and fewer bridges would not help it. */
static bool are_idle(const wmi_trial *t, const wmi_alpha_path *path, int64_t k)
{
    return wmi_trial_bridge(t, k).loss > IDLE && wmi_trial_bridge(t, k + 1).loss > IDLE &&
           wmi_alpha_path_between(path, t->alphas.alpha[k], t->alphas.alpha[k + 2]) <=
               WMI_BRIDGE_LENGTH;
}

/* Ordinary tables mostly need one bridge; where it is too hard, twice as many, if curves on so many
 * can be waited for. */
static void place_evenly(const wmi_trial *t, const wmi_study_data *data, const wm_study_opts *o,
                         wm_alphas *out, bool *did)
{
    /* Without a column that moves gradually a bridge needs one that switches. */
    const int64_t room =
        data->linear || data->blocks > o->max_bridges ? o->max_bridges : data->blocks;
    const double affordable = fmax(AFFORDABLE / additive_cost(data, o, 1), 1);
    const int64_t most = (double)room < affordable ? room : (int64_t)affordable;
    const int64_t more = 2 * t->m < most ? 2 * t->m : most;
    bool hard = false;

    for (int64_t k = 0; !hard && k < t->m; k++)
        hard = wmi_trial_bridge(t, k).loss < HARD;
    if (hard && more > t->m) {
        set_evenly(out, more);
        *did = true;
    }
}

/* Halves hard bridges and merges idle neighbours; *changed is false where nothing is to be done.
 * Chains without linear columns cannot be halved. */
static wm_status place_again(const wmi_trial *t, const wmi_alpha_path *path,
                             const wmi_study_data *data, const wm_study_opts *o, wm_alphas *out,
                             bool *did, wm_error *err)
{
    wm_alphas next = {.bridges = 0};
    bool changed = false;

    *did = false;
    if (wmi_trial_counts(t, data))
        return WM_OK;
    if (data->found.mixed || (o->pairs && !data->linear)) {
        place_evenly(t, data, o, out, did);
        return WM_OK;
    }
    if (!data->linear) {
        /* Blocks turn as evenly as they can: only their number can be changed. */
        double idle = 0;

        for (int64_t k = 0; k < t->m; k++)
            idle += (wmi_trial_bridge(t, k).loss > IDLE) / (double)t->m;
        if (t->m < 2 || idle < 1)
            return WM_OK;
        set_evenly(out, (t->m + 1) / 2);
        *did = true;
        return WM_OK;
    }
    for (int64_t k = 0; k < t->m; k++) {
        const double a = t->alphas.alpha[k], b = t->alphas.alpha[k + 1];
        bool hard;
        wm_status st = is_hard(t, k, &hard, err);

        if (st)
            return st;
        if (hard && t->m < o->max_bridges && next.bridges + t->m - k < o->max_bridges &&
            b - a > 1e-12) {
            next.alpha[++next.bridges] = wmi_alpha_path_half(path, a, b);
            changed = true;
        } else if (k + 1 < t->m && are_idle(t, path, k)) {
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

/* Mixtures of Gaussians, where one Gaussian is not all that held-out rows want of both tables. */
static wm_status add_mixture(wm_study *s, const wm_study_opts *o, wm_error *err)
{
    bool asked = false;
    wm_status st;

    for (int64_t i = 0; i < o->n_models; i++)
        asked = asked || o->models[i] & WM_RATIO_MIXTURE;
    if (!asked && (o->n_models || s->data.found.mixed || s->data.dim > MIXTURE_COLUMNS ||
                   s->data.repeated > WMI_REPEATED))
        return WM_OK;
    if ((st = wmi_ratio_check_mixture(!s->pairs, s->data.dim, s->data.columns, err)) ||
        (st = wmi_study_data_mixtures(&s->data, o->control.seed, o->control.stop, err)))
        return st == WM_EINVAL && !asked ? WM_OK : st;
    if (!asked && (s->data.mixture[0].k > 1 || s->data.mixture[1].k > 1)) /* else: the form */
        s->candidate[s->n_candidates++].model = WM_RATIO_MIXTURE;
    return WM_OK;
}

/* Moments describe continuous columns, and a linear ratio is for those who have no rows for a
 * quadratic one: it assumes equal covariances, and where the ends are far apart the price of that
 * does not show in the losses of the bridges. Curves for every column and effects of levels serve
 * any table that is not too wide or too far apart for them. */
static void choose_candidates(wm_study *s, const wm_study_opts *o, int64_t m)
{
    const int64_t q = o->pairs ? 0 : 1, d = s->data.dim;
    const int64_t n = s->data.n[0] < s->data.n[q] ? s->data.n[0] : s->data.n[q];
    const bool mixed = s->data.found.mixed;

    for (int64_t i = 0; i < o->n_models; i++)
        s->candidate[s->n_candidates++].model = o->models[i];
    if (o->n_models)
        return;
    if (!mixed && !o->pairs && n < d * (d + 3)) /* no linear ratio tells u from v */
        s->candidate[s->n_candidates++].model = WM_RATIO_LINEAR;
    if (!mixed)
        s->candidate[s->n_candidates++].model = WM_RATIO_QUADRATIC;
    if (s->data.levels && m == 1) /* each cell has its number: nothing is left to add */
        return;
    if (mixed || (!o->pairs && additive_cost(&s->data, o, m) < CHEAP))
        s->candidate[s->n_candidates++].model = WM_RATIO_ADDITIVE;
    if (mixed && n >= PRODUCT_ROWS && wmi_ratio_has_products(&s->data.encoder))
        s->candidate[s->n_candidates++].model = WM_RATIO_QUADRATIC | WM_RATIO_ADDITIVE;
    if (mixed && n >= NETWORK_ROWS)
        s->candidate[s->n_candidates++].model = WM_RATIO_ADDITIVE | WM_RATIO_MLP;
    if (n >= NETWORK_ROWS && !mixed) {
        s->candidate[s->n_candidates++].model = WM_RATIO_QUADRATIC | WM_RATIO_MLP;
        s->candidate[s->n_candidates++].model = WM_RATIO_MLP;
    }
}

static bool is_network(const wm_candidate *c)
{
    return wmi_is_network(c->model);
}

/* Standard errors by which t must be better than the trial that is kept. Products of columns that
 * come to curves have each been worth their charge. A form by moments is the first choice only for
 * tables that look as it has them; of pairs it misses something where they do not, and behind a
 * bend columns are only nearly normal. */
static double margin(const wm_study *s, const wmi_trial *t)
{
    if (s->suspect && !s->data.found.mixed && wmi_trial_only_moments(&s->trial))
        return s->pairs || s->bent ? 0 : HOPE;
    return t->model == (WM_RATIO_QUADRATIC | WM_RATIO_ADDITIVE) ? HOPE : SURE;
}

/* Whether t shall stand instead of the trial that is kept: by more than the noise of the
 * comparison; but for one that is worse than no ratio at all (log r = 0), which anything better
 * replaces. */
static bool is_better(const wm_study *s, const wmi_trial *t, double *se)
{
    const wmi_trial *const kept = &s->trial;
    const double gain = wmi_trial_compare(kept, t, se);

    if (!(kept->mean_loss < WORSE_THAN_NOTHING))
        return !(t->mean_loss >= kept->mean_loss);
    return gain > margin(s, t) * *se;
}

/* Candidate i on all folds of this chain; kept in s->trial if it is better than what is there by
 * more than the noise of the comparison. */
static wm_status try_fully(wm_study *s, int64_t i, const wm_study_opts *o, const wm_alphas *alphas,
                           int64_t round, wm_error *err)
{
    wm_candidate *c = &s->candidate[i];
    const bool first = !s->trial.m;
    wmi_trial t;
    double se = 0;
    char name[WMI_MODEL_TEXT];
    wm_status st;

    st = wmi_trial_run(&t, &s->data, o, c->model, s->whiten[i], alphas, round, err);
    if (!st && (st = wmi_study_see_rival(s, &t, err)))
        wmi_trial_free(&t);
    if (st == WM_EINVAL && s->n_candidates > 1) { /* a form that these rows cannot have */
        c->loss = NAN;
        c->given_up = true;
        wm_say(o->control.sink, WM_LOG_DEBUG, "%s does not apply: %s",
               wm_ratio_model_text(c->model, name, sizeof name), err ? err->text : "");
        return WM_OK;
    }
    if (st)
        return st;
    c->loss = t.mean_loss;
    c->seconds += t.seconds;
    c->given_up = false;
    wm_say(o->control.sink, WM_LOG_DEBUG, "round %d, %s: held-out loss %.5f in %.1f s",
           (int)round + 1, wm_ratio_model_text(c->model, name, sizeof name), t.mean_loss,
           t.seconds);
    c->kept = first || is_better(s, &t, &se);
    c->loss_se = se;
    if (!first)
        wm_say(o->control.sink, WM_LOG_DEBUG, "held-out loss better by %.5f +- %.5f",
               wmi_trial_compare(&s->trial, &t, &se), se);
    if (!c->kept) {
        wmi_trial_free(&t);
        return WM_OK;
    }
    for (int64_t j = 0; j < s->n_candidates; j++)
        s->candidate[j].kept = j == i;
    wmi_trial_free(&s->trial);
    s->trial = t;
    return WM_OK;
}

/* The best network so far, as a short trial. */
typedef struct short_trial {
    wmi_trial trial; /* of this round; m = 0: there is none */
    int64_t which;   /* candidate */
    bool clear;      /* better than any form beyond doubt */
} short_trial;

/* Whether networks of this model can read whitened columns: splines have their knots by column, and
 * separable networks keep u and v apart. */
static bool can_whiten(const wm_study *s, wm_ratio_model model)
{
    return s->data.whitening.mix && model & WM_RATIO_MLP &&
           !(model & (WM_RATIO_ADDITIVE | WM_RATIO_SEPARABLE));
}

/* Short trial of candidate i. The first one tells whether its network should read whitened columns:
 * by held-out loss, or beside a form, which has seen to correlations already, by how strong they
 * are.
 */
static wm_status run_pilot(wm_study *s, int64_t i, const wm_study_opts *o, const wm_alphas *alphas,
                           wmi_trial *t, wm_error *err)
{
    const wm_ratio_model model = s->candidate[i].model;
    const bool form = model & (WM_RATIO_LINEAR | WM_RATIO_QUADRATIC), known = s->whiten_known[i];
    wmi_trial other;
    wm_status st;

    s->whiten_known[i] = true;
    if (!known && can_whiten(s, model))
        s->whiten[i] =
            o->whiten == WM_CHOICE_YES || !form || s->data.whitening.condition > CORRELATED;
    if ((st = wmi_trial_pilot(t, &s->data, o, model, s->whiten[i], alphas, err)) || known || form ||
        !s->whiten[i] || o->whiten == WM_CHOICE_YES)
        return st;
    if ((st = wmi_trial_pilot(&other, &s->data, o, model, false, alphas, err))) {
        wmi_trial_free(t);
        return st;
    }
    other.seconds += t->seconds;
    wm_say(o->control.sink, WM_LOG_DEBUG, "short trial: loss %.5f whitened, %.5f as they are",
           t->mean_loss, other.mean_loss);
    if (t->mean_loss <= other.mean_loss) {
        t->seconds = other.seconds;
        wmi_trial_free(&other);
        return WM_OK;
    }
    s->whiten[i] = false;
    wmi_trial_free(t);
    *t = other;
    return WM_OK;
}

/* Pilots of the networks that are still in the race, against the best form of this round. */
static wm_status try_shortly(wm_study *s, short_trial *best, const wm_study_opts *o,
                             const wm_alphas *alphas, wm_error *err)
{
    bool failed = false; /* a network beside a form: then one alone has no chance */
    bool clear = best->clear;

    wmi_trial_free(&best->trial);
    for (int64_t i = 0; i < s->n_candidates; i++) {
        wm_candidate *c = &s->candidate[i];
        wmi_trial t;
        double se, gain;
        wm_status st;

        if (!is_network(c) || (best->clear && i != best->which))
            continue;
        c->loss = NAN;
        c->given_up = true;
        if (failed && !o->n_models)
            continue;
        if ((st = run_pilot(s, i, o, alphas, &t, err)))
            return st;
        c->seconds += t.seconds;
        gain = s->trial.m ? wmi_trial_compare(&s->trial, &t, &se) : 0;
        wm_say(o->control.sink, WM_LOG_DEBUG, "short trial: %g s, loss %.5f, gain %.5f +- %.5f",
               t.seconds, t.mean_loss, gain, s->trial.m ? se : 0);
        if (s->trial.m && !best->clear && gain < HOPE * se) {
            failed = true;
            wmi_trial_free(&t);
        } else if (best->trial.m && t.mean_loss >= best->trial.mean_loss) {
            wmi_trial_free(&t);
        } else {
            wmi_trial_free(&best->trial);
            best->trial = t;
            best->which = i;
            clear = clear || (s->trial.m && gain > CLEAR * se);
        }
    }
    best->clear = clear;
    if (best->trial.m)
        s->candidate[best->which].given_up = false;
    return WM_OK;
}

/* Curves of continuous columns cost much more than the form by moments, and mostly have nothing to
 * add: two folds tell whether they might. */
static wm_status is_hopeless(const wm_study *s, const wm_candidate *c, const wm_study_opts *o,
                             const wm_alphas *alphas, bool *hopeless, wm_error *err)
{
    wmi_trial t;
    double se;
    wm_status st;

    *hopeless = false;
    if (c->model != WM_RATIO_ADDITIVE || !s->trial.m || s->data.found.mixed || o->n_models ||
        additive_cost(&s->data, o, alphas->bridges) < AT_ONCE)
        return WM_OK;
    if ((st = wmi_trial_pilot(&t, &s->data, o, c->model, false, alphas, err)))
        return st == WM_EINVAL ? WM_OK : st; /* the full trial says why */
    *hopeless = wmi_trial_compare(&s->trial, &t, &se) < HOPE * se;
    wmi_trial_free(&t);
    return WM_OK;
}

/* One chain: all forms, then the networks' pilots. Once a network has clearly won, only that. */
static wm_status try_chain(wm_study *s, short_trial *best, const wm_study_opts *o,
                           const wm_alphas *alphas, int64_t round, wm_error *err)
{
    wm_status st = WM_OK;

    wmi_trial_free(&s->trial);
    s->best_bound[0] = s->best_bound[1] = -INFINITY;
    for (int64_t i = 0; i < s->n_candidates && !st; i++) {
        wm_candidate *c = &s->candidate[i];
        bool hopeless = best->clear;

        if (is_network(c) || (!hopeless && (st = is_hopeless(s, c, o, alphas, &hopeless, err))))
            continue;
        c->given_up = hopeless;
        c->loss = NAN; /* it was that of another chain */
        if (!hopeless && !(s->data.found.mixed && s->trial.m))
            st = try_fully(s, i, o, alphas, round, err);
    }
    return st || s->data.found.mixed ? st : try_shortly(s, best, o, alphas, err);
}

/* The first form, curves, says where bridges go in a table that is no cloud of points; products and
 * networks come after. */
static wm_status try_rest(wm_study *s, short_trial *best, const wm_study_opts *o,
                          const wm_alphas *alphas, wm_error *err)
{
    wm_status st = WM_OK;

    for (int64_t i = 0; i < s->n_candidates && !st; i++)
        if (!is_network(&s->candidate[i]) && isnan(s->candidate[i].loss) &&
            !s->candidate[i].given_up)
            st = try_fully(s, i, o, alphas, s->info.rounds - 1, err);
    return st ? st : try_shortly(s, best, o, alphas, err);
}

static wm_status place_and_try(wm_study *s, const wm_study_opts *o, wmi_alpha_path *path,
                               wm_alphas *alphas, short_trial *best, wm_error *err)
{
    const bool found = o->bridges == WM_AUTO && !o->given_spacing;

    s->info.spacing_found = found;
    for (s->info.rounds = 0; s->info.rounds < ROUNDS; s->info.rounds++) {
        const int64_t before = alphas->bridges;
        bool changed = false;
        wm_status st;

        if ((st = try_chain(s, best, o, alphas, s->info.rounds, err)) ||
            (found && s->info.rounds < ROUNDS - 1 &&
             (st = place_again(best->trial.m ? &best->trial : &s->trial, path, &s->data, o, alphas,
                               &changed, err))))
            return st;
        if (!changed) {
            s->info.rounds++;
            break;
        }
        wm_say(o->control.sink, WM_LOG_INFO, "from %d to %d bridges: some were too %s", (int)before,
               (int)alphas->bridges, alphas->bridges > before ? "hard" : "easy");
    }
    return s->data.found.mixed ? try_rest(s, best, o, alphas, err) : WM_OK;
}

/* The first rows of each table, which are in random order, stand for all of them: losses are
 * compared at no more trajectories anyway. n keeps how many there are; true where that is more. */
static bool use_some_rows(wmi_study_data *data, int64_t n[2])
{
    for (int t = 0; t < 2; t++) {
        n[t] = data->n[t];
        data->n[t] = n[t] < SEARCH_ROWS ? n[t] : SEARCH_ROWS;
    }
    return n[0] > SEARCH_ROWS || n[1] > SEARCH_ROWS;
}

static void use_all_rows(wmi_study_data *data, const int64_t n[2])
{
    for (int t = 0; t < 2; t++)
        data->n[t] = n[t];
}

/* The form that was kept, on all rows. */
static wm_status fit_again(wm_study *s, const wm_study_opts *o, wm_error *err)
{
    const wm_ratio_model model = s->trial.model;
    const wm_alphas alphas = s->trial.alphas;
    const bool whiten = s->trial.whiten;

    if (!s->trial.m)
        return WM_OK;
    wmi_trial_free(&s->trial);
    s->best_bound[0] = s->best_bound[1] = -INFINITY; /* those were of other rows */
    return wmi_trial_run(&s->trial, &s->data, o, model, whiten, &alphas, s->info.rounds - 1, err);
}

static wm_status ask_others(wm_study *s, const wm_study_opts *o, wm_error *err)
{
    const wm_status st = wmi_study_ask_witness(s, o, err);

    return st ? st : wmi_study_ask_neighbours(s, o, err);
}

/* Random trees or neighbours see more; or pairs are not what the form has, and too few for a short
 * trial to tell whether a network helps. */
static bool lacks_something(const wm_study *s)
{
    return wmi_study_misses(s) || wmi_study_neighbours_see_more(s) ||
           (s->pairs && s->suspect && s->data.n[0] < TRIAL_ROWS &&
            wmi_trial_only_moments(&s->trial) && !wmi_trial_counts(&s->trial, &s->data));
}

/* Networks that a short trial gave up, and a form that misses something: then they get the time
 * that it takes. */
static wm_status give_second_chance(wm_study *s, const wm_study_opts *o, const wm_alphas *alphas,
                                    wm_error *err)
{
    wm_status st = ask_others(s, o, err);
    bool tried = false;

    for (int64_t i = 0; i < s->n_candidates && !st && lacks_something(s); i++) {
        wmi_trial t;

        if (!is_network(&s->candidate[i]) || !s->candidate[i].given_up || o->n_models)
            continue;
        wm_say(o->control.sink, WM_LOG_INFO,
               "the ratio seems to lack something: a network is trained after all");
        if (!s->whiten_known[i]) {
            if ((st = run_pilot(s, i, o, alphas, &t, err)))
                return st;
            wmi_trial_free(&t);
        }
        st = try_fully(s, i, o, alphas, s->info.rounds - 1, err);
        tried = true;
    }
    return !st && tried ? ask_others(s, o, err) : st;
}

wm_status wmi_study_search(wm_study *s, const wm_study_opts *o, wm_error *err)
{
    int64_t n[2];
    const bool some = use_some_rows(&s->data, n);
    wm_alphas alphas = {.bridges = 0};
    wmi_alpha_path path = {0};
    short_trial best = {.which = -1};
    wm_status st;

    st = place_first(&alphas, &path, &s->data, o, err);
    if (st == WM_EINVAL && !o->pairs && !o->n_models && !o->given_spacing) {
        s->data.found.mixed = true; /* columns that depend on each other have no moments either */
        wmi_alpha_path_free(&path);
        path = (wmi_alpha_path){0};
        st = place_first(&alphas, &path, &s->data, o, err);
    }
    if (st)
        goto done;
    choose_candidates(s, o, alphas.bridges);
    if ((st = wmi_study_suspect(s, o, err)))
        goto done;
    if ((st = add_mixture(s, o, err)))
        goto done;
    st = place_and_try(s, o, &path, &alphas, &best, err);
    use_all_rows(&s->data, n);
    if (!st && some)
        st = fit_again(s, o, err);
    if (!st && best.trial.m)
        st = try_fully(s, best.which, o, &alphas, s->info.rounds - 1, err);
    if (!st && s->trial.m)
        st = give_second_chance(s, o, &alphas, err);
    if (!st && !s->trial.m)
        st = WM_EINVAL; /* no candidate could be fitted: err says why the last one could not */
done:
    use_all_rows(&s->data, n);
    wmi_trial_free(&best.trial);
    wmi_alpha_path_free(&path);
    return st;
}
