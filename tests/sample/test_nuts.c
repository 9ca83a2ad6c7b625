/* test_nuts.c - the iterative sampler against a recursive one written from Stan's definition,
 * leapfrog for leapfrog; invariance of the target; moments and quantiles of densities with known
 * ones. */
#include <string.h>

#include "densities.h"
#include "draw_checks.h"

#include "base/rng.h"
#include "sample/markov.h"

/* --- the recursive sampler ---------------------------------------------------------------------*/

enum { DIM = 5, MAX_LEAVES = 2048 };

typedef struct leaf {
    double x[DIM], p[DIM], grad[DIM], energy;
} leaf;

typedef struct track {
    leaf at[2 * MAX_LEAVES]; /* at[MAX_LEAVES] is the start */
    double inv_mass[DIM];
    double log_f;
} track;

static const double sds[DIM] = {0.3, 1, 1.5, 0.7, 2};

static double density(const double *x, double *grad)
{
    normals g = {DIM, sds};
    double log_f = 0;

    assert_int_equal(normals_eval(&g, 1, x, NULL, &log_f, grad, NULL, NULL), WM_OK);
    return log_f;
}

static double energy_of(const track *t, const leaf *l, double log_f)
{
    double k = 0;

    for (int i = 0; i < DIM; i++)
        k += 0.5 * t->inv_mass[i] * l->p[i] * l->p[i];
    return k - log_f;
}

static void leapfrog(const track *t, leaf *to, const leaf *from, double step)
{
    double log_f;

    for (int i = 0; i < DIM; i++) {
        to->p[i] = from->p[i] + 0.5 * step * from->grad[i];
        to->x[i] = from->x[i] + step * t->inv_mass[i] * to->p[i];
    }
    log_f = density(to->x, to->grad);
    for (int i = 0; i < DIM; i++)
        to->p[i] += 0.5 * step * to->grad[i];
    to->energy = energy_of(t, to, log_f);
}

static void sum_p(const track *t, int a, int b, double *rho) /* leaves a to b, both counted */
{
    for (int i = 0; i < DIM; i++) {
        rho[i] = 0;
        for (int j = a; j <= b; j++)
            rho[i] += t->at[j].p[i];
    }
}

static bool goes_on(const track *t, int start, int end, const double *rho)
{
    double s = 0, e = 0;

    for (int i = 0; i < DIM; i++) {
        s += rho[i] * t->inv_mass[i] * t->at[start].p[i];
        e += rho[i] * t->inv_mass[i] * t->at[end].p[i];
    }
    return s > 0 && e > 0;
}

/* Stan's three criteria for the tree of leaves a to b with its halves. */
static bool tree_goes_on(const track *t, int a, int b)
{
    const int mid = (a + b + 1) / 2; /* the first of the right half */
    double rho[DIM];
    bool on;

    sum_p(t, a, b, rho);
    on = goes_on(t, a, b, rho);
    sum_p(t, a, mid, rho);
    on = on && goes_on(t, a, mid, rho);
    sum_p(t, mid - 1, b, rho);
    return on && goes_on(t, mid - 1, b, rho);
}

/* Grows `n` leaves from `from` in a direction; true if every subtree goes on. Counts leapfrogs. */
static bool build(track *t, int from, int direction, int n, double step, int64_t *leapfrogs)
{
    if (n == 1) {
        leapfrog(t, &t->at[from + direction], &t->at[from], direction * step);
        ++*leapfrogs;
        return t->at[from + direction].energy - t->at[MAX_LEAVES].energy <= 1000;
    }
    if (!build(t, from, direction, n / 2, step, leapfrogs) ||
        !build(t, from + direction * n / 2, direction, n / 2, step, leapfrogs))
        return false;
    return direction > 0 ? tree_goes_on(t, from + 1, from + n)
                         : tree_goes_on(t, from - n, from - 1);
}

/* Depth, leapfrogs and mean acceptance must be those of the recursion, for 3000 trees of all sizes:
 * one subtree that is not checked, or checked with the wrong momentum, would change many. */
