/* omniglot_run.c - SpatialMultiOmniglot (paper, section 4.2 and figure 4): mutual information of
 * grids of 1, 4 and 9 characters by the telescope, by one ratio and by InfoNCE, and how well a
 * linear probe reads the characters off the representation, beside the accuracies that the paper
 * cites. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "omniglot.h"

enum { MAX_JOBS = OMNIGLOT_SIDES * OMNIGLOT_METHODS };

/* Of each cell; what was tried is in docs/omniglot.md. */
#define LAPTOP_CELL "stem 5/3 16, 16 down, 32 down, 64, max, dense 32"

static const int64_t small_alphabets[OMNIGLOT_MAX_CELLS] = {3, 3, 2, 2, 2, 2, 2, 2, 2};

static const omniglot_preset presets[REPRODUCE_PRESETS] = {
    [REPRODUCE_SMOKE] =
        REPRODUCE_PRESET(.sides = 2,
                         .network = {"stem 5/3 8, 8 down, dense 16",
                                     "stem 5/3 8, 8 down, dense 16, cells 2x2, join 16"},
                         .pairs = 32, .infonce_pairs = 32, .iterations = {40, 40},
                         .baseline_iterations = {40, 40}, .lr = 3e-3, .warmup = 0.05,
                         .average = 0.9, .valid = 64, .calibration = 100, .passes = 8, .test = 200,
                         .probe_train = 300, .probe_passes = 50, .drawings = 4, .held_out = 1,
                         .sizes = small_alphabets, .mi_limit = {2, 2, 2}, .probe_limit = 1),
    [REPRODUCE_LAPTOP] =
        REPRODUCE_PRESET(.sides = 3,
                         .network = {LAPTOP_CELL ", cells 1x1", LAPTOP_CELL ", cells 2x2",
                                     LAPTOP_CELL ", cells 3x3"},
                         .pairs = 32, .infonce_pairs = 64, .iterations = {30000, 30000, 30000},
                         .baseline_iterations = {30000, 30000, 30000}, .lr = 2e-3, .warmup = 0.1,
                         .clip = 0.1, .average = 0.999, .valid = 1000, .calibration = 2000,
                         .passes = 54, .test = 5000, .probe_train = 10000, .probe_passes = 300,
                         .distort = 0.7, .held_out = 4, .mi_limit = {0.03, 0.05, 0.10},
                         .probe_limit = 0.03),
    [REPRODUCE_PAPER] = REPRODUCE_PRESET(
            .sides = 3,
            .network = {"stem 5/3 32, 32 down, 32, 64 down, 64, 64 down, 64, max, dense 300",
                        "stem 5/3 64, 64 down, 64, 128 down, 128, 128 down, 128, max, dense 600",
                        "stem 5/3 96, 96 down, 96, 192 down, 192, 192 down, 192, max, dense 900"},
            .batch = 512, .iterations = {200000, 200000, 200000},
            .baseline_iterations = {200000, 200000, 200000}, .lr = 1e-4, .valid = 10000,
            .calibration = 5000, .passes = 144, .test = 10000, .probe_train = 50000,
            .probe_passes = 10000, .mi_limit = {0.03, 0.05, 0.10}, .probe_limit = 0.03),
};

/* ---- the rows ---- */

static omniglot_job job_of(const omniglot_preset *p, omniglot_method method, int64_t side)
{
    const int64_t waymarks = method == OMNIGLOT_TRE ? side * side + 1 : 2;
    const int64_t pairs = method == OMNIGLOT_INFONCE ? p->infonce_pairs : p->pairs;
    const int64_t iterations =
        method == OMNIGLOT_TRE ? p->iterations[side - 1] : p->baseline_iterations[side - 1];
    omniglot_job j = {
        .size = p,
        .method = method,
        .side = side,
        .adam = WM_ADAM(iterations, p->batch ? p->batch : pairs * waymarks, p->lr, p->average),
        .partners = p->passes / (waymarks - 1)};

    j.adam.warmup = (int64_t)(p->warmup * (double)iterations);
    j.adam.clip = p->clip;
    return j;
}

