/* markov.c - memory of a chain, the leapfrog, and the choice of kernel. */
#include "sample/markov.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"

void wmi_moves_init(wm_moves *moves)
{
    *moves = (wm_moves){
        .kernel = WM_KERNEL_NUTS, .hmc_steps = 10, .hmc_jitter = 0.2, .max_energy_error = 1000};
}

wm_status wmi_moves_settle(wm_moves *out, const wm_moves *in, int64_t dim, wm_error *err)
{
    *out = *in;
    if ((unsigned)in->kernel > WM_KERNEL_MALA)
        return wmi_fail(err, WM_EINVAL, "kernel %d: no such kernel", (int)in->kernel);
    if (in->target_accept == 0)
        out->target_accept = in->kernel == WM_KERNEL_MALA ? 0.574 : 0.8;
    else if (!(in->target_accept > 0 && in->target_accept < 1))
        return wmi_fail(err, WM_EINVAL, "target acceptance %g: must lie between 0 and 1",
                        in->target_accept);
    if (!(in->step_size >= 0 && isfinite(in->step_size)))
        return wmi_fail(err, WM_EINVAL, "step size %g: must be positive, or 0 to search for one",
                        in->step_size);
    if (in->hmc_steps < 1)
        return wmi_fail(err, WM_EINVAL, "%" PRId64 " leapfrogs of HMC: at least one",
                        in->hmc_steps);
    if (!(in->hmc_jitter >= 0 && in->hmc_jitter < 1))
        return wmi_fail(err, WM_EINVAL, "jitter %g: must be at least 0 and below 1",
                        in->hmc_jitter);
    if (!(in->max_energy_error > 0))
        return wmi_fail(err, WM_EINVAL, "largest energy error %g: must be positive",
                        in->max_energy_error);
    for (int64_t i = 0; in->inv_mass && i < dim; i++)
        if (!(in->inv_mass[i] > 0 && isfinite(in->inv_mass[i])))
            return wmi_fail(err, WM_EINVAL, "inverse mass of dimension %" PRId64 " is %g", i,
                            in->inv_mass[i]);
    return WM_OK;
}

/* Vectors are cut off one block, each on a cache line of its own. */
typedef struct cutter {
    double *next;
    int64_t stride;
} cutter;

static double *cut(cutter *k)
{
    double *v = k->next;

    k->next += k->stride;
    return v;
}

static void cut_state(cutter *k, wmi_state *s)
{
    s->x = cut(k);
    s->grad = cut(k);
}

static void cut_phase(cutter *k, wmi_phase_point *z)
{
    z->x = cut(k);
    z->p = cut(k);
    z->grad = cut(k);
}

wm_status wmi_markov_init(wmi_markov *c, int64_t dim, const wm_moves *moves, int64_t max_depth,
                          wmi_rng rng, wm_error *err)
{
    const int64_t lane = WMI_ALIGN / (int64_t)sizeof(double);
    const bool nuts = moves->kernel == WM_KERNEL_NUTS;
    const int64_t n_marks = nuts && max_depth > 1 ? max_depth - 1 : 1;
    const int64_t vectors = 1 + 2 * 2 + 3 + (nuts ? 2 + 2 * 3 + 3 + 3 * n_marks : 0);
    cutter k = {.stride = (dim + lane - 1) / lane * lane};
    wm_status st;

    *c = (wmi_markov){.dim = dim, .moves = *moves, .max_depth = max_depth, .rng = rng};
    c->moves.inv_mass = NULL; /* the caller's: copied below */
    c->step = moves->step_size;
    if ((st = wmi_alloc(&c->block, vectors * k.stride, sizeof(double), "a Markov chain", err)) ||
        (st = wmi_alloc(&c->marks, n_marks, sizeof *c->marks, "a Markov chain", err)))
        return st; /* the caller clears */
    k.next = c->block;
    c->inv_mass = cut(&k);
    cut_state(&k, &c->state);
    cut_state(&k, &c->proposal);
    cut_phase(&k, &c->now);
    if (nuts) {
        cut_state(&k, &c->sample);
        cut_phase(&k, &c->end[0]);
        cut_phase(&k, &c->end[1]);
        c->rho = cut(&k);
        c->sum = cut(&k);
        c->zeros = cut(&k);
        for (int64_t i = 0; i < n_marks; i++)
            c->marks[i] = (wmi_mark){.p = cut(&k), .p_before = cut(&k), .sum = cut(&k)};
    }
    for (int64_t i = 0; i < dim; i++)
        c->inv_mass[i] = moves->inv_mass ? moves->inv_mass[i] : 1;
    return WM_OK;
}

