/* test_schema.c - names, kinds and levels: learned, held to, written and read back. */
#include "asserts.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "data/table/schema.h"

static const char *const abc[] = {"a", "b", "c"};

static wm_schema *new_schema(int64_t dim, const char *const *names)
{
    wm_schema *s;
    wm_error err;

    assert_ok(wm_schema_new(&s, &err), err);
    assert_int_equal(wm_schema_dim(s), 0);
    assert_ok(wmi_schema_begin(s, "p.csv", dim, names, &err), err);
    return s;
}

static void refused(wm_status st, wm_status code, const wm_error *err, const char *words)
{
    assert_int_equal(st, code);
    if (!strstr(err->text, words))
        fail_msg("'%s', expected '%s'", err->text, words);
}

static void later_tables_must_fit(void **state)
{
    wm_schema *s = new_schema(3, abc), *t;
    wm_error err = {0};

    (void)state;
    assert_int_equal(wm_schema_dim(s), 3);
    assert_string_equal(wm_schema_name(s, 1), "b");
    assert_ok(wmi_schema_begin(s, "q.csv", 3, abc, &err), err);
    assert_ok(wmi_schema_begin(s, "q.npy", 3, NULL, &err), err);
    assert_ok(wmi_schema_begin(s, "q.csv", 3, (const char *const[]){"a", NULL, ""}, &err), err);
    refused(wmi_schema_begin(s, "some/q.csv", 2, abc, &err), WM_ESHAPE, &err,
            "some/q.csv: 2 columns, expected 3");
    refused(wmi_schema_begin(s, "q.csv", 3, (const char *const[]){"a", "c", "b"}, &err), WM_EINVAL,
            &err, "q.csv: column 2 is called 'c', expected 'b'");
    refused(wmi_schema_check(s, "q.csv", 4, NULL, &err), WM_ESHAPE, &err, "4 columns, expected 3");
    wm_schema_free(s);

    t = new_schema(2, NULL); /* names come with the first table that has them */
    assert_null(wm_schema_name(t, 0));
    assert_ok(wmi_schema_check(t, "q.csv", 2, abc, &err), err);
    assert_null(wm_schema_name(t, 0));
    assert_ok(wmi_schema_begin(t, "q.csv", 2, abc, &err), err);
    assert_string_equal(wm_schema_name(t, 1), "b");
    wm_schema_free(t);
    wm_schema_free(NULL);

    assert_ok(wm_schema_new(&t, &err), err);
    assert_ok(wmi_schema_check(t, "q.csv", 5, abc, &err), err); /* it knows nothing yet */
    assert_int_equal(wmi_schema_begin(t, "q.csv", 0, NULL, &err), WM_ESHAPE);
    wm_schema_free(t);
}

static void kinds_meet(void **state)
{
    static const struct {
        wm_kind first, then, result;
    } cases[] = {
        {WM_KIND_INTEGER, WM_KIND_INTEGER, WM_KIND_INTEGER},
        {WM_KIND_INTEGER, WM_KIND_CONTINUOUS, WM_KIND_CONTINUOUS},
        {WM_KIND_CONTINUOUS, WM_KIND_INTEGER, WM_KIND_CONTINUOUS},
        {WM_KIND_CATEGORICAL, WM_KIND_CATEGORICAL, WM_KIND_CATEGORICAL},
    };
    wm_schema *s;
    wm_error err = {0};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        s = new_schema(1, NULL);
        assert_ok(wmi_schema_set_kind(s, "p", 0, cases[i].first, &err), err);
        assert_int_equal(wm_schema_kind(s, 0), cases[i].first);
        assert_ok(wmi_schema_set_kind(s, "q", 0, cases[i].then, &err), err);
        assert_int_equal(wm_schema_kind(s, 0), cases[i].result);
        wm_schema_free(s);
    }
    s = new_schema(3, abc);
    assert_ok(wmi_schema_set_kind(s, "p", 1, WM_KIND_CATEGORICAL, &err), err);
    refused(wmi_schema_set_kind(s, "q.csv", 1, WM_KIND_INTEGER, &err), WM_EINVAL, &err,
            "q.csv: column 2 ('b') is integer, in the earlier table it is categorical");
    wm_schema_free(s);
}

