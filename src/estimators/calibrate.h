/* calibrate.h - slope and offset of a classifier's scores, refitted on rows it was not trained on.
 */
#ifndef WMI_ESTIMATORS_CALIBRATE_H
#define WMI_ESTIMATORS_CALIBRATE_H

#include <stdint.h>

/* log r = slope s + offset */
typedef struct wmi_calibration {
    double slope, offset;
} wmi_calibration;

/* Minimises the logistic loss of slope s + offset over the scores of n numerator and n denominator
 * rows, plus
 * ((slope - 1)^2 + offset^2) / n, which matters only where the scores separate the rows. Returns
 * (1, 0) where no step improves. Deterministic, a few passes. */
wmi_calibration wmi_calibrate(int64_t n, const double *num, const double *den);

#endif
