/* test_trainer.c - training ends where it should, for the reason it says, and a resumed run in the
 * same bits.
 *
 * The problem: p0 = N(0, 1/4 I), pm = N(0, I) in two dimensions, two bridges with alpha = 0, 1/2,
 * 1, so the waymarks have variance 1/4, 7/16, 1 and closed-form log-ratios. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "asserts.h"
#include "base/rng.h"
#include "train/trainer.h"

enum { DIM = 2, BRIDGES = 2, N_VALID = 2000 };

typedef struct problem {
    double sd0; /* of p0 */
    double shift;
    bool bad;   /* a NaN in step 5 */
    bool fails; /* at step 5 */
} problem;

static void draw(const problem *p, const char *stream, uint64_t at, uint64_t first, int64_t rows,
                 float *x0, float *xm)
{
    const wmi_rng all = wmi_rng_make(3, stream), zero = wmi_rng_sub(&all, at),
                  other = wmi_rng_make(4, stream), one = wmi_rng_sub(&other, at);

    wmi_rng_normal_f32(&zero, first, rows * DIM, x0);
    wmi_rng_normal_f32(&one, first, rows * DIM, xm);
    for (int64_t i = 0; i < rows * DIM; i++)
        x0[i] = (float)(p->shift + p->sd0 * (double)x0[i]);
}

static wm_status train(void *ctx, int64_t step, int64_t rows, float *x0, float *xm, wm_error *err)
{
    const problem *p = ctx;

    if (p->fails && step == 5)
        return wmi_fail(err, WM_EIO, "no rows for step 5");
    draw(p, "train", (uint64_t)step, 0, rows, x0, xm);
    if (p->bad && step == 5)
        x0[0] = NAN;
    return WM_OK;
}

static wm_status valid(void *ctx, int64_t first, int64_t rows, float *x0, float *xm, wm_error *err)
{
    (void)err;
    draw(ctx, "valid", 0, (uint64_t)(first * DIM), rows, x0, xm);
    return WM_OK;
}

typedef struct outcome {
    wm_status st;
    wm_error err;
    wmi_train_result result;
    wm_bridge eval[BRIDGES];
    float theta[64];
    double q[BRIDGES], c[BRIDGES]; /* of the first column: -log r = q x^2 + ... + c */
} outcome;

static outcome run(problem p, const wmi_train_opts *opts)
{
    wmi_source source = {
        .dim = DIM, .n_train = 5000, .n_valid = N_VALID, .train = train, .valid = valid, .ctx = &p};
    outcome o = {.st = WM_OK};
    wm_spacing spacing;
    wm_alphas alphas;
    wm_chain *chain;
    wmi_params *params;
    wmi_model model;

    wm_spacing_init(&spacing);
    assert_ok(wm_spacing_alphas(&alphas, &spacing, BRIDGES, &o.err), o.err);
    assert_ok(wm_chain_new(&chain, BRIDGES, &alphas, DIM, NULL, &o.err), o.err);
    wmi_model_init(&model, BRIDGES, DIM);
    model.quadratic = wmi_head_quadratic(WMI_QUADRATIC_FREE, true);
    assert_ok(wmi_params_new(&params, &o.err), o.err);
    assert_ok(wmi_model_declare(params, "", &model, &o.err), o.err);
    assert_true(wmi_params_count(params) <= 64);
    o.st = wmi_train(&model, params, chain, &source, opts, o.theta, o.eval, &o.result, &o.err);
    for (int k = 0; k < BRIDGES; k++) {
        o.q[k] = (double)o.theta[wmi_params_find(params, "quadratic/a")->offset + k * DIM * DIM];
        o.c[k] = (double)o.theta[wmi_params_find(params, "c")->offset + k];
    }
    wmi_params_free(params);
    wm_chain_free(chain);
    return o;
}

static wmi_train_opts quick(void)
{
    wmi_train_opts t;

    wmi_train_opts_init(&t);
    t.adam.batch = 300;
    t.adam.iterations = 3000;
    t.adam.eval_every = 500;
    t.adam.lr = 2e-2;
    t.adam.lr_constants = 1;
    return t;
}

/* q_k = (1/v_k - 1/v_k+1) / 2 and c_k = log(v_k / v_k+1) for variances v = 1/4, 7/16, 1. Training
 * sees 3e5 rows a side; the error of q is that of a logistic regression on so many rows, sd ~
 * 4/sqrt(3e5) = 0.007, to which the last steps of Adam add noise of the order lr/2 of the cosine's
 * end. 0.1 is far above both. */
