/* additive_tmpl.c - y_ki = sum over columns j of a cubic spline f_kj(x_kij).
 *
 * x (m or 1, n, d), coef (m, d, b), knots (d, b + 4) -> y (m, n). f_kj = sum_r coef_kjr N_jr with
 * the cubic B-splines N_jr on the knots of column j (de Boor); at a point four of them are not
 * zero. x is clamped to [knot 3, knot b], so the tails are constant and the head is bounded.
 *
 * Between neighbouring knots each of the four is a cubic in w = (x - left) / length, w in [0, 1]. A
 * first pass turns the recursion of Cox and de Boor into those 4 x 4 coefficients, which are shared
 * by all rows and bridges; after that a point costs no division, and its four values stand in one
 * vector:
 *     N = ((P3 w + P2) w + P1) w + P0,  y += N . coef[span .. span + 3],  dcoef[span ..] += dy N.
 * Columns are worked on in strips of COLS, so that the tables of a strip stay in L1 for all rows,
 * and rows in tiles, so that N is computed once for all bridges where they share x.
 * Cost for each point: about b / 8 vector instructions to find the span, four multiply-adds for N
 * (once for shared x), one for each bridge. */
#include <math.h>
#include <omp.h>
#include <string.h>

#include "engine/infer.h"
#include "engine/ops.h"
#include "engine/real.h"

enum {
    COLS = 16,        /* of a strip: whole vectors for every instruction set */
    ROWS = 32,        /* of a tile: 8 kB of N in float */
    BLOCK = 1024,     /* rows of a task where rows are independent */
    MAX_PARTS = 32,   /* column sums of y that are made apart and combined in order */
    LINEAR_SPANS = 48 /* up to here comparing with every knot beats bisection */
};

/* Four reals, as one or two registers. */
typedef real quad __attribute__((vector_size(4 * WMI_REAL_BITS / 8), may_alias));
typedef real quad_u
    __attribute__((vector_size(4 * WMI_REAL_BITS / 8), aligned(WMI_REAL_BITS / 8), may_alias));
#if WMI_REAL_BITS == 32
typedef int32_t whole;
#else
typedef int64_t whole;
#endif
typedef whole vwhole __attribute__((vector_size(WMI_VBYTES), may_alias));

typedef struct dims {
    int64_t m, groups, n, d, b;
    int64_t spans;           /* b - 3 intervals between knot 3 and knot b */
    int64_t strips;          /* of COLS columns, the last one filled up */
    int64_t parts, per_part; /* parts of y, and strips in each */
} dims;

/* What the knots determine; columns beyond d are zero. */
typedef struct tables {
    real *poly; /* (strips * COLS, spans, 4 powers of w, 4 functions) */
    real *ends; /* (strips * COLS, spans, 2): left end and 1 / length */
    real *knot; /* (strips, spans + 1, COLS): knots 3 .. b, a strip side by side */
} tables;

/* A strip of up to ROWS rows. */
typedef struct tile {
    _Alignas(64) real basis[ROWS * COLS * 4]; /* N at every point */
    _Alignas(64) real slope[ROWS * COLS * 4]; /* dN / dx, 0 in the tails */
    _Alignas(64) whole span[ROWS * COLS];
} tile;

static dims dims_of(const wmi_node *nd)
{
    const wmi_shape *x = &nd->in[0]->shape, *coef = &nd->in[1]->shape;
    dims z = {.m = coef->dim[0],
              .groups = x->dim[0],
              .n = x->dim[1],
              .d = x->dim[2],
              .b = coef->dim[2],
              .spans = coef->dim[2] - 3};

    z.strips = (z.d + COLS - 1) / COLS;
    z.per_part = z.strips ? (z.strips + MAX_PARTS - 1) / MAX_PARTS : 1;
    z.parts = (z.strips + z.per_part - 1) / z.per_part;
    return z;
}

static size_t table_bytes(const dims *z)
{
    const int64_t padded = z->strips * COLS;
    return (size_t)(padded * z->spans * (16 + 2) + padded * (z->spans + 1)) * sizeof(real);
}

static tables tables_at(const dims *z, void *memory)
{
    const int64_t padded = z->strips * COLS;
    tables t = {.poly = memory};

    t.ends = t.poly + padded * z->spans * 16;
    t.knot = t.ends + padded * z->spans * 2;
    return t;
}

