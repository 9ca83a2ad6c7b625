/* gradient_layer_cases.h - cases of what networks are made of: images, flows, heads, invertible
 * maps, losses. */
#ifndef WM_TESTS_GRADIENT_LAYER_CASES_H
#define WM_TESTS_GRADIENT_LAYER_CASES_H

#include "engine/gradient_scene.h"

/* ---- cases: images ---- */

static wmi_node *conv_case(scene *s, int64_t h, int64_t w, int64_t ci, int64_t co, int64_t k,
                           int stride, double slope)
{
    wmi_node *x = any(s, DIMS(2, h, w, ci));
    return wmi_conv2d(s->g, x, any(s, DIMS(k, k, ci, co)), stride, slope);
}

BUILD(conv_3x3, conv_case(s, 4, 5, 3, 2, 3, 1, 1))
BUILD(conv_3x3_stride, conv_case(s, 5, 6, 2, 3, 3, 2, 1))
BUILD(conv_1x1, conv_case(s, 3, 4, 3, 5, 1, 1, 1))
BUILD(conv_1x1_stride, conv_case(s, 3, 5, 2, 3, 1, 2, 1))
BUILD(conv_slope, conv_case(s, 4, 4, 2, 2, 3, 1, 0.3))
BUILD(conv_slope_stride, conv_case(s, 4, 4, 2, 2, 3, 2, 0.3))
BUILD(conv_channels, conv_case(s, 4, 4, 8, 8, 3, 1, 0.3))
BUILD(conv_one_pixel, conv_case(s, 1, 1, 2, 3, 3, 1, 1))
BUILD(pool_average, wmi_pool2d(s->g, any(s, DIMS(2, 5, 3, 3)), false, 2))
BUILD(pool_average_three, wmi_pool2d(s->g, any(s, DIMS(1, 7, 6, 2)), false, 3))
BUILD(pool_max, wmi_pool2d(s->g, distinct(s, DIMS(2, 5, 4, 3)), true, 2))
BUILD(pool_max_three, wmi_pool2d(s->g, distinct(s, DIMS(1, 4, 7, 2)), true, 3))

/* |scale x| <= 1.44 and |residual| <= 1.2, so a shift of 3 or more keeps the sum off the kink. */
static wmi_node *scale_shift_case(scene *s, wmi_scale_shift_attr attr, bool per_channel,
                                  bool residual)
{
    const int64_t m = 2, rows = attr.expand ? 3 : 6;
    wmi_node *x, *scale, *shift;
    if (attr.pool == 2 || per_channel) {
        x = any(s, DIMS(rows, 3, 5, 2));
        scale = per_channel ? any(s, DIMS(m, 2)) : any(s, DIMS(m, 3, 5, 2));
        shift =
            per_channel ? either_sign(s, 3, 4, DIMS(m, 2)) : either_sign(s, 3, 4, DIMS(m, 3, 5, 2));
        return wmi_scale_shift(s->g, x, scale, shift, residual ? any(s, DIMS(6, 3, 5, 2)) : NULL,
                               attr);
    }
    x = any(s, DIMS(rows, 5));
    scale = any(s, DIMS(m, 5));
    shift = either_sign(s, 3, 4, DIMS(m, 5));
    return wmi_scale_shift(s->g, x, scale, shift, residual ? any(s, DIMS(6, 5)) : NULL, attr);
}

#define SCALE_SHIFT(name, slope, pool, expand, per_channel, residual)                              \
    BUILD(name,                                                                                    \
          scale_shift_case(s, (wmi_scale_shift_attr){slope, pool, expand}, per_channel, residual))
