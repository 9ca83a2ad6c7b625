/* test_grid_pairs.c - pairs of grids: what a cell shows, how often, and that a row is a function of
 * seed, split and number. */
#include "asserts.h"
#include "scratch.h"

#include <omp.h>

#include "base/alloc.h"
#include "images/grid_pairs.h"
#include "images/u8_files.h"
#include "waymark/images.h"

enum { SIDE = 28, SIZE = SIDE * SIDE, CELLS = 4, DRAWINGS = 5, PIXELS = CELLS * SIZE };

static wm_alphabets *alphabets; /* of 5, 4, 3 and 3 characters */

static int make_alphabets(void **state)
{
    const int64_t sizes[CELLS + 1] = {5, 4, 3, 3, 2};

    return scratch_make(state) ||
           wm_alphabets_open_glyphs(&alphabets, sizes, CELLS + 1, DRAWINGS, 1, NULL);
}

static int drop_alphabets(void **state)
{
    wm_alphabets_free(alphabets);
    return scratch_remove(state);
}

static wm_grid_pairs *make_pairs(int64_t rows, int64_t columns, int64_t held_out, uint64_t seed)
{
    wm_grid_pairs_opts o;
    wm_grid_pairs *p;
    wm_error err;

    wm_grid_pairs_opts_init(&o);
    o.rows = rows;
    o.columns = columns;
    o.held_out = held_out;
    o.seed = seed;
    assert_ok(wm_grid_pairs_new(&p, alphabets, &o, &err), err);
    return p;
}

/* Which character and drawing of its alphabet a cell of a 2 x 2 grid shows. */
static void recognise(const uint8_t *picture, int cell, int *character, int *drawing)
{
    uint8_t shown[SIZE];

    for (int r = 0; r < SIDE; r++)
        memcpy(shown + r * SIDE, picture + (cell / 2 * SIDE + r) * 2 * SIDE + (cell % 2) * SIDE,
               SIDE);
    for (*character = 0; *character < wm_alphabets_size(alphabets, cell); ++*character)
        for (*drawing = 0; *drawing < DRAWINGS; ++*drawing)
            if (memcmp(shown, wm_alphabets_drawing(alphabets, cell, *character, *drawing), SIZE) ==
                0)
                return;
    fail_msg("cell %d shows no drawing of its alphabet", cell);
}

static void truth_is_the_sum_of_logs(void **state)
{
    wm_grid_pairs *p = make_pairs(2, 2, 0, 1), *q = make_pairs(1, 1, 0, 1);

    (void)state;
    assert_near(wm_grid_pairs_mi(p), log(5 * 4 * 3 * 3), 1e-14);
    assert_near(wm_grid_pairs_mi(q), log(5), 1e-14);
    assert_int_equal(wm_grid_pairs_cells(p), 4);
    assert_int_equal(wm_grid_pairs_height(p), 56);
    assert_int_equal(wm_grid_pairs_width(p), 56);
    wm_grid_pairs_free(p), wm_grid_pairs_free(q);
}

/* v follows u, the last character is followed by the first, and every value comes as often as it
 * should: a count of n draws with probability f has standard error sqrt(n f (1 - f)). */
static void cells_show_a_character_and_the_next(void **state)
{
    enum { N = 4000 };
    static uint8_t u[N * PIXELS / 8], v[N * PIXELS / 8], labels[N * CELLS];
    int first_two[5][4] = {{0}}, drawings[DRAWINGS][DRAWINGS] = {{0}};
    wm_grid_pairs *p = make_pairs(2, 2, 0, 1);
    wm_error err = {0};

    (void)state;
    for (int block = 0; block < 8; block++) {
        const int from = block * N / 8;

        assert_ok(
            wmi_grid_pairs_bytes(p, WM_SPLIT_TRAIN, from, N / 8, u, v, labels + from * CELLS, &err),
            err);
        for (int i = 0; i < N / 8; i++)
            for (int cell = 0; cell < CELLS; cell++) {
                const int64_t size = wm_alphabets_size(alphabets, cell);
                int cu, cv, du, dv;

                recognise(u + i * PIXELS, cell, &cu, &du);
                recognise(v + i * PIXELS, cell, &cv, &dv);
                assert_int_equal(cu, labels[(from + i) * CELLS + cell]);
                assert_int_equal(cv, (cu + 1) % size);
                drawings[du][dv] += cell == 2;
            }
    }
    for (int i = 0; i < N; i++)
        first_two[labels[i * CELLS]][labels[i * CELLS + 1]]++;
    for (int a = 0; a < 5; a++)
        for (int b = 0; b < 4; b++) /* cells are independent */
            assert_near(first_two[a][b], N / 20.0, 5 * sqrt(N * (1 / 20.0) * (19 / 20.0)));
    for (int a = 0; a < DRAWINGS; a++)
        for (int b = 0; b < DRAWINGS; b++) /* and so are the drawings of u and v */
            assert_near(drawings[a][b], N / 25.0, 5 * sqrt(N * (1 / 25.0) * (24 / 25.0)));
    wm_grid_pairs_free(p);
}

