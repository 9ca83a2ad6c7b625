/* winograd_grid.h - how winograd_tmpl.c cuts images into tiles, strips and chunks.
 *
 * A tile is 4 x 4 outputs, less at the lower and right rim. A strip is tiles side by side in one
 * image. A chunk is consecutive strips, whose tiles stand in V and M in the order
 *     C  last row of tiles, short
 *     A  full
 *     B  last column of tiles, short
 *     D  the corner, short both ways
 * so that the tiles which have a given point (A, A and C, A and B, or all) are consecutive. */
#ifndef WMI_ENGINE_WINOGRAD_GRID_H
#define WMI_ENGINE_WINOGRAD_GRID_H

#include <stdbool.h>

#include "engine/conv.h"
#include "engine/kernels/conv_lanes.h"

enum {
    TILE = 4,          /* outputs of a full tile in one direction */
    POINTS = TILE + 2, /* evaluation points in one direction */
    Q = POINTS * POINTS,
    STRIP = 8 /* tiles of a strip at most */
};

/* Strips are numbered (image, row of tiles, part of the row). */
typedef struct grid {
    int64_t h, w;
    int64_t rows, cols;  /* of tiles */
    int64_t parts, part; /* strips in a row of tiles, and tiles in each but perhaps the last */
    int64_t strips;      /* in the batch */
    int r_last_row, r_last_col; /* outputs of the last tiles in their short direction, 1 to 4 */
} grid;

static grid make_grid(const wmi_conv_shape *s)
{
    grid g = {.h = s->h, .w = s->w};

    g.rows = ceil_div(s->h, TILE);
    g.cols = ceil_div(s->w, TILE);
    g.part = max64(1, ceil_div(g.cols, max64(1, ceil_div(g.cols, STRIP))));
    g.parts = ceil_div(g.cols, g.part);
    g.strips = s->n * g.rows * g.parts;
    g.r_last_row = (int)(s->h - (g.rows - 1) * TILE);
    g.r_last_col = (int)(s->w - (g.cols - 1) * TILE);
    return g;
}

typedef struct strip {
    int64_t image;
    int64_t y0, x0; /* first output pixel */
    int tiles;      /* the last of which may be short */
    int ry;         /* outputs of its tiles, vertical */
    int rx_last;    /* outputs of the last tile, horizontal */
} strip;

static strip strip_at(const grid *g, int64_t index)
{
    const int64_t part = index % g->parts, row = index / g->parts % g->rows;
    const int64_t t0 = part * g->part;

    return (strip){.image = index / g->parts / g->rows,
                   .y0 = row * TILE,
                   .x0 = t0 * TILE,
                   .tiles = (int)min64(g->part, g->cols - t0),
                   .ry = row == g->rows - 1 ? g->r_last_row : TILE,
                   .rx_last = part == g->parts - 1 ? g->r_last_col : TILE};
}

/* Pixels before the row of tiles to which a strip belongs; strips end with the batch. */
static int64_t pixels_before(const grid *g, int64_t index)
{
    const strip st = strip_at(g, index);

    return (st.image * g->h + st.y0) * g->w;
}

enum { CLASS_C, CLASS_A, CLASS_B, CLASS_D, CLASSES };

/* Adds the tiles of a strip to the counts of their classes. */
static void count_tiles(const strip *st, int64_t count[CLASSES])
{
    const int has_short = st->rx_last < TILE;

    count[st->ry < TILE ? CLASS_C : CLASS_A] += st->tiles - has_short;
    count[st->ry < TILE ? CLASS_D : CLASS_B] += has_short;
}

typedef struct chunk {
    int64_t first, last;        /* strips */
    int64_t begin[CLASSES + 1]; /* row of V and M at which each class starts */
} chunk;

static chunk make_chunk(const grid *g, int64_t first, int64_t last)
{
    chunk ch = {.first = first, .last = last};
    int64_t count[CLASSES] = {0};

    for (int64_t i = first; i < last; i++) {
        const strip st = strip_at(g, i);
        count_tiles(&st, count);
    }
    for (int c = 0; c < CLASSES; c++)
        ch.begin[c + 1] = ch.begin[c] + count[c];
    return ch;
}

/* The rows of a chunk that have the point q = (i, j). */
static void rows_with_point(const grid *g, const chunk *ch, int q, int64_t *lo, int64_t *hi)
{
    const bool short_rows = q / POINTS < g->r_last_row + 2; /* tiles of class C, D have it */
    const bool short_cols = q % POINTS < g->r_last_col + 2; /* tiles of class B, D have it */

    *lo = short_rows ? ch->begin[CLASS_C] : ch->begin[CLASS_A];
    *hi = !short_cols ? ch->begin[CLASS_B] : !short_rows ? ch->begin[CLASS_D] : ch->begin[CLASSES];
}

/* Walks through the strips of a chunk and knows where their tiles stand: full ones from row `full`,
 * a short last one at row `last`. */
typedef struct cursor {
    const grid *g;
    int64_t index;
    strip st;
    int64_t next[CLASSES]; /* row of the next tile of each class */
    int64_t full, last;    /* rows of this strip's full tiles and of its short last one */
} cursor;

static void cursor_place(cursor *c)
{
    c->st = strip_at(c->g, c->index);
    c->full = c->next[c->st.ry < TILE ? CLASS_C : CLASS_A];
    c->last = c->next[c->st.ry < TILE ? CLASS_D : CLASS_B];
}

static void cursor_step(cursor *c)
{
    count_tiles(&c->st, c->next);
    c->index++;
    cursor_place(c);
}

static cursor cursor_at(const grid *g, const chunk *ch, int64_t index)
{
    cursor c = {.g = g, .index = ch->first};

    for (int k = 0; k < CLASSES; k++)
        c.next[k] = ch->begin[k];
    cursor_place(&c);
    while (c.index < index)
        cursor_step(&c);
    return c;
}

#endif
