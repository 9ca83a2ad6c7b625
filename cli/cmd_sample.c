/* cmd_sample.c - `waymark sample RUN`: draws of an energy-based model by annealed NUTS. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "ebm_run.h"
#include "waymark/generators.h"

typedef struct sample_opts {
    int64_t n, warmup, thin, draw_depth, scale;
    walk_flags walk;
    bool png, round;
} sample_opts;

#define AT(field) .at = offsetof(sample_opts, field)

static const opt_row rows[] = {
    {.kind = OPT_INTEGER,
     .name = "number",
     .letter = 'n',
     AT(n),
     .arg = "N",
     .help = "draws in all: each chain gives as many as are needed",
     .lo = 1,
     .hi = 1e8},
    {.kind = OPT_FLAG,
     .name = "round",
     AT(round),
     .help = "to whole numbers again, where the data were"},
    {.kind = OPT_FLAG,
     .name = "png",
     AT(png),
     .help = "draws.png: a grid of the images, from the lowest to the highest log-density, also on "
             "the page; draws.csv: the log-densities"},
    {.kind = OPT_INTEGER,
     .name = "scale",
     AT(scale),
     .arg = "N",
     .help = "pixels of the picture for one of an image",
     .lo = 1,
     .hi = 64},
    WALK_ROWS(sample_opts, walk),
    {.kind = OPT_INTEGER,
     .name = "warmup",
     AT(warmup),
     .arg = "N",
     .help = "transitions after annealing, before the first of several draws of a chain",
     .lo = 0,
     .hi = 1e8},
    {.kind = OPT_INTEGER,
     .name = "thin",
     AT(thin),
     .arg = "N",
     .help = "transitions for each draw",
     .lo = 1,
     .hi = 1e6},
    {.kind = OPT_INTEGER,
     .name = "draw-depth",
     AT(draw_depth),
     .arg = "N",
     .help = "of nuts' trees after annealing",
     .lo = 1,
     .hi = 20},
    {0},
};

static void defaults(void *opts)
{
    sample_opts *o = opts;
    wm_ebm_walk w;

    wm_ebm_walk_init(&w);
    *o = (sample_opts){
        .n = 100, .warmup = w.warmup, .thin = w.thin, .draw_depth = w.draw_depth, .scale = 2};
    walk_flags_init(&o->walk);
}

/* ---- files ---- */

static wm_status write_array(cli_call *call, const char *name, const double *x, int rank,
                             const int64_t *dim, wm_error *err)
{
    const char *path;
    wm_status st = wm_run_folder_path(&path, call->run, name, err);

    return st || !path ? st : wm_npy_write(path, x, rank, dim, err);
}

/* Whole numbers as doubles: NumPy and ArviZ take both. */
static wm_status write_counts(cli_call *call, const char *name, const int64_t *x,
                              const int64_t *dim, wm_error *err)
{
    const int64_t n = dim[0] * dim[1];
    double *y = malloc(sizeof *y * (size_t)n);
    wm_status st;

    if (!y)
        return WM_ENOMEM;
    for (int64_t i = 0; i < n; i++)
        y[i] = (double)x[i];
    st = write_array(call, name, y, 2, dim, err);
    free(y);
    return st;
}

static wm_status write_draws(cli_call *call, const wm_draws *d, wm_error *err)
{
    const int64_t dim[] = {d->chains, d->draws, d->dim}, n = d->chains * d->draws;
    int64_t *divergent = malloc(sizeof *divergent * (size_t)n);
    wm_status st;

    if (!divergent)
        return WM_ENOMEM;
    for (int64_t i = 0; i < n; i++)
        divergent[i] = d->divergent[i];
    if (!(st = write_array(call, "draws.npy", d->x, 3, dim, err)) &&
        !(st = write_array(call, "lp.npy", d->lp, 2, dim, err)) &&
        !(st = write_array(call, "acceptance_rate.npy", d->accept, 2, dim, err)) &&
        !(st = write_array(call, "step_size.npy", d->step_size, 2, dim, err)) &&
        !(st = write_array(call, "energy.npy", d->energy, 2, dim, err)) &&
        !(st = write_counts(call, "tree_depth.npy", d->depth, dim, err)) &&
        !(st = write_counts(call, "n_steps.npy", d->n_leapfrog, dim, err)))
        st = write_counts(call, "diverging.npy", divergent, dim, err);
    free(divergent);
    return st;
}

