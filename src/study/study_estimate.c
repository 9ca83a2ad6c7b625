/* study_estimate.c - KL divergences of a study with their intervals.
 *
 * Forms by moments: a jackknife over all rows, which takes out the bias (plug_in.h). Curves and
 * networks: log-ratios are put into Donsker and Varadhan's bound,
 *
 *   KL(p, q) >= E_p[log r] - log E_q[r],
 *
 * which the true ratio attains: an error e of log r costs only its variance, so that the error of
 * the rows is the whole error of first order, var_p(log r) / n_p + var_q(r) / n_q. What is left is
 * of second order and has two signs: rows that a fit has not seen give too little, those that it
 * has seen too much, by as much. The mean of the two is the estimate, and a quarter of their
 * distance, half of what was corrected, is a further standard error. Everything else is the mean of
 * log-ratios that fits of other rows give, with the error of rows and fits together (intervals.h).
 */
#include <math.h>

#include "base/alloc.h"
#include "base/sums.h"
#include "check/intervals.h"
#include "moments/plug_in.h"
#include "study/study_impl.h"

enum {
    SHUFFLED_ROWS = 100000, /* pairs of other rows, about, that the mean of r is taken over */
    MOST_SHIFTS = 20,       /* times that each row meets another */
};

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

static void estimate_plainly(wm_study *s, const wm_study_opts *o, double norm_se)
{
    wm_study_info *info = &s->info;
    const wmi_trial *t = &s->trial;
    const int q = s->pairs ? 0 : 1;

    info->kl_pq =
        wmi_interval(s->data.n[0], t->log_r[0], s->data.weight[0], t->n_without, t->without[0]);
    info->kl_qp = negative(
        wmi_interval(s->data.n[q], t->log_r[1], s->data.weight[q], t->n_without, t->without[1]));
    info->kl_pq = widened(info->kl_pq, hypot(norm_se, blur_of_ranks(s, info->kl_pq.value, o)));
    info->kl_qp = widened(info->kl_qp, norm_se);
}

/* ---- seen and unseen rows ---- */

/* A table's rows, once or several times over: log-ratios (n), and weights (rows) or NULL. */
typedef struct side {
    int64_t n, rows;
    const double *log_r, *weight;
} side;

static double weight_at(const side *s, int64_t i)
{
    return s->weight ? s->weight[i % s->rows] : 1;
}

/* Mean and variance of the mean of sign log r. */
static double mean_of(const side *s, double sign, double *variance)
{
    double sum = 0, sum_w = 0, squares = 0, mean;

    for (int64_t i = 0; i < s->n; i++) {
        sum_w += weight_at(s, i);
        sum += weight_at(s, i) * sign * s->log_r[i];
    }
    mean = sum / sum_w;
    for (int64_t i = 0; i < s->n; i++) {
        const double dev = weight_at(s, i) * (sign * s->log_r[i] - mean);

        squares += dev * dev;
    }
    *variance = squares / (sum_w * sum_w);
    return mean;
}

/* log of the mean of r^sign, and the variance of that. */
static double log_mean_of(const side *s, double sign, double *variance)
{
    double most = -INFINITY, sum = 0, sum_w = 0, squares = 0;

    for (int64_t i = 0; i < s->n; i++)
        most = fmax(most, sign * s->log_r[i]);
    for (int64_t i = 0; i < s->n; i++) {
        sum_w += weight_at(s, i);
        sum += weight_at(s, i) * exp(sign * s->log_r[i] - most);
    }
    for (int64_t i = 0; i < s->n; i++) {
        const double dev = weight_at(s, i) * (exp(sign * s->log_r[i] - most) / (sum / sum_w) - 1);

        squares += dev * dev;
    }
    *variance = squares / (sum_w * sum_w);
    return most + log(sum / sum_w);
}

/* The bound of KL(own, other), where log r is own / other times sign. A mean of r that is not 1
 * says by how much log r is off on the whole: half of that counts as an error. */
static double bound(const side *own, const side *other, double sign, double *variance)
{
    double var_mean, var_log;
    const double mean = mean_of(own, sign, &var_mean),
                 log_mean = log_mean_of(other, sign, &var_log);

    *variance = var_mean + var_log + log_mean * log_mean / 4;
    return mean - log_mean;
}

/* What a small divergence may be although little or nothing of it was seen: its estimate has a
 * variance of about 2 KL (1 / n_p + 1 / n_q), so the interval holds the KL that are not further
 * than that from the estimate (as Wilson's does for shares), and has a width where the estimate is
 * 0. */
