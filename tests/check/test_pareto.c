/* test_pareto.c - tails of known shape, and the largest of a sequence. */
#include "asserts.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "check/pareto.h"

enum { N = 40000 };

static void lengths_and_limits(void **state)
{
    (void)state;
    assert_int_equal(wmi_pareto_length(20), 4);
    assert_int_equal(wmi_pareto_length(21), 5);
    assert_int_equal(wmi_pareto_length(100), 20);
    assert_int_equal(wmi_pareto_length(10000), 300);
    assert_int_equal(wmi_pareto_length(10001), 301);
    assert_near(wmi_pareto_limit(100), 0.5, 1e-15);
    assert_near(wmi_pareto_limit(1000000), 0.7, 1e-15);
}

static double k_of(int64_t n, const double *log_w)
{
    wm_error err = {0};
    double k;

    assert_ok(wmi_pareto_k(&k, n, log_w, &err), err);
    return k;
}

/* U^-k has a Pareto tail of shape k, whatever is taken as cutoff; -log U is exponential, k = 0; U
 * is bounded, k = -1. The fit's standard error is (1 + k) / sqrt(m) for k > -1/2, and the pull to
 * 1/2 moves it by 10 / (m + 10) of the way; at k = -1 it is better than that. */
static void tails_of_known_shape_are_recognised(void **state)
{
    const double shapes[] = {0.1, 0.3, 0.7, 1, 2, 4}, m = 600;
    static double u[N], l[N];

    (void)state;
    for (int seed = 0; seed < 3; seed++) {
        const wmi_rng rng = wmi_rng_make((uint64_t)seed, "u");

        wmi_rng_uniform_f64(&rng, 0, N, u);
        for (int s = 0; s < 6; s++) {
            const double k = shapes[s], want = (m * k + 5) / (m + 10);

            for (int i = 0; i < N; i++)
                l[i] = -k * log(u[i]);
            assert_near(k_of(N, l), want, 5 * (1 + k) / sqrt(m));
        }
        for (int i = 0; i < N; i++)
            l[i] =
                -300 * log(u[i]); /* beyond the grid of the fit: too low, and high all the same */
        assert_true(k_of(N, l) > 150 && k_of(N, l) < 350);
        for (int i = 0; i < N; i++)
            l[i] = log(-log(u[i]));
        assert_near(k_of(N, l), 5 / (m + 10), 5 / sqrt(m));
        for (int i = 0; i < N; i++)
            l[i] = log(u[i]);
        assert_near(k_of(N, l), (5 - m) / (m + 10), 5 * 0.5 / sqrt(m));
    }
}

static void scale_and_order_do_not_matter(void **state)
{
    static double u[N], a[N], b[N];
    const wmi_rng rng = wmi_rng_make(4, "u");

    (void)state;
    wmi_rng_uniform_f64(&rng, 0, N, u);
    for (int i = 0; i < N; i++) {
        a[i] = -0.6 * log(u[i]);
        b[N - 1 - i] = a[i] + 5000;
    }
    assert_near(k_of(N, b), k_of(N, a), 1e-9); /* 5000 costs 12 bits of the differences */
    for (int i = 0; i < N; i++)
        b[i] = u[i] < 0.5 ? a[i] : -2e14; /* below the cutoff anything may be */
    assert_true(k_of(N, b) == k_of(N, a));
}

static void odd_samples_have_an_answer(void **state)
{
    double l[100];

    (void)state;
    for (int i = 0; i < 100; i++)
        l[i] = 3;
    assert_true(k_of(100, l) == -INFINITY); /* all the same */
    assert_true(isnan(k_of(20, l)));        /* too few */
    l[7] = 4;
    assert_true(isfinite(k_of(100, l))); /* all at the cutoff but one */
    l[7] = NAN;
    assert_true(isnan(k_of(100, l)));
    l[7] = INFINITY;
    assert_true(isnan(k_of(100, l)));
    for (int i = 0; i < 100; i++)
        l[i] = -INFINITY;
    assert_true(k_of(100, l) == -INFINITY);
    for (int i = 0; i < 12; i++)
        l[i] = 0.1 * i;
    assert_true(isfinite(k_of(100, l))); /* a cutoff of weight 0 */
    for (int i = 0; i < 100; i++)
        l[i] = -1e13 * i; /* one weight has it all */
    assert_true(k_of(100, l) > 1e10);
}