/* ---- the picture ---- */

typedef struct ranked {
    double lp;
    int64_t at;
} ranked;

static int by_lp(const void *a, const void *b)
{
    const double x = ((const ranked *)a)->lp, y = ((const ranked *)b)->lp;

    return (x > y) - (x < y);
}

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
    wm_summary_text(row, "file", "draws.png");
    wm_summary_text(row, "title", "Draws of the model");
    wm_summary_text(row, "caption", caption);
}

static wm_status draw_images(cli_call *call, const wm_ebm *e, const wm_ebm_info *info,
                             const wm_draws *d, double top, wm_error *err)
{
    static const char *const names[] = {"chain", "draw", "log_density"};
    const sample_opts *o = call->opts;
    const int64_t n = d->chains * d->draws, dim = d->dim;
    double *values = malloc(sizeof *values * 3 * (size_t)n); /* (n, 3), as the names say */
    ranked *order = malloc(sizeof *order * (size_t)n);
    double *log_phi = malloc(sizeof *log_phi * (size_t)n);
    wm_data *x = NULL, *whole = NULL;
    const char *path;
    wm_status st = WM_ENOMEM;

    if (!order || !log_phi || !values || (st = wm_data_new(&x, n, dim, d->x, err)) ||
        (st = wm_data_new(&whole, n, dim, d->x, err)))
        goto done;
    if (top > 1) /* whole numbers: what they were rounded from lies above them */
        for (int64_t i = 0; i < n * dim; i++)
            wm_data_rows_mut(whole)[i] = fmin(fmax(floor(d->x[i]), 0), top);
    if ((st = wm_ebm_log_density(e, whole, (uint64_t)call->common->seed, NULL, log_phi, err)))
        goto done;
    for (int64_t i = 0; i < n; i++)
        order[i] = (ranked){log_phi[i], i};
    qsort(order, (size_t)n, sizeof *order, by_lp);
    for (int64_t i = 0; i < n; i++) {
        memcpy(wm_data_rows_mut(x) + i * dim, d->x + order[i].at * dim,
               (size_t)dim * sizeof(double));
        values[3 * i] = (double)(order[i].at / d->draws);
        values[3 * i + 1] = (double)(order[i].at % d->draws);
        values[3 * i + 2] = order[i].lp;
    }
    if (!(st = wm_run_folder_path(&path, call->run, "draws.png", err)))
        st = wm_image_grid_write(&(wm_image_grid){.n = n,
                                                  .height = info->height,
                                                  .width = info->width,
                                                  .channels = info->channels,
                                                  .x = wm_data_rows(x),
                                                  .lo = 0,
                                                  .hi = top,
                                                  .scale = o->scale,
                                                  .values = values,
                                                  .value_names = names,
                                                  .n_values = 3},
                                 path, err);
    if (!st)
        add_picture(call->summary, d);
done:
    free(values);
    wm_data_free(whole);
    wm_data_free(x);
    free(log_phi);
    free(order);
    return st;
}

/* ---- */

