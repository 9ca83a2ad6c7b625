/* gradient_cases.h - what test_gradients.c tests: for every operation of op_list.def, graphs of one
 * output and a few arguments. Several for shapes, settings and surroundings in which an op takes
 * another path. */
#ifndef WM_TESTS_GRADIENT_CASES_H
#define WM_TESTS_GRADIENT_CASES_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "check.h"
#include "engine/ops.h"
#include "engine/program.h"

enum { MAX_ARGS = 16 };

typedef enum surroundings { LEAVES, NODES, SHARED, SURROUNDINGS } surroundings;

typedef struct argument {
    char name[8];
    wmi_node *leaf;
    double *x; /* values, (leaf->n) */
    bool differentiated;
    bool may_vanish; /* its gradient may be zero everywhere */
    double *grad;    /* from the program, where differentiated */
} argument;

typedef struct scene {
    wmi_graph *g;
    wmi_program *p;
    surroundings around;
    argument arg[MAX_ARGS];
    int n_args;
    wmi_node *used[MAX_ARGS]; /* what the operation reads: the leaf, or a node after it */
    wmi_node *out, *loss;
    wm_error err;
} scene;

typedef struct test_case {
    const char *op, *label;
    wmi_node *(*build)(scene *s);
} test_case;

/* ---- arguments ---- */

#define DIMS(...)                                                                                  \
    (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), ((const int64_t[]){__VA_ARGS__})

static argument *new_argument(scene *s, int rank, const int64_t *dim)
{
    argument *a = &s->arg[s->n_args];
    assert_true(s->n_args < MAX_ARGS);
    snprintf(a->name, sizeof a->name, "a%d", s->n_args);
    a->leaf = wmi_input(s->g, a->name, rank, dim);
    assert_ok(wmi_graph_status(s->g, &s->err), s->err);
    a->x = calloc((size_t)a->leaf->n + 1, sizeof *a->x);
    assert_non_null(a->x);
    s->used[s->n_args++] = a->leaf;
    return a;
}

static wmi_rng stream(const scene *s)
{
    const wmi_rng rng = wmi_rng_make(20, "gradients");
    return wmi_rng_sub(&rng, (uint64_t)s->n_args);
}

/* What the operation gets to see of the argument made last. */
static wmi_node *hand_out(scene *s)
{
    argument *a = &s->arg[s->n_args - 1];
    a->differentiated = true;
    if (s->around != LEAVES)
        s->used[s->n_args - 1] = wmi_affine(s->g, a->leaf, 1, 0);
    return s->used[s->n_args - 1];
}

/* Magnitudes in [lo, hi] and random signs: away from the kink at 0. */
static wmi_node *either_sign(scene *s, double lo, double hi, int rank, const int64_t *dim)
{
    const wmi_rng rng = stream(s);
    argument *a = new_argument(s, rank, dim);
    for (int64_t i = 0; i < a->leaf->n; i++) {
        double u[2];
        wmi_rng_uniform_f64(&rng, 2 * (uint64_t)i, 2, u);
        a->x[i] = (lo + (hi - lo) * u[0]) * (u[1] < 0.5 ? -1 : 1);
    }
    return hand_out(s);
}

static wmi_node *any(scene *s, int rank, const int64_t *dim)
{
    return either_sign(s, 0.2, 1.2, rank, dim);
}

static wmi_node *positive(scene *s, int rank, const int64_t *dim)
{
    wmi_node *nd = either_sign(s, 0.5, 1.5, rank, dim);
    argument *a = &s->arg[s->n_args - 1];
    for (int64_t i = 0; i < a->leaf->n; i++)
        a->x[i] = fabs(a->x[i]);
    return nd;
}

/* Values 0.1 apart in random order: no two are near a tie, and none is near 0. */
static wmi_node *distinct(scene *s, int rank, const int64_t *dim)
{
    const wmi_rng rng = stream(s);
    argument *a = new_argument(s, rank, dim);
    int64_t *order = calloc((size_t)a->leaf->n, sizeof *order);
    assert_non_null(order);
    wmi_rng_permutation(&rng, a->leaf->n, order);
    for (int64_t i = 0; i < a->leaf->n; i++)
        a->x[i] = 0.1 * (double)(order[i] - a->leaf->n / 2) + 0.05;
    free(order);
    return hand_out(s);
}

