/* kinds.c - looking at values. A column is read once for most of what is asked: the first value
 * that is not whole settles it, and only whole columns of floats are looked through for repeats. */
#include "data/table/kinds.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/order.h"
#include "data/table/number.h"
#include "data/table/schema.h"

bool wmi_is_whole(double x)
{
    return fabs(x) <= 0x1p53 && x == rint(x);
}

/* ---- kinds ---- */

static bool neighbours_equal(const double *x, int64_t n)
{
    for (int64_t i = 1; i < n; i++)
        if (x[i] == x[i - 1])
            return true;
    return false;
}

/* Whether a value comes twice. x (n) is sorted on the way: a part at a time, twice as large each,
 * because counts repeat soon. */
static bool repeats(double *x, int64_t n)
{
    for (int64_t k = n < 1024 ? n : 1024;; k = n / 2 < k ? n : 2 * k) {
        wmi_sort_f64(x, k);
        if (neighbours_equal(x, k))
            return true;
        if (k == n)
            return false;
    }
}

/* Whole numbers, one of them at least twice: counts and grades, not a float that happens to end in
 * .0. scratch: (count). */
static bool looks_integer(const wm_data *d, int64_t column, double *scratch)
{
    const int64_t n = wm_data_count(d), dim = wm_data_dim(d);
    const double *x = wm_data_rows(d) + column;
    int64_t m = 0;

    for (int64_t i = 0; i < n; i++) {
        const double v = x[i * dim];

        if (isnan(v))
            continue;
        if (!wmi_is_whole(v))
            return false;
        scratch[m++] = v;
    }
    return m > 1 && repeats(scratch, m);
}

static wm_kind column_kind(const wm_schema *s, const wm_data *d, int64_t j, const wmi_cursor *c,
                           const int *forced, bool first, double *scratch)
{
    const wm_kind known = wm_schema_kind(s, j);

    if (wmi_schema_fixed(s))
        return known;
    if (forced[j] >= 0)
        return (wm_kind)forced[j];
    if (!first && known == WM_KIND_CATEGORICAL)
        return known; /* its numbers name the levels */
    if (first && c->bools)
        return WM_KIND_CATEGORICAL;
    if (c->integers)
        return WM_KIND_INTEGER;
    if (!first && known == WM_KIND_CONTINUOUS)
        return known; /* and stays so, whatever this one is */
    return looks_integer(d, j, scratch) ? WM_KIND_INTEGER : WM_KIND_CONTINUOUS;
}

/* ---- levels ---- */

wm_status wmi_refuse_level(const wm_schema *s, const char *label, const char *where, int64_t column,
                           double x, wm_error *err)
{
    const int64_t n = wm_schema_levels(s, column);
    char what[96], number[WMI_NUMBER_TEXT], levels[64];
    size_t at = 0;

    *levels = '\0';
    for (int64_t k = 0; k < n; k++) {
        const char *text = wm_schema_level(s, column, k);

        if (at + strlen(text) + 8 > sizeof levels) {
            snprintf(levels + at, sizeof levels - at, "%s...", at ? ", " : "");
            break;
        }
        at += (size_t)snprintf(levels + at, sizeof levels - at, "%s%s", at ? ", " : "", text);
    }
    return wmi_fail(err, WM_EINVAL, "%s: %s, %s: %s is none of its %" PRId64 " levels (%s)", label,
                    where, wm_schema_describe(s, column, what, sizeof what),
                    wmi_number_text(x, number), n, levels);
}

/* Distinct values of a column, ascending, into values (WMI_MAX_LEVELS); *n of them. */
static wm_status distinct(double *values, int64_t *n, const wm_schema *s, const char *label,
                          const wm_data *d, int64_t column, wm_error *err)
{
    const int64_t dim = wm_data_dim(d);
    const double *x = wm_data_rows(d) + column;
    char what[96];

    *n = 0;
    for (int64_t i = 0; i < wm_data_count(d); i++) {
        const double v = x[i * dim];
        int64_t lo = 0, hi = *n;

        while (lo < hi) {
            const int64_t mid = (lo + hi) / 2;

            if (values[mid] < v)
                lo = mid + 1;
            else
                hi = mid;
        }
        if (isnan(v) || (lo < *n && values[lo] == v))
            continue;
        if (*n == WMI_MAX_LEVELS)
            return wmi_fail(err, WM_EINVAL,
                            "%s: %s is to be categorical, but has more than %d different values: "
                            "leave it continuous or integer, or leave it out",
                            label, wm_schema_describe(s, column, what, sizeof what),
                            WMI_MAX_LEVELS);
        memmove(values + lo + 1, values + lo, (size_t)(*n - lo) * sizeof *values);
        values[lo] = v;
        (*n)++;
    }
    return WM_OK;
}

