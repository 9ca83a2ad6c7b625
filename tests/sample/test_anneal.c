/* test_anneal.c - AIS and RAISE on paths whose constants are known; what they count, keep and
 * survive.
 */
#include <signal.h>
#include <string.h>

#include "asserts.h"
#include "densities.h"

#include "base/alloc.h"
#include "base/rng.h"
#include "sample/anneal_impl.h"

enum { DIM = 5, BRIDGES = 3, CHAINS = 200 };

/* From N(0, I) in three bridges to N(1.5, 0.4^2 I), with constants that sum to log Z = 1.5. */
static const double means[] = {1.5, 1, 0.6}, sds[] = {0.4, 0.6, 0.8}, shifts[] = {2.5, -1.75, 0.75};
#define LOG_Z 1.5

static ladder make_ladder(void)
{
    return (ladder){.dim = DIM, .bridges = BRIDGES, .mean = means, .sd = sds, .shift = shifts};
}

static void base_draws(double *x, int64_t n, uint64_t seed)
{
    const wmi_rng rng = wmi_rng_make(seed, "base");

    wmi_rng_normal_f64(&rng, 0, n, x);
}

/* Exact draws of p_0 with log f. */
static void model_draws(const ladder *l, double *x, double *log_f, int64_t n, uint64_t seed)
{
    base_draws(x, n * l->dim, seed);
    for (int64_t i = 0; i < n * l->dim; i++)
        x[i] = l->mean[0] + l->sd[0] * x[i];
    for (int64_t i = 0; i < n; i++)
        log_f[i] = ladder_log_p(l, 0, &x[i * l->dim], NULL, 0) + LOG_Z;
}

static wm_anneal *annealed(const wm_path *path, int64_t chains, const double *start,
                           const double *log_f, const wm_anneal_opts *opts)
{
    wm_anneal *a = NULL;
    wm_error err = {0};

    assert_ok(wm_anneal_new(&a, path, chains, start, log_f, opts, &err), err);
    assert_ok(wm_anneal_run(a, &err), err);
    return a;
}

typedef struct both {
    wm_ais ais, reverse;
    wm_bracket bracket;
    double truth; /* mean log-likelihood of the points */
} both;

static both run_both(wm_kernel kernel, int64_t steps, const double *shares, uint64_t seed)
{
    static double up[CHAINS * DIM], down[CHAINS * DIM], log_f[CHAINS], less[CHAINS];
    ladder l = make_ladder();
    const wm_path path = ladder_path(&l);
    wm_anneal_opts o;
    wm_anneal *a, *r;
    wm_raise raise;
    wm_error err = {0};
    both out = {0};

    base_draws(up, CHAINS * DIM, seed);
    model_draws(&l, down, log_f, CHAINS, seed + 1);
    wm_anneal_opts_init(&o);
    o.moves.kernel = kernel;
    o.steps = steps;
    o.shares = shares;
    o.seed = seed;
    a = annealed(&path, CHAINS, up, NULL, &o);
    assert_ok(wm_ais_make(&out.ais, wm_anneal_result(a)->log_w, CHAINS, &err), err);
    o.way = WM_ANNEAL_RAISE;
    o.table = wm_anneal_result(a)->table;
    r = annealed(&path, CHAINS, down, log_f, &o);
    assert_ok(wm_raise_make(&raise, wm_anneal_result(r)->log_w, log_f, CHAINS, log_f, CHAINS, &err),
              err);
    out.bracket = wm_bracket_make(&out.ais, &raise, log_f, CHAINS, 0);
    for (int c = 0; c < CHAINS; c++) {
        less[c] = wm_anneal_result(r)->log_w[c] - log_f[c];
        out.truth += (log_f[c] - LOG_Z) / CHAINS;
    }
    assert_ok(wm_ais_make(&out.reverse, less, CHAINS, &err), err);
    wm_anneal_free(a);
    wm_anneal_free(r);
    return out;
}

