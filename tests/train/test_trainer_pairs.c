/* test_trainer_pairs.c - training with a u apart from the rows: separable bridges and InfoNCE.
 *
 * The problem: two cells, each a letter of four. u is both letters; in v each stays with
 * probability 0.8 and is one of the others else. Letters are rows of zeros and a one. A cell's
 * log-ratio is log(4 x 0.8) where the letters agree and log(4 x 0.2 / 3) where not, so its mutual
 * information is I = 0.8 log 3.2 + 0.2 log(0.8 / 3) = 0.666 nats. */
#include <stdlib.h>
#include <string.h>

#include "asserts.h"
#include "base/rng.h"
#include "scratch.h"
#include "train/trainer.h"

enum { CELLS = 2, LETTERS = 4, DIM = CELLS * LETTERS, N_VALID = 2000, MOST = 4096 };

static const double STAYS = 0.8;

static double cell_mi(void)
{
    return STAYS * log(LETTERS * STAYS) + (1 - STAYS) * log(LETTERS * (1 - STAYS) / (LETTERS - 1));
}

static double uniform(const wmi_rng *rng, uint64_t at)
{
    double r;

    wmi_rng_uniform_f64(rng, at, 1, &r);
    return r;
}

/* Row `at` of a stream: u, v, and the v of another row; any may be NULL. */
static void draw_row(const char *stream, int64_t at, float *u, float *v, float *other)
{
    const wmi_rng all = wmi_rng_make(7, stream), rng = wmi_rng_sub(&all, (uint64_t)at);

    for (int side = 0; side < 2; side++)
        for (int c = 0; c < CELLS; c++) {
            double r[3];
            int z, y;

            for (int k = 0; k < 3; k++)
                r[k] = uniform(&rng, 3 * ((uint64_t)side * CELLS + (uint64_t)c) + (uint64_t)k);
            z = (int)(r[0] * LETTERS);
            y = r[1] < STAYS ? z : (z + 1 + (int)(r[2] * (LETTERS - 1))) % LETTERS;
            for (int k = 0; k < LETTERS; k++) {
                if (u && side == 0)
                    u[c * LETTERS + k] = (float)(k == z);
                if (side == 0 ? v != NULL : other != NULL)
                    (side == 0 ? v : other)[c * LETTERS + k] = (float)(k == y);
            }
        }
}

static wm_status train(void *ctx, int64_t step, int64_t rows, float *x0, float *xm, wm_error *err)
{
    (void)err;
    (void)ctx;
    for (int64_t i = 0; i < rows; i++)
        draw_row("train", step * rows + i, NULL, x0 + i * DIM, xm + i * DIM);
    return WM_OK;
}

static wm_status train_u(void *ctx, int64_t step, int64_t rows, float *u, wm_error *err)
{
    (void)err;
    (void)ctx;
    for (int64_t i = 0; i < rows; i++)
        draw_row("train", step * rows + i, u + i * DIM, NULL, NULL);
    return WM_OK;
}

static wm_status valid(void *ctx, int64_t first, int64_t rows, float *x0, float *xm, wm_error *err)
{
    (void)err;
    (void)ctx;
    assert_true(first + rows <= N_VALID);
    for (int64_t i = 0; i < rows; i++)
        draw_row("valid", first + i, NULL, x0 + i * DIM, xm + i * DIM);
    return WM_OK;
}

static wm_status valid_u(void *ctx, int64_t first, int64_t rows, float *u, wm_error *err)
{
    (void)err;
    (void)ctx;
    for (int64_t i = 0; i < rows; i++)
        draw_row("valid", first + i, u + i * DIM, NULL, NULL);
    return WM_OK;
}

static const wmi_source apart = {.dim = DIM,
                                 .n_train = 5000,
                                 .n_valid = N_VALID,
                                 .train = train,
                                 .valid = valid,
                                 .dim_u = DIM,
                                 .train_u = train_u,
                                 .valid_u = valid_u};

/* The same with u in front of both ends' rows. */
static wm_status train_joined(void *ctx, int64_t step, int64_t rows, float *x0, float *xm,
                              wm_error *err)
{
    (void)ctx;
    for (int64_t i = 0; i < rows; i++) {
        float *a = x0 + i * 2 * DIM, *b = xm + i * 2 * DIM;

        (void)err;
        draw_row("train", step * rows + i, a, a + DIM, b + DIM);
        memcpy(b, a, DIM * sizeof *b);
    }
    return WM_OK;
}

