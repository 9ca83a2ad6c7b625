/* test_conv2d.c - every algorithm of conv2d against the plain loops (whose sums are double), in
 * every build that this processor runs: values, gradients, adjointness, and the same bits whatever
 * the number of threads. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "asserts.h"
#include "base/alloc.h"
#include "engine/conv.h"
#include "engine/op_table.h"
#include "engine/ops.h"

typedef struct shape {
    int64_t n, h, w, ci, co, k;
    int stride;
} shape;

static const shape shapes[] = {
    /* 3x3, stride 1: all four sizes of rim tiles, channels beside the vector widths, several strips
     */
    {1, 1, 1, 8, 8, 3, 1},
    {2, 2, 2, 9, 11, 3, 1},
    {1, 3, 5, 16, 8, 3, 1},
    {7, 4, 4, 12, 40, 3, 1},
    {1, 6, 13, 1, 1, 3, 1},
    {3, 7, 7, 32, 64, 3, 1},
    {2, 9, 45, 17, 33, 3, 1},
    {5, 14, 14, 16, 24, 3, 1},
    {3, 28, 28, 24, 32, 3, 1},
    {1, 5, 6, 260, 9, 3, 1},
    /* stems */
    {2, 28, 28, 1, 64, 3, 1},
    {3, 28, 28, 1, 32, 5, 2},
    {1, 9, 7, 4, 6, 5, 1},
    /* large windows over many channels */
    {2, 9, 8, 24, 20, 5, 1},
    {1, 7, 7, 33, 16, 7, 2},
    /* strides, windows larger than the image, 1x1 */
    {2, 8, 8, 3, 7, 3, 2},
    {2, 10, 11, 5, 6, 3, 3},
    {3, 12, 9, 24, 16, 3, 2},
    {1, 1, 1, 1, 1, 5, 1},
    {2, 3, 2, 2, 3, 5, 2},
    {2, 2, 2, 4, 4, 5, 3},
    {3, 7, 7, 64, 128, 1, 1},
    {9, 3, 5, 9, 10, 1, 1},
    {2, 7, 5, 9, 10, 1, 2},
    {1, 11, 4, 3, 2, 1, 3},
};
enum { N_SHAPES = sizeof shapes / sizeof *shapes };

/* A conv2d node by hand, without a graph: x and w in, y out, all with gradients. */
typedef struct bench {
    const wmi_op_def *op;
    wmi_run run;
    wmi_conv_attr attr;
    wmi_node x, w, y;
    size_t size; /* of a real */
} bench;

static void *must_alloc(int64_t count, size_t size)
{
    void *p = NULL;
    wm_error err;

    assert_ok(wmi_alloc(&p, count, size, "test", &err), err);
    return p;
}

static void put(const bench *b, void *p, int64_t i, double v)
{
    if (b->size == sizeof(float))
        ((float *)p)[i] = (float)v;
    else
        ((double *)p)[i] = v;
}

static double get(const bench *b, const void *p, int64_t i)
{
    return b->size == sizeof(float) ? (double)((const float *)p)[i] : ((const double *)p)[i];
}

/* Uniform on [-1, 1], by a small generator: the values do not matter. */
static void fill(const bench *b, void *p, int64_t n, uint64_t seed)
{
    uint64_t s = seed * 0x9E3779B97F4A7C15u + 1;

    for (int64_t i = 0; i < n; i++) {
        s = s * 6364136223846793005u + 1442695040888963407u;
        put(b, p, i, (double)(s >> 40) / (double)(1 << 23) - 1);
    }
}

static void node_alloc(bench *b, wmi_node *nd, uint64_t seed)
{
    nd->n = 1;
    for (int i = 0; i < nd->shape.rank; i++)
        nd->n *= nd->shape.dim[i];
    nd->val = must_alloc(nd->n, b->size);
    nd->grad = must_alloc(nd->n, b->size);
    fill(b, nd->val, nd->n, seed);
    fill(b, nd->grad, nd->n, seed + 1);
}

