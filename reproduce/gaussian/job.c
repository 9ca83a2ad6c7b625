/* job.c - one row: samples of p with a known mutual information, q = N(0, I), and the fit to them.
 */
#include <math.h>
#include <stdio.h>

#include "gaussian.h"
#include "waymark/data.h"
#include "waymark/generators.h"

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

static wm_ratio_opts fit_opts(const gaussian_job *job, const reproduce_settings *s, double lr,
                              watch *w)
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
    o.adam.lr = lr;
    /* Where rates compete, the last average of each is judged: the best moment of a bridge, picked
     * by chance among forty, is one more thing that held-out rows have chosen. */
    o.adam.eval_every = job->rates[0] > 0         ? o.adam.iterations
                        : o.adam.iterations >= 40 ? o.adam.iterations / 40
                                                  : 1;
    o.adam.lr_constants = job->papers ? 10 : fmax(10, 3e-3 / o.adam.lr); /* some travel 15 nats */
    o.stop_saturated = false; /* the single ratio is meant to fail, in full */
    o.calibrate = job->method == GAUSSIAN_TRE && !job->papers;
    o.control = s->control;
    o.control.on_eval = watch_eval;
    o.control.ctx = w;
    return o;
}

/* A job with its data and files. */
typedef struct task {
    const gaussian_job *job;
    const char *name;
    const reproduce_settings *settings;
    wm_data *p;
    watch watch;
    double seconds; /* of fitting, so far */
} task;

/* part: its name among the fits of the job. */
static wm_status fit_at(wm_ratio **out, task *t, double lr, const char *part, wm_error *err)
{
    const gaussian_job *job = t->job;
    wm_ratio_opts o = fit_opts(job, t->settings, lr, &t->watch);
    const char *state;
    char suffix[64];
    wm_ratio_info info;
    wm_status st;

    *out = NULL;
    snprintf(suffix, sizeof suffix, "%s-state.safetensors", part);
    if ((st = reproduce_path(&state, t->name, suffix, t->settings, err)))
        return st;
    o.control.checkpoint = job->method == GAUSSIAN_CONVEX ? NULL : state;
    if ((st = wm_ratio_fit(out, t->p, NULL, &o, err)))
        return st;
    wm_ratio_get_info(*out, &info);
    t->seconds += info.seconds;
    if (t->settings->control.stop && *t->settings->control.stop) {
        wm_ratio_free(*out);
        *out = NULL;
        return WM_FAIL(err, WM_EINTERRUPTED, "stopped during %s%s%s", t->name, part,
                       t->settings->folder ? ": --resume goes on from here" : "");
    }
    return WM_OK;
}

/* The fit; of several rates that with the lowest held-out loss. */
static wm_status fit(wm_ratio **out, gaussian_outcome *o, task *t, wm_error *err)
{
    const gaussian_job *job = t->job;
    double best = INFINITY;

    *out = NULL;
    for (int i = 0; i < GAUSSIAN_RATES && (i == 0 || job->rates[i] > 0); i++) {
        const bool choose = job->rates[0] > 0;
        const double lr = choose ? job->rates[i] : job->adam.lr;
        wm_ratio_info info;
        wm_ratio *r;
        char part[32] = "";
        wm_status st;

        if (choose)
            snprintf(part, sizeof part, "-rate-%g", lr);
        if ((st = fit_at(&r, t, lr, part, err)))
            return st;
        wm_ratio_get_info(r, &info);
        if (*out && !(info.held_out_loss < best)) {
            wm_ratio_free(r);
            continue;
        }
        wm_ratio_free(*out);
        *out = r;
        best = info.held_out_loss;
        o->lr = lr;
        o->steps = info.steps;
    }
    return WM_OK;
}

wm_status gaussian_run(gaussian_outcome *out, const gaussian_job *job, const char *name,
                       const reproduce_settings *settings, wm_error *err)
{
    const uint64_t seed = settings->control.seed;
    task t = {.job = job, .name = name, .settings = settings, .watch = {job->mi, NAN}};
    const char *model;
    wm_error local = {0};
    wm_ratio *r = NULL;
    wm_status st;

    *out = (gaussian_outcome){.mi = NAN, .mi_se = NAN, .to_3_percent = NAN};
    err = err ? err : &local;
    if ((st = reproduce_path(&model, name, ".safetensors", settings, err)) ||
        (st = wm_data_gaussian_pairs(&t.p, job->n, job->dim,
                                     wm_gaussian_pairs_rho(job->dim, job->mi), seed,
                                     "gaussian/train", err)))
        goto done;
    st = fit(&r, out, &t, err);
    if (st == WM_EDIVERGED) { /* what the single NWJ ratio does in high dimension: a result */
        out->diverged = true;
        st = WM_OK;
        goto done;
    }
    if (st)
        goto done;
    out->seconds = t.seconds;
    if (job->rates[0] == 0)
        out->to_3_percent = job->method == GAUSSIAN_CONVEX ? t.seconds : t.watch.since;
    if (!(st = gaussian_evaluate(out, r, job, seed, err)) && model)
        st = wm_ratio_save(r, model, err);
done:
    wm_ratio_free(r);
    wm_data_free(t.p);
    return st;
}
