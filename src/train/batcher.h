/* batcher.h - from samples of p0 and pm to the rows that one step of training sees.
 *
 * A source gives the two ends of trajectories, a chain turns them into waymarks, and the batcher
 * lays the waymarks out as the engine wants them. All of it is a function of (seed, step): nothing
 * is stored, so a resumed run draws what the uninterrupted one would have drawn. */
#ifndef WMI_TRAIN_BATCHER_H
#define WMI_TRAIN_BATCHER_H

#include "base/fail.h"
#include "waymarks/chain.h"

/* Where the ends of trajectories come from. train and valid fill x0 and xm, (rows, dim). What fails
 * ends the training: nothing is learned from rows that a source has left half done. */
typedef struct wmi_source {
    int64_t dim;
    int64_t n_train, n_valid; /* rows of p0 */
    wm_status (*train)(void *ctx, int64_t step, int64_t rows, float *x0, float *xm, wm_error *err);
    /* Rows first .. first + rows of the validation set; the same ends at every call. */
    wm_status (*valid)(void *ctx, int64_t first, int64_t rows, float *x0, float *xm, wm_error *err);
    void *ctx;
    /* Where the ends are in the z-space of an invertible map: from waymarks there to rows that the
     * bridges see, (n, dim) both. NULL: the ends are rows of that kind already. */
    wmi_map_f32 *map;
    /* With a map: the gradients g (n, dim) of something for the map's images of z, in place to
     * those for z. For objectives that look at gradients. */
    wm_status (*pull)(void *ctx, int64_t n, int64_t dim, const float *z, float *g, wm_error *err);
    /* For models with a u apart from the rows (dim_u columns; 0: none): the u of the same
     * trajectories, which serves all their waymarks, (rows, dim_u). */
    int64_t dim_u;
    wm_status (*train_u)(void *ctx, int64_t step, int64_t rows, float *u, wm_error *err);
    wm_status (*valid_u)(void *ctx, int64_t first, int64_t rows, float *u, wm_error *err);
} wmi_source;

typedef enum wmi_batch_form {
    WMI_BATCH_COUPLED, /* the paper's: every bridge sees the same trajectories */
    WMI_BATCH_SPREAD   /* each row draws its bridge: no trajectory serves two bridges */
} wmi_batch_form;

typedef struct wmi_batcher wmi_batcher;

/* rows: trajectories of each bridge. chain and source are kept and must outlive the batcher. */
WM_MUST_CHECK wm_status wmi_batcher_new(wmi_batcher **out, const wm_chain *chain,
                                        const wmi_source *source, int64_t rows, wmi_batch_form form,
                                        wm_error *err);
void wmi_batcher_free(wmi_batcher *b);
/* From now on blocks take their turns in an order of its own for each trajectory, a function of
 * (seed, step); one for each row of the validation set. */
WM_MUST_CHECK wm_status wmi_batcher_random_order(wmi_batcher *b, uint64_t seed, wm_error *err);
int64_t wmi_batcher_valid_batches(const wmi_batcher *b); /* whole ones, at least 1 */

/* What fails is the source, or its map. */

/* x (m, 2 rows, dim): for bridge k the rows of waymark k, then those of waymark k + 1. */
WM_MUST_CHECK wm_status wmi_batcher_train(wmi_batcher *b, int64_t step, float *x, wm_error *err);
/* The same of validation batch i; always coupled. */
WM_MUST_CHECK wm_status wmi_batcher_valid(wmi_batcher *b, int64_t i, float *x, wm_error *err);
/* x (m + 1, rows, dim): all waymarks once, for the multinomial objective. */
WM_MUST_CHECK wm_status wmi_batcher_train_waymarks(wmi_batcher *b, int64_t step, float *x,
                                                   wm_error *err);
WM_MUST_CHECK wm_status wmi_batcher_valid_waymarks(wmi_batcher *b, int64_t i, float *x,
                                                   wm_error *err);
/* x (rows, dim): waymark 0 alone, for objectives that take their negatives from the batch. */
WM_MUST_CHECK wm_status wmi_batcher_train_starts(wmi_batcher *b, int64_t step, float *x,
                                                 wm_error *err);
WM_MUST_CHECK wm_status wmi_batcher_valid_starts(wmi_batcher *b, int64_t i, float *x,
                                                 wm_error *err);
/* x (2, rows, dim): the ends themselves, those of p0 first, for models that mix by themselves. */
WM_MUST_CHECK wm_status wmi_batcher_train_ends(const wmi_batcher *b, int64_t step, float *x,
                                               wm_error *err);
WM_MUST_CHECK wm_status wmi_batcher_valid_ends(const wmi_batcher *b, int64_t i, float *x,
                                               wm_error *err);
/* u (rows, dim_u) of the trajectories of a step, or of a validation batch; coupled form only. */
WM_MUST_CHECK wm_status wmi_batcher_train_u(const wmi_batcher *b, int64_t step, float *u,
                                            wm_error *err);
WM_MUST_CHECK wm_status wmi_batcher_valid_u(const wmi_batcher *b, int64_t i, float *u,
                                            wm_error *err);
/* Rows first .. first + n of the validation set at the data's end: x (n, dim); work (2, n,
 * dim). */
WM_MUST_CHECK wm_status wmi_source_valid_rows(const wmi_source *source, int64_t first, int64_t n,
                                              float *work, float *x, wm_error *err);

#endif
