/* own_pairs.c - a person's pairs as a model is to see them: parts, encoded columns, blocks of v. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "columns/columns_impl.h"
#include "waymark/embed.h"

wm_status wm_own_pairs_start(wm_own_pairs *p, int64_t n, double held_out, wm_error *err)
{
    const int64_t held = llround(held_out * (double)n);

    *p = (wm_own_pairs){.n = n};
    p->part[WM_PART_TRAIN].n = n - held;
    p->part[WM_PART_VALID].n = held - held / 2;
    p->part[WM_PART_TEST].n = held / 2;
    for (int i = 0; i < WM_PARTS; i++)
        if (p->part[i].n < 2)
            return wmi_about(wmi_fail(err, WM_EINVAL,
                                      "%" PRId64 " pair%s: %" PRId64 " to train on, %" PRId64
                                      " to choose the step and %" PRId64
                                      " to test it; each needs two at least",
                                      n, n == 1 ? "" : "s", p->part[WM_PART_TRAIN].n,
                                      p->part[WM_PART_VALID].n, p->part[WM_PART_TEST].n),
                             err, "held-out");
    return WM_OK;
}

wm_status wm_own_pairs_side(wm_own_pairs *p, int side, const double *rows, wm_columns *columns,
                            wm_error *err)
{
    const int64_t dim = wm_columns_dim(columns);
    float *at;
    wm_status st;

    p->columns[side] = columns;
    if ((st = wmi_alloc(&p->rows[side], p->n * dim, sizeof *p->rows[side], "pairs", err)) ||
        (st = wm_columns_apply(columns, p->n, rows, p->rows[side], err)))
        return st;
    at = p->rows[side];
    for (int i = 0; i < WM_PARTS; i++) {
        *(side ? &p->part[i].dim_v : &p->part[i].dim_u) = dim;
        *(side ? &p->part[i].v : &p->part[i].u) = at;
        at += p->part[i].n * dim;
    }
    return WM_OK;
}

/* ---- blocks ---- */

/* Tiles of an image, by rows. */
static bool tile(int64_t *blocks, wm_embed_shape is, int64_t rows, int64_t columns)
{
    if (rows < 1 || columns < 1 || rows > is.height || columns > is.width)
        return false;
    for (int64_t y = 0; y < is.height; y++)
        for (int64_t x = 0; x < is.width; x++)
            for (int64_t c = 0; c < is.channels; c++)
                blocks[(y * is.width + x) * is.channels + c] =
                    y * rows / is.height * columns + x * columns / is.width;
    return true;
}

static bool cut_image(int64_t *blocks, wm_embed_shape is, const char *text)
{
    long long rows = 2, columns = 2;
    int used = 0;

    if (!text)
        return tile(blocks, is, is.height < 2 ? 1 : 2, is.width < 2 ? 1 : 2);
    if (sscanf(text, "%lldx%lld%n", &rows, &columns, &used) == 2 && !text[used])
        return tile(blocks, is, rows, columns);
    return sscanf(text, "%lld%n", &rows, &used) == 1 && !text[used] && tile(blocks, is, rows, 1);
}

/* The run of each column, of (raw), from a number of runs or from their sizes. */
static bool cut_runs(int64_t *run, int64_t raw, const char *text)
{
    const bool sizes = strchr(text, ',') != NULL;
    int64_t at = 0, k = 0;

    for (const char *p = text;; k++) {
        char *end;
        const long long x = strtoll(p, &end, 10);

        if (end == p || *p == '+' || *p == ' ' || x < 1 || x > raw || (sizes && x > raw - at) ||
            (*end && *end != ','))
            return false;
        if (!sizes) {
            for (int64_t j = 0; j < raw; j++)
                run[j] = j * x / raw;
            return true;
        }
        for (int64_t j = 0; j < x; j++)
            run[at++] = k;
        if (!*end)
            return at == raw;
        p = end + 1;
    }
}

static wm_status cut_columns(wm_own_pairs *p, const char *text, wm_error *err)
{
    const int64_t dim = p->part[0].dim_v, raw = wm_columns_raw(p->columns[1]);
    int64_t *run = NULL;
    wm_status st;

    wmi_columns_origin(p->columns[1], p->blocks);
    if (!text) /* a column of the person's changes whole */
        return WM_OK;
    if ((st = wmi_alloc(&run, raw, sizeof *run, "blocks", err)))
        return st;
    if (!cut_runs(run, raw, text))
        st = wmi_fail(err, WM_EINVAL,
                      "'%.40s': v has %" PRId64 " columns; a number of runs is wanted, or their "
                      "sizes, which add up to that, as in 3,3,2",
                      text, raw);
    for (int64_t j = 0; j < dim && !st; j++)
        p->blocks[j] = run[p->blocks[j]];
    wmi_free(run);
    return st;
}

wm_status wm_own_pairs_blocks(wm_own_pairs *p, wm_embed_shape v, const char *text, wm_error *err)
{
    wm_status st = wmi_alloc(&p->blocks, p->part[0].dim_v, sizeof *p->blocks, "blocks", err);

    if (st || !v.height)
        return st ? st : cut_columns(p, text, err);
    if (v.height * v.width * v.channels != p->part[0].dim_v || !cut_image(p->blocks, v, text))
        return wmi_fail(err, WM_EINVAL,
                        "'%.40s': tiles of an image of %" PRId64 " x %" PRId64
                        " are wanted as rows x columns, such as 2x2, or N bands",
                        text ? text : "2x2", v.height, v.width);
    return WM_OK;
}

void wm_own_pairs_clear(wm_own_pairs *p)
{
    for (int side = 0; side < 2; side++) {
        wm_columns_free(p->columns[side]);
        wmi_free(p->rows[side]);
    }
    wmi_free(p->blocks);
    *p = (wm_own_pairs){0};
}
