/* neighbours.h - mutual information by nearest neighbours, beside a ratio.
 *
 * A form says what it can say, and a network in few rows learns little. Among few columns the
 * distances to a row's nearest neighbours tell the mutual information without any form (Kraskov,
 * Stoegbauer and Grassberger 2004, estimate 1): row by row psi(k) + psi(n) - psi(n_u + 1) - psi(n_v
 * + 1), where n_u, n_v rows are closer in u, or in v, than the k-th neighbour is in both. In more
 * columns, and of much information, it says too little; too much hardly ever. So where it says
 * more than a ratio does, at the same rows, the ratio lacks something. */
#ifndef WMI_CHECK_NEIGHBOURS_H
#define WMI_CHECK_NEIGHBOURS_H

#include <stdint.h>

#include "waymark/status.h"

/* Pairs x (n, d) of which the first `pairs` columns are u, all on one scale, and log_r (n). */
typedef struct wmi_neighbours_rows {
    int64_t n, d, pairs;
    const double *x, *log_r;
} wmi_neighbours_rows;

typedef struct wmi_neighbours {
    double value; /* nats; 0 of fewer than 50 rows */
    double more;  /* by which that is above the mean of log_r */
    double se;    /* of more */
} wmi_neighbours;

/* Cost: n^2 d. */
WM_MUST_CHECK wm_status wmi_neighbours_ask(wmi_neighbours *out, const wmi_neighbours_rows *rows,
                                           wm_error *err);

#endif
