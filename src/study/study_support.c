/* study_support.c - the two questions that no held-out row answers: whether a form may go on where
 * there are no rows, and whether p has rows where q has none. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "check/checks.h"
#include "check/support.h"
#include "columns/edges.h"
#include "study/study_impl.h"

static const double BEHIND = 0.005; /* share of rows behind a border of the other table */
/* Share of rows far from all of the other table; and where the mean of the ratio, which would miss
 * them, can be told. */
static const double ALONE = 0.05, ALONE_TOLD = 0.15;
/* Tables of which so many rows are far from the other one are separate; fewer rows than that do not
 * tell the shape by which a model might go on between them. */
static const double SEPARATE = 0.5;
static const int64_t SHAPE_ROWS = 500;
/* Share of an answer that may come from rows outside of all rows of the other table. */
static const double OUTSIDE = 0.1;

/* Categories and whole numbers are not normal, and need not be: a form has the effect of each
 * level.
 */
bool wmi_study_all_continuous(const wmi_encoder *e)
{
    for (int64_t j = 0; j < e->raw; j++)
        if (e->kind[j] != WM_KIND_CONTINUOUS)
            return false;
    return true;
}

/* Nats. Rows that look normal may have tails that are not: one of 30 degrees of freedom cannot be
 * told from it, and the farther a form goes on, the more that matters. */
static const double FORM_REACHES = 30;

/* Fewer rows of a cluster do not tell whether it is normal. */
static const int64_t CLUSTER_ROWS = 500;

/* Mean share that the likeliest component has of a row: with less, components overlap, look like
 * the table only together, and say nothing of where there are no rows. */
static const double APART = 0.9;

/* Rows of table t in the order of their components, each drawn by its shares: then those of a
 * component are normal if the mixture is right. first (k + 1) says where those of each begin. */
static wm_status sort_clusters(const wm_study *s, int t, uint64_t seed, double *rows,
                               int64_t *first, double *apart, wm_error *err)
{
    const wmi_mixture *m = &s->data.mixture[t];
    const wmi_rng rng = wmi_rng_make(seed, t ? "clusters/q" : "clusters/p");
    const int64_t n = s->data.n[t], d = m->d;
    double each[WMI_MIXTURE_MOST];
    wmi_gaussians g = {0};
    int64_t at = 0, *of = NULL;
    wm_status st;

    *apart = 0;
    if ((st = wmi_alloc(&of, n, sizeof *of, "clusters", err)) ||
        (st = wmi_gaussians_between(&g, m, m, 0, err)))
        goto done;
    for (int64_t i = 0; i < n; i++) {
        const double all = wmi_gaussians_log(&g, s->data.x[t] + i * d, each);
        double u, reached = exp(each[0] - all), most = reached;

        wmi_rng_uniform_f64(&rng, (uint64_t)i, 1, &u);
        for (int64_t k = 1; k < m->k; k++) {
            const double share = exp(each[k] - all);

            most = fmax(most, share);
            of[i] += u > reached;
            reached += share;
        }
        *apart += most / (double)n;
    }
    for (int64_t k = 0; k < m->k; k++) {
        first[k] = at;
        for (int64_t i = 0; i < n; i++)
            if (of[i] == k)
                memcpy(rows + d * at++, s->data.x[t] + i * d, (size_t)d * sizeof *rows);
    }
    first[m->k] = n;
done:
    wmi_gaussians_free(&g);
    wmi_free(of);
    return st;
}

/* Of a mixture: whether its components are clusters of rows that look normal. */
static wm_status look_at_clusters(wm_study *s, int t, uint64_t seed, wm_error *err)
{
    const int64_t k = s->data.mixture[t].k, d = s->data.dim;
    int64_t first[WMI_MIXTURE_MOST + 1];
    double *rows = NULL, apart;
    wm_status st;

    if ((st = wmi_alloc(&rows, s->data.n[t] * d, sizeof *rows, "clusters", err)) ||
        (st = sort_clusters(s, t, seed, rows, first, &apart, err)))
        goto done;
    s->normal = apart >= APART;
    for (int64_t i = 0; i < k && s->normal && !st; i++) {
        const int64_t n = first[i + 1] - first[i];

        s->normal = n >= CLUSTER_ROWS;
        if (s->normal &&
            !(st = wmi_normality_of(&s->normality[t], n, d, rows + first[i] * d, 0, err)))
            s->normal = wmi_looks_normal(&s->normality[t]);
    }
done:
    wmi_free(rows);
    return st;
}

