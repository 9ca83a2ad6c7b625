/* test_svg_inline.c - what is left of a drawing that stands in a page: shapes in the page's
 * colours, ids of its own, and nothing that runs, links or fetches. */
#include "asserts.h"

#include <stdio.h>
#include <string.h>

#include "report/page/svg_inline.h"

#define SVG(inner)                                                                                 \
    "<svg viewBox=\"0 0 100 50\" xmlns=\"http://www.w3.org/2000/svg\">" inner "</svg>"

static wmi_svg read_svg(const char *text)
{
    wm_error err = {0};
    wmi_svg svg;

    assert_ok(wmi_svg_read(&svg, text, strlen(text), "a.svg", "f1-", &err), err);
    return svg;
}

static void keeps(const char *text, const char *expected)
{
    wmi_svg svg = read_svg(text);

    assert_string_equal(svg.body, expected);
    wmi_svg_clear(&svg);
}

static void refuses(const char *text, size_t n, const char *message)
{
    wm_error err = {0};
    wmi_svg svg;

    assert_int_equal(wmi_svg_read(&svg, text, n, "a.svg", "f1-", &err), WM_EFORMAT);
    assert_null(svg.body);
    assert_string_equal(err.text, message);
}

static void shapes_take_the_colours_of_the_page(void **state)
{
    (void)state;
    keeps(SVG("<rect x='0' y='0' width='100' height='50' fill='#ffffff'/>"), "");
    keeps(SVG("<rect x='0' width='10' height='5' fill='#FFFFFF'/>"),
          "<rect x=\"0\" width=\"10\" height=\"5\" fill=\"var(--paper)\"/>");
    keeps(SVG("<path stroke='rgb( 85,  85,  85)' d='M1,2 L3,4'/>"),
          "<path stroke=\"var(--axis)\" d=\"M1,2 L3,4\"/>");
    keeps(SVG("<path fill='black' stroke=\"#0072B2\" color = 'rgb(228, 228, 228)'/>"),
          "<path fill=\"var(--ink)\" stroke=\"var(--blue)\" color=\"var(--grid)\"/>");
    keeps(SVG("<path fill='none' stroke='currentColor' color='#fdfdfd'/>"),
          "<path fill=\"none\" stroke=\"currentColor\" color=\"#fdfdfd\"/>");
    keeps(SVG("<path fill='#abc' stroke='rgb(1,2,300)'/>"), "<path fill=\"#aabbcc\"/>");
    assert_string_equal(wmi_svg_theme("#D55E00"), "var(--vermilion)");
    assert_null(wmi_svg_theme("#D55E01"));
    assert_null(wmi_svg_theme("url(x)"));
}

static void ids_are_the_drawings_own(void **state)
{
    (void)state;
    keeps(SVG("<defs><circle id='gpPt5' r='1'/></defs><use xlink:href='#gpPt5' x='2'/>"),
          "<defs><circle id=\"f1-gpPt5\" r=\"1\"/></defs>\n<use href=\"#f1-gpPt5\" x=\"2\"/>");
    keeps(SVG("<path id='a b' fill='url(#g)'/>"), "<path fill=\"url(#f1-g)\"/>");
    /* A group cannot be drawn again: else ten of them, each twice the one before, are a thousand.
     */
    keeps(SVG("<g id='b'><path/></g><use href='#b'/>"), "<g><path/></g>\n<use href=\"#f1-b\"/>");
}

static void text_stays_text(void **state)
{
    (void)state;
    keeps(SVG("<text>a &lt;b&gt; &amp; &evil; 'c'</text>"),
          "<text>a &lt;b&gt; &amp; &amp;evil; &#39;c&#39;</text>");
    keeps(SVG("<text>\xff\x01ok</text>words outside"), "<text>\xef\xbf\xbd\xef\xbf\xbdok</text>");
    keeps(SVG("<text font-family='x' font-size='13.00'><tspan dy='-6px'>2</tspan></text>"),
          "<text font-size=\"13.00\"><tspan dy=\"-6px\">2</tspan></text>");
}

