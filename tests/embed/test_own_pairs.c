/* test_own_pairs.c - a person's pairs: parts, encoded rows, blocks of v as texts say them. */
#include "asserts.h"

#include <string.h>

#include "base/alloc.h"
#include "waymark/embed.h"

enum { N = 20, DIM = 6 };

static double rows[N * DIM];

/* Pairs whose sides have DIM columns, divided by 2; v is said to be of that shape. */
static wm_status make(wm_own_pairs *p, double held_out, wm_embed_shape v, const char *blocks,
                      wm_error *err)
{
    wm_status st = wm_own_pairs_start(p, N, held_out, err);

    for (int i = 0; i < N * DIM; i++)
        rows[i] = i;
    for (int side = 0; side < 2 && !st; side++) {
        wm_columns *columns = NULL;

        if (!(st = wm_columns_divide(&columns, DIM, 2, err)))
            st = wm_own_pairs_side(p, side, rows, columns, err);
    }
    return st ? st : wm_own_pairs_blocks(p, v, blocks, err);
}

static void parts_follow_each_other(void **state)
{
    static const int64_t n[WM_PARTS] = {15, 3, 2}; /* 5 held out: the odd one chooses */
    const int64_t live = wmi_alloc_live();
    wm_own_pairs p;
    wm_error err = {0};
    int64_t at = 0;

    (void)state;
    assert_ok(make(&p, 0.25, (wm_embed_shape){0}, NULL, &err), err);
    for (int i = 0; i < WM_PARTS; i++) {
        assert_int_equal(p.part[i].n, n[i]);
        assert_int_equal(p.part[i].dim_u, DIM);
        assert_int_equal(p.part[i].dim_v, DIM);
        assert_true(p.part[i].u[0] == 0.5F * (float)(at * DIM));
        assert_true(p.part[i].v[DIM] == 0.5F * (float)((at + 1) * DIM));
        at += n[i];
    }
    for (int j = 0; j < DIM; j++)
        assert_int_equal(p.blocks[j], j);
    wm_own_pairs_clear(&p);
    assert_int_equal(wmi_alloc_live(), live);
}

static void parts_of_less_than_two_are_refused(void **state)
{
    wm_own_pairs p;
    wm_error err = {0};

    (void)state;
    assert_int_equal(wm_own_pairs_start(&p, N, 0.1, &err), WM_EINVAL);
    assert_string_equal(err.text,
                        "20 pairs: 18 to train on, 1 to choose the step and 1 to test it; "
                        "each needs two at least");
    assert_string_equal(err.topic, "held-out");
    wm_own_pairs_clear(&p);
}

static void blocks_are_what_the_text_says(void **state)
{
    static const wm_embed_shape vector = {0}, image = {2, 3, 1};
    static const struct {
        const wm_embed_shape *v;
        const char *text;
        int64_t blocks[DIM];
    } cases[] = {
        {&vector, "2", {0, 0, 0, 1, 1, 1}},  {&vector, "1,2,3", {0, 1, 1, 2, 2, 2}},
        {&image, "2x3", {0, 1, 2, 3, 4, 5}}, {&image, "1x3", {0, 1, 2, 0, 1, 2}},
        {&image, "2", {0, 0, 0, 1, 1, 1}},   {&image, NULL, {0, 0, 1, 2, 2, 3}},
    };
    static const char *const wrong[] = {"0", "7", "1,2", "3,3,1", "2x3", "a", "+1", "1,", ""};
    wm_own_pairs p;
    wm_error err = {0};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_ok(make(&p, 0.5, *cases[i].v, cases[i].text, &err), err);
        assert_memory_equal(p.blocks, cases[i].blocks, sizeof cases[i].blocks);
        wm_own_pairs_clear(&p);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(make(&p, 0.5, vector, wrong[i], &err), WM_EINVAL);
        assert_non_null(strstr(err.text, "v has 6 columns"));
        wm_own_pairs_clear(&p);
    }
    assert_int_equal(make(&p, 0.5, image, "3x1", &err), WM_EINVAL);
    assert_non_null(strstr(err.text, "tiles of an image of 2 x 3"));
    wm_own_pairs_clear(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(parts_follow_each_other),
                                       cmocka_unit_test(parts_of_less_than_two_are_refused),
                                       cmocka_unit_test(blocks_are_what_the_text_says)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
