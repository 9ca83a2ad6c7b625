/* mnist_job.c - one row of the MNIST experiment: an energy-based model is fitted, and its
 * likelihood of the test images bracketed. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mnist.h"

const char *mnist_noise_name(wm_ebm_noise noise)
{
    static const char *const names[] = {"gaussian", "copula", "flow"};

    return names[noise];
}

const char *mnist_method_name(mnist_method method)
{
    static const char *const names[] = {"noise", "nce", "tre"};

    return names[method];
}

static wm_status fit(wm_ebm **out, double *seconds, const mnist_job *job, const mnist_data *data,
                     const wm_ebm *noise, const char *name, const reproduce_settings *s,
                     wm_error *err)
{
    const double started = reproduce_clock(NULL);
    const char *model;
    wm_ebm_opts o;
    wm_status st;

    wm_ebm_opts_init(&o);
    o.noise = job->noise;
    o.noise_of = noise;
    o.height = data->height;
    o.width = data->width;
    o.channels = 1;
    o.levels = 256;
    o.logit = 1e-6;
    o.standardize = job->standardize;
    o.network = job->network;
    o.mlp_width = job->width;
    o.mlp_blocks = job->blocks;
    o.noise_hidden = job->noise_hidden;
    o.noise_steps = job->noise_steps;
    o.noise_dropout = job->noise_dropout;
    o.spacing.power = job->power;
    o.bridges = job->bridges;
    o.x_space = job->x_space;
    o.spread = job->spread ? 1 : -1;
    memcpy(o.train, job->train, sizeof o.train);
    o.seed = s->seed;
    o.time_limit = s->time_limit;
    o.checkpoint_seconds = s->checkpoint_seconds;
    o.resume = s->resume;
    o.sink = s->sink;
    o.stop = s->stop;
    if ((st = wm_ebm_model_parse(&o.model, job->model, err)) ||
        (st = reproduce_path(&o.checkpoint, name, "-state.safetensors", s, err)) ||
        (st = reproduce_path(&model, name, ".safetensors", s, err)))
        return st;
    if (s->resume && reproduce_has(model)) { /* fitted before the run was stopped */
        *seconds = NAN;                      /* which a model does not tell */
        return wm_ebm_load(out, model, err);
    }
    if ((st = wm_ebm_fit(out, data->train, data->valid, &o, err)))
        return st;
    if (s->stop && *s->stop) /* the checkpoint has it: --resume goes on */
        return reproduce_fail(err, WM_EINTERRUPTED, "stopped while fitting %s", name);
    *seconds = reproduce_clock(NULL) - started;
    return model ? wm_ebm_save(*out, model, err) : WM_OK;
}

/* Mean of x in bits per dimension, and its standard error. */
static void bits(const double *x, int64_t n, int64_t dim, double *mean, double *se)
{
    const double unit = 1 / ((double)dim * log(2));
    double sum = 0, squares = 0;

    for (int64_t i = 0; i < n; i++)
        sum += x[i] / (double)n;
    for (int64_t i = 0; i < n; i++)
        squares += (x[i] - sum) * (x[i] - sum);
    *mean = -sum * unit;
    *se = sqrt(squares / (double)(n - 1) / (double)n) * unit;
}

typedef struct ranked {
    double log_phi;
    int64_t at;
} ranked;

static int by_density(const void *a, const void *b)
{
    const double x = ((const ranked *)a)->log_phi, y = ((const ranked *)b)->log_phi;

    return (x > y) - (x < y);
}

/* The last states of AIS as a picture, from the lowest to the highest log-density. */
static wm_status draw_chains(const wm_ebm *e, const wm_ebm_chains *c, const mnist_data *data,
                             const char *path, wm_error *err)
{
    static const char *const names[] = {"chain", "log_density"};
    const int64_t n = c->chains, d = c->dim;
    double *values = malloc(sizeof *values * 2 * (size_t)n); /* (n, 2), as the names say */
    ranked *order = malloc(sizeof *order * (size_t)n);
    double *log_phi = malloc(sizeof *log_phi * (size_t)n);
    wm_data *x = NULL, *sorted = NULL;
    wm_status st = WM_ENOMEM;

    if (!order || !log_phi || !values || (st = wm_data_new(&x, n, d, c->x, err)) ||
        (st = wm_data_new(&sorted, n, d, NULL, err)))
        goto done;
    for (int64_t i = 0; i < n * d; i++)
        wm_data_rows_mut(x)[i] = floor(wm_data_rows(x)[i]);
    if ((st = wm_ebm_log_density(e, x, 1, NULL, log_phi, err)))
        goto done;
    for (int64_t i = 0; i < n; i++)
        order[i] = (ranked){log_phi[i], i};
    qsort(order, (size_t)n, sizeof *order, by_density);
    for (int64_t i = 0; i < n; i++) {
        memcpy(wm_data_rows_mut(sorted) + i * d, wm_data_rows(x) + order[i].at * d,
               (size_t)d * sizeof(double));
        values[2 * i] = (double)order[i].at;
        values[2 * i + 1] = order[i].log_phi;
    }
    st = wm_image_grid_write(&(wm_image_grid){.n = n,
                                              .height = data->height,
                                              .width = data->width,
                                              .channels = 1,
                                              .x = wm_data_rows(sorted),
                                              .lo = 0,
                                              .hi = 255,
                                              .scale = 2,
                                              .values = values,
                                              .value_names = names,
                                              .n_values = 2},
                             path, err);
done:
    free(values);
    wm_data_free(sorted);
    wm_data_free(x);
    free(log_phi);
    free(order);
    return st;
}

