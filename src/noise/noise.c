/* noise.c - the noise densities behind one interface: settings, checks, and the table of kinds. */
#include "noise/noise.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "engine/backend/linalg.h"
#include "noise/flow.h"
#include "noise/noise_impl.h"

enum { NAME_BYTES = 160 };

static const wmi_noise_def flow = {
    .declare = wmi_flow_declare,
    .start = wmi_flow_start,
    .finish = wmi_flow_finish,
    .to_z = wmi_flow_to_z,
    .to_x = wmi_flow_to_x,
};

static const wmi_noise_def *def_of(const wmi_noise_opts *opts)
{
    switch (opts->kind) {
    case WMI_NOISE_GAUSSIAN:
        return &wmi_noise_gaussian;
    case WMI_NOISE_COPULA:
        return &wmi_noise_copula;
    case WMI_NOISE_FLOW:
        return &flow;
    }
    return NULL;
}

void wmi_noise_opts_init(wmi_noise_opts *opts, wmi_noise_kind kind, int64_t dim)
{
    *opts = (wmi_noise_opts){
        .kind = kind,
        .dim = dim,
        .channels = 1,
        .bins = kind == WMI_NOISE_FLOW ? 8 : 128,
        .bound = 3,
        .levels = 1,
        .steps = 8,
        .hidden = 64,
        .dropout = 0.1,
    };
}

void wmi_noise_opts_image(wmi_noise_opts *opts, wmi_noise_kind kind, int64_t height, int64_t width,
                          int64_t channels)
{
    wmi_noise_opts_init(opts, kind, height * width * channels);
    opts->height = height;
    opts->width = width;
    opts->channels = channels;
    opts->levels = 2;
}

static wm_status check_opts(const wmi_noise_opts *o, wm_error *err)
{
    if (!def_of(o))
        return wmi_fail(err, WM_EINVAL, "noise of kind %d: there is no such kind", (int)o->kind);
    if (o->dim < 1)
        return wmi_fail(err, WM_EINVAL, "noise of %" PRId64 " columns: at least 1 is needed",
                        o->dim);
    if (o->height > 0 &&
        (o->width < 1 || o->channels < 1 || o->height * o->width * o->channels != o->dim))
        return wmi_fail(err, WM_ESHAPE,
                        "noise of %" PRId64 " columns for images of %" PRId64 " x %" PRId64
                        " x %" PRId64,
                        o->dim, o->height, o->width, o->channels);
    if (o->kind != WMI_NOISE_GAUSSIAN && (o->bins < 2 || o->bins > 4096))
        return wmi_fail(err, WM_EINVAL, "splines of %" PRId64 " bins: choose 2 to 4096", o->bins);
    /* the floors of rq_knots: bins of 1e-3 at least must fit, with room to differ */
    if (o->kind != WMI_NOISE_GAUSSIAN &&
        !(o->bound > 0 && o->bound <= 1000 && 2 * o->bound >= 4e-3 * (double)o->bins))
        return wmi_fail(err, WM_EINVAL,
                        "splines of %" PRId64 " bins on +-%g: choose a bound from %g to 1000",
                        o->bins, o->bound, 2e-3 * (double)o->bins);
    return WM_OK;
}

wm_status wmi_noise_declare(wmi_params *params, const char *prefix, const wmi_noise_opts *opts,
                            wm_error *err)
{
    wm_status st = check_opts(opts, err);

    return st ? st : def_of(opts)->declare(params, prefix, opts, err);
}

/* Data of which no noise has a density. */
static wm_status check_rows(int64_t n, int64_t d, const double *x, wm_error *err)
{
    if (n < 2)
        return wmi_fail(err, WM_EINVAL, "a noise density needs at least 2 rows, not %" PRId64, n);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < d; j++)
            if (!isfinite(x[i * d + j]))
                return wmi_fail(err, WM_EINVAL,
                                "row %" PRId64 ", column %" PRId64 " is %g: a noise density is "
                                "fitted to finite values",
                                i, j, x[i * d + j]);
    for (int64_t j = 0; j < d; j++) {
        int64_t i = 1;

        while (i < n && x[i * d + j] == x[j])
            i++;
        if (i == n)
            return wmi_fail(err, WM_EINVAL,
                            "column %" PRId64 " is %g in all %" PRId64
                            " rows, so the data have no density: drop it, or add noise to it",
                            j, x[j], n);
    }
    return WM_OK;
}

wm_status wmi_noise_start(const wmi_noise_opts *opts, const char *prefix, const wmi_params *params,
                          int64_t n, const double *x, uint64_t seed, double *theta, wm_error *err)
{
    wm_status st;

    if ((st = check_opts(opts, err)) || (st = check_rows(n, opts->dim, x, err)) ||
        (st = def_of(opts)->start(opts, prefix, params, n, x, seed, theta, err)))
        return st;
    return wmi_noise_finish(opts, prefix, params, theta, err);
}