static void job_name(const omniglot_job *j, char *name, size_t size)
{
    snprintf(name, size, "%s-%" PRId64, omniglot_method_names[j->method], j->side * j->side);
}

/* All rows, or those that --only names: "tre", "9" or "tre-9". */
static wm_status list_jobs(const omniglot_preset *p, const char *only, omniglot_job *jobs, int *n,
                           wm_error *err)
{
    omniglot_job all[MAX_JOBS];
    reproduce_names names[MAX_JOBS] = {0};
    bool wanted[MAX_JOBS];
    char known[128];
    int n_all = 0;
    wm_status st;

    for (int side = 1; side <= p->sides; side++)
        for (int m = 0; m < OMNIGLOT_METHODS; m++, n_all++) {
            all[n_all] = job_of(p, (omniglot_method)m, side);
            job_name(&all[n_all], names[n_all].row, sizeof names[n_all].row);
            snprintf(names[n_all].first, 32, "%s", omniglot_method_names[m]);
            snprintf(names[n_all].second, 32, "%d", side * side);
        }
    snprintf(known, sizeof known,
             "tre, single and infonce are known, 1 to %d characters that are a square, and both as "
             "in tre-4",
             p->sides * p->sides);
    if ((st = reproduce_choose(wanted, names, n_all, only, known, err)))
        return st;
    *n = 0;
    for (int i = 0; i < n_all; i++)
        if (wanted[i])
            jobs[(*n)++] = all[i];
    return WM_OK;
}

static wm_status open_alphabets(wm_alphabets **out, const omniglot_preset *p,
                                const reproduce_settings *s, wm_error *err)
{
    if (s->data)
        return wm_alphabets_open(out, s->data, "background", err);
    return wm_alphabets_open_glyphs(out, p->sizes, OMNIGLOT_MAX_CELLS, p->drawings, s->control.seed,
                                    err);
}

/* ---- results ---- */

static double unseen_of(const omniglot_outcome *o)
{
    return o->probe_unseen.n ? o->probe_unseen.value : NAN;
}

static void add_row(wm_summary *s, const omniglot_job *j, const omniglot_outcome *o)
{
    wm_summary *row = wm_summary_row(s, "rows");

    WM_PUT(row, WM_TEXT("method", omniglot_method_names[j->method]),
           WM_INTEGER("dim", j->side * j->side), WM_REAL("mi", o->mi.value),
           WM_REAL("mi_se", o->mi.se), WM_REAL("mi_scores", o->mi_scores.value),
           WM_REAL("mi_scores_se", o->mi_scores.se), WM_REAL("mi_own_waymarks", o->mi_own),
           WM_REAL("truth", o->truth), WM_REAL("probe_accuracy", o->probe.value));
    wm_summary_reals(row, "probe_accuracy_ci95", (const double[]){o->probe.lo, o->probe.hi}, 2);
    WM_PUT(row, WM_REAL("probe_accuracy_worst_cell", o->worst_cell),
           WM_REAL("probe_accuracy_unseen", unseen_of(o)),
           WM_REAL("most", j->method == OMNIGLOT_INFONCE ? log((double)o->info.batch_pairs) : NAN),
           WM_INTEGER("bridges", o->info.bridges), WM_INTEGER("parameters", o->info.parameters),
           WM_INTEGER("batch", j->adam.batch), WM_INTEGER("steps", o->info.steps),
           WM_INTEGER("best_step", o->info.best_step),
           WM_TEXT("network", j->size->network[j->side - 1]), WM_REAL("seconds", o->seconds),
           WM_REAL("seconds_judging", o->seconds_judging), WM_BOOL("finished", o->info.finished));
}

