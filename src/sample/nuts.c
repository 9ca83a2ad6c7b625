/* nuts.c - the No-U-Turn sampler without recursion, so that it can rest between any two leapfrogs.
 * Hoffman and Gelman (2014) with Betancourt's (2017) changes, as in Stan: states of a doubling are
 * chosen by their weights exp(-H), the doubling's choice replaces the trajectory's with probability
 * min(1, w_new / w_old), and a tree ends where rho = sum of momenta no longer has a positive
 * product with the velocities at both ends.
 *
 * Iterative checks (Phan et al. 2019): leaves of a doubling are numbered from 0 in the direction of
 * travel. Leaf n completes one subtree for each trailing 1 bit of n. The subtree of 2^(j+1) leaves
 * that ends at n began at a_j = n + 1 - 2^(j+1), whose mark is number popcount(n / 2) - j; its
 * right half began at a_(j-1). So marks of the first leaves, one per level, are all that checks
 * need. */
#include <math.h>
#include <string.h>

#include "sample/markov.h"

static double log_add(double a, double b)
{
    const double hi = fmax(a, b), lo = fmin(a, b);

    return hi == -(double)INFINITY ? hi : hi + log1p(exp(lo - hi));
}

/* Two neighbours as a tree. */
static bool pair_turns(const wmi_markov *c, const double *a, const double *b)
{
    const double *restrict inv_mass = c->inv_mass;
    double at_a = 0, at_b = 0;

#pragma omp simd reduction(+ : at_a, at_b)
    for (int64_t i = 0; i < c->dim; i++) {
        const double rho = (a[i] + b[i]) * inv_mass[i];

        at_a += rho * a[i];
        at_b += rho * b[i];
    }
    return !(at_a > 0 && at_b > 0);
}

/* A left and a right half, given by their outer and inner momenta and the sums of momenta before
 * the left half, before the right half and up to its end. Three checks: the whole; the left half
 * with the first of the right; the right half with the last of the left. The last two see U-turns
 * between the halves that the first one steps over (Stan 2.21). */
static bool halves_turn(const wmi_markov *c, const double *left_outer, const double *left_inner,
                        const double *right_inner, const double *right_outer, const double *before,
                        const double *between, const double *after)
{
    const double *restrict inv_mass = c->inv_mass;
    double s0 = 0, s1 = 0, s2 = 0, s3 = 0, s4 = 0, s5 = 0;

#pragma omp simd reduction(+ : s0, s1, s2, s3, s4, s5)
    for (int64_t i = 0; i < c->dim; i++) {
        const double m = inv_mass[i];
        const double whole = (after[i] - before[i]) * m;
        const double left = (between[i] - before[i] + right_inner[i]) * m;
        const double right = (after[i] - between[i] + left_inner[i]) * m;

        s0 += whole * left_outer[i];
        s1 += whole * right_outer[i];
        s2 += left * left_outer[i];
        s3 += left * right_inner[i];
        s4 += right * left_inner[i];
        s5 += right * right_outer[i];
    }
    return !(s0 > 0 && s1 > 0 && s2 > 0 && s3 > 0 && s4 > 0 && s5 > 0);
}

static void copy(const wmi_markov *c, double *to, const double *from)
{
    memcpy(to, from, (size_t)c->dim * sizeof *to);
}

static void copy_phase(const wmi_markov *c, wmi_phase_point *to, const wmi_phase_point *from)
{
    copy(c, to->x, from->x);
    copy(c, to->p, from->p);
    copy(c, to->grad, from->grad);
}

static void begin_doubling(wmi_markov *c)
{
    c->forward = wmi_markov_uniform(c) < 0.5;
    c->signed_step = c->forward ? c->step : -c->step;
    copy_phase(c, &c->now, &c->end[c->forward]);
    memset(c->sum, 0, (size_t)c->dim * sizeof *c->sum);
    c->leaf = 0;
    c->leaves = INT64_C(1) << c->moved.depth;
    c->log_weight_new = -(double)INFINITY;
    wmi_markov_leap(c);
}

void wmi_nuts_begin(wmi_markov *c)
{
    copy_phase(c, &c->end[0], &c->now);
    copy_phase(c, &c->end[1], &c->now);
    copy(c, c->rho, c->now.p);
    wmi_markov_copy(c, &c->sample, &c->state);
    c->sample.energy = c->energy0;
    c->log_weight = 0; /* weights are exp(energy0 - energy) */
    begin_doubling(c);
}

static bool end_transition(wmi_markov *c)
{
    wmi_swap_states(&c->state, &c->sample);
    return true;
}

/* The moving point becomes leaf c->leaf: adds it to the sums and marks, true if it completes a
 * subtree that turns. */
static bool add_leaf(wmi_markov *c)
{
    const int64_t n = c->leaf;
    const int top = __builtin_popcountll((unsigned long long)n >> 1);
    const double *p = c->now.p;

    if (n % 2 == 0 && c->leaves > 1) {
        copy(c, c->marks[top].p, p);
        copy(c, c->marks[top].sum, c->sum);
    }
#pragma omp simd
    for (int64_t i = 0; i < c->dim; i++)
        c->sum[i] += p[i];
    if (n % 2 == 0)
        return false;
    if (pair_turns(c, c->marks[top].p, p))
        return true;
    for (int j = 1; n >> j & 1; j++) {
        const wmi_mark *left = &c->marks[top - j], *right = &c->marks[top - j + 1];

        if (halves_turn(c, left->p, right->p_before, right->p, p, left->sum, right->sum, c->sum))
            return true;
    }
    if (n + 1 < c->leaves) /* the next leaf begins a subtree */
        copy(c, c->marks[__builtin_popcountll((unsigned long long)(n + 1) >> 1)].p_before, p);
    return false;
}

/* The doubling is whole and has no U-turn in itself: joins it to the trajectory. True if that
 * turns.
 */
static bool join(wmi_markov *c)
{
    wmi_phase_point *near = &c->end[c->forward];
    const double *first = c->leaves > 1 ? c->marks[0].p : c->now.p;
    bool turns;

    c->moved.depth++;
    if (log(wmi_markov_uniform(c)) < c->log_weight_new - c->log_weight)
        wmi_swap_states(&c->sample, &c->proposal);
    c->log_weight = log_add(c->log_weight, c->log_weight_new);
#pragma omp simd
    for (int64_t i = 0; i < c->dim; i++)
        c->sum[i] += c->rho[i]; /* now of both */
    turns =
        halves_turn(c, c->end[!c->forward].p, near->p, first, c->now.p, c->zeros, c->rho, c->sum);
    copy(c, c->rho, c->sum);
    copy_phase(c, near, &c->now);
    return turns;
}

bool wmi_nuts_take(wmi_markov *c, double log_f, const double *grad, double term)
{
    const double energy = wmi_markov_land(c, log_f, grad), log_w = c->energy0 - energy;

    c->moved.n_leapfrog++;
    c->sum_accept += fmin(1, exp(log_w));
    if (!(-log_w <= c->moves.max_energy_error)) {
        c->moved.divergent = true;
        return end_transition(c);
    }
    c->log_weight_new = log_add(c->log_weight_new, log_w);
    if (c->leaf == 0 || log(wmi_markov_uniform(c)) < log_w - c->log_weight_new)
        wmi_markov_keep(c, &c->proposal, log_f, term, energy);
    if (add_leaf(c))
        return end_transition(c);
    if (++c->leaf < c->leaves) {
        wmi_markov_leap(c);
        return false;
    }
    if (join(c) || c->moved.depth >= c->max_depth)
        return end_transition(c);
    begin_doubling(c);
    return false;
}
