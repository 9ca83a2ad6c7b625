/* own_draws.c - chains of the levels, in training (own_draws.h). */
#include "train/own_draws.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "waymarks/chain.h"

struct wmi_own_draws {
    wmi_own_opts opts;
    int64_t levels, n, dim; /* n = levels rows */
    uint64_t seed;
    const wmi_source *source;
    wmi_graph *graph; /* f_k of every row's own level, and its gradient */
    wmi_program *program;
    wmi_node *x, *f;
    float *x_in;
    int64_t size;
    float *state;            /* what follows, one after the other */
    float *z, *start, *step; /* (n, dim), (n, dim), (levels) log step sizes */
    float *begun;            /* (1) */
    float *work, *kept;      /* (n, dim) */
    double *steps, *accept;  /* (n) */
};

static wm_status open_program(wmi_own_draws *d, const wmi_model *model, const wmi_params *params,
                              float *theta, const float *knots, const float *filter, wm_error *err)
{
    const int64_t x[] = {d->n, d->dim}, own[] = {d->levels, d->n};
    wmi_model_inputs in = {.layout = WMI_ROWS_SHARED};
    void *at;
    wm_status st;

    if ((st = wmi_graph_new(&d->graph, WMI_F32, params, err)))
        return st;
    in.x = d->x = wmi_input(d->graph, "x", 2, x);
    wmi_model_constants(d->graph, model, &in);
    d->f = wmi_sum(d->graph,
                   wmi_mul(d->graph, wmi_model_levels(d->graph, "", model, &in),
                           wmi_input(d->graph, "own", 2, own)),
                   1u);
    if ((st = wmi_compile(&d->program, d->graph,
                          &(wmi_compile_opts){.outputs = &d->f,
                                              .n_outputs = 1,
                                              .loss = wmi_sum(d->graph, d->f, WMI_ALL_AXES),
                                              .grad_inputs = &d->x,
                                              .n_grad_inputs = 1},
                          err)))
        return st;
    wmi_program_bind(d->program, theta, NULL);
    if ((st = wmi_model_fill(d->program, model, knots, filter, err)) ||
        (st = wmi_program_input(d->program, "x", &at, err)))
        return st;
    d->x_in = at;
    if ((st = wmi_program_input(d->program, "own", &at, err)))
        return st;
    for (int64_t k = 0; k < d->levels; k++)
        for (int64_t i = 0; i < d->n; i++)
            ((float *)at)[k * d->n + i] = i / d->opts.rows == k;
    return WM_OK;
}

wm_status wmi_own_draws_new(wmi_own_draws **out, const wmi_model *model, const wmi_params *params,
                            const double *alpha, const wmi_source *source, const wmi_own_opts *opts,
                            uint64_t seed, float *theta, const float *knots, const float *filter,
                            wm_error *err)
{
    const int64_t m = model->bridges, n = m * opts->rows, dim = source->dim;
    wmi_own_draws *d = NULL;
    wm_status st;

    *out = NULL;
    if ((st = wmi_alloc(&d, 1, sizeof *d, "chains", err)))
        return st;
    d->opts = *opts;
    d->levels = m;
    d->n = n;
    d->dim = dim;
    d->seed = seed;
    d->source = source;
    d->size = 2 * n * dim + m + 1;
    if ((st = wmi_alloc(&d->state, d->size, sizeof *d->state, "chains", err)) ||
        (st = wmi_alloc(&d->work, n * dim, sizeof *d->work, "chains", err)) ||
        (st = wmi_alloc(&d->kept, n * dim, sizeof *d->kept, "chains", err)) ||
        (st = wmi_alloc(&d->steps, n, sizeof *d->steps, "chains", err)) ||
        (st = wmi_alloc(&d->accept, n, sizeof *d->accept, "chains", err)) ||
        (st = open_program(d, model, params, theta, knots, filter, err))) {
        wmi_own_draws_free(d);
        return st;
    }
    d->z = d->state;
    d->start = d->z + n * dim;
    d->step = d->start + n * dim;
    d->begun = d->step + m;
    for (int64_t k = 0; k < m; k++)
        d->step[k] = (float)log(0.03 + 0.3 * alpha[k]);
    *out = d;
    return WM_OK;
}

void wmi_own_draws_free(wmi_own_draws *d)
{
    if (!d)
        return;
    wmi_program_free(d->program);
    wmi_graph_free(d->graph);
    wmi_free(d->state);
    wmi_free(d->work);
    wmi_free(d->kept);
    wmi_free(d->steps);
    wmi_free(d->accept);
    wmi_free(d);
}

float *wmi_own_draws_state(wmi_own_draws *d, int64_t *size)
{
    *size = d->size;
    return d->state;
}

