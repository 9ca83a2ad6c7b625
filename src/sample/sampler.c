/* sampler.c - chains from warm-up to draws. Each adapts for itself, as in Stan, so that its draws
 * do not depend on the others. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/opts.h"
#include "sample/sampler_impl.h"

void wm_sample_opts_init(wm_sample_opts *opts)
{
    *opts = (wm_sample_opts){.struct_size = sizeof *opts,
                             .warmup = 1000,
                             .draws = 1000,
                             .thin = 1,
                             .mass = WM_MASS_DIAGONAL,
                             .max_depth = 10,
                             .warmup_depth = 6,
                             .seed = 1,
                             .save = {.seconds = 60}};
    wmi_moves_init(&opts->moves);
}

static wm_status check_opts(const wm_sample_opts *o, wm_error *err)
{
    int64_t transitions;

    if (o->warmup < 0 || o->draws < 1 || o->thin < 1 ||
        __builtin_mul_overflow(o->draws, o->thin, &transitions) ||
        __builtin_add_overflow(transitions, o->warmup, &transitions) ||
        transitions > INT64_C(1) << 52)
        return wmi_fail(err, WM_EINVAL,
                        "warm-up %" PRId64 ", draws %" PRId64 ", thinning %" PRId64
                        ": must be at least 0, 1, 1 and not beyond counting",
                        o->warmup, o->draws, o->thin);
    if ((unsigned)o->mass > WM_MASS_DIAGONAL)
        return wmi_fail(err, WM_EINVAL, "mass %d: no such choice", (int)o->mass);
    if (o->max_depth < 1 || o->max_depth > WMI_MAX_DEPTH)
        return wmi_fail(err, WM_EINVAL, "tree depth %" PRId64 ": must be 1 to %d", o->max_depth,
                        WMI_MAX_DEPTH);
    if (o->warmup_depth < 1 || o->warmup_depth > WMI_MAX_DEPTH)
        return wmi_fail(err, WM_EINVAL, "tree depth %" PRId64 " of the warm-up: must be 1 to %d",
                        o->warmup_depth, WMI_MAX_DEPTH);
    return WM_OK;
}

static wm_status draws_alloc(wm_draws *d, int64_t chains, int64_t draws, int64_t dim, wm_error *err)
{
    const char *what = "draws";
    int64_t n, points;
    wm_status st;

    *d = (wm_draws){.chains = chains, .draws = draws, .dim = dim};
    if (__builtin_mul_overflow(chains, draws, &n) || __builtin_mul_overflow(n, dim, &points))
        return wmi_fail(err, WM_ENOMEM,
                        "%" PRId64 " chains x %" PRId64 " draws x %" PRId64
                        " dimensions are more than can be addressed",
                        chains, draws, dim);
    if ((st = wmi_alloc(&d->x, points, sizeof *d->x, what, err)) ||
        (st = wmi_alloc(&d->lp, n, sizeof *d->lp, what, err)) ||
        (st = wmi_alloc(&d->accept, n, sizeof *d->accept, what, err)) ||
        (st = wmi_alloc(&d->step_size, n, sizeof *d->step_size, what, err)) ||
        (st = wmi_alloc(&d->energy, n, sizeof *d->energy, what, err)) ||
        (st = wmi_alloc(&d->depth, n, sizeof *d->depth, what, err)) ||
        (st = wmi_alloc(&d->n_leapfrog, n, sizeof *d->n_leapfrog, what, err)))
        return st;
    return wmi_alloc(&d->divergent, n, sizeof *d->divergent, what, err);
}

wm_status wm_sampler_new(wm_sampler **out, const wm_path *path, int64_t chains, const double *start,
                         const wm_sample_opts *opts, wm_error *err)
{
    wm_sample_opts o;
    wmi_rng rng;
    wm_sampler *s = NULL;
    wm_moves moves;
    int64_t depth, dim;
    wm_status st;

    *out = NULL;
    wm_sample_opts_init(&o);
    if ((st = wmi_opts_take(&o, sizeof o, opts, "wm_sample_opts_init", err)) ||
        (st = wmi_path_check(path, chains, start, err)) || (st = check_opts(&o, err)) ||
        (st = wmi_moves_settle(&moves, &o.moves, path->dim, err)))
        return st;
    rng = wmi_rng_make(o.seed, "sample");
    if ((st = wmi_alloc(&s, 1, sizeof *s, "a sampler", err)))
        return st;
    s->opts = o;
    s->moves = moves;
    s->windows = wmi_windows_plan(o.warmup);
    dim = path->dim;
    depth = o.max_depth > o.warmup_depth ? o.max_depth : o.warmup_depth;
    if ((st = wmi_herd_init(&s->herd, path, chains, &moves, depth, rng, err)) ||
        (st = draws_alloc(&s->draws, chains, o.draws, dim, err)) ||
        (st = wmi_alloc(&s->course, chains, sizeof *s->course, "a sampler", err)) ||
        (st = wmi_alloc(&s->variances, 2 * chains * dim, sizeof *s->variances, "a sampler", err)))
        goto done;
    s->draws.max_depth = moves.kernel == WM_KERNEL_NUTS ? o.max_depth : 0;
    for (int64_t c = 0; c < chains; c++) {
        wmi_course *r = &s->course[c];

        memcpy(s->herd.chain[c].state.x, &start[c * dim], (size_t)dim * sizeof *start);
        r->step = moves.step_size;
        r->find = !(r->step > 0);
        r->pull = 10;
        r->variances.mean = &s->variances[2 * c * dim];
        r->variances.m2 = &s->variances[(2 * c + 1) * dim];
        if (!r->find) /* one that was given is believed: no jump to ten times as much */
            wmi_dual_start(&r->dual, r->step, 1, moves.target_accept);
    }
    for (int64_t i = 0; i < chains * path->bridges; i++)
        s->herd.weights[i] = 1;
    s->opts.moves.inv_mass = NULL; /* copied */
    *out = s;
    s = NULL; /* ownership moved to the caller */
