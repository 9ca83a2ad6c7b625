/* study_columns.c - the columns of two tables one by one: how p and q differ in each, what of the
 * answer goes without it, and which were left out. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/sums.h"
#include "check/combinations.h"
#include "study/study_impl.h"
#include "waymark/sink.h"

enum {
    MOST_COLUMNS = 200, /* whose contribution is computed */
    CONTRIBUTION_ROWS = 500,
    CONTRIBUTION_SCORES = 100000,   /* log-ratios, about, that contributions may cost */
    CONTRIBUTION_STEPS = 500000000, /* and features of rows that are compared */
    LEAST_AMONG = 500,              /* rows of q that these are compared with */
    LEAST_DRAWS = 4,                /* of a column's values, for each of these rows */
    MOST_DRAWS = 16,
    MOST_LEVELS = 40, /* of a category; the rarer ones are shown together */
    BINS = 16,        /* of a histogram */
    QUANTILES = 20,   /* bins by which a number's own divergence is told */
};

static const double WHOLE = 1e6; /* farther apart, whole numbers are as good as any */
static const double SPIKE = 0.2; /* share of a table's rows: no accident of rounding */

/* One column of both tables: sorted distinct values with the weight of the rows that have them. */
typedef struct counted {
    int64_t n;
    double *value;     /* (n) */
    double *weight[2]; /* (n) of p and of q, each of sum one */
    int64_t *rows[2];  /* (n) */
} counted;

typedef struct entry {
    double value, weight;
    int side;
} entry;

static int by_value(const void *a, const void *b)
{
    const entry *x = a, *y = b;

    return (x->value > y->value) - (x->value < y->value);
}

/* Column j of both tables; `all` has room for the rows of both, c for as many values. */
static void count_column(counted *c, entry *all, const wm_data *const table[2],
                         const double *const weights[2], int64_t j)
{
    int64_t n = 0;

    for (int t = 0; t < 2; t++) {
        const int64_t rows = wm_data_count(table[t]), raw = wm_data_dim(table[t]);
        double sum = 0;

        for (int64_t i = 0; i < rows; i++)
            sum += weights[t] ? weights[t][i] : 1;
        for (int64_t i = 0; i < rows; i++)
            all[n++] = (entry){wm_data_rows(table[t])[i * raw + j],
                               (weights[t] ? weights[t][i] : 1) / sum, t};
    }
    qsort(all, (size_t)n, sizeof *all, by_value);
    c->n = 0;
    for (int64_t i = 0; i < n; i++) {
        if (c->n == 0 || all[i].value != c->value[c->n - 1]) {
            c->value[c->n] = all[i].value;
            for (int t = 0; t < 2; t++) {
                c->weight[t][c->n] = 0;
                c->rows[t][c->n] = 0;
            }
            c->n++;
        }
        c->weight[all[i].side][c->n - 1] += all[i].weight;
        c->rows[all[i].side][c->n - 1]++;
    }
}

/* KL of shares p from q (n), each of so many rows: half a row is lent to every cell, and what
 * chance makes of two equal samples is taken off. */
static double divergence_of_shares(int64_t n, const double *p, const double *q,
                                   const int64_t rows[2])
{
    const double np = (double)rows[0], nq = (double)rows[1], half = 0.5 * (double)n;
    double sum = 0;

    for (int64_t i = 0; i < n; i++) {
        const double a = (np * p[i] + 0.5) / (np + half), b = (nq * q[i] + 0.5) / (nq + half);

        sum += a * log(a / b);
    }
    return fmax(sum - 0.5 * (double)(n - 1) * (1 / np + 1 / nq), 0);
}

/* ---- what is shown ---- */

/* n numbers of the study's own. */
static double *reals(wmi_arena *a, int64_t n, wm_error *err)
{
    return wmi_arena_alloc(a, (size_t)n * sizeof(double), err);
}

