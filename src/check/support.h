/* support.h - where one table has rows and the other has none.
 *
 * Far from all rows of q a ratio is what a model makes of it: where q is thin, log p/q may be
 * large or infinite, and no held-out row tells. A row of p has company if rows of q are among its
 * neighbours: within the distance of its 20th neighbour among as many rows of p. And where q is
 * dense up to some border, with nothing beyond it, where p goes on, the border is that of q's
 * support: no smooth density falls from many rows to none within one and the same distance. */
#ifndef WMI_CHECK_SUPPORT_H
#define WMI_CHECK_SUPPORT_H

#include <stdint.h>

typedef struct wmi_support {
    double alone;   /* share of the rows of p that have no company */
    double beyond;  /* share of the rows of p that lie behind a border of q */
    int64_t column; /* at whose end most of these lie; -1: none by itself */
} wmi_support;

/* Rows x[0] (n[0], d) of p and x[1] of q, in random order and in scales that compare. Neighbours
 * are looked for in at most 10 columns (of more, alone is 0), borders that are not the end of a
 * column in at most 3. */
void wmi_support_of(wmi_support *out, const int64_t n[2], int64_t d, const double *const x[2]);

#endif