static void bench_open(bench *b, const shape *s, wmi_dtype dtype, wmi_isa isa, double slope)
{
    wm_error err;

    memset(b, 0, sizeof *b);
    b->size = dtype == WMI_F32 ? sizeof(float) : sizeof(double);
    b->op = wmi_op_find("conv2d", dtype, isa);
    assert_non_null(b->op);
    b->run.threads = 1;
    b->attr = (wmi_conv_attr){.stride = s->stride, .pre_slope = slope};
    b->x = (wmi_node){.name = "x", .shape = {4, {s->n, s->h, s->w, s->ci}}, .wants_grad = true};
    b->w = (wmi_node){.name = "w", .shape = {4, {s->k, s->k, s->ci, s->co}}, .wants_grad = true};
    b->y = (wmi_node){.op = b->op,
                      .name = "y",
                      .in = {&b->x, &b->w},
                      .n_in = 2,
                      .attr = &b->attr,
                      .dtype = dtype,
                      .run = &b->run};
    node_alloc(b, &b->x, 1);
    node_alloc(b, &b->w, 3);
    assert_ok(b->op->infer(&b->y, &err), err);
    assert_ok(b->op->prepare(&b->y, &err), err);
    node_alloc(b, &b->y, 5);
}

static void bench_close(bench *b)
{
    wmi_node *const all[] = {&b->x, &b->w, &b->y};

    b->op->release(&b->y);
    for (int i = 0; i < 3; i++) {
        wmi_free(all[i]->val);
        wmi_free(all[i]->grad);
    }
}

static const wmi_conv_shape *conv_shape(const bench *b)
{
    return &((const wmi_conv_state *)b->y.state)->shape;
}

typedef struct answer {
    void *y, *dx, *dw;
} answer;

static void answer_free(answer *a)
{
    wmi_free(a->y);
    wmi_free(a->dx);
    wmi_free(a->dw);
}

/* Scratch of the size that the op asks for, full of NaNs: nothing may rely on zeros. */
static void with_scratch(bench *b, wmi_phase phase, void (*call)(const wmi_node *))
{
    const size_t bytes = b->op->scratch(&b->y, phase);

    b->y.scratch = must_alloc((int64_t)bytes, 1);
    memset(b->y.scratch, 0xff, bytes);
    call(&b->y);
    wmi_free(b->y.scratch);
    b->y.scratch = NULL;
}

/* Forward and backward by one algorithm. With add, gradients are added to a known start. */
static answer solve(bench *b, wmi_conv_algo algo, int threads, bool add)
{
    answer a;

    b->run.threads = threads;
    wmi_conv_use(&b->y, algo);
    b->y.fresh = add ? 0 : 3;
    a.y = must_alloc(b->y.n, b->size);
    a.dx = must_alloc(b->x.n, b->size);
    a.dw = must_alloc(b->w.n, b->size);
    if (add) {
        fill(b, b->x.grad, b->x.n, 7);
        fill(b, b->w.grad, b->w.n, 8);
    } else {
        memset(b->x.grad, 0xff, (size_t)b->x.n * b->size);
        memset(b->w.grad, 0xff, (size_t)b->w.n * b->size);
    }
    memset(b->y.val, 0xff, (size_t)b->y.n * b->size);
    with_scratch(b, WMI_FORWARD, b->op->forward);
    with_scratch(b, WMI_BACKWARD, b->op->backward);
    memcpy(a.y, b->y.val, (size_t)b->y.n * b->size);
    memcpy(a.dx, b->x.grad, (size_t)b->x.n * b->size);
    memcpy(a.dw, b->w.grad, (size_t)b->w.n * b->size);
    return a;
}

/* Largest difference over the rms of want. */
static double distance(const bench *b, const void *got, const void *want, int64_t n)
{
    double worst = 0, square = 0;

    for (int64_t i = 0; i < n; i++) {
        const double d = fabs(get(b, got, i) - get(b, want, i));
        if (!(d <= worst))
            worst = d; /* NaN stays */
        square += get(b, want, i) * get(b, want, i);
    }
    return n && square > 0 ? worst / sqrt(square / (double)n) : worst;
}

