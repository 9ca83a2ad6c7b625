/* page_numbers.h - the CSV beside a figure as tables that a person can read. */
#ifndef WMI_REPORT_PAGE_NUMBERS_H
#define WMI_REPORT_PAGE_NUMBERS_H

#include <stdint.h>
#include <stdio.h>

#include "base/fail.h"
#include "report/figure_plan.h"

typedef struct wmi_numbers {
    int64_t n_rows, n_columns;
    const char **cell; /* (n_rows + 1, n_columns), the header first; into the text that was read */
    int32_t *block;    /* (n_rows): how many times two empty lines came before the row */
} wmi_numbers;

/* Takes apart the CSV in text (n bytes, a NUL after them), which it changes and which must outlive
 * the result. WM_EFORMAT with line and reason for a file that is no table. */
WM_MUST_CHECK wm_status wmi_numbers_read(wmi_numbers *out, char *text, size_t n, const char *name,
                                         wm_error *err);
void wmi_numbers_clear(wmi_numbers *numbers);

typedef struct wmi_numbers_size {
    int64_t lines, longest, columns; /* of all tables, of the longest, and of the widest */
} wmi_numbers_size;

/* Prints the tables: series side by side where they share their x, grids as grids. Long ones are
 * thinned, and say so. */
wmi_numbers_size wmi_numbers_print(const wmi_numbers *numbers, const wmi_plan *plan,
                                   const char *name, FILE *out);

#endif
