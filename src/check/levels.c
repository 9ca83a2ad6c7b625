/* levels.c - levels that one table lacks (levels.h). */
#include "check/levels.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

/* How rare a finding may be by chance, over all levels of all columns. */
static const double CHANCE = 0.01;
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

double wmi_levels_of(int64_t n, const wmi_level_counts column[])
{
    double sum = 0;

    for (int64_t j = 0; j < n; j++)
        sum += (double)column[j].n;
    return sum;
}

/* Were both tables samples of the same, each of the rows would be in the first with that table's
 * share of all rows. */
static bool is_no_chance(int64_t rows, int64_t own, int64_t other, double asked, double expected)
{
    return (double)rows * (double)other >= expected * (double)own &&
           (double)rows * log1p((double)other / (double)own) >= log(asked / CHANCE);
}

bool wmi_level_is_lone(int64_t rows, int64_t own, int64_t other, double asked)
{
    return is_no_chance(rows, own, other, asked, LONE);
}

/* Levels that one side has and the other lacks. */
typedef struct missed {
    int64_t levels, rows;       /* of all columns */
    int64_t most;               /* rows of the level that has the most */
    const char *column, *level; /* that one */
    bool no_chance, lone;
} missed;

static void mark_rows(bool *lone, const wm_data *table, const wmi_level_counts *c, int side,
                      int64_t other, double asked)
{
    const int64_t rows = wm_data_count(table), raw = wm_data_dim(table);

    for (int64_t i = 0; i < rows; i++) {
        const int64_t k = wmi_level_at(c, wm_data_rows(table)[i * raw + c->raw]);

        if (c->rows[!side][k] == 0 && wmi_level_is_lone(c->rows[side][k], rows, other, asked))
            lone[i] = true;
    }
}

/* Whether so many rows are of levels that the other table lacks, though of each there may be few:
 * by Bernstein's inequality for their sum, given how many rows of each level there are in all. */
static bool too_many(const wmi_level_counts *c, int side, int64_t own, int64_t other, int64_t n)
{
    const double log_share = -log1p((double)other / (double)own);
    double excess = 0, variance = 0, most = 1;

    for (int64_t k = 0; k < c->n; k++) {
        const double rows = (double)(c->rows[0][k] + c->rows[1][k]), all = exp(rows * log_share);
        const bool lacking = c->rows[!side][k] == 0;

        excess += rows * ((lacking ? 1 : 0) - all);
        variance += rows * rows * all * (1 - all);
        most = lacking ? fmax(most, rows) : most;
    }
    return excess > 0 &&
           excess * excess / (2 * (variance + most * excess / 3)) >= log((double)n / CHANCE);
}

static void see_column(missed *l, const wm_data *const table[2], const wmi_level_counts *c,
                       int side, double asked, int64_t columns, bool *lone)
{
    const int64_t own = wm_data_count(table[side]), other = wm_data_count(table[!side]);
    bool any = false;

    for (int64_t k = 0; k < c->n; k++) {
        const int64_t rows = c->rows[side][k];

        if (rows == 0 || c->rows[!side][k] > 0)
            continue;
        l->levels++;
        l->rows += rows;
        l->no_chance = l->no_chance || is_no_chance(rows, own, other, asked, EXPECTED);
        any = any || wmi_level_is_lone(rows, own, other, asked);
        if (rows > l->most) {
            l->most = rows;
            l->column = c->column;
            l->level = c->level[k];
        }
    }
    if (any)
        mark_rows(lone, table[side], c, side, other, asked);
    l->lone = l->lone || any;
    l->no_chance = l->no_chance || too_many(c, side, own, other, columns);
}

static void say(wm_checks *list, const missed *l, int side)
{
    static const char *const names[] = {"levels_pq", "levels_qp"};
    static const char *const direction[] = {"KL(p, q)", "KL(q, p)"};
    const char *const own = side ? "q" : "p", *const other = side ? "p" : "q";
    const char *const may = l->lone ? "is infinite or cannot be told" : "may be infinite";
    const char *const so =
        l->lone        ? "There is no number for it but that of the other rows."
        : l->no_chance ? "The answer takes that for rare, not for impossible."
                       : "Too few to tell: the answer takes that for rare, not for impossible.";
    char more[80] = "", text[352];

    if (l->levels > 1)
        snprintf(more, sizeof more, ", and so with %" PRId64 " other level%s, of %" PRId64 " row%s",
                 l->levels - 1, l->levels == 2 ? "" : "s", l->rows - l->most,
                 l->rows - l->most == 1 ? "" : "s");
    snprintf(text, sizeof text, "%s %s: %" PRId64 " row%s of %s %s %.40s = %.40s, none of %s%s. %s",
             direction[side], may, l->most, l->most == 1 ? "" : "s", own,
             l->most == 1 ? "has" : "have", l->column, l->level, other, more, so);
    if (!l->no_chance && !l->lone)
        wmi_checks_add_unknown(list, names[side], (double)l->most, 0, false, "%s", text);
    else
        wmi_checks_add(list, names[side], (double)l->most, 0,
                       l->lone ? WM_CHECK_FAILED : WM_CHECK_DOUBT, "%s", text);
    wmi_checks_about(list, side ? WM_ABOUT_QP : WM_ABOUT_PQ);
}

void wmi_check_levels(wm_checks *list, const wm_data *const table[2], int64_t n,
                      const wmi_level_counts column[], bool *const lone[2])
{
    const double asked = wmi_levels_of(n, column);

    for (int side = 0; side < 2; side++) {
        missed l = {0};

        for (int64_t j = 0; j < n; j++)
            see_column(&l, table, &column[j], side, asked, n, lone[side]);
        if (l.levels > 0)
            say(list, &l, side);
    }
}
