/* test_copula.c - the Gaussian copula: its maps and their volumes, its integral, its gradients, and
 * how near its start (marginal.c) comes to copulas that are known. */
#include "noise/noise_run.h"

/* ---- a known copula: normal rows z with correlation, bent column by column ---- */

enum { D = 3 };
/* lower factor of a correlation matrix with 0.6, -0.3 and 0.4 */
static const double FACTOR[D][D] = {{1, 0, 0}, {0.6, 0.8, 0}, {-0.3, 0.725, 0.619979838383388}};

/* x = g(y) for a standard normal y, and log dg/dy: light, heavy (kurtosis some 30) and skewed. */
static double bend(int j, double y, double *log_slope)
{
    switch (j) {
    case 0: /* sinh: tails like a log-normal's */
        *log_slope = log(1.2 * cosh(1.2 * y));
        return sinh(1.2 * y);
    case 1: /* log-normal */
        *log_slope = 0.8 * y + log(0.8);
        return exp(0.8 * y);
    default: /* two humps, 6 apart */
        *log_slope = log(0.4 + 8 * exp(-8 * y * y) / sqrt(acos(-1) / 8));
        return 0.4 * y + 8.0 * erf(sqrt(8) * y) / 2;
    }
}

/* Rows first .. first + n, and the log-density of the truth at them. */
static void known_rows(int64_t first, int64_t n, double *x, double *log_p)
{
    const wmi_rng rng = wmi_rng_make(12, "copula");
    for (int64_t i = 0; i < n; i++) {
        double z[D];
        wmi_rng_normal_f64(&rng, (uint64_t)(first + i) * D, D, z);
        log_p[i] = 0;
        for (int j = 0; j < D; j++) {
            double y = 0, log_slope;
            for (int k = 0; k <= j; k++)
                y += FACTOR[j][k] * z[k];
            x[i * D + j] = bend(j, y, &log_slope);
            log_p[i] -= z[j] * z[j] / 2 + log(2 * acos(-1)) / 2 + log(FACTOR[j][j]) + log_slope;
        }
    }
}

static noise_run opened(wmi_noise_opts *opts, int64_t dim, int64_t bins)
{
    wmi_noise_opts_init(opts, WMI_NOISE_COPULA, dim);
    opts->bins = bins;
    return noise_open(opts);
}

static noise_run started(int64_t dim, int64_t bins, int64_t n, const double *x)
{
    wmi_noise_opts opts;
    const noise_run r = opened(&opts, dim, bins);
    wm_error err = {0};
    assert_ok(wmi_noise_start(&opts, "noise", r.params, n, x, 1, r.theta, &err), err);
    return r;
}

/* What maximum likelihood with k free numbers loses on new rows is k / 2n nats in the mean: 3 x 383
 * of splines and 9 of a Gaussian are 0.029 here, the most that splines with 128 bins may lose by
 * following the sample. Their ability to follow the truth is not in question: 128 bins. To that,
 * five standard errors of the mean of log p - log q over the new rows. */
static void start_recovers_a_known_copula(void **state)
{
    const int64_t n = 20000;
    double *x = noise_memory(n * D, sizeof *x), *log_p = noise_memory(n, sizeof *log_p);
    double *log_q = noise_memory(n, sizeof *log_q), mean = 0, square = 0, se;
    noise_run r;
    (void)state;
    known_rows(0, n, x, log_p);
    r = started(D, 128, n, x);
    known_rows(n, n, x, log_p);
    noise_pass(&r, WMI_F32, LOG_DENSITY, n, x, NULL, log_q);
    for (int64_t i = 0; i < n; i++) {
        mean += (log_p[i] - log_q[i]) / (double)n;
        square += pow(log_p[i] - log_q[i], 2) / (double)n;
    }
    se = sqrt((square - mean * mean) / (double)n);
    assert_true(se < 0.01);
    assert_true(mean > -5 * se);
    if (!(mean < 0.029 + 5 * se))
        fail_msg("the start is %.4f nats (se %.4f) below the truth", mean, se);
    noise_close(&r);
    free(x);
    free(log_p);
    free(log_q);
}

