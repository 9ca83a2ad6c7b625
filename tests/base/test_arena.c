/* test_arena.c - many small pieces and a few large ones, one free; failures leave the arena whole.
 */
#include "asserts.h"

#include <stdalign.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"

/* Pieces of every size up to beyond one block (32 KB): zeroed, aligned, and not overlapping, which
 * shows when each still holds its own byte after all were filled. */
static void pieces_do_not_overlap(void **state)
{
    enum { PIECES = 400 };
    const int64_t live = wmi_alloc_live();
    wmi_arena arena = {0};
    wm_error err = {0};
    unsigned char *piece[PIECES];
    size_t size[PIECES];

    (void)state;
    for (size_t k = 0; k < PIECES; k++) {
        size[k] = k % 50 == 49 ? 40000 + k : k;
        piece[k] = wmi_arena_alloc(&arena, size[k], &err);
        assert_non_null(piece[k]);
        assert_int_equal((uintptr_t)piece[k] % alignof(max_align_t), 0);
        for (size_t i = 0; i < size[k]; i++)
            assert_int_equal(piece[k][i], 0);
        memset(piece[k], (int)(k % 251) + 1, size[k]);
    }
    for (size_t k = 0; k < PIECES; k++)
        for (size_t i = 0; i < size[k]; i++)
            assert_int_equal(piece[k][i], k % 251 + 1);
    assert_true(wmi_alloc_live() > live);
    wmi_arena_free(&arena);
    assert_int_equal(wmi_alloc_live(), live);
}

static void small_pieces_share_a_block(void **state)
{
    wmi_arena arena = {0};
    wm_error err = {0};
    const int64_t calls = wmi_alloc_count();

    (void)state;
    for (int k = 0; k < 1000; k++)
        assert_non_null(wmi_arena_alloc(&arena, 16, &err)); /* 16 KB in all */
    assert_int_equal(wmi_alloc_count() - calls, 1);
    wmi_arena_free(&arena);
}

static void strings_are_copied(void **state)
{
    wmi_arena arena = {0};
    wm_error err = {0};
    char name[] = "conv1.weight";
    const char *copy = wmi_arena_strdup(&arena, name, &err), *empty;

    (void)state;
    name[0] = 'X';
    assert_string_equal(copy, "conv1.weight");
    empty = wmi_arena_strdup(&arena, "", &err);
    assert_non_null(empty);
    assert_string_equal(empty, "");
    wmi_arena_free(&arena);
}

static void failures_are_reported_and_survived(void **state)
{
    wmi_arena arena = {0};
    wm_error err = {0};
    char *first = wmi_arena_strdup(&arena, "first", &err);

    (void)state;
    assert_non_null(first);
    assert_null(wmi_arena_alloc(&arena, SIZE_MAX, &err));
    assert_int_equal(err.code, WM_ENOMEM);
    err = (wm_error){0};
    wmi_alloc_fail_at(1);
    assert_null(wmi_arena_alloc(&arena, 100000, &err));
    assert_int_equal(err.code, WM_ENOMEM);
    wmi_alloc_fail_at(0);
    assert_non_null(wmi_arena_alloc(&arena, 100000, NULL));
    assert_string_equal(first, "first");
    wmi_arena_free(&arena);
    wmi_arena_free(&arena); /* empty again: nothing to do, and ready for use */
    assert_non_null(wmi_arena_alloc(&arena, 1, &err));
    wmi_arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_do_not_overlap),
        cmocka_unit_test(small_pieces_share_a_block),
        cmocka_unit_test(strings_are_copied),
        cmocka_unit_test(failures_are_reported_and_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
