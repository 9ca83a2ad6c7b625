/* test_embed.c - separable pair models: mutual information where it is known, representations,
 * files.
 *
 * The arrays: two cells, each a letter of four as zeros and a one; in v a letter stays with
 * probability 0.8 (tests/train/test_trainer_pairs.c has the same in the trainer's terms), so the
 * information is 2 x 0.666 nats. The grids: our own glyphs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "asserts.h"
#include "base/alloc.h"
#include "base/rng.h"
#include "scratch.h"
#include "waymark/embed.h"
#include "waymark/probe.h"

enum { CELLS = 2, LETTERS = 4, DIM = CELLS * LETTERS, N = 3000 };

static const double STAYS = 0.8;
static const int64_t blocks[DIM] = {0, 0, 0, 0, 1, 1, 1, 1};

typedef struct table {
    float u[N * DIM], v[N * DIM];
    int32_t labels[N * CELLS];
    wm_pair_rows rows;
} table;

static void fill(table *t, uint64_t seed)
{
    const wmi_rng rng = wmi_rng_make(seed, "letters");
    double r[3];

    memset(t, 0, sizeof *t);
    for (int64_t i = 0; i < N; i++)
        for (int c = 0; c < CELLS; c++) {
            int z, y;

            wmi_rng_uniform_f64(&rng, (uint64_t)(3 * (i * CELLS + c)), 3, r);
            z = (int)(r[0] * LETTERS);
            y = r[1] < STAYS ? z : (z + 1 + (int)(r[2] * (LETTERS - 1))) % LETTERS;
            t->u[i * DIM + c * LETTERS + z] = 1;
            t->v[i * DIM + c * LETTERS + y] = 1;
            t->labels[i * CELLS + c] = z;
        }
    t->rows = (wm_pair_rows){.n = N, .dim_u = DIM, .dim_v = DIM, .u = t->u, .v = t->v};
}

static table train, valid, test;

static wm_embed_opts quick(void)
{
    wm_embed_opts o;

    wm_embed_opts_init(&o);
    o.mlp_width = o.features = 16;
    o.adam.batch = 192;
    o.adam.iterations = 300;
    o.adam.warmup = 0;
    o.adam.lr = 1e-2;
    o.adam.average = 0.98;
    return o;
}

static wm_embed *fit(const wm_embed_opts *o)
{
    wm_embed *e;
    wm_error err;

    assert_ok(wm_embed_fit(&e, &train.rows, &valid.rows, blocks, o, &err), err);
    return e;
}

/* A cell's log-ratio has standard deviation 0.994 (test_trainer_pairs.c): with 3000 pairs 5
 * standard errors of both cells' mean are 5 x 0.994 x sqrt(2 / 3000) = 0.128, of one 0.091. */
static void finds_the_information_of_letters(void **state)
{
    const double cell =
        STAYS * log(LETTERS * STAYS) + (1 - STAYS) * log(LETTERS * (1 - STAYS) / (LETTERS - 1));

    (void)state;
    for (int64_t m = 0; m <= 1; m++) {
        wm_embed_opts o = quick();
        wm_estimate mi, part[CELLS];
        wm_embed_info info;
        wm_embed *e;
        wm_error err;

        o.bridges = m ? m : WM_AUTO;
        e = fit(&o);
        wm_embed_get_info(e, &info);
        assert_int_equal(info.bridges, m ? 1 : CELLS); /* not set: one for each block */
        assert_int_equal(info.blocks, CELLS);
        assert_true(info.finished);
        assert_ok(wm_embed_mi(e, &test.rows, &mi, part, NULL, &err), err);
        assert_near(mi.value, CELLS * cell, 0.128);
        assert_near(mi.se, 0.994 * sqrt(CELLS / (double)N), 0.15 * mi.se);
        assert_true(mi.lo < mi.value && mi.value < mi.hi);
        for (int64_t k = 0; k < info.bridges; k++)
            assert_near(part[k].value, CELLS * cell / (double)info.bridges,
                        info.bridges == 1 ? 0.128 : 0.091);
        wm_embed_free(e);
    }
}

