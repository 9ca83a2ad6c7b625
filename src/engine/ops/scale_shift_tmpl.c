/* scale_shift_tmpl.c - y = pool(leaky(scale_k x + shift_k + residual)) for the rows of bridge k:
 * all that stands between two convolutions of a CondResNet, in one pass over memory (paper,
 * section 3.2).
 *
 * Work is cut into blocks of at most SPAN units that stay in the first-level cache. Backward gives
 * a block to one thread, which sums its scale and shift gradients over the rows in order: the same
 * bits for any number of threads. */
#include <string.h>

#include "engine/infer.h"
#include "engine/ops.h"
#include "engine/real.h"

enum { SPAN = 1024, POSITIONS = 64 }; /* units, and pixels of a block with one pair per channel */

/* How rows, pixels and channels lie. With one pair per unit the whole row counts as channels (c =
 * units, positions = 1); with one pair per channel, positions = units / c. */
typedef struct layout {
    int64_t bridges, rows; /* rows of each bridge */
    int64_t positions, c, units;
    int64_t w, ow, ch; /* image width, pooled width and channels, where pool is 2 */
    int64_t h, out_units;
    int64_t blocks_p, blocks_c;
    bool shared; /* one pair per channel: several blocks add to one scale */
} layout;

static layout layout_of(const wmi_node *nd)
{
    const wmi_scale_shift_attr *a = nd->attr;
    const wmi_shape *x = &nd->in[0]->shape, *s = &nd->in[1]->shape;
    layout l = {.bridges = s->dim[0], .c = 1, .units = 1};

    l.rows = a->expand ? x->dim[0] : (l.bridges ? x->dim[0] / l.bridges : 0);
    for (int i = 1; i < s->rank; i++)
        l.c *= s->dim[i];
    for (int i = 1; i < x->rank; i++)
        l.units *= x->dim[i];
    l.positions = l.c ? l.units / l.c : 0;
    l.shared = l.positions > 1;
    l.out_units = l.units;
    if (a->pool == 2) {
        l.h = x->dim[1];
        l.w = x->dim[2];
        l.ch = x->dim[3];
        l.ow = (l.w + 1) / 2;
        l.out_units = (l.h + 1) / 2 * l.ow * l.ch;
    }
    l.blocks_p = l.shared ? (l.positions + POSITIONS - 1) / POSITIONS : 1;
    l.blocks_c = (l.c + SPAN - 1) / SPAN;
    return l;
}

static wm_status infer(wmi_node *nd, wm_error *err)
{
    const wmi_scale_shift_attr *a = nd->attr;
    const wmi_shape *x = &nd->in[0]->shape, *s = &nd->in[1]->shape, *b = &nd->in[2]->shape;
    wmi_shape out = *x;
    bool per_unit = s->rank == x->rank, per_channel;

    if (nd->n_in != 3 && nd->n_in != 4)
        return wmi_infer_fail(nd, err, "%d inputs", nd->n_in);
    if (x->rank < 2 || s->rank < 2)
        return wmi_infer_fail(nd, err, "x needs rows and units, scale (bridges, units)");
    for (int i = 1; per_unit && i < x->rank; i++)
        per_unit = s->dim[i] == x->dim[i];
    per_channel = s->rank == 2 && s->dim[1] == x->dim[x->rank - 1];
    if (!per_unit && !per_channel)
        return wmi_infer_fail(nd, err, "scale fits neither the units of x nor its last axis");
    if (!wmi_shape_equal(s, b))
        return wmi_infer_fail(nd, err, "scale and shift differ");
    if (s->dim[0] < 1 || (!a->expand && x->dim[0] % s->dim[0]))
        return wmi_infer_fail(nd, err, "the rows of x are not a multiple of the bridges");
    if (!(a->slope >= 0 && a->slope <= 1))
        return wmi_infer_fail(nd, err, "slope %g is not in [0, 1]", a->slope);
    if (a->pool != 1 && (a->pool != 2 || x->rank != 4 || a->slope != 1 || a->expand))
        return wmi_infer_fail(nd, err, "pool %d: only 2, of images, without slope or expand",
                              a->pool);
    if (a->expand)
        out.dim[0] *= s->dim[0];
    if (nd->n_in == 4 && !wmi_shape_equal(&nd->in[3]->shape, &out))
        return wmi_infer_fail(nd, err, "the residual does not have the shape of the result");
    if (a->pool == 2)
        for (int i = 1; i <= 2; i++)
            out.dim[i] = (out.dim[i] + 1) / 2;
    return wmi_infer_set(nd, out.rank, out.dim, err);
}

