/* file.h - files that are written whole or not at all.
 * Bytes go to a temporary file beside the target; commit flushes it to the disk and renames it, so
 * a reader sees the old file or the new one and a crash leaves the old; the next who writes the
 * same target removes what a killed writer left. A symbolic link is followed; an existing target
 * that is no regular file (a pipe, /dev/stdout) is written straight through. Messages name the
 * target and the system's reason. Not for two threads on one target. */
#ifndef WMI_BASE_FILE_H
#define WMI_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/fail.h"

/* Part of the name of every temporary file, also of those that are not made here. */
#define WMI_TEMP_MARK ".wmtmp"

typedef struct wmi_file wmi_file;

/* Begins to write path; *out ends with commit or abandon. The folder must exist. */
WM_MUST_CHECK wm_status wmi_file_open(wmi_file **out, const char *path, wm_error *err);
/* Borrowed. Write errors need not be checked on the way: commit finds them. */
FILE *wmi_file_stream(wmi_file *f);
/* Puts the file in place and frees f. On failure the temporary is gone and the old file stays. */
WM_MUST_CHECK wm_status wmi_file_commit(wmi_file *f, wm_error *err);
/* Forgets what was written and frees f; NULL is fine. */
void wmi_file_abandon(wmi_file *f);

/* n bytes as the whole content of path. */
WM_MUST_CHECK wm_status wmi_file_write(const char *path, const void *bytes, size_t n,
                                       wm_error *err);
/* Bytes of a regular file. WM_EIO for anything else; it is not opened, so that no FIFO is waited
 * for. */
WM_MUST_CHECK wm_status wmi_file_size(int64_t *out, const char *path, wm_error *err);
/* The whole content of path, for wmi_free(), with a NUL after it that *n does not count. Files of
 * more than max bytes are refused before anything is allocated. */
WM_MUST_CHECK wm_status wmi_file_read(char **out, size_t *n, const char *path, int64_t max,
                                      wm_error *err);

/* path as a folder, with those above it, as mkdir -p does. */
WM_MUST_CHECK wm_status wmi_folder_make(const char *path, wm_error *err);
/* Removes the temporaries that killed writers left in a folder: only for a folder of our own. */
void wmi_folder_sweep(const char *path);
bool wmi_file_exists(const char *path);
/* Of the file folder/name + end (".npy"): refuses it if it is there; removes it. */
WM_MUST_CHECK wm_status wmi_file_absent(const char *folder, const char *name, const char *end,
                                        wm_error *err);
void wmi_file_remove(const char *folder, const char *name, const char *end);

/* folder/name, for wmi_free(); and with an end to the name. */
WM_MUST_CHECK wm_status wmi_path_join(char **out, const char *folder, const char *name,
                                      wm_error *err);
WM_MUST_CHECK wm_status wmi_path_end(char **out, const char *folder, const char *name,
                                     const char *end, wm_error *err);
/* The end of a path, so that a long one leaves room in a message for what went wrong. */
const char *wmi_path_tail(const char *path);

#endif
