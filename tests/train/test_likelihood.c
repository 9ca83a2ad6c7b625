/* test_likelihood.c - maximum likelihood of a noise: better than its start on rows never seen,
 * resumed in the same bits, each validation row counted once, each training row once an epoch. */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "noise/noise_run.h"
#include "train/likelihood.h"

enum { D = 2, TRAIN = 3000, VALID = 517, TEST = 4000 };

/* Rows that a Gaussian copula with its marginals made normal fits badly, and one with other
 * marginals better: two clusters on a diagonal, round within. */
static void make_rows(int64_t first, int64_t n, double *x)
{
    const wmi_rng rng = wmi_rng_make(21, "clusters");
    for (int64_t i = 0; i < n; i++) {
        double z[4];
        wmi_rng_normal_f64(&rng, (uint64_t)(first + i) * 4, 4, z);
        for (int j = 0; j < D; j++)
            x[i * D + j] = (z[2] > 0.3 ? 2 : -1) + 0.4 * z[j];
    }
}

typedef struct world {
    noise_run run;
    double *x; /* (TRAIN + VALID + TEST, D) */
    wmi_rows_source source;
    wmi_likelihood_opts opts;
    volatile sig_atomic_t stop;
    bool resumed;
    int64_t stop_at, evals;
    double first_valid, last_valid;
    int64_t epoch, seen[TRAIN]; /* of the rows asked for: epoch, and times in it */
} world;

static wm_status train_rows(void *ctx, int64_t epoch, int64_t count, const int64_t *row, float *x,
                            wm_error *err)
{
    (void)err;
    world *w = ctx;
    if (epoch != w->epoch) {
        assert_true(epoch == w->epoch + 1 || w->resumed);
        memset(w->seen, 0, sizeof w->seen);
        w->epoch = epoch;
    }
    for (int64_t i = 0; i < count; i++) {
        assert_in_range(row[i], 0, TRAIN - 1);
        w->seen[row[i]]++;
        for (int j = 0; j < D; j++)
            x[i * D + j] = (float)w->x[row[i] * D + j];
    }
    return WM_OK;
}

static wm_status valid_rows(void *ctx, int64_t first, int64_t count, float *x, wm_error *err)
{
    (void)err;
    const world *w = ctx;
    for (int64_t i = 0; i < count * D; i++)
        x[i] = (float)w->x[(TRAIN + first) * D + i];
    return WM_OK;
}

static int on_eval(void *ctx, const wm_evaluation *e)
{
    world *w = ctx;
    if (w->evals++ == 0)
        w->first_valid = -e->valid_loss;
    w->last_valid = -e->valid_loss;
    if (e->step == w->stop_at)
        w->stop = 1;
    return 0;
}

static void on_resume(void *ctx, wm_stage stage, int64_t step)
{
    world *w = ctx;
    assert_int_equal(stage, WM_STAGE_NOISE);
    assert_int_equal(step, 40);
    w->resumed = true;
}

static world *open_world(void)
{
    world *w = calloc(1, sizeof *w);
    wmi_noise_opts noise;
    wm_error err = {0};
    assert_non_null(w);
    w->x = noise_memory((TRAIN + VALID + TEST) * D, sizeof *w->x);
    make_rows(0, TRAIN + VALID + TEST, w->x);
    wmi_noise_opts_init(&noise, WMI_NOISE_COPULA, D);
    noise.bins = 16;
    w->run = noise_open(&noise);
    assert_ok(wmi_noise_start(&noise, "noise", w->run.params, TRAIN, w->x, 1, w->run.theta, &err),
              err);
    w->source = (wmi_rows_source){D, TRAIN, VALID, train_rows, valid_rows, w};
    wmi_likelihood_opts_init(&w->opts, WMI_NOISE_COPULA);
    w->opts.adam.batch = 250;
    w->opts.adam.iterations = 600;
    w->opts.adam.lr = 0.01;
    w->opts.adam.eval_every = 20;
    w->opts.control.on_eval = on_eval;
    w->opts.control.on_resume = on_resume;
    w->opts.control.ctx = w;
    w->opts.control.stop = &w->stop;
    w->stop_at = w->epoch = -1;
    return w;
}

