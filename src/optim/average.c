/* average.c - exponential averaging of parameters; the loops are average_tmpl.h. */
#include "optim/average.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>

#include "base/alloc.h"

#define OMP_MIN 65536 /* elements: below this a parallel region costs more than it saves */

wm_status wmi_average_new(wmi_average **out, int64_t n, double decay, wmi_average_start start,
                          wm_error *err)
{
    wmi_average *a = NULL;
    wm_status st;

    *out = NULL;
    if (n < 0 || !(decay >= 0 && decay < 1))
        return wmi_fail(err, WM_EINVAL, "average of %" PRId64 " numbers with decay %g", n, decay);
    if ((st = wmi_alloc(&a, 1, sizeof *a, "weight average", err)))
        return st;
    if ((st = wmi_alloc(&a->mean, n, sizeof *a->mean, "weight average", err)) ||
        (st = wmi_alloc(&a->held, n, sizeof *a->held, "weight average", err)))
        goto done;
    a->n = n;
    a->decay = decay;
    a->start = start;
    *out = a;
    a = NULL; /* ownership moved to the caller */
done:
    wmi_average_free(a);
    return st;
}

void wmi_average_free(wmi_average *a)
{
    if (!a)
        return;
    wmi_free(a->mean);
    wmi_free(a->held);
    wmi_free(a);
}

/* Counts the coming vector and gives its weight. */
static double next_weight(wmi_average *a)
{
    assert(!a->in_place);
    a->count++;
    if (a->count == 1)
        return 1;
    if (a->start == WMI_AVERAGE_FROM_FIRST)
        return 1 - a->decay;
    return (1 - a->decay) / (1 - pow(a->decay, (double)a->count));
}

#define real float
#define NAME(name) name##_f32
#include "optim/average_tmpl.h"
#undef real
#undef NAME

#define real double
#define NAME(name) name##_f64
#include "optim/average_tmpl.h"
