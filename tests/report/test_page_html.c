/* test_page_html.c - texts that stay texts, and numbers as a page shows them. */
#include "asserts.h"

#include <stdlib.h>
#include <string.h>

#include "report/page/page_html.h"

static FILE *out;
static char *made;
static size_t size;

static void begin(void)
{
    free(made);
    made = NULL;
    out = open_memstream(&made, &size);
}

/* What was printed since begin(). */
static const char *end(void)
{
    fclose(out);
    return made;
}

static void markup_is_escaped(void **state)
{
    (void)state;
    begin();
    wmi_html_text("</script><img onerror='x' src=\"y\"> & \xc3\xa4", out);
    assert_string_equal(end(), "&lt;/script&gt;&lt;img onerror=&#39;x&#39; src=&quot;y&quot;&gt; "
                               "&amp; \xc3\xa4");
    begin();
    /* Not UTF-8, cut short, control characters, and a mark that turns the writing around. */
    wmi_html_bytes("a\xff\0b\xe2\x80\xae\x1b\xc3", 9, out);
    assert_string_equal(end(), "a\xef\xbf\xbd\xef\xbf\xbd"
                               "b\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
}

static void real_is(double x, const char *expected)
{
    begin();
    wmi_html_real(x, out);
    assert_string_equal(end(), expected);
}

static void numbers_are_short(void **state)
{
    (void)state;
    real_is(0.123456, "0.1235");
    real_is(-0.0, "0");
    real_is(12345678, "1.235e+07");
    real_is(18730, "18730");
    real_is(1e-7, "1e-07");
    real_is(NAN, "\xe2\x80\x93");
    begin();
    wmi_html_count(-1234567, out);
    putc(' ', out);
    wmi_html_count(999, out);
    assert_string_equal(end(), "-1,234,567 999");
}

static void columns_share_their_decimals(void **state)
{
    (void)state;
    assert_int_equal(wmi_html_decimals(1.25), 3);
    assert_int_equal(wmi_html_decimals(0.9), 4);
    assert_int_equal(wmi_html_decimals(12345), 0);
    assert_int_equal(wmi_html_decimals(0), 0);
    assert_int_equal(wmi_html_decimals(INFINITY), 0);
    begin();
    wmi_html_fixed(0.5, 3, out);
    putc(' ', out);
    wmi_html_fixed(-0.0, 3, out);
    putc(' ', out);
    wmi_html_fixed(0.00123, 3, out); /* three decimals would leave one digit */
    putc(' ', out);
    wmi_html_fixed(1e300, 3, out);
    assert_string_equal(end(), "0.500 0.000 0.00123 1e+300");
}

static void values_of_any_kind_are_shown(void **state)
{
    json_t *v =
        json_loads("{\"a_b\": [1, 2.5, null], \"n_p\": true, \"<x>\": {\"y\": \"<z>\"}}", 0, NULL);
    json_t *deep = json_loads("[[[[[[1]]]]]]", 0, NULL);

    (void)state;
    begin();
    wmi_html_value(v, out);
    assert_string_equal(end(),
                        "<dl><div><dt>a b</dt><dd>1, 2.5, \xe2\x80\x93</dd></div><div><dt>rows "
                        "of p</dt><dd>yes</dd></div><div><dt>&lt;x&gt;</dt><dd><dl><div><dt>y"
                        "</dt><dd>&lt;z&gt;</dd></div></dl></dd></div></dl>");
    begin();
    wmi_html_value(deep, out);
    assert_string_equal(end(), "\xe2\x80\xa6");
    json_decref(v);
    json_decref(deep);
}

static void rows_are_a_table_of_all_their_keys(void **state)
{
    json_t *rows =
        json_loads("[{\"k\": 0, \"loss\": null}, {\"k\": 1, \"loss\": 0.5, \"s\": \"<\", "
                   "\"o\": {}}, 7]",
                   0, NULL);

    (void)state;
    begin();
    wmi_html_rows(rows, "a & b", out);
    assert_string_equal(
        end(),
        "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"a &amp; b\">\n"
        "<table>\n<caption>a &amp; b</caption>\n<thead><tr><th scope=\"col\">bridge</th>"
        "<th scope=\"col\" class=\"number\">loss</th><th scope=\"col\">s</th></tr></thead>\n"
        "<tbody>\n<tr><th scope=\"row\">0</th><td class=\"short\">\xe2\x80\x93</td><td "
        "class=\"short\"></td></tr>\n<tr><th scope=\"row\">1</th><td class=\"number\">0.5000</td>"
        "<td class=\"short\">&lt;</td></tr>\n<tr><th scope=\"row\"></th><td class=\"short\"></td>"
        "<td class=\"short\"></td></tr>\n</tbody>\n</table>\n</div>\n");
    json_decref(rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(markup_is_escaped),
        cmocka_unit_test(numbers_are_short),
        cmocka_unit_test(columns_share_their_decimals),
        cmocka_unit_test(values_of_any_kind_are_shown),
        cmocka_unit_test(rows_are_a_table_of_all_their_keys),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);

    free(made);
    return failed;
}
