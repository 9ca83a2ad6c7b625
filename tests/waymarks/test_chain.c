/* test_chain.c - waymarks of arrays: linear, mixed and kept columns, and the bridges' order. */
#include "asserts.h"

#include <omp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "waymarks/chain.h"

static wm_alphas power(double p, int64_t bridges)
{
    wm_error err = {0};
    wm_spacing s;
    wm_alphas a;

    wm_spacing_init(&s);
    s.power = p;
    assert_ok(wm_spacing_alphas(&a, &s, bridges, &err), err);
    return a;
}

static wm_chain *chain(int64_t bridges, const wm_alphas *alphas, int64_t dim,
                       const int64_t *columns)
{
    wm_error err = {0};
    wm_chain *c;

    assert_ok(wm_chain_new(&c, bridges, alphas, dim, columns, &err), err);
    return c;
}

/* The variance of waymark k of N(0, s0^2) and N(0, sm^2) is (1 - a^2) s0^2 + a^2 sm^2. */
static void gaussian_waymarks_have_their_variance(void **state)
{
    enum { N = 200000 };
    const double s0 = 1e-6, sm = 1;
    const wmi_rng r0 = wmi_rng_make(11, "x0"), rm = wmi_rng_make(11, "xm");
    const wm_alphas a = power(7, 4);
    wm_chain *c = chain(4, &a, 1, NULL);
    double *x0 = malloc(N * sizeof *x0), *xm = malloc(N * sizeof *xm),
           *out = malloc(5 * N * sizeof *out);
    const wm_ends_f64 ends = {.rows = N, .x0 = x0, .xm = xm};

    (void)state;
    assert_true(x0 && xm && out);
    wmi_rng_normal_f64(&r0, 0, N, x0);
    wmi_rng_normal_f64(&rm, 0, N, xm);
    for (int i = 0; i < N; i++)
        x0[i] *= s0;
    wm_chain_waymarks_f64(c, &ends, out);
    for (int k = 0; k <= 4; k++) {
        const double want =
            (1 - a.alpha[k] * a.alpha[k]) * s0 * s0 + a.alpha[k] * a.alpha[k] * sm * sm;
        double sum = 0;

        for (int i = 0; i < N; i++)
            sum += out[k * N + i] * out[k * N + i];
        /* a mean of N squares of a Gaussian has standard error want sqrt(2 / N) */
        assert_near(sum / N / want, 1, 5 * sqrt(2.0 / N));
    }
    assert_memory_equal(out, x0, N * sizeof *x0);
    assert_memory_equal(out + 4 * N, xm, N * sizeof *xm);
    wm_chain_free(c);
    free(x0), free(xm), free(out);
}

static void linear_keeps_its_digits_and_ends(void **state)
{
    const double x0[] = {3, -1, INFINITY}, xm[] = {1, 2, 5}, e = (0x1p26 + 1) * 0x1p-53;
    double y[3];
    float f[3], f0[] = {3, -1, 4}, fm[] = {1, 2, 5};

    (void)state;
    wm_waymark_linear_f64(0.6, 2, x0, xm, y);
    assert_near(y[0], 0.8 * 3 + 0.6, 1e-15);
    assert_near(y[1], -0.8 + 1.2, 1e-15);
    wm_waymark_linear_f64(1, 3, x0, xm, y);
    assert_true(y[0] == 1 && y[1] == 2 && y[2] == 5);
    wm_waymark_linear_f64(0, 3, x0, xm, y);
    assert_true(y[0] == 3 && y[1] == -1 && isinf(y[2]));
    /* sqrt(1 - a^2) at a = 1 - e is sqrt(e (2 - e)); a * a would be rounded, 2e-9 off for this e */
    wm_waymark_linear_f64(1 - e, 1, (const double[]){1}, (const double[]){0}, y);
    assert_near(y[0] / sqrt(e * (2 - e)), 1, 1e-15);
    wm_waymark_linear_f32(0.6, 3, f0, fm, f);
    assert_near(f[0], 3.0, 1e-6);
    assert_near(f[2], 6.2, 1e-6);
    wm_waymark_linear_f64(0.6, 2, x0, xm, y);
    memcpy(y, x0, 2 * sizeof *y);
    wm_waymark_linear_f64(0.6, 2, y, xm, y); /* in place */
    assert_near(y[1], 0.4, 1e-15);
}

