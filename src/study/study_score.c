/* study_score.c - what the fits of a trial say about rows that they have not seen: log-ratios at
 * the ends, every bridge at every waymark of some trajectories, and losses. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/order.h"
#include "base/sums.h"
#include "study/study_impl.h"

enum {
    PATH_ROWS = 2000, /* trajectories of a fold that are scored at every waymark */
    SEEN_ROWS = 5000, /* rows, of all folds, at which a fit is scored for the jackknife */
};

wm_status wmi_log_ratios(const wm_ratio *r, int64_t n, const double *x, double *out, wm_error *err)
{
    const int64_t m = r->info.bridges;
    double *each = NULL;
    wm_status st;

    if ((st = wmi_alloc(&each, m * n, sizeof *each, "log-ratios", err)))
        return st;
    if (!(st = wmi_ratio_scores(r, n, x, each, err)))
        for (int64_t i = 0; i < n; i++) {
            out[i] = 0;
            for (int64_t k = 0; k < m; k++)
                out[i] += each[k * n + i];
        }
    wmi_free(each);
    return st;
}

/* n rows of q for fold f's rows of p: q's own in order, or with pairs others of p. */
static void partners(const wmi_study_data *data, const wm_study_opts *s, int64_t f, int64_t n,
                     double *out)
{
    const int which = s->pairs ? 0 : 1;
    int64_t first, count;

    wmi_fold_rows(data->n[which], s->folds, f, &first, &count);
    for (int64_t i = 0; i < n; i++)
        memcpy(out + i * data->dim,
               data->x[which] + (first + (i + (s->pairs ? count / 2 : 0)) % count) * data->dim,
               (size_t)data->dim * sizeof *out);
}

/* Log-ratios at the fold's rows of p and q, and means at rows of the others. */
wm_status wmi_trial_score_ends(wmi_trial *t, const wmi_study_data *data, const wm_study_opts *s,
                               const wm_chain *chain, int64_t f, wm_error *err)
{
    const int64_t d = data->dim, m = t->m;
    wm_status st = WM_OK;

    for (int which = 0; !st && which < 2; which++) {
        const int table = s->pairs ? 0 : which;
        const int64_t n = data->n[table];
        double *x = NULL, *xm = NULL, *out = NULL, sum = 0, sum_w = 0;
        int64_t first, count, seen = 0;

        wmi_fold_rows(n, s->folds, f, &first, &count);
        const int64_t each = SEEN_ROWS / s->folds + 1; /* of every other fold */
        const int64_t room = count + each * s->folds;

        if ((st = wmi_alloc(&x, room * d, sizeof *x, "rows", err)) ||
            (st = wmi_alloc(&xm, room * d, sizeof *xm, "rows", err)) ||
            (st = wmi_alloc(&out, room, sizeof *out, "log-ratios", err)))
            goto next;
        for (int64_t g = 0; g < s->folds; g++) {
            int64_t from, size;

            wmi_fold_rows(n, s->folds, g, &from, &size);
            size = g == f ? size : size < each ? size : each;
            memcpy(x + seen * d, data->x[table] + from * d, (size_t)(size * d) * sizeof *x);
            if (s->pairs && which)
                partners(data, s, g, size, xm + seen * d);
            seen += size;
        }
        if (s->pairs && which) /* rows of p with others' v */
            wm_chain_waymark_f64(chain, m, &(wm_ends_f64){.rows = seen, .x0 = x, .xm = xm}, x);
        if ((st = wmi_log_ratios(t->fit[f], seen, x, out, err)))
            goto next;
        seen = 0;
        for (int64_t g = 0; g < s->folds; g++) {
            int64_t from, size;

            wmi_fold_rows(n, s->folds, g, &from, &size);
            if (g == f) {
                memcpy(t->log_r[which] + from, out + seen, (size_t)size * sizeof *out);
            } else {
                size = size < each ? size : each;
                for (int64_t i = 0; i < size; i++) {
                    const double w = data->weight[table] ? data->weight[table][from + i] : 1;

                    sum += w * out[seen + i];
                    sum_w += w;
                }
            }
            seen += size;
        }
        t->without[which][f] = sum / sum_w;
    next:
        wmi_free(out);
        wmi_free(xm);
        wmi_free(x);
    }
    return st;
}

/* Shares of the logits in ends (2, n), those at rows of p and of q, that are farther out than
 * anything in seen (2 n, which is sorted here), by more than a quarter of its range. */
static void find_beyond(int64_t n, double *seen, const double *p, const double *q, double share[2])
{
    const double *const ends[2] = {p, q};
    double lo, hi, slack;

    wmi_sort_f64(seen, 2 * n);
    lo = seen[n / 250];
    hi = seen[2 * n - 1 - n / 250];
    slack = 0.25 * (hi - lo) + 1e-9;
    for (int t = 0; t < 2; t++) {
        share[t] = 0;
        for (int64_t i = 0; i < n; i++)
            share[t] += (ends[t][i] < lo - slack || ends[t][i] > hi + slack) / (double)n;
    }
}

