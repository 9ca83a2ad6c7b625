/* test_ebm.c - energy-based models of densities that are known: the likelihood that comes out, its
 * normaliser, draws, files, and runs that were interrupted. */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "asserts.h"
#include "base/rng.h"
#include "scratch.h"
#include "waymark/ebm.h"

enum { N = 4000, TEST = 2000, DIM = 2 };

/* Half of the rows around (-2, 0), half around (2, 0), standard deviations 0.5. */
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
        x[1] = 0.5 * x[1];
    }
    return d;
}

static double mixture_log_density(const double *x)
{
    const double a = (x[0] - 2) / 0.5, b = (x[0] + 2) / 0.5, c = x[1] / 0.5;

    return log(0.5 * exp(-0.5 * a * a) + 0.5 * exp(-0.5 * b * b)) - 0.5 * c * c -
           log(2 * 3.14159265358979323846 * 0.25);
}

static wm_ebm_opts small_opts(void)
{
    wm_ebm_opts o;

    wm_ebm_opts_init(&o);
    o.bridges = 4;
    o.mlp_width = 32;
    o.mlp_blocks = 1;
    o.train[WM_STAGE_HEADS] = (wm_adam_opts)WM_ADAM(400, 500, 2e-2, 0.98);
    o.train[WM_STAGE_BRIDGES] = (wm_adam_opts)WM_ADAM(600, 500, 5e-3, 0.98);
    return o;
}

/* A yes/no that is yes with probability 0.3, a number around 2 or -1 by it, a constant. */
static wm_data *answers(int64_t n, uint64_t seed)
{
    const wmi_rng rng = wmi_rng_make(seed, "answers"), yes = wmi_rng_sub(&rng, 1);
    wm_data *d;
    wm_error err;

    assert_ok(wm_data_new(&d, n, 3, NULL, &err), err);
    wmi_rng_normal_f64(&rng, 0, n * 3, wm_data_rows_mut(d));
    for (int64_t i = 0; i < n; i++) {
        double *x = wm_data_rows_mut(d) + i * 3;

        x[0] = wmi_rng_below(&yes, (uint64_t)i, 10) < 3;
        x[1] += x[0] > 0 ? 2 : -1;
        x[2] = 5;
    }
    return d;
}

static double answers_log_density(const double *x)
{
    const double z = x[1] - (x[0] > 0 ? 2 : -1);

    return log(x[0] > 0 ? 0.3 : 0.7) - 0.5 * z * z - 0.5 * log(2 * 3.14159265358979323846);
}

static wm_ebm *fitted(const wm_ebm_opts *o)
{
    wm_data *data = mixture(N, 1);
    wm_ebm *e;
    wm_error err;

    assert_ok(wm_ebm_fit(&e, data, NULL, o, &err), err);
    wm_data_free(data);
    return e;
}

/* Mean of truth minus estimate over fresh rows: KL(p, phi) - log Z. */
static double shortfall(const wm_ebm *e)
{
    static double log_phi[TEST];
    wm_data *test = mixture(TEST, 2);
    double sum = 0;
    wm_error err;

    assert_ok(wm_ebm_log_density(e, test, 1, NULL, log_phi, NULL, &err), err);
    for (int i = 0; i < TEST; i++)
        sum += (mixture_log_density(wm_data_rows(test) + i * DIM) - log_phi[i]) / TEST;
    wm_data_free(test);
    return sum;
}

/* The Gaussian alone misses log 2 - a little = 0.65 nats; bridges on 3600 rows leave less than a
 * tenth of a nat, and AIS with some chains knows log Z to a few hundredths. */