/* Numbers of a categorical column become numbers of levels. values: (WMI_MAX_LEVELS). */
static wm_status number_levels(wm_schema *s, const char *label, wm_data *d, int64_t column,
                               double *values, wm_error *err)
{
    const int64_t dim = wm_data_dim(d);
    double *x = wm_data_rows_mut(d) + column;
    int64_t numbers[WMI_MAX_LEVELS], n;
    wm_status st = distinct(values, &n, s, label, d, column, err);

    if (st)
        return st;
    for (int64_t k = 0; k < n; k++) {
        char text[WMI_NUMBER_TEXT];

        if ((st = wmi_schema_level_number(s, column, wmi_number_text(values[k], text), &numbers[k],
                                          err)))
            return st;
    }
    for (int64_t i = 0; i < wm_data_count(d); i++) {
        const double *at;
        char where[32];

        if (isnan(x[i * dim]))
            continue;
        at =
            (const double *)bsearch(&x[i * dim], values, (size_t)n, sizeof *values, wmi_rising_f64);
        if (numbers[at - values] < 0) {
            snprintf(where, sizeof where, "row %" PRId64, i + 1);
            return wmi_refuse_level(s, label, where, column, *at, err);
        }
        x[i * dim] = (double)numbers[at - values];
    }
    return WM_OK;
}

wm_status wmi_kinds_settle(wm_schema *s, const char *label, wm_data *d, const wmi_cursor *c,
                           const int *forced, bool first, wm_error *err)
{
    const int64_t n = wm_data_count(d);
    double *scratch = NULL;
    wm_status st =
        wmi_alloc(&scratch, n > WMI_MAX_LEVELS ? n : WMI_MAX_LEVELS, sizeof *scratch, "kinds", err);

    for (int64_t j = 0; j < wm_data_dim(d) && !st; j++) {
        const wm_kind kind = column_kind(s, d, j, c, forced, first, scratch);
        int64_t ignored;

        if ((st = wmi_schema_set_kind(s, label, j, kind, err)) || kind != WM_KIND_CATEGORICAL)
            continue;
        /* Both levels of a bool are known, whatever this table holds. */
        if (c->bools && ((st = wmi_schema_level_number(s, j, "0", &ignored, err)) ||
                         (st = wmi_schema_level_number(s, j, "1", &ignored, err))))
            break;
        st = number_levels(s, label, d, j, scratch, err);
    }
    wmi_free(scratch);
    return st;
}

bool wmi_kinds_text(const wm_schema *s, char *buf, size_t size)
{
    int64_t count[3] = {0};
    size_t at = 0;

    for (int64_t j = 0; j < wm_schema_dim(s); j++)
        count[wm_schema_kind(s, j)]++;
    for (int k = 0; k < 3; k++)
        if (count[k] && at < size)
            at += (size_t)snprintf(buf + at, size - at, "%s%" PRId64 " %s", at ? ", " : "",
                                   count[k], wmi_kind_name((wm_kind)k));
    if (at < size)
        snprintf(buf + at, size - at, wm_schema_dim(s) == 1 ? " column" : " columns");
    return count[WM_KIND_CONTINUOUS] < wm_schema_dim(s);
}

/* ---- missing values ---- */

/* The most frequent level of column j in all tables; counts: (levels). */
static double most_frequent(wm_data *const *tables, int n, int64_t j, int64_t *counts,
                            int64_t levels)
{
    int64_t best = 0;

    memset(counts, 0, (size_t)levels * sizeof *counts);
    for (int t = 0; t < n; t++) {
        const int64_t dim = wm_data_dim(tables[t]);
        const double *x = wm_data_rows(tables[t]) + j;

        for (int64_t i = 0; i < wm_data_count(tables[t]); i++)
            if (!isnan(x[i * dim]))
                counts[(int64_t)x[i * dim]]++;
    }
    for (int64_t k = 1; k < levels; k++)
        if (counts[k] > counts[best])
            best = k;
    return (double)best;
}

/* Of the values that are there: a running mean, which cannot overflow. */
static double mean_of(wm_data *const *tables, int n, int64_t j)
{
    double mean = 0;
    int64_t m = 0;

    for (int t = 0; t < n; t++) {
        const int64_t dim = wm_data_dim(tables[t]);
        const double *x = wm_data_rows(tables[t]) + j;

        for (int64_t i = 0; i < wm_data_count(tables[t]); i++)
            if (!isnan(x[i * dim])) {
                m++;
                mean += x[i * dim] / (double)m - mean / (double)m;
            }
    }
    return mean;
}

