/* test_rq_coupling.c - the fused splines of couplings: against the plain rq_knots and rq_spline,
 * there and back in float at, on and outside the interval, and the same bits for any number of
 * threads. Gradients are in test_gradients.c, whole flows in tests/noise/. */
#include <float.h>
#include <stdlib.h>

#include "base/rng.h"
#include "engine/program.h"
#include "one_op.h"

enum { BINS = 8, VALUES = 3 * BINS - 1 };

static const double BOUND = 3;

static double *doubles(int64_t n)
{
    double *p = calloc((size_t)n, sizeof *p);

    assert_non_null(p);
    return p;
}

/* Normal numbers; element i of stream `name`. */
static double *normals(const char *name, int64_t n, double deviation)
{
    const wmi_rng rng = wmi_rng_make(9, name);
    double *p = doubles(n);

    wmi_rng_normal_f64(&rng, 0, n, p);
    for (int64_t i = 0; i < n; i++)
        p[i] *= deviation;
    return p;
}

/* y and log slope (2, rows, d) of x (rows, d), by one build of the op. */
static void run(one_build b, int64_t rows, int64_t d, int bins, const double *x, const double *raw,
                bool inverse, const double *dy, one_op *o)
{
    const wmi_rq_coupling_attr attr = {bins, BOUND, inverse};
    const one_input in[] = {
        {.rank = 2, .dim = {rows, d}, .val = x, .grad = dy != NULL},
        {.rank = 2, .dim = {rows, d * (3 * bins - 1)}, .val = raw, .grad = dy != NULL}};

    one_op_run(o, "rq_coupling", b, &attr, 2, in, dy, true);
}

/* The ops that keep knots in memory and search bins by halving, in double: another author's code.
 */
static void agrees_with_the_plain_spline(void **state)
{
    enum { ROWS = 41, D = 3 };
    double *x = normals("x", ROWS * D, 1.5), *raw = normals("raw", ROWS * D * VALUES, 1);

    (void)state;
    for (int inverse = 0; inverse < 2; inverse++) {
        wmi_graph *g = NULL;
        wmi_program *p = NULL;
        wmi_node *nx, *nraw, *plain, *fused, *out[2];
        void *at = NULL;
        wm_error err = {0};

        assert_ok(wmi_graph_new(&g, WMI_F64, NULL, &err), err);
        nx = wmi_input(g, "x", 2, (int64_t[]){ROWS, D});
        nraw = wmi_input(g, "raw", 3, (int64_t[]){ROWS, D, VALUES});
        plain = wmi_rq_spline(g, nx, wmi_rq_knots(g, nraw, BOUND), inverse);
        fused = wmi_rq_coupling(g, nx, wmi_reshape(g, nraw, 2, (int64_t[]){ROWS, D * VALUES}),
                                (wmi_rq_coupling_attr){BINS, BOUND, inverse});
        out[0] = plain;
        out[1] = fused;
        assert_ok(wmi_compile(&p, g, &(wmi_compile_opts){.outputs = out, .n_outputs = 2}, &err),
                  err);
        assert_ok(wmi_program_input(p, "x", &at, &err), err);
        memcpy(at, x, ROWS * D * sizeof *x);
        assert_ok(wmi_program_input(p, "raw", &at, &err), err);
        memcpy(at, raw, ROWS * D * VALUES * sizeof *raw);
        assert_ok(wmi_program_forward(p, &err), err);
        for (int64_t i = 0; i < 2 * ROWS * D; i++) /* rounding of 1e-16 by slopes of up to 1e2 */
            assert_near(((const double *)wmi_program_value(p, fused))[i],
                        ((const double *)wmi_program_value(p, plain))[i], 1e-12);
        wmi_program_free(p);
        wmi_graph_free(g);
    }
    free(raw);
    free(x);
}

/* Places where splines go wrong: the ends, their neighbours, far outside, and the knots themselves,
 * which a spline of equal bins has at multiples of 6 / 8. */
static double special_place(int64_t i)
{
    static const float edge[] = {3,           -3,         2.9999998F, -2.9999998F, 3.0000002F,
                                 -3.0000002F, 0,          -0.0F,      1e-30F,      -1e-38F,
                                 1e30F,       -FLT_MAX,   0.75F,      -0.75F,      2.25F,
                                 1.4999999F,  1.5000001F, 100,        -7};

    return (double)edge[i % (int64_t)(sizeof edge / sizeof *edge)];
}

