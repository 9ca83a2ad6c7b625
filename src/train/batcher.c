/* batcher.c - ends from the source, waymarks from the chain, rows grouped by bridge. */
#include "train/batcher.h"

#include <string.h>

#include "base/alloc.h"

struct wmi_batcher {
    const wm_chain *chain;
    const wmi_source *source;
    int64_t rows, bridges;
    wmi_batch_form form;
    float *x0, *xm; /* (trajectories of a step, dim) */
    float *work;    /* (2, waymarks of a step, dim) with a map, else NULL */
    int64_t *turns; /* (trajectories of a step, blocks), or NULL: in the order of the numbers */
    uint64_t turns_seed;
};

wm_status wmi_batcher_new(wmi_batcher **out, const wm_chain *chain, const wmi_source *source,
                          int64_t rows, wmi_batch_form form, wm_error *err)
{
    wmi_batcher *b = NULL;
    int64_t ends, waymarks;
    wm_status st;

    *out = NULL;
    if (rows < 1)
        return wmi_about(wmi_fail(err, WM_EINVAL,
                                  "the batch holds no whole trajectory: it needs at least one row "
                                  "for each waymark"),
                         err, "batch");
    if (source->dim_u > 0 && form == WMI_BATCH_SPREAD)
        return wmi_fail(err, WM_EINVAL,
                        "spread batches have no u that serves all bridges: use coupled ones");
    if ((st = wmi_alloc(&b, 1, sizeof *b, "batcher", err)))
        return st;
    b->chain = chain;
    b->source = source;
    b->rows = rows;
    b->bridges = wm_chain_bridges(chain);
    b->form = form;
    ends = rows * (form == WMI_BATCH_SPREAD ? b->bridges : 1) * source->dim;
    waymarks = rows * (form == WMI_BATCH_SPREAD ? 2 * b->bridges : b->bridges + 1) * source->dim;
    if ((st = wmi_alloc(&b->x0, ends, sizeof *b->x0, "batch", err)) ||
        (st = wmi_alloc(&b->xm, ends, sizeof *b->xm, "batch", err)) ||
        (source->map && (st = wmi_alloc(&b->work, 2 * waymarks, sizeof *b->work, "batch", err)))) {
        wmi_batcher_free(b);
        return st;
    }
    *out = b;
    return WM_OK;
}

void wmi_batcher_free(wmi_batcher *b)
{
    if (!b)
        return;
    wmi_free(b->x0);
    wmi_free(b->xm);
    wmi_free(b->work);
    wmi_free(b->turns);
    wmi_free(b);
}

static int64_t trajectories(const wmi_batcher *b)
{
    return b->rows * (b->form == WMI_BATCH_SPREAD ? b->bridges : 1);
}

wm_status wmi_batcher_random_order(wmi_batcher *b, uint64_t seed, wm_error *err)
{
    b->turns_seed = seed;
    return wmi_alloc(&b->turns, trajectories(b) * wm_chain_blocks(b->chain), sizeof *b->turns,
                     "order of blocks", err);
}

/* Validation batch i is step -1 - i. */
static void draw_turns(wmi_batcher *b, int64_t step)
{
    if (b->turns)
        wm_chain_draw_turns(b->chain, b->turns_seed, step, trajectories(b), b->turns);
}

static wm_status train_ends(wmi_batcher *b, int64_t step, wm_error *err)
{
    draw_turns(b, step);
    return b->source->train(b->source->ctx, step, trajectories(b), b->x0, b->xm, err);
}

int64_t wmi_batcher_valid_batches(const wmi_batcher *b)
{
    const int64_t whole = b->source->n_valid / b->rows;

    return whole > 0 ? whole : 1;
}

static wm_ends_f32 ends_of(const wmi_batcher *b, int64_t first)
{
    return (wm_ends_f32){.rows = b->rows,
                         .x0 = b->x0 + first * b->source->dim,
                         .xm = b->xm + first * b->source->dim,
                         .turns = b->turns ? b->turns + first * wm_chain_blocks(b->chain) : NULL};
}

/* Every trajectory at every bridge. */
static wm_status coupled(wmi_batcher *b, float *x, wm_error *err)
{
    const wmi_source *s = b->source;
    const wm_ends_f32 ends = ends_of(b, 0);

    if (s->map)
        return wmi_chain_bridges_mapped_f32(b->chain, &ends, s->map, s->ctx, b->work, x, err);
    wmi_chain_bridges_f32(b->chain, &ends, x);
    return WM_OK;
}