/* Calibrated, a fit tells what its scores know: of one that was stopped early more than their size
 * says. */
static void calibrated_scores_tell_the_information(void **state)
{
    const double cell =
        STAYS * log(LETTERS * STAYS) + (1 - STAYS) * log(LETTERS * (1 - STAYS) / (LETTERS - 1));
    wm_pair_rows few = valid.rows;

    (void)state;
    for (int early = 0; early < 2; early++) {
        wm_embed_opts o = quick();
        wm_estimate mi, plain;
        wm_embed *e;
        wm_error err;

        o.adam.iterations = early ? 20 : 300;
        e = fit(&o);
        assert_ok(wm_embed_mi(e, &test.rows, &plain, NULL, NULL, &err), err);
        assert_ok(wm_embed_mi_calibrated(e, &valid.rows, 4, &test.rows, NULL, &mi, NULL, &err),
                  err);
        assert_true(mi.se < 0.06 && mi.lo < mi.value && mi.value < mi.hi);
        if (early) { /* never more than there is, and more than the scores say */
            assert_true(plain.value < 0.4 * CELLS * cell);
            assert_true(mi.value > 0.5 * CELLS * cell && mi.value < CELLS * cell + 5 * mi.se);
        } else {
            assert_near(mi.value, CELLS * cell, 5 * mi.se);
        }
        few.n = 1;
        assert_int_equal(wm_embed_mi_calibrated(e, &few, 1, &test.rows, NULL, &mi, NULL, &err),
                         WM_EINVAL);
        assert_int_equal(
            wm_embed_mi_calibrated(e, &valid.rows, N, &test.rows, NULL, &mi, NULL, &err),
            WM_EINVAL);
        wm_embed_free(e);
    }
}

/* Letters can be read off g(u), in cells that the bridges treat apart. */
static void letters_can_be_read_off_the_representation(void **state)
{
    static float g[N * 16];
    wm_embed_opts o = quick();
    wm_embed *e = fit(&o);
    wm_share accuracy[CELLS], mean;
    wm_probe *p;
    wm_error err;

    (void)state;
    assert_ok(wm_embed_rows(e, N, train.u, g, NULL, &err), err);
    assert_ok(wm_probe_fit(&p, N, 16, g, CELLS, train.labels, NULL, NULL, &err), err);
    assert_ok(wm_embed_rows(e, N, test.u, g, NULL, &err), err);
    assert_ok(wm_probe_score(p, N, g, test.labels, accuracy, &mean, NULL, &err), err);
    assert_true(mean.value > 0.99); /* u has 16 values, all of them seen */
    wm_probe_free(p);
    wm_embed_free(e);
}

/* Rows do not depend on the block that they pass in, a file gives all of it back, and log-ratios
 * sum to what wm_embed_mi() averages. */
