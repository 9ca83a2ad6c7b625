/* count_table.c - pairs of levels, counted (count_table.h). */
#include "moments/count_table.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"

enum { STRENGTHS = 60, FREE = 2 };
static const double LEAST_LENT = 0.5, MOST_LENT = 1e7; /* rows */
static const double AS_GOOD = 2; /* nats, of all rows together, by which a strength may be worse */

/* The features of u or of v. Level f is that of feature f; the free ones, which have none, follow.
 */
typedef struct side {
    int64_t first, d; /* of the features in a row */
    bool number;      /* feature 0 is one: there is no level 0 */
    int64_t free;
    double value[FREE]; /* the number at the free levels */
    double *rows;       /* (d + FREE) of each level */
} side;

/* Counted pairs of levels. */
typedef struct counts {
    const wmi_count_rows *rows;
    side u, v;
    int64_t n;    /* rows */
    double *cell; /* (u, v) rows; then log r */
} counts;

static int64_t levels_of(const side *s)
{
    return s->d + FREE;
}

static double feature(const wmi_count_rows *r, const double *row, int64_t f)
{
    return row[f] * r->scale[f] + r->shift[f];
}

/* The level of a row; -1 where a number has more values than features tell. */
static int64_t level_at(side *s, const wmi_count_rows *r, const double *row)
{
    const double value = s->number ? feature(r, row, s->first) : 0;

    for (int64_t f = s->number; f < s->d; f++)
        if (feature(r, row, s->first + f) > 0.5)
            return f;
    for (int64_t i = 0; i < s->free; i++)
        if (s->value[i] == value)
            return s->d + i;
    if (s->free == FREE)
        return -1;
    s->value[s->free] = value;
    return s->d + s->free++;
}

static wm_status count(counts *c, wm_error *err)
{
    const wmi_count_rows *r = c->rows;
    const int64_t width = levels_of(&c->v);

    for (int t = 0; t < 2; t++)
        for (int64_t i = 0; i < r->n[t]; i++) {
            const double *row = r->x[t] + i * r->dim;
            const int64_t u = level_at(&c->u, r, row), v = level_at(&c->v, r, row);

            if (u < 0 || v < 0)
                return wmi_fail(err, WM_EINVAL, "%s has more values than its features tell",
                                u < 0 ? "u" : "v");
            c->cell[u * width + v]++;
            c->u.rows[u]++;
            c->v.rows[v]++;
        }
    return WM_OK;
}

/* The product of the shares of both levels. */
static double share_at(const counts *c, int64_t i, int64_t j)
{
    return c->u.rows[i] / (double)c->n * (c->v.rows[j] / (double)c->n);
}

/* ---- how many rows are lent ---- */

static double strength(int64_t k)
{
    return LEAST_LENT * pow(MOST_LENT / LEAST_LENT, (double)k / (STRENGTHS - 1));
}

/* Sum of log r over the rows, each by the counts of all; or of all but itself. */
static double sum_log_r(const counts *c, double lent, bool left_out)
{
    const double n = (double)(c->n - left_out);
    const int64_t nu = levels_of(&c->u), nv = levels_of(&c->v);
    double sum = 0;

    for (int64_t i = 0; i < nu; i++)
        for (int64_t j = 0; j < nv; j++) {
            const double rows = c->cell[i * nv + j];
            const double share = (c->u.rows[i] - left_out) / n * ((c->v.rows[j] - left_out) / n);

            if (rows > 0 && share > 0) /* a level of one row is none without it */
                sum += rows * log(((rows - left_out) / share + lent) / (n + lent));
        }
    return sum;
}

static void choose_strength(wmi_count_fit *fit, const counts *c)
{
    double value[STRENGTHS], most = -INFINITY, loose = 0;
    int64_t k = 0;

    for (k = 0; k < STRENGTHS; k++) {
        value[k] = sum_log_r(c, strength(k), true);
        if (value[k] > most) {
            most = value[k];
            fit->lent = strength(k);
        }
    }
    for (k = STRENGTHS - 1; k >= 0; k--)
        if (value[k] > most - AS_GOOD)
            loose = strength(k);
    fit->missed =
        fmax(sum_log_r(c, loose, false) - sum_log_r(c, fit->lent, false), 0) / (double)c->n;
}

