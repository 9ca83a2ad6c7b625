/* mi_critic.h - the critic T(u, v) of a single-ratio estimate of mutual information, its loss, and
 * a step of training. Which pairs it sees is the caller's business (mi_methods.c). */
#ifndef WMI_MI_MI_CRITIC_H
#define WMI_MI_MI_CRITIC_H

#include "engine/program.h"
#include "mi/mi_methods.h"
#include "optim/adam.h"

/* Starts as {0}; all of it is set by wmi_critic_open(). One compiled program serves training and
 * evaluation, and nothing allocates after it. */
typedef struct wmi_critic {
    wmi_mi_method kind;
    int64_t du, dv;
    int64_t batch; /* rows of p in a step */
    int64_t slots; /* pairs in a pass: batch of p, then batch of q; InfoNCE: batch of p */
    double mine;   /* share of the present batch in the moving average of DV */
    wmi_params *params;
    wmi_graph *graph;
    wmi_program *program;
    /* T, (1, slots); InfoNCE: (batch, batch), T(u_i, v_j). For all but InfoNCE and DV, T at its
     * best is log p / q itself; theirs has a free function of u, and a free constant. */
    wmi_node *scores;
    wmi_node *loss;
    wmi_node *average;   /* DV: log of the moving average of E_q[e^T] */
    float *u, *v;        /* inputs, (slots, du), (slots, dv) */
    float *past;         /* DV's third input, (1): log of what the past adds to the average */
    int64_t n;           /* parameters */
    float *theta, *grad; /* (n) */
    wmi_adam *adam;
} wmi_critic;

/* Two hidden layers of opts->width. The last layer starts at 0, and so T does: the first estimate
 * is 0 nats. opts: seed, width, embed, mine. WM_EINVAL, WM_ESHAPE, WM_ENOMEM; close it either way.
 */
WM_MUST_CHECK wm_status wmi_critic_open(wmi_critic *c, wmi_mi_method kind, int64_t du, int64_t dv,
                                        int64_t batch, const wmi_mi_method_opts *opts,
                                        wm_error *err);
void wmi_critic_close(wmi_critic *c);

/* Pair number `slot` of the next pass: u (du), v (dv). */
void wmi_critic_put(const wmi_critic *c, int64_t slot, const float *u, const float *v);
/* T of the pairs that were put, with the parameters theta; the scores are borrowed. */
WM_MUST_CHECK wm_status wmi_critic_scores(const wmi_critic *c, const float **scores, wm_error *err);
/* Step number `step` of Adam on those pairs. WM_EDIVERGED for a loss that is not finite: the
 * parameters are then as before. */
WM_MUST_CHECK wm_status wmi_critic_step(wmi_critic *c, int64_t step, double lr, wm_error *err);

#endif