/* The four B-splines between knots t[0] and t[1] as cubics of w. N0 .. N3 are those that start at
 * t[-3] .. t[0]; N2 is what is missing to 1. An empty span (a repeated knot) is never looked up,
 * but must stay finite: there all ratios are 0. */
static void span_cubics(const real *t, real *restrict poly, real *restrict ends)
{
    const real h = t[1] - t[0], some = h > 0 ? h : R(0.0);
    const real safe = h > 0 ? R(0.0) : R(1.0); /* no division by 0 */
    const real a = some / (t[1] - t[-1] + safe), b = some / (t[2] - t[0] + safe);
    const real c = some / (t[1] - t[-2] + safe), d = some / (t[2] - t[-1] + safe);
    const real e = some / (t[3] - t[0] + safe);
    const real g = h > 0 ? (t[2] - t[0]) / (t[2] - t[-1]) : R(0.0);
    const real n0[4] = {c * a, -3 * c * a, 3 * c * a, -c * a};
    const real n1[4] = {a * (1 - c) + g * (1 - a), a * (3 * c - 2) + 2 * a * g - d * (1 - a),
                        a * (1 - 3 * c) - g * (a + b) - 2 * a * d, a * c + d * (a + b)};
    const real n3[4] = {0, 0, 0, e * b};

    for (int p = 0; p < 4; p++) {
        poly[4 * p + 0] = n0[p];
        poly[4 * p + 1] = n1[p];
        poly[4 * p + 2] = (p == 0 ? R(1.0) : R(0.0)) - n0[p] - n1[p] - n3[p];
        poly[4 * p + 3] = n3[p];
    }
    ends[0] = t[0];
    ends[1] = h > 0 ? 1 / h : R(0.0);
}

static void make_tables(const wmi_node *nd, const dims *z, const tables *t)
{
    const real *knots = nd->in[2]->val; /* (d, b + 4) */
    const int64_t padded = z->strips * COLS;

#pragma omp parallel for schedule(static)                                                          \
    num_threads(nd->run->threads) if (padded * z->spans * 16 >= WMI_OMP_MIN)
    for (int64_t j = 0; j < padded; j++) {
        real *poly = t->poly + j * z->spans * 16, *ends = t->ends + j * z->spans * 2;
        real *side = t->knot + (j / COLS) * (z->spans + 1) * COLS + j % COLS;

        if (j >= z->d) {
            memset(poly, 0, (size_t)(z->spans * 16) * sizeof(real));
            memset(ends, 0, (size_t)(z->spans * 2) * sizeof(real));
        }
        for (int64_t s = 0; s < z->spans && j < z->d; s++)
            span_cubics(knots + j * (z->b + 4) + 3 + s, poly + 16 * s, ends + 2 * s);
        for (int64_t s = 0; s <= z->spans; s++)
            side[s * COLS] = j < z->d ? knots[j * (z->b + 4) + 3 + s] : R(0.0);
    }
}

/* lane by lane: yes where mask is set, else no */
static inline __attribute__((always_inline)) vreal choose(vwhole mask, vreal yes, vreal no)
{
    return (vreal)((mask & (vwhole)yes) | (~mask & (vwhole)no));
}

/* Clamps one row of a strip and finds its spans: the number of inner knots at or below x, so that x
 * at the right end lies in the last span. slack is 0 in the tails, else 1. NaN passes through. */
static void find_spans(const dims *z, const real *knot, const real *x, real *restrict clamped,
                       real *restrict slack, whole *restrict span)
{
    for (int c = 0; c < COLS; c += VL) {
        const vreal v = vload(x + c), low = vload(knot + c),
                    high = vload(knot + z->spans * COLS + c);
        const vwhole under = v<low, over = v> high;
        const vreal in = choose(under, low, choose(over, high, v));
        vwhole count = {0};

        vstore(clamped + c, in);
        vstore(slack + c, choose(under | over, vsplat(0), vsplat(1)));
        if (z->spans <= LINEAR_SPANS) {
            for (int64_t s = 1; s < z->spans; s++)
                count -= in >= vload(knot + s * COLS + c);
        } else {
            for (int l = 0; l < VL; l++) {
                int64_t low_s = 0, high_s = z->spans; /* knot low_s <= x < knot high_s */

                while (high_s - low_s > 1) {
                    const int64_t mid = (low_s + high_s) / 2;

                    if (in[l] >= knot[mid * COLS + c + l])
                        low_s = mid;
                    else
                        high_s = mid;
                }
                count[l] = (whole)low_s;
            }
        }
        memcpy(span + c, &count, sizeof count);
    }
}

