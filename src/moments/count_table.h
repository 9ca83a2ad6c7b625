/* count_table.h - the ratio of pairs of levels, from their counts: no training, and no moments,
 * which say little of indicators of hundreds of levels.
 *
 * With n_ij of n rows in cell (i, j), and s_ij the product of the shares of level i of u and of
 * level j of v,
 *
 *   r_ij = (n_ij / s_ij + a) / (n + a):
 *
 * `a` rows are lent to independence, as many as rows want that are left out one at a time. That is
 * a form of the features of u and of v, if these tell all levels apart. */
#ifndef WMI_MOMENTS_COUNT_TABLE_H
#define WMI_MOMENTS_COUNT_TABLE_H

#include "moments/convex.h"

/* Rows of pairs in two parts, x[t] (n[t], dim); features 0 .. first - 1 are those of u, the others
 * v's. A feature times scale plus shift is 1 where a row has its level, else 0; or it is the number
 * that a level is, which only the first feature of u and of v may be (level NaN), and of which two
 * values at most have no feature of their own. */
typedef struct wmi_count_rows {
    int64_t n[2], dim, first;
    const double *x[2];
    const double *shift, *scale, *level; /* (dim) */
} wmi_count_rows;

typedef struct wmi_count_fit {
    double lent;    /* rows */
    double numbers; /* cells in effect; at least the levels of the longer side */
    double missed;  /* nats of mutual information that fewer lent rows would add, if that is almost
                       as good */
} wmi_count_fit;

/* Into q, w and c of a bridge; q (dim, dim) is symmetric. WM_EINVAL where the features do not tell
 * all levels. */
WM_MUST_CHECK wm_status wmi_count_table(wmi_convex_bridge *bridge, wmi_count_fit *fit,
                                        const wmi_count_rows *rows, wm_error *err);

#endif
