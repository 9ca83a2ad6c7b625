/* test_cell_mixer.c - which cells stand where in the rows of a step. */
#include "asserts.h"
#include "train/cell_mixer.h"

enum { CELLS = 4, ROWS = 5, NEGATIVES = 3, N = ROWS * CELLS };

static float mix[CELLS * (1 + NEGATIVES) * N];

/* Cell c of row i at waymark k, r-th partner: written down from the definition. */
static float expected(int64_t place, int64_t at, int64_t k, int64_t i, int64_t r)
{
    if (place > at)
        return (float)(i * CELLS + k); /* its own */
    if (place < at)
        return (float)(N + i * CELLS + k); /* exchanged at an earlier bridge */
    return (float)(N + (i + r) % ROWS * CELLS + k);
}

static void cells_change_one_after_the_other(void **state)
{
    wmi_cell_mixer *x;
    wm_error err;

    (void)state;
    assert_ok(wmi_cell_mixer_new(&x, CELLS, CELLS, ROWS, NEGATIVES, &err), err);
    wmi_cell_mixer_fill(x, 17, mix);
    for (int64_t k = 0; k < CELLS; k++)
        for (int64_t i = 0; i < ROWS; i++)
            for (int64_t c = 0; c < CELLS; c++) {
                const float *row = mix + k * (1 + NEGATIVES) * N + i * CELLS + c;

                /* At waymark k the cell whose turn is k has not changed yet. */
                assert_near(row[0], (float)((c < k ? N : 0) + i * CELLS + c), 0);
                for (int64_t r = 0; r < NEGATIVES; r++)
                    assert_near(row[(1 + r) * N], expected(c, k, c, i, r), 0);
            }
    wmi_cell_mixer_free(x);
}

/* One bridge: all cells change at once, all from the same partner. */
static void one_bridge_exchanges_whole_rows(void **state)
{
    wmi_cell_mixer *x;
    wm_error err;

    (void)state;
    assert_ok(wmi_cell_mixer_new(&x, 1, CELLS, ROWS, NEGATIVES, &err), err);
    wmi_cell_mixer_fill(x, 0, mix);
    for (int64_t i = 0; i < N; i++) {
        assert_near(mix[i], (float)i, 0);
        for (int64_t r = 0; r < NEGATIVES; r++)
            assert_near(mix[(1 + r) * N + i], (float)(N + (i + r * CELLS) % N), 0);
    }
    wmi_cell_mixer_free(x);
}

/* In random order too a bridge changes one cell of a row, all its partners the same one, and over
 * all bridges each cell once. */
static void random_order_changes_every_cell_once(void **state)
{
    int64_t not_in_order = 0;
    wmi_cell_mixer *x;
    wm_error err;

    (void)state;
    assert_ok(wmi_cell_mixer_new(&x, CELLS, CELLS, ROWS, NEGATIVES, &err), err);
    assert_ok(wmi_cell_mixer_random_order(x, 3, &err), err);
    wmi_cell_mixer_fill(x, 17, mix);
    for (int64_t i = 0; i < ROWS; i++) {
        unsigned seen = 0;

        for (int64_t k = 0; k < CELLS; k++) {
            const float *num = mix + k * (1 + NEGATIVES) * N + i * CELLS;

            for (int64_t c = 0; c < CELLS; c++) {
                if (num[c] == num[N + c]) {
                    assert_near(num[2 * N + c], num[c], 0);
                    continue;
                }
                assert_near(num[c], (float)(i * CELLS + c), 0);
                for (int64_t r = 0; r < NEGATIVES; r++)
                    assert_near(num[(1 + r) * N + c], expected(0, 0, c, i, r), 0);
                assert_false(seen & 1u << c);
                seen |= 1u << c;
                not_in_order += c != k;
            }
        }
        assert_int_equal(seen, (1u << CELLS) - 1);
    }
    assert_true(not_in_order > 0);
    wmi_cell_mixer_free(x);
}

static void too_many_partners_are_refused(void **state)
{
    wmi_cell_mixer *x;
    wm_error err;

    (void)state;
    assert_int_equal(wmi_cell_mixer_new(&x, CELLS, CELLS, ROWS, ROWS + 1, &err), WM_EINVAL);
    assert_int_equal(wmi_cell_mixer_new(&x, CELLS, CELLS, ROWS, 0, &err), WM_EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cells_change_one_after_the_other),
        cmocka_unit_test(one_bridge_exchanges_whole_rows),
        cmocka_unit_test(random_order_changes_every_cell_once),
        cmocka_unit_test(too_many_partners_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
