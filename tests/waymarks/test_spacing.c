/* test_spacing.c - alphas against their formulas and the values of the authors' configurations. */
#include "asserts.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "waymark/waymarks.h"

static wm_alphas made(const char *text, double lowest, bool drop_first, int64_t bridges)
{
    wm_error err = {0};
    wm_spacing s;
    wm_alphas a;

    wm_spacing_init(&s);
    s.lowest = lowest;
    s.drop_first = drop_first;
    assert_ok(wm_spacing_parse(&s, text, &err), err);
    assert_ok(wm_spacing_alphas(&a, &s, bridges, &err), err);
    return a;
}

static void is(const wm_alphas *a, int64_t bridges, const double *want, double tol)
{
    assert_int_equal(a->bridges, bridges);
    for (int64_t k = 0; k <= bridges; k++)
        assert_near(a->alpha[k], want[k], tol);
}

static void power_is_the_paper_s(void **state)
{
    /* The 1-d experiment: (1/4)^7 = 2^-14, 2^-7, (3/4)^7. */
    const double peaked[] = {0, 6.103515625e-05, 7.8125e-03, 0.13348388671875, 1};
    const double even[] = {0, 0.25, 0.5, 0.75, 1};
    const wm_alphas a = made("power:7", 0, false, 4), b = made("power:1", 0, false, 4);

    (void)state;
    is(&a, 4, peaked, 1e-16);
    is(&b, 4, even, 0);
}

static void symmetric_is_continuous(void **state)
{
    const double cubic[] = {0, 0.5 / 27, 4.0 / 27, 0.5, 1 - 4.0 / 27, 1 - 0.5 / 27, 1};
    const wm_alphas a = made("symmetric:3", 0, false, 6);

    (void)state;
    is(&a, 6, cubic, 1e-15);
    for (int64_t m = 1; m <= 40; m++) { /* odd m has no waymark at the middle */
        const wm_alphas s = made("symmetric:2.5", 0, false, m);

        for (int64_t k = 0; k <= m; k++)
            assert_near(s.alpha[k] + s.alpha[m - k], 1, 1e-15);
        /* No gap is wider than slope p of the curve at 1/2 allows; the printed formula jumps by
         * 1 - 2^(1-p) = 0.65 there. */
        for (int64_t k = 0; k < m; k++)
            assert_true(s.alpha[k + 1] - s.alpha[k] <= 2.5 / (double)m + 1e-12);
    }
}

static void lowest_spaces_the_roots(void **state)
{
    /* MNIST: lowest 0.01, first bridge dropped, 10 waymarks: 0.01, 0.12, ..., 1. */
    const wm_alphas a = made("power:1", 0.01, true, 9), b = made("power:3", 0.001, false, 5);

    (void)state;
    assert_int_equal(a.bridges, 9);
    for (int64_t k = 0; k <= 9; k++)
        assert_near(a.alpha[k], 0.01 + 0.11 * (double)k, 1e-15);
    assert_int_equal(b.bridges, 5);
    assert_true(b.alpha[0] == 0 && b.alpha[1] == 0.001 && b.alpha[5] == 1);
    for (int64_t k = 1; k <= 5; k++) /* roots 0.1, 0.325, ..., 1 */
        assert_near(cbrt(b.alpha[k]), 0.1 + 0.225 * (double)(k - 1), 1e-14);
}

static void drop_first_counts_what_remains(void **state)
{
    const double rest[] = {0.25, 0.5, 0.75, 1}, list[] = {0.1, 1};
    const wm_alphas a = made("power:1", 0, true, 3), b = made("list:0,0.1,1", 0, true, 0);

    (void)state;
    is(&a, 3, rest, 0);
    is(&b, 1, list, 0);
}

static void list_is_taken_as_given(void **state)
{
    const double want[] = {0, 1e-5, 0.3, 1};
    const wm_alphas a = made("list:0,1e-5,.3,1", 0, false, 0);
    const wm_alphas b = made("list:0,1e-5,.3,1", 0, false, 3);

    (void)state;
    is(&a, 3, want, 0);
    is(&b, 3, want, 0);
}

static void bad_text_is_refused(void **state)
{
    static const struct {
        const char *text, *words[2];
    } bad[] = {
        {"", {"''", "power:P"}},
        {"cubic:3", {"'cubic:3'", "power:P"}},
        {"power", {"'power'", "power:P"}},
        {"power:", {"power:2", "''"}},
        {"power:x", {"'x'", "above 0"}},
        {"power:0", {"'0'", "above 0"}},
        {"power:-1", {"'-1'", "above 0"}},
        {"power:nan", {"'nan'", "above 0"}},
        {"power:inf", {"'inf'", "above 0"}},
        {"power:2,3", {"'2,3'", "above 0"}},
        {"symmetric:2x", {"'2x'", "symmetric:2"}},
        {"list:", {"value 1", "list:0,0.1,1"}},
        {"list:0,,1", {"value 2", "(',1')"}},
        {"list:0,half,1", {"value 2", "half"}},
        {"list:0, 1", {"value 2", "not a number"}},
        {"list:0,1,", {"value 3", "not a number"}},
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        wm_error err = {0};
        wm_spacing s, before;

        wm_spacing_init(&s);
        s.power = 4;
        before = s;
        assert_int_equal(wm_spacing_parse(&s, bad[i].text, &err), WM_EINVAL);
        assert_int_equal(err.code, WM_EINVAL);
        assert_memory_equal(&s, &before, sizeof s);
        for (int w = 0; w < 2; w++)
            if (!strstr(err.text, bad[i].words[w]))
                fail_msg("'%s': '%s' is not in: %s", bad[i].text, bad[i].words[w], err.text);
    }
}

