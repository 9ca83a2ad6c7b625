/* test_checks.c - what a list of checks adds up to, its words, and the checks of every telescope.
 */
#include <math.h>
#include <string.h>

#include "asserts.h"

#include "check/checks.h"

static void words_are_the_same_everywhere(void **state)
{
    (void)state;
    assert_string_equal(wm_outcome_text(WM_CHECK_OK), "ok");
    assert_string_equal(wm_outcome_text(WM_CHECK_DOUBT), "doubt");
    assert_string_equal(wm_outcome_text(WM_CHECK_FAILED), "failed");
    assert_string_equal(wm_outcome_text(WM_CHECK_NOT_KNOWN), "not known");
    assert_string_equal(wm_verdict_text(WM_TRUST), "trust");
    assert_string_equal(wm_verdict_text(WM_DOUBT), "doubt");
    assert_string_equal(wm_verdict_text(WM_REJECT), "reject");
}

static void the_gravest_check_decides(void **state)
{
    wm_checks list = {0};

    (void)state;
    assert_int_equal(wm_checks_verdict(&list), WM_TRUST);
    assert_null(wm_checks_reason(&list));
    wmi_checks_add(&list, "a", 1, 2, WM_CHECK_OK, "fine");
    assert_int_equal(wm_checks_verdict(&list), WM_TRUST);
    assert_null(wm_checks_reason(&list));
    wmi_checks_add(&list, "b", 3, 2, WM_CHECK_DOUBT, "%d is above %d", 3, 2);
    wmi_checks_add(&list, "c", 3, 2, WM_CHECK_DOUBT, "another");
    assert_int_equal(wm_checks_verdict(&list), WM_DOUBT);
    assert_string_equal(wm_checks_reason(&list)->meaning, "3 is above 2");
    wmi_checks_add(&list, "d", 9, 2, WM_CHECK_FAILED, "far off");
    assert_int_equal(wm_checks_verdict(&list), WM_REJECT);
    assert_string_equal(wm_checks_reason(&list)->name, "d");
    assert_ptr_equal(wm_checks_find(&list, "c"), &list.check[2]);
    assert_null(wm_checks_find(&list, "e"));
}

static void what_is_not_known_counts_only_where_it_is_needed(void **state)
{
    wm_checks list = {0};

    (void)state;
    wmi_checks_add_unknown(&list, "a", 1, 50, false, "cannot be judged");
    assert_int_equal(wm_checks_verdict(&list), WM_TRUST);
    wmi_checks_add_unknown(&list, "b", 1, 5, true, "cannot be judged");
    assert_int_equal(wm_checks_verdict(&list), WM_DOUBT);
    assert_string_equal(wm_checks_reason(&list)->name, "b");
}

static void chasm_is_the_easiest_bridge(void **state)
{
    wm_checks list = {0};
    wmi_easiest e = WMI_EASIEST_NONE;

    (void)state;
    wmi_easiest_see(&e, &(wmi_easiest){0, 0.9, 0.8, 0, 0.5});
    wmi_easiest_see(&e, &(wmi_easiest){1, 0.05, 0.99, 0.5, 1});
    wmi_easiest_see(&e, &(wmi_easiest){2, 0.7, 0.9, (double)NAN, (double)NAN});
    wmi_check_chasm(&list, &e, 0.02, "bridges");
    assert_int_equal(list.check[0].outcome, WM_CHECK_DOUBT);
    assert_non_null(strstr(list.check[0].meaning, "Bridge 1 (alpha 0.5 to 1)"));
    wmi_check_chasm(&list, &e, 0.06, "bridges");
    assert_int_equal(list.check[1].outcome, WM_CHECK_FAILED);
    e = (wmi_easiest){1, 0.05, 0.99, (double)NAN, (double)NAN};
    wmi_check_chasm(&list, &e, 0, "bridges or blocks");
    assert_int_equal(list.check[2].outcome, WM_CHECK_DOUBT);
    assert_non_null(strstr(list.check[2].meaning, "use more bridges or blocks."));
    assert_null(strstr(list.check[2].meaning, "alpha"));
    e.loss = WM_CHASM_LOSS;
    wmi_check_chasm(&list, &e, 0, "bridges");
    assert_int_equal(list.check[3].outcome, WM_CHECK_OK);
    assert_non_null(strstr(list.check[3].meaning, "is right 99.0 times in 100"));
    e.accuracy = 0.1;
    wmi_check_chasm(&list, &e, 0, "bridges");
    assert_int_equal(list.check[4].outcome, WM_CHECK_OK);
    assert_non_null(strstr(list.check[4].meaning, "no more often than chance"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_the_same_everywhere),
        cmocka_unit_test(the_gravest_check_decides),
        cmocka_unit_test(what_is_not_known_counts_only_where_it_is_needed),
        cmocka_unit_test(chasm_is_the_easiest_bridge),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