SCALE_SHIFT(scale_shift_plain, 1, 1, false, false, false)
SCALE_SHIFT(scale_shift_slope, 0.3, 1, false, false, false)
SCALE_SHIFT(scale_shift_relu, 0, 1, false, false, true)
SCALE_SHIFT(scale_shift_residual, 0.3, 1, false, false, true)
SCALE_SHIFT(scale_shift_expand, 0.3, 1, true, false, false)
SCALE_SHIFT(scale_shift_expand_residual, 0.3, 1, true, false, true)
SCALE_SHIFT(scale_shift_channel, 0.3, 1, false, true, true)
SCALE_SHIFT(scale_shift_channel_expand, 0.3, 1, true, true, false)
SCALE_SHIFT(scale_shift_pool, 1, 2, false, false, false)
SCALE_SHIFT(scale_shift_pool_residual, 1, 2, false, false, true)
SCALE_SHIFT(scale_shift_pool_channel, 1, 2, false, true, true)

static wmi_node *attention_plain(scene *s)
{
    wmi_node *q = any(s, DIMS(2, 5, 3)), *k = any(s, DIMS(2, 5, 3));
    return wmi_attention(s->g, q, k, any(s, DIMS(2, 5, 4)));
}

static wmi_node *attention_self(scene *s)
{
    wmi_node *x = any(s, DIMS(2, 4, 3));
    return wmi_attention(s->g, x, x, x);
}

/* ---- cases: flows ---- */

/* Six numbers and their splines of `bins` bins; raw values up to 1.2 bend them well away from the
 * identity, and no number is near a knot by chance of the seed. */
static wmi_node *rq_case(scene *s, double lo, double hi, int bins, bool inverse)
{
    wmi_node *x = either_sign(s, lo, hi, DIMS(3, 2)), *raw;
    raw = any(s, DIMS(3, 2 * (3 * bins - 1)));
    s->arg[s->n_args - 1].may_vanish = lo > 3 || bins == 1;
    return wmi_rq_coupling(s->g, x, raw, (wmi_rq_coupling_attr){bins, 3, inverse});
}

BUILD(rq_coupling_plain, rq_case(s, 0.1, 2.9, 5, false))
BUILD(rq_coupling_inverse, rq_case(s, 0.1, 2.9, 5, true))
BUILD(rq_coupling_outside, rq_case(s, 3.1, 6, 5, false))
BUILD(rq_coupling_inverse_outside, rq_case(s, 3.1, 6, 5, true))
BUILD(rq_coupling_one_bin, rq_case(s, 0.1, 2.9, 1, false))
BUILD(rq_coupling_two_bins, rq_case(s, 0.1, 2.9, 2, true))

/* 34 numbers: two tiles and a part of one. */
static wmi_node *rq_tiles(scene *s, bool inverse)
{
    wmi_node *x = either_sign(s, 0.1, 3.5, DIMS(17, 2));
    return wmi_rq_coupling(s->g, x, any(s, DIMS(17, 2 * 11)),
                           (wmi_rq_coupling_attr){4, 3, inverse});
}

BUILD(rq_coupling_tiles, rq_tiles(s, false))
BUILD(rq_coupling_inverse_tiles, rq_tiles(s, true))

static const double lu_sign[] = {1, -1, -1, 1}, lu_order[] = {2, 0, 3, 1};

static wmi_node *lu_case(scene *s, bool scaled)
{
    wmi_node *lu = any(s, DIMS(4, 4)), *log_diag = any(s, DIMS(4));
    wmi_node *scale = scaled ? any(s, DIMS(4)) : NULL, *sign = constant(s, lu_sign, DIMS(4));
    return wmi_lu_matrix(s->g, lu, log_diag, sign, constant(s, lu_order, DIMS(4)), scale);
}

BUILD(lu_matrix_plain, lu_case(s, false))
BUILD(lu_matrix_scaled, lu_case(s, true))

static wmi_node *edge_case(scene *s, int64_t kh, int64_t kw, int64_t h, int64_t w)
{
    wmi_node *taps = any(s, DIMS(kh, kw, 2));
    return wmi_edge_bias(s->g, taps, any(s, DIMS(2)), h, w);
}

BUILD(edge_bias_plain, edge_case(s, 3, 3, 4, 3))
BUILD(edge_bias_pixel, edge_case(s, 3, 3, 1, 1))
BUILD(edge_bias_flat, edge_case(s, 5, 3, 2, 4))