/* Rows of a strip are d apart, which the processor's own prefetcher does not foresee: without this,
 * most of the time is spent waiting for x. */
static void prefetch(const real *x, int64_t rows, int64_t cols, int64_t d)
{
    for (int64_t i = 0; i < rows; i++) {
        __builtin_prefetch(x + i * d);
        __builtin_prefetch(x + i * d + cols - 1);
    }
}

/* N, and with slopes dN/dx, for rows of x (row stride d) in one strip. */
static void fill_tile(const dims *z, const tables *t, int64_t strip, const real *x, int64_t rows,
                      bool slopes, tile *o)
{
    const int64_t cols = z->d - strip * COLS < COLS ? z->d - strip * COLS : COLS;
    const real *poly = t->poly + strip * COLS * z->spans * 16;
    const real *ends = t->ends + strip * COLS * z->spans * 2;
    const real *knot = t->knot + strip * (z->spans + 1) * COLS;
    real padded[COLS] = {0}, clamped[COLS], slack[COLS];

    prefetch(x + strip * COLS, rows, cols, z->d);
    for (int64_t i = 0; i < rows; i++) {
        const real *row = x + i * z->d + strip * COLS;
        whole *span = o->span + i * COLS;

        if (cols < COLS) { /* the vectors of find_spans() must not run past the end of x */
            memcpy(padded, row, (size_t)cols * sizeof(real));
            row = padded;
        }
        find_spans(z, knot, row, clamped, slack, span);
        for (int64_t c = 0; c < cols; c++) {
            const real *end = ends + (c * z->spans + span[c]) * 2;
            const quad *p = (const quad *)(poly + (c * z->spans + span[c]) * 16);
            const real w = (clamped[c] - end[0]) * end[1];

            *(quad *)(o->basis + (i * COLS + c) * 4) = ((p[3] * w + p[2]) * w + p[1]) * w + p[0];
            if (slopes)
                *(quad *)(o->slope + (i * COLS + c) * 4) =
                    ((3 * w * p[3] + 2 * p[2]) * w + p[1]) * (end[1] * slack[c]);
        }
    }
}

/* out[i] (+)= sum over the strip's columns of N . coef, for one bridge; coef is the strip's. */
static void strip_sums(const dims *z, const tile *o, int64_t cols, int64_t rows, const real *coef,
                       bool add, real *out)
{
    for (int64_t i = 0; i < rows; i++) {
        const quad *basis = (const quad *)(o->basis + i * COLS * 4);
        const whole *span = o->span + i * COLS;
        quad even = {0}, odd = {0}; /* two chains, or the adder's latency would set the pace */
        int64_t c = 0;

        for (; c + 2 <= cols; c += 2) {
            even += basis[c] * *(const quad_u *)(coef + c * z->b + span[c]);
            odd += basis[c + 1] * *(const quad_u *)(coef + (c + 1) * z->b + span[c + 1]);
        }
        if (c < cols)
            even += basis[c] * *(const quad_u *)(coef + c * z->b + span[c]);
        even += odd;
        out[i] = (add ? out[i] : R(0.0)) + ((even[0] + even[1]) + (even[2] + even[3]));
    }
}

static int64_t strip_cols(const dims *z, int64_t strip)
{
    return z->d - strip * COLS < COLS ? z->d - strip * COLS : COLS;
}

/* A thread's G: gradients for the coefficients of one strip, (bridges, COLS, spans, 4). Each span
 * has four sums of its own, added up in the end: neighbouring spans would otherwise write
 * overlapping vectors, and the processor would wait for each store. */
static int64_t sums_size(const dims *z)
{
    return (z->groups == 1 ? z->m : 1) * COLS * z->spans * 4;
}

