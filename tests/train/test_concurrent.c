/* test_concurrent.c - several models trained at once, each in a thread of an outer OpenMP region,
 * end in the same bits as one after the other on one thread: programs share nothing that changes.
 */
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "asserts.h"
#include "base/rng.h"
#include "engine/backend/blas.h"
#include "train/trainer.h"

enum { DIM = 6, BRIDGES = 3, MODELS = 5, MAX_PARAMS = 16384, ROUNDS = 3 };

static void draw(const char *stream, const uint64_t *seed, uint64_t first, int64_t rows, float *x0,
                 float *xm)
{
    const wmi_rng all = wmi_rng_make(*seed, stream);
    const wmi_rng zero = wmi_rng_sub(&all, 0), one = wmi_rng_sub(&all, 1);

    wmi_rng_normal_f32(&zero, first * DIM, rows * DIM, x0);
    wmi_rng_normal_f32(&one, first * DIM, rows * DIM, xm);
    for (int64_t i = 0; i < rows * DIM; i++)
        x0[i] = 0.5F * x0[i] + 0.2F;
}

static wm_status train(void *ctx, int64_t step, int64_t rows, float *x0, float *xm, wm_error *err)
{
    (void)err;
    draw("train", ctx, (uint64_t)(step * rows), rows, x0, xm);
    return WM_OK;
}

static wm_status valid(void *ctx, int64_t first, int64_t rows, float *x0, float *xm, wm_error *err)
{
    (void)err;
    draw("valid", ctx, (uint64_t)first, rows, x0, xm);
    return WM_OK;
}

/* One of each kind: own kernels, products of BLAS, every layout of the rows. */
static void model_of(int which, wmi_model *model, wmi_train_opts *opts)
{
    wmi_model_init(model, BRIDGES, DIM);
    model->mlp.width = model->mlp.out = 24;
    wmi_train_opts_init(opts);
    opts->adam.batch = 400;
    opts->adam.iterations = 60;
    opts->adam.eval_every = 20;
    opts->adam.lr = 1e-2;
    opts->adam.average = 0.9;
    opts->control.seed = 10 + (uint64_t)which;
    opts->saturated = 0;
    switch (which) {
    case 0:
        model->quadratic = wmi_head_quadratic(WMI_QUADRATIC_FREE, true);
        break;
    case 1:
        model->terms = WMI_TERM_MLP;
        break;
    case 2:
        model->terms = WMI_TERM_MLP | WMI_TERM_QUADRATIC;
        opts->objective = WMI_MULTINOMIAL;
        break;
    case 3:
        model->terms = WMI_TERM_MLP;
        model->independent = true;
        model->mlp.dropout = 0.1;
        opts->form = WMI_BATCH_SPREAD;
        break;
    default:
        model->terms = WMI_TERM_LINEAR;
        opts->objective = WMI_NWJ;
        break;
    }
}

typedef struct outcome {
    wm_status st;
    wm_error err;
    double loss;
    float theta[MAX_PARAMS];
} outcome;

static void fit(int which, outcome *o)
{
    uint64_t seed = 100 + (uint64_t)which;
    wmi_source source = {
        .dim = DIM, .n_train = 5000, .n_valid = 500, .train = train, .valid = valid, .ctx = &seed};
    wm_bridge last[BRIDGES];
    wmi_train_result result = {0};
    wm_chain *chain = NULL;
    wmi_params *params = NULL;
    wmi_train_opts opts;
    wm_spacing spacing;
    wm_alphas alphas;
    wmi_model model;

    memset(o, 0, sizeof *o);
    model_of(which, &model, &opts);
    wm_spacing_init(&spacing);
    if (!(o->st = wm_spacing_alphas(&alphas, &spacing, BRIDGES, &o->err)) &&
        !(o->st = wm_chain_new(&chain, BRIDGES, &alphas, DIM, NULL, &o->err)) &&
        !(o->st = wmi_params_new(&params, &o->err)) &&
        !(o->st = wmi_model_declare(params, "", &model, &o->err))) {
        if (wmi_params_count(params) > MAX_PARAMS)
            o->st = WM_ENOMEM;
        else
            o->st =
                wmi_train(&model, params, chain, &source, &opts, o->theta, last, &result, &o->err);
    }
    o->loss = result.best_loss;
    wmi_params_free(params);
    wm_chain_free(chain);
}

static void models_trained_at_once_have_the_same_bits(void **state)
{
    const int before = omp_get_max_threads();
    outcome *alone = calloc(MODELS, sizeof *alone), *together = calloc(MODELS, sizeof *together);

    (void)state;
    assert_true(alone && together);
    omp_set_num_threads(1);
    for (int i = 0; i < MODELS; i++) {
        fit(i, &alone[i]);
        assert_ok(alone[i].st, alone[i].err);
        assert_true(isfinite(alone[i].loss));
    }
    omp_set_num_threads(MODELS);
    for (int round = 0; round < ROUNDS; round++) {
#pragma omp parallel for schedule(static, 1) num_threads(MODELS)
        for (int i = 0; i < MODELS; i++)
            fit(i, &together[i]);
        for (int i = 0; i < MODELS; i++) {
            assert_ok(together[i].st, together[i].err);
            assert_true(alone[i].loss == together[i].loss);
            assert_memory_equal(alone[i].theta, together[i].theta, sizeof alone[i].theta);
        }
    }
    omp_set_num_threads(before);
    free(alone);
    free(together);
}

/* Products of OpenBLAS called from many threads: sizes on either side of where it would use threads
 * itself, all four transposes. */
static void hammer(int seed, int repeats, float *out)
{
    enum { SIDE = 160 };
    const wmi_rng rng = wmi_rng_make((uint64_t)seed, "hammer");
    float *a = malloc(2 * SIDE * SIDE * sizeof *a), *c = malloc(SIDE * SIDE * sizeof *c);

    if (a && c) {
        wmi_rng_normal_f32(&rng, 0, 2 * SIDE * SIDE, a);
        for (int r = 0; r < repeats; r++) {
            const int64_t m = 1 + (17 * r + 31 * seed) % SIDE, n = 1 + (23 * r) % SIDE,
                          k = 1 + (41 * r) % SIDE;
            double sum = 0;

            wmi_gemm_f32(r & 1, r & 2, m, n, k, 1, a, r & 1 ? m : k, a + SIDE * SIDE, r & 2 ? k : n,
                         0, c, n);
            for (int64_t i = 0; i < m * n; i++)
                sum += (double)c[i] * (double)(i % 7 + 1);
            out[r] = (float)sum;
        }
    }
    free(a);
    free(c);
}

static void blas_may_be_called_by_many_threads(void **state)
{
    enum { THREADS = 7, REPEATS = 400 };
    const int before = omp_get_max_threads();
    static float alone[THREADS][REPEATS], together[THREADS][REPEATS];

    (void)state;
    omp_set_num_threads(1);
    for (int t = 0; t < THREADS; t++)
        hammer(t, REPEATS, alone[t]);
    omp_set_num_threads(THREADS);
#pragma omp parallel for schedule(static, 1) num_threads(THREADS)
    for (int t = 0; t < THREADS; t++)
        hammer(t, REPEATS, together[t]);
    omp_set_num_threads(before);
    assert_true(alone[0][0] != 0);
    assert_memory_equal(alone, together, sizeof alone);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(models_trained_at_once_have_the_same_bits),
        cmocka_unit_test(blas_may_be_called_by_many_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
