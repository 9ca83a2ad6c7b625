/* table.h - a table whose number of rows is found out while it is read. */
#ifndef WMI_DATA_TABLE_H
#define WMI_DATA_TABLE_H

#include <stdbool.h>

#include "base/fail.h"
#include "waymark/data.h"

/* Another number of rows, at least 1. Fewer only forgets the last ones; more may move the table,
 * and are zero. On failure (WM_ENOMEM) the table is as it was. */
WM_MUST_CHECK wm_status wmi_data_resize(wm_data *d, int64_t n, wm_error *err);
/* The rows of more after those of d, which has as many columns. */
WM_MUST_CHECK wm_status wmi_data_append(wm_data *d, const wm_data *more, wm_error *err);
/* It is a sample of so many rows. */
void wmi_data_set_total(wm_data *d, int64_t total);
/* The columns of `keep` (dim), moved together; at least one. */
void wmi_data_keep_columns(wm_data *d, const bool *keep);

#endif