/* In units of the dtype's rounding. A plain sum of k terms of size 1 has rms sqrt(k), and its k
 * roundings add up as a random walk, each half an ulp of a running sum of that size: some sqrt(k)
 * ulps, k < 3000 here. Measured 41, allowed three times as much. Winograd multiplies rounding by
 * the row sums of B' (up to 10 in each direction) and of A' (up to 19), which mostly average out:
 * measured 520, allowed 1500. */
static double tolerance(wmi_conv_algo algo, wmi_dtype dtype)
{
    const double ulp = dtype == WMI_F32 ? 0x1p-24 : 0x1p-53;

    return (algo == WMI_CONV_WINOGRAD ? 1500 : 120) * ulp;
}

/* Calls check for every build, dtype, shape and activation. */
static void for_all(void (*check)(bench *b, wmi_dtype dtype))
{
    for (int isa = 0; isa < WMI_ISA_COUNT; isa++)
        for (int dtype = WMI_F32; wmi_isa_usable((wmi_isa)isa) && dtype <= WMI_F64; dtype++)
            for (int i = 0; i < N_SHAPES; i++)
                for (int leaky = 0; leaky < 2; leaky++) {
                    bench b;

                    bench_open(&b, &shapes[i], (wmi_dtype)dtype, (wmi_isa)isa, leaky ? 0.3 : 1);
                    check(&b, (wmi_dtype)dtype);
                    bench_close(&b);
                }
}

static void expect_close(const bench *b, const char *what, wmi_conv_algo algo, wmi_dtype dtype,
                         const void *got, const void *want, int64_t n)
{
    const double d = distance(b, got, want, n);
    const wmi_conv_shape *s = conv_shape(b);

    if (getenv("CONV_VERBOSE"))
        printf("%s %s %s: %.1f ulp\n", wmi_conv_algo_name(algo), dtype ? "f64" : "f32", what,
               d / (dtype ? 0x1p-53 : 0x1p-24));
    if (!(d <= tolerance(algo, dtype)))
        fail_msg("%s, %s: %s off by %.3g rms: x (%d, %d, %d, %d), window %d, stride %d, co %d",
                 wmi_conv_algo_name(algo), dtype ? "f64" : "f32", what, d, (int)s->n, (int)s->h,
                 (int)s->w, (int)s->ci, (int)s->kh, (int)s->stride, (int)s->co);
}

static void check_against_loops(bench *b, wmi_dtype dtype)
{
    for (int add = 0; add < 2; add++) {
        answer want = solve(b, WMI_CONV_DIRECT, 2, add);

        for (int algo = WMI_CONV_GEMM; algo < WMI_CONV_ALGO_COUNT; algo++) {
            if (!wmi_conv_supports((wmi_conv_algo)algo, conv_shape(b)))
                continue;
            answer got = solve(b, (wmi_conv_algo)algo, 2, add);
            expect_close(b, "y", (wmi_conv_algo)algo, dtype, got.y, want.y, b->y.n);
            expect_close(b, "dx", (wmi_conv_algo)algo, dtype, got.dx, want.dx, b->x.n);
            expect_close(b, "dw", (wmi_conv_algo)algo, dtype, got.dw, want.dw, b->w.n);
            answer_free(&got);
        }
        answer_free(&want);
    }
}

static void algorithms_agree_with_plain_loops(void **state)
{
    (void)state;
    for_all(check_against_loops);
}