static void levels_are_found_again(void **state)
{
    wm_schema *s = new_schema(2, NULL);
    wm_error err = {0};
    int64_t number;
    char text[32];

    (void)state;
    assert_ok(wmi_schema_set_kind(s, "p", 0, WM_KIND_CATEGORICAL, &err), err);
    assert_int_equal(wmi_schema_level_find(s, 0, "0"), -1);
    for (int i = 0; i < WMI_MAX_LEVELS; i++) {
        snprintf(text, sizeof text, "%d", i * i);
        assert_ok(wmi_schema_level_number(s, 0, text, &number, &err), err);
        assert_int_equal(number, i);
    }
    for (int i = 0; i < WMI_MAX_LEVELS; i++) {
        snprintf(text, sizeof text, "%d", i * i);
        assert_ok(wmi_schema_level_number(s, 0, text, &number, &err), err);
        assert_int_equal(number, i);
        assert_int_equal(wmi_schema_level_find(s, 0, text), i);
        snprintf(text, sizeof text, "%dx", i * i);
        assert_int_equal(wmi_schema_level_find(s, 0, text), -1);
        assert_int_equal(wmi_schema_level_find_n(s, 0, text, strlen(text) - 1), i);
    }
    for (int i = 0; i < 900; i++) { /* each the beginning of those before it */
        char many[901];

        snprintf(many, sizeof many, "%0*d", 900 - i, 0);
        assert_ok(wmi_schema_level_number(s, 1, many, &number, &err), err);
        assert_int_equal(number, i);
    }
    assert_int_equal(wm_schema_levels(s, 0), WMI_MAX_LEVELS);
    assert_int_equal(wm_schema_levels(s, 1), 0);
    assert_string_equal(wm_schema_level(s, 0, 3), "9");
    assert_null(wm_schema_level(s, 0, WMI_MAX_LEVELS));
    assert_null(wm_schema_level(s, 1, 0));
    refused(wmi_schema_level_number(s, 0, "more", &number, &err), WM_EINVAL, &err,
            "column 1: 'more' is one level too many, at most 1000");
    refused(wmi_schema_level_number(s, 1, "caf\xe9", &number, &err), WM_EFORMAT, &err, "UTF-8");
    wm_schema_free(s);
}

static wm_status note(void *ctx, int64_t column, wm_error *err)
{
    char *seen = (char *)ctx;

    if (column == 4)
        return wmi_fail(err, WM_EINVAL, "not the fifth");
    sprintf(seen + strlen(seen), "%d", (int)column);
    return WM_OK;
}

static void columns_by_name_and_number(void **state)
{
    const char *const names[] = {"age", "3", "x", NULL, "y", "y"};
    wm_schema *s = new_schema(6, names);
    wm_error err = {0};
    char seen[64] = "", what[80];

    (void)state;
    assert_ok(wmi_schema_each(s, "age, 1 ,4,x", note, seen, &err), err);
    assert_string_equal(seen, "0032");
    assert_ok(wmi_schema_each(s, "3", note, seen, &err), err); /* the name before the number */
    assert_string_equal(seen, "00321");
    refused(wmi_schema_each(s, "all", note, seen, &err), WM_EINVAL, &err, "not the fifth");
    assert_string_equal(seen, "003210123");
    refused(wmi_schema_each(s, "age,wage", note, seen, &err), WM_EINVAL, &err,
            "'wage' is no column: give names, or numbers from 1 to 6");
    refused(wmi_schema_each(s, "7", note, seen, &err), WM_EINVAL, &err, "'7' is no column");
    refused(wmi_schema_each(s, "0", note, seen, &err), WM_EINVAL, &err, "'0' is no column");
    refused(wmi_schema_each(s, "1,,2", note, seen, &err), WM_EINVAL, &err, "'' is no column");
    refused(wmi_schema_each(s, "", note, seen, &err), WM_EINVAL, &err, "'' is no column");
    refused(wmi_schema_each(s, "99999999999999999999999", note, seen, &err), WM_EINVAL, &err,
            "is no column");
    refused(wmi_schema_each(s, "y", note, seen, &err), WM_EINVAL, &err,
            "columns 5 and 6 are both called 'y'");
    assert_string_equal(wm_schema_describe(s, 0, what, sizeof what), "column 1 ('age')");
    assert_string_equal(wm_schema_describe(s, 3, what, sizeof what), "column 4");
    wm_schema_free(s);
}

