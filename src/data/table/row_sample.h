/* row_sample.h - a uniform sample of the rows of a table that is read in order and may be longer
 * than memory. Each row has a place between 0 and 1 that hangs on its number alone; rows whose
 * place is below the share are kept, and the share falls as the table turns out to be long. The
 * same rows are kept whatever the size of the blocks. */
#ifndef WMI_DATA_ROW_SAMPLE_H
#define WMI_DATA_ROW_SAMPLE_H

#include <stdint.h>

#include "base/fail.h"

typedef struct wmi_row_sample {
    int64_t limit; /* rows to be kept at most; 0: all, and nothing is done here */
    int64_t seen;  /* rows so far */
    double share;
    int64_t n, room;
    double *place; /* (n) of the rows that are kept */
} wmi_row_sample;

/* Starts as {0}. limit as in wm_read_opts.max_rows; expected: rows that the table says it has, or
 * less than 1. */
void wmi_row_sample_begin(wmi_row_sample *s, int64_t max_rows, int64_t dim, int64_t expected);
void wmi_row_sample_free(wmi_row_sample *s);
/* Of the next n rows (n, dim) those that are kept, moved together; *kept: how many. */
WM_MUST_CHECK wm_status wmi_row_sample_take(wmi_row_sample *s, int64_t n, int64_t dim, double *rows,
                                            int64_t *kept, wm_error *err);
/* The rows (s->n - first, dim) from number `first` of those that are kept: moves those together
 * that still are, where all of them may be `most`; returns how many there are. */
int64_t wmi_row_sample_thin(wmi_row_sample *s, int64_t first, int64_t most, int64_t dim,
                            double *rows);

#endif
