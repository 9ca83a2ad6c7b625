/** @file ratio.h
 * Telescoping density-ratio estimation: log p(x) / q(x) from samples of p and of q, also where the
 * two are so far apart that one classifier cannot tell by how much. Direction: p is the numerator;
 * natural logarithms. */
#ifndef WAYMARK_RATIO_H
#define WAYMARK_RATIO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "waymark/check.h"
#include "waymark/data.h"
#include "waymark/fit.h"
#include "waymark/status.h"
#include "waymark/waymarks.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A fitted ratio. */
typedef struct wm_ratio wm_ratio;

/** Terms of a bridge's log-ratio: one of these, or a sum (`WM_RATIO_QUADRATIC | WM_RATIO_MLP`: the
 * linear or quadratic form is fitted by its moments first and kept, and the other terms learn what
 * it misses). */
typedef unsigned wm_ratio_model;
#define WM_RATIO_LINEAR 1u    /**< w'x + c: equal covariances */
#define WM_RATIO_QUADRATIC 2u /**< x'Qx + w'x + c: contains the ratio of any two Gaussians */
#define WM_RATIO_ADDITIVE 4u  /**< a smooth curve for every column, summed: cubic splines */
#define WM_RATIO_MLP                                                                               \
    8u /**< residual network, shared by the bridges, with a scale-shift for each                   \
        */

#define WM_RATIO_SEPARABLE                                                                         \
    32u /**< g(u)' W_k f_k(v), two networks: for pairs (wm_ratio_opts.pairs) only */
#define WM_RATIO_MIXTURE                                                                           \
    64u /**< p and q, and so all waymarks, are mixtures of Gaussians: for two tables of continuous \
           columns, and by itself */
/** Terms that Adam trains. */
#define WM_RATIO_TRAINED (WM_RATIO_ADDITIVE | WM_RATIO_MLP | WM_RATIO_SEPARABLE)

/** A model by name, "quadratic+mlp", in @p buf. */
WM_API const char *wm_ratio_model_text(wm_ratio_model model, char *buf, size_t size);
/** And back. @return WM_OK; WM_EINVAL names the word that is no term. */
WM_API WM_MUST_CHECK wm_status wm_ratio_model_parse(wm_ratio_model *out, const char *text,
                                                    wm_error *err);

/** Constraint on Q; without meaning for the other models. */
typedef enum wm_ratio_form {
    WM_FORM_FREE,     /**< symmetric */
    WM_FORM_POSDIAG,  /**< symmetric, diagonal exp(a - 5): the paper's Gaussian experiment */
    WM_FORM_SEMIDEF,  /**< positive semi-definite: a ratio that falls in all directions */
    WM_FORM_DIAGONAL, /**< diagonal in coordinates in which the covariances of p and of q are: 2 dim
                         numbers instead of the square, for Adam on columns that all move linearly
                       */
} wm_ratio_form;

/** How bridges are fitted. */
typedef enum wm_ratio_optimizer {
    WM_OPTIMIZER_AUTO,   /**< convex where it applies, else Adam */
    WM_OPTIMIZER_ADAM,   /**< minibatches, as in the paper */
    WM_OPTIMIZER_CONVEX, /**< logistic; linear and quadratic: moments, tested and refined; additive:
                            penalised curves. No learning rate */
} wm_ratio_optimizer;

/** What is done to the columns before anything else, and undone in the answer. */
typedef enum wm_ratio_scaling {
    WM_SCALING_NONE,
    WM_SCALING_STANDARD, /**< pooled mean 0, standard deviation 1 */
} wm_ratio_scaling;

/** Settings; start from wm_ratio_opts_init(). */
typedef struct wm_ratio_opts {
    size_t struct_size;           /**< set by wm_ratio_opts_init() */
    int64_t bridges;              /**< m >= 1; default 8 */
    wm_spacing spacing;           /**< default power 1 */
    wm_ratio_model model;         /**< default quadratic */
    wm_ratio_form form;           /**< default free */
    bool linear_term;             /**< quadratic: has w'x; default true */
    wm_objective objective;       /**< default logistic */
    wm_ratio_optimizer optimizer; /**< default auto */
    wm_ratio_scaling scaling;     /**< default standard */
    bool normal_q; /**< q is N(0, I), drawn afresh at every step; q must then be NULL and scaling
                      NONE */
    bool refine;   /**< convex: test the moments and refine; default true */
    bool
        all_rows;   /**< convex: moments that stay are in the end those of all rows, and held-out
                       losses are flattered; for callers with other rows to judge by. Default false */
    bool calibrate; /**< Adam, logistic or multinomial: refit the constant of every bridge on the
                       held-out rows; default true */
    bool spread;    /**< Adam: every row draws its bridge, instead of coupled trajectories */
    bool squares;   /**< MLP: reads squares of the columns too; default false */
    int64_t pairs; /**< > 0: q is the product of the marginals of the first `pairs` columns of p (u)
                      and of the others (v), made by pairing rows of p at random; q must then be
                      NULL. KL(p, q) is the mutual information of u and v. u is kept along the
                      chain unless columns says otherwise. Default 0 */
    const int64_t *columns; /**< (dim) what columns do in the chain (waymarks.h); NULL (default):
                               all are linear, or kept for the u of pairs */
    wm_adam_opts adam;      /**< default 20000 iterations of a batch of 1024 waymark samples, lr
                               1e-3 (constants x 10), no average; eval_every not set: an epoch */
    int64_t width, blocks;  /**< MLP: default 128, 1 */
    double held_out;        /**< share of the rows kept for validation; default 0.1 */
    bool stop_saturated;    /**< end when a bridge classifies perfectly; default true */
    wm_fit_control control; /**< time_limit and checkpoint: Adam */
    int64_t components[2];  /**< mixture: components of p and of q; default WM_AUTO: as many as
                               held-out rows want, at most 12 */
} wm_ratio_opts;

