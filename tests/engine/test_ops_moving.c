/* test_ops_moving.c - the operations that rearrange, drop and pool against plain loops; all kernels
 * for any number of threads; and what builders say about bad shapes. */
#include <omp.h>

#include "engine/op_values.h"

/* ---- rearranging ---- */

static void permute_agrees_with_index_arithmetic(void **state)
{
    static const int64_t shapes[][4] = {
        {2, 3, 4, 5}, {33, 2, 40, 1}, {3, 0, 2, 2}, {1, 1, 1, 1}, {70, 5, 3, 65}};
    (void)state;
    for (size_t k = 0; k < sizeof shapes / sizeof shapes[0]; k++) {
        for (int code = 0; code < 256; code++) { /* four digits of base 4, of which 24 are orders */
            const int axis[] = {code / 64, code / 16 % 4, code / 4 % 4, code % 4};
            const int64_t *dim = shapes[k];
            const int64_t stride[] = {dim[1] * dim[2] * dim[3], dim[2] * dim[3], dim[3], 1};
            bench b;
            const double *got;
            int64_t at = 0;
            if ((1 << axis[0] | 1 << axis[1] | 1 << axis[2] | 1 << axis[3]) != 15)
                continue;
            b = begin(dtypes[code % 2]);
            got = values(&b, wmi_permute(b.g, leaf(&b, NULL, 4, dim), axis));
            for (int64_t i = 0; i < dim[axis[0]]; i++)
                for (int64_t j = 0; j < dim[axis[1]]; j++)
                    for (int64_t l = 0; l < dim[axis[2]]; l++)
                        for (int64_t m = 0; m < dim[axis[3]]; m++)
                            if (got[at++] != b.x[0][i * stride[axis[0]] + j * stride[axis[1]] +
                                                    l * stride[axis[2]] + m * stride[axis[3]]])
                                fail_msg("shape %d, axes %d %d %d %d, element %d", (int)k, axis[0],
                                         axis[1], axis[2], axis[3], (int)at - 1);
            end(&b);
        }
    }
}

static void slice_and_concat_undo_each_other(void **state)
{
    (void)state;
    for (int t = 0; t < 2; t++) {
        for (int axis = 0; axis < 3; axis++) {
            const int64_t dim[] = {7, 50, 61}, cut = dim[axis] / 3;
            bench b = begin(dtypes[t]);
            wmi_node *x = leaf(&b, NULL, 3, dim), *part[3], *y;
            const double *got;
            part[0] = wmi_slice(b.g, x, axis, 0, cut);
            part[1] = wmi_slice(b.g, x, axis, cut, cut); /* empty */
            part[2] = wmi_slice(b.g, x, axis, cut, dim[axis]);
            assert_int_equal(part[0]->shape.dim[axis], cut);
            assert_int_equal(part[1]->n, 0);
            y = wmi_concat(b.g, 3, part, axis);
            assert_shape(y, 3, dim);
            got = values(&b, y);
            for (int64_t i = 0; i < x->n; i++)
                assert_true(got[i] == b.x[0][i]);
            end(&b);
        }
    }
}

static void slice_takes_the_middle(void **state)
{
    bench b = begin(WMI_F64);
    const double *got = values(&b, wmi_slice(b.g, leaf(&b, NULL, DIMS(3, 5, 4)), 1, 2, 4));
    (void)state;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 2; j++)
            for (int k = 0; k < 4; k++)
                assert_true(got[(i * 2 + j) * 4 + k] == b.x[0][(i * 5 + j + 2) * 4 + k]);
    end(&b);
}

static void gather_reads_rows_and_nothing_else(void **state)
{
    static const double index[] = {2, 0, 0, 3, -1, 0.5, NAN, INFINITY, -0.0};
    static const int row[] = {2, 0, 0, -1, -1, -1, -1, -1, 0}; /* -1: comes out as NaN */
    (void)state;
    for (int t = 0; t < 2; t++) {
        bench b = begin(dtypes[t]);
        wmi_node *x = leaf(&b, NULL, DIMS(3, 2, 2));
        const double *got = values(&b, wmi_gather(b.g, x, leaf(&b, index, DIMS(9))));
        for (int i = 0; i < 9; i++)
            for (int j = 0; j < 4; j++)
                assert_same(got[i * 4 + j], row[i] < 0 ? NAN : b.x[0][row[i] * 4 + j]);
        end(&b);
    }
}