/* x0 holds 100 + row * 10 + column, xm the negative of it: the sign says where a value is from. */
static void label(int64_t rows, int64_t dim, double *x0, double *xm)
{
    for (int64_t i = 0; i < rows * dim; i++) {
        x0[i] = 100 + (double)(i / dim * 10 + i % dim);
        xm[i] = -x0[i];
    }
}

static void mixing_takes_the_first_k_blocks(void **state)
{
    enum { ROWS = 3, D = 6, M = 3 };
    int64_t columns[D];
    double x0[ROWS * D], xm[ROWS * D], out[(M + 1) * ROWS * D];
    const wm_ends_f64 ends = {.rows = ROWS, .x0 = x0, .xm = xm};
    wm_chain *c;

    (void)state;
    label(ROWS, D, x0, xm);
    for (int j = 0; j < D; j++)
        columns[j] = j * M / D;
    c = chain(M, NULL, D, columns);
    assert_int_equal(wm_chain_blocks(c), M);
    assert_int_equal(wm_chain_bridges(c), M);
    assert_int_equal(wm_chain_dim(c), D);
    wm_chain_waymarks_f64(c, &ends, out);
    for (int k = 0; k <= M; k++)
        for (int i = 0; i < ROWS * D; i++) /* blocks of two columns */
            assert_true(out[k * ROWS * D + i] == (i % D < 2 * k ? xm[i] : x0[i]));
    wm_chain_free(c);
}

/* Blocks need not be consecutive columns, and their numbers are their order. */
static void given_blocks_switch_in_their_order(void **state)
{
    const int64_t columns[] = {1, 0, 2, 0}, first[] = {2, 1, 3, 1}; /* waymark of the switch */
    double x0[4], xm[4], out[4 * 4];
    const wm_ends_f64 ends = {.rows = 1, .x0 = x0, .xm = xm};
    wm_chain *c = chain(3, NULL, 4, columns);

    (void)state;
    label(1, 4, x0, xm);
    wm_chain_waymarks_f64(c, &ends, out);
    for (int k = 0; k <= 3; k++)
        for (int j = 0; j < 4; j++)
            assert_true(out[4 * k + j] == (k >= first[j] ? xm[j] : x0[j]));
    wm_chain_free(c);
}

/* Turns are spread over the chain whatever the numbers: each waymark of a mixed chain differs from
 * the one before, and the steps are as even as can be. */
static void blocks_spread_over_the_chain(void **state)
{
    (void)state;
    for (int64_t blocks = 1; blocks <= 9; blocks++)
        for (int64_t m = 1; m <= blocks; m++) {
            int64_t columns[9], low = 99, high = 0;
            double x0[9], xm[9], out[10 * 9];
            const wm_ends_f64 ends = {.rows = 1, .x0 = x0, .xm = xm};
            wm_chain *c;

            label(1, blocks, x0, xm);
            for (int64_t j = 0; j < blocks; j++)
                columns[j] = j;
            c = chain(m, NULL, blocks, columns);
            wm_chain_waymarks_f64(c, &ends, out);
            for (int64_t k = 0; k < m; k++) {
                int64_t switched = 0;

                for (int64_t j = 0; j < blocks; j++)
                    switched += out[k * blocks + j] != out[(k + 1) * blocks + j];
                low = switched < low ? switched : low;
                high = switched > high ? switched : high;
            }
            assert_true(low >= 1 && high - low <= 1);
            assert_memory_equal(out, x0, (size_t)blocks * sizeof *x0);
            assert_memory_equal(out + m * blocks, xm, (size_t)blocks * sizeof *xm);
            wm_chain_free(c);
        }
}