/* Few rows bear few bins: 200 rows with all 383 numbers of 128 bins would lose a nat a column. */
static void few_rows_are_smoothed(void **state)
{
    const int64_t n = 200, m = 5000;
    double *x = noise_memory(m * D, sizeof *x), *log_p = noise_memory(m, sizeof *log_p);
    double *log_q = noise_memory(m, sizeof *log_q), mean = 0;
    noise_run r;
    (void)state;
    known_rows(0, n, x, log_p);
    r = started(D, 128, n, x);
    known_rows(n, m, x, log_p);
    noise_pass(&r, WMI_F32, LOG_DENSITY, m, x, NULL, log_q);
    for (int64_t i = 0; i < m; i++)
        mean += (log_p[i] - log_q[i]) / (double)m;
    if (!(mean < 0.75))
        fail_msg("200 rows: %.3f nats below the truth", mean);
    noise_close(&r);
    free(x);
    free(log_p);
    free(log_q);
}

/* ---- maps ---- */

/* Parameters away from any start. */
static noise_run moved(int64_t dim, int64_t bins)
{
    const wmi_rng rng = wmi_rng_make(13, "moved");
    wmi_noise_opts opts;
    const noise_run r = opened(&opts, dim, bins);
    wm_error err = {0};
    wmi_rng_normal_f64(&rng, 0, r.n_params, r.theta);
    for (int64_t i = 0; i < r.n_params; i++)
        r.theta[i] *= 0.4;
    assert_ok(wmi_noise_finish(&opts, "noise", r.params, r.theta, &err), err);
    return r;
}

static void both_directions_agree(void **state)
{
    const int64_t n = 3000;
    double *x = noise_memory(n * D, sizeof *x), log_det[2];
    const wmi_rng rng = wmi_rng_make(14, "places");
    noise_run r = moved(D, 16);
    (void)state;
    wmi_rng_normal_f64(&rng, 0, n * D, x);
    for (int64_t i = 0; i < n * D; i++)
        x[i] *= i % 7 ? 2 : 40; /* inside and far outside of the knots */
    noise_check_trips(&r, WMI_F64, n, x, 1e-11);
    noise_check_trips(&r, WMI_F32, n, x, 3e-4); /* slopes down to 0.05 multiply 6e-8 x 40 x ... */
    for (int64_t i = 0; i < 20; i++) {
        noise_pass(&r, WMI_F64, TO_Z, 1, x + i * D, NULL, log_det);
        assert_near(log_det[0], noise_numeric_log_det(&r, TO_Z, x + i * D), 1e-5);
        noise_pass(&r, WMI_F64, TO_X, 1, x + i * D, NULL, log_det + 1);
        assert_near(log_det[1], noise_numeric_log_det(&r, TO_X, x + i * D), 1e-5);
    }
    noise_close(&r);
    free(x);
}

/* The density's derivative jumps at knots, so that the midpoint rule errs by the cell squared: 2e-4
 * of what it is at 0.03, with slopes and curvatures of some units. */
static void density_integrates_to_one(void **state)
{
    (void)state;
    for (int64_t d = 1; d <= 2; d++) {
        noise_run r = moved(d, 8);
        assert_near(noise_integral(&r, 12, 800), 1, 2e-3);
        noise_close(&r);
    }
}

/* Every trained parameter and x, by central differences of sum of log q. */
static void gradients_match_central_differences(void **state)
{
    enum { ROWS = 6 };
    const double h = 1e-6; /* h^2 f''' and eps f / h: some 1e-9 */
    const int64_t dim[] = {ROWS, D};
    const wmi_rng rng = wmi_rng_make(15, "rows");
    noise_run r = moved(D, 4);
    double x[ROWS * D], log_q[ROWS], *grad = noise_memory(r.n_params, sizeof *grad);
    wmi_graph *g = NULL;
    wmi_program *p = NULL;
    wmi_node *loss;
    wm_error err = {0};
    void *at;
    int64_t checked = 0;
    (void)state;
    wmi_rng_normal_f64(&rng, 0, ROWS * D, x);
    assert_ok(wmi_graph_new(&g, WMI_F64, r.params, &err), err);
    loss = wmi_sum(g, wmi_noise_log_density(g, "noise", &r.opts, wmi_input(g, "x", 2, dim)),
                   WMI_ALL_AXES);
    assert_ok(wmi_compile(&p, g, &(wmi_compile_opts){.loss = loss, .param_grads = true}, &err),
              err);
    wmi_program_bind(p, r.theta, grad);
    assert_ok(wmi_program_input(p, "x", &at, &err), err);
    memcpy(at, x, sizeof x);
    assert_ok(wmi_program_backward(p, &err), err);
    for (int64_t i = 0; i < r.n_params; i++) {
        const double was = r.theta[i];
        double up = 0, down = 0;
        r.theta[i] = was + h;
        noise_pass(&r, WMI_F64, LOG_DENSITY, ROWS, x, NULL, log_q);
        for (int k = 0; k < ROWS; k++)
            up += log_q[k];
        r.theta[i] = was - h;
        noise_pass(&r, WMI_F64, LOG_DENSITY, ROWS, x, NULL, log_q);
        for (int k = 0; k < ROWS; k++)
            down += log_q[k];
        r.theta[i] = was;
        assert_near(grad[i], (up - down) / (2 * h), 1e-6 * (1 + fabs(grad[i])));
        checked += grad[i] != 0;
    }
    /* scales, shifts and means; splines; the triangle: all that have a part in it */
    assert_true(checked >= 4 * D + D * (3 * 4 - 1) * 2 / 3 + D * (D - 1) / 2);
    wmi_program_free(p);
    wmi_graph_free(g);
    free(grad);
    noise_close(&r);
}

