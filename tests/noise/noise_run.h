/* noise_run.h - a noise made ready to run, for the tests of this room: table, parameters, and
 * graphs of its density and of both directions. */
#ifndef WM_TESTS_NOISE_RUN_H
#define WM_TESTS_NOISE_RUN_H

#include <stdlib.h>
#include <string.h>

#include "asserts.h"
#include "base/rng.h"
#include "engine/program.h"
#include "noise/noise.h"

typedef struct noise_run {
    wmi_noise_opts opts;
    wmi_params *params;
    int64_t n_params;
    double *theta;
} noise_run;

static inline void *noise_memory(int64_t count, size_t size)
{
    void *p = NULL;
    assert_int_equal(posix_memalign(&p, 64, (size_t)(count + 16) * size), 0);
    memset(p, 0, (size_t)(count + 16) * size);
    return p;
}

static inline noise_run noise_open(const wmi_noise_opts *opts)
{
    noise_run r = {.opts = *opts};
    wm_error err = {0};
    assert_ok(wmi_params_new(&r.params, &err), err);
    assert_ok(wmi_noise_declare(r.params, "noise", opts, &err), err);
    r.n_params = wmi_params_count(r.params);
    r.theta = noise_memory(r.n_params, sizeof *r.theta);
    return r;
}

static inline void noise_close(noise_run *r)
{
    wmi_params_free(r->params);
    free(r->theta);
}

static inline double *noise_entry(const noise_run *r, const char *name)
{
    const wmi_param_entry *e = wmi_params_find(r->params, name);
    assert_non_null(e);
    return r->theta + e->offset;
}

typedef enum noise_way { TO_Z, TO_X, LOG_DENSITY } noise_way;

/* Rows in (n, dim) through one graph: out (n, dim) and log_det (n), or the density in log_det
 * alone. Either may be NULL. */
static inline void noise_pass(const noise_run *r, wmi_dtype dtype, noise_way way, int64_t n,
                              const double *in, double *out, double *log_det)
{
    const int64_t d = r->opts.dim, dim[] = {n, d};
    wmi_graph *g = NULL;
    wmi_program *p = NULL;
    wmi_node *node[2] = {NULL}, *x;
    wm_error err = {0};
    void *at, *theta = noise_memory(r->n_params, sizeof(double));
    assert_ok(wmi_graph_new(&g, dtype, r->params, &err), err);
    x = wmi_input(g, "x", 2, dim);
    if (way == TO_Z)
        node[1] = wmi_noise_to_z(g, "noise", &r->opts, x, &node[0]);
    else if (way == TO_X)
        node[1] = wmi_noise_to_x(g, "noise", &r->opts, x, &node[0]);
    else
        node[0] = wmi_noise_log_density(g, "noise", &r->opts, x);
    assert_ok(
        wmi_compile(&p, g,
                    &(wmi_compile_opts){.outputs = node, .n_outputs = way == LOG_DENSITY ? 1 : 2},
                    &err),
        err);
    for (int64_t i = 0; i < r->n_params; i++) {
        if (dtype == WMI_F32)
            ((float *)theta)[i] = (float)r->theta[i];
        else
            ((double *)theta)[i] = r->theta[i];
    }
    wmi_program_bind(p, theta, NULL);
    assert_ok(wmi_program_input(p, "x", &at, &err), err);
    for (int64_t i = 0; i < n * d; i++) {
        if (dtype == WMI_F32)
            ((float *)at)[i] = (float)in[i];
        else
            ((double *)at)[i] = in[i];
    }
    assert_ok(wmi_program_forward(p, &err), err);
    for (int k = 0; k < 2; k++) {
        const void *v = node[k] ? wmi_program_value(p, node[k]) : NULL;
        double *to = k ? out : log_det;
        for (int64_t i = 0; v && to && i < (k ? n * d : n); i++)
            to[i] = dtype == WMI_F32 ? (double)((const float *)v)[i] : ((const double *)v)[i];
    }
    wmi_program_free(p);
    wmi_graph_free(g);
    free(theta);
}

/* log |det| of the Jacobian of a map by central differences, in double, at one row of dim d <= 4.
 */
static inline double noise_numeric_log_det(const noise_run *r, noise_way way, const double *in)
{
    enum { D = 4 };
    const int64_t d = r->opts.dim;
    const double h = 1e-5; /* errors of h^2 and eps / h: some 1e-10 */
    double rows[2 * D * D], out[2 * D * D], j[D][D], log_det = 0;
    assert_true(d <= D);
    for (int64_t k = 0; k < 2 * d; k++)
        for (int64_t i = 0; i < d; i++)
            rows[k * d + i] = in[i] + (i == k / 2 ? (k % 2 ? -h : h) : 0);
    noise_pass(r, WMI_F64, way, 2 * d, rows, out, NULL);
    for (int64_t i = 0; i < d; i++)
        for (int64_t k = 0; k < d; k++)
            j[i][k] = (out[2 * k * d + i] - out[(2 * k + 1) * d + i]) / (2 * h);
    for (int64_t k = 0; k < d; k++) { /* elimination with pivots */
        int64_t pivot = k;
        for (int64_t i = k + 1; i < d; i++)
            pivot = fabs(j[i][k]) > fabs(j[pivot][k]) ? i : pivot;
        for (int64_t c = 0; c < d; c++) {
            const double t = j[k][c];
            j[k][c] = j[pivot][c];
            j[pivot][c] = t;
        }
        log_det += log(fabs(j[k][k]));
        for (int64_t i = k + 1; i < d; i++)
            for (int64_t c = d - 1; c >= k; c--)
                j[i][c] -= j[k][c] * j[i][k] / j[k][k];
    }
    return log_det;
}

/* The integral of the density over a square (an interval) of the given half-width by the midpoint
 * rule with `side` cells a side. */
static inline double noise_integral(const noise_run *r, double half, int64_t side)
{
    const int64_t d = r->opts.dim, n = d == 1 ? side : side * side;
    const double cell = 2 * half / (double)side;
    double *x = noise_memory(n * d, sizeof *x), *log_q = noise_memory(n, sizeof *log_q), sum = 0;
    assert_true(d <= 2);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < d; j++)
            x[i * d + j] = -half + cell * ((double)(j ? i / side : i % side) + 0.5);
    noise_pass(r, WMI_F64, LOG_DENSITY, n, x, NULL, log_q);
    for (int64_t i = 0; i < n; i++)
        sum += exp(log_q[i]);
    free(x);
    free(log_q);
    return sum * (d == 1 ? cell : cell * cell);
}

/* Round trips x -> z -> x and what both say of the volume. */
static inline void noise_check_trips(const noise_run *r, wmi_dtype dtype, int64_t n,
                                     const double *x, double tolerance)
{
    const int64_t d = r->opts.dim;
    double *z = noise_memory(n * d, sizeof *z), *back = noise_memory(n * d, sizeof *back);
    double *there = noise_memory(n, sizeof *there), *home = noise_memory(n, sizeof *home);
    noise_pass(r, dtype, TO_Z, n, x, z, there);
    noise_pass(r, dtype, TO_X, n, z, back, home);
    for (int64_t i = 0; i < n * d; i++)
        assert_near(back[i], x[i], tolerance * (1 + fabs(x[i])));
    for (int64_t i = 0; i < n; i++)
        assert_near(home[i], -there[i], tolerance * (1 + fabs(there[i])) * 10);
    free(z);
    free(back);
    free(there);
    free(home);
}

#endif
