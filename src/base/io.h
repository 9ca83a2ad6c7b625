/* io.h - the system's calls that change files, in one place: interrupted ones are begun again, and
 * any of them can be made to fail, which costs a test of one number otherwise.
 *
 * WAYMARK_IO_FAULT=N:WHAT makes the N-th call of the process fail, N+:WHAT that one and all later
 * ones. WHAT: ENOSPC, EIO, EFBIG, EACCES, EINTR (once, so that it is begun again), short (a write
 * takes half of the bytes), kill (the process is killed in place of the call) or stop (it stands
 * still before the call, until SIGCONT). A call that is met says so on standard error: `io fault 3:
 * rename model.safetensors`. */
#ifndef WMI_BASE_IO_H
#define WMI_BASE_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* As the calls of the system: -1 and errno. Paths of descriptors are for the messages of faults. */
int wmi_io_open(const char *path, int flags, int mode);
int wmi_io_close(int fd);
int wmi_io_sync(int fd);
int wmi_io_truncate(int fd, int64_t size);
int wmi_io_rename(const char *from, const char *to);
int wmi_io_unlink(const char *path); /* a file or a link, never what it points at */
int wmi_io_mkdir(const char *path);
int wmi_io_rmdir(const char *path);
/* All n bytes, or -1 and errno. */
int wmi_io_write(int fd, const void *bytes, size_t n);

/* A buffered stream onto fd; fclose() closes both. *number (the caller's, alive as long as the
 * stream) becomes the errno of its first failed write. NULL and errno on failure. */
FILE *wmi_io_stream(int fd, int *number);

/* For tests: the n-th call from now fails as WHAT says (above); "" or n = 0: none. */
void wmi_io_fail_at(int64_t n, bool onward, const char *what);
/* Whether that has happened. */
bool wmi_io_failed(void);

#endif