static void a_mixture_is_found(void **state)
{
    const wm_ebm_opts o = small_opts();
    wm_ebm *e = fitted(&o), *noise;
    wm_ebm_opts none = o;
    wm_ebm_walk walk;
    wm_ebm_chains *chains;
    wm_ais ais;
    wm_error err;
    double left = 0;

    (void)state;
    none.train[WM_STAGE_HEADS].iterations = none.train[WM_STAGE_BRIDGES].iterations = 0;
    noise = fitted(&none);
    assert_true(shortfall(noise) > 0.5);
    wm_ebm_walk_init(&walk);
    walk.chains = 64;
    walk.steps = 120;
    assert_ok(wm_ebm_ais(&ais, &chains, e, &walk, &err), err);
    assert_true(ais.ess > 20);
    assert_true(fabs(ais.log_z) < 0.2);
    assert_near(shortfall(e) + ais.log_z, 0, 0.1); /* KL(p, phi / Z) */
    for (int64_t i = 0; i < chains->chains; i++)
        left += chains->x[i * DIM] < 0;
    assert_near(left / 64, 0.5, 5 * 0.5 / 8); /* five standard errors of a share of 64 */
    for (int64_t i = 0; i < chains->chains; i++)
        assert_true(fabs(fabs(chains->x[i * DIM]) - 2) < 2.5 && fabs(chains->x[i * DIM + 1]) < 2.5);
    wm_ebm_chains_free(chains);
    wm_ebm_free(noise);
    wm_ebm_free(e);
}

/* RAISE and AIS must bracket what direct evaluation says once log Z is known. */
static void raise_and_ais_meet(void **state)
{
    const wm_ebm_opts o = small_opts();
    wm_ebm *e = fitted(&o);
    wm_data *test = mixture(TEST, 2);
    double *log_phi = malloc(sizeof *log_phi * TEST);
    wm_ebm_chains *chains;
    wm_ebm_walk walk;
    wm_bracket bracket;
    wm_raise raise;
    wm_ais ais;
    wm_error err;

    (void)state;
    wm_ebm_walk_init(&walk);
    walk.chains = 64;
    walk.steps = 120;
    assert_ok(wm_ebm_log_density(e, test, 1, NULL, log_phi, NULL, &err), err);
    assert_ok(wm_ebm_ais(&ais, &chains, e, &walk, &err), err);
    assert_ok(wm_ebm_raise(&raise, NULL, e, test, log_phi, 1, chains->table, &walk, &err), err);
    bracket = wm_bracket_make(&ais, &raise, log_phi, TEST, 0.1);
    assert_int_equal(raise.failed, 0);
    assert_true(bracket.closed);
    wm_ebm_chains_free(chains);
    free(log_phi);
    wm_data_free(test);
    wm_ebm_free(e);
}

static void every_noise_carries_bridges(void **state)
{
    (void)state;
    for (int noise = WM_NOISE_GAUSSIAN; noise <= WM_NOISE_FLOW; noise++)
        for (int space = 0; space < 2; space++) {
            wm_ebm_opts o = small_opts();
            wm_ebm *e;
            wm_ebm_info info;

            if (noise == WM_NOISE_GAUSSIAN && space)
                continue; /* the same */
            o.noise = (wm_ebm_noise)noise;
            o.x_space = space == 1;
            o.noise_bins = 8;
            o.noise_steps = 2;
            o.noise_hidden = 16;
            o.train[WM_STAGE_NOISE] = (wm_adam_opts)WM_ADAM(100, 200, 2e-3, 0.9);
            o.train[WM_STAGE_BRIDGES].iterations = 300;
            e = fitted(&o);
            wm_ebm_get_info(e, &info);
            assert_true(isfinite(info.direct) && info.direct > info.noise_loglik - 0.05);
            assert_near(shortfall(e), 0, 0.25);
            wm_ebm_free(e);
        }
}

/* The mixture turned by 45 degrees: both columns have two modes and depend on each other. Splines
 * of the columns cannot say that only two of four corners are taken; those of the principal
 * components can. */
