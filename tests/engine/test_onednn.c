/* test_onednn.c - the direct convolution against plain loops in double, all three passes.
 *
 * Inputs are uniform in [-1, 1]. A float sum of K products of them has a rounding error below
 * K eps max|partial sum|, and partial sums grow like sqrt(K / 9); 4 eps K is ten times what is seen
 * and far below the effect of one product left out (about 0.1). */
#include "check.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "engine/backend/onednn.h"

enum { FORWARD = 1, GRAD_X = 2, GRAD_W = 4, ALL = 7 };

typedef struct arrays {
    float *x, *w, *y, *dy, *dx, *dw; /* (n, h, w, ci), (kh, kw, ci, co), (n, oh, ow, co), ... */
    double *want;
    int64_t nx, nw, ny;
} arrays;

static const int64_t cases[][7] = {
    /* n, h, w, ci, co, window, stride */
    {1, 1, 1, 1, 1, 1, 1},     {1, 5, 7, 3, 8, 3, 1},    {7, 9, 9, 8, 17, 3, 1},
    {7, 14, 14, 32, 32, 3, 1}, {1, 28, 28, 1, 32, 5, 2}, {7, 28, 28, 1, 8, 5, 3},
    {7, 27, 27, 1, 17, 5, 3},  {7, 7, 7, 17, 32, 1, 1},  {1, 8, 8, 8, 3, 1, 2},
    {7, 9, 6, 3, 17, 3, 2},    {1, 13, 11, 17, 8, 3, 3}, {7, 6, 6, 32, 8, 5, 1},
    {1, 15, 15, 8, 32, 5, 2},  {7, 4, 4, 32, 17, 1, 3},  {7, 2, 3, 17, 17, 5, 2},
};
enum { CASES = sizeof cases / sizeof *cases };

static uint32_t draw_state;

static float draw(void)
{
    draw_state = draw_state * 1664525u + 1013904223u;
    return (float)(draw_state >> 8) / 8388608.0f - 1;
}

static float *fresh(int64_t count)
{
    float *p = malloc((size_t)count * sizeof *p + 1);
    assert_non_null(p);
    for (int64_t i = 0; i < count; i++)
        p[i] = draw();
    return p;
}

static wmi_conv_shape same(const int64_t *c) /* SAME padding, surplus at bottom and right */
{
    wmi_conv_shape s = {.n = c[0], .h = c[1], .w = c[2], .ci = c[3], .co = c[4]};
    int64_t pad_h, pad_w;

    s.kh = s.kw = c[5];
    s.stride = c[6];
    s.oh = (s.h + s.stride - 1) / s.stride;
    s.ow = (s.w + s.stride - 1) / s.stride;
    pad_h = (s.oh - 1) * s.stride + s.kh - s.h;
    pad_w = (s.ow - 1) * s.stride + s.kw - s.w;
    s.pad_top = pad_h > 0 ? pad_h / 2 : 0;
    s.pad_left = pad_w > 0 ? pad_w / 2 : 0;
    return s;
}

static arrays arrays_new(const wmi_conv_shape *s)
{
    arrays a = {.nx = s->n * s->h * s->w * s->ci,
                .nw = s->kh * s->kw * s->ci * s->co,
                .ny = s->n * s->oh * s->ow * s->co};
    const int64_t most = a.nx + a.nw + a.ny;

    draw_state = 1;
    a.x = fresh(a.nx), a.w = fresh(a.nw), a.dy = fresh(a.ny);
    a.y = fresh(a.ny), a.dx = fresh(a.nx), a.dw = fresh(a.nw); /* must be overwritten */
    a.want = malloc((size_t)most * sizeof *a.want + 1);
    assert_non_null(a.want);
    return a;
}

static void arrays_free(arrays *a)
{
    free(a->x), free(a->w), free(a->y), free(a->dy), free(a->dx), free(a->dw), free(a->want);
}

