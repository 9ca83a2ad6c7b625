/** @file data.h
 * A table of samples: rows are samples, columns are dimensions, numbers are double. */
#ifndef WAYMARK_DATA_H
#define WAYMARK_DATA_H

#include <stdint.h>

#include "waymark/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Rows x columns of double, row-major, without gaps. */
typedef struct wm_data wm_data;

/** A new table.
 * @param[out] out  the table, freed with wm_data_free(); NULL on failure
 * @param n         rows, at least 1
 * @param dim       columns, at least 1
 * @param rows      (n, dim), copied; NULL for a table of zeros, filled by wm_data_rows_mut()
 * @param err       detail of a failure, or NULL
 * @return WM_OK; WM_EINVAL (n or dim below 1), WM_ENOMEM (also when n x dim cannot be addressed)
 * Values are not looked at: see wm_data_check_finite(). Threads: safe. */
WM_API WM_MUST_CHECK wm_status wm_data_new(wm_data **out, int64_t n, int64_t dim,
                                           const double *rows, wm_error *err);
/** NULL is fine. */
WM_API void wm_data_free(wm_data *d);

WM_API int64_t wm_data_count(const wm_data *d); /**< rows */
WM_API int64_t wm_data_dim(const wm_data *d);   /**< columns */

/** The values, (count, dim), aligned to 64 bytes, borrowed from @p d. */
WM_API const double *wm_data_rows(const wm_data *d);
/** The same, to be written. */
WM_API double *wm_data_rows_mut(wm_data *d);

/** Refuse NaN and infinities.
 * @param label  what the table is to the user, such as "p" or a file name; begins the message
 * @param err    on failure names the first such value in row order, with row and column counted
 *               from 1, how many there are in all, and what to do; or NULL
 * @return WM_OK or WM_EINVAL. Threads: safe. */
WM_API WM_MUST_CHECK wm_status wm_data_check_finite(const wm_data *d, const char *label,
                                                    wm_error *err);

/* --- generators: samples of known distributions, a function of (seed, stream) ---- */

/** Independent normals, (n, dim).
 * @param sd      standard deviation, finite and not negative
 * @param stream  name of the sequence: other names under one seed give unrelated draws
 * @return WM_OK; WM_EINVAL (n or dim below 1; mean or sd not finite, sd negative), WM_ENOMEM.
 * Longer tables begin with the rows of shorter ones. Threads: safe; runs in parallel when large. */
WM_API WM_MUST_CHECK wm_status wm_data_normal(wm_data **out, int64_t n, int64_t dim, double mean,
                                              double sd, uint64_t seed, const char *stream,
                                              wm_error *err);
/** Standard normals of which columns 1 and 2, 3 and 4, ... are correlated by @p rho in [-1, 1]: the
 * paper's example of a large mutual information. dim must be even; else as wm_data_normal(). */
WM_API WM_MUST_CHECK wm_status wm_data_gaussian_pairs(wm_data **out, int64_t n, int64_t dim,
                                                      double rho, uint64_t seed, const char *stream,
                                                      wm_error *err);
/** Mutual information in nats of the odd and the even columns, -(dim / 4) log(1 - rho^2), which is
 * also the KL divergence from independence; infinite at rho = +-1. */
WM_API double wm_gaussian_pairs_mi(int64_t dim, double rho);
/** The rho >= 0 that gives this mutual information: sqrt(1 - exp(-4 mi / dim)). */
WM_API double wm_gaussian_pairs_rho(int64_t dim, double mi);

#ifdef __cplusplus
}
#endif
#endif
