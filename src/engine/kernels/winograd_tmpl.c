/* winograd_tmpl.c - 3x3 convolution by minimal filtering (Lavin and Gray, arXiv:1509.09308).
 *
 * r outputs of a 3-tap filter are a product of polynomials: evaluate both factors at r + 2 points,
 * multiply there, interpolate. In two dimensions a tile of 4 x 4 outputs costs 36 products, not
 * 144:
 *
 *     V = B' d B        input tile, 6 x 6 pixels to 6 x 6 points, for every input channel
 *     U = G g G'        weights to 6 x 6 points, once for all tiles
 *     M[q] = V[q] U[q]  a matrix product at each point q, (tiles x ci) (ci x co)
 *     y = A' M A        6 x 6 points to 4 x 4 outputs, for every output channel
 *
 * The gradient of the input is the same with the weights turned by 180 degrees and the channels
 * swapped. That of the weights is dU[q] = V[q]' (A dy A')[q], dw = G' dU G.
 *
 * A tile at the rim with r < 4 outputs in one direction takes r + 2 of the same points and of the
 * same U (winograd_points.h): an image of 14 x 14 takes 484 products, not 576, one of 2 x 2
 * takes 16.
 *
 * Two thirds of the time are matrix products near the machine's peak. The rest is memory: a chunk's
 * V and M stay in L2, M[q] is written over V[q - 1], and while the products run, the pixels that
 * come next are prefetched. */
#include "engine/kernels/winograd.h"

#include <string.h>

#include "engine/kernels/conv_lanes.h"
#include "engine/kernels/gemm.h"
#include "engine/kernels/winograd_grid.h"
#include "engine/kernels/winograd_points.h"

enum {
    LINE = 64 / (int)sizeof(real),    /* channels that are transformed at a time: one cache line */
    LINE_V = LINE / VL,               /* vectors in it */
    STRIP_COLS = STRIP * TILE + 2,    /* pixels that a strip reads in one row */
    BUF = POINTS * STRIP_COLS * LINE, /* reals: a strip between its two one-dimensional passes */
    W_BLOCK = 8,                      /* input channels of weights that are transformed together */
    K_BLOCK = 256,                    /* input channels per product: a panel of U stays in L1 */
    CHUNK_BYTES = 330 * 1024,         /* V and M of a chunk: two thirds of a small L2 */
    GRAD_W_TILES = 60                 /* tiles per product in the gradient of the weights */
};

/* ---- pixels to points: V of the input, or the same of the output's gradient ---- */

typedef struct pixels {
    const real *p; /* (n, h, w, c) */
    int64_t c;
    bool grad;         /* transform by A instead of B' */
    real slope;        /* LeakyReLU on the way in */
    const real *zeros; /* a row (w, c) of zeros, which stands for rows outside of the image */
} pixels;

typedef struct points {
    real *p; /* point q, tile t, channel c at p[q * slot + t * stride + c] */
    int64_t slot, stride;
} points;

/* What is common to the lines of channels of one strip. */
typedef struct strip_rows {
    const real *row[POINTS]; /* first pixel inside of the image, of each row that is read */
    int64_t inside;          /* columns inside */
    int left;                /* 1 if a column to the left of the image belongs to the strip */
    int64_t stride;          /* reals between pixels */
    int64_t ahead;           /* reals to the strip below, or to the next image */
    real slope;
} strip_rows;