static void linear_mixed_and_kept_in_one_chain(void **state)
{
    enum { M = 4, D = 5 };
    const int64_t columns[D] = {WM_COLUMN_KEPT, WM_COLUMN_LINEAR, 0, WM_COLUMN_LINEAR, 1};
    /* two blocks in four bridges: their moments are 1/4 and 3/4 of the chain, waymarks 1 and 3 */
    const int first[D] = {0, 0, 1, 0, 3};
    const wm_alphas a = power(2, M);
    double x0[2 * D], xm[2 * D], out[(M + 1) * 2 * D];
    const wm_ends_f64 ends = {.rows = 2, .x0 = x0, .xm = xm};
    wm_chain *c = chain(M, &a, D, columns);

    (void)state;
    label(2, D, x0, xm);
    wm_chain_waymarks_f64(c, &ends, out);
    for (int k = 0; k <= M; k++)
        for (int i = 0; i < 2 * D; i++) {
            const int j = i % D;
            const double keep = sqrt(1 - a.alpha[k] * a.alpha[k]);
            const double want = j == 0             ? x0[i]
                                : j == 1 || j == 3 ? keep * x0[i] + a.alpha[k] * xm[i]
                                : k >= first[j]    ? xm[i]
                                                   : x0[i];

            assert_near(out[k * 2 * D + i], want, 1e-12);
        }
    wm_chain_free(c);
}

static void random_turns_are_permutations(void **state)
{
    enum { ROWS = 6000, B = 3 };
    const int64_t columns[B] = {0, 1, 2};
    static int64_t turns[ROWS * B], again[ROWS * B];
    static double x0[ROWS * B], xm[ROWS * B], out[(B + 1) * ROWS * B];
    const wm_ends_f64 ends = {.rows = ROWS, .x0 = x0, .xm = xm, .turns = turns};
    wm_chain *c = chain(B, NULL, B, columns);
    int count[B][B] = {{0}};

    (void)state;
    label(ROWS, B, x0, xm);
    wm_chain_draw_turns(c, 5, 17, ROWS, turns);
    wm_chain_draw_turns(c, 5, 17, ROWS, again);
    assert_memory_equal(turns, again, sizeof turns);
    wm_chain_draw_turns(c, 5, 18, ROWS, again);
    assert_memory_not_equal(turns, again, sizeof turns);
    wm_chain_draw_turns(c, 6, 17, ROWS, again);
    assert_memory_not_equal(turns, again, sizeof turns);
    wm_chain_waymarks_f64(c, &ends, out);
    for (int i = 0; i < ROWS; i++) {
        int seen = 0;

        for (int b = 0; b < B; b++) {
            seen |= 1 << turns[i * B + b];
            count[b][turns[i * B + b]]++;
        }
        assert_int_equal(seen, 7);
        for (int k = 0; k <= B; k++) /* block b is x_m's when its turn is among the first k */
            for (int b = 0; b < B; b++)
                assert_true(out[(k * ROWS + i) * B + b] ==
                            (turns[i * B + b] < k ? xm : x0)[i * B + b]);
    }
    for (int b = 0; b < B; b++) /* binomial (ROWS, 1/3): sd 36.5 */
        for (int t = 0; t < B; t++)
            assert_near(count[b][t], ROWS / 3.0, 5 * sqrt(ROWS * 2.0 / 9));
    wm_chain_free(c);
}