static void forced_kinds(void **state)
{
    wm_schema *s = new_schema(3, abc);
    wm_error err = {0};
    int kind[3];

    (void)state;
    assert_ok(wmi_schema_forced(s, NULL, NULL, NULL, kind, &err), err);
    assert_true(kind[0] == -1 && kind[1] == -1 && kind[2] == -1);
    assert_ok(wmi_schema_forced(s, "c", NULL, "1", kind, &err), err);
    assert_int_equal(kind[0], WM_KIND_CATEGORICAL);
    assert_int_equal(kind[1], -1);
    assert_int_equal(kind[2], WM_KIND_CONTINUOUS);
    assert_ok(wmi_schema_forced(s, NULL, "all", NULL, kind, &err), err);
    assert_true(kind[0] == WM_KIND_INTEGER && kind[2] == WM_KIND_INTEGER);
    refused(wmi_schema_forced(s, "b", "2", NULL, kind, &err), WM_EINVAL, &err,
            "column 2 ('b') is said to be continuous and integer");
    refused(wmi_schema_forced(s, NULL, NULL, "d", kind, &err), WM_EINVAL, &err, "'d' is no column");
    wm_schema_free(s);
}

static void text_and_back(void **state)
{
    static const char text[] =
        "{\"columns\":[{\"name\":\"a\\\"\\n\xc3\xa9\",\"kind\":\"continuous\"},"
        "{\"kind\":\"integer\"},"
        "{\"name\":\"c\",\"kind\":\"categorical\",\"levels\":[\"x, y\",\"z\"]}]}";
    const char *const names[] = {"a\"\n\xc3\xa9", NULL, "c"};
    wm_schema *s = new_schema(3, names), *back;
    wm_error err = {0};
    int64_t number;
    char *json, *again;

    (void)state;
    assert_ok(wmi_schema_set_kind(s, "p", 1, WM_KIND_INTEGER, &err), err);
    assert_ok(wmi_schema_set_kind(s, "p", 2, WM_KIND_CATEGORICAL, &err), err);
    assert_ok(wmi_schema_level_number(s, 2, "x, y", &number, &err), err);
    assert_ok(wmi_schema_level_number(s, 2, "z", &number, &err), err);
    assert_ok(wm_schema_write(s, &json, &err), err);
    assert_string_equal(json, text);
    assert_false(wmi_schema_fixed(s));

    assert_ok(wm_schema_parse(&back, json, &err), err);
    assert_true(wmi_schema_fixed(back));
    assert_int_equal(wm_schema_dim(back), 3);
    assert_string_equal(wm_schema_name(back, 0), names[0]);
    assert_null(wm_schema_name(back, 1));
    assert_int_equal(wm_schema_kind(back, 1), WM_KIND_INTEGER);
    assert_int_equal(wm_schema_levels(back, 2), 2);
    assert_int_equal(wmi_schema_level_find(back, 2, "z"), 1);
    /* fixed: nothing changes */
    assert_ok(wmi_schema_level_number(back, 2, "new", &number, &err), err);
    assert_int_equal(number, -1);
    assert_ok(wmi_schema_set_kind(back, "q", 1, WM_KIND_CONTINUOUS, &err), err);
    assert_ok(wmi_schema_begin(back, "q", 3, (const char *const[]){NULL, "b", NULL}, &err), err);
    refused(wmi_schema_begin(back, "q", 2, NULL, &err), WM_ESHAPE, &err, "2 columns, expected 3");
    assert_ok(wm_schema_write(back, &again, &err), err);
    assert_string_equal(again, text);
    wm_text_free(json);
    wm_text_free(again);
    wm_text_free(NULL);
    wm_schema_free(s);
    wm_schema_free(back);
}