/* The quantiles are those of the distribution: P(X > x) = (1 + k x / sigma)^(-1/k). */
/* A table of levels has few different weights. A fit to their steps said k = 1.3, "a few rows have
 * all the weight", of twelve cells of which the rarest had four rows. */
static void steps_have_no_tail(void **state)
{
    double w[1000], k;

    (void)state;
    for (int i = 0; i < 1000; i++)
        w[i] = i < 10 ? 5 : i < 40 ? 3 : i % 7;
    assert_int_equal(wmi_pareto_k(&k, 1000, w, NULL), WM_OK);
    assert_true(k == -INFINITY);
    for (int i = 0; i < 1000; i++) /* the same, but each for itself */
        w[i] += 1e-3 * i;
    assert_int_equal(wmi_pareto_k(&k, 1000, w, NULL), WM_OK);
    assert_true(k > -INFINITY);
}

static void quantiles_invert_the_distribution(void **state)
{
    const double shapes[] = {-0.8, -1e-9, 0, 1e-9, 0.5, 3}, log_sigma = 1.3, cutoff = 0.4;

    (void)state;
    for (int s = 0; s < 6; s++)
        for (double p = 0.005; p < 1; p += 0.09) {
            const wmi_pareto fit = {shapes[s], log_sigma};
            const double x = exp(wmi_pareto_log_quantile(&fit, cutoff, p)) - exp(cutoff);
            const double z = x / exp(log_sigma), k = shapes[s];
            const double beyond = fabs(k) < 1e-6 ? exp(-z) : pow(1 + k * z, -1 / k);

            assert_near(beyond, 1 - p, 1e-7);
        }
    /* where exp() would be of no use */
    assert_near(wmi_pareto_log_quantile(&(wmi_pareto){400, 2}, -1e4, 0.99),
                2 - log(400) - 400 * log(0.01), 1e-9);
}

static void the_largest_are_kept(void **state)
{
    const wmi_rng rng = wmi_rng_make(5, "top");
    double x[200], kept[40] = {0}, out, rest = 0, all = 0;
    wmi_top top = {.room = 40, .x = kept};

    (void)state;
    wmi_rng_uniform_f64(&rng, 0, 200, x);
    x[17] = x[60] = x[61];
    for (int i = 0; i < 200; i++) {
        all += x[i];
        if (wmi_top_push(&top, x[i], &out))
            rest += out;
    }
    wmi_top_sort(&top);
    assert_int_equal(top.n, 40);
    for (int i = 0; i < 40; i++) {
        int above = 0;

        for (int j = 0; j < 200; j++)
            above += x[j] > kept[i];
        assert_true(above <= 39 - i && (i == 0 || kept[i] >= kept[i - 1]));
        rest += kept[i];
    }
    assert_near(rest, all, 1e-12); /* nothing is lost, nothing doubled */
    top = (wmi_top){.room = 40, .x = kept};
    assert_false(wmi_top_push(&top, 2, &out) || wmi_top_push(&top, 1, &out));
    wmi_top_sort(&top);
    assert_true(top.n == 2 && kept[0] == 1 && kept[1] == 2);
}

static void memory_may_be_short(void **state)
{
    double l[100] = {0}, k;

    (void)state;
    wmi_alloc_fail_at(1);
    assert_int_equal(wmi_pareto_k(&k, 100, l, NULL), WM_ENOMEM);
    assert_true(isnan(k));
    wmi_alloc_fail_at(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lengths_and_limits),
        cmocka_unit_test(tails_of_known_shape_are_recognised),
        cmocka_unit_test(scale_and_order_do_not_matter),
        cmocka_unit_test(odd_samples_have_an_answer),
        cmocka_unit_test(steps_have_no_tail),
        cmocka_unit_test(quantiles_invert_the_distribution),
        cmocka_unit_test(the_largest_are_kept),
        cmocka_unit_test(memory_may_be_short),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
