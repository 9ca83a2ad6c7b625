/** @file ebm.h
 * Energy-based models by telescoping: phi(x) = q(x) prod_k r_k(x), where q is a noise density that
 * is fitted first and the r_k are bridges from the data to it (paper, section 4.3). phi is a
 * density up to a constant Z that is 1 if the bridges are right: AIS and RAISE say how far it is.
 *
 * Log-likelihoods are of the data as they were given, in nats: the Jacobians of all that was done
 * to them are in. Bits per dimension are -log_likelihood / (dim log 2). */
#ifndef WAYMARK_EBM_H
#define WAYMARK_EBM_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "waymark/data.h"
#include "waymark/ratio.h"
#include "waymark/sample.h"
#include "waymark/sink.h"
#include "waymark/status.h"
#include "waymark/waymarks.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wm_ebm wm_ebm;

typedef enum wm_ebm_noise {
    WM_NOISE_GAUSSIAN, /**< full covariance */
    WM_NOISE_COPULA,   /**< Gaussian copula with a rational-quadratic spline for each column */
    WM_NOISE_FLOW,     /**< rational-quadratic spline couplings; convolutional for images */
} wm_ebm_noise;

/** Terms of a bridge's energy, any sum of them; 0: chosen by the data (images: additive and resnet;
 * tables: quadratic, additive and mlp). All are bounded above, so that phi can be normalised. */
#define WM_EBM_QUADRATIC 2u /**< -x'Qx - w'x, Q positive definite */
#define WM_EBM_ADDITIVE 4u  /**< a spline for each column, constant beyond its ends */
#define WM_EBM_MLP 8u
#define WM_EBM_RESNET 16u /**< the paper's CondResNet, for images */

/** A term by name and back, joined by '+': "additive+resnet". */
WM_API const char *wm_ebm_model_text(unsigned model, char *buf, size_t size);
WM_API WM_MUST_CHECK wm_status wm_ebm_model_parse(unsigned *out, const char *text, wm_error *err);

/** Stochastic training of one part. */
typedef struct wm_ebm_training {
    int64_t batch;      /**< rows of the noise's fit; waymark samples of the bridges' */
    int64_t iterations; /**< 0 leaves the part as it starts */
    double lr;
    double average; /**< decay of weight averaging; 0: none */
} wm_ebm_training;

/** The parts of a fit, in this order; each but the last may have no steps. */
typedef enum wm_ebm_stage {
    WM_EBM_STAGE_NOISE,   /**< copula and flow; the Gaussian's is closed */
    WM_EBM_STAGE_HEADS,   /**< quadratic and additive terms without the network */
    WM_EBM_STAGE_BRIDGES, /**< all terms */
    WM_EBM_STAGES,
} wm_ebm_stage;

typedef struct wm_ebm_progress {
    wm_ebm_stage stage;
    int64_t step;
    double train_loss, valid_loss; /**< noise: mean log-likelihood in nats, of the data as given */
    double direct;                 /**< bridges: mean of log phi over held-out rows, as given */
    double seconds;
    int64_t n_bridges;
    const wm_ratio_bridge *bridges; /**< (n_bridges) or NULL, read during the call only */
} wm_ebm_progress;

