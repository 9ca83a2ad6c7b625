/* anneal_state.c - the state of annealing as plain numbers, and back. A transition that is under
 * way, with its change of weight, is not part of it and is made again. */
#include <inttypes.h>
#include <math.h>

#include "sample/anneal_impl.h"
#include "sample/tape.h"

#define MAGIC 7382002 /* changes with the layout */

static const double MOST_COUNTED = 9e15; /* whole numbers are exact up to there */

/* What must be the same where a state goes to. */
enum { HEADER = 16 };

/* A number for how many steps each bridge has. */
static uint32_t sharing(const wm_anneal *a)
{
    uint32_t h = 0;

    for (int64_t k = 0; k < a->m; k++)
        h = h * 16777619u + (uint32_t)a->count[k];
    return h;
}

static void header(const wm_anneal *a, double h[HEADER], const char *names[HEADER])
{
    const wm_anneal_opts *o = &a->opts;
    const struct {
        const char *name;
        double value;
    } rows[HEADER] = {
        {"kind or version of the state", MAGIC},
        {"dim", (double)a->result.dim},
        {"chains", (double)a->result.chains},
        {"bridges", (double)a->m},
        {"steps", (double)a->result.steps},
        {"way", (double)o->way},
        {"kernel", (double)a->moves.kernel},
        {"tree depth", (double)o->max_depth},
        {"leapfrogs of HMC", (double)a->moves.hmc_steps},
        {"target acceptance", a->moves.target_accept},
        {"first step size", a->moves.step_size},
        {"chains of the pilot", a->pilot ? (double)o->pilot_chains : 0},
        {"steps of the pilot", a->pilot ? (double)o->pilot_steps : 0},
        {"sharing of the steps", (double)sharing(a)},
        {"seed (upper half)", (double)(o->seed >> 32)},
        {"seed (lower half)", (double)(o->seed & UINT32_MAX)},
    };

    for (int i = 0; i < HEADER; i++) {
        h[i] = rows[i].value;
        names[i] = rows[i].name;
    }
}

static void record(wmi_tape *t, wm_anneal *a)
{
    wm_annealed *r = &a->result;

    wmi_tape_bool(t, &a->has_table);
    wmi_tape_doubles(t, r->table, a->m + 1);
    wmi_tape_int(t, &a->herd.evals);
    wmi_tape_doubles(t, r->log_w, r->chains);
    wmi_tape_doubles(t, a->sums, 3 * r->chains * a->m);
    for (int64_t c = 0; c < r->chains; c++) {
        wmi_anneal_course *course = &a->course[c];

        wmi_tape_int(t, &r->done[c]);
        wmi_tape_bool(t, &course->failed);
        wmi_tape_double(t, &course->term);
        wmi_tape_doubles(t, &r->x[c * r->dim], r->dim);
        if (t->mode == WMI_TAPE_READ) {
            memcpy(a->herd.chain[c].state.x, &r->x[c * r->dim], (size_t)r->dim * sizeof *r->x);
            course->phase = course->failed ? WMI_ANNEAL_OVER : WMI_ANNEAL_IDLE;
            a->herd.wants[c] = false;
        }
    }
}

int64_t wm_anneal_state_size(const wm_anneal *a)
{
    wmi_tape t = {.mode = WMI_TAPE_COUNT};

    record(&t, (wm_anneal *)a); /* counting changes nothing in it */
    return HEADER + t.count;
}

void wm_anneal_export(const wm_anneal *a, double *state)
{
    const char *names[HEADER];
    wmi_tape t = {.mode = WMI_TAPE_WRITE, .at = state + HEADER};

    header(a, state, names);
    record(&t, (wm_anneal *)a); /* nor does writing the tape */
}

wm_status wm_anneal_import(wm_anneal *a, const double *state, int64_t size, wm_error *err)
{
    const char *names[HEADER];
    double mine[HEADER];
    wmi_tape t = {.mode = WMI_TAPE_READ, .at = (double *)state + HEADER};

    header(a, mine, names);
    for (int i = 0; i < HEADER && i < size; i++)
        if (state[i] != mine[i])
            return wmi_fail(err, WM_EINVAL, "state of annealing: %s is %.10g, here %.10g", names[i],
                            state[i], mine[i]);
    if (size != wm_anneal_state_size(a))
        return wmi_fail(err, WM_EINVAL,
                        "state of annealing: %" PRId64 " numbers, expected %" PRId64, size,
                        wm_anneal_state_size(a));
    record(&t, a);
    for (int64_t c = 0; c < a->result.chains; c++) {
        if (a->result.done[c] < 0 || a->result.done[c] > a->result.steps)
            return wmi_fail(
                err, WM_EINVAL,
                "state of annealing: chain %" PRId64 " is at a step that it does not have", c);
        for (int64_t j = 0; j < a->result.dim && !a->course[c].failed; j++)
            if (!isfinite(a->result.x[c * a->result.dim + j]) || isnan(a->result.log_w[c]))
                return wmi_fail(
                    err, WM_EINVAL,
                    "state of annealing: chain %" PRId64 " is nowhere, or has no weight", c);
    }
    for (int64_t i = 0; i < 3 * a->result.chains * a->m; i++)
        if (!(a->sums[i] >= 0 && a->sums[i] <= MOST_COUNTED))
            return wmi_fail(err, WM_EINVAL,
                            "state of annealing: transitions add up to %g in a place", a->sums[i]);
    if (a->has_table)
        for (int64_t k = 0; k <= a->m; k++)
            if (!(a->result.table[k] > 0))
                return wmi_fail(err, WM_EINVAL, "state of annealing: step size %" PRId64 " is %g",
                                k, a->result.table[k]);
    wmi_anneal_gather(a);
    return WM_OK;
}
