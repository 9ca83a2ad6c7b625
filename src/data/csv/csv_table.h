/* csv_table.h - a text table row by row: header passed, widths checked, lines counted. */
#ifndef WMI_DATA_CSV_TABLE_H
#define WMI_DATA_CSV_TABLE_H

#include "base/arena.h"
#include "data/csv/csv_guess.h"
#include "data/formats/reader.h"
#include "data/table/select.h"

typedef struct wmi_csv_table {
    wmi_csv_scan scan;
    wmi_csv_shape shape;
    wmi_arena arena;              /* of the names */
    const char *const *all_names; /* (shape.dim), entries may be NULL; or NULL */
    wmi_selection pick;           /* the table's columns among these */
    int64_t dim;                  /* their number */
    const char *const *names;     /* (dim), entries may be NULL; or NULL */
    const wm_schema *known;       /* for the names of a table that has none itself, or NULL */
    int64_t first_line;           /* of the header, or of the first row without one */

    const wmi_csv_field *row;    /* (dim) the current row, until the next is asked for */
    const wmi_csv_field *fields; /* (shape.dim) all of it */
    wmi_csv_field *picked;       /* (dim) */
    int64_t line;                /* where it begins */
    int64_t count;               /* rows since the start, this one included */

    /* In a table of one column a blank line before other rows is a missing value. */
    int64_t blanks, blank_line;
    bool held; /* the scan has a row that waits for these */
} wmi_csv_table;

/* t starts as {0}; it is closed also after a failure. delimiter: -1 to look. */
WM_MUST_CHECK wm_status wmi_csv_table_open(wmi_csv_table *t, const wmi_source_file *file,
                                           int delimiter, wm_error *err);
void wmi_csv_table_close(wmi_csv_table *t);
/* *got = false at the end. Errors: those of the scan, and rows of another width. */
WM_MUST_CHECK wm_status wmi_csv_table_next(wmi_csv_table *t, bool *got, wm_error *err);
/* Back to the first row. last: there will be no other, so a pipe need not be kept. */
WM_MUST_CHECK wm_status wmi_csv_table_rewind(wmi_csv_table *t, bool last, wm_error *err);

/* "train.csv:17: column 3 ('age')" for a line and a column. Returns buf. */
enum { WMI_CSV_PLACE = 192 };
const char *wmi_csv_place(const wmi_csv_table *t, int64_t line, int64_t column,
                          char buf[WMI_CSV_PLACE]);

#endif
