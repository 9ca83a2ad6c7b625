/* pilot.c - step sizes along a path of bridges, found once and then frozen: AIS and RAISE are exact
 * only if their kernels do not depend on what the chains saw. Chains of the pilot adapt each for
 * itself; the table is the mean of their logarithms. The stage at the base comes first also so that
 * their states forget the points they started from, which AIS uses as well. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "sample/anneal_impl.h"

typedef enum phase { ASK, FIND, MOVE, OVER } phase; /* ASK: the density at new weights */

typedef struct course {
    phase phase;
    bool find, failed;
    int64_t stage, i; /* transition i of the stage */
    wmi_dual dual;
    double *log_steps; /* (bridges + 1) of this chain */
} course;

struct wmi_pilot {
    wm_anneal_opts opts;
    wm_moves moves;
    wmi_herd herd;
    course *course;    /* (chains) */
    double *log_steps; /* (chains, bridges + 1) */
    double *start;     /* (chains, dim) */
    wm_task progress;
};

wm_status wmi_pilot_new(wmi_pilot **out, const wm_path *path, const wm_anneal_opts *opts,
                        const wm_moves *moves, const double *start, wm_error *err)
{
    const int64_t chains = opts->pilot_chains, dim = path->dim;
    wmi_pilot *p = NULL;
    wm_status st;

    *out = NULL;
    if ((st = wmi_alloc(&p, 1, sizeof *p, "a pilot run", err)))
        return st;
    p->opts = *opts;
    p->moves = *moves;
    p->moves.inv_mass = NULL; /* the chains have copies */
    if ((st = wmi_herd_init(&p->herd, path, chains, moves, opts->max_depth,
                            wmi_rng_make(opts->seed, "pilot"), err)) ||
        (st = wmi_alloc(&p->course, chains, sizeof *p->course, "a pilot run", err)) ||
        (st = wmi_alloc(&p->log_steps, chains * (path->bridges + 1), sizeof *p->log_steps,
                        "a pilot run", err)) ||
        (st = wmi_alloc(&p->start, chains * dim, sizeof *p->start, "a pilot run", err)))
        goto done;
    memcpy(p->start, start, (size_t)(chains * dim) * sizeof *start);
    *out = p;
    p = NULL; /* ownership moved to the caller */
done:
    wmi_pilot_free(p);
    return st;
}

void wmi_pilot_free(wmi_pilot *p)
{
    if (!p)
        return;
    wmi_herd_clear(&p->herd);
    wmi_free(p->course);
    wmi_free(p->log_steps);
    wmi_free(p->start);
    wmi_free(p);
}

static int64_t half(const wmi_pilot *p)
{
    return p->opts.pilot_steps / 2;
}

static bool move(wmi_markov *chain, course *r)
{
    r->phase = MOVE;
    wmi_markov_begin(chain);
    return true;
}

/* Weights for transition i of the stage, and what the chain wants next. */
static bool go_on(wmi_pilot *p, int64_t c)
{
    const int64_t m = p->herd.path.bridges;
    wmi_markov *chain = &p->herd.chain[c];
    course *r = &p->course[c];
    const bool climbs = r->stage > 0 && r->i < half(p);
    const wmi_change at = {m - r->stage, /* stage 0: all weights 0 */
                           climbs ? (double)(r->i + 1) / (double)half(p) : 1};

    if (r->stage > 0 && (r->i == 0 || r->i == half(p)))
        wmi_dual_start(&r->dual, chain->step, 1, p->moves.target_accept);
    if (r->i > 0 && !climbs) /* the density is that of the transition before */
        return move(chain, r);
    wmi_anneal_weights(&p->herd.weights[c * m], m, at);
    chain->at = chain->state.x;
    r->phase = ASK;
    return true;
}

static bool fail(course *r)
{
    r->failed = true;
    r->phase = OVER;
    return false;
}

