/* rq_knots_tmpl.c - free parameters of rational-quadratic splines into knots on [-bound, bound]
 * (Durkan et al. 2019, with the paper's floors).
 *
 * raw (..., 3K - 1): K widths, K heights, K - 1 slopes -> knots (..., 3(K + 1)): positions x_0 ..
 * x_K, positions y_0 .. y_K, slopes at them.
 *     width = softmax(raw) (2 bound - K floor) + floor,  x_k = -bound + the first k widths,
 *     slope = floor + softplus(raw + shift), 1 at both ends,
 * heights like widths. raw = 0 gives slopes of 1 and equal bins: the identity.
 *
 * Rows are short (23 numbers for 8 bins), so LANES of them are worked on side by side, transposed.
 * Cost for each number: one exp and one transposed copy each way. */
#include <math.h>
#include <omp.h>

#include "engine/infer.h"
#include "engine/ops.h"
#include "engine/ops/lane_math.h"

enum { LANES = 16 };
static const double FLOOR = 1e-3;
/* log(e^0.999 - 1): softplus of it is 0.999 */
static const double SHIFT = 0.539742417236952;

typedef struct sizes {
    int64_t rows, bins;
    int64_t in, out;      /* of a row: 3K - 1 and 3(K + 1) */
    double bound, spread; /* what softmax hands out: 2 bound - K floor */
} sizes;

static sizes sizes_of(const wmi_node *nd)
{
    const wmi_shape *raw = &nd->in[0]->shape;
    sizes z = {.in = raw->dim[raw->rank - 1]};

    z.bins = (z.in + 1) / 3;
    z.out = 3 * (z.bins + 1);
    z.rows = nd->in[0]->n / z.in;
    z.bound = ((const wmi_rq_knots_attr *)nd->attr)->bound;
    z.spread = 2 * z.bound - (double)z.bins * FLOOR;
    return z;
}

/* rows (count <= LANES, width) to lanes (width, LANES), and back. Lanes without a row are 0. */
static void to_lanes(const real *restrict rows, int64_t count, int64_t width, real *restrict lanes)
{
    for (int64_t j = 0; j < width; j++)
        for (int64_t l = 0; l < LANES; l++)
            lanes[j * LANES + l] = l < count ? rows[l * width + j] : R(0.0);
}

static void from_lanes(const real *restrict lanes, int64_t count, int64_t width, bool add,
                       real *restrict rows)
{
    for (int64_t l = 0; l < count; l++)
        for (int64_t j = 0; j < width; j++)
            rows[l * width + j] = (add ? rows[l * width + j] : R(0.0)) + lanes[j * LANES + l];
}

/* positions (K + 1) from raw (K), which is overwritten. The last one is bound itself, whatever the
 * sum rounds to. */
static void positions(const sizes *z, real *raw, real *at)
{
    real most[LANES];
    double sum[LANES] = {0}, scale[LANES], here[LANES];

    memcpy(most, raw, sizeof most);
    for (int64_t j = 1; j < z->bins; j++)
        for (int l = 0; l < LANES; l++)
            most[l] = raw[j * LANES + l] > most[l] ? raw[j * LANES + l] : most[l];
    for (int64_t j = 0; j < z->bins; j++)
#pragma omp simd
        for (int l = 0; l < LANES; l++) {
            const real e = lane_exp(raw[j * LANES + l] - most[l]);

            raw[j * LANES + l] = e;
            sum[l] += (double)e;
        }
    for (int l = 0; l < LANES; l++) {
        scale[l] = z->spread / sum[l];
        here[l] = -z->bound;
        at[l] = (real)here[l];
        at[z->bins * LANES + l] = (real)z->bound;
    }
    for (int64_t j = 0; j < z->bins - 1; j++)
        for (int l = 0; l < LANES; l++) {
            here[l] += (double)raw[j * LANES + l] * scale[l] + FLOOR;
            at[(j + 1) * LANES + l] = (real)here[l];
        }
}

static void slopes(const sizes *z, const real *raw, real *at)
{
    for (int l = 0; l < LANES; l++)
        at[l] = at[z->bins * LANES + l] = R(1.0);
#pragma omp simd
    for (int64_t i = 0; i < (z->bins - 1) * LANES; i++) {
        const real v = raw[i] + (real)SHIFT;

        at[LANES + i] = (v > 0 ? v : R(0.0)) + lane_log(1 + lane_exp(-fabs(v))) + (real)FLOOR;
    }
}

static size_t scratch(const wmi_node *nd, wmi_phase phase)
{
    const sizes z = sizes_of(nd);
    const int64_t lanes = phase == WMI_FORWARD ? z.in + z.out : z.in + 2 * z.out;

    return (size_t)nd->run->threads * (size_t)(lanes * LANES) * sizeof(real);
}

