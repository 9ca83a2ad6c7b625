/* bytes.h - where a format's bytes come from: a mapped file, a pipe, standard input, memory, or a
 * stream that another format decodes (an array in a zip). gzip is decoded here, so that formats see
 * content only. Every source can be read in order and peeked at; only some are mapped. */
#ifndef WMI_DATA_BYTES_H
#define WMI_DATA_BYTES_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"

#define WMI_BYTES_PEEK 512

typedef struct wmi_bytes wmi_bytes;

/* A source made elsewhere; ctx is the maker's. */
typedef struct wmi_bytes_stream {
    /* Up to n > 0 bytes into buf; *got = 0 only at the end. */
    wm_status (*read)(void *ctx, void *buf, size_t n, size_t *got, wm_error *err);
    wm_status (*rewind)(void *ctx, wm_error *err); /* NULL: cannot */
    void (*close)(void *ctx);
} wmi_bytes_stream;

/* A file, a FIFO, or "-" for standard input. Regular files are mapped, and a file that gets shorter
 * while it is read is an error as far as that can be seen. What begins as gzip is decoded. Once
 * *stop (or NULL) is not 0 whatever reads or waits for bytes ends with WM_EINTERRUPTED. */
WM_MUST_CHECK wm_status wmi_bytes_open(wmi_bytes **out, const char *path,
                                       const volatile sig_atomic_t *stop, wm_error *err);
/* The same from n bytes of memory, which must outlive *out. label is copied, for messages. */
WM_MUST_CHECK wm_status wmi_bytes_memory(wmi_bytes **out, const char *label, const void *data,
                                         size_t n, wm_error *err);
/* size: bytes in all, or -1. Closes ctx also on failure. */
WM_MUST_CHECK wm_status wmi_bytes_from(wmi_bytes **out, const char *label,
                                       const wmi_bytes_stream *stream, void *ctx, int64_t size,
                                       wm_error *err);
void wmi_bytes_close(wmi_bytes *b); /* NULL is fine */

/* The first bytes, at most WMI_BYTES_PEEK, borrowed; read() still yields them. Before any read. */
WM_MUST_CHECK wm_status wmi_bytes_peek(wmi_bytes *b, const unsigned char **head, size_t *n,
                                       wm_error *err);
/* The next n bytes into buf; *got < n only at the end. */
WM_MUST_CHECK wm_status wmi_bytes_read(wmi_bytes *b, void *buf, size_t n, size_t *got,
                                       wm_error *err);
/* Back to the first byte. A pipe can only if wmi_bytes_keep() was called before the first read: it
 * then holds what it has read in memory, until rewind; it can go back once. For others keep() does
 * nothing. */
void wmi_bytes_keep(wmi_bytes *b);
WM_MUST_CHECK wm_status wmi_bytes_rewind(wmi_bytes *b, wm_error *err);

/* f is called now and then while bytes are read in order: how many were, of how many (-1 if that is
 * not known), counted before decoding. NULL: no more. */
typedef void wmi_bytes_watcher(void *ctx, int64_t done, int64_t total);
void wmi_bytes_watch(wmi_bytes *b, wmi_bytes_watcher *f, void *ctx);

int64_t wmi_bytes_size(const wmi_bytes *b); /* in all, or -1 if only the end tells */
bool wmi_bytes_mapped(const wmi_bytes *b);  /* wmi_bytes_at() may be used */
/* n bytes from offset, which must lie within the size; borrowed. */
WM_MUST_CHECK wm_status wmi_bytes_at(const wmi_bytes *b, int64_t offset, int64_t n,
                                     const unsigned char **out, wm_error *err);
/* The same copied into buf, without touching the mapping: cheaper for small pieces far apart. */
WM_MUST_CHECK wm_status wmi_bytes_copy(const wmi_bytes *b, int64_t offset, int64_t n, void *buf,
                                       wm_error *err);
/* Pages that were looked at need not stay in memory: they come back from the file when needed. */
void wmi_bytes_forget(const wmi_bytes *b);

#endif