void wmi_markov_clear(wmi_markov *c)
{
    wmi_free(c->block);
    wmi_free(c->marks);
    *c = (wmi_markov){0};
}

double wmi_markov_draw_momentum(wmi_markov *c, const wmi_rng *rng, double *p)
{
    double kinetic = 0;

    wmi_rng_normal_f64(rng, 0, c->dim, p);
    for (int64_t i = 0; i < c->dim; i++) {
        kinetic += 0.5 * p[i] * p[i];
        p[i] /= sqrt(c->inv_mass[i]);
    }
    return kinetic;
}

void wmi_markov_leap(wmi_markov *c)
{
    double *restrict x = c->now.x, *restrict p = c->now.p;
    const double *restrict grad = c->now.grad, *restrict inv_mass = c->inv_mass;
    const double step = c->signed_step, half = 0.5 * step;

#pragma omp simd
    for (int64_t i = 0; i < c->dim; i++) {
        p[i] += half * grad[i];
        x[i] += step * inv_mass[i] * p[i];
    }
    c->at = x;
}

double wmi_markov_land(wmi_markov *c, double log_f, const double *grad)
{
    double *restrict p = c->now.p, *restrict g = c->now.grad;
    const double *restrict inv_mass = c->inv_mass, *restrict in = grad;
    const double half = 0.5 * c->signed_step;
    double twice = 0, energy; /* twice the kinetic energy: NaN or inf if the gradient is */

#pragma omp simd reduction(+ : twice)
    for (int64_t i = 0; i < c->dim; i++) {
        g[i] = in[i];
        p[i] += half * in[i];
        twice += inv_mass[i] * p[i] * p[i];
    }
    energy = 0.5 * twice - log_f;
    return isfinite(energy) ? energy : (double)INFINITY;
}

double wmi_markov_uniform(wmi_markov *c)
{
    return ((double)(wmi_rng_u64(&c->choose, c->choices++) >> 12) + 0.5) * 0x1p-52;
}

void wmi_markov_keep(const wmi_markov *c, wmi_state *s, double log_f, double term, double energy)
{
    memcpy(s->x, c->now.x, (size_t)c->dim * sizeof *s->x);
    memcpy(s->grad, c->now.grad, (size_t)c->dim * sizeof *s->grad);
    s->log_f = log_f;
    s->term = term;
    s->energy = energy;
}

void wmi_markov_copy(const wmi_markov *c, wmi_state *to, const wmi_state *from)
{
    memcpy(to->x, from->x, (size_t)c->dim * sizeof *to->x);
    memcpy(to->grad, from->grad, (size_t)c->dim * sizeof *to->grad);
    to->log_f = from->log_f;
    to->term = from->term;
    to->energy = from->energy;
}

bool wmi_markov_set_density(wmi_markov *c, double log_f, const double *grad, double term)
{
    bool finite = isfinite(log_f);

    for (int64_t i = 0; i < c->dim; i++) {
        c->state.grad[i] = grad[i];
        finite = finite && isfinite(grad[i]);
    }
    c->state.log_f = log_f;
    c->state.term = term;
    return finite;
}

void wmi_markov_begin(wmi_markov *c)
{
    const wmi_rng own = wmi_rng_sub(&c->rng, c->next);
    const wmi_rng momentum = wmi_rng_sub(&own, WMI_USE_MOMENTUM);

    c->choose = wmi_rng_sub(&own, WMI_USE_CHOICE);
    c->choices = 0;
    c->moved = (wmi_moved){0};
    c->sum_accept = 0;
    memcpy(c->now.x, c->state.x, (size_t)c->dim * sizeof *c->now.x);
    memcpy(c->now.grad, c->state.grad, (size_t)c->dim * sizeof *c->now.grad);
    c->energy0 = wmi_markov_draw_momentum(c, &momentum, c->now.p) - c->state.log_f;
    if (c->moves.kernel == WM_KERNEL_NUTS)
        wmi_nuts_begin(c);
    else
        wmi_hmc_begin(c);
}

bool wmi_markov_take(wmi_markov *c, double log_f, const double *grad, double term)
{
    const bool over = c->moves.kernel == WM_KERNEL_NUTS ? wmi_nuts_take(c, log_f, grad, term)
                                                        : wmi_hmc_take(c, log_f, grad, term);

    if (!over)
        return false;
    c->moved.accept = c->sum_accept / (double)c->moved.n_leapfrog;
    c->next++;
    return true;
}
