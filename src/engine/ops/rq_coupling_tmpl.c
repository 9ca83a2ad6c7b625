/* rq_coupling_tmpl.c - monotone rational-quadratic splines with parameters of their own for every
 * number, as in the couplings of a flow (Durkan et al. 2019, equations 4 to 8), from what the
 * network put out to y and log dy/dx in one pass.
 *
 * A number x has 3 K - 1 raw values: K widths and K heights of bins, through a softmax, and K - 1
 * slopes at the inner knots, through a softplus; raw values of 0 are the identity on [-bound,
 * bound]. Outside the spline is the identity. With bin k = [x_k, x_k + w] x [y_k, y_k + h], s = h /
 * w, xi = (x - x_k) / w and t = xi (1 - xi):
 *     y = y_k + h (s xi^2 + d_0 t) / D        D = s + (d_0 + d_1 - 2 s) t
 *     dy/dx = s^2 Q / D^2                     Q = d_1 xi^2 + 2 s t + d_0 (1 - xi)^2
 * The inverse solves the quadratic for xi, its discriminant held at 0 and xi in [0, 1], so that
 * rounding at a knot makes no NaN.
 *
 * LANES numbers are worked on side by side: their raw values are transposed into a tile on the
 * stack and every step is a loop over lanes. Backward does all of it again: a tile is cheaper to
 * make twice than to write and read. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "engine/infer.h"
#include "engine/ops.h"
#include "engine/ops/lane_math.h"

enum { LANES = 16, BINS = 64, RAW = 3 * BINS - 1 };

#define FLOOR R(1e-3) /* of a width, a height and a slope */
#define STEEPEST R(1e3)
#define SLOPE_SHIFT R(0.5397424172369522) /* log(exp(0.999) - 1): a raw slope of 0 is 1 */
#define EACH_LANE _Pragma("omp simd") for (int l = 0; l < LANES; l++)

/* Called with `inverse` a constant, so that no loop over lanes has a branch. */
#define SPECIAL inline __attribute__((always_inline))

typedef real lanes[LANES] __attribute__((aligned(64)));

typedef struct tile {
    lanes raw[RAW];                     /* afterwards, of widths and heights: their softmax */
    lanes x;                            /* what comes in, held in the interval */
    lanes inside;                       /* 1, or 0 for the identity */
    lanes xk, w, yk, h, d0, d1, r0, r1; /* of its bin; r0 and r1: raw slopes */
    lanes k, xi;                        /* number of the bin, place in it */
} tile;

/* ---- raw values between memory, number by number, and a tile, value by value ---- */

typedef real quad __attribute__((vector_size(4 * sizeof(real)), may_alias));
typedef real quad_u
    __attribute__((vector_size(4 * sizeof(real)), aligned(sizeof(real)), may_alias));

/* Four rows of four become four columns. */
static inline void turn(quad v[4])
{
    const quad a = __builtin_shufflevector(v[0], v[1], 0, 4, 1, 5);
    const quad b = __builtin_shufflevector(v[2], v[3], 0, 4, 1, 5);
    const quad c = __builtin_shufflevector(v[0], v[1], 2, 6, 3, 7);
    const quad d = __builtin_shufflevector(v[2], v[3], 2, 6, 3, 7);
    v[0] = __builtin_shufflevector(a, b, 0, 1, 4, 5);
    v[1] = __builtin_shufflevector(a, b, 2, 3, 6, 7);
    v[2] = __builtin_shufflevector(c, d, 0, 1, 4, 5);
    v[3] = __builtin_shufflevector(c, d, 2, 3, 6, 7);
}

/* n <= LANES numbers of `values` raw values; the lanes that are left repeat the first. */
static void read_tile(lanes *by_value, int64_t n, int64_t values, const real *raw)
{
    const int64_t whole = n == LANES ? values / 4 * 4 : 0;
    for (int64_t l = 0; l < LANES; l += 4)
        for (int64_t j = 0; j < whole; j += 4) {
            quad v[4];
            for (int i = 0; i < 4; i++)
                v[i] = *(const quad_u *)(raw + (l + i) * values + j);
            turn(v);
            for (int i = 0; i < 4; i++)
                *(quad *)(by_value[j + i] + l) = v[i];
        }
    for (int64_t j = whole; j < values; j++)
        for (int64_t l = 0; l < LANES; l++)
            by_value[j][l] = raw[(l < n ? l : 0) * values + j];
}