static void finds_the_closed_form_by_every_objective(void **state)
{
    const double v[] = {0.25, 0.4375, 1};
    const wmi_objective all[] = {WMI_LOGISTIC, WMI_NWJ, WMI_LSQ, WMI_MULTINOMIAL};

    (void)state;
    for (int i = 0; i < 4; i++)
        for (int form = 0; form < (all[i] == WMI_LOGISTIC ? 2 : 1); form++) {
            wmi_train_opts t = quick();
            outcome o;

            t.objective = all[i];
            t.form = form ? WMI_BATCH_SPREAD : WMI_BATCH_COUPLED;
            o = run((problem){.sd0 = 0.5}, &t);
            assert_ok(o.st, o.err);
            assert_int_equal(o.result.stop, WMI_STOP_DONE);
            for (int k = 0; k < BRIDGES; k++) {
                /* KL of neighbours in two dimensions: v_k/v_k+1 - 1 - log(v_k/v_k+1) */
                const double kl = v[k] / v[k + 1] - 1 - log(v[k] / v[k + 1]);

                assert_near(o.q[k], 0.5 * (1 / v[k] - 1 / v[k + 1]), 0.1);
                assert_near(o.c[k], log(v[k] / v[k + 1]), 0.1);
                assert_near(o.eval[k].mean_log_ratio, kl, 0.1);
                assert_true(o.eval[k].loss > 0.9 && o.eval[k].loss < 1.386);
            }
        }
}

static sig_atomic_t stop_flag;

static int stop_at_1000(void *ctx, const wm_evaluation *e)
{
    (void)ctx;
    stop_flag = e->step >= 1000;
    return 0;
}

static void a_resumed_run_ends_in_the_same_bits(void **state)
{
    const char *path = "build_trainer_test.safetensors";
    wmi_train_opts t = quick();
    outcome whole, first, rest;

    (void)state;
    unlink(path);
    t.adam.average = 0.99;
    whole = run((problem){.sd0 = 0.5}, &t);
    assert_ok(whole.st, whole.err);
    t.control.checkpoint = path;
    t.control.stop = &stop_flag;
    t.control.on_eval = stop_at_1000;
    first = run((problem){.sd0 = 0.5}, &t);
    assert_ok(first.st, first.err);
    assert_int_equal(first.result.stop, WMI_STOP_ASKED);
    assert_int_equal(first.result.steps, 1000);
    assert_memory_not_equal(whole.theta, first.theta, sizeof whole.theta);
    stop_flag = 0;
    t.control.on_eval = NULL;
    t.control.resume = true;
    rest = run((problem){.sd0 = 0.5}, &t);
    assert_ok(rest.st, rest.err);
    assert_int_equal(rest.result.steps, 3000);
    assert_memory_equal(whole.theta, rest.theta, sizeof whole.theta);
    assert_true(whole.result.best_loss == rest.result.best_loss);
    rest = run((problem){.sd0 = 0.5}, &t); /* resuming what is done changes nothing */
    assert_memory_equal(whole.theta, rest.theta, sizeof whole.theta);
    t.adam.lr *= 2;
    rest = run((problem){.sd0 = 0.5}, &t);
    assert_int_equal(rest.st, WM_EINVAL);
    assert_non_null(strstr(rest.err.text, "other settings"));
    t.adam.lr /= 2;
    rest = run((problem){.sd0 = 0.6}, &t); /* other data */
    assert_int_equal(rest.st, WM_EINVAL);
    unlink(path);
}

static void a_saturated_bridge_is_named(void **state)
{
    wmi_train_opts t = quick();
    outcome o;

    (void)state;
    t.adam.lr = 0.1;
    t.adam.eval_every = 100;
    /* p0 = N(60, 1e-4 I): bridge 0 separates perfectly, while pm is reached by the second */
    o = run((problem){.sd0 = 0.01, .shift = 60}, &t);
    assert_ok(o.st, o.err);
    assert_int_equal(o.result.stop, WMI_STOP_SATURATED);
    assert_true(o.result.saturated_bridge >= 0 && o.result.saturated_bridge < BRIDGES);
    assert_true(o.result.steps < t.adam.iterations);
}

static void patience_and_time_end_a_run(void **state)
{
    wmi_train_opts t = quick();
    outcome o;

    (void)state;
    t.adam.eval_every = 50;
    t.adam.patience = 3;
    o = run((problem){.sd0 = 0.5}, &t);
    assert_ok(o.st, o.err);
    assert_int_equal(o.result.stop, WMI_STOP_PATIENCE);
    assert_int_equal(o.result.steps, o.result.best_step + 3 * 50);
    t = quick();
    t.control.time_limit = 1e-9;
    o = run((problem){.sd0 = 0.5}, &t);
    assert_ok(o.st, o.err);
    assert_int_equal(o.result.stop, WMI_STOP_TIME);
    assert_int_equal(o.result.steps, 1);
    assert_int_equal(o.result.best_step, 1); /* there is a model all the same */
}

/* theta is: quadratic/a (2, 2, 2), quadratic/w (2, 2, 1), c (2), each from a multiple of 16 on. */
enum { AT_A = 0, AT_W = 16, AT_C = 32 };

