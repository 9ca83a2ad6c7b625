/* study_checks.c - what could be wrong with an answer, in numbers, in plain words, and as a
 * verdict. The limits were chosen on generated problems where the truth is known:
 * docs/calibration.md. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/sums.h"
#include "check/checks.h"
#include "check/computable.h"
#include "check/impossible.h"
#include "check/pareto.h"
#include "check/repeats.h"
#include "study/study_impl.h"

static const double SATURATED = 0.02; /* loss of a bridge: nothing is learned any more */
/* Share of rows with logits unlike those in training: of a network, and of a form that held-out
 * rows of every bridge support. */
static const double BEYOND_NETWORK = 0.1, BEYOND_FORM = 0.5;
static const double TAIL = 0.7; /* Pareto k above which a mean of weights says nothing */
static const double LEAST_ESS = 50;
/* Nats by which log E[r] may miss 0, beyond its noise: at most so many, and a share of the answer;
 * but less than that does not matter. */
static const double OFF = 0.1, OFF_SHARE = 0.1, OFF_LEAST = 0.02;
static const double OVERFIT = 0.1; /* nats of loss between seen and unseen rows */
/* Of a trained model the sum of that over bridges, as a share of the answer: what a network knows
 * of its own rows only is about twice what it has missed of all. */
static const double OVERFIT_SHARE = 0.1, OVERFIT_LEAST = 0.02;
/* Rows for each free number of a convex bridge; and of forms by moments, whose estimate has the
 * bias taken out and what may be left of it in its error. */
static const double ROWS_EACH = 3, ROWS_EACH_MOMENTS = 1.5;
static const double ROWS_OF_LEVEL = 10; /* on average: fewer do not tell an entropy */
/* Fewer tell means and covariances, and no more; twice as many of tables that do not look normal
 * and of pairs: of additive pairs of two columns each, 592 rows, no check saw that a form held two
 * fifths of 0.27 nats. */
static const double LEAST_ROWS = 500, LEAST_ROWS_SUSPECT = 1000;
/* The same of curves, whose error counts their number, and of counts, which have no form. */
static const double LEAST_ROWS_CURVES = 200, LEAST_ROWS_COUNTS = 500;

wm_status wmi_normaliser_of(wm_normaliser *out, int64_t n, const double *x, double sign,
                            wm_error *err)
{
    double *w = NULL, sum = 0, squares = 0, top = -INFINITY;
    wm_status st;

    if ((st = wmi_alloc(&w, n, sizeof *w, "weights", err)))
        return st;
    for (int64_t i = 0; i < n; i++) {
        w[i] = sign * x[i];
        top = fmax(top, w[i]);
    }
    for (int64_t i = 0; i < n; i++) {
        const double e = exp(w[i] - top);

        sum += e;
        squares += e * e;
    }
    out->log_mean = top + log(sum / (double)n);
    out->ess = sum * sum / squares;
    out->se = sqrt(fmax(1 / out->ess - 1 / (double)n, 0)); /* of the mean, relative: delta method */
    st = wmi_pareto_k(&out->pareto_k, n, w, err);
    wmi_free(w);
    return st;
}

bool wmi_normaliser_judged(const wm_normaliser *n, int64_t rows)
{
    return n->ess >= 0.5 * (double)rows || (n->pareto_k < TAIL && n->ess >= LEAST_ESS);
}

wm_status wmi_trial_normaliser(wm_normaliser *out, const wmi_trial *t, int64_t k, int side,
                               wm_error *err)
{
    return wmi_normaliser_of(out, t->n_path, (side ? t->num : t->den) + k * t->n_path,
                             side ? -1 : 1, err);
}

static void check_chasm(wm_study *s)
{
    wmi_easiest easiest = WMI_EASIEST_NONE;

    for (int64_t k = 0; k < s->trial.m; k++) {
        const wm_bridge b = wmi_trial_bridge(&s->trial, k);

        wmi_easiest_see(&easiest, &(wmi_easiest){k, b.loss, b.accuracy, b.alpha_from, b.alpha_to});
    }
    wmi_check_chasm(&s->checks, &easiest, SATURATED, "bridges");
}