static wm_status map_rows(const wmi_own_draws *d, const float *z, float *x, wm_error *err)
{
    const wmi_source *s = d->source;
    const size_t bytes = (size_t)(d->n * d->dim) * sizeof *x;

    if (!s->map) {
        memcpy(x, z, bytes);
        return WM_OK;
    }
    memcpy(d->work, z, bytes); /* the map may take it for its own */
    return s->map(s->ctx, d->n, d->dim, d->work, x, err);
}

/* Whether a chain was thrown off; its row then is where it started. */
static bool is_lost(const wmi_own_draws *d, const float *z, int64_t i)
{
    bool good = true;

    for (int64_t j = i * d->dim; j < (i + 1) * d->dim; j++)
        good = good && isfinite(z[j]);
    if (!good)
        memcpy(d->kept + i * d->dim, d->start + i * d->dim, (size_t)d->dim * sizeof *z);
    return !good;
}

/* A wmi_own_density. */
static wm_status density(void *of, const float *z, double *log_f, float *grad, wm_error *err)
{
    wmi_own_draws *d = of;
    const wmi_source *s = d->source;
    const float *f;
    wm_status st;

    memcpy(d->kept, z, (size_t)(d->n * d->dim) * sizeof *z);
    for (int64_t i = 0; i < d->n; i++)
        log_f[i] = is_lost(d, z, i) ? -INFINITY : 0;
    if ((st = map_rows(d, d->kept, d->x_in, err)) || (st = wmi_program_backward(d->program, err)))
        return st;
    f = wmi_program_value(d->program, d->f);
    memcpy(grad, wmi_program_grad(d->program, d->x), (size_t)(d->n * d->dim) * sizeof *grad);
    if (s->map && (st = s->pull(s->ctx, d->n, d->dim, d->kept, grad, err)))
        return st;
    for (int64_t i = 0; i < d->n; i++) {
        double square = 0;

        for (int64_t j = i * d->dim; j < (i + 1) * d->dim; j++) {
            square += (double)d->kept[j] * (double)d->kept[j];
            grad[j] -= d->kept[j];
        }
        log_f[i] += (double)f[i] - square / 2;
    }
    return WM_OK;
}

/* Chains of which it is time begin at waymarks of their level. */
static void begin(wmi_own_draws *d, int64_t step, int64_t waymarks, const float *z)
{
    const wmi_rng all = wmi_rng_make(d->seed, "own draws"), now = wmi_rng_sub(&all, (uint64_t)step);
    const size_t bytes = (size_t)d->dim * sizeof *z;

    for (int64_t i = 0; i < d->n; i++) {
        const int64_t k = i / d->opts.rows, at = k * waymarks + i % d->opts.rows % waymarks;
        double u;

        wmi_rng_uniform_f64(&now, (uint64_t)i, 1, &u);
        if (*d->begun > 0 && u * d->opts.stay >= 1)
            continue;
        memcpy(d->z + i * d->dim, z + at * d->dim, bytes);
        memcpy(d->start + i * d->dim, z + at * d->dim, bytes);
    }
    *d->begun = 1;
}

wm_status wmi_own_draws_step(wmi_own_draws *d, int64_t step, int64_t waymarks, const float *z,
                             wm_error *err)
{
    const int64_t rows = d->opts.rows;
    wm_status st;

    if (*d->begun > 0 && step % d->opts.every)
        return WM_OK;
    begin(d, step, waymarks, z);
    for (int64_t i = 0; i < d->n; i++)
        d->steps[i] = exp((double)d->step[i / rows]);
    if ((st = d->opts.mover->move(d->opts.mover->ctx, step, d->n, d->dim, d->steps, density, d,
                                  d->z, d->accept, err)))
        return st;
    for (int64_t k = 0; k < d->levels; k++) {
        double sum = 0;

        for (int64_t i = k * rows; i < (k + 1) * rows; i++)
            sum += d->accept[i] / (double)rows;
        d->step[k] += (float)(0.3 * (sum - 0.75));
    }
    return WM_OK;
}

wm_status wmi_own_draws_fill(wmi_own_draws *d, float *x, float *pull, wm_error *err)
{
    const double share = d->opts.weight / (double)(d->dim * d->n);
    wm_status st;

    if ((st = map_rows(d, d->z, x, err)) || (st = map_rows(d, d->start, x + d->n * d->dim, err)))
        return st;
    for (int64_t k = 0; k < d->levels; k++)
        for (int64_t i = 0; i < 2 * d->n; i++)
            pull[k * 2 * d->n + i] =
                i % d->n / d->opts.rows == k ? (float)(i < d->n ? share : -share) : 0;
    return WM_OK;
}