/* Trajectories through fold f, or (train) through rows that the fit has seen: every bridge at every
 * waymark, s (m + 1, m, n). */
static wm_status score_path(const wm_ratio *r, const wm_chain *chain, int64_t n, const double *x0,
                            const double *xm, double *s, wm_error *err)
{
    const int64_t m = r->info.bridges, d = r->encoder.dim;
    double *x = NULL;
    wm_status st = wmi_alloc(&x, n * d, sizeof *x, "waymarks", err);

    for (int64_t j = 0; !st && j <= m; j++) {
        wm_chain_waymark_f64(chain, j, &(wm_ends_f64){.rows = n, .x0 = x0, .xm = xm}, x);
        st = wmi_ratio_scores(r, n, x, s + j * m * n, err);
    }
    wmi_free(x);
    return st;
}

static double pair_loss(double num, double den)
{
    return wmi_log1pexp(-num) + wmi_log1pexp(den);
}

/* Rows of a fold that are scored at every waymark: fewer where a score is dear. */
int64_t wmi_trial_path_rows(const wmi_trial *t, const wmi_study_data *data, const wm_study_opts *s)
{
    const double d = (double)data->dim, w = (double)s->width, m = (double)t->m;
    const double cost =
        (t->model & WM_RATIO_QUADRATIC ? d * d : d) +
        (t->model & WM_RATIO_TRAINED ? w * (2 * d + 3 * w) : 0) +
        (t->model & WM_RATIO_MIXTURE ? (double)(data->mixture[0].k * data->mixture[1].k) * d * d
                                     : 0);
    const double affordable = 2e9 / (m * (m + 1) * cost * (double)s->ensemble);
    const double most = fmin(PATH_ROWS, fmax(200, affordable));
    const int64_t count = data->n[0] / s->folds;

    return (double)count < most ? count : (int64_t)most;
}

/* Trajectories of a fold on their way through its fit. */
typedef struct scoring {
    const wmi_trial *t;
    const wmi_study_data *data;
    const wm_study_opts *opts;
    const wm_chain *chain;
    int64_t fold, n;  /* n: rows, at most */
    double *xm, *all; /* (n, dim) the far ends; (m + 1, m, n) bridges at waymarks */
} scoring;

/* The first n rows of a fold, by the fit of ours. */
static wm_status score_rows_of(const scoring *p, int64_t fold, int64_t n, wm_error *err)
{
    int64_t first, count;

    wmi_fold_rows(p->data->n[0], p->opts->folds, fold, &first, &count);
    partners(p->data, p->opts, fold, n, p->xm);
    return score_path(p->t->fit[p->fold], p->chain, n, p->data->x[0] + first * p->data->dim, p->xm,
                      p->all, err);
}

/* Mean loss at rows that the fit has seen: those of the next fold. */
static wm_status loss_at_seen(const scoring *p, double *out, wm_error *err)
{
    const int64_t m = p->t->m, other = (p->fold + 1) % p->opts->folds;
    int64_t first, n;
    wm_status st;

    wmi_fold_rows(p->data->n[0], p->opts->folds, other, &first, &n);
    n = p->n < n ? p->n : n;
    if ((st = score_rows_of(p, other, n, err)))
        return st;
    for (int64_t k = 0; k < m; k++)
        for (int64_t i = 0; i < n; i++)
            *out += pair_loss(p->all[(k * m + k) * n + i], p->all[((k + 1) * m + k) * n + i]) /
                    (double)(n * m);
    return WM_OK;
}

wm_status wmi_trial_score_fold(wmi_trial *t, const wmi_study_data *data, const wm_study_opts *s,
                               const wm_chain *chain, int64_t f, wmi_fold_score *out, wm_error *err)
{
    const int64_t m = t->m, n = t->n_path / t->scored;
    scoring p = {.t = t, .data = data, .opts = s, .chain = chain, .fold = f, .n = n};
    double *seen = NULL;
    wm_status st;

    if ((st = wmi_alloc(&p.xm, n * data->dim, sizeof *p.xm, "rows", err)) ||
        (st = wmi_alloc(&p.all, (m + 1) * m * n, sizeof *p.all, "scores", err)) ||
        (st = wmi_alloc(&seen, 2 * n, sizeof *seen, "scores", err)) ||
        (st = score_rows_of(&p, f, n, err)))
        goto done;
    for (int64_t k = 0; k < m; k++) {
        const double *num = p.all + (k * m + k) * n, *den = p.all + ((k + 1) * m + k) * n;

        for (int64_t j = 0; j <= m; j++)
            out->grid[k * (m + 1) + j] = wmi_moments_f64(p.all + (j * m + k) * n, n).mean;
        memcpy(t->num + k * t->n_path + f * n, num, (size_t)n * sizeof *num);
        memcpy(t->den + k * t->n_path + f * n, den, (size_t)n * sizeof *den);
        for (int64_t i = 0; i < n; i++)
            t->loss[f * n + i] += pair_loss(num[i], den[i]) / (double)m;
        memcpy(seen, num, (size_t)n * sizeof *num);
        memcpy(seen + n, den, (size_t)n * sizeof *den);
        find_beyond(n, seen, p.all + k * n, p.all + (m * m + k) * n, out->beyond + 2 * k);
    }
    out->train = 0;
    if (!t->brief) /* where nobody asks */
        st = loss_at_seen(&p, &out->train, err);
done:
    wmi_free(seen);
    wmi_free(p.all);
    wmi_free(p.xm);
    return st;
}