static void squeeze_moves_pixels_to_channels(void **state)
{
    const int64_t n = 2, h = 6, w = 4, c = 3;
    (void)state;
    for (int t = 0; t < 2; t++) {
        bench b = begin(dtypes[t]), back = begin(dtypes[t]);
        wmi_node *y = wmi_squeeze2x2(b.g, leaf(&b, NULL, DIMS(n, h, w, c)));
        const double *got = values(&b, y);
        assert_shape(y, DIMS(n, h / 2, w / 2, 4 * c));
        for (int64_t i = 0; i < n; i++)
            for (int64_t p = 0; p < h; p++)
                for (int64_t q = 0; q < w; q++)
                    for (int64_t k = 0; k < c; k++)
                        assert_true(got[((i * h / 2 + p / 2) * w / 2 + q / 2) * 4 * c + k * 4 +
                                        2 * (p % 2) + q % 2] ==
                                    b.x[0][((i * h + p) * w + q) * c + k]);
        y = wmi_unsqueeze2x2(back.g,
                             wmi_squeeze2x2(back.g, leaf(&back, NULL, DIMS(n, 4 * h, w, 5 * c))));
        got = values(&back, y);
        assert_shape(y, DIMS(n, 4 * h, w, 5 * c));
        for (int64_t i = 0; i < y->n; i++)
            assert_true(got[i] == back.x[0][i]);
        end(&b);
        end(&back);
    }
}

/* ---- dropout ---- */

static void dropout_is_the_identity_in_evaluation(void **state)
{
    bench b = begin(WMI_F32);
    const double *got = values(&b, wmi_dropout(b.g, leaf(&b, NULL, DIMS(20001)), 0.3));
    (void)state;
    for (int i = 0; i < 20001; i++)
        assert_true(got[i] == b.x[0][i]);
    end(&b);
}

/* 1 for each element that was kept. */
static void mask(wmi_dtype dtype, uint64_t seed, uint64_t step, int nodes_before, int64_t n,
                 bool *kept)
{
    bench b = begin(dtype);
    wmi_node *x = leaf(&b, NULL, 1, &n);
    const double *got;
    b.training = true;
    b.seed = seed;
    b.step = step;
    for (int i = 0; i < nodes_before; i++)
        x = wmi_affine(b.g, x, 1, 0);
    got = values(&b, wmi_dropout(b.g, x, 0.25));
    for (int64_t i = 0; i < n; i++) {
        kept[i] = got[i] != 0;
        assert_near(got[i], kept[i] ? b.x[0][i] / 0.75 : 0, 4 * eps(&b) * 4);
    }
    end(&b);
}

/* The number kept is binomial (n, 3/4), and so is, with (n, 5/8), the number in which two
 * independent masks agree: bounds of 5 standard deviations. */
static void dropout_masks_depend_on_seed_node_step(void **state)
{
    enum { N = 100001 };
    static bool first[N], other[N];
    int64_t count = 0;
    (void)state;
    mask(WMI_F64, 1, 2, 0, N, first);
    for (int i = 0; i < N; i++)
        count += first[i];
    assert_near((double)count, 0.75 * N, 5 * sqrt(0.75 * 0.25 * N));
    mask(WMI_F32, 1, 2, 0, N, other);
    assert_memory_equal(first, other, sizeof first);
    for (int change = 0; change < 3; change++) {
        mask(WMI_F32, 1 + (change == 0), 2 + (change == 1), change == 2, N, other);
        count = 0;
        for (int i = 0; i < N; i++)
            count += first[i] == other[i];
        assert_near((double)count, 0.625 * N, 5 * sqrt(0.625 * 0.375 * N));
    }
}

