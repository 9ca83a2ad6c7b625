/* knots.h - where the splines of additive terms bend. */
#ifndef WMI_COLUMNS_KNOTS_H
#define WMI_COLUMNS_KNOTS_H

#include <stdint.h>

#include "base/fail.h"

/* Knots (dim, bases + 4) of cubic B-splines for the columns of x (n, dim), n >= 2, bases >= 4: half
 * of them where the rows are, half evenly over the range of a column but for its outermost rows.
 * Increasing also where a column repeats itself. */
WM_MUST_CHECK wm_status wmi_knots_of(int64_t n, int64_t dim, const float *x, int64_t bases,
                                     float *knots, wm_error *err);
/* Evenly from lo to hi, for one column: (bases + 4). */
void wmi_knots_even(double lo, double hi, int64_t bases, float *knots);

#endif