/* Columns of the strip through the vertical transform: buf[i][column][LINE]. */
ALWAYS_INLINE void columns_to_points(const int r, const bool grad, const bool leaky,
                                     const int vectors, const int tail, const strip_rows *in,
                                     real *buf)
{
    const int taps = grad ? r : r + 2;
    const int64_t inside = in->inside, stride = in->stride, ahead = in->ahead;
    const real slope = in->slope;

    for (int64_t x = 0; x < inside; x++) {
#pragma GCC unroll 4
        for (int i = 0; i < r; i++)
            prefetch(in->row[taps - r + i], ahead + x * stride);
#pragma GCC unroll 1
        for (int v = 0; v < vectors; v++) {
            vreal d[POINTS], p[POINTS];

#pragma GCC unroll 6
            for (int i = 0; i < taps; i++) {
                d[i] = load_lanes(in->row[i] + x * stride + v * VL, v == vectors - 1 ? tail : VL);
                if (leaky)
                    d[i] = where_positive(d[i], d[i], slope * d[i]);
            }
            if (grad)
                output_grad_points(r, d, p);
            else
                input_points(r, d, p);
#pragma GCC unroll 6
            for (int i = 0; i < r + 2; i++)
                vstore(buf + (i * STRIP_COLS + x) * LINE + v * VL, p[i]);
        }
    }
}

/* One tile through the horizontal transform, from buf to V. */
ALWAYS_INLINE void tile_to_points(const int r, const bool grad, const int vectors, int n_i,
                                  const real *buf, real *out, int64_t slot)
{
    const int taps = grad ? r : r + 2;

    for (int i = 0; i < n_i; i++)
#pragma GCC unroll 1
        for (int v = 0; v < vectors; v++) {
            vreal d[POINTS], p[POINTS];

#pragma GCC unroll 6
            for (int j = 0; j < taps; j++)
                d[j] = vload(buf + (i * STRIP_COLS + j) * LINE + v * VL);
            if (grad)
                output_grad_points(r, d, p);
            else
                input_points(r, d, p);
#pragma GCC unroll 6
            for (int j = 0; j < r + 2; j++)
                vstore(out + (i * POINTS + j) * slot + v * VL, p[j]);
        }
}

/* Calls f with r as a constant. */
#define WITH_CONSTANT(r, f, ...)                                                                   \
    switch (r) {                                                                                   \
    case 4:                                                                                        \
        f(4, __VA_ARGS__);                                                                         \
        break;                                                                                     \
    case 3:                                                                                        \
        f(3, __VA_ARGS__);                                                                         \
        break;                                                                                     \
    case 2:                                                                                        \
        f(2, __VA_ARGS__);                                                                         \
        break;                                                                                     \
    default:                                                                                       \
        f(1, __VA_ARGS__);                                                                         \
    }

/* A line of channels of one strip; the columns outside of the image are zero in buf. */
ALWAYS_INLINE void line_to_points(const bool grad, const bool leaky, const int vectors,
                                  const int tail, const cursor *at, const strip_rows *in,
                                  const points *out, int64_t c, real *buf)
{
    const strip *st = &at->st;
    const int n_i = st->ry + 2;

    WITH_CONSTANT(st->ry, columns_to_points, grad, leaky, vectors, tail, in, buf + in->left * LINE)
    for (int t = 0; t < st->tiles; t++) {
        const bool last = t == st->tiles - 1 && st->rx_last < TILE;
        const real *from = buf + t * TILE * LINE;
        real *to = out->p + (last ? at->last : at->full + t) * out->stride + c;

        if (!last)
            tile_to_points(TILE, grad, vectors, n_i, from, to, out->slot);
        else
            WITH_CONSTANT(st->rx_last, tile_to_points, grad, vectors, n_i, from, to, out->slot)
    }
}