static void check_bits(bench *b, wmi_dtype dtype)
{
    static const int threads[] = {1, 2, 7};

    (void)dtype;
    for (int algo = 0; algo < WMI_CONV_ALGO_COUNT; algo++) {
        if (!wmi_conv_supports((wmi_conv_algo)algo, conv_shape(b)) ||
            (algo == WMI_CONV_DIRECT && b->y.n > 5000)) /* the loops are slow */
            continue;
        answer want = solve(b, (wmi_conv_algo)algo, 2, true);
        for (int t = 0; t < 3; t++) {
            answer got = solve(b, (wmi_conv_algo)algo, threads[t], true);
            assert_memory_equal(got.y, want.y, (size_t)b->y.n * b->size);
            assert_memory_equal(got.dx, want.dx, (size_t)b->x.n * b->size);
            assert_memory_equal(got.dw, want.dw, (size_t)b->w.n * b->size);
            answer_free(&got);
        }
        answer_free(&want);
    }
}

static void bits_do_not_depend_on_threads(void **state)
{
    (void)state;
    for_all(check_bits);
}

static double dot(const bench *b, const void *p, const void *q, int64_t n)
{
    double sum = 0;

    for (int64_t i = 0; i < n; i++)
        sum += get(b, p, i) * get(b, q, i);
    return sum;
}

/* conv(leaky(x), w) is linear in w and homogeneous of degree 1 in x: <y, dy> = <x, dx> = <w, dw>.
 * Each is a sum of n terms that agree to the tolerance above times their rms. */
static void check_adjoint(bench *b, wmi_dtype dtype)
{
    for (int algo = 0; algo < WMI_CONV_ALGO_COUNT; algo++) {
        if (!wmi_conv_supports((wmi_conv_algo)algo, conv_shape(b)) ||
            (algo == WMI_CONV_DIRECT && b->y.n > 5000))
            continue;
        answer a = solve(b, (wmi_conv_algo)algo, 2, false);
        const double yy = dot(b, a.y, b->y.grad, b->y.n);
        const double size = sqrt(dot(b, a.y, a.y, b->y.n) * dot(b, b->y.grad, b->y.grad, b->y.n));
        const double tol = tolerance((wmi_conv_algo)algo, dtype) * size;

        assert_near(dot(b, a.dx, b->x.val, b->x.n), yy, tol);
        assert_near(dot(b, a.dw, b->w.val, b->w.n), yy, tol);
        answer_free(&a);
    }
}

static void passes_are_adjoint(void **state)
{
    (void)state;
    for_all(check_adjoint);
}

/* One pixel is easy to follow: a 3x3 window of stride 2 over 4x4 is padded at bottom and right
 * only. */
static void padding_is_tensorflows(void **state)
{
    const shape s = {1, 4, 4, 1, 1, 3, 2};
    bench b;

    (void)state;
    bench_open(&b, &s, WMI_F64, WMI_ISA_BASE, 1);
    assert_int_equal(b.y.shape.dim[1], 2);
    assert_int_equal(conv_shape(&b)->pad_top, 0);
    for (int i = 0; i < 16; i++)
        put(&b, b.x.val, i, i);
    for (int i = 0; i < 9; i++)
        put(&b, b.w.val, i, i == 8); /* looks at the pixel two below and two to the right */
    answer a = solve(&b, WMI_CONV_GEMM, 1, false);
    assert_true(get(&b, a.y, 0) == 10);
    assert_true(get(&b, a.y, 1) == 0 && get(&b, a.y, 2) == 0 && get(&b, a.y, 3) == 0);
    answer_free(&a);
    bench_close(&b);
}

static void the_rule_picks_by_shape(void **state)
{
    static const struct {
        shape s;
        wmi_conv_algo want;
    } cases[] = {
        {{100, 28, 28, 64, 64, 3, 1}, WMI_CONV_WINOGRAD},
        {{100, 28, 28, 1, 64, 3, 1}, WMI_CONV_GEMM},
        {{320, 28, 28, 1, 32, 5, 2}, WMI_CONV_GEMM},
        {{100, 7, 7, 64, 128, 1, 1}, WMI_CONV_GEMM},
        {{100, 14, 14, 64, 64, 5, 1}, WMI_CONV_GEMM},
        {{0, 7, 7, 64, 64, 3, 1}, WMI_CONV_WINOGRAD},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bench b;

        bench_open(&b, &cases[i].s, WMI_F32, WMI_ISA_BASE, 1);
        assert_int_equal(((wmi_conv_state *)b.y.state)->algo, cases[i].want);
        bench_close(&b);
    }
}

