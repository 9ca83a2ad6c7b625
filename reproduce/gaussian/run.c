/* run.c - high-dimensional Gaussians (paper, section 4.2 and its figure 3): the mutual information
 * of d/2 correlated pairs, 10 to 80 nats, by one ratio and by the telescope. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "gaussian.h"

enum { MAX_DIMS = 4, MAX_JOBS = 32 };

typedef struct preset {
    int64_t dim[MAX_DIMS], bridges[MAX_DIMS], n;
    int64_t iterations, single_iterations;
    int n_dims;
    bool mlp, papers; /* with an MLP row; with a row of the paper's own settings */
} preset;

static const preset presets[REPRODUCE_PRESETS] = {
    [REPRODUCE_SMOKE] = {{10, 20}, {2, 2}, 20000, 3000, 1500, 2, false, false},
    [REPRODUCE_LAPTOP] = {{40, 80, 160, 320}, {2, 4, 6, 8}, 100000, 20000, 10000, 4, true, false},
    [REPRODUCE_PAPER] = {{40, 80, 160, 320}, {2, 4, 6, 8}, 100000, 40000, 40000, 4, true, true},
};

/* Tried in turn where bridges are diagonal; held-out loss chooses. */
static const double rates[GAUSSIAN_RATES] = {1e-3, 2e-3, 4e-3};

/* Adam moves every entry of Q by about the rate, in directions that are mostly noise at first, and
 * the noise of x'Qx grows like rate times d. */
static double rate_of(int64_t dim)
{
    return 0.048 / (double)dim;
}

static int all_jobs(const preset *p, gaussian_job *jobs)
{
    int n = 0;

    for (int i = 0; i < p->n_dims; i++) {
        const gaussian_job base = {
            .method = GAUSSIAN_TRE,
            .model = WM_RATIO_QUADRATIC,
            .form = WM_FORM_FREE,
            .objective = WM_OBJECTIVE_LOGISTIC,
            .dim = p->dim[i],
            .bridges = p->bridges[i],
            .n = p->n,
            .mi = 0.25 * (double)p->dim[i],
            .adam = WM_ADAM(p->iterations, 1024, rate_of(p->dim[i]), 0.999),
        };
        gaussian_job job = base;

        job.method = GAUSSIAN_CONVEX;
        jobs[n++] = job;
        job = base;
        job.form = WM_FORM_DIAGONAL;
        memcpy(job.rates, rates, sizeof rates);
        job.adam.iterations *= 3; /* steps of 2 d numbers a bridge cost little */
        jobs[n++] = job;
        job = base;
        job.method = GAUSSIAN_SINGLE;
        job.bridges = 1;
        job.adam.iterations = p->single_iterations;
        jobs[n++] = job;
        job.objective = WM_OBJECTIVE_NWJ;
        jobs[n++] = job;
        if (p->papers) {
            job = base;
            job.papers = true;
            job.form = WM_FORM_POSDIAG;
            job.adam.lr = 1e-4;
            job.adam.average = 0;
            jobs[n++] = job;
        }
        if (p->mlp && i == 0) {
            job = base;
            job.model = WM_RATIO_MLP;
            job.adam.lr = 1e-3;
            job.adam.iterations /= 4;
            jobs[n++] = job;
        }
    }
    return n;
}

static void job_name(const gaussian_job *j, char name[48])
{
    snprintf(name, 48, "%s-%s%s-%" PRId64 "%s", gaussian_method_names[j->method],
             j->model == WM_RATIO_MLP ? "mlp" : "quadratic",
             j->objective == WM_OBJECTIVE_NWJ ? "-nwj" : "", j->dim, j->papers ? "-paper" : "");
}

/* All rows, or those that --only names: "tre-adam", "320" or the name of a row's files. */
static wm_status list_jobs(const preset *p, const char *only, gaussian_job *jobs, int *n,
                           wm_error *err)
{
    reproduce_names names[MAX_JOBS] = {0};
    bool wanted[MAX_JOBS];
    gaussian_job all[MAX_JOBS] = {0};
    const int n_all = all_jobs(p, all);
    wm_status st;

    for (int i = 0; i < n_all; i++) {
        job_name(&all[i], names[i].row);
        snprintf(names[i].first, sizeof names[i].first, "%s", gaussian_method_names[all[i].method]);
        snprintf(names[i].second, sizeof names[i].second, "%" PRId64, all[i].dim);
    }
    if ((st = reproduce_choose(wanted, names, n_all, only,
                               "single-adam, tre-adam, tre-convex are known, numbers of columns as "
                               "in the table, and both as in tre-adam-quadratic-40",
                               err)))
        return st;
    *n = 0;
    for (int i = 0; i < n_all; i++)
        if (wanted[i])
            jobs[(*n)++] = all[i];
    return WM_OK;
}

