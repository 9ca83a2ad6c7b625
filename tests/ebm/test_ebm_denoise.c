/* test_ebm_denoise.c - energy-based models by the denoising objective: the same thing as by the
 * others, with likelihoods that are known, AIS, RAISE and files. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "asserts.h"
#include "base/rng.h"
#include "ebm/ebm_impl.h"
#include "scratch.h"
#include "waymark/ebm.h"
#include "waymark/ratio.h"

enum { N = 4000, TEST = 250, DIM = 2, CHAINS = 64 };

/* Half of the rows around (-2, 1), half around (2, 1), standard deviations 0.5. */
static wm_data *mixture(int64_t n, uint64_t seed)
{
    const wmi_rng rng = wmi_rng_make(seed, "mixture"), side = wmi_rng_sub(&rng, 1);
    wm_data *d;
    wm_error err;

    assert_ok(wm_data_new(&d, n, DIM, NULL, &err), err);
    wmi_rng_normal_f64(&rng, 0, n * DIM, wm_data_rows_mut(d));
    for (int64_t i = 0; i < n; i++) {
        double *x = wm_data_rows_mut(d) + i * DIM;

        x[0] = 0.5 * x[0] + (wmi_rng_below(&side, (uint64_t)i, 2) ? 2 : -2);
        x[1] = 1 + 0.5 * x[1];
    }
    return d;
}

static double mixture_log_density(const double *x)
{
    const double a = (x[0] - 2) / 0.5, b = (x[0] + 2) / 0.5, c = (x[1] - 1) / 0.5;

    return log(0.5 * exp(-0.5 * a * a) + 0.5 * exp(-0.5 * b * b)) - 0.5 * c * c -
           log(2 * 3.14159265358979323846 * 0.25);
}

static wm_ebm_opts small_opts(wm_ebm_noise noise)
{
    wm_ebm_opts o;

    wm_ebm_opts_init(&o);
    o.objective = WM_OBJECTIVE_DENOISE;
    o.control.threads = 1; /* on two columns others only wait for each other */
    o.noise = noise;
    o.noise_bins = 16;
    o.bridges = 12;
    o.mlp_width = 32;
    o.mlp_blocks = 1;
    o.train[WM_STAGE_NOISE] = (wm_adam_opts)WM_ADAM(200, 256, 1e-2, 0.98);
    o.train[WM_STAGE_HEADS] = (wm_adam_opts)WM_ADAM(400, 520, 2e-2, 0.98);
    o.train[WM_STAGE_BRIDGES] = (wm_adam_opts)WM_ADAM(600, 520, 1e-2, 0.98);
    return o;
}

/* The Gaussian alone misses 0.65 nats of the truth; bridges from 3600 rows leave some hundredths,
 * of which 1e-3 is the noise of the first waymark (alpha = 0.01); with chains in the last steps or
 * without. 64 chains of 60 steps know log Z
 * to 0.06: 0.3 is five of these. RAISE and AIS meet within 0.1 and their errors. */
static void a_mixture_is_found_over_every_noise(void **state)
{
    static double log_phi[TEST];
    wm_data *data = mixture(N, 1), *test = mixture(TEST, 2);

    (void)state;
    for (int noise = WM_NOISE_GAUSSIAN; noise <= WM_NOISE_COPULA; noise++) {
        wm_ebm_opts o = small_opts((wm_ebm_noise)noise);
        double truth = 0, direct = 0, left = 0;
        wm_ebm_chains *chains;
        wm_bracket bracket;
        wm_ebm_walk walk;
        wm_raise raise;
        wm_ebm *e;
        wm_ais ais;
        wm_error err;

        o.settle = noise == WM_NOISE_COPULA ? 0.3 : 0;
        assert_ok(wm_ebm_fit(&e, data, NULL, &o, &err), err);
        assert_ok(wm_ebm_log_density(e, test, 1, NULL, log_phi, NULL, &err), err);
        for (int i = 0; i < TEST; i++) {
            truth += mixture_log_density(wm_data_rows(test) + i * DIM) / TEST;
            direct += log_phi[i] / TEST;
        }
        wm_ebm_walk_init(&walk);
        walk.control.threads = 1;
        walk.chains = CHAINS;
        walk.steps = 60;
        assert_ok(wm_ebm_ais(&ais, &chains, e, &walk, &err), err);
        assert_true(fabs(ais.log_z) < 0.4);
        assert_near(truth - direct + ais.log_z, 0, 0.3);
        assert_ok(wm_ebm_raise(&raise, NULL, e, test, log_phi, 1, chains->table, &walk, &err), err);
        bracket = wm_bracket_make(&ais, &raise, log_phi, TEST, 0.1);
        assert_true(bracket.closed);
        for (int64_t i = 0; i < CHAINS; i++)
            left += chains->x[i * DIM] < 0;
        assert_near(left / CHAINS, 0.5, 5 * 0.5 / 8); /* five standard errors of a share of 64 */
        wm_ebm_chains_free(chains);
        wm_ebm_free(e);
    }
    wm_data_free(test);
    wm_data_free(data);
}

