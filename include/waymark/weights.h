/** @file weights.h
 * Importance weights from log-ratios. Weights of q's rows by r = p/q make q's sample speak for p;
 * they are as good as their effective sample size and the tail of their distribution say.
 *
 * In order: the ratio may be made relative, r / (alpha r + 1 - alpha); its largest values may be
 * clipped or smoothed; the result is scaled. All of it happens in logs: log-ratios of -2e14 and of
 * +800 are as good as others. */
#ifndef WAYMARK_WEIGHTS_H
#define WAYMARK_WEIGHTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "waymark/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What is done to the largest weights. */
typedef enum wm_weights_tail {
    WM_TAIL_KEEP,   /**< nothing */
    WM_TAIL_CLIP,   /**< none is larger than a quantile, or than a value */
    WM_TAIL_PARETO, /**< the largest are replaced by quantiles of a Pareto distribution fitted to
                         them, none larger than the largest was (PSIS) */
} wm_weights_tail;

/** How the weights are scaled. */
typedef enum wm_weights_scale {
    WM_SCALE_MEAN_ONE, /**< their mean is 1: does not change with the number of rows */
    WM_SCALE_SUM_ONE,  /**< their sum is 1: self-normalised */
    WM_SCALE_RATIO,    /**< not at all: they are ratios, and may be infinite or 0 in double */
} wm_weights_scale;

/** Settings; start from wm_weights_opts_init(). */
typedef struct wm_weights_opts {
    size_t struct_size;     /**< set by wm_weights_opts_init() */
    wm_weights_tail tail;   /**< default keep */
    wm_weights_scale scale; /**< default mean one */
    double alpha;         /**< 0 to below 1, default 0: r itself; else weights stay below 1/alpha */
    double clip_quantile; /**< in (0, 1], default 0.99: the largest hundredth is clipped */
    double clip_value;    /**< > 0: clip r at this value instead; NaN (default): by quantile */
    bool logs;            /**< give logarithms of the weights; default false */
} wm_weights_opts;

/** Fill in the defaults. Threads: safe. */
WM_API void wm_weights_opts_init(wm_weights_opts *opts);

/** What the weights are like. */
typedef struct wm_weights_info {
    int64_t n;           /**< weights */
    double log_mean;     /**< log of the mean of r, which under q should be 0; before all else */
    double log_mean_se;  /**< its standard error, from the spread of r; meant for small ones */
    double ess;          /**< effective sample size of the weights as made, (sum w)^2 / sum w^2 */
    double ess_ratio;    /**< the same of r itself */
    double max_share;    /**< of the largest weight in the sum */
    double pareto_k;     /**< shape of the tail of r (relative, if alpha is set). -inf: it does not
                              spread; NaN: too few rows */
    double pareto_limit; /**< what k should not exceed with so many rows; at most 0.7 */
    int64_t changed;     /**< weights that were clipped or smoothed */
    double threshold;    /**< logarithm of the value above which they were; +inf if none were */
} wm_weights_info;

/** Weights of all rows at once.
 * @param[out] out   (n), may be log_r itself
 * @param[out] info  or NULL
 * @param log_r      (n); -inf is a weight of 0
 * @return WM_OK; WM_EINVAL (a setting; NaN or +inf in log_r, with its place; n < 1; all weights 0),
 *         WM_ENOMEM. Threads: safe. */
WM_API WM_MUST_CHECK wm_status wm_weights_make(double *out, wm_weights_info *info,
                                               const double *log_r, int64_t n,
                                               const wm_weights_opts *opts, wm_error *err);

/* --- in pieces: any number of rows in little memory --------------------------------------------*/

/** New, then _scan over all log-ratios in order, in pieces of any size, then _settle, then _apply
 * over the same log-ratios in any pieces and any order. Neither the pieces nor the number of
 * threads change a bit. wm_ratio_apply() works so on files; this is for rows that come from
 * elsewhere. Memory: the tail, 3 sqrt(n) numbers, or the share of n that is clipped by
 * quantile. */
typedef struct wm_weights wm_weights;

/** @param n rows in all: what _scan will see. @return WM_OK, WM_EINVAL (a setting, n < 1),
 * WM_ENOMEM */
WM_API WM_MUST_CHECK wm_status wm_weights_new(wm_weights **out, int64_t n,
                                              const wm_weights_opts *opts, wm_error *err);
WM_API void wm_weights_free(wm_weights *w); /**< NULL is fine */

/** The next @p n log-ratios. @return WM_OK, WM_EINVAL (NaN, +inf, more rows than were announced) */
WM_API WM_MUST_CHECK wm_status wm_weights_scan(wm_weights *w, const double *log_r, int64_t n,
                                               wm_error *err);
/** After the last of them. @param info or NULL. @return WM_OK, WM_EINVAL (fewer rows than were
 * announced, all weights 0) */
WM_API WM_MUST_CHECK wm_status wm_weights_settle(wm_weights *w, wm_weights_info *info,
                                                 wm_error *err);
/** Weights of @p n log-ratios; @p out may be @p log_r. Others than those that were scanned get what
 * the map between them says. Threads: safe. */
WM_API void wm_weights_apply(const wm_weights *w, const double *log_r, int64_t n, double *out);

#ifdef __cplusplus
}
#endif
#endif
