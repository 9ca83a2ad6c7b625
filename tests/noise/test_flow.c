/* test_flow.c - the spline flows of images and tables: both directions are inverse to each other,
 * their log-determinants are those of the numerical Jacobian, densities integrate to one, gradients
 * are those of differences. All with parameters moved well away from the start, where every
 * coupling is the identity. */
#include <math.h>
#include <stdlib.h>

#include "flow_run.h"

enum { WIDE = 6, N_SHAPES };

static wmi_noise_opts shape(int i)
{
    switch (i) {
    case 0:
        return flow_table(1, 3, 8);
    case 1:
        return flow_table(2, 3, 8);
    case 2:
        return flow_table(5, 2, 8);
    case 3:
        return flow_image(4, 4, 1, 2, 2, 6); /* down to one pixel */
    case 4:
        return flow_image(2, 6, 1, 1, 2, 6);
    case 5:
        return flow_image(2, 4, 3, 1, 1, 6);
    default:
        return flow_table(259, 2, 4); /* too wide for matrices: permutations */
    }
}

static double *doubles(int64_t n)
{
    double *p = calloc((size_t)n, sizeof *p);

    assert_non_null(p);
    return p;
}

/* Normal numbers of this deviation into an input. */
static void fill(flow_map *m, void *to, const char *stream, double deviation)
{
    const wmi_rng rng = wmi_rng_make(11, stream);
    double *v = doubles(m->n * m->dim);

    wmi_rng_normal_f64(&rng, 0, m->n * m->dim, v);
    for (int64_t i = 0; i < m->n * m->dim; i++)
        flow_put(m, to, i, deviation * v[i]);
    free(v);
}

/* ---- determinants ---- */

/* log |det| of a (d, d), which is spoilt. */
static double log_abs_det(int64_t d, double *a)
{
    double sum = 0;

    for (int64_t c = 0; c < d; c++) {
        int64_t p = c;

        for (int64_t i = c; i < d; i++)
            if (fabs(a[i * d + c]) > fabs(a[p * d + c]))
                p = i;
        for (int64_t j = 0; j < d && p != c; j++) {
            const double t = a[c * d + j];

            a[c * d + j] = a[p * d + j];
            a[p * d + j] = t;
        }
        sum += log(fabs(a[c * d + c]));
        for (int64_t i = c + 1; i < d; i++)
            for (int64_t j = d - 1; j >= c; j--)
                a[i * d + j] -= a[i * d + c] / a[c * d + c] * a[c * d + j];
    }
    return sum;
}

/* d out / d in of the first row by central differences, (dim, dim). */
static void numerical_jacobian(flow_map *m, double h, double *jac)
{
    for (int64_t k = 0; k < m->dim; k++) {
        const double x = ((double *)m->in)[k];

        for (int side = -1; side <= 1; side += 2) {
            flow_put(m, m->in, k, x + side * h);
            flow_run_map(m);
            for (int64_t j = 0; j < m->dim; j++)
                jac[j * m->dim + k] += side * flow_get(m, m->out, j) / (2 * h);
        }
        flow_put(m, m->in, k, x);
    }
}

/* Step 1e-5: differences are good to 1e-10 (truncation) and 1e-15 / 1e-5 (rounding), times what the
 * inverse of the Jacobian may multiply that by: it has up to 24 columns and a determinant of e^-30.
 * Measured: 2e-5. */
static void log_det_is_that_of_the_jacobian(void **state)
{
    (void)state;
    for (int i = 0; i < WIDE; i++)
        for (int to_x = 0; to_x < 2; to_x++) {
            const wmi_noise_opts o = shape(i);
            double *jac = doubles(o.dim * o.dim), log_det;
            flow_run r;
            flow_map m;

            flow_open(&r, &o, 0.3);
            flow_map_open(&m, &r, WMI_F64, 1, to_x, false);
            fill(&m, m.in, "jacobian", 1);
            flow_run_map(&m);
            log_det = flow_get(&m, m.log_det, 0);
            numerical_jacobian(&m, 1e-5, jac);
            assert_true(fabs(log_det) > 1e-2); /* else nothing was tested */
            assert_near(log_det, log_abs_det(o.dim, jac), 1e-4);
            free(jac);
            flow_map_close(&m);
            flow_close(&r);
        }
}

