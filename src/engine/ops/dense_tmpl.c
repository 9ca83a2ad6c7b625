/* dense_tmpl.c - one layer of a conditional MLP in one op:
 *     y = leaky(s_k * (leaky_pre(x) W + b) + t_k + residual, slope)  for the rows of bridge k,
 * s_k and t_k being the bridge's scale and shift (paper, section 3.2), or 1 and 0 where there are
 * none. What is not the product happens to a tile of rows while it is in cache.
 *
 * Backward, with a = leaky_pre(x), u = dy through the last activation, and G_k = a_k' u_k summed
 * over the rows of bridge k alone:
 *     dt_k = sum of u     db = sum_k s_k dt_k      dW = sum_k G_k diag(s_k)      dresidual = u
 *     ds_k = diag(W' G_k) + b dt_k                 dx = leaky_pre'(x) * (s_k u) W'
 * so the product a W + b need not be kept. Every number is one chain of multiply-adds over the rows
 * of a bridge in order, and bridges are added in order: the same bits for any number of threads. */
#include <omp.h>
#include <string.h>

#include "engine/infer.h"
#include "engine/kernels/gemm.h"
#include "engine/ops.h"

enum {
    ROWS = 48,   /* of a tile: its x and y are in L1 or just outside */
    CHUNK = 256, /* rows that G is summed over at a time: a panel of x and one of u are in L1 */
    STRIDE = (CHUNK + 1) * GEMM_NR /* between packed panels; not a power of two */
};

enum { X, W, B, SCALE, SHIFT, RESIDUAL }; /* inputs */

typedef struct sizes {
    int64_t m, n; /* bridges, rows of each */
    int64_t in, out;
    int64_t panels;        /* of GEMM_NR columns of the result */
    int64_t tiles;         /* of ROWS rows, of each bridge */
    int64_t in_panels;     /* of GEMM_NR columns of x */
    int64_t chunk;         /* rows, at most CHUNK */
    bool conditional;      /* has scale and shift */
    real pre_slope, slope; /* 1: no activation */
    bool wants_w;          /* or any other sum over the rows */
    int64_t at_own, own;   /* scratch, in reals: after packed W or W' what each thread has ... */
    int64_t at_x, at_u;    /* ... packed rows of a chunk of x and u ... */
    int64_t at_sum;        /* ... and G */
    int64_t scratch;       /* in all */
} sizes;

static sizes sizes_of(const wmi_node *nd, wmi_phase phase)
{
    const wmi_dense_attr *at = nd->attr;
    const wmi_shape *w = &nd->in[W]->shape;
    sizes z = {.in = w->dim[0], .out = w->dim[1], .conditional = nd->n_in > SCALE};
    int64_t chunks;

    z.m = z.conditional ? nd->in[SCALE]->shape.dim[0] : 1;
    z.n = nd->in[X]->shape.dim[0] / z.m;
    z.panels = (z.out + GEMM_NR - 1) / GEMM_NR;
    z.tiles = (z.n + ROWS - 1) / ROWS;
    z.in_panels = (z.in + GEMM_NR - 1) / GEMM_NR;
    chunks = z.n > CHUNK ? (z.n + CHUNK - 1) / CHUNK : 1;
    z.chunk = (z.n + chunks - 1) / chunks; /* equal ones, but for the last */
    z.pre_slope = (real)at->pre_slope;
    z.slope = (real)at->slope;
    for (int i = W; i < nd->n_in && i < RESIDUAL; i++)
        z.wants_w |= nd->in[i]->wants_grad;
    if (phase == WMI_FORWARD) {
        z.at_own = VNAME(panels_size)(z.in, z.out);
        z.own = z.pre_slope != 1 ? ROWS * z.in : 0;
        z.scratch = z.at_own + nd->run->threads * z.own;
        return z;
    }
    z.at_own = nd->in[X]->wants_grad ? VNAME(panels_size)(z.out, z.in) : 0;
    z.own = nd->in[X]->wants_grad ? ROWS * (z.in + z.out) : 0;
    z.at_x = z.at_own + nd->run->threads * z.own;
    z.at_u = z.at_x + (z.wants_w ? z.in_panels * STRIDE : 0);
    z.at_sum = z.at_u + (z.wants_w ? z.panels * STRIDE : 0);
    z.scratch = z.at_sum + (z.wants_w ? (z.in + 1) * z.panels * GEMM_NR : 0);
    return z;
}