static void held_out_drawings_are_seen_in_one_split_alone(void **state)
{
    enum { N = 200 };
    static uint8_t u[N * PIXELS], v[N * PIXELS];
    wm_grid_pairs *p = make_pairs(2, 2, 2, 1), *whole = make_pairs(2, 2, 0, 1);
    wm_error err = {0};

    (void)state;
    for (int split = 0; split < 4; split++) {
        bool shown[DRAWINGS] = {false};

        assert_ok(wmi_grid_pairs_bytes(p, (wm_split)split, 0, N, u, v, NULL, &err), err);
        for (int i = 0; i < N * CELLS; i++) {
            int c, d;

            recognise(u + i / CELLS * PIXELS, i % CELLS, &c, &d);
            shown[d] = true;
            recognise(v + i / CELLS * PIXELS, i % CELLS, &c, &d);
            shown[d] = true;
        }
        for (int d = 0; d < DRAWINGS; d++)
            assert_int_equal(shown[d], (d >= DRAWINGS - 2) == (split == WM_SPLIT_UNSEEN));
    }
    assert_int_equal(wmi_grid_pairs_bytes(whole, WM_SPLIT_UNSEEN, 0, 1, u, v, NULL, &err),
                     WM_EINVAL);
    assert_non_null(strstr(err.text, "no drawings are held out"));
    wm_grid_pairs_free(p), wm_grid_pairs_free(whole);
}

static void rows_are_functions_of_their_number(void **state)
{
    enum { N = 60 };
    static uint8_t u[N * PIXELS], again[N * PIXELS], labels[N * CELLS], other[N * CELLS];
    static float f[N * PIXELS], g[N * PIXELS];
    const int threads = omp_get_max_threads();
    wm_grid_pairs *p = make_pairs(2, 2, 0, 1), *q = make_pairs(2, 2, 0, 2);
    wm_error err = {0};

    (void)state;
    assert_ok(wmi_grid_pairs_bytes(p, WM_SPLIT_TEST, 0, N, u, NULL, labels, &err), err);
    omp_set_num_threads(3);
    for (int i = 0; i < N; i += 7)
        assert_ok(wmi_grid_pairs_bytes(p, WM_SPLIT_TEST, i, i + 7 <= N ? 7 : N - i,
                                       again + i * PIXELS, NULL, NULL, &err),
                  err);
    assert_memory_equal(u, again, sizeof u);
    assert_ok(wm_grid_pairs_draw(p, WM_SPLIT_TEST, 0, N, f, g, NULL, &err), err);
    omp_set_num_threads(threads);
    for (int i = 0; i < N * PIXELS; i++)
        assert_near(f[i], u[i] / 255.0, 1e-7);
    assert_ok(wmi_grid_pairs_bytes(p, WM_SPLIT_TEST, 0, N, NULL, again, NULL, &err), err);
    for (int i = 0; i < N * PIXELS; i++)
        assert_near(g[i], again[i] / 255.0, 1e-7);
    for (int k = 0; k < 3; k++) { /* other splits and seeds: other rows */
        assert_ok(wm_grid_pairs_draw(k == 2 ? q : p, k == 2 ? WM_SPLIT_TEST : (wm_split)k, 0, N,
                                     NULL, NULL, other, &err),
                  err);
        assert_true(memcmp(labels, other, sizeof labels) != 0);
    }
    wm_grid_pairs_free(p), wm_grid_pairs_free(q);
}

static void files_hold_the_rows(void **state)
{
    const int64_t n[4] = {7, 3, 0, 2};
    static uint8_t v[7 * PIXELS], labels[7 * CELLS];
    wm_grid_pairs *p = make_pairs(2, 2, 1, 5);
    int64_t rows, dim = PIXELS;
    wm_error err = {0};
    uint8_t *x;

    (void)state;
    assert_ok(wm_grid_pairs_write(p, n, scratch("pairs"), false, &err), err);
    assert_int_equal(scratch_count(scratch("pairs")), 3); /* no test */
    assert_int_equal(scratch_count(scratch("pairs/unseen")), 3);
    assert_ok(wmi_grid_pairs_bytes(p, WM_SPLIT_TRAIN, 0, 7, NULL, v, labels, &err), err);
    assert_ok(wmi_u8_read(&x, &rows, &dim, scratch("pairs/train/v.npy"), &err), err);
    assert_int_equal(rows, 7);
    assert_memory_equal(x, v, sizeof v);
    wmi_free(x);
    dim = CELLS;
    assert_ok(wmi_u8_read(&x, &rows, &dim, scratch("pairs/train/labels.npy"), &err), err);
    assert_memory_equal(x, labels, sizeof labels);
    wmi_free(x);
    assert_int_equal(wm_grid_pairs_write(p, n, scratch("pairs"), false, &err), WM_EINVAL);
    assert_ok(wm_grid_pairs_write(p, n, scratch("pairs"), true, &err), err);
    wm_grid_pairs_free(p);
}

