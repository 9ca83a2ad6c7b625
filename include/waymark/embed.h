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

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "waymark/check.h"
#include "waymark/columns.h"
#include "waymark/fit.h"
#include "waymark/images.h"
#include "waymark/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A model of pairs. */
typedef struct wm_embed wm_embed;

/** How pairs are told apart. */
typedef enum wm_embed_objective {
    WM_EMBED_LOGISTIC, /**< the paper's: a classifier for each bridge */
    WM_EMBED_INFONCE,  /**< one bridge, which finds the v of each u among those of the batch */
} wm_embed_objective;

/** What a row is: an image (height, width, channels), or height 0: a vector. */
typedef struct wm_embed_shape {
    int64_t height, width, channels; /**< pixels, and numbers a pixel */
} wm_embed_shape;

/** Start from wm_embed_opts_init(). */
typedef struct wm_embed_opts {
    size_t struct_size;           /**< set by wm_embed_opts_init() */
    wm_embed_objective objective; /**< default logistic */
    int64_t bridges;     /**< m; 1 is a single ratio; not set (default): one for each block, at
                            most 16 */
    wm_embed_shape u, v; /**< default vectors; set by wm_embed_fit_grid() itself */
    const char *network; /**< images: g and f_k, such as "stem 5/3 32, 32 down, 32, 64 down, 64,
                            64 down, 64, max, dense 300"; NULL (default): that one, as in the
                            authors' code, with dense 300 for every 28 rows of pixels. With "cells
                            3x3" each cell of the image is an image to the network, and features
                            are the codes of all cells ("join 300": a dense layer reads them all);
                            where cells are the blocks of v, a step costs 3 passes a pair instead
                            of 2 m + 1 */
    int64_t mlp_width, mlp_blocks, features; /**< vectors; default 128, 1, 128 */
    int64_t negatives; /**< with `cells` in the network: exchanged cells that each true one is told
                          from; not set (default): as many as a step has pairs, at most 16. Else
                          1 */
    bool random_order; /**< blocks change in an order drawn for each pair; default false: in that of
                          their numbers */
    int64_t valid;     /**< wm_embed_fit_grid(): held-out pairs; default 2000 */
    wm_adam_opts adam; /**< default 10000 iterations, lr 1e-3 (the paper's is 1e-4), average 0.999;
                          batch: waymark samples of a step, batch / (m + 1) pairs, default 512;
                          warmup 100 steps, since the first are the most likely to go astray;
                          eval_every not set: a twentieth of the iterations */
    wm_fit_control control; /**< evaluations estimate by at most 2048 held-out pairs */
} wm_embed_opts;

/** Fill in the defaults. Threads: safe. */
WM_API void wm_embed_opts_init(wm_embed_opts *opts);

/** Pairs as arrays, read during a call only. */
typedef struct wm_pair_rows {
    int64_t n, dim_u, dim_v; /**< pairs, and columns of each side */
    const float *u, *v;      /**< (n, dim_u), (n, dim_v), finite */
} wm_pair_rows;

/** What pairs are for. */
typedef enum wm_part {
    WM_PART_TRAIN, /**< they are fitted to */
    WM_PART_VALID, /**< they choose the best step */
    WM_PART_TEST,  /**< they judge it */
    WM_PARTS       /**< how many there are */
} wm_part;

/** A table of u and one of v, from row to row a pair, as a model is to see them. Made by
 * wm_own_pairs_start(), _side() for both sides, _blocks(); freed by wm_own_pairs_clear(), also
 * after a failure. */
typedef struct wm_own_pairs {
    int64_t n;                   /**< rows; those that train come first, those that test last */
    wm_pair_rows part[WM_PARTS]; /**< into `rows` */
    wm_columns *columns[2];      /**< of u and v; owned */
    float *rows[2];              /**< (n, dim_u), (n, dim_v), encoded; owned */
    int64_t *blocks;             /**< (dim_v), for wm_embed_fit(); owned */
} wm_own_pairs;

/** How many pairs each part has: of the share @p held_out of all, half choose and half test.
 * @return WM_OK; WM_EINVAL (a part with less than two) */
WM_API WM_MUST_CHECK wm_status wm_own_pairs_start(wm_own_pairs *p, int64_t n, double held_out,
                                                  wm_error *err);
/** The rows of u (side 0) or v (1), (n, raw columns), encoded. Columns that are learned from rows
 * should be from the first part[WM_PART_TRAIN].n; they are the pairs' from now on.
 * @return WM_OK, or as wm_columns_apply() */
WM_API WM_MUST_CHECK wm_status wm_own_pairs_side(wm_own_pairs *p, int side, const double *rows,
                                                 wm_columns *columns, wm_error *err);
/** What of v changes together.
 * @param v     the shape of its rows
 * @param text  for columns a number of runs, "4", or their sizes, "3,3,2", which add up to all; for
 *              images tiles, "2x3", or bands, "4". NULL: each column of the person's, 2x2 tiles
 * @return WM_OK; WM_EINVAL (a text that says nothing of the kind), WM_ENOMEM */
WM_API WM_MUST_CHECK wm_status wm_own_pairs_blocks(wm_own_pairs *p, wm_embed_shape v,
                                                   const char *text, wm_error *err);
