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
};

wm_status wmi_batcher_new(wmi_batcher **out, const wm_chain *chain, const wmi_source *source,
                          int64_t rows, wmi_batch_form form, wm_error *err)
{
    wmi_batcher *b = NULL;
    int64_t ends;
    wm_status st;

    *out = NULL;
    if (rows < 1)
        return wmi_fail(err, WM_EINVAL,
                        "the batch holds no whole trajectory: it needs at least one row for each "
                        "waymark, raise --batch");
    if ((st = wmi_alloc(&b, 1, sizeof *b, "batcher", err)))
        return st;
    b->chain = chain;
    b->source = source;
    b->rows = rows;
    b->bridges = wm_chain_bridges(chain);
    b->form = form;
    ends = rows * (form == WMI_BATCH_SPREAD ? b->bridges : 1) * source->dim;
    if ((st = wmi_alloc(&b->x0, ends, sizeof *b->x0, "batch", err)) ||
        (st = wmi_alloc(&b->xm, ends, sizeof *b->xm, "batch", err))) {
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
    wmi_free(b);
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
                         .xm = b->xm + first * b->source->dim};
}

void wmi_batcher_train(wmi_batcher *b, int64_t step, float *x)
{
    const int64_t dim = b->source->dim;

    if (b->form == WMI_BATCH_COUPLED) {
        const wm_ends_f32 ends = ends_of(b, 0);

        b->source->train(b->source->ctx, step, b->rows, b->x0, b->xm);
        wm_chain_bridges_f32(b->chain, &ends, x);
        return;
    }
    b->source->train(b->source->ctx, step, b->rows * b->bridges, b->x0, b->xm);
    for (int64_t k = 0; k < b->bridges; k++) {
        const wm_ends_f32 ends = ends_of(b, k * b->rows);

        for (int64_t side = 0; side < 2; side++)
            wm_chain_waymark_f32(b->chain, k + side, &ends, x + (2 * k + side) * b->rows * dim);
    }
}

/* A validation set smaller than a batch is walked round: rows come again, none is left out. */
static void valid_ends(wmi_batcher *b, int64_t i)
{
    const int64_t dim = b->source->dim, n = b->source->n_valid;

    for (int64_t done = 0; done < b->rows;) {
        const int64_t first = (i * b->rows + done) % n;
        const int64_t left = n - first, want = b->rows - done, take = want < left ? want : left;

        b->source->valid(b->source->ctx, first, take, b->x0 + done * dim, b->xm + done * dim);
        done += take;
    }
}

void wmi_batcher_valid(wmi_batcher *b, int64_t i, float *x)
{
    const wm_ends_f32 ends = ends_of(b, 0);

    valid_ends(b, i);
    wm_chain_bridges_f32(b->chain, &ends, x);
}

void wmi_batcher_train_waymarks(wmi_batcher *b, int64_t step, float *x)
{
    const wm_ends_f32 ends = ends_of(b, 0);

    b->source->train(b->source->ctx, step, b->rows, b->x0, b->xm);
    wm_chain_waymarks_f32(b->chain, &ends, x);
}

void wmi_batcher_valid_waymarks(wmi_batcher *b, int64_t i, float *x)
{
    const wm_ends_f32 ends = ends_of(b, 0);

    valid_ends(b, i);
    wm_chain_waymarks_f32(b->chain, &ends, x);
}
