/* cmd_reproduce.c - the paper's experiments, one command each: `waymark reproduce peaked`. The
 * drivers are in reproduce/; here is what they share on the command line. */
#include <stdio.h>
#include <string.h>

#include "frame/commands.h"
#include "options/fitting.h"
#include "reproduce/experiment.h"

typedef struct reproduce_opts {
    int preset;
    double checkpoint;
    const char *data, *only;
} reproduce_opts;

static const char *const preset_names[] = {"smoke", "laptop", "paper", NULL};
static const char *const mnist_presets[] = {"smoke", "laptop", "paper", "night", NULL};

#define OPTS reproduce_opts
#define PRESET_ROW(LAPTOP)                                                                         \
    CHOICE(preset, "preset", "NAME", preset_names,                                                 \
           "smoke: seconds; " LAPTOP "; paper: the paper's sizes and more")

static const opt_row rows[] = {
    PRESET_ROW("laptop: minutes on two cores"),
    {0},
};

static const opt_row gaussian_rows[] = {
    PRESET_ROW("laptop: minutes on two cores"),
    CHECKPOINT_ROW(checkpoint),
    TEXT(only, "only", "ROWS",
         "tre-adam, tre-convex, single-adam; 40, 80, ... columns; tre-adam-quadratic-320, ...; a "
         "list with commas",
         .unset = "all"),
    {0},
};

static const opt_row mnist_rows[] = {
    CHOICE(preset, "preset", "NAME", mnist_presets,
           "smoke: seconds; laptop: an hour a row on two cores; paper: the paper's sizes and more; "
           "night: eight hours a row, stopped and resumed at will"),
    CHECKPOINT_ROW(checkpoint),
    TEXT(data, "data", "DIR",
         "folder with the IDX files of MNIST, or what `waymark data mnist` made of them",
         .unset = "none; smoke then draws characters of its own"),
    TEXT(only, "only", "ROWS", "gaussian, copula, flow; gaussian-tre, ...; sensitivity",
         .unset = "the paper's nine rows"),
    {0},
};

static const opt_row omniglot_rows[] = {
    PRESET_ROW("laptop: an hour for each d on two cores"),
    CHECKPOINT_ROW(checkpoint),
    TEXT(data, "data", "PATH",
         "Omniglot: packed arrays, the authors' folders of images, or their zip",
         .unset = "none; characters of our own are drawn"),
    TEXT(only, "only", "ROWS",
         "tre, single, infonce; 1, 4, 9 characters; tre-9, ...; a list with commas",
         .unset = "all nine"),
    {0},
};

static void defaults(void *opts)
{
    *(reproduce_opts *)opts = (reproduce_opts){.preset = 1, .checkpoint = 30};
}

/* Table, summary, figures, page, in this order: gnuplot must not cost the result. */
static wm_status publish(cli_call *call, reproduce_result *result, wm_error *err)
{
    wm_status st;

    if (cli_shows_tables(call) && (st = wm_text_table_print(result->table, stdout, err)))
        return st;
    if ((st = cli_publish(call, err)))
        return st;
    return cli_draw(call, result->figures, result->n_figures, err);
}

static wm_status run(cli_call *call, wm_error *err)
{
    static const struct {
        const cli_command *command;
        reproduce_experiment *run;
    } experiments[] = {{&cmd_reproduce_peaked, reproduce_peaked},
                       {&cmd_reproduce_gaussian, reproduce_gaussian},
                       {&cmd_reproduce_mnist, reproduce_mnist},
                       {&cmd_reproduce_omniglot, reproduce_omniglot}};
    const reproduce_opts *o = call->opts;
    int i = 0;
    reproduce_settings settings = {
        .preset = mnist_presets[o->preset],
        .control = cli_control(call),
        .folder = call->run,
        .data = o->data,
        .only = o->only,
    };
    reproduce_result result = {.summary = call->summary};
    wm_status st;

    settings.control.checkpoint_seconds = o->checkpoint;
    wm_summary_text(call->summary, "preset", settings.preset);
    while (experiments[i].command != call->command)
        i++;
    st = experiments[i].run(&result, &settings, err);
    if (!st)
        st = publish(call, &result, err);
    /* An experiment that refuses one of the options above begins its message with it. */
    call->usage = st == WM_EINVAL && err && strncmp(err->text, "--", 2) == 0;
    call->doubt = result.doubt;
    reproduce_result_clear(&result);
    return st;
}

