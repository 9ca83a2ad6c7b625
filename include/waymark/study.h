/** @file study.h
 * A density ratio with everything that is needed to believe it, or not: several fits on folds of
 * the data, so that no row is judged by a model that has seen it; bridges placed and models chosen
 * by held-out loss; divergences with intervals; checks and a verdict.
 *
 * wm_ratio_fit() is one fit with given settings; a study is what one asks about one's own data. */
#ifndef WAYMARK_STUDY_H
#define WAYMARK_STUDY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "waymark/check.h"
#include "waymark/data.h"
#include "waymark/moments.h"
#include "waymark/ratio.h"
#include "waymark/read.h"
#include "waymark/report.h"
#include "waymark/status.h"
#include "waymark/waymarks.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A ratio with what is known about it. */
typedef struct wm_study wm_study;

#define WM_STUDY_MAX_MODELS 8 /**< candidates at most */

/** Settings; start from wm_study_opts_init(). */
typedef struct wm_study_opts {
    size_t struct_size; /**< set by wm_study_opts_init() */
    wm_ratio_model
        models[WM_STUDY_MAX_MODELS]; /**< (n_models) candidates, of which the best is kept */
    int64_t n_models; /**< 0 (default): by the data. Continuous columns: quadratic, additive where
                         that is cheap, and from 200 rows on quadratic+mlp and mlp; linear too where
                         rows are few. Discrete ones among them: additive, and from 200 rows on
                         additive+mlp, and quadratic+additive where products of columns
                         are not too many */
    wm_objective objective;       /**< default logistic */
    wm_ratio_optimizer optimizer; /**< default auto */
    int64_t bridges;              /**< WM_AUTO (default): found */
    bool given_spacing;           /**< spacing was chosen; else (default) it is found */
    wm_spacing spacing;           /**< used where given_spacing is set */
    int64_t max_bridges;          /**< that may be found; default 30 */
    int64_t pairs;    /**< > 0: q is made from p, whose first `pairs` columns are u (ratio.h) */
    bool by_rank;     /**< continuous columns are made normal by rank first; default false */
    bool standardize; /**< default true */
    wm_choice whiten; /**< MLP terms read whitened columns: linear combinations that are
                         uncorrelated and in which the covariances of p and q are both diagonal.
                         Forms do not care, and only continuous columns that are not white already
                         take part. Default auto: by held-out loss of a short training; beside a
                         form, where columns are strongly correlated */
    int64_t folds;    /**< >= 2; default 5 */
    int64_t ensemble; /**< networks in each fold, of which the mean is taken; default 1 */
    const double *weights[2]; /**< of the rows of p and of q, not negative; NULL: all the same */
    wm_adam_opts adam; /**< of networks: batch is rows of a bridge and side in a step, default 256;
                          average 0.98, weight decay 0.01, patience 8. iterations not set (default):
                          by the amount of data; eval_every: 20 times; lr: 0.003, or 0.03 for
                          splines without a network */
    int64_t width, blocks;  /**< MLP; default 64, 1 */
    wm_fit_control control; /**< time_limit: for all of it; checkpoint: files that begin so keep
                               training states; on_eval: while the first fold is fitted, with round
                               and model. Not 0 from it ends the study with WM_EINTERRUPTED */
    /** Of p and q where the tables are samples of longer ones: the moments of all of their rows,
     * which a quadratic ratio and its divergences are made of then; NULL: those of the tables. */
    const wm_moments *moments[2];
} wm_study_opts;

/** Fill in the defaults. Threads: safe. */
WM_API void wm_study_opts_init(wm_study_opts *opts);

/** One candidate. */
typedef struct wm_candidate {
    wm_ratio_model model; /**< its terms */
    double loss;          /**< mean over bridges, on rows that its fits have not seen */
    double loss_se;       /**< of the difference to the one kept; 0 for that one */
    double seconds;       /**< that it took */
    bool given_up; /**< a short training on two folds was not better than the one kept; no loss */
    bool kept;     /**< it is the answer */
} wm_candidate;

/** The mean of r under q, which should be 1, or of 1/r under p. */
typedef struct wm_normaliser {
    double log_mean; /**< should be 0 */
    double se;       /**< of log_mean */
    double ess;      /**< effective sample size of the weights */
    double pareto_k; /**< shape of their tail: above 0.7 the mean cannot be judged */
} wm_normaliser;

/** Where an interval comes from. */
typedef enum wm_interval {
    WM_INTERVAL_JACKKNIFE, /**< rows, and fits that leave out a part of the data each */
    WM_INTERVAL_BOUND,     /**< rows, by the bound that the estimate is; what seen and unseen rows
                              disagree on */
} wm_interval;

/** In words, for people. */
WM_API const char *wm_interval_text(wm_interval interval);

