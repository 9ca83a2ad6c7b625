/* cmd_ebm.c - `waymark ebm DATA`: a density of the data, as noise times a telescope of ratios. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "ebm_result.h"
#include "ebm_run.h"
#include "estimate.h"
#include "fitting.h"

typedef struct ebm_opts {
    const char *valid, *image, *model, *network, *spacing, *noise_from;
    int noise, objective, standardize; /* choices */
    double levels, logit, held_out, warmup, weight_decay;
    bool x_space;
    int filters, spread; /* choices */
    int64_t bridges, bases, width, blocks;
    int64_t noise_bins, noise_hidden, noise_levels, noise_steps;
    struct {
        int64_t iterations, batch;
        double lr, average;
    } stage[WM_EBM_STAGES];
    int64_t check_steps, check_chains;
    double checkpoint;
    read_flags read;
} ebm_opts;

static const char *const when_names[] = {"auto", "yes", "no", NULL};

#define AT(field) .at = offsetof(ebm_opts, field)
#define STAGE(n, PREFIX, WHAT)                                                                     \
    {.kind = OPT_INTEGER,                                                                          \
     .name = PREFIX "iterations",                                                                  \
     AT(stage[n].iterations),                                                                      \
     .arg = "N",                                                                                   \
     .help = "steps of Adam on " WHAT,                                                             \
     .lo = -1,                                                                                     \
     .hi = 1e9,                                                                                    \
     .unset = "by the kind of data"},                                                              \
        {.kind = OPT_INTEGER,                                                                      \
         .name = PREFIX "batch",                                                                   \
         AT(stage[n].batch),                                                                       \
         .arg = "N",                                                                               \
         .help = n == 0 ? "rows of a step" : "waymark samples of a step",                          \
         .lo = 1,                                                                                  \
         .hi = 1e9,                                                                                \
         .unset = "by the kind of data"},                                                          \
        {.kind = OPT_REAL,                                                                         \
         .name = PREFIX "lr",                                                                      \
         AT(stage[n].lr),                                                                          \
         .arg = "RATE",                                                                            \
         .help = "learning rate, which falls to 0 by a cosine",                                    \
         .lo = 0,                                                                                  \
         .hi = 10,                                                                                 \
         .above = true,                                                                            \
         .unset = "by the kind of data"},                                                          \
    {                                                                                              \
        .kind = OPT_REAL, .name = PREFIX "average", AT(stage[n].average), .arg = "DECAY",          \
        .help = "of the average of the weights", .above = true, .hi = 0.999999,                    \
        .unset = "by the kind of data"                                                             \
    }

