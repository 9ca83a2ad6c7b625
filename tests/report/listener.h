/* listener.h - what the library logs, for the tests of this room; and whether gnuplot is there. */
#ifndef WM_TESTS_REPORT_LISTENER_H
#define WM_TESTS_REPORT_LISTENER_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "waymark/sink.h"

typedef struct listener {
    int lines;
    char text[512]; /* the last */
} listener;

static inline void listener_hear(void *ctx, wm_log_level level, const char *text)
{
    listener *l = ctx;

    (void)level;
    l->lines++;
    snprintf(l->text, sizeof l->text, "%s", text);
}

static inline wm_sink sink_to(listener *l)
{
    wm_sink sink;

    wm_sink_init(&sink);
    sink.ctx = l;
    sink.log = listener_hear;
    return sink;
}

static inline bool have_gnuplot(void)
{
    return system("gnuplot --version >/dev/null 2>&1") == 0; /* NOLINT: a command of our own */
}

#endif