static void check_extrapolation(wm_study *s)
{
    const double limit = wmi_is_network(s->trial.model) ? BEYOND_NETWORK : BEYOND_FORM;
    double worst = 0;
    int64_t at = 0;
    int side = 0;

    for (int t = 0; t < (s->pairs ? 1 : 2); t++)
        for (int64_t k = 0; k < s->trial.m; k++)
            if (s->trial.beyond[t][k] > worst) {
                worst = s->trial.beyond[t][k];
                at = k;
                side = t;
            }
    if (worst == 0)
        wmi_checks_add(&s->checks, "extrapolation", 0, limit, WM_CHECK_OK,
                       "Bridges are asked about log-ratios like those that they were trained on.");
    else if (worst <= limit)
        wmi_checks_add(
            &s->checks, "extrapolation", worst, limit, WM_CHECK_OK,
            "Bridges are asked about log-ratios like those that they were trained on, at all but "
            "%.2g %% of the rows (%.0f %% may be).",
            100 * worst, 100 * limit);
    else if (wmi_study_form_goes_on(s))
        wmi_checks_add(
            &s->checks, "extrapolation", worst, limit, WM_CHECK_OK,
            "At %.0f %% of the rows of %s bridge %" PRId64 " gives log-ratios beyond any that it "
            "was trained on: there the answer rests on the form of the model, Gaussian waymarks. "
            "It may be believed: p and q look normal%s.",
            100 * worst, side ? "q" : "p", at, s->by_form ? "" : ", cluster by cluster");
    else
        wmi_checks_add(
            &s->checks, "extrapolation", worst, limit, WM_CHECK_DOUBT,
            "At %.0f %% of the rows of %s bridge %" PRId64 " gives log-ratios beyond any that it "
            "was trained on: there the answer rests on the form of the model (%s), not on data. "
            "Look at the grid of bridges and waymarks; believe it if the form is right.",
            100 * worst, side ? "q" : "p", at,
            wmi_is_network(s->trial.model)       ? "a network"
            : s->trial.model & WM_RATIO_ADDITIVE ? "curves"
            : s->trial.model & WM_RATIO_MIXTURE  ? "mixtures of Gaussians"
                                                 : "Gaussian waymarks");
}

/* ", tail k 0.31", or nothing where weights have no tail, or too few of them to tell. */
static const char *tail_text(char out[32], double k)
{
    out[0] = 0;
    if (isfinite(k))
        snprintf(out, 32, ", tail k %.2f", k);
    return out;
}

/* How a mean that should be 1 is judged that misses it by so many nats beyond its noise. */
static wm_outcome by_miss(double miss, double limit)
{
    return miss <= limit ? WM_CHECK_OK : miss <= 5 * OFF ? WM_CHECK_DOUBT : WM_CHECK_FAILED;
}

/* The mean of p/q over rows of q is what p has where q has rows: 1 but for levels that q lacks. */
static double should_be(const wm_study *s, int side)
{
    return 1 - (side ? s->info.lone_q : s->info.lone_p);
}

/* The mean of q/p over rows of p (side 1) is below 1 where q has rows and p none. Of pairs that is
 * so whenever u tells much of v, classes that do not overlap, say, and the mutual information does
 * not mind: it may be doubted that the ratio is off, but not known. */
static wm_outcome by_mean(const wm_study *s, int side, const wm_normaliser *n, double off,
                          double limit)
{
    const wm_outcome outcome = by_miss(fmax(fabs(off) - 3 * n->se, 0), limit);

    return s->pairs && side && n->log_mean < 0 && outcome == WM_CHECK_FAILED ? WM_CHECK_DOUBT
                                                                             : outcome;
}

static double allowed_miss(const wm_study *s)
{
    return fmin(OFF, fmax(OFF_LEAST, OFF_SHARE * fabs(s->info.kl_pq.value)));
}

