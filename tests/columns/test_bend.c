/* test_bend.c - which columns are bent, how, and that an encoder keeps it. */
#include <math.h>
#include <stdlib.h>

#include "asserts.h"
#include "base/rng.h"
#include "columns/bend.h"
#include "columns/encode.h"

enum { N = 2000 };

static void draw(double *x, const char *stream, double mean, double sd)
{
    const wmi_rng rng = wmi_rng_make(5, stream);

    wmi_rng_normal_f64(&rng, 0, N, x);
    for (int i = 0; i < N; i++)
        x[i] = mean + sd * x[i];
}

static wmi_bend bend_of(const double *p, const double *q)
{
    const int64_t n[] = {N, N};
    const double *const x[] = {p, q};

    return wmi_bend_find(n, x, 1);
}

static void normal_columns_stay(void **state)
{
    double p[N], q[N];

    (void)state;
    draw(p, "p", 0, 1);
    draw(q, "q", 3, 0.3);
    assert_int_equal(bend_of(p, q).kind, WMI_BEND_NOT);
    for (int i = 0; i < N; i++) /* far from 0, where a logarithm could be taken */
        p[i] += 50, q[i] += 50;
    assert_int_equal(bend_of(p, q).kind, WMI_BEND_NOT);
}

/* A map that helps one table and harms the other would trade one error for another: chi-squared
 * against normal. */
static void both_tables_must_gain(void **state)
{
    double p[N], q[N];

    (void)state;
    draw(p, "p", 0, 1);
    draw(q, "q", 0, 1);
    for (int i = 0; i < N; i++)
        p[i] *= p[i];
    assert_int_equal(bend_of(p, q).kind, WMI_BEND_NOT);
}

static void logarithms_are_found(void **state)
{
    double p[N], q[N];
    wmi_bend b;

    (void)state;
    draw(p, "p", 0, 1);
    draw(q, "q", 1, 1.2);
    for (int i = 0; i < N; i++)
        p[i] = exp(p[i]), q[i] = exp(q[i]);
    b = bend_of(p, q);
    assert_int_equal(b.kind, WMI_BEND_LOG);
    assert_true(b.from == 0 && b.side > 0);
    for (int i = 0; i < N; i++) /* the same in a mirror */
        p[i] = -p[i], q[i] = -q[i];
    b = bend_of(p, q);
    assert_int_equal(b.kind, WMI_BEND_LOG);
    assert_true(wmi_bend_at(&b, -2) < wmi_bend_at(&b, -1));
}

/* Two tails, and z has mean 0 and variance 1 over both tables. */
static void both_tails_are_bent(void **state)
{
    const wmi_rng rng = wmi_rng_make(5, "cauchy");
    double p[N], q[N], mean = 0, squares = 0;
    wmi_bend b;

    (void)state;
    wmi_rng_uniform_f64(&rng, 0, N, p);
    wmi_rng_uniform_f64(&rng, N, N, q);
    for (int i = 0; i < N; i++) {
        p[i] = tan(3.141592653589793 * (p[i] - 0.5));
        q[i] = tan(3.141592653589793 * (q[i] - 0.5)) + 1;
    }
    b = bend_of(p, q);
    assert_int_equal(b.kind, WMI_BEND_ASINH);
    for (int i = 0; i < N; i++) {
        const double z[] = {wmi_bend_at(&b, p[i]), wmi_bend_at(&b, q[i])};

        mean += (z[0] + z[1]) / (2 * N);
        squares += (z[0] * z[0] + z[1] * z[1]) / (2 * N);
    }
    assert_near(mean, 0, 1e-9);
    assert_near(squares, 1, 1e-9);
}

/* The encoder's knots are the map: between two of 4000 values a line is as good. */
static void an_encoder_bends(void **state)
{
    double p[2 * N], q[2 * N], one[2][N], z[2 * N];
    const int64_t n[] = {N, N};
    const double *const x[] = {p, q};
    wmi_found_columns found;
    wmi_encode_opts o = {.found = &found, .standardize = true, .bend = true};
    wmi_encoder e, copy;
    wmi_bend b;
    wm_error err;

    (void)state;
    for (int t = 0; t < 2; t++) {
        double *to = t ? q : p;

        draw(one[0], t ? "uq" : "up", t, 1);
        draw(one[1], t ? "vq" : "vp", t, 1);
        for (int i = 0; i < N; i++) {
            to[2 * i] = one[0][i];
            to[2 * i + 1] = exp(one[1][i]);
        }
    }
    assert_ok(wmi_discover(&found, 2, n, x, NULL, &err), err);
    assert_ok(wmi_encoder_fit(&e, 2, n, x, &o, &err), err);
    assert_ok(wmi_encoder_copy(&copy, &e, &err), err);
    assert_int_equal(copy.how[0], WMI_ENCODE_SCALE);
    assert_int_equal(copy.how[1], WMI_ENCODE_RANK);
    assert_ok(wmi_encoder_apply(&copy, N, p, z, &err), err);
    b = wmi_bend_find(n, (const double *const[]){p + 1, q + 1}, 2);
    for (int i = 0; i < N; i++)
        assert_near(z[2 * i + 1], wmi_bend_at(&b, p[2 * i + 1]), 1e-12);
    wmi_encoder_free(&copy);
    wmi_encoder_free(&e);
    wmi_found_free(&found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(normal_columns_stay),  cmocka_unit_test(both_tables_must_gain),
        cmocka_unit_test(logarithms_are_found), cmocka_unit_test(both_tails_are_bent),
        cmocka_unit_test(an_encoder_bends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
