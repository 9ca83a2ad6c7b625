/* csv_decode.h - the bytes of a text file as UTF-8, whatever they were written in.
 *
 * UTF-16 is known by its mark, or by NULs between plain letters. In all other files what is UTF-8
 * stays, and a byte that is none is a letter of Windows-1252, which has those of Latin-1:
 * spreadsheets write it, and its letters next to each other hardly ever make UTF-8. */
#ifndef WMI_DATA_CSV_DECODE_H
#define WMI_DATA_CSV_DECODE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/fail.h"
#include "data/formats/bytes.h"

typedef enum wmi_csv_encoding {
    WMI_CSV_UTF8,
    WMI_CSV_WINDOWS,
    WMI_CSV_UTF16_LOW, /* the low byte first */
    WMI_CSV_UTF16_HIGH,
} wmi_csv_encoding;

typedef struct wmi_csv_decoder {
    wmi_csv_encoding encoding; /* as far as the file was read */
    unsigned char *raw;        /* (room) bytes that were read and not yielded: at .. end */
    size_t at, end, room;
    bool started, ended; /* no more bytes than those */
} wmi_csv_decoder;

/* UTF-16 of either order, by a file's first bytes; else WMI_CSV_UTF8. */
wmi_csv_encoding wmi_csv_encoding_of(const unsigned char *head, size_t n);
/* "UTF-16", ... */
const char *wmi_csv_encoding_text(wmi_csv_encoding encoding);

/* A decoder starts as {0}; this is for bytes that begin anew. */
void wmi_csv_decoder_start(wmi_csv_decoder *d);
void wmi_csv_decoder_free(wmi_csv_decoder *d);
/* Up to n bytes of whole letters; *got = 0 before *ended only where n < 4. A mark at the start is
 * yielded. WM_EFORMAT: UTF-16 that is damaged. path: for messages. */
WM_MUST_CHECK wm_status wmi_csv_decode(wmi_csv_decoder *d, wmi_bytes *bytes, const char *path,
                                       char *out, size_t n, size_t *got, bool *ended,
                                       wm_error *err);

#endif
