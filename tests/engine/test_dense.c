/* test_dense.c - the fused layer against plain loops, in every form and build, and its bits against
 * the number of threads. */
#include "one_op.h"

#include <stdio.h>

enum { X, W, B, SCALE, SHIFT, RESIDUAL, INPUTS };

typedef struct layer {
    int64_t m, n, in, out; /* bridges, rows of each, columns */
    int n_in;              /* 3 plain, 5 with scale and shift, 6 with a residual as well */
    double pre_slope, slope;
} layer;

typedef struct arrays {
    double *in[INPUTS], *d[INPUTS]; /* values, and gradients as they should be */
    int64_t count[INPUTS];
    double *dy, *y;
} arrays;

static void shape_of(const layer *l, int i, one_input *in)
{
    const int64_t rows = l->m * l->n;
    const one_input all[INPUTS] = {ONE_SHAPE(2, rows, l->in),  ONE_SHAPE(2, l->in, l->out),
                                   ONE_SHAPE(1, l->out),       ONE_SHAPE(2, l->m, l->out),
                                   ONE_SHAPE(2, l->m, l->out), ONE_SHAPE(2, rows, l->out)};

    *in = all[i];
}

static arrays make(const layer *l, one_input in[INPUTS])
{
    arrays a = {.dy = one_op_values(20, l->m * l->n * l->out),
                .y = one_op_zeros(l->m * l->n * l->out)};

    for (int i = 0; i < l->n_in; i++) {
        shape_of(l, i, &in[i]);
        a.count[i] = 1;
        for (int k = 0; k < in[i].rank; k++)
            a.count[i] *= in[i].dim[k];
        a.in[i] = one_op_values((uint64_t)i, a.count[i]);
        a.d[i] = one_op_zeros(a.count[i]);
        in[i].val = a.in[i];
        in[i].grad = true;
    }
    return a;
}

static void release(arrays *a)
{
    for (int i = 0; i < INPUTS; i++) {
        wmi_free(a->in[i]);
        wmi_free(a->d[i]);
    }
    wmi_free(a->dy);
    wmi_free(a->y);
}

static double leaky(double v, double slope)
{
    return v > 0 ? v : slope * v;
}

static void reference_forward(const layer *l, arrays *a)
{
    for (int64_t r = 0; r < l->m * l->n; r++)
        for (int64_t j = 0; j < l->out; j++) {
            const int64_t k = r / l->n, at = k * l->out + j;
            double u = a->in[B][j];

            for (int64_t i = 0; i < l->in; i++)
                u += leaky(a->in[X][r * l->in + i], l->pre_slope) * a->in[W][i * l->out + j];
            if (l->n_in > SCALE)
                u = a->in[SCALE][at] * u + a->in[SHIFT][at];
            if (l->n_in > RESIDUAL)
                u += a->in[RESIDUAL][r * l->out + j];
            a->y[r * l->out + j] = leaky(u, l->slope);
        }
}

/* y decides which side of the kink a value was: the op's own, which rounding may have moved across.
 */
static void reference_backward(const layer *l, arrays *a, const double *y, double before)
{
    for (int i = 0; i < l->n_in; i++)
        for (int64_t j = 0; j < a->count[i]; j++)
            a->d[i][j] = before;
    for (int64_t r = 0; r < l->m * l->n; r++)
        for (int64_t j = 0; j < l->out; j++) {
            const int64_t at = r / l->n * l->out + j;
            const double u = a->dy[r * l->out + j] * (y[r * l->out + j] > 0 ? 1 : l->slope);
            const double s = l->n_in > SCALE ? a->in[SCALE][at] : 1;
            double z = a->in[B][j];

            for (int64_t i = 0; i < l->in; i++) {
                const double x = a->in[X][r * l->in + i], w = a->in[W][i * l->out + j];

                z += leaky(x, l->pre_slope) * w;
                a->d[W][i * l->out + j] += leaky(x, l->pre_slope) * s * u;
                a->d[X][r * l->in + i] += w * s * u * (x > 0 ? 1 : l->pre_slope);
            }
            a->d[B][j] += s * u;
            if (l->n_in > SCALE) {
                a->d[SCALE][at] += z * u;
                a->d[SHIFT][at] += u;
            }
            if (l->n_in > RESIDUAL)
                a->d[RESIDUAL][r * l->out + j] += u;
        }
}

