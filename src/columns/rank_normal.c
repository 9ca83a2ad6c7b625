/* rank_normal.c - sorting, ranks and knots (rank_normal.h). */
#include "columns/rank_normal.h"

#include <inttypes.h>
#include <math.h>
#include <omp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/special.h"

enum { END_KNOTS = 8 };        /* whose slope continues beyond the last */
static const double REACH = 2; /* how far the score goes on beyond the last knot */

struct wmi_rank {
    int64_t dim, knots;
    double *values, *scores; /* (dim, knots) */
    int64_t *used;           /* (dim) knots that are not repetitions of the last */
};

/* ---- learning ---- */

typedef struct place {
    double x;
    int64_t row;
} place;

static int by_value(const void *a, const void *b)
{
    const double x = ((const place *)a)->x, y = ((const place *)b)->x;

    return (x > y) - (x < y); /* the order of equals does not matter: they get the same score */
}

/* The end of the run of equal values that begins at i. */
static int64_t run_end(const place *sorted, int64_t n, int64_t i)
{
    int64_t end = i + 1;

    while (end < n && sorted[end].x == sorted[i].x)
        end++;
    return end;
}

/* Score of the run [first, end): that of its average rank. */
static double run_score(int64_t first, int64_t end, int64_t n)
{
    return wmi_normal_inverse(0.5 * (double)(first + 1 + end) / (double)(n + 1));
}

/* Which of `distinct` values, counted from below, is knot k of `knots`. */
static int64_t knot_place(int64_t k, int64_t knots, int64_t distinct)
{
    const int64_t ends = knots / 8;

    if (distinct <= knots || k < ends)
        return k;
    if (k >= knots - ends)
        return distinct - knots + k;
    return ends + (int64_t)((double)(k - ends) * (double)(distinct - 1 - 2 * ends) /
                            (double)(knots - 1 - 2 * ends));
}

/* The last of `used` knots is repeated to the end. */
static void repeat_last(wmi_rank *r, int64_t c, int64_t used)
{
    double *value = r->values + c * r->knots, *score = r->scores + c * r->knots;

    r->used[c] = used;
    for (int64_t k = used; k < r->knots; k++) {
        value[k] = value[used - 1];
        score[k] = score[used - 1];
    }
}

/* Sorted values of column c into knots; exact scores of its rows into scores. */
static void fit_column(wmi_rank *r, int64_t c, int64_t n, place *sorted, double *scores)
{
    double *value = r->values + c * r->knots, *score = r->scores + c * r->knots;
    int64_t distinct = 0, k = 0, at = 0;

    qsort(sorted, (size_t)n, sizeof *sorted, by_value);
    for (int64_t i = 0; i < n; i = run_end(sorted, n, i))
        distinct++;
    for (int64_t i = 0, end; i < n; i = end, at++) {
        double z;

        end = run_end(sorted, n, i);
        z = run_score(i, end, n);
        if (k < r->knots && at == knot_place(k, r->knots, distinct)) {
            value[k] = sorted[i].x;
            score[k++] = z;
        }
        for (int64_t j = i; scores && j < end; j++)
            scores[sorted[j].row * r->dim + c] = z;
    }
    repeat_last(r, c, k);
}

static wm_status make(wmi_rank **out, int64_t dim, int64_t knots, wm_error *err)
{
    wmi_rank *r = NULL;
    wm_status st;

    *out = NULL;
    if (dim < 1 || knots < 1)
        return wmi_fail(err, WM_EINVAL,
                        "a map by ranks of %" PRId64 " columns with %" PRId64
                        " knots: both must be at least 1",
                        dim, knots);
    if (knots > INT64_MAX / dim)
        return wmi_fail(err, WM_ENOMEM,
                        "%" PRId64 " columns with %" PRId64 " knots cannot be addressed", dim,
                        knots);
    if ((st = wmi_alloc(&r, 1, sizeof *r, "map by ranks", err)))
        return st;
    r->dim = dim;
    r->knots = knots;
    if ((st = wmi_alloc(&r->values, dim * knots, sizeof *r->values, "knots", err)) ||
        (st = wmi_alloc(&r->scores, dim * knots, sizeof *r->scores, "knots", err)) ||
        (st = wmi_alloc(&r->used, dim, sizeof *r->used, "numbers of knots", err))) {
        wmi_rank_free(r);
        return st;
    }
    *out = r;
    return WM_OK;
}

static wm_status check_finite(int64_t n, int64_t dim, const double *x, wm_error *err)
{
    for (int64_t i = 0; i < n * dim; i++)
        if (!isfinite(x[i]))
            return wmi_fail(err, WM_EINVAL,
                            "row %" PRId64 ", column %" PRId64
                            " is %g: ranks need finite values; drop or replace it",
                            i / dim + 1, i % dim + 1, x[i]);
    return WM_OK;
}

/* A row of values that can be sorted for each worker: columns are independent of each other. */
static wm_status fit_columns(wmi_rank *r, int64_t n, const double *x, double *scores, wmi_stop stop,
                             wm_error *err)
{
    const int workers = omp_get_max_threads() < r->dim ? omp_get_max_threads() : (int)r->dim;
    place *sorted = NULL;
    wm_status st;

    if (n > INT64_MAX / workers)
        return wmi_fail(err, WM_ENOMEM, "%" PRId64 " rows cannot be addressed", n);
    if ((st = wmi_alloc(&sorted, workers * n, sizeof *sorted, "column to sort", err)))
        return st;
#pragma omp parallel for schedule(static) num_threads(workers)
    for (int64_t c = 0; c < r->dim; c++) {
        place *mine = sorted + omp_get_thread_num() * n;

        if (wmi_asked(stop))
            continue;
        for (int64_t i = 0; i < n; i++)
            mine[i] = (place){x[i * r->dim + c], i};
        fit_column(r, c, n, mine, scores);
    }
    wmi_free(sorted);
    return wmi_heed(stop, err);
}

