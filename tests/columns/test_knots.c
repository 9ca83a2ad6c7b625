/* test_knots.c - knots follow the rows, cover their range, and increase whatever the rows are. */
#include "columns/knots.h"

#include "asserts.h"
#include "base/rng.h"

enum { N = 20000, BASES = 16, PER = BASES + 4 };
static float x[N], knots[PER];

static void assert_increasing(void)
{
    for (int i = 1; i < PER; i++)
        assert_true(knots[i] > knots[i - 1]);
}

static void they_follow_the_rows(void **state)
{
    const wmi_rng rng = wmi_rng_make(1, "rows");
    wm_error err;
    int inside = 0;

    (void)state;
    wmi_rng_normal_f32(&rng, 0, N, x);
    for (int i = 0; i < N / 2; i++)
        x[i] = 10 + 0.01f * x[i]; /* half of the rows within 0.01 of 10 */
    assert_ok(wmi_knots_of(N, 1, x, BASES, knots, &err), err);
    assert_increasing();
    for (int i = 3; i <= BASES; i++)
        inside += fabsf(knots[i] - 10) < 0.05f;
    /* 13 gaps of equal G; the crowd has half of F, so a quarter of G: 3 gaps, 2 knots at least. */
    assert_true(inside >= 2);
    assert_near((double)knots[3], -3.1, 0.5); /* the 1/2000 quantile of the other half */
    assert_near((double)knots[BASES], 10, 0.1);
}

static void ties_and_constants_do_no_harm(void **state)
{
    wm_error err;

    (void)state;
    for (int i = 0; i < N; i++)
        x[i] = (float)(i % 2);
    assert_ok(wmi_knots_of(N, 1, x, BASES, knots, &err), err);
    assert_increasing();
    for (int i = 0; i < N; i++)
        x[i] = 5;
    assert_ok(wmi_knots_of(N, 1, x, BASES, knots, &err), err);
    assert_increasing();
    assert_int_equal(wmi_knots_of(1, 1, x, BASES, knots, &err), WM_EINVAL);
    assert_int_equal(wmi_knots_of(N, 1, x, 3, knots, &err), WM_EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(they_follow_the_rows),
                                       cmocka_unit_test(ties_and_constants_do_no_harm)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
