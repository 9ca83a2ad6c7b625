/* ksg.h - mutual information from nearest neighbours: estimator 1 of Kraskov, Stoegbauer and
 * Grassberger (2004). With e_i the distance of row i of (u, v) to its k-th neighbour in the maximum
 * norm, and n_u(i), n_v(i) the other rows that are nearer than e_i in u alone and in v alone,
 *     I = psi(k) + psi(n) - mean_i [psi(n_u(i) + 1) + psi(n_v(i) + 1)].
 * There is nothing to train and nothing to tune but k. It is good where the dimension is small and
 * the dependence moderate; it falls short once exp(I) is not far below n, since the density must
 * look flat in boxes that hold k rows.
 *
 * The theory wants continuous columns. Repeated values put e_i at 0 or at one of a few distances;
 * no noise is added to hide that. Rows with e_i = 0 are counted as Gao, Kannan, Oh and Viswanath
 * (2017) do: k becomes the number of rows at distance 0, n_u and n_v those at distance 0, which is
 * right for discrete columns and for mixtures. `repeats` and `tied` say how much of that there is,
 * and `doubtful` marks a result that should not be relied on. */
#ifndef WMI_MI_KSG_H
#define WMI_MI_KSG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"
#include "waymark/fit.h"

#define WMI_KSG_TIED_LIMIT                                                                         \
    0.05 /* share of tied values in a column from which on it is doubtful                          \
          */

typedef struct wmi_ksg_opts {
    int64_t k;              /* neighbours: 3. More: less variance, more bias */
    wm_fit_control control; /* seed (of the blocks for the standard error), sink and stop */
} wmi_ksg_opts;

void wmi_ksg_opts_init(wmi_ksg_opts *opts);

typedef struct wmi_ksg_result {
    double mi; /* nats; may fall below 0 by its error */
    /* Standard error, by disjoint blocks: the rows are dealt at random into 20 blocks of at least
     * 50 rows (10, or 5, where there are fewer), each is estimated alone, and the variance of a
     * block is taken to fall as 1 / rows (Holmes and Nemenman 2019). It does not know of the bias.
     * NaN below 250 rows. */
    double se;
    double repeats; /* share of rows with k or more rows in the same place */
    double tied;    /* largest share over columns of rows whose value occurs again */
    bool doubtful;  /* tied above WMI_KSG_TIED_LIMIT, or more than 1 % of repeats */
} wmi_ksg_result;

/* I(u; v) of rows u (n, du), v (n, dv), which should be of similar scale in all columns
 * (standardised, or normal by ranks). opts may be NULL. Exact neighbours by k-d trees: 10,000 rows
 * take a quarter of a second in 1 + 1 columns, a second in 5 + 5, ten in 20 + 20, where trees do
 * not help any more. Rows in parallel; the same bits for any number of threads. WM_EINVAL (n < k +
 * 1, values not finite), WM_ENOMEM, WM_EINTERRUPTED (*stop). */
WM_MUST_CHECK wm_status wmi_ksg(wmi_ksg_result *out, int64_t n, int64_t du, const double *u,
                                int64_t dv, const double *v, const wmi_ksg_opts *opts,
                                wm_error *err);

#endif
