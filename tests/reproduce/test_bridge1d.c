/* test_bridge1d.c - the exact minimiser against closed forms and against brute force. */
#include "asserts.h"

#include <stdlib.h>
#include <string.h>

#include "reproduce/peaked/peaked.h"

static double minimiser(peaked_loss loss, int64_t n, const double *p, const double *q, double c)
{
    const peaked_bridge b = {.n = n, .p = p, .q = q, .c = c};
    wm_error err = {0};
    double theta;

    assert_ok(peaked_minimise(&theta, loss, &b, &err), err);
    return theta;
}

/* One sample a side. NWJ is w a + exp(c - w b): w = (c + log(b / a)) / b. With a = b the logistic
 * and the LSQ loss are even functions of log r = c - w a: w = c / a. */
static void one_sample_has_a_closed_form(void **state)
{
    const double c = 13.8, a = 1e-12, b = 0.3;
    const double w = (c + log(b / a)) / b;

    (void)state;
    assert_near(minimiser(PEAKED_NWJ, 1, &a, &b, c), 0.5 * log(w), 1e-11);
    for (double k = 0.5; k < 15; k += 1.7) {
        assert_near(minimiser(PEAKED_LOGISTIC, 1, &b, &b, k), 0.5 * log(k / b), 1e-11);
        assert_near(minimiser(PEAKED_LSQ, 1, &b, &b, k), 0.5 * log(k / b), 1e-11);
    }
}

/* Samples on the wrong side: the best ratio is constant. */
static void no_curvature_is_minus_infinity(void **state)
{
    const double a = 100, b = 1;

    (void)state;
    for (int loss = 0; loss < PEAKED_LOSSES; loss++)
        assert_true(minimiser((peaked_loss)loss, 1, &a, &b, 1) == -INFINITY);
    assert_true(peaked_combine((const double[]){-INFINITY, 2, -INFINITY}, 3) == 2);
    assert_true(peaked_combine((const double[]){-INFINITY}, 1) == -INFINITY);
    assert_near(peaked_combine((const double[]){400, 400}, 2), 400 + 0.5 * log(2), 1e-12);
}

/* x -> s x moves theta by -log s, wherever the data lie: nothing in the search knows the scale. */
static void scale_moves_theta(void **state)
{
    enum { N = 10 };
    peaked_chain chain;
    double u[2 * N], v[2 * N];
    wm_error err = {0};

    (void)state;
    assert_ok(peaked_chain_make(&chain, 0, &err), err);
    assert_ok(peaked_squares(&chain, 3, N, 0, u, &err), err);
    for (int i = 0; i < 2 * N; i++)
        v[i] = u[i] * 1e16;
    for (int loss = 0; loss < PEAKED_LOSSES; loss++) {
        const double a = minimiser((peaked_loss)loss, N, u, u + N, 13.8);
        const double b = minimiser((peaked_loss)loss, N, v, v + N, 13.8);

        assert_near(a - b, log(1e8), 1e-9);
    }
}

/* Brute force: the loss on a grid a tenth as wide as what one sample can do to it, over a range far
 * beyond the samples. The minimiser is no worse than any point of it, to rounding, and next to the
 * best. LSQ has several minima in many of these samples, or this test would not show much. */
static void brute_force_finds_nothing_better(void **state)
{
    enum { N = 10, REPEATS = 12, STEPS = 6000 };
    int several[PEAKED_LOSSES] = {0};
    double u[(PEAKED_BRIDGES + 1) * N];
    wm_error err = {0};

    (void)state;
    for (int64_t repeat = 0; repeat < REPEATS; repeat++)
        for (int method = 0; method <= 8; method += 4)
            for (int loss = 0; loss < PEAKED_LOSSES; loss++) {
                peaked_chain chain;

                assert_ok(peaked_chain_make(&chain, method, &err), err);
                assert_ok(peaked_squares(&chain, 2, N, repeat, u, &err), err);
                for (int64_t k = 0; k < chain.bridges; k++) {
                    const peaked_bridge b = peaked_bridge_of(&chain, u, N, k);
                    const double found = minimiser((peaked_loss)loss, N, b.p, b.q, b.c);
                    const double at = peaked_loss_at((peaked_loss)loss, &b, found);
                    double best = INFINITY, where = 0, last = INFINITY;
                    int minima = 0, falling = 1;

                    for (int i = 0; i <= STEPS; i++) {
                        const double theta = -25 + 60.0 * i / STEPS; /* step 0.01 */
                        const double y = peaked_loss_at((peaked_loss)loss, &b, theta);

                        if (y < best) {
                            best = y;
                            where = theta;
                        }
                        /* turns that are not rounding: plateaus shake in the last digits */
                        if (falling && y - last > 1e-9 * fabs(last)) {
                            minima++;
                            falling = 0;
                        } else if (last - y > 1e-9 * fabs(last)) {
                            falling = 1;
                        }
                        last = y;
                    }
                    several[loss] += minima > 1;
                    assert_true(at <= best + 1e-12 * fabs(best)); /* rounding of the sums */
                    /* two minima may tie to rounding; these do not */
                    assert_near(found, where, 0.011);
                }
            }
    assert_int_equal(several[PEAKED_LOGISTIC], 0); /* convex in w */
    assert_int_equal(several[PEAKED_NWJ], 0);
    assert_true(several[PEAKED_LSQ] > REPEATS / 2);
}

