/* levels.c - levels that one table lacks (levels.h). */
#include "check/levels.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

/* Rows to be expected on the other side: none by chance in e^-5 = 0.7 % of columns. */
static const double EXPECTED = 5;
/* The same if the other side has the level ten times more rarely: e^-3 = 5 %. */
static const double LONE = 30;

int64_t wmi_level_at(const wmi_level_counts *c, double value)
{
    const bool others = isnan(c->value[c->n - 1]);
    int64_t lo = 0, hi = c->n - 1 - others;

    while (lo < hi) {
        const int64_t mid = (lo + hi) / 2;

        if (c->value[mid] < value)
            lo = mid + 1;
        else
            hi = mid;
    }
    return others && (c->n == 1 || c->value[lo] != value) ? c->n - 1 : lo;
}

bool wmi_level_is_lone(int64_t rows, int64_t own, int64_t other)
{
    return (double)rows * (double)other >= LONE * (double)own;
}

/* Levels that one side has and the other lacks. */
typedef struct missed {
    int64_t levels;             /* of all columns */
    int64_t most;               /* rows of the level that has the most */
    const char *column, *level; /* that one */
    double expected;            /* rows of it on the other side, most of all levels */
    bool lone;
} missed;

static void mark_rows(bool *lone, const wm_data *table, const wmi_level_counts *c, int side,
                      int64_t other)
{
    const int64_t rows = wm_data_count(table), raw = wm_data_dim(table);

    for (int64_t i = 0; i < rows; i++) {
        const int64_t k = wmi_level_at(c, wm_data_rows(table)[i * raw + c->raw]);

        if (c->rows[!side][k] == 0 && wmi_level_is_lone(c->rows[side][k], rows, other))
            lone[i] = true;
    }
}

static void see_column(missed *l, const wm_data *const table[2], const wmi_level_counts *c,
                       int side, bool *lone)
{
    const int64_t own = wm_data_count(table[side]), other = wm_data_count(table[!side]);
    bool any = false;

    for (int64_t k = 0; k < c->n; k++) {
        const int64_t rows = c->rows[side][k];

        if (rows == 0 || c->rows[!side][k] > 0)
            continue;
        l->levels++;
        l->expected = fmax(l->expected, (double)rows * (double)other / (double)own);
        any = any || wmi_level_is_lone(rows, own, other);
        if (rows > l->most) {
            l->most = rows;
            l->column = c->column;
            l->level = c->level[k];
        }
    }
    if (any)
        mark_rows(lone, table[side], c, side, other);
    l->lone = l->lone || any;
}

static void say(wm_checks *list, const missed *l, int side)
{
    static const char *const names[] = {"levels_pq", "levels_qp"};
    static const char *const direction[] = {"KL(p, q)", "KL(q, p)"};
    const char *const own = side ? "q" : "p", *const other = side ? "p" : "q";
    const bool chance = l->expected < EXPECTED;
    const char *const may = l->lone ? "is infinite or cannot be told" : "may be infinite";
    const char *const so =
        l->lone  ? "There is no number for it but that of the other rows."
        : chance ? "Too few to tell: the answer takes that for rare, not for impossible."
                 : "The answer takes that for rare, not for impossible.";
    char more[48] = "", text[320];

    if (l->levels > 1)
        snprintf(more, sizeof more, ", and %" PRId64 " more such level%s", l->levels - 1,
                 l->levels == 2 ? "" : "s");
    snprintf(text, sizeof text, "%s %s: %" PRId64 " row%s of %s %s %.40s = %.40s, none of %s%s. %s",
             direction[side], may, l->most, l->most == 1 ? "" : "s", own,
             l->most == 1 ? "has" : "have", l->column, l->level, other, more, so);
    if (chance)
        wmi_checks_add_unknown(list, names[side], (double)l->most, 0, false, "%s", text);
    else
        wmi_checks_add(list, names[side], (double)l->most, 0,
                       l->lone ? WM_CHECK_FAILED : WM_CHECK_DOUBT, "%s", text);
    wmi_checks_about(list, side ? WM_ABOUT_QP : WM_ABOUT_PQ);
}

void wmi_check_levels(wm_checks *list, const wm_data *const table[2], int64_t n,
                      const wmi_level_counts column[], bool *const lone[2])
{
    for (int side = 0; side < 2; side++) {
        missed l = {0};

        for (int64_t j = 0; j < n; j++)
            see_column(&l, table, &column[j], side, lone[side]);
        if (l.levels > 0)
            say(list, &l, side);
    }
}