/* Hands change training alone, and nothing but the pixels there. */
static void only_training_is_distorted(void **state)
{
    enum { N = 20 };
    static uint8_t plain[2][N * PIXELS], other[2][N * PIXELS], labels[2][N * CELLS];
    wm_grid_pairs_opts o;
    wm_grid_pairs *p = make_pairs(2, 2, 1, 5), *q;
    wm_error err = {0};

    (void)state;
    wm_grid_pairs_opts_init(&o);
    o.rows = o.columns = 2, o.held_out = 1, o.seed = 5, o.distort = 1;
    assert_ok(wm_grid_pairs_new(&q, alphabets, &o, &err), err);
    for (int split = 0; split < 4; split++) {
        assert_ok(
            wmi_grid_pairs_bytes(p, (wm_split)split, 0, N, plain[0], plain[1], labels[0], &err),
            err);
        assert_ok(
            wmi_grid_pairs_bytes(q, (wm_split)split, 0, N, other[0], other[1], labels[1], &err),
            err);
        assert_memory_equal(labels[0], labels[1], sizeof labels[0]);
        for (int side = 0; side < 2; side++)
            assert_int_equal(memcmp(plain[side], other[side], sizeof plain[side]) != 0,
                             split == WM_SPLIT_TRAIN);
    }
    /* a row is a function of its number, whoever else is drawn beside it */
    assert_ok(wmi_grid_pairs_bytes(q, WM_SPLIT_TRAIN, 0, N, other[0], other[1], NULL, &err), err);
    assert_ok(wmi_grid_pairs_bytes(q, WM_SPLIT_TRAIN, 7, 1, NULL, plain[1], NULL, &err), err);
    assert_memory_equal(plain[1], other[1] + 7 * PIXELS, PIXELS);
    wm_grid_pairs_free(p), wm_grid_pairs_free(q);
    o.distort = -1;
    assert_int_equal(wm_grid_pairs_new(&q, alphabets, &o, &err), WM_EINVAL);
    assert_string_equal(err.text, "drawings distorted by -1: 0 to 3");
}

static void pixels_know_their_cell(void **state)
{
    wm_grid_pairs *p = make_pairs(1, 3, 0, 1);
    int64_t block[3 * SIZE];

    (void)state;
    wmi_grid_pairs_blocks(p, block);
    for (int i = 0; i < 3 * SIZE; i++)
        assert_int_equal(block[i], i % (3 * SIDE) / SIDE);
    wm_grid_pairs_free(p);
    p = make_pairs(2, 1, 0, 1);
    wmi_grid_pairs_blocks(p, block);
    for (int i = 0; i < 2 * SIZE; i++)
        assert_int_equal(block[i], i / SIZE);
    wm_grid_pairs_free(p);
}

static void wrong_grids_are_refused(void **state)
{
    wm_grid_pairs_opts o;
    wm_grid_pairs *p = NULL;
    wm_error err = {0};
    uint8_t labels[CELLS];

    (void)state;
    wm_grid_pairs_opts_init(&o);
    o.rows = 2, o.columns = 3;
    assert_int_equal(wm_grid_pairs_new(&p, alphabets, &o, &err), WM_EINVAL);
    assert_string_equal(err.text, "a grid of 2 x 3 cells needs an alphabet for each; there are 5");
    o.rows = INT64_MAX;
    assert_int_equal(wm_grid_pairs_new(&p, alphabets, &o, &err), WM_EINVAL);
    o.rows = 0;
    assert_int_equal(wm_grid_pairs_new(&p, alphabets, &o, &err), WM_EINVAL);
    o.rows = 1, o.held_out = DRAWINGS;
    assert_int_equal(wm_grid_pairs_new(&p, alphabets, &o, &err), WM_EINVAL);
    assert_non_null(strstr(err.text, "5 of 5 drawings held out"));
    assert_null(p);
    p = make_pairs(2, 2, 0, 1);
    assert_int_equal(wm_grid_pairs_draw(p, WM_SPLIT_TRAIN, -1, 1, NULL, NULL, labels, &err),
                     WM_EINVAL);
    assert_int_equal(wm_grid_pairs_draw(p, WM_SPLIT_TRAIN, INT64_MAX, 1, NULL, NULL, labels, &err),
                     WM_EINVAL);
    assert_int_equal(wm_grid_pairs_draw(p, (wm_split)4, 0, 1, NULL, NULL, labels, &err), WM_EINVAL);
    assert_ok(wm_grid_pairs_draw(p, WM_SPLIT_TRAIN, 0, 0, NULL, NULL, NULL, &err), err);
    wm_grid_pairs_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(truth_is_the_sum_of_logs),
        cmocka_unit_test(cells_show_a_character_and_the_next),
        cmocka_unit_test(held_out_drawings_are_seen_in_one_split_alone),
        cmocka_unit_test(rows_are_functions_of_their_number),
        cmocka_unit_test(files_hold_the_rows),
        cmocka_unit_test(only_training_is_distorted),
        cmocka_unit_test(pixels_know_their_cell),
        cmocka_unit_test(wrong_grids_are_refused),
    };

    return cmocka_run_group_tests(tests, make_alphabets, drop_alphabets);
}
