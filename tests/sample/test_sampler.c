/* test_sampler.c - what a run promises beside its distribution: the same bits after an
 * interruption, beside any number of chains and with any number of threads; thinning; failures with
 * words. */
#include <omp.h>
#include <signal.h>
#include <string.h>

#include "densities.h"
#include "draw_checks.h"

#include "base/alloc.h"
#include "base/rng.h"

/* Normals of sd 0.5, 1, 2, ..., with calls counted and a flag or a failure raised at one of them.
 */
typedef struct counted {
    int64_t dim, calls, stop_at, fail_at;
    volatile sig_atomic_t stop;
    double nan_below; /* no density where x[0] is below; 0: everywhere */
    bool flat;
    double weight_sum;
} counted;

static wm_status counted_eval(void *ctx, int64_t n, const double *x, const double *weights,
                              double *log_f, double *grad, double *terms, wm_error *err)
{
    counted *g = ctx;

    (void)terms;
    if (++g->calls == g->stop_at)
        g->stop = 1;
    if (g->calls == g->fail_at) {
        *err = (wm_error){.code = WM_EIO, .text = "the density is gone"};
        return WM_EIO;
    }
    for (int64_t i = 0; i < n; i++) {
        const double *row = &x[i * g->dim];

        log_f[i] = 0;
        for (int64_t k = 0; k < g->dim; k++) {
            const double u = g->flat ? 0 : row[k] / ldexp(0.5, (int)(k % 4));

            log_f[i] -= 0.5 * u * u;
            grad[i * g->dim + k] = -u / ldexp(0.5, (int)(k % 4));
        }
        if (g->nan_below != 0 && row[0] < g->nan_below)
            log_f[i] = (double)NAN;
        if (weights)
            g->weight_sum = weights[2 * i] + weights[2 * i + 1];
    }
    return WM_OK;
}

static wm_path counted_path(counted *g)
{
    return (wm_path){.dim = g->dim, .eval = counted_eval, .ctx = g};
}

static wm_sample_opts few(void)
{
    wm_sample_opts o;

    wm_sample_opts_init(&o);
    o.warmup = 60;
    o.draws = 20;
    o.thin = 2;
    o.seed = UINT64_C(0x123456789abcdef0);
    return o;
}

static const double start[12] = {0.1, -0.2, 0.3, 1, 1, -1, 0.5, 2, 0, -1, 0, 0.7};

static void assert_same_draws(const wm_draws *a, const wm_draws *b, int64_t chains)
{
    const size_t n = (size_t)(chains * a->draws);

    assert_memory_equal(a->x, b->x, n * (size_t)a->dim * sizeof *a->x);
    assert_memory_equal(a->lp, b->lp, n * sizeof *a->lp);
    assert_memory_equal(a->accept, b->accept, n * sizeof *a->accept);
    assert_memory_equal(a->step_size, b->step_size, n * sizeof *a->step_size);
    assert_memory_equal(a->energy, b->energy, n * sizeof *a->energy);
    assert_memory_equal(a->depth, b->depth, n * sizeof *a->depth);
    assert_memory_equal(a->n_leapfrog, b->n_leapfrog, n * sizeof *a->n_leapfrog);
    assert_memory_equal(a->divergent, b->divergent, n * sizeof *a->divergent);
}

/* Stopped after any number of calls (before the first density is known, in a search for a step
 * size, in a window, in a thinned draw), exported, imported elsewhere, or simply run on. */
