/* edges.h - edges of one table that lie across its columns.
 *
 * The end of a column is one of the ends that q may have; another is a plane through all columns,
 * or a sphere. Along the right direction it is the end of a column again: q is dense up to it, has
 * no row behind it, and p goes on. Directions are found on one half of the rows, where p and q
 * differ in mean and spread, then turned towards what tells the rows of p that lie out there from
 * those of q; whether there is an edge, the other half says. */
#ifndef WMI_COLUMNS_EDGES_H
#define WMI_COLUMNS_EDGES_H

#include <stdint.h>

#include "base/stop.h"

/* Share of the rows of p, x[0] (n[0], d), that lie behind an edge of q, x[1] (n[1], d), both in
 * random order: the most along any direction, or 0. More than 30 columns are not asked, nor fewer
 * than 20 rows for each in a half. */
WM_MUST_CHECK wm_status wmi_edges_of(double *share, const int64_t n[2], int64_t d,
                                     const double *const x[2], wmi_stop stop, wm_error *err);

#endif