/* Sums of up to 1000 products of numbers up to 1, of which one factor is itself such a sum: float
 * keeps 2e-4 of it, double 1e-12. */
static void check(layer l, one_build b, bool fresh, unsigned wanted)
{
    static const char *const name[INPUTS] = {"dx", "dw", "db", "dscale", "dshift", "dresidual"};
    const double tol = b.dtype == WMI_F32 ? 2e-4 : 1e-12;
    const wmi_dense_attr attr = {l.pre_slope, l.slope};
    one_input in[INPUTS];
    arrays a = make(&l, in);
    one_op o;

    for (int i = 0; i < l.n_in; i++)
        in[i].grad = wanted >> i & 1;
    reference_forward(&l, &a);
    one_op_run(&o, "dense", b, &attr, l.n_in, in, a.dy, fresh);
    assert_int_equal(o.nd.n, l.m * l.n * l.out);
    assert_array("y", b, o.y, a.y, o.nd.n, tol);
    reference_backward(&l, &a, o.y, fresh ? 0 : ONE_OP_BEFORE);
    for (int i = 0; i < l.n_in; i++)
        if (in[i].grad)
            assert_array(name[i], b, o.dx[i], a.d[i], a.count[i], tol);
    one_op_free(&o);
    release(&a);
}

static void every_form_matches_loops(void **state)
{
    static const int64_t sizes[] = {0, 1, 2, 7, 33};
    static const double slopes[] = {1, 0.3, 0};
    one_build b;

    (void)state;
    for (int i = 0; one_op_build(i, 2, &b); i++)
        for (int c = 0; c < 5 * 5 * 5; c++)
            for (int f = 0; f < 3 * 9; f++) {
                const layer l = {.m = f % 3 ? 1 + c % 3 : 1,
                                 .n = sizes[c % 5],
                                 .in = sizes[c / 5 % 5],
                                 .out = sizes[c / 25],
                                 .n_in = (const int[]){3, 5, 6}[f % 3],
                                 .pre_slope = slopes[f / 3 % 3],
                                 .slope = slopes[f / 9]};

                check(l, b, (c + f) & 1, ~0u);
            }
}

/* More rows than a tile and a chunk, widths that fill vectors and panels, and that do not. */
static void large_layers_match_loops(void **state)
{
    static const layer layers[] = {
        {1, 100, 128, 128, 5, 0.3, 0.3}, {2, 263, 48, 32, 6, 0.3, 1}, {3, 97, 10, 128, 5, 1, 1},
        {1, 530, 19, 21, 6, 0.1, 0.2},   {1, 1000, 5, 64, 3, 1, 0.3}, {1, 60, 400, 16, 3, 1, 1},
    };
    one_build b;

    (void)state;
    for (int i = 0; one_op_build(i, 2, &b); i++)
        for (size_t k = 0; k < sizeof layers / sizeof *layers; k++)
            check(layers[k], b, k & 1, ~0u);
}

/* Any subset of the gradients: what is not asked for is not computed, and values that are not
 * declared to be kept are NaN by then (one_op.h). */
static void any_set_of_gradients_can_be_asked_for(void **state)
{
    one_build b;

    (void)state;
    for (int i = 0; one_op_build(i, 2, &b); i++)
        for (unsigned wanted = 1; wanted < 1u << INPUTS; wanted++) {
            check((layer){2, 9, 5, 18, 6, 0.3, 0.3}, b, wanted & 1, wanted);
            check((layer){2, 9, 5, 18, 6, 1, 1}, b, !(wanted & 1), wanted);
        }
}

static void bits_do_not_depend_on_threads(void **state)
{
    static const layer l = {2, 301, 70, 130, 6, 0.3, 0.3};
    static const int threads[] = {2, 3, 7};
    const wmi_dense_attr attr = {l.pre_slope, l.slope};
    one_input in[INPUTS];
    arrays a = make(&l, in);
    one_build b;

    (void)state;
    for (int i = 0; one_op_build(i, 1, &b); i++) {
        one_op one, more;

        one_op_run(&one, "dense", b, &attr, l.n_in, in, a.dy, true);
        for (int t = 0; t < 3; t++) {
            b.threads = threads[t];
            one_op_run(&more, "dense", b, &attr, l.n_in, in, a.dy, true);
            assert_memory_equal(one.y, more.y, (size_t)one.nd.n * sizeof(double));
            for (int k = 0; k < l.n_in; k++)
                assert_memory_equal(one.dx[k], more.dx[k], (size_t)a.count[k] * sizeof(double));
            one_op_free(&more);
        }
        one_op_free(&one);
    }
    release(&a);
}