static void files_keep_the_bits(void **state)
{
    static double a[TEST], b[TEST];
    wm_ebm_opts o = small_opts(WM_NOISE_GAUSSIAN);
    wm_data *data = mixture(N, 1), *test = mixture(TEST, 2);
    const char *path = scratch("levels.safetensors");
    wm_ebm_walk walk;
    wm_ebm *e, *back;
    wm_ais one, two;
    wm_error err;

    (void)state;
    o.train[WM_STAGE_HEADS].iterations = o.train[WM_STAGE_BRIDGES].iterations = 20;
    assert_ok(wm_ebm_fit(&e, data, NULL, &o, &err), err);
    assert_ok(wm_ebm_save(e, path, &err), err);
    assert_ok(wm_ebm_load(&back, path, &err), err);
    assert_ok(wm_ebm_log_density(e, test, 1, NULL, a, NULL, &err), err);
    assert_ok(wm_ebm_log_density(back, test, 1, NULL, b, NULL, &err), err);
    assert_memory_equal(a, b, sizeof a);
    wm_ebm_walk_init(&walk);
    walk.control.threads = 1;
    walk.chains = 4;
    walk.steps = 24;
    assert_ok(wm_ebm_ais(&one, NULL, e, &walk, &err), err);
    assert_ok(wm_ebm_ais(&two, NULL, back, &walk, &err), err);
    assert_true(one.log_z == two.log_z);
    wm_ebm_free(back);
    wm_ebm_free(e);
    wm_data_free(test);
    wm_data_free(data);
}

/* The largest of log phi - log q at rows of test data. */
static double largest_ratio(const wm_ebm *e, const wm_data *test)
{
    static double log_q[TEST], log_phi[TEST];
    double most = -INFINITY;
    wm_error err;

    assert_ok(wm_ebm_log_density(e, test, 1, log_q, log_phi, NULL, &err), err);
    for (int i = 0; i < TEST; i++)
        most = fmax(most, log_phi[i] - log_q[i]);
    return most;
}

/* The cap leaves what training rows have alone, ends what networks add where they go wild, and is
 * kept in the file; files without one are of models without one. */
static void networks_add_no_more_than_at_waymarks(void **state)
{
    static double with[TEST], without[TEST];
    wm_ebm_opts o = small_opts(WM_NOISE_GAUSSIAN);
    wm_data *data = mixture(N, 1), *test = mixture(TEST, 2);
    const char *path = scratch("capped.safetensors");
    int touched = 0;
    wm_ebm *e, *back;
    wm_error err;

    (void)state;
    o.train[WM_STAGE_BRIDGES].iterations = 200;
    assert_ok(wm_ebm_fit(&e, data, NULL, &o, &err), err);
    assert_non_null(e->net.cap);
    assert_ok(wm_ebm_log_density(e, test, 1, NULL, with, NULL, &err), err);
    e->net.cap = NULL;
    assert_ok(wm_ebm_log_density(e, test, 1, NULL, without, NULL, &err), err);
    for (int i = 0; i < TEST; i++) /* up to the rounding of floats */
        touched += fabs(with[i] - without[i]) > 1e-4;
    assert_true(touched <= TEST / 50);

    for (int64_t i = 0; i < wmi_params_entries(e->params); i++) { /* a network alone, and wild */
        const wmi_param_entry *p = wmi_params_entry(e->params, i);
        const bool head = strstr(p->name, "head/") || strstr(p->name, "read/");

        for (int64_t j = p->offset; j < p->offset + p->count; j++)
            e->theta[j] *= strncmp(p->name, "mlp/", 4) != 0 ? 0 : head ? 1000 : 1;
    }
    assert_true(largest_ratio(e, test) > 10 * (double)e->cap[0]);
    assert_ok(wm_ebm_save(e, path, &err), err);
    assert_ok(wm_ebm_load(&back, path, &err), err);
    assert_null(back->net.cap);
    wm_ebm_free(back);
    e->net.cap = e->cap;
    assert_near(largest_ratio(e, test), (double)e->cap[0], 1e-3);
    assert_ok(wm_ebm_save(e, path, &err), err);
    assert_ok(wm_ebm_load(&back, path, &err), err);
    assert_true(largest_ratio(back, test) == largest_ratio(e, test));
    wm_ebm_free(back);
    wm_ebm_free(e);
    wm_data_free(test);
    wm_data_free(data);
}