const cli_command cmd_reproduce_peaked = {
    .name = "reproduce peaked",
    .about = "the paper's 1-d ratio, N(0, 1e-6^2) over N(0, 1): one ratio against four bridges",
    .details = "Mean error of theta over repeats, for n = 10 ... 100,000 samples, three losses, "
               "the single ratio and the telescope with spacing (k/4)^p, p = 1 ... 8. With -o also "
               "figures like the paper's 1, 2 and 7 to 9.",
    .examples = "waymark reproduce peaked --preset smoke\n"
                "waymark reproduce peaked --preset paper -o peaked",
    .common = CLI_SEED | CLI_RUN | CLI_STRICT,
    CLI_OPTIONS(rows, reproduce_opts, defaults),
    .run = run,
};

const cli_command cmd_reproduce_gaussian = {
    .name = "reproduce gaussian",
    .about = "the paper's Gaussians: 10 to 80 nats of mutual information in 40 to 320 dimensions",
    .details = "Estimates by one ratio (logistic and NWJ) and by the telescope, trained by Adam as "
               "in the paper and fitted by the convex path. --time-limit holds for each fit. "
               "Models and checkpoints are kept in the run folder: a run that was stopped or "
               "killed goes on with --resume and ends in the same bits.",
    .examples = "waymark reproduce gaussian --preset smoke\n"
                "waymark reproduce gaussian -o gaussian\n"
                "waymark reproduce gaussian -o gaussian --resume",
    .common = CLI_SEED | CLI_RUN | CLI_TIME | CLI_STRICT,
    CLI_OPTIONS(gaussian_rows, reproduce_opts, defaults),
    .run = run,
};

const cli_command cmd_reproduce_mnist = {
    .name = "reproduce mnist",
    .about = "the paper's energy-based models: three noises, one ratio and the telescope",
    .details = "For Gaussian, copula and flow noise: the noise alone, noise-contrastive estimation "
               "(one ratio), telescoping; direct likelihood, RAISE and AIS in bits per dimension "
               "beside the paper's. Models, states and grids of draws are kept in the run folder; "
               "a run that was stopped goes on with --resume. --time-limit holds for each fit.",
    .examples = "make data\n"
                "waymark reproduce mnist --preset smoke\n"
                "waymark reproduce mnist --data ../data/mnist --only gaussian -o mnist",
    .common = CLI_SEED | CLI_RUN | CLI_TIME | CLI_STRICT,
    CLI_OPTIONS(mnist_rows, reproduce_opts, defaults),
    .run = run,
};

const cli_command cmd_reproduce_omniglot = {
    .name = "reproduce omniglot",
    .about = "the paper's grids of characters: up to 34 nats, and representations of them",
    .details = "Pairs of grids of 1, 4 and 9 handwritten characters (SpatialMultiOmniglot): mutual "
               "information by the telescope, by one ratio and by InfoNCE, and the accuracy of "
               "linear probes on the representation g(u), also for drawings that were never "
               "trained on. Models and states are kept in the run folder; a run that was stopped "
               "goes on with --resume. --time-limit holds for each fit.",
    .examples = "waymark reproduce omniglot --preset smoke\n"
                "waymark reproduce omniglot --data DIR --only 1 -o omniglot",
    .common = CLI_SEED | CLI_RUN | CLI_TIME | CLI_STRICT,
    CLI_OPTIONS(omniglot_rows, reproduce_opts, defaults),
    .run = run,
};