/* Bridges' order is the waymarks' order with the inner ones twice; rows are gathered. */
static void bridges_hold_neighbouring_waymarks(void **state)
{
    enum { ROWS = 4, D = 3, M = 5 };
    const int64_t row0[ROWS] = {6, 0, 3, 3}, rowm[ROWS] = {1, 6, 0, 2};
    const int64_t columns[D] = {WM_COLUMN_LINEAR, 0, WM_COLUMN_KEPT};
    const wm_alphas a = power(1.5, M);
    double x0[7 * D], xm[7 * D], way[(M + 1) * ROWS * D], out[M * 2 * ROWS * D];
    float f0[7 * D], fm[7 * D], fway[(M + 1) * ROWS * D], fout[M * 2 * ROWS * D];
    const wm_ends_f64 ends = {.rows = ROWS, .x0 = x0, .xm = xm, .row0 = row0, .rowm = rowm};
    const wm_ends_f32 fends = {.rows = ROWS, .x0 = f0, .xm = fm, .row0 = row0, .rowm = rowm};
    wm_chain *c = chain(M, &a, D, columns);

    (void)state;
    label(7, D, x0, xm);
    for (int i = 0; i < 7 * D; i++) {
        f0[i] = (float)x0[i];
        fm[i] = (float)xm[i];
    }
    wm_chain_waymarks_f64(c, &ends, way);
    wm_chain_waymarks_f32(c, &fends, fway);
    wmi_chain_bridges_f64(c, &ends, out);
    wmi_chain_bridges_f32(c, &fends, fout);
    for (int i = 0; i < ROWS; i++) /* the ends are the rows that were named */
        for (int j = 0; j < D; j++) {
            assert_true(way[i * D + j] == x0[row0[i] * D + j]);
            if (j < 2)
                assert_true(way[(M * ROWS + i) * D + j] == xm[rowm[i] * D + j]);
        }
    for (int k = 0; k < M; k++) {
        const size_t half = ROWS * D;

        assert_memory_equal(out + 2 * (size_t)k * half, way + (size_t)k * half,
                            2 * half * sizeof *out);
        assert_memory_equal(fout + 2 * (size_t)k * half, fway + (size_t)k * half,
                            2 * half * sizeof *fout);
    }
    for (int i = 0; i < (M + 1) * ROWS * D; i++)
        assert_near(fway[i], way[i], 1e-4); /* 2^-24 of values up to 162, twice */
    wm_chain_free(c);
}

typedef struct map_ctx {
    int64_t calls, rows;
} map_ctx;

/* x = exp(z), which is not linear: mapping before mixing would be seen. */
static wm_status exp_map(void *ctx, int64_t n, int64_t dim, double *z, double *x, wm_error *err)
{
    map_ctx *m = ctx;

    (void)err;
    m->calls++;
    m->rows += n;
    for (int64_t i = 0; i < n * dim; i++)
        x[i] = exp(z[i]);
    return WM_OK;
}

static wm_status bad_map(void *ctx, int64_t n, int64_t dim, float *z, float *x, wm_error *err)
{
    (void)ctx, (void)n, (void)dim, (void)z, (void)x, (void)err;
    return WM_EDIVERGED;
}

static void waymarks_in_z_space_are_mapped_once(void **state)
{
    enum { ROWS = 3, D = 2, M = 3 };
    const wm_alphas a = power(1, M);
    double z0[ROWS * D], zm[ROWS * D], work[2 * (M + 1) * ROWS * D], out[M * 2 * ROWS * D];
    float f[2 * (M + 1) * ROWS * D] = {0};
    const wm_ends_f64 ends = {.rows = ROWS, .x0 = z0, .xm = zm};
    const wm_ends_f32 fends = {.rows = ROWS, .x0 = f, .xm = f};
    wm_chain *c = chain(M, &a, D, NULL);
    map_ctx ctx = {0};
    wm_error err = {0};

    (void)state;
    label(ROWS, D, z0, zm);
    for (int i = 0; i < ROWS * D; i++) {
        z0[i] *= 0.01;
        zm[i] *= 0.01;
    }
    assert_ok(wmi_chain_bridges_mapped_f64(c, &ends, exp_map, &ctx, work, out, &err), err);
    assert_int_equal(ctx.calls, 1);
    assert_int_equal(ctx.rows, (M + 1) * ROWS);
    for (int k = 0; k < M; k++)
        for (int half = 0; half < 2; half++)
            for (int i = 0; i < ROWS * D; i++) {
                const double t = (k + half) / 3.0;

                assert_near(out[(2 * k + half) * ROWS * D + i],
                            exp(sqrt(1 - t * t) * z0[i] + t * zm[i]), 1e-13);
            }
    assert_int_equal(wmi_chain_bridges_mapped_f32(c, &fends, bad_map, NULL, f, f, &err),
                     WM_EDIVERGED);
    wm_chain_free(c);
}

