/* study_search.c - which waymarks and which model. Waymarks are placed by the moments; bridges that
 * are too hard are halved, idle ones merged, and the candidates judged again by held-out loss.
 *
 * Forms (linear, quadratic) cost little and are fitted on all folds in every round. A network is
 * only tried at first, shortly and on two folds (a pilot): most often it has nothing to add, and
 * then that was all. Else its pilots tell where the waymarks should be, and it is fitted once, when
 * they are settled. */
#include <math.h>

#include "base/alloc.h"
#include "base/speak.h"
#include "estimators/study_impl.h"
#include "train/auto_spacing.h"

enum {
    ROUNDS = 4,         /* of placing bridges */
    NETWORK_ROWS = 200, /* below, a network has nothing to learn from */
};
static const double HARD = 0.3;      /* logistic loss of a bridge that is halved: accuracy 0.95 */
static const double SHORT = 1.2;     /* of a bridge that is short enough: accuracy 0.67 */
static const double IDLE = 1.33;     /* of two neighbours that are merged; chance is 1.386 */
static const double CORRELATED = 10; /* condition of the covariance of correlated columns */
/* Standard errors of the difference of losses: by which a pilot must win to go on, by which it wins
 * so clearly that forms need not be fitted any more, and by which a richer model must win in the
 * end. */
static const double HOPE = 1, CLEAR = 6, SURE = 2;

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
    *hard = loss < HARD ||
            (loss < SHORT && (!wmi_normaliser_judged(&n[0]) || !wmi_normaliser_judged(&n[1])));
    return WM_OK;
}

/* Bridges k and k + 1 are at chance, and the moments see no more on their way than one bridge can
 * carry: else it is the model that has learned nothing yet, as after a pilot of many columns, and
 * fewer bridges would not help it. */
static bool are_idle(const wmi_trial *t, const wmi_path *path, int64_t k)
{
    return wmi_trial_bridge(t, k).loss > IDLE && wmi_trial_bridge(t, k + 1).loss > IDLE &&
           wmi_path_between(path, t->alphas.alpha[k], t->alphas.alpha[k + 2]) <= WMI_BRIDGE_LENGTH;
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
        const double a = t->alphas.alpha[k], b = t->alphas.alpha[k + 1];
        bool hard;
        wm_status st = is_hard(t, k, &hard, err);

        if (st)
            return st;
        if (hard && t->m < o->max_bridges && next.bridges + t->m - k < o->max_bridges &&
            b - a > 1e-12) {
            next.alpha[++next.bridges] = wmi_path_half(path, a, b);
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
    if (n >= NETWORK_ROWS) {
        s->candidate[s->n_candidates++].model = WM_RATIO_QUADRATIC | WM_RATIO_MLP;
        s->candidate[s->n_candidates++].model = WM_RATIO_MLP;
    }
}

static bool is_network(const wm_candidate *c)
{
    return c->model & WM_RATIO_TRAINED;
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

    if ((st = wmi_trial_run(&t, &s->data, o, c->model, s->whiten[i], alphas, round, err)))
        return st;
    c->loss = t.mean_loss;
    c->seconds += t.seconds;
    c->given_up = false;
    wmi_say(o->sink, WM_LOG_DEBUG, "round %d, %s: held-out loss %.5f in %.1f s", (int)round + 1,
            wm_ratio_model_text(c->model, name, sizeof name), t.mean_loss, t.seconds);
    c->kept = first || wmi_trial_compare(&s->trial, &t, &se) > SURE * se;
    c->loss_se = se;
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

/* The best network so far, as a pilot. */
typedef struct pilot {
    wmi_trial trial; /* of this round; m = 0: there is none */
    int64_t which;   /* candidate */
    bool clear;      /* better than any form beyond doubt */
} pilot;

/* Whether networks of this model can read whitened columns: splines have their knots by column, and
 * separable networks keep u and v apart. */
static bool can_whiten(const wm_study *s, wm_ratio_model model)
{
    return s->data.whitening.mix && model & WM_RATIO_MLP &&
           !(model & (WM_RATIO_ADDITIVE | WM_RATIO_SEPARABLE));
}

/* Pilot of candidate i. The first one tells whether its network should read whitened columns: by
 * held-out loss, or beside a form, which has seen to correlations already, by how strong they are.
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
            o->whiten == WM_WHITEN_YES || !form || s->data.whitening.condition > CORRELATED;
    if ((st = wmi_trial_pilot(t, &s->data, o, model, s->whiten[i], alphas, err)) || known || form ||
        !s->whiten[i] || o->whiten == WM_WHITEN_YES)
        return st;
    if ((st = wmi_trial_pilot(&other, &s->data, o, model, false, alphas, err))) {
        wmi_trial_free(t);
        return st;
    }
    other.seconds += t->seconds;
    wmi_say(o->sink, WM_LOG_DEBUG, "pilot: loss %.5f whitened, %.5f as they are", t->mean_loss,
            other.mean_loss);
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
static wm_status try_shortly(wm_study *s, pilot *best, const wm_study_opts *o,
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

/* One chain: all forms, then the networks' pilots. Once a network has clearly won, only that. */
static wm_status try_chain(wm_study *s, pilot *best, const wm_study_opts *o,
                           const wm_alphas *alphas, int64_t round, wm_error *err)
{
    wm_status st = WM_OK;

    wmi_trial_free(&s->trial);
    for (int64_t i = 0; i < s->n_candidates && !st; i++)
        if (!is_network(&s->candidate[i])) {
            if (!best->clear)
                st = try_fully(s, i, o, alphas, round, err);
            else
                s->candidate[i].loss = NAN; /* it was that of another chain */
            s->candidate[i].given_up = best->clear;
        }
    return st ? st : try_shortly(s, best, o, alphas, err);
}

static wm_status place_and_try(wm_study *s, const wm_study_opts *o, wmi_path *path,
                               wm_alphas *alphas, pilot *best, wm_error *err)
{
    const bool found = !o->bridges && !o->given_spacing;

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
        wmi_say(o->sink, WM_LOG_INFO, "from %d to %d bridges: some were too %s", (int)before,
                (int)alphas->bridges, alphas->bridges > before ? "hard" : "easy");
    }
    return WM_OK;
}

wm_status wmi_study_search(wm_study *s, const wm_study_opts *o, wm_error *err)
{
    wm_alphas alphas = {.bridges = 0};
    wmi_path path = {0};
    pilot best = {.which = -1};
    wm_status st;

    choose_candidates(s, o);
    if (!(st = place_by_moments(&alphas, &path, &s->data, o, err)) &&
        !(st = place_and_try(s, o, &path, &alphas, &best, err)) && best.trial.m)
        st = try_fully(s, best.which, o, &alphas, s->info.rounds - 1, err);
    wmi_trial_free(&best.trial);
    wmi_path_free(&path);
    return st;
}
