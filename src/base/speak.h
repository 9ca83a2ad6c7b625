/* speak.h - how the library speaks to a wm_sink: log lines, and progress that is throttled here so
 * that a loop may report every step. Every function takes a NULL sink and then does nothing. */
#ifndef WMI_BASE_SPEAK_H
#define WMI_BASE_SPEAK_H

#include <stdbool.h>

#include "waymark/sink.h"

/* Lines longer than 511 bytes are cut. */
void wmi_say(const wm_sink *sink, wm_log_level level, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Seconds of the sink's clock, or of the monotonic clock; differences are what counts. */
double wmi_clock(const wm_sink *sink);

/* One task's progress. Keeps sink and unit, which must outlive it. */
typedef struct wmi_progress {
    const wm_sink *sink;
    const char *unit;
    int64_t first, total;  /* done at the start, and at the end (0: not known) */
    double started, spoke; /* clock at the start, and at the last delivery */
    bool finished;         /* the last word was said */
} wmi_progress;

/* first: units that a resumed run has done already, which must not count in the rate. */
void wmi_progress_start(wmi_progress *p, const wm_sink *sink, const char *unit, int64_t first,
                        int64_t total);
/* Delivers if the interval has passed or done has reached a known total; otherwise costs a reading
 * of the clock, and the message is not formatted. */
void wmi_progress_update(wmi_progress *p, int64_t done, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* The last word of a task that stops early or has no known total; nothing if it was said. */
void wmi_progress_finish(wmi_progress *p, int64_t done, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#endif