/* E w = Z for AIS; and since RAISE starts from exact draws of the model here, E (w / f) = 1 / Z for
 * it. Both hold for any number of steps, whatever the kernel: a stale density, a wrong term or a
 * term at the wrong time breaks them. The log of a mean of C weights is low by about Var / 2C =
 * se^2 / 2. The bounds on the likelihood then hold up to their errors. */
static void weights_are_unbiased_and_bracket_the_truth(void **state)
{
    static const double uneven[BRIDGES] = {3, 0.5, 1};
    static const struct {
        wm_kernel kernel;
        int64_t steps;
        const double *shares;
    } cases[] = {{WM_KERNEL_NUTS, 60, NULL},
                 {WM_KERNEL_NUTS, 240, NULL},
                 {WM_KERNEL_HMC, 60, NULL},
                 {WM_KERNEL_MALA, 240, NULL},
                 {WM_KERNEL_NUTS, 100, uneven}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const both b = run_both(cases[i].kernel, cases[i].steps, cases[i].shares, 10 + i);

        assert_true(b.ais.ess > 10 && b.reverse.ess > 10);
        assert_near(b.ais.log_z, LOG_Z, 5 * b.ais.se + 0.5 * b.ais.se * b.ais.se);
        assert_near(b.reverse.log_z, -LOG_Z, 5 * b.reverse.se + 0.5 * b.reverse.se * b.reverse.se);
        assert_true(b.bracket.lo < b.truth + 5 * b.bracket.gap_se);
        assert_true(b.bracket.hi > b.truth - 5 * b.ais.se);
        assert_true(b.ais.se < 0.2 && b.bracket.gap_se < 0.2);
    }
}

/* One change, from N(0, I) to N(0.4, 0.8^2 I) at once, and one transition: the states, weighted,
 * have the target's moments. A transition that began with the energy or gradient of the old weights
 * would move them: the authors' code did. Error of a weighted mean: sd / sqrt(ess). */
static void one_change_and_one_transition_keep_the_target(void **state)
{
    enum { MANY = 40000 };
    static double start[2 * MANY];
    static const double mean[] = {0.4}, sd[] = {0.8}, shift[] = {0};
    const double table[2] = {1, 1};
    ladder l = {.dim = 2, .bridges = 1, .mean = mean, .sd = sd, .shift = shift};
    const wm_path path = ladder_path(&l);

    (void)state;
    base_draws(start, 2 * MANY, 5);
    for (wm_kernel kernel = WM_KERNEL_NUTS; kernel <= WM_KERNEL_MALA; kernel++) {
        double sum = 0, m1 = 0, m2 = 0;
        const wm_annealed *r;
        wm_anneal_opts o;
        wm_anneal *a;
        wm_ais ais;
        wm_error err = {0};

        wm_anneal_opts_init(&o);
        o.moves.kernel = kernel;
        o.moves.hmc_steps = 2;
        o.steps = 1;
        o.table = table;
        a = annealed(&path, MANY, start, NULL, &o);
        r = wm_anneal_result(a);
        assert_ok(wm_ais_make(&ais, r->log_w, MANY, &err), err);
        for (int i = 0; i < MANY; i++) {
            const double w = exp(r->log_w[i]);

            sum += w;
            m1 += w * r->x[2 * i];
            m2 += w * (r->x[2 * i + 1] - 0.4) * (r->x[2 * i + 1] - 0.4);
        }
        assert_true(ais.ess > 0.5 * MANY && r->accept[0] < 0.95);
        assert_near(ais.log_z, 0, 5 * ais.se);
        assert_near(m1 / sum, 0.4, 5 * 0.8 / sqrt(ais.ess));
        assert_near(m2 / sum, 0.64, 5 * 0.64 * sqrt(2 / ais.ess));
        wm_anneal_free(a);
    }
}