static void filters_see_what_columns_do_not(void **state)
{
    const double turn = sqrt(0.5);
    wm_data *data = mixture(N, 1);
    double direct[2];

    (void)state;
    for (int64_t i = 0; i < N; i++) {
        double *x = wm_data_rows_mut(data) + i * DIM;
        const double a = x[0], b = x[1];

        x[0] = turn * (a - b);
        x[1] = turn * (a + b);
    }
    for (int with = 0; with < 2; with++) {
        wm_ebm_opts o = small_opts();
        wm_ebm_info info;
        wm_ebm_walk walk;
        wm_ais ais;
        wm_ebm *e;
        wm_error err;

        o.model = WM_EBM_ADDITIVE;
        o.filters = with ? WM_CHOICE_YES : WM_CHOICE_NO;
        o.train[WM_STAGE_BRIDGES].lr = 2e-2;
        assert_ok(wm_ebm_fit(&e, data, NULL, &o, &err), err);
        wm_ebm_get_info(e, &info);
        wm_ebm_walk_init(&walk);
        walk.chains = 2000;
        walk.steps = 80;
        assert_ok(wm_ebm_ais(&ais, NULL, e, &walk, &err), err);
        direct[with] = info.direct - ais.log_z;
        wm_ebm_free(e);
    }
    /* The truth is -(log 2 + log(2 pi e / 4)) = -2.14. */
    assert_near(direct[1], -2.14, 0.15);
    assert_true(direct[0] < direct[1] - 0.05);
    wm_data_free(data);
}

static void files_keep_the_bits(void **state)
{
    static double a[TEST], b[TEST], qa[TEST], qb[TEST];
    wm_ebm_opts o = small_opts();
    wm_data *test = mixture(TEST, 2);
    wm_ebm *e, *back;
    wm_ebm_info one, two;
    wm_error err;

    (void)state;
    o.noise = WM_NOISE_COPULA;
    o.noise_bins = 8;
    o.filters = WM_CHOICE_YES;
    o.train[WM_STAGE_NOISE].iterations = 0;
    o.train[WM_STAGE_HEADS].iterations = o.train[WM_STAGE_BRIDGES].iterations = 20;
    e = fitted(&o);
    const char *path = scratch("model.safetensors");

    assert_ok(wm_ebm_save(e, path, &err), err);
    assert_ok(wm_ebm_load(&back, path, &err), err);
    assert_ok(wm_ebm_log_density(e, test, 1, qa, a, NULL, &err), err);
    assert_ok(wm_ebm_log_density(back, test, 1, qb, b, NULL, &err), err);
    assert_memory_equal(a, b, sizeof a);
    assert_memory_equal(qa, qb, sizeof qa);
    wm_ebm_get_info(e, &one);
    wm_ebm_get_info(back, &two);
    assert_int_equal(one.bridges, two.bridges);
    assert_int_equal(one.model, two.model);
    assert_near(one.direct, two.direct, 0);
    wm_ebm_free(back);

    assert_int_equal(truncate(path, 3000), 0);
    assert_int_equal(wm_ebm_load(&back, path, &err), WM_EFORMAT);
    assert_null(back);
    assert_non_null(strstr(err.text, "model.safetensors"));
    wm_ebm_free(e);
    wm_data_free(test);
}

static volatile sig_atomic_t stop;
static int64_t stop_at;

static int stop_soon(void *ctx, const wm_evaluation *p)
{
    (void)ctx;
    if (p->stage == WM_STAGE_BRIDGES && p->step >= stop_at)
        stop = 1;
    return 0;
}