static void allow_for_unseen(wm_estimate *e, double rows)
{
    const double z2 = WMI_Z_975 * WMI_Z_975, value = fmax(e->value, 0);
    const double reach = sqrt(z2 * rows * rows * z2 + 2 * rows * value * z2);

    e->lo = fmin(e->lo, value + z2 * rows - reach);
    e->hi = fmax(e->hi, value + z2 * rows + reach);
    e->se = fmax(e->se, (e->hi - e->lo) / (2 * WMI_Z_975));
}

/* The same where the error of the rows is known: near 0, where that error is of second order, and
 * its estimate nearly nothing. Four times the least that can be seen is not near. */
static void allow_near_nothing(wm_estimate *e, double rows)
{
    const double near = 4 * WMI_Z_975 * WMI_Z_975 * rows, value = fmax(e->value, 0);
    wm_estimate least = {value, 0, value, value};

    if (value < near) {
        allow_for_unseen(&least, rows * (1 - value / near));
        e->lo = fmin(e->lo, least.lo);
        e->hi = fmax(e->hi, least.hi);
        e->se = fmax(e->se, (e->hi - e->lo) / (2 * WMI_Z_975));
    }
}

/* Halfway between a bound by rows that fits have not seen and one by those that they have. */
static wm_estimate around(double low, double high, double variance, double missed)
{
    const double se = sqrt(variance + (high - low) * (high - low) / 16 + missed * missed / 4);
    const double value = 0.5 * (low + high), half = WMI_Z_975 * se;

    return (wm_estimate){value, se, value - half, value + half};
}

/* fresh and seen: the two tables by fits that have not, and that have, seen their rows. */
static wm_estimate between(const side fresh[2], const side seen[2], int own, double missed)
{
    const double sign = own ? -1 : 1;
    double variance, ignored;
    const double low = bound(&fresh[own], &fresh[1 - own], sign, &variance);
    const double high = bound(&seen[own], &seen[1 - own], sign, &ignored);
    wm_estimate e = around(low, high, variance, missed);

    allow_for_unseen(&e, 1 / (double)fresh[0].n + 1 / (double)fresh[1].n);
    return e;
}

/* Log-ratios at rows of p and q by fits that have not seen them, and by those that have. */
typedef struct both_ways {
    int64_t n[2];
    double *fresh[2], *seen[2]; /* (n) */
} both_ways;

static void free_both_ways(both_ways *b)
{
    for (int t = 0; t < 2; t++) {
        wmi_free(b->fresh[t]);
        wmi_free(b->seen[t]);
    }
}

/* Pairs of other rows are free, and with many of them the mean of r is known well: its noise is
 * that of a ratio of which each row's own mean is 1. */
static int64_t shifts_for(const wm_study *s)
{
    const int64_t most = s->pairs ? SHUFFLED_ROWS / s->data.n[0] : 1;

    return most < 1 ? 1 : most > MOST_SHIFTS ? MOST_SHIFTS : most;
}

static wm_status score_both_ways(both_ways *b, const wm_study *s, const wm_study_opts *o,
                                 double shift, wm_error *err)
{
    wm_status st;

    for (int t = 0; t < 2; t++) {
        const int64_t times = t ? shifts_for(s) : 1;

        b->n[t] = times * s->data.n[s->pairs ? 0 : t];
        if ((st = wmi_alloc(&b->fresh[t], b->n[t], sizeof *b->fresh[t], "log-ratios", err)) ||
            (st = wmi_alloc(&b->seen[t], b->n[t], sizeof *b->seen[t], "log-ratios", err)) ||
            (st = wmi_study_score_rows(s, o, t, times, shift, b->fresh[t], b->seen[t], err)))
            return st;
    }
    return WM_OK;
}

/* A row that no fit has seen may lie where curves go on by themselves: its log-ratio counts for no
 * more than the largest, or least, of any row that a fit has seen. */
static void hold_back(both_ways *b)
{
    double lo = INFINITY, hi = -INFINITY;

    for (int t = 0; t < 2; t++)
        for (int64_t i = 0; i < b->n[t]; i++) {
            lo = fmin(lo, b->seen[t][i]);
            hi = fmax(hi, b->seen[t][i]);
        }
    for (int t = 0; t < 2; t++)
        for (int64_t i = 0; i < b->n[t]; i++)
            b->fresh[t][i] = fmin(fmax(b->fresh[t][i], lo), hi);
}

/* Standard deviation of what the fits say of the same rows; of curves, whose fits differ by their
 * rows alone, that of the jackknife. */
