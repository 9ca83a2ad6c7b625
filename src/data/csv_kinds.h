/* csv_kinds.h - what the columns of a text table are, and their levels. */
#ifndef WMI_DATA_CSV_KINDS_H
#define WMI_DATA_CSV_KINDS_H

#include "data/csv_table.h"

/* Reads the whole table once, or twice if it has categorical columns, and goes back to its start.
 * The schema learns names, kinds and levels; categorical (dim) says where t yields levels; *count
 * is the number of rows. t's bytes were kept, so that a pipe can go back. */
WM_MUST_CHECK wm_status wmi_csv_learn(wmi_csv_table *t, const wmi_source_file *file,
                                      bool *categorical, int64_t *count, wm_error *err);

/* The number of the level that a field is, or -1: the one with its very text, else, if the field is
 * a number, the one of that number in its shortest form, so that 1.0 and 1 are one level. */
int64_t wmi_csv_level(const wm_schema *s, int64_t column, const wmi_csv_field *f);

/* A field of the current row that should have been something else. */
WM_MUST_CHECK wm_status wmi_csv_not_a_number(const wmi_csv_table *t, int64_t column, wm_error *err);
WM_MUST_CHECK wm_status wmi_csv_not_a_level(const wmi_csv_table *t, const wm_schema *s,
                                            int64_t column, wm_error *err);

#endif
