/* test_ksg.c - the trees against a plain search, bit for bit; Gaussian pairs, whose information is
 * known; repeated values. */
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "asserts.h"
#include "base/alloc.h"
#include "base/rng.h"
#include "base/special.h"
#include "base/sums.h"
#include "mi/ksg.h"

/* d pairs of standard normals with correlations that give mi nats in all: columns of u and v. */
static void gaussian_pairs(double mi, int64_t n, int64_t d, uint64_t seed, double *u, double *v)
{
    const double rho = sqrt(-expm1(-2 * mi / (double)d));
    const wmi_rng a = wmi_rng_make(seed, "u"), b = wmi_rng_make(seed, "v");

    wmi_rng_normal_f64(&a, 0, n * d, u);
    wmi_rng_normal_f64(&b, 0, n * d, v);
    for (int64_t i = 0; i < n * d; i++)
        v[i] = rho * u[i] + sqrt(1 - rho * rho) * v[i];
}

static double distance(const double *x, int64_t d, int64_t i, int64_t j)
{
    double most = 0;

    for (int64_t c = 0; c < d; c++)
        most = fmax(most, fabs(x[i * d + c] - x[j * d + c]));
    return most;
}

static int up(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Estimator 1 as it is written in the paper, O(n^2). */
static double plain_ksg(int64_t n, int64_t du, const double *u, int64_t dv, const double *v,
                        int64_t k)
{
    double *local = malloc((size_t)n * sizeof *local), *d = malloc((size_t)n * sizeof *d), mi;

    assert_true(local && d);
    for (int64_t i = 0; i < n; i++) {
        int64_t nu = 0, nv = 0;

        for (int64_t j = 0; j < n; j++)
            d[j] = j == i ? INFINITY : fmax(distance(u, du, i, j), distance(v, dv, i, j));
        qsort(d, (size_t)n, sizeof *d, up);
        for (int64_t j = 0; j < n; j++) {
            nu += j != i && distance(u, du, i, j) < d[k - 1];
            nv += j != i && distance(v, dv, i, j) < d[k - 1];
        }
        local[i] = wmi_psi((double)k) - wmi_psi((double)(nu + 1)) - wmi_psi((double)(nv + 1));
    }
    mi = wmi_psi((double)n) + wmi_sum_f64(local, n) / (double)n;
    free(d), free(local);
    return mi;
}

static void trees_find_what_a_plain_search_finds(void **state)
{
    enum { N = 300 };
    static const int64_t shapes[][3] = {{1, 1, 3}, {1, 4, 3}, {2, 2, 1}, {3, 1, 5}, {6, 9, 10}};
    double u[N * 6], v[N * 9];
    const wmi_rng rng = wmi_rng_make(2, "noise");

    (void)state;
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        const int64_t du = shapes[s][0], dv = shapes[s][1];
        wmi_ksg_opts o;
        wmi_ksg_result r;
        wm_error err;

        wmi_ksg_opts_init(&o);
        o.k = shapes[s][2];
        wmi_rng_normal_f64(&rng, 0, N * du, u);
        wmi_rng_normal_f64(&rng, 100, N * dv, v); /* overlapping draws: dependent */
        for (int64_t i = 0; i < N * dv; i += 3)
            v[i] = floor(8 * v[i]) / 8; /* ties in columns, at distances that are not 0 */
        assert_ok(wmi_ksg(&r, N, du, u, dv, v, &o, &err), err);
        assert_true(r.mi == plain_ksg(N, du, u, dv, v, o.k));
    }
}

/* Over 20 seeds at n = 10,000 the standard deviation is 0.007, 0.009, 0.012, 0.015 in 1 x 1 and
 * 0.007, 0.009, 0.013, 0.018 in 2 x 2, and the reported error agrees within a third; the mean is 1
 * % high in 2 x 2. The bound is 5 of the reported errors plus that bias. */
static void gaussian_pairs_are_right(void **state)
{
    enum { N = 10000 };
    static const double truth[] = {0, 0.2, 1, 2};
    double *u = malloc(2 * N * sizeof *u), *v = malloc(2 * N * sizeof *v);

    (void)state;
    assert_true(u && v);
    for (int64_t d = 1; d <= 2; d++)
        for (int t = 0; t < 4; t++) {
            wmi_ksg_result r;
            wm_error err;

            gaussian_pairs(truth[t], N, d, 1, u, v);
            assert_ok(wmi_ksg(&r, N, d, u, d, v, NULL, &err), err);
            assert_true(r.se > 0.003 && r.se < 0.03);
            assert_near(r.mi, truth[t], 5 * r.se + 0.01 * truth[t]);
            assert_true(r.repeats == 0 && r.tied == 0 && !r.doubtful);
        }
    free(v), free(u);
}