/* ---- there and back ---- */

/* x, F^-1(x) and F of that, and the sum of the two log-determinants: errors relative to 1 + |x|.
 * Nothing may be other than finite. */
typedef struct trip {
    double most, mean; /* of x */
    double log_most;   /* of the log-determinants */
} trip;

static trip round_trip(flow_run *r, wmi_dtype dtype, int64_t n, double deviation)
{
    trip t = {0};
    flow_map there, back;

    flow_map_open(&there, r, dtype, n, false, false);
    flow_map_open(&back, r, dtype, n, true, false);
    fill(&there, there.in, "round trip", deviation);
    flow_run_map(&there);
    for (int64_t i = 0; i < n * there.dim; i++)
        flow_put(&back, back.in, i, flow_get(&there, there.out, i));
    flow_run_map(&back);
    for (int64_t i = 0; i < n * there.dim; i++) {
        const double x = flow_at(&there, there.in, i), y = flow_get(&back, back.out, i);
        const double error = fabs(x - y) / (1 + fabs(x));

        assert_true(isfinite(y));
        t.most = fmax(t.most, error);
        t.mean += error / (double)(n * there.dim);
    }
    for (int64_t i = 0; i < n; i++) {
        const double a = flow_get(&there, there.log_det, i), b = flow_get(&back, back.log_det, i);

        assert_true(isfinite(a) && isfinite(b));
        t.log_most = fmax(t.log_most, fabs(a + b) / (1 + fabs(a)));
    }
    flow_map_close(&there);
    flow_map_close(&back);
    return t;
}

/* Rounding grows by the slopes on the way of a number, up to 1e3 in each coupling, and by the
 * condition of the matrices. Measured: 6e-10 in double at most. In float the same growth takes all
 * digits of single numbers, so there it is the mean that must be small. */
static void there_and_back(void **state)
{
    (void)state;
    for (int i = 0; i < N_SHAPES; i++) {
        const wmi_noise_opts o = shape(i);
        flow_run r;
        trip t;

        flow_open(&r, &o, 0.3);
        t = round_trip(&r, WMI_F64, 300, 2);
        assert_near(t.most, 0, 1e-8);
        assert_near(t.log_most, 0, 1e-10);
        t = round_trip(&r, WMI_F32, 300, 2);
        assert_near(t.mean, 0, 1e-3);
        assert_near(t.log_most, 0, 1e-2);
        flow_close(&r);
    }
}

/* Numbers up to 1e7 where the flow saw 2: the network is far outside what it knows, splines are as
 * steep as they can be. Nothing but finite numbers, which round_trip() asserts. */
static void far_outside_is_finite(void **state)
{
    (void)state;
    for (int i = 0; i < N_SHAPES; i++) {
        const wmi_noise_opts o = shape(i);
        flow_run r;

        flow_open(&r, &o, 0.3);
        for (double deviation = 30; deviation < 1e7; deviation *= 30)
            (void)round_trip(&r, WMI_F32, 100, deviation);
        flow_close(&r);
    }
}

/* ---- gradients ---- */

static double loss_of(flow_map *m)
{
    flow_run_map(m);
    return flow_get(m, m->loss, 0);
}

static void compare(flow_map *m, double *at, double gradient, const char *what)
{
    const double x = *at, h = 1e-6; /* loss of order 100: rounding 1e-14 / 1e-6 */
    double up, num;

    *at = x + h;
    up = loss_of(m);
    *at = x - h;
    num = (up - loss_of(m)) / (2 * h);
    *at = x;
    if (!(fabs(num - gradient) <= 1e-4 * (1 + fabs(num))))
        fail_msg("%s: gradient %.10g, expected %.10g", what, gradient, num);
}