static double spread_of_fits(const wmi_trial *t, int which)
{
    const double *without = t->without[which];

    return sqrt(wmi_is_network(t->model) ? wmi_moments_f64(without, t->n_without).var
                                         : wmi_jackknife(without, t->n_without).var);
}

/* Far apart the mean of r hangs on rows that are not there: means of log-ratios are all that is
 * left, and an error of a fit counts in full. */
static wm_estimate between_means(const side *fresh, const side *seen, double sign, double spread,
                                 double missed)
{
    double variance, ignored;
    const double low = mean_of(fresh, sign, &variance), high = mean_of(seen, sign, &ignored);

    return around(low, high, variance + spread * spread, missed);
}

/* Both divergences by log-ratios that are there; weight: of the rows (rows) of p and q, or NULL. */
static wm_status divergences(wm_estimate kl[2], const wm_study *s, const both_ways *b,
                             const int64_t rows[2], double *const weight[2], wm_error *err)
{
    double missed = 0;

    for (int64_t f = 0; f < s->trial.folds; f++)
        missed += s->trial.fit[f]->info.missed / (double)s->trial.folds;
    if (s->trial.model & WM_RATIO_MIXTURE)
        missed = s->data.mixture_gain;
    for (int own = 0; own < 2; own++) {
        const double sign = own ? -1 : 1;
        side fresh[2], seen[2];
        wm_normaliser mean;
        wm_status st;

        for (int t = 0; t < 2; t++) {
            fresh[t] = (side){b->n[t], rows[t], b->fresh[t], weight[t]};
            seen[t] = (side){b->n[t], rows[t], b->seen[t], weight[t]};
        }
        if ((st = wmi_normaliser_of(&mean, b->n[1 - own], b->fresh[1 - own], sign, err)))
            return st;
        kl[own] = wmi_normaliser_judged(&mean, b->n[1 - own])
                      ? between(fresh, seen, own, missed)
                      : between_means(&fresh[own], &seen[own], sign, spread_of_fits(&s->trial, own),
                                      missed);
    }
    return WM_OK;
}

static wm_status estimate_both_ways(wm_study *s, const wm_study_opts *o, double shift,
                                    wm_error *err)
{
    const int q = s->pairs ? 0 : 1;
    both_ways b = {0};
    wm_estimate kl[2];
    wm_status st = score_both_ways(&b, s, o, shift, err);

    if (!st && !wmi_is_network(s->trial.model))
        hold_back(&b);
    if (!st && !(st = divergences(kl, s, &b, (int64_t[]){s->data.n[0], s->data.n[q]},
                                  (double *const[]){s->data.weight[0], s->data.weight[q]}, err))) {
        s->info.kl_pq = widened(kl[0], blur_of_ranks(s, kl[0].value, o));
        s->info.kl_qp = kl[1];
    }
    free_both_ways(&b);
    return st;
}

/* Pairs of levels: nothing is drawn of those that are none, and the table has mean 1 over the rows
 * that it was counted from. */
static wm_status estimate_counts(wm_study *s, const wm_study_opts *o, double norm_se, wm_error *err)
{
    const int64_t n = s->data.n[0];
    const double *const weight = s->data.weight[0];
    double *fresh = NULL, *seen = NULL, log_mean, variance, ignored, missed = 0;
    wm_status st;

    estimate_plainly(s, o, norm_se);
    if ((st = wmi_alloc(&fresh, n, sizeof *fresh, "log-ratios", err)) ||
        (st = wmi_alloc(&seen, n, sizeof *seen, "log-ratios", err)) ||
        (st = wmi_study_score_rows(s, o, 0, 1, 0, fresh, seen, err)) ||
        (st = wmi_study_counted_mean(&log_mean, s, o, err)))
        goto done;
    for (int64_t f = 0; f < s->trial.folds; f++)
        missed += s->trial.fit[f]->info.missed / (double)s->trial.folds;
    const double low = mean_of(&(side){n, n, fresh, weight}, 1, &variance) - log_mean;
    const double high = mean_of(&(side){n, n, seen, weight}, 1, &ignored);

    s->info.kl_pq = around(low, high, variance, missed);
    allow_for_unseen(&s->info.kl_pq, 1 / (double)n);
done:
    wmi_free(fresh);
    wmi_free(seen);
    return st;
}

/* ---- without the rows that one table alone has ---- */

enum { LEAST_REST = 10 }; /* rows of each table */

/* Moves the rows of table t that are not lone to the front of what is known of them; weight (n) of
 * these comes from the data. Their log-ratio is that of what is left of the table. */
