/* checkpoint.h - the state of a training run in one safetensors file, written whole or not at all.
 */
#ifndef WMI_TRAIN_CHECKPOINT_H
#define WMI_TRAIN_CHECKPOINT_H

#include <stdbool.h>

#include "base/fail.h"
#include "optim/adam.h"
#include "optim/average.h"

/* All that a step depends on beside the settings and the data. */
typedef struct wmi_train_state {
    int64_t step;                /* steps taken */
    int64_t best_step;           /* 0 where none was evaluated yet */
    int64_t stale;               /* evaluations since the best */
    double best_loss, train_sum; /* train_sum: of the losses since the last evaluation */
    double seconds;              /* spent on training, in all processes */
    int64_t train_steps;         /* in train_sum */
    int64_t n;                   /* parameters */
    float *theta, *best;         /* (n) */
    int64_t n_bridges;
    double *best_eval;  /* (m, 3) loss, accuracy, mean log-ratio of the best */
    int64_t *saturated; /* (m) evaluations running that a bridge was saturated */
    wmi_adam *adam;
    wmi_average *average; /* or NULL */
    float *more;          /* (n_more) the trainer's own, or NULL */
    int64_t n_more;
} wmi_train_state;

/* settings: a text that names everything the bits depend on; a resume refuses another one. */
WM_MUST_CHECK wm_status wmi_checkpoint_save(const char *path, const wmi_train_state *s,
                                            const char *settings, wm_error *err);
/* Reads into a state whose arrays are made. *found is false, and the state untouched, where the
 * file does not exist. */
WM_MUST_CHECK wm_status wmi_checkpoint_load(const char *path, wmi_train_state *s,
                                            const char *settings, bool *found, wm_error *err);

#endif
