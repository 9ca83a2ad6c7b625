/* test_pairing.c - every row once a round, pairs uniform, all of it a function of (seed, step). */
#include "asserts.h"

#include <stdlib.h>
#include <string.h>

#include "waymark/waymarks.h"

/* Whatever the batch, n consecutive places of the walk are a permutation. */
static void every_row_comes_once_a_round(void **state)
{
    static const int64_t sizes[] = {1, 2, 3, 10, 255, 256, 257, 300, 511, 512, 513, 1000, 4097};
    static const int64_t batches[] = {1, 7, 64, 1000};

    (void)state;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (size_t b = 0; b < sizeof batches / sizeof *batches; b++) {
            const int64_t n = sizes[s], batch = batches[b];
            const int64_t steps = (3 * n + batch - 1) / batch;
            int64_t *row = malloc((size_t)(steps * batch) * sizeof *row);
            char *seen = calloc((size_t)n, 1);

            assert_true(row && seen);
            for (int64_t t = 0; t < steps; t++)
                wm_pairing_draw(9, t, n, 1, batch, row + t * batch, NULL);
            for (int64_t round = 0; round < 3; round++) {
                memset(seen, 0, (size_t)n);
                for (int64_t i = 0; i < n; i++) {
                    const int64_t r = row[round * n + i];

                    assert_true(r >= 0 && r < n && !seen[r]);
                    seen[r] = 1;
                }
            }
            free(row), free(seen);
        }
}

static void a_function_of_seed_and_step(void **state)
{
    int64_t a0[50], am[50], b0[50], bm[50];

    (void)state;
    wm_pairing_draw(1, 1000000, 5000, 7000, 50, a0, am);
    wm_pairing_draw(1, 1000000, 5000, 7000, 50, b0, bm);
    assert_memory_equal(a0, b0, sizeof a0);
    assert_memory_equal(am, bm, sizeof am);
    wm_pairing_draw(1, 1000001, 5000, 7000, 50, b0, bm);
    assert_memory_not_equal(a0, b0, sizeof a0);
    assert_memory_not_equal(am, bm, sizeof am);
    wm_pairing_draw(2, 1000000, 5000, 7000, 50, b0, bm);
    assert_memory_not_equal(a0, b0, sizeof a0);
    assert_memory_not_equal(am, bm, sizeof am);
    /* the sides do not march together */
    wm_pairing_draw(1, 3, 5000, 5000, 50, a0, am);
    assert_memory_not_equal(a0, am, sizeof a0);
}

/* Chi-square of `cells` equally likely cells has mean cells - 1 and variance 2 (cells - 1): the
 * bound is 5 standard deviations. Cells filled by permutations vary less, so it holds for them. */
static void check_even(const int *count, int cells, double expected)
{
    double chi = 0;

    for (int c = 0; c < cells; c++)
        chi += (count[c] - expected) * (count[c] - expected) / expected;
    if (!(chi < cells - 1 + 5 * sqrt(2.0 * (cells - 1))))
        fail_msg("chi-square %g of %d cells", chi, cells);
}

/* n = 5 is shuffled outright, n = 300 by the network: who meets whom, and who follows whom. */
static void partners_are_uniform(void **state)
{
    static const int64_t sizes[] = {5, 300};
    enum { STEPS = 20000, BATCH = 30, CELLS = 5 };

    (void)state;
    for (int s = 0; s < 2; s++) {
        const int64_t n = sizes[s], wide = n / CELLS;
        int pair[CELLS * CELLS] = {0}, next[CELLS * CELLS] = {0}, place[CELLS * CELLS] = {0};
        int64_t r0[BATCH], rm[BATCH];

        for (int64_t t = 0; t < STEPS; t++) {
            wm_pairing_draw(77, t, n, n, BATCH, r0, rm);
            for (int i = 0; i < BATCH; i++) {
                pair[r0[i] / wide * CELLS + rm[i] / wide]++;
                if (n == 5)
                    place[(t * BATCH + i) % n * CELLS + r0[i]]++;
                else
                    place[(t * BATCH + i) % n / wide * CELLS + r0[i] / wide]++;
            }
            for (int i = 0; n == 300 && i + 1 < BATCH; i += 2)
                next[r0[i] / wide * CELLS + r0[i + 1] / wide]++;
        }
        check_even(pair, CELLS * CELLS, STEPS * (double)BATCH / CELLS / CELLS);
        check_even(place, CELLS * CELLS, STEPS * (double)BATCH / CELLS / CELLS);
        /* two of 300 without replacement fall into the same of 5 equal cells with probability
         * 59/299 instead of 1/5: that adds 13 to the chi-square, whose bound is 58 */
        if (n == 300)
            check_even(next, CELLS * CELLS, STEPS * (double)(BATCH / 2) / CELLS / CELLS);
    }
}

/* The network's rounds are unrelated: how often a row keeps its place from one round to the next is
 * Poisson(1) for random permutations. */
static void rounds_are_unrelated(void **state)
{
    enum { N = 1000, ROUNDS = 2000 };
    static int64_t last[N], now[N];
    int64_t same = 0;

    (void)state;
    wm_pairing_draw(4, 0, N, 1, N, last, NULL);
    for (int64_t e = 1; e <= ROUNDS; e++) {
        wm_pairing_draw(4, e, N, 1, N, now, NULL);
        for (int i = 0; i < N; i++)
            same += now[i] == last[i];
        memcpy(last, now, sizeof last);
    }
    assert_near((double)same, ROUNDS, 5 * sqrt(ROUNDS));
}

/* A full batch of tables of different sizes: every p0 row once, pm rows as evenly as can be. */
static void a_full_batch_pairs_all(void **state)
{
    enum { N0 = 700, NM = 300 };
    static int64_t r0[N0], rm[N0];
    int count0[N0] = {0}, countm[NM] = {0};

    (void)state;
    wm_pairing_draw(8, 0, N0, NM, N0, r0, rm);
    for (int i = 0; i < N0; i++) {
        count0[r0[i]]++;
        countm[rm[i]]++;
    }
    for (int i = 0; i < N0; i++)
        assert_int_equal(count0[i], 1);
    for (int i = 0; i < NM; i++)
        assert_true(countm[i] == 2 || countm[i] == 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_comes_once_a_round),
        cmocka_unit_test(a_function_of_seed_and_step),
        cmocka_unit_test(partners_are_uniform),
        cmocka_unit_test(rounds_are_unrelated),
        cmocka_unit_test(a_full_batch_pairs_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
