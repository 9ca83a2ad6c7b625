/* average.h - an exponentially weighted average of a flat parameter vector over training steps, for
 * evaluation: it averages away the noise of the last minibatches. With x_t the parameters,
 *     mean += w_t (x_t - mean),  w_1 = 1,  w_t = (1 - decay) / (1 - decay^t)  or  1 - decay.
 * The first form of w_t makes mean the bias-corrected average of Adam's kind at every t; the second
 * starts from x_1 and gives it the weight decay^(t-1). The mean is double also for float
 * parameters: with decay 0.9999, float would drop every relative change below 3e-4. */
#ifndef WMI_OPTIM_AVERAGE_H
#define WMI_OPTIM_AVERAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"

typedef enum wmi_average_start {
    WMI_AVERAGE_CORRECTED,  /* early vectors share the weight that is not spent yet */
    WMI_AVERAGE_FROM_FIRST, /* the first vector has it all */
} wmi_average_start;

/* Open, so that a checkpoint can save count and mean, and put them back. */
typedef struct wmi_average {
    int64_t n, count; /* length of the vector, vectors seen */
    double decay;     /* in [0, 1) */
    wmi_average_start start;
    double *mean; /* (n) */
    double *held; /* (n) the parameters, while the average stands in their place */
    bool in_place;
} wmi_average;

WM_MUST_CHECK wm_status wmi_average_new(wmi_average **out, int64_t n, double decay,
                                        wmi_average_start start, wm_error *err);
void wmi_average_free(wmi_average *a);

/* Takes param (n) into the average. Not while swapped in. Same bits for any thread count. */
void wmi_average_update_f32(wmi_average *a, const float *param);
void wmi_average_update_f64(wmi_average *a, const double *param);

/* Puts the average in the place of param, and back: param then has its old bits, and the average
 * keeps all of its digits. At least one update must have been made. */
void wmi_average_swap_in_f32(wmi_average *a, float *param);
void wmi_average_swap_in_f64(wmi_average *a, double *param);
void wmi_average_swap_out_f32(wmi_average *a, float *param);
void wmi_average_swap_out_f64(wmi_average *a, double *param);

#endif