/* ---- columns that are hard on quantiles ---- */

/* Ties, spikes and tails without a mean: the density must be finite at rows that were not seen, and
 * what is drawn must come back. */
static void awkward_columns_have_a_start(void **state)
{
    enum { COLS = 4 };
    const int64_t n = 4000;
    const wmi_rng rng = wmi_rng_make(16, "awkward");
    double *x = noise_memory(2 * n * COLS, sizeof *x), *log_q = noise_memory(n, sizeof *log_q);
    double *u = noise_memory(2 * n * COLS, sizeof *u);
    noise_run r;
    (void)state;
    wmi_rng_uniform_f64(&rng, 0, 2 * n * COLS, u);
    for (int64_t i = 0; i < 2 * n; i++) {
        x[i * COLS] = floor(3 * u[i * COLS]); /* three values */
        x[i * COLS + 1] =
            log(u[i * COLS + 1]) + (i % 500 == 0 ? 20 : 0);        /* a pixel that is black */
        x[i * COLS + 2] = tan(acos(-1) * (u[i * COLS + 2] - 0.5)); /* Cauchy */
        x[i * COLS + 3] = 1e6 + 1e-3 * u[i * COLS + 3];            /* far from 0 */
    }
    r = started(COLS, 128, n, x);
    noise_pass(&r, WMI_F64, LOG_DENSITY, n, x + n * COLS, NULL, log_q);
    for (int64_t i = 0; i < n; i++)
        assert_true(isfinite(log_q[i]));
    noise_check_trips(&r, WMI_F64, n, x + n * COLS, 1e-7);
    noise_close(&r);
    free(x);
    free(u);
    free(log_q);
}

/* log of an exponential: a density with an edge, as of pixels in logit space. Held out, the start
 * may lose 383 / 2n = 0.01 nats by following the sample, and a bin's share at the edge: the density
 * falls to 0 within a bin of 1 / 128 of the values, which costs those about a nat. */
static void an_edge_is_kept_sharp(void **state)
{
    const int64_t n = 20000;
    const wmi_rng rng = wmi_rng_make(17, "edge");
    double *x = noise_memory(2 * n, sizeof *x), *log_q = noise_memory(n, sizeof *log_q), loss = 0;
    noise_run r;
    (void)state;
    wmi_rng_uniform_f64(&rng, 0, 2 * n, x);
    for (int64_t i = 0; i < 2 * n; i++)
        x[i] = log(x[i]); /* density exp(x), x < 0 */
    r = started(1, 128, n, x);
    noise_pass(&r, WMI_F32, LOG_DENSITY, n, x + n, NULL, log_q);
    for (int64_t i = 0; i < n; i++)
        loss += (x[n + i] - log_q[i]) / (double)n;
    if (!(loss > -0.01 && loss < 0.03))
        fail_msg("%.4f nats below the truth", loss);
    noise_close(&r);
    free(x);
    free(log_q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(start_recovers_a_known_copula),
        cmocka_unit_test(few_rows_are_smoothed),
        cmocka_unit_test(both_directions_agree),
        cmocka_unit_test(density_integrates_to_one),
        cmocka_unit_test(gradients_match_central_differences),
        cmocka_unit_test(awkward_columns_have_a_start),
        cmocka_unit_test(an_edge_is_kept_sharp),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
