/* csv_keep.h - columns of a text table that are copied and not read. */
#ifndef WMI_DATA_CSV_KEEP_H
#define WMI_DATA_CSV_KEEP_H

#include "data/csv/csv_table.h"

typedef struct wmi_csv_keep {
    wmi_selection columns; /* among all of the file; none: dim is 0 */
    char *header;          /* their names, as a line of CSV without its end */
    char *text;            /* lines, each with a NUL */
    size_t n, room;
    size_t *at; /* (rows_room) where each row's line begins in text */
    int64_t rows, rows_room;
} wmi_csv_keep;

/* list: of columns, or NULL; k starts as {0} and is freed, also after a failure. */
WM_MUST_CHECK wm_status wmi_csv_keep_start(wmi_csv_keep *k, const wmi_csv_table *t,
                                           const char *list, wm_error *err);
void wmi_csv_keep_free(wmi_csv_keep *k);
void wmi_csv_keep_clear(wmi_csv_keep *k);
/* The current row of the table. */
WM_MUST_CHECK wm_status wmi_csv_keep_row(wmi_csv_keep *k, const wmi_csv_table *t, wm_error *err);
/* The line of a row since the latest clear, or NULL. */
const char *wmi_csv_keep_line(const wmi_csv_keep *k, int64_t row);

#endif
