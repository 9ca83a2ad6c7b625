/* sampler_state.c - a sampler's state as plain numbers, and back. Transitions and searches that are
 * under way are not part of it: their random numbers depend on their place alone, so they are
 * simply made again. */
#include <inttypes.h>
#include <math.h>

#include "sample/sampler_impl.h"
#include "sample/tape.h"

#define MAGIC 7381001 /* changes with the layout */

/* What must be the same in the sampler that a state goes to. */
enum { HEADER = 16 };

static void header(const wm_sampler *s, double h[HEADER], const char *names[HEADER])
{
    const wm_sample_opts *o = &s->opts;
    const struct {
        const char *name;
        double value;
    } rows[HEADER] = {
        {"kind or version of the state", MAGIC},
        {"dim", (double)s->draws.dim},
        {"chains", (double)s->draws.chains},
        {"bridges", (double)s->herd.path.bridges},
        {"draws", (double)o->draws},
        {"warm-up", (double)o->warmup},
        {"thinning", (double)o->thin},
        {"kernel", (double)s->moves.kernel},
        {"mass", (double)o->mass},
        {"tree depth", (double)o->max_depth},
        {"tree depth of the warm-up", (double)o->warmup_depth},
        {"leapfrogs of HMC", (double)s->moves.hmc_steps},
        {"target acceptance", s->moves.target_accept},
        {"first step size", s->moves.step_size},
        {"seed (upper half)", (double)(o->seed >> 32)},
        {"seed (lower half)", (double)(o->seed & UINT32_MAX)},
    };

    for (int i = 0; i < HEADER; i++) {
        h[i] = rows[i].value;
        names[i] = rows[i].name;
    }
}

static void walk_dual(wmi_tape *t, wmi_dual *d)
{
    wmi_tape_double(t, &d->target);
    wmi_tape_double(t, &d->mu);
    wmi_tape_double(t, &d->deficit);
    wmi_tape_double(t, &d->log_step);
    wmi_tape_double(t, &d->mean);
    wmi_tape_double(t, &d->count);
}

static void walk_chain(wmi_tape *t, wmi_markov *c, wmi_course *r)
{
    int64_t next = (int64_t)c->next;
    bool known = r->phase != WMI_STAGE_START;

    wmi_tape_bool(t, &known);
    wmi_tape_int(t, &next);
    wmi_tape_bool(t, &r->find);
    wmi_tape_double(t, &r->pull);
    wmi_tape_double(t, &r->step);
    walk_dual(t, &r->dual);
    wmi_tape_double(t, &r->accept);
    wmi_tape_int(t, &r->n_leapfrog);
    wmi_tape_int(t, &r->depth);
    wmi_tape_bool(t, &r->divergent);
    wmi_tape_double(t, &r->all_accept);
    wmi_tape_double(t, &r->all_leapfrogs);
    wmi_tape_double(t, &r->all_divergent);
    wmi_tape_double(t, &c->state.log_f);
    wmi_tape_double(t, &c->state.energy);
    wmi_tape_doubles(t, c->state.x, c->dim);
    wmi_tape_doubles(t, c->state.grad, c->dim);
    wmi_tape_doubles(t, c->inv_mass, c->dim);
    wmi_tape_double(t, &r->variances.count);
    wmi_tape_doubles(t, r->variances.mean, c->dim);
    wmi_tape_doubles(t, r->variances.m2, c->dim);
    if (t->mode == WMI_TAPE_READ) {
        c->next = (uint64_t)next;
        r->phase = known ? WMI_STAGE_IDLE : WMI_STAGE_START;
        r->trouble = WMI_TROUBLE_NONE;
    }
}

static void record(wmi_tape *t, wm_sampler *s)
{
    wm_draws *d = &s->draws;
    const int64_t n = d->chains * d->draws;

    for (int64_t c = 0; c < d->chains; c++)
        walk_chain(t, &s->herd.chain[c], &s->course[c]);
    wmi_tape_int(t, &s->herd.evals);
    wmi_tape_doubles(t, d->x, n * d->dim);
    wmi_tape_doubles(t, d->lp, n);
    wmi_tape_doubles(t, d->accept, n);
    wmi_tape_doubles(t, d->step_size, n);
    wmi_tape_doubles(t, d->energy, n);
    for (int64_t i = 0; i < n; i++) {
        bool divergent = d->divergent[i];

        wmi_tape_int(t, &d->depth[i]);
        wmi_tape_int(t, &d->n_leapfrog[i]);
        wmi_tape_bool(t, &divergent);
        d->divergent[i] = divergent;
    }
}

int64_t wm_sampler_state_size(const wm_sampler *s)
{
    wmi_tape t = {.mode = WMI_TAPE_COUNT};

    record(&t, (wm_sampler *)s); /* counting changes nothing in it */
    return HEADER + t.count;
}

void wm_sampler_export(const wm_sampler *s, double *state)
{
    const char *names[HEADER];
    wmi_tape t = {.mode = WMI_TAPE_WRITE, .at = state + HEADER};

    header(s, state, names);
    record(&t, (wm_sampler *)s); /* writing the tape changes nothing in the sampler */
}

wm_status wm_sampler_import(wm_sampler *s, const double *state, int64_t size, wm_error *err)
{
    const char *names[HEADER];
    double mine[HEADER];
    wmi_tape t = {.mode = WMI_TAPE_READ, .at = (double *)state + HEADER};

    header(s, mine, names);
    for (int i = 0; i < HEADER && i < size; i++)
        if (state[i] != mine[i])
            return wmi_fail(err, WM_EINVAL, "state of a sampler: %s is %.10g, here %.10g", names[i],
                            state[i], mine[i]);
    if (size != wm_sampler_state_size(s))
        return wmi_fail(err, WM_EINVAL,
                        "state of a sampler: %" PRId64 " numbers, expected %" PRId64, size,
                        wm_sampler_state_size(s));
    for (int64_t i = HEADER; i < size; i++)
        if (isnan(state[i]))
            return wmi_fail(err, WM_EINVAL, "state of a sampler: number %" PRId64 " is NaN", i);
    record(&t, s);
    for (int64_t c = 0; c < s->herd.chains; c++) {
        const int64_t next = (int64_t)s->herd.chain[c].next;

        if (next < 0 || next > s->opts.warmup + s->opts.draws * s->opts.thin)
            return wmi_fail(err, WM_EINVAL,
                            "state of a sampler: chain %" PRId64
                            " is at a transition that it does not have",
                            c);
        s->herd.wants[c] = false;
    }
    return WM_OK;
}
