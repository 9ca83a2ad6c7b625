/* markov.h - one Markov chain as a state machine.
 * Between transitions a chain has a state: point, log density, gradient. A transition begins, asks
 * for the density at one point after the other (`at`), and takes each answer when it comes. It may
 * be dropped at any time: the state changes only when the transition ends. Random numbers are a
 * function of the chain's own sequence and the number of the transition. */
#ifndef WMI_SAMPLE_MARKOV_H
#define WMI_SAMPLE_MARKOV_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"
#include "base/rng.h"
#include "waymark/sample.h"

#define WMI_MAX_DEPTH 20 /* of a tree: 2^20 leapfrogs */

/* A point of phase space, each (dim). */
typedef struct wmi_phase_point {
    double *x, *p, *grad;
} wmi_phase_point;

/* A point with what the density says of it. */
typedef struct wmi_state {
    double *x, *grad; /* (dim) */
    double log_f;
    double term; /* log r of the bridge that the caller follows */
    double energy;
} wmi_state;

/* What a transition did. */
typedef struct wmi_moved {
    double accept; /* mean over leapfrogs of min(1, exp(-energy error)) */
    int64_t depth, n_leapfrog;
    bool divergent;
} wmi_moved;

/* Where a subtree of an unfinished doubling began: what U-turn checks need of it. */
typedef struct wmi_mark {
    double *p;        /* (dim) momentum of its first leaf */
    double *p_before; /* (dim) momentum of the leaf before that one */
    double *sum;      /* (dim) of the momenta of all leaves before it in this doubling */
} wmi_mark;

typedef struct wmi_markov {
    int64_t dim;
    wm_moves moves;    /* with its defaults settled */
    int64_t max_depth; /* of the coming transition */
    double step;
    double *inv_mass; /* (dim) own */
    wmi_rng rng;      /* own */
    uint64_t next;    /* number of the coming transition */
    wmi_state state;

    /* the transition under way */
    const double *at; /* (dim) where the density is wanted */
    wmi_rng choose;
    uint64_t choices; /* made so far */
    double signed_step, energy0;
    wmi_phase_point now; /* the moving point */
    wmi_state proposal;  /* of this doubling, or of HMC */
    wmi_moved moved;
    double sum_accept;

    /* NUTS only */
    wmi_phase_point end[2]; /* of the trajectory: backward, forward */
    wmi_state sample;       /* of the trajectory before this doubling */
    double *rho, *sum;      /* (dim) momenta summed over the trajectory, and over this doubling */
    double *zeros;          /* (dim) */
    double log_weight, log_weight_new; /* of the trajectory, and of this doubling */
    int64_t leaf, leaves;              /* in this doubling */
    int forward;
    wmi_mark *marks; /* (depth - 1) */

    /* search for a step size */
    int find_direction;
    int64_t find_tries;
    void *block; /* all vectors */
} wmi_markov;

/* max_depth: the largest that it will ever be given. moves has its defaults settled and inv_mass or
 * NULL, which is copied. */
WM_MUST_CHECK wm_status wmi_markov_init(wmi_markov *c, int64_t dim, const wm_moves *moves,
                                        int64_t max_depth, wmi_rng rng, wm_error *err);
void wmi_markov_clear(wmi_markov *c);

/* Settled and checked: NaN-proof, with the defaults that depend on the kernel. */
WM_MUST_CHECK wm_status wmi_moves_settle(wm_moves *out, const wm_moves *in, int64_t dim,
                                         wm_error *err);
void wmi_moves_init(wm_moves *moves);

/* Starts transition `next` from the state; `at` is then where the density is wanted. */
void wmi_markov_begin(wmi_markov *c);
/* The answer at `at`: log density, gradient (dim), followed term. False: `at` has moved on. True:
 * the transition is over, the state is new, `moved` says how, `next` is one higher. */
bool wmi_markov_take(wmi_markov *c, double log_f, const double *grad, double term);
/* The state's own density, when the caller has evaluated at state.x; false if it is not finite. */
bool wmi_markov_set_density(wmi_markov *c, double log_f, const double *grad, double term);

/* A step size of which one leapfrog is accepted with probability about 0.8, from c->step on or from
 * 1 if that is 0, by doubling or halving (Hoffman and Gelman 2014). */
void wmi_find_begin(wmi_markov *c);
typedef enum wmi_found { WMI_FIND_ON, WMI_FIND_DONE, WMI_FIND_FAILED } wmi_found;
wmi_found wmi_find_take(wmi_markov *c, double log_f, const double *grad);

/* --- shared by the kernels ---------------------------------------------------------------------*/

/* Purposes of the random numbers of a transition. */
enum { WMI_USE_MOMENTUM, WMI_USE_CHOICE, WMI_USE_FIND };

/* A new momentum p ~ N(0, M) from a sequence; its kinetic energy. */
double wmi_markov_draw_momentum(wmi_markov *c, const wmi_rng *rng, double *p);
/* Half kick and drift of `now`; `at` becomes now.x. */
void wmi_markov_leap(wmi_markov *c);
/* The other half kick with the new gradient; returns the energy there, +inf if anything is not
 * finite. */
double wmi_markov_land(wmi_markov *c, double log_f, const double *grad);
/* Uniform on (0, 1): the next choice of this transition. */
double wmi_markov_uniform(wmi_markov *c);
/* Copies `now`, with the density there, to s. */
void wmi_markov_keep(const wmi_markov *c, wmi_state *s, double log_f, double term, double energy);
void wmi_markov_copy(const wmi_markov *c, wmi_state *to, const wmi_state *from);
static inline void wmi_swap_states(wmi_state *a, wmi_state *b)
{
    const wmi_state t = *a;

    *a = *b;
    *b = t;
}

void wmi_nuts_begin(wmi_markov *c);
bool wmi_nuts_take(wmi_markov *c, double log_f, const double *grad, double term);
void wmi_hmc_begin(wmi_markov *c);
bool wmi_hmc_take(wmi_markov *c, double log_f, const double *grad, double term);

#endif
