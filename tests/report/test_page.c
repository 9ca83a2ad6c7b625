/* test_page.c - the page of a run folder: what stands in it, that nothing from a file is markup,
 * and what happens with folders and files that are not what they should be. The browser looks at it
 * in check_page.py. */
#include "asserts.h"

#include <errno.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/file.h"
#include "listener.h"
#include "scratch.h"
#include "waymark/report.h"

static const char config[] =
    "{\"command\": \"ratio\", \"version\": \"0.1.0\", \"arguments\": "
    "[\"p.csv\", \"it's.csv\"], \"model\": \"auto\", \"lr\": 0.001, "
    "\"grid\": [0.5, 1], \"fast\": true, \"strict\": false, \"out\": null}";
static const char summary[] =
    "{\"command\": \"ratio\", \"seconds\": 75.5, \"seed\": 1, \"threads\": 2, \"kl_pq\": 21.883, "
    "\"kl_pq_se\": 0.211, \"kl_pq_ci95\": [21.4689, 22.3], \"units\": \"bits\", \"truth\": 22.0, "
    "\"checks\": [{\"name\": \"fine\", \"value\": 1.0, \"limit\": 2.0, \"ok\": true, \"meaning\": "
    "\"good\"}, {\"name\": \"chasm\", \"value\": 0.1, \"limit\": 0.2, \"ok\": false, \"meaning\": "
    "\"bad\", \"advice\": \"more bridges\"}], \"bridges\": [{\"k\": 0, \"loss\": 0.5}], "
    "\"verdict\": \"doubt\", \"reason\": \"because\", \"n_train\": 12345, \"odd_key\": \"odd "
    "value\", "
    "\"things\": [{\"a\": 1}]}";
static const char csv[] = "panel,series,x,y,lo,hi\n\"a\",\"s\",1,2,,\n";
/* A figure of two panels, 10 x 200 pixels each, that share a legend, and a drawing of that size. */
static const char two_json[] =
    "{'columns': 2, 'width': 10, 'height': 200, 'panels': [{'title': 'left', 'legend': 'below', "
    "'series': [{'name': 'a <key>', 'mark': 'line-points', 'colour': 'blue', 'dashed': true, "
    "'x': [1], 'y': [2]}]}, {'title': 'right', 'legend': 'below', 'series': [{'name': 'a <key>', "
    "'mark': 'line-points', 'colour': 'blue', 'dashed': true, 'x': [1], 'y': [2]}]}]}";
static const char two_svg[] = "<svg viewBox='0 0 20 232'><circle id='gpPt6' r='1'/></svg>";
static const char svg[] = "<svg viewBox='0 0 9 9'><path d='M1 1' stroke='#000000'/></svg>";
/* The eight bytes by which a PNG is known are all that is looked at. */
static const char png[] = "\x89PNG\r\n\x1a\nrest";

static void put_bytes(const char *name, const char *bytes, size_t n)
{
    wm_error err = {0};

    assert_ok(wmi_folder_make(scratch("run/figures"), &err), err);
    assert_ok(wmi_file_write(scratch(name), bytes, n, &err), err);
}

static void put(const char *name, const char *text)
{
    put_bytes(name, text, strlen(text));
}

/* JSON, with single quotes for its double ones. */
static void put_json(const char *name, const char *text)
{
    char quoted[2048];

    assert_true(snprintf(quoted, sizeof quoted, "%s", text) < (int)sizeof quoted);
    for (char *p = quoted; *p; p++)
        *p = *p == '\'' ? '"' : *p;
    put(name, quoted);
}

static void put_run(void)
{
    put("run/config.json", config);
    put("run/summary.json", summary);
}

/* The page of scratch/run. */
static const char *page(wm_report_info *info, listener *h)
{
    const wm_sink sink = sink_to(h);
    static char *text;
    wm_error err = {0};
    size_t n;

    assert_ok(wm_report_write(info, scratch("run"), scratch("page.html"), h ? &sink : NULL, &err),
              err);
    wmi_free(text);
    text = NULL;
    assert_ok(wmi_file_read(&text, &n, scratch("page.html"), 1 << 26, &err), err);
    if (info)
        assert_int_equal(info->bytes, n);
    return text;
}