/** Settings; start from wm_ebm_opts_init(). */
typedef struct wm_ebm_opts {
    size_t struct_size;
    int64_t height, width, channels; /**< of images: dim = height * width * channels; height 0
                                        (default): rows are no images */
    double levels; /**< > 0: values are whole numbers 0 .. levels - 1, made continuous as (x + u) /
                      levels with u uniform, drawn afresh at every step; default 0: off */
    double logit;  /**< > 0: x in [0, 1] becomes the logit of logit + (1 - 2 logit) x; default 0:
                      off */
    bool standardize;   /**< columns to standard deviation 1, not only to mean 0; default true */
    wm_ebm_noise noise; /**< default gaussian */
    const wm_ebm *noise_of; /**< take transform and noise from this model, which was fitted to the
                               same data, instead of fitting them; NULL (default): fit */
    int64_t noise_bins;     /**< of splines; 0: 128 (copula), 8 (flow) */
    int64_t noise_hidden;   /**< flow: width of its networks; 0: 64 */
    int64_t noise_levels, noise_steps; /**< flow; 0: 2 x 8 for images, 1 x 8 for tables */
    double noise_dropout;              /**< flow; negative: 0.1 for images, 0 for tables */
    unsigned model; /**< WM_EBM_*; 0 (default): additive and mlp for images, or resnet where network
                       is given; all but resnet for tables */
    int filters;    /**< additive: splines of the principal components and of the whitened columns
                       (ZCA) too; 1: yes, -1: no, 0 (default): for images */
    const char *network; /**< resnet: "laptop", "paper" or a list such as "stem 5/2 32, 32, 32
                            down, 64, dense 128"; NULL (default): laptop */
    int64_t bases;       /**< additive: splines per column; 0: 16 */
    int64_t mlp_width, mlp_blocks; /**< 0: 512, 1 for images, 128, 2 for tables */
    int64_t bridges;               /**< m >= 1; default 10; 1 is noise-contrastive estimation */
    wm_spacing spacing; /**< default power 1; for images the first bridge is dropped at 0.01 */
    bool x_space;       /**< waymarks between data and noise themselves, not between what F
                           maps to them; the same for Gaussian noise */
    int spread; /**< every bridge has trajectories of its own, instead of all bridges the same ones;
                   1: yes, -1: no, 0 (default): for images over Gaussian noise, where that costs
                   nothing */
    wm_ratio_objective objective; /**< default logistic */
    wm_ebm_training train[WM_EBM_STAGES];
    double warmup; /**< share of a stage's steps over which the bridges' rate rises; default 0.02 */
    double weight_decay;       /**< of the bridges; default 0 */
    double held_out;           /**< share of the rows for validation where no table is given; 0.1 */
    uint64_t seed;             /**< default 1 */
    double time_limit;         /**< seconds for all stages; 0: none */
    const char *checkpoint;    /**< a file to write the state of training to; the earlier stages get
                                  names beside it; or NULL */
    double checkpoint_seconds; /**< between two writes; default 30 */
    bool resume;
    const wm_sink *sink;
    const volatile sig_atomic_t *stop;
    void (*on_eval)(void *ctx, const wm_ebm_progress *p);           /**< or NULL */
    void (*on_resume)(void *ctx, wm_ebm_stage stage, int64_t step); /**< or NULL */
    void *ctx;
} wm_ebm_opts;

WM_API void wm_ebm_opts_init(wm_ebm_opts *opts);

typedef struct wm_ebm_info {
    int64_t dim, height, width, channels, bridges;
    int64_t n_train, n_valid;
    wm_ebm_noise noise;
    unsigned model;
    double levels; /**< whole numbers 0 .. levels - 1, or 0 */
    bool x_space;
    bool finished;       /**< false: ended by stop or time */
    double noise_loglik; /**< of the noise alone, mean over held-out rows, nats, data as given */
    double direct;       /**< the same of phi, taking Z as 1 */
    double seconds[WM_EBM_STAGES];
    int64_t steps[WM_EBM_STAGES];
} wm_ebm_info;

/** Fit noise and bridges.
 * @param[out] out  new model, freed with wm_ebm_free(); NULL on failure
 * @param data      (n, dim) samples
 * @param valid     held-out samples for choosing the best step, or NULL: a share of data
 * @return WM_OK; WM_EINVAL (settings, values out of range), WM_ESHAPE, WM_ENOMEM, WM_EDIVERGED,
 * WM_EIO, WM_EFORMAT (checkpoint), WM_EINTERRUPTED (before there was a model). */
WM_API WM_MUST_CHECK wm_status wm_ebm_fit(wm_ebm **out, const wm_data *data, const wm_data *valid,
                                          const wm_ebm_opts *opts, wm_error *err);
WM_API void wm_ebm_free(wm_ebm *e); /**< NULL is fine */
WM_API void wm_ebm_get_info(const wm_ebm *e, wm_ebm_info *info);
WM_API void wm_ebm_get_bridge(const wm_ebm *e, int64_t k, wm_ratio_bridge *bridge);

/** Write the model as safetensors, whole or not at all. */
WM_API WM_MUST_CHECK wm_status wm_ebm_save(const wm_ebm *e, const char *path, wm_error *err);
WM_API WM_MUST_CHECK wm_status wm_ebm_load(wm_ebm **out, const char *path, wm_error *err);

