/* test_rq_spline.c - the spline operations: values against an independent implementation
 * (make_rq_values.py), float32 round trips in large numbers and at awkward places, and what stands
 * under them: lane_math.h. Their gradients are tested in test_gradients.c. */
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#define WMI_REAL_BITS 32 /* lane_math.h for float */
#define WMI_ISA base

#include "asserts.h"
#include "base/rng.h"
#include "engine/ops.h"
#include "engine/ops/lane_math.h"
#include "engine/program.h"
#include "engine/rq_values.h"

#define DIMS(...)                                                                                  \
    (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), ((const int64_t[]){__VA_ARGS__})

static const double EPS32 = 0x1p-24; /* half a unit in the last place of 1 */

/* x and raw to knots, to the spline of x, to the inverse of that. */
typedef struct chain {
    wmi_graph *g;
    wmi_program *p;
    wmi_node *x, *raw, *knots, *y, *back, *loss;
    void *x_val, *raw_val;
    int64_t n; /* of x */
    wm_error err;
} chain;

static chain open_chain(wmi_dtype dtype, wmi_node *(*second)(chain *), int64_t rows, int64_t d,
                        int64_t bins, bool elements)
{
    chain c = {.n = rows * d};
    assert_ok(wmi_graph_new(&c.g, dtype, NULL, &c.err), c.err);
    c.x = wmi_input(c.g, "x", DIMS(rows, d));
    c.raw = elements ? wmi_input(c.g, "raw", DIMS(rows, d, 3 * bins - 1))
                     : wmi_input(c.g, "raw", DIMS(d, 3 * bins - 1));
    c.knots = wmi_rq_knots(c.g, c.raw, 3);
    c.y = wmi_rq_spline(c.g, c.x, c.knots, false);
    c.back = second(&c);
    wmi_node *const outputs[] = {c.knots, c.y, c.back};
    assert_ok(
        wmi_compile(&c.p, c.g, &(wmi_compile_opts){.outputs = outputs, .n_outputs = 3}, &c.err),
        c.err);
    assert_ok(wmi_program_input(c.p, "x", &c.x_val, &c.err), c.err);
    assert_ok(wmi_program_input(c.p, "raw", &c.raw_val, &c.err), c.err);
    return c;
}

static void close_chain(chain *c)
{
    wmi_program_free(c->p);
    wmi_graph_free(c->g);
}

static wmi_node *inverse_of_x(chain *c)
{
    return wmi_rq_spline(c->g, c->x, c->knots, true);
}

static wmi_node *inverse_of_y(chain *c)
{
    wmi_node *y = wmi_reshape(c->g, wmi_slice(c->g, c->y, 0, 0, 1), 2, c->x->shape.dim);
    return wmi_rq_spline(c->g, y, c->knots, true);
}

static void run(chain *c)
{
    assert_ok(wmi_program_forward(c->p, &c->err), c->err);
}

static double value(const chain *c, const wmi_node *nd, int64_t i)
{
    const void *v = wmi_program_value(c->p, nd);
    return wmi_graph_dtype(c->g) == WMI_F32 ? (double)((const float *)v)[i]
                                            : ((const double *)v)[i];
}

static void put(const chain *c, void *to, int64_t i, double x)
{
    if (wmi_graph_dtype(c->g) == WMI_F32)
        ((float *)to)[i] = (float)x;
    else
        ((double *)to)[i] = x;
}

/* ---- values ---- */

/* The stored inputs have three decimals, so that float moves them by 1e-7; slopes and curvatures
 * of the splines are below 20, log-slopes reach a few. */
static void values_are_those_of_an_independent_implementation(void **state)
{
    static const double tolerance[] = {[WMI_F32] = 4e-5, [WMI_F64] = 1e-12};
    (void)state;
    for (int dtype = WMI_F32; dtype <= WMI_F64; dtype++) {
        for (int elements = 0; elements < 2; elements++) {
            const int64_t n = RQ_ROWS * RQ_COLUMNS, free_numbers = 3 * RQ_BINS - 1;
            chain c =
                open_chain((wmi_dtype)dtype, inverse_of_x, RQ_ROWS, RQ_COLUMNS, RQ_BINS, elements);
            for (int64_t i = 0; i < n; i++)
                put(&c, c.x_val, i, rq_x[i]);
            for (int64_t i = 0; i < c.raw->n; i++)
                put(&c, c.raw_val, i, rq_raw[i % (RQ_COLUMNS * free_numbers)]);
            run(&c);
            for (int64_t i = 0; i < c.knots->n; i++)
                assert_near(value(&c, c.knots, i), rq_knots[i % (RQ_COLUMNS * 3 * (RQ_BINS + 1))],
                            tolerance[dtype]);
            for (int64_t i = 0; i < n; i++) {
                assert_near(value(&c, c.y, i), rq_y[i], tolerance[dtype]);
                assert_near(value(&c, c.y, n + i), rq_log_slope[i], tolerance[dtype]);
                assert_near(value(&c, c.back, i), rq_inverse[i], tolerance[dtype]);
                assert_near(value(&c, c.back, n + i), rq_inverse_log_slope[i], tolerance[dtype]);
            }
            close_chain(&c);
        }
    }
}