static void a_resumed_fit_ends_in_the_same_bits(void **state)
{
    static double a[TEST], b[TEST];
    wm_ebm_opts o = small_opts();
    wm_data *data = mixture(N, 1), *test = mixture(TEST, 2);
    wm_ebm *whole, *e;
    wm_error err;

    (void)state;
    o.train[WM_STAGE_HEADS].iterations = 50;
    o.train[WM_STAGE_BRIDGES].iterations = 100;
    assert_ok(wm_ebm_fit(&whole, data, NULL, &o, &err), err);
    const char *path = scratch("state.safetensors");

    o.control.checkpoint = path;
    o.control.stop = &stop;
    o.control.on_eval = stop_soon;
    stop_at = 40;
    assert_ok(wm_ebm_fit(&e, data, NULL, &o, &err), err);
    wm_ebm_free(e);
    assert_true(stop);
    stop = 0;
    stop_at = 1000;
    o.control.resume = true;
    assert_ok(wm_ebm_fit(&e, data, NULL, &o, &err), err);
    assert_ok(wm_ebm_log_density(whole, test, 1, NULL, a, NULL, &err), err);
    assert_ok(wm_ebm_log_density(e, test, 1, NULL, b, NULL, &err), err);
    assert_memory_equal(a, b, sizeof a);
    wm_ebm_free(e);
    wm_ebm_free(whole);
    wm_data_free(test);
    wm_data_free(data);
}

static int leave(void *ctx, const wm_evaluation *p)
{
    (*(int64_t *)ctx)++;
    return p->step >= 40;
}

/* What on_eval says ends the fit, with what it has, and no later stage begins. */
static void an_evaluation_may_end_the_fit(void **state)
{
    wm_ebm_opts o = small_opts();
    wm_data *data = mixture(N, 1);
    int64_t calls = 0;
    wm_ebm_info info;
    wm_ebm *e;
    wm_error err;

    (void)state;
    o.control.on_eval = leave;
    o.control.ctx = &calls;
    assert_ok(wm_ebm_fit(&e, data, NULL, &o, &err), err);
    wm_ebm_get_info(e, &info);
    assert_false(info.finished);
    assert_int_equal(calls, 1);
    assert_int_equal(info.steps[WM_STAGE_HEADS], 40);
    assert_int_equal(info.steps[WM_STAGE_BRIDGES], 0);
    wm_ebm_free(e);
    wm_data_free(data);
}

/* An average of 0 is none, not the usual one. */
static void averaging_can_be_switched_off(void **state)
{
    static double a[TEST], b[TEST], c[TEST];
    const double average[] = {0, WM_UNSET, 0.995}; /* the last is the usual one of a table */
    double *const log_phi[] = {a, b, c};
    wm_data *data = mixture(N, 1), *test = mixture(TEST, 2);
    wm_error err;

    (void)state;
    for (int i = 0; i < 3; i++) {
        wm_ebm_opts o = small_opts();
        wm_ebm *e;

        o.train[WM_STAGE_HEADS].iterations = 0;
        o.train[WM_STAGE_BRIDGES] = (wm_adam_opts)WM_ADAM(20, 200, 1e-2, average[i]);
        assert_ok(wm_ebm_fit(&e, data, NULL, &o, &err), err);
        assert_ok(wm_ebm_log_density(e, test, 1, NULL, log_phi[i], NULL, &err), err);
        wm_ebm_free(e);
    }
    assert_memory_equal(b, c, sizeof b);
    assert_memory_not_equal(a, b, sizeof a);
    wm_data_free(test);
    wm_data_free(data);
}

/* Whole numbers 0 .. 3 with known probabilities: the likelihood of a dequantised model is at most
 * their entropy, and near it. */