wm_status wmi_study_look_at_form(wm_study *s, const wm_study_opts *opts, wm_error *err)
{
    const int64_t pairs = s->pairs ? s->data.encoder.first[opts->pairs] : 0;
    wm_status st = WM_OK;

    s->by_form = s->trial.model == WM_RATIO_QUADRATIC && wmi_trial_only_moments(&s->trial) &&
                 !wmi_trial_counts(&s->trial, &s->data);
    s->normal = s->trial.model == WM_RATIO_MIXTURE;
    for (int t = 0; t < 2 && s->normal && !st; t++)
        st = look_at_clusters(s, t, opts->control.seed, err);
    if (st || !s->by_form || !wmi_study_all_continuous(&s->data.encoder))
        return st;
    s->normal = !s->bent; /* a bend makes a column look normal in the middle, and no further */
    for (int t = 0; t < (s->pairs ? 1 : 2); t++) {
        st =
            wmi_normality_of(&s->normality[t], s->data.n[t], s->data.dim, s->data.x[t], pairs, err);

        if (st)
            return st;
        s->normal = s->normal && wmi_looks_normal(&s->normality[t]);
    }
    return WM_OK;
}

bool wmi_study_form_goes_on(const wm_study *s)
{
    return s->normal && s->info.kl_pq.value <= FORM_REACHES;
}

void wmi_study_check_form(wm_study *s)
{
    const wmi_normality *n = &s->normality[0];
    const bool tied = n->tie > n->tie_limit;

    if (!s->pairs || !(n->tie_limit > 0)) /* not asked */
        return;
    if (s->normal)
        wmi_checks_add(&s->checks, "form", n->tie, n->tie_limit, WM_CHECK_OK,
                       "Pairs look jointly normal, as the form has it (largest departure %.1f "
                       "standard errors, of which chance makes %.1f).",
                       n->tie, n->tie_limit);
    else if (tied)
        wmi_checks_add(&s->checks, "form", n->tie, n->tie_limit, WM_CHECK_DOUBT,
                       "u and v are tied together in a way that the form does not hold (by %.1f "
                       "standard errors; chance makes %.1f): some of the mutual information is "
                       "missed. A network, more rows or fewer columns may find it.",
                       n->tie, n->tie_limit);
    else
        wmi_checks_add(&s->checks, "form", n->shape, n->shape_limit, WM_CHECK_DOUBT,
                       "Rows do not look jointly normal (distance %.3f, of which chance makes "
                       "%.3f), as the form has it: some of the mutual information may be missed.",
                       n->shape, n->shape_limit);
}

/* ---- support ---- */

/* In more columns some row always lies outside. */
enum { OUTSIDE_COLUMNS = 10 };

/* The columns of both tables that are numbers on a continuum, side by side. */
typedef struct numbers {
    int64_t d;
    int64_t *raw; /* (d) which column each is */
    double *x[2]; /* (n, d) */
} numbers;

static void free_numbers(numbers *c)
{
    wmi_free(c->raw);
    wmi_free(c->x[0]);
    wmi_free(c->x[1]);
}

static wm_status gather_numbers(numbers *c, const wmi_study_data *data, wm_error *err)
{
    const wmi_encoder *e = &data->encoder;
    wm_status st;

    if ((st = wmi_alloc(&c->raw, e->raw, sizeof *c->raw, "columns", err)))
        return st;
    for (int64_t j = 0; j < e->raw; j++)
        if (e->kind[j] == WM_KIND_CONTINUOUS && e->first[j] < e->first[j + 1])
            c->raw[c->d++] = j;
    for (int t = 0; t < 2 && c->d; t++) {
        if ((st = wmi_alloc(&c->x[t], data->n[t] * c->d, sizeof *c->x[t], "rows", err)))
            return st;
        for (int64_t i = 0; i < data->n[t]; i++)
            for (int64_t j = 0; j < c->d; j++)
                c->x[t][i * c->d + j] = data->x[t][i * data->dim + e->first[c->raw[j]]];
    }
    return WM_OK;
}

/* Rows of table `own` that lie outside of all rows of the other one in some column: their share,
 * and how many nats of its divergence are theirs. */
static double nats_outside(const wm_study *s, const numbers *c, int own, double *share)
{
    const int64_t *n = s->data.n, d = c->d;
    const double *x = c->x[own], *other = c->x[1 - own], *log_r = s->trial.log_r[own];
    double lo[OUTSIDE_COLUMNS], hi[OUTSIDE_COLUMNS], sum = 0;
    int64_t count = 0;

    for (int64_t j = 0; j < d; j++) {
        lo[j] = INFINITY;
        hi[j] = -INFINITY;
        for (int64_t i = 0; i < n[1 - own]; i++) {
            lo[j] = fmin(lo[j], other[i * d + j]);
            hi[j] = fmax(hi[j], other[i * d + j]);
        }
    }
    for (int64_t i = 0; i < n[own]; i++) {
        bool out = false;

        for (int64_t j = 0; j < d && !out; j++)
            out = x[i * d + j] < lo[j] || x[i * d + j] > hi[j];
        count += out;
        sum += out ? (own ? -1 : 1) * log_r[i] : 0;
    }
    *share = (double)count / (double)n[own];
    return sum / (double)n[own];
}

/* Behind the last row of q a ratio is what a model makes of it. That may be a part of the answer,
 * but one that its interval has room for. */
