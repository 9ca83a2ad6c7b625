/** @file ebm.h
 * Energy-based models by telescoping: phi(x) = q(x) prod_k r_k(x), where q is a noise density that
 * is fitted first and the r_k are bridges from the data to it (paper, section 4.3). phi is a
 * density up to a constant Z that is 1 if the bridges are right: AIS and RAISE say how far it is.
 *
 * Log-likelihoods are of the data as they were given, in nats: the Jacobians of all that was done
 * to them are in. Bits per dimension are -log_likelihood / (dim log 2). */
#ifndef WAYMARK_EBM_H
#define WAYMARK_EBM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "waymark/check.h"
#include "waymark/data.h"
#include "waymark/fit.h"
#include "waymark/read.h"
#include "waymark/sample.h"
#include "waymark/status.h"
#include "waymark/waymarks.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A model: noise and bridges. */
typedef struct wm_ebm wm_ebm;

/** Noise densities with their names; files, options and tables all take them from here.
 * - gaussian: full covariance
 * - copula: Gaussian copula with a rational-quadratic spline for each column
 * - flow: rational-quadratic spline couplings; convolutional for images */
#define WM_EBM_NOISES(X) X(GAUSSIAN, "gaussian") X(COPULA, "copula") X(FLOW, "flow")

/** WM_NOISE_GAUSSIAN and so on: WM_EBM_NOISES. */
typedef enum wm_ebm_noise {
#define WM_EBM_NOISE_ENUM(name, text) WM_NOISE_##name,
    WM_EBM_NOISES(WM_EBM_NOISE_ENUM)
#undef WM_EBM_NOISE_ENUM
} wm_ebm_noise;

/** Terms of a bridge's energy, any sum of them. All are bounded above, so
 * that phi can be normalised. */
#define WM_EBM_QUADRATIC 2u /**< -x'Qx - w'x, Q positive definite */
#define WM_EBM_ADDITIVE 4u  /**< a spline for each column, constant beyond its ends */
#define WM_EBM_MLP 8u       /**< a residual network on the columns */
#define WM_EBM_RESNET 16u   /**< the paper's CondResNet, for images */

/** A term by name and back, joined by '+': "additive+resnet". */
WM_API const char *wm_ebm_model_text(unsigned model, char *buf, size_t size);
WM_API WM_MUST_CHECK wm_status wm_ebm_model_parse(unsigned *out, const char *text, wm_error *err);