/* The same, with so many figures drawn and so many problems named, each of them to the sink too. */
static const char *page_with(int figures, int problems)
{
    wm_report_info info;
    listener h = {0};
    const char *text = page(&info, &h);

    assert_int_equal(info.figures, figures);
    assert_int_equal(info.problems, problems);
    assert_int_equal(h.lines, problems);
    return text;
}

static void has(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("the page lacks '%s'", part);
}

static void lacks(const char *text, const char *part)
{
    if (strstr(text, part))
        fail_msg("the page has '%s'", part);
}

static void the_answer_comes_first(void **state)
{
    const char *text, *verdict, *value, *checks, *chasm;

    (void)state;
    put_run();
    text = page_with(0, 0);
    has(text, "<!DOCTYPE html>\n<html lang=\"en\">");
    has(text, "<meta name=\"viewport\"");
    has(text, "default-src 'none'");
    has(text, "<h1>waymark ratio</h1>");
    verdict = strstr(text, "Doubt</span>");
    value = strstr(text, "21.88 <span class=\"unit\">bits</span>");
    checks = strstr(text, "<h2 id=\"checks-title\">");
    assert_true(verdict && value && checks && verdict < value && value < checks);
    has(text, "1 of 2 checks failed: chasm. because");
    has(text, "95 % interval <strong>21.47 to 22.30</strong>");
    has(text, "off by -0.5 %");
    /* The failed check before the one that passed, with what to do. */
    chasm = strstr(checks, "chasm");
    assert_true(chasm && chasm < strstr(checks, "fine"));
    has(checks, "bad <strong>What to do:</strong> more bridges");
    has(text, "<caption>Each bridge on held-out rows</caption>");
    has(text, "<dt>odd key</dt><dd>odd value</dd>");
    has(text, "<dt>rows to fit with</dt><dd>12,345</dd>");
    has(text, "<caption>things</caption>");
    has(text, "<dt>time</dt><dd>75.5 s</dd>");
    has(text, "<a href=\"#checks\">Checks</a>");
    lacks(text, "<script");
}

static void the_command_line_repeats_the_run(void **state)
{
    (void)state;
    put_run();
    has(page(NULL, NULL),
        "<code>waymark ratio <span>p.csv</span> <span>&#39;it&#39;\\&#39;&#39;s.csv&#39;</span> "
        "<span>--model auto</span> <span>--lr 0.001</span> <span>--grid 0.5,1</span> "
        "<span>--fast</span> <span>--no-strict</span></code>");
}

static void verdicts_have_their_words(void **state)
{
    (void)state;
    put_json("run/summary.json", "{'verdict': 'trust', 'checks': [{'name': 'a', 'ok': true}, "
                                 "{'name': 'b', 'ok': true}], 'reason': 'not said', 'mi': null}");
    has(page(NULL, NULL), "Nothing speaks against this answer. All 2 checks passed.</span>");
    has(page(NULL, NULL), "not finite");
    put_json("run/summary.json", "{'verdict': 'reject', 'checks': [{'name': 'a', 'ok': false}]}");
    has(page(NULL, NULL), "Do not use this answer. 1 of 1 checks failed: a.");
    put_json("run/summary.json", "{'verdict': '<new>', 'reason': 'so'}");
    has(page(NULL, NULL), "&lt;new&gt;</span> <span> so</span>");
}

static void figures_stand_with_their_numbers(void **state)
{
    const char *text;

    (void)state;
    put_run();
    put("run/figures/zebra_one.svg", svg);
    put("run/figures/zebra_one.csv", csv);
    put("run/figures/grid.svg", svg);
    put("run/figures/grid.csv", csv);
    put_bytes("run/figures/picture.png", png, sizeof png - 1);
    put("run/figures/numbers.csv", csv);
    put_json("run/figures/numbers.json",
             "{'title': 'Only <numbers>', 'columns': 1, 'width': 9, 'height': 9, 'panels': "
             "[{'legend': 'auto', 'series': [{'mark': 'line', 'colour': 'sky', 'x': "
             "[17], "
             "'y': [2]}]}]}");
    put("run/figures/half.123.wmtmp.svg", "<svg");
    text = page_with(3, 0);
    has(text, "<h3>zebra one</h3>");
    assert_true(strstr(text, "<h3>grid</h3>") < strstr(text, "<h3>zebra one</h3>"));
    has(text, "stroke=\"var(--ink)\"");
    has(text, "aria-label=\"zebra one. The numbers follow as a table.\"");
    has(text, "<img src=\"data:image/png;base64,iVBORw0KGgpyZXN0\" alt=\"picture.\">");
    has(text, "The numbers of this figure are not in the run folder.");
    has(text, "Only &lt;numbers&gt;");
    has(text, "This figure was not drawn");
    has(text, "<th scope=\"row\">17</th>"); /* from the description, not from the CSV */
    has(text, "<p class=\"note\">3 of 4 figures have no description");
    has(text, "<details open>\n<summary>Numbers of this figure</summary>");
    lacks(text, "half");
}

