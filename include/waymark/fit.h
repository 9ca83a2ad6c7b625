/** @file fit.h
 * What every fit has in common, whatever it estimates: how it is steered, how Adam trains, what it
 * tells on the way, and what one bridge is. Each estimator's options hold a wm_fit_control, and one
 * or more wm_adam_opts where it trains by Adam.
 *
 * What is not set, the library chooses: WM_AUTO for integers, WM_UNSET for reals,
 * WM_CHOICE_AUTO for what can be had or not. 0 is a value like any other: no averaging, no steps.
 * Limits (time_limit, patience, clip) are off at 0. */
#ifndef WAYMARK_FIT_H
#define WAYMARK_FIT_H

#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "waymark/sink.h"
#include "waymark/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** An integer option that the library is to choose. */
#define WM_AUTO (-1)
/** A real one: NaN, so that it cannot be compared; see wm_is_set(). */
#define WM_UNSET ((double)NAN)

static inline bool wm_is_set(double x)
{
    return !isnan(x);
}

/** Something that is done or not. */
typedef enum wm_choice {
    WM_CHOICE_AUTO, /**< where it suits; each option says where that is */
    WM_CHOICE_NO,
    WM_CHOICE_YES,
} wm_choice;
/** What clients call them, by number and up to NULL: for an array of texts. */
#define WM_CHOICE_NAMES                                                                            \
    {                                                                                              \
        "auto", "no", "yes", NULL                                                                  \
    }

/** What a choice comes to, where auto is @p suits. */
static inline bool wm_is_chosen(wm_choice choice, bool suits)
{
    return choice == WM_CHOICE_YES || (choice == WM_CHOICE_AUTO && suits);
}

/** How bridges are compared with data. */
typedef enum wm_objective {
    WM_OBJECTIVE_LOGISTIC,
    WM_OBJECTIVE_NWJ,
    WM_OBJECTIVE_LSQ,
    WM_OBJECTIVE_MULTINOMIAL, /**< one softmax over all waymarks */
    WM_OBJECTIVE_DENOISE, /**< gradients of log-ratios by regression: energy-based models only */
} wm_objective;
/** What clients call them, likewise. */
#define WM_OBJECTIVE_NAMES                                                                         \
    {                                                                                              \
        "logistic", "nwj", "lsq", "multinomial", "denoise", NULL                                   \
    }

/** The parts of a fit, in this order. Ratios, studies and pairs have the last one alone. */
typedef enum wm_stage {
    WM_STAGE_NOISE,   /**< the density that bridges lead to */
    WM_STAGE_HEADS,   /**< quadratic and additive terms without the network */
    WM_STAGE_BRIDGES, /**< all terms */
    WM_STAGES,
} wm_stage;

/** One bridge on held-out rows. */
typedef struct wm_bridge {
    double alpha_from, alpha_to; /**< where it lies between p (0) and q (1) */
    double loss;                 /**< logistic: 1.386 is chance, 0 is saturated; InfoNCE: the log of
                                    the batch's pairs is chance */
    double accuracy;       /**< of the classifier; InfoNCE: how often it finds the true partner */
    double mean_log_ratio; /**< at rows of the bridge's own numerator: its KL divergence; InfoNCE:
                              a bound, the log of the batch's pairs less the loss */
} wm_bridge;

/** One evaluation during a fit, on held-out rows. */
typedef struct wm_evaluation {
    wm_stage stage;    /**< the part of the fit */
    int64_t round;     /**< of placing bridges, from 0: studies */
    unsigned model;    /**< terms (ratio.h): studies */
    int64_t step;      /**< of Adam, from the start of the stage */
    double train_loss; /**< mean over the steps since the last evaluation; NaN before the first */
    double valid_loss; /**< mean over bridges. While noise is fitted both are minus the mean
                          log-likelihood in nats, of the data as given */
    double estimate;   /**< what the fit is after, in nats, so far: KL(p, q); mutual information of
                          pairs; mean of log phi over rows as given, of an energy-based model; NaN
                          while noise is fitted */
    double seconds;    /**< since the fit began, in this process */
    int64_t n_bridges; /**< 0 while noise is fitted */
    const wm_bridge *bridges; /**< (n_bridges), read during the call only */
} wm_evaluation;

/** How a fit is steered and watched. */
typedef struct wm_fit_control {
    uint64_t seed;             /**< default 1; all that is random is a function of it */
    int64_t threads;           /**< for this call; WM_AUTO (default): as many as OpenMP has */
    double time_limit;         /**< seconds; 0 (default): none. The best so far is the answer */
    const char *checkpoint;    /**< file to write the state to, or NULL */
    double checkpoint_seconds; /**< between two writes of it; default 30 */
    bool resume;               /**< from the checkpoint, if it is there: the same bits as without a
                                  stop */
    const wm_sink *sink;       /**< words and progress, or NULL */
    const volatile sig_atomic_t
        *stop; /**< not 0, set by a signal handler: checkpoint, then leave; or NULL */
    int (*on_eval)(void *ctx, const wm_evaluation *e); /**< in the caller's thread; not 0: leave as
                                                          at stop; or NULL */
    void (*on_resume)(void *ctx, wm_stage stage,
                      int64_t step); /**< a checkpoint at this step was taken up; or NULL */
    void *ctx;                       /**< of both */
    struct wm_comm *comm;            /**< other processes that share the work (dist.h), or NULL */
    void *reserved[3];               /**< NULL; for later fields */
} wm_fit_control;

/** Training by Adam. Each estimator says what its defaults are. */
typedef struct wm_adam_opts {
    int64_t iterations; /**< steps; 0 leaves the part as it starts, where there are others */
    int64_t batch;      /**< samples of a step; each estimator says of what */
    double lr;          /**< learning rate */
    double average;     /**< decay of the average of the weights that is judged and kept; 0: none */
    int64_t warmup;     /**< steps over which the rate rises from 0 */
    double lr_constants; /**< times lr, for the constants of bridges */
    double weight_decay; /**< decoupled: a step takes lr times this of a weight; constants stay */
    double clip;         /**< norm that a gradient may have; 0: any */
    int64_t eval_every;  /**< steps between evaluations */
    int64_t patience;    /**< evaluations without a better held-out loss; 0: no limit */
    bool constant_lr;    /**< else (default) the rate falls to 0 by a cosine */
    void *reserved[4];   /**< NULL; for later fields */
} wm_adam_opts;

/** Fill in the defaults. Threads: safe. */
WM_API void wm_fit_control_init(wm_fit_control *control);
/** Nothing is set. */
WM_API void wm_adam_opts_init(wm_adam_opts *adam);
/** An initializer with what is chosen most often; the rest is not set. */
#define WM_ADAM(iterations, batch, lr, average)                                                    \
    {                                                                                              \
        iterations, batch, lr, average, WM_AUTO, WM_UNSET, WM_UNSET, WM_UNSET, WM_AUTO, WM_AUTO,   \
            false,                                                                                 \
        {                                                                                          \
            NULL                                                                                   \
        }                                                                                          \
    }

#ifdef __cplusplus
}
#endif
#endif
