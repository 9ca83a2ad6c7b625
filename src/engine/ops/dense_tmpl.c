/* dense_tmpl.c - one layer of a conditional MLP in one op:
 *     y = leaky(s_k * (leaky_pre(x) W + b) + t_k + residual, slope)  for the rows of bridge k,
 * s_k and t_k being the bridge's scale and shift (paper, section 3.2), or 1 and 0 where there are
 * none. What is not the product happens to a tile of rows while it is in cache.
 *
 * Backward, with a = leaky_pre(x), u = dy through the last activation, and G_k = a_k' u_k summed
 * over the rows of bridge k alone:
 *     dt_k = sum of u     db = sum_k s_k dt_k      dW = sum_k G_k diag(s_k)      dresidual = u
 *     ds_k = diag(W' G_k) + b dt_k                 dx = leaky_pre'(x) * (s_k u) W'
 * so the product a W + b need not be kept.
 *
 * A thread does the same rows in both directions: what one core has written is far from another.
 * Only the sums over rows meet: those of every chunk, which are as many for any number of threads,
 * are added in order, so that the bits do not depend on threads. */
#include <string.h>

#include "engine/infer.h"
#include "engine/kernels/conv_lanes.h"
#include "engine/kernels/gemm.h"
#include "engine/ops.h"

enum {
    ROWS = 48, /* of a tile at most, a multiple of GEMM_MR: its x and y are in L1 or just outside */
    CHUNK = 256,   /* rows that G is summed over at a time, at most */
    CHUNKS = 8,    /* at least, where there are rows for them: threads share chunks */
    SUMS = 1 << 20 /* reals: those of some bridges at a time, if they are more */
};

enum { X, W, B, SCALE, SHIFT, RESIDUAL }; /* inputs */

typedef struct sizes {
    int64_t m, n; /* bridges, rows of each */
    int64_t in, out;
    int64_t panels;        /* of GEMM_NR columns of the result */
    int64_t in_panels;     /* of GEMM_NR columns of x */
    int64_t chunk, chunks; /* rows of one, and how many of a bridge */
    bool conditional;      /* has scale and shift */
    real pre_slope, slope; /* 1: no activation */
    bool wants_w;          /* or any other sum over the rows */
    int64_t ldu, lda; /* between rows of u and a: of the scratch, else of dy and x themselves */
    bool copies_u, copies_a;
    int64_t group;               /* bridges whose sums are added together */
    int64_t at_own, own;         /* scratch, in reals: after packed W or W' what each thread has, */
    int64_t at_tile, at_u, at_a; /* in it s_k u of a tile, u and a of a chunk; */
    int64_t sum, at_sums, scratch; /* G and dt of a chunk, where all of them begin; in all */
} sizes;

