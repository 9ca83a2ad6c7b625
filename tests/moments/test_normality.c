/* test_normality.c - normal rows look normal; heavy tails, bimodal columns and directions that
 * depend on the length do not. */
#include <math.h>

#include "asserts.h"
#include "base/alloc.h"
#include "base/rng.h"
#include "moments/normality.h"

enum { N = 3000, D = 4 };

/* What a test does to a row of independent normal numbers. */
typedef void change(double *x);

static void keep(double *x)
{
    (void)x;
}

static void mix(double *x) /* still normal, badly scaled and correlated */
{
    x[1] = 5 + 100 * x[1] + 30 * x[0];
    x[3] += 0.9 * x[2];
}

static void make_heavy(double *x)
{
    for (int j = 0; j < D; j++)
        x[j] *= 1 + x[j] * x[j];
}

static void split_in_two(double *x)
{
    x[2] = 0.5 * x[2] + (x[2] > 0 ? 2 : -2);
}

/* Turned by an angle that depends on the length: every column stays normal. */
static void turn(double *x)
{
    const double angle = 0.5 * (x[0] * x[0] + x[1] * x[1]), c = cos(angle), s = sin(angle);
    const double u0 = c * x[0] - s * x[1], u1 = s * x[0] + c * x[1];

    x[2] = 0.8 * x[0] + 0.6 * x[2]; /* v is tied to u as it was */
    x[3] = 0.8 * x[1] + 0.6 * x[3];
    x[0] = u0;
    x[1] = u1;
}

/* In half of the rows a column of v has the size, not the sign, of one of u. Each block stays
 * normal and there is no correlation of any kind but that of squares. */
static void go_together_in_size(double *x)
{
    if (x[1] > 0)
        x[2] = copysign(x[0], x[2]);
}

static wmi_normality look(change *f, int64_t pairs, uint64_t seed)
{
    const wmi_rng rng = wmi_rng_make(seed, "normality");
    static double x[N * D];
    wmi_normality out;
    wm_error err;

    wmi_rng_normal_f64(&rng, 0, N * D, x);
    for (int i = 0; i < N; i++)
        f(x + i * D);
    assert_ok(wmi_normality_of(&out, N, D, x, pairs, &err), err);
    return out;
}

/* Chance passes a limit in one of several hundred tables. */
static void normal_rows_look_normal(void **state)
{
    int normal = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        const wmi_normality plain = look(keep, 0, seed), mixed = look(mix, 0, seed),
                            pairs = look(mix, 2, seed);

        normal += wmi_looks_normal(&plain) + wmi_looks_normal(&mixed) + wmi_looks_normal(&pairs);
    }
    assert_true(normal >= 58); /* of 60 */
}

static void others_do_not(void **state)
{
    const wmi_normality heavy = look(make_heavy, 0, 1), two = look(split_in_two, 0, 1),
                        turned = look(turn, 2, 1), sizes = look(go_together_in_size, 2, 1);

    (void)state;
    assert_true(heavy.shape > 2 * heavy.shape_limit);
    assert_true(two.shape > 2 * two.shape_limit);
    assert_true(turned.tie > 2 * turned.tie_limit);
    assert_true(turned.shape <= turned.shape_limit); /* only the tie shows it */
    assert_true(sizes.tie > 1.5 * sizes.tie_limit);
    assert_true(sizes.shape <= sizes.shape_limit);
}

/* Eight columns each of u and v: w0, which has two humps, and y0, which goes with it, are spread
 * over all of them by turns (Hadamard's), so that no column looks other than normal. Along the
 * direction that u and v have in common they do. */
static void what_matters_is_looked_at(void **state)
{
    enum { WIDE = 8, ALL = 2 * WIDE };
    const wmi_rng rng = wmi_rng_make(1, "normality/wide");
    static double x[N * ALL];

    (void)state;
    for (int humps = 0; humps < 2; humps++) {
        wmi_normality out;
        wm_error err;

        wmi_rng_normal_f64(&rng, 0, (int64_t)N * ALL, x);
        for (int i = 0; i < N; i++) {
            double *row = x + (int64_t)i * ALL, plain[ALL];

            if (humps)
                row[0] = 0.44 * row[0] + (row[0] > 0 ? 0.7 : -0.7);
            row[WIDE] = 0.7 * row[0] + 0.7 * row[WIDE];
            for (int j = 0; j < ALL; j++)
                plain[j] = row[j];
            for (int j = 0; j < ALL; j++) {
                row[j] = 0;
                for (int l = 0; l < WIDE; l++)
                    row[j] += plain[j / WIDE * WIDE + l] *
                              (__builtin_popcount((unsigned)(j % WIDE & l)) % 2 ? -1 : 1);
            }
        }
        assert_ok(wmi_normality_of(&out, N, ALL, x, WIDE, &err), err);
        assert_true(wmi_looks_normal(&out) == !humps);
    }
}

static void a_singular_table_is_not_normal(void **state)
{
    static double x[2 * N];
    wmi_normality out;
    wm_error err;

    (void)state;
    for (int i = 0; i < N; i++)
        x[2 * i] = x[2 * i + 1] = sin(i);
    assert_ok(wmi_normality_of(&out, N, 2, x, 0, &err), err);
    assert_false(wmi_looks_normal(&out));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(normal_rows_look_normal),
        cmocka_unit_test(others_do_not),
        cmocka_unit_test(what_matters_is_looked_at),
        cmocka_unit_test(a_singular_table_is_not_normal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
