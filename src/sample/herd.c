/* herd.c - rounds of gathering points, evaluating them, handing out answers. */
#include "sample/herd.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"

#define OMP_MIN 16384 /* numbers in a round: below, a parallel region costs more than it saves */

wm_status wmi_path_check(const wm_path *path, int64_t chains, const double *start, wm_error *err)
{
    if (path->dim < 1 || path->bridges < 0 || !path->eval)
        return wmi_fail(err, WM_EINVAL,
                        "a path of %" PRId64 " dimensions and %" PRId64 " bridges%s", path->dim,
                        path->bridges, path->eval ? "" : " without a density");
    if (chains < 1)
        return wmi_fail(err, WM_EINVAL, "%" PRId64 " chains: at least one", chains);
    for (int64_t i = 0; i < chains * path->dim; i++)
        if (!isfinite(start[i]))
            return wmi_fail(err, WM_EINVAL, "chain %" PRId64 " starts at %g in dimension %" PRId64,
                            i / path->dim, start[i], i % path->dim);
    return WM_OK;
}

wm_status wmi_herd_init(wmi_herd *h, const wm_path *path, int64_t chains, const wm_moves *moves,
                        int64_t depth, wmi_rng rng, wm_error *err)
{
    const int64_t m = path->bridges;
    const char *what = "points of Markov chains";
    int64_t points, terms;
    wm_status st;

    *h = (wmi_herd){.path = *path};
    if (__builtin_mul_overflow(chains, path->dim, &points) ||
        __builtin_mul_overflow(chains, m, &terms))
        return wmi_fail(err, WM_ENOMEM, "%" PRId64 " chains of %" PRId64 " dimensions", chains,
                        path->dim);
    if ((st = wmi_alloc(&h->chain, chains, sizeof *h->chain, "Markov chains", err)))
        return st;
    h->chains = chains; /* from here on _clear walks them */
    for (int64_t c = 0; c < chains; c++)
        if ((st = wmi_markov_init(&h->chain[c], path->dim, moves, depth,
                                  wmi_rng_sub(&rng, (uint64_t)c), err)))
            return st;
    if ((st = wmi_alloc(&h->wants, chains, sizeof *h->wants, what, err)) ||
        (st = wmi_alloc(&h->weights, terms, sizeof *h->weights, what, err)) ||
        (st = wmi_alloc(&h->row_chain, chains, sizeof *h->row_chain, what, err)) ||
        (st = wmi_alloc(&h->row_x, points, sizeof *h->row_x, what, err)) ||
        (st = wmi_alloc(&h->row_weights, terms, sizeof *h->row_weights, what, err)) ||
        (st = wmi_alloc(&h->row_log_f, chains, sizeof *h->row_log_f, what, err)) ||
        (st = wmi_alloc(&h->row_grad, points, sizeof *h->row_grad, what, err)))
        return st;
    return wmi_alloc(&h->row_terms, terms, sizeof *h->row_terms, what, err);
}

void wmi_herd_clear(wmi_herd *h)
{
    for (int64_t c = 0; c < h->chains; c++)
        wmi_markov_clear(&h->chain[c]);
    wmi_free(h->chain);
    wmi_free(h->wants);
    wmi_free(h->weights);
    wmi_free(h->row_chain);
    wmi_free(h->row_x);
    wmi_free(h->row_weights);
    wmi_free(h->row_log_f);
    wmi_free(h->row_grad);
    wmi_free(h->row_terms);
    *h = (wmi_herd){0};
}

/* The points that are wanted, in the order of the chains; how many. */
static int64_t gather(wmi_herd *h)
{
    const int64_t dim = h->path.dim, m = h->path.bridges;
    int64_t n = 0;

    for (int64_t c = 0; c < h->chains; c++)
        if (h->wants[c])
            h->row_chain[n++] = c;
#pragma omp parallel for schedule(static) if (n * dim >= OMP_MIN)
    for (int64_t i = 0; i < n; i++) {
        const int64_t c = h->row_chain[i];

        memcpy(&h->row_x[i * dim], h->chain[c].at, (size_t)dim * sizeof *h->row_x);
        if (m > 0)
            memcpy(&h->row_weights[i * m], &h->weights[c * m], (size_t)m * sizeof *h->row_weights);
    }
    return n;
}

static void hand_out(wmi_herd *h, int64_t n, wmi_herd_take *take, void *owner)
{
    const int64_t dim = h->path.dim, m = h->path.bridges;

#pragma omp parallel for schedule(static) if (n * dim >= OMP_MIN)
    for (int64_t i = 0; i < n; i++) {
        const int64_t c = h->row_chain[i];

        h->wants[c] = take(owner, c, h->row_log_f[i], &h->row_grad[i * dim],
                           m > 0 ? &h->row_terms[i * m] : NULL);
    }
}

wm_status wmi_herd_run(wmi_herd *h, wmi_herd_take *take, wmi_herd_watch *watch, void *owner,
                       const volatile sig_atomic_t *stop, wm_error *err)
{
    const bool bridged = h->path.bridges > 0;
    wm_status st;
    int64_t n;

    while ((n = gather(h)) > 0) {
        if (stop && *stop) {
            if ((st = watch(owner, true, err)))
                return st;
            return wmi_fail(err, WM_EINTERRUPTED, "sampling was stopped");
        }
        st = h->path.eval(h->path.ctx, n, h->row_x, bridged ? h->row_weights : NULL, h->row_log_f,
                          h->row_grad, bridged ? h->row_terms : NULL, err);
        if (st)
            return st;
        h->evals += n;
        hand_out(h, n, take, owner);
        if ((st = watch(owner, false, err)))
            return st;
    }
    return WM_OK;
}

wm_status wmi_save_maybe(const wm_save *save, const wm_sink *sink, double *last, bool now,
                         wm_error *err)
{
    double clock;

    if (!save->call)
        return WM_OK;
    clock = wm_clock(sink);
    if (!now && clock - *last < save->seconds)
        return WM_OK;
    *last = clock;
    return save->call(save->ctx, err);
}