static void zero_is_the_identity(void **state)
{
    (void)state;
    chain c = open_chain(WMI_F32, inverse_of_x, 1000, 3, 8, false);
    memset(c.raw_val, 0, (size_t)c.raw->n * sizeof(float));
    for (int64_t i = 0; i < c.n; i++)
        put(&c, c.x_val, i, -4 + 8 * (double)i / (double)c.n);
    run(&c);
    for (int64_t i = 0; i < c.n; i++) { /* about four roundings of numbers up to 3 */
        assert_near(value(&c, c.y, i), (double)((float *)c.x_val)[i], 24 * EPS32);
        assert_near(value(&c, c.back, i), (double)((float *)c.x_val)[i], 24 * EPS32);
        /* knots 0.75 apart are off by eps 3, which the mean slope of a bin feels */
        assert_near(value(&c, c.y, c.n + i), 0, 32 * EPS32);
        assert_near(value(&c, c.back, c.n + i), 0, 32 * EPS32);
    }
    close_chain(&c);
}

/* ---- round trips ---- */

/* y is rounded to 2 eps, and the operations on the way add a few such errors; the way back divides
 * them by the slope, of which the smaller one counts where it changes between x and its return. The
 * log-slope moves by its own derivative over that distance, at most `curvature`. */
static void check_trips(const chain *c, double curvature)
{
    const float *x = c->x_val, *y = wmi_program_value(c->p, c->y),
                *back = wmi_program_value(c->p, c->back);
    for (int64_t i = 0; i < c->n; i++) {
        const double l = (double)y[c->n + i], m = (double)back[c->n + i];
        const double slip = 24 * EPS32 * (1 + exp(fmax(-l, m)));
        if (!isfinite(y[i]) || !isfinite(back[i]) ||
            !(fabs((double)back[i] - (double)x[i]) <= slip))
            fail_msg("%.9g goes to %.9g and returns as %.9g, log-slope %g", (double)x[i],
                     (double)y[i], (double)back[i], l);
        if (!(fabs(l + m) <= 1e-5 + curvature * slip))
            fail_msg("log-slopes of %.9g: %.9g there, %.9g back", (double)x[i], l, m);
    }
}

/* 1e7 in all, a tenth of them outside; new splines for every 2e5. d log-slope / dx is below (2
 * max(p, q) + 4) / w: with normal raw numbers of 8 bins a bin is wider than 6 / (1 + 7 e^6) > 2e-3
 * with all but vanishing probability, and slopes are below 6. */
static void ten_million_round_trips_in_float(void **state)
{
    const int64_t rows = 10000, d = 20;
    const wmi_rng rng = wmi_rng_make(7, "round trips");
    chain c = open_chain(WMI_F32, inverse_of_y, rows, d, 8, false);
    (void)state;
    for (uint64_t times = 0; times < 50; times++) {
        const wmi_rng a = wmi_rng_sub(&rng, 2 * times), b = wmi_rng_sub(&rng, 2 * times + 1);
        float *x = c.x_val;
        wmi_rng_normal_f32(&a, 0, c.raw->n, c.raw_val);
        wmi_rng_uniform_f32(&b, 0, c.n, x);
        for (int64_t i = 0; i < c.n; i++)
            x[i] = 6.6F * x[i] - 3.3F;
        run(&c);
        check_trips(&c, 1e4);
    }
    close_chain(&c);
}

/* Raw numbers up to 20: bins at their floors, slopes from 1e-3 to 20, and x at every awkward place.
 * The log-slope may then turn within a rounding of x, so it is not compared. */