static int64_t count_holes(const wm_data *d, int64_t j)
{
    int64_t holes = 0;

    for (int64_t i = 0; i < wm_data_count(d); i++)
        holes += isnan(wm_data_rows(d)[i * wm_data_dim(d) + j]) ? 1 : 0;
    return holes;
}

static void fill_column(wm_data *d, int64_t j, double value)
{
    double *x = wm_data_rows_mut(d) + j;

    for (int64_t i = 0; i < wm_data_count(d); i++)
        if (isnan(x[i * wm_data_dim(d)]))
            x[i * wm_data_dim(d)] = value;
}

wm_status wmi_kinds_fill(const wm_schema *s, const char *label, wm_data *const *tables, int n,
                         int64_t *filled, wm_error *err)
{
    const int64_t dim = wm_data_dim(tables[0]);
    int64_t *counts = NULL, most = 0, rows = 0;
    char what[96];
    wm_status st;

    for (int t = 0; t < n; t++) {
        filled[t] = 0;
        rows += wm_data_count(tables[t]);
    }
    for (int64_t j = 0; j < dim; j++)
        most = wm_schema_levels(s, j) > most ? wm_schema_levels(s, j) : most;
    if ((st = wmi_alloc(&counts, most, sizeof *counts, "levels", err)))
        return st;
    for (int64_t j = 0; j < dim && !st; j++) {
        const wm_kind kind = wm_schema_kind(s, j);
        int64_t holes = 0;
        double value;

        for (int t = 0; t < n; t++) {
            const int64_t own = count_holes(tables[t], j);

            filled[t] += own;
            holes += own;
        }
        if (!holes)
            continue;
        if (holes == rows) {
            st = wmi_fail(err, WM_EINVAL, "%s: %s has no value at all, so no mean: leave it out",
                          label, wm_schema_describe(s, j, what, sizeof what));
            continue;
        }
        value = kind == WM_KIND_CATEGORICAL
                    ? most_frequent(tables, n, j, counts, wm_schema_levels(s, j))
                    : mean_of(tables, n, j);
        for (int t = 0; t < n; t++)
            fill_column(tables[t], j, kind == WM_KIND_INTEGER ? rint(value) : value);
    }
    wmi_free(counts);
    return st;
}

/* ---- levels of a stream ---- */

typedef struct known_level {
    double value, number;
} known_level;

struct wmi_level_map {
    int64_t *start;      /* (dim + 1): where a column's levels begin */
    known_level *levels; /* ascending within a column */
    const wm_schema *schema;
};

wm_status wmi_level_map_new(wmi_level_map **out, const wm_schema *s, wm_error *err)
{
    const int64_t dim = wm_schema_dim(s);
    wmi_level_map *m = NULL;
    int64_t total = 0, at = 0;
    wm_status st;

    *out = NULL;
    for (int64_t j = 0; j < dim; j++)
        total += wm_schema_levels(s, j);
    if ((st = wmi_alloc(&m, 1, sizeof *m, "levels", err)))
        return st;
    if ((st = wmi_alloc(&m->start, dim + 1, sizeof *m->start, "levels", err)) ||
        (st = wmi_alloc(&m->levels, total, sizeof *m->levels, "levels", err))) {
        wmi_level_map_free(m);
        return st;
    }
    m->schema = s;
    for (int64_t j = 0; j < dim; j++) {
        m->start[j] = at;
        for (int64_t k = 0; k < wm_schema_levels(s, j); k++) {
            const char *text = wm_schema_level(s, j, k);
            known_level *l = &m->levels[at];
            bool whole;

            l->number = (double)k;
            if (wmi_number_parse(text, strlen(text), &l->value, &whole) && !isnan(l->value))
                at++;
        }
        if (at > m->start[j])
            qsort(m->levels + m->start[j], (size_t)(at - m->start[j]), sizeof *m->levels,
                  wmi_rising_f64);
    }
    m->start[dim] = at;
    *out = m;
    return WM_OK;
}

void wmi_level_map_free(wmi_level_map *m)
{
    if (!m)
        return;
    wmi_free(m->start);
    wmi_free(m->levels);
    wmi_free(m);
}

double wmi_level_map_find(const wmi_level_map *m, int64_t column, double x)
{
    const int64_t from = m->start[column], n = m->start[column + 1] - from;
    const known_level want = {x, 0}, *found;

    if (wm_schema_kind(m->schema, column) != WM_KIND_CATEGORICAL || isnan(x))
        return x;
    found = n ? (const known_level *)bsearch(&want, m->levels + from, (size_t)n, sizeof want,
                                             wmi_rising_f64)
              : NULL; /* wmi_rising_f64 reads the first member */
    return found ? found->number : -1;
}