/* A position in float is the sum of up to 8 sizes, each step off by 6e-8 times 3, and so is what
 * the formula makes of it; on the way back that counts times the slope, which changes within a bin.
 * For raw values of deviation up to 2, measured 2e-5 (1 + |dx/dy|) at most. Beyond, splines are
 * steps with slopes down to 1e-8, where float has nothing left to come back from: there the numbers
 * are to be finite and in the interval. Log slopes are compared where raw values are tame. */
static void there_and_back_in_float(void **state)
{
    enum { N = 40000 };
    static const double deviation[] = {0, 0.5, 2, 8, 50};

    (void)state;
    for (int isa = 0; isa < WMI_ISA_COUNT; isa++)
        for (size_t k = 0; wmi_isa_usable((wmi_isa)isa) && k < sizeof deviation / sizeof *deviation;
             k++) {
            const one_build b = {WMI_F32, (wmi_isa)isa, 2};
            double *x = normals("place", N, 1.7);
            double *raw = normals("values", (int64_t)N * VALUES, deviation[k]);
            one_op there, back;

            for (int64_t i = 0; i < N; i++)
                x[i] = i % 4 == 0 ? special_place(i / 4) : (double)(float)x[i];
            run(b, N / 2, 2, BINS, x, raw, false, NULL, &there);
            run(b, N / 2, 2, BINS, there.y, raw, true, NULL, &back);
            for (int64_t i = 0; i < N; i++) {
                const double slope = exp(back.y[N + i]);

                assert_true(isfinite(there.y[N + i]) && isfinite(back.y[N + i]));
                if (fabs(x[i]) >= BOUND) { /* not a bit changed */
                    assert_true(there.y[i] == x[i] && there.y[N + i] == 0);
                    continue;
                }
                assert_true(fabs(there.y[i]) <= BOUND * (1 + 1e-6));
                assert_true(fabs(back.y[i]) <= BOUND * (1 + 1e-6));
                if (deviation[k] <= 2)
                    assert_near(back.y[i], x[i], 1e-4 * (1 + slope));
                if (slope < 10 && deviation[k] < 1)
                    assert_near(back.y[N + i], -there.y[N + i], 1e-3);
                if (deviation[k] == 0) { /* raw values of 0: the identity */
                    assert_near(there.y[i], x[i], 2e-6);
                    assert_near(there.y[N + i], 0, 2e-6);
                }
            }
            one_op_free(&there);
            one_op_free(&back);
            free(raw);
            free(x);
        }
}

/* Not a number stays so, and only in its own place. */
static void nan_passes_through(void **state)
{
    double x[] = {0.5, NAN, -1, 2}, *raw = normals("raw", 4 * VALUES, 1);
    one_op o;

    (void)state;
    for (int inverse = 0; inverse < 2; inverse++) {
        run((one_build){WMI_F32, WMI_ISA_BASE, 1}, 2, 2, BINS, x, raw, inverse, NULL, &o);
        for (int i = 0; i < 4; i++)
            assert_true(isnan(o.y[i]) == isnan(x[i]));
        one_op_free(&o);
    }
    free(raw);
}

static void bits_do_not_depend_on_threads(void **state)
{
    enum { ROWS = 2001, D = 3 };
    double *x = normals("x", ROWS * D, 1.5), *raw = normals("raw", ROWS * D * VALUES, 1);
    double *dy = normals("dy", 2 * ROWS * D, 1);

    (void)state;
    for (int inverse = 0; inverse < 2; inverse++) {
        one_op one, many;

        run((one_build){WMI_F32, WMI_ISA_BASE, 1}, ROWS, D, BINS, x, raw, inverse, dy, &one);
        run((one_build){WMI_F32, WMI_ISA_BASE, 7}, ROWS, D, BINS, x, raw, inverse, dy, &many);
        assert_memory_equal(one.y, many.y, 2 * ROWS * D * sizeof(double));
        assert_memory_equal(one.dx[0], many.dx[0], ROWS * D * sizeof(double));
        assert_memory_equal(one.dx[1], many.dx[1], ROWS * D * VALUES * sizeof(double));
        one_op_free(&one);
        one_op_free(&many);
    }
    free(dy);
    free(raw);
    free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_the_plain_spline),
        cmocka_unit_test(there_and_back_in_float),
        cmocka_unit_test(nan_passes_through),
        cmocka_unit_test(bits_do_not_depend_on_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
