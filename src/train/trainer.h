/* trainer.h - fitting a set of bridges by stochastic gradients: Adam on coupled minibatches,
 * validation every epoch, the best parameters kept (paper, section 3.3 and appendix; facts of the
 * authors' code).
 *
 * Everything random is a function of (seed, step), and everything else that a step depends on is in
 * the checkpoint: a run that is killed and resumed ends in the same bits as one that never stopped.
 */
#ifndef WMI_TRAIN_TRAINER_H
#define WMI_TRAIN_TRAINER_H

#include "nn/bridge_model.h"
#include "nn/loss.h"
#include "train/batcher.h"
#include "train/own_draws.h"
#include "train/train_state.h"
#include "waymark/fit.h"

typedef enum wmi_train_stop {
    WMI_STOP_DONE,      /* all iterations */
    WMI_STOP_PATIENCE,  /* no better validation loss for `patience` evaluations */
    WMI_STOP_SATURATED, /* a bridge classifies perfectly: its ratio is not learned any more */
    WMI_STOP_TIME,
    WMI_STOP_ASKED /* by stop or on_eval; the checkpoint is written */
} wmi_train_stop;

typedef struct wmi_train_opts {
    /* batch: waymark samples in a step, batch / (m + 1) trajectories; eval_every not set: an epoch;
     * of the rest what is not set is as in wmi_train_opts_init(). */
    wm_adam_opts adam;
    wm_fit_control control;
    wmi_objective objective;
    wmi_batch_form form;
    bool random_order; /* mixed blocks change in an order drawn for each trajectory */
    /* The model's f is a network of cells, and the blocks of the chain are its cells: waymarks are
     * mixed by it (cell_mixer.h), with so many rows of the denominator for one of the numerator.
     * 0: waymarks are rows. Coupled batches, one loss for each bridge, no map. */
    int64_t cell_negatives;
    int64_t pieces; /* that a step's batch is cut into, for ranks to share: a power of two; 0
                       (default): none. Not InfoNCE, whose negatives are the whole batch */
    wm_stage stage; /* that the control's callbacks are told */
    int64_t max_valid_batches; /* validation is cut there; 0: no limit */
    const float *start; /* (wmi_params_count) parameters to start from; NULL: drawn from the seed */
    double classify;    /* denoise: weight of a row's softmax, in nats: 3 */
    wmi_own_opts own;   /* denoise: chains of the model in its loss; mover NULL: none */
    wmi_train_tune tune; /* splines 1: as the rest */
    double saturated;    /* a validation loss below it, twice running, ends the run; 0: never */
    const float *knots;  /* (wmi_model_columns, bases + 4) for an additive term, or NULL */
    const float *filter; /* (dim, filters) where the model has filters */
} wmi_train_opts;

/* The paper's: logistic, coupled, batch 512, lr 1e-4 with cosine, constants at 10x (as in the
 * authors' code), no limits; stage bridges. */
void wmi_train_opts_init(wmi_train_opts *opts);

typedef struct wmi_train_result {
    wmi_train_stop stop;
    int64_t steps, best_step;
    double best_loss;
    int64_t saturated_bridge; /* with WMI_STOP_SATURATED */
    double seconds;           /* of training, in all processes */
} wmi_train_result;

/* A source with a u needs a model with one (dim_u alike), which then gets it as an input of its
 * own: g(u) is computed once for each trajectory, whatever the number of bridges. InfoNCE needs
 * such a source, one bridge, and no term but the separable one; of the chain it reads waymark 0
 * only.
 *
 * With control.comm every rank calls it and has the same answer, that of the first rank.
 *
 * Trains the parameters of `params` (declared by wmi_model_declare with prefix ""), from the seed
 * or the checkpoint. theta (wmi_params_count) receives the best ones. last (m) receives their
 * evaluation. WM_EINVAL, WM_ENOMEM, WM_EDIVERGED (a loss that is not finite), WM_EIO and WM_EFORMAT
 * of the checkpoint. */
WM_MUST_CHECK wm_status wmi_train(const wmi_model *model, const wmi_params *params,
                                  const wm_chain *chain, const wmi_source *source,
                                  const wmi_train_opts *opts, float *theta, wm_bridge *last,
                                  wmi_train_result *result, wm_error *err);

#endif