/* A row's result does not depend on the rows around it: tables may be cut anywhere. */
static void bits_do_not_depend_on_the_rows_around(void **state)
{
    static const layer whole = {1, 200, 33, 40, 5, 0.3, 0.3};
    const wmi_dense_attr attr = {whole.pre_slope, whole.slope};
    one_input in[INPUTS];
    arrays a = make(&whole, in);
    one_build b;

    (void)state;
    for (int i = 0; one_op_build(i, 2, &b); i++) {
        one_op all, part;

        one_op_run(&all, "dense", b, &attr, whole.n_in, in, NULL, true);
        for (int64_t first = 0, count = 1; first + count <= whole.n; first += count, count += 7) {
            one_input some[INPUTS];

            memcpy(some, in, sizeof some);
            some[X].dim[0] = count;
            some[X].val = in[X].val + first * whole.in;
            one_op_run(&part, "dense", b, &attr, whole.n_in, some, NULL, true);
            assert_memory_equal(part.y, all.y + first * whole.out,
                                (size_t)(count * whole.out) * sizeof(double));
            one_op_free(&part);
        }
        one_op_free(&all);
    }
    release(&a);
}

static void wrong_shapes_are_named(void **state)
{
    static const struct {
        int n_in;
        one_input in[INPUTS];
        double slope;
        const char *says;
    } bad[] = {
        {4,
         {ONE_SHAPE(2, 4, 3), ONE_SHAPE(2, 3, 5), ONE_SHAPE(1, 5), ONE_SHAPE(2, 2, 5)},
         1,
         "takes"},
        {3, {ONE_SHAPE(2, 4, 3), ONE_SHAPE(2, 4, 5), ONE_SHAPE(1, 5)}, 1, "(rows, in)"},
        {3, {ONE_SHAPE(3, 1, 4, 3), ONE_SHAPE(2, 3, 5), ONE_SHAPE(1, 5)}, 1, "(rows, in)"},
        {3, {ONE_SHAPE(2, 4, 3), ONE_SHAPE(2, 3, 5), ONE_SHAPE(1, 3)}, 1, "bias"},
        {5,
         {ONE_SHAPE(2, 4, 3), ONE_SHAPE(2, 3, 5), ONE_SHAPE(1, 5), ONE_SHAPE(2, 2, 5),
          ONE_SHAPE(2, 4, 5)},
         1,
         "(bridges, out)"},
        {5,
         {ONE_SHAPE(2, 4, 3), ONE_SHAPE(2, 3, 5), ONE_SHAPE(1, 5), ONE_SHAPE(2, 3, 5),
          ONE_SHAPE(2, 3, 5)},
         1,
         "multiple of the bridges"},
        {6,
         {ONE_SHAPE(2, 4, 3), ONE_SHAPE(2, 3, 5), ONE_SHAPE(1, 5), ONE_SHAPE(2, 2, 5),
          ONE_SHAPE(2, 2, 5), ONE_SHAPE(2, 4, 3)},
         1,
         "residual"},
        {3, {ONE_SHAPE(2, 4, 3), ONE_SHAPE(2, 3, 5), ONE_SHAPE(1, 5)}, 1.5, "slopes 1 and 1.5"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const wmi_dense_attr attr = {1, bad[i].slope};
        wm_error err = {0};
        one_op o;

        assert_int_equal(one_op_infer(&o, "dense", (one_build){WMI_F32, WMI_ISA_BASE, 1}, &attr,
                                      bad[i].n_in, bad[i].in, &err),
                         WM_ESHAPE);
        if (!strstr(err.text, bad[i].says))
            fail_msg("'%s' does not say '%s'", err.text, bad[i].says);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form_matches_loops),
        cmocka_unit_test(large_layers_match_loops),
        cmocka_unit_test(any_set_of_gradients_can_be_asked_for),
        cmocka_unit_test(bits_do_not_depend_on_threads),
        cmocka_unit_test(bits_do_not_depend_on_the_rows_around),
        cmocka_unit_test(wrong_shapes_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
