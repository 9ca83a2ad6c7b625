/* cmd_ebm.c - `waymark ebm DATA`: a density of the data, as noise times a telescope of ratios. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "commands/ebm_result.h"
#include "commands/ebm_run.h"
#include "commands/estimate.h"
#include "frame/commands.h"
#include "options/fitting.h"
#include "waymark/dist.h"

typedef struct ebm_opts {
    wm_ebm_opts fit;
    wm_ebm_walk check; /* steps WM_AUTO: by the kind of data */
    const char *valid, *image, *model, *spacing, *noise_from;
    double weight_decay; /* of heads and bridges */
    read_flags read;
    wm_schema *schema; /* of the columns, while the command runs */
} ebm_opts;

#define OPTS ebm_opts
#define BY_DATA "auto, by the kind of data"
#define STAGE(N, PREFIX, WHAT, BATCH)                                                              \
    INTEGER(fit.train[N].iterations, PREFIX "iterations", "N", -1, 1e9, "steps of Adam on " WHAT,  \
            .none = true, .unset = BY_DATA),                                                       \
        INTEGER(fit.train[N].batch, PREFIX "batch", "N", 1, 1e9, BATCH " of a step",               \
                .unset = BY_DATA),                                                                 \
        REAL(fit.train[N].lr, PREFIX "lr", "RATE", 0, 10, LR_HELP, .above = true,                  \
             .unset = BY_DATA),                                                                    \
        REAL(fit.train[N].average, PREFIX "average", "DECAY", 0, 0.999999, AVERAGE_HELP,           \
             .unset = BY_DATA)

static const opt_row rows[] = {
    HEADING("Data"),
    TEXT(valid, "valid", "FILE", "rows by which the best step is chosen",
         .unset = "a share of DATA"),
    REAL(fit.held_out, "held-out", "SHARE", 0, 0.9, "that share", .above = true),
    TEXT(image, "image", "HxW[xC]", "rows are images: 28x28, 32x32x3; or no",
         .unset = "by the axes of DATA, where other options are for images"),
    REAL(fit.levels, "dequantize", "LEVELS", 2, 1e9,
         "values are whole numbers below it: 256 for bytes; uniform noise makes them continuous",
         .unset = "no"),
    REAL(fit.logit, "logit", "L", 0, 0.49,
         "logit of L + (1 - 2 L) x, x in [0, 1]: 1e-6 in the paper", .above = true, .unset = "no"),
    CHOICE(fit.standardize, "standardize", "WHEN", choice_names,
           "columns to standard deviation 1: auto is not under a resnet, which reads images that "
           "are only centred"),
    CHOICE(fit.discrete, "discrete", "WHEN", choice_names,
           "categories and numbers of few values have shares, other whole numbers are made "
           "continuous: auto is for tables; no: every column is a number with a density"),
    HEADING("Noise"),
    CHOICE(fit.noise, "noise", "NAME", ebm_noise_names, "density that is fitted first"),
    TEXT(noise_from, "noise-from", "RUN",
         "take transforms and noise from an earlier run on the same data; with its --noise",
         .unset = "fit"),
    INTEGER(fit.noise_bins, "noise-bins", "N", 2, 10000, "of its splines",
            .unset = "auto, 128 in a copula, 8 in a flow"),
    INTEGER(fit.noise_hidden, "noise-hidden", "N", 1, 100000, "width of a flow's networks",
            .unset = "auto, 64"),
    INTEGER(fit.noise_levels, "noise-levels", "N", 1, 10, "resolutions of a flow",
            .unset = "auto, 2 for images"),
    INTEGER(fit.noise_steps, "noise-steps", "N", 1, 100, "couplings of each level",
            .unset = "auto, 8"),
    STAGE(WM_STAGE_NOISE, "noise-", "the noise", "rows"),
    HEADING("Bridges"),
    INTEGER(fit.bridges, "bridges", "N", 1, 1024,
            "from data to noise; 1 is noise-contrastive estimation",
            .unset = "auto, 10, or as many as a list makes"),
    TEXT(spacing, "spacing", "HOW",
         "power:P, symmetric:P or list:A,B,...; images leave out the bridge below 0.01"),
    FLAG(fit.x_space, "x-space",
         "waymarks between data and noise, not between what the noise maps to them"),
    TEXT(model, "model", "TERMS", "quadratic, additive, mlp, resnet, joined by +",
         .unset = "additive+mlp for images, additive+resnet where --network is given, else "
                  "quadratic+additive+mlp"),
    TEXT(fit.network, "network", "LAYERS",
         "of the resnet: laptop, paper, or as in 'stem 5/2 32, 32 down, 64, dense 128'",
         .unset = "laptop"),
    INTEGER(fit.mlp_width, "width", "N", 1, 100000, "of the mlp",
            .unset = "auto, 512 for images, else 128"),
    INTEGER(fit.mlp_blocks, "blocks", "N", 1, 100, "of the mlp",
            .unset = "auto, 1 for images, else 2"),
    INTEGER(fit.bases, "bases", "N", 4, 1000, "splines for each column of the additive term",
            .unset = "auto, 16"),
    CHOICE(fit.filters, "filters", "WHEN", choice_names,
           "the additive term reads principal components and whitened columns too: auto is for "
           "images"),
    CHOICE(fit.objective, "objective", "NAME", objective_names, "loss of the bridges"),
    CHOICE(fit.spread, "spread", "WHEN", choice_names,
           "every bridge has trajectories of its own, instead of all the same: auto is for "
           "images over Gaussian noise"),
    REAL(fit.warmup, "warmup", "SHARE", 0, 1,
         "of the steps on the bridges over which the learning rate rises to its value"),
    REAL(weight_decay, "weight-decay", "W", 0, 10, "of the bridges' parameters"),
    STAGE(WM_STAGE_HEADS, "heads-", "quadratic and additive terms before the network; -1: none",
          "waymark samples"),
    STAGE(WM_STAGE_BRIDGES, "", "all terms", "waymark samples"),
    HEADING("Check"),
    INTEGER(check.steps, "check-steps", "N", -1, 1e7,
            "of a short AIS run that tells whether phi is normalised; -1: none", .none = true,
            .unset = "auto, 300 for tables, none for images"),
    INTEGER(check.chains, "check-chains", "N", 2, 1e6, "of it"),
    ROWS(read, read_table_options),
    HEADING("Going on"),
    CHECKPOINT_ROW(fit.control.checkpoint_seconds),
    {0},
};

