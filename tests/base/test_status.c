/* test_status.c - texts of the codes, the error record, and the version. */
#include "asserts.h"

#include <string.h>

#include "base/fail.h"
#include "waymark/version.h"

static void every_code_has_its_own_text(void **state)
{
    static const wm_status codes[] = {
#define CODE(code, text) code,
        WM_STATUS_LIST(CODE)
#undef CODE
    };
    enum { CODES = sizeof codes / sizeof *codes };

    (void)state;
    assert_int_equal(WM_OK, 0); /* callers write `if (st)` */
    assert_string_equal(wm_status_text(WM_OK), "success");
    assert_string_equal(wm_status_text(WM_ESHAPE), "shapes do not fit");
    for (size_t a = 0; a < CODES; a++)
        for (size_t b = 0; b < a; b++)
            assert_string_not_equal(wm_status_text(codes[a]), wm_status_text(codes[b]));
    assert_string_equal(wm_status_text((wm_status)CODES), "unknown status");
}

static wm_status refuse(int columns, wm_error *err)
{
    return wmi_fail(err, WM_EFORMAT, "train.csv:%d: %d columns, expected %d", 17, columns, 32);
}

static void a_failure_records_where_and_why(void **state)
{
    wm_error err = {0};

    (void)state;
    assert_int_equal(refuse(31, &err), WM_EFORMAT);
    assert_int_equal(err.code, WM_EFORMAT);
    assert_string_equal(err.text, "train.csv:17: 31 columns, expected 32");
    assert_non_null(strstr(err.file, "test_status.c"));
    assert_true(err.line > 0 && err.line < __LINE__);
    assert_int_equal(refuse(31, NULL), WM_EFORMAT); /* a caller who does not want the detail */
}

static void a_long_text_is_cut_and_terminated(void **state)
{
    char path[1000];
    struct {
        wm_error err;
        char guard[8];
    } box;

    (void)state;
    memset(path, 'p', sizeof path);
    path[sizeof path - 1] = 0;
    memset(&box, 'g', sizeof box);
    assert_int_equal(wmi_fail(&box.err, WM_EIO, "%s: cannot open", path), WM_EIO);
    assert_int_equal(strlen(box.err.text), sizeof box.err.text - 1);
    assert_memory_equal(box.guard, "gggggggg", 8);
}

static void header_and_library_agree_on_the_version(void **state)
{
    (void)state;
    assert_string_equal(wm_version(), WM_VERSION);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_code_has_its_own_text),
        cmocka_unit_test(a_failure_records_where_and_why),
        cmocka_unit_test(a_long_text_is_cut_and_terminated),
        cmocka_unit_test(header_and_library_agree_on_the_version),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
