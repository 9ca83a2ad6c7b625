/* discover.c - discrete, continuous, constant: by the values that a column has (discover.h). */
#include "columns/discover.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

enum {
    LOOK = 50000,     /* rows of a table that are looked at */
    EACH = 20,        /* rows for each distinct value of one that has more */
    MOST = 1000,      /* distinct values of a discrete number */
    INDICATORS = 50,  /* of a category: the most frequent levels */
    SPIKES = WMI_FEW, /* indicators of a number */
    LEAST_ROWS = 4,   /* that a level needs for an indicator */
};
/* A value worth an indicator: share of the rows that have it; and where there are many values, how
 * often it comes compared with the others. */
static const double SPIKE = 0.02, STANDS_OUT = 3;

/* One value with the rows of p and of q that have it. */
typedef struct tally {
    double value;
    int64_t rows[2], count; /* count: of both */
} tally;

/* A row's value, and its table. */
typedef struct seen {
    double value;
    int side;
} seen;

static int compare(double x, double y)
{
    return (x > y) - (x < y);
}

static int by_seen(const void *a, const void *b)
{
    return compare(((const seen *)a)->value, ((const seen *)b)->value);
}

static int by_value(const void *a, const void *b)
{
    return compare(((const tally *)a)->value, ((const tally *)b)->value);
}

static int by_count(const void *a, const void *b) /* the largest first, then by value */
{
    const tally *x = a, *y = b;

    return x->count != y->count ? (x->count < y->count) - (x->count > y->count) : by_value(a, b);
}

/* The distinct values of column j, ascending, with their counts; how many. v has room for all. */
static int64_t tally_column(tally *t, seen *v, int64_t raw, int64_t j, const int64_t n[2],
                            const double *const x[2], int64_t *rows)
{
    int64_t distinct = 0, at = 0;

    for (int side = 0; side < 2 && x[side]; side++) {
        const int64_t stride = (n[side] + LOOK - 1) / LOOK;

        for (int64_t i = 0; i < n[side]; i += stride)
            v[at++] = (seen){x[side][i * raw + j], side};
    }
    qsort(v, (size_t)at, sizeof *v, by_seen);
    for (int64_t i = 0; i < at; i++) {
        if (distinct == 0 || v[i].value != t[distinct - 1].value)
            t[distinct++] = (tally){.value = v[i].value};
        t[distinct - 1].rows[v[i].side]++;
        t[distinct - 1].count++;
    }
    *rows = at;
    return distinct;
}

/* Whether no value is in both tables. */
static bool is_split(const tally *t, int64_t distinct)
{
    for (int64_t i = 0; i < distinct; i++)
        if (t[i].rows[0] && t[i].rows[1])
            return false;
    return true;
}

/* Whether all values of one table lie beyond those of the other, of all rows: numbers that count
 * rows or days on and on, of which p has the first and q the last. */
static bool is_beyond(int64_t raw, int64_t j, const int64_t n[2], const double *const x[2])
{
    double lo[2] = {INFINITY, INFINITY}, hi[2] = {-INFINITY, -INFINITY};

    for (int side = 0; side < 2; side++)
        for (int64_t i = 0; i < n[side]; i++) {
            lo[side] = fmin(lo[side], x[side][i * raw + j]);
            hi[side] = fmax(hi[side], x[side][i * raw + j]);
        }
    return hi[0] < lo[1] || hi[1] < lo[0];
}

/* A number that takes the same few values again and again. */
static bool repeats(int64_t distinct, int64_t rows)
{
    return distinct <= WMI_FEW || (distinct <= MOST && distinct * EACH <= rows);
}

/* Whether one of the tables has a single value, which the other never has: zeros where that has
 * wages. */
static bool is_apart(const tally *t, int64_t distinct)
{
    for (int side = 0; side < 2; side++) {
        int64_t values = 0;

        for (int64_t i = 0; i < distinct; i++)
            values += t[i].rows[side] > 0;
        if (values == 1)
            return true;
    }
    return false;
}

/* Over all rows: those that were looked at may have missed the one that differs. */
static bool is_constant(int64_t raw, int64_t j, const int64_t n[2], const double *const x[2])
{
    for (int side = 0; side < 2 && x[side]; side++)
        for (int64_t i = 0; i < n[side]; i++)
            if (x[side][i * raw + j] != x[0][j])
                return false;
    return true;
}

/* A number: discrete or not, and the values that get an indicator. All of a few values are told
 * apart by the number itself and indicators of all but two. */