static const opt_row rows[] = {
    {.kind = OPT_HEADING, .help = "Data"},
    {.kind = OPT_TEXT,
     .name = "valid",
     AT(valid),
     .arg = "FILE",
     .help = "rows by which the best step is chosen",
     .unset = "a share of DATA"},
    {.kind = OPT_REAL,
     .name = "held-out",
     AT(held_out),
     .arg = "SHARE",
     .help = "that share",
     .lo = 0,
     .hi = 0.9,
     .above = true},
    {.kind = OPT_TEXT,
     .name = "image",
     AT(image),
     .arg = "HxW[xC]",
     .help = "rows are images: 28x28, 32x32x3; or no",
     .unset = "by the axes of DATA, where other options are for images"},
    {.kind = OPT_REAL,
     .name = "dequantize",
     AT(levels),
     .arg = "LEVELS",
     .help =
         "values are whole numbers below it: 256 for bytes; uniform noise makes them continuous",
     .lo = 2,
     .hi = 1e9,
     .unset = "no"},
    {.kind = OPT_REAL,
     .name = "logit",
     AT(logit),
     .arg = "L",
     .help = "logit of L + (1 - 2 L) x, x in [0, 1]: 1e-6 in the paper",
     .lo = 0,
     .hi = 0.49,
     .above = true,
     .unset = "no"},
    {.kind = OPT_CHOICE,
     .name = "standardize",
     AT(standardize),
     .arg = "WHEN",
     .help = "columns to standard deviation 1: auto is not under a resnet, which reads images that "
             "are only centred",
     .choices = when_names},
    {.kind = OPT_HEADING, .help = "Noise"},
    {.kind = OPT_CHOICE,
     .name = "noise",
     AT(noise),
     .arg = "NAME",
     .help = "density that is fitted first",
     .choices = ebm_noise_names},
    {.kind = OPT_TEXT,
     .name = "noise-from",
     AT(noise_from),
     .arg = "RUN",
     .help = "take transforms and noise from an earlier run on the same data; with its --noise",
     .unset = "fit"},
    {.kind = OPT_INTEGER,
     .name = "noise-bins",
     AT(noise_bins),
     .arg = "N",
     .help = "of its splines",
     .lo = 2,
     .hi = 10000,
     .unset = "128 in a copula, 8 in a flow"},
    {.kind = OPT_INTEGER,
     .name = "noise-hidden",
     AT(noise_hidden),
     .arg = "N",
     .help = "width of a flow's networks",
     .lo = 1,
     .hi = 100000,
     .unset = "64"},
    {.kind = OPT_INTEGER,
     .name = "noise-levels",
     AT(noise_levels),
     .arg = "N",
     .help = "resolutions of a flow",
     .lo = 1,
     .hi = 10,
     .unset = "2 for images"},
    {.kind = OPT_INTEGER,
     .name = "noise-steps",
     AT(noise_steps),
     .arg = "N",
     .help = "couplings of each level",
     .lo = 1,
     .hi = 100,
     .unset = "8"},
    STAGE(0, "noise-", "the noise"),
    {.kind = OPT_HEADING, .help = "Bridges"},
    {.kind = OPT_INTEGER,
     .name = "bridges",
     AT(bridges),
     .arg = "N",
     .help = "from data to noise; 1 is noise-contrastive estimation",
     .lo = 1,
     .hi = 1024,
     .unset = "10, or as many as a list makes"},
    {.kind = OPT_TEXT,
     .name = "spacing",
     AT(spacing),
     .arg = "HOW",
     .help = "power:P, symmetric:P or list:A,B,...; images leave out the bridge below 0.01"},
    {.kind = OPT_FLAG,
     .name = "x-space",
     AT(x_space),
     .help = "waymarks between data and noise, not between what the noise maps to them"},
    {.kind = OPT_TEXT,
     .name = "model",
     AT(model),
     .arg = "TERMS",
     .help = "quadratic, additive, mlp, resnet, joined by +",
     .unset = "additive+mlp for images, additive+resnet where --network is given, else "
              "quadratic+additive+mlp"},
    {.kind = OPT_TEXT,
     .name = "network",
     AT(network),
     .arg = "LAYERS",
     .help = "of the resnet: laptop, paper, or as in 'stem 5/2 32, 32 down, 64, dense 128'",
     .unset = "laptop"},
    {.kind = OPT_INTEGER,
     .name = "width",
     AT(width),
     .arg = "N",
     .help = "of the mlp",
     .lo = 1,
     .hi = 100000,
     .unset = "512 for images, else 128"},
    {.kind = OPT_INTEGER,
     .name = "blocks",
     AT(blocks),
     .arg = "N",
     .help = "of the mlp",
     .lo = 1,
     .hi = 100,
     .unset = "1 for images, else 2"},
    {.kind = OPT_INTEGER,
     .name = "bases",
     AT(bases),
     .arg = "N",
     .help = "splines for each column of the additive term",
     .lo = 4,
     .hi = 1000,
     .unset = "16"},
    {.kind = OPT_CHOICE,
     .name = "filters",
     AT(filters),
     .arg = "WHEN",
     .help = "the additive term reads principal components and whitened columns too: auto is for "
             "images",
     .choices = when_names},
    {.kind = OPT_CHOICE,
     .name = "objective",
     AT(objective),
     .arg = "NAME",
     .help = "loss of the bridges",
     .choices = study_objective_names},
    {.kind = OPT_CHOICE,
     .name = "spread",
     AT(spread),
     .arg = "WHEN",
     .help = "every bridge has trajectories of its own, instead of all the same: auto is for "
             "images over Gaussian noise",
     .choices = when_names},
    {.kind = OPT_REAL,
     .name = "warmup",
     AT(warmup),
     .arg = "SHARE",
     .help = "of the steps on the bridges over which the learning rate rises to its value",
     .lo = 0,
     .hi = 1},
    {.kind = OPT_REAL,
     .name = "weight-decay",
     AT(weight_decay),
     .arg = "W",
     .help = "of the bridges' parameters",
     .lo = 0,
     .hi = 10},
    STAGE(1, "heads-", "quadratic and additive terms before the network; -1: none"),
    STAGE(2, "", "all terms"),
    {.kind = OPT_HEADING, .help = "Check"},
    {.kind = OPT_INTEGER,
     .name = "check-steps",
     AT(check_steps),
     .arg = "N",
     .help = "of a short AIS run that tells whether phi is normalised; -1: none",
     .lo = -1,
     .hi = 1e7,
     .unset = "300 for tables, none for images"},
    {.kind = OPT_INTEGER,
     .name = "check-chains",
     AT(check_chains),
     .arg = "N",
     .help = "of it",
     .lo = 2,
     .hi = 1e6},
    FILE_ROWS(ebm_opts, read),
    {.kind = OPT_HEADING, .help = "Going on"},
    CHECKPOINT_ROW(ebm_opts, checkpoint),
    {0},
};