WM_API void wm_own_pairs_clear(wm_own_pairs *p); /**< frees all; {0} is fine */

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

/** What was fitted, and how it went. */
typedef struct wm_embed_info {
    wm_embed_objective objective;   /**< that it was fitted by */
    int64_t dim_u, dim_v, features; /**< columns of u, of v and of g(u) */
    wm_embed_shape u, v;            /**< as set */
    int64_t bridges, blocks;        /**< m, and blocks of columns of v */
    int64_t batch_pairs;      /**< in a step of training; InfoNCE cannot exceed the log of it */
    int64_t parameters;       /**< of all networks */
    int64_t steps, best_step; /**< of Adam: all, and up to the parameters that were kept */
    double seconds;           /**< of training, in all processes; 0 in a model that was loaded */
    bool finished;            /**< false: ended by stop or time */
} wm_embed_info;

/** What was fitted. */
WM_API void wm_embed_get_info(const wm_embed *e, wm_embed_info *info);
/** Bridge k, 0 <= k < bridges, on the held-out pairs, with the parameters that were kept; its
 * alphas are shares of the bridges. */
WM_API wm_bridge wm_embed_get_bridge(const wm_embed *e, int64_t k);

/** Keep the columns that u and v were made by, in the model and its file: for those who will have
 * new rows. Copied; either may be NULL.
 * @return WM_OK; WM_ESHAPE (other widths than the model's), WM_ENOMEM */
WM_API WM_MUST_CHECK wm_status wm_embed_set_columns(wm_embed *e, const wm_columns *u,
                                                    const wm_columns *v, wm_error *err);
/** Those of u (side 0) or v (1), borrowed; NULL: rows are taken as they are. */
WM_API const wm_columns *wm_embed_columns(const wm_embed *e, int side);

/** The representation.
 * @param[out] g  (n, features)
 * @param stop    here and below: looked at every few rows, or NULL; WM_EINTERRUPTED when it is set
 * @return WM_OK; WM_EINVAL (n below 1), WM_ENOMEM. Threads: safe; runs in parallel. */
WM_API WM_MUST_CHECK wm_status wm_embed_rows(const wm_embed *e, int64_t n, const float *u, float *g,
                                             const volatile sig_atomic_t *stop, wm_error *err);
/** Every bridge at pairs: log_r (bridges, n).
 * @return WM_OK; WM_EINVAL (n below 1), WM_ESHAPE (other widths than it was fitted to), WM_ENOMEM
 */
WM_API WM_MUST_CHECK wm_status wm_embed_log_ratio(const wm_embed *e, const wm_pair_rows *pairs,
                                                  double *log_r, const volatile sig_atomic_t *stop,
                                                  wm_error *err);
/** Mutual information by true pairs that training has not seen.
 * @param[out] mi         mean of the sum of all bridges, in nats; its error is that of the pairs
 *                        alone. InfoNCE: its bound, over groups of as many pairs as a step has
 * @param[out] by_bridge  (bridges) the same of each bridge, or NULL
 * @return as above; WM_EINVAL also for InfoNCE with fewer pairs than a group */
WM_API WM_MUST_CHECK wm_status wm_embed_mi(const wm_embed *e, const wm_pair_rows *pairs,
                                           wm_estimate *mi, wm_estimate *by_bridge,
                                           const volatile sig_atomic_t *stop, wm_error *err);

/** The same from what the scores tell, not from their size: the log-ratio of each bridge is a
 * rising step function of its score, by isotonic regression at its own two waymarks of held-out
 * pairs. Scores that are too sure of themselves make wm_embed_mi() too large; these cannot say more
 * than there is, but for chance.
 * @param held_out  pairs that neither trained the model nor test it
 * @param partners  how many others each of them lends blocks from; more tell more of high ratios
 * @param sink      progress, or NULL
 * @param[out] mi   in nats; the error is that of test pairs and of the calibration
 * @return as above; WM_EINVAL for InfoNCE. Cost: bridges x partners x held-out pairs */
WM_API WM_MUST_CHECK wm_status wm_embed_mi_calibrated(
    const wm_embed *e, const wm_pair_rows *held_out, int64_t partners, const wm_pair_rows *test,
    const wm_sink *sink, wm_estimate *mi, const volatile sig_atomic_t *stop, wm_error *err);

/** Adds what could be wrong with the mutual information to the checks of an answer.
 * @param n           test pairs
 * @param mi          by wm_embed_mi() from these
 * @param calibrated  by wm_embed_mi_calibrated(); not read with InfoNCE */
WM_API void wm_embed_check(const wm_embed *e, int64_t n, const wm_estimate *mi,
                           const wm_estimate *calibrated, wm_checks *list);

/** One safetensors file: parameters by name, settings as metadata, columns where there are some.
 * @return WM_OK; WM_EIO, WM_ENOMEM
 */
WM_API WM_MUST_CHECK wm_status wm_embed_save(const wm_embed *e, const char *path, wm_error *err);
/** @return WM_OK; WM_EIO, WM_EFORMAT (not such a file, damaged, or of another version), WM_ENOMEM
 */
WM_API WM_MUST_CHECK wm_status wm_embed_load(wm_embed **out, const char *path, wm_error *err);

#ifdef __cplusplus
}
#endif
#endif
