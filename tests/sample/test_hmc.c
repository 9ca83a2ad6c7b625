/* test_hmc.c - HMC and MALA: moments of a normal, invariance, what a rejection leaves. */
#include "densities.h"
#include "draw_checks.h"

#include "base/rng.h"

static const double sds[3] = {0.5, 1, 3};

static double scaled(double x, int64_t k)
{
    return x / sds[k];
}

static double scaled_square(double x, int64_t k)
{
    return x * x / (sds[k] * sds[k]);
}

static double below_10(double x, int64_t k)
{
    return x < -1.2815515655446004 * sds[k];
}

static void check_normal(wm_kernel kernel, int64_t draws)
{
    normals g = {3, sds};
    const wm_path path = normals_path(&g);
    const double start[12] = {0.1, 0.2, 0.3, -1, 1, -1, 0, 0, 0, 1, 1, 1};
    wm_sample_opts o;
    wm_sampler *s;

    wm_sample_opts_init(&o);
    o.moves.kernel = kernel;
    o.draws = draws;
    o.seed = 3;
    s = sampled(&path, 4, start, &o);
    check_mean(wm_sampler_draws(s), 0, 3, scaled, 0);
    check_mean(wm_sampler_draws(s), 0, 3, scaled_square, 1);
    check_mean(wm_sampler_draws(s), 0, 3, below_10, 0.1);
    for (int64_t i = 0; i < 4 * draws; i++) {
        assert_int_equal(wm_sampler_draws(s)->n_leapfrog[i], kernel == WM_KERNEL_MALA ? 1 : 10);
        assert_int_equal(wm_sampler_draws(s)->depth[i], 0);
    }
    wm_sampler_free(s);
}

static void hmc_normal(void **state)
{
    (void)state;
    check_normal(WM_KERNEL_HMC, 2000);
}

static void mala_normal(void **state)
{
    (void)state;
    check_normal(WM_KERNEL_MALA, 20000);
}

/* As in test_nuts.c: exact draws of the banana stay exact under one transition that rejects often.
 */
static void check_invariance(wm_kernel kernel, double step)
{
    enum { CHAINS = 20000 };
    static double start[2 * CHAINS];
    const wm_path path = {.dim = 2, .eval = banana_eval};
    const wmi_rng rng = wmi_rng_make(6, "start");
    const double root = sqrt(CHAINS);
    wm_sample_opts o;
    wm_sampler *s;
    const wm_draws *d;
    double m1 = 0, v1 = 0, m2 = 0, v2 = 0, m3 = 0, accept = 0;
    int64_t stayed = 0;

    wmi_rng_normal_f64(&rng, 0, 2 * (int64_t)CHAINS, start);
    for (int i = 0; i < CHAINS; i++)
        start[2 * i + 1] = start[2 * i] * start[2 * i] - 1 + 0.5 * start[2 * i + 1];
    wm_sample_opts_init(&o);
    o.moves.kernel = kernel;
    o.moves.step_size = step;
    o.moves.hmc_steps = 5;
    o.warmup = 0;
    o.draws = 1;
    s = sampled(&path, CHAINS, start, &o);
    d = wm_sampler_draws(s);
    for (int i = 0; i < CHAINS; i++) {
        const double a = d->x[2 * i], b = d->x[2 * i + 1], e = b - (a * a - 1);
        double lp, grad[2];

        m1 += a / CHAINS;
        v1 += a * a / CHAINS;
        m2 += b / CHAINS;
        v2 += b * b / CHAINS;
        m3 += e * e / CHAINS;
        stayed += a == start[2 * i] && b == start[2 * i + 1];
        accept += d->accept[i] / CHAINS;
        assert_int_equal(banana_eval(NULL, 1, &d->x[2 * i], NULL, &lp, grad, NULL, NULL), WM_OK);
        assert_near(d->lp[i], lp, 1e-12); /* the density of where it is, also after a rejection */
    }
    assert_near(m1, 0, 5 * 1 / root);
    assert_near(v1, 1, 5 * sqrt(2) / root);
    assert_near(m2, 0, 5 * sqrt(2.25) / root);
    assert_near(v2, 2.25, 5 * sqrt(63.1875 - 2.25 * 2.25) / root); /* test_nuts.c derives it */
    assert_near(m3, 0.25, 5 * 0.25 * sqrt(2) / root);
    assert_true(accept > 0.3 && accept < 0.9);
    /* rejected ones stay: binomial with the mean acceptance, at most 1/4 each */
    assert_near((double)stayed / CHAINS, 1 - accept, 5 * 0.5 / root);
    wm_sampler_free(s);
}

static void one_transition_leaves_exact_draws_exact(void **state)
{
    (void)state;
    check_invariance(WM_KERNEL_HMC, 0.35);
    check_invariance(WM_KERNEL_MALA, 0.6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hmc_normal),
        cmocka_unit_test(mala_normal),
        cmocka_unit_test(one_transition_leaves_exact_draws_exact),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