static void a_file_gives_the_same_bits(void **state)
{
    enum { SOME = 150 };
    const char *path = scratch("model.safetensors");
    static float g[SOME * 16], h[SOME * 16];
    double r[CELLS * SOME], s[CELLS * SOME], mean = 0;
    wm_embed_opts o = quick();
    wm_pair_rows some = test.rows;
    wm_embed_info a, b;
    wm_embed *e, *f;
    wm_estimate mi, again;
    wm_error err;

    (void)state;
    o.adam.iterations = 30;
    e = fit(&o);
    assert_ok(wm_embed_save(e, path, &err), err);
    assert_ok(wm_embed_load(&f, path, &err), err);
    some.n = SOME;
    assert_ok(wm_embed_rows(e, SOME, test.u, g, NULL, &err), err);
    assert_ok(wm_embed_rows(f, SOME, test.u, h, NULL, &err), err);
    assert_memory_equal(g, h, sizeof g);
    assert_ok(wm_embed_rows(f, 1, test.u + 100 * DIM, h, NULL, &err), err);
    for (int j = 0; j < 16; j++)
        assert_near((double)h[j], (double)g[100 * 16 + j], 1e-6);
    assert_ok(wm_embed_log_ratio(e, &some, r, NULL, &err), err);
    assert_ok(wm_embed_log_ratio(f, &some, s, NULL, &err), err);
    assert_memory_equal(r, s, sizeof r);
    assert_ok(wm_embed_mi(e, &some, &mi, NULL, NULL, &err), err);
    for (int i = 0; i < CELLS * SOME; i++)
        mean += r[i] / SOME;
    assert_near(mi.value, mean, 1e-9);
    assert_ok(wm_embed_mi(f, &some, &again, NULL, NULL, &err), err);
    assert_memory_equal(&mi, &again, sizeof mi);
    assert_ok(wm_embed_mi_calibrated(e, &some, 8, &some, NULL, &mi, NULL, &err), err);
    assert_ok(wm_embed_mi_calibrated(f, &some, 8, &some, NULL, &again, NULL, &err), err);
    assert_memory_equal(&mi, &again, sizeof mi);
    wm_embed_get_info(e, &a);
    wm_embed_get_info(f, &b);
    a.seconds = 0; /* is not kept */
    assert_int_equal(a.steps, b.steps);
    assert_int_equal(a.best_step, b.best_step);
    assert_int_equal(a.features, b.features);
    assert_int_equal(a.batch_pairs, b.batch_pairs);
    for (int64_t k = 0; k < CELLS; k++)
        assert_true(wm_embed_get_bridge(e, k).loss == wm_embed_get_bridge(f, k).loss &&
                    wm_embed_get_bridge(e, k).mean_log_ratio ==
                        wm_embed_get_bridge(f, k).mean_log_ratio);
    wm_embed_free(e);
    wm_embed_free(f);
}

/* Columns stay with their model, in its file too; a model without any has none. */
static void columns_are_kept(void **state)
{
    const char *path = scratch("columns.safetensors");
    const double row[DIM] = {2, 4};
    wm_embed_opts o = quick();
    wm_columns *u, *narrow;
    float x[DIM];
    wm_embed *e, *f;
    wm_error err;

    (void)state;
    o.adam.iterations = 1;
    e = fit(&o);
    assert_null(wm_embed_columns(e, 0));
    assert_ok(wm_columns_divide(&u, DIM, 2, &err), err);
    assert_ok(wm_columns_divide(&narrow, 1, 2, &err), err);
    assert_int_equal(wm_embed_set_columns(e, u, narrow, &err), WM_ESHAPE);
    assert_null(wm_embed_columns(e, 0)); /* both or none */
    assert_ok(wm_embed_set_columns(e, u, NULL, &err), err);
    wm_columns_free(u);
    wm_columns_free(narrow);
    assert_ok(wm_embed_save(e, path, &err), err);
    assert_ok(wm_embed_load(&f, path, &err), err);
    assert_ok(wm_columns_apply(wm_embed_columns(f, 0), 1, row, x, &err), err);
    assert_near((double)x[0], 1, 0);
    assert_near((double)x[1], 2, 0);
    assert_null(wm_embed_columns(f, 1));
    wm_embed_free(e);
    wm_embed_free(f);
}