static wm_status walk(mnist_outcome *out, const wm_ebm *e, const mnist_job *job,
                      const mnist_data *data, const double *log_phi, const char *name,
                      const reproduce_settings *s, wm_error *err)
{
    const int64_t n = wm_data_count(data->test), d = wm_data_dim(data->test);
    const double unit = 1 / ((double)d * log(2));
    wm_ebm_chains *up = NULL;
    wm_ebm_walk w;
    wm_ais ais;
    wm_raise raise;
    const char *picture;
    double mean, se, started = reproduce_clock(NULL);
    wm_status st;

    wm_ebm_walk_init(&w);
    w.chains = job->chains;
    w.steps = job->steps;
    w.seed = s->seed;
    w.checkpoint_seconds = s->checkpoint_seconds > 0 ? s->checkpoint_seconds : 60;
    w.resume = s->resume;
    w.sink = s->sink;
    w.stop = s->stop;
    if ((st = reproduce_path(&w.checkpoint, name, "-ais.safetensors", s, err)) ||
        (st = wm_ebm_ais(&ais, &up, e, &w, err)))
        goto done;
    out->gradients = (double)up->evals / (reproduce_clock(NULL) - started);
    bits(log_phi, n, d, &mean, &se);
    out->ais = mean + ais.log_z * unit;
    out->ais_se = hypot(se, ais.se * unit);
    out->log_z = ais.log_z;
    out->ess = ais.ess;
    if ((st = reproduce_path(&picture, name, ".png", s, err)) ||
        (picture && (st = draw_chains(e, up, data, picture, err))) ||
        (st = reproduce_path(&w.checkpoint, name, "-raise.safetensors", s, err)) ||
        (st = wm_ebm_raise(&raise, NULL, e, data->test, log_phi, s->seed, up->table, &w, err)))
        goto done;
    out->raise = -raise.loglik * unit;
    out->raise_se = raise.se * unit;
done:
    wm_ebm_chains_free(up);
    return st;
}

wm_status mnist_run(mnist_outcome *out, wm_ebm **model, const mnist_job *job,
                    const mnist_data *data, const wm_ebm *noise, const char *name,
                    const reproduce_settings *s, wm_error *err)
{
    const int64_t n = wm_data_count(data->test), d = wm_data_dim(data->test);
    double *log_phi = NULL, *log_q = NULL, started, se;
    wm_ebm *e = NULL;
    wm_ebm_info info;
    wm_status st;

    *out = (mnist_outcome){.raise = NAN,
                           .ais = NAN,
                           .raise_se = NAN,
                           .ais_se = NAN,
                           .log_z = NAN,
                           .ess = NAN,
                           .gradients = NAN};
    if ((st = fit(&e, &out->seconds, job, data, noise, name, s, err)))
        goto done;
    wm_ebm_get_info(e, &info);
    out->finished = info.finished;
    started = reproduce_clock(NULL);
    log_phi = malloc(sizeof *log_phi * (size_t)n);
    log_q = malloc(sizeof *log_q * (size_t)n);
    if (!log_phi || !log_q) {
        st = reproduce_fail(err, WM_ENOMEM, "densities of %lld images", (long long)n);
        goto done;
    }
    if ((st = wm_ebm_log_density(e, data->test, s->seed, log_q, log_phi, err)))
        goto done;
    bits(job->method == MNIST_NOISE ? log_q : log_phi, n, d, &out->direct, &out->direct_se);
    bits(&info.direct, 1, d, &out->valid, &se);
    if (job->method == MNIST_NOISE)
        bits(&info.noise_loglik, 1, d, &out->valid, &se);
    else if (job->steps > 0 && (st = walk(out, e, job, data, log_phi, name, s, err)))
        goto done;
    out->seconds_judging = reproduce_clock(NULL) - started;
    if (model) {
        *model = e;
        e = NULL;
    }
done:
    wm_ebm_free(e);
    free(log_phi);
    free(log_q);
    return st;
}
