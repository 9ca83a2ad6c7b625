/* cmd_sample.c - `waymark sample RUN`: draws of an energy-based model by annealed NUTS. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "commands/ebm_run.h"
#include "commands/show_checks.h"
#include "frame/commands.h"
#include "waymark/generators.h"
#include "waymark/write.h"

typedef struct sample_opts {
    int64_t n, scale;
    wm_ebm_walk walk;
    bool png, round;
} sample_opts;

#define OPTS sample_opts

static const opt_row rows[] = {
    INTEGER(n, "number", "N", 1, 1e8, "draws in all: each chain gives as many as are needed",
            .letter = 'n'),
    FLAG(round, "round", "to whole numbers again, where the data were"),
    FLAG(png, "png",
         "draws.png: a grid of the images, from the lowest to the highest log-density, also on "
         "the page; draws.csv: the log-densities"),
    INTEGER(scale, "scale", "N", 1, 64, "pixels of the picture for one of an image"),
    ROWS(walk, walk_rows),
    INTEGER(walk.warmup, "warmup", "N", 0, 1e8,
            "transitions after annealing, before the first of several draws of a chain"),
    INTEGER(walk.thin, "thin", "N", 1, 1e6, "transitions for each draw"),
    REAL(walk.draw_target, "draw-target", "A", 0.01, 0.99,
         "acceptance that step sizes are adapted to, after annealing"),
    INTEGER(walk.draw_depth, "draw-depth", "N", 1, 20, "of nuts' trees after annealing"),
    {0},
};

static void defaults(void *opts)
{
    sample_opts *o = opts;

    *o = (sample_opts){.n = 100, .scale = 2};
    wm_ebm_walk_init(&o->walk);
    o->walk.chains = WM_AUTO;
}

/* ---- files ---- */

/* Whole numbers as doubles: NumPy and ArviZ take both. */
static wm_status write_counts(cli_call *call, const char *name, const int64_t *x,
                              const int64_t *dim, wm_error *err)
{
    const int64_t n = dim[0] * dim[1];
    double *y = malloc(sizeof *y * (size_t)n);
    const char *path;
    wm_status st;

    if (!y)
        return WM_ENOMEM;
    for (int64_t i = 0; i < n; i++)
        y[i] = (double)x[i];
    if (!(st = wm_run_folder_path(&path, call->run, name, err)))
        st = wm_npy_write(path, y, 2, dim, err);
    free(y);
    return st;
}

static wm_status write_draws(cli_call *call, const wm_draws *d, wm_error *err)
{
    const struct {
        const char *name;
        const double *x;
        int rank;
    } arrays[] = {{"draws.npy", d->x, 3},
                  {"lp.npy", d->lp, 2},
                  {"acceptance_rate.npy", d->accept, 2},
                  {"step_size.npy", d->step_size, 2},
                  {"energy.npy", d->energy, 2}};
    const int64_t dim[] = {d->chains, d->draws, d->dim};
    const char *path;
    wm_status st;

    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        if ((st = wm_run_folder_path(&path, call->run, arrays[i].name, err)) ||
            (st = wm_npy_write(path, arrays[i].x, arrays[i].rank, dim, err)))
            return st;
    if ((st = write_counts(call, "tree_depth.npy", d->depth, dim, err)) ||
        (st = write_counts(call, "n_steps.npy", d->n_leapfrog, dim, err)) ||
        (st = wm_run_folder_path(&path, call->run, "diverging.npy", err)))
        return st;
    return wm_npy_write_flags(path, d->divergent, 2, dim, err);
}

/* The draws as a table like the one that the model was fitted to: chain after chain. */
static wm_status write_table(cli_call *call, const wm_ebm *e, const wm_draws *d, wm_error *err)
{
    wm_schema *schema = NULL;
    wm_data *table = NULL;
    const char *path;
    wm_status st;

    if (!wm_ebm_schema(e))
        return WM_OK;
    if (!(st = ebm_open_schema(&schema, e, err)) &&
        !(st = wm_data_new(&table, d->chains * d->draws, d->dim, d->x, err)) &&
        !(st = wm_run_folder_path(&path, call->run, "draws.csv", err)))
        st = wm_data_write_named(table, schema, path, err);
    wm_data_free(table);
    wm_schema_free(schema);
    return st;
}

/* ---- the picture ---- */