static void bad_values_are_refused(void **state)
{
    static const struct {
        const char *text;
        double lowest;
        bool drop_first;
        int64_t bridges;
        const char *words[2]; /* the value, and the remedy */
    } bad[] = {
        {"power:1", 0, false, 0, {"0 bridges", "at least 1"}},
        {"power:1", 0, false, -3, {"-3 bridges", "at least 1"}},
        {"power:1", 0, false, 1025, {"1025 bridges", "at most 1024"}},
        {"power:1", 0, true, 1024, {"1024 bridges", "at most 1023"}},
        {"power:900", 0, false, 4, {"alpha 1 is 0", "smaller power"}}, /* underflow */
        {"symmetric:60", 0, false, 9, {"is 1", "smaller power"}},      /* rounds to 1 */
        {"list:0,0.5,0.5,1", 0, false, 0, {"alpha 2 is 0.5", "sort the list"}},
        {"list:0,0.7,0.5,1", 0, false, 0, {"alpha 2 is 0.5", "increase"}},
        {"list:0,1.5", 0, false, 0, {"alpha 1 is 1.5", "outside [0, 1]"}},
        {"list:-0.1,1", 0, false, 0, {"alpha 0 is -0.1", "outside [0, 1]"}},
        {"list:0,nan,1", 0, false, 0, {"nan", "outside [0, 1]"}},
        {"list:0.1,1", 0, false, 0, {"0.1", "start it at 0"}},
        {"list:0,0.9", 0, false, 0, {"0.9", "end it at 1"}},
        {"list:1", 0, false, 0, {"1 values", "0 first"}},
        {"list:0,1", 0, true, 0, {"1 bridges leaves none", "add a waymark"}},
        {"list:0,0.5,1", 0, false, 3, {"3 bridges", "makes 2"}},
        {"list:0,0.5,1", 0, true, 2, {"2 bridges", "makes 1"}},
        {"list:0,0.5,1", 0.1, false, 0, {"0.1", "power:P"}},
        {"symmetric:2", 0.1, false, 4, {"0.1", "power:P"}},
        {"power:1", 1, false, 4, {"lowest alpha 1", "(0, 1)"}},
        {"power:1", -0.5, false, 4, {"-0.5", "(0, 1)"}},
        {"power:1", 0.1, false, 1, {"0.1", "needs 2 bridges"}},
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        wm_error err = {0};
        wm_spacing s;
        wm_alphas a;

        wm_spacing_init(&s);
        s.lowest = bad[i].lowest;
        s.drop_first = bad[i].drop_first;
        assert_ok(wm_spacing_parse(&s, bad[i].text, &err), err);
        if (wm_spacing_alphas(&a, &s, bad[i].bridges, &err) != WM_EINVAL)
            fail_msg("%s, %d bridges: accepted", bad[i].text, (int)bad[i].bridges);
        for (int w = 0; w < 2; w++)
            if (!strstr(err.text, bad[i].words[w]))
                fail_msg("'%s': '%s' is not in: %s", bad[i].text, bad[i].words[w], err.text);
    }
}

static void longest_list_fits(void **state)
{
    static char text[40 * (WM_ALPHAS_MAX + 1)];
    int length = snprintf(text, sizeof text, "list:0");
    wm_error err = {0};
    wm_spacing s;

    (void)state;
    for (int k = 1; k < WM_ALPHAS_MAX; k++)
        length += snprintf(text + length, sizeof text - (size_t)length, ",%.17g", k / 1024.0);
    assert_int_equal(made(text, 0, false, 0).bridges, WM_ALPHAS_MAX - 1);
    snprintf(text + length, sizeof text - (size_t)length, ",1");
    wm_spacing_init(&s);
    assert_int_equal(wm_spacing_parse(&s, text, &err), WM_EINVAL);
    assert_non_null(strstr(err.text, "1025"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(power_is_the_paper_s),    cmocka_unit_test(symmetric_is_continuous),
        cmocka_unit_test(lowest_spaces_the_roots), cmocka_unit_test(drop_first_counts_what_remains),
        cmocka_unit_test(list_is_taken_as_given),  cmocka_unit_test(bad_text_is_refused),
        cmocka_unit_test(bad_values_are_refused),  cmocka_unit_test(longest_list_fits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
