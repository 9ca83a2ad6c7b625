/* peaked.h - the files of the 1-d experiment among themselves: the problem, what was measured, and
 * its figures. */
#ifndef REPRODUCE_PEAKED_PEAKED_H
#define REPRODUCE_PEAKED_PEAKED_H

#include "../experiment.h"
#include "bridge1d.h"

enum {
    PEAKED_BRIDGES = 4,
    PEAKED_POWERS = 8,                  /* p = 1 .. 8 */
    PEAKED_METHODS = 1 + PEAKED_POWERS, /* 0 is the single ratio, p the telescope of that power */
    PEAKED_MAX_SIZES = 5
};

#define PEAKED_SD0 1e-6 /* of p0; pm is standard normal */

/* Waymarks of one method: m = 1 and alphas 0, 1 for the single ratio. */
typedef struct peaked_chain {
    int64_t bridges;
    double alpha[PEAKED_BRIDGES + 1];
    double sd[PEAKED_BRIDGES + 1]; /* of the waymarks */
} peaked_chain;

WM_MUST_CHECK wm_status peaked_chain_make(peaked_chain *chain, int method, wm_error *err);
/* True theta of bridge k. */
double peaked_true_theta(const peaked_chain *chain, int64_t k);
/* The squares of all waymarks, made from n samples of each end: u (bridges + 1, n). The samples are
 * a function of (seed, n, repeat), the same for every chain. */
WM_MUST_CHECK wm_status peaked_squares(const peaked_chain *chain, uint64_t seed, int64_t n,
                                       int64_t repeat, double *u, wm_error *err);
/* Bridge k of these. */
peaked_bridge peaked_bridge_of(const peaked_chain *chain, const double *u, int64_t n, int64_t k);
/* theta of the whole ratio from those of its bridges: 0.5 log sum exp(2 theta_k). */
double peaked_combine(const double *theta, int64_t bridges);

/* Errors |theta* - theta| over the repeats of one cell. */
typedef struct peaked_cell {
    double mean, sd;
} peaked_cell;

typedef struct peaked_results {
    int64_t n_sizes, sizes[PEAKED_MAX_SIZES], repeats[PEAKED_MAX_SIZES];
    peaked_cell cell[PEAKED_LOSSES][PEAKED_MAX_SIZES][PEAKED_METHODS];
    peaked_cell held_out[PEAKED_LOSSES][PEAKED_MAX_SIZES]; /* p chosen anew for each repeat */
    int64_t chosen[PEAKED_LOSSES][PEAKED_MAX_SIZES][PEAKED_POWERS]; /* how often p = 1 + index */
} peaked_results;

/* Adds the figures: loss curves of one sample of n for each loss, error against n, error against p.
 */
WM_MUST_CHECK wm_status peaked_figures(reproduce_result *out, const peaked_results *r, int64_t n,
                                       uint64_t seed, wm_error *err);

#endif
