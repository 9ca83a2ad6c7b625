/* edges.c - directions in which one table breaks off (edges.h). */
#include "columns/edges.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "base/order.h"
#include "engine/backend/linalg.h"

enum {
    COLUMNS = 30,   /* at most */
    ROWS_EACH = 20, /* of a half, for each column */
    HALF = 3000,    /* rows of each table, at most, in a half */
    SPREADS = 3,    /* directions in which covariances differ most */
    TURNS = 3,      /* of each direction */
    NEWTON = 8,     /* steps of a turn */
    GAPS = 3,       /* the largest of each direction are looked at */
    BEHIND = 60,    /* rows of p, at least, in a gap of q: so far it reaches */
    BEFORE = 30,    /* rows of q within the reach before it, */
    FARTHER = 20,   /* and within the reach before that, and of p */
    LEAST_HALF = 8, /* rows of p in the half next to the gap */
    LEAST_TURN = 50 /* rows that a turn is learned from */
};
/* Rows of q that the gap would have if the ratio went on as before it. */
static const double EXPECTED = 20;
/* Share of what an even density has that the last quarter before the gap must have. */
static const double LAST_QUARTER = 0.5;
static const double OUTER = 0.6; /* quantile of q beyond which a direction is turned */
static const double FEWER = 10;  /* a row of q counts as so many of p: none should be outside */

/* ---- along one direction ---- */

