/** @file sample.h
 * Markov chain Monte Carlo on any log-density: NUTS, HMC and MALA over many chains, annealing along
 * a path of bridges, AIS and RAISE estimates of normalising constants, convergence diagnostics.
 *
 * Chains are state machines that do not wait for each other: one call of the density serves every
 * chain that needs a point, wherever in its own trajectory it is. Random numbers are a function of
 * (seed, chain, transition): the draws of a chain do not depend on how many others run beside it,
 * nor on where a run was interrupted.
 *
 * Energy-based models walk by these functions inside of the library (ebm.h). For densities of one's
 * own, from C: examples/own_density.c, and tests/sample, which use this header alone. */
#ifndef WAYMARK_SAMPLE_H
#define WAYMARK_SAMPLE_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "waymark/check.h"
#include "waymark/sink.h"
#include "waymark/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A density with a path to it: log f_w(x) = log base(x) + sum_k w_k log r_k(x). Bridges are
 * removed from k = 0 (the data's side) on and added from k = bridges - 1 (the noise's side) on.
 * With bridges = 0 it is one density, base. */
typedef struct wm_path {
    int64_t dim, bridges; /**< columns of x; bridges, or 0 */
    /** At @p n points: log f and its gradient.
     * @param x          (n, dim)
     * @param weights    (n, bridges) w of every point, in [0, 1]; NULL without bridges. Those of
     *                   weight 0 at every point need not be evaluated
     * @param[out] log_f (n); if it or its gradient is not finite, the chain has a divergence
     * @param[out] grad  (n, dim) of log_f, or NULL where it is not wanted
     * @param[out] terms (n, bridges) log r_k of each point's first k with w_k > 0, or NULL where
     * not wanted. The others may be left as they are, or NaN
     * @return WM_OK, or a failure that ends the run. */
    wm_status (*eval)(void *ctx, int64_t n, const double *x, const double *weights, double *log_f,
                      double *grad, double *terms, wm_error *err);
    void *ctx; /**< of eval */
} wm_path;

/* --- moves -------------------------------------------------------------------------------------*/

/** How a chain makes its next state. */
typedef enum wm_kernel {
    WM_KERNEL_NUTS, /**< multinomial No-U-Turn sampler with Stan's checks; no length to choose */
    WM_KERNEL_HMC,  /**< a fixed number of leapfrogs */
    WM_KERNEL_MALA, /**< one leapfrog: Langevin with Metropolis' correction */
} wm_kernel;
/** What clients call them, by number and up to NULL: for an array of texts. */
#define WM_KERNEL_NAMES                                                                            \
    {                                                                                              \
        "nuts", "hmc", "mala", NULL                                                                \
    }

/** How chains move. Part of wm_sample_opts and wm_anneal_opts, whose _init fill it. */
typedef struct wm_moves {
    wm_kernel kernel;     /**< default NUTS */
    double target_accept; /**< in (0, 1) what step sizes are adapted to; 0 (default): 0.8, and 0.574
                               for MALA */
    double step_size;     /**< where adaptation starts; 0 (default): searched for */
    int64_t hmc_steps;    /**< leapfrogs of a transition of HMC, default 10 */
    double hmc_jitter;    /**< in [0, 1): HMC's step is multiplied by 1 +- up to this, so that no
                               period of the density is hit; default 0.2 */
    double max_energy_error; /**< an error of the energy above it is a divergence; default 1000 */
    const double *inv_mass;  /**< (dim) > 0: variances to start from, or NULL: ones; read by _new */
} wm_moves;

/** Asked for by the running task, from the thread that runs it, between two evaluations: a good
 * moment to export its state and write it. A failure ends the run. */
typedef struct wm_save {
    wm_status (*call)(void *ctx, wm_error *err); /**< or NULL */
    void *ctx;                                   /**< of call */
    double seconds; /**< least time between two calls; default 60. Also called when stopped */
} wm_save;

/* --- sampling ----------------------------------------------------------------------------------*/

/** What is done to the inverse masses. */
typedef enum wm_mass {
    WM_MASS_IDENTITY, /**< inv_mass as given, never changed */
    WM_MASS_DIAGONAL, /**< adapted in Stan's windows of the warm-up */
} wm_mass;

/** Settings; start from wm_sample_opts_init(). */
typedef struct wm_sample_opts {
    size_t struct_size;   /**< set by wm_sample_opts_init() */
    wm_moves moves;       /**< how chains move */
    int64_t warmup;       /**< transitions that adapt and are not kept, default 1000; may be 0 */
    int64_t draws;        /**< kept for each chain, default 1000 */
    int64_t thin;         /**< transitions for each kept draw, default 1 */
    wm_mass mass;         /**< default diagonal */
    int64_t max_depth;    /**< of NUTS' trees, 1 to 20, default 10: up to 1023 leapfrogs */
    int64_t warmup_depth; /**< the same while warming up, default 6 */
    uint64_t seed;        /**< default 1 */
    const wm_sink *sink;  /**< progress in transitions of all chains; or NULL */
    const volatile sig_atomic_t *stop; /**< set by a signal handler: leave at once; or NULL */
    wm_save save;                      /**< when the state may be saved */
} wm_sample_opts;