/* ---- pooling ---- */

static void pooling_matches_loops(void **state)
{
    static const int64_t shapes[][4] = {{2, 5, 3, 1}, {1, 1, 1, 3}, {3, 6, 4, 70},
                                        {0, 4, 4, 2}, {2, 7, 8, 5}, {4, 33, 31, 9}};
    (void)state;
    for (int t = 0; t < 2; t++) {
        for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
            for (int size = 1; size <= 4; size++) {
                for (int max = 0; max < 2; max++) {
                    const int64_t *d = shapes[s], c = d[3];
                    const int64_t ho = (d[1] + size - 1) / size, wo = (d[2] + size - 1) / size;
                    bench b = begin(dtypes[t]);
                    wmi_node *y = wmi_pool2d(b.g, leaf(&b, NULL, 4, d), max, size);
                    const double *got = values(&b, y);
                    assert_shape(y, DIMS(d[0], ho, wo, c));
                    for (int64_t i = 0; i < y->n; i++) {
                        const int64_t k = i % c, q = i / c % wo, p = i / c / wo % ho,
                                      n = i / c / wo / ho;
                        double sum = 0, most = -INFINITY;
                        int cells = 0;
                        for (int64_t u = p * size; u < (p + 1) * size && u < d[1]; u++)
                            for (int64_t v = q * size; v < (q + 1) * size && v < d[2]; v++) {
                                const double x = b.x[0][((n * d[1] + u) * d[2] + v) * c + k];
                                sum += x;
                                most = fmax(most, x);
                                cells++;
                            }
                        assert_near(got[i], max ? most : sum / cells, 8 * eps(&b) * 3);
                    }
                    end(&b);
                }
            }
        }
    }
}

static void max_pooling_sends_a_tie_to_the_first(void **state)
{
    static const double x[] = {1, 2, 2, 2}, want[] = {0, 1, 0, 0};
    bench b = begin(WMI_F64);
    const double *dx = gradient(&b, wmi_pool2d(b.g, leaf(&b, x, DIMS(1, 2, 2, 1)), true, 2));
    (void)state;
    for (int i = 0; i < 4; i++)
        assert_true(dx[i] == want[i]);
    end(&b);
}

/* ---- threads ---- */

/* A graph through all kernels of these tests that work in parallel, large enough that they do. */
static wmi_node *large_graph(bench *b, wmi_node **sums)
{
    wmi_graph *g = b->g;
    wmi_node *x = leaf(b, NULL, DIMS(301, 173)), *bias = leaf(b, NULL, DIMS(173));
    wmi_node *scale = leaf(b, NULL, DIMS(301, 1)), *image = leaf(b, NULL, DIMS(7, 33, 31, 10));
    wmi_node *h = wmi_affine(g, wmi_add(g, wmi_mul(g, x, scale), bias), 0.1, 0);
    wmi_node *d = wmi_dropout(g, wmi_leaky_relu(g, wmi_affine(g, h, 3, 0.1), 0.2), 0.3);
    wmi_node *p = wmi_permute(g, wmi_div(g, d, wmi_exp(g, h)), (const int[]){1, 0});
    wmi_node *s = wmi_sub(g, wmi_exp(g, wmi_affine(g, p, -0.1, 0)), p);
    wmi_node *cut = wmi_slice(g, s, 0, 3, 170), *both[2], *pools[2];
    both[0] = cut;
    both[1] = s;
    pools[0] = wmi_pool2d(g, image, true, 2);
    pools[1] = wmi_pool2d(g, image, false, 2);
    s = wmi_concat(g, 2, both, 0);
    *sums = wmi_sum(g, s, 1u << 0);
    return wmi_add(g,
                   wmi_add(g, wmi_sum(g, wmi_logsumexp(g, s), WMI_ALL_AXES),
                           wmi_sum(g, wmi_mul(g, *sums, *sums), WMI_ALL_AXES)),
                   wmi_sum(g, wmi_mul(g, pools[0], pools[1]), WMI_ALL_AXES));
}

