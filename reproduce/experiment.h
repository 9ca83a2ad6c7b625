/* experiment.h - what an experiment of the paper is to `waymark reproduce`: a function that gets
 * settings and fills a summary, a table and figures, which the command prints and writes. */
#ifndef REPRODUCE_EXPERIMENT_H
#define REPRODUCE_EXPERIMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "waymark/fit.h"
#include "waymark/report.h"
#include "waymark/status.h"

#define REPRODUCE_MAX_FIGURES 12

/* Every experiment has these sizes, in a table of its own that is indexed by them; the last are
 * those of some. */
typedef enum reproduce_preset {
    REPRODUCE_SMOKE,  /* seconds, for the tests */
    REPRODUCE_LAPTOP, /* two cores */
    REPRODUCE_PAPER,  /* the paper's own sizes */
    REPRODUCE_NIGHT,  /* eight hours a row on two cores: mnist */
    REPRODUCE_PRESETS
} reproduce_preset;

/* One of them, whose members are laid out as arguments are, several to a line. */
#define REPRODUCE_PRESET(...)                                                                      \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

typedef struct reproduce_settings {
    const char *preset;     /* "smoke", "laptop", "paper" or "night" */
    wm_fit_control control; /* of each fit, but for its checkpoint; stopped, an experiment leaves
                               with WM_EINTERRUPTED */
    wm_run_folder *folder;  /* for models and checkpoints; NULL: none are kept */
    const char *data;       /* folder of a data set, or NULL */
    const char *only;       /* names of rows, or NULL: all */
} reproduce_settings;

/* Starts as {.summary = a new one}; what is added is the caller's to free. */
typedef struct reproduce_result {
    wm_summary *summary; /* the caller's: rows, checks, truth and settings are added */
    wm_text_table *table;
    wm_figure *figures[REPRODUCE_MAX_FIGURES];
    int n_figures;
    bool doubt; /* a check failed */
} reproduce_result;

typedef wm_status reproduce_experiment(reproduce_result *out, const reproduce_settings *settings,
                                       wm_error *err);

WM_MUST_CHECK reproduce_experiment reproduce_peaked, reproduce_gaussian, reproduce_mnist,
    reproduce_omniglot;

/* Frees table and figures, not the summary. */
void reproduce_result_clear(reproduce_result *result);

/* The preset that was asked for, of an experiment's own (REPRODUCE_PRESETS) of `size` bytes; NULL,
 * with WM_EINVAL, for one that is not known. */
const void *reproduce_preset_of(const void *presets, size_t size,
                                const reproduce_settings *settings, wm_error *err);

/* A row of the summary's "checks", passed where value <= limit; where not, the result is in doubt.
 */
void reproduce_check(reproduce_result *out, const char *name, double value, double limit,
                     const char *meaning);
/* The summary's "verdict", after the last check. */
void reproduce_verdict(const reproduce_result *out);

/* Names of a row that --only may say; empty: none. */
typedef struct reproduce_names {
    char row[48], first[32], second[32]; /* "tre-9", "tre", "9" */
} reproduce_names;
/* Which rows (n) are wanted: those that a word of `only`, a list with commas, names; NULL: all.
 * known: what is, for the refusal of a word that names none. */
WM_MUST_CHECK wm_status reproduce_choose(bool *wanted, const reproduce_names *names, int n,
                                         const char *only, const char *known, wm_error *err);

/* A figure among those of the result; NULL without memory, which its calls accept. */
wm_figure *reproduce_figure(reproduce_result *out, const char *name, const char *title);

/* Says which of the n fits of an experiment begins; i counts from 0. */
void reproduce_announce(const wm_sink *sink, int i, int n, const char *name);

/* Path of the file `name` + `suffix` in the run folder; *out is NULL without one. */
WM_MUST_CHECK wm_status reproduce_path(const char **out, const char *name, const char *suffix,
                                       const reproduce_settings *settings, wm_error *err);
bool reproduce_has(const char *path); /* a file that can be read; path may be NULL */

#endif
