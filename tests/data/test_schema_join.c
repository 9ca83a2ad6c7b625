/* test_schema_join.c - columns of two tables side by side keep names, kinds and levels. */
#include <string.h>

#include "asserts.h"
#include "data/table/schema.h"

static wm_schema *schema(const char *text)
{
    wm_schema *s;
    wm_error err;

    assert_ok(wm_schema_parse(&s, text, &err), err);
    return s;
}

static void both_tables_are_there(void **state)
{
    const char *const names[] = {"age", NULL};
    wm_schema *a, *b, *joined;
    int64_t number;
    wm_error err;

    (void)state;
    assert_ok(wm_schema_new(&a, &err), err);
    assert_ok(wmi_schema_begin(a, "a", 2, names, &err), err);
    assert_ok(wmi_schema_set_kind(a, "a", 0, WM_KIND_INTEGER, &err), err);
    assert_ok(wmi_schema_set_kind(a, "a", 1, WM_KIND_CONTINUOUS, &err), err);
    assert_ok(wm_schema_new(&b, &err), err);
    assert_ok(wmi_schema_begin(b, "b", 1, NULL, &err), err);
    assert_ok(wmi_schema_set_kind(b, "b", 0, WM_KIND_CATEGORICAL, &err), err);
    assert_ok(wmi_schema_level_number(b, 0, "red", &number, &err), err);
    assert_ok(wmi_schema_level_number(b, 0, "blue", &number, &err), err);
    assert_ok(wm_schema_join(&joined, a, b, &err), err);
    assert_int_equal(wm_schema_dim(joined), 3);
    assert_string_equal(wm_schema_name(joined, 0), "age");
    assert_null(wm_schema_name(joined, 1));
    assert_int_equal(wm_schema_kind(joined, 0), WM_KIND_INTEGER);
    assert_int_equal(wm_schema_kind(joined, 1), WM_KIND_CONTINUOUS);
    assert_int_equal(wm_schema_kind(joined, 2), WM_KIND_CATEGORICAL);
    assert_int_equal(wm_schema_levels(joined, 2), 2);
    assert_string_equal(wm_schema_level(joined, 2, 1), "blue");
    wm_schema_free(joined);
    wm_schema_free(b);
    wm_schema_free(a);
}

/* Fixed ones too: what comes out learns from tables again. */
static void parsed_schemas_can_be_joined(void **state)
{
    wm_schema *a, *joined, *one;
    char *text;
    wm_error err;

    (void)state;
    assert_ok(wm_schema_new(&one, &err), err);
    assert_ok(wmi_schema_begin(one, "one", 1, NULL, &err), err);
    assert_ok(wmi_schema_set_kind(one, "one", 0, WM_KIND_CONTINUOUS, &err), err);
    assert_ok(wm_schema_write(one, &text, &err), err);
    a = schema(text);
    assert_ok(wm_schema_join(&joined, a, a, &err), err);
    assert_int_equal(wm_schema_dim(joined), 2);
    assert_false(wmi_schema_fixed(joined));
    wm_schema_free(joined);
    wm_schema_free(a);
    wm_schema_free(one);
    wm_text_free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_tables_are_there),
        cmocka_unit_test(parsed_schemas_can_be_joined),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