/* The bound cannot pass the log of the group, and is no more than the truth but for noise. */
static void infonce_is_a_bound(void **state)
{
    wm_embed_opts o = quick();
    wm_pair_rows few = test.rows;
    wm_estimate mi;
    wm_embed_info info;
    wm_embed *e;
    wm_error err;

    (void)state;
    o.objective = WM_EMBED_INFONCE;
    o.adam.batch = 64;
    e = fit(&o);
    wm_embed_get_info(e, &info);
    assert_int_equal(info.batch_pairs, 32);
    assert_ok(wm_embed_mi(e, &test.rows, &mi, NULL, NULL, &err), err);
    assert_true(mi.value > 1 && mi.value < 1.333 + 0.128);
    few.n = 31;
    assert_int_equal(wm_embed_mi(e, &few, &mi, NULL, NULL, &err), WM_EINVAL);
    assert_non_null(strstr(err.text, "groups of 32"));
    wm_embed_free(e);
    o.bridges = 2;
    assert_int_equal(wm_embed_fit(&e, &train.rows, &valid.rows, blocks, &o, &err), WM_EINVAL);
}

typedef struct heard {
    int64_t evals, last_step, bridges;
    double mi;
} heard;

static int listen(void *ctx, const wm_evaluation *p)
{
    heard *h = ctx;

    h->evals++;
    h->last_step = p->step;
    h->bridges = p->n_bridges;
    h->mi = p->estimate;
    return 0;
}

/* Two alphabets of two, side by side: 2 log 2 = 1.39 nats. A drawing tells its character, so
 * log r is constant on true pairs at the truth: what is left is the fit, for which 0.15 is room. */
static void finds_the_information_of_glyphs(void **state)
{
    enum { ROWS = 100, SIDE = 28 * 56 };
    static float u[ROWS * SIDE], v[ROWS * SIDE], g[ROWS * 8];
    const wm_pair_rows rows = {.n = ROWS, .dim_u = SIDE, .dim_v = SIDE, .u = u, .v = v};
    wm_grid_pairs_opts grid;
    wm_grid_pairs *pairs;
    wm_alphabets *alphabets;
    wm_embed_opts o;
    wm_embed_info info;
    wm_estimate mi;
    wm_embed *e;
    heard h = {0};
    wm_error err;

    (void)state;
    assert_ok(wm_alphabets_open_glyphs(&alphabets, (int64_t[]){2, 2}, 2, 3, 5, &err), err);
    wm_grid_pairs_opts_init(&grid);
    grid.columns = 2;
    assert_ok(wm_grid_pairs_new(&pairs, alphabets, &grid, &err), err);
    wm_embed_opts_init(&o);
    o.network = "stem 5/3 8, 8 down, dense 8";
    o.adam.batch = 60;
    o.adam.iterations = 160;
    o.adam.warmup = 10;
    o.adam.lr = 3e-3;
    o.adam.average = 0.95;
    o.valid = 60;
    o.adam.eval_every = 40;
    o.control.on_eval = listen;
    o.control.ctx = &h;
    assert_ok(wm_embed_fit_grid(&e, pairs, &o, &err), err);
    wm_embed_get_info(e, &info);
    assert_int_equal(info.bridges, 2);
    assert_int_equal(info.features, 8);
    assert_int_equal(info.u.height, 28);
    assert_int_equal(info.u.width, 56);
    assert_int_equal(h.evals, 4);
    assert_int_equal(h.last_step, 160);
    assert_int_equal(h.bridges, 2);
    assert_near(wm_grid_pairs_mi(pairs), log(4), 1e-12);
    assert_ok(wm_grid_pairs_draw(pairs, WM_SPLIT_TEST, 0, ROWS, u, v, NULL, &err), err);
    assert_ok(wm_embed_mi(e, &rows, &mi, NULL, NULL, &err), err);
    assert_near(mi.value, log(4), 0.15);
    assert_near(h.mi, log(4), 0.2);
    assert_ok(wm_embed_rows(e, ROWS, u, g, NULL, &err), err);
    wm_embed_free(e);
    wm_grid_pairs_free(pairs);
    wm_alphabets_free(alphabets);
}