/* What value i of column j is called; NULL without memory. */
static const char *level_text(const counted *c, int64_t i, const wm_schema *schema, int64_t j,
                              wmi_arena *arena, wm_error *err)
{
    const bool named = schema && wm_schema_kind(schema, j) == WM_KIND_CATEGORICAL;
    const char *name = named ? wm_schema_level(schema, j, (int64_t)c->value[i]) : NULL;
    char text[40];

    snprintf(text, sizeof text, "%g", c->value[i]);
    return wmi_arena_strdup(arena, name ? name : text, err);
}

/* Indices of values by their larger share, largest first: insertion into a short list. */
static int64_t most_frequent(const counted *c, int64_t most, int64_t *out)
{
    int64_t n = 0;

    for (int64_t i = 0; i < c->n; i++) {
        const double share = fmax(c->weight[0][i], c->weight[1][i]);
        int64_t at = n < most ? n++ : most - 1;

        if (at == most - 1 && n == most && i >= most &&
            share <= fmax(c->weight[0][out[at]], c->weight[1][out[at]]))
            continue;
        for (; at > 0 && share > fmax(c->weight[0][out[at - 1]], c->weight[1][out[at - 1]]); at--)
            out[at] = out[at - 1];
        out[at] = i;
    }
    return n;
}

static wm_status show_levels(wm_study_column *col, const counted *c, const wm_schema *schema,
                             int64_t j, wmi_arena *arena, wm_error *err)
{
    const bool named = schema && wm_schema_kind(schema, j) == WM_KIND_CATEGORICAL;
    const int64_t shown = c->n < MOST_LEVELS ? c->n : MOST_LEVELS, n = shown + (c->n > shown);
    int64_t order[MOST_LEVELS];
    double *p, *q, rest[2] = {1, 1};
    const char **level = wmi_arena_alloc(arena, (size_t)n * sizeof *level, err);

    if (!level || !(p = reals(arena, n, err)) || !(q = reals(arena, n, err)))
        return WM_ENOMEM;
    (void)most_frequent(c, shown, order);
    if (!named) /* numbers stay in their order */
        for (int64_t i = 0; i < shown; i++)
            order[i] = i;
    for (int64_t i = 0; i < shown; i++) {
        const int64_t at = order[i];

        if (!(level[i] = level_text(c, at, schema, j, arena, err)))
            return WM_ENOMEM;
        p[i] = c->weight[0][at];
        q[i] = c->weight[1][at];
        rest[0] -= p[i];
        rest[1] -= q[i];
    }
    if (n > shown) {
        level[shown] = "(others)";
        p[shown] = fmax(rest[0], 0);
        q[shown] = fmax(rest[1], 0);
    }
    col->n = n;
    col->level = level;
    col->p = p;
    col->q = q;
    return WM_OK;
}

/* The value below which a share of both tables' rows lies, each table with the same say. */
static double quantile(const counted *c, double share)
{
    double sum = 0;

    for (int64_t i = 0; i < c->n; i++) {
        sum += 0.5 * (c->weight[0][i] + c->weight[1][i]);
        if (sum >= share)
            return c->value[i];
    }
    return c->value[c->n - 1];
}

static bool all_whole(const counted *c)
{
    for (int64_t i = 0; i < c->n; i++)
        if (c->value[i] != floor(c->value[i]))
            return false;
    return true;
}

/* Even bins between the outermost hundredths, of which the first and the last reach to the ends.
 * Those of whole numbers hold as many of them each: else some would hold one more than others. */
static wm_status show_histogram(wm_study_column *col, const counted *c, wmi_arena *arena,
                                wm_error *err)
{
    double lo = quantile(c, 0.01), hi = quantile(c, 0.99);
    int64_t n = hi > lo ? BINS : 1;
    double *edges, *p, *q;

    if (n > 1 && all_whole(c) && hi - lo < WHOLE) {
        const double each = ceil((hi - lo + 1) / BINS);

        n = (int64_t)ceil((hi - lo + 1) / each);
        hi = lo + (double)n * each;
    }

    if (!(edges = reals(arena, n + 1, err)) || !(p = reals(arena, n, err)) ||
        !(q = reals(arena, n, err)))
        return WM_ENOMEM;
    for (int64_t b = 0; b <= n; b++)
        edges[b] = lo + (hi - lo) * (double)b / (double)n;
    for (int64_t i = 0; i < c->n; i++) {
        const double place = hi > lo ? (c->value[i] - lo) / (hi - lo) * (double)n : 0;
        const int64_t b = place < 0 ? 0 : place >= (double)n ? n - 1 : (int64_t)place;

        p[b] += c->weight[0][i];
        q[b] += c->weight[1][i];
    }
    edges[0] = fmin(c->value[0], edges[0]);
    edges[n] = fmax(fmax(c->value[c->n - 1], edges[n]), edges[0] + 1e-300);
    col->n = n;
    col->edges = edges;
    col->p = p;
    col->q = q;
    return WM_OK;
}