static void awkward_places_survive(void **state)
{
    const int64_t bins = 8, d = 64;
    const wmi_rng rng = wmi_rng_make(8, "awkward");
    chain c = open_chain(WMI_F32, inverse_of_y, 40, d, bins, false);
    float *x = c.x_val, *raw = c.raw_val;
    (void)state;
    wmi_rng_uniform_f32(&rng, 0, c.raw->n, raw);
    for (int64_t i = 0; i < c.raw->n; i++)
        raw[i] = 40 * raw[i] - 20;
    memset(x, 0, (size_t)c.n * sizeof *x);
    run(&c); /* for the knots */
    for (int64_t j = 0; j < d; j++) {
        const float *at = (const float *)wmi_program_value(c.p, c.knots) + j * 3 * (bins + 1);
        const float ends[] = {-3,         3,     -3.0000002F, 3.0000002F, -2.9999998F,
                              2.9999998F, 3e38F, -3e38F,      1e-40F,     -1e-40F,
                              0,          -0.0F, INFINITY};
        int64_t i = 0;
        for (int64_t k = 0; k <= bins; k++) {
            x[i++ * d + j] = at[k];
            x[i++ * d + j] = nextafterf(at[k], 9);
            x[i++ * d + j] = nextafterf(at[k], -9);
        }
        for (size_t k = 0; k < sizeof ends / sizeof ends[0]; k++)
            x[i++ * d + j] = ends[k];
        assert_true(i == 40);
    }
    x[39 * d] = -INFINITY;
    run(&c);
    for (int64_t i = 0; i < 39 * d; i++) {
        const float *y = wmi_program_value(c.p, c.y), *back = wmi_program_value(c.p, c.back);
        const double slip =
            24 * EPS32 * (1 + exp(fmax(-(double)y[c.n + i], (double)back[c.n + i])));
        assert_true(isfinite(y[c.n + i]) && isfinite(back[c.n + i]));
        assert_near((double)back[i], (double)x[i], slip);
        assert_true(x[i] < -3 || x[i] > 3 ? y[i] == x[i] && y[c.n + i] == 0
                                          : y[i] >= -3 && y[i] <= 3);
    }
    for (int64_t i = 39 * d; i < c.n; i++) {
        assert_true(value(&c, c.y, i) == (double)x[i] && value(&c, c.back, i) == (double)x[i]);
        assert_true(value(&c, c.y, c.n + i) == 0);
    }
    close_chain(&c);
}

static void knots_are_met_and_slopes_hold_there(void **state)
{
    const int64_t bins = 6;
    const wmi_rng rng = wmi_rng_make(9, "knots");
    chain c = open_chain(WMI_F64, inverse_of_x, bins + 1, 1, bins, false);
    const double *at;
    (void)state;
    wmi_rng_normal_f64(&rng, 0, c.raw->n, c.raw_val);
    memset(c.x_val, 0, (size_t)c.n * sizeof(double));
    run(&c);
    at = wmi_program_value(c.p, c.knots);
    memcpy(c.x_val, at, (size_t)c.n * sizeof(double));
    run(&c);
    at = wmi_program_value(c.p, c.knots);
    for (int64_t k = 0; k <= bins; k++) {
        assert_near(value(&c, c.y, k), at[bins + 1 + k], 1e-14);
        assert_near(value(&c, c.y, c.n + k), log(at[2 * (bins + 1) + k]), 1e-12);
    }
    close_chain(&c);
}

static void is_monotone(void **state)
{
    const int64_t rows = 20000;
    const wmi_rng rng = wmi_rng_make(10, "monotone");
    chain c = open_chain(WMI_F32, inverse_of_x, rows, 1, 32, false);
    (void)state;
    wmi_rng_normal_f32(&rng, 0, c.raw->n, c.raw_val);
    for (int64_t i = 0; i < rows; i++)
        put(&c, c.x_val, i, -3.2 + 6.4 * (double)i / (double)rows);
    run(&c);
    for (int64_t i = 1; i < rows; i++) { /* up to the rounding of the results */
        assert_true(value(&c, c.y, i) >= value(&c, c.y, i - 1) - 8 * EPS32);
        assert_true(value(&c, c.back, i) >= value(&c, c.back, i - 1) - 8 * EPS32);
    }
    close_chain(&c);
}

static void nan_goes_through(void **state)
{
    (void)state;
    chain c = open_chain(WMI_F32, inverse_of_x, 2, 2, 4, false);
    float *x = c.x_val;
    memset(c.raw_val, 0, (size_t)c.raw->n * sizeof(float));
    x[0] = NAN;
    x[1] = x[2] = x[3] = 1;
    run(&c);
    for (int64_t i = 0; i < 2 * c.n; i++) {
        assert_true(!isnan(value(&c, c.y, i)) == (i % c.n != 0));
        assert_true(!isnan(value(&c, c.back, i)) == (i % c.n != 0));
    }
    close_chain(&c);
}

/* ---- threads, shapes ---- */