/** Fill in the defaults. Threads: safe. */
WM_API void wm_sample_opts_init(wm_sample_opts *opts);

/** What was drawn. Arrays are [chain, draw] unless they say otherwise. Under thinning the
 * statistics speak for all transitions of a kept draw: the mean acceptance, the sum of leapfrogs,
 * the largest depth, whether any diverged; lp, energy and step size are the last one's. */
typedef struct wm_draws {
    int64_t chains, draws, dim; /**< sizes of the arrays */
    int64_t max_depth;          /**< that the trees were allowed; 0 if they are none */
    double *x;                  /**< (chains, draws, dim) */
    double *lp;                 /**< log density */
    double *accept;      /**< mean over leapfrogs of min(1, exp(-energy error)); HMC: of the last */
    double *step_size;   /**< of the last transition */
    double *energy;      /**< - lp + kinetic energy of the state that was drawn */
    int64_t *depth;      /**< doublings of the tree; 0 for HMC and MALA */
    int64_t *n_leapfrog; /**< steps of the integrator */
    unsigned char *divergent; /**< 0 or 1 */
} wm_draws;

/** A run: new, run (again, after it was interrupted), read the draws, free. Not for two threads at
 * once; itself uses as many as OpenMP has. */
typedef struct wm_sampler wm_sampler;

/** @param path   copied; its ctx must outlive the sampler. All bridges have weight 1
 * @param start  (chains, dim), copied
 * @param opts   or NULL for defaults; sink, stop and save must outlive the sampler
 * @return WM_OK, WM_EINVAL (a setting; a start that is not finite, with its place), WM_ENOMEM */
WM_API WM_MUST_CHECK wm_status wm_sampler_new(wm_sampler **out, const wm_path *path, int64_t chains,
                                              const double *start, const wm_sample_opts *opts,
                                              wm_error *err);
WM_API void wm_sampler_free(wm_sampler *s); /**< NULL is fine */

/** Goes on until all draws are made. Nothing is allocated.
 * @return WM_OK; WM_EINTERRUPTED (the stop flag: call again to go on, or export); WM_EDIVERGED (the
 *         density or its gradient is not finite at a chain's start, or no step size moves it);
 *         whatever path's eval or save's call returns. */
WM_API WM_MUST_CHECK wm_status wm_sampler_run(wm_sampler *s, wm_error *err);

/** Borrowed. Complete after a run that returned WM_OK; else chain c has wm_sampler_done(s, c). */
WM_API const wm_draws *wm_sampler_draws(const wm_sampler *s);
WM_API int64_t wm_sampler_done(const wm_sampler *s, int64_t chain); /**< draws that are there */
/** (dim) inverse masses (variances) that a chain has now, and its step size. */
WM_API const double *wm_sampler_inv_mass(const wm_sampler *s, int64_t chain);
WM_API double wm_sampler_step_size(const wm_sampler *s, int64_t chain);
WM_API int64_t wm_sampler_evals(const wm_sampler *s); /**< points at which eval was asked so far */

/** The whole state, draws included, as plain numbers, at any time outside run or from save's call:
 * transitions that are under way are left out and made again. A run that goes on from an imported
 * state gives the same bits as one that was never stopped, if eval gives a row the same bits
 * whatever stands in the others. */
WM_API int64_t wm_sampler_state_size(const wm_sampler *s); /**< of the array, in doubles */
WM_API void wm_sampler_export(const wm_sampler *s, double *state);
/** Into a sampler made with the same arguments. @return WM_OK; WM_EINVAL says what differs, and the
 * sampler can then only be freed. */
WM_API WM_MUST_CHECK wm_status wm_sampler_import(wm_sampler *s, const double *state, int64_t size,
                                                 wm_error *err);

/* --- how good the draws are --------------------------------------------------------------------*/

/** Vehtari, Gelman, Simpson, Carpenter, Bürkner 2021, as ArviZ and Stan compute it. NaN where there
 * is too little (fewer than four draws) or a draw is not finite. */
