/* herd.h - many chains served by one density. Each has at most one point at which it wants to know
 * the density; a round gathers those points in the first rows, evaluates them in one call, and
 * hands the answers out. Chains never wait for each other, and a chain that wants nothing takes no
 * room. What a chain does with an answer is its owner's business (`take`), called in parallel. */
#ifndef WMI_SAMPLE_HERD_H
#define WMI_SAMPLE_HERD_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"
#include "sample/markov.h"
#include "waymark/sink.h"

/* The answer for chain c: terms (bridges) or NULL where the path has no bridges. True: the chain
 * wants another point, chain[c].at, with the weights of row c. Must touch nothing but chain c's. */
typedef bool wmi_herd_take(void *owner, int64_t c, double log_f, const double *grad,
                           const double *terms);
/* Between rounds, on the caller's thread: reports progress, looks for failed chains. */
typedef wm_status wmi_herd_watch(void *owner, bool last, wm_error *err);

typedef struct wmi_herd {
    wm_path path;
    int64_t chains;
    wmi_markov *chain;
    bool *wants;     /* (chains) */
    double *weights; /* (chains, bridges) of every chain's point */
    int64_t evals;   /* points so far */
    /* a round */
    int64_t *row_chain;                       /* (chains) */
    double *row_x, *row_weights;              /* (chains, dim), (chains, bridges) */
    double *row_log_f, *row_grad, *row_terms; /* (chains), (chains, dim), (chains, bridges) */
} wmi_herd;

/* Chain c draws from sub-stream c of rng. depth: the largest that trees will have. */
WM_MUST_CHECK wm_status wmi_herd_init(wmi_herd *h, const wm_path *path, int64_t chains,
                                      const wm_moves *moves, int64_t depth, wmi_rng rng,
                                      wm_error *err);
void wmi_herd_clear(wmi_herd *h); /* one that was zeroed or initialised */

/* Rounds until no chain wants a point. stop: WM_EINTERRUPTED when it is set; or NULL. */
WM_MUST_CHECK wm_status wmi_herd_run(wmi_herd *h, wmi_herd_take *take, wmi_herd_watch *watch,
                                     void *owner, const volatile sig_atomic_t *stop, wm_error *err);

/* Calls save at its interval; `last` is the clock of the previous time. */
WM_MUST_CHECK wm_status wmi_save_maybe(const wm_save *save, const wm_sink *sink, double *last,
                                       bool now, wm_error *err);
WM_MUST_CHECK wm_status wmi_path_check(const wm_path *path, int64_t chains, const double *start,
                                       wm_error *err);

#endif
