/* test_pieces.c - means of pieces: right, and in one order whoever has them. */
#include <stdlib.h>

#include "asserts.h"
#include "train/pieces.h"

enum { N = 5 };

/* Numbers whose sum hangs on the order. */
static float number(int64_t piece, int64_t j)
{
    return (float)(piece * piece + 1) * 1.1f + (float)j * 1e-7f + (piece % 3 ? 3e7f : -3e7f);
}

static void fill(int64_t piece, float grad[N])
{
    for (int64_t j = 0; j < N; j++)
        grad[j] = number(piece, j);
}

static void pieces_add_up_in_a_tree(void **state)
{
    (void)state;
    for (int64_t pieces = 1; pieces <= 8; pieces *= 2) {
        wmi_pieces p = {0};
        const float *mean;
        float tree[8][N + 1], grad[N];
        wm_error err;

        assert_ok(wmi_pieces_open(&p, NULL, pieces, N, &err), err);
        assert_int_equal(p.own, pieces);
        assert_int_equal(p.first, 0);
        for (int step = 0; step < 2; step++) /* the second finds nothing of the first */
            for (int64_t i = 0; i < pieces; i++) {
                const float extra[WMI_PIECE_EXTRAS] = {(float)i, i == 0, 0};

                fill(i, grad);
                for (int64_t j = 0; j < N; j++)
                    tree[i][j] = grad[j];
                tree[i][N] = (float)i;
                wmi_pieces_add(&p, i, grad, extra);
            }
        for (int64_t gap = 1; gap < pieces; gap *= 2)
            for (int64_t i = 0; i + gap < pieces; i += 2 * gap)
                for (int64_t j = 0; j <= N; j++)
                    tree[i][j] += tree[i + gap][j];
        assert_ok(wmi_pieces_mean(&p, &mean, &err), err);
        for (int64_t j = 0; j < N; j++)
            assert_true(mean[j] == tree[0][j] / (float)pieces);
        assert_true(mean[N + WMI_PIECE_LOSS] == tree[0][N] / (float)pieces);
        assert_true(mean[N + WMI_PIECE_ASKED] > 0 && mean[N + WMI_PIECE_TIME] == 0);
        wmi_pieces_close(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(pieces_add_up_in_a_tree)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
