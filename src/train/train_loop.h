/* train_loop.h - the loop of stochastic gradients, for any compiled loss: batch, gradient, Adam,
 * average; evaluate, checkpoint, progress; until the steps are done, the evaluations say so, time
 * is up or somebody asks. What a batch and an evaluation are is the caller's. */
#ifndef WMI_TRAIN_TRAIN_LOOP_H
#define WMI_TRAIN_TRAIN_LOOP_H

#include <signal.h>

#include "engine/program.h"
#include "optim/lr_schedule.h"
#include "train/train_state.h"
#include "waymark/sink.h"

typedef enum wmi_loop_end {
    WMI_LOOP_DONE,  /* all steps */
    WMI_LOOP_ENDED, /* by ended() */
    WMI_LOOP_TIME,
    WMI_LOOP_ASKED
} wmi_loop_end;

typedef struct wmi_train_loop {
    wmi_train_state *state;
    const wmi_train_rates *rates;
    wmi_program *program; /* theta of the state and grad are bound to it */
    const wmi_node *loss;
    const float *grad;
    wmi_lr_schedule schedule;
    uint64_t seed;
    int64_t iterations, eval_every;
    double time_limit;                 /* seconds, of this process; 0: none */
    const char *checkpoint;            /* file, or NULL */
    const char *settings;              /* what a checkpoint must have been made with */
    double checkpoint_seconds;         /* between two writes */
    bool resume;                       /* from the checkpoint, if it is there */
    const wm_sink *sink;               /* or NULL */
    const volatile sig_atomic_t *stop; /* or NULL */

    void *ctx;
    /* The rows of a step into the program. */
    wm_status (*draw)(void *ctx, int64_t step, wm_error *err);
    /* The validation set through the parameters; keeps the best. */
    wm_status (*evaluate)(void *ctx, wm_error *err);
    /* Whether the evaluations so far end the run; also asked of a state that was resumed. */
    bool (*ended)(void *ctx);
    /* What progress says after a step; seconds are those since the loop began. */
    void (*speak)(void *ctx, double seconds, char *text, size_t size);
    void (*resumed)(void *ctx, int64_t step);
} wmi_train_loop;

enum { WMI_LOOP_TEXT = 128 }; /* bytes for speak() */

/* From the checkpoint, where that is wanted and there is one. */
WM_MUST_CHECK wm_status wmi_train_loop_resume(const wmi_train_loop *l, wm_error *err);
WM_MUST_CHECK wm_status wmi_train_loop_run(const wmi_train_loop *l, wmi_loop_end *end,
                                           wm_error *err);

#endif