static wm_status valid_joined(void *ctx, int64_t first, int64_t rows, float *x0, float *xm,
                              wm_error *err)
{
    (void)ctx;
    for (int64_t i = 0; i < rows; i++) {
        float *a = x0 + i * 2 * DIM, *b = xm + i * 2 * DIM;

        (void)err;
        draw_row("valid", first + i, a, a + DIM, b + DIM);
        memcpy(b, a, DIM * sizeof *b);
    }
    return WM_OK;
}

static const wmi_source joined = {.dim = 2 * DIM,
                                  .n_train = 5000,
                                  .n_valid = N_VALID,
                                  .train = train_joined,
                                  .valid = valid_joined};

typedef struct outcome {
    wm_status st;
    wm_error err;
    wmi_train_result result;
    wm_bridge eval[CELLS];
    double kl; /* of the last evaluation */
    float theta[MOST];
} outcome;

static int watch(void *ctx, const wm_evaluation *e)
{
    ((outcome *)ctx)->kl = e->estimate;
    return 0;
}

static void run(outcome *o, int64_t bridges, const wmi_source *source, wmi_train_opts opts)
{
    int64_t columns[2 * DIM];
    const bool one_row = source->dim > DIM;
    wm_chain *chain;
    wmi_params *params;
    wmi_model model;

    *o = (outcome){.st = WM_OK};
    for (int64_t j = 0; j < DIM; j++) {
        columns[j] = WM_COLUMN_KEPT;
        columns[one_row ? DIM + j : j] = j / LETTERS;
    }
    assert_ok(wm_chain_new(&chain, bridges, NULL, source->dim, columns, &o->err), o->err);
    wmi_model_init(&model, bridges, DIM);
    model.dim_u = DIM;
    model.terms = WMI_TERM_SEPARABLE;
    model.separable.g.mlp.width = model.separable.f.mlp.width = 16;
    model.separable.g.mlp.out = model.separable.f.mlp.out = 16;
    assert_ok(wmi_params_new(&params, &o->err), o->err);
    assert_ok(wmi_model_declare(params, "", &model, &o->err), o->err);
    assert_true(wmi_params_count(params) <= MOST);
    opts.control.on_eval = watch;
    opts.control.ctx = o;
    o->st = wmi_train(&model, params, chain, source, &opts, o->theta, o->eval, &o->result, &o->err);
    wmi_params_free(params);
    wm_chain_free(chain);
}

static wmi_train_opts quick(int64_t iterations)
{
    wmi_train_opts t;

    wmi_train_opts_init(&t);
    t.adam.batch = 192;
    t.adam.iterations = iterations;
    t.adam.eval_every = iterations;
    t.adam.lr = 1e-2;
    t.adam.lr_constants = 1;
    return t;
}

/* The mean of log r over 2000 rows (1920 in whole batches) has a standard error of sd / sqrt(1920):
 * a cell's log-ratio has two values, log 3.2 and log 0.267, 2.485 apart, so sd = 2.485 x sqrt(0.8 x
 * 0.2) = 0.994 for each cell, and 5 standard errors are 0.113 for a bridge, 0.160 for both. Fresh
 * rows in every step: what the fit adds is far less. */
static void bridges_find_the_mutual_information(void **state)
{
    (void)state;
    for (int64_t m = 1; m <= CELLS; m++) {
        static outcome o;

        run(&o, m, &apart, quick(500));
        assert_ok(o.st, o.err);
        assert_near(o.kl, CELLS * cell_mi(), 0.16);
        for (int64_t k = 0; k < m; k++)
            assert_near(o.eval[k].mean_log_ratio, CELLS / (double)m * cell_mi(),
                        m == 1 ? 0.16 : 0.113);
    }
}

/* With a random order waymark 1 has one cell of v replaced or the other. Where r1 and r2 are the
 * cells' ratios, bridge 0 is r1 r2 / ((r1 + r2) / 2) and bridge 1 is (r1 + r2) / 2; summed over all
 * letters their KL divergences are 0.4648 and 0.3919 (0.666 and 0.666 in a fixed order). 5 standard
 * errors are below 0.113 as above. Their sum at p0 is not tested: (r1 + r2) / 2 is no sum over
 * cells, and a small network learns that slowly. */
static void a_random_order_has_bridges_of_its_own(void **state)
{
    wmi_train_opts t = quick(500);
    static outcome o;

    (void)state;
    t.random_order = true;
    run(&o, CELLS, &apart, t);
    assert_ok(o.st, o.err);
    assert_near(o.eval[0].mean_log_ratio, 0.4648, 0.113);
    assert_near(o.eval[1].mean_log_ratio, 0.3919, 0.113);
}