static wm_status infer(wmi_node *nd, wm_error *err)
{
    const wmi_dense_attr *at = nd->attr;
    const wmi_shape *x = &nd->in[X]->shape, *w, *b, *s, *t;

    if (nd->n_in != 3 && nd->n_in != 5 && nd->n_in != 6)
        return wmi_infer_fail(nd, err,
                              "takes x, W, b, or also scale and shift, or also a residual");
    w = &nd->in[W]->shape;
    b = &nd->in[B]->shape;
    if (x->rank != 2 || w->rank != 2 || x->dim[1] != w->dim[0])
        return wmi_infer_fail(nd, err, "x must be (rows, in) and W (in, out)");
    if (b->rank != 1 || b->dim[0] != w->dim[1])
        return wmi_infer_fail(nd, err, "the bias does not fit W");
    if (nd->n_in > SCALE) {
        s = &nd->in[SCALE]->shape;
        t = &nd->in[SHIFT]->shape;
        if (s->rank != 2 || s->dim[1] != w->dim[1] || !wmi_shape_equal(s, t))
            return wmi_infer_fail(nd, err, "scale and shift must be (bridges, out)");
        if (s->dim[0] < 1 || x->dim[0] % s->dim[0])
            return wmi_infer_fail(nd, err, "the rows of x are not a multiple of the bridges");
    }
    if (!(at->slope >= 0 && at->slope <= 1 && at->pre_slope >= 0 && at->pre_slope <= 1))
        return wmi_infer_fail(nd, err, "slopes %g and %g must be in [0, 1]", at->pre_slope,
                              at->slope);
    if (nd->n_in > RESIDUAL) {
        const wmi_shape *r = &nd->in[RESIDUAL]->shape;

        if (r->rank != 2 || r->dim[0] != x->dim[0] || r->dim[1] != w->dim[1])
            return wmi_infer_fail(nd, err, "the residual does not have the shape of the result");
    }
    return wmi_infer_set(nd, 2, (const int64_t[]){x->dim[0], w->dim[1]}, err);
}

/* Panel p of a packed (depth x columns) matrix: W, or W' for the gradient of x. */
static void pack_panel(const wmi_node *nd, const sizes *z, bool trans, int64_t p, real *panels)
{
    const real *w = nd->in[W]->val;
    const int64_t j0 = p * GEMM_NR, depth = trans ? z->out : z->in;
    const int64_t left = (trans ? z->in : z->out) - j0, cols = left < GEMM_NR ? left : GEMM_NR;

    VNAME(pack_panels)
    (depth, cols, trans ? w + j0 * z->out : w + j0, z->out, trans, panels + p * GEMM_NR * depth);
}

static bool worth_threads(const wmi_node *nd)
{
    return nd->run->threads > 1 && nd->n >= WMI_OMP_MIN / 4; /* far more work than elementwise */
}

/* ---- forward ---- */

static void activate(int64_t n, const real *restrict x, real slope, real *restrict y)
{
#pragma omp simd
    for (int64_t i = 0; i < n; i++)
        y[i] = (x[i] > 0 ? R(1.0) : slope) * x[i];
}

/* One row of the product becomes one of y. */
static void finish_row(const wmi_node *nd, const sizes *z, int64_t k, const real *restrict residual,
                       real *restrict y)
{
    const real *restrict b = nd->in[B]->val;
    const real slope = z->slope;

    if (!z->conditional) {
#pragma omp simd
        for (int64_t j = 0; j < z->out; j++) {
            const real u = y[j] + b[j];

            y[j] = (u > 0 ? R(1.0) : slope) * u;
        }
        return;
    }
    const real *restrict s = (const real *)nd->in[SCALE]->val + k * z->out;
    const real *restrict t = (const real *)nd->in[SHIFT]->val + k * z->out;

    if (residual) {
#pragma omp simd
        for (int64_t j = 0; j < z->out; j++) {
            const real u = s[j] * (y[j] + b[j]) + t[j] + residual[j];

            y[j] = (u > 0 ? R(1.0) : slope) * u;
        }
    } else {
#pragma omp simd
        for (int64_t j = 0; j < z->out; j++) {
            const real u = s[j] * (y[j] + b[j]) + t[j];

            y[j] = (u > 0 ? R(1.0) : slope) * u;
        }
    }
}