/* y = leaky(s x + b + residual), n units; y may be x. */
static void span_forward(int64_t n, const real *x, const real *restrict s, const real *restrict b,
                         const real *residual, real slope, real *y)
{
    if (residual) {
#pragma omp simd
        for (int64_t i = 0; i < n; i++) {
            const real z = s[i] * x[i] + b[i] + residual[i];

            y[i] = z > 0 ? z : slope * z;
        }
    } else {
#pragma omp simd
        for (int64_t i = 0; i < n; i++) {
            const real z = s[i] * x[i] + b[i];

            y[i] = z > 0 ? z : slope * z;
        }
    }
}

/* One pooled pixel: the mean over the valid cells of its 2x2 window. */
static void pixel_forward(const layout *l, const real *x, const real *s, const real *b,
                          const real *residual, int64_t oy, int64_t ox, real *restrict y)
{
    const int64_t h1 = 2 * oy + 1 < l->h ? 2 : 1, w1 = 2 * ox + 1 < l->w ? 2 : 1;
    const real inv = 1 / (real)(h1 * w1);

    memset(y, 0, (size_t)l->ch * sizeof *y);
    for (int64_t dy = 0; dy < h1; dy++)
        for (int64_t dx = 0; dx < w1; dx++) {
            const int64_t u = ((2 * oy + dy) * l->w + 2 * ox + dx) * l->ch;
            const int64_t us = l->shared ? 0 : u;
            const real *restrict xu = x + u, *restrict su = s + us, *restrict bu = b + us;
            const real *restrict ru = residual ? residual + u : NULL;

            for (int64_t c = 0; c < l->ch; c++)
                y[c] += inv * (su[c] * xu[c] + bu[c]);
            for (int64_t c = 0; ru && c < l->ch; c++)
                y[c] += inv * ru[c];
        }
}

static void forward(const wmi_node *nd)
{
    const wmi_scale_shift_attr *a = nd->attr;
    const layout l = layout_of(nd);
    const real *x = nd->in[0]->val, *scale = nd->in[1]->val, *shift = nd->in[2]->val;
    const real *residual = nd->n_in == 4 ? nd->in[3]->val : NULL;
    real *y = nd->val;
    const int64_t pieces = a->pool == 2 ? (l.h + 1) / 2 : l.positions * l.blocks_c;

#pragma omp parallel for collapse(2) schedule(static)                                              \
    num_threads(nd->run->threads) if (nd->n >= WMI_OMP_MIN)
    for (int64_t r = 0; r < l.bridges * l.rows; r++)
        for (int64_t piece = 0; piece < pieces; piece++) {
            const int64_t k = r / l.rows;
            const real *xr = x + (a->expand ? r % l.rows : r) * l.units;
            const real *rr = residual ? residual + r * l.units : NULL;
            const real *s = scale + k * l.c, *b = shift + k * l.c;
            real *yr = y + r * l.out_units;

            if (a->pool == 2) {
                for (int64_t ox = 0; ox < l.ow; ox++)
                    pixel_forward(&l, xr, s, b, rr, piece, ox, yr + (piece * l.ow + ox) * l.ch);
            } else {
                const int64_t c0 = piece % l.blocks_c * SPAN, u = piece / l.blocks_c * l.c + c0;
                const int64_t n = l.c - c0 < SPAN ? l.c - c0 : SPAN;

                span_forward(n, xr + u, s + c0, b + c0, rr ? rr + u : NULL, (real)a->slope, yr + u);
            }
        }
}

