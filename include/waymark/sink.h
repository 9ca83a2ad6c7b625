/** @file sink.h
 * Where words and progress go: callbacks that the caller supplies. The library itself never prints;
 * a NULL sink, or a NULL callback in one, is silence. */
#ifndef WAYMARK_SINK_H
#define WAYMARK_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "waymark/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** How much a line matters. */
typedef enum wm_log_level {
    WM_LOG_DEBUG, /**< for those who work on Waymark */
    WM_LOG_INFO,  /**< what was chosen or done */
    WM_LOG_WARN,  /**< the result may be worse than it looks */
} wm_log_level;

/** How far a long task is. Read during the callback only. */
typedef struct wm_progress {
    int64_t done;        /**< units done, those of an earlier, resumed run included */
    int64_t total;       /**< units in all, or 0 if that is not known */
    const char *unit;    /**< plural: "steps", "draws" */
    const char *message; /**< the task's own words, such as a loss; may be empty, never NULL */
    double elapsed;      /**< seconds since the task was started or resumed */
    double rate;         /**< units per second since then; 0 until one is done */
    double eta;          /**< seconds to go at this rate; NaN if that cannot be said */
} wm_progress;

/** Callbacks, each of which may be NULL. They are called by the thread that called the library,
 * never inside one of its parallel regions, and must not call back into the object that is at work.
 * Start from wm_sink_init(); the library reads the sink while the call that got it lasts. */
typedef struct wm_sink {
    size_t struct_size; /**< set by wm_sink_init() */
    void *ctx;          /**< passed to every callback, yours */
    /** A line without newline; @p text is valid during the call only. */
    void (*log)(void *ctx, wm_log_level level, const char *text);
    /** At most once per @p interval, and always at the end of a task. */
    void (*progress)(void *ctx, const wm_progress *p);
    /** Seconds since any fixed moment, never going back; NULL is the system's monotonic clock. */
    double (*clock)(void *ctx);
    double interval; /**< least seconds between two calls of progress; default 0.5 */
} wm_sink;

/** A silent sink with default settings, to be filled in. Threads: safe. */
WM_API void wm_sink_init(wm_sink *sink);

/** A line to the sink's log, cut to 511 bytes. @param sink or NULL: silence */
WM_API void wm_say(const wm_sink *sink, wm_log_level level, const char *fmt, ...) WM_PRINTF(3, 4);

/** Seconds of the sink's clock, or of the system's monotonic one; differences are what counts.
 * @param sink or NULL */
WM_API double wm_clock(const wm_sink *sink);

/** A long task that tells how far it is, as often as the sink wants to know: a loop may call
 * wm_task_update() at every step. Its fields belong to the functions below. */
typedef struct wm_task {
    const wm_sink *sink;   /**< or NULL */
    const char *unit;      /**< plural */
    int64_t first, total;  /**< done at the start, and at the end (0: not known) */
    double started, spoke; /**< clock at the start, and at the last delivery */
    bool finished;         /**< the last word was said */
} wm_task;

/** Begin.
 * @param sink,unit  kept: must outlive the task; sink may be NULL: silence
 * @param first      units that a resumed run has done already, which do not count in the rate
 * @param total      units in all; 0: not known */
WM_API void wm_task_start(wm_task *task, const wm_sink *sink, const char *unit, int64_t first,
                          int64_t total);
/** Delivers if the interval has passed or @p done has reached a known total; otherwise costs a
 * reading of the clock, and the message is not formatted. */
WM_API void wm_task_update(wm_task *task, int64_t done, const char *fmt, ...) WM_PRINTF(3, 4);
/** Delivers the last state of a task that stops early or has no known total, unless that was
 * delivered already. */
WM_API void wm_task_finish(wm_task *task, int64_t done, const char *fmt, ...) WM_PRINTF(3, 4);

#ifdef __cplusplus
}
#endif
#endif