static void results_have_the_same_bits_for_any_number_of_threads(void **state)
{
    static const int threads[] = {1, 2, 7};
    const int before = omp_get_max_threads();
    (void)state;
    for (int t = 0; t < 2; t++) {
        bench b[3];
        wmi_node *sums[3], *loss[3];
        for (int k = 0; k < 3; k++) {
            b[k] = begin(dtypes[t]);
            b[k].training = true;
            omp_set_num_threads(threads[k]);
            loss[k] = large_graph(&b[k], &sums[k]);
            compile(&b[k], &(wmi_compile_opts){.outputs = &sums[k],
                                               .n_outputs = 1,
                                               .loss = loss[k],
                                               .grad_inputs = b[k].leaf,
                                               .n_grad_inputs = b[k].n_leaves});
            assert_ok(wmi_program_backward(b[k].p, &b[k].err), b[k].err);
        }
        omp_set_num_threads(before);
        for (int k = 1; k < 3; k++) {
            const size_t size = dtypes[t] == WMI_F32 ? sizeof(float) : sizeof(double);
            assert_memory_equal(loss[k]->val, loss[0]->val, size);
            assert_memory_equal(sums[k]->val, sums[0]->val, (size_t)sums[0]->n * size);
            for (int i = 0; i < b[0].n_leaves; i++)
                assert_memory_equal(b[k].leaf[i]->grad, b[0].leaf[i]->grad,
                                    (size_t)b[0].leaf[i]->n * size);
        }
        for (int k = 0; k < 3; k++)
            end(&b[k]);
    }
}

/* ---- complaints ---- */

/* A graph that fails in one call. */
#define BAD(name, ...)                                                                             \
    static void name(bench *b)                                                                     \
    {                                                                                              \
        __VA_ARGS__;                                                                               \
    }

static void bad_add(bench *b)
{
    wmi_node *x = leaf(b, NULL, DIMS(2, 3));
    wmi_add(b->g, x, leaf(b, NULL, DIMS(4, 3)));
}

static void bad_mul(bench *b)
{
    wmi_node *x = leaf(b, NULL, DIMS(2, 3, 5));
    wmi_mul(b->g, x, leaf(b, NULL, DIMS(3)));
}

BAD(bad_leaky, wmi_leaky_relu(b->g, leaf(b, NULL, DIMS(3)), -0.1))
BAD(bad_sum, wmi_sum(b->g, leaf(b, NULL, DIMS(3, 4)), 1u << 2))
BAD(bad_logsumexp, wmi_logsumexp(b->g, leaf(b, NULL, 0, NULL)))
BAD(bad_reshape, wmi_reshape(b->g, leaf(b, NULL, DIMS(3, 4)), DIMS(5, 2)))
BAD(bad_permute, wmi_permute(b->g, leaf(b, NULL, DIMS(3, 4)), (const int[]){1, 1}))
BAD(bad_permute_axis, wmi_permute(b->g, leaf(b, NULL, DIMS(3, 4)), (const int[]){0, 2}))
BAD(bad_slice, wmi_slice(b->g, leaf(b, NULL, DIMS(3, 4)), 1, 2, 5))
BAD(bad_slice_axis, wmi_slice(b->g, leaf(b, NULL, DIMS(3, 4)), 2, 0, 1))

static void bad_concat(bench *b)
{
    wmi_node *x[2];
    x[0] = leaf(b, NULL, DIMS(3, 4));
    x[1] = leaf(b, NULL, DIMS(3, 5));
    wmi_concat(b->g, 2, x, 0);
}

BAD(bad_concat_count, wmi_concat(b->g, 0, NULL, 0))

static void bad_gather(bench *b)
{
    wmi_node *x = leaf(b, NULL, DIMS(3, 4));
    wmi_gather(b->g, x, leaf(b, NULL, DIMS(2, 1)));
}

