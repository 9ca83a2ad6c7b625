/* study_checks.c - what could be wrong with an answer, in numbers, in plain words, and as a
 * verdict. The limits were chosen on generated problems where the truth is known:
 * docs/calibration.md. */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/sums.h"
#include "estimators/pareto.h"
#include "estimators/study_impl.h"

static const double CHASM = 0.1;      /* logistic loss of a bridge */
static const double SATURATED = 0.02; /* likewise: nothing is learned any more */
/* Share of rows with logits unlike those in training: of a network, and of a form that held-out
 * rows of every bridge support. */
static const double BEYOND_NETWORK = 0.1, BEYOND_FORM = 0.5;
static const double TAIL = 0.7; /* Pareto k above which a mean of weights says nothing */
static const double LEAST_ESS = 50;
static const double OFF = 0.1;     /* nats by which log E[r] may miss 0, beyond its noise */
static const double OVERFIT = 0.1; /* nats of loss between seen and unseen rows */
/* Of a trained model the sum of that over bridges, as a share of the answer: what a network knows
 * of its own rows only is about twice what it has missed of all. */
static const double OVERFIT_SHARE = 0.1, OVERFIT_LEAST = 0.02;
static const double ROWS_EACH = 3;    /* rows for each free number of a convex bridge */
static const double REPEATED = 0.01;  /* share of rows that are copies of others */
static const double LEAST_ROWS = 500; /* fewer tell means and covariances, and no more */

static void add(wm_study *s, const char *name, double value, double limit, bool ok, bool grave,
                const char *fmt, ...) __attribute__((format(printf, 7, 8)));

static void add(wm_study *s, const char *name, double value, double limit, bool ok, bool grave,
                const char *fmt, ...)
{
    wm_check *c = &s->check[s->n_checks++];
    va_list args;

    *c = (wm_check){.name = name, .value = value, .limit = limit, .ok = ok, .grave = grave};
    va_start(args, fmt);
    vsnprintf(c->meaning, sizeof c->meaning, fmt, args);
    va_end(args);
}

const char *wm_verdict_text(wm_verdict v)
{
    static const char *const names[] = {"trust", "doubt", "reject"};

    return names[v];
}

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

bool wmi_normaliser_judged(const wm_normaliser *n)
{
    return n->pareto_k < TAIL && n->ess >= LEAST_ESS;
}

wm_status wmi_trial_normaliser(wm_normaliser *out, const wmi_trial *t, int64_t k, int side,
                               wm_error *err)
{
    return wmi_normaliser_of(out, t->n_path, (side ? t->num : t->den) + k * t->n_path,
                             side ? -1 : 1, err);
}

static void check_chasm(wm_study *s)
{
    double lowest = INFINITY;
    int64_t at = 0;

    for (int64_t k = 0; k < s->trial.m; k++) {
        const double loss = wmi_trial_bridge(&s->trial, k).loss;

        if (loss < lowest) {
            lowest = loss;
            at = k;
        }
    }
    const wm_ratio_bridge b = wmi_trial_bridge(&s->trial, at);

    if (lowest >= CHASM)
        add(s, "chasm", lowest, CHASM, true, true,
            "Neighbouring waymarks overlap: the classifier of the hardest bridge (%" PRId64
            ") is right %.1f times in 100.",
            at, 100 * b.accuracy);
    else
        add(s, "chasm", lowest, CHASM, false, lowest < SATURATED,
            "Bridge %" PRId64 " (alpha %.4g to %.4g) tells its two waymarks apart %.2f times in "
            "100, so that it learns little about by how much: use more bridges (--bridges auto, or "
            "a larger number), or a spacing with a smaller gap there.",
            at, b.alpha_from, b.alpha_to, 100 * b.accuracy);
}