static bool hangs_on_outside(const wm_study *s, const numbers *c, int own, double *share,
                             double *nats)
{
    const wm_estimate *kl = own ? &s->info.kl_qp : &s->info.kl_pq;

    if (c->d > OUTSIDE_COLUMNS || wmi_study_form_goes_on(s) || s->data.weight[own])
        return false;
    *nats = nats_outside(s, c, own, share);
    return *nats > OUTSIDE * kl->value && *nats > 0.5 * (kl->hi - kl->lo);
}

static void judge_support(wm_study *s, const wmi_support *found, int own, const numbers *c)
{
    const int64_t *raw = c->raw;
    static const char *const name[] = {"p", "q"};
    const wm_normaliser *mean = own ? &s->info.under_p : &s->info.under_q;
    const bool told = wmi_normaliser_judged(mean, own ? s->info.n_p : s->info.n_q);
    const double limit = told ? ALONE_TOLD : ALONE;
    const bool guessed = !wmi_study_form_goes_on(s) && found->alone > limit;
    const bool few = s->info.n_p < SHAPE_ROWS || s->info.n_q < SHAPE_ROWS;
    const char *check = own ? "support_qp" : "support_pq";
    double share, nats;

    if (found->beyond > BEHIND && found->column >= 0)
        wmi_checks_add(&s->checks, check, found->beyond, BEHIND, WM_CHECK_DOUBT,
                       "KL(%s, %s) is infinite or cannot be told: %s has rows where %s has none. "
                       "%.1f %% of its rows lie behind the end of %s in column %s, where that "
                       "breaks off.",
                       name[own], name[1 - own], name[own], name[1 - own], 100 * found->beyond,
                       name[1 - own], s->column[raw[found->column]].name);
    else if (found->beyond > BEHIND)
        wmi_checks_add(&s->checks, check, found->beyond, BEHIND, WM_CHECK_DOUBT,
                       "KL(%s, %s) is infinite or cannot be told: %s has rows where %s has none. "
                       "At least %.1f %% of its rows lie behind a border where %s breaks off.",
                       name[own], name[1 - own], name[own], name[1 - own], 100 * found->beyond,
                       name[1 - own]);
    else if (guessed && few && found->alone > SEPARATE)
        wmi_checks_add(&s->checks, check, found->alone, SEPARATE, WM_CHECK_FAILED,
                       "p and q are separate: %.0f %% of the rows of %s have no row of %s near "
                       "them, and so few rows do not tell how the densities go on between the two. "
                       "The number means nothing but that they are far apart.",
                       100 * found->alone, name[own], name[1 - own]);
    else if (guessed)
        wmi_checks_add(&s->checks, check, found->alone, limit, WM_CHECK_DOUBT,
                       "%.0f %% of the rows of %s have no row of %s near them, more than %.0f %%: "
                       "how large the ratio is there is what the model makes of it, and no row can "
                       "tell.",
                       100 * found->alone, name[own], name[1 - own], 100 * limit);
    else if (hangs_on_outside(s, c, own, &share, &nats))
        wmi_checks_add(&s->checks, check, nats, OUTSIDE, WM_CHECK_DOUBT,
                       "%.2g nats come from the %.2g %% of the rows of %s that lie outside of all "
                       "rows of %s: how large the ratio is there is what the model makes of it, "
                       "and the interval has no room for that.",
                       nats, 100 * share, name[own], name[1 - own]);
    else if (found->alone < 0.005)
        wmi_checks_add(&s->checks, check, found->alone, limit, WM_CHECK_OK,
                       "The rows of %s have rows of %s near them.", name[own], name[1 - own]);
    else
        wmi_checks_add(&s->checks, check, found->alone, limit, WM_CHECK_OK,
                       found->alone > limit
                           ? "%.0f %% of the rows of %s have no row of %s near them, and both "
                             "tables look normal: the form may be believed there."
                           : "All but %.0f %% of the rows of %s have rows of %s near them.",
                       100 * found->alone, name[own], name[1 - own]);
    wmi_checks_about(&s->checks, own ? WM_ABOUT_QP : WM_ABOUT_PQ);
}

wm_status wmi_study_check_support(wm_study *s, wmi_stop stop, wm_error *err)
{
    numbers c = {0};
    wm_status st;

    if (s->pairs)
        return WM_OK;
    st = gather_numbers(&c, &s->data, err);
    for (int own = 0; own < 2 && !st && c.d; own++) {
        const int64_t n[] = {s->data.n[own], s->data.n[1 - own]};
        const double *const x[] = {c.x[own], c.x[1 - own]};
        wmi_support found;
        double across;

        wmi_support_of(&found, n, c.d, x);
        if ((st = wmi_edges_of(&across, n, c.d, x, stop, err)))
            break;
        if (across > found.beyond) {
            found.beyond = across;
            found.column = -1;
        }
        judge_support(s, &found, own, &c);
    }
    free_numbers(&c);
    return st;
}