static void strip_to_points(const cursor *at, const pixels *in, const points *out, real *buf)
{
    const grid *g = at->g;
    const strip *st = &at->st;
    const int halo = in->grad ? 0 : 1;
    const int left = st->x0 < halo ? 1 : 0;
    const int64_t x0 = left ? 0 : st->x0 - halo; /* first column inside */
    const int64_t cols = (st->tiles - 1) * TILE + st->rx_last + 2 * halo;
    strip_rows rows = {.inside = min64(cols - left, g->w - x0),
                       .left = left,
                       .stride = in->c,
                       .ahead = TILE * g->w * in->c,
                       .slope = in->slope};

    for (int i = 0; i < st->ry + 2; i++) { /* columns outside stay zero for all lines */
        real *line = buf + i * STRIP_COLS * LINE;

        memset(line, 0, (size_t)(left * LINE) * sizeof *line);
        memset(line + (left + rows.inside) * LINE, 0,
               (size_t)((cols - left - rows.inside) * LINE) * sizeof *line);
    }
    for (int64_t c = 0; c < in->c; c += LINE) {
        const int64_t width = min64(LINE, in->c - c);
        const int vectors = (int)ceil_div(width, VL), tail = (int)(width - (vectors - 1) * VL);

        for (int i = 0; i < POINTS; i++) { /* low strips read fewer */
            const int64_t y = st->y0 - halo + i;
            rows.row[i] = y < 0 || y >= g->h
                              ? in->zeros
                              : in->p + ((st->image * g->h + y) * g->w + x0) * in->c + c;
        }
        if (width < LINE && in->grad)
            line_to_points(true, false, vectors, tail, at, &rows, out, c, buf);
        else if (width < LINE)
            line_to_points(false, true, vectors, tail, at, &rows, out, c, buf);
        else if (in->grad)
            line_to_points(true, false, LINE_V, VL, at, &rows, out, c, buf);
        else if (in->slope != 1)
            line_to_points(false, true, LINE_V, VL, at, &rows, out, c, buf);
        else
            line_to_points(false, false, LINE_V, VL, at, &rows, out, c, buf);
    }
}

/* ---- points to pixels: the outputs from M ---- */

typedef struct result {
    real *p; /* (n, h, w, c) */
    int64_t c;
    const real *gate; /* (n, h, w, c) or NULL: multiply by leaky'(gate) */
    real slope;
    bool add;
} result;

/* One tile through the vertical transform: buf[k][column][LINE], k < r. */
ALWAYS_INLINE void points_to_columns(const int r, const int vectors, int n_j, const real *m,
                                     int64_t slot, real *buf)
{
    for (int j = 0; j < n_j; j++)
#pragma GCC unroll 1
        for (int v = 0; v < vectors; v++) {
            vreal p[POINTS], y[TILE];

#pragma GCC unroll 6
            for (int i = 0; i < r + 2; i++)
                p[i] = vload(m + (i * POINTS + j) * slot + v * VL);
            outputs(r, p, y);
#pragma GCC unroll 4
            for (int k = 0; k < r; k++)
                vstore(buf + (k * POINTS + j) * LINE + v * VL, y[k]);
        }
}

/* ... and through the horizontal one, n_k rows of r pixels. */
ALWAYS_INLINE void columns_to_pixels(const int r, const bool gated, const bool add,
                                     const int vectors, const int tail, int n_k, const real *buf,
                                     real *y, const real *gate, real slope, int64_t stride,
                                     int64_t row_stride)
{
    for (int k = 0; k < n_k; k++) {
#pragma GCC unroll 4
        for (int j = 0; j < r; j++) {
            prefetch_write(y, TILE * row_stride + j * stride);
            if (gated)
                prefetch(gate, TILE * row_stride + j * stride);
        }
#pragma GCC unroll 1
        for (int v = 0; v < vectors; v++) {
            vreal p[POINTS], out[TILE];
            const int lanes = v == vectors - 1 ? tail : VL;

#pragma GCC unroll 6
            for (int j = 0; j < r + 2; j++)
                p[j] = vload(buf + (k * POINTS + j) * LINE + v * VL);
            outputs(r, p, out);
#pragma GCC unroll 4
            for (int j = 0; j < r; j++) {
                real *to = y + j * stride + v * VL;

                if (gated)
                    out[j] = where_positive(load_lanes(gate + j * stride + v * VL, lanes), out[j],
                                            slope * out[j]);
                if (add)
                    out[j] += load_lanes(to, lanes);
                store_lanes(to, out[j], lanes);
            }
        }
        y += row_stride;
        if (gated)
            gate += row_stride;
    }
}