static void count_numbers(wmi_count_fit *fit, const counts *c)
{
    const side *const sides[] = {&c->u, &c->v};
    const int64_t nv = levels_of(&c->v);
    double cells = 0;

    for (int64_t i = 0; i < levels_of(&c->u); i++)
        for (int64_t j = 0; j < nv; j++) {
            const double rows = c->cell[i * nv + j];

            if (rows > 0)
                cells += rows / (rows + fit->lent * share_at(c, i, j));
        }
    fit->numbers = cells;
    for (int t = 0; t < 2; t++) {
        double levels = 0;

        for (int64_t i = 0; i < levels_of(sides[t]); i++)
            levels += sides[t]->rows[i] > 0;
        fit->numbers = fmax(fit->numbers, levels);
    }
}

/* A level that no row has is an average one: log r = 0. */
static void take_logs(counts *c, double lent)
{
    const int64_t nv = levels_of(&c->v);

    for (int64_t i = 0; i < levels_of(&c->u); i++)
        for (int64_t j = 0; j < nv; j++) {
            const double share = share_at(c, i, j);
            double *cell = &c->cell[i * nv + j];

            *cell = share > 0 ? log((*cell / share + lent) / ((double)c->n + lent)) : 0;
        }
}

/* ---- as a form ---- */

/* From values y at the levels of a side, `stride` apart, to coefficients of its features as rows
 * have them, in the same places, and a constant, in that of the first free level. */
static void to_coefficients(const side *s, const wmi_count_rows *r, double *y, int64_t stride)
{
    const double *shift = r->shift + s->first, *scale = r->scale + s->first,
                 *level = r->level + s->first;
    const double slope =
        s->free == 2 ? (y[(s->d + 1) * stride] - y[s->d * stride]) / (s->value[1] - s->value[0])
                     : 0;
    const double at_0 = s->free > 0 ? y[s->d * stride] - slope * s->value[0] : 0;
    double constant = at_0;

    for (int64_t f = 0; f < s->d; f++) {
        const bool number = f < s->number;
        const double own =
            number ? slope : y[f * stride] - at_0 - (s->number ? slope * level[f] : 0);

        constant += own * shift[f];
        y[f * stride] = own * scale[f];
    }
    y[s->d * stride] = constant;
}

/* log r = -(x' Q x + w' x + c), where Q ties u to v. */
static void to_form(wmi_convex_bridge *b, counts *c)
{
    const int64_t d = c->rows->dim, nu = levels_of(&c->u), nv = levels_of(&c->v);

    for (int64_t i = 0; i < nu; i++)
        to_coefficients(&c->v, c->rows, c->cell + i * nv, 1);
    for (int64_t j = 0; j <= c->v.d; j++)
        to_coefficients(&c->u, c->rows, c->cell + j, nv);
    memset(b->q, 0, (size_t)(d * d) * sizeof *b->q);
    for (int64_t i = 0; i < c->u.d; i++)
        for (int64_t j = 0; j < c->v.d; j++) {
            const int64_t at[] = {c->u.first + i, c->v.first + j};

            b->q[at[0] * d + at[1]] = b->q[at[1] * d + at[0]] = -0.5 * c->cell[i * nv + j];
        }
    for (int64_t i = 0; i < c->u.d; i++)
        b->w[c->u.first + i] = -c->cell[i * nv + c->v.d];
    for (int64_t j = 0; j < c->v.d; j++)
        b->w[c->v.first + j] = -c->cell[c->u.d * nv + j];
    b->c = -c->cell[c->u.d * nv + c->v.d];
    b->ridge = INFINITY;
    b->valid_loss = NAN;
    b->valid_gain = 0;
}

static wm_status new_side(side *s, const wmi_count_rows *r, int64_t first, int64_t end,
                          wm_error *err)
{
    *s = (side){.first = first, .d = end - first, .number = isnan(r->level[first])};
    return wmi_alloc(&s->rows, levels_of(s), sizeof *s->rows, "levels", err);
}

wm_status wmi_count_table(wmi_convex_bridge *bridge, wmi_count_fit *fit, const wmi_count_rows *rows,
                          wm_error *err)
{
    counts c = {.rows = rows, .n = rows->n[0] + rows->n[1]};
    wm_status st;

    if ((st = new_side(&c.u, rows, 0, rows->first, err)) ||
        (st = new_side(&c.v, rows, rows->first, rows->dim, err)) ||
        (st =
             wmi_alloc(&c.cell, levels_of(&c.u) * levels_of(&c.v), sizeof *c.cell, "cells", err)) ||
        (st = count(&c, err)))
        goto done;
    choose_strength(fit, &c);
    count_numbers(fit, &c);
    take_logs(&c, fit->lent);
    to_form(bridge, &c);
done:
    wmi_free(c.u.rows);
    wmi_free(c.v.rows);
    wmi_free(c.cell);
    return st;
}