/* Whether q lacks a value that p has, and not by chance. */
static bool is_infinite(int64_t n, const int64_t *p, const int64_t *q, const int64_t rows[2],
                        double asked)
{
    for (int64_t i = 0; i < n; i++)
        if (q[i] == 0 && wmi_level_is_lone(p[i], rows[0], rows[1], asked))
            return true;
    return false;
}

static double own_divergence(const counted *c, bool by_value_each, const int64_t rows[2])
{
    double p[QUANTILES] = {0}, q[QUANTILES] = {0}, sum = 0;

    if (by_value_each)
        return divergence_of_shares(c->n, c->weight[0], c->weight[1], rows);
    for (int64_t i = 0; i < c->n; i++) {
        const double both = 0.5 * (c->weight[0][i] + c->weight[1][i]);
        const int64_t b = (int64_t)((sum + 0.5 * both) * QUANTILES);

        p[b < QUANTILES ? b : QUANTILES - 1] += c->weight[0][i];
        q[b < QUANTILES ? b : QUANTILES - 1] += c->weight[1][i];
        sum += both;
    }
    return divergence_of_shares(QUANTILES, p, q, rows);
}

/* ---- contributions ---- */

/* Which rows of p stand for all, as they are given and encoded, and those of q that are looked at:
 * the first of the study's order, which is random. For pairs q is p. */
typedef struct exchange {
    const wm_study *study;
    const wm_data *p, *q;
    int64_t n, among;
    double *distance; /* (among) of a row's features, squared, without those of a column */
    double *x, *log_r;
} exchange;

static const double *raw_row(const exchange *e, int side, int64_t i)
{
    const wm_data *table = side ? e->q : e->p;

    return wm_data_rows(table) +
           e->study->data.order[e->study->pairs ? 0 : side][i] * wm_data_dim(table);
}

/* Squared distances of row i of p from rows of q, in all features but those of column j. */
static void measure(const exchange *e, int64_t i, int64_t j)
{
    const wmi_study_data *data = &e->study->data;
    const int64_t d = data->dim, *first = data->encoder.first;
    const double *a = data->x[0] + i * d;

    for (int64_t k = 0; k < e->among; k++) {
        const double *b = data->x[1] + k * d;
        double sum = 0;

        for (int64_t f = 0; f < first[j]; f++)
            sum += (a[f] - b[f]) * (a[f] - b[f]);
        for (int64_t f = first[j + 1]; f < d; f++)
            sum += (a[f] - b[f]) * (a[f] - b[f]);
        e->distance[k] = sum;
    }
}

/* The nearest rows of q, the nearest first: insertion into a short list. */
static void find_nearest(const exchange *e, int64_t draws, int64_t *near)
{
    int64_t n = 0;

    for (int64_t k = 0; k < e->among; k++) {
        int64_t at;

        if (n == draws && e->distance[k] >= e->distance[near[n - 1]])
            continue;
        at = n < draws ? n++ : n - 1;
        for (; at > 0 && e->distance[near[at - 1]] > e->distance[k]; at--)
            near[at] = near[at - 1];
        near[at] = k;
    }
}

/* Row i of p as often as it gets another value of column j: that of a row of q that is like it in
 * the other columns. What goes with x_j in q, goes with it here: rows that no table has would ask
 * the ratio what it does not know. Of pairs values of any row are taken. */