/** Fill in the defaults. Threads: safe. */
WM_API void wm_ratio_opts_init(wm_ratio_opts *opts);

/** Why training ended, and what it found. */
typedef struct wm_ratio_info {
    int64_t dim, bridges;        /**< columns of the samples; m */
    int64_t members;             /**< fits that the log-ratio is the mean of */
    int64_t n_train, n_held_out; /**< rows of p */
    bool convex;                 /**< fitted without stochastic training */
    int64_t steps, best_step;    /**< Adam: all, and up to the parameters that were kept */
    bool finished;               /**< false: ended by stop, time or saturation */
    int64_t saturated_bridge;    /**< -1, or the bridge that ended it */
    double held_out_loss;        /**< mean over bridges */
    double seconds;              /**< of fitting */
    int64_t refined; /**< convex: bridges in which logistic regression beat the moments */
    double numbers;  /**< additive, convex, and counts of pairs: effective parameters of a bridge,
                        the most of all; 0 where that is not known */
    double missed;   /**< likewise: nats of KL(p, q) that looser curves, which the rows cannot rule
                        out, would add; the most of all bridges */
} wm_ratio_info;

/** Fit log p(x) - log q(x) as a sum of bridge log-ratios.
 * @param[out] out  new estimator, freed with wm_ratio_free(); NULL on failure
 * @param p,q       samples, (n, dim) each with the same dim, at least 4 rows; read during the call
 * only. q is NULL with opts->normal_q
 * @param opts      from wm_ratio_opts_init(), or NULL for defaults
 * @param err       detail of a failure, or NULL
 * @return WM_OK; WM_EINVAL (settings, values that are not finite, constant columns), WM_ESHAPE
 * (dims differ), WM_ENOMEM, WM_EDIVERGED (a loss that is not finite), WM_EIO, WM_EFORMAT
 * (checkpoint), WM_EINTERRUPTED (before there was a model). Threads: safe for distinct @p out.
 * Cost: Adam: iterations x batch x 2 evaluations of a bridge; convex: a few products of (n, dim)
 * with (dim, dim) for each bridge. */
WM_API WM_MUST_CHECK wm_status wm_ratio_fit(wm_ratio **out, const wm_data *p, const wm_data *q,
                                            const wm_ratio_opts *opts, wm_error *err);
WM_API void wm_ratio_free(wm_ratio *r); /**< NULL is fine */

/** log p(x) - log q(x) at the rows of @p x, in double.
 * @param[out] log_r  (count)
 * @return WM_OK; WM_ESHAPE (another dim), WM_EINVAL (a category that the model does not know),
 * WM_ENOMEM. Same values for any split of the rows.
 * Threads: safe. */
WM_API WM_MUST_CHECK wm_status wm_ratio_log(const wm_ratio *r, const wm_data *x, double *log_r,
                                            wm_error *err);
/** Every bridge on its own: log_r (bridges, count); the sum over bridges is wm_ratio_log(). */
WM_API WM_MUST_CHECK wm_status wm_ratio_log_bridges(const wm_ratio *r, const wm_data *x,
                                                    double *log_r, wm_error *err);

/** The same for many blocks of rows: programs are compiled once. For one thread at a time; it uses
 * as many as there were when it was made, or only the caller's inside of a parallel region. */
typedef struct wm_scorer wm_scorer;

/** @param r kept, must outlive the scorer. @return WM_OK, WM_ENOMEM */
WM_API WM_MUST_CHECK wm_status wm_scorer_new(wm_scorer **out, const wm_ratio *r, wm_error *err);
WM_API void wm_scorer_free(wm_scorer *s); /**< NULL is fine */
/** log p(x) - log q(x) at @p n rows.
 * @param rows        (n, dim)
 * @param[out] log_r  (n); NaN for a row that is not finite
 * @return WM_OK; WM_EINVAL (a category that the model does not know). Any split of the rows into
 * calls, and any number of threads, gives the same bits. */
WM_API WM_MUST_CHECK wm_status wm_scorer_log(wm_scorer *s, int64_t n, const double *rows,
                                             double *log_r, wm_error *err);
/** Rows so far with a number far outside of those the model was fitted on (more than 10 standard
 * deviations from their mean, or beyond their range by as much again): what a model says there is
 * a guess. 0 where the model does not know the scale of its columns. */
WM_API int64_t wm_scorer_far(const wm_scorer *s);

/** Why training ended, and what it found. */
WM_API void wm_ratio_get_info(const wm_ratio *r, wm_ratio_info *info);
/** Bridge k, 0 <= k < bridges. */
WM_API void wm_ratio_get_bridge(const wm_ratio *r, int64_t k, wm_bridge *bridge);

/** What the study that made it thought of it, which its file keeps.
 * @param[out] verdict  or NULL
 * @param[out] reason   the sentence of the check that made the verdict what it is, empty for trust;
 * borrowed; or NULL
 * @return false, and nothing is written, for a ratio that no study has judged */
WM_API bool wm_ratio_get_verdict(const wm_ratio *r, wm_verdict *verdict, const char **reason);

/** Write the model as safetensors, whole or not at all; opens in any reader of the format. */
WM_API WM_MUST_CHECK wm_status wm_ratio_save(const wm_ratio *r, const char *path, wm_error *err);
/** Read it back. @return WM_OK; WM_EIO, WM_EFORMAT (no model of ours, or a newer one), WM_ENOMEM */
WM_API WM_MUST_CHECK wm_status wm_ratio_load(wm_ratio **out, const char *path, wm_error *err);

#ifdef __cplusplus
}
#endif
#endif