/** Settings; start from wm_ebm_opts_init(). */
typedef struct wm_ebm_opts {
    size_t struct_size;              /**< set by wm_ebm_opts_init() */
    int64_t height, width, channels; /**< of images: dim = height * width * channels; height 0
                                        (default): rows are no images */
    double levels; /**< > 0: values are whole numbers 0 .. levels - 1, made continuous as (x + u) /
                      levels with u uniform, drawn afresh at every step; default 0: off */
    double logit;  /**< > 0: x in [0, 1] becomes the logit of logit + (1 - 2 logit) x; default 0:
                      off */
    wm_choice standardize;  /**< columns to standard deviation 1, not only to mean 0; auto
                               (default): but for a resnet, which reads images that are only
                               centred */
    wm_ebm_noise noise;     /**< default gaussian */
    const wm_ebm *noise_of; /**< take transform and noise from this model, which was fitted to the
                               same data, instead of fitting them; NULL (default): fit */
    int64_t noise_bins;     /**< of splines; not set (default): 128 (copula), 8 (flow) */
    int64_t noise_hidden;   /**< flow: width of its networks; not set (default): 64 */
    int64_t noise_levels, noise_steps; /**< flow; not set (default): 2 x 8 for images, 1 x 8 for
                                          tables */
    double noise_dropout;              /**< flow; not set (default): 0.1 for images, 0 for tables */
    unsigned model;    /**< WM_EBM_*; 0 (default): additive and mlp for images, additive and resnet
                          where network is given; quadratic, additive and mlp for tables */
    wm_choice filters; /**< additive: splines of the principal components and of the whitened
                          columns (ZCA) too; auto (default): for images */
    const char *network; /**< resnet: "laptop", "paper" or a list such as "stem 5/2 32, 32, 32
                            down, 64, dense 128"; NULL (default): laptop */
    int64_t bases;       /**< additive: splines per column; not set (default): 16 */
    int64_t mlp_width;  /**< not set (default): 512 for images (768 with denoise), 128 for tables */
    int64_t mlp_blocks; /**< not set (default): 1 for images, 2 for tables and with denoise */
    int64_t bridges;    /**< m >= 1; default 10; 1 is noise-contrastive estimation */
    wm_spacing spacing; /**< default power 1, with denoise snr 5 in its place; for images, and with
                           denoise, the first bridge is dropped at 0.01 */
    bool x_space;       /**< waymarks between data and noise themselves, not between what F
                           maps to them; the same for Gaussian noise */
    wm_choice spread; /**< every bridge has trajectories of its own, instead of all bridges the same
                         ones; auto (default): for images over Gaussian noise, where that costs
                         nothing, unless the objective is multinomial */
    wm_objective objective; /**< default logistic. Denoise: bridges are differences of levels log
                               p_k / p_m, one function of the level, whose gradients in z-space are
                               regressed; 22 bridges suit images. Not with x_space */
    /** Of noise (copula and flow; the Gaussian's is closed), heads and bridges; 0 iterations leave
     * out a part. batch: rows of the noise's fit, waymark samples of the bridges'. Nothing is set
     * by default, and taken as follows (iterations x batch, lr, average):
     * - noise: copula 3000 x 512, 5e-3, 0.99; flow 20000 x 256, 1e-3, 0.995, clip 50; patience 30
     * - heads: images 3000 x 600, 4e-3, 0.99; tables 1000 x 1024, 1e-2, 0.99
     * - bridges: resnet 20000 x 550, 5e-4, 0.999; other images 8000 x 750, 1e-3, 0.99; tables
     *   5000 x 2048, 2e-3, 0.995
     * - images with denoise: heads 2000 x 138, 1e-2, 0.98; bridges 20000 x 138, 2e-3, 0.999 */
    wm_adam_opts train[WM_STAGES];
    double warmup;   /**< share of the steps over which the rate of heads and bridges rises, where
                        train says nothing; default 0.02 */
    double held_out; /**< share of the rows for validation where no table is given; default 0.1 */
    wm_fit_control control; /**< time_limit: for all stages; checkpoint: of the last stage, the
                               earlier ones get names beside it */
    /** What the columns were read as, or NULL (default): all are numbers on a continuum. With it,
     * and without images, levels and logit, columns are what their values say: constant ones are
     * left out; categories, and numbers of few values, are normal scores within the shares that
     * their values have, the noise that a table gives; other whole numbers become x + u, u uniform.
     * Log-likelihoods are then, in expectation, lower bounds, and draws have values of the data.
     * Read during the call; the model keeps it. */
    const wm_schema *schema;
    wm_choice discrete; /**< no: every column has a density; auto (default): look */
    /** Denoise, where there is a network: share of the steps, the last, in which chains walk by the
     * levels, from waymarks, and what these promise where chains go is taken back; in [0, 1]. The
     * last evaluation is kept then, not the best. Such a step costs some two others. Default 0:
     * none. */
    double settle;
} wm_ebm_opts;

/** Fill in the defaults. Threads: safe. */
WM_API void wm_ebm_opts_init(wm_ebm_opts *opts);

/** What was fitted, and how it went. */
typedef struct wm_ebm_info {
    int64_t dim, bridges;            /**< columns of the densities; m */
    int64_t height, width, channels; /**< of images; height 0: rows are none */
    int64_t n_train, n_valid;        /**< rows */
    wm_ebm_noise noise;              /**< kind of noise */
    unsigned model;                  /**< WM_EBM_* */
    double levels;                   /**< whole numbers 0 .. levels - 1, or 0 */
    bool x_space;                    /**< waymarks lie between data and noise themselves */
    bool finished;                   /**< false: ended by stop or time */
    double noise_loglik; /**< of the noise alone, mean over held-out rows, nats, data as given */
    double direct;       /**< the same of phi, taking Z as 1 */
    double seconds[WM_STAGES]; /**< of each stage */
    int64_t steps[WM_STAGES];  /**< of each stage */
    int64_t columns;           /**< of the data, of which dim are modelled: constant ones are not */
    int64_t discrete;          /**< columns whose values have shares */
    int64_t whole;             /**< columns of other whole numbers */
} wm_ebm_info;

/** Fit noise and bridges.
 * @param[out] out  new model, freed with wm_ebm_free(); NULL on failure
 * @param data      (n, columns) samples
 * @param valid     held-out samples for choosing the best step, or NULL: a share of data
 * @return WM_OK; WM_EINVAL (settings, values out of range), WM_ESHAPE, WM_ENOMEM, WM_EDIVERGED,
 * WM_EIO, WM_EFORMAT (checkpoint), WM_EINTERRUPTED (before there was a model). */