static void check_extrapolation(wm_study *s)
{
    const double limit = s->trial.model & WM_RATIO_TRAINED ? BEYOND_NETWORK : BEYOND_FORM;
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
    if (worst <= limit)
        add(s, "extrapolation", worst, limit, true, false,
            "Bridges are asked about log-ratios like those that they were trained on, at all but "
            "%.0f %% of the rows.",
            100 * worst);
    else
        add(s, "extrapolation", worst, limit, false, false,
            "At %.0f %% of the rows of %s bridge %" PRId64 " gives log-ratios beyond any that it "
            "was trained on: there the answer rests on the form of the model (%s), not on data. "
            "Look at the grid of bridges and waymarks; believe it if the form is right.",
            100 * worst, side ? "q" : "p", at,
            s->trial.model & WM_RATIO_TRAINED ? "a network" : "Gaussian waymarks");
}

static void check_normaliser(wm_study *s, const char *name, const char *what,
                             const wm_normaliser *n, int64_t rows)
{
    const double miss = fmax(fabs(n->log_mean) - 3 * n->se, 0);
    const bool judged = wmi_normaliser_judged(n);

    if (!judged)
        add(s, name, n->ess, LEAST_ESS, true, false,
            "%s should be 1, but cannot be judged: of %" PRId64 " rows a few have all the weight "
            "(effective sample size %.1f, tail k %.2f). That is so whenever p and q are far apart.",
            what, rows, n->ess, n->pareto_k);
    else
        add(s, name, n->log_mean, OFF, miss <= OFF, miss > 5 * OFF,
            "%s should be 1 and is %.4f (standard error %.4f; effective sample size %.0f of "
            "%" PRId64 ", tail k %.2f).%s",
            what, exp(n->log_mean), exp(n->log_mean) * n->se, n->ess, rows, n->pareto_k,
            miss <= OFF ? "" : " The ratio is off by that much: more data or another model.");
}

/* The same for every bridge and its own waymarks: these are near enough to be judged, or the bridge
 * is too long. */
static wm_status check_bridges(wm_study *s, wm_error *err)
{
    double worst = 0, tail = -INFINITY;
    wm_normaliser heavy = {0}; /* of the bridge that can be judged least, or of none */
    int64_t at = 0, heaviest = -1;

    for (int64_t k = 0; k < s->trial.m; k++)
        for (int side = 0; side < 2; side++) {
            wm_normaliser n;
            wm_status st = wmi_trial_normaliser(&n, &s->trial, k, side, err);
            const double miss = fabs(n.log_mean) - 3 * n.se;

            if (st)
                return st;
            if (wmi_normaliser_judged(&n) && miss > worst) {
                worst = miss;
                at = k;
            }
            if (!wmi_normaliser_judged(&n) && (heaviest < 0 || n.ess < heavy.ess)) {
                heaviest = k;
                heavy = n;
            }
            tail = fmax(tail, n.pareto_k);
        }
    if (worst <= OFF)
        add(s, "bridges", worst, OFF, true, true,
            "Every bridge's ratio has mean 1 under its own denominator.");
    else
        add(s, "bridges", worst, OFF, false, worst > 5 * OFF,
            "The ratio of bridge %" PRId64 " does not have mean 1 under its own denominator: it is "
            "not learned well. More data, more --iterations, or another --model.",
            at);
    if (heaviest < 0)
        add(s, "tails", tail, TAIL, true, false,
            "No bridge's ratio hangs on a few rows (largest tail k %.2f).", tail);
    else
        add(s, "tails", tail, TAIL, false, false,
            "The ratio of bridge %" PRId64 " hangs on a few extreme rows (tail k %.2f, effective "
            "sample size %.0f of %" PRId64 "): how large it is there cannot be told from these "
            "data. More bridges (--max-bridges) or more rows.",
            heaviest, heavy.pareto_k, heavy.ess, s->trial.n_path);
    return WM_OK;
}

