/* whiten.c - the pooled covariance S = (S_p + S_q) / 2 + e e' / 4 (e: how far the means are apart)
 * as V diag(w) V', W = V diag(w)^-1/2 V', which stays as near to the columns as it can, and where W
 * (S_p - S_q) W is not diagonal its vectors R: M = W R. */
#include "columns/whiten.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "engine/backend/linalg.h"

enum {
    MOST_ROWS = 50000, /* of an end: moments are known well enough */
    MOST = 512,        /* columns: a row costs the square of that */
    ROWS_EACH = 10,    /* rows, at least, for a column */
};
static const double SMALLEST = 1e-6; /* variance, of 1, of a direction that is not stretched more */
/* Squares of what should be 0, times what chance gives of them, that are taken for more. */
static const double BY_CHANCE = 4;

/* Everything of k columns, in one store. */
typedef struct work {
    int64_t k;
    double n[2];
    double *mean[2], *cov[2], *pooled, *diff, *root, *unroot, *turn, *value, *store;
    int64_t *column; /* (k) of the d */
} work;

static wm_status new_work(work *w, int64_t d, const bool *takes, wm_error *err)
{
    double *at;
    wm_status st;

    if ((st = wmi_alloc(&w->column, d, sizeof *w->column, "columns", err)))
        return st;
    for (int64_t j = 0; j < d; j++)
        if (takes[j])
            w->column[w->k++] = j;
    const int64_t k = w->k, kk = k * k;

    if ((st = wmi_alloc(&w->store, 7 * kk + 3 * k + 1, sizeof *w->store, "whitening", err)))
        return st;
    at = w->store;
    for (int t = 0; t < 2; t++, at += kk + k) {
        w->cov[t] = at;
        w->mean[t] = at + kk;
    }
    w->pooled = at;
    w->diff = at + kk;
    w->root = at + 2 * kk;
    w->unroot = at + 3 * kk;
    w->turn = at + 4 * kk;
    w->value = at + 5 * kk;
    return WM_OK;
}

/* Mean and covariance of the columns that take part. */
static wm_status take_moments(work *w, int t, int64_t d, const wmi_whiten_end *e, wm_error *err)
{
    const int64_t k = w->k, n = e->n < MOST_ROWS ? e->n : MOST_ROWS;
    double *rows = NULL, sum = 0, squares = 0;
    wm_status st;

    if ((st = wmi_alloc(&rows, n * k + k, sizeof *rows, "rows", err)))
        return st;
    for (int64_t i = 0; i < n; i++) {
        const double weight = e->weight ? e->weight[i] : 1;

        sum += weight;
        squares += weight * weight;
        for (int64_t j = 0; j < k; j++)
            w->mean[t][j] += weight * e->x[i * d + w->column[j]];
    }
    w->n[t] = squares > 0 ? sum * sum / squares : 0;
    for (int64_t j = 0; j < k; j++)
        w->mean[t][j] /= sum;
    for (int64_t i = 0; i < n; i++) {
        const double root = sqrt((e->weight ? e->weight[i] : 1) / sum);

        for (int64_t j = 0; j < k; j++)
            rows[i * k + j] = root * (e->x[i * d + w->column[j]] - w->mean[t][j]);
    }
    st = wmi_scatter(n, k, rows, rows + n * k, w->cov[t], err); /* the last k are zero */
    wmi_free(rows);
    return st;
}

/* q's from p's: nothing goes on between u and v. */
static void cut_pairs(work *w, int64_t pairs)
{
    const int64_t k = w->k;

    w->n[1] = w->n[0];
    memcpy(w->mean[1], w->mean[0], (size_t)k * sizeof(double));
    for (int64_t i = 0; i < k; i++)
        for (int64_t j = 0; j < k; j++)
            w->cov[1][i * k + j] =
                (w->column[i] < pairs) == (w->column[j] < pairs) ? w->cov[0][i * k + j] : 0;
}

static double off_diagonal(int64_t k, const double *a)
{
    double sum = 0;

    for (int64_t i = 0; i < k; i++)
        for (int64_t j = 0; j < k; j++)
            sum += i == j ? 0 : a[i * k + j] * a[i * k + j];
    return sum;
}

