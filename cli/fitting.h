/* fitting.h - what commands that fit a model by many steps share: the shape of images, spacings,
 * checkpoints, metrics on the way, and how a fit ends that was interrupted. */
#ifndef WM_CLI_FITTING_H
#define WM_CLI_FITTING_H

#include "command.h"
#include "waymark/waymarks.h"

/* ---- options ---- */

/* How often a run that is killed can go back to: a row of an option table, where T is the command's
 * struct and F its double of seconds. */
#define CHECKPOINT_ROW(T, F)                                                                       \
    {                                                                                              \
        .kind = OPT_DURATION, .name = "checkpoint", .at = offsetof(T, F), .arg = "TIME",           \
        .help = "least time between two checkpoints, from which --resume goes on", .lo = 0,        \
        .hi = 86400, .transient = true                                                             \
    }

/* "28x28" or "32x32x3" as height, width and channels; false for anything else. */
bool image_parse(int64_t shape[3], const char *text);
/* The shape of a file's rows, if they are images by the axes of their array; not found where they
 * are not, or that cannot be told without reading a pipe. */
WM_MUST_CHECK wm_status image_find(bool *found, int64_t shape[3], const char *path, wm_error *err);

/* --spacing as given; a list must suit the number of bridges, which it sets where that is 0. */
WM_MUST_CHECK wm_status take_spacing(wm_spacing *out, int64_t *bridges, const char *text,
                                     cli_call *call, wm_error *err);

/* ---- metrics ---- */

/* Lines of metrics.jsonl, from a callback that cannot fail itself. Starts as {.call = call}. */
typedef struct metrics {
    cli_call *call;
    const char *stage; /* of the last line */
    wm_status st;      /* the first failure, for the caller to look at after the fit */
    wm_error err;
} metrics;

/* A line with "stage", a constant text, and "step"; NULL without a run folder or after a failure.
 */
wm_summary *metrics_line(metrics *m, const char *stage, int64_t step);
/* What it says of bridge k. */
void metrics_bridge(wm_summary *line, int64_t k, double loss, double accuracy,
                    double mean_log_ratio);
/* Writes and frees it. */
void metrics_write(metrics *m, wm_summary *line);
/* The failure, if any: for after the fit. */
WM_MUST_CHECK wm_status metrics_done(const metrics *m, wm_error *err);

/* ---- the end ---- */

/* WM_EINTERRUPTED where the user stopped a fit that is not finished: what was learned is kept in
 * the file `model`, if not NULL, but nobody waits for more. */
WM_MUST_CHECK wm_status fit_interrupted(const cli_call *call, bool finished, const char *model,
                                        wm_error *err);

#endif
