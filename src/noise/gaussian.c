/* gaussian.c - noise with the mean and covariance of the data: x = mean + L z, S = L L' the sample
 * covariance (divisor n - 1). The density multiplies by A = L^-1, which is stored beside L, because
 * a triangular product is faster than a solve and has a gradient like any other. Nothing is left to
 * train. */
#include <inttypes.h>
#include <math.h>

#include "base/alloc.h"
#include "engine/backend/linalg.h"
#include "noise/noise_impl.h"

static wm_status declare(wmi_params *params, const char *prefix, const wmi_noise_opts *opts,
                         wm_error *err)
{
    const int64_t d = opts->dim, vector[] = {d}, matrix[] = {d, d};
    wm_status st;

    if ((st = wmi_noise_add(params, prefix, "fixed/mean", 1, vector, err)) ||
        (st = wmi_noise_add(params, prefix, "fixed/colour", 2, matrix, err)) || /* L */
        (st = wmi_noise_add(params, prefix, "fixed/whiten", 2, matrix, err)) || /* A */
        (st = wmi_noise_add(params, prefix, "fixed/log_det", 0, NULL, err)))    /* of A */
        return st;
    return WM_OK;
}

static wm_status start(const wmi_noise_opts *opts, const char *prefix, const wmi_params *params,
                       int64_t n, const double *x, uint64_t seed, double *theta, wm_error *err)
{
    const int64_t d = opts->dim;
    double *mean, *l;
    wm_status st;

    (void)seed;
    if ((st = wmi_noise_values(&mean, params, prefix, "fixed/mean", theta, err)) ||
        (st = wmi_noise_values(&l, params, prefix, "fixed/colour", theta, err)))
        return st;
    if (n <= d)
        return wmi_fail(err, WM_EINVAL,
                        "%" PRId64 " rows: a covariance of %" PRId64
                        " columns needs more rows than columns",
                        n, d);
    wmi_column_means(n, d, x, mean);
    if ((st = wmi_scatter(n, d, x, mean, l, err)))
        return st;
    for (int64_t i = 0; i < d * d; i++)
        l[i] /= (double)(n - 1);
    return wmi_cholesky(d, l, "the covariance of the noise's data", err);
}

static wm_status finish(const wmi_noise_opts *opts, const char *prefix, const wmi_params *params,
                        double *theta, wm_error *err)
{
    double *l, *a, *log_det;
    wm_status st;

    if ((st = wmi_noise_values(&l, params, prefix, "fixed/colour", theta, err)) ||
        (st = wmi_noise_values(&a, params, prefix, "fixed/whiten", theta, err)) ||
        (st = wmi_noise_values(&log_det, params, prefix, "fixed/log_det", theta, err)))
        return st;
    wmi_noise_invert_lower(opts->dim, l, a);
    *log_det = -wmi_cholesky_logdet(opts->dim, l) / 2;
    return WM_OK;
}

/* sign times the stored log-determinant, for every row of x. */
static wmi_node *for_rows(wmi_graph *g, const char *prefix, wmi_node *x, double sign)
{
    wmi_node *zero = wmi_affine(g, wmi_sum(g, x, 1u << 1), 0, 0);

    return wmi_add(g, zero, wmi_affine(g, wmi_noise_param(g, prefix, "fixed/log_det"), sign, 0));
}

static wmi_node *to_z(wmi_graph *g, const char *prefix, const wmi_noise_opts *opts, wmi_node *x,
                      wmi_node **log_det)
{
    wmi_node *centred = wmi_sub(g, x, wmi_noise_param(g, prefix, "fixed/mean"));

    (void)opts;
    *log_det = for_rows(g, prefix, x, 1);
    return wmi_matmul(g, centred, wmi_noise_param(g, prefix, "fixed/whiten"), false, true);
}

static wmi_node *to_x(wmi_graph *g, const char *prefix, const wmi_noise_opts *opts, wmi_node *z,
                      wmi_node **log_det)
{
    wmi_node *coloured = wmi_matmul(g, z, wmi_noise_param(g, prefix, "fixed/colour"), false, true);

    (void)opts;
    *log_det = for_rows(g, prefix, z, -1);
    return wmi_add(g, coloured, wmi_noise_param(g, prefix, "fixed/mean"));
}

const wmi_noise_def wmi_noise_gaussian = {
    .closed = true,
    .declare = declare,
    .start = start,
    .finish = finish,
    .to_z = to_z,
    .to_x = to_x,
};
