/* test_gaussian_noise.c - the Gaussian noise against closed forms, and what every noise refuses. */
#include "noise/noise_run.h"

enum { D = 3, N = 400 };

/* Correlated normal rows. */
static void make_rows(double *x)
{
    const wmi_rng rng = wmi_rng_make(3, "gaussian noise");
    double z[D];
    for (int64_t i = 0; i < N; i++) {
        wmi_rng_normal_f64(&rng, (uint64_t)i * D, D, z);
        x[i * D] = 5 + 2 * z[0];
        x[i * D + 1] = -1 + 1.5 * z[0] + 0.5 * z[1];
        x[i * D + 2] = 0.3 * z[1] - 0.2 * z[0] + 0.1 * z[2];
    }
}

static noise_run fitted(const double *x)
{
    wmi_noise_opts opts;
    noise_run r;
    wm_error err = {0};
    wmi_noise_opts_init(&opts, WMI_NOISE_GAUSSIAN, D);
    r = noise_open(&opts);
    assert_ok(wmi_noise_start(&opts, "noise", r.params, N, x, 1, r.theta, &err), err);
    assert_true(wmi_noise_is_closed(&opts));
    return r;
}

/* Mean, covariance and the density formula, written out for three columns. */
static void density_is_that_of_the_sample_moments(void **state)
{
    double x[N * D], mean[D] = {0}, s[D][D] = {{0}}, det, inverse[D][D], log_q[N];
    noise_run r;
    (void)state;
    make_rows(x);
    r = fitted(x);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < D; j++)
            mean[j] += x[i * D + j] / N;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < D; j++)
            for (int k = 0; k < D; k++)
                s[j][k] += (x[i * D + j] - mean[j]) * (x[i * D + k] - mean[k]) / (N - 1);
    for (int j = 0; j < D; j++) /* cofactors: indices modulo 3 carry the signs */
        for (int k = 0; k < D; k++)
            inverse[k][j] = s[(j + 1) % D][(k + 1) % D] * s[(j + 2) % D][(k + 2) % D] -
                            s[(j + 1) % D][(k + 2) % D] * s[(j + 2) % D][(k + 1) % D];
    det = s[0][0] * inverse[0][0] + s[0][1] * inverse[1][0] + s[0][2] * inverse[2][0];
    noise_pass(&r, WMI_F64, LOG_DENSITY, N, x, NULL, log_q);
    for (int i = 0; i < N; i++) {
        double q = 0;
        for (int j = 0; j < D; j++)
            for (int k = 0; k < D; k++)
                q += (x[i * D + j] - mean[j]) * (x[i * D + k] - mean[k]) * inverse[j][k] / det;
        assert_near(log_q[i], -q / 2 - log(det) / 2 - 1.5 * log(2 * acos(-1)), 1e-9);
    }
    noise_close(&r);
}

static void both_directions_agree(void **state)
{
    double x[N * D], log_det[N];
    noise_run r;
    (void)state;
    make_rows(x);
    r = fitted(x);
    noise_check_trips(&r, WMI_F64, N, x, 1e-12);
    noise_check_trips(&r, WMI_F32, N, x, 1e-5);
    noise_pass(&r, WMI_F64, TO_Z, N, x, NULL, log_det);
    assert_near(log_det[0], noise_numeric_log_det(&r, TO_Z, x), 1e-8);
    noise_pass(&r, WMI_F64, TO_X, N, x, NULL, log_det);
    assert_near(log_det[0], noise_numeric_log_det(&r, TO_X, x), 1e-8);
    noise_close(&r);
}

/* A density that changes over 0.5 at least, in cells of 0.1: the midpoint rule is exact to 1e-9 for
 * a Gaussian once the cell is below its deviation. */
static void density_integrates_to_one(void **state)
{
    const wmi_rng rng = wmi_rng_make(4, "plane");
    double x[2 * N];
    (void)state;
    wmi_rng_normal_f64(&rng, 0, 2 * N, x);
    for (int64_t d = 1; d <= 2; d++) {
        wmi_noise_opts opts;
        noise_run r;
        wm_error err = {0};
        wmi_noise_opts_init(&opts, WMI_NOISE_GAUSSIAN, d);
        r = noise_open(&opts);
        assert_ok(wmi_noise_start(&opts, "noise", r.params, N, x, 1, r.theta, &err), err);
        assert_near(noise_integral(&r, 9, 180), 1, 1e-8);
        noise_close(&r);
    }
}

