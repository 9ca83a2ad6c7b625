/* tape.h - a state as a row of doubles. One pass over an object's parts serves to count them, to
 * write them down and to read them back, so that the three cannot differ. Integers up to 2^53 are
 * exact. */
#ifndef WMI_SAMPLE_TAPE_H
#define WMI_SAMPLE_TAPE_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef enum wmi_tape_mode { WMI_TAPE_COUNT, WMI_TAPE_WRITE, WMI_TAPE_READ } wmi_tape_mode;

typedef struct wmi_tape {
    wmi_tape_mode mode;
    double *at; /* NULL when counting */
    int64_t count;
} wmi_tape;

static inline void wmi_tape_doubles(wmi_tape *t, double *v, int64_t n)
{
    if (t->mode == WMI_TAPE_WRITE)
        memcpy(t->at + t->count, v, (size_t)n * sizeof *v);
    else if (t->mode == WMI_TAPE_READ)
        memcpy(v, t->at + t->count, (size_t)n * sizeof *v);
    t->count += n;
}

static inline void wmi_tape_double(wmi_tape *t, double *v)
{
    wmi_tape_doubles(t, v, 1);
}

static inline void wmi_tape_int(wmi_tape *t, int64_t *v)
{
    double d = (double)*v;

    wmi_tape_doubles(t, &d, 1);
    if (t->mode == WMI_TAPE_READ)
        *v = fabs(d) <= 9007199254740992.0 ? (int64_t)d : -1; /* no count is negative */
}

static inline void wmi_tape_bool(wmi_tape *t, bool *v)
{
    double d = *v;

    wmi_tape_doubles(t, &d, 1);
    if (t->mode == WMI_TAPE_READ)
        *v = d != 0;
}

#endif
