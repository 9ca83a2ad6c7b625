/* calibrate.h - the constant of a bridge, refitted on rows that it was not trained on. */
#ifndef WMI_CHECK_CALIBRATE_H
#define WMI_CHECK_CALIBRATE_H

#include <stdint.h>

/* The offset o that minimises the logistic loss of s + o over the scores of n numerator and n
 * denominator rows, plus o^2 / n, which matters only where the scores separate the rows.
 * Deterministic. */
double wmi_calibrate(int64_t n, const double *num, const double *den);

#endif