/* The slope is zero there: half a step to either side is higher by the same amount. */
static void minimiser_is_stationary(void **state)
{
    enum { N = 200 };
    static double u[(PEAKED_BRIDGES + 1) * N];
    const double h = 1e-3;
    wm_error err = {0};

    (void)state;
    for (int loss = 0; loss < PEAKED_LOSSES; loss++) {
        peaked_chain chain;

        assert_ok(peaked_chain_make(&chain, 7, &err), err);
        assert_ok(peaked_squares(&chain, 5, N, 0, u, &err), err);
        for (int64_t k = 0; k < chain.bridges; k++) {
            const peaked_bridge b = peaked_bridge_of(&chain, u, N, k);
            const double t = minimiser((peaked_loss)loss, N, b.p, b.q, b.c);
            const double y = peaked_loss_at((peaked_loss)loss, &b, t);
            const double up = peaked_loss_at((peaked_loss)loss, &b, t + h) - y;
            const double down = peaked_loss_at((peaked_loss)loss, &b, t - h) - y;

            assert_true(up > 0 && down > 0);
            /* up - down = f''' h^3 / 3 against up + down = f'' h^2; f''' / f'' is of order 10 */
            assert_near((up - down) / (up + down), 0, 20 * h);
        }
    }
}

/* The paper's problem in numbers: alphas, waymarks, thetas. */
static void truth_is_the_paper_s(void **state)
{
    const double theta[] = {13.46880, 9.35732, 4.50374, 1.65821};
    peaked_chain single, chain;
    double all[PEAKED_BRIDGES];
    wm_error err = {0};

    (void)state;
    assert_ok(peaked_chain_make(&single, 0, &err), err);
    assert_ok(peaked_chain_make(&chain, 7, &err), err);
    assert_int_equal(single.bridges, 1);
    assert_int_equal(chain.bridges, 4);
    assert_near(peaked_true_theta(&single, 0), 13.46894, 5e-6);
    for (int64_t k = 0; k < 4; k++) {
        all[k] = peaked_true_theta(&chain, k);
        assert_near(all[k], theta[k], 6e-6);
    }
    assert_near(peaked_combine(all, 4), peaked_true_theta(&single, 0), 1e-12); /* they telescope */
}

static void bad_samples_are_refused(void **state)
{
    const double good[] = {1, 2}, nan[] = {1, NAN}, inf[] = {INFINITY, 1}, zero[] = {0, 0};
    const struct {
        peaked_bridge b;
        const char *words;
    } bad[] = {
        {{.n = 0, .p = good, .q = good, .c = 1}, "at least one"},
        {{.n = 2, .p = nan, .q = good, .c = 1}, "not finite"},
        {{.n = 2, .p = good, .q = inf, .c = 1}, "not finite"},
        {{.n = 2, .p = zero, .q = zero, .c = 1}, "differs from 0"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        wm_error err = {0};
        double theta;

        assert_int_equal(peaked_minimise(&theta, PEAKED_LOGISTIC, &bad[i].b, &err), WM_EINVAL);
        assert_non_null(strstr(err.text, bad[i].words));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_sample_has_a_closed_form),
        cmocka_unit_test(no_curvature_is_minus_infinity),
        cmocka_unit_test(scale_moves_theta),
        cmocka_unit_test(brute_force_finds_nothing_better),
        cmocka_unit_test(minimiser_is_stationary),
        cmocka_unit_test(truth_is_the_paper_s),
        cmocka_unit_test(bad_samples_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