/* Of all inputs in both directions, and of parameters, towards z: the first of each entry and some
 * by chance. */
static void gradients_match_differences(void **state)
{
    (void)state;
    for (int i = 0; i < WIDE; i++)
        for (int to_x = 0; to_x < 2; to_x++) {
            const wmi_noise_opts o = shape(i);
            const wmi_rng rng = wmi_rng_make(5, "which");
            double *grad = doubles(3 * o.dim);
            wm_error err = {0};
            flow_run r;
            flow_map m;

            flow_open(&r, &o, 0.2);
            flow_map_open(&m, &r, WMI_F64, 3, to_x, true);
            fill(&m, m.in, "point", 1);
            fill(&m, m.t, "weights", 1);
            assert_ok(wmi_program_backward(m.program, &err), err);
            memcpy(grad, wmi_program_grad(m.program, m.x), (size_t)(3 * o.dim) * sizeof *grad);
            for (int64_t k = 0; k < 3 * o.dim; k++)
                compare(&m, (double *)m.in + k, grad[k], to_x ? "z" : "x");
            for (int64_t e = 0; e < wmi_params_entries(r.params) && !to_x; e++) {
                const wmi_param_entry *at = wmi_params_entry(r.params, e);

                for (int k = 0; k < 3; k++) {
                    const int64_t j =
                        at->offset +
                        (k ? wmi_rng_below(&rng, (uint64_t)(3 * e + k), at->count) : 0);

                    if (flow_is_trained(at->name))
                        compare(&m, r.theta + j, m.grad[j], at->name);
                    else
                        assert_true(m.grad[j] == 0);
                }
            }
            free(grad);
            flow_map_close(&m);
            flow_close(&r);
        }
}

/* ---- densities ---- */

/* log q of every row of the map's last run. */
static double density(const flow_map *m, int64_t row)
{
    const double log_two_pi = 1.8378770664093453;
    double sum = flow_get(m, m->log_det, row) - 0.5 * log_two_pi * (double)m->dim;

    for (int64_t j = 0; j < m->dim; j++) {
        const double z = flow_get(m, m->out, row * m->dim + j);

        sum -= 0.5 * z * z;
    }
    return exp(sum);
}

/* The data have deviation 2, moved parameters shift and stretch that by e^0.3 for each of a few
 * factors: beyond 40 the density is under e^-30. Kinks at knots make the sum on a grid of step h
 * wrong by h^2 times their height: measured 3e-7 and 6e-6. */
static void densities_integrate_to_one(void **state)
{
    enum { LINE = 8001, SIDE = 801 };
    flow_run r;
    flow_map m;
    wmi_noise_opts o = shape(0);
    double sum = 0;

    (void)state;
    flow_open(&r, &o, 0.3);
    flow_map_open(&m, &r, WMI_F64, LINE, false, false);
    for (int i = 0; i < LINE; i++)
        flow_put(&m, m.in, i, -40 + 80.0 * i / (LINE - 1));
    flow_run_map(&m);
    for (int i = 0; i < LINE; i++)
        sum += density(&m, i) * 80 / (LINE - 1);
    assert_near(sum, 1, 1e-5);
    flow_map_close(&m);
    flow_close(&r);

    o = shape(1);
    sum = 0;
    flow_open(&r, &o, 0.3);
    flow_map_open(&m, &r, WMI_F64, SIDE, false, false);
    for (int k = 0; k < SIDE; k++) {
        for (int i = 0; i < SIDE; i++) {
            flow_put(&m, m.in, 2 * i, -40 + 80.0 * i / (SIDE - 1));
            flow_put(&m, m.in, 2 * i + 1, -40 + 80.0 * k / (SIDE - 1));
        }
        flow_run_map(&m);
        for (int i = 0; i < SIDE; i++)
            sum += density(&m, i) * 80 / (SIDE - 1) * 80 / (SIDE - 1);
    }
    assert_near(sum, 1, 1e-4);
    flow_map_close(&m);
    flow_close(&r);
}

