/* copula.c - a Gaussian copula with free marginals: every column is bent by a spline of its own,
 * and what comes out is Gaussian (paper, appendix; facts of the authors' code). v = exp(s) x + b,
 * w = spline(v),  z = A (w - mean)      A lower triangular, exp on its diagonal all by column but
 * A. The authors' F(z) = std A2(spline(A1(mu + L z))) has the same densities: std and A2 are s and
 * b here, A1 disappears in mean and A. We train A = L^-1, so that the density needs no solve, and
 * the spline runs from data to latent, which is its cheap direction.
 *
 * The start: splines from the empirical quantiles (marginal.c), then A from the covariance of what
 * they give, which is the best A for them. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/order.h"
#include "engine/backend/linalg.h"
#include "engine/program.h"
#include "noise/noise_impl.h"

enum { CHUNK = 1024 }; /* rows that are bent at a time for the covariance */

static wm_status declare(wmi_params *params, const char *prefix, const wmi_noise_opts *opts,
                         wm_error *err)
{
    const int64_t d = opts->dim, vector[] = {d}, row[] = {1, d}, matrix[] = {d, d};
    const int64_t spline[] = {d, 3 * opts->bins - 1};
    wm_status st;

    if ((st = wmi_noise_add(params, prefix, "in_log_scale", 2, row, err)) || /* s */
        (st = wmi_noise_add(params, prefix, "in_shift", 2, row, err)) ||     /* b */
        (st = wmi_noise_add(params, prefix, "spline", 2, spline, err)) ||
        (st = wmi_noise_add(params, prefix, "mean", 1, vector, err)) ||
        (st = wmi_noise_add(params, prefix, "below", 2, matrix, err)) ||      /* A under its ... */
        (st = wmi_noise_add(params, prefix, "log_diag", 1, vector, err)) ||   /* ... diagonal */
        (st = wmi_noise_add(params, prefix, "fixed/colour", 2, matrix, err))) /* L */
        return st;
    return WM_OK;
}

/* ---- graphs ---- */

static wmi_node *knots(wmi_graph *g, const char *prefix, const wmi_noise_opts *opts)
{
    return wmi_rq_knots(g, wmi_noise_param(g, prefix, "spline"), opts->bound);
}

/* Part 0 (values) of a spline's result (2, n, d) as (n, d), and the sum of part 1 by row, (n). */
static wmi_node *take_apart(wmi_graph *g, wmi_node *both, wmi_node **log_slopes)
{
    const int64_t *dim = both ? both->shape.dim : NULL;

    if (!both)
        return NULL;
    *log_slopes = wmi_reshape(g, wmi_slice(g, wmi_sum(g, both, 1u << 2), 0, 1, 2), 1, dim + 1);
    return wmi_reshape(g, wmi_slice(g, both, 0, 0, 1), 2, dim + 1);
}

/* w, and the sum of the log-slopes dw/dv: (n). */
static wmi_node *bend(wmi_graph *g, const char *prefix, const wmi_noise_opts *opts, wmi_node *x,
                      wmi_node **log_slopes)
{
    wmi_node *scale = wmi_exp(g, wmi_noise_param(g, prefix, "in_log_scale"));
    wmi_node *v = wmi_scale_shift(g, x, scale, wmi_noise_param(g, prefix, "in_shift"), NULL,
                                  (wmi_scale_shift_attr){.slope = 1, .pool = 1});

    return take_apart(g, wmi_rq_spline(g, v, knots(g, prefix, opts), false), log_slopes);
}

/* log det A + sum of s */
static wmi_node *constant(wmi_graph *g, const char *prefix)
{
    return wmi_add(g, wmi_sum(g, wmi_noise_param(g, prefix, "log_diag"), WMI_ALL_AXES),
                   wmi_sum(g, wmi_noise_param(g, prefix, "in_log_scale"), WMI_ALL_AXES));
}

static wmi_node *to_z(wmi_graph *g, const char *prefix, const wmi_noise_opts *opts, wmi_node *x,
                      wmi_node **log_det)
{
    wmi_node *log_slopes = NULL, *w = bend(g, prefix, opts, x, &log_slopes);
    wmi_node *a =
        wmi_lower(g, wmi_noise_param(g, prefix, "below"), wmi_noise_param(g, prefix, "log_diag"));
    wmi_node *centred = wmi_sub(g, w, wmi_noise_param(g, prefix, "mean"));

    *log_det = wmi_add(g, log_slopes, constant(g, prefix));
    return wmi_matmul(g, centred, a, false, true);
}

