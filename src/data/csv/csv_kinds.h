/* csv_kinds.h - what the columns of a text table are, and their levels. */
#ifndef WMI_DATA_CSV_KINDS_H
#define WMI_DATA_CSV_KINDS_H

#include "data/csv/csv_table.h"

/* A column of a text table, as it is to be read. */
typedef struct wmi_csv_column {
    wmi_written written;
    const char *unsure; /* why it may be written otherwise, or NULL */
    bool categorical;   /* yields levels */
    bool idle;          /* yields nothing that counts */
} wmi_csv_column;

/* Reads the whole table once, or twice if it has categorical columns, and goes back to its start.
 * The schema learns names, kinds and levels; columns (dim) says how t is to be read; *count is the
 * number of rows. t's bytes were kept, so that a pipe can go back. */
WM_MUST_CHECK wm_status wmi_csv_learn(wmi_csv_table *t, const wmi_source_file *file,
                                      wmi_csv_column *columns, int64_t *count, wm_error *err);

/* The number of the level that a field is, or -1: in a column of yes and no, 1 and 0 in whatever
 * words; else the one with its very text, else, if the field is a number, the one of that number in
 * its shortest form, so that 1.0 and 1 are one level. */
int64_t wmi_csv_level(const wm_schema *s, int64_t column, const wmi_csv_field *f);

/* A field of the current row that should have been something else. */
WM_MUST_CHECK wm_status wmi_csv_not_a_number(const wmi_csv_table *t, int64_t column, wm_error *err);
WM_MUST_CHECK wm_status wmi_csv_not_a_level(const wmi_csv_table *t, const wm_schema *s,
                                            int64_t column, wm_error *err);

#endif