/* Given values, no gradient: labels, indices, knots. */
static wmi_node *constant(scene *s, const double *x, int rank, const int64_t *dim)
{
    argument *a = new_argument(s, rank, dim);
    memcpy(a->x, x, (size_t)a->leaf->n * sizeof *x);
    return a->leaf;
}

/* Random, no gradient. */
static wmi_node *weights(scene *s, int rank, const int64_t *dim)
{
    wmi_node *nd;
    const surroundings around = s->around;
    s->around = LEAVES;
    nd = positive(s, rank, dim);
    s->around = around;
    s->arg[s->n_args - 1].differentiated = false;
    return nd;
}

static void last_may_vanish(scene *s)
{
    s->arg[s->n_args - 1].may_vanish = true;
}

/* A case whose output is one expression in the scene s. */
#define BUILD(name, ...)                                                                           \
    static wmi_node *name(scene *s)                                                                \
    {                                                                                              \
        return __VA_ARGS__;                                                                        \
    }

/* ---- cases: leaves and elementwise ---- */

BUILD(input_plain, any(s, DIMS(2, 3)))
BUILD(affine_plain, wmi_affine(s->g, any(s, DIMS(3, 5)), -1.7, 0.4))
BUILD(leaky_plain, wmi_leaky_relu(s->g, any(s, DIMS(7, 3)), 0.3))
BUILD(leaky_zero, wmi_relu(s->g, any(s, DIMS(7, 3))))
BUILD(tanh_plain, wmi_tanh(s->g, any(s, DIMS(11))))
BUILD(softplus_plain, wmi_softplus(s->g, either_sign(s, 0, 6, DIMS(17))))
BUILD(exp_plain, wmi_exp(s->g, any(s, DIMS(2, 2, 3))))
BUILD(log_plain, wmi_log(s->g, positive(s, DIMS(9))))

/* ---- cases: broadcasting ---- */

typedef wmi_node *binary(wmi_graph *g, wmi_node *a, wmi_node *b);

static wmi_node *same_shape(scene *s, binary *op)
{
    wmi_node *a = any(s, DIMS(3, 7));
    return op(s->g, a, positive(s, DIMS(3, 7)));
}

static wmi_node *second_is_suffix(scene *s, binary *op)
{
    wmi_node *a = any(s, DIMS(2, 3, 5));
    return op(s->g, a, positive(s, DIMS(5)));
}

static wmi_node *first_is_suffix(scene *s, binary *op)
{
    wmi_node *a = any(s, DIMS(3, 5));
    return op(s->g, a, positive(s, DIMS(2, 3, 5)));
}

static wmi_node *column(scene *s, binary *op)
{
    wmi_node *a = any(s, DIMS(4, 1));
    return op(s->g, a, positive(s, DIMS(4, 6)));
}

static wmi_node *scalar(scene *s, binary *op)
{
    wmi_node *a = any(s, DIMS(4, 3));
    return op(s->g, a, positive(s, 0, NULL));
}

static wmi_node *outer(scene *s, binary *op)
{
    wmi_node *a = any(s, DIMS(5, 1));
    return op(s->g, a, positive(s, DIMS(1, 4)));
}

static wmi_node *rank_six(scene *s, binary *op)
{
    wmi_node *a = any(s, DIMS(2, 1, 3, 1, 2, 1));
    return op(s->g, a, positive(s, DIMS(2, 1, 3, 2, 3)));
}

static wmi_node *twice(scene *s, binary *op)
{
    wmi_node *a = positive(s, DIMS(3, 4));
    return op(s->g, a, a);
}