static void a_run_that_was_interrupted_gives_the_same_bits(void **state)
{
    wm_sample_opts o = few();
    counted g = {.dim = 3};
    wm_path path = counted_path(&g);
    wm_sampler *whole, *a = NULL, *b = NULL;
    wm_error err = {0};
    int64_t all;

    (void)state;
    for (wm_kernel kernel = WM_KERNEL_NUTS; kernel <= WM_KERNEL_MALA; kernel++) {
        o.moves.kernel = kernel;
        g = (counted){.dim = 3};
        o.stop = NULL;
        whole = sampled(&path, 4, start, &o);
        all = g.calls;
        for (int64_t at = 1; at < all; at += 1 + all / 23) {
            int64_t size;
            double *tape;

            g = (counted){.dim = 3, .stop_at = at};
            o.stop = &g.stop;
            assert_ok(wm_sampler_new(&a, &path, 4, start, &o, &err), err);
            assert_ok(wm_sampler_new(&b, &path, 4, start, &o, &err), err);
            assert_int_equal(wm_sampler_run(a, &err), WM_EINTERRUPTED);
            size = wm_sampler_state_size(a);
            tape = malloc((size_t)size * sizeof *tape);
            assert_non_null(tape);
            wm_sampler_export(a, tape);
            assert_ok(wm_sampler_import(b, tape, size, &err), err);
            g.stop = 0;
            g.stop_at = 0;
            assert_ok(wm_sampler_run(b, &err), err);
            assert_same_draws(wm_sampler_draws(b), wm_sampler_draws(whole), 4);
            assert_ok(wm_sampler_run(a, &err), err); /* without the tape: it just goes on */
            assert_same_draws(wm_sampler_draws(a), wm_sampler_draws(whole), 4);
            assert_int_equal(wm_sampler_done(a, 3), 20);
            free(tape);
            wm_sampler_free(a);
            wm_sampler_free(b);
        }
        wm_sampler_free(whole);
    }
}

static void a_tape_of_another_run_is_refused(void **state)
{
    wm_sample_opts o = few();
    counted g = {.dim = 3};
    const wm_path path = counted_path(&g);
    wm_sampler *a = NULL, *b = NULL;
    wm_error err = {0};
    int64_t size;
    double *tape;

    (void)state;
    assert_ok(wm_sampler_new(&a, &path, 4, start, &o, &err), err);
    size = wm_sampler_state_size(a);
    tape = malloc((size_t)size * sizeof *tape);
    assert_non_null(tape);
    wm_sampler_export(a, tape);
    o.seed++;
    assert_ok(wm_sampler_new(&b, &path, 4, start, &o, &err), err);
    assert_int_equal(wm_sampler_import(b, tape, size, &err), WM_EINVAL);
    assert_non_null(strstr(err.text, "seed"));
    assert_int_equal(wm_sampler_import(a, tape, size - 1, &err), WM_EINVAL);
    assert_non_null(strstr(err.text, "expected"));
    tape[17] = 1e300; /* chain 0's next transition */
    assert_int_equal(wm_sampler_import(a, tape, size, &err), WM_EINVAL);
    assert_non_null(strstr(err.text, "transition"));
    wm_sampler_free(a);
    wm_sampler_free(b);
    free(tape);
}

static void a_chain_does_not_depend_on_the_others(void **state)
{
    const wm_sample_opts o = few();
    counted g = {.dim = 3};
    const wm_path path = counted_path(&g);
    wm_sampler *one = sampled(&path, 1, start, &o), *four = sampled(&path, 4, start, &o);

    (void)state;
    assert_same_draws(wm_sampler_draws(one), wm_sampler_draws(four), 1);
    assert_true(wm_sampler_draws(four)->x[0] != wm_sampler_draws(four)->x[20 * 3]);
    wm_sampler_free(one);
    wm_sampler_free(four);
}

/* 64 chains of 300 dimensions: enough numbers for parallel rounds. */
static void bits_do_not_depend_on_the_threads(void **state)
{
    enum { CHAINS = 64, DIM = 300 };
    static double many[CHAINS * DIM];
    const int before = omp_get_max_threads();
    const wmi_rng rng = wmi_rng_make(2, "start");
    wm_sample_opts o = few();
    counted g = {.dim = DIM};
    const wm_path path = counted_path(&g);
    wm_sampler *one, *more;

    (void)state;
    o.warmup = 5;
    o.draws = 3;
    wmi_rng_normal_f64(&rng, 0, (int64_t)CHAINS * DIM, many);
    omp_set_num_threads(1);
    one = sampled(&path, CHAINS, many, &o);
    omp_set_num_threads(7);
    more = sampled(&path, CHAINS, many, &o);
    omp_set_num_threads(before);
    assert_same_draws(wm_sampler_draws(one), wm_sampler_draws(more), CHAINS);
    wm_sampler_free(one);
    wm_sampler_free(more);
}