/* dz of units u .. u+n of one row into t: through the pooling, or through the activation. */
static void fill_dz(const layout *l, const real *dy, const real *y, real slope, int64_t u,
                    int64_t n, real *restrict t)
{
    if (l->out_units == l->units) {
        if (slope == 1)
            memcpy(t, dy + u, (size_t)n * sizeof *t);
        else
            for (int64_t i = 0; i < n; i++)
                t[i] = y[u + i] > 0 ? dy[u + i] : slope * dy[u + i];
        return;
    }
    for (int64_t done = 0; done < n;) { /* pixel by pixel */
        const int64_t pixel = (u + done) / l->ch, c = (u + done) % l->ch;
        const int64_t len = l->ch - c < n - done ? l->ch - c : n - done;
        const int64_t py = pixel / l->w, px = pixel % l->w;
        const int64_t h1 = (py | 1) < l->h ? 2 : 1, w1 = (px | 1) < l->w ? 2 : 1;
        const real inv = 1 / (real)(h1 * w1);
        const real *restrict d = dy + (py / 2 * l->ow + px / 2) * l->ch + c;

        for (int64_t i = 0; i < len; i++)
            t[done + i] = inv * d[i];
        done += len;
    }
}

static void add_or_write(int64_t n, real *restrict to, const real *restrict t, bool fresh)
{
    if (fresh)
        memcpy(to, t, (size_t)n * sizeof *to);
    else
        for (int64_t i = 0; i < n; i++)
            to[i] += t[i];
}

/* to = or += t s */
static void add_or_write_product(int64_t n, real *restrict to, const real *restrict t,
                                 const real *restrict s, bool fresh)
{
    if (fresh)
        for (int64_t i = 0; i < n; i++)
            to[i] = t[i] * s[i];
    else
        for (int64_t i = 0; i < n; i++)
            to[i] += t[i] * s[i];
}

typedef struct grads {
    real *x, *scale, *shift, *residual; /* NULL where not wanted */
    bool fresh_x, fresh_residual;
} grads;

/* Channels c0 .. c0+n at positions p0 .. p1 of all rows of bridge k. dscale and dshift are the
 * block's own n sums, already holding what is to be added to. */
static void block_backward(const wmi_node *nd, const layout *l, const grads *g, int64_t k,
                           int64_t p0, int64_t p1, int64_t c0, int64_t n, real *restrict dscale,
                           real *restrict dshift)
{
    const wmi_scale_shift_attr *a = nd->attr;
    const real *x = nd->in[0]->val, *s = (const real *)nd->in[1]->val + k * l->c + c0;
    const real *y = nd->val, *dy = nd->grad;
    const bool fresh_x = g->fresh_x && (!a->expand || k == 0);
    real t[SPAN];

    for (int64_t r = k * l->rows; r < (k + 1) * l->rows; r++)
        for (int64_t p = p0; p < p1; p++) {
            const int64_t u = p * l->c + c0;
            const int64_t ux = (a->expand ? r % l->rows : r) * l->units + u;

            fill_dz(l, dy + r * l->out_units, y + r * l->out_units, (real)a->slope, u, n, t);
            if (g->scale) {
                const real *restrict xu = x + ux;

                for (int64_t i = 0; i < n; i++)
                    dscale[i] += t[i] * xu[i];
            }
            if (g->shift)
                for (int64_t i = 0; i < n; i++)
                    dshift[i] += t[i];
            /* x before residual: they may be one node, and only the first write is fresh */
            if (g->x)
                add_or_write_product(n, g->x + ux, t, s, fresh_x);
            if (g->residual)
                add_or_write(n, g->residual + r * l->units + u, t, g->fresh_residual);
        }
}

