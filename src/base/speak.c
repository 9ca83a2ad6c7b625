/* speak.c - formatting and throttling for the caller's callbacks. */
#include "waymark/sink.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include "base/utf8.h"

enum { TEXT_BYTES = 512 };

void wm_sink_init(wm_sink *sink)
{
    *sink = (wm_sink){.struct_size = sizeof *sink, .interval = 0.5};
}

void wm_say(const wm_sink *sink, wm_log_level level, const char *fmt, ...)
{
    char text[TEXT_BYTES];
    va_list ap;

    if (!sink || !sink->log)
        return;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    wmi_text_plain(text);
    sink->log(sink->ctx, level, text);
}

double wm_clock(const wm_sink *sink)
{
    struct timespec t;

    if (sink && sink->clock)
        return sink->clock(sink->ctx);
    clock_gettime(CLOCK_MONOTONIC, &t); /* cannot fail with this clock and a valid pointer */
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void wm_task_start(wm_task *p, const wm_sink *sink, const char *unit, int64_t first, int64_t total)
{
    *p = (wm_task){.sink = sink, .unit = unit, .first = first, .total = total};
    if (sink && sink->progress)
        p->started = p->spoke = wm_clock(sink);
}

static void deliver(wm_task *p, double now, int64_t done, const char *fmt, va_list ap)
{
    const double elapsed = now - p->started;
    const double rate = elapsed > 0 ? (double)(done - p->first) / elapsed : 0;
    const bool can_tell = p->total > 0 && rate > 0;
    char text[TEXT_BYTES];
    const wm_progress report = {
        .done = done,
        .total = p->total,
        .unit = p->unit,
        .message = text,
        .elapsed = elapsed,
        .rate = rate,
        .eta = can_tell ? fmax((double)(p->total - done) / rate, 0) : (double)NAN,
    };

    vsnprintf(text, sizeof text, fmt, ap);
    wmi_text_plain(text);
    p->spoke = now;
    p->sink->progress(p->sink->ctx, &report);
}

void wm_task_update(wm_task *p, int64_t done, const char *fmt, ...)
{
    const bool last = p->total > 0 && done >= p->total;
    va_list ap;
    double now;

    if (!p->sink || !p->sink->progress || p->finished)
        return;
    now = wm_clock(p->sink);
    if (!last && now - p->spoke < p->sink->interval)
        return;
    p->finished = last;
    va_start(ap, fmt);
    deliver(p, now, done, fmt, ap);
    va_end(ap);
}

void wm_task_finish(wm_task *p, int64_t done, const char *fmt, ...)
{
    va_list ap;

    if (!p->sink || !p->sink->progress || p->finished)
        return;
    p->finished = true;
    va_start(ap, fmt);
    deliver(p, wm_clock(p->sink), done, fmt, ap);
    va_end(ap);
}