static void thinning_keeps_every_third_and_speaks_for_all(void **state)
{
    wm_sample_opts o = few();
    counted g = {.dim = 3};
    const wm_path path = counted_path(&g);
    wm_sampler *all, *third;
    const wm_draws *a, *t;

    (void)state;
    o.thin = 1;
    o.draws = 60;
    all = sampled(&path, 4, start, &o);
    o.thin = 3;
    o.draws = 20;
    third = sampled(&path, 4, start, &o);
    a = wm_sampler_draws(all);
    t = wm_sampler_draws(third);
    for (int64_t c = 0; c < 4; c++)
        for (int64_t i = 0; i < 20; i++) {
            const int64_t k = c * 20 + i, j = c * 60 + 3 * i;
            const int64_t d01 = a->depth[j] > a->depth[j + 1] ? a->depth[j] : a->depth[j + 1];

            assert_memory_equal(&t->x[3 * k], &a->x[3 * (j + 2)], 3 * sizeof *t->x);
            assert_int_equal(t->n_leapfrog[k],
                             a->n_leapfrog[j] + a->n_leapfrog[j + 1] + a->n_leapfrog[j + 2]);
            assert_int_equal(t->depth[k], d01 > a->depth[j + 2] ? d01 : a->depth[j + 2]);
            assert_near(t->accept[k], (a->accept[j] + a->accept[j + 1] + a->accept[j + 2]) / 3,
                        1e-12);
        }
    wm_sampler_free(all);
    wm_sampler_free(third);
}

/* A draw's statistics belong to it, and the adapted masses are the variances: 0.25, 1, 4. A
 * variance from 500 draws of the last window has an error of about sqrt(2 / 500) = 6%, and they are
 * no worse than half as good as independent ones. */
static void statistics_and_masses_are_right(void **state)
{
    wm_sample_opts o;
    counted g = {.dim = 3};
    const wm_path path = counted_path(&g);
    wm_sampler *s;
    const wm_draws *d;
    int64_t evals = 0;

    (void)state;
    wm_sample_opts_init(&o);
    o.draws = 100;
    s = sampled(&path, 4, start, &o);
    d = wm_sampler_draws(s);
    for (int64_t i = 0; i < 400; i++) {
        double lp, grad[3];

        assert_int_equal(counted_eval(&g, 1, &d->x[3 * i], NULL, &lp, grad, NULL, NULL), WM_OK);
        assert_near(d->lp[i], lp, 1e-12);
        assert_true(d->energy[i] >= -d->lp[i]);
        assert_true(d->accept[i] > 0 && d->accept[i] <= 1);
        assert_true(d->n_leapfrog[i] >= (INT64_C(1) << d->depth[i]) - 1);
        assert_true(d->n_leapfrog[i] < INT64_C(1) << (d->depth[i] + 1));
        assert_true(d->step_size[i] == wm_sampler_step_size(s, i / 100));
        evals += d->n_leapfrog[i];
    }
    assert_true(wm_sampler_evals(s) > evals + 4 * 1000);
    for (int64_t c = 0; c < 4; c++)
        for (int k = 0; k < 3; k++)
            assert_near(wm_sampler_inv_mass(s, c)[k] / ldexp(0.25, 2 * k), 1,
                        5 * sqrt(2) * sqrt(2 / 500.0));
    wm_sampler_free(s);
}

typedef struct heard {
    int64_t calls, last, total, saves;
    wm_sampler *s;
    double tape[4000];
    bool refuse;
} heard;

static void hear(void *ctx, const wm_progress *p)
{
    heard *h = ctx;

    h->calls++;
    h->last = p->done;
    h->total = p->total;
    assert_string_equal(p->unit, "transitions");
}

