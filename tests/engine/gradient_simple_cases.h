/* gradient_simple_cases.h - cases of elementwise, broadcasting, reducing and rearranging
 * operations, and of products. */
#ifndef WM_TESTS_GRADIENT_SIMPLE_CASES_H
#define WM_TESTS_GRADIENT_SIMPLE_CASES_H

#include "engine/gradient_scene.h"

/* ---- cases: leaves and elementwise ---- */

BUILD(input_plain, any(s, DIMS(2, 3)))
BUILD(affine_plain, wmi_affine(s->g, any(s, DIMS(3, 5)), -1.7, 0.4))
BUILD(leaky_plain, wmi_leaky_relu(s->g, any(s, DIMS(7, 3)), 0.3))
BUILD(leaky_zero, wmi_leaky_relu(s->g, any(s, DIMS(7, 3)), 0))
/* Magnitudes from 0.2 to 1.2: both sides of 1/2, where the parabola ends. */
BUILD(bend_plain, wmi_bent_relu(s->g, any(s, DIMS(7, 3)), 0.3))
BUILD(bend_zero, wmi_bent_relu(s->g, any(s, DIMS(7, 3)), 0))
BUILD(exp_plain, wmi_exp(s->g, any(s, DIMS(2, 2, 3))))

static wmi_node *hinges_of_columns(scene *s)
{
    static const double table[] = {2, -1,  1,   0.1, 0.5, -0.3, 1.5, 1,   -2,  1,
                                   9, 0.4, 0.3, -1,  0,   -3,   0.5, 1,   0.2, 0.1,
                                   0, 1,   2,   0.5, 0.3, 2,    1,   0.7, 0,   2};
    wmi_node *x = any(s, DIMS(5, 3));

    return wmi_hinges(s->g, x, constant(s, table, DIMS(2, 5, 3)));
}

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

/* ---- cases: rearranging ---- */

BUILD(reshape_plain, wmi_reshape(s->g, any(s, DIMS(3, 4)), DIMS(2, 6)))

static wmi_node *reshape_shared(scene *s)
{
    wmi_node *x = any(s, DIMS(3, 4)), *h = wmi_exp(s->g, x);
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

#endif