done:
    wm_sampler_free(s);
    return st;
}

void wm_sampler_free(wm_sampler *s)
{
    if (!s)
        return;
    wmi_herd_clear(&s->herd);
    wmi_free(s->course);
    wmi_free(s->variances);
    wmi_free(s->draws.x);
    wmi_free(s->draws.lp);
    wmi_free(s->draws.accept);
    wmi_free(s->draws.step_size);
    wmi_free(s->draws.energy);
    wmi_free(s->draws.depth);
    wmi_free(s->draws.n_leapfrog);
    wmi_free(s->draws.divergent);
    wmi_free(s);
}

static int64_t transitions(const wm_sampler *s)
{
    return s->opts.warmup + s->opts.draws * s->opts.thin;
}

/* What comes after a transition or a search; false if nothing does. */
static bool go_on(wm_sampler *s, int64_t c)
{
    wmi_markov *chain = &s->herd.chain[c];
    wmi_course *r = &s->course[c];

    if ((int64_t)chain->next >= transitions(s)) {
        r->phase = WMI_STAGE_OVER;
        return false;
    }
    chain->step = r->step;
    if (r->find) {
        r->phase = WMI_STAGE_FIND;
        wmi_find_begin(chain);
        return true;
    }
    chain->max_depth =
        (int64_t)chain->next < s->opts.warmup ? s->opts.warmup_depth : s->opts.max_depth;
    r->phase = WMI_STAGE_MOVE;
    wmi_markov_begin(chain);
    return true;
}

/* After transition t of the warm-up. */
static void adapt(wm_sampler *s, int64_t c, int64_t t)
{
    wmi_markov *chain = &s->herd.chain[c];
    wmi_course *r = &s->course[c];

    r->step = wmi_dual_learn(&r->dual, chain->moved.accept);
    if (t == s->opts.warmup - 1)
        r->step = wmi_dual_settle(&r->dual);
    if (s->opts.mass != WM_MASS_DIAGONAL || !wmi_windows_has(&s->windows, t))
        return;
    wmi_variances_add(&r->variances, chain->dim, chain->state.x);
    if (wmi_windows_ends(&s->windows, t)) { /* other masses want another step size */
        wmi_variances_read(&r->variances, chain->dim, chain->inv_mass);
        wmi_variances_start(&r->variances, chain->dim);
        r->find = true;
        r->pull = 10;
    }
}

/* After transition t that is kept, or thinned out. */
static void record(wm_sampler *s, int64_t c, int64_t t)
{
    const wmi_markov *chain = &s->herd.chain[c];
    wmi_course *r = &s->course[c];
    wm_draws *d = &s->draws;
    const int64_t kept = t - s->opts.warmup, i = c * d->draws + kept / s->opts.thin;

    r->accept += chain->moved.accept;
    r->n_leapfrog += chain->moved.n_leapfrog;
    r->depth = chain->moved.depth > r->depth ? chain->moved.depth : r->depth;
    r->divergent = r->divergent || chain->moved.divergent;
    if ((kept + 1) % s->opts.thin != 0)
        return;
    memcpy(&d->x[i * d->dim], chain->state.x, (size_t)d->dim * sizeof *d->x);
    d->lp[i] = chain->state.log_f;
    d->accept[i] = r->accept / (double)s->opts.thin;
    d->step_size[i] = chain->step;
    d->energy[i] = chain->state.energy;
    d->depth[i] = r->depth;
    d->n_leapfrog[i] = r->n_leapfrog;
    d->divergent[i] = r->divergent;
    r->accept = 0;
    r->n_leapfrog = r->depth = 0;
    r->divergent = false;
}