static void whole_numbers_count_their_jacobian(void **state)
{
    static const double share[] = {0.1, 0.2, 0.3, 0.4};
    const wmi_rng rng = wmi_rng_make(3, "levels");
    wm_ebm_opts o = small_opts();
    double entropy = 0, u;
    wm_data *data;
    wm_ebm_info info;
    wm_ebm *e;
    wm_error err;

    (void)state;
    assert_ok(wm_data_new(&data, N, 1, NULL, &err), err);
    for (int64_t i = 0; i < N; i++) {
        wmi_rng_uniform_f64(&rng, (uint64_t)i, 1, &u);
        wm_data_rows_mut(data)[i] = u < 0.1 ? 0 : u < 0.3 ? 1 : u < 0.6 ? 2 : 3;
    }
    for (int k = 0; k < 4; k++)
        entropy -= share[k] * log(share[k]);
    o.levels = 4;
    assert_ok(wm_ebm_fit(&e, data, NULL, &o, &err), err);
    wm_ebm_get_info(e, &info);
    assert_near(info.direct, -entropy, 0.15); /* steps between levels cost a cubic spline that */
    wm_data_rows_mut(data)[5] = 4;
    wm_ebm_free(e);
    assert_int_equal(wm_ebm_fit(&e, data, NULL, &o, &err), WM_EINVAL);
    assert_non_null(strstr(err.text, "row"));
    wm_data_free(data);
}

static void draws_are_those_of_the_model(void **state)
{
    const wm_ebm_opts o = small_opts();
    wm_ebm *e = fitted(&o);
    wm_diagnosis *diagnosis;
    wm_ebm_walk walk;
    wm_draws *d;
    wm_error err;
    double sum = 0;

    (void)state;
    wm_ebm_walk_init(&walk);
    walk.chains = 32;
    walk.steps = 80;
    walk.draws = 5;
    walk.warmup = 10;
    walk.thin = 1;
    assert_ok(wm_ebm_sample(&d, &diagnosis, e, &walk, &err), err);
    assert_non_null(diagnosis);
    assert_int_equal(d->chains * d->draws, 160);
    for (int i = 0; i < 160; i++)
        sum += d->x[i * DIM + 1] * d->x[i * DIM + 1] / 160;
    assert_near(sum, 0.25, 0.25); /* variance of the second column; 160 draws, some correlated */
    wm_diagnosis_free(diagnosis);
    wm_ebm_draws_free(d);
    wm_ebm_free(e);
}

/* A walk whose time is over keeps its state, and ends in the same bits when it goes on. */
static void a_walk_keeps_its_time(void **state)
{
    wm_ebm_opts o = small_opts();
    wm_ebm_walk walk;
    wm_ais whole, later;
    wm_ebm *e;
    wm_error err;

    (void)state;
    o.train[WM_STAGE_HEADS].iterations = 0;
    o.train[WM_STAGE_BRIDGES].iterations = 3;
    e = fitted(&o);
    wm_ebm_walk_init(&walk);
    walk.chains = 8;
    walk.steps = 12;
    assert_ok(wm_ebm_ais(&whole, NULL, e, &walk, &err), err);
    walk.control.checkpoint = scratch("walk.safetensors");
    walk.control.time_limit = 1e-9;
    assert_int_equal(wm_ebm_ais(&later, NULL, e, &walk, &err), WM_EINTERRUPTED);
    walk.control.time_limit = 0;
    walk.control.resume = true;
    assert_ok(wm_ebm_ais(&later, NULL, e, &walk, &err), err);
    assert_true(later.log_z == whole.log_z);
    wm_ebm_free(e);
}

static void mistakes_are_named(void **state)
{
    wm_ebm_opts o = small_opts();
    wm_data *data = mixture(50, 1);
    wm_ebm *e;
    wm_error err;

    (void)state;
    o.height = o.width = 3;
    o.channels = 1;
    assert_int_equal(wm_ebm_fit(&e, data, NULL, &o, &err), WM_ESHAPE);
    assert_non_null(strstr(err.text, "3 x 3"));
    o = small_opts();
    o.model = WM_EBM_RESNET;
    assert_int_equal(wm_ebm_fit(&e, data, NULL, &o, &err), WM_EINVAL);
    assert_non_null(strstr(err.text, "height and width"));
    assert_string_equal(err.topic, "image");
    o = small_opts();
    for (int i = 0; i < 50; i++)
        wm_data_rows_mut(data)[i * DIM] = 7;
    assert_int_equal(wm_ebm_fit(&e, data, NULL, &o, &err), WM_EINVAL);
    assert_non_null(strstr(err.text, "column 1 is constant"));
    assert_null(e);
    wm_data_free(data);
}

