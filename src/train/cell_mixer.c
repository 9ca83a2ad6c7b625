/* cell_mixer.c - waymarks of the numbers of cells (cell_mixer.h). The chain that mixes cells mixes
 * their numbers just as well. */
#include "train/cell_mixer.h"

#include <inttypes.h>

#include "base/alloc.h"

struct wmi_cell_mixer {
    wm_chain *chain; /* a cell is a column, and a block */
    int64_t bridges, cells, rows, negatives;
    float *own, *other; /* (rows, cells) the numbers at both ends */
    int64_t *partner;   /* (rows) the trajectory that lends its cells */
    int64_t *turns;     /* (rows, cells), or NULL: in the order of the numbers */
    uint64_t seed;
};

wm_status wmi_cell_mixer_new(wmi_cell_mixer **out, int64_t bridges, int64_t cells, int64_t rows,
                             int64_t negatives, wm_error *err)
{
    wmi_cell_mixer *x = NULL;
    wm_status st;

    *out = NULL;
    if (negatives < 1 || negatives > rows)
        return wmi_fail(err, WM_EINVAL,
                        "%" PRId64 " negatives a pair from a step of %" PRId64
                        " pairs: give 1 to %" PRId64 ", or larger batches",
                        negatives, rows, rows);
    if (2 * rows * cells > 1 << 24) /* the numbers are held as floats */
        return wmi_fail(err, WM_EINVAL, "%" PRId64 " cells in a step are too many", rows * cells);
    if ((st = wmi_alloc(&x, 1, sizeof *x, "mixer", err)))
        return st;
    x->bridges = bridges;
    x->cells = cells;
    x->rows = rows;
    x->negatives = negatives;
    if ((st = wmi_alloc(&x->partner, rows > cells ? rows : cells, sizeof *x->partner, "mixer",
                        err)) ||
        (st = wmi_alloc(&x->own, rows * cells, sizeof *x->own, "mixer", err)) ||
        (st = wmi_alloc(&x->other, rows * cells, sizeof *x->other, "mixer", err)))
        goto fail;
    for (int64_t i = 0; i < rows * cells; i++) {
        x->own[i] = (float)i;
        x->other[i] = (float)(rows * cells + i);
    }
    for (int64_t i = 0; i < cells; i++)
        x->partner[i] = i;
    if ((st = wm_chain_new(&x->chain, bridges, NULL, cells, x->partner, err)))
        goto fail;
    *out = x;
    return WM_OK;
fail:
    wmi_cell_mixer_free(x);
    return st;
}

void wmi_cell_mixer_free(wmi_cell_mixer *x)
{
    if (!x)
        return;
    wm_chain_free(x->chain);
    wmi_free(x->own);
    wmi_free(x->other);
    wmi_free(x->partner);
    wmi_free(x->turns);
    wmi_free(x);
}

wm_status wmi_cell_mixer_random_order(wmi_cell_mixer *x, uint64_t seed, wm_error *err)
{
    x->seed = seed;
    return wmi_alloc(&x->turns, x->rows * x->cells, sizeof *x->turns, "order of cells", err);
}

void wmi_cell_mixer_fill(wmi_cell_mixer *x, int64_t step, float *mix)
{
    const int64_t n = x->rows * x->cells;
    const wm_ends_f32 ends = {
        .rows = x->rows, .x0 = x->own, .xm = x->other, .rowm = x->partner, .turns = x->turns};

    if (x->turns)
        wm_chain_draw_turns(x->chain, x->seed, step, x->rows, x->turns);
    for (int64_t k = 0; k < x->bridges; k++) {
        const float *numerator = mix;

        for (int64_t i = 0; i < x->rows; i++)
            x->partner[i] = i;
        wm_chain_waymark_f32(x->chain, k, &ends, mix);
        mix += n;
        for (int64_t r = 0; r < x->negatives; r++, mix += n) {
            for (int64_t i = 0; i < x->rows; i++)
                x->partner[i] = (i + r) % x->rows;
            wm_chain_waymark_f32(x->chain, k + 1, &ends, mix);
            for (int64_t i = 0; i < n; i++)
                if (numerator[i] != x->own[i]) /* changed before this bridge */
                    mix[i] = numerator[i];
        }
    }
}
