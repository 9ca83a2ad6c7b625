/* csv_index.h - a first column without a name that only tells rows apart: what pandas and R write
 * in front of a table. */
#ifndef WMI_DATA_CSV_INDEX_H
#define WMI_DATA_CSV_INDEX_H

#include "data/csv/csv_table.h"

typedef struct wmi_csv_index {
    bool may;       /* the first column has no name, or that which pandas gives to one, and the
                       others have */
    uint64_t *hash; /* (n) of its texts, as long as it may be one */
    int64_t n, room;
} wmi_csv_index;

/* Of a table whose columns nobody has listed; x starts as {0} and is freed. */
void wmi_csv_index_start(wmi_csv_index *x, const wmi_csv_table *t);
void wmi_csv_index_free(wmi_csv_index *x);
/* The first column's value in the current row. */
WM_MUST_CHECK wm_status wmi_csv_index_see(wmi_csv_index *x, const wmi_csv_field *f, wmi_csv_value v,
                                          wm_error *err);
/* Whether it is one: whole numbers, or texts that are all different. */
bool wmi_csv_index_found(wmi_csv_index *x);

#endif
