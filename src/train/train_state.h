/* train_state.h - making the state of a training run (checkpoint.h): what every loop of stochastic
 * gradients over a parameter table needs. */
#ifndef WMI_TRAIN_TRAIN_STATE_H
#define WMI_TRAIN_TRAIN_STATE_H

#include "engine/params.h"
#include "train/checkpoint.h"
#include "waymark/fit.h"

/* What Adam is told beside its options. */
typedef struct wmi_train_tune {
    double splines;     /* rate of WMI_GROUP_SPLINE, times that of the rest */
    double beta2;       /* of Adam; 0: as usual */
    const char *frozen; /* parameters whose name begins so keep their values; NULL: none */
} wmi_train_tune;

/* Arrays (theta, best, zeroed), Adam with its groups, the average. lr_constants is for
 * WMI_GROUP_CONSTANT, which does not decay. On failure, too, the state is to be closed. */
WM_MUST_CHECK wm_status wmi_train_state_open(wmi_train_state *s, const wmi_params *params,
                                             int64_t n_bridges, const wm_adam_opts *adam,
                                             const wmi_train_tune *tune, wm_error *err);
void wmi_train_state_close(wmi_train_state *s);
/* Takes theta into the average, if there is one and it is its turn after step s->step. */
void wmi_train_state_average(wmi_train_state *s, const wm_adam_opts *adam);

/* FNV-1a, for the text that tells whether a checkpoint is of the same run; starts as
 * WMI_HASH_START. */
#define WMI_HASH_START 0xcbf29ce484222325u
uint64_t wmi_hash(uint64_t h, const void *bytes, size_t n);
uint64_t wmi_hash_params(uint64_t h, const wmi_params *params); /* names and shapes */

#endif
