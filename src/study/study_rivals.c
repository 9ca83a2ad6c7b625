/* study_rivals.c - what others say beside the ratio that was kept: candidates that held-out rows
 * could not tell from it, and, of pairs, nearest neighbours (neighbours.h). Where they see more,
 * the answer may be too small by as much, and its interval says so. */
#include <math.h>

#include "check/checks.h"
#include "check/intervals.h"
#include "check/neighbours.h"
#include "study/study_impl.h"

enum {
    NEAR_ROWS = 3000,  /* whose neighbours are looked for: time goes with their square */
    NEAR_COLUMNS = 10, /* at most: in more, neighbours are not near */
};
/* Standard errors, and nats, by which neighbours may see more. */
static const double NEAR_WINS = 3, NEAR_LEAST = 0.01;

/* ---- tables that are not normal ---- */

static bool is_bent(const wmi_encoder *e)
{
    for (int64_t j = 0; j < e->raw; j++)
        if (e->how[j] == WMI_ENCODE_RANK)
            return true;
    return false;
}

wm_status wmi_study_suspect(wm_study *s, const wm_study_opts *o, wm_error *err)
{
    const wmi_encoder *e = &s->data.encoder;
    const int64_t pairs = s->pairs ? e->first[o->pairs] : 0;
    wm_status st = WM_OK;

    s->bent = !s->pairs && !s->data.found.mixed && is_bent(e);
    s->suspect = s->bent;
    if (s->data.found.mixed || !wmi_study_all_continuous(e))
        return WM_OK;
    for (int t = 0; t < (s->pairs ? 1 : 2) && !st && !s->suspect; t++) {
        wmi_normality n;

        st = wmi_normality_of(&n, s->data.n[t], s->data.dim, s->data.x[t], pairs, err);
        s->suspect = !st && !wmi_looks_normal(&n);
    }
    return st;
}

/* ---- other candidates ---- */

/* Donsker and Varadhan's bound by rows that fits have not seen, or NAN where the mean of r cannot
 * be told. */
static wm_status bound_of(double *out, const wm_study *s, const wmi_trial *t, int own,
                          wm_error *err)
{
    const double sign = own ? -1 : 1;
    const int64_t n[2] = {s->data.n[0], s->data.n[s->pairs ? 0 : 1]};
    wm_normaliser mean;
    double sum = 0;
    const wm_status st = wmi_normaliser_of(&mean, n[1 - own], t->log_r[1 - own], sign, err);

    if (st)
        return st;
    for (int64_t i = 0; i < n[own]; i++)
        sum += sign * t->log_r[own][i] / (double)n[own];
    *out = wmi_normaliser_judged(&mean, n[1 - own]) ? sum - mean.log_mean : NAN;
    return WM_OK;
}

wm_status wmi_study_see_rival(wm_study *s, const wmi_trial *t, wm_error *err)
{
    wm_status st = WM_OK;

    for (int own = 0; own < 2 && !st; own++) {
        double bound;

        if (!(st = bound_of(&bound, s, t, own, err)) && bound > s->best_bound[own])
            s->best_bound[own] = bound;
    }
    return st;
}

/* Further up by what may be missed. */
static void reach_up(wm_estimate *e, double by)
{
    if (!(by > 0) || !isfinite(by))
        return;
    e->hi = e->value + hypot(e->hi - e->value, by);
    e->se = fmax(e->se, (e->hi - e->lo) / (2 * WMI_Z_975));
}

wm_status wmi_study_widen_by_rivals(wm_study *s, wm_error *err)
{
    wm_estimate *const kl[2] = {&s->info.kl_pq, &s->info.kl_qp};

    if (s->data.weight[0] || s->data.weight[s->pairs ? 0 : 1] ||
        wmi_trial_counts(&s->trial, &s->data))
        return WM_OK;
    for (int own = 0; own < 2; own++) {
        double bound;
        const wm_status st = bound_of(&bound, s, &s->trial, own, err);

        if (st)
            return st;
        reach_up(kl[own], s->best_bound[own] - bound);
    }
    return WM_OK;
}

/* ---- neighbours ---- */

wm_status wmi_study_ask_neighbours(wm_study *s, const wm_study_opts *o, wm_error *err)
{
    const wmi_encoder *e = &s->data.encoder;
    const int64_t n = s->data.n[0] < NEAR_ROWS ? s->data.n[0] : NEAR_ROWS;

    s->near = (wmi_neighbours){0};
    if (!s->pairs || s->data.dim > NEAR_COLUMNS || !wmi_study_all_continuous(e) ||
        s->data.weight[0] || s->data.repeated > WMI_REPEATED)
        return WM_OK;
    return wmi_neighbours_ask(&s->near,
                              &(wmi_neighbours_rows){.n = n,
                                                     .d = s->data.dim,
                                                     .pairs = e->first[o->pairs],
                                                     .x = s->data.x[0],
                                                     .log_r = s->trial.log_r[0]},
                              err);
}

bool wmi_study_neighbours_see_more(const wm_study *s)
{
    return s->near.se > 0 && s->near.more > NEAR_WINS * s->near.se + NEAR_LEAST;
}

void wmi_study_check_neighbours(wm_study *s)
{
    const double limit = NEAR_WINS * s->near.se + NEAR_LEAST;
    const double more = s->near.value - s->info.kl_pq.value;

    if (!(s->near.se > 0))
        return;
    if (more > limit)
        wmi_checks_add(&s->checks, "neighbours", more, limit, WM_CHECK_DOUBT,
                       "The distances to each row's nearest neighbours say %.3f nats (Kraskov's "
                       "estimate, which mostly says too little), %.3f more than the answer where "
                       "%.3f would pass: u and v depend on each other in a way that the model does "
                       "not hold.",
                       s->near.value, more, limit);
    else
        wmi_checks_add(&s->checks, "neighbours", more, limit, WM_CHECK_OK,
                       "The distances to each row's nearest neighbours say %.3f nats, which is not "
                       "more than the answer by more than noise (%.3f would pass).",
                       s->near.value, limit);
    reach_up(&s->info.kl_pq, more);
}