static void close_world(world *w)
{
    noise_close(&w->run);
    free(w->x);
    free(w);
}

static wmi_likelihood_result fit(world *w)
{
    wmi_likelihood_result result;
    wm_error err = {0};
    assert_ok(wmi_likelihood_fit(&w->run.opts, "noise", w->run.params, &w->source, &w->opts,
                                 w->run.theta, &result, &err),
              err);
    return result;
}

/* Held-out rows that neither saw: the mean gain, in pairs, over five of its standard errors. The
 * maps are finished: F undoes F^-1. */
static void fit_beats_its_start(void **state)
{
    world *w = open_world();
    const double *x = w->x + (TRAIN + VALID) * D;
    double *before = noise_memory(TEST, sizeof *before), *after = noise_memory(TEST, sizeof *after);
    double mean = 0, square = 0;
    wmi_likelihood_result r;
    (void)state;
    noise_pass(&w->run, WMI_F32, LOG_DENSITY, TEST, x, NULL, before);
    r = fit(w);
    noise_pass(&w->run, WMI_F32, LOG_DENSITY, TEST, x, NULL, after);
    for (int64_t i = 0; i < TEST; i++) {
        mean += (after[i] - before[i]) / TEST;
        square += pow(after[i] - before[i], 2) / TEST;
    }
    assert_true(r.finished && r.best > w->first_valid && r.best_step > 0);
    assert_true(r.steps == 600 || r.steps - r.best_step >= 20 * w->opts.adam.patience);
    if (!(mean > 5 * sqrt((square - mean * mean) / TEST) && mean > 0.02))
        fail_msg("gain %.4f nats a row, se %.4f", mean, sqrt((square - mean * mean) / TEST));
    noise_check_trips(&w->run, WMI_F64, 100, x, 1e-9);
    free(before);
    free(after);
    close_world(w);
}

static void every_row_counts_once(void **state)
{
    world *w = open_world();
    double log_q[VALID] = {0}, mean = 0;
    (void)state;
    noise_pass(&w->run, WMI_F32, LOG_DENSITY, VALID, w->x + TRAIN * D, NULL, log_q);
    for (int i = 0; i < VALID; i++)
        mean += log_q[i] / VALID;
    w->opts.adam.iterations = 3 * (TRAIN / 250); /* 3 epochs */
    fit(w);
    assert_near(w->first_valid, mean, 1e-5);
    assert_int_equal(w->epoch, 2);
    for (int i = 0; i < TRAIN; i++)
        assert_int_equal(w->seen[i], 1);
    close_world(w);
}

/* More rows in a batch than there are. */
static void small_sets_are_served(void **state)
{
    world *w = open_world();
    double log_q[9] = {0}, mean = 0;
    (void)state;
    w->source.n_train = 100;
    w->source.n_valid = 9;
    w->opts.adam.iterations = 5;
    w->opts.adam.eval_every = WM_AUTO;
    noise_pass(&w->run, WMI_F32, LOG_DENSITY, 9, w->x + TRAIN * D, NULL, log_q);
    for (int i = 0; i < 9; i++)
        mean += log_q[i] / 9;
    fit(w);
    assert_near(w->first_valid, mean, 1e-5);
    assert_int_equal(w->evals, 6); /* an epoch is one step */
    close_world(w);
}

