/* progress.h - the library's words and progress on a terminal, or in a log. */
#ifndef WM_CLI_PROGRESS_H
#define WM_CLI_PROGRESS_H

#include <stdbool.h>
#include <stdio.h>

#include "waymark/sink.h"

typedef struct progress {
    FILE *out;
    bool terminal; /* one line that is rewritten; else a plain line now and then */
    bool quiet;    /* nothing at all */
    bool shown;    /* this task has been spoken of */
    int drawn;     /* columns of the line that stands on the terminal, 0: none */
    double spoke;  /* elapsed seconds of the task when it last was */
} progress;

/* out is stderr, and terminal what isatty() says of it. */
void progress_init(progress *p, FILE *out, bool terminal, bool quiet);
/* A sink that speaks through p, which must outlive it. */
wm_sink progress_sink(progress *p);
/* Removes the rewritten line: before anything else is printed. */
void progress_clear(progress *p);

/* "0:07", "12:30", "3:05:00"; "?" if it cannot be said. */
const char *progress_time(char out[32], double seconds);

#endif
