/* train_loop.h - the loop of stochastic gradients, for any compiled loss: batch, gradient, Adam,
 * average; evaluate, checkpoint, progress; until the steps are done, the evaluations say so, time
 * is up or somebody asks. What a batch and an evaluation are is the caller's. */
#ifndef WMI_TRAIN_TRAIN_LOOP_H
#define WMI_TRAIN_TRAIN_LOOP_H

#include "base/pace.h"
#include "engine/program.h"
#include "train/pieces.h"
#include "train/train_state.h"

typedef enum wmi_loop_end {
    WMI_LOOP_DONE,  /* all steps */
    WMI_LOOP_ENDED, /* by ended() */
    WMI_LOOP_TIME,
    WMI_LOOP_ASKED
} wmi_loop_end;

typedef struct wmi_train_loop {
    const wm_adam_opts *adam; /* all of it set, but for eval_every */
    const wm_fit_control *control;
    wm_stage stage;       /* that the control's callbacks are told */
    const char *settings; /* what a checkpoint must have been made with */
    int64_t epoch;        /* steps: between evaluations where eval_every is not set */
    wmi_train_state *state;
    wmi_program *program; /* theta of the state and grad are bound to it */
    const wmi_node *loss;
    const float *grad;
    int64_t pieces; /* batches whose mean gradient a step takes, a power of two; 0: one, and no rank
                       hears of another */

    void *ctx;
    /* The rows of a batch into the program: batch `step`, or with pieces step * pieces + piece. */
    wm_status (*draw)(void *ctx, int64_t step, wm_error *err);
    /* The validation set through theta, which is the average where there is one; keeps the best.
     * Fills in valid_loss, estimate and bridges. */
    wm_status (*evaluate)(void *ctx, wm_evaluation *e, wm_error *err);
    /* Whether the evaluations so far end the run; also asked of a state that was resumed. */
    bool (*ended)(void *ctx);
    /* What progress says after a step; seconds are those since the loop began. */
    void (*speak)(void *ctx, double seconds, char *text, size_t size);

    /* The loop's own, set by wmi_train_loop_resume(). */
    double started; /* clock */
    bool asked;     /* by on_eval, to leave */
    wmi_pieces shared;
    bool over_asked, over_time; /* what ranks have agreed on */
    wmi_pace pace;
} wmi_train_loop;

enum { WMI_LOOP_TEXT = 128 }; /* bytes for speak() */

/* First of all: the state from the checkpoint, where that is wanted and there is one. */
WM_MUST_CHECK wm_status wmi_train_loop_resume(wmi_train_loop *l, wm_error *err);
WM_MUST_CHECK wm_status wmi_train_loop_run(wmi_train_loop *l, wmi_loop_end *end, wm_error *err);
/* One evaluation, told to the control: what the loop does now and then. */
WM_MUST_CHECK wm_status wmi_train_loop_evaluate(wmi_train_loop *l, wm_error *err);

#endif
