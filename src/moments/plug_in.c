/* plug_in.c - Gaussian divergences by moments, with a jackknife (plug_in.h). */
#include "moments/plug_in.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "base/sums.h"
#include "engine/backend/linalg.h"

enum {
    GROUPS = 50,        /* of the jackknife */
    MANY_GROUPS = 200,  /* where each has rows enough: the standard error is known to 5 % */
    MANY_COLUMNS = 100, /* above which so many inverses would cost too much */
    LEAST_GROUP = 4,    /* rows */
    MANY_ROWS = 50,     /* of a group, if there are many */
    LEAST_GROUPS = 10,
};

typedef wmi_row_moments moments;

/* Everything that is needed on the way. [t]: of p and of q. */
typedef struct work {
    const wmi_plug_in_rows *rows;
    int64_t d;
    moments all[2], part[2], rest[2]; /* of all rows, of a group, of the others */
    double *precision[2];             /* (d, d) of the Gaussians of the fit, once inverted */
    double logdet[2];                 /* of their covariances */
} work;

static wm_status new_moments(moments *m, int64_t d, wm_error *err)
{
    wm_status st;

    if ((st = wmi_alloc(&m->mean, d, sizeof *m->mean, "moments", err)) ||
        (st = wmi_alloc(&m->scatter, d * d, sizeof *m->scatter, "moments", err)))
        return st;
    return WM_OK;
}

static void free_moments(moments *m)
{
    wmi_free(m->mean);
    wmi_free(m->scatter);
}

static void free_work(work *w)
{
    for (int t = 0; t < 2; t++) {
        free_moments(&w->all[t]);
        free_moments(&w->part[t]);
        free_moments(&w->rest[t]);
        wmi_free(w->precision[t]);
    }
}

static wm_status new_work(work *w, const wmi_plug_in_rows *rows, wm_error *err)
{
    const int64_t d = rows->dim;
    wm_status st;

    *w = (work){.rows = rows, .d = d};
    for (int t = 0; t < 2; t++)
        if ((st = new_moments(&w->all[t], d, err)) || (st = new_moments(&w->part[t], d, err)) ||
            (st = new_moments(&w->rest[t], d, err)) ||
            (st = wmi_alloc(&w->precision[t], d * d, sizeof *w->precision[t], "moments", err)))
            return st;
    return WM_OK;
}

/* Of rows first .. first + n of a table. */
static wm_status take_moments(moments *m, const wmi_plug_in_rows *rows, int t, int64_t first,
                              int64_t n, wm_error *err)
{
    const int64_t d = rows->dim;
    const double *x = rows->x[t] + first * d;

    m->n = (double)n;
    wmi_column_means(n, d, x, m->mean);
    return wmi_scatter(n, d, x, m->mean, m->scatter, err);
}

/* all without part: n' S' = n S - n_g S_g - (n' n_g / n) e e', e the difference of the means. */
static void leave_out(moments *rest, const moments *all, const moments *part, int64_t d)
{
    const double scale = (all->n - part->n) * part->n / all->n;

    rest->n = all->n - part->n;
    for (int64_t j = 0; j < d; j++)
        rest->mean[j] = (all->n * all->mean[j] - part->n * part->mean[j]) / rest->n;
    for (int64_t i = 0; i < d; i++)
        for (int64_t j = 0; j < d; j++)
            rest->scatter[i * d + j] =
                all->scatter[i * d + j] - part->scatter[i * d + j] -
                scale * (rest->mean[i] - part->mean[i]) * (rest->mean[j] - part->mean[j]);
}

/* Of pairs the moments of q are those of p without what ties u and v together. */
static void separate(moments *q, const moments *p, int64_t d, int64_t pairs)
{
    q->n = p->n;
    memcpy(q->mean, p->mean, (size_t)d * sizeof *q->mean);
    for (int64_t i = 0; i < d; i++)
        for (int64_t j = 0; j < d; j++)
            q->scatter[i * d + j] = (i < pairs) == (j < pairs) ? p->scatter[i * d + j] : 0;
}

static wm_status invert(work *w, const moments fit[2], wm_error *err)
{
    static const char *const what[] = {"covariance of p", "covariance of q"};
    const int64_t d = w->d;
    wm_status st;

    for (int t = 0; t < 2; t++) {
        for (int64_t j = 0; j < d * d; j++)
            w->precision[t][j] = fit[t].scatter[j] / fit[t].n;
        if ((st = wmi_cholesky(d, w->precision[t], what[t], err)))
            return st;
        w->logdet[t] = wmi_cholesky_logdet(d, w->precision[t]);
        wmi_cholesky_inverse(d, w->precision[t]);
    }
    return WM_OK;
}

/* Mean of log N(x; fit p) - log N(x; fit q) over rows with the moments `at`. */
static double mean_log_ratio(const work *w, const moments fit[2], const moments *at)
{
    const int64_t d = w->d;
    double sum[2];

    for (int t = 0; t < 2; t++) {
        sum[t] = w->logdet[t];
        for (int64_t i = 0; i < d; i++)
            for (int64_t j = 0; j < d; j++)
                sum[t] += w->precision[t][i * d + j] *
                          (at->scatter[i * d + j] / at->n +
                           (at->mean[i] - fit[t].mean[i]) * (at->mean[j] - fit[t].mean[j]));
    }
    return 0.5 * (sum[1] - sum[0]);
}