/* Few steps leave a gap that is seen, many close it. */
static void the_gap_shrinks_with_steps(void **state)
{
    const both few = run_both(WM_KERNEL_NUTS, 6, NULL, 20),
               some = run_both(WM_KERNEL_NUTS, 30, NULL, 20);
    const both many = run_both(WM_KERNEL_NUTS, 300, NULL, 20);

    (void)state;
    assert_true(few.bracket.gap > 5 * few.bracket.gap_se);
    assert_false(few.bracket.closed);
    assert_true(some.bracket.gap < 0.5 * few.bracket.gap);
    assert_true(many.bracket.gap < 0.5 * some.bracket.gap);
    assert_true(many.bracket.gap < 0.1 && many.bracket.gap > -5 * many.bracket.gap_se);
    assert_true(many.ais.ess > some.ais.ess && some.ais.ess > few.ais.ess);
}

/* Two modes of unequal weight from one base, in one bridge: log Z = -3. */
static double mixture_log_r(const double *x, double *grad, double weight)
{
    double a = -0.5 * (x[0] - 2) * (x[0] - 2) / 0.25 - 0.5 * x[1] * x[1] / 0.25 + log(0.7 / 0.25);
    double b = -0.5 * (x[0] + 2) * (x[0] + 2) / 0.25 - 0.5 * x[1] * x[1] / 0.25 + log(0.3 / 0.25);
    const double top = fmax(a, b), sum = top + log(exp(a - top) + exp(b - top));

    a = exp(a - sum);
    b = exp(b - sum);
    grad[0] += weight * (-4 * (a * (x[0] - 2) + b * (x[0] + 2)) + x[0]);
    grad[1] += weight * (-4 * x[1] + x[1]);
    return sum + 0.5 * (x[0] * x[0] + x[1] * x[1]) - 3;
}

static wm_status mixture_eval(void *ctx, int64_t n, const double *x, const double *weights,
                              double *log_f, double *grad, double *terms, wm_error *err)
{
    (void)ctx;
    (void)err;
    for (int64_t i = 0; i < n; i++) {
        const double *row = &x[2 * i];

        grad[2 * i] = -row[0];
        grad[2 * i + 1] = -row[1];
        log_f[i] = -0.5 * (row[0] * row[0] + row[1] * row[1]) - LOG_2PI;
        terms[i] = mixture_log_r(row, &grad[2 * i], weights[i]);
        log_f[i] += weights[i] * terms[i];
    }
    return WM_OK;
}

static void a_mixture_keeps_its_constant_and_its_shares(void **state)
{
    static double start[2 * 400];
    const wm_path path = {.dim = 2, .bridges = 1, .eval = mixture_eval};
    wm_anneal_opts o;
    wm_anneal *a;
    wm_ais ais;
    wm_error err = {0};
    double right = 0, sum = 0, squares = 0;

    (void)state;
    base_draws(start, 800, 3);
    wm_anneal_opts_init(&o);
    o.steps = 100;
    a = annealed(&path, 400, start, NULL, &o);
    assert_ok(wm_ais_make(&ais, wm_anneal_result(a)->log_w, 400, &err), err);
    assert_true(ais.ess > 40);
    assert_near(ais.log_z, -3, 5 * ais.se + 0.5 * ais.se * ais.se);
    for (int c = 0; c < 400; c++) { /* weighted share of the right mode: 0.7 */
        const double w = exp(wm_anneal_result(a)->log_w[c] - ais.log_z);

        sum += w;
        squares += w * w;
        right += w * (wm_anneal_result(a)->x[2 * c] > 0);
    }
    assert_near(right / sum, 0.7, 5 * 0.5 * sqrt(squares) / sum);
    wm_anneal_free(a);
}

/* Steps of 1e-12 leave the chains where they are. Then AIS gathers exactly log f / base of its
 * start, and RAISE ends at log base, whatever the steps. Terms of weight 0 are NaN in ladder_eval.
 */
