/** @file columns.h
 * A person's columns as a network is to see them: numbers standardised, categories as indicators.
 * Learned from the rows that it is fitted to, kept in the file of its model, applied to new rows.
 * For models of pairs, which take rows as they are and keep these beside them
 * (wm_embed_set_columns). */
#ifndef WAYMARK_COLUMNS_H
#define WAYMARK_COLUMNS_H

#include <stdint.h>

#include "waymark/read.h"
#include "waymark/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** How columns are encoded. */
typedef struct wm_columns wm_columns;

/** From rows: numbers to mean 0 and standard deviation 1; a category to an indicator of every
 * level but one, centred and scaled by its share; a whole number of 3 to 16 values to both.
 * @param[out] out  freed with wm_columns_free(); NULL on failure
 * @param rows      (n, columns of the schema), finite
 * @param schema    that they were read with
 * @return WM_OK; WM_EINVAL (no rows; a column that is constant, by name), WM_ENOMEM */
WM_API WM_MUST_CHECK wm_status wm_columns_fit(wm_columns **out, int64_t n, const double *rows,
                                              const wm_schema *schema, wm_error *err);
/** All of them numbers, divided by one number that is not 0: pixels.
 * @return WM_OK; WM_EINVAL, WM_ENOMEM */
WM_API WM_MUST_CHECK wm_status wm_columns_divide(wm_columns **out, int64_t dim, double by,
                                                 wm_error *err);
WM_API void wm_columns_free(wm_columns *c); /**< NULL is fine */

WM_API int64_t wm_columns_raw(const wm_columns *c); /**< columns that the person has */
WM_API int64_t wm_columns_dim(const wm_columns *c); /**< columns that the network sees */
/** The schema as wm_schema_parse() reads it, borrowed; NULL after wm_columns_divide(). */
WM_API const char *wm_columns_schema(const wm_columns *c);
/** @param rows      (n, raw)
 * @param[out] out  (n, dim)
 * @return WM_OK; WM_EINVAL (a category that is none), WM_ENOMEM. Threads: safe. */
WM_API WM_MUST_CHECK wm_status wm_columns_apply(const wm_columns *c, int64_t n, const double *rows,
                                                float *out, wm_error *err);

#ifdef __cplusplus
}
#endif
#endif
