/* adam.h - Adam (Kingma and Ba 2015) on flat vectors, in TensorFlow's form, which the paper's code
 * used: with g the gradient at step t = 1, 2, ...
 *     m += (1 - beta1) (g - m),  v += (1 - beta2) (g^2 - v),
 *     param -= lr * sqrt(1 - beta2^t) / (1 - beta1^t) * m / (sqrt(v) + eps)
 * where eps is added after the bias correction of v has been moved into the step size, so that it
 * is larger than the textbook's eps early on. */
#ifndef WMI_OPTIM_ADAM_H
#define WMI_OPTIM_ADAM_H

#include <stdint.h>

#include "base/fail.h"

/* A range of the vector with a step size of its own, such as the constants c_k at 10 x lr. */
typedef struct wmi_adam_group {
    int64_t first, count;
    double lr_mult; /* 0: the range keeps its values */
    double decay;   /* decoupled weight decay (Loshchilov and Hutter 2019): the parameters also
                       shrink by lr lr_mult decay of themselves */
} wmi_adam_group;

typedef struct wmi_adam_opts {
    double beta1, beta2, eps;
    double clip; /* a gradient of a larger Euclidean norm is scaled down to it; 0: never */
} wmi_adam_opts;

void wmi_adam_opts_init(wmi_adam_opts *opts); /* 0.9, 0.999, 1e-8, 0 */

/* Open, so that a checkpoint can save t, m and v, and put them back into a new optimiser. */
typedef struct wmi_adam {
    int64_t n, t; /* length of the vector, steps taken */
    int bits;     /* 32: m and v are float; 64: double */
    void *m, *v;  /* (n) means of g and g^2, zero at t = 0 */
    wmi_adam_opts opts;
    int64_t n_groups;
    wmi_adam_group *groups;
} wmi_adam;

/* For vectors of n floats (bits = 32) or doubles (64). The groups, copied, must cover 0 .. n-1 in
 * order; n_groups = 0 is one group with lr_mult 1. opts may be NULL. WM_EINVAL, WM_ENOMEM. */
WM_MUST_CHECK wm_status wmi_adam_new(wmi_adam **out, int64_t n, int bits,
                                     const wmi_adam_group *groups, int64_t n_groups,
                                     const wmi_adam_opts *opts, wm_error *err);
void wmi_adam_free(wmi_adam *a);

/* One step at learning rate lr (times each group's lr_mult). A gradient that is not finite is
 * WM_EDIVERGED, names its index, and leaves everything as it was. Same bits for any thread count.
 * grad and param are (n), do not overlap, and are of the type that `bits` says. */
WM_MUST_CHECK wm_status wmi_adam_step_f32(wmi_adam *a, double lr, const float *grad, float *param,
                                          wm_error *err);
WM_MUST_CHECK wm_status wmi_adam_step_f64(wmi_adam *a, double lr, const double *grad, double *param,
                                          wm_error *err);

#endif