static void defaults(void *opts)
{
    wm_ebm_opts o;

    wm_ebm_opts_init(&o);
    *(ebm_opts *)opts = (ebm_opts){.held_out = o.held_out,
                                   .warmup = o.warmup,
                                   .spacing = "power:1",
                                   .check_chains = 64,
                                   .checkpoint = o.checkpoint_seconds};
}

/* ---- options ---- */

static void set_image(wm_ebm_opts *o, const int64_t shape[3])
{
    o->height = shape[0];
    o->width = shape[1];
    o->channels = shape[2];
}

static wm_status take_image(wm_ebm_opts *o, const char *text, cli_call *call, wm_error *err)
{
    int64_t shape[3];

    if (!image_parse(shape, text))
        return cli_usage(call, err, "--image '%.40s': height x width is wanted, such as 28x28",
                         text);
    set_image(o, shape);
    return WM_OK;
}

/* Without --image: the axes of the array say what its images are, if there is any sign that they
 * are some. */
static wm_status find_image(wm_ebm_opts *o, cli_call *call, wm_error *err)
{
    const ebm_opts *f = call->opts;
    int64_t shape[3];
    char line[120];
    bool found;
    wm_status st;

    if (f->image)
        return strcmp(f->image, "no") == 0 ? WM_OK : take_image(o, f->image, call, err);
    if (f->levels == 0 && f->logit == 0 && !(o->model & WM_EBM_RESNET))
        return WM_OK;
    if ((st = image_find(&found, shape, call->args[0], err)) || !found)
        return st;
    set_image(o, shape);
    snprintf(line, sizeof line, "images of %" PRId64 " x %" PRId64, shape[0], shape[1]);
    if (shape[2] > 1)
        snprintf(line + strlen(line), 24, " x %" PRId64, shape[2]);
    snprintf(line + strlen(line), 48, ", from the shape of the array");
    call->sink->log(call->sink->ctx, WM_LOG_INFO, line);
    return WM_OK;
}

/* auto, yes, no as the library has them. */
static int three_way(int choice)
{
    return choice == 0 ? 0 : choice == 1 ? 1 : -1;
}

static wm_status make_opts(wm_ebm_opts *o, cli_call *call, wm_error *err)
{
    const ebm_opts *f = call->opts;
    int64_t bridges = f->bridges; /* 0: not said */
    bool has_resnet;
    wm_error why = {0};
    wm_status st;

    wm_ebm_opts_init(o);
    if (f->model && strcmp(f->model, "auto") != 0 && wm_ebm_model_parse(&o->model, f->model, &why))
        return cli_usage(call, err, "--model: %s", why.text);
    if ((st = take_spacing(&o->spacing, &bridges, f->spacing, call, err)) ||
        (st = find_image(o, call, err)))
        return st;
    if (bridges > 0)
        o->bridges = bridges;
    has_resnet = o->model ? o->model & WM_EBM_RESNET : o->height > 0 && f->network;
    if (f->network && !has_resnet)
        return cli_usage(call, err, "--network is for a resnet, which is not among the terms");
    o->noise = (wm_ebm_noise)f->noise;
    o->objective = (wm_ratio_objective)f->objective;
    o->levels = f->levels;
    o->logit = f->logit;
    o->standardize = f->standardize == 1 || (f->standardize == 0 && !has_resnet);
    o->held_out = f->held_out;
    o->warmup = f->warmup;
    o->weight_decay = f->weight_decay;
    o->x_space = f->x_space;
    o->spread = three_way(f->spread);
    o->network = f->network;
    o->bases = f->bases;
    o->filters = three_way(f->filters);
    o->mlp_width = f->width;
    o->mlp_blocks = f->blocks;
    o->noise_bins = f->noise_bins;
    o->noise_hidden = f->noise_hidden;
    o->noise_levels = f->noise_levels;
    o->noise_steps = f->noise_steps;
    for (int s = 0; s < WM_EBM_STAGES; s++)
        o->train[s] = (wm_ebm_training){.batch = f->stage[s].batch,
                                        .iterations = f->stage[s].iterations,
                                        .lr = f->stage[s].lr,
                                        .average = f->stage[s].average};
    o->seed = (uint64_t)call->common->seed;
    o->time_limit = call->common->time_limit;
    o->resume = call->common->resume;
    o->checkpoint_seconds = f->checkpoint;
    o->sink = call->sink;
    o->stop = call->stop;
    return wm_run_folder_path(&o->checkpoint, call->run, "state.safetensors", err);
}

/* ---- what happens on the way ---- */