static sizes sizes_of(const wmi_node *nd, wmi_phase phase)
{
    const wmi_dense_attr *at = nd->attr;
    const wmi_shape *w = &nd->in[W]->shape;
    const bool wants_x = nd->in[X]->wants_grad;
    sizes z = {.in = w->dim[0], .out = w->dim[1], .conditional = nd->n_in > SCALE};

    z.m = z.conditional ? nd->in[SCALE]->shape.dim[0] : 1;
    z.n = nd->in[X]->shape.dim[0] / z.m;
    z.panels = ceil_div(z.out, GEMM_NR);
    z.in_panels = ceil_div(z.in, GEMM_NR);
    z.chunk = min64(CHUNK, max64(ROWS, ceil_div(z.m * z.n, CHUNKS)));
    z.chunks = max64(1, ceil_div(z.n, z.chunk));
    z.chunk = ceil_div(z.n, z.chunks); /* equal ones, but for the last */
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
    /* u is read as panels too: whole vectors. Strides that are no power of two suit L1. */
    z.copies_u = z.slope != 1 || z.out % VL;
    z.copies_a = z.wants_w && z.pre_slope != 1;
    z.ldu = z.copies_u ? round_up(z.out, VL) + VL : z.out;
    z.lda = z.copies_a ? round_up(z.in, VL) + VL : z.in;
    z.at_own = wants_x ? VNAME(panels_size)(z.out, z.in) : 0;
    z.at_tile = wants_x && z.pre_slope != 1 ? ROWS * z.in : 0;
    z.at_u = z.at_tile + (wants_x && z.conditional ? ROWS * z.out : 0);
    z.at_a = z.at_u + (z.copies_u ? z.chunk * z.ldu : 0);
    z.own = round_up(z.at_a + (z.copies_a ? z.chunk * z.lda : 0), 64 / (int64_t)sizeof(real));
    z.at_sums = z.at_own + nd->run->threads * z.own;
    z.sum = (z.in + 1) * z.panels * GEMM_NR;
    z.group = z.wants_w
                  ? min64(z.m, max64(ceil_div(CHUNKS, z.chunks), SUMS / max64(1, z.chunks * z.sum)))
                  : z.m;
    z.scratch = z.at_sums + (z.wants_w ? z.group * z.chunks * z.sum : 0);
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
    const int64_t cols = min64((trans ? z->in : z->out) - j0, GEMM_NR);

    VNAME(pack_panels)
    (depth, cols, trans ? w + j0 * z->out : w + j0, z->out, trans, panels + j0 * depth);
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

/* Rows r0 .. r0 + rows of bridge k. */
static void forward_tile(const wmi_node *nd, const sizes *z, int64_t k, int64_t r0, int64_t rows,
                         real *own)
{
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

/* Threads share blocks of GEMM_MR rows, which makes their parts about equal, and take as many at a
 * time as a tile holds. */
static void forward(const wmi_node *nd)
{
    const sizes z = sizes_of(nd, WMI_FORWARD);
    const int64_t per_bridge = ceil_div(z.n, GEMM_MR), blocks = z.m * per_bridge;
    real *scratch = nd->scratch;

#pragma omp parallel num_threads(nd->run->threads) if (worth_threads(nd))
    {
        const int id = thread_id(), team = team_size();
        const int64_t end = share(blocks, id + 1, team);
        real *own = scratch + z.at_own + id * z.own;

#pragma omp for schedule(static)
        for (int64_t p = 0; p < z.panels; p++)
            pack_panel(nd, &z, false, p, scratch);
        for (int64_t i = share(blocks, id, team), count; i < end; i += count) {
            const int64_t k = i / per_bridge, r0 = i % per_bridge * GEMM_MR;

            count = min64(ROWS / GEMM_MR, min64(per_bridge - i % per_bridge, end - i));
            forward_tile(nd, &z, k, r0, min64(count * GEMM_MR, z.n - r0), own);
        }
    }
}

/* ---- backward: x and residual, tile by tile ---- */

/* to = dy through the activation that made y. */
static void gate_row(int64_t n, const real *restrict dy, const real *restrict y, real slope,
                     real *restrict to)
{
    if (slope == 1) {
        memcpy(to, dy, (size_t)n * sizeof *to);
        return;
    }
#pragma omp simd
    for (int64_t j = 0; j < n; j++)
        to[j] = (y[j] > 0 ? R(1.0) : slope) * dy[j];
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

/* s_k u */
static void scale_row(const wmi_node *nd, const sizes *z, int64_t k, const real *restrict u,
                      real *restrict to)
{
    const real *restrict s = (const real *)nd->in[SCALE]->val + k * z->out;

#pragma omp simd
    for (int64_t j = 0; j < z->out; j++)
        to[j] = s[j] * u[j];
}

/* Rows first .. first + rows, counted over all bridges, of which k is theirs; u and a are where
 * those of the first one stand, or will. */
static void backward_tile(const wmi_node *nd, const sizes *z, int64_t k, int64_t first,
                          int64_t rows, real *own, const real *u, const real *a)
{
    const int64_t at = first * z->out;
    const real *y = (const real *)nd->val + at, *dy = (const real *)nd->grad + at;
    const real *x = (const real *)nd->in[X]->val + first * z->in, *left = u;
    real *dx = nd->in[X]->grad, *tile = own + z->at_tile;
    const bool fresh = nd->fresh >> X & 1u;

    for (int64_t r = 0; z->copies_u && r < rows; r++)
        gate_row(z->out, dy + r * z->out, y + r * z->out, z->slope, (real *)u + r * z->ldu);
    for (int64_t r = 0; z->copies_a && r < rows; r++)
        activate(z->in, x + r * z->in, z->pre_slope, (real *)a + r * z->lda);
    if (dx) {
        real *product = z->pre_slope == 1 ? dx + first * z->in : own;

        for (int64_t r = 0; z->conditional && r < rows; r++)
            scale_row(nd, z, k, u + r * z->ldu, tile + r * z->out);
        if (z->conditional)
            left = tile;
        GEMM_NN(rows, z->in, z->out, left, z->conditional ? z->out : z->ldu, nd->scratch, GEMM_NR,
                z->out * GEMM_NR, product, z->in, z->pre_slope == 1 && !fresh);
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

/* Column sums of `lanes` columns, at most GEMM_NR. */
static void add_rows(int64_t count, const real *u, int64_t ld, int64_t lanes, real *total)
{
    const int first = (int)min64(lanes, VL), second = (int)max64(0, lanes - VL);
    vreal sum[2] = {vload(total), vload(total + VL)};

    for (int64_t r = 0; r < count; r++) {
        sum[0] += load_lanes(u + r * ld, first);
        if (second)
            sum[1] += load_lanes(u + r * ld + VL, second);
    }
    vstore(total, sum[0]);
    vstore(total + VL, sum[1]);
}

/* One chunk: the rows themselves, and G and their sums dt, behind it, into sums. */
static void backward_chunk(const wmi_node *nd, const sizes *z, int64_t k, int64_t c, real *own,
                           real *sums)
{
    const int64_t r0 = c * z->chunk, rows = min64(z->chunk, z->n - r0), first = k * z->n + r0;
    const real *u = z->copies_u ? own + z->at_u : (const real *)nd->grad + first * z->out;
    const real *a = z->copies_a ? own + z->at_a : (const real *)nd->in[X]->val + first * z->in;

    for (int64_t r = 0; r < rows; r += ROWS)
        backward_tile(nd, z, k, first + r, min64(ROWS, rows - r), own, u + r * z->ldu,
                      a + r * z->lda);
    for (int64_t p = 0; z->wants_w && p < z->panels; p++) {
        const int64_t j0 = p * GEMM_NR, cols = min64(z->out - j0, GEMM_NR);
        real *sum = sums + j0 * (z->in + 1), *dt = sum + z->in * GEMM_NR;

        memset(dt, 0, GEMM_NR * sizeof *dt);
        add_rows(rows, u + j0, z->ldu, cols, dt);
        GEMM_TN(z->in, cols, rows, a, z->lda, u + j0, z->ldu, 0, sum, GEMM_NR, false);
    }
}

/* The sums of one panel over the chunks of bridge k, which they then are handed on to. */
static void add_chunks(const wmi_node *nd, const sizes *z, int64_t k, int64_t p, real *sums)
{
    const int64_t j0 = p * GEMM_NR, n = (z->in + 1) * GEMM_NR;
    real *restrict sum = sums + p * n;

    for (int64_t c = 1; c < z->chunks; c++) {
        const real *restrict more = sum + c * z->sum;

        for (int64_t i = 0; i < n; i++)
            sum[i] += more[i];
    }
    spread_sums(nd, z, k, j0, min64(z->out - j0, GEMM_NR), sum, sum + z->in * GEMM_NR);
}

static void backward_share(const wmi_node *nd, const sizes *z, int id, int team)
{
    real *scratch = nd->scratch, *own = scratch + z->at_own + id * z->own;
    real *sums = scratch + z->at_sums;

    if (nd->in[X]->grad) {
        for (int64_t q = share(z->in_panels, id, team); q < share(z->in_panels, id + 1, team); q++)
            pack_panel(nd, z, true, q, scratch);
#pragma omp barrier
    }
    for (int64_t k0 = 0; k0 < z->m; k0 += z->group) {
        const int64_t k1 = min64(k0 + z->group, z->m), chunks = (k1 - k0) * z->chunks;

        for (int64_t i = share(chunks, id, team); i < share(chunks, id + 1, team); i++)
            backward_chunk(nd, z, k0 + i / z->chunks, i % z->chunks, own, sums + i * z->sum);
        if (!z->wants_w)
            continue;
#pragma omp barrier
        for (int64_t p = share(z->panels, id, team); p < share(z->panels, id + 1, team); p++)
            for (int64_t k = k0; k < k1; k++)
                add_chunks(nd, z, k, p, sums + (k - k0) * z->chunks * z->sum);
        if (k1 < z->m) {
#pragma omp barrier
        }
    }
}

static void backward(const wmi_node *nd)
{
    const sizes z = sizes_of(nd, WMI_BACKWARD);

    for (int i = W; z.n == 0 && i < nd->n_in && i < RESIDUAL; i++) /* no rows: the sums are zero */
        if (nd->in[i]->grad && nd->fresh >> i & 1u)
            memset(nd->in[i]->grad, 0, (size_t)nd->in[i]->n * sizeof(real));
    if (z.n == 0)
        return;
#pragma omp parallel num_threads(nd->run->threads) if (worth_threads(nd))
    backward_share(nd, &z, thread_id(), team_size());
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