static void write_tile(lanes *by_value, int64_t n, int64_t values, real *raw, bool fresh)
{
    const int64_t whole = n == LANES ? values / 4 * 4 : 0;
    for (int64_t l = 0; l < LANES; l += 4)
        for (int64_t j = 0; j < whole; j += 4) {
            quad v[4];
            for (int i = 0; i < 4; i++)
                v[i] = *(const quad *)(by_value[j + i] + l);
            turn(v);
            for (int i = 0; i < 4; i++) {
                quad_u *to = (quad_u *)(raw + (l + i) * values + j);
                if (!fresh)
                    v[i] += *to;
                *to = v[i];
            }
        }
    for (int64_t j = whole; j < values; j++)
        for (int64_t l = 0; l < n; l++)
            raw[l * values + j] = (fresh ? R(0.0) : raw[l * values + j]) + by_value[j][l];
}

/* ---- the spline ---- */

static wm_status infer(wmi_node *nd, wm_error *err)
{
    const wmi_rq_coupling_attr *at = nd->attr;
    const wmi_shape *x = &nd->in[0]->shape, *raw = &nd->in[1]->shape;
    if (at->bins < 1 || at->bins > BINS)
        return wmi_infer_fail(nd, err, "%d bins, not 1 to %d", at->bins, BINS);
    if (!(at->bound > at->bins * 1e-3 && isfinite(at->bound)))
        return wmi_infer_fail(nd, err, "bound %g gives no interval for %d bins", at->bound,
                              at->bins);
    if (x->rank != 2 || raw->rank != 2 || raw->dim[0] != x->dim[0] ||
        raw->dim[1] != x->dim[1] * (3 * at->bins - 1))
        return wmi_infer_fail(nd, err, "wants x (rows, d) and raw values (rows, d * %d)",
                              3 * at->bins - 1);
    return wmi_infer_set(nd, 3, (const int64_t[]){2, x->dim[0], x->dim[1]}, err);
}

/* raw[at .. at + bins] become their softmax. */
static void softmax(tile *t, int at, int bins)
{
    lanes most, sum;
    EACH_LANE most[l] = t->raw[at][l];
    for (int j = 1; j < bins; j++)
        EACH_LANE most[l] = t->raw[at + j][l] > most[l] ? t->raw[at + j][l] : most[l];
    EACH_LANE sum[l] = 0;
    for (int j = at; j < at + bins; j++)
        EACH_LANE
        {
            const real e = lane_exp(t->raw[j][l] - most[l]);
            t->raw[j][l] = e;
            sum[l] += e;
        }
    EACH_LANE sum[l] = 1 / sum[l];
    for (int j = at; j < at + bins; j++)
        EACH_LANE t->raw[j][l] *= sum[l];
}

/* softplus of a raw slope, up to STEEPEST: far from its data a network may ask for slopes whose
 * squares float has no room for. */
static inline real slope_of(real r)
{
    const real v = r + SLOPE_SHIFT, small = lane_exp(v > 0 ? -v : v);
    const real slope = FLOOR + (v > 0 ? v : 0) + lane_log(1 + small);
    return slope < STEEPEST ? slope : STEEPEST;
}

static inline real slope_gradient(real r) /* of the above: a sigmoid */
{
    const real v = r + SLOPE_SHIFT, small = lane_exp(v > 0 ? -v : v);
    return (v > 0 ? (v < STEEPEST ? 1 : 0) : small) / (1 + small);
}

/* Transposes n <= LANES numbers and their raw values, and finds their bins: by x, or by y where
 * `by_y` says that x is one. */
static void load(tile *t, const wmi_rq_coupling_attr *at, int64_t n, const real *x, const real *raw,
                 bool by_y)
{
    const int bins = at->bins, values = 3 * bins - 1;
    const real bound = (real)at->bound, span = (real)(2 * at->bound - 1e-3 * at->bins);
    lanes left, low;
    read_tile(t->raw, n, values, raw);
    for (int64_t l = 0; l < LANES; l++)
        t->x[l] = x[l < n ? l : 0];
    softmax(t, 0, bins);
    softmax(t, bins, bins);
    EACH_LANE
    {
        const real v = t->x[l];
        t->inside[l] = v > -bound && v < bound ? 1 : 0; /* NaN is outside, and passes through */
        t->x[l] = v > -bound && v < bound ? v : 0;
        left[l] = low[l] = -bound;
        t->r0[l] = t->r1[l] = 0;
    }
    for (int j = 0; j < bins; j++) {
        const real *a = t->raw[2 * bins + (j > 0 ? j - 1 : 0)]; /* with one bin, not read */
        const real *b = t->raw[2 * bins + (j < bins - 1 ? j : j - 1)];
        EACH_LANE
        {
            const real w = FLOOR + span * t->raw[j][l], h = FLOOR + span * t->raw[bins + j][l];
            const bool here = j == 0 || t->x[l] >= (by_y ? low[l] : left[l]);
            t->xk[l] = here ? left[l] : t->xk[l];
            t->yk[l] = here ? low[l] : t->yk[l];
            t->w[l] = here ? w : t->w[l];
            t->h[l] = here ? h : t->h[l];
            t->k[l] = here ? (real)j : t->k[l];
            left[l] += w;
            low[l] += h;
        }
        if (bins > 1)
            EACH_LANE
            {
                t->r0[l] = t->k[l] == (real)j ? a[l] : t->r0[l];
                t->r1[l] = t->k[l] == (real)j ? b[l] : t->r1[l];
            }
    }
    EACH_LANE
    {
        t->d0[l] = t->k[l] == 0 ? 1 : slope_of(t->r0[l]);
        t->d1[l] = t->k[l] == (real)(bins - 1) ? 1 : slope_of(t->r1[l]);
    }
}