/* ---- what every kind refuses ---- */

static void expect(const wmi_noise_opts *opts, int64_t n, const double *x, wm_status code,
                   const char *says)
{
    noise_run r = noise_open(opts);
    wm_error err = {0};
    assert_int_equal(wmi_noise_start(opts, "noise", r.params, n, x, 1, r.theta, &err), code);
    if (!strstr(err.text, says))
        fail_msg("'%s' does not say '%s'", err.text, says);
    noise_close(&r);
}

static void data_without_a_density_are_refused(void **state)
{
    double x[N * D];
    (void)state;
    for (int kind = WMI_NOISE_GAUSSIAN; kind <= WMI_NOISE_FLOW; kind++) {
        wmi_noise_opts opts;
        wmi_noise_opts_init(&opts, (wmi_noise_kind)kind, D);
        make_rows(x);
        x[7 * D + 2] = NAN;
        expect(&opts, N, x, WM_EINVAL, "row 7, column 2 is");
        make_rows(x);
        for (int i = 0; i < N; i++)
            x[i * D + 1] = 4.5;
        expect(&opts, N, x, WM_EINVAL, "column 1 is 4.5 in all 400 rows");
        make_rows(x);
        expect(&opts, 1, x, WM_EINVAL, "at least 2 rows");
        if (kind == WMI_NOISE_FLOW)
            continue;
        expect(&opts, D, x, WM_EINVAL, "3 rows");
        for (int i = 0; i < N; i++)
            x[i * D + 1] = x[i * D];
        expect(&opts, N, x, WM_EINVAL, "covariance");
    }
}

static void settings_that_make_no_noise_are_refused(void **state)
{
    wmi_params *params = NULL;
    wmi_noise_opts opts;
    wm_error err = {0};
    (void)state;
    assert_ok(wmi_params_new(&params, &err), err);
    wmi_noise_opts_init(&opts, WMI_NOISE_COPULA, 0);
    assert_int_equal(wmi_noise_declare(params, "noise", &opts, &err), WM_EINVAL);
    wmi_noise_opts_init(&opts, WMI_NOISE_COPULA, 3);
    opts.bound = 0.1; /* 128 bins of 1e-3 */
    assert_int_equal(wmi_noise_declare(params, "noise", &opts, &err), WM_EINVAL);
    assert_non_null(strstr(err.text, "choose a bound from 0.256"));
    opts.bound = 3;
    opts.bins = 1;
    assert_int_equal(wmi_noise_declare(params, "noise", &opts, &err), WM_EINVAL);
    wmi_noise_opts_image(&opts, WMI_NOISE_GAUSSIAN, 4, 4, 1);
    opts.dim = 15;
    assert_int_equal(wmi_noise_declare(params, "noise", &opts, &err), WM_ESHAPE);
    assert_non_null(strstr(err.text, "4 x 4 x 1"));
    wmi_noise_opts_init(&opts, (wmi_noise_kind)9, 3);
    assert_int_equal(wmi_noise_declare(params, "noise", &opts, &err), WM_EINVAL);
    wmi_params_free(params);
}

static void rows_of_another_width_are_refused(void **state)
{
    wmi_noise_opts opts;
    noise_run r;
    wmi_graph *g = NULL;
    wm_error err = {0};
    const int64_t dim[] = {2, D + 1};
    (void)state;
    wmi_noise_opts_init(&opts, WMI_NOISE_GAUSSIAN, D);
    r = noise_open(&opts);
    assert_ok(wmi_graph_new(&g, WMI_F32, r.params, &err), err);
    assert_null(wmi_noise_log_density(g, "noise", &opts, wmi_input(g, "x", 2, dim)));
    assert_int_equal(wmi_graph_status(g, &err), WM_ESHAPE);
    assert_non_null(strstr(err.text, "noise of 3 columns: 'x' is not (n, 3)"));
    wmi_graph_free(g);
    noise_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(density_is_that_of_the_sample_moments),
        cmocka_unit_test(both_directions_agree),
        cmocka_unit_test(density_integrates_to_one),
        cmocka_unit_test(data_without_a_density_are_refused),
        cmocka_unit_test(settings_that_make_no_noise_are_refused),
        cmocka_unit_test(rows_of_another_width_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
