/* omniglot.h - one row of the SpatialMultiOmniglot experiment: what to fit, how to judge it, and
 * what came out. */
#ifndef REPRODUCE_OMNIGLOT_OMNIGLOT_H
#define REPRODUCE_OMNIGLOT_OMNIGLOT_H

#include "../experiment.h"
#include "waymark/embed.h"
#include "waymark/images.h"
#include "waymark/probe.h"

typedef enum omniglot_method { OMNIGLOT_TRE, OMNIGLOT_SINGLE, OMNIGLOT_INFONCE } omniglot_method;
enum { OMNIGLOT_METHODS = 3, OMNIGLOT_MAX_CELLS = 9 };

typedef struct omniglot_job {
    omniglot_method method;
    int64_t side;        /* the grid is side x side characters, d = side^2 */
    const char *network; /* of g and f_k */
    wm_adam_opts adam;
    int64_t valid, test; /* pairs that choose the step, and that estimate the information */
    int64_t calibration, partners; /* pairs that calibrate the bridges, and others to each */
    int64_t probe_train;  /* representations that the probes are fitted to; `test` judge them */
    int64_t probe_passes; /* iterations of L-BFGS at most */
    int64_t held_out;     /* drawings of each character that training never sees */
} omniglot_job;

typedef struct omniglot_outcome {
    double truth;
    wm_estimate mi;        /* of test pairs, of drawings that training has seen; calibrated */
    wm_estimate mi_scores; /* the same by the bridges' scores as they are: the paper's estimate */
    double mi_own; /* sum of the bridges, each at its own waymarks of validation pairs: cells being
                      independent that is the same information, without what bridges say of rows
                      that they were not trained on */
    wm_share probe, probe_unseen; /* mean over cells; unseen.n is 0 where no drawing is held out */
    double worst_cell;            /* least accuracy of a cell */
    wm_embed_info info;
    double seconds; /* of fitting; NaN where a resumed run found the model */
    double seconds_judging;
} omniglot_outcome;

extern const char *const omniglot_method_names[]; /* "tre", "single", "infonce" */

/* Fits and judges; keeps model and state of training in the run folder under name, and a line of
 * metrics for each evaluation. */
WM_MUST_CHECK wm_status omniglot_run(omniglot_outcome *out, const omniglot_job *job,
                                     const wm_alphabets *alphabets, const char *name,
                                     const reproduce_settings *settings, wm_error *err);

#endif