static int64_t look_at_number(wmi_found_columns *f, int64_t j, tally *t, int64_t distinct,
                              int64_t rows, double *value)
{
    const double usual = distinct > WMI_FEW ? STANDS_OUT * (double)rows / (double)distinct : 0;
    const double least = fmax(fmax(SPIKE * (double)rows, LEAST_ROWS), usual);
    int64_t taken = 0, spikes = 0, inner;

    if (repeats(distinct, rows))
        f->kind[j] = WM_KIND_INTEGER;
    qsort(t, (size_t)distinct, sizeof *t, by_count);
    while (spikes < distinct && spikes < SPIKES && (double)t[spikes].count >= least)
        spikes++;
    f->curved[j] = distinct > WMI_FEW;
    if (distinct <= 2 || (distinct == 3 && spikes < 3))
        return 0;
    qsort(t, (size_t)spikes, sizeof *t, by_value);
    inner = spikes == distinct;
    for (int64_t i = inner; i < spikes - inner; i++)
        value[taken++] = t[i].value;
    return taken;
}

/* A category: indicators of its levels but for those too rare, or where there are none of these,
 * but for the first. */
static int64_t look_at_category(tally *t, int64_t distinct, double *value)
{
    int64_t frequent = 0, skip = 0;

    qsort(t, (size_t)distinct, sizeof *t, by_count);
    while (frequent < distinct && frequent < INDICATORS && t[frequent].count >= LEAST_ROWS)
        frequent++;
    if (frequent < 2)
        return 0;
    qsort(t, (size_t)frequent, sizeof *t, by_value);
    skip = frequent == distinct;
    for (int64_t i = skip; i < frequent; i++)
        value[i - skip] = t[i].value;
    return frequent - skip;
}

void wmi_found_free(wmi_found_columns *f)
{
    wmi_free(f->kind);
    wmi_free(f->aside);
    wmi_free(f->curved);
    wmi_free(f->first);
    wmi_free(f->value);
    *f = (wmi_found_columns){0};
}

wm_status wmi_discover(wmi_found_columns *f, int64_t raw, const int64_t n[2],
                       const double *const x[2], const wm_kind *kind, wm_error *err)
{
    const int64_t room = 2 * (int64_t)LOOK + 2;
    tally *t = NULL;
    seen *v = NULL;
    wm_status st;

    *f = (wmi_found_columns){.raw = raw};
    if ((st = wmi_alloc(&f->kind, raw, sizeof *f->kind, "columns", err)) ||
        (st = wmi_alloc(&f->aside, raw, sizeof *f->aside, "columns", err)) ||
        (st = wmi_alloc(&f->curved, raw, sizeof *f->curved, "columns", err)) ||
        (st = wmi_alloc(&f->first, raw + 1, sizeof *f->first, "columns", err)) ||
        (st = wmi_alloc(&f->value, raw * INDICATORS, sizeof *f->value, "columns", err)) ||
        (st = wmi_alloc(&t, room, sizeof *t, "columns", err)) ||
        (st = wmi_alloc(&v, room, sizeof *v, "columns", err)))
        goto done;
    for (int64_t j = 0; j < raw; j++) {
        int64_t rows, count = 0;
        const int64_t distinct = tally_column(t, v, raw, j, n, x, &rows);
        double *value = f->value + f->first[j];

        f->kind[j] = kind ? kind[j] : WM_KIND_CONTINUOUS;
        if (distinct < 2 && is_constant(raw, j, n, x))
            f->aside[j] = WMI_ASIDE_CONSTANT;
        else if (x[1] && is_split(t, distinct) &&
                 (f->kind[j] == WM_KIND_CATEGORICAL || distinct <= WMI_FEW ||
                  is_apart(t, distinct) ||
                  ((f->kind[j] == WM_KIND_INTEGER || repeats(distinct, rows)) &&
                   is_beyond(raw, j, n, x))))
            f->aside[j] = WMI_ASIDE_SPLIT;
        else if (f->kind[j] != WM_KIND_CATEGORICAL)
            count = look_at_number(f, j, t, distinct, rows, value);
        else if ((count = look_at_category(t, distinct, value)) == 0)
            f->aside[j] = WMI_ASIDE_RARE;
        f->first[j + 1] = f->first[j] + count;
        f->discrete += f->aside[j] == WMI_ASIDE_NOT && f->kind[j] != WM_KIND_CONTINUOUS;
    }
    f->mixed = f->discrete > 0 || f->first[raw] > 0;
done:
    wmi_free(v);
    wmi_free(t);
    if (st)
        wmi_found_free(f);
    return st;
}