static void trees_are_those_of_the_recursion(void **state)
{
    static track t;
    int64_t sizes[12] = {0};
    double inv_mass[DIM];
    wm_moves moves, settled;
    wm_error err = {0};

    (void)state;
    for (int i = 0; i < DIM; i++)
        inv_mass[i] = t.inv_mass[i] = 0.5 + 0.3 * i;
    wmi_moves_init(&moves);
    moves.inv_mass = inv_mass;
    assert_ok(wmi_moves_settle(&settled, &moves, DIM, &err), err);
    for (uint64_t trial = 0; trial < 3000; trial++) {
        const wmi_rng rng = wmi_rng_make(trial, "test");
        const wmi_rng own = wmi_rng_sub(&rng, 0), first = wmi_rng_sub(&own, WMI_USE_MOMENTUM);
        const int64_t max_depth = 1 + (int64_t)(trial % 10);
        wmi_markov c;
        leaf *start = &t.at[MAX_LEAVES];
        int directions[12], doublings = 0, lo = MAX_LEAVES, hi = MAX_LEAVES;
        int64_t leapfrogs = 0, depth = 0;
        double grad[DIM], accept = 0, log_f;
        bool over = false;

        assert_ok(wmi_markov_init(&c, DIM, &settled, max_depth, rng, &err), err);
        wmi_rng_normal_f64(&own, 0, DIM, c.state.x);
        log_f = density(c.state.x, grad);
        assert_true(wmi_markov_set_density(&c, log_f, grad, 0));
        c.step = 0.005 * pow(1.3, (double)(trial % 17)); /* 0.005 to 0.33, stable below 0.5 */
        memcpy(start->x, c.state.x, sizeof start->x);
        memcpy(start->grad, grad, sizeof grad);
        wmi_rng_normal_f64(&first, 0, DIM, start->p);
        for (int i = 0; i < DIM; i++)
            start->p[i] /= sqrt(inv_mass[i]);
        start->energy = energy_of(&t, start, log_f);
        wmi_markov_begin(&c);
        while (!over) {
            if (c.leaf == 0)
                directions[doublings++] = c.forward ? 1 : -1;
            log_f = density(c.at, grad);
            over = wmi_markov_take(&c, log_f, grad, 0);
        }
        for (int i = 0; i < doublings; i++) {
            const int n = 1 << i;

            if (!build(&t, directions[i] > 0 ? hi : lo, directions[i], n, c.step, &leapfrogs)) {
                assert_int_equal(i, doublings - 1);
                break;
            }
            if (directions[i] > 0)
                hi += n;
            else
                lo -= n;
            depth++;
            if (!tree_goes_on(&t, lo, hi))
                assert_int_equal(i, doublings - 1);
            else if (i == doublings - 1)
                assert_int_equal(depth, max_depth);
        }
        /* every leaf that was grown, in a doubling that was dropped as well */
        for (int j = 1, left = (int)leapfrogs, dir = directions[doublings - 1]; j <= left; j++) {
            const int finished = hi - lo; /* leaves that are kept, without the start */
            const leaf *l;

            if (j <= finished)
                l = &t.at[lo + j - 1 < MAX_LEAVES ? lo + j - 1 : lo + j];
            else
                l = &t.at[dir > 0 ? hi + j - finished : lo - (j - finished)];
            accept += fmin(1, exp(start->energy - l->energy)) / (double)leapfrogs;
        }
        assert_int_equal(c.moved.depth, depth);
        assert_int_equal(c.moved.n_leapfrog, leapfrogs);
        assert_near(c.moved.accept, accept, 1e-9);
        sizes[depth]++;
        wmi_markov_clear(&c);
    }
    for (int d = 1; d <= 7; d++)
        assert_true(sizes[d] >= 20);
}

/* Which leaf is drawn, from one start and momentum with many choices: the trees follow from the
 * directions alone, and of each the law of the draw is known. A doubling of weight W' replaces the
 * choice from W with probability min(1, W'/W), by its leaves in proportion to their weights. 60000
 * draws over 4 trees of 8 leaves: frequencies within 5 standard errors each. */
