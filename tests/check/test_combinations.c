/* test_combinations.c - pairs of levels that one table lacks are found, and chance is not. */
#include <string.h>

#include "asserts.h"

#include "base/rng.h"
#include "check/combinations.h"

enum { ROWS = 1000, LEVELS = 3 };

static const char *const name[] = {"low", "middle", "high"};
static const double value[] = {0, 1, 2};

/* Two tables of two columns, and their counts. */
typedef struct tables {
    wm_data *table[2];
    int64_t rows[2][2][LEVELS]; /* column, table, level */
    wmi_level_counts column[2];
} tables;

/* Levels are drawn at random; of the pairs (2, 2) of table q all but every keep-th become (2, 0).
 */
static void draw(tables *t, int64_t keep, uint64_t seed)
{
    memset(t, 0, sizeof *t);
    for (int k = 0; k < 2; k++) {
        const wmi_rng rng = wmi_rng_make(seed, k ? "q" : "p");
        double *x;
        int64_t met = 0;

        assert_int_equal(wm_data_new(&t->table[k], ROWS, 2, NULL, NULL), WM_OK);
        x = wm_data_rows_mut(t->table[k]);
        for (int64_t i = 0; i < ROWS; i++) {
            for (int j = 0; j < 2; j++)
                x[2 * i + j] = (double)wmi_rng_below(&rng, (uint64_t)(2 * i + j), LEVELS);
            if (k == 1 && x[2 * i] == 2 && x[2 * i + 1] == 2 && ++met % keep != 0)
                x[2 * i + 1] = 0;
            for (int j = 0; j < 2; j++)
                t->rows[j][k][(int)x[2 * i + j]]++;
        }
    }
    for (int j = 0; j < 2; j++)
        t->column[j] = (wmi_level_counts){.column = j ? "class" : "age",
                                          .raw = j,
                                          .n = LEVELS,
                                          .value = value,
                                          .level = name,
                                          .rows = {t->rows[j][0], t->rows[j][1]}};
}

static bool of_p[ROWS], of_q[ROWS]; /* rows that are marked */

static void check(wm_checks *list, tables *t)
{
    const wm_data *const both[] = {t->table[0], t->table[1]};
    bool *const lone[] = {of_p, of_q};

    memset(of_p, 0, sizeof of_p);
    memset(of_q, 0, sizeof of_q);
    list->n = 0;
    assert_int_equal(wmi_check_combinations(list, both, 2, t->column, lone, NULL), WM_OK);
    wm_data_free(t->table[0]);
    wm_data_free(t->table[1]);
}

static void a_pair_that_q_lacks_is_named(void **state)
{
    wm_checks list;
    tables t;
    int64_t marked = 0;

    (void)state;
    draw(&t, ROWS, 1); /* q keeps none */
    check(&list, &t);
    assert_int_equal(list.n, 1);
    assert_string_equal(list.check[0].name, "combinations_pq");
    assert_int_equal(list.check[0].outcome, WM_CHECK_FAILED); /* 111 rows */
    assert_non_null(strstr(list.check[0].meaning, "KL(p, q) is infinite or cannot be told"));
    assert_non_null(strstr(list.check[0].meaning, "age = high and class = high, none of q"));
    assert_null(strstr(list.check[0].meaning, "KL(q, p)"));
    for (int64_t i = 0; i < ROWS; i++) {
        marked += of_p[i];
        assert_false(of_q[i]);
    }
    assert_int_equal(marked, (int64_t)list.check[0].value);
}

/* One row is enough: it is rare there, not impossible. */
static void a_rare_pair_is_no_doubt(void **state)
{
    wm_checks list;
    tables t;

    (void)state;
    draw(&t, 60, 1); /* about 111 of 1,000 rows have it */
    check(&list, &t);
    assert_int_equal(list.n, 0);
}

/* Of 200 pairs of equal tables chance may leave two in doubt: 0.01 each. More than 8 has
 * probability 3e-4, and a cell of 111 expected rows is never empty by chance. */
static void chance_is_no_doubt(void **state)
{
    int64_t found = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        wm_checks list;
        tables t;

        draw(&t, 1, seed);
        check(&list, &t);
        found += list.n;
    }
    assert_in_range(found, 0, 8);
}

/* A level that q lacks altogether is the business of "levels". */
static void a_missing_level_is_not_counted_again(void **state)
{
    wm_checks list;
    tables t;

    (void)state;
    draw(&t, 1, 3);
    for (int64_t i = 0; i < ROWS; i++)
        if (wm_data_rows(t.table[1])[2 * i + 1] == 2)
            wm_data_rows_mut(t.table[1])[2 * i + 1] = 1;
    t.rows[1][1][1] += t.rows[1][1][2];
    t.rows[1][1][2] = 0;
    check(&list, &t);
    assert_int_equal(list.n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_pair_that_q_lacks_is_named),
                                       cmocka_unit_test(a_rare_pair_is_no_doubt),
                                       cmocka_unit_test(chance_is_no_doubt),
                                       cmocka_unit_test(a_missing_level_is_not_counted_again)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