/* How many of x (n, sorted) are at most v. */
static int64_t count_to(int64_t n, const double *x, double v)
{
    int64_t lo = 0, hi = n;

    while (lo < hi) {
        const int64_t mid = (lo + hi) / 2;

        if (x[mid] <= v)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* Rows of p and q (sorted) on a line. */
typedef struct line {
    int64_t n[2];
    const double *t[2];
} line;

static double within(const line *l, int which, double from, double to)
{
    return (double)(count_to(l->n[which], l->t[which], to) -
                    count_to(l->n[which], l->t[which], from));
}

/* Whether q breaks off at v, `reach` before the row of p that is the 60th behind it: the ratio of
 * the two halves of the reach before it, continued, would put rows of q into the reach behind it,
 * where there are none. */
static bool breaks_off(const line *l, double v, double reach)
{
    const double q = within(l, 1, v - reach, v), p = within(l, 0, v - reach, v);
    const double q_half = within(l, 1, v - 0.5 * reach, v);
    const double p_half = within(l, 0, v - 0.5 * reach, v);
    const double q_quarter = within(l, 1, v - 0.25 * reach, v);
    const double p_quarter = within(l, 0, v - 0.25 * reach, v);
    double falls;

    if (q < BEFORE || within(l, 1, v - 2 * reach, v - reach) < FARTHER || p < FARTHER ||
        p_half < LEAST_HALF || 4 * q_quarter < LAST_QUARTER * q * fmin(1, 4 * p_quarter / p))
        return false;
    falls = fmin(1, q_half / fmax(q - q_half, 1) / (p_half / fmax(p - p_half, 1)));
    return BEHIND * q_half / p_half * pow(falls, 1.5) >= EXPECTED;
}

/* Rows of p in the largest gap of q at whose lower end q breaks off. */
static int64_t behind_edge(const line *l)
{
    int64_t before[GAPS] = {0}, size[GAPS] = {0}, most = 0;

    for (int64_t i = 0; i < l->n[1]; i++) {
        const int64_t from = count_to(l->n[0], l->t[0], l->t[1][i]);
        const int64_t to = i + 1 < l->n[1] ? count_to(l->n[0], l->t[0], l->t[1][i + 1]) : l->n[0];
        int64_t at = GAPS - 1;

        if (to - from < BEHIND || to - from <= size[at])
            continue;
        for (; at > 0 && size[at - 1] < to - from; at--) {
            size[at] = size[at - 1];
            before[at] = before[at - 1];
        }
        size[at] = to - from;
        before[at] = i;
    }
    for (int g = 0; g < GAPS && size[g] > most; g++) {
        const double v = l->t[1][before[g]];
        const int64_t from = count_to(l->n[0], l->t[0], v);

        if (breaks_off(l, v, l->t[0][from + BEHIND - 1] - v))
            most = size[g];
    }
    return most;
}

/* ---- directions ---- */

/* Rows of one half that directions are found on, and of the other that are asked; white together.
 */
typedef struct halves {
    int64_t d, found[2], asked[2];
    double *find[2], *ask[2]; /* (n, d) */
    double *t, *sorted[2];    /* (n) */
    double *extra, *weight;   /* (n, d + 1), (n) of a turn */
    double *hessian, *step, *beta;
    wmi_stop stop;
} halves;

static double dot(int64_t d, const double *a, const double *b)
{
    double sum = 0;

    for (int64_t j = 0; j < d; j++)
        sum += a[j] * b[j];
    return sum;
}

static double ask_line(const halves *h)
{
    const line l = {{h->asked[0], h->asked[1]}, {h->sorted[0], h->sorted[1]}};

    for (int t = 0; t < 2; t++)
        wmi_sort_f64(h->sorted[t], h->asked[t]);
    return (double)behind_edge(&l) / (double)h->asked[0];
}

static double ask_along(const halves *h, const double *w)
{
    for (int t = 0; t < 2; t++)
        for (int64_t i = 0; i < h->asked[t]; i++)
            h->sorted[t][i] = dot(h->d, w, h->ask[t] + i * h->d);
    return ask_line(h);
}

/* Distances from the middle of q, in its own spread. */
static wm_status ask_around(const halves *h, double *share, wm_error *err)
{
    const int64_t d = h->d;
    double *const middle = h->step, *const root = h->hessian;
    wm_status st;

    wmi_column_means(h->found[1], d, h->find[1], middle);
    if ((st = wmi_scatter(h->found[1], d, h->find[1], middle, root, err)) ||
        (st = wmi_cholesky(d, root, "covariance", err)))
        return st;
    for (int sign = 1; sign >= -1; sign -= 2) {
        for (int t = 0; t < 2; t++) {
            for (int64_t i = 0; i < h->asked[t]; i++)
                for (int64_t j = 0; j < d; j++)
                    h->extra[i * d + j] = h->ask[t][i * d + j] - middle[j];
            wmi_lower_solve(h->asked[t], d, root, h->extra);
            for (int64_t i = 0; i < h->asked[t]; i++)
                h->sorted[t][i] = sign * sqrt(dot(d, h->extra + i * d, h->extra + i * d));
        }
        *share = fmax(*share, ask_line(h));
    }
    return WM_OK;
}

/* Rows that lie outward along w into extra, with a one behind; those of p first. */
static void gather_outer(const halves *h, const double *w, int64_t count[2])
{
    const int64_t d = h->d;
    int64_t at = 0;
    double limit;

    for (int64_t i = 0; i < h->found[1]; i++)
        h->t[i] = dot(d, w, h->find[1] + i * d);
    wmi_sort_f64(h->t, h->found[1]);
    limit = h->t[(int64_t)(OUTER * (double)h->found[1])];
    for (int t = 0; t < 2; t++) {
        count[t] = at;
        for (int64_t i = 0; i < h->found[t]; i++)
            if (dot(d, w, h->find[t] + i * d) > limit) {
                memcpy(h->extra + at * (d + 1), h->find[t] + i * d, (size_t)d * sizeof *h->extra);
                h->extra[at++ * (d + 1) + d] = 1;
            }
        count[t] = at - count[t];
    }
}

/* One step of a logistic regression that tells them apart, rows of q counting more. */
static wm_status newton_step(const halves *h, const int64_t count[2], wm_error *err)
{
    const int64_t k = h->d + 1, n = count[0] + count[1];
    const double ridge = 1e-3 * (double)n;
    double most = 0;
    wm_status st;

    memset(h->step, 0, (size_t)k * sizeof *h->step);
    for (int64_t i = 0; i < n; i++) {
        const double *x = h->extra + i * k, c = i < count[0] ? 1 : FEWER;
        const double m = 1 / (1 + exp(-dot(k, h->beta, x)));
        const double miss = c * ((i < count[0]) - m);

        h->weight[i] = c * m * (1 - m);
        for (int64_t j = 0; j < k; j++)
            h->step[j] += miss * x[j];
    }
    if ((st = wmi_weighted_gram(n, k, h->extra, h->weight, h->hessian, err)))
        return st;
    for (int64_t j = 0; j < k; j++) {
        h->hessian[j * k + j] += ridge;
        h->step[j] -= j < h->d ? ridge * h->beta[j] : 0;
    }
    if ((st = wmi_cholesky(k, h->hessian, "rows", err)))
        return st;
    wmi_lower_solve(1, k, h->hessian, h->step);
    wmi_lower_solve_right(1, k, h->hessian, h->step);
    for (int64_t j = 0; j < k; j++)
        most = fmax(most, fabs(h->step[j]));
    for (int64_t j = 0; j < k; j++)
        h->beta[j] += h->step[j] * fmin(1, 5 / fmax(most, 1e-300));
    return WM_OK;
}

/* The direction w, and what it becomes by turns: the most that any of them finds. */
static wm_status ask_turning(const halves *h, double *w, double *share, wm_error *err)
{
    const int64_t d = h->d;

    for (int turn = 0;; turn++) {
        int64_t count[2];
        double length;
        wm_status st;

        if ((st = wmi_heed(h->stop, err)))
            return st;
        *share = fmax(*share, ask_along(h, w));
        if (turn == TURNS)
            return WM_OK;
        gather_outer(h, w, count);
        if (count[0] < LEAST_TURN || count[1] < LEAST_TURN)
            return WM_OK;
        memset(h->beta, 0, (size_t)(d + 1) * sizeof *h->beta);
        for (int i = 0; i < NEWTON && !st; i++)
            st = newton_step(h, count, err);
        if (st)
            return st;
        length = sqrt(dot(d, h->beta, h->beta));
        for (int64_t j = 0; j < d; j++)
            w[j] = h->beta[j] / fmax(length, 1e-300);
    }
}

/* The difference of the means, and the directions in which spreads differ most: w (1 + SPREADS, d).
 */
static wm_status find_directions(const halves *h, double *w, double *value, int64_t *count,
                                 wm_error *err)
{
    const int64_t d = h->d;
    double *const differ = h->hessian, *const both = h->extra;
    double length;
    wm_status st;

    *count = 0;
    memset(differ, 0, (size_t)(d * d) * sizeof *differ);
    for (int t = 0; t < 2; t++) {
        double *const mean = h->beta;

        wmi_column_means(h->found[t], d, h->find[t], mean);
        if ((st = wmi_scatter(h->found[t], d, h->find[t], mean, both, err)))
            return st;
        for (int64_t j = 0; j < d; j++)
            w[j] = t ? w[j] - mean[j] : mean[j];
        for (int64_t j = 0; j < d * d; j++)
            differ[j] += (t ? -1 : 1) * both[j] / (double)h->found[t];
    }
    length = sqrt(dot(d, w, w));
    for (int64_t j = 0; j < d && length > 0; j++)
        w[j] /= length;
    *count = length > 0;
    if ((st = wmi_eigen(d, differ, value, err)))
        return st;
    for (int64_t lo = 0, hi = d - 1, k = 0; k < SPREADS && lo <= hi; k++) {
        const int64_t from = fabs(value[lo]) > fabs(value[hi]) ? lo++ : hi--;

        for (int64_t j = 0; j < d; j++)
            w[*count * d + j] = differ[j * d + from];
        ++*count;
    }
    return WM_OK;
}

static wm_status ask_half(const halves *h, double *share, wm_error *err)
{
    const int64_t d = h->d;
    double *w = NULL, *turned, *value;
    int64_t count;
    wm_status st;

    if ((st = wmi_alloc(&w, (3 + SPREADS) * d, sizeof *w, "directions", err)))
        return st;
    turned = w + (1 + SPREADS) * d;
    value = turned + d;
    if ((st = find_directions(h, w, value, &count, err)))
        goto done;
    for (int64_t k = 0; k < count; k++)
        for (int sign = 1; sign >= -1; sign -= 2) {
            for (int64_t j = 0; j < d; j++)
                turned[j] = sign * w[k * d + j];
            if ((st = ask_turning(h, turned, share, err)))
                goto done;
        }
    st = ask_around(h, share, err);
done:
    wmi_free(w);
    return st;
}

/* ---- halves ---- */

/* Rows of half b of table t, without the middle and the spread of both tables. */
static void put_half(const double *x, int64_t d, int64_t half, int b, const double *middle,
                     const double *root, double *out)
{
    for (int64_t i = 0; i < half; i++)
        for (int64_t j = 0; j < d; j++)
            out[i * d + j] = x[(b * half + i) * d + j] - middle[j];
    wmi_lower_solve(half, d, root, out);
}

static wm_status whiten_both(const int64_t half[2], int64_t d, const double *const x[2],
                             double *middle, double *root, double *scratch, wm_error *err)
{
    const double all = (double)(2 * half[0] + 2 * half[1]);
    double *const mean = scratch, *const own = scratch + d;
    wm_status st;

    for (int t = 0; t < 2; t++) {
        wmi_column_means(2 * half[t], d, x[t], mean);
        for (int64_t j = 0; j < d; j++)
            middle[j] += mean[j] * 2 * (double)half[t] / all;
    }
    for (int t = 0; t < 2; t++) {
        if ((st = wmi_scatter(2 * half[t], d, x[t], middle, own, err)))
            return st;
        for (int64_t j = 0; j < d * d; j++)
            root[j] += own[j] / all;
    }
    return wmi_cholesky(d, root, "covariance", err);
}

wm_status wmi_edges_of(double *share, const int64_t n[2], int64_t d, const double *const x[2],
                       wmi_stop stop, wm_error *err)
{
    const int64_t half[] = {n[0] / 2 < HALF ? n[0] / 2 : HALF, n[1] / 2 < HALF ? n[1] / 2 : HALF};
    const int64_t most = half[0] > half[1] ? half[0] : half[1], k = d + 1;
    halves h = {.d = d, .found = {half[0], half[1]}, .asked = {half[0], half[1]}, .stop = stop};
    double *store = NULL, *at;
    wm_status st;

    *share = 0;
    if (d < 2 || d > COLUMNS || half[0] < ROWS_EACH * d || half[1] < ROWS_EACH * d)
        return WM_OK;
    if ((st = wmi_alloc(&store, 4 * most * d + 3 * most + 2 * most * (k + 1) + 3 * k * k + 4 * k,
                        sizeof *store, "edges", err)))
        return st;
    at = store;
    double *const middle = at, *const root = at + k, *const scratch = root + k * k;
    at = scratch + k * k + k;
    h.hessian = at, h.step = at + k * k, h.beta = h.step + k;
    at = h.beta + k;
    h.t = at, h.sorted[0] = at + most, h.sorted[1] = at + 2 * most;
    h.extra = at + 3 * most, h.weight = h.extra + 2 * most * k;
    at = h.weight + 2 * most;
    for (int t = 0; t < 2; t++) {
        h.find[t] = at + 2 * t * most * d;
        h.ask[t] = h.find[t] + most * d;
    }
    st = whiten_both(half, d, x, middle, root, scratch, err);
    for (int b = 0; b < 2 && !st; b++) {
        for (int t = 0; t < 2; t++) {
            put_half(x[t], d, half[t], b, middle, root, h.find[t]);
            put_half(x[t], d, half[t], 1 - b, middle, root, h.ask[t]);
        }
        st = ask_half(&h, share, err);
    }
    wmi_free(store);
    return st == WM_EINVAL ? WM_OK : st; /* columns that depend on each other have no inverse */
}