/* What the page says of it. */
static void add_picture(wm_summary *s, const wm_draws *d)
{
    wm_summary *row = wm_summary_row(s, "pictures");
    const int64_t n = d->chains * d->draws;
    char caption[400];

    snprintf(caption, sizeof caption,
             "%" PRId64 " draw%s of %" PRId64 " chain%s, row by row from the lowest log-density at "
             "the top left to the highest. Log-densities are in nats, up to the normaliser; chain "
             "and draw count from 0, as in draws.npy [chain, draw, dim], which has the draws "
             "themselves.",
             n, n == 1 ? "" : "s", d->chains, d->chains == 1 ? "" : "s");
    WM_PUT(row, WM_TEXT("file", "draws.png"), WM_TEXT("title", "Draws of the model"),
           WM_TEXT("caption", caption));
}

static wm_status draw_images(cli_call *call, const wm_ebm *e, const wm_ebm_info *info,
                             const wm_draws *d, double top, wm_error *err)
{
    static const char *const names[] = {"chain", "draw", "log_density"};
    const sample_opts *o = call->opts;
    const int64_t n = d->chains * d->draws, dim = d->dim;
    double *values = malloc(sizeof *values * 3 * (size_t)n); /* (n, 3), as the names say */
    double *log_phi = malloc(sizeof *log_phi * (size_t)n);
    wm_data *whole = NULL;
    const char *path;
    wm_status st = WM_ENOMEM;

    if (!log_phi || !values || (st = wm_data_new(&whole, n, dim, d->x, err)))
        goto done;
    if (top > 1) /* whole numbers: what they were rounded from lies above them */
        for (int64_t i = 0; i < n * dim; i++)
            wm_data_rows_mut(whole)[i] = fmin(fmax(floor(d->x[i]), 0), top);
    if ((st = ebm_blame(wm_ebm_log_density(e, whole, (uint64_t)call->common->seed, NULL, log_phi,
                                           call->stop, err),
                        call->args[0], err)))
        goto done;
    for (int64_t i = 0; i < n; i++) {
        values[3 * i] = (double)(i / d->draws);
        values[3 * i + 1] = (double)(i % d->draws);
        values[3 * i + 2] = log_phi[i];
    }
    if (!(st = wm_run_folder_path(&path, call->run, "draws.png", err)))
        st = wm_image_grid_write(
            WM_WITH(wm_image_grid, .n = n, .height = info->height, .width = info->width,
                    .channels = info->channels, .x = d->x, .lo = 0, .hi = top, .scale = o->scale,
                    .values = values, .value_names = names, .n_values = 3, .sorted = true),
            path, err);
    if (!st)
        add_picture(call->summary, d);
done:
    free(values);
    wm_data_free(whole);
    free(log_phi);
    return st;
}

/* ---- */

static const check_advice advice[] = {
    {"divergences", "See --draw-target.", WM_CHECK_OK},
    {"treedepth", "See --draw-depth and --warmup.", WM_CHECK_OK},
    {"e_bfmi", "See --warmup.", WM_CHECK_OK},
    {"rhat", "See --warmup and --thin; --chains 100 anneals more of them, to all modes.",
     WM_CHECK_OK},
    {"ess_bulk", "See --thin.", WM_CHECK_OK},
    {"ess_tail", "See --thin.", WM_CHECK_OK},
    {0},
};

