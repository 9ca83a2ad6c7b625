/* job.c - one fit: samples of p with a known mutual information, q = N(0, I), log r on fresh rows.
 */
#include <math.h>
#include <stdlib.h>

#include "gaussian.h"
#include "waymark/data.h"
#include "waymark/generators.h"

enum { FRESH = 20000 }; /* rows of p that the estimate is the mean over */

const char *const gaussian_method_names[] = {"single-adam", "tre-adam", "tre-convex"};

/* Waymark k is Gaussian with correlation r_k = (1 - alpha_k^2) rho in each of dim/2 pairs. For one
 * pair KL(r || s) = (1 - r s) / (1 - s^2) - 1 + log((1 - s^2) / (1 - r^2)) / 2. */
double gaussian_true_kl(const gaussian_job *job, int64_t k)
{
    const double rho = wm_gaussian_pairs_rho(job->dim, job->mi), m = (double)job->bridges;
    const double r = (1 - (double)(k * k) / (m * m)) * rho;
    const double s = (1 - (double)((k + 1) * (k + 1)) / (m * m)) * rho;
    const double pair = (1 - r * s) / (1 - s * s) - 1 + 0.5 * (log1p(-s * s) - log1p(-r * r));

    return 0.5 * (double)job->dim * pair;
}

/* Watches the held-out estimate for the moment from which it is within 3 % of the truth. */
typedef struct watch {
    double truth, since; /* NaN: not there now */
} watch;

static int watch_eval(void *ctx, const wm_evaluation *p)
{
    watch *w = ctx;

    if (fabs(p->estimate - w->truth) > 0.03 * w->truth)
        w->since = NAN;
    else if (isnan(w->since))
        w->since = p->seconds;
    return 0;
}

static wm_ratio_opts fit_opts(const gaussian_job *job, const reproduce_settings *s, watch *w)
{
    wm_ratio_opts o;

    wm_ratio_opts_init(&o);
    o.bridges = job->bridges;
    o.model = job->model;
    o.form = job->form;
    o.linear_term = job->method == GAUSSIAN_CONVEX;
    o.objective = job->objective;
    o.optimizer = job->method == GAUSSIAN_CONVEX ? WM_OPTIMIZER_CONVEX : WM_OPTIMIZER_ADAM;
    o.scaling = WM_SCALING_NONE; /* unit variances already */
    o.normal_q = true;
    o.adam = job->adam;
    o.adam.eval_every = o.adam.iterations / 40 > 0 ? o.adam.iterations / 40 : 1;
    o.adam.lr_constants = job->papers ? 10 : fmax(10, 3e-3 / o.adam.lr); /* some travel 15 nats */
    o.stop_saturated = false; /* the single ratio is meant to fail, in full */
    o.calibrate = job->method == GAUSSIAN_TRE && !job->papers;
    o.control = s->control;
    o.control.on_eval = watch_eval;
    o.control.ctx = w;
    return o;
}

static wm_status evaluate(gaussian_outcome *out, const wm_ratio *r, const gaussian_job *job,
                          uint64_t seed, wm_error *err)
{
    wm_data *fresh = NULL;
    double *log_r = malloc(FRESH * sizeof *log_r), var = 0;
    wm_status st = WM_ENOMEM;

    if (!log_r ||
        (st = wm_data_gaussian_pairs(&fresh, FRESH, job->dim,
                                     wm_gaussian_pairs_rho(job->dim, job->mi), seed,
                                     "gaussian/fresh", err)) ||
        (st = wm_ratio_log(r, fresh, log_r, err)))
        goto done;
    out->mi = 0;
    for (int i = 0; i < FRESH; i++)
        out->mi += log_r[i] / FRESH;
    for (int i = 0; i < FRESH; i++)
        var += (log_r[i] - out->mi) * (log_r[i] - out->mi) / (FRESH - 1);
    out->mi_se = sqrt(var / FRESH);
    for (int64_t k = 0; k < job->bridges && k < 16; k++)
        wm_ratio_get_bridge(r, k, &out->bridge[k]);
done:
    wm_data_free(fresh);
    free(log_r);
    return st;
}

wm_status gaussian_run(gaussian_outcome *out, const gaussian_job *job, const char *name,
                       const reproduce_settings *settings, wm_error *err)
{
    watch w = {job->mi, NAN};
    wm_ratio_opts o = fit_opts(job, settings, &w);
    const char *model, *state;
    wm_error local = {0};
    wm_data *p = NULL;
    wm_ratio *r = NULL;
    wm_ratio_info info;
    wm_status st;

    *out = (gaussian_outcome){.mi = NAN, .mi_se = NAN, .to_3_percent = NAN};
    err = err ? err : &local;
    if ((st = reproduce_path(&model, name, ".safetensors", settings, err)) ||
        (st = reproduce_path(&state, name, "-state.safetensors", settings, err)) ||
        (st = wm_data_gaussian_pairs(&p, job->n, job->dim, wm_gaussian_pairs_rho(job->dim, job->mi),
                                     settings->control.seed, "gaussian/train", err)))
        goto done;
    o.control.checkpoint = job->method == GAUSSIAN_CONVEX ? NULL : state;
    st = wm_ratio_fit(&r, p, NULL, &o, err);
    if (st == WM_EDIVERGED) { /* what the single NWJ ratio does in high dimension: a result */
        out->diverged = true;
        st = WM_OK;
        goto done;
    }
    if (st)
        goto done;
    wm_ratio_get_info(r, &info);
    if (settings->control.stop && *settings->control.stop) {
        st = WM_FAIL(err, WM_EINTERRUPTED, "stopped during %s%s", name,
                     settings->folder ? ": --resume goes on from here" : "");
        goto done;
    }
    out->seconds = info.seconds;
    out->steps = info.steps;
    out->to_3_percent = job->method == GAUSSIAN_CONVEX ? info.seconds : w.since;
    if (!(st = evaluate(out, r, job, settings->control.seed, err)) && model)
        st = wm_ratio_save(r, model, err);
done:
    wm_ratio_free(r);
    wm_data_free(p);
    return st;
}