static void keep_rest(both_ways *b, const wm_study *s, int t, double *weight)
{
    const int64_t n = b->n[t];
    int64_t kept = 0;

    for (int64_t i = 0; i < n; i++)
        if (!s->lone[t][s->data.order[t][i]]) {
            b->fresh[t][kept] = b->fresh[t][i];
            b->seen[t][kept] = b->seen[t][i];
            weight[kept++] = s->data.weight[t] ? s->data.weight[t][i] : 1;
        }
    b->n[t] = kept;
}

/* A fit that was told of the lone rows does not have mean 1 without them: p' is p / P(not lone)
 * there, and so for q. Where the mean of r can be told it says so better than the shares of rows
 * do. */
static wm_status shift_rest(both_ways *b, const wm_study_info *info, wm_error *err)
{
    double by = log1p(-info->lone_q) - log1p(-info->lone_p);
    wm_normaliser mean;
    wm_status st = wmi_normaliser_of(&mean, b->n[1], b->fresh[1], 1, err);

    if (st)
        return st;
    if (wmi_normaliser_judged(&mean, b->n[1]))
        by = -mean.log_mean;
    for (int t = 0; t < 2; t++)
        for (int64_t i = 0; i < b->n[t]; i++) {
            b->fresh[t][i] += by;
            b->seen[t][i] += by;
        }
    return WM_OK;
}

static wm_status estimate_rest(wm_estimate kl[2], const wm_study *s, const wm_study_opts *o,
                               wm_error *err)
{
    both_ways b = {0};
    double *weight[2] = {NULL, NULL};
    wm_status st = score_both_ways(&b, s, o, 0, err);

    for (int t = 0; t < 2 && !st; t++)
        if (!(st = wmi_alloc(&weight[t], b.n[t], sizeof **weight, "weights", err)))
            keep_rest(&b, s, t, weight[t]);
    if (!st && b.n[0] >= LEAST_REST && b.n[1] >= LEAST_REST &&
        !(st = shift_rest(&b, &s->info, err))) {
        if (!wmi_is_network(s->trial.model))
            hold_back(&b);
        st = divergences(kl, s, &b, b.n, weight, err);
    }
    wmi_free(weight[0]);
    wmi_free(weight[1]);
    free_both_ways(&b);
    return st;
}

wm_status wmi_study_estimate_rest(wm_study *s, const wm_study_opts *o, wm_error *err)
{
    static const wm_estimate none = {NAN, NAN, NAN, NAN};
    wm_study_info *info = &s->info;
    wm_estimate kl[2] = {none, none};
    wm_status st;

    info->rest_pq = info->rest_qp = none;
    if (!(info->lone_p > 0) && !(info->lone_q > 0))
        return WM_OK;
    if (!s->rest_failed && (st = estimate_rest(kl, s, o, err)))
        return st;
    if (info->lone_p > 0) {
        info->kl_pq = none;
        info->rest_pq = kl[0];
    }
    if (info->lone_q > 0) {
        info->kl_qp = none;
        info->rest_qp = kl[1];
    }
    return WM_OK;
}

/* ---- moments ---- */

/* Forms by moments: without the bias that as many numbers as a form has would bring. `shift` was
 * taken off the log-ratios. */