/* g(u) once for each trajectory, or in every row: the same losses but for rounding. */
static void u_apart_is_u_in_the_row(void **state)
{
    static outcome a, b;

    (void)state;
    run(&a, CELLS, &apart, quick(20));
    run(&b, CELLS, &joined, quick(20));
    assert_ok(a.st, a.err);
    assert_ok(b.st, b.err);
    assert_near(a.result.best_loss, b.result.best_loss, 1e-4);
    assert_near(a.kl, b.kl, 1e-3);
    assert_true(a.result.best_loss < 2 * log(2) - 0.01); /* it did learn something */
}

/* At its best InfoNCE scores log p(v|u) / p(v), and the bound is E log(B r_own / sum_j r_j). In one
 * batch of B the others' r_j are independent with mean 1 and the values r = (3.2 or 0.267)^2 cells,
 * which are simulated here, 5000 times, with draws of their own. */
static double infonce_at_best(int64_t rows)
{
    const wmi_rng rng = wmi_rng_make(11, "bound");
    const double agree = LETTERS * STAYS, not = LETTERS * (1 - STAYS) / (LETTERS - 1);
    uint64_t at = 0;
    double mean = 0;

    for (int i = 0; i < 5000; i++) {
        double own = 1, sum = 0;

        for (int64_t j = 0; j < rows; j++) {
            double r = 1;

            for (int c = 0; c < CELLS; c++) /* another row's letter agrees one time in four */
                r *= uniform(&rng, at++) < (j ? 1.0 / LETTERS : STAYS) ? agree : not ;
            own = j ? own : r;
            sum += r;
        }
        mean += log((double)rows * own / sum) / 5000;
    }
    return mean;
}

/* The sum over a batch of 16 makes the bound 1.27 where the truth is 1.33; the standard error of
 * the mean over 2000 rows is that of log r above. */
static void infonce_finds_its_bound(void **state)
{
    wmi_train_opts t = quick(500);
    static outcome o;
    double best;

    (void)state;
    t.objective = WMI_INFONCE;
    t.adam.batch = 2 * 16;
    t.saturated = 0;
    run(&o, 1, &apart, t);
    assert_ok(o.st, o.err);
    best = infonce_at_best(16);
    assert_true(best < CELLS * cell_mi());
    assert_near(o.kl, best, 0.16);
    assert_near(o.eval[0].mean_log_ratio, log(16) - o.eval[0].loss, 1e-6);
    assert_true(o.eval[0].accuracy > 0.3 && o.eval[0].accuracy < 0.9); /* chance is 1/16 */
}

static void a_resumed_run_ends_in_the_same_bits(void **state)
{
    const char *path = scratch("state.safetensors");
    wmi_train_opts t = quick(40);
    static outcome whole, part, rest;

    (void)state;
    t.adam.eval_every = 10;
    run(&whole, CELLS, &apart, t);
    assert_ok(whole.st, whole.err);
    t.control.checkpoint = path;
    t.control.resume = true;
    t.control.time_limit = 1e-9; /* stops after its first step */
    run(&part, CELLS, &apart, t);
    assert_ok(part.st, part.err);
    assert_int_equal(part.result.steps, 1);
    t.control.time_limit = 0;
    run(&rest, CELLS, &apart, t);
    assert_ok(rest.st, rest.err);
    assert_memory_equal(whole.theta, rest.theta, sizeof whole.theta);
}

static void what_does_not_fit_is_refused(void **state)
{
    wmi_train_opts t = quick(10);
    wmi_source narrow = apart;
    static outcome o;

    (void)state;
    narrow.dim_u = DIM - 1;
    run(&o, CELLS, &narrow, t);
    assert_int_equal(o.st, WM_ESHAPE);
    t.form = WMI_BATCH_SPREAD;
    run(&o, CELLS, &apart, t);
    assert_int_equal(o.st, WM_EINVAL);
    assert_non_null(strstr(o.err.text, "coupled"));
    t = quick(10);
    t.objective = WMI_INFONCE;
    run(&o, CELLS, &apart, t); /* two bridges */
    assert_int_equal(o.st, WM_EINVAL);
    assert_non_null(strstr(o.err.text, "one separable bridge"));
    run(&o, 1, &joined, t);
    assert_int_equal(o.st, WM_EINVAL);
    assert_non_null(strstr(o.err.text, "u apart"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bridges_find_the_mutual_information),
        cmocka_unit_test(a_random_order_has_bridges_of_its_own),
        cmocka_unit_test(u_apart_is_u_in_the_row),
        cmocka_unit_test(infonce_finds_its_bound),
        cmocka_unit_test(a_resumed_run_ends_in_the_same_bits),
        cmocka_unit_test(what_does_not_fit_is_refused),
    };

    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
