/* column_file.h - one column of numbers, written a block at a time: whole or not at all where it
 * goes to a file, and without holding it in memory. */
#ifndef WMI_DATA_COLUMN_FILE_H
#define WMI_DATA_COLUMN_FILE_H

#include <stdint.h>
#include <stdio.h>

#include "base/fail.h"

typedef enum wmi_column_format {
    WMI_COLUMN_NPY,  /* a vector of doubles */
    WMI_COLUMN_CSV,  /* `row,NAME`, rows counted from 1 */
    WMI_COLUMN_TEXT, /* a number a line */
} wmi_column_format;

typedef struct wmi_column_file wmi_column_file;

/* Finds out what opening path would, without leaving anything behind: for work that takes long
 * before there is something to write. "-" is standard output. */
WM_MUST_CHECK wm_status wmi_column_file_check(const char *path, wm_error *err);

/* Other columns of a CSV, between the row's number and ours: lines of CSV without their ends, each
 * with a NUL, that stand in a file in the order in which the numbers come. */
typedef struct wmi_column_beside {
    const char *names; /* the line of their names */
    FILE *lines;       /* outlives the column's file */
} wmi_column_beside;

/* n: numbers that will come. name: of the column, read during the call only. beside: or NULL. *out
 * ends with commit or abandon. */
WM_MUST_CHECK wm_status wmi_column_file_open(wmi_column_file **out, const char *path,
                                             wmi_column_format format, const char *name, int64_t n,
                                             const wmi_column_beside *beside, wm_error *err);
/* The next numbers. rows: which rows they belong to, from 0, or NULL: those that follow. A disk
 * that is full is found out here or by commit. */
WM_MUST_CHECK wm_status wmi_column_file_write(wmi_column_file *c, const double *x,
                                              const int64_t *rows, int64_t n, wm_error *err);
/* Both free c. On failure of commit nothing is left. */
WM_MUST_CHECK wm_status wmi_column_file_commit(wmi_column_file *c, wm_error *err);
void wmi_column_file_abandon(wmi_column_file *c); /* NULL is fine */

#endif
