/* reader.h - what a file format is: a row of the table in reader.c, and a cursor that yields rows.
 *
 * reader.c opens the bytes (data/bytes.h: files, pipes and gzip look the same from there), finds
 * the format, and does what all formats share: `PATH:NAME`, missing and infinite values, kinds and
 * levels of arrays, progress. A format yields numbers as they stand: NaN for a missing value,
 * infinities as they are, level numbers for categorical columns of text. */
#ifndef WMI_DATA_READER_H
#define WMI_DATA_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"
#include "data/formats/bytes.h"
#include "waymark/read.h"

typedef struct wmi_cursor wmi_cursor;

struct wmi_cursor {
    int64_t dim;
    int64_t count; /* rows, or -1 where only the end of the file tells */
    bool sized;    /* the bytes of count rows are there: memory for all of them may be taken */
    /* Text formats: open has called wmi_schema_begin() and wmi_schema_set_kind() for every column,
     * with the user's words (file->categorical ...) and the schema's own in mind, and added the
     * levels; next yields numbers of levels. Arrays leave it false: reader.c does begin, looks at
     * the values, and finds their levels. */
    bool kinds_set;
    bool integers;       /* arrays: the type is whole numbers: no value can be anything else */
    bool bools;          /* arrays: 0 and 1 without order */
    const int64_t *from; /* arrays: (dim) columns of the file, of `width`; NULL: all */
    int64_t width;
    int64_t unseen;   /* streamed text: values so far that are no level */
    int axes;         /* arrays: axes after the first; 0 of text */
    int64_t shape[3]; /* their sizes, if they are at most three */
    /* The next rows, up to max, into rows (max, dim); *got = 0 at the end. max = 0 only after the
     * last of count rows that are not sized: checks that nothing follows. */
    wm_status (*next)(wmi_cursor *c, int64_t max, double *rows, int64_t *got, wm_error *err);
    /* Where row i (from 0) stands, for messages: "line 17" or "row 17"; column-free. Only rows of
     * the latest next() are asked for. */
    void (*where)(const wmi_cursor *c, int64_t row, char *buf, size_t size);
    /* Text formats, or NULL: row i of the latest next() in the columns of file->keep, as a line of
     * CSV without its end; i = -1 is the line of their names. NULL where nothing is kept. */
    const char *(*kept)(const wmi_cursor *c, int64_t row);
    void (*close)(wmi_cursor *c); /* frees c too, not the bytes it was opened on */
};

/* What a format is given to open. Path, bytes and schemas outlive the cursor. */
typedef struct wmi_source_file {
    const char *path;       /* as the user wrote it, without :NAME; for messages */
    const char *array;      /* or NULL */
    wmi_bytes *bytes;       /* at their first byte, decoded */
    int header;             /* CSV: -1, 0, 1 */
    wm_schema *schema;      /* learns the columns of text formats; NULL: streaming */
    const wm_schema *fixed; /* streaming: kinds and levels are these, or NULL: numbers only */
    /* As in wm_read_opts, entries not looked at yet; NULL when streaming. */
    const char *categorical, *continuous, *integer;
    const char *columns, *drop; /* as there, also when streaming */
    const char *keep;           /* streaming: columns whose texts are wanted, or NULL */
    char decimal;               /* '.', ',' or 0: look */
    wm_dates dates;
    bool unseen;  /* streaming: as in wm_read_opts */
    bool lenient; /* columns that an earlier table has may be absent: they become idle */
    const wm_sink *sink;
} wmi_source_file;

typedef struct wmi_format {
    const char *name;
    /* Whether the decoded file's first bytes (n, at most WMI_BYTES_PEEK) are of this format. */
    bool (*sniff)(const unsigned char *head, size_t n);
    wm_status (*open)(wmi_cursor **out, const wmi_source_file *file, wm_error *err);
} wmi_format;

/* wm_data_read(); lenient: columns that an earlier table has may be absent, and become idle. */
WM_MUST_CHECK wm_status wmi_data_read_path(wm_data **out, const char *path, wm_schema *schema,
                                           const wm_read_opts *opts, bool lenient, wm_error *err);
/* Takes the idle columns out of a schema and of the tables (n, none NULL) that it describes.
 * WM_EINVAL if there are no others. */
WM_MUST_CHECK wm_status wmi_drop_idle(wm_schema *s, const char *label, wm_data **tables, int n,
                                      wm_error *err);

/* wm_data_read() and wm_reader_open() from bytes, which they take over; label is for messages. For
 * the fuzzers. */
WM_MUST_CHECK wm_status wmi_data_read_bytes(wm_data **out, wmi_bytes *bytes, const char *label,
                                            wm_schema *schema, const wm_read_opts *opts,
                                            wm_error *err);
WM_MUST_CHECK wm_status wmi_reader_open_bytes(wm_reader **out, wmi_bytes *bytes, const char *label,
                                              const wm_schema *schema, const wm_read_opts *opts,
                                              wm_error *err);

extern const wmi_format wmi_format_npy, wmi_format_npz, wmi_format_idx, wmi_format_safetensors,
    wmi_format_csv, wmi_format_tsv; /* csv sniffs last: it takes any text */

#endif
