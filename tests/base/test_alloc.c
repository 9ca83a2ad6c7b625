/* test_alloc.c - the heap's only door: alignment, zeroing, overflow, counters, forced failures. */
#include "asserts.h"

#include <string.h>

#include "base/alloc.h"

static void memory_is_aligned_and_zeroed(void **state)
{
    wm_error err = {0};

    (void)state;
    for (int64_t n = 0; n < 300; n++) {
        unsigned char *p = NULL;

        assert_ok(wmi_alloc(&p, n, 3, "bytes", &err), err);
        assert_non_null(p);
        assert_int_equal((uintptr_t)p % WMI_ALIGN, 0);
        for (int64_t i = 0; i < 3 * n; i++)
            assert_int_equal(p[i], 0);
        memset(p, 0xff,
               (size_t)(3 * n)); /* so that the next block would show if it were not zeroed */
        wmi_free(p);
    }
}

static void sizes_beyond_the_address_space_are_refused(void **state)
{
    static const struct {
        int64_t count;
        size_t size;
    } cases[] = {
        {-1, 1},                      /* a negative count */
        {INT64_MIN, 1},               /* likewise */
        {INT64_MAX, 8},               /* the product overflows */
        {2, SIZE_MAX / 2 + 1},        /* it overflows by one */
        {1, SIZE_MAX - WMI_ALIGN / 2} /* it fits, but not once rounded up */
    };
    const int64_t live = wmi_alloc_live();

    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        wm_error err = {0};
        int here;
        void *p = &here;

        assert_int_equal(wmi_alloc(&p, cases[k].count, cases[k].size, "table", &err), WM_ENOMEM);
        assert_null(p);
        assert_int_equal(err.code, WM_ENOMEM);
        assert_non_null(strstr(err.text, "table"));
    }
    assert_int_equal(wmi_alloc(&(void *){NULL}, -1, 1, "table", NULL), WM_ENOMEM);
    assert_int_equal(wmi_alloc_live(), live);
}

static void the_kth_call_fails_once(void **state)
{
    wm_error err = {0};

    (void)state;
    for (int k = 1; k <= 4; k++) {
        wmi_alloc_fail_at(k);
        for (int i = 1; i <= 6; i++) {
            double *p = NULL;
            const wm_status st = wmi_alloc(&p, 5, sizeof *p, "vector", &err);

            assert_int_equal(st, i == k ? WM_ENOMEM : WM_OK);
            assert_true((p == NULL) == (i == k));
            wmi_free(p);
        }
    }
    assert_non_null(strstr(err.text, "vector"));
    wmi_alloc_fail_at(1);
    wmi_alloc_fail_at(0); /* switched off again */
    {
        void *p = NULL;

        assert_ok(wmi_alloc(&p, 1, 1, "byte", &err), err);
        wmi_free(p);
    }
}

static void calls_and_live_blocks_are_counted(void **state)
{
    const int64_t calls = wmi_alloc_count(), live = wmi_alloc_live();
    wm_error err = {0};
    void *a = NULL, *b = NULL, *c = NULL;

    (void)state;
    assert_ok(wmi_alloc(&a, 1, 1, "a", &err), err);
    assert_ok(wmi_alloc(&b, 0, 1, "b", &err), err);
    assert_int_equal(wmi_alloc(&c, -1, 1, "c", &err), WM_ENOMEM);
    assert_int_equal(wmi_alloc_count() - calls, 3); /* the failed one counts as a call ... */
    assert_int_equal(wmi_alloc_live() - live, 2);   /* ... and not as a block */
    wmi_free(a);
    wmi_free(NULL);
    assert_int_equal(wmi_alloc_live() - live, 1);
    wmi_free(b);
    assert_int_equal(wmi_alloc_live(), live);
    assert_int_equal(wmi_alloc_count() - calls, 3);
}

static void texts_are_copied(void **state)
{
    char *copy;
    wm_error err;

    (void)state;
    assert_int_equal(wmi_alloc_text(&copy, "waymark", "a name", &err), WM_OK);
    assert_string_equal(copy, "waymark");
    wmi_free(copy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_copied),
        cmocka_unit_test(memory_is_aligned_and_zeroed),
        cmocka_unit_test(sizes_beyond_the_address_space_are_refused),
        cmocka_unit_test(the_kth_call_fails_once),
        cmocka_unit_test(calls_and_live_blocks_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
