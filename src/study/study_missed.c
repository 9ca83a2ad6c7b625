/* study_missed.c - whether rows could have told more than the ratio says: a witness (witness.h) at
 * the first bridge and at the last, which leave p and reach q. What p or q alone has is blurred in
 * between. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "check/checks.h"
#include "check/witness.h"
#include "study/study_impl.h"

enum {
    PAIRS = 4000,     /* that a witness learns from */
    MIX_COLUMNS = 100 /* of which whitened combinations are shown too */
};
/* Standard errors by which a witness may win. */
static const double WINS = 3;

/* What is shown of a bridge. */
typedef struct shown {
    int64_t used, n, wide; /* rows of a fold and of all; columns as they are and combinations */
    double *x;             /* (used, dim) */
    double *wider[2];      /* (n, wide) */
    double *log_r[2];      /* (n) */
    wm_chain *chain;
} shown;

static void free_shown(shown *w)
{
    wm_chain_free(w->chain);
    wmi_free(w->x);
    for (int e = 0; e < 2; e++) {
        wmi_free(w->wider[e]);
        wmi_free(w->log_r[e]);
    }
}

static wm_status new_shown(shown *w, const wm_study *s, wm_error *err)
{
    const wmi_trial *t = &s->trial;
    const int64_t d = s->data.dim, folds = t->folds, each = t->n_path / folds;
    wm_status st;

    w->used = each < PAIRS / folds ? each : PAIRS / folds;
    w->n = w->used * folds;
    w->wide = s->data.whitening.mix && d <= MIX_COLUMNS ? 2 * d : d;
    if ((st = wm_chain_new(&w->chain, t->m, &t->alphas, d, s->data.columns, err)) ||
        (st = wmi_alloc(&w->x, w->used * d, sizeof *w->x, "rows", err)))
        return st;
    for (int e = 0; e < 2; e++)
        if ((st = wmi_alloc(&w->wider[e], w->n * w->wide, sizeof *w->wider[e], "rows", err)) ||
            (st = wmi_alloc(&w->log_r[e], w->n, sizeof *w->log_r[e], "log-ratios", err)))
            return st;
    return WM_OK;
}

/* Rows w->x to place `at`. */
static void widen(const shown *w, const wmi_study_data *data, double *at)
{
    const int64_t d = data->dim;

    for (int64_t i = 0; i < w->used; i++) {
        memcpy(at + i * w->wide, w->x + i * d, (size_t)d * sizeof *at);
        for (int64_t j = d; j < w->wide; j++) {
            double z = 0;

            for (int64_t c = 0; c < d; c++)
                z += w->x[i * d + c] * data->whitening.mix[c * d + j - d];
            at[i * w->wide + j] = z;
        }
    }
}

static wm_status ask_bridge(const wm_study *s, const wm_study_opts *o, shown *w, int64_t k,
                            wmi_witness *found, wm_error *err)
{
    const wmi_trial *t = &s->trial;
    const int64_t each = t->n_path / t->folds;
    wm_status st;

    for (int e = 0; e < 2; e++)
        for (int64_t f = 0; f < t->folds; f++) {
            const double *const all = (e ? t->den : t->num) + k * t->n_path + f * each;

            if ((st = wmi_trial_waymark(t, &s->data, o, w->chain, f, w->used, k + e, w->x, err)))
                return st;
            widen(w, &s->data, w->wider[e] + f * w->used * w->wide);
            memcpy(w->log_r[e] + f * w->used, all, (size_t)w->used * sizeof *all);
        }
    const wmi_witness_rows rows = {.n = w->n,
                                   .d = w->wide,
                                   .x = {w->wider[0], w->wider[1]},
                                   .log_r = {w->log_r[0], w->log_r[1]}};

    return wmi_witness_ask(found, &rows, o->control.seed, err);
}

wm_status wmi_study_ask_witness(wm_study *s, const wm_study_opts *o, wm_error *err)
{
    const int64_t last = s->trial.m - 1;
    shown w = {0};
    wm_status st;

    s->missed = (wmi_missed){.asked = !s->data.weight[0] && !s->data.weight[1] &&
                                      s->data.repeated <= WMI_REPEATED &&
                                      !wmi_trial_counts(&s->trial, &s->data)};
    if (!s->missed.asked) /* rows are not what they count, or were seen in others; or each cell of a
                             table has its number */
        return WM_OK;
    st = new_shown(&w, s, err);
    for (int64_t k = 0; k <= last && !st; k += last > 0 ? last : 1) {
        wmi_witness found;

        if (!(st = ask_bridge(s, o, &w, k, &found, err)) && found.se > 0 &&
            (k == 0 || found.gain / found.se > s->missed.gain / s->missed.se))
            s->missed = (wmi_missed){true, k, found.gain, found.se};
    }
    free_shown(&w);
    return st;
}

bool wmi_study_misses(const wm_study *s)
{
    return s->missed.se > 0 && s->missed.gain > WINS * s->missed.se;
}

void wmi_study_check_missed(wm_study *s)
{
    const wmi_missed *m = &s->missed;
    const double wins = m->se > 0 ? m->gain / m->se : 0;

    if (!m->asked)
        return;
    if (wmi_study_misses(s))
        wmi_checks_add(&s->checks, "missed", wins, WINS, WM_CHECK_DOUBT,
                       "Random trees, trained beside the ratio, help it to tell held-out rows of "
                       "bridge %" PRId64 " apart, by %.4f nats and %.1f standard errors (%.0f "
                       "would pass): p and q differ in a way that the model does not hold, and "
                       "the answer is too small.",
                       m->bridge, m->gain, wins, WINS);
    else
        wmi_checks_add(&s->checks, "missed", wins, WINS, WM_CHECK_OK,
                       "Random trees, trained beside the ratio, do not help it to tell held-out "
                       "rows apart (%.1f standard errors; %.0f would pass).",
                       wins, WINS);
}