/* ---- cases: heads ---- */

static wmi_node *quadratic_case(scene *s, int64_t groups, wmi_quadratic_kind kind)
{
    wmi_node *x = any(s, DIMS(groups, 5, 4));
    return wmi_quadratic(s->g, x, either_sign(s, 1, 4, DIMS(3, 4, 4)), kind);
}

BUILD(quadratic_psd, quadratic_case(s, 3, WMI_QUADRATIC_PSD))
BUILD(quadratic_psd_shared, quadratic_case(s, 1, WMI_QUADRATIC_PSD))
BUILD(quadratic_symmetric, quadratic_case(s, 3, WMI_QUADRATIC_SYMMETRIC))
BUILD(quadratic_symmetric_shared, quadratic_case(s, 1, WMI_QUADRATIC_SYMMETRIC))
BUILD(quadratic_free, quadratic_case(s, 3, WMI_QUADRATIC_FREE))
BUILD(quadratic_free_shared, quadratic_case(s, 1, WMI_QUADRATIC_FREE))

static wmi_node *bilinear_case(scene *s, int64_t mu, int64_t mv)
{
    wmi_node *u = any(s, DIMS(mu, 5, 3)), *w = any(s, DIMS(3, 3, 4));
    return wmi_bilinear(s->g, u, w, any(s, DIMS(mv, 5, 4)));
}

BUILD(bilinear_plain, bilinear_case(s, 3, 3))
BUILD(bilinear_shared, bilinear_case(s, 1, 1))
BUILD(bilinear_shared_u, bilinear_case(s, 1, 3))
BUILD(bilinear_shared_v, bilinear_case(s, 3, 1))

static wmi_node *bilinear_twice(scene *s)
{
    wmi_node *u = any(s, DIMS(2, 5, 3));
    return wmi_bilinear(s->g, u, any(s, DIMS(2, 3, 3)), u);
}

/* Two columns, b = 5: the tails begin at knot 3 = -1 and knot 5 = 1. */
static const double knots[2][9] = {{-2.6, -2.1, -1.5, -1, 0.1, 1, 1.4, 1.9, 2.5},
                                   {-2.5, -2.0, -1.5, -1, -0.2, 1, 1.5, 2.0, 2.6}};

static wmi_node *additive_case(scene *s, int64_t groups, double lo, double hi)
{
    wmi_node *x = either_sign(s, lo, hi, DIMS(groups, 6, 2)), *coef;
    s->arg[s->n_args - 1].may_vanish = lo > 1;
    coef = any(s, DIMS(3, 2, 5));
    return wmi_additive(s->g, x, coef, constant(s, knots[0], DIMS(2, 9)));
}

BUILD(additive_plain, additive_case(s, 3, 0.01, 0.95))
BUILD(additive_shared, additive_case(s, 1, 0.01, 0.95))
BUILD(additive_tails, additive_case(s, 3, 1.05, 4))

/* ---- cases: invertible maps ---- */

static wmi_node *lower_plain(scene *s)
{
    wmi_node *below = any(s, DIMS(4, 4));
    return wmi_lower(s->g, below, any(s, DIMS(4)));
}

BUILD(rq_knots_plain, wmi_rq_knots(s->g, either_sign(s, 0, 3, DIMS(3, 14)), 2))
BUILD(rq_knots_many, wmi_rq_knots(s->g, either_sign(s, 0, 2, DIMS(2, 19, 8)), 3))
BUILD(rq_knots_one_bin, wmi_rq_knots(s->g, any(s, DIMS(2, 2)), 3))

static wmi_node *rq_knots_one(scene *s)
{
    wmi_node *nd = rq_knots_one_bin(s);
    last_may_vanish(s); /* one bin has nowhere to move */
    return nd;
}

/* Increasing knots in random places, for `splines` splines of `bins` bins on [-2, 2]; x_k and y_k
 * are 4 / bins apart but for a quarter of that, so that no step of a difference leaves a bin. */
