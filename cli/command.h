/* command.h - what a command is, and the frame that runs it: options, run folder, progress, Ctrl-C,
 * the summary, the exit code.
 *
 * A new command is a file cmd_NAME.c with one `const cli_command cmd_NAME`, a declaration in
 * commands.h and a row of the table in main.c. */
#ifndef WM_CLI_COMMAND_H
#define WM_CLI_COMMAND_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "opt.h"
#include "waymark/report.h"
#include "waymark/sink.h"

enum { CLI_DONE = 0, CLI_FAILED = 1, CLI_USAGE = 2, CLI_DOUBT = 3 }; /* exit codes */

/* The common options; a command takes --json, --quiet, --threads and --config always, and others as
 * cli_command.common says. */
typedef struct cli_common {
    int64_t seed, threads; /* threads: 0 is all cores */
    const char *out, *config;
    bool resume, overwrite, quiet, json, bits, strict;
    double time_limit; /* seconds; 0: none */
} cli_common;

enum {
    CLI_SEED = 1,
    CLI_RUN = 2,  /* --out, --resume, --overwrite: call->run is the folder, if -o was given */
    CLI_TIME = 4, /* --time-limit */
    CLI_BITS = 8,
    CLI_STRICT = 16,
    CLI_ALL = 31,
    CLI_TIMER = 32 /* --time-limit, which the frame keeps: it stops the command as Ctrl-C does */
};

/* What the frame gives to a command. */
typedef struct cli_call {
    const cli_common *common;
    void *opts;              /* the command's struct, filled */
    const char *const *args; /* (n_args) */
    int n_args;
    const wm_sink *sink;
    const volatile sig_atomic_t *stop; /* for the library's stop flags */
    wm_run_folder *run;                /* NULL without -o: the library's calls accept that */
    wm_summary *summary;   /* has command, seconds, seed, threads; the rest is the command's */
    bool doubt;            /* set it when a check failed: exit code 3 with --strict */
    bool published, usage; /* the frame's own */
    double started;        /* seconds of the monotonic clock */
} cli_call;

typedef struct cli_command {
    const char *name;      /* one word, or two as in "reproduce peaked" */
    const char *about;     /* one line, lower case, no full stop */
    const char *arguments; /* "P Q", "RUN [X]", "" */
    int min_args, max_args;
    const char *details;  /* paragraphs of the help, with line ends; or NULL */
    const char *examples; /* lines of the help, without indent; or NULL */
    unsigned common;      /* CLI_SEED | ... */
    const opt_row *rows;  /* or NULL */
    size_t opts_size;
    void (*defaults)(void *opts);          /* opts are zero before; or NULL */
    void (*preset)(void *opts, int index); /* for a row of OPT_PRESET; or NULL */
    wm_status (*run)(cli_call *call, wm_error *err);
} cli_command;

/* Write summary.json and, with --json, print it. The frame does so after run() if the command has
 * not: a command that draws figures calls it before them. The page of the run folder, which shows
 * all of it, is the frame's last work. */
WM_MUST_CHECK wm_status cli_publish(cli_call *call, wm_error *err);
/* Whether the command should print its table (to stdout): not with --json. */
bool cli_shows_tables(const cli_call *call);
/* The model that a user names: a file, or the run folder that holds it. maker is the command that
 * makes such a folder, for the message that there is no model in it. */
enum { CLI_PATH_SIZE = 4096 };
WM_MUST_CHECK wm_status cli_model_path(char path[CLI_PATH_SIZE], const char *given,
                                       const char *maker, wm_error *err);
/* A failure that is the user's wording, found by the command itself: exit code 2. */
wm_status cli_usage(cli_call *call, wm_error *err, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* The program: argv as main() has it, a table that ends with NULL. Returns the exit code. */
int cli_main(const cli_command *const *table, int argc, char **argv);

#endif