static void forward(const wmi_node *nd)
{
    const sizes z = sizes_of(nd);
    const int64_t blocks = (z.rows + LANES - 1) / LANES, part = (z.bins + 1) * LANES;

#pragma omp parallel for schedule(static) num_threads(nd->run->threads) if (nd->n >= WMI_OMP_MIN)
    for (int64_t b = 0; b < blocks; b++) {
        const int64_t left = z.rows - b * LANES, count = left < LANES ? left : LANES;
        real *raw = (real *)nd->scratch + omp_get_thread_num() * (z.in + z.out) * LANES;
        real *at = raw + z.in * LANES;

        to_lanes((const real *)nd->in[0]->val + b * LANES * z.in, count, z.in, raw);
        positions(&z, raw, at);
        positions(&z, raw + z.bins * LANES, at + part);
        slopes(&z, raw + 2 * z.bins * LANES, at + 2 * part);
        from_lanes(at, count, z.out, false, (real *)nd->val + b * LANES * z.out);
    }
}

/* The share of bin j is p_j = (width_j - floor) / spread, and its width moves all inner positions
 * to its right: with g_j the sum of their gradients, draw_j = spread p_j (g_j - sum p g). */
static void positions_back(const sizes *z, const real *at, const real *dat, real *draw)
{
    const real floor_ = (real)FLOOR, inverse = (real)(1 / z->spread);
    double right[LANES] = {0}, mean[LANES] = {0};

    for (int64_t j = z->bins - 1; j >= 0; j--)
        for (int l = 0; l < LANES; l++) {
            const int64_t i = j * LANES + l;
            const real width = at[i + LANES] - at[i] - floor_;

            right[l] += j + 1 < z->bins ? (double)dat[i + LANES] : 0.0;
            mean[l] += (double)(width * inverse) * right[l];
            draw[i] = (real)right[l];
        }
    for (int64_t j = 0; j < z->bins; j++)
        for (int l = 0; l < LANES; l++) {
            const int64_t i = j * LANES + l;

            draw[i] = (at[i + LANES] - at[i] - floor_) * (draw[i] - (real)mean[l]);
        }
}

/* d softplus(v) / dv = 1 - exp(-softplus(v)) */
static void slopes_back(const sizes *z, const real *at, const real *dat, real *draw)
{
#pragma omp simd
    for (int64_t i = 0; i < (z->bins - 1) * LANES; i++)
        draw[i] = dat[LANES + i] * (1 - lane_exp((real)FLOOR - at[LANES + i]));
}

static void backward(const wmi_node *nd)
{
    const sizes z = sizes_of(nd);
    const int64_t blocks = (z.rows + LANES - 1) / LANES, part = (z.bins + 1) * LANES;
    const bool fresh = nd->fresh & 1u;

    if (!nd->in[0]->grad)
        return;
#pragma omp parallel for schedule(static) num_threads(nd->run->threads) if (nd->n >= WMI_OMP_MIN)
    for (int64_t b = 0; b < blocks; b++) {
        const int64_t left = z.rows - b * LANES, count = left < LANES ? left : LANES;
        real *draw = (real *)nd->scratch + omp_get_thread_num() * (z.in + 2 * z.out) * LANES;
        real *at = draw + z.in * LANES, *dat = at + z.out * LANES;

        to_lanes((const real *)nd->val + b * LANES * z.out, count, z.out, at);
        to_lanes((const real *)nd->grad + b * LANES * z.out, count, z.out, dat);
        positions_back(&z, at, dat, draw);
        positions_back(&z, at + part, dat + part, draw + z.bins * LANES);
        slopes_back(&z, at + 2 * part, dat + 2 * part, draw + 2 * z.bins * LANES);
        from_lanes(draw, count, z.in, !fresh, (real *)nd->in[0]->grad + b * LANES * z.in);
    }
}

static wm_status infer(wmi_node *nd, wm_error *err)
{
    const wmi_shape *raw = &nd->in[0]->shape;
    const double bound = ((const wmi_rq_knots_attr *)nd->attr)->bound;
    wmi_shape out = *raw;
    int64_t bins;

    if (raw->rank < 1 || raw->dim[raw->rank - 1] < 2 || raw->dim[raw->rank - 1] % 3 != 2)
        return wmi_infer_fail(nd, err, "the last axis must be 3 K - 1 for K bins, K >= 1");
    bins = (raw->dim[raw->rank - 1] + 1) / 3;
    /* float tells positions 1e-3 apart from each other up to some thousands */
    if (!(bound > 0 && bound <= 1000) || !(2 * bound > (double)bins * FLOOR))
        return wmi_infer_fail(nd, err,
                              "%lld bins of %g at least do not fit into +-%g, or that is not in "
                              "(0, 1000]",
                              (long long)bins, FLOOR, bound);
    out.dim[out.rank - 1] = 3 * (bins + 1);
    return wmi_infer_set(nd, out.rank, out.dim, err);
}

DEFINE_OP(rq_knots, .n_in = 1, .infer = infer, .forward = forward, .backward = backward,
          .keep = WMI_KEEP_OUT, .flags = WMI_OP_WRITES_FRESH, .scratch = scratch);
