/* generators.c - samples whose distribution, and so whose answer, is known. */
#include <inttypes.h>
#include <math.h>
#include <stddef.h>

#include "base/fail.h"
#include "base/rng.h"
#include "waymark/data.h"
#include "waymark/generators.h"

wm_status wm_data_normal(wm_data **out, int64_t n, int64_t dim, double mean, double sd,
                         uint64_t seed, const char *stream, wm_error *err)
{
    const wmi_rng rng = wmi_rng_make(seed, stream);
    wm_status st;
    double *x;

    *out = NULL;
    if (!isfinite(mean) || !isfinite(sd) || sd < 0)
        return wmi_fail(err, WM_EINVAL,
                        "normals of mean %g and standard deviation %g: both must be finite, and "
                        "the second not negative",
                        mean, sd);
    if ((st = wm_data_new(out, n, dim, NULL, err)))
        return st;
    x = wm_data_rows_mut(*out);
    wmi_rng_normal_f64(&rng, 0, n * dim, x);
    for (int64_t i = 0; i < n * dim; i++)
        x[i] = mean + sd * x[i];
    return WM_OK;
}

wm_status wm_data_gaussian_pairs(wm_data **out, int64_t n, int64_t dim, double rho, uint64_t seed,
                                 const char *stream, wm_error *err)
{
    wm_status st;
    double *x, rest;

    *out = NULL;
    if (!(rho >= -1 && rho <= 1))
        return wmi_fail(err, WM_EINVAL, "correlation %g of Gaussian pairs is outside [-1, 1]", rho);
    if (dim % 2 != 0)
        return wmi_fail(err, WM_EINVAL,
                        "Gaussian pairs in %" PRId64 " columns: the number must be even", dim);
    if ((st = wm_data_normal(out, n, dim, 0, 1, seed, stream, err)))
        return st;
    x = wm_data_rows_mut(*out);
    rest = sqrt((1 - rho) * (1 + rho));
    for (int64_t i = 0; i < n * dim; i += 2) /* a row holds whole pairs */
        x[i + 1] = rho * x[i] + rest * x[i + 1];
    return WM_OK;
}

double wm_gaussian_pairs_mi(int64_t dim, double rho)
{
    return -0.25 * (double)dim * log1p(-rho * rho);
}

double wm_gaussian_pairs_rho(int64_t dim, double mi)
{
    return sqrt(-expm1(-4 * mi / (double)dim));
}
