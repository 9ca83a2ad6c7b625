/* test_evidence.c - constants and brackets from weights, against the formulas worked out by hand.
 */
#include <string.h>

#include "asserts.h"

#include "waymark/sample.h"

/* Weights 1, 2, 3, 6 far from 1: mean 3, squares 50, deviations from the mean (2,1,0,3)/3. */
static void ais_of_four_weights(void **state)
{
    const double shifts[] = {0, 5000, -5000};

    (void)state;
    for (int k = 0; k < 3; k++) {
        const double s = shifts[k];
        const double log_w[6] = {s,          (double)NAN,      s + log(2),
                                 s + log(3), (double)INFINITY, s + log(6)};
        const double mean = (log(2) + log(3) + log(6)) / 4;
        wm_ais a;
        wm_error err = {0};

        assert_ok(wm_ais_make(&a, log_w, 6, &err), err);
        assert_near(a.log_z, s + log(3), 1e-11);
        assert_near(a.ess, 144.0 / 50, 1e-11);
        assert_near(a.se, sqrt((4 + 1 + 0 + 9) / 9.0 / (4 * 3)), 1e-11);
        assert_near(a.spread,
                    sqrt((mean * mean + pow(log(2) - mean, 2) + pow(log(3) - mean, 2) +
                          pow(log(6) - mean, 2)) /
                         3),
                    1e-11);
        assert_int_equal(a.used, 4);
        assert_int_equal(a.failed, 2);
    }
}

static void ais_without_weights_is_an_error(void **state)
{
    const double log_w[2] = {(double)NAN, -(double)INFINITY};
    wm_ais a;
    wm_error err = {0};

    (void)state;
    assert_int_equal(wm_ais_make(&a, log_w, 2, &err), WM_EDIVERGED);
    assert_non_null(strstr(err.text, "none of 2 chains"));
    assert_int_equal(wm_ais_make(&a, log_w, 0, &err), WM_EINVAL);
    assert_ok(wm_ais_make(&a, &(double){3}, 1, &err), err);
    assert_near(a.log_z, 3, 0);
    assert_true(isnan(a.se));
}

/* log w - log f = -1, -2, -3 spreads less than log w = -11, -22, -33: used. The other way round it
 * is not. */
static void raise_controls_only_where_that_helps(void **state)
{
    const double log_w[4] = {-11, -22, -33, (double)NAN}, log_f[4] = {-10, -20, -30, -7};
    const double against[4] = {40, 0, -40, 0}, all[5] = {-10, -12, -14, -16, -18};
    wm_raise r;
    wm_error err = {0};

    (void)state;
    assert_ok(wm_raise_make(&r, log_w, log_f, 4, all, 5, &err), err);
    assert_true(r.controlled);
    assert_near(r.loglik, -2 - 14, 1e-12);
    assert_near(r.spread, 1, 1e-12);
    assert_near(r.se_set, 1 / sqrt(3), 1e-12);
    assert_near(r.se, sqrt(1 / 3.0 + 10 / 5.0), 1e-12);
    assert_int_equal(r.used, 3);
    assert_int_equal(r.failed, 1);
    assert_ok(wm_raise_make(&r, log_w, against, 4, all, 5, &err), err);
    assert_false(r.controlled);
    assert_near(r.loglik, -22, 1e-12);
    assert_near(r.se, 11 / sqrt(3), 1e-12);
    assert_near(r.se_set, 11 / sqrt(3), 1e-12);
    assert_ok(wm_raise_make(&r, log_w, NULL, 4, NULL, 0, &err), err);
    assert_near(r.loglik, -22, 1e-12);
    assert_int_equal(wm_raise_make(&r, &log_w[3], NULL, 1, NULL, 0, &err), WM_EDIVERGED);
}

static void bracket_closes_within_its_errors(void **state)
{
    const double all[5] = {-10, -12, -14, -16, -18};
    const wm_ais ais = {.log_z = 0.5, .se = 0.3};
    wm_raise raise = {.loglik = -15.4, .se = 1, .se_set = 0.4};
    wm_bracket b = wm_bracket_make(&ais, &raise, all, 5, 0);

    (void)state;
    assert_near(b.hi, -14.5, 1e-12);
    assert_near(b.lo, -15.4, 1e-12);
    assert_near(b.gap, 0.9, 1e-12);
    assert_near(b.gap_se, 0.5, 1e-12);
    assert_near(b.hi_se, sqrt(0.09 + 2), 1e-12);
    assert_near(b.lo_se, 1, 0);
    assert_true(b.closed && !b.crossed);
    raise.loglik = -15.6;
    b = wm_bracket_make(&ais, &raise, all, 5, 0);
    assert_true(!b.closed && !b.crossed);
    b = wm_bracket_make(&ais, &raise, all, 5, 0.2);
    assert_true(b.closed);
    raise.loglik = -13;
    b = wm_bracket_make(&ais, &raise, all, 5, 0);
    assert_true(!b.closed && b.crossed);
}

/* 276 nats apart is no agreement because the error is 300. */
static void errors_alone_close_no_bracket(void **state)
{
    const double all[5] = {-10, -12, -14, -16, -18};
    const wm_ais ais = {.log_z = 0.5, .se = 0.3};
    const wm_raise raise[2] = {{.loglik = -290, .se = 300, .se_set = 300},
                               {.loglik = -15.4, .se = 0.2, .se_set = 0.1}};
    const wm_outcome want[2] = {WM_CHECK_NOT_KNOWN, WM_CHECK_OK};

    (void)state;
    for (int i = 0; i < 2; i++) {
        const wm_bracket b = wm_bracket_make(&ais, &raise[i], all, 5, 10.9);
        wm_checks list = {0};

        assert_true(b.closed);
        wm_bracket_check(&b, &list);
        assert_int_equal(list.check[0].outcome, want[i]);
        assert_int_equal(wm_checks_verdict(&list), i ? WM_TRUST : WM_DOUBT);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_alone_close_no_bracket),
        cmocka_unit_test(ais_of_four_weights),
        cmocka_unit_test(ais_without_weights_is_an_error),
        cmocka_unit_test(raise_controls_only_where_that_helps),
        cmocka_unit_test(bracket_closes_within_its_errors),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