ALWAYS_INLINE void line_to_pixels(const bool gated, const bool add, const int vectors,
                                  const int tail, const cursor *at, const points *m,
                                  const result *out, int64_t c, real *buf)
{
    const grid *g = at->g;
    const strip *st = &at->st;

    for (int t = 0; t < st->tiles; t++) {
        const bool last = t == st->tiles - 1 && st->rx_last < TILE;
        const int rx = last ? st->rx_last : TILE;
        const real *from = m->p + (last ? at->last : at->full + t) * m->stride + c;
        const int64_t pixel = (st->image * g->h + st->y0) * g->w + st->x0 + t * TILE;

        WITH_CONSTANT(st->ry, points_to_columns, vectors, rx + 2, from, m->slot, buf)
        WITH_CONSTANT(rx, columns_to_pixels, gated, add, vectors, tail, st->ry, buf,
                      out->p + pixel * out->c + c, gated ? out->gate + pixel * out->c + c : NULL,
                      out->slope, out->c, g->w * out->c)
    }
}

static void strip_to_pixels(const cursor *at, const points *m, const result *out, real *buf)
{
    for (int64_t c = 0; c < out->c; c += LINE) {
        const int64_t width = min64(LINE, out->c - c);
        const int vectors = (int)ceil_div(width, VL), tail = (int)(width - (vectors - 1) * VL);

        if (out->gate && out->add)
            line_to_pixels(true, true, vectors, tail, at, m, out, c, buf);
        else if (out->gate && width == LINE)
            line_to_pixels(true, false, LINE_V, VL, at, m, out, c, buf);
        else if (out->gate)
            line_to_pixels(true, false, vectors, tail, at, m, out, c, buf);
        else if (out->add)
            line_to_pixels(false, true, vectors, tail, at, m, out, c, buf);
        else if (width == LINE)
            line_to_pixels(false, false, LINE_V, VL, at, m, out, c, buf);
        else
            line_to_pixels(false, false, vectors, tail, at, m, out, c, buf);
    }
}

/* ---- weights ---- */

/* U of channels [k0, k1) of one panel of outputs: u[q][panel][k][GEMM_NR], zeros beyond co. The
 * product goes from ci to co channels; with turned, w (3, 3, co, ci) is that of the forward
 * convolution, to be turned by 180 degrees and transposed. Only the first n_i x n_j points are
 * made. */
static void weights_to_points(const real *w, bool turned, int64_t ci, int64_t co, int64_t panel,
                              int64_t k0, int64_t k1, int n_i, int n_j, int64_t slot, real *u)
{
    const int64_t c0 = panel * GEMM_NR, width = min64(GEMM_NR, co - c0);

    for (int64_t k = k0; k < k1; k += W_BLOCK) {
        const int64_t depth = min64(W_BLOCK, k1 - k);
        real g[W_BLOCK][9][GEMM_NR];

        if (width < GEMM_NR)
            memset(g, 0, sizeof g);
        for (int tap = 0; tap < 9; tap++)
            if (turned) /* along the rows of w, which are far apart */
                for (int64_t c = 0; c < width; c++)
                    for (int64_t b = 0; b < depth; b++)
                        g[b][tap][c] = w[((8 - tap) * co + c0 + c) * ci + k + b];
            else
                for (int64_t b = 0; b < depth; b++)
                    memcpy(g[b][tap], w + (tap * ci + k + b) * co + c0, (size_t)width * sizeof *w);
        for (int64_t b = 0; b < depth; b++)
            for (int v = 0; v < 2; v++) {
                real *to = u + (panel * ci + k + b) * GEMM_NR + v * VL;
                vreal t[3][POINTS];

                for (int x = 0; x < 3; x++) {
                    const vreal col[3] = {vload(g[b][x] + v * VL), vload(g[b][3 + x] + v * VL),
                                          vload(g[b][6 + x] + v * VL)};
                    weight_points(col, t[x]);
                }
                for (int i = 0; i < n_i; i++) {
                    const vreal line[3] = {t[0][i], t[1][i], t[2][i]};
                    vreal p[POINTS];

                    weight_points(line, p);
                    for (int j = 0; j < n_j; j++)
                        vstore(to + (i * POINTS + j) * slot, p[j]);
                }
            }
    }
}