static size_t scratch(const wmi_node *nd, wmi_phase phase)
{
    const dims z = dims_of(nd);

    if (phase == WMI_BACKWARD)
        return (size_t)nd->run->threads * (size_t)sums_size(&z) * sizeof(real);
    return (nd->wants_grad ? 0 : table_bytes(&z)) + (size_t)(z.parts * z.m * z.n) * sizeof(real);
}

static size_t saved(const wmi_node *nd)
{
    const dims z = dims_of(nd);

    return table_bytes(&z);
}

static void forward(const wmi_node *nd)
{
    const dims z = dims_of(nd);
    const tables t = tables_at(&z, nd->wants_grad ? nd->saved : nd->scratch);
    const int64_t per_group = z.groups == 1 ? z.m : 1, blocks = (z.n + BLOCK - 1) / BLOCK;
    const int64_t tasks = z.parts * z.groups * blocks;
    const real *x = nd->in[0]->val, *coef = nd->in[1]->val;
    real *part_sums = (real *)nd->scratch + (nd->wants_grad ? 0 : table_bytes(&z) / sizeof(real));
    real *y = nd->val;

    make_tables(nd, &z, &t);
#pragma omp parallel for schedule(static)                                                          \
    num_threads(nd->run->threads) if (z.groups * z.n * z.d >= WMI_OMP_MIN)
    for (int64_t task = 0; task < tasks; task++) {
        const int64_t part = task / (z.groups * blocks), g = task / blocks % z.groups;
        const int64_t begin = task % blocks * BLOCK,
                      end = begin + BLOCK < z.n ? begin + BLOCK : z.n;
        const int64_t first = part * z.per_part;
        tile o;

        for (int64_t s = first; s < first + z.per_part && s < z.strips; s++)
            for (int64_t i = begin; i < end; i += ROWS) {
                const int64_t rows = end - i < ROWS ? end - i : ROWS;

                fill_tile(&z, &t, s, x + (g * z.n + i) * z.d, rows, false, &o);
                for (int64_t k = g; k < g + per_group; k++)
                    strip_sums(&z, &o, strip_cols(&z, s), rows, coef + (k * z.d + s * COLS) * z.b,
                               s > first, part_sums + (part * z.m + k) * z.n + i);
            }
    }
#pragma omp parallel for schedule(static)                                                          \
    num_threads(nd->run->threads) if (z.parts * nd->n >= WMI_OMP_MIN)
    for (int64_t i = 0; i < nd->n; i++) {
        double sum = 0;

        for (int64_t part = 0; part < z.parts; part++)
            sum += (double)part_sums[part * nd->n + i];
        y[i] = (real)sum;
    }
}

/* G of one bridge += dy N */
static void add_to_sums(const dims *z, const tile *o, int64_t cols, int64_t rows, const real *dy,
                        real *sums)
{
    for (int64_t i = 0; i < rows; i++)
        for (int64_t c = 0; c < cols; c++) {
            quad *sum = (quad *)(sums + (c * z->spans + o->span[i * COLS + c]) * 4);

            *sum += dy[i] * *(const quad *)(o->basis + (i * COLS + c) * 4);
        }
}

/* dcoef (cols, b) += G */
static void fold_sums(const dims *z, int64_t cols, const real *sums, real *dcoef)
{
    for (int64_t c = 0; c < cols; c++)
        for (int64_t s = 0; s < z->spans; s++)
            for (int r = 0; r < 4; r++)
                dcoef[c * z->b + s + r] += sums[(c * z->spans + s) * 4 + r];
}

/* dx += dN/dx . sum_k dy_k coef_k, for the bridges that share these rows. coef is the first
 * bridge's at this strip, dy its first row. */
static void add_slopes(const dims *z, const tile *o, int64_t cols, int64_t rows, int64_t bridges,
                       const real *coef, const real *dy, real *dx)
{
    for (int64_t i = 0; i < rows; i++)
        for (int64_t c = 0; c < cols; c++) {
            const real *at = coef + c * z->b + o->span[i * COLS + c];
            quad sum = {0};

            for (int64_t k = 0; k < bridges; k++)
                sum += dy[k * z->n + i] * *(const quad_u *)(at + k * z->d * z->b);
            sum *= *(const quad *)(o->slope + (i * COLS + c) * 4);
            dx[i * z->d + c] += (sum[0] + sum[1]) + (sum[2] + sum[3]);
        }
}