/* A fit that says much of its direct likelihood is believed only after chains have been there, and
 * not if one of its levels is worse than chance. */
static void what_nobody_has_looked_at_is_doubted(void **state)
{
    const wm_ais fine = {.log_z = 0.1, .se = 0.1, .ess = 20, .used = 20};
    wm_ebm_opts o = small_opts(WM_NOISE_GAUSSIAN);
    wm_data *data = mixture(500, 1);
    wm_checks list = {0};
    wm_ebm *e;
    wm_error err;

    (void)state;
    o.train[WM_STAGE_HEADS].iterations = o.train[WM_STAGE_BRIDGES].iterations = 5;
    assert_ok(wm_ebm_fit(&e, data, NULL, &o, &err), err);
    for (int64_t k = 0; k < e->info.bridges; k++)
        e->bridges[k].loss = 1.3;
    wm_ebm_check(e, NULL, &list);
    assert_int_equal(wm_checks_find(&list, "normaliser")->outcome, WM_CHECK_NOT_KNOWN);
    assert_int_equal(wm_checks_find(&list, "neighbours")->outcome, WM_CHECK_OK);
    assert_int_equal(wm_checks_verdict(&list), WM_DOUBT);
    list = (wm_checks){0};
    wm_ebm_check(e, &fine, &list);
    assert_int_equal(wm_checks_verdict(&list), WM_TRUST);
    e->info.n_valid = 12;
    list = (wm_checks){0};
    wm_ebm_check(e, &fine, &list);
    assert_int_equal(wm_checks_find(&list, "samples")->outcome, WM_CHECK_DOUBT);
    assert_int_equal(wm_checks_verdict(&list), WM_DOUBT);
    e->info.n_valid = 50;
    e->bridges[1].loss = 4.2;
    list = (wm_checks){0};
    wm_ebm_check(e, &fine, &list);
    assert_int_equal(wm_checks_find(&list, "neighbours")->outcome, WM_CHECK_DOUBT);
    assert_true(wm_checks_find(&list, "neighbours")->value == 4.2);
    assert_int_equal(wm_checks_verdict(&list), WM_DOUBT);
    wm_ebm_free(e);
    wm_data_free(data);
}

static void what_has_no_levels_is_named(void **state)
{
    wm_ebm_opts o = small_opts(WM_NOISE_COPULA);
    wm_data *data = mixture(200, 1);
    wm_ratio_opts ratio;
    wm_ratio *r;
    wm_ebm *e;
    wm_error err;

    (void)state;
    o.x_space = true;
    assert_int_equal(wm_ebm_fit(&e, data, NULL, &o, &err), WM_EINVAL);
    assert_string_equal(err.topic, "x-space");
    wm_ratio_opts_init(&ratio);
    ratio.objective = WM_OBJECTIVE_DENOISE;
    assert_int_equal(wm_ratio_fit(&r, data, data, &ratio, &err), WM_EINVAL);
    assert_string_equal(err.topic, "objective");
    wm_data_free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mixture_is_found_over_every_noise),
        cmocka_unit_test(files_keep_the_bits),
        cmocka_unit_test(networks_add_no_more_than_at_waymarks),
        cmocka_unit_test(what_nobody_has_looked_at_is_doubted),
        cmocka_unit_test(what_has_no_levels_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
