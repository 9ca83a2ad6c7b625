/* cmd_ebm.c - `waymark ebm DATA`: a density of the data, as noise times a telescope of ratios. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "commands/ebm_run.h"
#include "commands/show_checks.h"
#include "frame/commands.h"
#include "waymark/dist.h"

typedef struct ebm_opts {
    wm_ebm_opts fit;
    wm_ebm_walk check; /* steps WM_AUTO: by the kind of data */
    const char *valid, *image, *model, *spacing, *noise_from;
    double weight_decay; /* of heads and bridges */
    read_flags read;
    wm_schema *schema; /* of the columns, while the command runs */
} ebm_opts;

#define NAME(name, text) text,
static const char *const noise_names[] = {WM_EBM_NOISES(NAME) NULL};
#undef NAME
static const char *const stage_names[WM_STAGES] = {"noise", "heads", "bridges"};

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

/* By wm_objective. */
static const char *const objectives[] = {"logistic", "nwj", "lsq", "multinomial", "denoise", NULL};

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
    CHOICE(fit.noise, "noise", "NAME", noise_names, "density that is fitted first"),
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
            .unset = "auto, 10, 22 levels of denoise, or as many as a list makes"),
    TEXT(spacing, "spacing", "HOW",
         "power:P, symmetric:P, snr:P or list:A,B,...; images leave out the bridge below 0.01"),
    FLAG(fit.x_space, "x-space",
         "waymarks between data and noise, not between what the noise maps to them"),
    TEXT(model, "model", "TERMS", "quadratic, additive, mlp, resnet, joined by +",
         .unset = "additive+mlp for images, additive+resnet where --network is given, else "
                  "quadratic+additive+mlp"),
    TEXT(fit.network, "network", "LAYERS",
         "of the resnet: laptop, paper, or as in 'stem 5/2 32, 32 down, 64, dense 128'",
         .unset = "laptop"),
    INTEGER(fit.mlp_width, "width", "N", 1, 100000, "of the mlp",
            .unset = "auto, 512 for images, 768 with denoise, else 128"),
    INTEGER(fit.mlp_blocks, "blocks", "N", 1, 100, "of the mlp",
            .unset = "auto, 1 for images but for denoise, else 2"),
    INTEGER(fit.bases, "bases", "N", 4, 1000, "splines for each column of the additive term",
            .unset = "auto, 16"),
    CHOICE(fit.filters, "filters", "WHEN", choice_names,
           "the additive term reads principal components and whitened columns too: auto is for "
           "images"),
    CHOICE(fit.objective, "objective", "NAME", objectives,
           "loss of the bridges; denoise: their gradients by regression"),
    CHOICE(fit.spread, "spread", "WHEN", choice_names,
           "every bridge has trajectories of its own, instead of all the same: auto is for "
           "images over Gaussian noise"),
    REAL(fit.warmup, "warmup", "SHARE", 0, 1,
         "of the steps on the bridges over which the learning rate rises to its value"),
    REAL(fit.settle, "settle", "SHARE", 0, 1,
         "of denoise's steps, the last, in which chains of the model's own take part, and what it "
         "promises where they go is taken back"),
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
        o->bridges = o->objective == WM_OBJECTIVE_DENOISE ? 22 : plain.bridges;
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

/* Of --time-limit, for the fit: the rest is for AIS and figures. */
static const double FIT_SHARE = 0.8;

