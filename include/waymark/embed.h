/** @file embed.h
 * Representations by telescoping (paper, section 4.2): pairs (u, v) are told from pairs whose v was
 * replaced, block by block, by the v of another pair. Bridge k is
 *
 *   log r_k(u, v) = -(g(u)' W_k f_k(v) + c_k),
 *
 * the sum of all bridges is log p(u, v) / p(u) p(v), its mean over true pairs the mutual
 * information, and g(u) a representation of u. Discrete and continuous v alike: nothing is mixed
 * but by whole blocks. InfoNCE (contrastive predictive coding) fits the same networks, as one
 * bridge, for comparison. */
#ifndef WAYMARK_EMBED_H
#define WAYMARK_EMBED_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "waymark/images.h"
#include "waymark/sink.h"
#include "waymark/status.h"
#include "waymark/study.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wm_embed wm_embed;

typedef enum wm_embed_objective {
    WM_EMBED_LOGISTIC, /**< the paper's: a classifier for each bridge */
    WM_EMBED_INFONCE,  /**< one bridge, which finds the v of each u among those of the batch */
} wm_embed_objective;

/** One bridge on the held-out pairs, with the parameters that were kept. */
typedef struct wm_embed_bridge {
    double loss;           /**< logistic: 1.386 is chance; InfoNCE: log of the batch's pairs is */
    double accuracy;       /**< of the classifier; InfoNCE: how often it finds the true v */
    double mean_log_ratio; /**< nats; InfoNCE: log of the batch's pairs less the loss, a bound */
} wm_embed_bridge;

typedef struct wm_embed_progress {
    int64_t step;
    double train_loss, valid_loss;
    double mi; /**< nats, by at most 2048 held-out pairs */
    int64_t n_bridges;
    const wm_embed_bridge *bridges; /**< (n_bridges), read during the call only */
} wm_embed_progress;

/** What a row is: an image (height, width, channels), or height 0: a vector. */
typedef struct wm_embed_shape {
    int64_t height, width, channels;
} wm_embed_shape;

/** Start from wm_embed_opts_init(). */
typedef struct wm_embed_opts {
    size_t struct_size;
    wm_embed_objective objective; /**< default logistic */
    int64_t bridges;     /**< m; 1 is a single ratio; 0 (default): one for each block, at most
                            16 */
    wm_embed_shape u, v; /**< default vectors; set by wm_embed_fit_grid() itself */
    const char *network; /**< images: g and f_k, such as "stem 5/3 32, 32 down, 32, 64 down, 64,
                            64 down, 64, max, dense 300"; NULL (default): that one, as in the
                            authors' code, with dense 300 for every 28 rows of pixels. With "cells
                            3x3" each cell of the image is an image to the network, and features
                            are the codes of all cells ("join 300": a dense layer reads them all);
                            where cells are the blocks of v, a step costs 3 passes a pair instead
                            of 2 m + 1 */
    int64_t mlp_width, mlp_blocks, features; /**< vectors: 0 (default): 128, 1, 128 */
    int64_t negatives; /**< with `cells` in the network: exchanged cells that each true one is told
                          from; 0 (default): as many as a step has pairs, at most 16. Else 1 */
    bool random_order; /**< blocks change in an order drawn for each pair; default false: in that of
                          their numbers */
    int64_t batch;     /**< waymark samples of a step: batch / (m + 1) pairs; default 512 */
    int64_t iterations; /**< default 10000 */
    int64_t eval_every; /**< steps; 0 (default): a twentieth of the iterations */
    int64_t valid;      /**< wm_embed_fit_grid(): held-out pairs; default 2000 */
    double lr;          /**< default 1e-3, falling as a cosine; the paper's is 1e-4 */
    int64_t warmup; /**< steps over which the rate rises from 0; default 100: the first steps are
                       the most likely to go astray */
    double average; /**< decay of the weight average that is kept; default 0.999; 0: none */
    double weight_decay;               /**< default 0 */
    double clip;                       /**< norm that a gradient may have; 0 (default): any */
    uint64_t seed;                     /**< default 1 */
    double time_limit;                 /**< seconds; 0 (default): none */
    const char *checkpoint;            /**< file for the state of training, or NULL */
    double checkpoint_seconds;         /**< between two writes; default 30 */
    bool resume;                       /**< from the checkpoint, if it is there */
    const wm_sink *sink;               /**< or NULL */
    const volatile sig_atomic_t *stop; /**< not 0: end early, with the best so far; or NULL */
    void (*on_eval)(void *ctx, const wm_embed_progress *p); /**< or NULL */
    void (*on_resume)(void *ctx, int64_t step);             /**< or NULL */
    void *ctx;
} wm_embed_opts;

WM_API void wm_embed_opts_init(wm_embed_opts *opts);

/** Pairs as arrays, read during a call only. */
typedef struct wm_pair_rows {
    int64_t n, dim_u, dim_v;
    const float *u, *v; /**< (n, dim_u), (n, dim_v), finite */
} wm_pair_rows;

