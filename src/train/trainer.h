/* trainer.h - fitting a set of bridges by stochastic gradients: Adam on coupled minibatches,
 * validation every epoch, the best parameters kept (paper, section 3.3 and appendix; facts of the
 * authors' code).
 *
 * Everything random is a function of (seed, step), and everything else that a step depends on is in
 * the checkpoint: a run that is killed and resumed ends in the same bits as one that never stopped.
 */
#ifndef WMI_TRAIN_TRAINER_H
#define WMI_TRAIN_TRAINER_H

#include <signal.h>

#include "loss/loss.h"
#include "nn/bridge_model.h"
#include "optim/lr_schedule.h"
#include "train/batcher.h"
#include "waymark/sink.h"

/* One bridge on the validation set. */
typedef struct wmi_bridge_eval {
    double loss;           /* logistic: 2 log 2 = 1.386 is chance, 0 is saturated */
    double accuracy;       /* of the classifier: share of rows with the sign of log r right */
    double mean_log_ratio; /* at the numerator's rows: estimates KL(p_k || p_k+1) */
    /* InfoNCE: its loss (log of the rows of a batch is chance); how often the true x is the best of
     * the batch; the bound of the mutual information, log rows - loss. */
} wmi_bridge_eval;

typedef struct wmi_train_eval {
    int64_t step;
    double train_loss; /* mean over the steps since the last evaluation */
    double valid_loss; /* mean over bridges */
    double kl;         /* mean of log r over held-out rows of p0: estimates KL(p0 || pm); InfoNCE:
                          the bound */
    const wmi_bridge_eval *bridges; /* (m) */
} wmi_train_eval;

typedef enum wmi_train_stop {
    WMI_STOP_DONE,      /* all iterations */
    WMI_STOP_PATIENCE,  /* no better validation loss for `patience` evaluations */
    WMI_STOP_SATURATED, /* a bridge classifies perfectly: its ratio is not learned any more */
    WMI_STOP_TIME,
    WMI_STOP_ASKED /* *stop became true; the checkpoint is written */
} wmi_train_stop;

typedef struct wmi_train_opts {
    wmi_objective objective;
    wmi_batch_form form;
    bool random_order; /* mixed blocks change in an order drawn for each trajectory */
    /* The model's f is a network of cells, and the blocks of the chain are its cells: waymarks are
     * mixed by it (cell_mixer.h), with so many rows of the denominator for one of the numerator.
     * 0: waymarks are rows. Coupled batches, one loss for each bridge, no map. */
    int64_t cell_negatives;
    int64_t batch;             /* waymark samples in a step: rows = batch / (m + 1) trajectories */
    int64_t iterations;        /* steps in all */
    int64_t eval_every;        /* steps; 0: an epoch of the training set */
    int64_t max_valid_batches; /* validation is cut there; 0: no limit */
    int64_t patience;          /* evaluations without a better loss; 0: for ever */
    double lr;
    double lr_constants; /* times lr, for the constants c_k; 10 in the authors' code */
    wmi_lr_kind schedule;
    int64_t warmup;
    const float *start; /* (wmi_params_count) parameters to start from; NULL: drawn from the seed */
    const char *frozen; /* parameters whose name begins so keep their start values; NULL: none */
    double weight_decay; /* decoupled, of the parameters a step takes lr times this; not of the
                            constants; 0: none */
    double clip;         /* norm that a gradient may have; 0: any */
    double average;      /* decay of the weight average that is validated and kept; 0: none */
    double saturated;    /* a validation loss below it, twice running, ends the run; 0: never */
    uint64_t seed;
    double time_limit;         /* seconds, of this process; 0: none */
    const char *checkpoint;    /* file, or NULL */
    double checkpoint_seconds; /* between two writes; every evaluation at most */
    bool resume;               /* from the checkpoint, if it is there */
    const float *knots;        /* (wmi_model_columns, bases + 4) for an additive term, or NULL */
    const float *filter;       /* (dim, filters) where the model has filters */
    const wm_sink *sink;       /* or NULL */
    const volatile sig_atomic_t *stop;                      /* or NULL */
    void (*on_eval)(void *ctx, const wmi_train_eval *eval); /* or NULL */
    void (*on_resume)(void *ctx, int64_t step);             /* or NULL: metrics are cut back */
    void *on_eval_ctx;
} wmi_train_opts;

/* The paper's: logistic, coupled, batch 512, lr 1e-4 with cosine, constants at 10x, no limits. */
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
 * Trains the parameters of `params` (declared by wmi_model_declare with prefix ""), from the seed
 * or the checkpoint. theta (wmi_params_count) receives the best ones. last (m) receives their
 * evaluation. WM_EINVAL, WM_ENOMEM, WM_EDIVERGED (a loss that is not finite), WM_EIO and WM_EFORMAT
 * of the checkpoint. */
WM_MUST_CHECK wm_status wmi_train(const wmi_model *model, const wmi_params *params,
                                  const wm_chain *chain, const wmi_source *source,
                                  const wmi_train_opts *opts, float *theta, wmi_bridge_eval *last,
                                  wmi_train_result *result, wm_error *err);

#endif
