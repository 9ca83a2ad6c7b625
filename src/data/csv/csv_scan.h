/* csv_scan.h - bytes to rows of fields, with line numbers.
 *
 * Written by hand rather than on libcsv: that one calls back for every field with a copy, knows no
 * lines or columns, takes a lone quote or a quote that is never closed without a word, and splits
 * neither at runs of spaces nor finds out what a file is split at. Here a field is a place in the
 * buffer, and numbers are read where they stand. */
#ifndef WMI_DATA_CSV_SCAN_H
#define WMI_DATA_CSV_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"
#include "data/csv/csv_decode.h"
#include "data/csv/csv_field.h"
#include "data/formats/bytes.h"
#include "waymark/sink.h"

#define WMI_CSV_MAX_ROW (64 << 20) /* bytes */
#define WMI_CSV_MAX_COLUMNS (1 << 20)

typedef struct wmi_csv_scan {
    wmi_bytes *bytes;
    const char *path;
    const wm_sink *sink; /* is told of letters that are not UTF-8, or NULL */
    wmi_csv_decoder decoder;
    bool told;      /* of them */
    char delimiter; /* ' ': runs of spaces and tabs; '\0': a row is one field */
    bool frozen;    /* a look at what is in the buffer: nothing is read */

    char *buf; /* (room + 1): one byte more for a newline as a stop */
    size_t begin, end, room;
    bool ended; /* no more bytes than those in the buffer */

    wmi_csv_field *field; /* (n) the current row; 0: a blank line */
    int64_t n, field_room;
    int64_t row_line;        /* line, from 1, where it begins */
    int64_t line;            /* where the next one does */
    unsigned char stop[256]; /* bytes that end a field */
} wmi_csv_scan;

/* Begin at the start of bytes: fills the buffer, passes a byte order mark, and blank lines and
 * comments (#) that come first. The scan starts as {.path = ..., .bytes = ...} or
 * is one that was closed; its delimiter is set afterwards. */
WM_MUST_CHECK wm_status wmi_csv_scan_start(wmi_csv_scan *s, wm_error *err);
void wmi_csv_scan_delimiter(wmi_csv_scan *s, char delimiter);
void wmi_csv_scan_close(wmi_csv_scan *s); /* the buffer, not the bytes */

/* The next row into s->field; *got = false at the end, and where a frozen scan needs more bytes.
 * WM_EFORMAT: a quote that is not closed, or closed before other text; a NUL; too long a row. */
WM_MUST_CHECK wm_status wmi_csv_scan_row(wmi_csv_scan *s, bool *got, wm_error *err);
/* Twice the buffer, filled: for a look that has seen too little. */
WM_MUST_CHECK wm_status wmi_csv_scan_more(wmi_csv_scan *s, wm_error *err);
/* A scan of what s holds, from where it stands, with fields of its own: freed with
 * wmi_csv_scan_unlook(). */
wmi_csv_scan wmi_csv_scan_look(const wmi_csv_scan *s, char delimiter);
void wmi_csv_scan_unlook(wmi_csv_scan *look);

#endif