static void add_summary(cli_call *call, const wm_draws *d, const wm_diagnosis *diagnosis)
{
    wm_summary *s = call->summary;
    char text[WM_WARNINGS_MAX][WM_WARNING_BYTES];
    double accept = 0, leapfrogs = 0;
    int64_t divergent = 0, n = d->chains * d->draws;

    for (int64_t i = 0; i < n; i++) {
        accept += d->accept[i] / (double)n;
        leapfrogs += (double)d->n_leapfrog[i] / (double)n;
        divergent += d->divergent[i];
    }
    wm_summary_integer(s, "chains", d->chains);
    wm_summary_integer(s, "draws", d->draws);
    wm_summary_integer(s, "dim", d->dim);
    wm_summary_real(s, "acceptance_rate", accept);
    wm_summary_real(s, "n_steps", leapfrogs);
    wm_summary_integer(s, "diverging", divergent);
    if (diagnosis) {
        const int64_t warnings = wm_diagnose_warnings(diagnosis, text);

        wm_summary_real(s, "worst_rhat", diagnosis->worst_rhat);
        wm_summary_real(s, "least_ess_bulk", diagnosis->least_bulk);
        wm_summary_real(s, "least_ess_tail", diagnosis->least_tail);
        wm_summary_real(s, "least_e_bfmi", diagnosis->least_e_bfmi);
        wm_summary_list(s, "warnings");
        for (int64_t i = 0; i < warnings; i++)
            wm_summary_text(wm_summary_row(s, "warnings"), "text", text[i]);
        wm_summary_text(s, "verdict", warnings ? "doubt" : "trust");
        if (warnings)
            wm_summary_text(s, "reason", text[0]);
        call->doubt = warnings > 0;
    }
    if (!cli_shows_tables(call))
        return;
    printf("%" PRId64 " chains of %" PRId64
           " draw%s, acceptance %.2f, %.1f gradients a draw, %" PRId64 " diverging\n",
           d->chains, d->draws, d->draws == 1 ? "" : "s", accept, leapfrogs, divergent);
    if (diagnosis) {
        const int64_t warnings = wm_diagnose_warnings(diagnosis, text);

        printf("R-hat at most %.3f, effective sample size at least %.0f (bulk), %.0f (tail)\n",
               diagnosis->worst_rhat, diagnosis->least_bulk, diagnosis->least_tail);
        for (int64_t i = 0; i < warnings; i++)
            printf("warning: %s\n", text[i]);
    }
}

static wm_status run(cli_call *call, wm_error *err)
{
    const sample_opts *o = call->opts;
    wm_diagnosis *diagnosis = NULL;
    wm_draws *d = NULL;
    wm_ebm *e = NULL;
    wm_ebm_info info;
    wm_ebm_walk walk;
    double top = 1;
    wm_status st;

    if (!call->run)
        return cli_usage(call, err, "sample needs a folder for the draws: -o DIR");
    if ((st = ebm_open(&e, call->args[0], err)) ||
        (st = walk_opts(&walk, &o->walk, call, "chains.safetensors", err)))
        goto done;
    wm_ebm_get_info(e, &info);
    if (o->png && info.height == 0) {
        st = cli_usage(call, err, "--png: the model is not one of images");
        goto done;
    }
    walk.chains = o->n < walk.chains ? o->n : walk.chains;
    walk.draws = (o->n + walk.chains - 1) / walk.chains;
    walk.warmup = o->warmup;
    walk.thin = o->thin;
    walk.draw_depth = o->draw_depth;
    if (walk.steps < info.bridges)
        walk.steps = info.bridges;
    if ((st = wm_ebm_sample(&d, &diagnosis, e, &walk, err)))
        goto done;
    if (info.levels > 0)
        top = info.levels - 1;
    if (o->png && (st = draw_images(call, e, &info, d, top, err)))
        goto done;
    if (o->round && info.levels > 0)
        for (int64_t i = 0; i < d->chains * d->draws * d->dim; i++)
            d->x[i] = fmin(fmax(floor(d->x[i]), 0), top);
    if ((st = write_draws(call, d, err)))
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
    .min_args = 1,
    .max_args = 1,
    .details =
        "RUN is what `waymark ebm` made. The folder of -o gets draws.npy [chain, draw, dim], "
        "as the\n"
        "data were given, and lp, acceptance_rate, step_size, energy, tree_depth, n_steps, "
        "diverging\n"
        "[chain, draw], by the names that ArviZ gives them in sample_stats.",
    .examples = "waymark sample run -n 1000 -o draws\n"
                "waymark sample mnist-run -n 100 --png -o digits",
    .common = (CLI_ALL & ~(unsigned)(CLI_BITS | CLI_TIME)) | CLI_TIMER,
    .rows = rows,
    .opts_size = sizeof(sample_opts),
    .defaults = defaults,
    .run = run,
};