bool wmi_noise_is_closed(const wmi_noise_opts *opts)
{
    const wmi_noise_def *def = def_of(opts);

    return def && def->closed;
}

wm_status wmi_noise_finish(const wmi_noise_opts *opts, const char *prefix, const wmi_params *params,
                           double *theta, wm_error *err)
{
    wm_status st = check_opts(opts, err);

    return st ? st : def_of(opts)->finish(opts, prefix, params, theta, err);
}

/* Rows as every kind expects them, or the graph's sticky failure. */
static bool rows_fit(wmi_graph *g, const wmi_noise_opts *opts, const wmi_node *x)
{
    if (!x || !def_of(opts))
        return false;
    if (x->shape.rank == 2 && x->shape.dim[1] == opts->dim)
        return true;
    wmi_graph_fail(g, WM_ESHAPE, "noise of %" PRId64 " columns: '%s' is not (n, %" PRId64 ")",
                   opts->dim, x->name, opts->dim);
    return false;
}

wmi_node *wmi_noise_to_z(wmi_graph *g, const char *prefix, const wmi_noise_opts *opts, wmi_node *x,
                         wmi_node **log_det)
{
    wmi_node *unused;

    if (!rows_fit(g, opts, x))
        return NULL;
    return def_of(opts)->to_z(g, prefix, opts, x, log_det ? log_det : &unused);
}

wmi_node *wmi_noise_to_x(wmi_graph *g, const char *prefix, const wmi_noise_opts *opts, wmi_node *z,
                         wmi_node **log_det)
{
    wmi_node *unused;

    if (!rows_fit(g, opts, z))
        return NULL;
    return def_of(opts)->to_x(g, prefix, opts, z, log_det ? log_det : &unused);
}

wmi_node *wmi_noise_log_density(wmi_graph *g, const char *prefix, const wmi_noise_opts *opts,
                                wmi_node *x)
{
    static const double half_log_2pi = 0.91893853320467274178;
    wmi_node *log_det = NULL, *z = wmi_noise_to_z(g, prefix, opts, x, &log_det);
    wmi_node *squares = z ? wmi_sum(g, wmi_mul(g, z, z), 1u << 1) : NULL;

    if (!squares)
        return NULL;
    return wmi_add(g, wmi_affine(g, squares, -0.5, -(double)opts->dim * half_log_2pi), log_det);
}

/* ---- for the kinds ---- */

static wm_status full_name(char buf[NAME_BYTES], const char *prefix, const char *name,
                           wm_error *err)
{
    const int n = snprintf(buf, NAME_BYTES, "%s%s%s", prefix, *prefix ? "/" : "", name);

    if (n >= NAME_BYTES)
        return wmi_fail(err, WM_EINVAL, "noise under '%.40s...': the name is too long", prefix);
    return WM_OK;
}

wm_status wmi_noise_add(wmi_params *params, const char *prefix, const char *name, int rank,
                        const int64_t *dim, wm_error *err)
{
    static const wmi_init zero = {WMI_INIT_CONST, 0, 0};
    char path[NAME_BYTES];
    wm_status st = full_name(path, prefix, name, err);

    return st ? st : wmi_params_add(params, path, rank, dim, zero, WMI_GROUP_BODY, err);
}

wmi_node *wmi_noise_param(wmi_graph *g, const char *prefix, const char *name)
{
    char path[NAME_BYTES];

    if (full_name(path, prefix, name, NULL))
        return wmi_graph_fail(g, WM_EINVAL, "noise under '%.40s...': the name is too long", prefix);
    return wmi_param(g, path);
}

wm_status wmi_noise_values(double **out, const wmi_params *params, const char *prefix,
                           const char *name, double *theta, wm_error *err)
{
    const wmi_param_entry *e;
    char path[NAME_BYTES];
    wm_status st = full_name(path, prefix, name, err);

    *out = NULL;
    if (st)
        return st;
    if (!(e = wmi_params_find(params, path)))
        return wmi_fail(err, WM_EINVAL, "no parameter is called '%s': declare the noise first",
                        path);
    *out = theta + e->offset;
    return WM_OK;
}

void wmi_noise_invert_lower(int64_t d, const double *l, double *a)
{
    memset(a, 0, (size_t)(d * d) * sizeof *a);
    for (int64_t i = 0; i < d; i++)
        a[i * d + i] = 1;
    wmi_lower_solve(d, d, l, a); /* row i becomes column i of the inverse */
    for (int64_t i = 0; i < d; i++)
        for (int64_t j = 0; j < i; j++) {
            a[i * d + j] = a[j * d + i];
            a[j * d + i] = 0;
        }
}