/* Adds every product of the convolution to out[the index of the tensor that pass writes]. */
static void loops(const wmi_conv_shape *s, const arrays *a, int pass, double *out, int64_t count)
{
    memset(out, 0, (size_t)count * sizeof *out);
    for (int64_t n = 0; n < s->n; n++)
        for (int64_t i = 0; i < s->oh * s->ow; i++)
            for (int64_t k = 0; k < s->kh * s->kw; k++) {
                const int64_t r = i / s->ow * s->stride + k / s->kw - s->pad_top,
                              q = i % s->ow * s->stride + k % s->kw - s->pad_left;
                if (r < 0 || r >= s->h || q < 0 || q >= s->w)
                    continue;
                for (int64_t ci = 0; ci < s->ci; ci++)
                    for (int64_t co = 0; co < s->co; co++) {
                        const int64_t x = ((n * s->h + r) * s->w + q) * s->ci + ci,
                                      w = (k * s->ci + ci) * s->co + co,
                                      y = (n * s->oh * s->ow + i) * s->co + co;
                        if (pass == FORWARD)
                            out[y] += (double)a->x[x] * a->w[w];
                        else if (pass == GRAD_X)
                            out[x] += (double)a->dy[y] * a->w[w];
                        else
                            out[w] += (double)a->x[x] * a->dy[y];
                    }
            }
}

static void run(wmi_onednn_conv *c, const arrays *a, unsigned passes)
{
    for (unsigned pass = FORWARD; pass <= GRAD_W; pass *= 2) {
        const size_t bytes = wmi_onednn_conv_scratch(c, pass);
        char *scratch;
        if (!(passes & pass))
            continue;
        assert_int_equal(bytes % 64, 0);
        scratch = aligned_alloc(64, bytes + 64);
        assert_non_null(scratch);
        memset(scratch, 0xff, bytes + 64); /* NaN, so that nothing may rely on zeros */
        if (pass == FORWARD)
            wmi_onednn_conv_forward(c, a->x, a->w, a->y, scratch);
        else if (pass == GRAD_X)
            wmi_onednn_conv_grad_x(c, a->dy, a->w, a->dx, scratch);
        else
            wmi_onednn_conv_grad_w(c, a->x, a->dy, a->dw, scratch);
        for (size_t i = 0; i < 64; i++) /* kept within what it asked for */
            assert_int_equal((unsigned char)scratch[bytes + i], 0xff);
        free(scratch);
    }
}

static void compare(const float *got, const double *want, int64_t count, int64_t terms, int64_t k,
                    const char *what)
{
    const double tol = 4 * FLT_EPSILON * (double)terms;

    for (int64_t i = 0; i < count; i++)
        if (!(fabs(got[i] - want[i]) <= tol))
            fail_msg("case %d, %s[%d] = %.9g, expected %.9g within %g", (int)k, what, (int)i,
                     got[i], want[i], tol);
}

static void passes_match_plain_loops(void **state)
{
    (void)state;
    for (int64_t k = 0; k < CASES; k++) {
        const wmi_conv_shape s = same(cases[k]);
        wmi_onednn_conv *c;
        arrays a = arrays_new(&s);
        wm_error err = {0};

        assert_ok(wmi_onednn_conv_new(&c, &s, ALL, &err), err);
        run(c, &a, ALL);
        loops(&s, &a, FORWARD, a.want, a.ny);
        compare(a.y, a.want, a.ny, s.kh * s.kw * s.ci, k, "y");
        loops(&s, &a, GRAD_X, a.want, a.nx);
        compare(a.dx, a.want, a.nx, s.kh * s.kw * s.co, k, "dx");
        loops(&s, &a, GRAD_W, a.want, a.nw);
        compare(a.dw, a.want, a.nw, s.n * s.oh * s.ow, k, "dw");
        wmi_onednn_conv_free(c);
        arrays_free(&a);
    }
}

static void repeats_give_the_same_bits(void **state)
{
    (void)state;
    for (int64_t k = 0; k < CASES; k++) {
        const wmi_conv_shape s = same(cases[k]);
        wmi_onednn_conv *c;
        arrays a = arrays_new(&s), b = arrays_new(&s);
        wm_error err = {0};

        assert_ok(wmi_onednn_conv_new(&c, &s, ALL, &err), err);
        run(c, &a, ALL);
        for (int repeat = 0; repeat < 5; repeat++) {
            run(c, &b, ALL); /* other addresses, the same numbers */
            assert_memory_equal(a.y, b.y, (size_t)a.ny * sizeof *a.y);
            assert_memory_equal(a.dx, b.dx, (size_t)a.nx * sizeof *a.dx);
            assert_memory_equal(a.dw, b.dw, (size_t)a.nw * sizeof *a.dw);
        }
        wmi_onednn_conv_free(c);
        arrays_free(&a);
        arrays_free(&b);
    }
}