wm_status wmi_trial_waymark(const wmi_trial *t, const wmi_study_data *data, const wm_study_opts *s,
                            const wm_chain *chain, int64_t f, int64_t n, int64_t j, double *x,
                            wm_error *err)
{
    double *xm = NULL;
    int64_t first, count;
    wm_status st = wmi_alloc(&xm, n * data->dim, sizeof *xm, "rows", err);

    if (st)
        return st;
    wmi_fold_rows(data->n[0], t->folds, f, &first, &count);
    partners(data, s, f, n, xm);
    wm_chain_waymark_f64(
        chain, j, &(wm_ends_f64){.rows = n, .x0 = data->x[0] + first * data->dim, .xm = xm}, x);
    wmi_free(xm);
    return WM_OK;
}

wm_bridge wmi_trial_bridge(const wmi_trial *t, int64_t k)
{
    wm_bridge b = {.alpha_from = t->alphas.alpha[k], .alpha_to = t->alphas.alpha[k + 1]};
    const double n = (double)t->n_path;

    for (int64_t i = 0; i < t->n_path; i++) {
        const double num = t->num[k * t->n_path + i], den = t->den[k * t->n_path + i];

        b.loss += pair_loss(num, den) / n;
        b.accuracy += 0.25 * ((num > 0) + (num >= 0) + (den < 0) + (den <= 0)) / n;
        b.mean_log_ratio += num / n;
    }
    return b;
}

/* Trials may have scored different numbers of trajectories: fold by fold the first are the same. */
double wmi_trial_compare(const wmi_trial *a, const wmi_trial *b, double *se)
{
    const int64_t na = a->n_path / a->scored, nb = b->n_path / b->scored, n = na < nb ? na : nb;
    const int64_t folds = a->scored < b->scored ? a->scored : b->scored;
    const double count = (double)(n * folds);
    double mean = 0, var = 0;

    for (int pass = 0; pass < 2; pass++)
        for (int64_t f = 0; f < folds; f++)
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

/* Rows of fold f with the v of others of it, as far apart as try j of `times` wants. */
static void pair_anew(const wmi_study_data *data, int64_t first, int64_t count, int64_t j,
                      int64_t times, double *out)
{
    const int64_t d = data->dim, step = count * (j + 1) / (times + 1);

    for (int64_t i = 0; i < count; i++)
        for (int64_t c = 0; c < d; c++) {
            const int64_t from =
                data->columns[c] == WM_COLUMN_KEPT ? i : (i + (step ? step : 1)) % count;

            out[i * d + c] = data->x[0][(first + from) * d + c];
        }
}

/* The mean of all members is that of the folds: without the one of fold f it is that of those that
 * have seen its rows. */
static void take_out(int64_t n, int64_t folds, const double *fresh, double *seen)
{
    for (int64_t i = 0; i < n; i++)
        seen[i] = ((double)folds * seen[i] - fresh[i]) / (double)(folds - 1);
}

wm_status wmi_study_score_rows(const wm_study *s, const wm_study_opts *o, int which, int64_t times,
                               double shift, double *fresh, double *seen, wm_error *err)
{
    const wmi_study_data *data = &s->data;
    const int64_t n = data->n[s->pairs ? 0 : which], folds = s->trial.folds;
    double *x = NULL;
    wm_status st = WM_OK;

    if (!s->pairs || !which) {
        memcpy(fresh, s->trial.log_r[which], (size_t)n * sizeof *fresh);
        if (!(st = wmi_log_ratios(s->ratio, n, data->x[which], seen, err)))
            take_out(n, folds, fresh, seen);
        return st;
    }
    if ((st = wmi_alloc(&x, (n / folds + 1) * data->dim, sizeof *x, "pairs", err)))
        return st;
    for (int64_t j = 0; j < times && !st; j++)
        for (int64_t f = 0; f < folds && !st; f++) {
            int64_t first, count;

            wmi_fold_rows(n, o->folds, f, &first, &count);
            pair_anew(data, first, count, j, times, x);
            if ((st = wmi_log_ratios(s->trial.fit[f], count, x, fresh + j * n + first, err)) ||
                (st = wmi_log_ratios(s->ratio, count, x, seen + j * n + first, err)))
                break;
            for (int64_t i = 0; i < count; i++)
                fresh[j * n + first + i] -= shift;
            take_out(count, folds, fresh + j * n + first, seen + j * n + first);
        }
    wmi_free(x);
    return st;
}