/* One strip and group of rows on one thread: each coefficient is summed in the order of rows.
 * Without coefficients to differentiate, rows are independent and a task is a block of them. */
static void backward(const wmi_node *nd)
{
    const dims z = dims_of(nd);
    const tables t = tables_at(&z, nd->saved);
    const real *x = nd->in[0]->val, *coef = nd->in[1]->val, *dy = nd->grad;
    real *dx = nd->in[0]->grad, *dcoef = nd->in[1]->grad;
    const int64_t per_group = z.groups == 1 ? z.m : 1, size = sums_size(&z);
    const int64_t step = dcoef ? z.n : BLOCK, blocks = z.n ? (z.n + step - 1) / step : 0;
    const int64_t tasks = z.strips * z.groups * blocks;

#pragma omp parallel for schedule(static)                                                          \
    num_threads(nd->run->threads) if (z.groups * z.n * z.d >= WMI_OMP_MIN)
    for (int64_t task = 0; task < tasks; task++) {
        const int64_t s = task / (z.groups * blocks), g = task / blocks % z.groups;
        const int64_t begin = task % blocks * step, end = begin + step < z.n ? begin + step : z.n;
        const int64_t cols = strip_cols(&z, s);
        real *sums = (real *)nd->scratch + omp_get_thread_num() * size;
        tile o;

        if (dcoef)
            memset(sums, 0, (size_t)size * sizeof(real));
        for (int64_t i = begin; i < end; i += ROWS) {
            const int64_t rows = end - i < ROWS ? end - i : ROWS;

            if (dx) /* needed last: on its way meanwhile */
                prefetch(dx + (g * z.n + i) * z.d + s * COLS, rows, cols, z.d);
            fill_tile(&z, &t, s, x + (g * z.n + i) * z.d, rows, dx, &o);
            for (int64_t k = 0; dcoef && k < per_group; k++)
                add_to_sums(&z, &o, cols, rows, dy + (g + k) * z.n + i,
                            sums + k * COLS * z.spans * 4);
            if (dx)
                add_slopes(&z, &o, cols, rows, per_group, coef + (g * z.d + s * COLS) * z.b,
                           dy + g * z.n + i, dx + (g * z.n + i) * z.d + s * COLS);
        }
        for (int64_t k = 0; dcoef && k < per_group; k++)
            fold_sums(&z, cols, sums + k * COLS * z.spans * 4,
                      dcoef + ((g + k) * z.d + s * COLS) * z.b);
    }
}

static unsigned keeps(const wmi_node *nd)
{
    return WMI_KEEP_IN(0) | (nd->in[0]->wants_grad ? WMI_KEEP_IN(1) : 0); /* knots: in saved */
}

static wm_status infer(wmi_node *nd, wm_error *err)
{
    const wmi_shape *x = &nd->in[0]->shape, *coef = &nd->in[1]->shape, *knots = &nd->in[2]->shape;

    if (x->rank != 3 || coef->rank != 3 || knots->rank != 2)
        return wmi_infer_fail(nd, err, "x and coefficients must be of rank 3, knots of rank 2");
    if (x->dim[0] != 1 && x->dim[0] != coef->dim[0])
        return wmi_infer_fail(nd, err, "x needs one group of rows, or one for each bridge");
    if (coef->dim[1] != x->dim[2] || knots->dim[0] != x->dim[2])
        return wmi_infer_fail(nd, err,
                              "coefficients and knots must have a row for each column of x");
    if (coef->dim[2] < 4)
        return wmi_infer_fail(nd, err, "a cubic spline has at least 4 coefficients");
    if (knots->dim[1] != coef->dim[2] + 4)
        return wmi_infer_fail(nd, err, "%lld coefficients need %lld knots", (long long)coef->dim[2],
                              (long long)coef->dim[2] + 4);
    return wmi_infer_set(nd, 2, (const int64_t[]){coef->dim[0], x->dim[1]}, err);
}

DEFINE_OP(additive, .n_in = 3, .infer = infer, .forward = forward, .backward = backward,
          .no_grad = 1u << 2, .keeps = keeps, .scratch = scratch, .saved = saved);