static void check_normaliser(wm_study *s, int side, const wm_normaliser *n, int64_t rows)
{
    static const char *const names[] = {"normaliser_q", "normaliser_p"};
    static const char *const whats[] = {"The mean of p/q under q", "The mean of q/p under p"};
    const char *const name = names[side], *const what = whats[side];
    const double one = should_be(s, side), off = n->log_mean - log(one);
    const double miss = fmax(fabs(off) - 3 * n->se, 0), limit = allowed_miss(s);
    /* Of normal tables the ratio is known better than such a mean, unless most rows count. */
    const bool weak = wmi_study_form_goes_on(s) && miss > limit && n->ess < 0.5 * (double)rows;
    const bool judged = one > 0 && wmi_normaliser_judged(n, rows) && !weak;
    char tail[32];

    if (!judged)
        wmi_checks_add_unknown(
            &s->checks, name, n->ess, LEAST_ESS, false,
            "%s should be %.4g, but cannot be judged: of %" PRId64 " rows a few have all the "
            "weight (effective sample size %.1f of at least %.0f%s). That is so whenever p and q "
            "are far apart.",
            what, one, rows, n->ess, LEAST_ESS, tail_text(tail, n->pareto_k));
    else
        wmi_checks_add(
            &s->checks, name, off, limit, by_mean(s, side, n, off, limit),
            "%s should be %.4g and is %.4f (standard error %.4f), off by %.3f nats, of which %.3f "
            "beyond noise would pass (effective sample size %.0f of %" PRId64 "%s).%s",
            what, one, exp(n->log_mean), exp(n->log_mean) * n->se, off, limit, n->ess, rows,
            tail_text(tail, n->pareto_k),
            miss <= limit ? "" : " The ratio is off by that much: more data or another model.");
}

/* The same for every bridge and its own waymarks: these are near enough to be judged, or the bridge
 * is too long. */
static wm_status check_bridges(wm_study *s, wm_error *err)
{
    double worst = 0, tail = -INFINITY;
    wm_normaliser heavy = {0}; /* of the bridge that can be judged least, or of none */
    wm_outcome outcome = WM_CHECK_OK;
    int64_t at = 0, heaviest = -1;

    for (int64_t k = 0; k < s->trial.m; k++)
        for (int side = 0; side < 2; side++) {
            wm_normaliser n;
            wm_status st = wmi_trial_normaliser(&n, &s->trial, k, side, err);

            if (st)
                return st;
            if (wmi_normaliser_judged(&n, s->trial.n_path)) {
                /* rows that one waymark cannot have are at most those of the table */
                const double most = log(should_be(s, side));
                const double off = n.log_mean < 0 ? fmin(n.log_mean - most, 0) : n.log_mean;
                const wm_outcome own = by_mean(s, side, &n, off, OFF);
                const double miss = fabs(off) - 3 * n.se;

                outcome = own > outcome ? own : outcome;
                if (miss > worst) {
                    worst = miss;
                    at = k;
                }
            } else if (heaviest < 0 || n.ess < heavy.ess) {
                heaviest = k;
                heavy = n;
            }
            tail = fmax(tail, n.pareto_k);
        }
    if (worst <= OFF)
        wmi_checks_add(&s->checks, "bridges", worst, OFF, WM_CHECK_OK,
                       "Every bridge's ratio has mean 1 under its own denominator, to %.2g nats "
                       "beyond noise (%.1f would pass).",
                       worst, OFF);
    else
        wmi_checks_add(&s->checks, "bridges", worst, OFF, outcome,
                       "The ratio of bridge %" PRId64
                       " does not have mean 1 under its own denominator, by %.2g nats beyond "
                       "noise (%.1f would pass): it is not learned well. More data, longer "
                       "training, or another model.",
                       at, worst, OFF);
    if (heaviest < 0)
        wmi_checks_add(&s->checks, "tails", tail, TAIL, WM_CHECK_OK,
                       isfinite(tail)
                           ? "No bridge's ratio hangs on a few rows (largest tail k %.2f, "
                             "good up to %.1f, or most rows count)."
                           : "No bridge's ratio hangs on a few rows.",
                       tail, TAIL);
    else if (wmi_study_form_goes_on(s))
        wmi_checks_add(&s->checks, "tails", heavy.pareto_k, TAIL, WM_CHECK_OK,
                       "The ratio of bridge %" PRId64 " is largest at a few extreme rows (tail k "
                       "%.2f, effective sample size %.0f of %" PRId64 "), where it is that of "
                       "normal tables; they look normal.",
                       heaviest, heavy.pareto_k, heavy.ess, s->trial.n_path);
    else
        wmi_checks_add(
            &s->checks, "tails", heavy.pareto_k, TAIL, WM_CHECK_DOUBT,
            "The ratio of bridge %" PRId64 " hangs on a few extreme rows (tail k %.2f, good up to "
            "%.1f; effective sample size %.0f of %" PRId64 "): how large it is there cannot be "
            "told from these data. More bridges or more rows.",
            heaviest, heavy.pareto_k, TAIL, heavy.ess, s->trial.n_path);
    return WM_OK;
}