wm_status wmi_rank_fit(wmi_rank **out, int64_t n, int64_t dim, const double *x, int64_t max_knots,
                       double *scores, wmi_stop stop, wm_error *err)
{
    wmi_rank *r = NULL;
    wm_status st;

    *out = NULL;
    if (n < 1 || max_knots < 2)
        return wmi_fail(err, WM_EINVAL,
                        "a map by ranks from %" PRId64 " rows with at most %" PRId64
                        " knots: at least 1 and 2 are needed",
                        n, max_knots);
    if ((st = make(&r, dim, n < max_knots ? n : max_knots, err)))
        return st;
    if ((st = check_finite(n, dim, x, err)) || (st = fit_columns(r, n, x, scores, stop, err))) {
        wmi_rank_free(r);
        return st;
    }
    *out = r;
    return WM_OK;
}

void wmi_rank_free(wmi_rank *r)
{
    if (!r)
        return;
    wmi_free(r->values);
    wmi_free(r->scores);
    wmi_free(r->used);
    wmi_free(r);
}

void wmi_rank_rescore(wmi_rank *r, int64_t c, double (*score)(const void *ctx, double value),
                      const void *ctx)
{
    double *value = r->values + c * r->knots, *to = r->scores + c * r->knots;
    int64_t kept = 0;

    for (int64_t k = 0; k < r->used[c]; k++) {
        const double z = score(ctx, value[k]);

        if (kept && !(z > to[kept - 1]))
            continue;
        value[kept] = value[k];
        to[kept++] = z;
    }
    repeat_last(r, c, kept);
}

/* ---- applying ---- */

/* The score beyond the outermost knot `end`, at a distance from its value. The slope is that of
 * several knots: the last two may lie so close together that their slope means nothing. */
static double beyond(const double *value, const double *score, int64_t used, int64_t end, double x)
{
    const int64_t step = used - 1 < END_KNOTS ? used - 1 : END_KNOTS;
    const int64_t inner = end == 0 ? step : end - step;
    const double side = end == 0 ? -1 : 1;
    double further;

    if (used < 2) /* a constant column: nothing is known of other values */
        return score[end];
    further = fabs(x - value[end]) * ((score[end] - score[inner]) / (value[end] - value[inner]));
    return score[end] + side * fmin(further, REACH);
}

static double map(const double *value, const double *score, int64_t used, double x)
{
    int64_t lo = 0, hi = used - 1; /* value[lo] <= x < value[hi] */

    if (isnan(x))
        return x;
    if (x < value[0] || x > value[hi])
        return beyond(value, score, used, x < value[0] ? 0 : hi, x);
    if (x == value[hi])
        return score[hi];
    while (hi - lo > 1) {
        const int64_t mid = lo + (hi - lo) / 2;

        if (value[mid] <= x)
            lo = mid;
        else
            hi = mid;
    }
    /* Halves, since the difference of two finite values may overflow. */
    return score[lo] + (score[hi] - score[lo]) *
                           ((0.5 * x - 0.5 * value[lo]) / (0.5 * value[hi] - 0.5 * value[lo]));
}

void wmi_rank_apply(const wmi_rank *r, int64_t n, const double *x, double *out)
{
#pragma omp parallel for schedule(static) if (n * r->dim >= 4096)
    for (int64_t i = 0; i < n; i++)
        for (int64_t c = 0; c < r->dim; c++)
            out[i * r->dim + c] = map(r->values + c * r->knots, r->scores + c * r->knots,
                                      r->used[c], x[i * r->dim + c]);
}

/* ---- knots out and in ---- */

int64_t wmi_rank_dim(const wmi_rank *r)
{
    return r->dim;
}

int64_t wmi_rank_knots(const wmi_rank *r)
{
    return r->knots;
}

const double *wmi_rank_values(const wmi_rank *r)
{
    return r->values;
}

const double *wmi_rank_scores(const wmi_rank *r)
{
    return r->scores;
}

/* Counts the knots before the repetitions of the last; 0 if they do not increase together. */
static int64_t count_used(int64_t knots, const double *value, const double *score)
{
    int64_t used = 1;

    for (int64_t k = 0; k < knots; k++)
        if (!isfinite(value[k]) || !isfinite(score[k]))
            return 0;
    while (used < knots && value[used] > value[used - 1] && score[used] > score[used - 1])
        used++;
    for (int64_t k = used; k < knots; k++)
        if (value[k] != value[used - 1] || score[k] != score[used - 1])
            return 0;
    return used;
}

wm_status wmi_rank_from_knots(wmi_rank **out, int64_t dim, int64_t knots, const double *values,
                              const double *scores, wm_error *err)
{
    wmi_rank *r = NULL;
    wm_status st = make(&r, dim, knots, err);

    *out = NULL;
    if (st)
        return st;
    memcpy(r->values, values, (size_t)(dim * knots) * sizeof *values);
    memcpy(r->scores, scores, (size_t)(dim * knots) * sizeof *scores);
    for (int64_t c = 0; c < dim; c++) {
        r->used[c] = count_used(knots, values + c * knots, scores + c * knots);
        if (r->used[c] == 0) {
            wmi_rank_free(r);
            return wmi_fail(err, WM_EINVAL,
                            "knots of column %" PRId64
                            ": values and scores must be finite and increase together",
                            c + 1);
        }
    }
    *out = r;
    return WM_OK;
}