/* With one pair per channel, each block sums into its own place and the places are added in order.
 */
static void add_partials(const layout *l, const real *partial, real *dscale, real *dshift)
{
    for (int64_t k = 0; k < l->bridges; k++)
        for (int64_t b = 0; b < l->blocks_p; b++) {
            const real *at = partial + (k * l->blocks_p + b) * 2 * l->c;

            for (int64_t c = 0; c < l->c; c++) {
                if (dscale)
                    dscale[k * l->c + c] += at[c];
                if (dshift)
                    dshift[k * l->c + c] += at[l->c + c];
            }
        }
}

static void backward(const wmi_node *nd)
{
    const wmi_scale_shift_attr *a = nd->attr;
    const layout l = layout_of(nd);
    const grads g = {nd->in[0]->grad, nd->in[1]->grad,
                     nd->in[2]->grad, nd->n_in == 4 ? nd->in[3]->grad : NULL,
                     nd->fresh & 1,   nd->fresh >> 3 & 1};
    const size_t params = (size_t)(l.bridges * l.c) * sizeof(real);
    const int64_t bridges_outer =
        a->expand ? 1 : l.bridges; /* expand: dx sums over bridges in order */
    real *partial = nd->scratch;

    if (g.scale && nd->fresh & 2)
        memset(g.scale, 0, params);
    if (g.shift && nd->fresh & 4)
        memset(g.shift, 0, params);
#pragma omp parallel for collapse(3) schedule(static)                                              \
    num_threads(nd->run->threads) if (nd->in[0]->n >= WMI_OMP_MIN)
    for (int64_t k0 = 0; k0 < bridges_outer; k0++)
        for (int64_t bp = 0; bp < l.blocks_p; bp++)
            for (int64_t bc = 0; bc < l.blocks_c; bc++) {
                const int64_t p0 = bp * POSITIONS, c0 = bc * SPAN;
                const int64_t p1 = l.positions - p0 < POSITIONS ? l.positions : p0 + POSITIONS;
                const int64_t n = l.c - c0 < SPAN ? l.c - c0 : SPAN;

                for (int64_t k = k0; k < (a->expand ? l.bridges : k0 + 1); k++) {
                    real *ds = g.scale ? g.scale + k * l.c + c0 : NULL;
                    real *db = g.shift ? g.shift + k * l.c + c0 : NULL;

                    if (l.shared) {
                        ds = partial + (k * l.blocks_p + bp) * 2 * l.c + c0;
                        db = ds + l.c;
                        memset(ds, 0, (size_t)n * sizeof *ds);
                        memset(db, 0, (size_t)n * sizeof *db);
                    }
                    block_backward(nd, &l, &g, k, p0, p1, c0, n, ds, db);
                }
            }
    if (l.shared)
        add_partials(&l, partial, g.scale, g.shift);
}

static unsigned keeps(const wmi_node *nd)
{
    const wmi_scale_shift_attr *a = nd->attr;

    return (nd->in[1]->wants_grad ? WMI_KEEP_IN(0) : 0) |
           (nd->in[0]->wants_grad ? WMI_KEEP_IN(1) : 0) | (a->slope != 1 ? WMI_KEEP_OUT : 0);
}

static size_t scratch(const wmi_node *nd, wmi_phase phase)
{
    const layout l = layout_of(nd);

    return phase == WMI_BACKWARD && l.shared
               ? (size_t)(l.bridges * l.blocks_p * 2 * l.c) * sizeof(real)
               : 0;
}

DEFINE_OP(scale_shift, .n_in = -1, .infer = infer, .forward = forward, .backward = backward,
          .keeps = keeps, .flags = WMI_OP_WRITES_FRESH | WMI_OP_INPLACE | WMI_OP_INPLACE_GRAD,
          .scratch = scratch);
