/* rq_spline_tmpl.c - monotone rational-quadratic splines (Gregory and Delbourgo 1982; Durkan et al.
 * 2019), one for each element of x or one for each column, and their inverses.
 *
 * x (...), knots (tail of x's shape..., 3(K + 1)) as rq_knots gives them -> (2, ...): y and
 * log dy/dx. Outside the knots y = x. With inverse, the same of the inverse function.
 *
 * In a bin of width w, height h and mean slope s = h / w, with slopes p s and q s at its ends, and
 * with t in [0, 1] across it, u = 1 - t:
 *     y = y0 + h N / D,  dy/dx = s E / D^2,
 *     N = t^2 + p t u,  D = t^2 + u^2 + (p + q) t u,  E = q t^2 + 2 t u + p u^2.
 * Backwards, f = (y - y0) / h in [0, 1] has the root t = 2 f / (b + sqrt(c)) = (sqrt(c) - b) / (2 -
 * 2 b) with b = e + 2 f, c = e^2 + 4 f (1 - f), e = p (1 - f) - q f.
 * Every sum above but b and e has terms of one sign, c included, and of the two forms of the root
 * one has no cancellation: so nothing is lost in float, at knots neither, and nothing can become
 * NaN. What rounding still moves out of a bin is clipped before it is used.
 *
 * LANES columns form a strip, whose tables stay in L1 for all rows; a lane is a column. Gradients
 * of the knots are summed by strip, in the order of rows. Cost for each point: log2 K comparisons
 * to find the bin, three divisions and a logarithm (inverse: and a root), in vectors. */
#include <math.h>

#include "engine/infer.h"
#include "engine/ops.h"
#include "engine/ops/lane_math.h"

enum {
    LANES = 16,
    BLOCK = 256, /* rows of a task where rows are independent */
    AHEAD = 8    /* rows: a strip's rows are d apart, which the processor does not foresee */
};

#if WMI_REAL_BITS == 32
typedef int32_t whole;
#else
typedef int64_t whole;
#endif

typedef struct dims {
    int64_t rows, d; /* d splines, each for all rows */
    int64_t bins, stride, strips;
    bool inverse;
} dims;

static dims dims_of(const wmi_node *nd)
{
    const wmi_shape *knots = &nd->in[1]->shape;
    dims z = {.stride = knots->dim[knots->rank - 1]};

    z.bins = z.stride / 3 - 1;
    z.d = nd->in[1]->n / z.stride;
    z.rows = z.d ? nd->in[0]->n / z.d : 0;
    z.strips = (z.d + LANES - 1) / LANES;
    z.inverse = ((const wmi_rq_spline_attr *)nd->attr)->inverse;
    return z;
}

/* The strip's columns: where the table of each lane begins. Lanes beyond the last column repeat it.
 */
typedef struct strip {
    const real *table;
    int64_t first, cols;
    whole begin[LANES];
} strip;

static strip strip_at(const wmi_node *nd, const dims *z, int64_t s)
{
    strip o = {.first = s * LANES};

    o.table = (const real *)nd->in[1]->val + o.first * z->stride;
    o.cols = z->d - o.first < LANES ? z->d - o.first : LANES;
    for (int64_t c = 0; c < LANES; c++)
        o.begin[c] = (whole)((c < o.cols ? c : o.cols - 1) * z->stride);
    return o;
}

/* One row of a strip. */
typedef struct row {
    _Alignas(64) real x[LANES];      /* as it came */
    _Alignas(64) real in[LANES];     /* clipped into the knots */
    _Alignas(64) real inside[LANES]; /* 1, or 0 in the tails */
    _Alignas(64) whole at[LANES];    /* where the lower knot of its bin stands in the table */
    /* the bin's ends: positions and slopes */
    _Alignas(64) real x0[LANES], x1[LANES], y0[LANES], y1[LANES], d0[LANES], d1[LANES];
} row;

/* The bin is the last one whose lower knot is not above x: the range [at, at + length) that holds
 * it is halved for all lanes alike. NaN stays in the first bin. */
