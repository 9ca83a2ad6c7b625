/* own_draws.h - chains that walk by the levels while these are learned, and hold them to what they
 * promise.
 *
 * Denoising looks at waymarks only: what f_k says where no waymark is, chains find out later. So
 * each level has chains now: they start at waymarks of theirs, walk by p_k = exp(f_k) N(0, I) as it
 * is at the time, and start again from another waymark after a while, now and then. Their share of
 * the loss is the mean of f_k where they are less that where they started: what the model promises
 * where its own chains go is taken back. If f_k is right waymarks are draws of p_k, and remain so
 * however long a chain walks, for what moves them leaves p_k alone: the mean is 0, and so is its
 * gradient, whatever the other terms are. That is the gradient of maximum likelihood (contrastive
 * divergence), about a chain's own start, which takes off what rows differ by from each other.
 *
 * How chains move is the caller's business: rooms of networks know no samplers. */
#ifndef WMI_TRAIN_OWN_DRAWS_H
#define WMI_TRAIN_OWN_DRAWS_H

#include "nn/bridge_model.h"
#include "train/batcher.h"

/* log p_k and its gradient at rows z (n, dim), each of its level: log_f (n), grad (n, dim). */
typedef wm_status wmi_own_density(void *of, const float *z, double *log_f, float *grad,
                                  wm_error *err);

/* What moves chains. */
typedef struct wmi_mover {
    /* One transition, of a number of its own, for each of n rows z (n, dim), with step sizes step
     * (n); leaves the density as it is. accept (n): shares, to adapt the step sizes by. */
    wm_status (*move)(void *ctx, int64_t number, int64_t n, int64_t dim, const double *step,
                      wmi_own_density *density, void *of, float *z, double *accept, wm_error *err);
    void *ctx;
} wmi_mover;

typedef struct wmi_own_opts {
    const wmi_mover *mover; /* NULL: no chains */
    int64_t rows;           /* chains of each level */
    double weight;          /* of their share of the loss, in nats */
    int64_t from;           /* step from which on they have it */
    int64_t every;          /* steps between two transitions */
    double stay;            /* transitions of a chain, on the average */
} wmi_own_opts;

typedef struct wmi_own_draws wmi_own_draws;

/* theta, knots, filter and the source are kept, and the mover. alpha (levels) of the levels. */
WM_MUST_CHECK wm_status wmi_own_draws_new(wmi_own_draws **out, const wmi_model *model,
                                          const wmi_params *params, const double *alpha,
                                          const wmi_source *source, const wmi_own_opts *opts,
                                          uint64_t seed, float *theta, const float *knots,
                                          const float *filter, wm_error *err);
void wmi_own_draws_free(wmi_own_draws *d);

/* All that a step depends on but theta, as numbers: (size) of them; borrowed. */
float *wmi_own_draws_state(wmi_own_draws *d, int64_t *size);

/* Chains start where there are none, or again, from waymarks z (levels, waymarks, dim), and move.
 * Not for step numbers that have been. */
WM_MUST_CHECK wm_status wmi_own_draws_step(wmi_own_draws *d, int64_t step, int64_t waymarks,
                                           const float *z, wm_error *err);
/* Rows where chains are, then where they started, as the bridges see them: x (2, levels, rows,
 * dim); and their weights in the loss: pull (levels, 2 levels rows). */
WM_MUST_CHECK wm_status wmi_own_draws_fill(wmi_own_draws *d, float *x, float *pull, wm_error *err);

#endif
