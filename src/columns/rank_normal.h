/* rank_normal.h - columns made standard normal by their ranks: z = Phi^-1(rank / (n + 1)). Mutual
 * information does not change under monotone maps of single columns, while heavy tails, which
 * no network likes, are gone.
 *
 * The map is learned on one sample and kept as knots (value, score) for each column, so that new
 * points can be mapped and a model file can hold it. Equal values share their average rank, and so
 * their score: where many do, the column is discrete, and no map makes it normal. */
#ifndef WMI_COLUMNS_RANK_NORMAL_H
#define WMI_COLUMNS_RANK_NORMAL_H

#include <stdint.h>

#include "base/stop.h"

#define WMI_RANK_KNOTS 4096 /* the usual limit, for each column */

typedef struct wmi_rank wmi_rank;

/* Learns the map of x (n, dim). Columns of more than max_knots (2 or more) distinct values keep
 * the outermost eighth at either end and evenly spaced ranks in between. scores, (n, dim) or NULL,
 * may be x itself and receives the normal scores of the sample by its exact ranks, of which the
 * knots are a thinned copy. WM_EINVAL (n, dim or max_knots too small; a value that is not finite,
 * with its place), WM_ENOMEM. Columns in parallel; the same bits for any number of threads. */
WM_MUST_CHECK wm_status wmi_rank_fit(wmi_rank **out, int64_t n, int64_t dim, const double *x,
                                     int64_t max_knots, double *scores, wmi_stop stop,
                                     wm_error *err);
void wmi_rank_free(wmi_rank *r);

/* Other scores for the knots of column c: those that `score` gives to their values, which must rise
 * with them. Knots at which rounding keeps it from rising are left out. */
void wmi_rank_rescore(wmi_rank *r, int64_t c, double (*score)(const void *ctx, double value),
                      const void *ctx);

/* x (n, dim) to out (n, dim), which may be x itself: linear between knots. Beyond the last knot the
 * score goes on with the slope of the outermost eight, at most 2 further: a new extreme stays an
 * extreme, and a network is not asked about points ever so far from what it saw. Never falling in
 * x. NaN stays NaN; infinities are the farthest points. */
void wmi_rank_apply(const wmi_rank *r, int64_t n, const double *x, double *out);

int64_t wmi_rank_dim(const wmi_rank *r);
/* Knots of a column: as many for all, the last repeated where a column has fewer values. */
int64_t wmi_rank_knots(const wmi_rank *r);
const double *wmi_rank_values(const wmi_rank *r); /* (dim, knots), borrowed */
const double *wmi_rank_scores(const wmi_rank *r); /* (dim, knots), borrowed */

/* The map back from its knots, which are copied. WM_EINVAL where they are not finite, not
 * increasing together, or none; WM_ENOMEM. */
WM_MUST_CHECK wm_status wmi_rank_from_knots(wmi_rank **out, int64_t dim, int64_t knots,
                                            const double *values, const double *scores,
                                            wm_error *err);

#endif