static void add_summary(cli_call *call, const wm_draws *d, const wm_diagnosis *diagnosis)
{
    wm_summary *s = call->summary;
    wm_checks checks = {0};
    double accept = 0, leapfrogs = 0;
    int64_t divergent = 0, n = d->chains * d->draws;

    for (int64_t i = 0; i < n; i++) {
        accept += d->accept[i] / (double)n;
        leapfrogs += (double)d->n_leapfrog[i] / (double)n;
        divergent += d->divergent[i];
    }
    WM_PUT(s, WM_INTEGER("chains", d->chains), WM_INTEGER("draws", d->draws),
           WM_INTEGER("dim", d->dim), WM_REAL("acceptance_rate", accept),
           WM_REAL("n_steps", leapfrogs), WM_INTEGER("diverging", divergent));
    if (diagnosis) {
        wm_diagnose_checks(diagnosis, &checks);
        WM_PUT(s, WM_REAL("worst_rhat", diagnosis->worst_rhat),
               WM_REAL("least_ess_bulk", diagnosis->least_bulk),
               WM_REAL("least_ess_tail", diagnosis->least_tail),
               WM_REAL("least_e_bfmi", diagnosis->least_e_bfmi));
        wm_summary_list(s, "warnings");
        for (int64_t i = 0; i < checks.n; i++)
            if (checks.check[i].outcome == WM_CHECK_DOUBT || checks.check[i].needed)
                wm_summary_text(wm_summary_row(s, "warnings"), "text", checks.check[i].meaning);
        summary_checks(call, &checks, advice);
    }
    if (!cli_shows_tables(call))
        return;
    printf("%" PRId64 " chains of %" PRId64
           " draw%s, acceptance %.2f, %.1f gradients a draw, %" PRId64 " diverging\n",
           d->chains, d->draws, d->draws == 1 ? "" : "s", accept, leapfrogs, divergent);
    if (diagnosis) {
        printf("R-hat at most %.3f, effective sample size at least %.0f (bulk), %.0f (tail)\n",
               diagnosis->worst_rhat, diagnosis->least_bulk, diagnosis->least_tail);
        print_checks(call, &checks, advice);
    }
}

static wm_status run(cli_call *call, wm_error *err)
{
    sample_opts *o = call->opts;
    wm_ebm_walk *walk = &o->walk;
    wm_diagnosis *diagnosis = NULL;
    wm_draws *d = NULL;
    wm_ebm *e = NULL;
    wm_ebm_info info;
    double top = 1;
    wm_status st;

    if (!call->common->out)
        return cli_usage(call, err, "sample needs a folder for the draws: -o DIR");
    if ((st = ebm_open(&e, call->args[0], err)) ||
        (st = cli_steer(&walk->control, call, "chains.safetensors", err)))
        goto done;
    wm_ebm_get_info(e, &info);
    if (o->png && info.height == 0) {
        st = cli_usage(call, err, "--png: the model is not one of images");
        goto done;
    }
    /* Few long chains can be told whether they agree. Images have too many modes for that: many
     * short ones, whose shares annealing has found. */
    if (walk->chains == WM_AUTO)
        walk->chains = info.height == 0 && o->n >= 16 ? 4 : 100;
    walk->chains = o->n < walk->chains ? o->n : walk->chains;
    walk->draws = (o->n + walk->chains - 1) / walk->chains;
    if (walk->steps < info.bridges)
        walk->steps = info.bridges;
    if ((st = ebm_blame(wm_ebm_sample(&d, &diagnosis, e, walk, err), call->args[0], err)) ||
        call->helper)
        goto done;
    if (info.levels > 0)
        top = info.levels - 1;
    if (o->png && (st = draw_images(call, e, &info, d, top, err)))
        goto done;
    if (o->round && info.levels > 0)
        for (int64_t i = 0; i < d->chains * d->draws * d->dim; i++)
            d->x[i] = fmin(fmax(floor(d->x[i]), 0), top);
    if ((st = write_draws(call, d, err)) || (st = write_table(call, e, d, err)))
        goto done;
    add_summary(call, d, diagnosis);
    if (!(st = cli_publish(call, err)))
        st = ebm_draw_plane(call, e, "draws", d->x, d->chains * d->draws, err);
done:
    wm_diagnosis_free(diagnosis);
    wm_ebm_draws_free(d);
    wm_ebm_free(e);
    return st;
}

const cli_command cmd_sample = {
    .name = "sample",
    .about = "draws of an energy-based model: annealed from the noise, then NUTS",
    .arguments = "RUN",
    .details =
        "RUN is what `waymark ebm` made. The folder of -o gets draws.npy [chain, draw, dim], as "
        "the data were given (a category is the number of its level), for tables draws.csv with "
        "names and levels, and lp, acceptance_rate, step_size, energy, tree_depth, n_steps, "
        "diverging [chain, draw], by the names that ArviZ gives them in sample_stats.",
    .examples = "waymark sample run -n 1000 -o draws\n"
                "waymark sample mnist-run -n 100 --png -o digits",
    .common = (CLI_ALL & ~(unsigned)(CLI_BITS | CLI_TIME)) | CLI_TIMER | CLI_RANKS,
    CLI_OPTIONS(rows, sample_opts, defaults),
    .run = run,
};
