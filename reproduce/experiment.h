/* experiment.h - what an experiment of the paper is to `waymark reproduce`: a function that gets
 * settings and fills a summary, a table and figures, which the command prints and writes. */
#ifndef REPRODUCE_EXPERIMENT_H
#define REPRODUCE_EXPERIMENT_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "waymark/report.h"
#include "waymark/sink.h"
#include "waymark/status.h"

#define REPRODUCE_MAX_FIGURES 12

/* Every experiment has these sizes, in a table of its own that is indexed by them. */
typedef enum reproduce_preset {
    REPRODUCE_SMOKE,  /* seconds, for the tests */
    REPRODUCE_LAPTOP, /* two cores */
    REPRODUCE_PAPER,  /* the paper's own sizes */
    REPRODUCE_PRESETS
} reproduce_preset;

typedef struct reproduce_settings {
    const char *preset; /* "smoke", "laptop" or "paper" */
    uint64_t seed;
    const wm_sink *sink;               /* or NULL */
    const volatile sig_atomic_t *stop; /* not 0: leave with WM_EINTERRUPTED; or NULL */
    wm_run_folder *folder;             /* for models and checkpoints; NULL: none are kept */
    bool resume;                       /* from the checkpoints in it */
    double checkpoint_seconds;         /* between two of them */
    double time_limit;                 /* seconds of training for each fit; 0: none */
    const char *data;                  /* folder of a data set, or NULL */
    const char *only;                  /* names of rows, or NULL: all */
} reproduce_settings;

/* Starts as {.summary = a new one}; what is added is the caller's to free. */
typedef struct reproduce_result {
    wm_summary *summary; /* the caller's: rows, checks, truth and settings are added */
    wm_table *table;
    wm_figure *figures[REPRODUCE_MAX_FIGURES];
    int n_figures;
    bool doubt; /* a check failed */
} reproduce_result;

typedef wm_status reproduce_experiment(reproduce_result *out, const reproduce_settings *settings,
                                       wm_error *err);

WM_MUST_CHECK wm_status reproduce_peaked(reproduce_result *out, const reproduce_settings *settings,
                                         wm_error *err);

WM_MUST_CHECK wm_status reproduce_gaussian(reproduce_result *out,
                                           const reproduce_settings *settings, wm_error *err);

WM_MUST_CHECK wm_status reproduce_mnist(reproduce_result *out, const reproduce_settings *settings,
                                        wm_error *err);

WM_MUST_CHECK wm_status reproduce_omniglot(reproduce_result *out,
                                           const reproduce_settings *settings, wm_error *err);

/* Frees table and figures, not the summary. */
void reproduce_result_clear(reproduce_result *result);

/* A preset by its name; WM_EINVAL for one that is not known. */
WM_MUST_CHECK wm_status reproduce_preset_find(reproduce_preset *out, const char *name,
                                              wm_error *err);

/* A row of the summary's "checks", passed where value <= limit; where not, the result is in doubt.
 */
void reproduce_check(reproduce_result *out, const char *name, double value, double limit,
                     const char *meaning);
/* The summary's "verdict", after the last check. */
void reproduce_verdict(const reproduce_result *out);

/* A cell of the table; empty where x is NaN, which is not known. */
void reproduce_cell(wm_table *t, double x, int digits);

/* Says which of the n fits of an experiment begins; i counts from 0. */
void reproduce_announce(const wm_sink *sink, int i, int n, const char *name);

/* Path of the file `name` + `suffix` in the run folder; *out is NULL without one. */
WM_MUST_CHECK wm_status reproduce_path(const char **out, const char *name, const char *suffix,
                                       const reproduce_settings *settings, wm_error *err);
bool reproduce_has(const char *path); /* a file that can be read; path may be NULL */

/* Records a failure in err (or nowhere) and returns its code: what the library does privately. */
wm_status reproduce_fail(wm_error *err, wm_status code, const char *file, int line, const char *fmt,
                         ...) __attribute__((format(printf, 5, 6)));
#define reproduce_fail(err, code, ...)                                                             \
    ((reproduce_fail)((err), (code), __FILE__, __LINE__, __VA_ARGS__), (code))

/* Seconds of the sink's clock, or of the monotonic one; sink may be NULL. */
double reproduce_clock(const wm_sink *sink);

/* Progress of a driver's own loop, outside of parallel regions. Starts by reproduce_progress_start.
 */
typedef struct reproduce_progress {
    const wm_sink *sink;
    const char *unit;
    int64_t total;
    double started, spoke;
} reproduce_progress;

void reproduce_progress_start(reproduce_progress *p, const wm_sink *sink, const char *unit,
                              int64_t total);
/* Speaks if the sink's interval has passed, or all is done. */
void reproduce_progress_update(reproduce_progress *p, int64_t done, const char *message);

#endif
