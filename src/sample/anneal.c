/* anneal.c - chains that go along a path of bridges and gather a weight on the way: AIS (Neal 2001)
 * upwards, RAISE (Burda, Grosse, Salakhutdinov 2015) downwards.
 *
 * A change of weight of bridge k by d adds d log r_k(x) to the chain's weight, at the state before
 * the transition that follows. One evaluation at the new weights gives that term, and the density
 * and gradient with which the transition starts: nothing of the old weights is carried over. Where
 * a weight comes to 0 the path need not know the term any more, so the one that belongs to the
 * state is followed through the transition before. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "sample/anneal_impl.h"

static wm_status result_alloc(wm_annealed *r, int64_t chains, const wm_path *path, int64_t steps,
                              wm_error *err)
{
    const int64_t m = path->bridges;
    const char *what = "annealed chains";
    wm_status st;

    *r = (wm_annealed){.chains = chains, .dim = path->dim, .bridges = m, .steps = steps};
    if ((st = wmi_alloc(&r->x, chains * path->dim, sizeof *r->x, what, err)) ||
        (st = wmi_alloc(&r->log_w, chains, sizeof *r->log_w, what, err)) ||
        (st = wmi_alloc(&r->done, chains, sizeof *r->done, what, err)) ||
        (st = wmi_alloc(&r->table, m + 1, sizeof *r->table, what, err)) ||
        (st = wmi_alloc(&r->accept, m, sizeof *r->accept, what, err)) ||
        (st = wmi_alloc(&r->leapfrogs, m, sizeof *r->leapfrogs, what, err)))
        return st;
    return wmi_alloc(&r->divergent, m, sizeof *r->divergent, what, err);
}

wm_status wm_anneal_new(wm_anneal **out, const wm_path *path, int64_t chains, const double *start,
                        const double *log_f, const wm_anneal_opts *opts, wm_error *err)
{
    wm_anneal *a = NULL;
    wm_anneal_opts o;
    wm_moves moves;
    wm_status st;

    *out = NULL;
    if ((st = wmi_path_check(path, chains, start, err)) ||
        (st = wmi_anneal_opts_settle(&o, &moves, opts, path, chains, log_f != NULL, err)))
        return st;
    for (int64_t c = 0; log_f && c < chains; c++)
        if (!isfinite(log_f[c]))
            return wmi_fail(err, WM_EINVAL, "log f of the start of chain %" PRId64 " is %g", c,
                            log_f[c]);
    if ((st = wmi_alloc(&a, 1, sizeof *a, "annealing", err)))
        return st;
    a->opts = o;
    a->moves = moves;
    a->m = path->bridges;
    if ((st = wmi_herd_init(&a->herd, path, chains, &moves, o.max_depth,
                            wmi_rng_make(o.seed, o.way == WM_ANNEAL_AIS ? "ais" : "raise"), err)) ||
        (st = wmi_alloc(&a->count, a->m, sizeof *a->count, "annealing", err)) ||
        (st = result_alloc(&a->result, chains, path,
                           wmi_anneal_counts(a->m, o.steps, o.shares, a->count), err)) ||
        (st = wmi_alloc(&a->course, chains, sizeof *a->course, "annealing", err)) ||
        (st = wmi_alloc(&a->sums, 3 * chains * a->m, sizeof *a->sums, "annealing", err)))
        goto done;
    for (int64_t c = 0; c < chains; c++) {
        memcpy(a->herd.chain[c].state.x, &start[c * path->dim], (size_t)path->dim * sizeof *start);
        a->course[c].accept = &a->sums[3 * c * a->m];
        a->course[c].leapfrogs = a->course[c].accept + a->m;
        a->course[c].divergent = a->course[c].leapfrogs + a->m;
        a->result.log_w[c] = log_f ? log_f[c] : 0;
    }
    memcpy(a->result.x, start, (size_t)(chains * path->dim) * sizeof *start);
    if (o.table) {
        memcpy(a->result.table, o.table, (size_t)(a->m + 1) * sizeof *o.table);
        a->has_table = true;
    } else {
        const double *from = o.pilot_start ? o.pilot_start : start;

        st = wmi_pilot_new(&a->pilot, path, &a->opts, &moves, from, err);
        if (st)
            goto done;
    }
    a->opts.table = a->opts.pilot_start = a->opts.moves.inv_mass = NULL; /* copied */
    a->opts.shares = NULL;
    *out = a;
    a = NULL; /* ownership moved to the caller */
done:
    wm_anneal_free(a);
    return st;
}