static void text_that_is_no_schema(void **state)
{
    static const struct {
        const char *text, *words;
    } cases[] = {
        {"", "schema: byte"},
        {"{", "schema: byte"},
        {"[]", "no list of columns"},
        {"{}", "no list of columns"},
        {"{\"columns\":[]}", "no list of columns"},
        {"{\"columns\":3}", "no list of columns"},
        {"{\"columns\":[3]}", "column 1: kind ''"},
        {"{\"columns\":[{\"kind\":\"number\"}]}", "column 1: kind 'number'"},
        {"{\"columns\":[{\"kind\":1}]}", "column 1: kind ''"},
        {"{\"columns\":[{\"kind\":\"integer\"},{\"kind\":\"categorical\"}]}",
         "column 2 has no list of levels"},
        {"{\"columns\":[{\"kind\":\"categorical\",\"levels\":{}}]}", "no list of levels"},
        {"{\"columns\":[{\"kind\":\"categorical\",\"levels\":[\"a\",1]}]}",
         "level 2 is not a text"},
        {"{\"columns\":[{\"kind\":\"categorical\",\"levels\":[\"a\",\"a\"]}]}", "there twice"},
        {"{\"columns\":[{\"kind\":\"integer\",\"name\":[]}]}", "its name is no text"},
        {"{\"columns\":[{\"kind\":\"integer\",\"kind\":\"integer\"}]}", "duplicate"},
    };
    const int64_t live = wmi_alloc_live();
    wm_schema *s;
    wm_error err = {0};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        refused(wm_schema_parse(&s, cases[i].text, &err), WM_EFORMAT, &err, cases[i].words);
        assert_null(s);
    }
    assert_int_equal(wmi_alloc_live(), live);
}

/* Each allocation fails in turn: an error, and nothing left behind. */
static void memory_runs_out(void **state)
{
    static const char text[] = "{\"columns\":[{\"name\":\"a\",\"kind\":\"integer\"},"
                               "{\"kind\":\"categorical\",\"levels\":[\"x\",\"y\"]}]}";
    const int64_t live = wmi_alloc_live();
    wm_status st = WM_ENOMEM;
    int64_t k = 0;

    (void)state;
    while (st) {
        wm_schema *s = NULL;
        char *json = NULL;
        wm_error err = {0};

        wmi_alloc_fail_at(++k);
        st = wm_schema_parse(&s, text, &err);
        if (!st)
            st = wm_schema_write(s, &json, &err);
        wmi_alloc_fail_at(0);
        assert_true(st == WM_OK || st == WM_ENOMEM);
        assert_int_equal(err.code, st);
        wm_text_free(json);
        wm_schema_free(s);
        assert_int_equal(wmi_alloc_live(), live);
    }
    assert_true(k > 4);
}

static void utf8(void **state)
{
    static const char *const good[] = {"",
                                       "abc",
                                       "\xc3\xa9",
                                       "\xe2\x82\xac",
                                       "\xf0\x9f\x98\x80",
                                       "\xed\x9f\xbf",
                                       "\xee\x80\x80",
                                       "\xf4\x8f\xbf\xbf"};
    static const char *const bad[] = {"\xe9",
                                      "\xc3",
                                      "\xe2\x82",
                                      "\x80",
                                      "\xc0\xaf",
                                      "\xe0\x80\xaf",
                                      "\xed\xa0\x80",
                                      "\xf4\x90\x80\x80",
                                      "\xf5\x80\x80\x80",
                                      "\xf0\x80\x80\x80",
                                      "a\xff"};
    char buf[WMI_TEXT_CUT];
    char longer[200];

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_true(wmi_text_is_utf8(good[i], strlen(good[i])));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(wmi_text_is_utf8(bad[i], strlen(bad[i])));
    assert_string_equal(wmi_text_cut(buf, "a\nb\x7f", 4), "a b ");
    memset(longer, 'x', sizeof longer);
    longer[199] = '\0';
    assert_string_equal(wmi_text_cut(buf, longer, 43), longer + 199 - 43);
    wmi_text_cut(buf, longer, 44);
    assert_string_equal(buf + 40, "...");
    memcpy(longer + 38, "\xe2\x82\xac", 3); /* does not fit as a whole */
    wmi_text_cut(buf, longer, 199);
    assert_string_equal(buf + 37, "x...");
    assert_true(wmi_text_is_utf8(buf, strlen(buf)));
    assert_string_equal(wmi_text_tail("a/b"), "a/b");
    assert_int_equal(strlen(wmi_text_tail(longer)), 80);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(later_tables_must_fit),
        cmocka_unit_test(kinds_meet),
        cmocka_unit_test(levels_are_found_again),
        cmocka_unit_test(columns_by_name_and_number),
        cmocka_unit_test(forced_kinds),
        cmocka_unit_test(text_and_back),
        cmocka_unit_test(text_that_is_no_schema),
        cmocka_unit_test(memory_runs_out),
        cmocka_unit_test(utf8),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