static void exchange_column(const exchange *e, int64_t i, int64_t draws, int64_t j)
{
    const int64_t raw = wm_data_dim(e->p);
    int64_t near[MOST_DRAWS] = {0};

    if (!e->study->pairs) {
        measure(e, i, j);
        find_nearest(e, draws, near);
    }
    for (int64_t k = 0; k < draws; k++) {
        double *row = e->x + (i * draws + k) * raw;

        memcpy(row, raw_row(e, 0, i), (size_t)raw * sizeof *row);
        row[j] =
            raw_row(e, 1, e->study->pairs ? ((i * draws + k) * 7919 + 1) % e->among : near[k])[j];
    }
}

static wm_status score_rows(wm_scorer *scorer, const exchange *e, wm_error *err)
{
    const int64_t raw = wm_data_dim(e->p);

    for (int64_t i = 0; i < e->n; i++)
        memcpy(e->x + i * raw, raw_row(e, 0, i), (size_t)raw * sizeof *e->x);
    return wm_scorer_log(scorer, e->n, e->x, e->log_r, err);
}

/* log of the mean of r over few draws, without the bias that this has (second order: half of the
 * variance of the mean). */
static double log_mean_of_draws(int64_t n, const double *log_r)
{
    double top = -INFINITY, sum = 0, squares = 0;

    for (int64_t k = 0; k < n; k++)
        top = fmax(top, log_r[k]);
    for (int64_t k = 0; k < n; k++) {
        sum += exp(log_r[k] - top);
        squares += exp(2 * (log_r[k] - top));
    }
    return top + log(sum / (double)n) +
           0.5 * ((double)n * squares / (sum * sum) - 1) / (double)(n - 1);
}

/* How much of KL(p, q) goes without column j: the mean over rows of p of log r, less that of the
 * ratio of the other columns, r averaged over the values that column j has in q beside them. No
 * column takes more than all of it, or less than nothing. */
static wm_status find_contributions(wm_study *s, const wm_data *p, const wm_data *q, wm_error *err)
{
    const int64_t raw = wm_data_dim(p), all = wm_data_count(p), side = s->pairs ? 0 : 1;
    const int64_t n = all < CONTRIBUTION_ROWS ? all : CONTRIBUTION_ROWS;
    const int64_t rows_of_q = s->data.n[side];
    const int64_t cheap = CONTRIBUTION_STEPS / (n * raw * s->data.dim);
    const int64_t most = CONTRIBUTION_SCORES / (n * raw);
    int64_t draws = most < LEAST_DRAWS ? LEAST_DRAWS : most > MOST_DRAWS ? MOST_DRAWS : most;
    exchange e = {.study = s, .p = p, .q = q ? q : p, .n = n, .among = rows_of_q};
    wm_scorer *scorer = NULL;
    double base;
    wm_status st;

    if (raw > MOST_COLUMNS || raw < 2)
        return WM_OK;
    if (!s->pairs && cheap < rows_of_q)
        e.among = cheap > LEAST_AMONG ? cheap : rows_of_q < LEAST_AMONG ? rows_of_q : LEAST_AMONG;
    draws = draws < e.among ? draws : e.among;
    if ((st = wm_scorer_new(&scorer, s->ratio, err)) ||
        (st = wmi_alloc(&e.x, n * draws * raw, sizeof *e.x, "rows", err)) ||
        (st = wmi_alloc(&e.log_r, n * draws, sizeof *e.log_r, "log-ratios", err)) ||
        (st = wmi_alloc(&e.distance, e.among, sizeof *e.distance, "rows", err)) ||
        (st = wmi_alloc(&s->contributions, raw, sizeof *s->contributions, "contributions", err)) ||
        (st = score_rows(scorer, &e, err)))
        goto done;
    base = wmi_moments_f64(e.log_r, n).mean;
    for (int64_t j = 0; j < raw; j++) {
        for (int64_t i = 0; i < n; i++)
            exchange_column(&e, i, draws, j);
        if ((st = wm_scorer_log(scorer, n * draws, e.x, e.log_r, err)))
            goto done;
        s->contributions[j] = base;
        for (int64_t i = 0; i < n; i++)
            s->contributions[j] -= log_mean_of_draws(draws, e.log_r + i * draws) / (double)n;
    }
done:
    wmi_free(e.distance);
    wmi_free(e.log_r);
    wmi_free(e.x);
    wm_scorer_free(scorer);
    return st;
}

