/* combinations.c - pairs of levels that one table lacks (combinations.h). */
#include "check/combinations.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

enum {
    MOST_COLUMNS = 25, /* 300 pairs */
    MOST_LEVELS = 40   /* of one column: cells of more have too few rows to say anything */
};
/* How rare a finding may be by chance, over all cells that are looked at. */
static const double CHANCE = 0.01;
/* Share of the rows: what fewer of them have does not move the answer. */
static const double LEAST_SHARE = 0.005;

/* Level codes of the columns that are looked at. */
typedef struct coded {
    int64_t n, rows[2];
    const wmi_level_counts *column[MOST_COLUMNS];
    int32_t *code[2]; /* (n, rows) */
    double cells;     /* of all pairs together */
} coded;

/* The cell that one side has, and how many such there are. */
typedef struct lacking {
    int64_t cells, rows; /* rows: of the one that has the most */
    double expected;     /* of it, on the other side */
    int64_t column[2], level[2];
    bool lone; /* of some cell the rows are marked */
} lacking;

static wm_status encode(coded *out, const wm_data *const table[2], int64_t n,
                        const wmi_level_counts column[], wm_error *err)
{
    double levels = 0;

    for (int64_t j = 0; j < n && out->n < MOST_COLUMNS; j++)
        if (column[j].n > 1 && column[j].n <= MOST_LEVELS) {
            out->cells += levels * (double)column[j].n;
            levels += (double)column[j].n;
            out->column[out->n++] = &column[j];
        }
    for (int t = 0; t < 2 && out->n > 1; t++) {
        const int64_t raw = wm_data_dim(table[t]);
        wm_status st;

        out->rows[t] = wm_data_count(table[t]);
        if ((st = wmi_alloc(&out->code[t], out->n * out->rows[t], sizeof *out->code[t], "levels",
                            err)))
            return st;
        for (int64_t j = 0; j < out->n; j++)
            for (int64_t i = 0; i < out->rows[t]; i++)
                out->code[t][j * out->rows[t] + i] = (int32_t)wmi_level_at(
                    out->column[j], wm_data_rows(table[t])[i * raw + out->column[j]->raw]);
    }
    return WM_OK;
}

static void mark_rows(bool *lone, const coded *d, const int64_t at[2], int64_t i, int64_t j,
                      int side)
{
    const int32_t *a = d->code[side] + at[0] * d->rows[side],
                  *b = d->code[side] + at[1] * d->rows[side];

    for (int64_t r = 0; r < d->rows[side]; r++)
        lone[r] = lone[r] || (a[r] == i && b[r] == j);
}

/* The cells of columns a and b that `side` has and the other lacks. Chance would leave a cell of e
 * expected rows empty with probability exp(-e); and would put all c rows of a cell that both tables
 * have in one of them with that table's share of all rows to the power of c. */
static void look_at_pair(lacking *l, const coded *d, const int64_t at[2], int side,
                         const int64_t *const count[2], bool *lone)
{
    const wmi_level_counts *a = d->column[at[0]], *b = d->column[at[1]];
    const double own = (double)d->rows[side], other = (double)d->rows[!side];
    const double sure = log(d->cells / CHANCE);

    for (int64_t i = 0; i < a->n; i++)
        for (int64_t j = 0; j < b->n; j++) {
            const int64_t rows = count[side][i * b->n + j];
            const double expected = (double)a->rows[!side][i] * (double)b->rows[!side][j] / other;

            if ((double)rows < LEAST_SHARE * own || count[!side][i * b->n + j] > 0 ||
                expected < sure || (double)rows * log1p(other / own) < sure)
                continue;
            l->cells++;
            if (wmi_level_is_lone(rows, d->rows[side], d->rows[!side], d->cells)) {
                l->lone = true;
                mark_rows(lone, d, at, i, j, side);
            }
            if (rows <= l->rows)
                continue;
            l->rows = rows;
            l->expected = expected;
            memcpy(l->column, at, sizeof l->column);
            l->level[0] = i;
            l->level[1] = j;
        }
}

static wm_status look_at_all(lacking found[2], const coded *d, bool *const lone[2], wm_error *err)
{
    int64_t *count[2] = {NULL, NULL};
    wm_status st = WM_OK;

    for (int t = 0; t < 2 && !st; t++)
        st = wmi_alloc(&count[t], MOST_LEVELS * MOST_LEVELS, sizeof *count[t], "cells", err);
    for (int64_t a = 0; a < d->n && !st; a++)
        for (int64_t b = a + 1; b < d->n; b++) {
            for (int t = 0; t < 2; t++) {
                const int32_t *code[] = {d->code[t] + a * d->rows[t], d->code[t] + b * d->rows[t]};

                memset(count[t], 0, MOST_LEVELS * MOST_LEVELS * sizeof *count[t]);
                for (int64_t i = 0; i < d->rows[t]; i++)
                    count[t][code[0][i] * d->column[b]->n + code[1][i]]++;
            }
            for (int side = 0; side < 2; side++)
                look_at_pair(&found[side], d, (int64_t[]){a, b}, side,
                             (const int64_t *const[]){count[0], count[1]}, lone[side]);
        }
    wmi_free(count[0]);
    wmi_free(count[1]);
    return st;
}

static void say(wm_checks *list, const coded *d, const lacking *l, int side)
{
    static const char *const check[] = {"combinations_pq", "combinations_qp"};
    static const char *const name[] = {"p", "q"};
    const wmi_level_counts *a = d->column[l->column[0]], *b = d->column[l->column[1]];
    char more[48] = "";

    if (l->cells > 1)
        snprintf(more, sizeof more, ", and %" PRId64 " more such pair%s", l->cells - 1,
                 l->cells == 2 ? "" : "s");
    wmi_checks_add(
        list, check[side], (double)l->rows, 0, l->lone ? WM_CHECK_FAILED : WM_CHECK_DOUBT,
        "KL(%s, %s) %s: %" PRId64
        " rows of %s have %.20s = %.20s and %.20s = %.20s, none of %s (%" PRId64
        " to be expected)%s. %s",
        name[side], name[!side], l->lone ? "is infinite or cannot be told" : "may be infinite",
        l->rows, name[side], a->column, a->level[l->level[0]], b->column, b->level[l->level[1]],
        name[!side], (int64_t)l->expected, more,
        l->lone ? "There is no number for it but that of the other rows."
                : "The answer takes that for rare, not for impossible.");
    wmi_checks_about(list, side ? WM_ABOUT_QP : WM_ABOUT_PQ);
}

wm_status wmi_check_combinations(wm_checks *list, const wm_data *const table[2], int64_t n,
                                 const wmi_level_counts column[], bool *const lone[2],
                                 wm_error *err)
{
    coded d = {0};
    lacking found[2] = {{0}, {0}};
    wm_status st = encode(&d, table, n, column, err);

    if (!st && d.n > 1)
        st = look_at_all(found, &d, lone, err);
    for (int side = 0; side < 2 && !st; side++)
        if (found[side].cells > 0)
            say(list, &d, &found[side], side);
    wmi_free(d.code[0]);
    wmi_free(d.code[1]);
    return st;
}