WM_API WM_MUST_CHECK wm_status wm_ebm_fit(wm_ebm **out, const wm_data *data, const wm_data *valid,
                                          const wm_ebm_opts *opts, wm_error *err);
WM_API void wm_ebm_free(wm_ebm *e); /**< NULL is fine */
/** What was fitted. */
WM_API void wm_ebm_get_info(const wm_ebm *e, wm_ebm_info *info);
/** What a column of the data is to the model: continuous, other whole numbers (integer), or values
 * with shares (categorical). */
WM_API wm_kind wm_ebm_kind(const wm_ebm *e, int64_t column);
WM_API bool wm_ebm_is_constant(const wm_ebm *e, int64_t column); /**< it is left out */
/** The schema of the columns as wm_schema_parse() reads it, borrowed; NULL where none was given. */
WM_API const char *wm_ebm_schema(const wm_ebm *e);
/** Bridge k, 0 <= k < bridges. */
WM_API void wm_ebm_get_bridge(const wm_ebm *e, int64_t k, wm_bridge *bridge);

/** Write the model as safetensors, whole or not at all. */
WM_API WM_MUST_CHECK wm_status wm_ebm_save(const wm_ebm *e, const char *path, wm_error *err);
/** Read it back. @return WM_OK; WM_EIO, WM_EFORMAT (no model of ours, or a newer one), WM_ENOMEM */
WM_API WM_MUST_CHECK wm_status wm_ebm_load(wm_ebm **out, const char *path, wm_error *err);

/** log phi at the rows of @p x, or of the noise alone: (count), nats, data as given. With levels
 * the rows get the uniform numbers of (seed, row), always the same.
 * @param[out] log_q   or NULL
 * @param[out] log_phi or NULL
 * @param stop  looked at every few rows, or NULL: WM_EINTERRUPTED when it is set
 * @return WM_OK; WM_ESHAPE, WM_EINVAL (values that the columns do not have), WM_EDIVERGED (no
 *         number for a row; minus infinity is one), WM_ENOMEM */
WM_API WM_MUST_CHECK wm_status wm_ebm_log_density(const wm_ebm *e, const wm_data *x, uint64_t seed,
                                                  double *log_q, double *log_phi,
                                                  const volatile sig_atomic_t *stop, wm_error *err);

/* --- walking between noise and model, in the space where the noise is N(0, I) ---- */

/** How AIS, RAISE and sampling walk from the noise to the model and back. */
typedef struct wm_ebm_walk {
    size_t struct_size;     /**< set by wm_ebm_walk_init() */
    int64_t chains;         /**< default 100 */
    int64_t steps;          /**< intermediate densities in all; default 1000 */
    wm_kernel kernel;       /**< default NUTS */
    int64_t max_depth;      /**< of its trees while annealing; default 6 */
    double target_accept;   /**< while annealing; default 0.6 */
    int64_t draws;          /**< sampling: kept for each chain after annealing; default 1: its last
                               state */
    int64_t warmup;         /**< sampling: transitions before them where draws > 1; default 200 */
    int64_t thin;           /**< sampling: transitions for each draw; default 5 */
    int64_t draw_depth;     /**< sampling: of the trees after annealing; default 10 */
    wm_fit_control control; /**< checkpoint: the state of the chains, by default once a minute;
                               time_limit: then they end as by stop, with WM_EINTERRUPTED. The
                               callbacks are not used */
    double draw_target;     /**< sampling: acceptance after annealing, where chains are to stay
                               true to the density; default 0.9 */
} wm_ebm_walk;

/** Fill in the defaults. Threads: safe. */
WM_API void wm_ebm_walk_init(wm_ebm_walk *walk);

/** Chains that walked. */
typedef struct wm_ebm_chains {
    int64_t chains, dim, bridges; /**< dim: columns of the data */
    double *x;                    /**< (chains, dim) last states, data as given but not rounded */
    double *log_w;                /**< (chains) log weights of AIS, estimates of log p of RAISE */
    double *table;                /**< (bridges + 1) step sizes; see wm_annealed */
    double *accept, *leapfrogs;   /**< (bridges) */
    int64_t divergent;            /**< transitions */
    int64_t evals;                /**< points at which the model was asked */
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
/** Adds what could be wrong with the model to the checks of an answer.
 * @param ais  of wm_ebm_ais(): whether Z is 1; NULL: nobody has looked, and the model is doubted
 * for it */
WM_API void wm_ebm_check(const wm_ebm *e, const wm_ais *ais, wm_checks *list);

#ifdef __cplusplus
}
#endif
#endif