static inline __attribute__((always_inline)) void locate(const dims *z, const strip *o,
                                                         bool inverse, const real *x, row *r)
{
    const whole part = inverse ? (whole)(z->bins + 1) : 0; /* positions y */
    const real *table = o->table + part;
    _Alignas(64) real low[LANES], high[LANES];

    if (o->cols == LANES)
        memcpy(r->x, x, sizeof r->x);
    else
        for (int64_t c = 0; c < LANES; c++)
            r->x[c] = x[c < o->cols ? c : o->cols - 1];
    for (int c = 0; c < LANES; c++) {
        low[c] = table[o->begin[c]];
        high[c] = table[o->begin[c] + (whole)z->bins];
        r->at[c] = o->begin[c];
    }
#pragma omp simd
    for (int c = 0; c < LANES; c++) {
        const real v = r->x[c];

        r->in[c] = v < low[c] ? low[c] : v > high[c] ? high[c] : v;
        r->inside[c] = v < low[c] || v > high[c] ? R(0.0) : R(1.0);
    }
    for (whole length = (whole)z->bins; length > 1; length -= length / 2) {
        const whole half = length / 2;

#pragma omp simd
        for (int c = 0; c < LANES; c++) {
            const whole mid = r->at[c] + half;

            r->at[c] = r->in[c] >= table[mid] ? mid : r->at[c];
        }
    }
    for (int c = 0; c < LANES; c++) {
        const real *at = o->table + r->at[c], *y = at + z->bins + 1, *slope = y + z->bins + 1;

        r->x0[c] = at[0];
        r->x1[c] = at[1];
        r->y0[c] = y[0];
        r->y1[c] = y[1];
        r->d0[c] = slope[0];
        r->d1[c] = slope[1];
    }
}

/* A point in its bin. */
typedef struct point {
    real x0, x1, y0, y1;
    real w, h, s, p, q;
    real t, u, share, D, E; /* share: N / D */
} point;

static inline __attribute__((always_inline)) point point_at(const row *r, int c, bool inverse)
{
    const real in = r->in[c];
    point o = {.x0 = r->x0[c], .x1 = r->x1[c], .y0 = r->y0[c], .y1 = r->y1[c]};
    real t, tu;

    o.w = o.x1 - o.x0;
    o.h = o.y1 - o.y0;
    o.s = o.h / o.w;
    o.p = r->d0[c] / o.s;
    o.q = r->d1[c] / o.s;
    if (inverse) {
        const real f = (in - o.y0) / o.h, v = 1 - f, e = o.p * v - o.q * f, b = e + 2 * f;
        const real root = sqrt(e * e + 4 * f * v);

        t = b >= 0 ? 2 * f / (b + root) : (root - b) / (2 - 2 * b);
    } else {
        t = (in - o.x0) / o.w;
    }
    o.t = t < 0 ? R(0.0) : t > 1 ? R(1.0) : t;
    o.u = 1 - o.t;
    tu = o.t * o.u;
    o.D = o.t * o.t + o.u * o.u + (o.p + o.q) * tu;
    o.E = o.q * o.t * o.t + 2 * tu + o.p * o.u * o.u;
    o.share = (o.t * o.t + o.p * tu) / o.D;
    return o;
}

static void prefetch(const real *x, int64_t cols)
{
    __builtin_prefetch(x);
    __builtin_prefetch(x + cols - 1);
}

static inline __attribute__((always_inline)) void forward_rows(const wmi_node *nd, const dims *z,
                                                               const strip *o, int64_t begin,
                                                               int64_t end, bool inverse)
{
    const real *x = (const real *)nd->in[0]->val + o->first;
    real *y = (real *)nd->val + o->first, *log_slope = y + z->rows * z->d;
    _Alignas(64) real out[LANES], log_out[LANES];
    row r;

    for (int64_t i = begin; i < end; i++) {
        if (i + AHEAD < end)
            prefetch(x + (i + AHEAD) * z->d, o->cols);
        locate(z, o, inverse, x + i * z->d, &r);
#pragma omp simd
        for (int c = 0; c < LANES; c++) {
            const point a = point_at(&r, c, inverse);
            const real v = inverse ? a.x0 + a.w * a.t : a.y0 + a.h * a.share;
            const real top = inverse ? a.x1 : a.y1, slope = a.s * a.E / (a.D * a.D);
            const real l = lane_log(slope);

            out[c] = r.inside[c] == 0 ? r.x[c] : v > top ? top : v;
            log_out[c] = r.inside[c] == 0 ? R(0.0) : inverse ? -l : l;
        }
        memcpy(y + i * z->d, out, (size_t)o->cols * sizeof(real));
        memcpy(log_slope + i * z->d, log_out, (size_t)o->cols * sizeof(real));
    }
}