static void check_overfitting(wm_study *s)
{
    const double gap = s->info.test_loss - s->info.train_loss;
    const double share = fmax(OVERFIT_SHARE * fabs(s->info.kl_pq.value), OVERFIT_LEAST);
    /* Of curves the estimate has the gap taken out, and a part of it in its error. */
    const double limit = wmi_is_network(s->trial.model)
                             ? fmin(OVERFIT, share / (double)s->trial.m)
                             : fmax(OVERFIT, s->trial.model & WM_RATIO_ADDITIVE ||
                                                     wmi_trial_counts(&s->trial, &s->data)
                                                 ? 0.5 * fabs(s->info.kl_pq.value)
                                                 : 0);

    if (gap <= limit)
        wmi_checks_add(
            &s->checks, "overfitting", gap, limit, WM_CHECK_OK,
            "Losses at rows that fits have seen (%.4f) and have not seen (%.4f) are close: %.4f "
            "apart, of at most %.3f.",
            s->info.train_loss, s->info.test_loss, gap, limit);
    else
        wmi_checks_add(
            &s->checks, "overfitting", gap, limit, WM_CHECK_DOUBT,
            "Fits know the rows that they have seen (loss %.4f) better than others (%.4f), by "
            "%.4f where %.3f would pass: the ratio is noisy, and differences come out too small; "
            "more data, or a simpler model.",
            s->info.train_loss, s->info.test_loss, gap, limit);
}

/* Free numbers of a bridge: of curves those that are in effect, the most of any fit. */
static double numbers_of(const wm_study *s)
{
    const double d = (double)s->data.dim;
    double numbers = 0;

    for (int64_t f = 0; f < s->trial.folds; f++)
        numbers = fmax(numbers, s->trial.fit[f]->info.numbers);
    if ((s->trial.model & (WM_RATIO_ADDITIVE | WM_RATIO_MIXTURE) ||
         wmi_trial_counts(&s->trial, &s->data)) &&
        !wmi_is_network(s->trial.model) && numbers > 0)
        return numbers;
    if (s->by_form && s->pairs) /* the rest is the same on both sides */
        return (double)(s->ratio->encoder.first[s->ratio->pairs] *
                        (s->data.dim - s->ratio->encoder.first[s->ratio->pairs]));
    return s->trial.model & WM_RATIO_QUADRATIC ? 0.5 * d * (d + 3) + 1 : d + 1;
}

/* Rows by which what a model lacks could be seen. */
static double least_rows(const wm_study *s)
{
    if (s->trial.model & WM_RATIO_ADDITIVE)
        return LEAST_ROWS_CURVES;
    if (wmi_trial_counts(&s->trial, &s->data))
        return LEAST_ROWS_COUNTS;
    return s->pairs || s->suspect ? LEAST_ROWS_SUSPECT : LEAST_ROWS;
}