static wmi_node *rq_knots_values(scene *s, int rank, const int64_t *dim, int64_t bins)
{
    wmi_node *nd = either_sign(s, 0, 0.25, rank, dim);
    argument *a = &s->arg[s->n_args - 1];
    for (int64_t i = 0; i < a->leaf->n; i++) {
        const int64_t j = i % (3 * (bins + 1)), k = j % (bins + 1);
        const bool end = k == 0 || k == bins;
        if (j < 2 * (bins + 1))
            a->x[i] = -2 + 4.0 / (double)bins * ((double)k + (end ? 0 : a->x[i]));
        else
            a->x[i] = end ? 1 : 0.3 + 8 * fabs(a->x[i]);
    }
    return nd;
}

/* x stays 0.01 clear of the ends, where the slope of the log-derivative jumps; within, it is kept
 * 1e-3 clear of knots, on both axes. */
static wmi_node *rq_spline_case(scene *s, int64_t bins, bool by_element, double lo, double hi,
                                bool inverse)
{
    const int64_t d = 19, stride = 3 * (bins + 1);
    wmi_node *x = either_sign(s, lo, hi, DIMS(3, d)), *at;
    argument *ax = &s->arg[s->n_args - 1], *ak;
    at = by_element ? rq_knots_values(s, DIMS(3, d, stride), bins)
                    : rq_knots_values(s, DIMS(d, stride), bins);
    ak = &s->arg[s->n_args - 1];
    ak->may_vanish = lo > 2;
    for (int64_t i = 0; i < 3 * d; i++) {
        const double *t = ak->x + (by_element ? i : i % d) * stride + (inverse ? bins + 1 : 0);
        for (int64_t k = 0; k <= bins; k++)
            if (fabs(ax->x[i] - t[k]) < 1e-3)
                ax->x[i] = t[k] + (k < bins ? 2e-3 : -2e-3);
    }
    return wmi_rq_spline(s->g, x, at, inverse);
}

BUILD(rq_spline_columns, rq_spline_case(s, 5, false, 0, 1.99, false))
BUILD(rq_spline_elements, rq_spline_case(s, 5, true, 0, 1.99, false))
BUILD(rq_spline_tails, rq_spline_case(s, 2, false, 2.01, 5, false))
BUILD(rq_spline_inverse_columns, rq_spline_case(s, 5, false, 0, 1.99, true))
BUILD(rq_spline_inverse_elements, rq_spline_case(s, 5, true, 0, 1.99, true))
BUILD(rq_spline_inverse_tails, rq_spline_case(s, 2, true, 2.01, 5, true))

/* ---- cases: losses ---- */

typedef wmi_node *bridge_loss(wmi_graph *g, wmi_node *s, wmi_node *weights, int64_t n_num);

static wmi_node *loss_plain(scene *s, bridge_loss *loss)
{
    return loss(s->g, either_sign(s, 0, 3, DIMS(3, 7)), NULL, 4);
}

static wmi_node *loss_weights(scene *s, bridge_loss *loss)
{
    wmi_node *score = either_sign(s, 0, 3, DIMS(3, 7));
    return loss(s->g, score, weights(s, DIMS(3, 7)), 3);
}

#define BRIDGE_LOSS(name)                                                                          \
    BUILD(name##_plain, loss_plain(s, wmi_##name##_loss))                                          \
    BUILD(name##_weights, loss_weights(s, wmi_##name##_loss))
BRIDGE_LOSS(logistic)
BRIDGE_LOSS(nwj)
BRIDGE_LOSS(lsq)

static const double labels[] = {0, 3, 1, 2, 2, 0};

static wmi_node *multinomial_plain(scene *s)
{
    wmi_node *score = any(s, DIMS(3, 6));
    return wmi_multinomial_loss(s->g, score, constant(s, labels, DIMS(6)), NULL);
}

static wmi_node *multinomial_weights(scene *s)
{
    wmi_node *score = any(s, DIMS(3, 6)), *label = constant(s, labels, DIMS(6));
    return wmi_multinomial_loss(s->g, score, label, weights(s, DIMS(6)));
}

#endif
