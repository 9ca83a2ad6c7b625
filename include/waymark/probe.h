/** @file probe.h
 * Linear probes: what can be read off a representation by a linear classifier. Multinomial logistic
 * regression, fitted by L-BFGS on all rows; several columns of labels are classifiers of their own
 * on the same features. */
#ifndef WAYMARK_PROBE_H
#define WAYMARK_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "waymark/fit.h"
#include "waymark/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Linear classifiers, one for each column of labels. */
typedef struct wm_probe wm_probe;

/** Start from wm_probe_opts_init(). */
typedef struct wm_probe_opts {
    size_t struct_size; /**< set by wm_probe_opts_init() */
    /** Penalty ridge / 2 |W|^2 beside the mean loss of a row, on the weights of standardised
     * features (features are centred and scaled inside, which without a penalty changes only the
     * speed). Default 0: none; the weights of classes that a line can part then grow until
     * @c decrease or @c iterations ends them. */
    double ridge;
    int64_t iterations; /**< of L-BFGS at most; default 1000 */
    /** A column is done when an iteration lowers its loss by no more than this part of max(1,
     * loss); default 1e-5, as in the paper's code */
    double decrease;
    /** Of it: threads; sink, progress over columns; stop: leave with WM_EINTERRUPTED. Nothing is
     * random. */
    wm_fit_control control;
} wm_probe_opts;

/** Fill in the defaults. Threads: safe. */
WM_API void wm_probe_opts_init(wm_probe_opts *opts);

/** Fit a classifier to each column of labels.
 * @param[out] out  freed with wm_probe_free(); NULL on failure
 * @param n,dim     rows and features
 * @param x         (n, dim), finite; read during the call only
 * @param columns   of labels, at least 1
 * @param labels    (n, columns), from 0; read during the call only
 * @param classes   (columns) classes of each column: labels are below them. NULL: one more than the
 *                  largest label of the column
 * @return WM_OK; WM_EINVAL (a label out of range, a feature not finite: row and column are named;
 *         fewer than two classes), WM_ENOMEM, WM_EINTERRUPTED.
 * Classes are masked by having no weights: a column has as many as it needs. Cost: some 100
 * passes, each 4 n dim classes multiplications a column. Threads: safe; runs in parallel, and the
 * bits do not depend on how many. */
WM_API WM_MUST_CHECK wm_status wm_probe_fit(wm_probe **out, int64_t n, int64_t dim, const float *x,
                                            int64_t columns, const int32_t *labels,
                                            const int64_t *classes, const wm_probe_opts *opts,
                                            wm_error *err);
WM_API void wm_probe_free(wm_probe *p); /**< NULL is fine */

/** What one column's classifier is. Arrays are borrowed. */
typedef struct wm_probe_column {
    int64_t classes;       /**< that it tells apart */
    const double *weights; /**< (dim, classes), of the features as they were given */
    const double *bias;    /**< (classes) */
    double loss;           /**< mean of -log p(label) over the rows that it was fitted on, in nats,
                                with the penalty */
    int64_t iterations;    /**< of L-BFGS */
    bool converged;        /**< false: iterations were at their limit */
} wm_probe_column;

/** @param column  from 0 to columns - 1, here and below */
WM_API wm_probe_column wm_probe_get(const wm_probe *p, int64_t column);

/** The likeliest class of each row, (n, columns); of equals the first.
 * @param[out] log_p  (n, columns) its log-probability, or NULL
 * @return WM_OK or WM_ENOMEM. Threads: safe; runs in parallel. */
WM_API WM_MUST_CHECK wm_status wm_probe_predict(const wm_probe *p, int64_t n, const float *x,
                                                int32_t *predicted, double *log_p, wm_error *err);

/** A share of rows with its 95 % interval (Wilson's, which stays within [0, 1] and is not empty at
 * 0 and 1). */
typedef struct wm_share {
    double value, lo, hi; /**< hits / n, and its interval */
    int64_t hits, n;      /**< rows: those that count, and all */
} wm_share;

/** The share of @p hits in @p n. */
WM_API wm_share wm_share_of(int64_t hits, int64_t n);

/** How well the classifiers do.
 * @param[out] accuracy   (columns) share of rows predicted right in each column
 * @param[out] mean       accuracy over all columns, or NULL. Its interval takes a row as one draw,
 *                        whose columns may err together
 * @param[out] confusion  (columns) arrays (classes, classes) of the caller's: entry [a * classes +
 *                        b] counts rows of class a that were predicted b; NULL: none, and so may
 *                        single ones be
 * @return WM_OK; WM_EINVAL (no rows; a label out of range: classes that the fit did not have),
 *         WM_ENOMEM */
WM_API WM_MUST_CHECK wm_status wm_probe_score(const wm_probe *p, int64_t n, const float *x,
                                              const int32_t *labels, wm_share *accuracy,
                                              wm_share *mean, int64_t *const *confusion,
                                              wm_error *err);

#ifdef __cplusplus
}
#endif
#endif