static void gradients(int threads, bool inverse, float *dx, float *draw)
{
    const int64_t rows = 700, d = 37, bins = 16;
    const wmi_rng a = wmi_rng_make(11, "x"), b = wmi_rng_make(11, "raw");
    const int before = omp_get_max_threads();
    wmi_graph *g = NULL;
    wmi_program *p = NULL;
    wmi_node *x, *raw, *y, *wanted[2];
    wm_error err;
    void *at;
    omp_set_num_threads(threads);
    assert_ok(wmi_graph_new(&g, WMI_F32, NULL, &err), err);
    wanted[0] = x = wmi_input(g, "x", DIMS(rows, d));
    wanted[1] = raw = wmi_input(g, "raw", DIMS(d, 3 * bins - 1));
    y = wmi_rq_spline(g, x, wmi_rq_knots(g, raw, 3), inverse);
    assert_ok(wmi_compile(&p, g,
                          &(wmi_compile_opts){.loss = wmi_sum(g, wmi_mul(g, y, y), WMI_ALL_AXES),
                                              .grad_inputs = wanted,
                                              .n_grad_inputs = 2},
                          &err),
              err);
    assert_ok(wmi_program_input(p, "x", &at, &err), err);
    wmi_rng_normal_f32(&a, 0, rows * d, at);
    assert_ok(wmi_program_input(p, "raw", &at, &err), err);
    wmi_rng_normal_f32(&b, 0, raw->n, at);
    assert_ok(wmi_program_backward(p, &err), err);
    memcpy(dx, wmi_program_grad(p, x), (size_t)(rows * d) * sizeof *dx);
    memcpy(draw, wmi_program_grad(p, raw), (size_t)raw->n * sizeof *draw);
    wmi_program_free(p);
    wmi_graph_free(g);
    omp_set_num_threads(before);
}

static void bits_do_not_depend_on_threads(void **state)
{
    static float dx[2][700 * 37], draw[2][37 * 47];
    (void)state;
    for (int inverse = 0; inverse < 2; inverse++) {
        gradients(1, inverse, dx[0], draw[0]);
        for (int t = 2; t <= 7; t += 5) {
            gradients(t, inverse, dx[1], draw[1]);
            assert_memory_equal(dx[0], dx[1], sizeof dx[0]);
            assert_memory_equal(draw[0], draw[1], sizeof draw[0]);
        }
    }
}

static void shapes_that_do_not_fit_are_refused(void **state)
{
    static const struct {
        int64_t columns, free_numbers;
        double bound;
        const char *says;
    } bad[] = {{4, 14, 3, "last axes of x"},
               {3, 13, 3, "3 K - 1"},
               {3, 14, 0, "(0, 1000]"},
               {3, 14, NAN, "(0, 1000]"},
               {3, 149, 0.02, "do not fit"}};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        wmi_graph *g = NULL;
        wm_error err;
        wmi_node *raw;
        assert_ok(wmi_graph_new(&g, WMI_F32, NULL, &err), err);
        raw = wmi_input(g, "raw", DIMS(bad[i].columns, bad[i].free_numbers));
        wmi_rq_spline(g, wmi_input(g, "x", DIMS(2, 3)), wmi_rq_knots(g, raw, bad[i].bound), false);
        assert_int_equal(wmi_graph_status(g, &err), WM_ESHAPE);
        if (!strstr(err.text, bad[i].says))
            fail_msg("'%s' does not say '%s'", err.text, bad[i].says);
        wmi_graph_free(g);
    }
}

/* ---- lane_math.h ---- */

static void exp_and_log_of_lanes_are_exact_to_two_units(void **state)
{
    (void)state;
    for (int i = 0; i <= 1000000; i++) {
        const float x = -87.0F * (float)i / 1e6F, got = lane_exp(x);
        const double want = exp((double)x);
        assert_true(fabs((double)got - want) <= 4 * EPS32 * want);
    }
    for (uint32_t bits = 0x00800000; bits < 0x7f800000; bits += 3001) {
        float x;
        double want;
        memcpy(&x, &bits, sizeof x);
        want = log((double)x);
        assert_true(fabs((double)lane_log(x) - want) <= 4 * EPS32 * fabs(want));
    }
    assert_true(lane_exp(0) == 1 && lane_log(1) == 0);
    assert_true(lane_exp(-1000) == lane_exp(-87) && lane_exp(-1000) > 0);
    assert_true(isnan(lane_exp(NAN)) && isnan(lane_log(NAN)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_those_of_an_independent_implementation),
        cmocka_unit_test(zero_is_the_identity),
        cmocka_unit_test(ten_million_round_trips_in_float),
        cmocka_unit_test(awkward_places_survive),
        cmocka_unit_test(knots_are_met_and_slopes_hold_there),
        cmocka_unit_test(is_monotone),
        cmocka_unit_test(nan_goes_through),
        cmocka_unit_test(bits_do_not_depend_on_threads),
        cmocka_unit_test(shapes_that_do_not_fit_are_refused),
        cmocka_unit_test(exp_and_log_of_lanes_are_exact_to_two_units),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