static void a_figure_that_cannot_be_shown_is_named(void **state)
{
    const char *text;

    (void)state;
    put_run();
    put("run/figures/cut.svg", "<svg viewBox='0 0 9 9'><g>");
    put_bytes("run/figures/cut.png", png, sizeof png - 1);
    put("run/figures/cut.csv", "panel,series\na\n");
    text = page_with(1, 2); /* the PNG stands in */
    has(text, "<p class=\"problem\">figures/cut.svg:1: ends before the drawing does</p>");
    has(text, "<p class=\"problem\">figures/cut.csv:2: 1 columns, expected 2</p>");
    has(text, "<img src=\"data:image/png");
    put("run/figures/cut.png", "GIF89a");
    text = page_with(0, 3);
    has(text, "figures/cut.png: not a PNG picture");
    /* Larger than a page should be, by a hole in the file. */
    assert_int_equal(truncate(scratch("run/figures/cut.svg"), 200 << 20), 0);
    has(page(NULL, NULL), "209715200 bytes, at most 8388608 make sense");
}

/* The head of a PNG of 60 x 30 pixels: what the page reads of it. */
static const char small_png[] = "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x3c\0\0\0\x1e rest";

static void pictures_stand_with_their_words(void **state)
{
    const char *text;

    (void)state;
    put_run();
    put_json("run/summary.json",
             "{'command': 'sample', 'pictures': [{'file': 'draws.png', 'title': 'A <b>', "
             "'caption': 'What & how'}, {'file': 'other.png'}]}");
    put_bytes("run/draws.png", small_png, sizeof small_png - 1);
    put("run/draws.csv", "row,column,log_density\n1,1,-12345.678\n1,2,-3.5\n");
    put_bytes("run/other.png", small_png, sizeof small_png - 1);
    text = page_with(2, 0);
    has(text, "<a href=\"#images\">Images</a>");
    has(text, "<h3>A &lt;b&gt;</h3><p>What &amp; how</p>");
    has(text, "width=\"60\" height=\"30\" style=\"--width:240px;--aspect:2.00000\" "
              "src=\"data:image/png;base64,iVBORw0KGgo");
    has(text, "alt=\"A &lt;b&gt;. The numbers follow as a table.\"");
    has(text, "<caption>A &lt;b&gt;</caption>");
    has(text, "-12346</td>"); /* not as 1.235e+04 */
    has(text, "<h3>other</h3>");
    has(text, "alt=\"other.\"");
    has(text, "The numbers of this figure are not in the run folder.");
    lacks(text, "<caption>pictures</caption>"); /* not among the rest a second time */
}

static void a_picture_that_cannot_be_shown_is_named(void **state)
{
    const char *text;

    (void)state;
    put_run();
    put_json("run/summary.json",
             "{'pictures': [{'file': '../page.png'}, {'file': 3}, {'file': 'a.svg'}, "
             "{'file': 'missing.png'}, {'file': 'text.png'}, {'file': 'cut.png'}]}");
    put("run/text.png", "GIF89a");
    put_bytes("run/cut.png", small_png, 14);
    put("run/cut.csv", "row,column\n1\n");
    text = page_with(0, 7);
    has(text, "picture 1: &#39;../page.png&#39; is not the name of a PNG file");
    has(text, "picture 2: &#39;&#39; is not the name");
    has(text, "picture 3: &#39;a.svg&#39; is not the name");
    has(text, "missing.png: ");
    has(text, "<p class=\"problem\">text.png: not a PNG picture</p>");
    has(text, "cut.png: a PNG picture without a size");
    has(text, "cut.csv:2: 1 columns, expected 2");
    lacks(text, "<img");
    put_json("run/summary.json", "{'pictures': 5}"); /* another thing by that name */
    has(page(NULL, NULL), "<dt>pictures</dt><dd>5</dd>");
}

