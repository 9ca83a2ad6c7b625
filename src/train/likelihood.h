/* likelihood.h - fitting a noise density by maximum likelihood: Adam on minibatches, validation
 * every epoch, the best parameters kept, checkpoints. The same promises as trainer.h: everything
 * random is a function of (seed, step), a resumed run ends in the same bits. */
#ifndef WMI_TRAIN_LIKELIHOOD_H
#define WMI_TRAIN_LIKELIHOOD_H

#include "noise/noise.h"
#include "waymark/fit.h"

/* Rows of the data, prepared as the noise sees them. Training rows may differ from epoch to epoch
 * (fresh dequantisation noise); validation rows are always the same. */
typedef struct wmi_rows_source {
    int64_t dim, n_train, n_valid;
    /* x (count, dim): the rows named by row (count), as epoch `epoch` sees them. */
    wm_status (*train)(void *ctx, int64_t epoch, int64_t count, const int64_t *row, float *x,
                       wm_error *err);
    /* Rows first .. first + count of the validation set. */
    wm_status (*valid)(void *ctx, int64_t first, int64_t count, float *x, wm_error *err);
    void *ctx;
} wmi_rows_source;

/* batch: rows. With a time limit the cosine is taken over iterations all the same. */
typedef struct wmi_likelihood_opts {
    wm_adam_opts adam; /* all of it set; but eval_every not: an epoch */
    wm_fit_control control;
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
