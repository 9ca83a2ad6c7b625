/* pace.c - see pace.h. */
#define _GNU_SOURCE

#include "base/pace.h"

#include <math.h>
#include <omp.h>
#include <sys/resource.h>
#include <time.h>

static const double WINDOW = 0.05;         /* seconds of steps that are compared, two at least */
static const double AWAY = 50;             /* a second: on an idle machine there are some few */
static const double SOON = 0.25, LATE = 8; /* seconds until the next trial */
static const double CLEARLY = 0.9;         /* what a trial must take of the time */

static double clock_seconds(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int64_t times_away(void)
{
    struct rusage u;

    return getrusage(RUSAGE_SELF, &u) ? 0 : u.ru_nivcsw;
}

static double twice(double patience)
{
    return 2 * patience < LATE ? 2 * patience : LATE;
}

/* A trial has ended: the better number of threads stays. What trials lose is a fiftieth at most.
 * More that were good for a moment only, since the others happened to be away, are tried ever less
 * often. */
static void judge(wmi_pace *p, double time, double mean)
{
    const double lost = (mean - p->mean) * (double)p->steps;

    if (mean < CLEARLY * p->mean) {
        p->mean = mean;
        p->next[!p->up] = time + (p->up ? 0 : p->patience[1]);
        p->patience[0] = SOON;
        p->patience[1] = p->up ? p->patience[1] : twice(p->patience[1]);
    } else {
        p->now = p->other;
        p->next[p->up] = time + fmax(p->patience[p->up], 50 * lost);
        p->patience[p->up] = twice(p->patience[p->up]);
    }
    p->trial = false;
}

/* Fewer where we are sent away, more where there are more; in turns where both can be. */
static void try_other(wmi_pace *p, double time, bool sent_away)
{
    const int by = p->now >= 8 ? p->now / 4 : 1;
    const bool fewer = sent_away && p->now > 1 && time >= p->next[0];
    const bool more = p->now < p->most && time >= p->next[1];

    if (!fewer && !more)
        return;
    p->up = more && (!fewer || !p->up);
    p->other = p->now;
    p->now += p->up ? by : -by;
    p->now = p->now < p->most ? p->now : p->most;
    p->trial = true;
}

void wmi_pace_count(wmi_pace *p, int most, double time, double seconds, int64_t away)
{
    double mean;

    if (p->most != most)
        *p = (wmi_pace){.most = most, .now = most, .patience = {SOON, SOON}};
    p->sum += seconds;
    p->steps++;
    p->away += away;
    if (p->sum < WINDOW || p->steps < 2)
        return;
    mean = p->sum / (double)p->steps;
    if (p->trial) {
        judge(p, time, mean);
    } else {
        p->mean = mean;
        try_other(p, time, (double)p->away > AWAY * p->sum);
    }
    p->sum = 0;
    p->steps = p->away = 0;
}

void wmi_pace_begin(wmi_pace *p)
{
    p->before = omp_in_parallel() ? 1 : omp_get_max_threads();
    if (p->before == 1)
        return;
    if (p->most == p->before)
        omp_set_num_threads(p->now);
    p->away_before = times_away();
    p->start = clock_seconds();
}

void wmi_pace_end(wmi_pace *p)
{
    const double time = clock_seconds();

    if (p->before == 1)
        return;
    omp_set_num_threads(p->before);
    wmi_pace_count(p, p->before, time, time - p->start, times_away() - p->away_before);
}