/* Of part g of `parts`. */
static wm_status take_part(work *w, int t, int64_t g, int64_t parts, wm_error *err)
{
    const int64_t n = w->rows->n[t], first = n * g / parts, next = n * (g + 1) / parts;
    const wm_moments *groups = w->rows->groups[t];

    if (!groups)
        return take_moments(&w->part[t], w->rows, t, first, next - first, err);
    wmi_moments_join(&w->part[t], groups, groups->groups * g / parts,
                     groups->groups * (g + 1) / parts);
    return WM_OK;
}

/* Part g of `parts`, and the moments of everything else. */
static wm_status split(work *w, int64_t g, int64_t parts, wm_error *err)
{
    const int64_t pairs = w->rows->pairs;

    for (int t = 0; t < (pairs ? 1 : 2); t++) {
        const wm_status st = take_part(w, t, g, parts, err);

        if (st)
            return st;
        leave_out(&w->rest[t], &w->all[t], &w->part[t], w->d);
    }
    if (pairs) {
        separate(&w->part[1], &w->part[0], w->d, pairs);
        separate(&w->rest[1], &w->rest[0], w->d, pairs);
    }
    return WM_OK;
}

/* Fits to all but one of `parts` parts: the mean over that one, weighted by its rows, into unseen;
 * over those that were fitted, into seen (2, parts). */
static wm_status leave_out_each(work *w, int64_t parts, double unseen[2], double *seen,
                                wm_error *err)
{
    wm_status st = WM_OK;

    unseen[0] = unseen[1] = 0;
    for (int64_t g = 0; g < parts && !st; g++) {
        if ((st = split(w, g, parts, err)) || (st = invert(w, w->rest, err)))
            break;
        for (int t = 0; t < 2; t++) {
            const double sign = t ? -1 : 1;

            unseen[t] +=
                sign * mean_log_ratio(w, w->rest, &w->part[t]) * w->part[t].n / w->all[t].n;
            seen[t * parts + g] = sign * mean_log_ratio(w, w->rest, &w->rest[t]);
        }
    }
    return st;
}

/* The bias of order 1 / n goes; of the next one, smaller by about d / n, half counts as an error.
 */
static void correct(wmi_plug_in *out, double full, int64_t groups, const double *without,
                    double columns_each)
{
    const wmi_moments jack = wmi_jackknife(without, groups);
    const double bias = (double)(groups - 1) * (jack.mean - full);

    out->corrected = full - bias;
    out->se = sqrt(jack.var + 0.25 * columns_each * columns_each * bias * bias);
    out->groups = groups;
}

static int64_t groups_for(int64_t rows, int64_t d)
{
    if (d <= MANY_COLUMNS && rows / MANY_ROWS > GROUPS)
        return rows / MANY_ROWS < MANY_GROUPS ? rows / MANY_ROWS : MANY_GROUPS;
    return rows / LEAST_GROUP < GROUPS ? rows / LEAST_GROUP : GROUPS;
}

wm_status wmi_plug_in_divergences(wmi_plug_in out[2], const wmi_plug_in_rows *rows, int64_t folds,
                                  wm_error *err)
{
    const int64_t d = rows->dim, other = rows->pairs ? 0 : 1;
    const int64_t least = rows->n[0] < rows->n[other] ? rows->n[0] : rows->n[other];
    const int64_t wanted = groups_for(least, d);
    const int64_t most = rows->groups[0] ? rows->groups[0]->groups : wanted;
    const int64_t parts = wanted < most ? wanted : most;
    double unseen[2], ignored[2], full[2], *seen = NULL;
    work w;
    wm_status st;

    if (parts < LEAST_GROUPS)
        return wmi_fail(err, WM_EINVAL, "%" PRId64 " rows are too few for a jackknife", least);
    if ((st = new_work(&w, rows, err)) ||
        (st = wmi_alloc(&seen, 2 * (parts > folds ? parts : folds), sizeof *seen, "groups", err)))
        goto done;
    for (int t = 0; t < (rows->pairs ? 1 : 2); t++)
        if (rows->groups[t])
            wmi_moments_join(&w.all[t], rows->groups[t], 0, rows->groups[t]->groups);
        else if ((st = take_moments(&w.all[t], rows, t, 0, rows->n[t], err)))
            goto done;
    if (rows->pairs)
        separate(&w.all[1], &w.all[0], d, rows->pairs);
    if ((st = leave_out_each(&w, folds, unseen, seen, err)) ||
        (st = leave_out_each(&w, parts, ignored, seen, err)) || (st = invert(&w, w.all, err)))
        goto done;
    for (int t = 0; t < 2; t++) {
        full[t] = (t ? -1 : 1) * mean_log_ratio(&w, w.all, &w.all[t]);
        out[t].unseen = unseen[t];
        correct(&out[t], full[t], parts, seen + t * parts, (double)d / (double)least);
    }
done:
    wmi_free(seen);
    free_work(&w);
    return st;
}