static void leaves_are_drawn_by_their_weights(void **state)
{
    enum { RUNS = 60000, DEPTH = 3 };
    static track t;
    static int64_t drawn[1 << DEPTH][17]; /* the last: none of the leaves */
    int64_t trees[1 << DEPTH] = {0}, whole = 0;
    const wmi_rng rng = wmi_rng_make(4, "test"), own = wmi_rng_sub(&rng, 0);
    const wmi_rng first = wmi_rng_sub(&own, WMI_USE_MOMENTUM), choices = wmi_rng_make(9, "choices");
    wm_moves moves, settled;
    leaf *start = &t.at[MAX_LEAVES];
    double log_f, grad[DIM];
    wm_error err = {0};
    wmi_markov c;

    (void)state;
    wmi_moves_init(&moves);
    assert_ok(wmi_moves_settle(&settled, &moves, DIM, &err), err);
    assert_ok(wmi_markov_init(&c, DIM, &settled, DEPTH, rng, &err), err);
    c.step = 0.2;
    for (int i = 0; i < DIM; i++) {
        t.inv_mass[i] = 1;
        start->x[i] = i == 0 ? 0.5 : 0.1;
    }
    log_f = density(start->x, start->grad);
    wmi_rng_normal_f64(&first, 0, DIM, start->p);
    start->energy = energy_of(&t, start, log_f);
    for (uint64_t run = 0; run < RUNS; run++) {
        int code = 0, doublings = 0, place = 16;
        bool over = false;

        memcpy(c.state.x, start->x, sizeof start->x);
        c.next = 0;
        assert_true(wmi_markov_set_density(&c, density(start->x, grad), grad, 0));
        wmi_markov_begin(&c); /* its first direction is the same in all runs, the rest is new */
        c.choose = wmi_rng_sub(&choices, run);
        while (!over) {
            if (c.leaf == 0)
                code |= c.forward << doublings++;
            log_f = density(c.at, grad);
            over = wmi_markov_take(&c, log_f, grad, 0);
        }
        if (trees[code]++ == 0) { /* the leaves of this tree: at[MAX_LEAVES - 8 .. + 7] */
            for (int i = 1; i <= 8; i++) {
                leapfrog(&t, start + i, start + i - 1, c.step);
                leapfrog(&t, start - i, start - i + 1, -c.step);
            }
        }
        for (int i = -8; i < 8; i++)
            if (fabs(c.state.x[0] - start[i].x[0]) + fabs(c.state.x[1] - start[i].x[1]) < 1e-9)
                place = i + 8;
        drawn[code][place]++;
    }
    for (int code = 0; code < 1 << DEPTH; code++) {
        double law[16] = {0}, total = 1;
        int64_t ignored = 0;
        int lo = 0, hi = 0;

        assert_int_equal(drawn[code][16], 0);
        if (trees[code] == 0)
            continue;
        law[8] = 1;
        for (int d = 0; d < DEPTH; d++) {
            const int n = 1 << d, dir = code >> d & 1 ? 1 : -1;
            const int from = dir > 0 ? hi : lo;
            double sum = 0, take;

            if (!build(&t, MAX_LEAVES + from, dir, n, c.step, &ignored))
                break;
            for (int i = 1; i <= n; i++)
                sum += exp(start->energy - start[from + dir * i].energy);
            take = fmin(1, sum / total);
            for (int i = 0; i < 16; i++)
                law[i] *= 1 - take;
            for (int i = 1; i <= n; i++)
                law[8 + from + dir * i] +=
                    take * exp(start->energy - start[from + dir * i].energy) / sum;
            total += sum;
            lo -= dir < 0 ? n : 0;
            hi += dir > 0 ? n : 0;
            whole += d == DEPTH - 1;
            if (!tree_goes_on(&t, MAX_LEAVES + lo, MAX_LEAVES + hi))
                break;
        }
        for (int i = 0; i < 16; i++)
            assert_near((double)drawn[code][i] / (double)trees[code], law[i],
                        5 * sqrt(law[i] * (1 - law[i]) / (double)trees[code]) + 1e-12);
    }
    assert_true(whole >= 2); /* trees of three doublings */
    wmi_markov_clear(&c);
}

/* --- the target --------------------------------------------------------------------------------*/

static double self(double x, int64_t k)
{
    (void)k;
    return x;
}

static double square(double x, int64_t k)
{
    (void)k;
    return x * x;
}

/* Exact draws, one transition of large steps, and they are exact draws still. The chains are
 * independent: the error of a mean is sd / sqrt(chains). */
static void one_transition_leaves_exact_draws_exact(void **state)
{
    enum { CHAINS = 20000 };
    static double start[2 * CHAINS];
    const wm_path path = {.dim = 2, .eval = banana_eval};
    const wmi_rng rng = wmi_rng_make(5, "start");
    const double root = sqrt(CHAINS);
    wm_sample_opts o;
    wm_sampler *s;
    const wm_draws *d;
    double m1 = 0, m2 = 0, m3 = 0, v1 = 0, v2 = 0, moved = 0, accept = 0, below = 0;

    (void)state;
    wmi_rng_normal_f64(&rng, 0, 2 * (int64_t)CHAINS, start);
    for (int i = 0; i < CHAINS; i++)
        start[2 * i + 1] = start[2 * i] * start[2 * i] - 1 + 0.5 * start[2 * i + 1];
    wm_sample_opts_init(&o);
    o.warmup = 0;
    o.draws = 1;
    o.max_depth = 4;
    o.moves.step_size = 0.35;
    s = sampled(&path, CHAINS, start, &o);
    d = wm_sampler_draws(s);
    for (int i = 0; i < CHAINS; i++) {
        const double a = d->x[2 * i], b = d->x[2 * i + 1], r = b - (a * a - 1);

        m1 += a / CHAINS;
        v1 += a * a / CHAINS;
        m2 += b / CHAINS;
        v2 += b * b / CHAINS;
        m3 += r * r / CHAINS;
        below += (a < -1.2815515655446004) / (double)CHAINS;
        moved += (a - start[2 * i]) * (a - start[2 * i]) / CHAINS;
        accept += d->accept[i] / CHAINS;
    }
    assert_near(m1, 0, 5 * 1 / root);
    assert_near(v1, 1, 5 * sqrt(2) / root);
    assert_near(m2, 0, 5 * sqrt(2.25) / root);
    /* x1 = u + e/2, u = a^2 - 1: E x1^4 = E u^4 + 6 E u^2 / 4 + 3/16 = 60 + 3 + 3/16 */
    assert_near(v2, 2.25, 5 * sqrt(63.1875 - 2.25 * 2.25) / root);
    assert_near(m3, 0.25, 5 * 0.25 * sqrt(2) / root);
    assert_near(below, 0.1, 5 * 0.3 / root);
    assert_true(moved > 0.2);                  /* the kernel does something ... */
    assert_true(accept > 0.4 && accept < 0.9); /* ... and its corrections matter */
    wm_sampler_free(s);
}

