/* cmd_reproduce.c - the paper's experiments, one command each: `waymark reproduce peaked`. The
 * drivers are in reproduce/; here is what they share on the command line. */
#include <stdio.h>

#include "../reproduce/experiment.h"
#include "commands.h"

typedef struct reproduce_opts {
    int preset;
    double checkpoint;
} reproduce_opts;

static const char *const preset_names[] = {"smoke", "laptop", "paper", NULL};

static const opt_row rows[] = {
    {.kind = OPT_CHOICE,
     .name = "preset",
     .at = offsetof(reproduce_opts, preset),
     .arg = "NAME",
     .help = "smoke: seconds; laptop: minutes on two cores; paper: the paper's sizes and more",
     .choices = preset_names},
    {0},
};

/* For experiments that train: the same, and how often a killed run can go back to. */
static const opt_row training_rows[] = {
    {.kind = OPT_CHOICE,
     .name = "preset",
     .at = offsetof(reproduce_opts, preset),
     .arg = "NAME",
     .help = "smoke: seconds; laptop: minutes on two cores; paper: the paper's sizes and more",
     .choices = preset_names},
    {.kind = OPT_DURATION,
     .name = "checkpoint",
     .at = offsetof(reproduce_opts, checkpoint),
     .arg = "TIME",
     .help = "least time between two checkpoints, from which --resume goes on",
     .lo = 0,
     .hi = 86400,
     .transient = true},
    {0},
};

static void defaults(void *opts)
{
    *(reproduce_opts *)opts = (reproduce_opts){.preset = 1, .checkpoint = 30};
}

/* Table, summary, figures, in this order: gnuplot must not cost the result. */
static wm_status publish(cli_call *call, const reproduce_result *result, wm_error *err)
{
    wm_status st;

    if (cli_shows_tables(call) && (st = wm_table_print(result->table, stdout, err)))
        return st;
    if ((st = cli_publish(call, err)))
        return st;
    for (int i = 0; call->run && i < result->n_figures; i++)
        if ((st = wm_run_folder_figure(call->run, result->figures[i], call->sink, err)))
            return st;
    return WM_OK;
}

static wm_status run(cli_call *call, reproduce_experiment *experiment, wm_error *err)
{
    const reproduce_settings settings = {
        .preset = preset_names[((const reproduce_opts *)call->opts)->preset],
        .seed = (uint64_t)call->common->seed,
        .sink = call->sink,
        .stop = call->stop,
        .folder = call->run,
        .resume = call->common->resume,
        .checkpoint_seconds = ((const reproduce_opts *)call->opts)->checkpoint,
        .time_limit = call->common->time_limit,
    };
    reproduce_result result = {.summary = call->summary};
    wm_status st;

    wm_summary_text(call->summary, "preset", settings.preset);
    st = experiment(&result, &settings, err);
    if (!st)
        st = publish(call, &result, err);
    call->doubt = result.doubt;
    reproduce_result_clear(&result);
    return st;
}

static wm_status run_peaked(cli_call *call, wm_error *err)
{
    return run(call, reproduce_peaked, err);
}

const cli_command cmd_reproduce_peaked = {
    .name = "reproduce peaked",
    .about = "the paper's 1-d ratio, N(0, 1e-6^2) over N(0, 1): one ratio against four bridges",
    .arguments = "",
    .details = "Mean error of theta over repeats, for n = 10 ... 100,000 samples, three losses, "
               "the\nsingle ratio and the telescope with spacing (k/4)^p, p = 1 ... 8. With -o "
               "also figures\nlike the paper's 1, 2 and 7 to 9.",
    .examples = "waymark reproduce peaked --preset smoke\n"
                "waymark reproduce peaked --preset paper -o peaked",
    .common = CLI_SEED | CLI_RUN | CLI_STRICT,
    .rows = rows,
    .opts_size = sizeof(reproduce_opts),
    .defaults = defaults,
    .run = run_peaked,
};

static wm_status run_gaussian(cli_call *call, wm_error *err)
{
    return run(call, reproduce_gaussian, err);
}

const cli_command cmd_reproduce_gaussian = {
    .name = "reproduce gaussian",
    .about = "the paper's Gaussians: 10 to 80 nats of mutual information in 40 to 320 dimensions",
    .arguments = "",
    .details =
        "Estimates by one ratio (logistic and NWJ) and by the telescope, trained by Adam as in "
        "the\n"
        "paper and fitted by the convex path. --time-limit holds for each fit. Models and\n"
        "checkpoints are kept in the run folder: a run that was stopped or killed goes on with\n"
        "--resume and ends in the same bits.",
    .examples = "waymark reproduce gaussian --preset smoke\n"
                "waymark reproduce gaussian -o gaussian\n"
                "waymark reproduce gaussian -o gaussian --resume",
    .common = CLI_SEED | CLI_RUN | CLI_TIME | CLI_STRICT,
    .rows = training_rows,
    .opts_size = sizeof(reproduce_opts),
    .defaults = defaults,
    .run = run_gaussian,
};
