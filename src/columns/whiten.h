/* whiten.h - coordinates for networks: linear combinations z = x M of the columns that are
 * uncorrelated, of variance one, and in which the covariances of p and of q are both diagonal.
 *
 * A network that reads z and z^2 then has the ratio of any two Gaussians with the same mean, and of
 * all waymarks between them, as a linear function of what it reads; in x it would have to find a
 * product for every pair of columns. Waymarks are made before this, in x: there u stays and v
 * moves. */
#ifndef WMI_COLUMNS_WHITEN_H
#define WMI_COLUMNS_WHITEN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"

typedef struct wmi_whitening {
    double *mix,
        *unmix;       /* (d, d): rows z = x mix, x = z unmix; NULL where there is nothing to do */
    double condition; /* of the pooled covariance of the columns that take part, as they are */
} wmi_whitening;

/* Rows of one end. */
typedef struct wmi_whiten_end {
    int64_t n;
    const double *x;      /* (n, d) */
    const double *weight; /* (n) or NULL */
} wmi_whiten_end;

/* From the moments of p (end 0) and q (end 1); with pairs > 0 q has the moments of p but for those
 * of the first `pairs` columns with the others, which are 0, and end[1] is not read. Columns whose
 * `takes` (d) is false stay as they are. Leaves w without matrices where columns are white already,
 * as far as these rows can tell, or too many for the rows. w starts as {0}; free it either way. */
WM_MUST_CHECK wm_status wmi_whitening_of(wmi_whitening *w, int64_t d, const bool *takes,
                                         int64_t pairs, const wmi_whiten_end end[2], wm_error *err);
void wmi_whitening_free(wmi_whitening *w);

#endif