/* note: what is said of the accuracies of others. */
static wm_text_table *make_table(const omniglot_job *jobs, const omniglot_outcome *o, int n,
                                 const char *note)
{
    wm_text_table *t =
        wm_text_table_new("Pairs of grids of d characters",
                          "d|<method|MI (nats)|truth|% of it|by scores|probe %|unseen %|seconds");

    for (int i = 0; i < n; i++) {
        const int64_t d = jobs[i].side * jobs[i].side;

        if (i && jobs[i].side != jobs[i - 1].side)
            wm_text_table_rule(t);
        WM_ROW(t, WM_CELL_INTEGER(d), WM_CELL_TEXT(omniglot_method_names[jobs[i].method]),
               WM_CELL_SE(o[i].mi.value, o[i].mi.se, 2), WM_CELL_REAL(o[i].truth, 2),
               WM_CELL_KNOWN(100 * (o[i].mi.value / o[i].truth), 1),
               WM_CELL_REAL(o[i].mi_scores.value, 2), WM_CELL_KNOWN(100 * o[i].probe.value, 1),
               WM_CELL_KNOWN(100 * unseen_of(&o[i]), 1), WM_CELL_KNOWN(o[i].seconds, 0));
        if (i + 1 < n && jobs[i + 1].side == jobs[i].side)
            continue;
        for (int c = 0; c < OMNIGLOT_CITED; c++) { /* after the last row of a d: what others had */
            const wm_cell none = WM_CELL_TEXT("");
            char name[48];

            snprintf(name, sizeof name, "%s (%s)", omniglot_cited[c].name, note);
            WM_ROW(t, WM_CELL_INTEGER(d), WM_CELL_TEXT(name), none, none, none, none,
                   WM_CELL_KNOWN(100 * omniglot_cited[c].accuracy[jobs[i].side - 1], 1), none,
                   none);
        }
    }
    return t;
}

/* The telescope must find the information, and its representation must hold the characters. */
static void add_checks(reproduce_result *out, const omniglot_preset *p, const omniglot_job *jobs,
                       const omniglot_outcome *o, int n)
{
    for (int i = 0; i < n; i++) {
        char name[48];

        if (jobs[i].method != OMNIGLOT_TRE)
            continue;
        snprintf(name, sizeof name, "mi_%" PRId64, jobs[i].side * jobs[i].side);
        reproduce_check(out, name, fabs(o[i].mi.value / o[i].truth - 1),
                        p->mi_limit[jobs[i].side - 1],
                        "the telescope's mutual information, its relative error");
        snprintf(name, sizeof name, "probe_%" PRId64, jobs[i].side * jobs[i].side);
        reproduce_check(out, name, 1 - o[i].probe.value, p->probe_limit,
                        "characters that a linear probe reads wrongly off g(u)");
    }
    reproduce_verdict(out);
}

wm_status reproduce_omniglot(reproduce_result *out, const reproduce_settings *settings,
                             wm_error *err)
{
    /* Our own glyphs are another problem than the one of which the paper cites numbers. */
    const char *note = settings->data ? "cited" : "cited, Omniglot";
    omniglot_job jobs[MAX_JOBS];
    omniglot_outcome outcomes[MAX_JOBS];
    wm_alphabets *alphabets = NULL;
    const omniglot_preset *p = reproduce_preset_of(presets, sizeof *presets, settings, err);
    int n;
    wm_status st;

    if (!p)
        return WM_EINVAL;
    if ((st = list_jobs(p, settings->only, jobs, &n, err)) ||
        (st = open_alphabets(&alphabets, p, settings, err)))
        return st;
    for (int i = 0; i < n; i++) {
        char name[32];

        job_name(&jobs[i], name, sizeof name);
        reproduce_announce(settings->control.sink, i, n, name);
        if (i && jobs[i].side == 1 && jobs[i].method == OMNIGLOT_SINGLE &&
            jobs[i - 1].method == OMNIGLOT_TRE) /* one cell, one bridge: the same fit */
            outcomes[i] = outcomes[i - 1];
        else if ((st = omniglot_run(&outcomes[i], &jobs[i], alphabets, name, settings, err)))
            goto done;
    }
    wm_summary_text(out->summary, "data", settings->data ? settings->data : "glyphs");
    wm_summary_text(out->summary, "units", "nats");
    for (int i = 0; i < n; i++)
        add_row(out->summary, &jobs[i], &outcomes[i]);
    add_checks(out, p, jobs, outcomes, n);
    out->table = make_table(jobs, outcomes, n, note);
    omniglot_figure(out, jobs, outcomes, n, note);
done:
    wm_alphabets_free(alphabets);
    return st;
}