/* Fits and, with a run folder, saves. */
static wm_status fit(wm_ebm **out, const wm_data *data, ebm_opts *f, cli_call *call, wm_error *err)
{
    wm_metrics metrics = {.folder = call->run,
                          .stages = stage_names,
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
    f->fit.control.time_limit *= FIT_SHARE;
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

typedef struct ebm_result {
    const wm_ebm *model;
    wm_ebm_info info;
    bool has_ais; /* the normaliser was looked at */
    wm_ais ais;
    wm_checks checks;
} ebm_result;

/* A short run of AIS, where one is wanted and time is left. */
static wm_status look_at_normaliser(ebm_result *r, wm_ebm_walk *walk, cli_call *call, wm_error *err)
{
    wm_status st;

    if (walk->steps == WM_AUTO)
        walk->steps = r->info.height == 0 ? 300 : 0;
    r->has_ais = walk->steps > 0;
    if (!r->has_ais)
        return WM_OK;
    walk->control = cli_control(call);
    walk->control.time_limit = cli_time_left(call);
    if (walk->steps < r->info.bridges)
        walk->steps = r->info.bridges;
    st = wm_ebm_ais(&r->ais, NULL, r->model, walk, err);
    if (st == WM_EINTERRUPTED && !*call->stop) { /* its own time, or another rank's */
        r->has_ais = false;
        wm_say(call->sink, WM_LOG_WARN, "time is up: the normaliser was not looked at");
        return WM_OK;
    }
    return st;
}

/* ---- what comes out ---- */

static const check_advice advice[] = {
    {"chasm", "See --bridges and --spacing.", WM_CHECK_OK},
    {"normaliser", "See --check-steps.", WM_CHECK_NOT_KNOWN},
    {"normaliser", "See --iterations and --bridges.", WM_CHECK_DOUBT},
    {0},
};

static void add_summary(cli_call *call, const ebm_result *r)
{
    const wm_ebm_info *info = &r->info;
    const double unit = units_per_nat(call);
    wm_summary *s = call->summary;
    char text[64];

    WM_PUT(s, WM_INTEGER("n_train", info->n_train), WM_INTEGER("n_test", info->n_valid),
           WM_INTEGER("dim", info->dim), WM_INTEGER("discrete_columns", info->discrete),
           WM_INTEGER("whole_columns", info->whole),
           WM_INTEGER("constant_columns", info->columns - info->dim),
           WM_TEXT("model", wm_ebm_model_text(info->model, text, sizeof text)),
           WM_TEXT("noise", noise_names[info->noise]));
    ebm_summary_loglik(call, "noise_loglik", info, info->noise_loglik, NAN);
    ebm_summary_loglik(call, "direct", info, info->direct, NAN);
    for (int64_t k = 0; k < info->bridges; k++) {
        wm_bridge b;

        wm_ebm_get_bridge(r->model, k, &b);
        summary_bridge(s, k, &b, unit);
    }
    for (int i = 0; i < WM_STAGES; i++) {
        WM_PUT(wm_summary_row(s, "stages"), WM_TEXT("stage", stage_names[i]),
               WM_INTEGER("steps", info->steps[i]), WM_REAL("seconds", info->seconds[i]));
    }
    if (r->has_ais) {
        WM_PUT(s, WM_REAL("log_z", r->ais.log_z * unit), WM_REAL("log_z_se", r->ais.se * unit),
               WM_REAL("log_z_ess", r->ais.ess));
    }
    wm_summary_text(s, "units", units_name(call));
    summary_checks(call, &r->checks, advice);
}

static wm_status print_result(const cli_call *call, const ebm_result *r, wm_error *err)
{
    const wm_ebm_info *info = &r->info;
    const double unit = units_per_nat(call);
    wm_bridge b[WM_ALPHAS_MAX];
    char text[64];
    wm_status st;

    printf("log-likelihood of %" PRId64 " held-out rows, mean, %s (bits per dimension):\n",
           info->n_valid, units_name(call));
    printf("  noise alone  %12.4f  (%.4f)\n", info->noise_loglik * unit,
           ebm_bits(info, info->noise_loglik));
    printf("  direct       %12.4f  (%.4f), taking Z as 1\n\n", info->direct * unit,
           ebm_bits(info, info->direct));
    if (info->discrete + info->whole > 0)
        printf("%" PRId64 " of %" PRId64 " columns are discrete: these are lower bounds, in "
               "expectation, of log-probabilities.\n\n",
               info->discrete + info->whole, info->dim);
    for (int64_t k = 0; k < info->bridges; k++)
        wm_ebm_get_bridge(r->model, k, &b[k]);
    st = print_bridges(call, wm_ebm_model_text(info->model, text, sizeof text), b, info->bridges,
                       NULL, err);
    print_checks(call, &r->checks, advice);
    return st;
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
    add_summary(call, &r);
    if (cli_shows_tables(call) && (st = print_result(call, &r, err)))
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