wm_status wmi_batcher_train(wmi_batcher *b, int64_t step, float *x, wm_error *err)
{
    const wmi_source *s = b->source;
    const int64_t dim = s->dim;
    float *to = s->map ? b->work : x;
    const wm_status st = train_ends(b, step, err);

    if (st)
        return st;
    if (b->form == WMI_BATCH_COUPLED)
        return coupled(b, x, err);
    for (int64_t k = 0; k < b->bridges; k++) {
        const wm_ends_f32 ends = ends_of(b, k * b->rows);

        for (int64_t side = 0; side < 2; side++)
            wm_chain_waymark_f32(b->chain, k + side, &ends, to + (2 * k + side) * b->rows * dim);
    }
    return s->map ? s->map(s->ctx, 2 * b->bridges * b->rows, dim, to, x, err) : WM_OK;
}

/* The next rows of validation batch i, of which `done` are there: how many, and the first. A
 * validation set smaller than a batch is walked round: rows come again, none is left out. */
static int64_t valid_run(const wmi_batcher *b, int64_t i, int64_t done, int64_t *first)
{
    const int64_t n = b->source->n_valid, want = b->rows - done;

    *first = (i * b->rows + done) % n;
    return want < n - *first ? want : n - *first;
}

static wm_status read_valid(const wmi_batcher *b, int64_t i, float *x0, float *xm, wm_error *err)
{
    const int64_t dim = b->source->dim;
    wm_status st = WM_OK;

    for (int64_t done = 0, take, first; !st && done < b->rows; done += take) {
        take = valid_run(b, i, done, &first);
        st = b->source->valid(b->source->ctx, first, take, x0 + done * dim, xm + done * dim, err);
    }
    return st;
}

static wm_status valid_ends(wmi_batcher *b, int64_t i, wm_error *err)
{
    draw_turns(b, -1 - i);
    return read_valid(b, i, b->x0, b->xm, err);
}

wm_status wmi_batcher_train_ends(const wmi_batcher *b, int64_t step, float *x, wm_error *err)
{
    return b->source->train(b->source->ctx, step, b->rows, x, x + b->rows * b->source->dim, err);
}

wm_status wmi_batcher_valid_ends(const wmi_batcher *b, int64_t i, float *x, wm_error *err)
{
    return read_valid(b, i, x, x + b->rows * b->source->dim, err);
}

wm_status wmi_batcher_train_u(const wmi_batcher *b, int64_t step, float *u, wm_error *err)
{
    return b->source->train_u(b->source->ctx, step, b->rows, u, err);
}

wm_status wmi_batcher_valid_u(const wmi_batcher *b, int64_t i, float *u, wm_error *err)
{
    wm_status st = WM_OK;

    for (int64_t done = 0, take, first; !st && done < b->rows; done += take) {
        take = valid_run(b, i, done, &first);
        st = b->source->valid_u(b->source->ctx, first, take, u + done * b->source->dim_u, err);
    }
    return st;
}

wm_status wmi_batcher_valid(wmi_batcher *b, int64_t i, float *x, wm_error *err)
{
    const wm_status st = valid_ends(b, i, err);

    return st ? st : coupled(b, x, err);
}

static wm_status waymarks(wmi_batcher *b, float *x, wm_error *err)
{
    const wmi_source *s = b->source;
    const wm_ends_f32 ends = ends_of(b, 0);

    wm_chain_waymarks_f32(b->chain, &ends, s->map ? b->work : x);
    return s->map ? s->map(s->ctx, (b->bridges + 1) * b->rows, s->dim, b->work, x, err) : WM_OK;
}

wm_status wmi_batcher_train_waymarks(wmi_batcher *b, int64_t step, float *x, wm_error *err)
{
    const wm_status st = train_ends(b, step, err);

    return st ? st : waymarks(b, x, err);
}

wm_status wmi_batcher_valid_waymarks(wmi_batcher *b, int64_t i, float *x, wm_error *err)
{
    const wm_status st = valid_ends(b, i, err);

    return st ? st : waymarks(b, x, err);
}

static wm_status starts(wmi_batcher *b, float *x, wm_error *err)
{
    const wmi_source *s = b->source;
    const wm_ends_f32 ends = ends_of(b, 0);

    wm_chain_waymark_f32(b->chain, 0, &ends, s->map ? b->work : x);
    return s->map ? s->map(s->ctx, b->rows, s->dim, b->work, x, err) : WM_OK;
}

wm_status wmi_batcher_train_starts(wmi_batcher *b, int64_t step, float *x, wm_error *err)
{
    const wm_status st = train_ends(b, step, err);

    return st ? st : starts(b, x, err);
}

wm_status wmi_batcher_valid_starts(wmi_batcher *b, int64_t i, float *x, wm_error *err)
{
    const wm_status st = valid_ends(b, i, err);

    return st ? st : starts(b, x, err);
}

wm_status wmi_source_valid_rows(const wmi_source *s, int64_t first, int64_t n, float *work,
                                float *x, wm_error *err)
{
    float *x0 = s->map ? work : x, *xm = work + (s->map ? n * s->dim : 0);
    const wm_status st = s->valid(s->ctx, first, n, x0, xm, err);

    return st || !s->map ? st : s->map(s->ctx, n, s->dim, x0, x, err);
}