static wmi_node *to_x(wmi_graph *g, const char *prefix, const wmi_noise_opts *opts, wmi_node *z,
                      wmi_node **log_det)
{
    wmi_node *l = wmi_noise_param(g, prefix, "fixed/colour"), *log_slopes = NULL;
    wmi_node *w = wmi_add(g, wmi_matmul(g, z, l, false, true), wmi_noise_param(g, prefix, "mean"));
    wmi_node *v = take_apart(g, wmi_rq_spline(g, w, knots(g, prefix, opts), true), &log_slopes);
    wmi_node *scale = wmi_exp(g, wmi_affine(g, wmi_noise_param(g, prefix, "in_log_scale"), -1, 0));

    *log_det = wmi_sub(g, log_slopes, constant(g, prefix));
    return wmi_mul(g, wmi_sub(g, v, wmi_noise_param(g, prefix, "in_shift")), scale);
}

static wm_status finish(const wmi_noise_opts *opts, const char *prefix, const wmi_params *params,
                        double *theta, wm_error *err)
{
    const int64_t d = opts->dim;
    double *below, *log_diag, *l, *a = NULL;
    wm_status st;

    if ((st = wmi_noise_values(&below, params, prefix, "below", theta, err)) ||
        (st = wmi_noise_values(&log_diag, params, prefix, "log_diag", theta, err)) ||
        (st = wmi_noise_values(&l, params, prefix, "fixed/colour", theta, err)) ||
        (st = wmi_alloc(&a, d * d, sizeof *a, "a triangular matrix", err)))
        return st;
    for (int64_t i = 0; i < d; i++)
        for (int64_t j = 0; j < d; j++)
            a[i * d + j] = j < i ? below[i * d + j] : j == i ? exp(log_diag[i]) : 0;
    wmi_noise_invert_lower(d, a, l);
    wmi_free(a);
    return WM_OK;
}

/* ---- the start ---- */

static wm_status fit_column(const wmi_noise_opts *opts, int64_t n, const double *x, int64_t j,
                            const double *scores, wmi_marginal *out, wm_error *err)
{
    double *sorted = NULL;
    wm_status st = wmi_alloc(&sorted, n, sizeof *sorted, "a sorted column", err);

    if (st)
        return st;
    for (int64_t i = 0; i < n; i++)
        sorted[i] = x[i * opts->dim + j];
    wmi_sort_f64(sorted, n);
    st = wmi_marginal_fit(n, sorted, scores, opts->bins, opts->bound, out, err);
    wmi_free(sorted);
    return st;
}

/* A failure of the lowest column wins, whatever the timing. */
static wm_status fit_columns(const wmi_noise_opts *opts, int64_t n, const double *x, double *scale,
                             double *shift, double *raw, wm_error *err)
{
    int64_t failed = opts->dim;
    double *scores = NULL;
    wm_error first = {0};
    wm_status code = wmi_marginal_scores(&scores, n, err);

    if (code)
        return code;
#pragma omp parallel for schedule(static)
    for (int64_t j = 0; j < opts->dim; j++) {
        wmi_marginal m = {.raw = raw + j * (3 * opts->bins - 1)};
        wm_error own = {0};
        const wm_status st = fit_column(opts, n, x, j, scores, &m, &own);

        scale[j] = m.log_scale;
        shift[j] = m.shift;
        if (st) {
#pragma omp critical(wmi_copula_columns)
            if (j < failed) {
                failed = j;
                first = own;
                code = st;
            }
        }
    }
    wmi_free(scores);
    if (code && err)
        *err = first;
    return code;
}

/* Mean and covariance of the bent rows, by the very graph that the density uses. */
typedef struct bent {
    wmi_graph *g;
    wmi_program *p;
    wmi_node *w;
    double *sum, *one; /* (d, d): of all chunks, of one */
} bent;

