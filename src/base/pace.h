/* pace.h - how many threads serve a loop of like steps: all that are allowed, or fewer where others
 * keep the processors busy, since threads that wait for one which has been sent away are slower
 * than one alone.
 *
 * Only the system knows how busy it is, and what it says is this: threads of ours were sent away,
 * many times a second. Then fewer are tried for some steps, and kept if these were faster; from
 * time to time more are. On a machine that is ours nothing is tried. What a step computes must have
 * the same bits for any number of threads. */
#ifndef WMI_BASE_PACE_H
#define WMI_BASE_PACE_H

#include <stdbool.h>
#include <stdint.h>

/* Zeros to begin with. For one thread at a time. */
typedef struct wmi_pace {
    int most, now, other; /* threads: allowed, used, those used before a trial */
    bool trial, up;       /* up: this trial, or the last, is of more */
    double mean;          /* seconds of a step with those used, or in a trial with the others */
    double sum;           /* of the steps of this window */
    int64_t steps;
    int64_t away; /* how often threads were sent away in it */
    double next[2],
        patience[2]; /* when fewer and more may be tried, and how long after a failure */
    /* of the step under way */
    int before;
    double start;
    int64_t away_before;
} wmi_pace;

/* Around a step: in between, OpenMP's number of threads is that of the pace. */
void wmi_pace_begin(wmi_pace *p);
void wmi_pace_end(wmi_pace *p);

/* What they do but for asking the system, for tests: a step with p->now threads has ended at `time`
 * after `seconds`, in which threads were sent away so many times. */
void wmi_pace_count(wmi_pace *p, int most, double time, double seconds, int64_t away);

#endif
