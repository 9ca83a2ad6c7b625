/** @file study.h
 * A density ratio with everything that is needed to believe it, or not: several fits on folds of
 * the data, so that no row is judged by a model that has seen it; bridges placed and models chosen
 * by held-out loss; divergences with intervals; checks and a verdict.
 *
 * wm_ratio_fit() is one fit with given settings; a study is what one asks about one's own data. */
#ifndef WAYMARK_STUDY_H
#define WAYMARK_STUDY_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "waymark/data.h"
#include "waymark/ratio.h"
#include "waymark/read.h"
#include "waymark/sink.h"
#include "waymark/status.h"
#include "waymark/waymarks.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wm_study wm_study;

#define WM_STUDY_MAX_MODELS 4

/** Whether MLP terms read whitened columns: linear combinations that are uncorrelated and in which
 * the covariances of p and q are both diagonal. Forms do not care, and only continuous columns take
 * part. */
typedef enum wm_study_whiten {
    WM_WHITEN_AUTO, /**< by held-out loss of a short training; beside a form, where columns are
                       strongly correlated */
    WM_WHITEN_NO,
    WM_WHITEN_YES, /**< where columns are not white already */
} wm_study_whiten;

/** One evaluation while a network is trained, in the first of the folds. */
typedef struct wm_study_progress {
    int64_t round; /**< of placing bridges, from 0 */
    wm_ratio_model model;
    wm_ratio_progress fit;
} wm_study_progress;

/** Settings; start from wm_study_opts_init(). */
typedef struct wm_study_opts {
    size_t struct_size;
    wm_ratio_model models[WM_STUDY_MAX_MODELS]; /**< candidates, of which the best is kept; */
    int64_t n_models;                           /**< 0 (default): quadratic and quadratic+mlp */
    wm_ratio_objective objective;               /**< default logistic */
    wm_ratio_optimizer optimizer;               /**< default auto */
    int64_t bridges;                            /**< 0 (default): found */
    bool given_spacing; /**< spacing was chosen; else (default) it is found */
    wm_spacing spacing;
    int64_t max_bridges; /**< that may be found; default 30 */
    int64_t pairs;       /**< > 0: q is made from p, whose first `pairs` columns are u (ratio.h) */
    bool by_rank;        /**< continuous columns are made normal by rank first; default false */
    bool standardise;    /**< default true */
    wm_study_whiten whiten;   /**< default auto */
    int64_t folds;            /**< >= 2; default 5 */
    int64_t ensemble;         /**< networks in each fold, of which the mean is taken; default 1 */
    const double *weights[2]; /**< of the rows of p and of q, not negative; NULL: all the same */
    int64_t iterations;       /**< Adam; 0 (default): by the amount of data */
    int64_t batch;            /**< Adam: rows of a bridge and side in a step; 0 (default): 256 */
    double lr;                /**< Adam; 0 (default): 0.003 */
    int64_t width, blocks;    /**< MLP; default 64, 1 */
    uint64_t seed;            /**< default 1 */
    double time_limit;        /**< seconds for all of it; 0 (default): none */
    const char *checkpoint;   /**< files that begin so keep training states; or NULL */
    bool resume;              /**< from those */
    const wm_sink *sink;
    const volatile sig_atomic_t *stop;
    void (*on_eval)(void *ctx, const wm_study_progress *p); /**< in the caller's thread; or NULL */
    void *ctx;                                              /**< of on_eval */
} wm_study_opts;

WM_API void wm_study_opts_init(wm_study_opts *opts);

/** A number with its uncertainty. */
typedef struct wm_estimate {
    double value;
    double se;     /**< standard error, of rows and of fits together */
    double lo, hi; /**< 95 % interval */
} wm_estimate;

typedef enum wm_verdict {
    WM_TRUST,  /**< no check failed */
    WM_DOUBT,  /**< the number may be off by more than its interval says */
    WM_REJECT, /**< the number means nothing */
} wm_verdict;

/** "trust", "doubt", "reject". */
WM_API const char *wm_verdict_text(wm_verdict v);