static double sd100[100];

static double scaled(double x, int64_t k)
{
    return x / sd100[k];
}

static double scaled_square(double x, int64_t k)
{
    return x * x / (sd100[k] * sd100[k]);
}

static double below_5(double x, int64_t k)
{
    return x < -1.6448536269514722 * sd100[k];
}

static double below_90(double x, int64_t k)
{
    return x < 1.2815515655446004 * sd100[k];
}

/* Standard deviations from 0.01 to 10: a condition number of 1e6. */
static void ill_conditioned_normal(void **state)
{
    static double start[400];
    normals g = {100, sd100};
    const wm_path path = normals_path(&g);
    const wmi_rng rng = wmi_rng_make(1, "start");
    wm_sample_opts o;
    wm_sampler *s;

    (void)state;
    for (int k = 0; k < 100; k++)
        sd100[k] = 0.01 * pow(1000, k / 99.0);
    wmi_rng_normal_f64(&rng, 0, 400, start);
    wm_sample_opts_init(&o);
    s = sampled(&path, 4, start, &o);
    check_mean(wm_sampler_draws(s), 0, 100, scaled, 0);
    check_mean(wm_sampler_draws(s), 0, 100, scaled_square, 1);
    check_mean(wm_sampler_draws(s), 0, 100, below_5, 0.05);
    check_mean(wm_sampler_draws(s), 0, 100, below_90, 0.9);
    wm_sampler_free(s);
}

static double below_median(double x, int64_t k)
{
    (void)k;
    return x < 0;
}

static double below_normal_10(double x, int64_t k)
{
    (void)k;
    return x < -1.2815515655446004;
}

/* The neck wants small steps: a target acceptance of 0.95. */
static void funnel(void **state)
{
    int64_t dim = 4;
    const wm_path path = {.dim = dim, .eval = funnel_eval, .ctx = &dim};
    const double start[16] = {0};
    wm_sample_opts o;
    wm_sampler *s;

    (void)state;
    wm_sample_opts_init(&o);
    o.moves.target_accept = 0.95;
    o.draws = 4000;
    s = sampled(&path, 4, start, &o);
    check_mean(wm_sampler_draws(s), 0, 4, self, 0);
    check_mean(wm_sampler_draws(s), 0, 1, square, 1);
    check_mean(wm_sampler_draws(s), 1, 4, square, exp(0.5)); /* E exp(v) */
    check_mean(wm_sampler_draws(s), 0, 4, below_median, 0.5);
    check_mean(wm_sampler_draws(s), 0, 1, below_normal_10, 0.1);
    wm_sampler_free(s);
}

static void banana(void **state)
{
    const wm_path path = {.dim = 2, .eval = banana_eval};
    const double start[8] = {0, 0, 1, 1, -1, 1, 0.5, -1};
    wm_sample_opts o;
    wm_sampler *s;

    (void)state;
    wm_sample_opts_init(&o);
    o.draws = 4000;
    s = sampled(&path, 4, start, &o);
    check_mean(wm_sampler_draws(s), 0, 2, self, 0);
    check_mean(wm_sampler_draws(s), 0, 1, square, 1);
    check_mean(wm_sampler_draws(s), 1, 2, square, 2.25);
    check_mean(wm_sampler_draws(s), 0, 1, below_median, 0.5);
    check_mean(wm_sampler_draws(s), 0, 1, below_normal_10, 0.1);
    wm_sampler_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trees_are_those_of_the_recursion),
        cmocka_unit_test(leaves_are_drawn_by_their_weights),
        cmocka_unit_test(one_transition_leaves_exact_draws_exact),
        cmocka_unit_test(ill_conditioned_normal),
        cmocka_unit_test(funnel),
        cmocka_unit_test(banana),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
