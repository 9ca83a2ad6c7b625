/* test_impossible.c - answers that cannot be are rejected with the reason, and possible ones are
 * left alone. */
#include <math.h>
#include <string.h>

#include "asserts.h"

#include "check/impossible.h"

static wm_estimate about(double value, double se)
{
    return (wm_estimate){value, se, value - 2.776 * se, value + 2.776 * se};
}

static const wm_check *divergences(wm_checks *list, wm_estimate pq, wm_estimate qp, int64_t rows)
{
    const wmi_divergence d[] = {{"KL(p, q)", pq}, {"KL(q, p)", qp}};

    list->n = 0;
    wmi_check_divergences(list, 2, d, rows);
    return list->n ? &list->check[0] : NULL;
}

static void possible_divergences_are_silent(void **state)
{
    wm_checks list;

    (void)state;
    assert_null(divergences(&list, about(0.3, 0.01), about(0.2, 0.01), 1000));
    assert_null(divergences(&list, about(-0.005, 0.002), about(-0.004, 0.002), 1000));
    assert_null(divergences(&list, about(200, 3), about(700, 9), 1000));
    assert_null(divergences(&list, about(3, 1), about(-0.4, 1), 1000)); /* within its error */
    assert_null(divergences(&list, about(2e4, 1), about(2e4, 1), 2000000));
}

static void below_zero_is_rejected(void **state)
{
    wm_checks list;
    const wm_check *c = divergences(&list, about(-0.3, 0.05), about(0.2, 0.05), 1000);

    (void)state;
    assert_int_equal(c->outcome, WM_CHECK_FAILED);
    assert_string_equal(c->name, "impossible");
    assert_non_null(strstr(c->meaning, "KL(p, q) cannot be below 0, and is -0.3"));
    assert_int_equal(wm_checks_verdict(&list), WM_REJECT);
    c = divergences(&list, about(0.2, 0.05), about(-0.3, 0.05), 1000);
    assert_int_equal(c->outcome, WM_CHECK_FAILED);
    assert_non_null(strstr(c->meaning, "KL(q, p) cannot be below 0"));
    /* A hair below, as cross-fitting ends where nothing differs: not the end of it. */
    c = divergences(&list, about(-0.005, 0.001), about(0.002, 0.001), 1000);
    assert_int_equal(c->outcome, WM_CHECK_DOUBT);
}

static void negative_beside_large_is_rejected(void **state)
{
    wm_checks list;
    const wm_check *c = divergences(&list, about(317, 150), about(-315, 200), 442);

    (void)state;
    assert_int_equal(c->outcome, WM_CHECK_FAILED);
    assert_non_null(strstr(c->meaning, "KL(q, p) cannot be below 0, and is -315 where KL(p, q)"));
    assert_int_equal(list.n, 1);
}

static void numbers_without_sense_are_rejected(void **state)
{
    static const double odd[] = {-9e29, 7e30, 5e28, 10001};
    wm_checks list;

    (void)state;
    for (int i = 0; i < 4; i++) {
        const wm_check *c = divergences(&list, about(odd[i], 1e30), about(1, 0.1), 3294);

        assert_non_null(c);
        assert_int_equal(c->outcome, WM_CHECK_FAILED);
        assert_non_null(strstr(c->meaning, "3294 rows"));
    }
    assert_int_equal(divergences(&list, about((double)NAN, 1), about(1, 1), 10)->outcome,
                     WM_CHECK_FAILED);
    assert_int_equal(divergences(&list, about(1, 1), about(1, (double)INFINITY), 10)->outcome,
                     WM_CHECK_FAILED);
}

/* Three classes of 50 rows each have entropy log 3 = 1.0986, and 2 / 300 more for the counts. */
/* Far apart, in 50 rows each: 7 nats, from -14 to 29. */
static void an_answer_lost_in_its_error_is_rejected(void **state)
{
    wm_checks list;
    const wm_check *c = divergences(&list, about(7.4, 11), about(6.9, 1.2), 50);

    (void)state;
    assert_int_equal(c->outcome, WM_CHECK_FAILED);
    assert_string_equal(c->meaning, "KL(p, q) is 7.4 with standard error 11: the number is lost in "
                                    "its error. More rows, or fewer columns.");
    assert_null(divergences(&list, about(7.4, 3), about(1, 1.5), 50));
}

static void information_above_entropy_is_rejected(void **state)
{
    static const int64_t count[] = {50, 50, 0, 50};
    wm_checks list = {0};
    wm_estimate mi = about(1.67, 0.4);

    (void)state;
    wmi_check_entropy(&list, &mi, "v", 4, count);
    assert_int_equal(list.n, 1);
    assert_int_equal(list.check[0].outcome, WM_CHECK_FAILED);
    assert_near(list.check[0].limit, log(3) + 2 / 300., 1e-12);
    assert_non_null(strstr(list.check[0].meaning, "v has 3 levels with an entropy of 1.11"));
    mi = about(1.2, 0.03);
    wmi_check_entropy(&list, &mi, "v", 4, count);
    assert_int_equal(list.n, 2);
    mi = about(1.13, 0.03); /* the class is a function of the other side, and the estimate noisy */
    wmi_check_entropy(&list, &mi, "v", 4, count);
    mi = about(0.9, 0.03);
    wmi_check_entropy(&list, &mi, "v", 4, count);
    assert_int_equal(list.n, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(possible_divergences_are_silent),
        cmocka_unit_test(below_zero_is_rejected),
        cmocka_unit_test(negative_beside_large_is_rejected),
        cmocka_unit_test(numbers_without_sense_are_rejected),
        cmocka_unit_test(an_answer_lost_in_its_error_is_rejected),
        cmocka_unit_test(information_above_entropy_is_rejected),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