static void steps_that_lose_are_not_kept(void **state)
{
    world *w = open_world();
    double *start = noise_memory(w->run.n_params, sizeof *start);
    wmi_likelihood_result r;
    (void)state;
    memcpy(start, w->run.theta, (size_t)w->run.n_params * sizeof *start);
    w->opts.adam.lr = 3; /* no step of this size helps */
    w->opts.adam.constant_lr = true;
    w->opts.adam.warmup = 0;
    w->opts.adam.average = 0;
    w->opts.adam.eval_every = 1;
    w->opts.adam.patience = 4;
    w->opts.adam.iterations = 40;
    r = fit(w);
    assert_true(r.finished && r.best_step == 0 && r.steps == 4);
    assert_near(r.best, w->first_valid, 0);
    for (int64_t i = 0; i < w->run.n_params; i++)
        assert_near(w->run.theta[i], start[i], 1e-6 * (1 + fabs(start[i])));
    free(start);
    close_world(w);
}

static void resumed_run_ends_in_the_same_bits(void **state)
{
    const char *path = "likelihood_resume.tmp.safetensors";
    world *whole = open_world(), *parts = open_world();
    wmi_likelihood_result a, b;
    wm_error err = {0};
    (void)state;
    remove(path);
    whole->opts.adam.iterations = parts->opts.adam.iterations = 90;
    a = fit(whole);
    parts->opts.control.checkpoint = path;
    parts->opts.control.resume = true;
    parts->stop_at = 40;
    b = fit(parts);
    assert_true(!b.finished && b.steps == 40);
    close_world(parts);

    parts = open_world();
    parts->opts.adam.iterations = 90;
    parts->opts.control.checkpoint = path;
    parts->opts.control.resume = true;
    b = fit(parts);
    assert_true(parts->resumed && b.finished && b.steps == 90);
    assert_int_equal(parts->evals, 3); /* at 60, 80 and 90 */
    assert_true(a.best == b.best && a.best_step == b.best_step);
    assert_memory_equal(whole->run.theta, parts->run.theta,
                        (size_t)whole->run.n_params * sizeof(double));
    close_world(parts);

    parts = open_world();
    parts->opts.adam.iterations = 90;
    parts->opts.control.checkpoint = path;
    parts->opts.control.resume = true;
    parts->opts.adam.lr *= 2;
    assert_int_equal(wmi_likelihood_fit(&parts->run.opts, "noise", parts->run.params,
                                        &parts->source, &parts->opts, parts->run.theta, &b, &err),
                     WM_EINVAL);
    assert_non_null(strstr(err.text, "other settings"));
    remove(path);
    close_world(parts);
    close_world(whole);
}

static void expect(world *w, wm_status code, const char *says)
{
    wmi_likelihood_result r;
    wm_error err = {0};
    assert_int_equal(wmi_likelihood_fit(&w->run.opts, "noise", w->run.params, &w->source, &w->opts,
                                        w->run.theta, &r, &err),
                     code);
    if (!strstr(err.text, says))
        fail_msg("'%s' does not say '%s'", err.text, says);
    close_world(w);
}

static void nonsense_is_refused(void **state)
{
    world *w = open_world();
    (void)state;
    w->source.dim = 3;
    expect(w, WM_ESHAPE, "rows of 3 columns for a noise of 2");
    w = open_world();
    w->source.n_valid = 0;
    expect(w, WM_EINVAL, "0 to validate");
    w = open_world();
    w->opts.adam.lr = 0;
    expect(w, WM_EINVAL, "learning rate 0");
    w = open_world();
    w->opts.adam.average = 1;
    expect(w, WM_EINVAL, "weight average");
    w = open_world();
    w->x[(TRAIN + 3) * D] = NAN;
    expect(w, WM_EDIVERGED, "the start has a log-likelihood of");
    w = open_world();
    for (int i = 0; i < TRAIN; i++)
        w->x[i * D] = NAN;
    expect(w, WM_EDIVERGED, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fit_beats_its_start),
        cmocka_unit_test(every_row_counts_once),
        cmocka_unit_test(small_sets_are_served),
        cmocka_unit_test(steps_that_lose_are_not_kept),
        cmocka_unit_test(resumed_run_ends_in_the_same_bits),
        cmocka_unit_test(nonsense_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
