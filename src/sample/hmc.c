/* hmc.c - Hamiltonian Monte Carlo of fixed length; with one leapfrog it is MALA.
 * L leapfrogs from (x, p), p ~ N(0, M); the end is accepted with probability min(1, exp(-dH)). */
#include <math.h>

#include "sample/markov.h"

void wmi_hmc_begin(wmi_markov *c)
{
    const bool mala = c->moves.kernel == WM_KERNEL_MALA;

    c->leaf = 0;
    c->leaves = mala ? 1 : c->moves.hmc_steps;
    c->signed_step = c->step;
    if (!mala) /* does not depend on the state: the target stays invariant */
        c->signed_step *= 1 + c->moves.hmc_jitter * (2 * wmi_markov_uniform(c) - 1);
    wmi_markov_leap(c);
}

bool wmi_hmc_take(wmi_markov *c, double log_f, const double *grad, double term)
{
    const double energy = wmi_markov_land(c, log_f, grad), gain = c->energy0 - energy;

    c->moved.n_leapfrog++;
    /* A trajectory through a point without density is refused from either end: it may be left. */
    if (++c->leaf < c->leaves && isfinite(energy)) {
        wmi_markov_leap(c);
        return false;
    }
    c->moved.divergent = !(-gain <= c->moves.max_energy_error);
    c->sum_accept = fmin(1, exp(gain)) * (double)c->moved.n_leapfrog; /* that of the end alone */
    if (log(wmi_markov_uniform(c)) < gain) {
        wmi_markov_keep(c, &c->proposal, log_f, term, energy);
        wmi_swap_states(&c->state, &c->proposal);
    } else {
        c->state.energy = c->energy0;
    }
    return true;
}