static void forward_tile(const wmi_node *nd, const sizes *z, int64_t k, int64_t tile, real *own)
{
    const int64_t r0 = tile * ROWS, rows = z->n - r0 < ROWS ? z->n - r0 : ROWS;
    const int64_t first = k * z->n + r0;
    const real *a = (const real *)nd->in[X]->val + first * z->in, *panels = nd->scratch;
    const real *residual =
        nd->n_in > RESIDUAL ? (const real *)nd->in[RESIDUAL]->val + first * z->out : NULL;
    real *y = (real *)nd->val + first * z->out;

    if (z->pre_slope != 1) {
        activate(rows * z->in, a, z->pre_slope, own);
        a = own;
    }
    GEMM_NN(rows, z->out, z->in, a, z->in, panels, GEMM_NR, z->in * GEMM_NR, y, z->out, false);
    for (int64_t r = 0; r < rows; r++)
        finish_row(nd, z, k, residual ? residual + r * z->out : NULL, y + r * z->out);
}

static void forward(const wmi_node *nd)
{
    const sizes z = sizes_of(nd, WMI_FORWARD);
    real *scratch = nd->scratch;

#pragma omp parallel num_threads(nd->run->threads) if (worth_threads(nd))
    {
        real *own = scratch + z.at_own + omp_get_thread_num() * z.own;

#pragma omp for schedule(static)
        for (int64_t p = 0; p < z.panels; p++)
            pack_panel(nd, &z, false, p, scratch);
#pragma omp for schedule(static)
        for (int64_t t = 0; t < z.m * z.tiles; t++)
            forward_tile(nd, &z, t / z.tiles, t % z.tiles, own);
    }
}

/* ---- backward: x and residual, tile by tile ---- */

/* u s_k of one row into to. */
static void scaled_row(const wmi_node *nd, const sizes *z, int64_t k, const real *restrict dy,
                       const real *restrict y, real *restrict to)
{
    const real slope = z->slope;

    if (!z->conditional) {
#pragma omp simd
        for (int64_t j = 0; j < z->out; j++)
            to[j] = (y[j] > 0 ? R(1.0) : slope) * dy[j];
        return;
    }
    const real *restrict s = (const real *)nd->in[SCALE]->val + k * z->out;

    if (slope == 1) {
#pragma omp simd
        for (int64_t j = 0; j < z->out; j++)
            to[j] = s[j] * dy[j];
    } else {
#pragma omp simd
        for (int64_t j = 0; j < z->out; j++)
            to[j] = (y[j] > 0 ? R(1.0) : slope) * s[j] * dy[j];
    }
}

/* to = or += g through the activation whose sign v has; slope 1: v is not looked at. */
static void put_gradient(int64_t n, const real *restrict g, const real *restrict v, real slope,
                         bool fresh, real *restrict to)
{
    if (slope == 1 && fresh) {
        memcpy(to, g, (size_t)n * sizeof *to);
    } else if (slope == 1) {
#pragma omp simd
        for (int64_t i = 0; i < n; i++)
            to[i] += g[i];
    } else if (fresh) {
#pragma omp simd
        for (int64_t i = 0; i < n; i++)
            to[i] = (v[i] > 0 ? R(1.0) : slope) * g[i];
    } else {
#pragma omp simd
        for (int64_t i = 0; i < n; i++)
            to[i] += (v[i] > 0 ? R(1.0) : slope) * g[i];
    }
}

