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
/** A table over rows that you keep: they are read where they stand, not copied and not freed. For
 * calls that take a const table; wm_data_rows_mut() and what changes a table would write to them.
 * @param rows  (n, dim), row-major without gaps; must outlive the table and not change meanwhile
 * @return as wm_data_new(). Threads: safe. */
WM_API WM_MUST_CHECK wm_status wm_data_borrow(wm_data **out, int64_t n, int64_t dim,
                                              const double *rows, wm_error *err);
/** NULL is fine. */
WM_API void wm_data_free(wm_data *d);

WM_API int64_t wm_data_count(const wm_data *d); /**< rows */
WM_API int64_t wm_data_dim(const wm_data *d);   /**< columns */
/** Rows of what it was read from, of which it may be a sample (wm_read_opts.max_rows); else those
 * that it has. */
WM_API int64_t wm_data_total(const wm_data *d);

/** The values, (count, dim), borrowed from @p d; aligned to 64 bytes unless they are the caller's
 * own (wm_data_borrow()). */
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

#ifdef __cplusplus
}
#endif
#endif