static void an_empty_batch_has_zero_gradients(void **state)
{
    static const shape empty[] = {{0, 7, 7, 16, 16, 3, 1}, {0, 7, 7, 1, 4, 5, 2}};

    (void)state;
    for (int i = 0; i < 2; i++)
        for (int algo = 0; algo < WMI_CONV_ALGO_COUNT; algo++) {
            bench b;

            bench_open(&b, &empty[i], WMI_F32, wmi_isa_best(), 0.3);
            if (wmi_conv_supports((wmi_conv_algo)algo, conv_shape(&b))) {
                answer a = solve(&b, (wmi_conv_algo)algo, 2, false);
                for (int64_t k = 0; k < b.w.n; k++)
                    assert_true(get(&b, a.dw, k) == 0);
                answer_free(&a);
            }
            bench_close(&b);
        }
}

static void only_what_is_needed_is_kept(void **state)
{
    const shape s = {1, 4, 4, 8, 8, 3, 1};
    bench b;

    (void)state;
    for (int leaky = 0; leaky < 2; leaky++) {
        bench_open(&b, &s, WMI_F32, WMI_ISA_BASE, leaky ? 0.2 : 1);
        assert_int_equal(b.op->keeps(&b.y), WMI_KEEP_IN(0) | WMI_KEEP_IN(1));
        b.w.wants_grad = false; /* sampling: the gradient of the input alone */
        assert_int_equal(b.op->keeps(&b.y), WMI_KEEP_IN(1) | (leaky ? WMI_KEEP_IN(0) : 0));
        b.w.wants_grad = true;
        b.x.wants_grad = false; /* a stem in training */
        assert_int_equal(b.op->keeps(&b.y), WMI_KEEP_IN(0));
        bench_close(&b);
    }
}

static void bad_shapes_are_named(void **state)
{
    wmi_conv_attr attr = {.stride = 1, .pre_slope = 1};
    wmi_node x = {.name = "x", .shape = {4, {1, 4, 4, 3}}};
    wmi_node w = {.name = "w", .shape = {4, {3, 3, 4, 8}}};
    wmi_node y = {.op = wmi_op_find("conv2d", WMI_F32, WMI_ISA_BASE),
                  .name = "stem",
                  .in = {&x, &w},
                  .n_in = 2,
                  .attr = &attr};
    wm_error err;

    (void)state;
    assert_int_equal(y.op->infer(&y, &err), WM_ESHAPE);
    assert_non_null(strstr(err.text, "stem"));
    assert_non_null(strstr(err.text, "3 channels, the weights want 4"));
    w.shape.dim[2] = 3;
    attr.stride = 0;
    assert_int_equal(y.op->infer(&y, &err), WM_ESHAPE);
    attr.stride = 1;
    attr.pre_slope = (double)NAN;
    assert_int_equal(y.op->infer(&y, &err), WM_ESHAPE);
    attr.pre_slope = 1;
    w.shape.dim[0] = 0;
    assert_int_equal(y.op->infer(&y, &err), WM_ESHAPE);
    x.shape.rank = 3;
    assert_int_equal(y.op->infer(&y, &err), WM_ESHAPE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(padding_is_tensorflows),
        cmocka_unit_test(the_rule_picks_by_shape),
        cmocka_unit_test(algorithms_agree_with_plain_loops),
        cmocka_unit_test(passes_are_adjoint),
        cmocka_unit_test(bits_do_not_depend_on_threads),
        cmocka_unit_test(an_empty_batch_has_zero_gradients),
        cmocka_unit_test(only_what_is_needed_is_kept),
        cmocka_unit_test(bad_shapes_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