/* Rows first .. first + rows, which stand at row `place` of the chunk. */
static void backward_tile(const wmi_node *nd, const sizes *z, int64_t k, int64_t first,
                          int64_t rows, int64_t place, real *own)
{
    const int64_t at = first * z->out;
    const real *y = (const real *)nd->val + at, *dy = (const real *)nd->grad + at;
    const real *x = (const real *)nd->in[X]->val + first * z->in;
    real *dx = nd->in[X]->grad, *packed = (real *)nd->scratch + place * GEMM_NR;
    const bool fresh = nd->fresh >> X & 1u;

    for (int64_t r = 0; r < (z->wants_w ? rows : 0); r++) {
        VNAME(pack_row)
        (z->in, x + r * z->in, x + r * z->in, z->pre_slope, STRIDE, packed + z->at_x + r * GEMM_NR);
        VNAME(pack_row)
        (z->out, dy + r * z->out, y + r * z->out, z->slope, STRIDE, packed + z->at_u + r * GEMM_NR);
    }
    if (dx) {
        real *product = z->pre_slope == 1 ? dx + first * z->in : own + ROWS * z->out;

        for (int64_t r = 0; r < rows; r++)
            scaled_row(nd, z, k, dy + r * z->out, y + r * z->out, own + r * z->out);
        GEMM_NN(rows, z->in, z->out, own, z->out, nd->scratch, GEMM_NR, z->out * GEMM_NR, product,
                z->in, z->pre_slope == 1 && !fresh);
        if (z->pre_slope != 1)
            put_gradient(rows * z->in, product, x, z->pre_slope, fresh, dx + first * z->in);
    }
    /* after x: they may be one node, and only the first write is fresh */
    if (nd->n_in > RESIDUAL && nd->in[RESIDUAL]->grad)
        put_gradient(rows * z->out, dy, y, z->slope, nd->fresh >> RESIDUAL & 1u,
                     (real *)nd->in[RESIDUAL]->grad + at);
}

/* ---- backward: sums over rows ---- */

/* dW += G_k diag(s), or = where first, and ds = diag(W' G_k), for the columns of one panel. */
static inline __attribute__((always_inline)) void
spread_panel(int64_t in, int64_t out, int64_t cols, const real *restrict sum, const real *s,
             bool first, const real *restrict w, real *restrict dw, real *restrict ds)
{
    for (int64_t i = 0; dw && i < in; i++)
        for (int64_t j = 0; j < cols; j++)
            dw[i * out + j] = (first ? 0 : dw[i * out + j]) + s[j] * sum[i * GEMM_NR + j];
    for (int64_t i = 0; ds && i < in; i++)
        for (int64_t j = 0; j < cols; j++)
            ds[j] += w[i * out + j] * sum[i * GEMM_NR + j];
}

/* What the whole of G_k, of one panel (in, GEMM_NR), gives to the parameters. */
static void spread_sums(const wmi_node *nd, const sizes *z, int64_t k, int64_t j0, int64_t cols,
                        const real *sum, const real dt[GEMM_NR])
{
    const real *w = (const real *)nd->in[W]->val + j0, *b = (const real *)nd->in[B]->val + j0;
    real *dw = nd->in[W]->grad ? (real *)nd->in[W]->grad + j0 : NULL;
    real *db = nd->in[B]->grad ? (real *)nd->in[B]->grad + j0 : NULL;
    real *to_s = z->conditional ? nd->in[SCALE]->grad : NULL;
    real *to_t = z->conditional ? nd->in[SHIFT]->grad : NULL;
    const int64_t at = k * z->out + j0; /* in scale and shift */
    const bool first_w = nd->fresh >> W & 1u && k == 0, first_b = nd->fresh >> B & 1u && k == 0;
    real s[GEMM_NR] = {0}, ds[GEMM_NR] = {0};

    for (int64_t j = 0; j < cols; j++)
        s[j] = z->conditional ? ((const real *)nd->in[SCALE]->val)[at + j] : 1;
    if (cols == GEMM_NR)
        spread_panel(z->in, z->out, GEMM_NR, sum, s, first_w, w, dw, to_s ? ds : NULL);
    else
        spread_panel(z->in, z->out, cols, sum, s, first_w, w, dw, to_s ? ds : NULL);
    for (int64_t j = 0; db && j < cols; j++)
        db[j] = (first_b ? 0 : db[j]) + s[j] * dt[j];
    for (int64_t j = 0; to_s && j < cols; j++)
        to_s[at + j] = (nd->fresh >> SCALE & 1u ? 0 : to_s[at + j]) + ds[j] + b[j] * dt[j];
    for (int64_t j = 0; to_t && j < cols; j++)
        to_t[at + j] = (nd->fresh >> SHIFT & 1u ? 0 : to_t[at + j]) + dt[j];
}

/* Column sums of a packed panel. */
static void add_rows(int64_t count, const real *u, real *total)
{
    vreal sum[2] = {vload(total), vload(total + VL)};

    for (int64_t r = 0; r < count; r++) {
        sum[0] += vload(u + r * GEMM_NR);
        sum[1] += vload(u + r * GEMM_NR + VL);
    }
    vstore(total, sum[0]);
    vstore(total + VL, sum[1]);
}