static void bad_input_is_named(void **state)
{
    wm_embed_opts o = quick();
    wm_pair_rows rows = train.rows, other = valid.rows;
    const char *path = scratch("model.safetensors");
    float bad[2 * DIM] = {0};
    double r[CELLS];
    wm_embed *e;
    FILE *f;
    wm_error err;

    (void)state;
    rows.n = 1;
    assert_int_equal(wm_embed_fit(&e, &rows, &other, blocks, &o, &err), WM_EINVAL);
    assert_null(e);
    other.dim_v = DIM - 1;
    assert_int_equal(wm_embed_fit(&e, &train.rows, &other, blocks, &o, &err), WM_ESHAPE);
    bad[DIM + 2] = INFINITY;
    other = (wm_pair_rows){.n = 2, .dim_u = DIM, .dim_v = DIM, .u = bad, .v = train.v};
    assert_int_equal(wm_embed_fit(&e, &train.rows, &other, blocks, &o, &err), WM_EINVAL);
    assert_non_null(strstr(err.text, "held-out u: row 2, column 3 is inf"));
    o.u = (wm_embed_shape){2, 5, 1};
    assert_int_equal(wm_embed_fit(&e, &train.rows, &valid.rows, blocks, &o, &err), WM_ESHAPE);
    assert_non_null(strstr(err.text, "u: 8 columns are no image of 2 x 5 x 1"));
    o.u = (wm_embed_shape){2, 4, 1};
    o.network = "stem 3/1 4, deep";
    assert_int_equal(wm_embed_fit(&e, &train.rows, &valid.rows, blocks, &o, &err), WM_EINVAL);
    assert_non_null(strstr(err.text, "'deep' is not understood"));
    o = quick();
    o.bridges = 5; /* than blocks */
    assert_int_equal(wm_embed_fit(&e, &train.rows, &valid.rows, blocks, &o, &err), WM_EINVAL);
    o = quick();
    o.adam.iterations = 1;
    e = fit(&o);
    rows = (wm_pair_rows){.n = 1, .dim_u = 3, .dim_v = DIM, .u = bad, .v = bad};
    assert_int_equal(wm_embed_log_ratio(e, &rows, r, NULL, &err), WM_ESHAPE);
    wm_embed_free(e);
    f = fopen(path, "w");
    fputs("not a model", f);
    fclose(f);
    assert_int_equal(wm_embed_load(&e, path, &err), WM_EFORMAT);
    assert_null(e);
    unlink(path);
    assert_int_equal(wm_embed_load(&e, path, &err), WM_EIO);
}

/* An image beside a vector: two kinds of body, one file. */
static void sides_may_differ(void **state)
{
    const char *path = scratch("model.safetensors");
    wm_embed_opts o = quick();
    wm_embed_info info;
    wm_embed *e, *f;
    float a[12], b[12];
    wm_error err;

    (void)state;
    o.adam.iterations = 2;
    o.u = (wm_embed_shape){2, 4, 1};
    o.network = "stem 3/1 4, dense 12";
    e = fit(&o);
    wm_embed_get_info(e, &info);
    assert_int_equal(info.features, 12);
    assert_ok(wm_embed_save(e, path, &err), err);
    assert_ok(wm_embed_load(&f, path, &err), err);
    assert_ok(wm_embed_rows(e, 1, test.u, a, NULL, &err), err);
    assert_ok(wm_embed_rows(f, 1, test.u, b, NULL, &err), err);
    assert_memory_equal(a, b, sizeof a);
    wm_embed_free(e);
    wm_embed_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_the_information_of_letters),
        cmocka_unit_test(calibrated_scores_tell_the_information),
        cmocka_unit_test(letters_can_be_read_off_the_representation),
        cmocka_unit_test(a_file_gives_the_same_bits),
        cmocka_unit_test(columns_are_kept),
        cmocka_unit_test(infonce_is_a_bound),
        cmocka_unit_test(finds_the_information_of_glyphs),
        cmocka_unit_test(bad_input_is_named),
        cmocka_unit_test(sides_may_differ),
    };

    fill(&train, 1);
    fill(&valid, 2);
    fill(&test, 3);
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