/* Each pass alone gives what it gives in company, and needs no scratch for the others. */
static void passes_stand_alone(void **state)
{
    const wmi_conv_shape s = same(cases[2]);

    (void)state;
    for (unsigned pass = FORWARD; pass <= GRAD_W; pass *= 2) {
        wmi_onednn_conv *one, *all;
        arrays a = arrays_new(&s), b = arrays_new(&s);
        wm_error err = {0};

        assert_ok(wmi_onednn_conv_new(&one, &s, pass, &err), err);
        assert_ok(wmi_onednn_conv_new(&all, &s, ALL, &err), err);
        assert_int_equal(wmi_onednn_conv_scratch(one, ALL), wmi_onednn_conv_scratch(all, pass));
        run(one, &a, pass);
        run(all, &b, pass);
        assert_memory_equal(a.y, b.y, (size_t)a.ny * sizeof *a.y);
        assert_memory_equal(a.dx, b.dx, (size_t)a.nx * sizeof *a.dx);
        assert_memory_equal(a.dw, b.dw, (size_t)a.nw * sizeof *a.dw);
        wmi_onednn_conv_free(one);
        wmi_onednn_conv_free(all);
        arrays_free(&a);
        arrays_free(&b);
    }
}

static void sums_over_nothing_are_zero(void **state)
{
    const int64_t no_rows[] = {0, 5, 5, 3, 4, 3, 1}, no_channels[] = {2, 5, 5, 0, 4, 3, 1};
    const wmi_conv_shape rows = same(no_rows), channels = same(no_channels);
    wmi_onednn_conv *c;
    wm_error err = {0};
    arrays a = arrays_new(&rows), b = arrays_new(&channels);

    (void)state;
    assert_ok(wmi_onednn_conv_new(&c, &rows, ALL, &err), err);
    run(c, &a, ALL);
    for (int64_t i = 0; i < a.nw; i++)
        assert_true(a.dw[i] == 0);
    wmi_onednn_conv_free(c);
    assert_ok(wmi_onednn_conv_new(&c, &channels, ALL, &err), err);
    run(c, &b, ALL);
    for (int64_t i = 0; i < b.ny; i++)
        assert_true(b.y[i] == 0);
    wmi_onednn_conv_free(c);
    arrays_free(&a);
    arrays_free(&b);
}

static void bad_shapes_are_errors(void **state)
{
    wmi_conv_shape s = same(cases[1]);
    wmi_onednn_conv *c = (wmi_onednn_conv *)&s;
    wm_error err = {0};

    (void)state;
    s.pad_top = -1;
    assert_int_equal(wmi_onednn_conv_new(&c, &s, ALL, &err), WM_EINVAL);
    assert_null(c);
    assert_non_null(strstr(err.text, "(1, 5, 7, 3) * (3, 3, 3, 8) stride 1: forward: "));
    assert_int_equal(wmi_onednn_conv_new(&c, &s, ALL, NULL), WM_EINVAL);
}

static void failed_allocation_leaves_nothing(void **state)
{
    const wmi_conv_shape s = same(cases[1]);
    const int64_t live = wmi_alloc_live();
    wmi_onednn_conv *c;
    wm_error err = {0};

    (void)state;
    wmi_alloc_fail_at(1);
    assert_int_equal(wmi_onednn_conv_new(&c, &s, ALL, &err), WM_ENOMEM);
    wmi_alloc_fail_at(0);
    assert_null(c);
    assert_ok(wmi_onednn_conv_new(&c, &s, ALL, &err), err);
    assert_int_equal(wmi_alloc_live(), live + 1);
    wmi_onednn_conv_free(c);
    wmi_onednn_conv_free(NULL);
    assert_int_equal(wmi_alloc_live(), live);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(passes_match_plain_loops),
        cmocka_unit_test(repeats_give_the_same_bits),
        cmocka_unit_test(passes_stand_alone),
        cmocka_unit_test(sums_over_nothing_are_zero),
        cmocka_unit_test(bad_shapes_are_errors),
        cmocka_unit_test(failed_allocation_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
