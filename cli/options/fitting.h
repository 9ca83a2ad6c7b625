/* fitting.h - what commands that fit a model by many steps share: the shape of images, spacings,
 * checkpoints, and how a fit ends that was interrupted. */
#ifndef WM_CLI_FITTING_H
#define WM_CLI_FITTING_H

#include "frame/command.h"
#include "waymark/waymarks.h"

/* ---- options ---- */

/* Rows that several tables have. */
#define CHECKPOINT_ROW(FIELD)                                                                      \
    DURATION(FIELD, "checkpoint", "TIME", 0, 86400,                                                \
             "least time between two checkpoints, from which --resume goes on", .transient = true)
#define LR_HELP "learning rate, which falls to 0 by a cosine"
#define AVERAGE_HELP "of the average of the weights; 0: none"

extern const char *const choice_names[]; /* by wm_choice */

/* "28x28" or "32x32x3" as height, width and channels; false for anything else. */
bool image_parse(int64_t shape[3], const char *text);
/* The shape of a file's rows, if they are images by the axes of their array, and says so; not found
 * where they are not, or that cannot be told without reading a pipe. */
WM_MUST_CHECK wm_status image_find(bool *found, int64_t shape[3], const char *path,
                                   const wm_sink *sink, wm_error *err);

/* --spacing as given; a list must suit the number of bridges, which it sets where that is
 * WM_AUTO. */
WM_MUST_CHECK wm_status take_spacing(wm_spacing *out, int64_t *bridges, const char *text,
                                     cli_call *call, wm_error *err);

/* ---- the end ---- */

/* WM_EINTERRUPTED where the user stopped a fit that is not finished: what was learned is kept in
 * the file `model`, if not NULL, and the command ends. */
WM_MUST_CHECK wm_status fit_interrupted(const cli_call *call, bool finished, const char *model,
                                        wm_error *err);

#endif
