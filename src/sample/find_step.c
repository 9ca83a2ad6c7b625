/* find_step.c - a step size to begin with, by Algorithm 4 of Hoffman and Gelman (2014) as Stan has
 * it: one leapfrog with a new momentum each time; double while it gains, halve while it does not.
 */
#include <math.h>
#include <string.h>

#include "sample/markov.h"

#define LOG_ACCEPT (-0.2231435513142097) /* log 0.8 */
#define STEP_MAX 1e7
#define STEP_MIN 1e-14

static void attempt(wmi_markov *c)
{
    const wmi_rng own = wmi_rng_sub(&c->rng, c->next), find = wmi_rng_sub(&own, WMI_USE_FIND);
    const wmi_rng momentum = wmi_rng_sub(&find, (uint64_t)c->find_tries);

    memcpy(c->now.x, c->state.x, (size_t)c->dim * sizeof *c->now.x);
    memcpy(c->now.grad, c->state.grad, (size_t)c->dim * sizeof *c->now.grad);
    c->energy0 = wmi_markov_draw_momentum(c, &momentum, c->now.p) - c->state.log_f;
    c->signed_step = c->step;
    wmi_markov_leap(c);
}

void wmi_find_begin(wmi_markov *c)
{
    if (!(c->step > 0))
        c->step = 1;
    c->find_direction = 0;
    c->find_tries = 0;
    attempt(c);
}

wmi_found wmi_find_take(wmi_markov *c, double log_f, const double *grad)
{
    const double gain = c->energy0 - wmi_markov_land(c, log_f, grad);
    const int direction = gain > LOG_ACCEPT ? 1 : -1;

    if (c->find_direction == 0)
        c->find_direction = direction;
    else if (direction != c->find_direction)
        return WMI_FIND_DONE;
    c->find_tries++;
    c->step *= c->find_direction > 0 ? 2 : 0.5;
    if (!(c->step < STEP_MAX && c->step > STEP_MIN))
        return WMI_FIND_FAILED;
    attempt(c);
    return WMI_FIND_ON;
}