static void what_could_act_is_dropped(void **state)
{
    static const char *const evil[] = {
        SVG("<script>alert(1)</script>"),
        SVG("<g onload='alert(1)'></g>"),
        SVG("<path onclick=\"alert(1)\" style='background:url(http://x)' class='y'/>"),
        SVG("<foreignObject><body><img src='x' onerror='alert(1)'/></body></foreignObject>"),
        SVG("<a xlink:href='javascript:alert(1)'><path/></a>"),
        SVG("<image xlink:href='http://example.com/x.png'/>"),
        SVG("<image xlink:href='data:image/svg+xml;base64,AAAA'/>"),
        SVG("<image href='data:image/png;base64,AA\"onload='/>"),
        SVG("<use xlink:href='http://example.com/#x'/>"),
        SVG("<path fill='url(http://example.com)' filter='url(#x)' clip-path='url(//x)'/>"),
        SVG("<path d='M0 0' points='url(javascript:x)'/>"),
        SVG("<style><![CDATA[ @import 'http://x'; ]]></style>"),
        SVG("<animate attributeName='href' to='javascript:x'/><set/><svg><script/></svg>"),
        SVG("<!-- <script>alert(1)</script> --><?php alert(1) ?>"),
    };

    (void)state;
    for (size_t i = 0; i < sizeof evil / sizeof *evil; i++) {
        wmi_svg svg = read_svg(evil[i]);

        for (const char *const *word =
                 (const char *const[]){"alert", "http", "javascript", "script", "onl", "import",
                                       "style", "class", "filter", "clip", "<image", "<a", NULL};
             *word; word++)
            if (strstr(svg.body, *word))
                fail_msg("case %zu keeps '%s': %s", i, *word, svg.body);
        wmi_svg_clear(&svg);
    }
    keeps(SVG("<image x='1' xlink:href='data:image/png;base64,iVBO\nRw0K=='/>"),
          "<image x=\"1\" href=\"data:image/png;base64,iVBO\nRw0K==\"/>");
}

static void broken_files_are_refused(void **state)
{
    static const char whole[] = "<?xml version='1.0'?>\n<svg viewBox='0 0 9 9'>\n<g fill='none'>\n"
                                "<text>a</text></g><!-- b --></svg>\n";
    const size_t n = sizeof whole - 1;
    wm_error err = {0};
    wmi_svg svg;

    (void)state;
    refuses("", 0, "a.svg:1: not an SVG drawing");
    refuses("plain words", 11, "a.svg:1: not an SVG drawing");
    refuses("<html></html>", 13, "a.svg:1: not an SVG drawing");
    refuses("<svg>", 5, "a.svg:1: a drawing without a size");
    refuses("<svg viewBox='0 0 0 9'></svg>", 29, "a.svg:1: a drawing without a size");
    refuses("<svg viewBox='0 0 nan'></svg>", 29, "a.svg:1: the viewBox is not four numbers");
    refuses(SVG("\n<g>\n</path>"), strlen(SVG("\n<g>\n</path>")),
            "a.svg:3: a closing tag that nothing opened");
    refuses(SVG("<path d=>"), strlen(SVG("<path d=>")), "a.svg:1: an attribute without quotes");
    refuses("<!DOCTYPE svg [<!ENTITY a 'b'>]><svg width='1' height='1'/>", 58,
            "a.svg:1: declares entities of its own");
    /* Cut anywhere: a message, or nothing lost but the line end; never more than was there. */
    for (size_t k = 0; k + 1 < n; k++) {
        assert_int_equal(wmi_svg_read(&svg, whole, k, "a.svg", "f", &err), WM_EFORMAT);
        assert_null(svg.body);
    }
    svg = read_svg(whole);
    assert_string_equal(svg.body, "<g fill=\"none\"><text>a</text></g>\n");
    wmi_svg_clear(&svg);
    wmi_svg_clear(&svg);
}

static void depth_is_bounded(void **state)
{
    char text[1200];
    int n = snprintf(text, sizeof text, "<svg width='1' height='1'>");

    (void)state;
    for (int i = 0; i < 200; i++)
        n += snprintf(text + n, sizeof text - (size_t)n, "<g>");
    refuses(text, (size_t)n, "a.svg:1: too deeply nested");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_take_the_colours_of_the_page),
        cmocka_unit_test(ids_are_the_drawings_own),
        cmocka_unit_test(text_stays_text),
        cmocka_unit_test(what_could_act_is_dropped),
        cmocka_unit_test(broken_files_are_refused),
        cmocka_unit_test(depth_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