/* ---- levels that one table lacks ---- */

static const char *name_of(const wm_schema *schema, int64_t j, wmi_arena *arena, wm_error *err)
{
    char text[96];

    if (schema && wm_schema_name(schema, j))
        return wmi_arena_strdup(arena, wm_schema_name(schema, j), err);
    snprintf(text, sizeof text, "column %" PRId64, j + 1);
    return wmi_arena_strdup(arena, text, err);
}

/* Counts of a discrete column, for the check; the arrays are the arena's. */
static wm_status keep_counts(wmi_level_counts *out, const wm_study_column *col, const counted *c,
                             const wm_schema *schema, int64_t j, wmi_arena *arena, wm_error *err)
{
    const size_t bytes = (size_t)c->n * sizeof(int64_t);
    const char **level = wmi_arena_alloc(arena, (size_t)c->n * sizeof *level, err);
    int64_t *rows[2] = {level ? wmi_arena_alloc(arena, bytes, err) : NULL, NULL};
    double *value = rows[0] ? reals(arena, c->n, err) : NULL;

    if (!value || !(rows[1] = wmi_arena_alloc(arena, bytes, err)))
        return WM_ENOMEM;
    memcpy(value, c->value, (size_t)c->n * sizeof *value);
    for (int64_t i = 0; i < c->n; i++)
        if (!(level[i] = level_text(c, i, schema, j, arena, err)))
            return WM_ENOMEM;
    for (int t = 0; t < 2; t++)
        memcpy(rows[t], c->rows[t], bytes);
    *out = (wmi_level_counts){.column = col->name,
                              .raw = j,
                              .n = c->n,
                              .value = value,
                              .level = level,
                              .rows = {rows[0], rows[1]}};
    return WM_OK;
}

/* Of the values with an indicator those that SPIKE of a table's rows have; how many. */
static int64_t find_spikes(double *out, const counted *c, int64_t most, const double *value)
{
    int64_t n = 0;

    for (int64_t k = 0, i = 0; k < most; k++) { /* both ascend */
        while (i < c->n && c->value[i] < value[k])
            i++;
        if (i < c->n && c->value[i] == value[k] && fmax(c->weight[0][i], c->weight[1][i]) >= SPIKE)
            out[n++] = value[k];
    }
    return n;
}

/* Of a number with values that very many rows of a table share, such as zeros: these, and all
 * others together. */
static wm_status keep_spikes(wmi_level_counts *out, const wmi_found_columns *found,
                             const wm_study_column *col, const counted *c, int64_t j,
                             wmi_arena *arena, wm_error *err)
{
    const int64_t most = found->first[j + 1] - found->first[j];
    double *spike = reals(arena, most, err);
    const int64_t n = spike ? find_spikes(spike, c, most, found->value + found->first[j]) : 0;
    const char **level = wmi_arena_alloc(arena, (size_t)(n + 1) * sizeof *level, err);
    double *value = reals(arena, n + 1, err);
    int64_t *rows[2] = {NULL, NULL};

    for (int t = 0; t < 2 && spike && level && value; t++)
        rows[t] = wmi_arena_alloc(arena, (size_t)(n + 1) * sizeof(int64_t), err);
    if (!rows[0] || !rows[1])
        return WM_ENOMEM;
    for (int t = 0; t < 2; t++)
        memset(rows[t], 0, (size_t)(n + 1) * sizeof(int64_t));
    memcpy(value, spike, (size_t)n * sizeof *value);
    value[n] = NAN;
    level[n] = "(other values)";
    for (int64_t k = 0; k < n; k++) {
        char text[40];

        snprintf(text, sizeof text, "%g", spike[k]);
        if (!(level[k] = wmi_arena_strdup(arena, text, err)))
            return WM_ENOMEM;
    }
    for (int64_t i = 0; i < c->n; i++) {
        int64_t k = 0;

        while (k < n && spike[k] != c->value[i])
            k++;
        for (int t = 0; t < 2; t++)
            rows[t][k] += c->rows[t][i];
    }
    *out = (wmi_level_counts){.column = col->name,
                              .raw = j,
                              .n = n + 1,
                              .value = value,
                              .level = level,
                              .rows = {rows[0], rows[1]}};
    return WM_OK;
}