static void check_overfitting(wm_study *s)
{
    const double gap = s->info.test_loss - s->info.train_loss;
    const double share = fmax(OVERFIT_SHARE * fabs(s->info.kl_pq.value), OVERFIT_LEAST);
    const double limit =
        s->trial.model & WM_RATIO_TRAINED ? fmin(OVERFIT, share / (double)s->trial.m) : OVERFIT;

    if (gap <= limit)
        add(s, "overfitting", gap, limit, true, false,
            "Losses at rows that fits have seen (%.4f) and have not seen (%.4f) are close.",
            s->info.train_loss, s->info.test_loss);
    else
        add(s, "overfitting", gap, limit, false, false,
            "Fits know the rows that they have seen (loss %.4f) better than others (%.4f): the "
            "ratio is noisy, and differences come out too small; more data, or a simpler --model.",
            s->info.train_loss, s->info.test_loss);
}

static void check_samples(wm_study *s)
{
    const double d = (double)s->data.dim;
    const double numbers = s->trial.model & WM_RATIO_QUADRATIC ? 0.5 * d * (d + 3) + 1 : d + 1;
    const double n = (double)(s->info.n_p < s->info.n_q ? s->info.n_p : s->info.n_q);

    if (n < LEAST_ROWS && n / numbers >= 1)
        add(s, "samples", n, LEAST_ROWS, false, false,
            "There are only %.0f rows: whether p and q differ in more than means and covariances, "
            "and whether the model's form is right, cannot be seen in fewer than %.0f.",
            n, LEAST_ROWS);
    else if (n / numbers >= ROWS_EACH)
        add(s, "samples", n / numbers, ROWS_EACH, true, false,
            "There are %.0f rows for the %.0f numbers of a bridge.", n, numbers);
    else
        add(s, "samples", n / numbers, ROWS_EACH, false, n / numbers < 1,
            "There are only %.0f rows for the %.0f numbers of a bridge: more rows, fewer columns, "
            "or --model linear.",
            n, numbers);
}

/* Copies are no new draws, and a row that is held out may be one of those that a fit has seen. */
static void check_repeats(wm_study *s)
{
    if (s->data.repeated > REPEATED)
        add(s, "repeats", s->data.repeated, REPEATED, false, false,
            "%.0f %% of the rows are exact copies of others%s: rows that are held out have been "
            "seen, so estimates are off and intervals too narrow. Give every draw once; how much "
            "it counts can be a weight.",
            100 * s->data.repeated, s->pairs ? "" : ", in p, in q or in both");
}

wm_status wmi_study_judge(wm_study *s, wm_error *err)
{
    wm_study_info *info = &s->info;
    const int64_t np = s->data.n[0], nq = s->data.n[s->pairs ? 0 : 1];
    wm_status st;

    if ((st = wmi_normaliser_of(&info->under_q, nq, s->trial.log_r[1], 1, err)) ||
        (st = wmi_normaliser_of(&info->under_p, np, s->trial.log_r[0], -1, err)))
        return st;
    info->lower_pq = info->kl_pq.value - info->under_q.log_mean;
    check_chasm(s);
    check_extrapolation(s);
    check_normaliser(s, "normaliser_q", "The mean of p/q under q", &info->under_q, nq);
    check_normaliser(s, "normaliser_p", "The mean of q/p under p", &info->under_p, np);
    if ((st = check_bridges(s, err)))
        return st;
    check_overfitting(s);
    check_samples(s);
    check_repeats(s);
    if (!info->finished)
        add(s, "finished", 0, 1, false, false,
            "Training was cut short (time limit): the best so far is the answer. Give it more "
            "time, "
            "or go on with --resume.");
    info->verdict = WM_TRUST;
    for (int64_t i = 0; i < s->n_checks; i++)
        if (!s->check[i].ok && (s->check[i].grave || info->verdict == WM_TRUST))
            info->verdict = s->check[i].grave ? WM_REJECT : WM_DOUBT;
    return WM_OK;
}