static void weights_telescope(void **state)
{
    static const int64_t steps[] = {3, 6, 9, 31, 100, 31, 4};
    static const double uneven[BRIDGES] = {5, 0, 1};
    double start[4 * DIM], log_f[4], table[BRIDGES + 1];
    ladder l = make_ladder();
    const wm_path path = ladder_path(&l);

    (void)state;
    model_draws(&l, start, log_f, 4, 8);
    for (int k = 0; k <= BRIDGES; k++)
        table[k] = 1e-12;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        wm_anneal_opts o;
        wm_anneal *up, *down;

        wm_anneal_opts_init(&o);
        o.moves.kernel = WM_KERNEL_MALA;
        o.table = table;
        o.steps = steps[i];
        o.shares = i > 4 ? uneven : NULL;
        up = annealed(&path, 4, start, NULL, &o);
        o.way = WM_ANNEAL_RAISE;
        down = annealed(&path, 4, start, log_f, &o);
        assert_int_equal(wm_anneal_result(up)->steps, i > 4 ? steps[i] : steps[i] / 3 * 3);
        for (int c = 0; c < 4; c++) {
            const double base = ladder_log_p(&l, BRIDGES, &start[c * DIM], NULL, 0);

            assert_near(wm_anneal_result(up)->log_w[c], log_f[c] - base, 1e-8);
            assert_near(wm_anneal_result(down)->log_w[c], base, 1e-8);
        }
        wm_anneal_free(up);
        wm_anneal_free(down);
    }
}

static void steps_are_shared_out(void **state)
{
    static const double shares[] = {5, 0, 1, 2}, none[] = {0, 0, 0, 0};
    int64_t count[4];

    (void)state;
    for (int64_t steps = 4; steps < 300; steps++) {
        int64_t sum = 0;

        assert_int_equal(wmi_anneal_counts(4, steps, shares, count), steps);
        for (int k = 0; k < 4; k++) {
            assert_true(fabs((double)count[k] - 1 - (double)(steps - 4) * shares[k] / 8) <= 1);
            sum += count[k];
        }
        assert_int_equal(sum, steps);
        assert_int_equal(count[1], 1);
        for (int64_t t = 0; t < steps; t++) { /* down is up, backwards, one weight behind */
            const wmi_change up = wmi_anneal_change(WM_ANNEAL_AIS, 4, count, steps - 1 - t),
                             down = wmi_anneal_change(WM_ANNEAL_RAISE, 4, count, t);

            assert_int_equal(up.k, down.k);
            assert_near(up.to - down.to, 1 / (double)count[up.k], 1e-12);
        }
    }
    assert_int_equal(wmi_anneal_counts(4, 11, NULL, count), 8);
    assert_int_equal(wmi_anneal_counts(4, 11, none, count), 8);
    assert_int_equal(count[3], 2);
}

/* One evaluation for a change of weight, one for a leapfrog, no other. RAISE does not move at the
 * base; where a bridge goes in one step it must ask once for the first term. */
static void no_evaluation_is_wasted(void **state)
{
    static double start[40 * DIM], log_f[40];
    ladder l = make_ladder();
    const wm_path path = ladder_path(&l);

    (void)state;
    model_draws(&l, start, log_f, 40, 9);
    for (int64_t steps = 3; steps <= 30; steps += 27) {
        const double table[BRIDGES + 1] = {0.3, 0.4, 0.5, 0.6};
        wm_anneal_opts o;

        wm_anneal_opts_init(&o);
        o.steps = steps;
        o.table = table;
        for (o.way = WM_ANNEAL_AIS; o.way <= WM_ANNEAL_RAISE; o.way++) {
            const bool down = o.way == WM_ANNEAL_RAISE;
            const wm_annealed *r;
            double leapfrogs = 0;
            wm_anneal *a;

            l.points = 0;
            a = annealed(&path, 40, start, down ? log_f : NULL, &o);
            r = wm_anneal_result(a);
            for (int k = 0; k < BRIDGES; k++) {
                const int64_t moves = steps / 3 - (down && k == BRIDGES - 1);

                if (moves > 0)
                    leapfrogs += r->leapfrogs[k] * (double)moves * 40;
                else
                    assert_true(isnan(r->accept[k]));
                assert_true(moves == 0 || (r->accept[k] > 0.3 && r->accept[k] <= 1));
            }
            assert_near((double)l.points,
                        leapfrogs + (double)(40 * (steps - down)) + (down && steps == 3 ? 40 : 0),
                        1e-6);
            assert_int_equal(r->evals, l.points);
            wm_anneal_free(a);
        }
    }
}