static wm_status save(void *ctx, wm_error *err)
{
    heard *h = ctx;

    if (h->refuse) {
        *err = (wm_error){.code = WM_EIO, .text = "disk full"};
        return WM_EIO;
    }
    if (++h->saves == 40) /* somewhere in the middle */
        wm_sampler_export(h->s, h->tape);
    return WM_OK;
}

static double tick(void *ctx)
{
    static double now;

    (void)ctx;
    return now += 1;
}

/* Progress reaches its total; a state exported from save() in the midst of a run is good. */
static void reports_and_saves_on_the_way(void **state)
{
    wm_sample_opts o = few();
    counted g = {.dim = 3};
    const wm_path path = counted_path(&g);
    static heard h;
    wm_sink sink;
    wm_sampler *later = NULL;
    wm_error err = {0};

    (void)state;
    wm_sink_init(&sink);
    sink.ctx = &h;
    sink.progress = hear;
    sink.clock = tick;
    o.sink = &sink;
    o.save = (wm_save){.call = save, .ctx = &h, .seconds = 5};
    assert_ok(wm_sampler_new(&h.s, &path, 4, start, &o, &err), err);
    assert_true(wm_sampler_state_size(h.s) <= 4000);
    assert_ok(wm_sampler_run(h.s, &err), err);
    assert_true(h.calls > 10 && h.saves > 40);
    assert_int_equal(h.last, 4 * (60 + 40));
    assert_int_equal(h.total, 4 * (60 + 40));
    o.save.call = NULL;
    assert_ok(wm_sampler_new(&later, &path, 4, start, &o, &err), err);
    assert_ok(wm_sampler_import(later, h.tape, wm_sampler_state_size(later), &err), err);
    assert_ok(wm_sampler_run(later, &err), err);
    assert_same_draws(wm_sampler_draws(later), wm_sampler_draws(h.s), 4);
    wm_sampler_free(later);
    wm_sampler_free(h.s);
    h.refuse = true;
    o.save.call = save;
    assert_ok(wm_sampler_new(&h.s, &path, 4, start, &o, &err), err);
    assert_int_equal(wm_sampler_run(h.s, &err), WM_EIO);
    assert_string_equal(err.text, "disk full");
    wm_sampler_free(h.s);
}

static void a_run_allocates_nothing(void **state)
{
    const wm_sample_opts o = few();
    counted g = {.dim = 3};
    const wm_path path = counted_path(&g);
    wm_sampler *s = NULL;
    wm_error err = {0};
    int64_t calls;

    (void)state;
    assert_ok(wm_sampler_new(&s, &path, 4, start, &o, &err), err);
    calls = wmi_alloc_count();
    assert_ok(wm_sampler_run(s, &err), err);
    assert_int_equal(wmi_alloc_count(), calls);
    wm_sampler_free(s);
}

static void survives_lack_of_memory(void **state)
{
    const wm_sample_opts o = few();
    const int64_t live = wmi_alloc_live();
    counted g = {.dim = 3};
    const wm_path path = counted_path(&g);
    wm_sampler *s = NULL;
    wm_error err = {0};
    wm_status st;
    int64_t k = 1;

    (void)state;
    do {
        wmi_alloc_fail_at(k++);
        st = wm_sampler_new(&s, &path, 4, start, &o, &err);
        wmi_alloc_fail_at(0);
        assert_true(st == WM_OK || st == WM_ENOMEM);
        assert_true((st == WM_OK) == (s != NULL));
    } while (st);
    assert_true(k > 20);
    wm_sampler_free(s);
    assert_int_equal(wmi_alloc_live(), live);
}

static void all_bridges_have_weight_one(void **state)
{
    const wm_sample_opts o = few();
    counted g = {.dim = 3};
    wm_path path = counted_path(&g);

    (void)state;
    path.bridges = 2;
    wm_sampler_free(sampled(&path, 4, start, &o));
    assert_near(g.weight_sum, 2, 0);
}

