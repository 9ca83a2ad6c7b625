/* flow_maps_tmpl.c - the two small tables that a flow makes of its parameters once a run, before
 * they meet the rows: the matrix of an invertible linear map, and the bias of a convolution that
 * knows where the image ends. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "engine/infer.h"
#include "engine/ops.h"
#include "engine/real.h"

/* ---- lu_matrix: W = diag(exp(scale)) P L D, D = U + diag(sign exp(log_diag)) ----
 *
 * L has ones on its diagonal; its strict lower part and U's strict upper part lie in one (d, d)
 * array, whose diagonal is not read. P puts row order[i] of L D into row i. log |det W| is the sum
 * of log_diag and scale. */

enum { LU, LOG_DIAG, SIGN, ORDER, SCALE };

static wm_status lu_infer(wmi_node *nd, wm_error *err)
{
    const wmi_shape *lu = &nd->in[LU]->shape;
    if (nd->n_in != 4 && nd->n_in != 5)
        return wmi_infer_fail(nd, err, "takes lu, log_diag, sign, order and perhaps scale");
    if (lu->rank != 2 || lu->dim[0] != lu->dim[1])
        return wmi_infer_fail(nd, err, "lu must be (d, d)");
    for (int i = LOG_DIAG; i < nd->n_in; i++)
        if (nd->in[i]->shape.rank != 1 || nd->in[i]->shape.dim[0] != lu->dim[0])
            return wmi_infer_fail(nd, err, "input %d must have one number for each row of lu", i);
    return wmi_infer_same(nd, err);
}

static bool lu_is_large(const wmi_node *nd)
{
    return nd->n * nd->shape.dim[0] >= 16 * WMI_OMP_MIN;
}

/* The row of L D that row i of W is, or -1 where order names none. Averages of weights may leave an
 * order a rounding error away from a whole number. */
static int64_t lu_row(const wmi_node *nd, int64_t i)
{
    const real v = ((const real *)nd->in[ORDER]->val)[i];
    const real whole = floor(v + R(0.5));
    return whole >= 0 && whole < (real)nd->shape.dim[0] && fabs(v - whole) < R(0.01)
               ? (int64_t)whole
               : -1;
}

static real lu_factor(const wmi_node *nd, int64_t i)
{
    return nd->n_in > SCALE ? exp(((const real *)nd->in[SCALE]->val)[i]) : R(1.0);
}

static void lu_forward(const wmi_node *nd)
{
    const int64_t d = nd->shape.dim[0];
    const real *lu = nd->in[LU]->val, *log_diag = nd->in[LOG_DIAG]->val, *sign = nd->in[SIGN]->val;
    real *y = nd->val;
#pragma omp parallel for schedule(static) num_threads(nd->run->threads) if (lu_is_large(nd))
    for (int64_t i = 0; i < d; i++) {
        const int64_t r = lu_row(nd, i);
        const real f = lu_factor(nd, i);
        real *restrict w = y + i * d;
        for (int64_t j = 0; j < d; j++)
            w[j] = r < 0 ? (real)NAN : R(0.0);
        for (int64_t k = 0; k <= r; k++) {
            const real l = f * (k < r ? lu[r * d + k] : R(1.0));
            const real *restrict u = lu + k * d;
            w[k] += l * sign[k] * exp(log_diag[k]);
            for (int64_t j = k + 1; j < d; j++)
                w[j] += l * u[j];
        }
    }
}

/* With G the gradient of L D: dD[k][j] = sum_{r >= k} L[r][k] G[r][j], dL[r][k] = G[r] . D[k]. */
static void lu_gradient(const wmi_node *nd, const real *g)
{
    const int64_t d = nd->shape.dim[0];
    const real *lu = nd->in[LU]->val, *log_diag = nd->in[LOG_DIAG]->val, *sign = nd->in[SIGN]->val;
    real *dlu = nd->in[LU]->grad, *dlog = nd->in[LOG_DIAG]->grad;
#pragma omp parallel for schedule(static) num_threads(nd->run->threads) if (lu_is_large(nd))
    for (int64_t k = 0; k < d; k++) {
        const real diag = sign[k] * exp(log_diag[k]);
        real ddiag = g[k * d + k];
        for (int64_t r = k + 1; r < d; r++)
            ddiag += lu[r * d + k] * g[r * d + k];
        if (dlog)
            dlog[k] = (nd->fresh >> LOG_DIAG & 1u ? R(0.0) : dlog[k]) + diag * ddiag;
        if (!dlu)
            continue;
        if (nd->fresh >> LU & 1u)
            memset(dlu + k * d, 0, (size_t)d * sizeof *dlu);
        for (int64_t j = k + 1; j < d; j++) /* U: r = k, where L is 1 */
            dlu[k * d + j] += g[k * d + j];
        for (int64_t r = k + 1; r < d; r++)
            for (int64_t j = k + 1; j < d; j++)
                dlu[k * d + j] += lu[r * d + k] * g[r * d + j];
        for (int64_t c = 0; c < k; c++) { /* L: row k of it */
            real sum = g[k * d + c] * sign[c] * exp(log_diag[c]);
            for (int64_t j = c + 1; j < d; j++)
                sum += g[k * d + j] * lu[c * d + j];
            dlu[k * d + c] += sum;
        }
    }
}