/* dw (3, 3, ci, co) of input channel k from du[q][k][cop]. */
static void points_to_weight_grads(const real *du, int64_t slot, int64_t cop, int64_t ci,
                                   int64_t co, int64_t k, bool add, real *dw)
{
    for (int64_t c = 0; c < co; c += VL) {
        const int lanes = (int)min64(VL, co - c);
        vreal t[3][POINTS]; /* vertical taps at horizontal points */

        for (int j = 0; j < POINTS; j++) {
            vreal p[POINTS], g[3];

            for (int i = 0; i < POINTS; i++)
                p[i] = vload(du + (i * POINTS + j) * slot + k * cop + c);
            weight_grads(p, g);
            for (int y = 0; y < 3; y++)
                t[y][j] = g[y];
        }
        for (int y = 0; y < 3; y++) {
            vreal g[3];

            weight_grads(t[y], g);
            for (int x = 0; x < 3; x++) {
                real *to = dw + ((y * 3 + x) * ci + k) * co + c;
                if (add)
                    g[x] += load_lanes(to, lanes);
                store_lanes(to, g[x], lanes);
            }
        }
    }
}

/* ---- scratch ---- */

/* An odd number of cache lines, so that the 36 points of a tile fall into different sets of L1. */
static int64_t slot_size(int64_t reals)
{
    return (round_up(reals, LINE) / LINE | 1) * LINE;
}

/* Parts of the scratch, in reals. Forward and gradient of the input have U for all threads, then V
 * and M for each. M[q] is written where V[q - 1] was: POINTS^2 + 1 slots hold both. */
typedef struct layout {
    int64_t ci, co;   /* channels of the product */
    int64_t cip, cop; /* reals between rows of V, and of M or dU: whole vectors */
    int64_t cov;      /* the same of dy's points, in the gradient of the weights */
    int64_t u_slot, slot;
    int64_t chunk;         /* strips */
    int64_t u, zeros, own; /* sizes */
} layout;

static layout plan_conv(const grid *g, int64_t ci, int64_t co, int threads)
{
    layout l = {.ci = ci, .co = co, .cip = round_up(ci, VL), .cop = round_up(co, VL)};
    const int64_t wide = l.cip > l.cop ? l.cip : l.cop;
    const int64_t tile_bytes = (Q + 1) * wide * (int64_t)sizeof(real);
    const int64_t each = ceil_div(g->strips, threads); /* strips of a thread */
    const int64_t limit = CHUNK_BYTES / (tile_bytes * g->part) + 1;

    l.chunk = each ? ceil_div(each, ceil_div(each, limit)) : 1;
    l.u_slot = slot_size(VNAME(panels_size)(ci, co));
    l.slot = slot_size(l.chunk * g->part * wide);
    l.u = Q * l.u_slot;
    l.zeros = round_up(g->w * ci, LINE);
    l.own = (Q + 1) * l.slot + BUF;
    return l;
}

/* Products in the gradient of the weights walk down the columns of V: rows that are a multiple of
 * four lines apart would fall into a quarter of L1's sets, or less. */
static int64_t padded_row(int64_t channels)
{
    const int64_t row = round_up(channels, VL);

    return row % (4 * LINE) ? row : row + LINE;
}

/* The gradient of the weights has V and the points of dy for all threads, twice: while one chunk is
 * multiplied, the next is transformed. Then dU and, for each thread, a buffer. */
static layout plan_grad_w(const grid *g, int64_t ci, int64_t co)
{
    layout l = {
        .ci = ci, .co = co, .cip = padded_row(ci), .cop = round_up(co, VL), .cov = padded_row(co)};

    l.chunk = ceil_div(GRAD_W_TILES, g->part);
    l.slot = slot_size(l.chunk * g->part * (l.cip + l.cov));
    l.u_slot = slot_size(ci * l.cop);
    l.u = Q * l.u_slot;
    l.zeros = round_up(g->w * ci, LINE);
    l.own = BUF;
    return l;
}