static wm_status open_bent(bent *o, const wmi_noise_opts *opts, const char *prefix,
                           const wmi_params *params, double *theta, wm_error *err)
{
    const int64_t d = opts->dim, rows[] = {CHUNK, d};
    wmi_node *unused;
    wm_status st;

    if ((st = wmi_graph_new(&o->g, WMI_F64, params, err)))
        return st;
    o->w = bend(o->g, prefix, opts, wmi_input(o->g, "x", 2, rows), &unused);
    if ((st = wmi_compile(&o->p, o->g, &(wmi_compile_opts){.outputs = &o->w, .n_outputs = 1},
                          err)) ||
        (st = wmi_alloc(&o->sum, d * d, sizeof *o->sum, "a covariance", err)) ||
        (st = wmi_alloc(&o->one, d * d, sizeof *o->one, "a covariance", err)))
        return st;
    wmi_program_bind(o->p, theta, NULL);
    return WM_OK;
}

static void close_bent(bent *o)
{
    wmi_program_free(o->p);
    wmi_graph_free(o->g);
    wmi_free(o->sum);
    wmi_free(o->one);
}

/* o->sum and mean. The splines give means near 0, so moments about 0 lose no digits. */
static wm_status add_moments(bent *o, int64_t n, int64_t d, const double *x, double *mean,
                             wm_error *err)
{
    double *zero = NULL;
    void *in;
    wm_status st;

    if ((st = wmi_program_input(o->p, "x", &in, err)) ||
        (st = wmi_alloc(&zero, d, sizeof *zero, "a mean", err)))
        return st;
    memset(mean, 0, (size_t)d * sizeof *mean);
    memset(o->sum, 0, (size_t)(d * d) * sizeof *o->sum);
    memset(in, 0, (size_t)(CHUNK * d) * sizeof(double));
    for (int64_t first = 0; first < n && !st; first += CHUNK) {
        const int64_t count = n - first < CHUNK ? n - first : CHUNK;
        const double *w;

        memcpy(in, x + first * d, (size_t)(count * d) * sizeof *x);
        if ((st = wmi_program_forward(o->p, err)))
            break;
        w = wmi_program_value(o->p, o->w);
        for (int64_t i = 0; i < count; i++)
            for (int64_t j = 0; j < d; j++)
                mean[j] += w[i * d + j] / (double)n;
        if ((st = wmi_scatter(count, d, w, zero, o->one, err)))
            break;
        for (int64_t i = 0; i < d * d; i++)
            o->sum[i] += o->one[i];
    }
    wmi_free(zero);
    return st;
}

static wm_status start(const wmi_noise_opts *opts, const char *prefix, const wmi_params *params,
                       int64_t n, const double *x, uint64_t seed, double *theta, wm_error *err)
{
    const int64_t d = opts->dim;
    double *scale, *shift, *raw, *mean, *below, *log_diag;
    bent o = {0};
    wm_status st;

    (void)seed;
    if (n <= d)
        return wmi_fail(err, WM_EINVAL,
                        "%" PRId64 " rows: the correlations of %" PRId64
                        " columns need more rows than columns",
                        n, d);
    if ((st = wmi_noise_values(&scale, params, prefix, "in_log_scale", theta, err)) ||
        (st = wmi_noise_values(&shift, params, prefix, "in_shift", theta, err)) ||
        (st = wmi_noise_values(&raw, params, prefix, "spline", theta, err)) ||
        (st = wmi_noise_values(&mean, params, prefix, "mean", theta, err)) ||
        (st = wmi_noise_values(&below, params, prefix, "below", theta, err)) ||
        (st = wmi_noise_values(&log_diag, params, prefix, "log_diag", theta, err)) ||
        (st = fit_columns(opts, n, x, scale, shift, raw, err)) ||
        (st = open_bent(&o, opts, prefix, params, theta, err)) ||
        (st = add_moments(&o, n, d, x, mean, err)))
        goto done;
    for (int64_t i = 0; i < d; i++)
        for (int64_t j = 0; j < d; j++)
            o.sum[i * d + j] = o.sum[i * d + j] / (double)n - mean[i] * mean[j];
    if ((st = wmi_cholesky(d, o.sum, "the covariance of the columns made normal", err)))
        goto done;
    wmi_noise_invert_lower(d, o.sum, o.one);
    for (int64_t i = 0; i < d; i++) {
        for (int64_t j = 0; j < d; j++)
            below[i * d + j] = j < i ? o.one[i * d + j] : 0;
        log_diag[i] = log(o.one[i * d + i]);
    }
done:
    close_bent(&o);
    return st;
}

const wmi_noise_def wmi_noise_copula = {
    .declare = declare,
    .start = start,
    .finish = finish,
    .to_z = to_z,
    .to_x = to_x,
};
