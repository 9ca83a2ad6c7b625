/* computable.h - columns that can be computed from others. */
#ifndef WMI_CHECK_COMPUTABLE_H
#define WMI_CHECK_COMPUTABLE_H

#include <stdint.h>

#include "waymark/status.h"

/* What is left of the variance of every column, as a share, when the columns first ..
 * first + count - 1 have been fitted to it by least squares, a constant with them: 0 to rounding
 * where it is a linear function of them.
 * x      (n, d)
 * share  (d); NAN for those columns themselves, for constant ones, and where there are fewer than
 *        ten rows for each of them, so that a fit says little
 * Some thousands of rows are looked at, spread over all: what is computed is so in every row. Time
 * goes with them and with count * d. */
WM_MUST_CHECK wm_status wmi_unexplained(double *share, int64_t n, int64_t d, const double *x,
                                        int64_t first, int64_t count, wm_error *err);

#endif