static wm_status estimate_by_moments(wm_study *s, const wm_study_opts *o, double shift, bool *did,
                                     wm_error *err)
{
    const wmi_trial *t = &s->trial;
    const int q = s->pairs ? 0 : 1;
    const wmi_plug_in_rows rows = {
        .n = {s->data.n[0], s->data.n[1]},
        .dim = s->data.dim,
        .pairs = s->pairs ? s->data.encoder.first[o->pairs] : 0,
        .x = {s->data.x[0], s->data.x[1]},
    };
    const wmi_plug_in_rows all = {
        .n = {s->whole[0] ? s->whole[0]->n : 0, s->whole[1] ? s->whole[1]->n : 0},
        .dim = s->data.dim,
        .groups = {s->whole[0], s->whole[1]},
    };
    wmi_plug_in moments[2], whole[2];
    wm_estimate kl[2];
    int64_t refined = 0;
    wm_status st;

    *did = false;
    if (t->model != WM_RATIO_QUADRATIC || !wmi_trial_only_moments(t) || s->data.weight[0] ||
        s->data.weight[q] || s->data.repeated > WMI_REPEATED)
        return WM_OK; /* a copy in another group is no new row */
    if ((st = wmi_plug_in_divergences(moments, &rows, t->folds, err)))
        return st == WM_EINVAL ? WM_OK : st; /* a shrunk covariance had an inverse */
    if (s->whole[0] && (st = wmi_plug_in_divergences(whole, &all, t->folds, err)))
        return st == WM_EINVAL ? WM_OK : st;
    for (int64_t f = 0; f < t->folds; f++)
        refined += t->fit[f]->info.refined;
    for (int own = 0; own < 2; own++) {
        const double sign = own ? -1 : 1;
        const int64_t n = s->data.n[s->pairs ? 0 : own];
        const side fresh = {n, n, t->log_r[own], NULL};
        const wmi_plug_in *by = s->whole[0] ? &whole[own] : &moments[own];
        /* what refinement changed is kept, and was seen in the rows that are held */
        const double se = refined && s->whole[0] ? hypot(by->se, moments[own].se) : by->se;
        double ignored, value = by->corrected, half = se * wmi_t_975(by->groups - 1);

        if (refined)
            value += mean_of(&fresh, sign, &ignored) + sign * shift - moments[own].unseen;
        kl[own] = (wm_estimate){value, se, value - half, value + half};
        allow_near_nothing(&kl[own], 1 / (double)s->data.n[0] + 1 / (double)s->data.n[q]);
    }
    s->info.kl_pq = widened(kl[0], blur_of_ranks(s, kl[0].value, o));
    s->info.kl_qp = kl[1];
    *did = true;
    return WM_OK;
}

/* Curves hold no products of columns, and many small ones are more than held-out rows can tell. Of
 * tables that look normal the moments say how much there is, without the bias that as many numbers
 * bring: if that is more than the curves' own interval allows it is the answer, and half of what it
 * is more an error. */
static wm_status add_products(wm_study *s, wm_error *err)
{
    const wmi_plug_in_rows rows = {
        .n = {s->data.n[0], s->data.n[1]}, .dim = s->data.dim, .x = {s->data.x[0], s->data.x[1]}};
    wm_estimate *const kl[2] = {&s->info.kl_pq, &s->info.kl_qp};
    const double d = (double)s->data.dim,
                 n = (double)(s->data.n[0] < s->data.n[1] ? s->data.n[0] : s->data.n[1]);
    wmi_plug_in moments[2];
    wm_status st;

    if (s->trial.model != WM_RATIO_ADDITIVE || s->suspect || s->data.found.mixed || d < 2 ||
        n < 0.5 * d * (d + 3) || s->data.weight[0] || s->data.weight[1] ||
        s->data.repeated > WMI_REPEATED)
        return WM_OK;
    if ((st = wmi_plug_in_divergences(moments, &rows, s->trial.folds, err)))
        return st == WM_EINVAL ? WM_OK : st;
    for (int own = 0; own < 2; own++) {
        const double more = moments[own].corrected - kl[own]->value;
        const double se = hypot(moments[own].se, 0.5 * more),
                     half = se * wmi_t_975(moments[own].groups - 1);

        if (more > kl[own]->hi - kl[own]->value)
            *kl[own] = (wm_estimate){kl[own]->value + more, se, kl[own]->value + more - half,
                                     kl[own]->value + more + half};
    }
    return WM_OK;
}

const char *wm_interval_text(wm_interval interval)
{
    return interval == WM_INTERVAL_BOUND ? "rows, and what seen and unseen rows disagree on"
                                         : "delete-a-group jackknife and rows";
}

wm_status wmi_study_estimate(wm_study *s, const wm_study_opts *opts, double shift, double norm_se,
                             wm_error *err)
{
    wm_status st;
    bool did;

    if (s->trial.model & WM_RATIO_MIXTURE &&
        (st = wmi_trial_finer_jackknife(&s->trial, &s->data, opts, err)))
        return st;
    if (wmi_trial_counts(&s->trial, &s->data)) {
        s->info.interval = WM_INTERVAL_BOUND;
        return estimate_counts(s, opts, norm_se, err);
    }
    if (wmi_keeps_members(s->trial.model) || (s->trial.model & WM_RATIO_ADDITIVE && !s->pairs)) {
        s->info.interval = WM_INTERVAL_BOUND;
        st = estimate_both_ways(s, opts, shift, err);
        return st || s->pairs ? st : add_products(s, err);
    }
    if ((st = estimate_by_moments(s, opts, shift, &did, err)) || did)
        return st;
    if (wmi_trial_only_moments(&s->trial) &&
        (st = wmi_trial_finer_jackknife(&s->trial, &s->data, opts, err)))
        return st;
    estimate_plainly(s, opts, norm_se);
    return WM_OK;
}
