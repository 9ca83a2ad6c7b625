/* mnist.h - one row of the MNIST experiment: what to fit, how to judge it, and what came out. */
#ifndef REPRODUCE_MNIST_MNIST_H
#define REPRODUCE_MNIST_MNIST_H

#include "../experiment.h"
#include "waymark/ebm.h"

typedef enum mnist_method { MNIST_NOISE, MNIST_NCE, MNIST_TRE } mnist_method;

typedef struct mnist_job {
    mnist_method method;
    wm_ebm_opts fit;
    wm_ebm_walk walk; /* of AIS and RAISE; steps 0: direct only */
    double paper[3];  /* direct, RAISE, AIS in bits per dimension; NaN: the paper has none */
} mnist_job;

/* Means over the test images, bits per dimension, with standard errors in the same unit. */
typedef struct mnist_outcome {
    double direct, raise, ais, direct_se, raise_se, ais_se; /* NaN: not asked for */
    double valid;                                           /* direct, on validation images */
    double log_z, ess;
    double gradients; /* per second, of the chains of AIS */
    double seconds;   /* of fitting; NaN where a resumed run found the model */
    double seconds_judging;
    bool finished;
} mnist_outcome;

typedef struct mnist_data {
    wm_data *train, *valid, *test; /* (n, 784) bytes as numbers */
    int64_t height, width;
    char name[128]; /* where they came from */
} mnist_data;

extern const char *const mnist_noise_names[];
extern const char *const mnist_method_names[];

/* Fits, judges, and keeps model, state of training and chains, and a grid of draws in the run
 * folder under name. noise is a model with the noise that bridges stand on, NULL for the row of the
 * noise itself; *out gets that model if model is not NULL. */
WM_MUST_CHECK wm_status mnist_run(mnist_outcome *out, wm_ebm **model, const mnist_job *job,
                                  const mnist_data *data, const wm_ebm *noise, const char *name,
                                  const reproduce_settings *settings, wm_error *err);

#endif
