/* test_opts.c - options of clients that were built for other versions; threads for a call. */
#include "asserts.h"

#include <string.h>

#include <omp.h>

#include "base/opts.h"

/* Options as they were, and as they are now. */
typedef struct old_opts {
    size_t struct_size;
    double rate;
} old_opts;
typedef struct new_opts {
    size_t struct_size;
    double rate;
    int64_t rounds;
} new_opts;

static const new_opts defaults = {sizeof(new_opts), 0.1, 7};

static void an_old_client_gets_defaults_for_what_is_new(void **state)
{
    const old_opts old = {sizeof old, 0.5};
    new_opts own = defaults;
    wm_error err = {0};

    (void)state;
    assert_ok(wmi_opts_take(&own, sizeof own, &old, "new_opts_init", &err), err);
    assert_true(own.rate == 0.5);
    assert_int_equal(own.rounds, 7);
    assert_int_equal(own.struct_size, sizeof own);
    assert_ok(wmi_opts_take(&own, sizeof own, NULL, "new_opts_init", &err), err);
    assert_true(own.rate == 0.5); /* nothing given, nothing changed */
}

static void a_later_client_is_refused(void **state)
{
    const new_opts later = defaults;
    old_opts own = {sizeof own, 0.1};
    wm_error err = {0};

    (void)state;
    assert_int_equal(wmi_opts_take(&own, sizeof own, &later, "old_opts_init", &err), WM_EINVAL);
    assert_non_null(strstr(err.text, "later"));
    assert_true(own.rate == 0.1 && own.struct_size == sizeof own);
}

static void what_no_init_has_made_is_refused(void **state)
{
    const size_t sizes[] = {0, 1, sizeof(new_opts) - 1, SIZE_MAX};
    new_opts own = defaults, given = defaults;
    wm_error err = {0};

    (void)state;
    for (int i = 0; i < 4; i++) {
        given.struct_size = sizes[i];
        assert_int_equal(wmi_opts_take(&own, sizeof own, &given, "new_opts_init", &err), WM_EINVAL);
        assert_non_null(strstr(err.text, "not made by new_opts_init()"));
    }
}

static void threads_are_lent_for_a_call(void **state)
{
    const int before = omp_get_max_threads();
    int lent;

    (void)state;
    lent = wmi_threads_use(-1);
    assert_int_equal(omp_get_max_threads(), before);
    wmi_threads_restore(lent);
    lent = wmi_threads_use(before + 3);
    assert_int_equal(omp_get_max_threads(), before + 3);
    wmi_threads_restore(lent);
    assert_int_equal(omp_get_max_threads(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_old_client_gets_defaults_for_what_is_new),
        cmocka_unit_test(a_later_client_is_refused),
        cmocka_unit_test(what_no_init_has_made_is_refused),
        cmocka_unit_test(threads_are_lent_for_a_call),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
