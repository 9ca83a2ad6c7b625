/* levels.h - levels of discrete columns, alone or two together, that one sample has and the other
 * lacks: a divergence may be infinite for it, and no fit says so by itself. */
#ifndef WMI_CHECK_LEVELS_H
#define WMI_CHECK_LEVELS_H

#include "check/checks.h"
#include "waymark/data.h"

/* How often the levels of one column occur in p and in q. */
typedef struct wmi_level_counts {
    const char *column;
    int64_t n;
    const char *const *level; /* (n) what they are called */
    const int64_t *rows[2];   /* (n) of p and of q */
    int64_t raw;              /* place of the column in the tables */
    const double *value;      /* (n) as they stand there, ascending; NaN, the last: all others */
} wmi_level_counts;

/* Which of them a value is. */
int64_t wmi_level_at(const wmi_level_counts *c, double value);

/* Levels of all n columns together: so many questions are asked at once. */
double wmi_levels_of(int64_t n, const wmi_level_counts column[]);

/* Whether so many rows of a table of `own` rows are certain to be something that the other table
 * does not have, or so rarely that no number can be told: chance would hardly put all of them into
 * the one table, were the two the same, of `asked` such questions; and were it in the other at a
 * tenth of the rate, chance would leave it out in one of twenty cases. */
bool wmi_level_is_lone(int64_t rows, int64_t own, int64_t other, double asked);

/* "levels_pq": levels of any of n columns that p has and q lacks; "levels_qp" the other way round.
 * Failed where one of them is lone, and its rows are marked in lone (rows of p; of q); in doubt
 * where chance alone would not explain it, or not so many of one column; else not known. */
void wmi_check_levels(wm_checks *list, const wm_data *const table[2], int64_t n,
                      const wmi_level_counts column[], bool *const lone[2]);

#endif