/** What was found, and how. */
typedef struct wm_study_info {
    int64_t dim, bridges, folds;        /**< columns as given; m; folds */
    int64_t members;                    /**< fits that the ratio is the mean of */
    int64_t n_p, n_q, n_train, n_test;  /**< rows; of p in one fit, and in all folds together */
    wm_ratio_model model;               /**< that was kept */
    wm_alphas alphas;                   /**< of its bridges */
    bool spacing_found, linear_columns; /**< linear_columns: else alphas mean nothing */
    bool whitened;                      /**< its network reads whitened columns */
    int64_t mixed_columns;    /**< columns as given that switch one after the other (dimension-wise
                                 mixing): whole numbers and categories */
    int64_t rounds;           /**< of placing bridges */
    wm_estimate kl_pq, kl_qp; /**< KL(p, q), KL(q, p) in nats; all NaN where it is infinite or
                                 cannot be told: one table has levels that the other lacks */
    double lone_p, lone_q;    /**< share of the rows of p, of q, for which that is so */
    wm_estimate rest_pq, rest_qp;      /**< in its place the divergence of the rows of p and of q
                                          without these; NaN where there is no need, too few rows
                                     or another check that fails */
    wm_verdict verdict_pq, verdict_qp; /**< of the checks that speak of each divergence, or all */
    wm_interval interval;              /**< of both */
    double lower_pq;                   /**< Donsker-Varadhan bound of KL(p, q) with this ratio */
    wm_normaliser under_q, under_p;    /**< of r, and of 1/r */
    double train_loss, test_loss;      /**< mean over bridges */
    wm_verdict verdict;                /**< of all checks */
    double seconds;                    /**< of all of it */
    bool finished;                     /**< false: time was up, or it was stopped */
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

/** What was found. */
WM_API void wm_study_get_info(const wm_study *s, wm_study_info *info);
/** Bridge k, 0 <= k < bridges, by rows that its fits have not seen. */
WM_API void wm_study_get_bridge(const wm_study *s, int64_t k, wm_bridge *bridge);
WM_API const wm_checks *wm_study_checks(const wm_study *s); /**< borrowed */
WM_API int64_t wm_study_candidates(const wm_study *s);      /**< how many were tried */
/** Candidate i, from 0, in the order in which they were tried; borrowed. */
WM_API const wm_candidate *wm_study_candidate(const wm_study *s, int64_t i);
/** Log-ratios at the rows of p (side 0) or q (1), each by fits that have not seen the row; in the
 * order of the table, but with pairs side 1 is p's rows with v of other rows. (*n), borrowed. */
WM_API const double *wm_study_log_ratios(const wm_study *s, int side, int64_t *n);
/** Mean log-ratio of bridge k at waymark j: (bridges, bridges + 1), borrowed. */
WM_API const double *wm_study_bridge_means(const wm_study *s);
/** By how many nats the mean of log p/q over rows of p (500 at most) falls when p/q is averaged
 * over the values of column j in rows of q, with pairs in other rows of p: (dim), borrowed; NULL
 * for a single column or more than 200. */
WM_API const double *wm_study_contributions(const wm_study *s);
/** One column of two tables, and how p and q differ in it. */
typedef struct wm_study_column {
    const char *name;  /**< of the schema, or "column 3" */
    bool discrete;     /**< text, yes/no, few values or many ties */
    const char *aside; /**< why it was left out, in words; NULL: it was not */
    double share; /**< of KL(p, q), that goes when the ratio is averaged over the values of this
                     column in q; NaN where that is not known. Shares of columns that depend on
                     each other do not add up to one */
    double kl;    /**< KL(p, q) of this column alone, nats, by the shares of its levels or of
                     twenty quantile bins: a little too small where the difference is finer;
                     infinite where q lacks a level that p has, and not by chance */
    int64_t n;    /**< bins or levels to show */
    const double *edges;      /**< (n + 1) of the bins; NULL: levels */
    const char *const *level; /**< (n) their names; NULL: bins */
    const double *p, *q;      /**< (n) shares of the rows, weights counted */
} wm_study_column;

/** Column j, 0 <= j < dim, borrowed; NULL for pairs. */
WM_API const wm_study_column *wm_study_column_at(const wm_study *s, int64_t j);
/** The ratio itself: to be saved, or applied to other points. Borrowed. */
WM_API const wm_ratio *wm_study_ratio(const wm_study *s);

enum { WM_STUDY_FIGURES = 8 /**< of wm_study_draw(), the last always NULL */ };
/** What there is to see: how hard the bridges are, what they say at every waymark, how log-ratios
 * and weights are spread, where waymarks are, which columns matter, and a map of the ratio where it
 * has one or two columns of numbers.
 * @param[out] out  each written and freed by the caller (wm_run_folder_figure(), or
 *                  wm_figure_write() and wm_figure_free()), in this order, and NULL after the last;
 *                  all NULL on failure
 * @param p,q       the samples, for the map; p may be NULL: none is drawn
 * @param schema    names of the columns, or NULL
 * @param bits      say numbers in bits, not in nats
 * @return WM_OK; WM_ENOMEM */
WM_API WM_MUST_CHECK wm_status wm_study_draw(wm_figure *out[WM_STUDY_FIGURES], const wm_study *s,
                                             const wm_data *p, const wm_data *q,
                                             const wm_schema *schema, bool bits, wm_error *err);

#ifdef __cplusplus
}
#endif
#endif