static void panels_are_taken_apart(void **state)
{
    const char *text;

    (void)state;
    put_run();
    put("run/figures/two.svg", two_svg);
    put_json("run/figures/two.json", two_json);
    text = page_with(1, 0);
    has(text, "viewBox=\"0 0 10 200\"");
    has(text, "viewBox=\"10 0 10 200\"");
    has(text, "two: right. The numbers");
    has(text, "<use href=\"#drawing-1\"/>");
    has(text, "<use href=\"#f1-gpPt6\"");
    has(text, "color=\"var(--blue)\"");
    has(text, "stroke-dasharray=\"7 4\"");
    has(text, "a &lt;key&gt;</li>");
    /* A drawing that is not the one described: shown whole. */
    put("run/figures/two.svg", "<svg viewBox='0 0 21 232'><path d='M1 1'/></svg>");
    has(page(NULL, NULL), "viewBox=\"0 0 21 232\"");
    /* A description that is none is named, and the drawing stands alone. */
    put_json("run/figures/two.json", "{'panels': 5}");
    text = page_with(1, 1);
    has(text, "<p class=\"problem\">figures/two.json: 0 panels, expected 1 to 100</p>");
    has(text, "viewBox=\"0 0 21 232\"");
}

static void curves_are_drawn(void **state)
{
    const char *text;

    (void)state;
    put_run();
    put("run/metrics.jsonl", "{\"step\": 0, \"train_loss\": 1, \"valid_loss\": 2}\n"
                             "{\"step\": 100, \"train_loss\": 0.5, \"valid_loss\": 1}\nbroken\n");
    text = page_with(0, 1);
    has(text, "<h2 id=\"training-title\">Training</h2>");
    has(text, "train loss</li>");
    has(text, "<th scope=\"row\">100</th><td class=\"number\">0.5000</td><td "
              "class=\"number\">1.000</td>");
    has(text, "metrics.jsonl: 1 of 3 lines are not JSON objects");
    put("run/metrics.jsonl", "");
    lacks(page(NULL, NULL), "Training");
}

static void nothing_from_a_file_is_markup(void **state)
{
    static const char evil[] =
        "</style></title><script>alert(1)</script><img src=x onerror=alert(2)>"
        "\\\"'\\u202e";
    static const char *const names[] = {"run/config.json", "run/summary.json"};
    char text[8192];

    (void)state;
    snprintf(text, sizeof text,
             "{\"command\": \"%s\", \"version\": \"%s\", \"arguments\": [\"%s\"], \"%s\": \"%s\", "
             "\"units\": \"%s\", \"mi\": 1.0, \"verdict\": \"%s\", \"reason\": \"%s\", \"checks\": "
             "[{\"name\": \"%s\", \"meaning\": \"%s\", \"value\": \"%s\"}], \"rows\": [{\"%s\": "
             "\"%s\"}], \"columns\": [{\"name\": \"%s\", \"note\": \"%s\", \"levels\": "
             "[\"%s\"], \"p\": [1], \"q\": [1]}], \"list\": [\"%s\", {\"%s\": 1}]}",
             evil, evil, evil, evil, evil, evil, evil, evil, evil, evil, evil, evil, evil, evil,
             evil, evil, evil, evil);
    for (int i = 0; i < 2; i++)
        put(names[i], text);
    snprintf(text, sizeof text, "{\"%s\": 1, \"step\": 1, \"name\": \"%s\"}\n", evil, evil);
    put("run/metrics.jsonl", text);
    put("run/figures/<img src=x>.svg",
        "<svg viewBox='0 0 9 9'><text>&lt;script></text><script>alert(1)</script></svg>");
    put_json("run/figures/<img src=x>.json",
             "{'title': '<script>', 'columns': 1, 'width': 9, 'height': 9, 'panels': "
             "[{'title': '<script>', 'legend': 'auto', 'x': {'label': '<script>'}, "
             "'series': [{'name': '<script>', 'mark': 'line', 'colour': 'sky', "
             "'x': [1], 'y': [2]}]}]}");
    put("run/figures/<b>.csv", "</table><script>,b\n<script>,2\n");
    for (const char *p = page(NULL, NULL); (p = strchr(p, '<')); p++) {
        assert_true(strncmp(p, "<script", 7) != 0 && strncmp(p, "<img", 4) != 0);
        assert_true(strncmp(p, "</style>", 8) != 0 || strncmp(p, "</style>\n</head>", 16) == 0);
    }
    lacks(page(NULL, NULL), "\xe2\x80\xae");
}

