/* opts.h - a client's options and threads, at the door of the library.
 *
 * Option structs begin with their size as the client knows it, and grow at their end only: a client
 * that was built for an earlier version has fewer fields, and the rest is as by default. One that
 * was built for a later version may have set what is not known here, and is refused. */
#ifndef WMI_BASE_OPTS_H
#define WMI_BASE_OPTS_H

#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"

/* What the client has given over own (size bytes), which holds the defaults; given may be NULL.
 * init is the function that such options start from, for the message. */
WM_MUST_CHECK wm_status wmi_opts_take(void *own, size_t size, const void *given, const char *init,
                                      wm_error *err);

/* The threads of this call, where it asks for some (> 0): OpenMP's setting is that of the calling
 * thread. Returns what there were, or 0 where nothing was changed, for wmi_threads_restore(). */
int wmi_threads_use(int64_t threads);
void wmi_threads_restore(int before);

#endif