/* ---- all of them ---- */

/* Counts for the checks, at most one of a column. */
typedef struct kept_counts {
    wmi_level_counts *levels, *spikes;
    int64_t n_levels, n_spikes;
    int64_t n_split;   /* columns of which p and q have no value in common */
    const char *split; /* the first */
} kept_counts;

static const char *words_for(wmi_aside why)
{
    return why == WMI_ASIDE_CONSTANT ? "it has one value in all rows"
           : why == WMI_ASIDE_RARE   ? "all but a few of its rows have the same level"
           : why == WMI_ASIDE_SPLIT
               ? "p and q have no value of it in common, so the answer is about the other columns"
               : NULL;
}

static wm_status new_counted(counted *c, entry **all, int64_t rows, wm_error *err)
{
    wm_status st;

    if ((st = wmi_alloc(all, rows, sizeof **all, "columns", err)) ||
        (st = wmi_alloc(&c->value, rows, sizeof *c->value, "columns", err)))
        return st;
    for (int t = 0; t < 2; t++)
        if ((st = wmi_alloc(&c->weight[t], rows, sizeof *c->weight[t], "columns", err)) ||
            (st = wmi_alloc(&c->rows[t], rows, sizeof *c->rows[t], "columns", err)))
            return st;
    return WM_OK;
}

static void free_counted(counted *c)
{
    wmi_free(c->value);
    for (int t = 0; t < 2; t++) {
        wmi_free(c->weight[t]);
        wmi_free(c->rows[t]);
    }
}

static wm_status describe_columns(wm_study *s, const wm_data *const table[2],
                                  const wm_schema *schema, const wm_study_opts *o,
                                  kept_counts *counts, wm_error *err)
{
    const wmi_found_columns *found = &s->data.found;
    const int64_t raw = wm_data_dim(table[0]);
    const int64_t rows[2] = {wm_data_count(table[0]), wm_data_count(table[1])};
    counted c = {0};
    entry *all = NULL;
    wm_status st = new_counted(&c, &all, rows[0] + rows[1], err);

    for (int64_t j = 0; !st && j < raw; j++) {
        wm_study_column *col = &s->column[j];
        bool levels; /* values are shown, and counted, one by one */

        if ((st = wmi_heed(o->control.stop, err)))
            break;
        count_column(&c, all, table, o->weights, j);
        levels = found->kind[j] == WM_KIND_CATEGORICAL || c.n <= WMI_FEW;
        col->discrete = found->kind[j] != WM_KIND_CONTINUOUS;
        col->aside = words_for(found->aside[j]);
        col->share = NAN;
        col->kl = levels && col->aside && is_infinite(c.n, c.rows[0], c.rows[1], rows, (double)c.n)
                      ? INFINITY
                      : own_divergence(&c, levels, rows);
        if (!(col->name = name_of(schema, j, &s->arena, err)))
            st = WM_ENOMEM;
        else if (levels)
            st = show_levels(col, &c, schema, j, &s->arena, err);
        else
            st = show_histogram(col, &c, &s->arena, err);
        if (!st && levels && !col->aside)
            st = keep_counts(&counts->levels[counts->n_levels++], col, &c, schema, j, &s->arena,
                             err);
        else if (!st && !col->aside && found->first[j] < found->first[j + 1])
            st =
                keep_spikes(&counts->spikes[counts->n_spikes++], found, col, &c, j, &s->arena, err);
        if (!st && found->aside[j] == WMI_ASIDE_SPLIT && counts->n_split++ == 0)
            counts->split = col->name;
        if (!st && col->aside)
            wm_say(o->control.sink, WM_LOG_WARN, "column '%.60s' is left out: %s", col->name,
                   col->aside);
    }
    free_counted(&c);
    wmi_free(all);
    return st;
}