/* The log-likelihood of a table with a discrete column stands below the truth, by what a smooth
 * density loses at the step between no and yes, and closer to it than the noise, which knows shares
 * and correlation alone. Draws are rows of the table. */
static void a_yes_or_no_has_shares(void **state)
{
    static const char columns[] = "{\"columns\":[{\"kind\":\"integer\"},{\"kind\":\"continuous\"},"
                                  "{\"kind\":\"continuous\"}]}";
    wm_data *data = answers(N, 1), *test = answers(TEST, 2);
    wm_ebm_opts o = small_opts();
    wm_schema *schema = NULL;
    wm_draws *draws = NULL;
    double log_q[TEST], log_phi[TEST], gain = 0, loss = 0, square = 0, yes = 0, slack;
    wm_ebm *e = NULL;
    wm_ebm_walk walk;
    wm_ebm_info info;
    wm_ais ais;
    wm_error err;

    (void)state;
    assert_ok(wm_schema_parse(&schema, columns, &err), err);
    o.schema = schema;
    assert_ok(wm_ebm_fit(&e, data, NULL, &o, &err), err);
    wm_ebm_get_info(e, &info);
    assert_true(info.dim == 2 && info.columns == 3 && info.discrete == 1 && info.whole == 0);
    assert_true(wm_ebm_is_constant(e, 2) && wm_ebm_kind(e, 0) == WM_KIND_CATEGORICAL);
    wm_ebm_walk_init(&walk);
    walk.chains = 50;
    walk.steps = 100;
    assert_ok(wm_ebm_ais(&ais, NULL, e, &walk, &err), err);
    assert_ok(wm_ebm_log_density(e, test, 1, log_q, log_phi, NULL, &err), err);
    for (int64_t i = 0; i < TEST; i++) {
        const double d = log_phi[i] - ais.log_z - answers_log_density(wm_data_rows(test) + 3 * i);

        loss += d / TEST;
        square += d * d / TEST;
        gain += (log_phi[i] - ais.log_z - log_q[i]) / TEST;
    }
    slack = 5 * (sqrt(square / TEST) + ais.se); /* five standard errors */
    assert_true(loss < slack && loss > -0.15 - slack);
    assert_true(gain > 0);
    walk.draws = 8;
    assert_ok(wm_ebm_sample(&draws, NULL, e, &walk, &err), err);
    assert_int_equal(draws->dim, 3);
    for (int64_t i = 0; i < 400; i++) {
        const double *x = draws->x + 3 * i;

        assert_true((x[0] == 0 || x[0] == 1) && x[2] == 5);
        yes += x[0] / 400;
    }
    assert_near(yes, 0.3, 5 * sqrt(0.21 / 50)); /* 50 chains that are independent */
    wm_ebm_draws_free(draws);
    wm_schema_free(schema);
    wm_ebm_free(e);
    wm_data_free(test);
    wm_data_free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mixture_is_found),
        cmocka_unit_test(raise_and_ais_meet),
        cmocka_unit_test(every_noise_carries_bridges),
        cmocka_unit_test(filters_see_what_columns_do_not),
        cmocka_unit_test(files_keep_the_bits),
        cmocka_unit_test(a_resumed_fit_ends_in_the_same_bits),
        cmocka_unit_test(an_evaluation_may_end_the_fit),
        cmocka_unit_test(averaging_can_be_switched_off),
        cmocka_unit_test(whole_numbers_count_their_jacobian),
        cmocka_unit_test(draws_are_those_of_the_model),
        cmocka_unit_test(a_walk_keeps_its_time),
        cmocka_unit_test(a_yes_or_no_has_shares),
        cmocka_unit_test(mistakes_are_named),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