/* A summary (text in single quotes) makes a page with this in it. */
static void page_of(const char *text, const char *part)
{
    put_json("run/summary.json", text);
    has(page(NULL, NULL), part);
}

static void columns_that_differ_come_after_the_answer(void **state)
{
    const char *text, *answer, *differ, *checks, *most, *less, *unknown, *cut;

    (void)state;
    put("run/config.json", config);
    put_json(
        "run/summary.json",
        "{'kl_pq': 1.5, 'units': 'bits', 'checks': [{'name': 'a', 'ok': true}], 'columns': ["
        "{'name': 'less', 'kind': 'continuous', 'share': 0.05, 'kl': 0.125, 'edges': [0, 1, 3], "
        "'p': [0.5, 0.5], 'q': [1, 0]}, {'name': 'unknown', 'kind': 'discrete', 'share': null, "
        "'kl': null, 'note': 'no row of q is <b>'}, {'name': 'most', 'kind': 'discrete', "
        "'share': 0.9, 'kl': 1.25, 'levels': ['x', '', 3], 'p': [0.25, 0.5, 0.25], "
        "'q': [1, 0, 0.0001]}]}");
    text = page_with(0, 0);
    answer = strstr(text, "<h2 id=\"answer-title\">");
    differ = strstr(text, "<h2 id=\"columns-title\">Which columns differ</h2>");
    checks = strstr(text, "<h2 id=\"checks-title\">");
    assert_true(answer && differ && checks && answer < differ && differ < checks);
    most = strstr(differ, "most</th>");
    less = strstr(differ, "less</th>");
    unknown = strstr(differ, "unknown</th>");
    assert_true(most && less && unknown && most < less && less < unknown && unknown < checks);
    has(text, "its own KL (bits)</th>");
    has(most, "90\xc2\xa0%</span>");
    has(most, "1.250</td>");
    has(most, "x</span><svg viewBox=\"0 0 100 16\" preserveAspectRatio=\"none\" "
              "aria-hidden=\"true\"><rect width=\"25.00\" height=\"7\" fill=\"var(--blue)\"/><rect "
              "y=\"9\" width=\"100.00\"");
    has(most, "25\xc2\xa0% against 100\xc2\xa0%");
    has(most, "(empty)</span>");
    has(most, "25\xc2\xa0% against &lt;\xc2\xa0"
              "0.1\xc2\xa0%");
    /* A bin of twice the width is half as high: what is seen is the area. */
    has(less, "d=\"M0 64V32.0H80.0V48.0H240.0V64\"");
    has(less, "d=\"M0 64V0.0H80.0V64.0H240.0V64\"");
    has(less, "5.0\xc2\xa0%</span>");
    cut = strstr(unknown, "\xe2\x80\x93<p class=\"note\">no row of q is &lt;b&gt;</p>");
    assert_true(cut && cut < checks);
    lacks(text, "<caption>columns</caption>"); /* not among the rest a second time */
}

/* KL(p, q) has no number for rows that only p can have: that of the others stands in its place,
 * and KL(q, p) is not rejected with it. */