static inline real unit(real v)
{
    return v > 0 ? (v < 1 ? v : 1) : 0;
}

static void place_by_x(tile *t)
{
    EACH_LANE t->xi[l] = unit((t->x[l] - t->xk[l]) / t->w[l]);
}

static void place_by_y(tile *t)
{
    EACH_LANE
    {
        const real s = t->h[l] / t->w[l], v = t->x[l] - t->yk[l], m = t->d0[l] + t->d1[l] - 2 * s;
        const real a = t->h[l] * (s - t->d0[l]) + v * m, b = t->h[l] * t->d0[l] - v * m;
        const real c = -s * v, disc = b * b - 4 * a * c;
        t->xi[l] = unit(2 * c / (-b - sqrt(disc > 0 ? disc : 0)));
    }
}

/* y and log dy/dx, or for the inverse x and log dx/dy, of n numbers. */
static SPECIAL void evaluate(const tile *t, bool inverse, int64_t n, const real *x,
                             real *restrict y, real *restrict log_slope)
{
    lanes to, slope;
    EACH_LANE
    {
        const real s = t->h[l] / t->w[l], xi = t->xi[l], u = 1 - xi, p = xi * u;
        const real over = 1 / (s + (t->d0[l] + t->d1[l] - 2 * s) * p);
        const real q = t->d1[l] * xi * xi + 2 * s * p + t->d0[l] * u * u;
        const real f = lane_log(s * s * q * over * over);
        to[l] = inverse ? t->xk[l] + t->w[l] * xi
                        : t->yk[l] + t->h[l] * (s * xi * xi + t->d0[l] * p) * over;
        slope[l] = t->inside[l] != 0 ? (inverse ? -f : f) : 0;
    }
    for (int64_t l = 0; l < n; l++) {
        y[l] = t->inside[l] != 0 ? to[l] : x[l];
        log_slope[l] = slope[l];
    }
}

static void forward(const wmi_node *nd)
{
    const wmi_rq_coupling_attr *at = nd->attr;
    const int64_t n = nd->in[0]->n, values = 3 * at->bins - 1, tiles = (n + LANES - 1) / LANES;
    const real *x = nd->in[0]->val, *raw = nd->in[1]->val;
    real *y = nd->val;
#pragma omp parallel for schedule(static)                                                          \
    num_threads(nd->run->threads) if (n * values >= WMI_OMP_MIN)
    for (int64_t i = 0; i < tiles; i++) {
        const int64_t first = i * LANES, count = n - first < LANES ? n - first : LANES;
        tile t;
        load(&t, at, count, x + first, raw + first * values, at->inverse);
        if (at->inverse) {
            place_by_y(&t);
            evaluate(&t, true, count, x + first, y + first, y + n + first);
        } else {
            place_by_x(&t);
            evaluate(&t, false, count, x + first, y + first, y + n + first);
        }
    }
}

/* Gradients for x_k, w, y_k, h, the slopes, and x itself, from gu of the result and gv of its log
 * slope. The inverse is differentiated at its result x, by the implicit function theorem: with f'
 * and L = log f' there, dx = (dy - f_theta) / f' and its log slope is -L, so that it is the same
 * formulas with other gu and gv. */
typedef struct pulls {
    lanes xk, w, h, d0, d1, yk, x;
} pulls;