typedef struct wm_diagnosis {
    int64_t chains, draws, dim; /**< of the draws that were looked at */
    double *mean, *sd;          /**< (dim) over all draws */
    double *rhat;               /**< (dim) rank-normalised, split, the worse of bulk and folded */
    double *ess_bulk;           /**< (dim) effective sample size of the rank-normalised draws */
    double *ess_tail;           /**< (dim) the lesser of those of the 5% and the 95% quantile */
    double *mcse_mean;          /**< (dim) Monte Carlo standard error of the mean */
    double *e_bfmi;             /**< (chains) energy's Bayesian fraction of missing information */
    int64_t divergent;          /**< draws that saw a divergence */
    int64_t saturated;          /**< draws whose tree reached max_depth */
    int64_t max_depth;          /**< or 0 */
    double accept;              /**< mean */
    double worst_rhat;          /**< NaN if one dimension's is */
    double least_bulk, least_tail; /**< effective sample sizes of the worst dimension */
    double least_e_bfmi;           /**< of the worst chain */
    double total_leapfrogs;        /**< of all draws */
} wm_diagnosis;

/** @param[out] out freed with wm_diagnosis_free(). @return WM_OK, WM_EINVAL (no draws), WM_ENOMEM.
 * Threads: safe. Cost: chains x draws x (log + autocorrelation length) for each dimension. */
WM_API WM_MUST_CHECK wm_status wm_diagnose(wm_diagnosis **out, const wm_draws *draws,
                                           wm_error *err);
WM_API void wm_diagnosis_free(wm_diagnosis *d); /**< NULL is fine */

/** Adds what the diagnosis says to the checks of an answer, in Stan's order, each with what to try
 * next. */
WM_API void wm_diagnose_checks(const wm_diagnosis *d, wm_checks *list);

/* --- annealing ---------------------------------------------------------------------------------*/

/** Which way chains go along the path. Of `steps` changes of weight each bridge gets n = steps /
 * bridges, equal ones; each is followed by one transition at the new weights. */
typedef enum wm_anneal_way {
    WM_ANNEAL_AIS,   /**< from draws of the base to the whole density, k = bridges - 1 first: a
                        chain's log weight is the sum of log r_k(x) / n before each transition */
    WM_ANNEAL_RAISE, /**< from data down to the base, k = 0 first: log f(x) minus the sum of
                          log r_k(x) / n. After the last change nothing remains to be done */
} wm_anneal_way;

/** Settings; start from wm_anneal_opts_init(). */
typedef struct wm_anneal_opts {
    size_t struct_size;  /**< set by wm_anneal_opts_init() */
    wm_moves moves;      /**< how chains move */
    wm_anneal_way way;   /**< default AIS */
    int64_t steps;       /**< in all, default 1000; at least one for each bridge */
    int64_t max_depth;   /**< of NUTS' trees, default 6 */
    const double *table; /**< (bridges + 1) step sizes, as a result holds them, or NULL: a pilot run
                              finds them. Copied by _new */
    int64_t pilot_chains; /**< at most as many as chains, default 8. The pilot goes up from @p start
                               in AIS, so RAISE must be given a table or base draws */
    int64_t pilot_steps;  /**< transitions for the base and for each bridge in the pilot, >= 4,
                               default 20 */
    const double *pilot_start; /**< (pilot_chains, dim) draws of the base; NULL (AIS only): the
                                  first rows of start. Copied by _new */
    uint64_t seed;             /**< default 1 */
    const wm_sink *sink;       /**< progress in transitions of all chains; or NULL */
    const volatile sig_atomic_t *stop; /**< set by a signal handler: leave at once; or NULL */
    wm_save save;                      /**< when the state may be saved */
    const double *shares; /**< (bridges) not negative, how steps are shared out, at least one for
                               each bridge; NULL (default): evenly. Read by _new */
} wm_anneal_opts;

/** Fill in the defaults. Threads: safe. */
WM_API void wm_anneal_opts_init(wm_anneal_opts *opts);

/** Where the chains are. Of a chain that failed (a density, gradient or term that is not finite
 * where it stood) the weight is NaN and the state is the last one. */
typedef struct wm_annealed {
    int64_t chains, dim, bridges, steps; /**< steps: changes of weight, of all bridges */
    double *x;                           /**< (chains, dim) states */
    double *log_w;      /**< (chains) log weights, AIS; estimates of log p(x), RAISE */
    int64_t *done;      /**< (chains) changes of weight */
    int64_t failed;     /**< chains */
    double *table;      /**< (bridges + 1) step size of the base, at [bridges], and with the bridges
                             from k on, at [k]; in between it changes geometrically */
    double *accept;     /**< (bridges) mean acceptance while bridge k changed; NaN before */
    double *leapfrogs;  /**< (bridges) mean number of a transition */
    int64_t *divergent; /**< (bridges) transitions */
    int64_t evals;      /**< points at which eval was asked, without the pilot's */
} wm_annealed;