static void one_step_goes_from_where_it_is_told_to_start(void **state)
{
    wmi_train_opts t = quick();
    float start[64] = {0};
    outcome o, drawn;

    (void)state;
    t.adam.iterations = 1;
    t.adam.constant_lr = true;
    for (int i = 0; i < 8; i++)
        start[AT_A + i] = 0.25F * (float)i;
    start[AT_C + 1] = -3;
    drawn = run((problem){.sd0 = 0.5}, &t);
    t.start = start;
    o = run((problem){.sd0 = 0.5}, &t);
    assert_ok(o.st, o.err);
    assert_memory_not_equal(o.theta, drawn.theta, sizeof o.theta);
    for (int i = 0; i < 64; i++) /* Adam's first step is at most lr long */
        assert_near((double)o.theta[i], (double)start[i], 1.0001 * t.adam.lr);
    assert_true(o.theta[AT_C] != start[AT_C]);
}

static void what_is_frozen_keeps_its_bits(void **state)
{
    wmi_train_opts t = quick();
    float start[64] = {0};
    outcome o;

    (void)state;
    t.adam.iterations = 600;
    t.adam.average = 0.9;
    t.adam.weight_decay = 0.1; /* nor does it decay */
    t.start = start;
    t.tune.frozen = "quadratic/a";
    for (int i = 0; i < 8; i++)
        start[AT_A + i] = 0.1F * (float)(i + 1);
    o = run((problem){.sd0 = 0.5}, &t);
    assert_ok(o.st, o.err);
    assert_memory_equal(o.theta + AT_A, start + AT_A, 8 * sizeof *start);
    assert_true(fabsf(o.theta[AT_C]) > 0.01F && fabsf(o.theta[AT_C + 1]) > 0.01F);
    assert_true(o.theta[AT_W] != 0);
    t.tune.frozen = ""; /* nothing is called that */
    o = run((problem){.sd0 = 0.5}, &t);
    assert_ok(o.st, o.err);
    assert_true(o.theta[AT_A] != start[AT_A]);
}

/* Far beyond any use, so that what remains is the decay: weights go to nearly 0, constants do not.
 */
static void weights_decay_and_constants_do_not(void **state)
{
    wmi_train_opts t = quick();
    outcome o;

    (void)state;
    t.adam.iterations = 1000;
    t.adam.weight_decay = 20;
    o = run((problem){.sd0 = 0.5}, &t);
    assert_ok(o.st, o.err);
    for (int k = 0; k < BRIDGES; k++) { /* without decay q is 0.86 and 0.64 */
        assert_true(fabs(o.q[k]) < 0.1);
        assert_true(fabs(o.c[k]) > 0.005);
    }
}

/* Adam forgets the length of gradients but for eps: a clip of 1e-12 makes them all much shorter
 * than eps, and nothing moves far. */
static void a_tiny_clip_stops_the_movement(void **state)
{
    wmi_train_opts t = quick();
    outcome o;

    (void)state;
    t.adam.iterations = 200;
    t.adam.clip = 1e-12;
    o = run((problem){.sd0 = 0.5}, &t);
    assert_ok(o.st, o.err);
    for (int i = 0; i < 64; i++)
        assert_true(fabsf(o.theta[i]) < 0.01F);
    t.adam.clip = 1e6;
    o = run((problem){.sd0 = 0.5}, &t);
    assert_ok(o.st, o.err);
    assert_true(o.q[0] > 0.1);
}

static void bad_settings_and_data_are_named(void **state)
{
    wmi_train_opts t = quick();
    outcome o;

    (void)state;
    t.adam.iterations = 0;
    assert_int_equal(run((problem){.sd0 = 1}, &t).st, WM_EINVAL);
    t = quick();
    t.adam.lr = -1;
    assert_int_equal(run((problem){.sd0 = 1}, &t).st, WM_EINVAL);
    t = quick();
    t.adam.weight_decay = -1;
    assert_int_equal(run((problem){.sd0 = 1}, &t).st, WM_EINVAL);
    t = quick();
    t.adam.clip = -1;
    assert_int_equal(run((problem){.sd0 = 1}, &t).st, WM_EINVAL);
    t = quick();
    o = run((problem){.sd0 = 0.5, .bad = true}, &t);
    assert_int_equal(o.st, WM_EDIVERGED);
    assert_non_null(strstr(o.err.text, "step 5"));
    assert_non_null(strstr(o.err.text, "'x'"));
}

static void a_source_that_fails_ends_the_run(void **state)
{
    const wmi_train_opts t = quick();
    const outcome o = run((problem){.sd0 = 0.5, .fails = true}, &t);

    (void)state;
    assert_int_equal(o.st, WM_EIO);
    assert_string_equal(o.err.text, "no rows for step 5");
    assert_int_equal(o.result.steps, 0); /* nothing is handed out */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_the_closed_form_by_every_objective),
        cmocka_unit_test(a_resumed_run_ends_in_the_same_bits),
        cmocka_unit_test(a_saturated_bridge_is_named),
        cmocka_unit_test(patience_and_time_end_a_run),
        cmocka_unit_test(one_step_goes_from_where_it_is_told_to_start),
        cmocka_unit_test(what_is_frozen_keeps_its_bits),
        cmocka_unit_test(weights_decay_and_constants_do_not),
        cmocka_unit_test(a_tiny_clip_stops_the_movement),
        cmocka_unit_test(bad_settings_and_data_are_named),
        cmocka_unit_test(a_source_that_fails_ends_the_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