/** Fit to pairs of your own.
 * @param[out] out  freed with wm_embed_free(); NULL on failure
 * @param train     the other v of a pair is that of another row, drawn anew each time round
 * @param valid     held-out pairs, by which the best step is chosen
 * @param blocks    (dim_v) the block of each column of v, numbered from 0; NULL: each is its own
 * @return WM_OK; WM_EINVAL (settings; a value not finite; fewer than two rows), WM_ESHAPE,
 * WM_ENOMEM, WM_EDIVERGED, WM_EIO, WM_EFORMAT (checkpoint), WM_EINTERRUPTED (before there was a
 * model). Rows are taken as they are: bring vectors to a scale of one. Threads: runs in parallel.
 */
WM_API WM_MUST_CHECK wm_status wm_embed_fit(wm_embed **out, const wm_pair_rows *train,
                                            const wm_pair_rows *valid, const int64_t *blocks,
                                            const wm_embed_opts *opts, wm_error *err);
/** Fit to pairs of grids, drawn afresh at every step: blocks are cells, and the other v is that of
 * a second draw. Held out are the first rows of WM_SPLIT_VALID. */
WM_API WM_MUST_CHECK wm_status wm_embed_fit_grid(wm_embed **out, const wm_grid_pairs *pairs,
                                                 const wm_embed_opts *opts, wm_error *err);
WM_API void wm_embed_free(wm_embed *e); /**< NULL is fine */

typedef struct wm_embed_info {
    wm_embed_objective objective;
    int64_t dim_u, dim_v, features; /**< features: columns of g(u) */
    wm_embed_shape u, v;
    int64_t bridges, blocks;
    int64_t batch_pairs; /**< in a step of training; InfoNCE cannot exceed the log of it */
    int64_t parameters;
    int64_t steps, best_step;
    double seconds; /**< of training, in all processes; 0 in a model that was loaded */
    bool finished;  /**< false: ended by stop or time */
} wm_embed_info;

WM_API void wm_embed_get_info(const wm_embed *e, wm_embed_info *info);
/** @param k  from 0 to bridges - 1 */
WM_API wm_embed_bridge wm_embed_get_bridge(const wm_embed *e, int64_t k);

/** The representation.
 * @param[out] g  (n, features)
 * @return WM_OK; WM_EINVAL (n below 1), WM_ENOMEM. Threads: safe; runs in parallel. */
WM_API WM_MUST_CHECK wm_status wm_embed_rows(const wm_embed *e, int64_t n, const float *u, float *g,
                                             wm_error *err);
/** Every bridge at pairs: log_r (bridges, n).
 * @return WM_OK; WM_EINVAL (n below 1), WM_ESHAPE (other widths than it was fitted to), WM_ENOMEM
 */
WM_API WM_MUST_CHECK wm_status wm_embed_log_ratio(const wm_embed *e, const wm_pair_rows *pairs,
                                                  double *log_r, wm_error *err);
/** Mutual information by true pairs that training has not seen.
 * @param[out] mi         mean of the sum of all bridges, in nats; its error is that of the pairs
 *                        alone. InfoNCE: its bound, over groups of as many pairs as a step has
 * @param[out] by_bridge  (bridges) the same of each bridge, or NULL
 * @return as above; WM_EINVAL also for InfoNCE with fewer pairs than a group */
WM_API WM_MUST_CHECK wm_status wm_embed_mi(const wm_embed *e, const wm_pair_rows *pairs,
                                           wm_estimate *mi, wm_estimate *by_bridge, wm_error *err);

/** The same from what the scores tell, not from their size: the log-ratio of each bridge is a
 * rising step function of its score, by isotonic regression at its own two waymarks of held-out
 * pairs. Scores that are too sure of themselves make wm_embed_mi() too large; these cannot say more
 * than there is, but for chance.
 * @param held_out  pairs that neither trained the model nor test it
 * @param partners  how many others each of them lends blocks from; more tell more of high ratios
 * @param sink      progress, or NULL
 * @param[out] mi   in nats; the error is that of test pairs and of the calibration
 * @return as above; WM_EINVAL for InfoNCE. Cost: bridges x partners x held-out pairs */
WM_API WM_MUST_CHECK wm_status wm_embed_mi_calibrated(const wm_embed *e,
                                                      const wm_pair_rows *held_out,
                                                      int64_t partners, const wm_pair_rows *test,
                                                      const wm_sink *sink, wm_estimate *mi,
                                                      wm_error *err);

/** One safetensors file: parameters by name, settings as metadata. @return WM_OK; WM_EIO, WM_ENOMEM
 */
WM_API WM_MUST_CHECK wm_status wm_embed_save(const wm_embed *e, const char *path, wm_error *err);
/** @return WM_OK; WM_EIO, WM_EFORMAT (not such a file, damaged, or of another version), WM_ENOMEM
 */
WM_API WM_MUST_CHECK wm_status wm_embed_load(wm_embed **out, const char *path, wm_error *err);

#ifdef __cplusplus
}
#endif
#endif
