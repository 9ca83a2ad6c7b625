/* witness.h - what a ratio has missed that its rows could have told.
 *
 * If log r is right, nothing tells a row of p from one of q better. A witness is a classifier of
 * another kind, a forest of random trees, that learns from the same rows on its own: trees see what
 * no column and no two columns show, sharp borders, islands, and hold nothing smooth well. So
 * beside a ratio that is right the mean of the two is worse than the ratio, at rows that a tree has
 * not seen, and where it is better the ratio lacks something. */
#ifndef WMI_CHECK_WITNESS_H
#define WMI_CHECK_WITNESS_H

#include <stdint.h>

#include "waymark/status.h"

/* Row i of p and row i of q belong together (they are of one trajectory); log_r is that of fits
 * which have not seen the row. */
typedef struct wmi_witness_rows {
    int64_t n, d;
    const double *x[2];     /* (n, d) */
    const double *log_r[2]; /* (n) */
} wmi_witness_rows;

typedef struct wmi_witness {
    double gain, se; /* nats of loss, of a row of p and one of q together, that the mean wins */
} wmi_witness;

/* Fewer than 100 pairs say nothing: a gain of 0. */
WM_MUST_CHECK wm_status wmi_witness_ask(wmi_witness *out, const wmi_witness_rows *rows,
                                        uint64_t seed, wm_error *err);

#endif