/* Of columns whose levels are counted, by the same rule as the check's. */
static void mark_infinite(wm_study *s, const int64_t rows[2], int64_t n, int64_t n_levels,
                          const wmi_level_counts counts[])
{
    const double asked = wmi_levels_of(n, counts);

    for (int64_t k = 0; k < n_levels; k++)
        if (is_infinite(counts[k].n, counts[k].rows[0], counts[k].rows[1], rows, asked))
            s->column[counts[k].raw].kl = INFINITY;
}

/* Of the rows, weights counted. */
static double share_of_lone(const wm_study *s, int t)
{
    const double *w = s->data.weight[t];
    double sum = 0;

    for (int64_t i = 0; i < s->data.n[t]; i++)
        sum += s->lone[t][s->data.order[t][i]] ? w ? w[i] : 1 : 0;
    return sum / (double)s->data.n[t]; /* weights have mean one */
}

static void check_split(wm_study *s, const kept_counts *counts)
{
    char more[48] = "";

    if (!counts->n_split)
        return;
    if (counts->n_split > 1)
        snprintf(more, sizeof more, ", nor of %" PRId64 " other column%s", counts->n_split - 1,
                 counts->n_split == 2 ? "" : "s");
    wmi_checks_add(&s->checks, "split", (double)counts->n_split, 0, WM_CHECK_DOUBT,
                   "p and q have no value of '%.60s' in common%s: with %s both divergences are "
                   "infinite. The answer is about the other columns.",
                   counts->split, more, counts->n_split == 1 ? "it" : "them");
}

wm_status wmi_study_columns(wm_study *s, const wm_data *p, const wm_data *q,
                            const wm_schema *schema, const wm_study_opts *o, wm_error *err)
{
    const wm_data *const table[2] = {p, q};
    const int64_t dim = wm_data_dim(p);
    kept_counts counts = {0};
    wm_status st;

    if (!q)
        return WM_OK;
    if ((st = wmi_alloc(&s->column, dim, sizeof *s->column, "columns", err)) ||
        (st = wmi_alloc(&counts.levels, dim, sizeof *counts.levels, "columns", err)) ||
        (st = wmi_alloc(&counts.spikes, dim, sizeof *counts.spikes, "columns", err)) ||
        (st = wmi_alloc(&s->lone[0], wm_data_count(p), sizeof **s->lone, "rows", err)) ||
        (st = wmi_alloc(&s->lone[1], wm_data_count(q), sizeof **s->lone, "rows", err)) ||
        (st = describe_columns(s, table, schema, o, &counts, err)))
        goto done;
    memcpy(counts.levels + counts.n_levels, counts.spikes,
           (size_t)counts.n_spikes * sizeof *counts.levels); /* each column has its one place */
    mark_infinite(s, (int64_t[]){wm_data_count(p), wm_data_count(q)},
                  counts.n_levels + counts.n_spikes, counts.n_levels, counts.levels);
    check_split(s, &counts);
    wmi_check_levels(&s->checks, table, counts.n_levels + counts.n_spikes, counts.levels, s->lone);
    if ((st = wmi_check_combinations(&s->checks, table, counts.n_levels, counts.levels, s->lone,
                                     err)))
        goto done;
    s->info.lone_p = share_of_lone(s, 0);
    s->info.lone_q = share_of_lone(s, 1);
done:
    wmi_free(counts.spikes);
    wmi_free(counts.levels);
    return st;
}

wm_status wmi_study_shares(wm_study *s, const wm_data *p, const wm_data *q, wm_error *err)
{
    const double kl = s->info.kl_pq.value;
    wm_status st = find_contributions(s, p, q, err);

    for (int64_t j = 0; !st && s->column && s->contributions && kl > 0 && j < wm_data_dim(p); j++)
        s->column[j].share = fmin(fmax(s->contributions[j] / kl, 0), 1);
    return st;
}

const wm_study_column *wm_study_column_at(const wm_study *s, int64_t j)
{
    return s->column && j >= 0 && j < s->info.dim ? &s->column[j] : NULL;
}