static void a_divergence_without_lone_rows_is_shown(void **state)
{
    const char *text;

    (void)state;
    put("run/config.json", config);
    put_json("run/summary.json",
             "{'verdict': 'reject', 'units': 'nats', 'kl_pq': null, 'kl_pq_verdict': 'reject', "
             "'kl_pq_lone': 0.2, 'kl_pq_rest': 0.18, 'kl_pq_rest_se': 0.01, 'kl_pq_rest_ci95': "
             "[0.16, 0.2], 'kl_qp': 0.4, 'kl_qp_se': 0.02, 'kl_qp_verdict': 'doubt'}");
    text = page_with(0, 0);
    has(text, "without 20 % of the rows <strong>0.180</strong> (95 % interval 0.160 to 0.200)");
    has(text, "<span>KL(p, q): reject. KL(q, p): doubt.");
    has(text, "0.400 <span class=\"unit\">nats");
    lacks(text, "no answer");
    put_json("run/summary.json", "{'verdict': 'reject', 'kl_pq': null, 'kl_pq_lone': 1.0, "
                                 "'kl_pq_rest': null, 'kl_pq_rest_ci95': [null, null]}");
    has(page_with(0, 0), "without 100 % of the rows no number either");
}

static void columns_without_shares_go_by_their_own_kl(void **state)
{
    const char *text;

    (void)state;
    put("run/config.json", config);
    put_json("run/summary.json",
             "{'columns': [{'name': 'low', 'kl': 1.0}, {'name': 'high', 'kl': 2.0, "
             "'edges': [0, 1], 'p': [1], 'q': [1, 2]}, {'kl': 'much', 'edges': "
             "[1, 1], 'p': [1], 'q': [1], 'levels': 5}]}");
    text = page_with(0, 0);
    assert_true(strstr(text, "high</th>") < strstr(text, "low</th>"));
    has(text, "(no name)</th>");
    lacks(text, "<th scope=\"col\">share</th>");
    lacks(text, "class=\"bins\"");
    put_json("run/summary.json", "{'columns': 7}"); /* another thing by that name */
    has(page(NULL, NULL), "<dt>columns</dt><dd>7</dd>");
}