void wm_anneal_free(wm_anneal *a)
{
    if (!a)
        return;
    wmi_herd_clear(&a->herd);
    wmi_pilot_free(a->pilot);
    wmi_free(a->course);
    wmi_free(a->count);
    wmi_free(a->sums);
    wmi_free(a->result.x);
    wmi_free(a->result.log_w);
    wmi_free(a->result.done);
    wmi_free(a->result.table);
    wmi_free(a->result.accept);
    wmi_free(a->result.leapfrogs);
    wmi_free(a->result.divergent);
    wmi_free(a);
}

static wmi_change change_of(const wm_anneal *a, int64_t t)
{
    return wmi_anneal_change(a->opts.way, a->m, a->count, t);
}

/* Between two entries of the table, geometrically. */
static double step_at(const wm_anneal *a, wmi_change at)
{
    const double *table = a->result.table;

    return exp((1 - at.to) * log(table[at.k + 1]) + at.to * log(table[at.k]));
}

/* The term that the change after t will want from the state, if it cannot get it otherwise. */
static double followed(const wm_anneal *a, int64_t c, int64_t t, const double *terms)
{
    const int64_t k = t + 1 < a->result.steps ? change_of(a, t + 1).k : 0;

    return a->herd.weights[c * a->m + k] > 0 ? terms[k] : 0;
}

static bool fail(wm_anneal *a, int64_t c)
{
    a->course[c].failed = true;
    a->course[c].phase = WMI_ANNEAL_OVER;
    a->result.log_w[c] = (double)NAN;
    return false;
}

/* The next change of chain c; false if there is none left. */
static bool go_on(wm_anneal *a, int64_t c)
{
    wmi_markov *chain = &a->herd.chain[c];
    wmi_anneal_course *r = &a->course[c];
    int64_t *t = &a->result.done[c];
    const bool down = a->opts.way == WM_ANNEAL_RAISE;

    if (down && *t == a->result.steps - 1) { /* to the base: nothing is sampled there */
        if (!isfinite(r->term))
            return fail(a, c);
        a->result.log_w[c] -= r->term / (double)a->count[a->m - 1];
        ++*t;
    }
    if (*t == a->result.steps) {
        r->phase = WMI_ANNEAL_OVER;
        return false;
    }
    wmi_anneal_weights(&a->herd.weights[c * a->m], a->m, change_of(a, *t));
    chain->at = chain->state.x;
    r->phase = WMI_ANNEAL_ASK;
    return true;
}

/* What a chain wants when a run begins. */
static bool wake(wm_anneal *a, int64_t c)
{
    wmi_anneal_course *r = &a->course[c];

    /* One change for a whole bridge: at the start only the old weights can tell the term. */
    if (a->opts.way == WM_ANNEAL_RAISE && a->count[0] == 1 && a->result.done[c] == 0) {
        wmi_anneal_weights(&a->herd.weights[c * a->m], a->m, (wmi_change){0, 1});
        a->herd.chain[c].at = a->herd.chain[c].state.x;
        r->phase = WMI_ANNEAL_FIRST;
        return true;
    }
    return go_on(a, c);
}

static bool after_change(wm_anneal *a, int64_t c, double log_f, const double *grad,
                         const double *terms)
{
    const int64_t t = a->result.done[c];
    const wmi_change at = change_of(a, t);
    wmi_markov *chain = &a->herd.chain[c];
    wmi_anneal_course *r = &a->course[c];
    const double term = at.to > 0 ? terms[at.k] : r->term;
    const double d = (a->opts.way == WM_ANNEAL_AIS ? 1 : -1) / (double)a->count[at.k];

    r->change = d * term;
    if (!wmi_markov_set_density(chain, log_f, grad, followed(a, c, t, terms)) ||
        !isfinite(r->change))
        return fail(a, c);
    chain->step = step_at(a, at);
    chain->next = (uint64_t)t;
    r->phase = WMI_ANNEAL_MOVE;
    wmi_markov_begin(chain);
    return true;
}

static bool after_move(wm_anneal *a, int64_t c)
{
    const wmi_markov *chain = &a->herd.chain[c];
    wmi_anneal_course *r = &a->course[c];
    const int64_t k = change_of(a, a->result.done[c]).k, dim = a->result.dim;

    r->accept[k] += chain->moved.accept;
    r->leapfrogs[k] += (double)chain->moved.n_leapfrog;
    r->divergent[k] += chain->moved.divergent;
    a->result.log_w[c] += r->change;
    a->result.done[c]++;
    r->term = chain->state.term;
    memcpy(&a->result.x[c * dim], chain->state.x, (size_t)dim * sizeof *a->result.x);
    return go_on(a, c);
}