typedef struct wm_check {
    const char *name; /**< one word */
    double value, limit;
    bool ok;
    bool grave;        /**< when it fails the verdict is reject, not doubt */
    char meaning[320]; /**< what was found and what to do, one or two sentences */
} wm_check;

/** One candidate. */
typedef struct wm_candidate {
    wm_ratio_model model;
    double loss;    /**< mean over bridges, on rows that its fits have not seen */
    double loss_se; /**< of the difference to the one kept; 0 for that one */
    double seconds;
    bool given_up; /**< a short training on two folds was not better than the one kept; no loss */
    bool kept;
} wm_candidate;

/** The mean of r under q, which should be 1, or of 1/r under p. */
typedef struct wm_normaliser {
    double log_mean; /**< should be 0 */
    double se;       /**< of log_mean */
    double ess;      /**< effective sample size of the weights */
    double pareto_k; /**< shape of their tail: above 0.7 the mean cannot be judged */
} wm_normaliser;

typedef struct wm_study_info {
    int64_t dim, bridges, folds, members;
    int64_t n_p, n_q, n_train, n_test; /**< rows; of p in one fit, and in all folds together */
    wm_ratio_model model;
    wm_alphas alphas;
    bool spacing_found, linear_columns; /**< linear_columns: else alphas mean nothing */
    bool whitened;                      /**< its network reads whitened columns */
    int64_t mixed_columns;    /**< columns as given that switch one after the other (dimension-wise
                                 mixing): whole numbers and categories */
    int64_t rounds;           /**< of placing bridges */
    wm_estimate kl_pq, kl_qp; /**< KL(p, q), KL(q, p) in nats */
    double lower_pq;          /**< Donsker-Varadhan bound of KL(p, q) with this ratio */
    wm_normaliser under_q, under_p;
    double train_loss, test_loss; /**< mean over bridges */
    wm_verdict verdict;
    double seconds;
    bool finished; /**< false: time was up, or it was stopped */
} wm_study_info;

/** Estimate log p/q with its divergences, checks and verdict.
 * @param p,q     samples; q is NULL with opts->pairs
 * @param schema  of the columns, or NULL: all are continuous numbers
 * @return WM_OK also where the verdict is reject; WM_EINVAL, WM_ESHAPE, WM_ENOMEM, WM_EDIVERGED,
 *         WM_EINTERRUPTED. Threads: safe for distinct @p out; folds are fitted in parallel, with
 * the same result for any number of threads. */
WM_API WM_MUST_CHECK wm_status wm_study_run(wm_study **out, const wm_data *p, const wm_data *q,
                                            const wm_schema *schema, const wm_study_opts *opts,
                                            wm_error *err);
WM_API void wm_study_free(wm_study *s); /**< NULL is fine */

WM_API void wm_study_get_info(const wm_study *s, wm_study_info *info);
WM_API void wm_study_get_bridge(const wm_study *s, int64_t k, wm_ratio_bridge *bridge);
WM_API int64_t wm_study_checks(const wm_study *s);
WM_API const wm_check *wm_study_check(const wm_study *s, int64_t i);
WM_API int64_t wm_study_candidates(const wm_study *s);
WM_API const wm_candidate *wm_study_candidate(const wm_study *s, int64_t i);
/** Log-ratios at the rows of p (side 0) or q (1), each by fits that have not seen the row; in the
 * order of the table, but with pairs side 1 is p's rows with v of other rows. (*n), borrowed. */
WM_API const double *wm_study_log_ratios(const wm_study *s, int side, int64_t *n);
/** Mean log-ratio of bridge k at waymark j: (bridges, bridges + 1), borrowed. */
WM_API const double *wm_study_grid(const wm_study *s);
/** Share of KL(p, q) that goes when column j is shuffled between the rows of p: (dim), borrowed;
 * NULL where that was not computed. */
WM_API const double *wm_study_contributions(const wm_study *s);
/** The ratio itself: to be saved, or applied to other points. Borrowed. */
WM_API const wm_ratio *wm_study_ratio(const wm_study *s);

#ifdef __cplusplus
}
#endif
#endif