size_t VNAME(winograd_scratch)(const wmi_conv_shape *s, wmi_conv_pass pass, int threads)
{
    const grid g = make_grid(s);
    int64_t reals;

    if (pass == WMI_CONV_GRAD_W) {
        const layout l = plan_grad_w(&g, s->ci, s->co);
        reals = 2 * Q * l.slot + l.u + l.zeros + threads * l.own;
    } else {
        const bool turned = pass == WMI_CONV_GRAD_X;
        const layout l = plan_conv(&g, turned ? s->co : s->ci, turned ? s->ci : s->co, threads);
        reals = l.u + l.zeros + threads * l.own;
    }
    return (size_t)reals * sizeof(real);
}

/* ---- passes ---- */

/* One of Q shares of the reals [from, to) towards L2. */
static void prefetch_share(const real *p, int64_t from, int64_t to, int q)
{
    const int64_t lines = (to - from) / LINE;

    for (int64_t i = lines * q / Q; i < lines * (q + 1) / Q; i++)
        prefetch(p, from + i * LINE);
}

/* Strips [first, last) of a thread that goes on to `end`. */
static void conv_chunk(const grid *g, const layout *l, int64_t first, int64_t last, int64_t end,
                       const pixels *in, const real *u, const result *out, real *own)
{
    const chunk ch = make_chunk(g, first, last);
    const points v = {own + l->slot, l->slot, l->cip}, m = {own, l->slot, l->cop};
    const int64_t here = pixels_before(g, first), next = pixels_before(g, last);
    const int64_t after = pixels_before(g, min64(last + l->chunk, end));
    real *buf = own + (Q + 1) * l->slot;

    for (cursor c = cursor_at(g, &ch, first); c.index < last; cursor_step(&c))
        strip_to_points(&c, in, &v, buf);
    for (int q = 0; q < Q; q++) {
        int64_t lo, hi;

        prefetch_share(in->p, next * in->c, after * in->c, q);
        prefetch_share(out->p, here * out->c, next * out->c, q);
        if (out->gate)
            prefetch_share(out->gate, here * out->c, next * out->c, q);
        rows_with_point(g, &ch, q, &lo, &hi);
        for (int64_t k = 0; k < l->ci; k += K_BLOCK)
            GEMM_NN(hi - lo, l->cop, min64(K_BLOCK, l->ci - k), v.p + q * l->slot + lo * l->cip + k,
                    l->cip, u + q * l->u_slot + k * GEMM_NR, GEMM_NR, l->ci * GEMM_NR,
                    m.p + q * l->slot + lo * l->cop, l->cop, k > 0);
    }
    for (cursor c = cursor_at(g, &ch, first); c.index < last; cursor_step(&c))
        strip_to_pixels(&c, &m, out, buf);
}

static void conv(const wmi_conv_shape *s, const real *w, bool turned, const pixels *x,
                 const result *out, real *scratch, int threads)
{
    const grid g = make_grid(s);
    const layout l = plan_conv(&g, x->c, out->c, threads);
    const int64_t panels = ceil_div(l.co, GEMM_NR);
    const int n_i = g.rows == 1 ? g.r_last_row + 2 : POINTS; /* points that some tile has */
    const int n_j = g.cols == 1 ? g.r_last_col + 2 : POINTS;
    real *u = scratch, *zeros = u + l.u, *own = zeros + l.zeros;
    pixels in = *x;

    memset(zeros, 0, (size_t)l.zeros * sizeof *zeros);
    in.zeros = zeros;
#pragma omp parallel num_threads(threads)
    {
        const int id = thread_id(), team = team_size();
        const int64_t k0 = share(l.ci, id, team), k1 = share(l.ci, id + 1, team);
        const int64_t s0 = share(g.strips, id, team), s1 = share(g.strips, id + 1, team);

        for (int64_t p = 0; p < panels; p++)
            weights_to_points(w, turned, l.ci, l.co, p, k0, k1, n_i, n_j, l.u_slot, u);
#pragma omp barrier
        for (int64_t i = s0; i < s1; i += l.chunk)
            conv_chunk(&g, &l, i, min64(i + l.chunk, s1), s1, &in, u, out, own + id * l.own);
    }
}