static void assert_same_result(const wm_annealed *a, const wm_annealed *b, int64_t chains)
{
    assert_memory_equal(a->x, b->x, (size_t)(chains * a->dim) * sizeof *a->x);
    assert_memory_equal(a->log_w, b->log_w, (size_t)chains * sizeof *a->log_w);
    assert_memory_equal(a->table, b->table, (size_t)(a->bridges + 1) * sizeof *a->table);
    assert_memory_equal(a->done, b->done, (size_t)chains * sizeof *a->done);
    if (a->chains == b->chains) {
        assert_memory_equal(a->accept, b->accept, (size_t)a->bridges * sizeof *a->accept);
        assert_memory_equal(a->leapfrogs, b->leapfrogs, (size_t)a->bridges * sizeof *a->leapfrogs);
    }
}

typedef struct stopping {
    ladder l;
    int64_t stop_at;
    volatile sig_atomic_t stop;
} stopping;

static wm_status stopping_eval(void *ctx, int64_t n, const double *x, const double *weights,
                               double *log_f, double *grad, double *terms, wm_error *err)
{
    stopping *s = ctx;

    if (s->l.calls + 1 == s->stop_at)
        s->stop = 1;
    return ladder_eval(&s->l, n, x, weights, log_f, grad, terms, err);
}

/* Stopped in the pilot or anywhere on the way, with one change a bridge or many. */
static void a_run_that_was_interrupted_gives_the_same_bits(void **state)
{
    static double start[10 * DIM], log_f[10];
    stopping s = {.l = make_ladder()};
    const wm_path path = {.dim = DIM, .bridges = BRIDGES, .eval = stopping_eval, .ctx = &s};
    wm_error err = {0};

    (void)state;
    model_draws(&s.l, start, log_f, 10, 9);
    for (int k = 0; k < 4; k++) {
        wm_anneal_opts o;
        wm_anneal *whole, *a = NULL, *b = NULL;
        const double *f = k % 2 ? log_f : NULL;
        int64_t all;

        wm_anneal_opts_init(&o);
        o.way = k % 2 ? WM_ANNEAL_RAISE : WM_ANNEAL_AIS;
        o.steps = k < 2 ? 3 : 30;
        o.pilot_start = start;
        o.pilot_steps = 4;
        s = (stopping){.l = make_ladder()};
        whole = annealed(&path, 10, start, f, &o);
        all = s.l.calls;
        for (int64_t at = 1; at < all; at += 1 + all / 19) {
            int64_t size, refused = 0;
            double *tape;

            s = (stopping){.l = make_ladder(), .stop_at = at};
            o.stop = &s.stop;
            assert_ok(wm_anneal_new(&a, &path, 10, start, f, &o, &err), err);
            assert_ok(wm_anneal_new(&b, &path, 10, start, f, &o, &err), err);
            assert_int_equal(wm_anneal_run(a, &err), WM_EINTERRUPTED);
            size = wm_anneal_state_size(a);
            tape = malloc((size_t)size * sizeof *tape);
            assert_non_null(tape);
            wm_anneal_export(a, tape);
            s.stop = 0;
            s.stop_at = 0;
            assert_ok(wm_anneal_import(b, tape, size, &err), err);
            assert_ok(wm_anneal_run(b, &err), err);
            assert_same_result(wm_anneal_result(b), wm_anneal_result(whole), 10);
            assert_ok(wm_anneal_run(a, &err), err);
            assert_same_result(wm_anneal_result(a), wm_anneal_result(whole), 10);
            tape[1] = 17;
            assert_int_equal(wm_anneal_import(b, tape, size, &err), WM_EINVAL);
            assert_non_null(strstr(err.text, "dim is 17, here 5"));
            tape[1] = 5;
            for (int64_t i = size - 20; i < size;
                 i++) { /* no number can do harm; places that count refuse it */
                const double was = tape[i];

                tape[i] = -1e300;
                refused += wm_anneal_import(b, tape, size, &err) != WM_OK;
                tape[i] = was;
            }
            assert_true(refused > 0);
            assert_ok(wm_anneal_import(b, tape, size, &err), err);
            tape[16 + 1 + 4 + 1 + 10] =
                -1e300; /* the first sum: after header, table, evaluations and weights */
            assert_int_equal(wm_anneal_import(b, tape, size, &err), WM_EINVAL);
            assert_non_null(strstr(err.text, "transitions add up to -1e+300"));
            free(tape);
            wm_anneal_free(a);
            wm_anneal_free(b);
        }
        wm_anneal_free(whole);
    }
}

