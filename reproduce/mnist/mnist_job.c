/* mnist_job.c - one row of the MNIST experiment: an energy-based model is fitted, and its
 * likelihood of the test images bracketed. */
#include <math.h>
#include <stdlib.h>

#include "mnist.h"

#define NAME(name, text) text,
const char *const mnist_noise_names[] = {WM_EBM_NOISES(NAME)};
#undef NAME

const char *const mnist_method_names[] = {"noise", "nce", "tre"};

static wm_status fit(wm_ebm **out, double *seconds, const mnist_job *job, const mnist_data *data,
                     const wm_ebm *noise, const char *name, const reproduce_settings *s,
                     wm_error *err)
{
    const double started = wm_clock(NULL);
    const char *model;
    wm_ebm_opts o = job->fit;
    wm_status st;

    o.noise_of = noise;
    o.height = data->height;
    o.width = data->width;
    o.control = s->control;
    if ((st = reproduce_path(&o.control.checkpoint, name, "-state.safetensors", s, err)) ||
        (st = reproduce_path(&model, name, ".safetensors", s, err)))
        return st;
    if (s->control.resume && reproduce_has(model)) { /* fitted before the run was stopped */
        *seconds = NAN;                              /* which a model does not tell */
        return wm_ebm_load(out, model, err);
    }
    if ((st = wm_ebm_fit(out, data->train, data->valid, &o, err)))
        return st;
    if (s->control.stop && *s->control.stop) /* the checkpoint has it: --resume goes on */
        return WM_FAIL(err, WM_EINTERRUPTED, "stopped while fitting %s", name);
    *seconds = wm_clock(NULL) - started;
    return model ? wm_ebm_save(*out, model, err) : WM_OK;
}

/* Mean of x in bits per dimension, and its standard error. */
static void bits(const double *x, int64_t n, int64_t dim, double *mean, double *se)
{
    const double unit = 1 / ((double)dim * log(2));
    const wm_estimate e = wm_mean(x, n);

    *mean = -e.value * unit;
    *se = e.se * unit;
}

/* The last states of AIS as a picture, from the lowest to the highest log-density. */
static wm_status draw_chains(const wm_ebm *e, const wm_ebm_chains *c, const mnist_data *data,
                             const char *path, wm_error *err)
{
    static const char *const names[] = {"chain", "log_density"};
    const int64_t n = c->chains, d = c->dim;
    double *values = malloc(sizeof *values * 2 * (size_t)n); /* (n, 2), as the names say */
    double *log_phi = malloc(sizeof *log_phi * (size_t)n);
    wm_data *x = NULL;
    wm_status st = WM_ENOMEM;

    if (!log_phi || !values || (st = wm_data_new(&x, n, d, c->x, err)))
        goto done;
    for (int64_t i = 0; i < n * d; i++)
        wm_data_rows_mut(x)[i] = floor(wm_data_rows(x)[i]);
    if ((st = wm_ebm_log_density(e, x, 1, NULL, log_phi, NULL, err)))
        goto done;
    for (int64_t i = 0; i < n; i++) {
        values[2 * i] = (double)i;
        values[2 * i + 1] = log_phi[i];
    }
    st = wm_image_grid_write(WM_WITH(wm_image_grid, .n = n, .height = data->height,
                                     .width = data->width, .channels = 1, .x = wm_data_rows(x),
                                     .lo = 0, .hi = 255, .scale = 2, .values = values,
                                     .value_names = names, .n_values = 2, .sorted = true),
                             path, err);
done:
    free(values);
    wm_data_free(x);
    free(log_phi);
    return st;
}

static wm_status walk(mnist_outcome *out, const wm_ebm *e, const mnist_job *job,
                      const mnist_data *data, const double *log_phi, const char *name,
                      const reproduce_settings *s, wm_error *err)
{
    const int64_t n = wm_data_count(data->test), d = wm_data_dim(data->test);
    const double unit = 1 / ((double)d * log(2));
    wm_ebm_chains *up = NULL;
    wm_ebm_walk w = job->walk;
    wm_ais ais;
    wm_raise raise;
    const char *picture;
    double mean, se, started = wm_clock(NULL);
    wm_status st;

    w.control = s->control;
    w.control.time_limit = 0; /* that is for fits */
    if (!(w.control.checkpoint_seconds > 0))
        w.control.checkpoint_seconds = 60;
    if ((st = reproduce_path(&w.control.checkpoint, name, "-ais.safetensors", s, err)) ||
        (st = wm_ebm_ais(&ais, &up, e, &w, err)))
        goto done;
    out->gradients = (double)up->evals / (wm_clock(NULL) - started);
    bits(log_phi, n, d, &mean, &se);
    out->ais = mean + ais.log_z * unit;
    out->ais_se = hypot(se, ais.se * unit);
    out->log_z = ais.log_z;
    out->ess = ais.ess;
    if ((st = reproduce_path(&picture, name, ".png", s, err)) ||
        (picture && (st = draw_chains(e, up, data, picture, err))) ||
        (st = reproduce_path(&w.control.checkpoint, name, "-raise.safetensors", s, err)) ||
        (st = wm_ebm_raise(&raise, NULL, e, data->test, log_phi, s->control.seed, up->table, &w,
                           err)))
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

    *out = (mnist_outcome){0};
    out->raise = out->ais = out->raise_se = out->ais_se = NAN;
    out->log_z = out->ess = out->gradients = NAN;
    if ((st = fit(&e, &out->seconds, job, data, noise, name, s, err)))
        goto done;
    wm_ebm_get_info(e, &info);
    out->finished = info.finished;
    started = wm_clock(NULL);
    log_phi = malloc(sizeof *log_phi * (size_t)n);
    log_q = malloc(sizeof *log_q * (size_t)n);
    st = WM_ENOMEM;
    if (!log_phi || !log_q ||
        (st = wm_ebm_log_density(e, data->test, s->control.seed, log_q, log_phi, s->control.stop,
                                 err)))
        goto done;
    bits(job->method == MNIST_NOISE ? log_q : log_phi, n, d, &out->direct, &out->direct_se);
    bits(&info.direct, 1, d, &out->valid, &se);
    if (job->method == MNIST_NOISE)
        bits(&info.noise_loglik, 1, d, &out->valid, &se);
    else if (job->walk.steps > 0 && (st = walk(out, e, job, data, log_phi, name, s, err)))
        goto done;
    out->seconds_judging = wm_clock(NULL) - started;
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