static void threads_do_not_change_the_bits(void **state)
{
    enum { ROWS = 900, D = 40, M = 4 };
    const wmi_rng r = wmi_rng_make(3, "x");
    const wm_alphas a = power(2, M);
    const size_t n = (size_t)M * 2 * ROWS * D;
    float *x = malloc(2 * ROWS * D * sizeof *x), *one = malloc(n * sizeof *one),
          *many = malloc(n * sizeof *many);
    /* cppcheck-suppress nullPointerArithmeticRedundantCheck ; asserted below, before it is used */
    const wm_ends_f32 ends = {.rows = ROWS, .x0 = x, .xm = x + ROWS * D};
    const int before = omp_get_max_threads();
    wm_chain *c = chain(M, &a, D, NULL);

    (void)state;
    assert_true(x && one && many);
    wmi_rng_normal_f32(&r, 0, 2 * ROWS * D, x);
    omp_set_num_threads(1);
    wmi_chain_bridges_f32(c, &ends, one);
    omp_set_num_threads(7);
    wmi_chain_bridges_f32(c, &ends, many);
    omp_set_num_threads(before);
    assert_memory_equal(one, many, n * sizeof *one);
    wm_chain_free(c);
    free(x), free(one), free(many);
}

static void bad_chains_are_refused(void **state)
{
    const int64_t gap[] = {0, 2, 2}, kept[] = {WM_COLUMN_KEPT, WM_COLUMN_KEPT, WM_COLUMN_KEPT};
    const int64_t far[] = {0, 3, 1}, low[] = {0, -3, 1}, two[] = {0, 1, 1}, mixed[] = {-1, 0, 0};
    const wm_alphas a = power(1, 4);
    const struct {
        int64_t bridges, dim;
        const wm_alphas *alphas;
        const int64_t *columns;
        const char *words;
    } bad[] = {
        {0, 3, &a, NULL, "0 bridges"},
        {4, 0, &a, NULL, "0 columns"},
        {3, 3, &a, NULL, "3 bridges, but the alphas are for 4"},
        {4, 3, NULL, NULL, "need alphas"},
        {4, 3, NULL, mixed, "need alphas"},
        {3, 3, NULL, two, "at most 2 bridges"},
        {2, 3, NULL, gap, "block 1 of 3"},
        {2, 3, NULL, far, "column 2: block 3"},
        {2, 3, NULL, low, "column 2: block -3"},
        {1, 3, &a, kept, "all 3 columns are kept"},
    };
    wm_error err;
    wm_chain *c;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        c = (wm_chain *)&err;
        assert_int_equal(
            wm_chain_new(&c, bad[i].bridges, bad[i].alphas, bad[i].dim, bad[i].columns, &err),
            WM_EINVAL);
        assert_null(c);
        if (!strstr(err.text, bad[i].words))
            fail_msg("'%s' is not in: %s", bad[i].words, err.text);
    }
}

static void out_of_memory_is_reported(void **state)
{
    const int64_t columns[] = {-1, 0, 1};
    const wm_alphas a = power(1, 2);
    const int64_t live = wmi_alloc_live();
    int64_t k = 0;
    wm_chain *c = NULL;

    (void)state;
    for (wm_status st = WM_ENOMEM; st;) { /* until a call goes through */
        wm_error err = {0};

        wmi_alloc_fail_at(++k);
        st = wm_chain_new(&c, 2, &a, 3, columns, &err);
        wmi_alloc_fail_at(0);
        assert_true(st == WM_OK ? c != NULL : st == WM_ENOMEM && !c);
        if (st)
            assert_int_equal(wmi_alloc_live(), live);
    }
    assert_true(k > 4);
    wm_chain_free(c);
    wm_chain_free(NULL);
    assert_int_equal(wmi_alloc_live(), live);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gaussian_waymarks_have_their_variance),
        cmocka_unit_test(linear_keeps_its_digits_and_ends),
        cmocka_unit_test(mixing_takes_the_first_k_blocks),
        cmocka_unit_test(given_blocks_switch_in_their_order),
        cmocka_unit_test(blocks_spread_over_the_chain),
        cmocka_unit_test(linear_mixed_and_kept_in_one_chain),
        cmocka_unit_test(random_turns_are_permutations),
        cmocka_unit_test(bridges_hold_neighbouring_waymarks),
        cmocka_unit_test(waymarks_in_z_space_are_mapped_once),
        cmocka_unit_test(threads_do_not_change_the_bits),
        cmocka_unit_test(bad_chains_are_refused),
        cmocka_unit_test(out_of_memory_is_reported),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
