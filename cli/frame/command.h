/* command.h - what a command is, and the frame that runs it: options, run folder, progress, Ctrl-C,
 * the summary, the exit code.
 *
 * A new command is a file cmd_NAME.c with one `const cli_command cmd_NAME`, and a row of
 * commands.def. */
#ifndef WM_CLI_COMMAND_H
#define WM_CLI_COMMAND_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "options/opt.h"
#include "waymark/fit.h"
#include "waymark/report.h"

enum { CLI_DONE = 0, CLI_FAILED = 1, CLI_USAGE = 2, CLI_DOUBT = 3 }; /* exit codes */

/* The common options; a command takes --json, --quiet, --threads and --config always, and others as
 * cli_command.common says. */
typedef struct cli_common {
    int64_t seed, threads; /* threads: WM_AUTO is all cores */
    const char *out, *config;
    bool resume, overwrite, quiet, json, bits, strict, tensorboard;
    double time_limit; /* seconds; 0: none */
    double rank_limit; /* seconds that ranks wait for one another; 0: the library's own */
} cli_common;

enum {
    CLI_SEED = 1,
    CLI_RUN = 2,  /* --out, --resume, --overwrite: call->run is the folder, if -o was given */
    CLI_TIME = 4, /* --time-limit */
    CLI_BITS = 8,
    CLI_STRICT = 16,
    CLI_ALL = 31,
    CLI_RANKS = 64, /* several processes share its work, and each calls its run(); of other commands
                       the first runs it alone */
    CLI_TIMER = 32  /* --time-limit of walks, from the start of the command */
};

enum { CLI_PATH_SIZE = 4096 };

/* What the frame gives to a command. */
typedef struct cli_call {
    const struct cli_command *command;
    const cli_common *common;
    void *opts;              /* the command's struct, filled */
    const char *const *args; /* (n_args) */
    int n_args;
    const wm_sink *sink;
    const volatile sig_atomic_t *stop; /* for the library's stop flags */
    struct wm_comm *comm;              /* the processes that share the work, or NULL */
    bool helper;         /* a process that is not the first of them: it is done when its share is */
    wm_run_folder *run;  /* NULL without -o, or of a helper: the library's calls accept that */
    wm_summary *summary; /* has command, seconds, seed, threads; the rest is the command's */
    bool doubt;          /* set it when a check failed: exit code 3 with --strict */
    bool published, usage;     /* the frame's own */
    char state[CLI_PATH_SIZE]; /* of a helper: where the fit keeps its state */
    double started;            /* seconds of the monotonic clock */
} cli_call;

typedef struct cli_command {
    const char *name;      /* one word, or two as in "reproduce peaked" */
    const char *about;     /* one line, lower case, no full stop */
    const char *arguments; /* "P Q", "RUN [X]", "U V | FILE DX DY"; NULL: none */
    const char *details;   /* paragraphs of the help, which breaks their lines; or NULL */
    const char *examples;  /* lines of the help, without indent; or NULL */
    unsigned common;       /* CLI_SEED | ... */
    const opt_row *rows;   /* or NULL */
    size_t opts_size;
    void (*defaults)(void *opts); /* opts are zero before; or NULL */
    wm_status (*run)(cli_call *call, wm_error *err);
} cli_command;

#define CLI_OPTIONS(ROWS, TYPE, DEFAULTS)                                                          \
    .rows = (ROWS), .opts_size = sizeof(TYPE), .defaults = (DEFAULTS)

/* Write summary.json and, with --json, print it. The frame does so after run() if the command has
 * not: a command that draws figures calls it before them. The page of the run folder, which shows
 * all of it, is the frame's last work. */
WM_MUST_CHECK wm_status cli_publish(cli_call *call, wm_error *err);
/* After that: figures (n), of which some may be NULL, into the run folder. They are freed. */
WM_MUST_CHECK wm_status cli_draw(const cli_call *call, wm_figure **figures, int n, wm_error *err);
/* The common options as a fit's: seed, time limit, resume, sink and stop. */
wm_fit_control cli_control(const cli_call *call);
/* The same into the control of a fit, with the file of the run folder that keeps its state. */
WM_MUST_CHECK wm_status cli_steer(wm_fit_control *control, cli_call *call, const char *state,
                                  wm_error *err);
/* Seconds that are left of --time-limit, from the start of the command; 0: there is no limit. */
double cli_time_left(const cli_call *call);
/* Whether the command should print its table (to stdout): not with --json. */
bool cli_shows_tables(const cli_call *call);
/* The model that a user names: a file, or the run folder that holds it. maker is the command that
 * makes such a folder, for the message that there is no model in it. */
WM_MUST_CHECK wm_status cli_model_path(char path[CLI_PATH_SIZE], const char *given,
                                       const char *maker, wm_error *err);
/* The path of a file in a folder, or beside one ("" as folder): name and end together. */
WM_MUST_CHECK wm_status cli_path(char path[CLI_PATH_SIZE], const char *folder, const char *name,
                                 const char *end, cli_call *call, wm_error *err);
/* Refuses files (n) that are there, unless they are to be overwritten. */
WM_MUST_CHECK wm_status cli_spare_files(const char *const *paths, int n, bool overwrite,
                                        wm_error *err);
/* Refuses an output that is one of the arguments' files, unless it is to be overwritten. */
WM_MUST_CHECK wm_status cli_spare_inputs(const cli_call *call, const char *out, bool overwrite,
                                         wm_error *err);
/* A failure that is the user's wording, found by the command itself: exit code 2. */
#define cli_usage(call, err, ...) ((call)->usage = true, WM_FAIL((err), WM_EINVAL, __VA_ARGS__))

/* Every option of a command with its default, headings included, in the order of the help: for its
 * manual. False if there is no memory. */
bool cli_see_options(const cli_command *c, void (*see)(void *ctx, const opt_entry *e), void *ctx);

/* The program: argv as main() has it, a table that ends with NULL. Returns the exit code. */
int cli_main(const cli_command *const *table, int argc, char **argv);
/* The part of it that each of several processes runs. */
int cli_run(const cli_command *const *table, struct wm_comm *comm, int argc, char **argv);

#endif
