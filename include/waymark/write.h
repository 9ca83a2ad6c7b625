/** @file write.h
 * Tables into files: NumPy's npy and CSV, whole or not at all. */
#ifndef WAYMARK_WRITE_H
#define WAYMARK_WRITE_H

#include <stdbool.h>
#include <stdint.h>

#include "waymark/data.h"
#include "waymark/read.h"
#include "waymark/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Write a table as NumPy's .npy: doubles, (count, dim), whole or not at all. */
WM_API WM_MUST_CHECK wm_status wm_data_write_npy(const wm_data *d, const char *path, wm_error *err);
/** The same of an array with @p rank (1 to 3) dimensions @p dim. */
WM_API WM_MUST_CHECK wm_status wm_npy_write(const char *path, const double *x, int rank,
                                            const int64_t *dim, wm_error *err);
/** The same of bools: each of @p x is 0 or 1. */
WM_API WM_MUST_CHECK wm_status wm_npy_write_flags(const char *path, const unsigned char *x,
                                                  int rank, const int64_t *dim, wm_error *err);
/** Write tables side by side as CSV, whole or not at all. The header has prefix and number of each
 * column, counted from 0 in each table: X0,X1,Y0. Numbers have as many digits as bring back the
 * same double.
 * @param tables,prefixes  (n), n at least 1; all tables have the same number of rows (WM_ESHAPE) */
WM_API WM_MUST_CHECK wm_status wm_data_write_csv(const wm_data *const *tables,
                                                 const char *const *prefixes, int n,
                                                 const char *path, wm_error *err);
/** Write a table as CSV with the names of its columns (X0, X1, ... where there are none) and the
 * texts of its levels, quoted where they need it, whole or not at all.
 * @return WM_OK; WM_ESHAPE (the schema has another number of columns), WM_EINVAL (no such level) */
WM_API WM_MUST_CHECK wm_status wm_data_write_named(const wm_data *d, const wm_schema *schema,
                                                   const char *path, wm_error *err);
/** Write tables into one folder, which is made with those above it, as NAME.npy or NAME.csv: all of
 * them or, unless it replaces older ones, none.
 * @param tables,names  (n)
 * @param csv        CSV with columns X0, X1, ... instead of npy
 * @param overwrite  replace files of these names; else they are a WM_EINVAL that names the first */
WM_API WM_MUST_CHECK wm_status wm_data_write_folder(const wm_data *const *tables,
                                                    const char *const *names, int n,
                                                    const char *folder, bool csv, bool overwrite,
                                                    wm_error *err);

#ifdef __cplusplus
}
#endif
#endif
