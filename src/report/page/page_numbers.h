/* page_numbers.h - the numbers of a figure as tables that a person can read. */
#ifndef WMI_REPORT_PAGE_NUMBERS_H
#define WMI_REPORT_PAGE_NUMBERS_H

#include <stdint.h>
#include <stdio.h>

#include "base/fail.h"
#include "report/figure/figure.h"

enum { WMI_NUMBERS_ROWS = 200 }; /* more rows of a table are thinned, and the caption says so */

/* Where tables are printed, and how large they became. */
typedef struct wmi_numbers {
    FILE *out;
    const char *file;                /* that has all the numbers, for the caption */
    int64_t lines, longest, columns; /* of all tables, of the longest, and of the widest */
    int tables;
} wmi_numbers;

/* The numbers of a figure: series of a panel side by side where they share their x, grids as grids
 * (page_numbers.c). */
void wmi_numbers_of_figure(wmi_numbers *t, const wm_figure *f);

/* A CSV (n bytes) with a header, as it stands; name is for messages. WM_EFORMAT with line and
 * reason for what is no table, WM_ENOMEM (page_csv.c). */
WM_MUST_CHECK wm_status wmi_numbers_of_csv(wmi_numbers *t, const char *text, size_t n,
                                           const char *name, const char *title, wm_error *err);

/* A table of n rows, of which `shown` are shown, up to its first column heading. title: of the
 * panel, then more; either may be "". */
void wmi_numbers_open(wmi_numbers *t, const char *title, const char *more, int64_t shown, int64_t n,
                      int64_t columns);
void wmi_numbers_close(wmi_numbers *t);
/* A column heading: text, or `otherwise` where that is "". */
void wmi_numbers_head(const wmi_numbers *t, const char *text, const char *otherwise);
/* The i-th of `shown` rows that stand for n: the first, the last, and evenly between. */
int64_t wmi_numbers_pick(int64_t i, int64_t shown, int64_t n);

#endif