static void a_chain_depends_on_the_table_but_not_on_the_others(void **state)
{
    static double start[20 * DIM];
    ladder l = make_ladder();
    const wm_path path = ladder_path(&l);
    wm_anneal_opts o;
    wm_anneal *many, *few;

    (void)state;
    base_draws(start, 20 * DIM, 4);
    wm_anneal_opts_init(&o);
    o.steps = 30;
    many = annealed(&path, 20, start, NULL, &o);
    o.table = wm_anneal_result(many)->table; /* the pilot's, given instead */
    few = annealed(&path, 6, start, NULL, &o);
    assert_same_result(wm_anneal_result(few), wm_anneal_result(many), 6);
    wm_anneal_free(many);
    wm_anneal_free(few);
}

/* No density at x[0] > 1.2: the base has it there, so chains that start beyond are lost, the others
 * go on, and are counted. */
static void chains_that_fail_are_left_out(void **state)
{
    static double start[50 * DIM];
    const double table[BRIDGES + 1] = {0.3, 0.4, 0.5, 0.6};
    ladder l = make_ladder();
    const wm_path path = ladder_path(&l);
    wm_anneal_opts o;
    wm_anneal *a = NULL;
    wm_ais ais;
    wm_error err = {0};
    int64_t beyond = 0;

    (void)state;
    base_draws(start, 50 * DIM, 4);
    l.fail_above = 1.2;
    for (int c = 0; c < 50; c++)
        beyond += start[c * DIM] > 1.2;
    assert_true(beyond > 0);
    wm_anneal_opts_init(&o);
    o.steps = 30;
    o.table = table;
    a = annealed(&path, 50, start, NULL, &o);
    assert_int_equal(wm_anneal_result(a)->failed, beyond);
    assert_ok(wm_ais_make(&ais, wm_anneal_result(a)->log_w, 50, &err), err);
    assert_int_equal(ais.failed, beyond);
    assert_int_equal(ais.used, 50 - beyond);
    assert_true(isfinite(ais.log_z) && isfinite(ais.se));
    wm_anneal_free(a);
    l.fail_above = -100;
    assert_ok(wm_anneal_new(&a, &path, 50, start, NULL, &o, &err), err);
    assert_int_equal(wm_anneal_run(a, &err), WM_EDIVERGED);
    assert_non_null(strstr(err.text, "all 50 chains"));
    wm_anneal_free(a);
    o.table = NULL;
    assert_ok(wm_anneal_new(&a, &path, 50, start, NULL, &o, &err), err);
    assert_int_equal(wm_anneal_run(a, &err), WM_EDIVERGED);
    assert_non_null(strstr(err.text, "pilot"));
    wm_anneal_free(a);
}