static SPECIAL void pull(const tile *t, bool inverse, const lanes gy, const lanes glog, pulls *g)
{
    EACH_LANE
    {
        const real w = t->w[l], h = t->h[l], s = h / w, d0 = t->d0[l], d1 = t->d1[l];
        const real xi = t->xi[l], u = 1 - xi, p = xi * u, turn = 1 - 2 * xi, in = t->inside[l];
        const real m = d0 + d1 - 2 * s, over = 1 / (s + m * p),
                   q = d1 * xi * xi + 2 * s * p + d0 * u * u;
        const real top = s * xi * xi + d0 * p, over_q = 1 / q;
        const real slope = s * s * q * over * over;
        /* of L: for xi and for s, d0, d1 at the same xi */
        const real l_xi = 2 * (d1 * xi + s * turn - d0 * u) * over_q - 2 * m * turn * over;
        const real l_s = 2 / s + 2 * p * over_q - 2 * (1 - 2 * p) * over;
        const real l_0 = u * u * over_q - 2 * p * over, l_1 = xi * xi * over_q - 2 * p * over;
        const real a = gy[l] - glog[l] * l_xi / w;
        const real gu = in * (inverse ? -a / slope : gy[l]),
                   gv = in * (inverse ? -glog[l] : glog[l]);
        const real y_s = h * (xi * xi - top * (1 - 2 * p) * over) * over;
        const real g_xi = gu * w * slope + gv * l_xi, g_s = gu * y_s + gv * l_s;
        const real outside = (1 - in) * gy[l];
        g->x[l] = outside + (inverse ? -gu : g_xi / w);
        g->xk[l] = -g_xi / w;
        g->w[l] = -(g_xi * xi + g_s * s) / w;
        g->yk[l] = gu;
        g->h[l] = gu * top * over + g_s / w;
        g->d0[l] = gu * h * p * (1 - top * over) * over + gv * l_0;
        g->d1[l] = -gu * h * top * p * over * over + gv * l_1;
    }
}

/* Through cumulative sum and softmax: raw[at .. at + bins], which holds the softmax, becomes the
 * gradient. The knot at the left of bin k is the sum of the widths before it. */
static void pull_softmax(tile *t, int at, int bins, real span, const lanes knot, const lanes size)
{
    lanes mean;
    EACH_LANE mean[l] = 0;
    for (int j = 0; j < bins; j++)
        EACH_LANE
        {
            const real g = (real)j < t->k[l] ? knot[l] : (real)j == t->k[l] ? size[l] : 0;
            mean[l] += t->raw[at + j][l] * g;
        }
    for (int j = 0; j < bins; j++)
        EACH_LANE
        {
            const real g = (real)j < t->k[l] ? knot[l] : (real)j == t->k[l] ? size[l] : 0;
            t->raw[at + j][l] *= span * (g - mean[l]);
        }
}

static void pull_raw(tile *t, const wmi_rq_coupling_attr *at, const pulls *g)
{
    const int bins = at->bins;
    const real span = (real)(2 * at->bound - 1e-3 * bins);
    lanes s0, s1;
    pull_softmax(t, 0, bins, span, g->xk, g->w);
    pull_softmax(t, bins, bins, span, g->yk, g->h);
    if (bins == 1)
        return;
    EACH_LANE
    {
        s0[l] = g->d0[l] * slope_gradient(t->r0[l]);
        s1[l] = g->d1[l] * slope_gradient(t->r1[l]);
    }
    for (int j = 0; j < bins - 1; j++) /* the slope between bins j and j + 1 */
        EACH_LANE t->raw[2 * bins + j][l] = t->k[l] == (real)j         ? s1[l]
                                            : t->k[l] == (real)(j + 1) ? s0[l]
                                                                       : 0;
}

static void backward(const wmi_node *nd)
{
    const wmi_rq_coupling_attr *at = nd->attr;
    const int64_t n = nd->in[0]->n, values = 3 * at->bins - 1, tiles = (n + LANES - 1) / LANES;
    const bool fresh_x = nd->fresh & 1u, fresh_raw = nd->fresh & 2u;
    const real *x = nd->in[0]->val, *raw = nd->in[1]->val, *dy = nd->grad;
    real *dx = nd->in[0]->grad, *draw = nd->in[1]->grad;
#pragma omp parallel for schedule(static)                                                          \
    num_threads(nd->run->threads) if (n * values >= WMI_OMP_MIN)
    for (int64_t i = 0; i < tiles; i++) {
        const int64_t first = i * LANES, count = n - first < LANES ? n - first : LANES;
        lanes gy = {0}, glog = {0};
        pulls g;
        tile t;
        load(&t, at, count, x + first, raw + first * values, at->inverse);
        for (int64_t l = 0; l < count; l++) {
            gy[l] = dy[first + l];
            glog[l] = dy[n + first + l];
        }
        if (at->inverse) {
            place_by_y(&t);
            pull(&t, true, gy, glog, &g);
        } else {
            place_by_x(&t);
            pull(&t, false, gy, glog, &g);
        }
        for (int64_t l = 0; l < count && dx; l++)
            dx[first + l] = (fresh_x ? R(0.0) : dx[first + l]) + g.x[l];
        if (!draw)
            continue;
        pull_raw(&t, at, &g);
        write_tile(t.raw, count, values, draw + first * values, fresh_raw);
    }
}

DEFINE_OP(rq_coupling, .n_in = 2, .infer = infer, .forward = forward, .backward = backward,
          .keep = WMI_KEEP_IN(0) | WMI_KEEP_IN(1), .flags = WMI_OP_WRITES_FRESH);