static void defaults(void *opts)
{
    ebm_opts *o = opts;

    o->spacing = "power:1";
    wm_ebm_opts_init(&o->fit);
    o->fit.bridges = WM_AUTO;
    wm_ebm_walk_init(&o->check);
    o->check.chains = 64;
    o->check.steps = WM_AUTO;
}

/* ---- options ---- */

/* Without --image: the size of the images from the axes of the array, where some option shows that
 * the rows are images. */
static wm_status find_image(ebm_opts *f, cli_call *call, wm_error *err)
{
    wm_ebm_opts *o = &f->fit;
    int64_t shape[3];
    bool found = true;
    wm_status st;

    if (f->image && strcmp(f->image, "no") == 0)
        return WM_OK;
    if (f->image && !image_parse(shape, f->image))
        return cli_usage(call, err, "--image '%.40s': height x width is wanted, such as 28x28",
                         f->image);
    if (!f->image && o->levels == 0 && o->logit == 0 && !(o->model & WM_EBM_RESNET))
        return WM_OK;
    if (!f->image && ((st = image_find(&found, shape, call->args[0], call->sink, err)) || !found))
        return st;
    o->height = shape[0];
    o->width = shape[1];
    o->channels = shape[2];
    return WM_OK;
}

/* What the rows of the table have not set: words that mean more than one number. */
static wm_status complete(ebm_opts *f, cli_call *call, wm_error *err)
{
    wm_ebm_opts *o = &f->fit, plain;
    bool has_resnet;
    wm_error why = {0};
    wm_status st;

    if (f->model && strcmp(f->model, "auto") != 0 && wm_ebm_model_parse(&o->model, f->model, &why))
        return cli_usage(call, err, "--model: %s", why.text);
    if ((st = take_spacing(&o->spacing, &o->bridges, f->spacing, call, err)) ||
        (st = find_image(f, call, err)))
        return st;
    wm_ebm_opts_init(&plain);
    if (o->bridges == WM_AUTO)
        o->bridges = plain.bridges;
    has_resnet = o->model ? o->model & WM_EBM_RESNET : o->height > 0 && o->network;
    if (o->network && !has_resnet)
        return cli_usage(call, err, "--network is for a resnet, which is not among the terms");
    o->train[WM_STAGE_HEADS].weight_decay = f->weight_decay;
    o->train[WM_STAGE_BRIDGES].weight_decay = f->weight_decay;
    return cli_steer(&o->control, call, "state.safetensors", err);
}

/* ---- fitting ---- */

/* Columns are looked at where nothing was said that makes them all alike. */
static bool all_numbers(const wm_ebm_opts *o)
{
    return o->height > 0 || o->levels > 0 || o->logit > 0 || o->discrete == WM_CHOICE_NO;
}