/** log phi at the rows of @p x, or of the noise alone: (count), nats, data as given. With levels
 * the rows get the uniform numbers of (seed, row), always the same.
 * @param[out] log_q   or NULL
 * @param[out] log_phi or NULL */
WM_API WM_MUST_CHECK wm_status wm_ebm_log_density(const wm_ebm *e, const wm_data *x, uint64_t seed,
                                                  double *log_q, double *log_phi, wm_error *err);

/* --- walking between noise and model, in the space where the noise is N(0, I) ---- */

/** How AIS, RAISE and sampling walk from the noise to the model and back. */
typedef struct wm_ebm_walk {
    size_t struct_size;
    int64_t chains;         /**< default 100 */
    int64_t steps;          /**< intermediate densities in all; default 1000 */
    wm_kernel kernel;       /**< default NUTS */
    int64_t max_depth;      /**< of its trees while annealing; default 6 */
    double target_accept;   /**< default 0.6 */
    int64_t draws;          /**< sampling: kept for each chain after annealing; default 1: its last
                               state */
    int64_t warmup;         /**< sampling: transitions before them where draws > 1; default 50 */
    int64_t thin;           /**< sampling: transitions for each draw; default 10 */
    int64_t draw_depth;     /**< sampling: of the trees after annealing; default 10 */
    uint64_t seed;          /**< default 1 */
    const char *checkpoint; /**< a file for the state of the chains, or NULL */
    double checkpoint_seconds; /**< between two writes; default 60 */
    bool resume;               /**< from the checkpoint, if it is there: the same bits as without a
                                  stop */
    const wm_sink *sink;
    const volatile sig_atomic_t *stop;
} wm_ebm_walk;

WM_API void wm_ebm_walk_init(wm_ebm_walk *walk);

/** Chains that walked. */
typedef struct wm_ebm_chains {
    int64_t chains, dim, bridges;
    double *x;                  /**< (chains, dim) last states, data as given but not rounded */
    double *log_w;              /**< (chains) log weights of AIS, estimates of log p of RAISE */
    double *table;              /**< (bridges + 1) step sizes; see wm_annealed */
    double *accept, *leapfrogs; /**< (bridges) */
    int64_t divergent;          /**< transitions */
    int64_t evals;              /**< points at which the model was asked */
} wm_ebm_chains;
WM_API void wm_ebm_chains_free(wm_ebm_chains *c); /**< NULL is fine */

/** AIS: log Z of phi, from draws of the noise.
 * @param[out] chains  or NULL
 * @return WM_OK; WM_EINTERRUPTED (the checkpoint is written), WM_EDIVERGED (all chains failed), ...
 */
WM_API WM_MUST_CHECK wm_status wm_ebm_ais(wm_ais *out, wm_ebm_chains **chains, const wm_ebm *e,
                                          const wm_ebm_walk *walk, wm_error *err);
/** RAISE: the log-likelihood of rows, in expectation never too large.
 * @param x        its first walk->chains rows are starting points (or all, if there are fewer)
 * @param log_phi  (count of x) from wm_ebm_log_density() with @p seed: the control variate
 * @param seed     of the uniform numbers of x
 * @param table    step sizes of an AIS run, or NULL: a pilot finds them */
WM_API WM_MUST_CHECK wm_status wm_ebm_raise(wm_raise *out, wm_ebm_chains **chains, const wm_ebm *e,
                                            const wm_data *x, const double *log_phi, uint64_t seed,
                                            const double *table, const wm_ebm_walk *walk,
                                            wm_error *err);
/** Draws of the model: annealing from the noise, then, where more than one draw is wanted of a
 * chain, NUTS on the whole model.
 * @param[out] out  draws, x as data were given but not rounded; freed with wm_ebm_draws_free()
 * @param[out] diagnosis  of the draws in z-space, or NULL; NULL comes back with fewer than 4 draws
 */
WM_API WM_MUST_CHECK wm_status wm_ebm_sample(wm_draws **out, wm_diagnosis **diagnosis,
                                             const wm_ebm *e, const wm_ebm_walk *walk,
                                             wm_error *err);
WM_API void wm_ebm_draws_free(wm_draws *d); /**< NULL is fine */

#ifdef __cplusplus
}
#endif
#endif