/** A run along the path: new, run (again, after it was interrupted), read the result, free. */
typedef struct wm_anneal wm_anneal;

/** @param start  (chains, dim), copied: draws of the base for AIS, points of interest for RAISE
 * @param log_f  (chains) log f(start) with all weights 1, for RAISE, such as one calculated in
 * other coordinates: only differences are taken from the path. NULL for AIS, which starts at 0
 * @return WM_OK, WM_EINVAL (a setting; a start that is not finite), WM_ENOMEM */
WM_API WM_MUST_CHECK wm_status wm_anneal_new(wm_anneal **out, const wm_path *path, int64_t chains,
                                             const double *start, const double *log_f,
                                             const wm_anneal_opts *opts, wm_error *err);
WM_API void wm_anneal_free(wm_anneal *a); /**< NULL is fine */
/** Pilot and chains, to the end. Nothing is allocated.
 * @return WM_OK, also if some chains failed; WM_EINTERRUPTED (call again, or export); WM_EDIVERGED
 *         (all failed); whatever eval or save's call returns */
WM_API WM_MUST_CHECK wm_status wm_anneal_run(wm_anneal *a, wm_error *err);
WM_API const wm_annealed *wm_anneal_result(const wm_anneal *a); /**< borrowed */

/** As wm_sampler_export() and its like. A pilot that is not finished is made again. */
WM_API int64_t wm_anneal_state_size(const wm_anneal *a);
WM_API void wm_anneal_export(const wm_anneal *a, double *state);
WM_API WM_MUST_CHECK wm_status wm_anneal_import(wm_anneal *a, const double *state, int64_t size,
                                                wm_error *err);

/* --- normalising constants ---------------------------------------------------------------------*/

/** log Z = log of the mean weight of AIS: in expectation never too large. */
typedef struct wm_ais {
    double log_z;  /**< the estimate */
    double se;     /**< standard error, by the delta method; not to be trusted at a small ess */
    double ess;    /**< effective number of chains, (sum w)^2 / sum w^2 */
    double spread; /**< standard deviation of the log weights */
    int64_t used, failed; /**< chains; failed ones (weight not finite) take no part */
} wm_ais;

/** @return WM_OK; WM_EINVAL (n < 1), WM_EDIVERGED (no weight is finite). Threads: safe. */
WM_API WM_MUST_CHECK wm_status wm_ais_make(wm_ais *out, const double *log_w, int64_t n,
                                           wm_error *err);

/** Mean log-likelihood by RAISE: in expectation never too large for points of the model. */
typedef struct wm_raise {
    double loglik; /**< mean over the chains, or over all points by the control variate */
    double se;     /**< its standard error as an estimate for the population of points */
    double se_set; /**< the same for this very set of points */
    double spread; /**< standard deviation of the chains' log p(x), less log f(x) if that is used */
    bool controlled;      /**< mean(log w - log f) + mean of all log f: where that spreads less */
    int64_t used, failed; /**< chains; failed ones take no part */
} wm_raise;

/** @param log_w  (n) from RAISE
 * @param log_f  (n) log f at the same points, or NULL: no control variate
 * @param all    (n_all) log f at all points of the set, or NULL: no control variate
 * @return WM_OK, WM_EINVAL (n < 1), WM_EDIVERGED (no weight is finite; one of @p all is not) */
WM_API WM_MUST_CHECK wm_status wm_raise_make(wm_raise *out, const double *log_w,
                                             const double *log_f, int64_t n, const double *all,
                                             int64_t n_all, wm_error *err);

/** The mean log-likelihood between two estimates that err to opposite sides, in nats, with
 * standard errors as for a population of points. */
typedef struct wm_bracket {
    double lo, lo_se;   /**< RAISE */
    double hi, hi_se;   /**< mean log f - log Z by AIS */
    double gap, gap_se; /**< hi - lo; the error of the difference, on the same points */
    double tolerance;   /**< nats by which the two may differ */
    bool closed;        /**< |gap| < tolerance + 2 gap_se */
    bool crossed; /**< gap < -(tolerance + 2 gap_se): one of the two runs is wrong, more steps help
                   */
} wm_bracket;

/** @param all       (n_all) log f at all points of the set
 * @param tolerance  nats, >= 0 */
WM_API wm_bracket wm_bracket_make(const wm_ais *ais, const wm_raise *raise, const double *all,
                                  int64_t n_all, double tolerance);
/** Adds "bracket", whether the two agree, to the checks of an answer: not known, which lowers the
 * verdict, where they do so only because the error of their difference is large (two of it more
 * than 4 tolerances and than half a nat). */
WM_API void wm_bracket_check(const wm_bracket *b, wm_checks *list);

#ifdef __cplusplus
}
#endif
#endif