BAD(bad_squeeze, wmi_squeeze2x2(b->g, leaf(b, NULL, DIMS(1, 4, 3, 2))))
BAD(bad_unsqueeze, wmi_unsqueeze2x2(b->g, leaf(b, NULL, DIMS(1, 4, 3, 6))))
BAD(bad_pool, wmi_pool2d(b->g, leaf(b, NULL, DIMS(4, 3, 6)), false, 2))
BAD(bad_pool_size, wmi_pool2d(b->g, leaf(b, NULL, DIMS(1, 4, 3, 6)), false, 0))
BAD(bad_dropout, wmi_dropout(b->g, leaf(b, NULL, DIMS(3)), 1))

static void complaints_name_op_and_shapes(void **state)
{
    static const struct {
        void (*build)(bench *);
        wm_status code;
        const char *texts[4];
    } bad[] = {
        {bad_add, WM_ESHAPE, {"add", "(2, 3)", "(4, 3)", "2 and 4"}},
        {bad_mul, WM_ESHAPE, {"mul", "(2, 3, 5)", "(3)", "5 and 3"}},
        {bad_leaky, WM_ESHAPE, {"leaky_relu", "slope -0.1"}},
        {bad_sum, WM_ESHAPE, {"sum", "(3, 4)", "axes 0x4"}},
        {bad_logsumexp, WM_ESHAPE, {"logsumexp", "()", "scalar"}},
        {bad_reshape, WM_ESHAPE, {"reshape", "(3, 4)", "(5, 2)", "12"}},
        {bad_permute, WM_ESHAPE, {"permute", "(3, 4)", "axis 1", "twice"}},
        {bad_permute_axis, WM_ESHAPE, {"permute", "(3, 4)", "axis 2", "not an axis"}},
        {bad_slice, WM_ESHAPE, {"slice", "(3, 4)", "[2, 5)", "axis 1"}},
        {bad_slice_axis, WM_ESHAPE, {"slice", "(3, 4)", "axis 2"}},
        {bad_concat, WM_ESHAPE, {"concat", "(3, 4), (3, 5)", "input 1"}},
        {bad_concat_count, WM_ESHAPE, {"concat", "nothing"}},
        {bad_gather, WM_ESHAPE, {"gather", "(3, 4), (2, 1)", "index"}},
        {bad_squeeze, WM_ESHAPE, {"squeeze2x2", "(1, 4, 3, 2)", "even"}},
        {bad_unsqueeze, WM_ESHAPE, {"unsqueeze2x2", "(1, 4, 3, 6)", "multiple of 4"}},
        {bad_pool, WM_ESHAPE, {"pool2d", "(4, 3, 6)"}},
        {bad_pool_size, WM_ESHAPE, {"pool2d", "(1, 4, 3, 6)", "window of 0"}},
        {bad_dropout, WM_EINVAL, {"dropout", "rate 1"}},
    };
    (void)state;
    for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++) {
        bench b = begin(dtypes[k % 2]);
        bad[k].build(&b);
        assert_int_equal(wmi_compile(&b.p, b.g, &(wmi_compile_opts){.n_outputs = 0}, &b.err),
                         bad[k].code);
        for (int i = 0; i < 4 && bad[k].texts[i]; i++)
            if (!strstr(b.err.text, bad[k].texts[i]))
                fail_msg("'%s' does not say '%s'", b.err.text, bad[k].texts[i]);
        end(&b);
    }
}
int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(permute_agrees_with_index_arithmetic),
        cmocka_unit_test(slice_and_concat_undo_each_other),
        cmocka_unit_test(slice_takes_the_middle),
        cmocka_unit_test(gather_reads_rows_and_nothing_else),
        cmocka_unit_test(squeeze_moves_pixels_to_channels),
        cmocka_unit_test(dropout_is_the_identity_in_evaluation),
        cmocka_unit_test(dropout_masks_depend_on_seed_node_step),
        cmocka_unit_test(pooling_matches_loops),
        cmocka_unit_test(max_pooling_sends_a_tie_to_the_first),
        cmocka_unit_test(results_have_the_same_bits_for_any_number_of_threads),
        cmocka_unit_test(complaints_name_op_and_shapes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