/* Rows [r0, r0 + count) of bridge k into the sums of one panel; at the bridge's last rows the sums
 * are handed on. The column sums dt wait behind the panel's G, in its last row. */
static void add_chunk(const wmi_node *nd, const sizes *z, int64_t k, int64_t r0, int64_t count,
                      int64_t p)
{
    const int64_t j0 = p * GEMM_NR, cols = z->out - j0 < GEMM_NR ? z->out - j0 : GEMM_NR;
    const real *x = (const real *)nd->scratch + z->at_x;
    const real *u = (const real *)nd->scratch + z->at_u + p * STRIDE;
    real *sum = (real *)nd->scratch + z->at_sum + p * (z->in + 1) * GEMM_NR;
    real *dt = sum + z->in * GEMM_NR;

    if (r0 == 0)
        memset(dt, 0, GEMM_NR * sizeof *dt);
    add_rows(count, u, dt);
    for (int64_t q = 0; q < z->in_panels; q++) {
        const int64_t i0 = q * GEMM_NR, left = z->in - i0;

        GEMM_TN(left < GEMM_NR ? left : GEMM_NR, GEMM_NR, count, x + q * STRIDE, GEMM_NR, u,
                GEMM_NR, 0, sum + i0 * GEMM_NR, GEMM_NR, r0 > 0);
    }
    if (r0 + count == z->n)
        spread_sums(nd, z, k, j0, cols, sum, dt);
}

static void backward(const wmi_node *nd)
{
    const sizes z = sizes_of(nd, WMI_BACKWARD);
    real *scratch = nd->scratch;

    for (int i = W; z.n == 0 && i < nd->n_in && i < RESIDUAL; i++) /* no rows: the sums are zero */
        if (nd->in[i]->grad && nd->fresh >> i & 1u)
            memset(nd->in[i]->grad, 0, (size_t)nd->in[i]->n * sizeof(real));
#pragma omp parallel num_threads(nd->run->threads) if (worth_threads(nd))
    {
        real *own = scratch + z.at_own + omp_get_thread_num() * z.own;

#pragma omp for schedule(static)
        for (int64_t p = 0; p < (nd->in[X]->grad ? z.in_panels : 0); p++)
            pack_panel(nd, &z, true, p, scratch);
        for (int64_t k = 0; k < z.m; k++)
            for (int64_t r0 = 0; r0 < z.n; r0 += z.chunk) {
                const int64_t count = z.n - r0 < z.chunk ? z.n - r0 : z.chunk;
                const int64_t first = k * z.n + r0;

#pragma omp for schedule(static)
                for (int64_t at = 0; at < count; at += ROWS)
                    backward_tile(nd, &z, k, first + at, count - at < ROWS ? count - at : ROWS, at,
                                  own);
#pragma omp for schedule(static)
                for (int64_t p = 0; p < (z.wants_w ? z.panels : 0); p++)
                    add_chunk(nd, &z, k, r0, count, p);
            }
    }
}

static unsigned keeps(const wmi_node *nd)
{
    const wmi_dense_attr *at = nd->attr;
    unsigned kept = at->slope != 1 ? WMI_KEEP_OUT : 0;
    bool sums = false, scale = nd->n_in > SCALE && nd->in[SCALE]->wants_grad;

    for (int i = W; i < nd->n_in && i < RESIDUAL; i++)
        sums |= nd->in[i]->wants_grad;
    if (sums || (nd->in[X]->wants_grad && at->pre_slope != 1))
        kept |= WMI_KEEP_IN(X);
    if (nd->in[X]->wants_grad || scale)
        kept |= WMI_KEEP_IN(W);
    if (scale)
        kept |= WMI_KEEP_IN(B);
    if (nd->n_in > SCALE)
        kept |= WMI_KEEP_IN(SCALE);
    return kept;
}

static size_t scratch(const wmi_node *nd, wmi_phase phase)
{
    return (size_t)sizes_of(nd, phase).scratch * sizeof(real);
}

DEFINE_OP(dense, .n_in = -1, .infer = infer, .forward = forward, .backward = backward,
          .keeps = keeps, .flags = WMI_OP_WRITES_FRESH, .scratch = scratch);
