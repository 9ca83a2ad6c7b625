/* ebm_mover.c - what moves the chains that a fit has: Hamiltonian Monte Carlo, all side by side. */
#include <string.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "ebm/ebm_impl.h"
#include "sample/markov.h"

typedef struct chains {
    int64_t n, dim;
    wmi_markov *chain;
    bool *moves; /* (n) under way */
    float *z, *g;
    double *log_f, *grad;
} chains;

/* The density at z, for every chain; grad (dim) of chain i by row(). */
static wm_status ask(chains *c, wmi_own_density *density, void *of, wm_error *err)
{
    return density(of, c->z, c->log_f, c->g, err);
}

static const double *row(chains *c, int64_t i)
{
    for (int64_t j = 0; j < c->dim; j++)
        c->grad[i * c->dim + j] = (double)c->g[i * c->dim + j];
    return c->grad + i * c->dim;
}

static void put(float *to, const double *from, int64_t n)
{
    for (int64_t j = 0; j < n; j++)
        to[j] = (float)from[j];
}

static wm_status move(void *ctx, int64_t number, int64_t n, int64_t dim, const double *step,
                      wmi_own_density *density, void *of, float *z, double *accept, wm_error *err)
{
    chains *c = ctx;
    int64_t left = 0;
    wm_status st;

    memcpy(c->z, z, (size_t)(n * dim) * sizeof *z);
    if ((st = ask(c, density, of, err)))
        return st;
    for (int64_t i = 0; i < n; i++) {
        wmi_markov *m = &c->chain[i];

        for (int64_t j = 0; j < dim; j++)
            m->state.x[j] = (double)z[i * dim + j];
        m->next = (uint64_t)number;
        m->step = step[i];
        c->moves[i] = wmi_markov_set_density(m, c->log_f[i], row(c, i), 0);
        accept[i] = 0;
        if (!c->moves[i])
            continue;
        wmi_markov_begin(m);
        left++;
    }
    while (left > 0) {
        for (int64_t i = 0; i < n; i++)
            if (c->moves[i])
                put(c->z + i * dim, c->chain[i].at, dim);
        if ((st = ask(c, density, of, err)))
            return st;
        for (int64_t i = 0; i < n; i++) {
            wmi_markov *m = &c->chain[i];

            if (!c->moves[i] || !wmi_markov_take(m, c->log_f[i], row(c, i), 0))
                continue;
            c->moves[i] = false;
            left--;
            accept[i] = m->moved.accept;
            put(z + i * dim, m->state.x, dim);
        }
    }
    return WM_OK;
}

wm_status wmi_ebm_mover_open(wmi_mover *m, int64_t n, int64_t dim, int64_t leapfrogs, uint64_t seed,
                             wm_error *err)
{
    const wmi_rng rng = wmi_rng_make(seed, "ebm/mover");
    wm_moves moves, settled;
    chains *c = NULL;
    wm_status st;

    *m = (wmi_mover){0};
    wmi_moves_init(&moves);
    moves.kernel = WM_KERNEL_HMC;
    moves.hmc_steps = leapfrogs;
    if ((st = wmi_moves_settle(&settled, &moves, dim, err)) ||
        (st = wmi_alloc(&c, 1, sizeof *c, "chains", err)))
        return st;
    *m = (wmi_mover){move, c};
    c->dim = dim;
    if ((st = wmi_alloc(&c->chain, n, sizeof *c->chain, "chains", err)))
        return st;
    c->n = n;
    if ((st = wmi_alloc(&c->moves, n, sizeof *c->moves, "chains", err)) ||
        (st = wmi_alloc(&c->z, n * dim, sizeof *c->z, "chains", err)) ||
        (st = wmi_alloc(&c->g, n * dim, sizeof *c->g, "chains", err)) ||
        (st = wmi_alloc(&c->log_f, n, sizeof *c->log_f, "chains", err)) ||
        (st = wmi_alloc(&c->grad, n * dim, sizeof *c->grad, "chains", err)))
        return st;
    for (int64_t i = 0; i < n; i++)
        if ((st = wmi_markov_init(&c->chain[i], dim, &settled, 1, wmi_rng_sub(&rng, (uint64_t)i),
                                  err)))
            return st;
    return WM_OK;
}

void wmi_ebm_mover_close(wmi_mover *m)
{
    chains *c = m->ctx;

    if (!c)
        return;
    for (int64_t i = 0; i < c->n; i++)
        wmi_markov_clear(&c->chain[i]);
    wmi_free(c->chain);
    wmi_free(c->moves);
    wmi_free(c->z);
    wmi_free(c->g);
    wmi_free(c->log_f);
    wmi_free(c->grad);
    wmi_free(c);
    *m = (wmi_mover){0};
}