static void lu_backward(const wmi_node *nd)
{
    const int64_t d = nd->shape.dim[0];
    const real *dy = nd->grad, *y = nd->val;
    real *dscale = nd->n_in > SCALE ? nd->in[SCALE]->grad : NULL, *g = nd->scratch; /* (d, d) */
    memset(g, 0, (size_t)nd->n * sizeof *g);
    for (int64_t i = 0; i < d; i++) {
        const int64_t r = lu_row(nd, i);
        const real f = lu_factor(nd, i);
        double sum = 0;
        for (int64_t j = 0; j < d && r >= 0; j++)
            g[r * d + j] += f * dy[i * d + j];
        for (int64_t j = 0; j < d && dscale; j++)
            sum += (double)dy[i * d + j] * (double)y[i * d + j];
        if (dscale)
            dscale[i] = (real)((nd->fresh >> SCALE & 1u ? 0.0 : (double)dscale[i]) + sum);
    }
    lu_gradient(nd, g);
}

static size_t lu_scratch(const wmi_node *nd, wmi_phase phase)
{
    return phase == WMI_BACKWARD ? (size_t)nd->n * sizeof(real) : 0;
}

/* ---- edge_bias: bias + the sum of those taps that fall outside the image, for every pixel ----
 *
 * What a convolution sees of a channel that is 1 on the padding and 0 inside. */

static wm_status edge_infer(wmi_node *nd, wm_error *err)
{
    const wmi_edge_bias_attr *at = nd->attr;
    const wmi_shape *w = &nd->in[0]->shape, *b = &nd->in[1]->shape;
    if (w->rank != 3 || w->dim[0] % 2 == 0 || w->dim[1] % 2 == 0)
        return wmi_infer_fail(nd, err, "taps must be (kh, kw, c), with kh and kw odd");
    if (b->rank != 1 || b->dim[0] != w->dim[2])
        return wmi_infer_fail(nd, err, "the bias does not fit the taps");
    if (at->h < 1 || at->w < 1)
        return wmi_infer_fail(nd, err, "an image of %" PRId64 " x %" PRId64, at->h, at->w);
    return wmi_infer_set(nd, 3, (const int64_t[]){at->h, at->w, b->dim[0]}, err);
}

/* Whether tap (ty, tx) at pixel (y, x) lies outside. */
static bool is_outside(const wmi_node *nd, int64_t y, int64_t x, int64_t ty, int64_t tx)
{
    const int64_t *k = nd->in[0]->shape.dim, *s = nd->shape.dim;
    const int64_t iy = y + ty - k[0] / 2, ix = x + tx - k[1] / 2;
    return iy < 0 || iy >= s[0] || ix < 0 || ix >= s[1];
}

static void edge_forward(const wmi_node *nd)
{
    const int64_t *k = nd->in[0]->shape.dim, *s = nd->shape.dim, c = s[2];
    const real *taps = nd->in[0]->val, *bias = nd->in[1]->val;
    real *out = nd->val;
    for (int64_t y = 0; y < s[0]; y++)
        for (int64_t x = 0; x < s[1]; x++) {
            real *restrict o = out + (y * s[1] + x) * c;
            memcpy(o, bias, (size_t)c * sizeof *o);
            for (int64_t ty = 0; ty < k[0]; ty++)
                for (int64_t tx = 0; tx < k[1]; tx++) {
                    const real *restrict t = taps + (ty * k[1] + tx) * c;
                    if (!is_outside(nd, y, x, ty, tx))
                        continue;
                    for (int64_t i = 0; i < c; i++)
                        o[i] += t[i];
                }
        }
}

static void edge_backward(const wmi_node *nd)
{
    const int64_t *k = nd->in[0]->shape.dim, *s = nd->shape.dim, c = s[2];
    const real *dy = nd->grad;
    real *dtaps = nd->in[0]->grad, *dbias = nd->in[1]->grad;
    if (dtaps && nd->fresh & 1u)
        memset(dtaps, 0, (size_t)nd->in[0]->n * sizeof *dtaps);
    if (dbias && nd->fresh & 2u)
        memset(dbias, 0, (size_t)c * sizeof *dbias);
    for (int64_t y = 0; y < s[0]; y++)
        for (int64_t x = 0; x < s[1]; x++) {
            const real *restrict g = dy + (y * s[1] + x) * c;
            for (int64_t i = 0; i < c && dbias; i++)
                dbias[i] += g[i];
            for (int64_t ty = 0; ty < k[0] && dtaps; ty++)
                for (int64_t tx = 0; tx < k[1]; tx++) {
                    real *restrict t = dtaps + (ty * k[1] + tx) * c;
                    if (!is_outside(nd, y, x, ty, tx))
                        continue;
                    for (int64_t i = 0; i < c; i++)
                        t[i] += g[i];
                }
        }
}

DEFINE_OP(lu_matrix, .n_in = -1, .infer = lu_infer, .forward = lu_forward, .backward = lu_backward,
          .no_grad = 1u << SIGN | 1u << ORDER,
          .keep = WMI_KEEP_IN(LU) | WMI_KEEP_IN(LOG_DIAG) | WMI_KEEP_IN(SIGN) | WMI_KEEP_IN(ORDER) |
                  WMI_KEEP_IN(SCALE) | WMI_KEEP_OUT,
          .flags = WMI_OP_WRITES_FRESH, .scratch = lu_scratch);
DEFINE_OP(edge_bias, .n_in = 2, .infer = edge_infer, .forward = edge_forward,
          .backward = edge_backward, .flags = WMI_OP_WRITES_FRESH);
