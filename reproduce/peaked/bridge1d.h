/* bridge1d.h - one bridge of the 1-d experiment: log r(x) = c - exp(2 theta) x^2 with c known, and
 * the exact minimiser of its finite-sample loss. */
#ifndef REPRODUCE_PEAKED_BRIDGE1D_H
#define REPRODUCE_PEAKED_BRIDGE1D_H

#include <stdint.h>

#include "waymark/status.h"

typedef enum peaked_loss {
    PEAKED_LOGISTIC, /* E_p softplus(-log r) + E_q softplus(log r) */
    PEAKED_NWJ,      /* -E_p log r - 1 + E_q r */
    PEAKED_LSQ,      /* E_p sigmoid(-log r)^2 / 2 + E_q sigmoid(log r)^2 / 2 */
    PEAKED_LOSSES
} peaked_loss;

extern const char *const peaked_loss_names[PEAKED_LOSSES]; /* "logistic", "nwj", "lsq" */

typedef struct peaked_bridge {
    int64_t n;           /* samples of each side */
    const double *p, *q; /* (n), (n) x^2 of the numerator's and the denominator's samples */
    double c;            /* log(sd of q / sd of p) */
} peaked_bridge;

/* The loss at theta. */
double peaked_loss_at(peaked_loss loss, const peaked_bridge *b, double theta);

/* The theta at which the loss is least, to about 1e-12; -inf if that is w = exp(2 theta) = 0. The
 * search looks at the samples and at nothing else. WM_EINVAL: n < 1, no sample differs from 0, or a
 * sample is not finite. */
WM_MUST_CHECK wm_status peaked_minimise(double *theta, peaked_loss loss, const peaked_bridge *b,
                                        wm_error *err);

#endif
