/* densities.h - densities whose moments and constants are known, as paths for the samplers. */
#ifndef WM_TESTS_SAMPLE_DENSITIES_H
#define WM_TESTS_SAMPLE_DENSITIES_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "waymark/sample.h"

#define LOG_2PI 1.8378770664093453

/* Independent normals: sd (dim), mean 0. */
typedef struct normals {
    int64_t dim;
    const double *sd;
} normals;

static inline wm_status normals_eval(void *ctx, int64_t n, const double *x, const double *weights,
                                     double *log_f, double *grad, double *terms, wm_error *err)
{
    const normals *g = ctx;

    (void)weights;
    (void)terms;
    (void)err;
    for (int64_t i = 0; i < n; i++) {
        log_f[i] = 0;
        for (int64_t k = 0; k < g->dim; k++) {
            const double u = x[i * g->dim + k] / g->sd[k];

            log_f[i] -= 0.5 * u * u;
            grad[i * g->dim + k] = -u / g->sd[k];
        }
    }
    return WM_OK;
}

static inline wm_path normals_path(normals *g)
{
    return (wm_path){.dim = g->dim, .eval = normals_eval, .ctx = g};
}

/* v ~ N(0, 1), the other dim - 1 ~ N(0, exp(v)): a funnel of moderate width. */
static inline wm_status funnel_eval(void *ctx, int64_t n, const double *x, const double *weights,
                                    double *log_f, double *grad, double *terms, wm_error *err)
{
    const int64_t dim = *(const int64_t *)ctx;

    (void)weights;
    (void)terms;
    (void)err;
    for (int64_t i = 0; i < n; i++) {
        const double *row = &x[i * dim], v = row[0], precision = exp(-v);
        double sum = 0;

        for (int64_t k = 1; k < dim; k++) {
            sum += row[k] * row[k];
            grad[i * dim + k] = -row[k] * precision;
        }
        log_f[i] = -0.5 * v * v - 0.5 * sum * precision - 0.5 * (double)(dim - 1) * v;
        grad[i * dim] = -v + 0.5 * sum * precision - 0.5 * (double)(dim - 1);
    }
    return WM_OK;
}

/* x0 ~ N(0, 1), x1 ~ N(x0^2 - 1, 1/4): E x1 = 0, Var x1 = 2 + 1/4. */
static inline wm_status banana_eval(void *ctx, int64_t n, const double *x, const double *weights,
                                    double *log_f, double *grad, double *terms, wm_error *err)
{
    (void)ctx;
    (void)weights;
    (void)terms;
    (void)err;
    for (int64_t i = 0; i < n; i++) {
        const double a = x[2 * i], r = x[2 * i + 1] - (a * a - 1);

        log_f[i] = -0.5 * a * a - 2 * r * r;
        grad[2 * i] = -a + 8 * r * a;
        grad[2 * i + 1] = -4 * r;
    }
    return WM_OK;
}

/* A quadratic TRE model: densities p_0 .. p_m, each N(mean[k], sd[k]^2 I) with p_m = N(0, I), and
 * log r_k = log p_k - log p_(k+1) + shift[k]. So log Z = sum of shifts. Counts its points. */
typedef struct ladder {
    int64_t dim, bridges;
    const double *mean, *sd, *shift; /* (bridges + 1), (bridges + 1), (bridges) */
    int64_t points, calls;
    double fail_above; /* points with x[0] above have no density; 0: all have */
    int64_t fail_at;   /* the call that fails; 0: none */
} ladder;

static inline double ladder_log_p(const ladder *l, int64_t k, const double *x, double *grad,
                                  double weight)
{
    const double mean = k < l->bridges ? l->mean[k] : 0, sd = k < l->bridges ? l->sd[k] : 1;
    double sum = 0;

    for (int64_t i = 0; i < l->dim; i++) {
        const double u = (x[i] - mean) / sd;

        sum += u * u;
        if (grad)
            grad[i] -= weight * u / sd;
    }
    return -0.5 * sum - (double)l->dim * (log(sd) + 0.5 * LOG_2PI);
}

static inline wm_status ladder_eval(void *ctx, int64_t n, const double *x, const double *weights,
                                    double *log_f, double *grad, double *terms, wm_error *err)
{
    ladder *l = ctx;
    const int64_t m = l->bridges, dim = l->dim;

    l->points += n;
    if (++l->calls == l->fail_at) {
        if (err)
            *err = (wm_error){.code = WM_EIO, .text = "the density is gone"};
        return WM_EIO;
    }
    for (int64_t i = 0; i < n; i++) {
        double *g = &grad[i * dim];
        const double *row = &x[i * dim];

        for (int64_t k = 0; k < dim; k++)
            g[k] = 0;
        log_f[i] = ladder_log_p(l, m, row, g, 1);
        for (int64_t k = 0; k < m; k++) {
            const double w = weights[i * m + k];

            if (w > 0) {
                terms[i * m + k] = ladder_log_p(l, k, row, g, w) -
                                   ladder_log_p(l, k + 1, row, g, -w) + l->shift[k];
                log_f[i] += w * terms[i * m + k];
            } else {
                terms[i * m + k] = (double)NAN; /* not promised: must not be used */
            }
        }
        if (l->fail_above != 0 && row[0] > l->fail_above)
            log_f[i] = (double)NAN;
    }
    return WM_OK;
}

static inline wm_path ladder_path(ladder *l)
{
    return (wm_path){.dim = l->dim, .bridges = l->bridges, .eval = ladder_eval, .ctx = l};
}

#endif