/* After a transition: learns, and steps on to the next one, or to the next stage. */
static bool learn(wmi_pilot *p, int64_t c)
{
    wmi_markov *chain = &p->herd.chain[c];
    course *r = &p->course[c];
    const int64_t m = p->herd.path.bridges;

    chain->step = wmi_dual_learn(&r->dual, chain->moved.accept);
    if (++r->i == p->opts.pilot_steps) {
        chain->step = wmi_dual_settle(&r->dual);
        r->log_steps[m - r->stage] = log(chain->step);
        r->i = 0;
        if (++r->stage > m) {
            r->phase = OVER;
            return false;
        }
    }
    return go_on(p, c);
}

static bool take(void *owner, int64_t c, double log_f, const double *grad, const double *terms)
{
    wmi_pilot *p = owner;
    wmi_markov *chain = &p->herd.chain[c];
    course *r = &p->course[c];
    wmi_found found;

    (void)terms;
    switch (r->phase) {
    case ASK:
        if (!wmi_markov_set_density(chain, log_f, grad, 0))
            return fail(r);
        if (!r->find)
            return move(chain, r);
        r->phase = FIND;
        wmi_find_begin(chain);
        return true;
    case FIND:
        if ((found = wmi_find_take(chain, log_f, grad)) == WMI_FIND_ON)
            return true;
        if (found == WMI_FIND_FAILED)
            return fail(r);
        r->find = false;
        wmi_dual_start(&r->dual, chain->step, 1, p->moves.target_accept);
        return move(chain, r);
    case MOVE:
        return wmi_markov_take(chain, log_f, grad, 0) ? learn(p, c) : true;
    case OVER:
        break;
    }
    return false;
}

static wm_status watch(void *owner, bool last, wm_error *err)
{
    wmi_pilot *p = owner;
    int64_t done = 0, failed = 0;

    for (int64_t c = 0; c < p->herd.chains; c++) {
        done += (int64_t)p->herd.chain[c].next;
        failed += p->course[c].failed;
    }
    if (failed == p->herd.chains)
        return wmi_fail(
            err, WM_EDIVERGED,
            "pilot of annealing: the density, its gradient or the search for a step size "
            "failed in all %" PRId64 " chains, with %" PRId64 " transitions done",
            failed, done);
    wm_task_update(&p->progress, done, "pilot: step sizes");
    if (last)
        wm_task_finish(&p->progress, done, "pilot: stopped");
    return WM_OK;
}

wm_status wmi_pilot_run(wmi_pilot *p, double *table, wm_error *err)
{
    const int64_t m = p->herd.path.bridges, dim = p->herd.path.dim;
    wm_status st;
    int64_t used = 0;

    for (int64_t c = 0; c < p->herd.chains; c++) { /* always from the start: it is short */
        wmi_markov *chain = &p->herd.chain[c];
        course *r = &p->course[c];

        memcpy(chain->state.x, &p->start[c * dim], (size_t)dim * sizeof *p->start);
        chain->next = 0;
        chain->step = p->moves.step_size;
        *r = (course){.find = !(chain->step > 0), .log_steps = &p->log_steps[c * (m + 1)]};
        if (!r->find)
            wmi_dual_start(&r->dual, chain->step, 1, p->moves.target_accept);
        p->herd.wants[c] = go_on(p, c);
    }
    wm_task_start(&p->progress, p->opts.sink, "transitions", 0,
                  p->herd.chains * (m + 1) * p->opts.pilot_steps);
    if ((st = wmi_herd_run(&p->herd, take, watch, p, p->opts.stop, err)))
        return st;
    memset(table, 0, (size_t)(m + 1) * sizeof *table);
    for (int64_t c = 0; c < p->herd.chains; c++) {
        used += !p->course[c].failed;
        for (int64_t k = 0; k <= m && !p->course[c].failed; k++)
            table[k] += p->course[c].log_steps[k];
    }
    for (int64_t k = 0; k <= m; k++)
        table[k] = exp(table[k] / (double)used);
    return WM_OK;
}