static void add_row(wm_summary *summary, const gaussian_job *j, const gaussian_outcome *o)
{
    wm_summary *row = wm_summary_row(summary, "rows");

    WM_PUT(row, WM_TEXT("method", gaussian_method_names[j->method]),
           WM_TEXT("model", j->model == WM_RATIO_MLP ? "mlp" : "quadratic"),
           WM_TEXT("objective", j->objective == WM_OBJECTIVE_NWJ ? "nwj" : "logistic"),
           WM_TEXT("settings", j->papers ? "paper" : "ours"), WM_INTEGER("dim", j->dim),
           WM_INTEGER("bridges", j->bridges), WM_REAL("mi", o->mi), WM_REAL("mi_se", o->mi_se),
           WM_REAL("truth", j->mi), WM_REAL("seconds", o->seconds),
           WM_REAL("seconds_to_3_percent", o->to_3_percent), WM_BOOL("diverged", o->diverged));
    if (j->method != GAUSSIAN_CONVEX) {
        WM_PUT(row, WM_INTEGER("steps", o->steps), WM_INTEGER("batch", j->adam.batch),
               WM_REAL("lr", o->lr));
    }
    for (int64_t k = 0; !o->diverged && j->method != GAUSSIAN_SINGLE && k < j->bridges; k++) {
        WM_PUT(wm_summary_row(row, "bridges_kl"), WM_INTEGER("k", k),
               WM_REAL("estimate", o->bridge[k].mean_log_ratio),
               WM_REAL("truth", gaussian_true_kl(j, k)), WM_REAL("loss", o->bridge[k].loss),
               WM_REAL("accuracy", o->bridge[k].accuracy));
    }
}

static wm_text_table *make_table(const gaussian_job *jobs, const gaussian_outcome *o, int n)
{
    wm_text_table *t =
        wm_text_table_new("Mutual information of d/2 correlated pairs, nats",
                          "d|<method|<model|bridges|truth|MI|error in %|steps|seconds");

    for (int i = 0; i < n; i++) {
        const gaussian_job *j = &jobs[i];
        const double error = 100 * (o[i].mi - j->mi) / j->mi;
        char model[64];

        if (i && jobs[i - 1].dim != j->dim)
            wm_text_table_rule(t);
        snprintf(model, sizeof model, "%s%s%s", j->model == WM_RATIO_MLP ? "MLP" : "quadratic",
                 j->objective == WM_OBJECTIVE_NWJ ? ", NWJ" : "",
                 j->papers ? ", paper's settings" : "");
        WM_ROW(t, WM_CELL_INTEGER(j->dim), WM_CELL_TEXT(gaussian_method_names[j->method]),
               WM_CELL_TEXT(model), WM_CELL_INTEGER(j->bridges), WM_CELL_REAL(j->mi, 1),
               o[i].diverged ? WM_CELL_TEXT("diverged") : WM_CELL_SE(o[i].mi, o[i].mi_se, 2));
        wm_text_table_tone(t, o[i].diverged ? WM_TONE_BAD : WM_TONE_PLAIN);
        WM_ROW(t, WM_CELL_REAL(error, 1));
        wm_text_table_tone(t, fabs(error) <= 3    ? WM_TONE_GOOD
                              : fabs(error) <= 20 ? WM_TONE_PLAIN
                                                  : WM_TONE_BAD);
        WM_ROW(t, j->method == GAUSSIAN_CONVEX ? WM_CELL_TEXT("-") : WM_CELL_INTEGER(o[i].steps),
               WM_CELL_REAL(o[i].seconds, 1));
    }
    return t;
}

/* One line of the figure: the outcomes of one method against the truth. */
static void add_series(wm_panel *panel, const gaussian_job *jobs, const gaussian_outcome *o, int n,
                       gaussian_method method, wm_objective objective, const char *name,
                       wm_colour colour)
{
    double x[MAX_JOBS], y[MAX_JOBS];
    int64_t count = 0;

    for (int i = 0; i < n; i++)
        if (jobs[i].method == method && jobs[i].objective == objective && !jobs[i].papers &&
            jobs[i].model == WM_RATIO_QUADRATIC) {
            x[count] = jobs[i].mi;
            y[count++] = o[i].mi;
        }
    WM_PLOT(panel, count, x, y, name, .mark = WM_MARK_LINE_POINTS, .colour = colour);
}

