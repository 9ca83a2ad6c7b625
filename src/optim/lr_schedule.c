/* lr_schedule.c - constant or cosine, either with a linear warm-up. */
#include "optim/lr_schedule.h"

#include <assert.h>
#include <math.h>

double wmi_lr_at(const wmi_lr_schedule *s, int64_t t)
{
    const double half_pi = 1.5707963267948966;
    double lr = s->lr0;

    assert(t >= 0 && (s->kind != WMI_LR_COSINE || s->total >= 1));
    if (s->kind == WMI_LR_COSINE) {
        /* (1 + cos 2a) / 2 = cos^2 a, which does not cancel near the end */
        const double c = t < s->total ? cos(half_pi * (double)t / (double)s->total) : 0;

        lr *= c * c;
    }
    if (t < s->warmup)
        lr *= (double)(t + 1) / (double)s->warmup;
    return lr;
}