static bool trouble(wmi_course *r, wmi_trouble what)
{
    r->trouble = what;
    r->phase = WMI_STAGE_OVER;
    return false;
}

static bool take(void *owner, int64_t c, double log_f, const double *grad, const double *terms)
{
    wm_sampler *s = owner;
    wmi_markov *chain = &s->herd.chain[c];
    wmi_course *r = &s->course[c];
    wmi_found found;

    (void)terms;
    switch (r->phase) {
    case WMI_STAGE_START:
        if (!wmi_markov_set_density(chain, log_f, grad, 0))
            return trouble(r, WMI_TROUBLE_START);
        return go_on(s, c);
    case WMI_STAGE_FIND:
        if ((found = wmi_find_take(chain, log_f, grad)) == WMI_FIND_ON)
            return true;
        if (found == WMI_FIND_FAILED)
            return trouble(r, WMI_TROUBLE_STEP);
        r->find = false;
        r->step = chain->step;
        wmi_dual_start(&r->dual, r->step, r->pull, s->moves.target_accept);
        return go_on(s, c);
    case WMI_STAGE_MOVE:
        if (!wmi_markov_take(chain, log_f, grad, 0))
            return true;
        if ((int64_t)chain->next <= s->opts.warmup)
            adapt(s, c, (int64_t)chain->next - 1);
        else
            record(s, c, (int64_t)chain->next - 1);
        r->all_accept += chain->moved.accept;
        r->all_leapfrogs += (double)chain->moved.n_leapfrog;
        r->all_divergent += chain->moved.divergent;
        return go_on(s, c);
    case WMI_STAGE_IDLE:
    case WMI_STAGE_OVER:
        break;
    }
    return false;
}

static wm_status watch(void *owner, bool last, wm_error *err)
{
    wm_sampler *s = owner;
    int64_t done = 0;
    double accept = 0, leapfrogs = 0, divergent = 0;

    for (int64_t c = 0; c < s->herd.chains; c++) {
        const wmi_course *r = &s->course[c];

        if (r->trouble == WMI_TROUBLE_START)
            return wmi_fail(err, WM_EDIVERGED,
                            "chain %" PRId64 ": log density %g at its start, or a gradient that is "
                            "not finite; start it where the density is positive",
                            c, s->herd.chain[c].state.log_f);
        if (r->trouble == WMI_TROUBLE_STEP)
            return wmi_fail(err, WM_EDIVERGED,
                            "chain %" PRId64
                            ": no step size from 1e-14 to 1e7 is neither too small "
                            "nor too large; the density is flat or its gradient is wrong",
                            c);
        done += (int64_t)s->herd.chain[c].next;
        accept += r->all_accept;
        leapfrogs += r->all_leapfrogs;
        divergent += r->all_divergent;
    }
    if (done > 0)
        wm_task_update(&s->progress, done, "acceptance %.2f, %.1f leapfrogs, %.0f divergent",
                       accept / (double)done, leapfrogs / (double)done, divergent);
    if (last)
        wm_task_finish(&s->progress, done, "stopped");
    return wmi_save_maybe(&s->opts.save, s->opts.sink, &s->saved, last, err);
}

wm_status wm_sampler_run(wm_sampler *s, wm_error *err)
{
    int64_t done = 0;

    for (int64_t c = 0; c < s->herd.chains; c++) {
        wmi_course *r = &s->course[c];

        done += (int64_t)s->herd.chain[c].next;
        if (r->phase == WMI_STAGE_START) {
            s->herd.chain[c].at = s->herd.chain[c].state.x;
            s->herd.wants[c] = true;
        } else if (r->phase == WMI_STAGE_IDLE) {
            s->herd.wants[c] = go_on(s, c);
        }
    }
    wm_task_start(&s->progress, s->opts.sink, "transitions", done, transitions(s) * s->herd.chains);
    s->saved = wm_clock(s->opts.sink);
    return wmi_herd_run(&s->herd, take, watch, s, s->opts.stop, err);
}

const wm_draws *wm_sampler_draws(const wm_sampler *s)
{
    return &s->draws;
}

int64_t wm_sampler_done(const wm_sampler *s, int64_t chain)
{
    const int64_t after = (int64_t)s->herd.chain[chain].next - s->opts.warmup;

    return after > 0 ? after / s->opts.thin : 0;
}

const double *wm_sampler_inv_mass(const wm_sampler *s, int64_t chain)
{
    return s->herd.chain[chain].inv_mass;
}

double wm_sampler_step_size(const wm_sampler *s, int64_t chain)
{
    return s->course[chain].step;
}

int64_t wm_sampler_evals(const wm_sampler *s)
{
    return s->herd.evals;
}