static void draw(reproduce_result *out, const gaussian_job *jobs, const gaussian_outcome *o, int n)
{
    const gaussian_job *last = &jobs[0];
    double truth[] = {0, 0}, k[16] = {0}, kl[16] = {0}, own[16] = {0};
    wm_figure *f = reproduce_figure(out, "gaussian", "Mutual information of Gaussian pairs");
    wm_panel *panel;
    int at = 0;

    panel = wm_figure_panel(f, "One ratio and the telescope");
    wm_panel_axes(panel, "true mutual information (nats)", "estimate (nats)", 0);
    wm_panel_legend(panel, WM_LEGEND_TOP_LEFT);
    for (int i = 0; i < n; i++)
        truth[1] = fmax(truth[1], jobs[i].mi);
    WM_PLOT(panel, 2, truth, truth, "truth", .mark = WM_MARK_LINE, .colour = WM_COLOUR_BLACK,
            .dashed = true);
    add_series(panel, jobs, o, n, GAUSSIAN_CONVEX, WM_OBJECTIVE_LOGISTIC, "TRE, convex",
               WM_COLOUR_GREEN);
    add_series(panel, jobs, o, n, GAUSSIAN_TRE, WM_OBJECTIVE_LOGISTIC, "TRE, Adam",
               WM_COLOUR_VERMILION);
    add_series(panel, jobs, o, n, GAUSSIAN_SINGLE, WM_OBJECTIVE_LOGISTIC, "single, logistic",
               WM_COLOUR_BLUE);
    add_series(panel, jobs, o, n, GAUSSIAN_SINGLE, WM_OBJECTIVE_NWJ, "single, NWJ", WM_COLOUR_SKY);
    for (int i = 0; i < n; i++)
        if (jobs[i].method == GAUSSIAN_TRE && jobs[i].model == WM_RATIO_QUADRATIC &&
            !jobs[i].papers && jobs[i].bridges <= 16) {
            last = &jobs[i];
            at = i;
        }
    for (int64_t b = 0; b < last->bridges; b++) {
        k[b] = (double)b;
        kl[b] = gaussian_true_kl(last, b);
        own[b] = o[at].bridge[b].mean_log_ratio;
    }
    panel = wm_figure_panel(f, "Bridges at the largest d, by Adam");
    wm_panel_axes(panel, "bridge k", "KL(p_k, p_{k+1}) (nats)", 0);
    wm_panel_legend(panel, WM_LEGEND_BOTTOM_RIGHT);
    WM_PLOT(panel, last->bridges, k, kl, "closed form", .mark = WM_MARK_LINE,
            .colour = WM_COLOUR_BLACK, .dashed = true);
    WM_PLOT(panel, last->bridges, k, own, "estimate", .mark = WM_MARK_POINTS,
            .colour = WM_COLOUR_VERMILION);
}

static void add_checks(reproduce_result *out, const gaussian_job *jobs, const gaussian_outcome *o,
                       int n)
{
    for (int i = 0; i < n; i++) {
        const gaussian_job *j = &jobs[i];
        const double error = fabs(o[i].mi - j->mi) / j->mi;
        char name[64];

        if (j->papers || j->model != WM_RATIO_QUADRATIC)
            continue;
        snprintf(name, sizeof name, "tre_%s_error_%" PRId64,
                 j->method == GAUSSIAN_TRE ? "adam" : "convex", j->dim);
        if (j->method == GAUSSIAN_TRE)
            reproduce_check(out, name, error, 0.03,
                            "relative error of the telescope trained by Adam");
        else if (j->method == GAUSSIAN_CONVEX)
            reproduce_check(out, name, error, 0.01,
                            "relative error of the telescope fitted without Adam");
    }
    reproduce_verdict(out);
}

wm_status reproduce_gaussian(reproduce_result *out, const reproduce_settings *settings,
                             wm_error *err)
{
    gaussian_job jobs[MAX_JOBS] = {0};
    gaussian_outcome outcomes[MAX_JOBS] = {0};
    const preset *chosen = reproduce_preset_of(presets, sizeof *presets, settings, err);
    int n;
    wm_status st;

    if (!chosen)
        return WM_EINVAL;
    if ((st = list_jobs(chosen, settings->only, jobs, &n, err)))
        return st;
    for (int i = 0; i < n; i++) {
        char name[64];

        job_name(&jobs[i], name);
        reproduce_announce(settings->control.sink, i, n, name);
        if ((st = gaussian_run(&outcomes[i], &jobs[i], name, settings, err)))
            return st;
        add_row(out->summary, &jobs[i], &outcomes[i]);
    }
    wm_summary_real(out->summary, "truth", jobs[n - 1].mi);
    add_checks(out, jobs, outcomes, n);
    out->table = make_table(jobs, outcomes, n);
    draw(out, jobs, outcomes, n);
    return WM_OK;
}