/* Twelve lines at most: the eleven largest in their order, and the sum of the others. */
static void many_levels_are_pooled(void **state)
{
    char text[2048] = "{'columns': [{'name': 'c', 'kl': 1, 'levels': [";
    const char *first, *last;
    size_t n = strlen(text);

    (void)state;
    for (int i = 0; i < 20; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s'L%d'", i ? ", " : "", i);
    for (int k = 0; k < 2; k++) {
        n += (size_t)snprintf(text + n, sizeof text - n, "], '%s': [", k ? "q" : "p");
        for (int i = 0; i < 20; i++)
            n += (size_t)snprintf(text + n, sizeof text - n, "%s%g", i ? ", " : "",
                                  k       ? 0.05
                                  : i % 2 ? 0.09
                                          : 0.01);
    }
    snprintf(text + n, sizeof text - n, "]}]}");
    put("run/config.json", config);
    put_json("run/summary.json", text);
    first = strstr(page(NULL, NULL), "<ul class=\"levels\">");
    assert_non_null(first);
    last = strstr(first, "other (9 levels)");
    assert_true(last && strstr(first, "L0<") < strstr(first, "L1<") &&
                strstr(first, "L19<") < last);
    assert_null(strstr(first, ">L2<"));
    has(last, "9.0\xc2\xa0% against 45\xc2\xa0%");
}

static void bridges_say_where_they_lead(void **state)
{
    (void)state;
    put("run/config.json", config);
    page_of("{'kl_pq': 1.0, 'bridges': [{'k': 0, 'alpha_from': 0.0}]}", "<p>From p (");
    page_of("{'mi': 1.0, 'bridges': [{'k': 0, 'alpha_from': 0.0}]}", "<p>From pairs (p, ");
    page_of("{'mi': 1.0, 'bridges': [{'k': 0, 'loss': 1.0}]}", "<p>From pairs to rows that do not");
    page_of("{'noise_loglik': 1.0, 'bridges': [{'k': 0, 'alpha_from': 0.0}]}", "<p>From the data");
}

static void an_accuracy_is_an_answer(void **state)
{
    (void)state;
    put("run/config.json", config);
    page_of("{'accuracy': 0.75, 'accuracy_ci95': [0.5, 0.875]}",
            "0.7500 <span class=\"unit\">of the rows held out</span></p>\n<p>95 % interval "
            "<strong>0.5000 to 0.8750</strong>");
}

static void a_run_that_has_not_ended_has_a_page(void **state)
{
    (void)state;
    put("run/config.json", config);
    has(page_with(0, 1), "This run has not ended");
}

static void refuses(wm_status code, const char *part)
{
    wm_error err = {0};
    wm_report_info info;

    assert_int_equal(wm_report_write(&info, scratch("run"), scratch("page.html"), NULL, &err),
                     code);
    if (!strstr(err.text, part))
        fail_msg("'%s' lacks '%s'", err.text, part);
    assert_false(wmi_file_exists(scratch("page.html")));
}

static void other_folders_are_refused(void **state)
{
    wm_error err = {0};
    char huge[] = "{}";

    (void)state;
    refuses(WM_EIO, "run: No such file or directory");
    put("run/notes.txt", "a file");
    refuses(WM_EINVAL, "run: not a run folder: it has neither config.json nor summary.json");
    put("run/summary.json", "{\"a\": 1,\n\"b\": [1, 2\n");
    refuses(WM_EFORMAT, "summary.json:3:0: ']' expected near end of file");
    put("run/summary.json", "{\"a\": \"\xff\"}");
    refuses(WM_EFORMAT, "summary.json:1:7: unable to decode byte 0xff");
    put("run/summary.json", "[1]");
    refuses(WM_EFORMAT, "summary.json: not an object of names and values");
    put("run/summary.json", "");
    refuses(WM_EFORMAT, "the file is empty");
    put("run/summary.json", huge);
    assert_int_equal(truncate(scratch("run/summary.json"), 200 << 20), 0);
    refuses(WM_EFORMAT, "209715200 bytes, at most 16777216 make sense");
    put("run/summary.json", summary);
    put("run/config.json", "nonsense");
    refuses(WM_EFORMAT, "config.json:1:");
    put("run/config.json", config);
    assert_int_equal(wm_report_write(NULL, scratch("run"), scratch("none/page.html"), NULL, &err),
                     WM_EIO);
    assert_int_equal(wm_report_write(NULL, scratch("run/config.json"), scratch("p"), NULL, &err),
                     WM_EINVAL);
    assert_non_null(strstr(err.text, "not a folder"));
}

static void memory_that_runs_out_is_reported(void **state)
{
    int64_t live;
    bool done = false;

    (void)state;
    put_run();
    put("run/figures/a.svg", svg);
    put("run/figures/a.csv", csv);
    put("run/figures/b.svg", two_svg);
    put_json("run/figures/b.json", two_json);
    put_json("run/summary.json", "{'pictures': [{'file': 'a.png'}]}");
    put_bytes("run/a.png", small_png, sizeof small_png - 1);
    put("run/a.csv", "row,column\n1,1\n");
    put("run/metrics.jsonl", "{\"step\": 0, \"loss\": 1}\n");
    live = wmi_alloc_live();
    for (int k = 1; !done; k++) {
        wm_error err = {0};
        wm_status st;

        wmi_alloc_fail_at(k);
        st = wm_report_write(NULL, scratch("run"), scratch("page.html"), NULL, &err);
        wmi_alloc_fail_at(0);
        assert_true(st == WM_OK || st == WM_ENOMEM);
        assert_int_equal(wmi_alloc_live(), live);
        done = st == WM_OK;
        assert_true(k < 200);
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, scratch_make, scratch_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_answer_comes_first),
        TEST(the_command_line_repeats_the_run),
        TEST(verdicts_have_their_words),
        TEST(figures_stand_with_their_numbers),
        TEST(a_figure_that_cannot_be_shown_is_named),
        TEST(pictures_stand_with_their_words),
        TEST(a_picture_that_cannot_be_shown_is_named),
        TEST(panels_are_taken_apart),
        TEST(curves_are_drawn),
        TEST(nothing_from_a_file_is_markup),
        TEST(columns_that_differ_come_after_the_answer),
        TEST(a_divergence_without_lone_rows_is_shown),
        TEST(columns_without_shares_go_by_their_own_kl),
        TEST(many_levels_are_pooled),
        TEST(bridges_say_where_they_lead),
        TEST(an_accuracy_is_an_answer),
        TEST(a_run_that_has_not_ended_has_a_page),
        TEST(other_folders_are_refused),
        TEST(memory_that_runs_out_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