static bool take(void *owner, int64_t c, double log_f, const double *grad, const double *terms)
{
    wm_anneal *a = owner;
    wmi_markov *chain = &a->herd.chain[c];

    switch (a->course[c].phase) {
    case WMI_ANNEAL_FIRST:
        if (!wmi_markov_set_density(chain, log_f, grad, terms[0]) || !isfinite(terms[0]))
            return fail(a, c);
        a->course[c].term = terms[0];
        return go_on(a, c);
    case WMI_ANNEAL_ASK:
        return after_change(a, c, log_f, grad, terms);
    case WMI_ANNEAL_MOVE:
        if (!wmi_markov_take(chain, log_f, grad, followed(a, c, a->result.done[c], terms)))
            return true;
        return after_move(a, c);
    case WMI_ANNEAL_IDLE:
    case WMI_ANNEAL_OVER:
        break;
    }
    return false;
}

/* Sums over chains, in order. */
void wmi_anneal_gather(wm_anneal *a)
{
    wm_annealed *r = &a->result;

    r->failed = 0;
    for (int64_t c = 0; c < r->chains; c++)
        r->failed += a->course[c].failed;
    for (int64_t k = 0; k < r->bridges; k++) {
        double accept = 0, leapfrogs = 0, divergent = 0, moves = 0;

        for (int64_t c = 0; c < r->chains; c++) {
            /* changes of bridge k that were followed by a transition */
            const bool up = a->opts.way == WM_ANNEAL_AIS, skips = !up && k == r->bridges - 1;
            int64_t made = r->done[c], most = a->count[k] - skips;

            for (int64_t j = up ? r->bridges - 1 : 0; j != k; j += up ? -1 : 1)
                made -= a->count[j];
            made = made < 0 ? 0 : made > most ? most : made;
            moves += (double)made;
            accept += a->course[c].accept[k];
            leapfrogs += a->course[c].leapfrogs[k];
            divergent += a->course[c].divergent[k];
        }
        r->accept[k] = moves > 0 ? accept / moves : (double)NAN;
        r->leapfrogs[k] = moves > 0 ? leapfrogs / moves : (double)NAN;
        r->divergent[k] = (int64_t)divergent;
    }
    r->evals = a->herd.evals;
}

static wm_status watch(void *owner, bool last, wm_error *err)
{
    wm_anneal *a = owner;
    int64_t done = 0, failed = 0, over = 0;

    for (int64_t c = 0; c < a->herd.chains; c++) {
        failed += a->course[c].failed;
        over += a->course[c].phase == WMI_ANNEAL_OVER;
        done += a->course[c].phase == WMI_ANNEAL_OVER ? a->result.steps : a->result.done[c];
    }
    wm_task_update(&a->progress, done, "%s, %" PRId64 " chains through, %" PRId64 " failed",
                   a->opts.way == WM_ANNEAL_AIS ? "AIS" : "RAISE", over - failed, failed);
    if (last)
        wm_task_finish(&a->progress, done, "stopped");
    return wmi_save_maybe(&a->opts.save, a->opts.sink, &a->saved, last, err);
}

wm_status wm_anneal_run(wm_anneal *a, wm_error *err)
{
    int64_t done = 0;
    wm_status st;

    a->saved = wm_clock(a->opts.sink);
    if (!a->has_table) {
        if ((st = wmi_pilot_run(a->pilot, a->result.table, err)))
            return st;
        a->has_table = true;
    }
    for (int64_t c = 0; c < a->herd.chains; c++) {
        done += a->result.done[c];
        if (a->course[c].phase == WMI_ANNEAL_IDLE)
            a->herd.wants[c] = wake(a, c);
    }
    wm_task_start(&a->progress, a->opts.sink, "transitions", done,
                  a->result.steps * a->herd.chains);
    st = wmi_herd_run(&a->herd, take, watch, a, a->opts.stop, err);
    wmi_anneal_gather(a);
    if (!st && a->result.failed == a->result.chains)
        st = wmi_fail(err, WM_EDIVERGED,
                      "annealing: all %" PRId64 " chains met a density, gradient or log-ratio that "
                      "is not finite",
                      a->result.failed);
    return st;
}

const wm_annealed *wm_anneal_result(const wm_anneal *a)
{
    return &a->result;
}