static wm_status read_rows(wm_data **out, const char *path, const ebm_opts *f, cli_call *call,
                           wm_error *err)
{
    return ebm_read(out, f->schema, path, all_numbers(&f->fit), &f->read, call, err);
}

/* Fits and, with a run folder, saves. */
static wm_status fit(wm_ebm **out, const wm_data *data, ebm_opts *f, cli_call *call, wm_error *err)
{
    wm_metrics metrics = {.folder = call->run,
                          .stages = ebm_stage_names,
                          .estimate = "direct",
                          .per_nat = 1,
                          .seconds = true};
    wm_data *valid = NULL;
    wm_ebm *noise = NULL;
    const char *path;
    wm_ebm_info info;
    wm_status st;

    if ((f->valid && (st = read_rows(&valid, f->valid, f, call, err))) ||
        (f->noise_from && (st = ebm_open(&noise, f->noise_from, err))))
        goto done;
    f->fit.noise_of = noise;
    f->fit.schema = all_numbers(&f->fit) ? NULL : f->schema;
    f->fit.control.on_eval = wm_metrics_eval;
    f->fit.control.ctx = &metrics;
    if ((st = wm_ebm_fit(out, data, valid, &f->fit, err)) ||
        (st = wm_metrics_done(&metrics, err)) ||
        (st = wm_run_folder_path(&path, call->run, "model.safetensors", err)) ||
        (path && (st = wm_ebm_save(*out, path, err))))
        goto done;
    wm_ebm_get_info(*out, &info);
    st = wm_comm_agree(call->comm, fit_interrupted(call, info.finished, path, err), err);
done:
    wm_ebm_free(noise);
    wm_data_free(valid);
    return st;
}

/* A short run of AIS, where one is wanted. */
static wm_status look_at_normaliser(ebm_result *r, wm_ebm_walk *walk, cli_call *call, wm_error *err)
{
    if (walk->steps == WM_AUTO)
        walk->steps = r->info.height == 0 ? 300 : 0;
    r->has_ais = walk->steps > 0;
    if (!r->has_ais)
        return WM_OK;
    walk->control = cli_control(call);
    if (walk->steps < r->info.bridges)
        walk->steps = r->info.bridges;
    return wm_ebm_ais(&r->ais, NULL, r->model, walk, err);
}

static wm_status run(cli_call *call, wm_error *err)
{
    ebm_opts *f = call->opts;
    wm_data *data = NULL;
    wm_ebm *e = NULL;
    ebm_result r = {0};
    wm_status st;

    if ((st = complete(f, call, err)) || (st = wm_schema_new(&f->schema, err)) ||
        (st = read_rows(&data, call->args[0], f, call, err)) || (st = fit(&e, data, f, call, err)))
        goto done;
    r.model = e;
    wm_ebm_get_info(e, &r.info);
    if ((st = look_at_normaliser(&r, &f->check, call, err)) || call->helper)
        goto done;
    wm_ebm_check(r.model, r.has_ais ? &r.ais : NULL, &r.checks);
    ebm_result_summary(call, &r);
    if (cli_shows_tables(call) && (st = ebm_result_print(call, &r, err)))
        goto done;
    if (!(st = cli_publish(call, err)))
        st = ebm_draw_plane(call, e, "rows of the data", wm_data_rows(data), wm_data_count(data),
                            err);
done:
    wm_ebm_free(e);
    wm_data_free(data);
    wm_schema_free(f->schema);
    return st;
}

const cli_command cmd_ebm = {
    .name = "ebm",
    .about = "a density of the data: noise that is fitted first, times a telescope of ratios",
    .arguments = "DATA",
    .details = "DATA is a table of samples (npy, npz, CSV, IDX, ...), or images as rows with "
               "--image. Columns may be numbers, whole numbers, categories, yes and no; constant "
               "ones are left out. phi(x) = q(x) prod_k r_k(x): q is the noise, fitted by maximum "
               "likelihood; the bridges r_k lead from the data to it. With -o the model is kept, "
               "for `waymark loglik` and `waymark sample`.",
    .examples =
        "waymark ebm table.csv -o run\n"
        "waymark loglik run test.csv\n"
        "waymark sample run -n 1000 -o draws\n"
        "waymark ebm mnist/train.npy --image 28x28 --dequantize 256 --logit 1e-6 -o mnist-run",
    .common = CLI_ALL | CLI_RANKS,
    CLI_OPTIONS(rows, ebm_opts, defaults),
    .run = run,
};
