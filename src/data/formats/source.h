/* source.h - from the words of a user ("x.npz:a", "-") to a cursor. */
#ifndef WMI_DATA_SOURCE_H
#define WMI_DATA_SOURCE_H

#include "data/formats/reader.h"

/* Seconds after which a load speaks of its progress. */
#define WMI_SPEAK_AFTER 2

/* A file that is being read. */
typedef struct wmi_stream {
    wmi_bytes *bytes;
    wmi_cursor *cursor;
    char *path;        /* without :NAME */
    char *array;       /* or NULL */
    const char *label; /* what messages call it: short, in path */
} wmi_stream;

/* The options of a caller, NULL: the defaults. WM_EINVAL where they make no sense. */
WM_MUST_CHECK wm_status wmi_read_opts_take(wm_read_opts *own, const wm_read_opts *given,
                                           wm_error *err);

/* Opens path with a schema that learns, or one that is fixed (either may be NULL). lenient: columns
 * that an earlier table has may be absent. On failure s is closed. */
WM_MUST_CHECK wm_status wmi_stream_open(wmi_stream *s, const char *path, wm_schema *schema,
                                        const wm_schema *fixed, const wm_read_opts *opts,
                                        bool lenient, wm_error *err);
/* The same from bytes, which s takes over also on failure; path is for messages, and its ending. */
WM_MUST_CHECK wm_status wmi_stream_open_bytes(wmi_stream *s, wmi_bytes *bytes, const char *path,
                                              wm_schema *schema, const wm_schema *fixed,
                                              const wm_read_opts *opts, wm_error *err);
void wmi_stream_close(wmi_stream *s); /* leaves it empty; an empty one is fine */

#endif