void VNAME(winograd_forward)(const wmi_conv_shape *s, const real *x, const real *w, real *y,
                             real slope, void *scratch, int threads)
{
    const pixels in = {.p = x, .c = s->ci, .slope = slope};
    const result out = {.p = y, .c = s->co};

    conv(s, w, false, &in, &out, scratch, threads);
}

void VNAME(winograd_grad_x)(const wmi_conv_shape *s, const real *dy, const real *w, const real *x,
                            real slope, real *dx, bool add, void *scratch, int threads)
{
    const pixels in = {.p = dy, .c = s->co, .slope = 1};
    const result out = {
        .p = dx, .c = s->ci, .gate = slope == 1 ? NULL : x, .slope = slope, .add = add};

    conv(s, w, true, &in, &out, scratch, threads);
}

/* Each part of each dU[q], a panel of columns, is summed over the tiles in their order by one
 * thread. The points are dealt out in steps of 7, which spreads those that rim tiles lack. */
void VNAME(winograd_grad_w)(const wmi_conv_shape *s, const real *x, const real *dy, real slope,
                            real *dw, bool add, void *scratch, int threads)
{
    const grid g = make_grid(s);
    const layout l = plan_grad_w(&g, s->ci, s->co);
    const int64_t chunks = ceil_div(g.strips, l.chunk);
    const int64_t panels = ceil_div(l.cop, GEMM_NR), units = Q * panels;
    real *v2 = scratch, *du = v2 + 2 * Q * l.slot, *zeros = du + l.u, *own = zeros + l.zeros;
    const pixels from_x = {.p = x, .c = s->ci, .slope = slope, .zeros = zeros};
    const pixels from_dy = {.p = dy, .c = s->co, .slope = 1, .grad = true, .zeros = zeros};

    memset(zeros, 0, (size_t)l.zeros * sizeof *zeros);
#pragma omp parallel num_threads(threads)
    {
        const int id = thread_id(), team = team_size();
        const int64_t u0 = share(units, id, team), u1 = share(units, id + 1, team);
        real *buf = own + id * l.own;

        for (int64_t i = 0; i < chunks; i++) {
            const chunk ch = make_chunk(&g, i * l.chunk, min64((i + 1) * l.chunk, g.strips));
            const int64_t jobs = 2 * (ch.last - ch.first); /* x and dy of each strip */
            const int64_t j0 = share(jobs, id, team), j1 = share(jobs, id + 1, team);
            real *v = v2 + i % 2 * Q * l.slot;
            const points vx = {v, l.slot, l.cip};
            const points vy = {v + l.chunk * g.part * l.cip, l.slot, l.cov};

            cursor at = cursor_at(&g, &ch, ch.first + j0 / 2);

            for (int64_t j = j0; j < j1; j++) {
                if (j % 2) {
                    strip_to_points(&at, &from_dy, &vy, buf);
                    cursor_step(&at);
                } else {
                    strip_to_points(&at, &from_x, &vx, buf);
                }
            }
            /* One barrier a chunk is enough: what the next one overwrites was read before this. */
#pragma omp barrier
            for (int64_t u = u0; u < u1; u++) {
                const int64_t q = u / panels * 7 % Q, c = u % panels * GEMM_NR;
                int64_t lo, hi;

                rows_with_point(&g, &ch, (int)q, &lo, &hi);
                GEMM_TN(l.ci, min64(GEMM_NR, l.cop - c), hi - lo, vx.p + q * l.slot + lo * l.cip,
                        l.cip, vy.p + q * l.slot + lo * l.cov + c, l.cov, GEMM_NR,
                        du + q * l.u_slot + c, l.cop, i > 0);
            }
        }
#pragma omp barrier
        for (int64_t k = share(l.ci, id, team); k < share(l.ci, id + 1, team); k++)
            points_to_weight_grads(du, l.u_slot, l.cop, l.ci, l.co, k, add, dw);
    }
}
