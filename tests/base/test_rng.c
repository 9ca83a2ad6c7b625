/* test_rng.c - known answers, distribution, and independence of ranges and threads.
 * Statistical bounds are 5 standard errors: a right generator fails one such check with probability
 * 6e-7, and since the seeds are fixed, it either always passes or never. */
#include "asserts.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "rng_values.h"

enum { N = 1000000 };

static double normal_cdf(double x)
{
    return 0.5 * erfc(-x / sqrt(2.0));
}

/* kat_vectors of Random123: philox4x32 10. */
static void philox_known_answers(void **state)
{
    static const struct {
        uint64_t block;
        wmi_rng rng;
        uint32_t expected[4];
    } cases[] = {
        {0, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {UINT64_MAX, {UINT64_MAX, UINT64_MAX}, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {0x85a308d3243f6a88,
         {.key = 0x299f31d0a4093822, .high = 0x0370734413198a2e},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };

    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        uint32_t out[4];

        wmi_rng_block(&cases[k].rng, cases[k].block, out);
        assert_memory_equal(out, cases[k].expected, sizeof out);
    }
}

/* Bits must not change silently: seeds in users' records would mean something else. Normals go
 * through libm or our float polynomials, so they get a tolerance: a few ulp of double, and for
 * float |z| eps (about 3 ulp) from the polynomials plus the rounding of u near 1, 2^-25 / r. */
static void streams_keep_their_stored_values(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof stored / sizeof *stored; k++) {
        wmi_rng rng = wmi_rng_make(stored[k].seed, stored[k].name);
        double uniform[6], normal[6];
        float uniform_f32[6], normal_f32[6];

        if (stored[k].sub != UINT64_MAX)
            rng = wmi_rng_sub(&rng, stored[k].sub);
        wmi_rng_uniform_f64(&rng, FIRST, 6, uniform);
        wmi_rng_normal_f64(&rng, FIRST, 6, normal);
        wmi_rng_uniform_f32(&rng, FIRST, 6, uniform_f32);
        wmi_rng_normal_f32(&rng, FIRST, 6, normal_f32);
        for (int i = 0; i < 6; i++) {
            assert_true(wmi_rng_u64(&rng, FIRST + (uint64_t)i) == stored[k].u64[i]);
            assert_true(uniform[i] == stored[k].uniform[i]);
            assert_true((double)uniform_f32[i] == stored[k].uniform_f32[i]);
            assert_near(normal[i], stored[k].normal[i], 1e-14);
            assert_near((double)normal_f32[i], stored[k].normal_f32[i], 2e-6);
        }
    }
}

/* Every value of the angle's quarters and of the radius' ends, against the formula in double. */
static void float_box_muller_is_accurate_and_finite_at_the_extremes(void **state)
{
    static const uint32_t radii[] = {
        0, 1, 2, 3, 0x1000, 0x5a827999, 0xb504f333, 0xb504f334, 0xffffff00, 0xfffffffe, 0xffffffff};
    const double two_pi = 6.283185307179586;

    (void)state;
    for (size_t k = 0; k < sizeof radii / sizeof *radii; k++) {
        for (uint32_t eighth = 0; eighth < 64; eighth++) { /* boundaries of 1/8 turns, +-1 */
            const uint32_t angle = (eighth / 8 << 29) + eighth % 8 - 4, words[] = {radii[k], angle};
            const double u = ((double)(radii[k] >> 1) + 0.5) * 0x1p-31, r = sqrt(-2 * log(u));
            float z[2];

            /* relative 1e-6, and u rounds to 24 bits: r moves by at most sqrt(2 * 2^-25) near 1 */
            wmi_rng_box_muller_f32(words, z);
            assert_near((double)z[0], r * cos(two_pi * (double)angle * 0x1p-32), 1e-6 * r + 2.5e-4);
            assert_near((double)z[1], r * sin(two_pi * (double)angle * 0x1p-32), 1e-6 * r + 2.5e-4);
            if (u < 0.999) {
                assert_near((double)z[0], r * cos(two_pi * (double)angle * 0x1p-32), 3e-6 * r);
                assert_near((double)z[1], r * sin(two_pi * (double)angle * 0x1p-32), 3e-6 * r);
            }
        }
    }
}

static void names_seeds_and_indices_give_other_streams(void **state)
{
    const wmi_rng base = wmi_rng_make(1, "noise");
    const wmi_rng others[] = {wmi_rng_make(2, "noise"),      wmi_rng_make(1, "noisf"),
                              wmi_rng_make(1, "noise "),     wmi_rng_make(1, ""),
                              wmi_rng_sub(&base, 0),         wmi_rng_sub(&base, 1),
                              wmi_rng_sub(&base, 1ULL << 32)};
    enum { OTHERS = sizeof others / sizeof *others };

    (void)state;
    for (size_t a = 0; a < OTHERS; a++) {
        int64_t flipped = 0;

        for (size_t b = 0; b < a; b++)
            assert_true(others[a].key != others[b].key && others[a].high != others[b].high);
        /* Bits that differ from the base stream: binomial, mean 32 and variance 16 per word. */
        for (uint64_t i = 0; i < 10000; i++)
            flipped += __builtin_popcountll(wmi_rng_u64(&base, i) ^ wmi_rng_u64(&others[a], i));
        assert_near((double)flipped / 10000, 32, 5 * 4 / 100.0);
    }
}

/* Ranges that start and end anywhere in a chunk. */
static void pieces_equal_the_whole(void **state)
{
    const wmi_rng rng = wmi_rng_make(3, "pieces");
    enum { LENGTH = 1000 };
    float whole32[LENGTH], part32[LENGTH];
    double whole64[LENGTH], part64[LENGTH];

    (void)state;
#define PIECES(draw, whole, part)                                                                  \
    draw(&rng, 5, LENGTH, whole);                                                                  \
    for (int64_t at = 0, step = 1; at < LENGTH; at += step, step = step * 3 % 101) {               \
        const int64_t n = at + step < LENGTH ? step : LENGTH - at;                                 \
        draw(&rng, 5 + (uint64_t)at, n, part + at);                                                \
    }                                                                                              \
    assert_memory_equal(whole, part, sizeof whole)

    PIECES(wmi_rng_uniform_f32, whole32, part32);
    PIECES(wmi_rng_normal_f32, whole32, part32);
    PIECES(wmi_rng_uniform_f64, whole64, part64);
    PIECES(wmi_rng_normal_f64, whole64, part64);
    part64[0] = 42;
    wmi_rng_normal_f64(&rng, 7, 0, part64); /* nothing asked for, nothing written */
    assert_true(part64[0] == 42);
}

static void bits_do_not_depend_on_threads(void **state)
{
    const wmi_rng rng = wmi_rng_make(4, "threads");
    const int64_t n = 100003; /* above the threshold, and not a multiple of anything */
    const int before = omp_get_max_threads();
    float *a = malloc((size_t)n * sizeof *a), *b = malloc((size_t)n * sizeof *b);
    double *c = malloc((size_t)n * sizeof *c), *d = malloc((size_t)n * sizeof *d);

    (void)state;
    assert_true(a && b && c && d);
    omp_set_num_threads(1);
    wmi_rng_normal_f32(&rng, 3, n, a);
    wmi_rng_normal_f64(&rng, 3, n, c);
    for (int threads = 2; threads <= 7; threads += 5) {
        omp_set_num_threads(threads);
        memset(b, 0, (size_t)n * sizeof *b);
        memset(d, 0, (size_t)n * sizeof *d);
        wmi_rng_normal_f32(&rng, 3, n, b);
        wmi_rng_normal_f64(&rng, 3, n, d);
        assert_memory_equal(a, b, (size_t)n * sizeof *a);
        assert_memory_equal(c, d, (size_t)n * sizeof *c);
    }
    omp_set_num_threads(before);
    free(a);
    free(b);
    free(c);
    free(d);
}

/* E z^k = 0, 1, 0, 3 with variances E z^2k - (E z^k)^2 = 1, 2, 15, 96; products of neighbours have
 * mean 0 and variance 1; a share of p below a quantile has variance p (1 - p). All over N. */
static void check_normal(const double *z)
{
    static const double mean[] = {0, 1, 0, 3}, var[] = {1, 2, 15, 96};
    static const double quantiles[] = {-3.5, -2, -1, -0.3, 0, 0.3, 1, 2, 3.5};
    double sums[4] = {0}, lag1 = 0, lag2 = 0;

    for (int64_t i = 0; i < N; i++) {
        double power = 1;

        assert_true(isfinite(z[i]));
        for (int k = 0; k < 4; k++)
            sums[k] += power *= z[i];
        lag1 += i >= 1 ? z[i] * z[i - 1] : 0;
        lag2 += i >= 2 ? z[i] * z[i - 2] : 0;
    }
    for (int k = 0; k < 4; k++)
        assert_near(sums[k] / N, mean[k], 5 * sqrt(var[k] / N));
    assert_near(lag1 / N, 0, 5 / sqrt(N));
    assert_near(lag2 / N, 0, 5 / sqrt(N));
    for (size_t k = 0; k < sizeof quantiles / sizeof *quantiles; k++) {
        const double p = normal_cdf(quantiles[k]);
        int64_t below = 0;

        for (int64_t i = 0; i < N; i++)
            below += z[i] < quantiles[k];
        assert_near((double)below / N, p, 5 * sqrt(p * (1 - p) / N));
    }
}

static void normals_are_normal(void **state)
{
    const wmi_rng rng = wmi_rng_make(5, "normal");
    float *z32 = malloc(N * sizeof *z32);
    double *z = malloc(N * sizeof *z);

    (void)state;
    assert_true(z32 && z);
    wmi_rng_normal_f64(&rng, 0, N, z);
    check_normal(z);
    wmi_rng_normal_f32(&rng, 0, N, z32);
    for (int64_t i = 0; i < N; i++)
        z[i] = (double)z32[i];
    check_normal(z);
    free(z32);
    free(z);
}

/* Chi-square with k - 1 degrees of freedom has mean k - 1 and variance 2 (k - 1). */
static void check_even(const int64_t *count, int k, double total)
{
    double chi2 = 0;

    for (int i = 0; i < k; i++)
        chi2 += ((double)count[i] - total / k) * ((double)count[i] - total / k) / (total / k);
    assert_near(chi2, k - 1, 5 * sqrt(2.0 * (k - 1))); /* too even is wrong as well */
}

static void uniforms_are_uniform_and_open(void **state)
{
    const wmi_rng rng = wmi_rng_make(6, "uniform");
    enum { CELLS = 128 };
    int64_t count32[CELLS] = {0}, count64[CELLS] = {0}, below[100] = {0};
    float *u32 = malloc(N * sizeof *u32);
    double *u64 = malloc(N * sizeof *u64);

    (void)state;
    assert_true(u32 && u64);
    wmi_rng_uniform_f32(&rng, 0, N, u32);
    wmi_rng_uniform_f64(&rng, 0, N, u64);
    for (int64_t i = 0; i < N; i++) {
        const int64_t b = wmi_rng_below(&rng, (uint64_t)i, 100);

        assert_true(u32[i] > 0 && u32[i] < 1 && u64[i] > 0 && u64[i] < 1);
        assert_true(b >= 0 && b < 100);
        count32[(int)(u32[i] * CELLS)]++;
        count64[(int)(u64[i] * CELLS)]++;
        below[b]++;
    }
    check_even(count32, CELLS, N);
    check_even(count64, CELLS, N);
    check_even(below, 100, N);
    assert_int_equal(wmi_rng_below(&rng, 0, 1), 0);
    /* A huge bound takes the high bits: the value is bound * u64 / 2^64, not modulo. */
    assert_near((double)wmi_rng_below(&rng, 9, INT64_MAX), (double)wmi_rng_u64(&rng, 9) / 2, 1e4);
    free(u32);
    free(u64);
}

static void permutations_are_permutations(void **state)
{
    const wmi_rng rng = wmi_rng_make(7, "permutation");
    enum { LENGTH = 1000 };
    int64_t out[LENGTH];
    char seen[LENGTH] = {0};
    int64_t at_home = 0;

    (void)state;
    wmi_rng_permutation(&rng, LENGTH, out);
    for (int i = 0; i < LENGTH; i++) {
        assert_true(out[i] >= 0 && out[i] < LENGTH && !seen[out[i]]);
        seen[out[i]] = 1;
        at_home += out[i] == i;
    }
    assert_true(at_home <= 6); /* fixed points: Poisson, mean 1, standard deviation 1 */
    wmi_rng_permutation(&rng, 1, out);
    assert_int_equal(out[0], 0);
    out[0] = 42;
    wmi_rng_permutation(&rng, 0, out);
    assert_int_equal(out[0], 42);
}

/* All 24 orders of 4 things are equally likely. */
static void permutations_are_uniform(void **state)
{
    const wmi_rng rng = wmi_rng_make(8, "permutation");
    const int64_t draws = 240000;
    int64_t count[24] = {0};

    (void)state;
    for (int64_t k = 0; k < draws; k++) {
        const wmi_rng sub = wmi_rng_sub(&rng, (uint64_t)k);
        int64_t p[4];
        int rank = 0; /* Lehmer code */

        wmi_rng_permutation(&sub, 4, p);
        for (int i = 0; i < 4; i++) {
            int smaller = 0;

            for (int j = i + 1; j < 4; j++)
                smaller += p[j] < p[i];
            rank = rank * (4 - i) + smaller;
        }
        count[rank]++;
    }
    check_even(count, 24, (double)draws);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(philox_known_answers),
        cmocka_unit_test(streams_keep_their_stored_values),
        cmocka_unit_test(float_box_muller_is_accurate_and_finite_at_the_extremes),
        cmocka_unit_test(names_seeds_and_indices_give_other_streams),
        cmocka_unit_test(pieces_equal_the_whole),
        cmocka_unit_test(bits_do_not_depend_on_threads),
        cmocka_unit_test(normals_are_normal),
        cmocka_unit_test(uniforms_are_uniform_and_open),
        cmocka_unit_test(permutations_are_permutations),
        cmocka_unit_test(permutations_are_uniform),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