/* ---- the start ---- */

/* Couplings start as the identity and rotations keep lengths, so the last actnorm decides: the mean
 * square over the rows that set it is 1 (1e-6 stands beside the deviation in its formula). Images
 * have the last matrix more, also a rotation. */
static void start_standardises(void **state)
{
    (void)state;
    for (int i = 0; i < N_SHAPES; i++) {
        enum { ROWS = 64 }; /* as in flow_open() */
        const wmi_rng rng = wmi_rng_make(7, "flow test"), data = wmi_rng_sub(&rng, 1);
        const wmi_noise_opts o = shape(i);
        double sum = 0, *x = doubles(ROWS * o.dim);
        flow_run r;
        flow_map m;

        flow_open(&r, &o, 0);
        flow_map_open(&m, &r, WMI_F64, ROWS, false, false);
        wmi_rng_normal_f64(&data, 0, ROWS * o.dim, x);
        for (int64_t k = 0; k < ROWS * o.dim; k++)
            flow_put(&m, m.in, k, 2 * x[k]);
        flow_run_map(&m);
        for (int64_t k = 0; k < ROWS * o.dim; k++)
            sum += flow_get(&m, m.out, k) * flow_get(&m, m.out, k);
        assert_near(sum / (double)(ROWS * o.dim), 1, 1e-5);
        free(x);
        flow_map_close(&m);
        flow_close(&r);
    }
}

/* ---- what is refused ---- */

static void settings_that_make_no_flow(void **state)
{
    wmi_noise_opts o = flow_image(28, 28, 1, 3, 2, 8);
    wmi_params *params = NULL;
    wm_error err = {0};

    (void)state;
    assert_ok(wmi_params_new(&params, &err), err);
    assert_int_equal(wmi_flow_declare(params, "q", &o, &err), WM_ESHAPE);
    assert_non_null(strstr(err.text, "28 x 28 cannot be halved 3 times"));
    o = flow_image(28, 28, 1, 2, 2, 8);
    o.dim = 783;
    assert_int_equal(wmi_flow_declare(params, "q", &o, &err), WM_ESHAPE);
    o = flow_table(2, 0, 8);
    assert_int_equal(wmi_flow_declare(params, "q", &o, &err), WM_EINVAL);
    o = flow_table(2, 2, 8);
    o.bins = 65;
    assert_int_equal(wmi_flow_declare(params, "q", &o, &err), WM_EINVAL);
    o.bins = 8;
    o.dropout = 1;
    assert_int_equal(wmi_flow_declare(params, "q", &o, &err), WM_EINVAL);
    wmi_params_free(params);
}

static void data_without_a_density(void **state)
{
    const wmi_noise_opts o = flow_table(2, 2, 4);
    double x[] = {1, 2, 3, 2, 5, 2}, *theta;
    wmi_params *params = NULL;
    wm_error err = {0};

    (void)state;
    assert_ok(wmi_params_new(&params, &err), err);
    assert_ok(wmi_flow_declare(params, "q", &o, &err), err);
    theta = doubles(wmi_params_count(params));
    assert_int_equal(wmi_noise_start(&o, "q", params, 3, x, 1, theta, &err), WM_EINVAL);
    assert_non_null(strstr(err.text, "column 1 is 2 in all 3 rows"));
    x[3] = NAN;
    assert_int_equal(wmi_noise_start(&o, "q", params, 3, x, 1, theta, &err), WM_EINVAL);
    assert_non_null(strstr(err.text, "row 1, column 1"));
    free(theta);
    wmi_params_free(params);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(log_det_is_that_of_the_jacobian),
        cmocka_unit_test(there_and_back),
        cmocka_unit_test(far_outside_is_finite),
        cmocka_unit_test(gradients_match_differences),
        cmocka_unit_test(densities_integrate_to_one),
        cmocka_unit_test(start_standardises),
        cmocka_unit_test(settings_that_make_no_flow),
        cmocka_unit_test(data_without_a_density),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