static void forward(const wmi_node *nd)
{
    const dims z = dims_of(nd);
    const int64_t blocks = (z.rows + BLOCK - 1) / BLOCK, tasks = z.strips * blocks;

#pragma omp parallel for schedule(static)                                                          \
    num_threads(nd->run->threads) if (z.rows * z.d >= WMI_OMP_MIN)
    for (int64_t task = 0; task < tasks; task++) {
        const int64_t begin = task % blocks * BLOCK,
                      end = begin + BLOCK < z.rows ? begin + BLOCK : z.rows;
        const strip o = strip_at(nd, &z, task / blocks);

        if (z.inverse)
            forward_rows(nd, &z, &o, begin, end, true);
        else
            forward_rows(nd, &z, &o, begin, end, false);
    }
}

/* Gradients of one row: for the input, and for the knots at both ends of the bin. */
typedef struct slopes {
    _Alignas(64) real x[LANES], x0[LANES], x1[LANES], y0[LANES], y1[LANES], p[LANES], q[LANES];
} slopes;

/* gv and gl are the gradients of the two outputs. Forward, with l = log(s E / D^2):
 *     y depends on (t, p, q) through share, with d share/dt = E / D^2, d/dp = t u (1 - share) / D,
 *     d/dq = -t u share / D;   t = (x - x0) / w.
 * Inverse: at fixed share the same three say how t moves with p and q, and x = x0 + w t. */
static inline __attribute__((always_inline)) void
slopes_of(const row *r, bool inverse, const real *gv, const real *gl, slopes *g)
{
#pragma omp simd
    for (int c = 0; c < LANES; c++) {
        const point a = point_at(r, c, inverse);
        const real in = r->inside[c], v = in * gv[c], l = in * (inverse ? -gl[c] : gl[c]);
        const real over_D = 1 / a.D, over_E = 1 / a.E, over_s = a.w / a.h, tu = a.t * a.u;
        const real share_t = a.E * over_D * over_D, share_p = tu * (1 - a.share) * over_D;
        const real share_q = -tu * a.share * over_D, skew = 1 - 2 * a.t;
        const real l_t =
            2 * (a.q * a.t + skew - a.p * a.u) * over_E - 2 * (a.p + a.q - 2) * skew * over_D;
        const real l_p = a.u * a.u * over_E - 2 * tu * over_D;
        const real l_q = a.t * a.t * over_E - 2 * tu * over_D;
        const real g_t = l * l_t + (inverse ? v * a.w : v * a.h * share_t);
        const real g_share = inverse ? g_t / share_t : v * a.h; /* inverse: of (y - y0) / h */
        const real sign = inverse ? R(-1.0) : R(1.0);
        const real g_p = sign * g_share * share_p + l * l_p;
        const real g_q = sign * g_share * share_q + l * l_q;
        const real g_s = (l - g_p * a.p - g_q * a.q) * over_s; /* p = slope / s */
        const real g_in = inverse ? g_share / a.h : g_t / a.w;
        const real g_w = (inverse ? v * a.t : -g_in * a.t) - g_s * a.s / a.w;
        const real g_h = (inverse ? -g_in * a.share : v * a.share) + g_s / a.w;

        g->x[c] = in == 0 ? gv[c] : g_in;
        g->x0[c] = (inverse ? v : -g_in) - g_w;
        g->x1[c] = g_w;
        g->y0[c] = (inverse ? -g_in : v) - g_h;
        g->y1[c] = g_h;
        g->p[c] = g_p * over_s;
        g->q[c] = g_q * over_s;
    }
}

/* dknots is the strip's. In the tails everything added is zero. */
static void add_to_knots(const dims *z, const strip *o, const row *r, const slopes *g, real *dknots)
{
    for (int64_t c = 0; c < o->cols; c++) {
        real *x = dknots + r->at[c], *y = x + z->bins + 1, *slope = y + z->bins + 1;

        if (r->inside[c] == 0)
            continue;
        x[0] += g->x0[c];
        x[1] += g->x1[c];
        y[0] += g->y0[c];
        y[1] += g->y1[c];
        slope[0] += g->p[c];
        slope[1] += g->q[c];
    }
}

