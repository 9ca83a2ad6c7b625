/* omniglot.h - one row of the SpatialMultiOmniglot experiment: what to fit, how to judge it, and
 * what came out. */
#ifndef REPRODUCE_OMNIGLOT_OMNIGLOT_H
#define REPRODUCE_OMNIGLOT_OMNIGLOT_H

#include "../experiment.h"
#include "waymark/embed.h"
#include "waymark/images.h"
#include "waymark/probe.h"

typedef enum omniglot_method { OMNIGLOT_TRE, OMNIGLOT_SINGLE, OMNIGLOT_INFONCE } omniglot_method;
enum { OMNIGLOT_METHODS = 3, OMNIGLOT_SIDES = 3, OMNIGLOT_MAX_CELLS = 9, OMNIGLOT_CITED = 4 };

/* Sizes of the experiment. */
typedef struct omniglot_preset {
    int sides;                           /* 1 x 1, 2 x 2, ... up to this */
    const char *network[OMNIGLOT_SIDES]; /* of g and f_k, for each side */
    int64_t pairs, infonce_pairs;        /* of a step */
    int64_t batch; /* not 0: waymark samples of a step in their stead, as the paper counts */
    int64_t iterations[OMNIGLOT_SIDES],
        baseline_iterations[OMNIGLOT_SIDES]; /* of the telescope, of the others */
    double lr, warmup, clip, average;        /* warmup: share of the steps */
    int64_t valid, calibration, test, probe_train, probe_passes;
    int64_t passes;             /* of the calibrating pairs: fewer bridges have more partners */
    double distort;             /* of the drawings that train: wm_grid_pairs_opts */
    int64_t drawings, held_out; /* drawings: of our own glyphs; 0: 20 */
    const int64_t *sizes;       /* of their alphabets, (9); NULL: those of Omniglot */
    double mi_limit[OMNIGLOT_SIDES],
        probe_limit; /* of the checks: relative error, share of errors */
} omniglot_preset;

typedef struct omniglot_job {
    const omniglot_preset *size;
    omniglot_method method;
    int64_t side; /* the grid is side x side characters, d = side^2 */
    wm_adam_opts adam;
    int64_t partners; /* others to each pair that calibrates the bridges */
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

/* Test accuracy of linear probes for d = 1, 4, 9 in Ozair et al. 2019, as the paper cites them. */
typedef struct omniglot_others {
    const char *name;
    double accuracy[OMNIGLOT_SIDES];
} omniglot_others;
extern const omniglot_others omniglot_cited[OMNIGLOT_CITED];

/* Left: mutual information against d, with the truth and the most that InfoNCE can say; right: how
 * well linear probes read the characters, of seen and of unseen drawings, beside the cited numbers.
 * note says what these are of. The figure is the result's. */
void omniglot_figure(reproduce_result *out, const omniglot_job *jobs,
                     const omniglot_outcome *outcomes, int n, const char *note);

#endif
