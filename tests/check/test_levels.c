/* test_levels.c - levels that one table lacks are named; where chance does not explain it, nor that
 * they are rare, their rows are marked. */
#include <math.h>
#include <string.h>

#include "asserts.h"

#include "check/levels.h"

enum { MOST = 200, LEVELS = 40 };

static bool of_p[MOST], of_q[MOST];
static bool *const lone[2] = {of_p, of_q};

/* Two tables of one column, with so many rows of each of n values 0, 1, ...; checked. */
static const wm_check *check(wm_checks *list, int64_t n, const int64_t *p, const int64_t *q,
                             const double *values)
{
    static const char *const names[LEVELS] = {"Fair", "Good", "Ideal"};
    const wmi_level_counts counts = {
        .column = "cut", .n = n, .level = names, .rows = {p, q}, .value = values};
    const int64_t *const rows[2] = {p, q};
    wm_data *table[2];

    list->n = 0;
    for (int t = 0; t < 2; t++) {
        double x[MOST];
        int64_t at = 0;

        memset(lone[t], 0, MOST * sizeof **lone);
        for (int64_t k = 0; k < n; k++)
            for (int64_t i = 0; i < rows[t][k]; i++)
                x[at++] = isnan(values[k]) ? 7 : values[k];
        assert_int_equal(wm_data_new(&table[t], at, 1, x, NULL), WM_OK);
    }
    wmi_check_levels(list, (const wm_data *const *)table, 1, &counts, lone);
    wm_data_free(table[0]);
    wm_data_free(table[1]);
    return list->n ? &list->check[0] : NULL;
}

static int64_t marked(int t)
{
    int64_t n = 0;

    for (int64_t i = 0; i < MOST; i++)
        n += lone[t][i];
    return n;
}

static const double value[] = {0, 1, 2};

static void levels_of_both_are_fine(void **state)
{
    static const int64_t both[] = {50, 50};
    wm_checks list;

    (void)state;
    assert_null(check(&list, 2, both, both, value));
    assert_int_equal(marked(0) + marked(1), 0);
}

/* 37 of 100 rows: 37 to be expected in q, and 3.7 if it were ten times rarer there. */
static void a_level_that_q_cannot_have_is_failed(void **state)
{
    static const int64_t p[] = {20, 43, 37}, q[] = {60, 40, 0};
    wm_checks list;
    const wm_check *c = check(&list, 3, p, q, value);

    (void)state;
    assert_int_equal(c->outcome, WM_CHECK_FAILED);
    assert_string_equal(c->name, "levels_pq");
    assert_string_equal(c->meaning,
                        "KL(p, q) is infinite or cannot be told: 37 rows of p have cut = Ideal, "
                        "none of q. There is no number for it but that of the other rows.");
    assert_int_equal(list.n, 1);
    assert_int_equal(marked(0), 37);
    assert_false(of_p[62]);
    assert_true(of_p[63]);
    assert_int_equal(marked(1), 0);
    assert_int_equal(wm_checks_verdict(&list), WM_REJECT);
    assert_int_equal(wm_checks_verdict_about(&list, WM_ABOUT_PQ), WM_REJECT);
    assert_int_equal(wm_checks_verdict_about(&list, WM_ABOUT_QP), WM_TRUST);
}

static void each_side_is_told(void **state)
{
    static const int64_t p[] = {50, 50, 0}, q[] = {0, 40, 60};
    wm_checks list;

    (void)state;
    check(&list, 3, p, q, value);
    assert_int_equal(list.n, 2);
    assert_non_null(strstr(list.check[0].meaning, "50 rows of p have cut = Fair, none of q. "));
    assert_non_null(strstr(list.check[1].meaning, "KL(q, p) is infinite or cannot be told: 60 rows "
                                                  "of q have cut = Ideal, none of p. "));
    assert_int_equal(marked(0), 50);
    assert_int_equal(marked(1), 60);
}

/* 10 of 100 rows: more than chance leaves out, but it may be rare; 1 of 100 is chance. */
static void fewer_rows_are_doubted_or_let_pass(void **state)
{
    static const int64_t p[] = {50, 40, 10}, few[] = {50, 49, 1}, q[] = {50, 50, 0};
    wm_checks list;
    const wm_check *c = check(&list, 3, p, q, value);

    (void)state;
    assert_int_equal(c->outcome, WM_CHECK_DOUBT);
    assert_non_null(strstr(c->meaning, "KL(p, q) may be infinite: 10 rows of p have cut = Ideal"));
    c = check(&list, 3, few, q, value);
    assert_int_equal(c->outcome, WM_CHECK_NOT_KNOWN);
    assert_non_null(strstr(c->meaning, "1 row of p has cut = Ideal"));
    assert_int_equal(wm_checks_verdict(&list), WM_TRUST);
    assert_int_equal(marked(0) + marked(1), 0);
}

/* One row of five in p, none of 190 in q: 38 were to be expected. But a level of one row is one of
 * p's in 5 of 195 cases. */
static void a_short_table_may_have_a_rare_row(void **state)
{
    static const int64_t p[] = {2, 2, 1}, q[] = {90, 100, 0};
    wm_checks list;

    (void)state;
    assert_int_equal(check(&list, 3, p, q, value)->outcome, WM_CHECK_NOT_KNOWN);
    assert_int_equal(wm_checks_verdict(&list), WM_TRUST);
    assert_int_equal(marked(0), 0);
}

/* Levels of four rows are in one table by chance in 1 of 16 cases each; not 30 of them. Levels of
 * one row always are. */
static void many_rare_levels_are_no_chance(void **state)
{
    int64_t p[LEVELS], q[LEVELS];
    double values[LEVELS];
    wm_checks list;
    const wm_check *c;

    (void)state;
    for (int64_t k = 0; k < LEVELS; k++) {
        values[k] = (double)k;
        p[k] = k < 30 ? 4 : 2;
        q[k] = k < 30 ? 0 : 14;
    }
    c = check(&list, LEVELS, p, q, values);
    assert_int_equal(c->outcome, WM_CHECK_DOUBT);
    assert_non_null(strstr(c->meaning, "4 rows of p have cut = Fair, none of q, and so with 29 "
                                       "other levels, of 116 rows. "));
    for (int64_t k = 0; k < LEVELS; k++) {
        p[k] = k % 2;
        q[k] = 1 - k % 2;
    }
    assert_int_equal(check(&list, LEVELS, p, q, values)->outcome, WM_CHECK_NOT_KNOWN);
    assert_int_equal(list.n, 2);
    assert_int_equal(wm_checks_verdict(&list), WM_TRUST);
}

/* Of a number with many zeros all other values are one level. */
static void other_values_are_a_level(void **state)
{
    static const double zero_or_not[] = {0, NAN};
    static const int64_t p[] = {60, 40}, q[] = {100, 0};
    wm_checks list;

    (void)state;
    assert_int_equal(check(&list, 2, p, q, zero_or_not)->outcome, WM_CHECK_FAILED);
    assert_int_equal(marked(0), 40);
    assert_true(of_p[99]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(levels_of_both_are_fine),
        cmocka_unit_test(a_level_that_q_cannot_have_is_failed),
        cmocka_unit_test(each_side_is_told),
        cmocka_unit_test(fewer_rows_are_doubted_or_let_pass),
        cmocka_unit_test(a_short_table_may_have_a_rare_row),
        cmocka_unit_test(many_rare_levels_are_no_chance),
        cmocka_unit_test(other_values_are_a_level),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
