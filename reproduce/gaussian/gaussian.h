/* gaussian.h - one estimate of the Gaussian experiment: what to fit, and what came out. The demo
 * runs the same. */
#ifndef REPRODUCE_GAUSSIAN_GAUSSIAN_H
#define REPRODUCE_GAUSSIAN_GAUSSIAN_H

#include "../experiment.h"
#include "waymark/ratio.h"

typedef enum gaussian_method { GAUSSIAN_SINGLE, GAUSSIAN_TRE, GAUSSIAN_CONVEX } gaussian_method;

enum { GAUSSIAN_RATES = 3, GAUSSIAN_BRIDGES = 16 };

typedef struct gaussian_job {
    gaussian_method method;
    wm_ratio_model model; /* quadratic, or MLP */
    wm_ratio_form form;   /* of Q */
    wm_objective objective;
    int64_t dim, bridges, n; /* n: training rows of p */
    double mi;               /* the truth, nats; sets the correlation */
    wm_adam_opts adam;
    double rates[GAUSSIAN_RATES]; /* of Adam, tried in turn up to the first 0: the lowest held-out
                                     loss stays; none: adam.lr */
    bool papers;                  /* the paper's own settings */
} gaussian_job;

typedef struct gaussian_outcome {
    double mi, mi_se;    /* on fresh rows; NaN where training diverged */
    double seconds;      /* of fitting, at all rates */
    double to_3_percent; /* seconds until held-out rows first said so, and stayed; NaN: never, or
                            not looked at */
    double lr;           /* the rate that stayed */
    int64_t steps;
    bool diverged;
    wm_bridge bridge[GAUSSIAN_BRIDGES]; /* loss and accuracy at held-out rows, the mean log-ratio
                                           at fresh ones */
} gaussian_outcome;

extern const char *const gaussian_method_names[]; /* "single-adam", "tre-adam", "tre-convex" */
/* KL(p_k || p_k+1) of waymarks with spacing k / m. */
double gaussian_true_kl(const gaussian_job *job, int64_t k);

/* mi, mi_se and bridge of out, at rows of the streams "gaussian/fresh ..." that no fit has seen. */
WM_MUST_CHECK wm_status gaussian_evaluate(gaussian_outcome *out, const wm_ratio *r,
                                          const gaussian_job *job, uint64_t seed, wm_error *err);

/* Fits and evaluates. name is that of its files in the run folder: NAME.safetensors for the model
 * and NAME-state.safetensors while it trains, or NAME-rate-LR-state of several rates. */
WM_MUST_CHECK wm_status gaussian_run(gaussian_outcome *out, const gaussian_job *job,
                                     const char *name, const reproduce_settings *settings,
                                     wm_error *err);

#endif
