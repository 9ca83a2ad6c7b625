/* test_mixture.c - mixtures of Gaussians find the clusters that rows were drawn from, count them,
 * and their waymarks have the density that a sum of rows has. */
#include <math.h>

#include "asserts.h"
#include "base/alloc.h"
#include "base/rng.h"
#include "moments/mixture.h"

enum { N = 4000, D = 2 };

/* Rows of two clusters, at 0 and at (6, 2), with standard deviations 1 and 0.5; a third of the rows
 * are of the second. */
static void draw_clusters(double *x, const char *stream)
{
    const wmi_rng rng = wmi_rng_make(3, stream);

    wmi_rng_normal_f64(&rng, 0, (int64_t)N * D, x);
    for (int i = 0; i < N; i++)
        if (i % 3 == 0) {
            x[D * i] = 6 + 0.5 * x[D * i];
            x[D * i + 1] = 2 + 0.5 * x[D * i + 1];
        }
}

static void clusters_are_found(void **state)
{
    static double x[N * D];
    double store[2 * (1 + D + D * D)];
    wmi_mixture m;
    wm_error err;

    (void)state;
    draw_clusters(x, "clusters");
    wmi_mixture_place(&m, 2, D, store);
    assert_ok(wmi_mixture_fit(&m, N, x, false, 1, NULL, &err), err);
    const int small = m.mean[0] > m.mean[D] ? 0 : 1; /* the one at (6, 2) */
    /* Standard errors: 0.5 / sqrt(1333) = 0.014 of means, 0.5 / sqrt(2666) = 0.010 of roots; one
     * imagined row and the least variance change them by less than a tenth of that. */
    assert_near(m.weight[small], 1.0 / 3, 0.001);
    assert_near(m.mean[small * D], 6, 5 * 0.014);
    assert_near(m.mean[small * D + 1], 2, 5 * 0.014);
    assert_near(m.root[small * D * D], 0.5, 5 * 0.010);
    assert_near(m.root[(1 - small) * D * D + 3], 1, 5 * 0.014);
}

static void one_component_has_the_moments_of_the_rows(void **state)
{
    static double x[N * D];
    double store[1 + D + D * D], mean = 0, var = 0;
    wmi_mixture m;
    wm_error err;

    (void)state;
    draw_clusters(x, "moments");
    wmi_mixture_place(&m, 1, D, store);
    assert_ok(wmi_mixture_fit(&m, N, x, false, 1, NULL, &err), err);
    for (int i = 0; i < N; i++)
        mean += x[D * i] / N;
    for (int i = 0; i < N; i++)
        var += (x[D * i] - mean) * (x[D * i] - mean) / N;
    assert_near(m.weight[0], 1, 1e-12);
    assert_near(m.mean[0], mean, 1e-10);
    assert_near(m.root[0], sqrt(var), 1e-10);
}

static void components_are_counted(void **state)
{
    static double x[N * D];
    const wmi_rng rng = wmi_rng_make(5, "one");
    double gain;
    wm_error err;
    int64_t k;

    (void)state;
    draw_clusters(x, "count");
    assert_ok(wmi_mixture_choose(&k, &gain, N, D, x, 1, NULL, &err), err);
    assert_int_equal(k, 2);
    wmi_rng_normal_f64(&rng, 0, (int64_t)N * D, x);
    assert_ok(wmi_mixture_choose(&k, &gain, N, D, x, 1, NULL, &err), err);
    assert_int_equal(k, 1);
    for (int i = 0; i < N; i++) /* a crescent needs more than one, and more than two */
        x[D * i + 1] += 2 * x[D * i] * x[D * i];
    assert_ok(wmi_mixture_choose(&k, &gain, N, D, x, 1, NULL, &err), err);
    assert_true(k > 3);
}

/* A grid of 25 clusters wants more components than are tried: what the last ones won, the next
 * might win again. */
static void too_many_clusters_are_told(void **state)
{
    static double x[N * D];
    const wmi_rng rng = wmi_rng_make(6, "grid");
    double gain;
    wm_error err;
    int64_t k;

    (void)state;
    wmi_rng_normal_f64(&rng, 0, (int64_t)N * D, x);
    for (int i = 0; i < N; i++) {
        x[D * i] = 0.1 * x[D * i] + i % 5;
        x[D * i + 1] = 0.1 * x[D * i + 1] + i / 5 % 5;
    }
    assert_ok(wmi_mixture_choose(&k, &gain, N, D, x, 1, NULL, &err), err);
    assert_int_equal(k, WMI_MIXTURE_MOST);
    assert_true(gain > 0.1);
}

/* In one column: p = N(-1, 1) and N(2, 0.5^2) with weights 0.3, 0.7, and q = N(4, 2^2). */
static void a_waymark_is_the_sum_of_both(void **state)
{
    double pw[] = {0.3, 0.7}, pm[] = {-1, 2}, pr[] = {1, 0.5}, qw[] = {1}, qm[] = {4}, qr[] = {2};
    const wmi_mixture p = {2, 1, pw, pm, pr}, q = {1, 1, qw, qm, qr};
    const double a = 0.6, b = 0.8;

    (void)state;
    for (double x = -4; x <= 10; x += 0.5) {
        double want[3] = {0, exp(-0.125 * (x - 4) * (x - 4)) / 2, 0}, got[3];
        const double at[] = {0, 1, a};

        for (int i = 0; i < 2; i++) {
            const double var = b * b * pr[i] * pr[i] + a * a * 4, by = x - b * pm[i] - a * 4;

            want[0] += pw[i] / pr[i] * exp(-0.5 * (x - pm[i]) * (x - pm[i]) / (pr[i] * pr[i]));
            want[2] += pw[i] / sqrt(var) * exp(-0.5 * by * by / var);
        }
        for (int i = 0; i < 3; i++) {
            wmi_gaussians g = {0};
            wm_error err;

            assert_ok(wmi_gaussians_between(&g, &p, &q, at[i], &err), err);
            got[i] = wmi_gaussians_log(&g, &x, NULL);
            assert_near(got[i], log(want[i]) - 0.5 * log(8 * atan(1)), 1e-12);
            wmi_gaussians_free(&g);
        }
    }
}

static void a_flat_table_is_refused(void **state)
{
    static double x[N * D];
    double store[1 + D + D * D];
    wmi_mixture m;
    wm_error err;

    (void)state;
    draw_clusters(x, "flat");
    for (int i = 0; i < N; i++)
        x[D * i + 1] = 3 * x[D * i];
    wmi_mixture_place(&m, 1, D, store);
    assert_int_equal(wmi_mixture_fit(&m, N, x, false, 1, NULL, &err), WM_EINVAL);
}

static void whoever_is_asked_to_stop_does(void **state)
{
    static double x[N * D];
    const sig_atomic_t stop = 1;
    double gain;
    wm_error err;
    int64_t k;

    (void)state;
    draw_clusters(x, "stop");
    assert_int_equal(wmi_mixture_choose(&k, &gain, N, D, x, 1, &stop, &err), WM_EINTERRUPTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clusters_are_found),
        cmocka_unit_test(one_component_has_the_moments_of_the_rows),
        cmocka_unit_test(components_are_counted),
        cmocka_unit_test(too_many_clusters_are_told),
        cmocka_unit_test(a_waymark_is_the_sum_of_both),
        cmocka_unit_test(a_flat_table_is_refused),
        cmocka_unit_test(whoever_is_asked_to_stop_does),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