static void failures_say_what_and_where(void **state)
{
    wm_sample_opts o = few();
    counted g = {.dim = 3, .nan_below = -0.5}; /* chain 3 starts at -1 */
    wm_path path = counted_path(&g);
    double bad[12];
    wm_sampler *s = NULL;
    wm_error err = {0};

    (void)state;
    assert_ok(wm_sampler_new(&s, &path, 4, start, &o, &err), err);
    assert_int_equal(wm_sampler_run(s, &err), WM_EDIVERGED);
    assert_non_null(strstr(err.text, "chain 3: log density nan at its start"));
    wm_sampler_free(s);

    g = (counted){.dim = 3, .fail_at = 7};
    assert_ok(wm_sampler_new(&s, &path, 4, start, &o, &err), err);
    assert_int_equal(wm_sampler_run(s, &err), WM_EIO);
    assert_string_equal(err.text, "the density is gone");
    wm_sampler_free(s);

    g = (counted){.dim = 3, .flat = true};
    assert_ok(wm_sampler_new(&s, &path, 4, start, &o, &err), err);
    assert_int_equal(wm_sampler_run(s, &err), WM_EDIVERGED);
    assert_non_null(strstr(err.text, "chain 0: no step size"));
    wm_sampler_free(s);

    memcpy(bad, start, sizeof bad);
    bad[7] = (double)INFINITY;
    assert_int_equal(wm_sampler_new(&s, &path, 4, bad, &o, &err), WM_EINVAL);
    assert_non_null(strstr(err.text, "chain 2 starts at inf in dimension 1"));
    assert_null(s);
    o.moves.target_accept = 1;
    assert_int_equal(wm_sampler_new(&s, &path, 4, start, &o, &err), WM_EINVAL);
    assert_non_null(strstr(err.text, "target acceptance 1"));
    o = few();
    o.max_depth = 21;
    assert_int_equal(wm_sampler_new(&s, &path, 4, start, &o, &err), WM_EINVAL);
    assert_non_null(strstr(err.text, "depth 21"));
    o = few();
    o.draws = 0;
    assert_int_equal(wm_sampler_new(&s, &path, 4, start, &o, &err), WM_EINVAL);
    bad[0] = -1;
    o = few();
    o.moves.inv_mass = bad;
    assert_int_equal(wm_sampler_new(&s, &path, 4, start, &o, &err), WM_EINVAL);
    assert_non_null(strstr(err.text, "inverse mass of dimension 0 is -1"));
    assert_int_equal(wm_sampler_new(&s, &path, 0, start, NULL, &err), WM_EINVAL);
    path.eval = NULL;
    assert_int_equal(wm_sampler_new(&s, &path, 4, start, NULL, &err), WM_EINVAL);
}

/* A density that ends at a wall: leapfrogs beyond it are divergences, counted, not errors. */
static void a_wall_makes_divergences(void **state)
{
    wm_sample_opts o = few();
    counted g = {.dim = 3, .nan_below = -1.0001};
    const wm_path path = counted_path(&g);
    wm_sampler *s = sampled(&path, 4, start, &o);
    const wm_draws *d = wm_sampler_draws(s);
    int64_t divergent = 0;

    (void)state;
    for (int64_t i = 0; i < 80; i++) {
        divergent += d->divergent[i];
        assert_true(d->x[3 * i] >= -1.0001);
    }
    assert_true(divergent > 0 && divergent < 80);
    wm_sampler_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_that_was_interrupted_gives_the_same_bits),
        cmocka_unit_test(a_tape_of_another_run_is_refused),
        cmocka_unit_test(a_chain_does_not_depend_on_the_others),
        cmocka_unit_test(bits_do_not_depend_on_the_threads),
        cmocka_unit_test(thinning_keeps_every_third_and_speaks_for_all),
        cmocka_unit_test(statistics_and_masses_are_right),
        cmocka_unit_test(reports_and_saves_on_the_way),
        cmocka_unit_test(a_run_allocates_nothing),
        cmocka_unit_test(survives_lack_of_memory),
        cmocka_unit_test(all_bridges_have_weight_one),
        cmocka_unit_test(failures_say_what_and_where),
        cmocka_unit_test(a_wall_makes_divergences),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