#define BINARY(op)                                                                                 \
    BUILD(op##_same, same_shape(s, wmi_##op))                                                      \
    BUILD(op##_bias, second_is_suffix(s, wmi_##op))                                                \
    BUILD(op##_prefix, first_is_suffix(s, wmi_##op))                                               \
    BUILD(op##_column, column(s, wmi_##op))                                                        \
    BUILD(op##_scalar, scalar(s, wmi_##op))                                                        \
    BUILD(op##_outer, outer(s, wmi_##op))                                                          \
    BUILD(op##_six, rank_six(s, wmi_##op))
BINARY(add)
BINARY(sub)
BINARY(mul)
BINARY(div)

/* clang-format off */
#define BINARY_CASES(op)                                                                           \
    {#op, "same shape", op##_same},                                                                \
    {#op, "second is a suffix", op##_bias},                                                        \
    {#op, "first is a suffix", op##_prefix},                                                       \
    {#op, "column", op##_column},                                                                  \
    {#op, "scalar", op##_scalar},                                                                  \
    {#op, "outer", op##_outer},                                                                    \
    {#op, "rank 6", op##_six}
/* clang-format on */

BUILD(add_twice, twice(s, wmi_add))

static wmi_node *sub_twice(scene *s)
{
    wmi_node *nd = twice(s, wmi_sub);
    last_may_vanish(s);
    return nd;
}

BUILD(mul_twice, twice(s, wmi_mul))

static wmi_node *div_twice(scene *s)
{
    wmi_node *nd = twice(s, wmi_div);
    last_may_vanish(s);
    return nd;
}

/* Large enough that a bias gradient is summed in several chunks. */
static wmi_node *add_chunks(scene *s)
{
    wmi_node *a = weights(s, DIMS(9001, 2));
    return wmi_add(s->g, a, any(s, DIMS(2)));
}

static wmi_node *mul_chunks(scene *s)
{
    wmi_node *a = weights(s, DIMS(2, 9001));
    return wmi_mul(s->g, a, any(s, DIMS(2, 1)));
}

/* ---- cases: reductions ---- */

BUILD(sum_all, wmi_sum(s->g, any(s, DIMS(3, 4)), WMI_ALL_AXES))
BUILD(sum_first, wmi_sum(s->g, any(s, DIMS(3, 4, 2)), 1u << 0))
BUILD(sum_middle, wmi_sum(s->g, any(s, DIMS(3, 4, 5)), 1u << 1))
BUILD(sum_ends, wmi_sum(s->g, any(s, DIMS(3, 4, 5)), 1u << 0 | 1u << 2))
BUILD(sum_nothing, wmi_sum(s->g, any(s, DIMS(3, 4)), 0))
BUILD(sum_pool, wmi_global_sum_pool(s->g, any(s, DIMS(2, 3, 2, 3))))
BUILD(sum_mean, wmi_mean(s->g, any(s, DIMS(4, 5)), 1u << 1))
BUILD(logsumexp_plain, wmi_logsumexp(s->g, either_sign(s, 0, 3, DIMS(2, 3, 5))))
BUILD(softmax_plain, wmi_softmax(s->g, either_sign(s, 0, 2, DIMS(3, 5))))
BUILD(log_softmax_plain, wmi_log_softmax(s->g, either_sign(s, 0, 2, DIMS(3, 5))))

/* ---- cases: rearranging ---- */

BUILD(reshape_plain, wmi_reshape(s->g, any(s, DIMS(3, 4)), DIMS(2, 6)))

static wmi_node *reshape_shared(scene *s)
{
    wmi_node *x = any(s, DIMS(3, 4)), *h = wmi_tanh(s->g, x);
    wmi_node *a = wmi_reshape(s->g, h, DIMS(12)), *b = wmi_reshape(s->g, h, DIMS(4, 3));
    return wmi_mul(s->g, wmi_exp(s->g, a), wmi_reshape(s->g, wmi_affine(s->g, b, 2, 1), DIMS(12)));
}

BUILD(permute_transpose, wmi_permute(s->g, any(s, DIMS(5, 7)), (const int[]){1, 0}))
BUILD(permute_rows, wmi_permute(s->g, any(s, DIMS(3, 4, 5)), (const int[]){1, 0, 2}))
BUILD(permute_six,
      wmi_permute(s->g, any(s, DIMS(2, 3, 1, 2, 3, 2)), (const int[]){4, 2, 0, 5, 1, 3}))
BUILD(permute_identity, wmi_permute(s->g, any(s, DIMS(3, 4)), (const int[]){0, 1}))
BUILD(permute_large, wmi_permute(s->g, any(s, DIMS(37, 2, 35)), (const int[]){2, 1, 0}))
BUILD(slice_first, wmi_slice(s->g, any(s, DIMS(5, 3)), 0, 1, 4))
BUILD(slice_last, wmi_slice(s->g, any(s, DIMS(2, 3, 5)), 2, 2, 5))

static wmi_node *slice_two(scene *s)
{
    wmi_node *x = any(s, DIMS(2, 6));
    return wmi_mul(s->g, wmi_slice(s->g, x, 1, 0, 4), wmi_slice(s->g, x, 1, 2, 6));
}

static wmi_node *concat_first(scene *s)
{
    wmi_node *x[2];
    x[0] = any(s, DIMS(2, 3));
    x[1] = any(s, DIMS(1, 3));
    return wmi_concat(s->g, 2, x, 0);
}

static wmi_node *concat_middle(scene *s)
{
    wmi_node *x[3];
    x[0] = any(s, DIMS(2, 3, 2));
    x[1] = any(s, DIMS(2, 1, 2));
    x[2] = x[0];
    return wmi_concat(s->g, 3, x, 1);
}

static wmi_node *gather_repeats(scene *s)
{
    wmi_node *x = any(s, DIMS(4, 2, 3));
    return wmi_gather(s->g, x, constant(s, (const double[]){2, 0, 2, 1, 2}, DIMS(5)));
}

BUILD(squeeze_plain, wmi_squeeze2x2(s->g, any(s, DIMS(2, 4, 6, 3))))
BUILD(unsqueeze_plain, wmi_unsqueeze2x2(s->g, any(s, DIMS(2, 2, 3, 8))))
BUILD(dropout_training, wmi_dropout(s->g, any(s, DIMS(5, 9)), 0.4))

/* ---- cases: products ---- */

static wmi_node *matmul_plain(scene *s)
{
    wmi_node *a = any(s, DIMS(3, 4));
    return wmi_matmul(s->g, a, any(s, DIMS(4, 5)), false, false);
}

static wmi_node *matmul_transposed(scene *s)
{
    wmi_node *a = any(s, DIMS(4, 3));
    return wmi_matmul(s->g, a, any(s, DIMS(5, 4)), true, true);
}

static wmi_node *matmul_batch(scene *s)
{
    wmi_node *a = any(s, DIMS(2, 3, 4));
    return wmi_matmul(s->g, a, any(s, DIMS(2, 5, 4)), false, true);
}

static wmi_node *matmul_one_left(scene *s)
{
    wmi_node *a = any(s, DIMS(3, 4));
    return wmi_matmul(s->g, a, any(s, DIMS(2, 4, 5)), false, false);
}

static wmi_node *matmul_one_right(scene *s)
{
    wmi_node *a = any(s, DIMS(2, 4, 3));
    return wmi_matmul(s->g, a, any(s, DIMS(4, 5)), true, false);
}

static wmi_node *matmul_one_right_transposed(scene *s)
{
    wmi_node *a = any(s, DIMS(2, 3, 4));
    return wmi_matmul(s->g, a, any(s, DIMS(5, 4)), false, true);
}

static wmi_node *matmul_twice(scene *s)
{
    wmi_node *a = any(s, DIMS(4, 3));
    return wmi_matmul(s->g, a, a, true, false);
}

static wmi_node *dense_bias(scene *s)
{
    wmi_node *x = any(s, DIMS(3, 4)), *w = any(s, DIMS(4, 2));
    return wmi_dense(s->g, x, w, any(s, DIMS(2)));
}

/* Off the kinks: |x| >= 0.3, and |x W + b| <= 3 * 1.2 + 1.2, so that with scale and residual the
 * sum before the shift is at most 7. */
static wmi_node *dense_case(scene *s, int n_in, double pre_slope, double slope)
{
    const int64_t m = 2;
    wmi_node *x = either_sign(s, 0.3, 1, DIMS(6, 3)), *w = any(s, DIMS(3, 5));
    wmi_node *b = n_in == 3 ? either_sign(s, 5, 6, DIMS(5)) : any(s, DIMS(5));
    wmi_node *scale = n_in > 3 ? any(s, DIMS(m, 5)) : NULL;
    wmi_node *shift = n_in > 3 ? either_sign(s, 9, 10, DIMS(m, 5)) : NULL;
    wmi_node *residual = n_in > 5 ? any(s, DIMS(6, 5)) : NULL;

    return wmi_dense_layer(s->g, x, w, b, scale, shift, residual,
                           (wmi_dense_attr){pre_slope, slope});
}

BUILD(dense_plain, dense_case(s, 3, 1, 1))
BUILD(dense_slopes, dense_case(s, 3, 0.3, 0.2))
BUILD(dense_conditional, dense_case(s, 5, 1, 0.3))
BUILD(dense_residual, dense_case(s, 6, 0.3, 1))

/* x is also the residual. */
static wmi_node *dense_twice(scene *s)
{
    wmi_node *x = either_sign(s, 0.3, 1, DIMS(4, 3)), *w = any(s, DIMS(3, 3)), *b = any(s, DIMS(3));
    wmi_node *scale = any(s, DIMS(2, 3)), *shift = either_sign(s, 9, 10, DIMS(2, 3));

    return wmi_dense_layer(s->g, x, w, b, scale, shift, x, (wmi_dense_attr){0.3, 0.3});
}

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

/* ---- a node with several readers, of which each works differently ---- */

static wmi_node *many_readers(scene *s)
{
    wmi_node *h = wmi_tanh(s->g, any(s, DIMS(3, 4)));
    wmi_node *a = wmi_mul(s->g, h, wmi_exp(s->g, h));
    wmi_node *b = wmi_sub(s->g, wmi_softmax(s->g, h), wmi_affine(s->g, h, 2, 1));
    return wmi_add(s->g, wmi_add(s->g, a, b), wmi_leaky_relu(s->g, h, 0.1));
}

static const test_case cases[] = {
    {"input", "plain", input_plain},
    {"affine", "plain", affine_plain},
    {"leaky_relu", "slope 0.3", leaky_plain},
    {"leaky_relu", "slope 0", leaky_zero},
    {"tanh", "plain", tanh_plain},
    {"softplus", "plain", softplus_plain},
    {"exp", "plain", exp_plain},
    {"log", "plain", log_plain},
    BINARY_CASES(add),
    BINARY_CASES(sub),
    BINARY_CASES(mul),
    BINARY_CASES(div),
    {"add", "same node twice", add_twice},
    {"sub", "same node twice", sub_twice},
    {"mul", "same node twice", mul_twice},
    {"div", "same node twice", div_twice},
    {"add", "bias of many rows", add_chunks},
    {"mul", "factor of long rows", mul_chunks},
    {"add", "node with six readers", many_readers},
    {"sum", "all", sum_all},
    {"sum", "first axis", sum_first},
    {"sum", "middle axis", sum_middle},
    {"sum", "both ends", sum_ends},
    {"sum", "no axis", sum_nothing},
    {"sum", "global pool", sum_pool},
    {"sum", "mean", sum_mean},
    {"logsumexp", "plain", logsumexp_plain},
    {"softmax", "plain", softmax_plain},
    {"log_softmax", "plain", log_softmax_plain},
    {"reshape", "plain", reshape_plain},
    {"reshape", "two views of one node", reshape_shared},
    {"permute", "transpose", permute_transpose},
    {"permute", "rows stay whole", permute_rows},
    {"permute", "rank 6", permute_six},
    {"permute", "identity", permute_identity},
    {"permute", "larger than a tile", permute_large},
    {"slice", "first axis", slice_first},
    {"slice", "last axis", slice_last},
    {"slice", "two that overlap", slice_two},
    {"concat", "first axis", concat_first},
    {"concat", "same node twice", concat_middle},
    {"gather", "repeated rows", gather_repeats},
    {"squeeze2x2", "plain", squeeze_plain},
    {"unsqueeze2x2", "plain", unsqueeze_plain},
    {"dropout", "training", dropout_training},
    {"matmul", "plain", matmul_plain},
    {"matmul", "both transposed", matmul_transposed},
    {"matmul", "batch", matmul_batch},
    {"matmul", "one matrix on the left", matmul_one_left},
    {"matmul", "one matrix on the right", matmul_one_right},
    {"matmul", "one transposed matrix on the right", matmul_one_right_transposed},
    {"matmul", "same node twice", matmul_twice},
    {"matmul", "dense layer", dense_bias},
    {"dense", "plain", dense_plain},
    {"dense", "slopes", dense_slopes},
    {"dense", "conditional", dense_conditional},
    {"dense", "conditional, residual", dense_residual},
    {"dense", "same node twice", dense_twice},
    {"conv2d", "3x3", conv_3x3},
    {"conv2d", "3x3 stride 2", conv_3x3_stride},
    {"conv2d", "1x1", conv_1x1},
    {"conv2d", "1x1 stride 2", conv_1x1_stride},
    {"conv2d", "slope on the way in", conv_slope},
    {"conv2d", "slope on the way in, stride 2", conv_slope_stride},
    {"conv2d", "8 channels", conv_channels},
    {"conv2d", "one pixel", conv_one_pixel},
    {"pool2d", "average 2", pool_average},
    {"pool2d", "average 3", pool_average_three},
    {"pool2d", "max 2", pool_max},
    {"pool2d", "max 3", pool_max_three},
    {"scale_shift", "plain", scale_shift_plain},
    {"scale_shift", "slope", scale_shift_slope},
    {"scale_shift", "slope 0, residual", scale_shift_relu},
    {"scale_shift", "residual", scale_shift_residual},
    {"scale_shift", "expand", scale_shift_expand},
    {"scale_shift", "expand, residual", scale_shift_expand_residual},
    {"scale_shift", "per channel, residual", scale_shift_channel},
    {"scale_shift", "per channel, expand", scale_shift_channel_expand},
    {"scale_shift", "pool", scale_shift_pool},
    {"scale_shift", "pool, residual", scale_shift_pool_residual},
    {"scale_shift", "pool, per channel, residual", scale_shift_pool_channel},
    {"attention", "plain", attention_plain},
    {"attention", "same node thrice", attention_self},
    {"rq_coupling", "plain", rq_coupling_plain},
    {"rq_coupling", "inverse", rq_coupling_inverse},
    {"rq_coupling", "outside", rq_coupling_outside},
    {"rq_coupling", "inverse, outside", rq_coupling_inverse_outside},
    {"rq_coupling", "one bin", rq_coupling_one_bin},
    {"rq_coupling", "two bins, inverse", rq_coupling_two_bins},
    {"rq_coupling", "several tiles", rq_coupling_tiles},
    {"rq_coupling", "several tiles, inverse", rq_coupling_inverse_tiles},
    {"lu_matrix", "plain", lu_matrix_plain},
    {"lu_matrix", "scaled rows", lu_matrix_scaled},
    {"edge_bias", "plain", edge_bias_plain},
    {"edge_bias", "one pixel", edge_bias_pixel},
    {"edge_bias", "large window", edge_bias_flat},
    {"quadratic", "psd", quadratic_psd},
    {"quadratic", "psd, shared x", quadratic_psd_shared},
    {"quadratic", "symmetric", quadratic_symmetric},
    {"quadratic", "symmetric, shared x", quadratic_symmetric_shared},
    {"quadratic", "free", quadratic_free},
    {"quadratic", "free, shared x", quadratic_free_shared},
    {"bilinear", "plain", bilinear_plain},
    {"bilinear", "shared u and v", bilinear_shared},
    {"bilinear", "shared u", bilinear_shared_u},
    {"bilinear", "shared v", bilinear_shared_v},
    {"bilinear", "same node twice", bilinear_twice},
    {"additive", "plain", additive_plain},
    {"additive", "shared x", additive_shared},
    {"additive", "tails", additive_tails},
    {"lower", "plain", lower_plain},
    {"rq_knots", "plain", rq_knots_plain},
    {"rq_knots", "more rows than lanes", rq_knots_many},
    {"rq_knots", "one bin", rq_knots_one},
    {"rq_spline", "columns", rq_spline_columns},
    {"rq_spline", "elements", rq_spline_elements},
    {"rq_spline", "tails", rq_spline_tails},
    {"rq_spline", "inverse, columns", rq_spline_inverse_columns},
    {"rq_spline", "inverse, elements", rq_spline_inverse_elements},
    {"rq_spline", "inverse, tails", rq_spline_inverse_tails},
    {"logistic_loss", "plain", logistic_plain},
    {"logistic_loss", "weights", logistic_weights},
    {"nwj_loss", "plain", nwj_plain},
    {"nwj_loss", "weights", nwj_weights},
    {"lsq_loss", "plain", lsq_plain},
    {"lsq_loss", "weights", lsq_weights},
    {"multinomial_loss", "plain", multinomial_plain},
    {"multinomial_loss", "weights", multinomial_weights},
};
enum { N_CASES = sizeof cases / sizeof cases[0] };

#endif