static void check_samples(wm_study *s)
{
    const bool curves = s->trial.model & WM_RATIO_ADDITIVE;
    const double numbers = numbers_of(s), least = least_rows(s);
    const double each = s->by_form ? ROWS_EACH_MOMENTS : ROWS_EACH;
    const double n = (double)(s->info.n_p < s->info.n_q ? s->info.n_p : s->info.n_q);

    if (n < least && n / numbers >= 1)
        wmi_checks_add(&s->checks, "samples", n, least, WM_CHECK_DOUBT,
                       "There are only %.0f rows: whether p and q differ in more than %s, and "
                       "whether the model's form is right, cannot be seen in fewer than %.0f.",
                       n, curves ? "single columns" : "means and covariances", least);
    else if (n / numbers >= each)
        wmi_checks_add(&s->checks, "samples", n / numbers, each, WM_CHECK_OK,
                       "There are %.0f rows for the %.0f numbers of a bridge: %.1f each, of at "
                       "least %.0f.",
                       n, numbers, n / numbers, each);
    else
        wmi_checks_add(
            &s->checks, "samples", n / numbers, each,
            n / numbers < 1 ? WM_CHECK_FAILED : WM_CHECK_DOUBT,
            "There are only %.0f rows for the %.0f numbers of a bridge, %.1f each, of at least "
            "%.0f: more rows, %s.",
            n, numbers, n / numbers, each,
            s->pairs ? "or fewer columns" /* a linear model sees no pairs */
                     : "fewer columns, or a linear model");
}

/* A mixture that held-out rows still wanted larger when no larger one was to be had: twelve
 * components are no grid of 27 modes. */
static void check_components(wm_study *s)
{
    const wmi_mixture *m = s->data.mixture;
    const int64_t k = m[0].k > m[1].k ? m[0].k : m[1].k;

    if (s->trial.model & WM_RATIO_MIXTURE && k >= WMI_MIXTURE_MOST)
        wmi_checks_add(&s->checks, "components", (double)k, WMI_MIXTURE_MOST - 1, WM_CHECK_DOUBT,
                       "%" PRId64 " components, the most that are tried, describe rows that were "
                       "held out clearly better than fewer: there may be more groups than a "
                       "mixture of so many holds.",
                       k);
}

/* Copies are no new draws, and a row that is held out may be one of those that a fit has seen. */
static void check_repeats(wm_study *s)
{
    if (s->data.repeated > WMI_REPEATED)
        wmi_checks_add(
            &s->checks, "repeats", s->data.repeated, WMI_REPEATED, WM_CHECK_DOUBT,
            "%.0f %% of the rows are exact copies of others%s: rows that are held out have been "
            "seen, so estimates are off and intervals too narrow. Give every draw once; how much "
            "it counts can be a weight.",
            100 * s->data.repeated, s->pairs ? "" : ", in p, in q or in both");
}

/* A mutual information is at most the entropy of either side, where that is discrete: each value
 * occurs often enough for counts to tell the entropy. */
static wm_status check_entropy(wm_study *s, const wm_data *joint, int64_t dim_u, wm_error *err)
{
    static const char *const side[] = {"u", "v"};
    const int64_t first[] = {0, dim_u, wm_data_dim(joint)};
    wm_status st = WM_OK;

    for (int t = 0; t < 2 && !st; t++) {
        int64_t *count, kinds;

        st = wmi_row_kinds(&count, &kinds, joint, first[t], first[t + 1] - first[t], err);
        if (!st && (double)kinds * ROWS_OF_LEVEL <= (double)wm_data_count(joint))
            wmi_check_entropy(&s->checks, &s->info.kl_pq, side[t], kinds, count);
        wmi_free(count);
    }
    return st;
}

/* What a column of one side leaves of its variance beside those of the other, below which it is
 * computed from them: digits that files have lost leave about so much. */
static const double COMPUTED = 1e-11;

/* A number that can be computed from the other side tells infinitely much of it. Columns are looked
 * at as they are, for sums, and as what they have become, for any rising or falling function. */
