/* likelihood.h - fitting a noise density by maximum likelihood: Adam on minibatches, validation
 * every epoch, the best parameters kept, checkpoints. The same promises as trainer.h: everything
 * random is a function of (seed, step), a resumed run ends in the same bits. */
#ifndef WMI_TRAIN_LIKELIHOOD_H
#define WMI_TRAIN_LIKELIHOOD_H

#include <signal.h>

#include "noise/noise.h"
#include "optim/lr_schedule.h"
#include "waymark/sink.h"

/* Rows of the data, prepared as the noise sees them. Training rows may differ from epoch to epoch
 * (fresh dequantisation noise); validation rows are always the same. */
typedef struct wmi_rows_source {
    int64_t dim, n_train, n_valid;
    /* x (count, dim): the rows named by row (count), as epoch `epoch` sees them. */
    void (*train)(void *ctx, int64_t epoch, int64_t count, const int64_t *row, float *x);
    /* Rows first .. first + count of the validation set. */
    void (*valid)(void *ctx, int64_t first, int64_t count, float *x);
    void *ctx;
} wmi_rows_source;

typedef struct wmi_likelihood_eval {
    int64_t step;
    double train, valid; /* mean log-likelihood, nats a row */
} wmi_likelihood_eval;

typedef struct wmi_likelihood_opts {
    int64_t batch, iterations;
    int64_t eval_every; /* steps; 0: an epoch */
    int64_t patience;   /* evaluations without a better likelihood; 0: for ever */
    double lr;
    wmi_lr_kind schedule;
    int64_t warmup;
    double clip;    /* norm that a gradient may have; 0: any */
    double average; /* decay of the weight average that is validated and kept; 0: none */
    uint64_t seed;
    double time_limit;      /* seconds, of this process; 0: none. With a limit the cosine is taken
                               over iterations all the same */
    const char *checkpoint; /* file, or NULL */
    double checkpoint_seconds; /* between two writes */
    bool resume;               /* from the checkpoint, if it is there */
    const wm_sink *sink;
    const volatile sig_atomic_t *stop;
    void (*on_eval)(void *ctx, const wmi_likelihood_eval *eval); /* or NULL */
    void (*on_resume)(void *ctx, int64_t step);                  /* or NULL */
    void *on_eval_ctx;
} wmi_likelihood_opts;

void wmi_likelihood_opts_init(wmi_likelihood_opts *opts, wmi_noise_kind kind);

typedef struct wmi_likelihood_result {
    bool finished; /* false: ended by stop or time */
    int64_t steps, best_step;
    double best; /* mean log-likelihood of the validation rows */
    double seconds;
} wmi_likelihood_result;

/* theta (wmi_params_count of the table) holds the start (wmi_noise_start) and receives the best
 * parameters, finished. WM_EDIVERGED, WM_ENOMEM, WM_EIO, WM_EFORMAT. */
WM_MUST_CHECK wm_status wmi_likelihood_fit(const wmi_noise_opts *noise, const char *prefix,
                                           const wmi_params *params, const wmi_rows_source *source,
                                           const wmi_likelihood_opts *opts, double *theta,
                                           wmi_likelihood_result *result, wm_error *err);

#endif