static void on_eval(void *ctx, const wm_ebm_progress *p)
{
    const bool noise = p->stage == WM_EBM_STAGE_NOISE;
    metrics *m = ctx;
    wm_summary *line = metrics_line(m, ebm_stage_names[p->stage], p->step);

    if (!line)
        return;
    wm_summary_real(line, noise ? "train_loglik" : "train_loss", p->train_loss);
    wm_summary_real(line, noise ? "valid_loglik" : "valid_loss", p->valid_loss);
    if (!noise)
        wm_summary_real(line, "direct", p->direct);
    wm_summary_real(line, "seconds", p->seconds);
    for (int64_t k = 0; k < p->n_bridges; k++)
        metrics_bridge(line, k, p->bridges[k].loss, p->bridges[k].accuracy,
                       p->bridges[k].mean_log_ratio);
    metrics_write(m, line);
}

/* Fits and, with a run folder, saves. */
static wm_status fit(wm_ebm **out, const wm_data *data, const wm_ebm_opts *opts, cli_call *call,
                     wm_error *err)
{
    const ebm_opts *f = call->opts;
    metrics watch = {.call = call};
    wm_ebm_opts o = *opts;
    wm_data *valid = NULL;
    wm_ebm *noise = NULL;
    const char *path;
    wm_ebm_info info;
    wm_status st;

    if ((f->valid && (st = ebm_read(&valid, f->valid, &f->read, call, err))) ||
        (f->noise_from && (st = ebm_open(&noise, f->noise_from, err))))
        goto done;
    o.noise_of = noise;
    o.on_eval = on_eval;
    o.ctx = &watch;
    if ((st = wm_ebm_fit(out, data, valid, &o, err)) || (st = metrics_done(&watch, err)) ||
        (st = wm_run_folder_path(&path, call->run, "model.safetensors", err)) ||
        (path && (st = wm_ebm_save(*out, path, err))))
        goto done;
    wm_ebm_get_info(*out, &info);
    st = fit_interrupted(call, info.finished, path, err);
done:
    wm_ebm_free(noise);
    wm_data_free(valid);
    return st;
}

/* A short run of AIS, where one is wanted. */
static wm_status look_at_normaliser(ebm_result *r, cli_call *call, wm_error *err)
{
    const ebm_opts *f = call->opts;
    wm_ebm_walk walk;

    r->has_ais = f->check_steps > 0 || (f->check_steps == 0 && r->info.height == 0);
    if (!r->has_ais)
        return WM_OK;
    wm_ebm_walk_init(&walk);
    walk.chains = f->check_chains;
    walk.steps = f->check_steps > 0 ? f->check_steps : 300;
    walk.seed = (uint64_t)call->common->seed;
    walk.sink = call->sink;
    walk.stop = call->stop;
    if (walk.steps < r->info.bridges)
        walk.steps = r->info.bridges;
    return wm_ebm_ais(&r->ais, NULL, r->model, &walk, err);
}

static wm_status run(cli_call *call, wm_error *err)
{
    const ebm_opts *f = call->opts;
    wm_data *data = NULL;
    wm_ebm *e = NULL;
    ebm_result r = {0};
    wm_ebm_opts o;
    wm_status st;

    if ((st = make_opts(&o, call, err)) ||
        (st = ebm_read(&data, call->args[0], &f->read, call, err)) ||
        (st = fit(&e, data, &o, call, err)))
        goto done;
    r.model = e;
    wm_ebm_get_info(e, &r.info);
    if ((st = look_at_normaliser(&r, call, err)))
        goto done;
    ebm_result_check(&r);
    ebm_result_summary(call, &r);
    if (cli_shows_tables(call) && (st = ebm_result_print(call, &r, err)))
        goto done;
    if (!(st = cli_publish(call, err)))
        st = ebm_draw_plane(call, e, "rows of the data", wm_data_rows(data), wm_data_count(data),
                            err);
done:
    wm_ebm_free(e);
    wm_data_free(data);
    return st;
}

const cli_command cmd_ebm = {
    .name = "ebm",
    .about = "a density of the data: noise that is fitted first, times a telescope of ratios",
    .arguments = "DATA",
    .min_args = 1,
    .max_args = 1,
    .details =
        "DATA is a table of samples (npy, npz, CSV, IDX, ...), or images as rows with --image."
        "\n"
        "phi(x) = q(x) prod_k r_k(x): q is the noise, fitted by maximum likelihood; the "
        "bridges\n"
        "r_k lead from the data to it. With -o the model is kept, for `waymark loglik` and\n"
        "`waymark sample`.",
    .examples =
        "waymark ebm table.csv -o run\n"
        "waymark loglik run test.csv\n"
        "waymark sample run -n 1000 -o draws\n"
        "waymark ebm mnist/train.npy --image 28x28 --dequantize 256 --logit 1e-6 -o mnist-run",
    .common = CLI_ALL,
    .rows = rows,
    .opts_size = sizeof(ebm_opts),
    .defaults = defaults,
    .run = run,
};
