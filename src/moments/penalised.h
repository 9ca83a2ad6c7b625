/* penalised.h - logistic regression with a ridge, as strong as the rows want it.
 *
 *   minimise  sum_i loss_i(offset_i + c + x_i' b) + strength / 2  sum_j penalty_j b_j^2
 *
 * over a path of strengths, from one that leaves nothing but the constant down to one that hardly
 * holds anything back; each solution by Newton's method from the one before. The strength that is
 * kept has the least loss after b has been charged one nat for every effective parameter (Akaike's
 * criterion with the trace of the smoother). The null model, b = 0, is one of those that compete,
 * and so are strengths of each group of features, of which those that are not worth it are dropped.
 * Convex, deterministic, no learning rate; nothing can be singular that has a penalty. */
#ifndef WMI_MOMENTS_PENALISED_H
#define WMI_MOMENTS_PENALISED_H

#include <signal.h>
#include <stdint.h>

#include "base/fail.h"

enum { WMI_CHOICE_ROWS = 12000 }; /* rows that are enough to choose a strength by */

typedef struct wmi_penalised_data {
    int64_t n[2];          /* rows of the numerator and of the denominator, at least 1 of each */
    int64_t k;             /* features; may be 0 */
    const double *x;       /* (n[0] + n[1], k), those of the numerator first; centred columns */
    const double *penalty; /* (k), positive */
    const int64_t *group;  /* (k) rising numbers: features that have a strength of their own
                              together, which competes; or NULL */
    int64_t among;         /* groups that these are the best of, by the same rows; 0: they are all.
                              Then strengths by group and the null model alone compete, since the
                              criterion knows nothing of the choice, and the charge of groups does */
    const double *offset;  /* (n[0] + n[1]) a log-ratio that is there already; or NULL: 0 */
} wmi_penalised_data;

typedef struct wmi_penalised_fit {
    double c;        /* log r(x) = offset + c + x' b */
    double strength; /* INFINITY: the null model; with strengths by group that they began at */
    double numbers;  /* effective parameters, the constant included */
    double missed;   /* nats of divergence, about, that strengths which the criterion cannot tell
                        from the best would add to it */
} wmi_penalised_fit;

/* b (k). WM_EINTERRUPTED when *stop is set; WM_ENOMEM. */
WM_MUST_CHECK wm_status wmi_penalised_solve(wmi_penalised_fit *fit, double *b,
                                            const wmi_penalised_data *data,
                                            const volatile sig_atomic_t *stop, wm_error *err);

#endif
