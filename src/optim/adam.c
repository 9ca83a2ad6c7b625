/* adam.c - making an optimiser and checking its groups; the step itself is adam_tmpl.h. */
#include "optim/adam.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"

#define OMP_MIN 65536 /* elements: below this a parallel region costs more than it saves */

void wmi_adam_opts_init(wmi_adam_opts *opts)
{
    *opts = (wmi_adam_opts){.beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8};
}

/* The groups must be 0 .. n-1 cut into pieces, in order: then no parameter is left out, or moved
 * twice. */
static wm_status check_groups(const wmi_adam_group *groups, int64_t n_groups, int64_t n,
                              wm_error *err)
{
    int64_t next = 0;

    for (int64_t k = 0; k < n_groups; k++) {
        const wmi_adam_group *g = &groups[k];

        if (g->first != next || g->count < 0 || g->count > n - next)
            return wmi_fail(err, WM_EINVAL,
                            "Adam group %" PRId64 " is %" PRId64 " + %" PRId64
                            ", expected to start at %" PRId64 " and to end by %" PRId64,
                            k, g->first, g->count, next, n);
        if (!(g->lr_mult >= 0 && isfinite(g->lr_mult) && g->decay >= 0 && isfinite(g->decay)))
            return wmi_fail(err, WM_EINVAL, "Adam group %" PRId64 " has lr_mult %g and decay %g", k,
                            g->lr_mult, g->decay);
        next += g->count;
    }
    if (next != n)
        return wmi_fail(err, WM_EINVAL, "Adam groups cover %" PRId64 " of %" PRId64 " parameters",
                        next, n);
    return WM_OK;
}

wm_status wmi_adam_new(wmi_adam **out, int64_t n, int bits, const wmi_adam_group *groups,
                       int64_t n_groups, const wmi_adam_opts *opts, wm_error *err)
{
    const wmi_adam_group whole = {.count = n, .lr_mult = 1};
    const size_t size = bits == 32 ? sizeof(float) : sizeof(double);
    wmi_adam *a = NULL;
    wmi_adam_opts o;
    wm_status st;

    *out = NULL;
    wmi_adam_opts_init(&o);
    if (opts)
        o = *opts;
    if (n_groups == 0) {
        groups = &whole;
        n_groups = 1;
    }
    if (n < 0 || n_groups < 0 || (bits != 32 && bits != 64))
        return wmi_fail(err, WM_EINVAL,
                        "Adam over %" PRId64 " numbers of %d bits in %" PRId64 " groups", n, bits,
                        n_groups);
    if (!(o.beta1 >= 0 && o.beta1 < 1 && o.beta2 >= 0 && o.beta2 < 1 && o.eps > 0 && o.clip >= 0))
        return wmi_fail(err, WM_EINVAL, "Adam with beta1 %g, beta2 %g, eps %g, clip %g", o.beta1,
                        o.beta2, o.eps, o.clip);
    if ((st = check_groups(groups, n_groups, n, err)) ||
        (st = wmi_alloc(&a, 1, sizeof *a, "Adam", err)))
        return st;
    if ((st = wmi_alloc(&a->m, n, size, "Adam's first moment", err)) ||
        (st = wmi_alloc(&a->v, n, size, "Adam's second moment", err)) ||
        (st = wmi_alloc(&a->groups, n_groups, sizeof *groups, "Adam's groups", err)))
        goto done;
    memcpy(a->groups, groups, (size_t)n_groups * sizeof *groups);
    a->n = n;
    a->bits = bits;
    a->opts = o;
    a->n_groups = n_groups;
    *out = a;
    a = NULL; /* ownership moved to the caller */
done:
    wmi_adam_free(a);
    return st;
}

void wmi_adam_free(wmi_adam *a)
{
    if (!a)
        return;
    wmi_free(a->m);
    wmi_free(a->v);
    wmi_free(a->groups);
    wmi_free(a);
}

/* Both bias corrections, as a factor of the step size at step t >= 1. */
static double correction(const wmi_adam *a)
{
    const double t = (double)a->t;

    return sqrt(1 - pow(a->opts.beta2, t)) / (1 - pow(a->opts.beta1, t));
}

#define real float
#define real_sqrt sqrtf
#define STEP(name) name##_f32
#include "optim/adam_tmpl.h"
#undef real
#undef real_sqrt
#undef STEP

#define real double
#define real_sqrt sqrt
#define STEP(name) name##_f64
#include "optim/adam_tmpl.h"

wm_status wmi_adam_step_f32(wmi_adam *a, double lr, const float *grad, float *param, wm_error *err)
{
    assert(a->bits == 32);
    return step_f32(a, lr, grad, param, err);
}

wm_status wmi_adam_step_f64(wmi_adam *a, double lr, const double *grad, double *param,
                            wm_error *err)
{
    assert(a->bits == 64);
    return step_f64(a, lr, grad, param, err);
}