static void failures_say_what_and_where(void **state)
{
    static double start[10 * DIM], log_f[10];
    ladder l = make_ladder();
    wm_path path = ladder_path(&l);
    wm_anneal_opts o;
    wm_anneal *a = NULL;
    wm_error err = {0};

    (void)state;
    model_draws(&l, start, log_f, 10, 4);
    wm_anneal_opts_init(&o);
    for (int64_t at = 5; at < 2000; at *= 6) { /* in the pilot, in the run */
        l.calls = 0;
        l.fail_at = at;
        assert_ok(wm_anneal_new(&a, &path, 10, start, NULL, &o, &err), err);
        assert_int_equal(wm_anneal_run(a, &err), WM_EIO);
        assert_string_equal(err.text, "the density is gone");
        wm_anneal_free(a);
    }
    o.steps = 2;
    assert_int_equal(wm_anneal_new(&a, &path, 10, start, NULL, &o, &err), WM_EINVAL);
    assert_non_null(strstr(err.text, "2 steps of annealing for 3 bridges"));
    assert_null(a);
    wm_anneal_opts_init(&o);
    assert_int_equal(wm_anneal_new(&a, &path, 10, start, log_f, &o, &err), WM_EINVAL);
    o.way = WM_ANNEAL_RAISE;
    assert_int_equal(wm_anneal_new(&a, &path, 10, start, NULL, &o, &err), WM_EINVAL);
    assert_int_equal(wm_anneal_new(&a, &path, 10, start, log_f, &o, &err), WM_EINVAL);
    assert_non_null(strstr(err.text, "RAISE needs step sizes"));
    log_f[3] = (double)NAN;
    o.pilot_start = start;
    assert_int_equal(wm_anneal_new(&a, &path, 10, start, log_f, &o, &err), WM_EINVAL);
    assert_non_null(strstr(err.text, "chain 3 is nan"));
    wm_anneal_opts_init(&o);
    o.table = (const double[4]){0.1, 0, 0.1, 0.1};
    assert_int_equal(wm_anneal_new(&a, &path, 10, start, NULL, &o, &err), WM_EINVAL);
    assert_non_null(strstr(err.text, "step size 1 of the table is 0"));
    path.bridges = 0;
    assert_int_equal(wm_anneal_new(&a, &path, 10, start, NULL, NULL, &err), WM_EINVAL);
}

static void memory_is_taken_before_the_run(void **state)
{
    static double start[10 * DIM];
    const int64_t live = wmi_alloc_live();
    ladder l = make_ladder();
    const wm_path path = ladder_path(&l);
    wm_anneal_opts o;
    wm_anneal *a = NULL;
    wm_error err = {0};
    wm_status st;
    int64_t k = 1, calls;

    (void)state;
    base_draws(start, 10 * DIM, 4);
    wm_anneal_opts_init(&o);
    o.steps = 9;
    do {
        wmi_alloc_fail_at(k++);
        st = wm_anneal_new(&a, &path, 10, start, NULL, &o, &err);
        wmi_alloc_fail_at(0);
        assert_true(st == WM_OK || st == WM_ENOMEM);
        assert_true((st == WM_OK) == (a != NULL));
    } while (st);
    assert_true(k > 40);
    calls = wmi_alloc_count();
    assert_ok(wm_anneal_run(a, &err), err);
    assert_int_equal(wmi_alloc_count(), calls);
    wm_anneal_free(a);
    assert_int_equal(wmi_alloc_live(), live);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_are_unbiased_and_bracket_the_truth),
        cmocka_unit_test(one_change_and_one_transition_keep_the_target),
        cmocka_unit_test(the_gap_shrinks_with_steps),
        cmocka_unit_test(a_mixture_keeps_its_constant_and_its_shares),
        cmocka_unit_test(weights_telescope),
        cmocka_unit_test(steps_are_shared_out),
        cmocka_unit_test(no_evaluation_is_wasted),
        cmocka_unit_test(a_run_that_was_interrupted_gives_the_same_bits),
        cmocka_unit_test(a_chain_depends_on_the_table_but_not_on_the_others),
        cmocka_unit_test(chains_that_fail_are_left_out),
        cmocka_unit_test(failures_say_what_and_where),
        cmocka_unit_test(memory_is_taken_before_the_run),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