static inline __attribute__((always_inline)) void backward_rows(const wmi_node *nd, const dims *z,
                                                                const strip *o, int64_t begin,
                                                                int64_t end, bool inverse)
{
    const real *x = (const real *)nd->in[0]->val + o->first;
    const real *gv = (const real *)nd->grad + o->first, *gl = gv + z->rows * z->d;
    const size_t bytes = (size_t)o->cols * sizeof(real);
    real *dx = nd->in[0]->grad, *dknots = nd->in[1]->grad;
    _Alignas(64) real out_v[LANES] = {0}, out_l[LANES] = {0};
    slopes g;
    row r;

    dx = dx ? dx + o->first : NULL;
    dknots = dknots ? dknots + o->first * z->stride : NULL;
    if (dknots && nd->fresh & 2u)
        memset(dknots, 0, (size_t)(o->cols * z->stride) * sizeof(real));
    for (int64_t i = begin; i < end; i++) {
        if (i + AHEAD < end) {
            prefetch(x + (i + AHEAD) * z->d, o->cols);
            prefetch(gv + (i + AHEAD) * z->d, o->cols);
            prefetch(gl + (i + AHEAD) * z->d, o->cols);
        }
        locate(z, o, inverse, x + i * z->d, &r);
        memcpy(out_v, gv + i * z->d, bytes);
        memcpy(out_l, gl + i * z->d, bytes);
        slopes_of(&r, inverse, out_v, out_l, &g);
        if (dx && nd->fresh & 1u)
            memcpy(dx + i * z->d, g.x, bytes);
        else if (dx)
            for (int64_t c = 0; c < o->cols; c++)
                dx[i * z->d + c] += g.x[c];
        if (dknots)
            add_to_knots(z, o, &r, &g, dknots);
    }
}

/* A strip's knots are summed by one thread; without them a task is a block of rows. */
static void backward(const wmi_node *nd)
{
    const dims z = dims_of(nd);
    const int64_t step = nd->in[1]->grad ? z.rows : BLOCK;
    const int64_t blocks = z.rows ? (z.rows + step - 1) / step : 0, tasks = z.strips * blocks;

    if (z.rows == 0 && nd->in[1]->grad && nd->fresh & 2u)
        memset(nd->in[1]->grad, 0, (size_t)nd->in[1]->n * sizeof(real));
#pragma omp parallel for schedule(static)                                                          \
    num_threads(nd->run->threads) if (z.rows * z.d >= WMI_OMP_MIN)
    for (int64_t task = 0; task < tasks; task++) {
        const int64_t begin = task % blocks * step,
                      end = begin + step < z.rows ? begin + step : z.rows;
        const strip o = strip_at(nd, &z, task / blocks);

        if (z.inverse)
            backward_rows(nd, &z, &o, begin, end, true);
        else
            backward_rows(nd, &z, &o, begin, end, false);
    }
}

static wm_status infer(wmi_node *nd, wm_error *err)
{
    const wmi_shape *x = &nd->in[0]->shape, *knots = &nd->in[1]->shape;
    const int lead = x->rank - (knots->rank - 1);
    int64_t dim[WMI_MAX_RANK] = {2};

    if (knots->rank < 1 || lead < 0)
        return wmi_infer_fail(nd, err, "knots must have the last axes of x, and one more");
    for (int i = 0; i < knots->rank - 1; i++)
        if (knots->dim[i] != x->dim[lead + i])
            return wmi_infer_fail(nd, err, "knots must have the last axes of x, and one more");
    if (knots->dim[knots->rank - 1] < 6 || knots->dim[knots->rank - 1] % 3 != 0 ||
        knots->dim[knots->rank - 1] > INT32_MAX / LANES)
        return wmi_infer_fail(nd, err, "the last axis of knots must be 3 (K + 1) for K bins");
    if (x->rank + 1 > WMI_MAX_RANK)
        return wmi_infer_fail(nd, err, "x may have %d axes at most", WMI_MAX_RANK - 1);
    if (nd->in[0] == nd->in[1])
        return wmi_infer_fail(nd, err, "x and knots are the same node");
    memcpy(dim + 1, x->dim, (size_t)x->rank * sizeof *dim);
    return wmi_infer_set(nd, x->rank + 1, dim, err);
}

DEFINE_OP(rq_spline, .n_in = 2, .infer = infer, .forward = forward, .backward = backward,
          .keep = WMI_KEEP_IN(0) | WMI_KEEP_IN(1), .flags = WMI_OP_WRITES_FRESH);
