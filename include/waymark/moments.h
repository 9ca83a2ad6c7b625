/** @file moments.h
 * Means and covariances of tables that are longer than memory: read once, in order, a block at a
 * time. */
#ifndef WAYMARK_MOMENTS_H
#define WAYMARK_MOMENTS_H

#include <stdint.h>

#include "waymark/read.h"
#include "waymark/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Moments of all rows, in groups that rows belong to by the hash of their number: leaving out one
 * group at a time tells the error of what is made of them. */
typedef struct wm_moments wm_moments;

/** Read them.
 * @param[out] out  freed with wm_moments_free(); NULL on failure
 * @param path      as for wm_data_read(): several files are one table
 * @param schema    filled by wm_data_read(), as for wm_reader_open()
 * @param opts      as there, or NULL
 * @return as wm_reader_open() and wm_reader_next(). Memory: 50 covariances, or 10 of more than 320
 *         columns */
WM_API WM_MUST_CHECK wm_status wm_moments_read(wm_moments **out, const char *path,
                                               const wm_schema *schema, const wm_read_opts *opts,
                                               wm_error *err);
WM_API void wm_moments_free(wm_moments *m);           /**< NULL is fine */
WM_API int64_t wm_moments_count(const wm_moments *m); /**< rows */

#ifdef __cplusplus
}
#endif
#endif