/* A fair coin and its copy: log 2. Independent coins: 0. Every row has k others in its place, so
 * the counts of distance 0 are the plug-in estimate, right to O(1/n). And both are marked. */
static void discrete_values_are_counted_and_marked(void **state)
{
    enum { N = 2000 };
    const wmi_rng a = wmi_rng_make(1, "a"), b = wmi_rng_make(1, "b");
    double *u = malloc(N * sizeof *u), *v = malloc(N * sizeof *v);
    wmi_ksg_result r;
    wm_error err;

    (void)state;
    for (int i = 0; i < N; i++)
        u[i] = (double)wmi_rng_below(&a, (uint64_t)i, 2);
    assert_ok(wmi_ksg(&r, N, 1, u, 1, u, NULL, &err), err);
    assert_near(r.mi, log(2), 0.005); /* the entropy of 2000 tosses: 0.6931 - 1e-3 */
    assert_true(r.doubtful && r.repeats == 1 && r.tied == 1);
    for (int i = 0; i < N; i++)
        v[i] = (double)wmi_rng_below(&b, (uint64_t)i, 2);
    assert_ok(wmi_ksg(&r, N, 1, u, 1, v, NULL, &err), err);
    assert_near(r.mi, 0, 0.005); /* chi^2 / 2n: 5 of its standard deviations are 0.0018 */
    assert_true(r.doubtful);
    free(v), free(u);
}

static void a_few_ties_are_reported_without_alarm(void **state)
{
    enum { N = 1000 };
    double u[N], v[N];
    wmi_ksg_result r;
    wm_error err;

    (void)state;
    gaussian_pairs(0.5, N, 1, 1, u, v);
    u[1] = u[0], u[2] = u[0]; /* three rows share a value */
    assert_ok(wmi_ksg(&r, N, 1, u, 1, v, NULL, &err), err);
    assert_near(r.tied, 0.003, 1e-15);
    assert_true(!r.doubtful && r.repeats == 0);
}

static void threads_do_not_change_the_bits(void **state)
{
    enum { N = 3000 };
    const int before = omp_get_max_threads();
    double *u = malloc(2 * N * sizeof *u), *v = malloc(2 * N * sizeof *v);
    wmi_ksg_result r[2];
    wm_error err;

    (void)state;
    gaussian_pairs(1, N, 2, 1, u, v);
    for (int t = 0; t < 2; t++) {
        memset(&r[t], 0, sizeof r[t]);
        omp_set_num_threads(t ? 3 : 1);
        assert_ok(wmi_ksg(&r[t], N, 2, u, 2, v, NULL, &err), err);
    }
    omp_set_num_threads(before);
    assert_true(r[0].mi == r[1].mi && r[0].se == r[1].se);
    free(v), free(u);
}

static void refusals_say_why(void **state)
{
    double u[] = {1, 2, 3, 4}, v[] = {1, 2, 3, 4};
    volatile sig_atomic_t stop = 1;
    wmi_ksg_opts o;
    wmi_ksg_result r;
    wm_error err;

    (void)state;
    wmi_ksg_opts_init(&o);
    assert_ok(wmi_ksg(&r, 4, 1, u, 1, v, &o, &err), err);
    assert_true(isnan(r.se)); /* four rows have no blocks */
    assert_int_equal(wmi_ksg(&r, 3, 1, u, 1, v, &o, &err), WM_EINVAL);
    assert_non_null(strstr(err.text, "3 neighbours among 3 rows"));
    assert_int_equal(wmi_ksg(&r, 4, 0, u, 1, v, &o, &err), WM_ESHAPE);
    v[2] = INFINITY;
    assert_int_equal(wmi_ksg(&r, 4, 1, u, 1, v, &o, &err), WM_EINVAL);
    assert_non_null(strstr(err.text, "v: row 3, column 1 is inf"));
    v[2] = 3;
    o.control.stop = &stop;
    assert_int_equal(wmi_ksg(&r, 4, 1, u, 1, v, &o, &err), WM_EINTERRUPTED);
    o.control.stop = NULL;
    for (int k = 1;; k++) {
        const int64_t live = wmi_alloc_live();
        wm_status st;

        wmi_alloc_fail_at(k);
        st = wmi_ksg(&r, 4, 1, u, 1, v, &o, &err);
        wmi_alloc_fail_at(0);
        assert_int_equal(wmi_alloc_live(), live);
        if (!st) {
            assert_true(k > 5);
            break;
        }
        assert_int_equal(st, WM_ENOMEM);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trees_find_what_a_plain_search_finds),
        cmocka_unit_test(gaussian_pairs_are_right),
        cmocka_unit_test(discrete_values_are_counted_and_marked),
        cmocka_unit_test(a_few_ties_are_reported_without_alarm),
        cmocka_unit_test(threads_do_not_change_the_bits),
        cmocka_unit_test(refusals_say_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