/* root = V diag(value)^-1/2 V', and unroot its inverse; `turn` has V. */
static void take_roots(work *w)
{
    const int64_t k = w->k;

    for (int64_t i = 0; i < k; i++)
        for (int64_t j = 0; j < k; j++) {
            double a = 0, b = 0;

            for (int64_t l = 0; l < k; l++) {
                const double s = sqrt(fmax(w->value[l], SMALLEST));
                const double vv = w->turn[i * k + l] * w->turn[j * k + l];

                a += vv / s;
                b += vv * s;
            }
            w->root[i * k + j] = a;
            w->unroot[i * k + j] = b;
        }
}

/* The whole, on the k columns: root and unroot become mix and unmix. *any: it is worth while. */
static wm_status solve(work *w, double *condition, bool *any, wm_error *err)
{
    const int64_t k = w->k, kk = k * k;
    const double chance = (double)(kk - k) * (1 / w->n[0] + 1 / w->n[1]);
    double correlation = 0;
    wm_status st;

    for (int64_t i = 0; i < k; i++)
        for (int64_t j = 0; j < k; j++) {
            const double a = w->mean[0][i] - w->mean[1][i], b = w->mean[0][j] - w->mean[1][j];

            w->pooled[i * k + j] =
                0.5 * (w->cov[0][i * k + j] + w->cov[1][i * k + j]) + 0.25 * a * b;
            w->diff[i * k + j] = w->cov[0][i * k + j] - w->cov[1][i * k + j];
        }
    for (int64_t i = 0; i < kk; i++)
        if (i / k != i % k)
            correlation += w->pooled[i] * w->pooled[i] /
                           (w->pooled[i / k * (k + 1)] * w->pooled[i % k * (k + 1)]);
    memcpy(w->turn, w->pooled, (size_t)kk * sizeof *w->turn);
    if ((st = wmi_eigen(k, w->turn, w->value, err)))
        return st;
    *condition = w->value[k - 1] / fmax(w->value[0], SMALLEST * w->value[k - 1]);
    take_roots(w);
    wmi_product(k, k, k, 1, w->root, w->diff, 0, w->pooled); /* which has served */
    wmi_product(k, k, k, 1, w->pooled, w->root, 0, w->diff);
    const bool turns = off_diagonal(k, w->diff) > BY_CHANCE * chance;

    *any = turns || correlation > BY_CHANCE * chance;
    if (!turns)
        return WM_OK;
    if ((st = wmi_eigen(k, w->diff, w->value, err)))
        return st;
    wmi_product(k, k, k, 1, w->root, w->diff, 0, w->pooled);
    memcpy(w->root, w->pooled, (size_t)kk * sizeof *w->root);
    for (int64_t i = 0; i < k; i++)
        for (int64_t j = 0; j < k; j++)
            w->turn[i * k + j] = w->diff[j * k + i];
    wmi_product(k, k, k, 1, w->turn, w->unroot, 0, w->pooled);
    memcpy(w->unroot, w->pooled, (size_t)kk * sizeof *w->unroot);
    return WM_OK;
}

/* Of the k columns, in a unit matrix of all. */
static wm_status spread(double **out, int64_t d, const work *w, const double *a, wm_error *err)
{
    wm_status st = wmi_alloc(out, d * d, sizeof **out, "whitening", err);

    if (st)
        return st;
    for (int64_t j = 0; j < d; j++)
        (*out)[j * d + j] = 1;
    for (int64_t i = 0; i < w->k; i++)
        for (int64_t j = 0; j < w->k; j++)
            (*out)[w->column[i] * d + w->column[j]] = a[i * w->k + j];
    return WM_OK;
}

wm_status wmi_whitening_of(wmi_whitening *out, int64_t d, const bool *takes, int64_t pairs,
                           const wmi_whiten_end end[2], wm_error *err)
{
    work w = {0};
    bool any = false;
    wm_status st;

    if ((st = new_work(&w, d, takes, err)) || w.k < 2 || w.k > MOST || end[0].n < ROWS_EACH * w.k ||
        (!pairs && end[1].n < ROWS_EACH * w.k) || (st = take_moments(&w, 0, d, &end[0], err)) ||
        (!pairs && (st = take_moments(&w, 1, d, &end[1], err))))
        goto done;
    if (pairs)
        cut_pairs(&w, pairs);
    if ((st = solve(&w, &out->condition, &any, err)) || !any)
        goto done;
    if (!(st = spread(&out->mix, d, &w, w.root, err)))
        st = spread(&out->unmix, d, &w, w.unroot, err);
done:
    wmi_free(w.store);
    wmi_free(w.column);
    return st;
}

void wmi_whitening_free(wmi_whitening *w)
{
    wmi_free(w->mix);
    wmi_free(w->unmix);
    *w = (wmi_whitening){0};
}
