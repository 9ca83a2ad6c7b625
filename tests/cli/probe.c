/* probe.c - a program with the command's frame and commands that do as they are told, for
 * test_cli.py: the product itself has no command that fails or waits on request. */
#include <stdio.h>
#include <time.h>

#include "frame/command.h"

typedef struct probe_opts {
    int64_t n;
    int size;
    bool fail, doubt, wrong, wait, early;
} probe_opts;

static const char *const sizes[] = {"small", "large", NULL};
#define AT(field) .at = offsetof(probe_opts, field)

static const opt_row rows[] = {
    {.kind = OPT_INTEGER, .name = "n", AT(n), .arg = "N", .help = "a number", .lo = 1, .hi = 100},
    {.kind = OPT_CHOICE,
     .name = "size",
     AT(size),
     .arg = "NAME",
     .help = "a name",
     .choices = sizes},
    {.kind = OPT_FLAG, .name = "fail", AT(fail), .help = "fail"},
    {.kind = OPT_FLAG, .name = "doubt", AT(doubt), .help = "let a check fail"},
    {.kind = OPT_FLAG, .name = "wrong", AT(wrong), .help = "find the usage wrong"},
    {.kind = OPT_FLAG, .name = "wait", AT(wait), .help = "until told to stop"},
    {.kind = OPT_FLAG, .name = "early", AT(early), .help = "publish, then fail"},
    {0},
};

static void defaults(void *opts)
{
    ((probe_opts *)opts)->n = 3;
}

static wm_status run(cli_call *call, wm_error *err)
{
    const probe_opts *o = call->opts;
    const struct timespec pause = {.tv_nsec = 1000000};
    wm_summary *line = NULL;
    wm_status st;

    call->sink->log(call->sink->ctx, WM_LOG_INFO, "at work");
    if (o->wrong)
        return cli_usage(call, err, "'%s' and %lld do not go together", call->args[0],
                         (long long)o->n);
    if (o->fail) {
        *err = (wm_error){.code = WM_EIO, .text = "train.csv:17: no"};
        return WM_EIO;
    }
    if (o->wait) {
        puts("waiting");
        fflush(stdout);
        while (!*call->stop)
            nanosleep(&pause, NULL);
        *err = (wm_error){.code = WM_EINTERRUPTED, .text = "--resume goes on"};
        return WM_EINTERRUPTED;
    }
    if ((st = wm_summary_new(&line, err)))
        return st;
    wm_summary_integer(line, "step", o->n);
    st = wm_run_folder_metrics(call->run, line, err);
    wm_summary_free(line);
    wm_summary_integer(call->summary, "n", o->n);
    wm_summary_bool(call->summary, "resumed", wm_run_folder_resumed(call->run));
    call->doubt = o->doubt;
    if (cli_shows_tables(call))
        printf("n %lld\n", (long long)o->n);
    if (!st && o->early && !(st = cli_publish(call, err))) {
        *err = (wm_error){.code = WM_EIO, .text = "gnuplot failed"};
        st = WM_EIO;
    }
    return st;
}

static const cli_command probe = {.name = "probe",
                                  .about = "do as told",
                                  .arguments = "P [Q]",
                                  .details = "A paragraph.",
                                  .examples = "waymark probe x\nwaymark probe y",
                                  .common = CLI_ALL,
                                  .rows = rows,
                                  .opts_size = sizeof(probe_opts),
                                  .defaults = defaults,
                                  .run = run};

static wm_status say(cli_call *call, wm_error *err)
{
    (void)err;
    printf("%d\n", call->n_args);
    return WM_OK;
}

static const cli_command one = {.name = "pair one", .about = "the first", .run = say};
static const cli_command two = {
    .name = "pair two", .about = "the second", .arguments = "[X]", .run = say};

int main(int argc, char **argv)
{
    static const cli_command *const table[] = {&probe, &one, &two, NULL};

    return cli_main(table, argc, argv);
}