static wm_status check_computable(wm_study *s, const wm_data *joint, int64_t dim_u, wm_error *err)
{
    const wmi_encoder *e = &s->data.encoder;
    const int64_t d = wm_data_dim(joint), dim = e->dim;
    const int64_t raw[] = {0, dim_u, d}, made[] = {0, e->first[dim_u], dim};
    double *share = NULL, *as_made = NULL; /* (d), (dim) */
    wm_status st;

    if ((st = wmi_alloc(&share, d, sizeof *share, "columns", err)) ||
        (st = wmi_alloc(&as_made, dim, sizeof *as_made, "columns", err)))
        goto done;
    for (int t = 0; t < 2 && !st; t++) {
        st = wmi_unexplained(share, wm_data_count(joint), d, wm_data_rows(joint), raw[t],
                             raw[t + 1] - raw[t], err);
        if (!st)
            st = wmi_unexplained(as_made, s->data.n[0], dim, s->data.x[0], made[t],
                                 made[t + 1] - made[t], err);
        for (int64_t j = raw[1 - t]; j < raw[2 - t] && !st; j++) {
            const bool number = e->kind[j] == WM_KIND_CONTINUOUS;
            const double left = number ? fmin(share[j], as_made[e->first[j]]) : 1;

            if (!(left < COMPUTED))
                continue;
            wmi_checks_add(&s->checks, "computed", left, COMPUTED, WM_CHECK_FAILED,
                           "I(u; v) is infinite: column %" PRId64 " of %s can be computed from the "
                           "columns of %s, which leave %.1g of its variance. Leave it out, or ask "
                           "about the others.",
                           j - raw[1 - t] + 1, t ? "u" : "v", t ? "v" : "u", left);
            goto done; /* one will do */
        }
    }
done:
    wmi_free(as_made);
    wmi_free(share);
    return st;
}

static wm_status check_impossible(wm_study *s, const wm_data *p, const wm_study_opts *opts,
                                  wm_error *err)
{
    const wm_study_info *info = &s->info;
    const int64_t rows = info->n_p < info->n_q ? info->n_p : info->n_q;
    const wmi_divergence mi = {"I(u; v)", info->kl_pq};
    const wmi_divergence kl[] = {{"KL(p, q)", info->kl_pq}, {"KL(q, p)", info->kl_qp}};

    if (!s->pairs) {
        wmi_check_divergences(&s->checks, 2, kl, rows);
        return WM_OK;
    }
    wmi_check_divergences(&s->checks, 1, &mi, rows);
    if (!opts->weights[0]) {
        const wm_status st = check_entropy(s, p, opts->pairs, err);

        if (st)
            return st;
    }
    return check_computable(s, p, opts->pairs, err);
}

wm_status wmi_study_judge(wm_study *s, const wm_data *p, const wm_study_opts *opts, wm_error *err)
{
    const int64_t before = s->checks.n; /* those of levels */
    /* Counts are no classifier, which could fail to tell, go on too far or miss mean 1. */
    const bool counts = wmi_trial_counts(&s->trial, &s->data);
    wm_study_info *info = &s->info;
    wm_status st;

    info->lower_pq = info->kl_pq.value - info->under_q.log_mean;
    if ((st = check_impossible(s, p, opts, err)) || (st = wmi_study_look_at_form(s, opts, err)) ||
        (st = wmi_study_check_support(s, opts->control.stop, err)))
        return st;
    wmi_study_check_form(s);
    if (!counts) {
        check_chasm(s);
        check_extrapolation(s);
        check_normaliser(s, 0, &info->under_q, info->n_q);
        check_normaliser(s, 1, &info->under_p, info->n_p);
        if ((st = check_bridges(s, err)))
            return st;
        wmi_study_check_missed(s);
        wmi_study_check_neighbours(s);
    }
    check_overfitting(s);
    check_samples(s);
    check_components(s);
    check_repeats(s);
    if (!info->finished)
        wmi_check_finished(&s->checks, false);
    for (int64_t i = before; i < s->checks.n; i++)
        s->rest_failed = s->rest_failed || s->checks.check[i].outcome == WM_CHECK_FAILED;
    info->verdict = wm_checks_verdict(&s->checks);
    info->verdict_pq = wm_checks_verdict_about(&s->checks, WM_ABOUT_PQ);
    info->verdict_qp = wm_checks_verdict_about(&s->checks, WM_ABOUT_QP);
    return WM_OK;
}
