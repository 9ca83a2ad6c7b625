/* page_answer.c - the top of the page: can it be trusted, what is the number, what was checked, and
 * how each bridge did. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "report/page/page_html.h"
#include "report/text.h"

/* --- the verdict -------------------------------------------------------------------------------*/

static const struct {
    const char *verdict, *word, *sign, *sentence;
} verdicts[] = {
    {"trust", "Trust", "\xe2\x9c\x93", "Nothing speaks against this answer."},
    {"doubt", "Doubt", "!", "Look at what failed before you use this answer."},
    {"reject", "Reject", "\xe2\x9c\x95", "Do not use this answer."},
};

/* How checks end, gravest first, in the words of wm_outcome_text(). */
static const struct {
    const char *outcome, *sign, *style;
} outcomes[] = {
    {"failed", "\xe2\x9c\x95", "failed"},
    {"doubt", "!", "doubt"},
    {"not known", "?", "unknown"},
    {"ok", "\xe2\x9c\x93", "ok"},
};
enum { FAILED, DOUBT, NOT_KNOWN, OK, OUTCOMES };

/* Where a summary has none of these words, `ok` decides. */
static int outcome_of(const json_t *check)
{
    const char *word = json_string_value(json_object_get(check, "outcome"));

    for (int k = 0; word && k < OUTCOMES; k++)
        if (strcmp(word, outcomes[k].outcome) == 0)
            return k;
    return json_is_true(json_object_get(check, "ok")) ? OK : FAILED;
}

static size_t count(const json_t *checks, int from, int to)
{
    size_t n = 0;

    for (size_t i = 0; i < json_array_size(checks); i++)
        n += outcome_of(json_array_get(checks, i)) >= from &&
             outcome_of(json_array_get(checks, i)) <= to;
    return n;
}

static void put_names(const json_t *checks, int from, int to, FILE *out)
{
    const char *between = ": ";

    for (size_t i = 0; i < json_array_size(checks); i++) {
        const json_t *check = json_array_get(checks, i);
        const char *name = json_string_value(json_object_get(check, "name"));
        const int k = outcome_of(check);

        if (k < from || k > to || !name)
            continue;
        fputs(between, out);
        wmi_html_words(name, out);
        between = ", ";
    }
    fputs(".", out);
}

/* What the checks say in a sentence: all passed, or how many did not and their names. */
static void put_reason(const json_t *checks, FILE *out)
{
    const size_t n = json_array_size(checks), failed = count(checks, FAILED, DOUBT);
    const size_t unknown = count(checks, NOT_KNOWN, NOT_KNOWN);

    if (n == 0)
        return;
    if (failed + unknown == 0) {
        fprintf(out, n == 1 ? " Its one check passed." : " All %zu checks passed.", n);
        return;
    }
    if (failed > 0) {
        fprintf(out, " %zu of %zu checks failed", failed, n);
        put_names(checks, FAILED, DOUBT, out);
    }
    if (unknown > 0) {
        fprintf(out, failed ? " Not known" : " No check failed; not known");
        put_names(checks, NOT_KNOWN, NOT_KNOWN, out);
    }
}

static void put_verdict(const wmi_page *p)
{
    const char *verdict = json_string_value(json_object_get(p->summary, "verdict"));
    const char *reason = json_string_value(json_object_get(p->summary, "reason"));
    const char *pq = json_string_value(json_object_get(p->summary, "kl_pq_verdict")),
               *qp = json_string_value(json_object_get(p->summary, "kl_qp_verdict"));
    const json_t *checks = json_object_get(p->summary, "checks");
    const size_t n = sizeof verdicts / sizeof *verdicts;
    size_t k = 0;

    if (!verdict)
        return;
    while (k < n && strcmp(verdict, verdicts[k].verdict) != 0)
        k++;
    fprintf(p->out, "<p class=\"verdict\"><span class=\"badge %s\">",
            k < n ? verdicts[k].verdict : "other");
    if (k < n)
        fprintf(p->out, "<span aria-hidden=\"true\">%s </span>%s", verdicts[k].sign,
                verdicts[k].word);
    else
        wmi_html_text(verdict, p->out);
    fputs("</span> <span>", p->out);
    if (pq && qp && strcmp(pq, qp) != 0) {
        fputs("KL(p, q): ", p->out);
        wmi_html_text(pq, p->out);
        fputs(". KL(q, p): ", p->out);
        wmi_html_text(qp, p->out);
        fputs(".", p->out);
    } else
        fputs(k < n ? verdicts[k].sentence : "", p->out);
    put_reason(checks, p->out);
    if (reason && (k > 0 || json_array_size(checks) == 0)) {
        putc(' ', p->out);
        wmi_html_text(reason, p->out);
    }
    fputs("</span></p>\n", p->out);
}

/* --- estimates ---------------------------------------------------------------------------------*/

const char *const wmi_page_estimates[] = {"mi",    "kl_pq", "kl_qp", "noise_loglik", "direct",
                                          "raise", "ais",   "log_z", "accuracy",     NULL};

/* A member KEYend of the summary. */
static const json_t *beside(const wmi_page *p, const char *key, const char *end)
{
    char name[32];

    snprintf(name, sizeof name, "%s%s", key, end);
    return json_object_get(p->summary, name);
}

/* Digits after the point: as many as the standard error allows, or four significant ones. */
static int digits_of(double value, double se)
{
    const double least = isfinite(se) && se > 0 ? se / 10 : fabs(value) / 1000;
    const int digits = least > 0 ? (int)ceil(-log10(least)) : 3;

    return digits < 0 ? 0 : digits > 9 ? 9 : digits;
}

static void put_fixed(double value, int digits, FILE *out)
{
    char text[64];

    if (!isfinite(value) || fabs(value) >= 1e12) {
        wmi_html_real(value, out);
        return;
    }
    snprintf(text, sizeof text, "%.*f", digits, value);
    wmi_number_point(text);
    fputs(*text == '-' ? "\xe2\x88\x92" : "", out); /* a true minus sign */
    fputs(text + (*text == '-'), out);
}

/* The truth that belongs to an estimate, where the run knows it: an object has it by the same key,
 * a number is that of the first estimate. */
static const json_t *truth_of(const wmi_page *p, const char *key)
{
    const json_t *truth = json_object_get(p->summary, "truth");
    const char *first = json_object_get(p->summary, "mi") ? "mi" : "kl_pq";

    if (json_is_object(truth))
        return json_object_get(truth, key);
    return strcmp(key, first) == 0 ? truth : NULL;
}

/* What a rejected ratio says is no answer, and not shown as one. Two divergences may have verdicts
 * of their own. */
static bool is_rejected(const wmi_page *p, const char *key)
{
    const char *own = json_string_value(beside(p, key, "_verdict"));
    const char *verdict = own ? own : json_string_value(json_object_get(p->summary, "verdict"));

    return verdict && strcmp(verdict, "reject") == 0 &&
           (strcmp(key, "mi") == 0 || strncmp(key, "kl_", 3) == 0);
}

static void put_rejected(const wmi_page *p, const char *key)
{
    const json_t *v = json_object_get(p->summary, key);
    const char *units = json_string_value(json_object_get(p->summary, "units"));

    fputs("<div class=\"estimate\"><h3>", p->out);
    wmi_html_words(key, p->out);
    fputs("</h3>\n<p class=\"value\">no answer</p>\n<p>rejected; the fit says ", p->out);
    if (json_is_number(v)) {
        wmi_html_real(json_number_value(v), p->out);
        fputc(' ', p->out);
        wmi_html_text(units ? units : "nats", p->out);
    } else {
        fputs("nothing finite", p->out);
    }
    fputs("</p>\n</div>\n", p->out);
}

/* One table has rows whose levels the other lacks: the number is that of the others. */
static void put_rest(const wmi_page *p, const char *key)
{
    const json_t *v = beside(p, key, "_rest"), *ci = beside(p, key, "_rest_ci95");
    const int digits = digits_of(json_number_value(v), wmi_json_real(beside(p, key, "_rest_se")));

    fputs("<div class=\"estimate\"><h3>", p->out);
    wmi_html_words(key, p->out);
    fputs("</h3>\n<p class=\"value\">no number</p>\n<p>infinite, or cannot be told<br>without ",
          p->out);
    wmi_html_real(100 * json_number_value(beside(p, key, "_lone")), p->out);
    fputs(" % of the rows ", p->out);
    if (json_is_number(v)) {
        fputs("<strong>", p->out);
        put_fixed(json_number_value(v), digits, p->out);
        fputs("</strong> (95 % interval ", p->out);
        put_fixed(json_number_value(json_array_get(ci, 0)), digits, p->out);
        fputs(" to ", p->out);
        put_fixed(json_number_value(json_array_get(ci, 1)), digits, p->out);
        fputs(")", p->out);
    } else {
        fputs("no number either", p->out);
    }
    fputs("</p>\n</div>\n", p->out);
}

static void put_estimate(const wmi_page *p, const char *key)
{
    const json_t *v = json_object_get(p->summary, key), *se = beside(p, key, "_se"),
                 *ci = beside(p, key, "_ci95"), *bits = beside(p, key, "_bpd"),
                 *truth = truth_of(p, key);
    const char *units = json_string_value(json_object_get(p->summary, "units"));
    const double value = json_number_value(v), error = wmi_json_real(se);
    const int digits = digits_of(value, error);

    if (json_number_value(beside(p, key, "_lone")) > 0) {
        put_rest(p, key);
        return;
    }
    if (is_rejected(p, key)) {
        put_rejected(p, key);
        return;
    }
    fputs("<div class=\"estimate\"><h3>", p->out);
    wmi_html_words(key, p->out);
    fputs("</h3>\n<p class=\"value\">", p->out);
    if (json_is_number(v))
        put_fixed(value, digits, p->out);
    else
        fputs("not finite", p->out);
    fputs(" <span class=\"unit\">", p->out);
    wmi_html_text(strcmp(key, "accuracy") == 0 ? "of the rows held out"
                  : units                      ? units
                                               : "nats",
                  p->out);
    fputs("</span></p>\n<p>", p->out);
    if (json_array_size(ci) == 2 && json_is_number(json_array_get(ci, 0)) &&
        json_is_number(json_array_get(ci, 1))) {
        fputs("95 % interval <strong>", p->out);
        put_fixed(json_number_value(json_array_get(ci, 0)), digits, p->out);
        fputs(" to ", p->out);
        put_fixed(json_number_value(json_array_get(ci, 1)), digits, p->out);
        fputs("</strong>", p->out);
    }
    if (isfinite(error)) {
        fputs(json_array_size(ci) == 2 ? "<br>" : "", p->out);
        fputs("standard error ", p->out);
        put_fixed(error, digits, p->out);
    }
    if (json_is_number(bits)) {
        fputs(isfinite(error) ? "<br>" : "", p->out);
        put_fixed(json_number_value(bits), 4, p->out);
        fputs(" bits per dimension", p->out);
    }
    fputs("</p>\n", p->out);
    if (json_is_number(truth) && json_is_number(v)) {
        const double t = json_number_value(truth);

        fputs("<p>truth <strong>", p->out);
        put_fixed(t, digits, p->out);
        fputs("</strong>", p->out);
        if (t != 0)
            fprintf(p->out, ", off by %+.1f %%", 100 * (value - t) / fabs(t));
        fputs("</p>\n", p->out);
    }
    fputs("</div>\n", p->out);
}

/* --- checks ------------------------------------------------------------------------------------*/

static void put_member(const json_t *object, const char *key, const char *before, FILE *out)
{
    const json_t *v = json_object_get(object, key);

    if (v && !json_is_null(v)) {
        fputs(before, out);
        wmi_html_value(v, out);
    }
}

/* One check: a line of numbers, and below it what they mean. */
static void put_check(const json_t *check, FILE *out)
{
    const char *name = json_string_value(json_object_get(check, "name"));

    const int k = outcome_of(check);

    fprintf(out, "<tbody class=\"%s\">\n<tr><th scope=\"rowgroup\">", outcomes[k].style);
    wmi_html_words(name ? name : "unnamed", out);
    fprintf(out,
            "</th><td><span class=\"mark\"><span aria-hidden=\"true\">%s </span>%s</span></td>"
            "<td class=\"number\" data-label=\"value\">",
            outcomes[k].sign, outcomes[k].outcome);
    put_member(check, "value", "", out);
    fputs("</td><td class=\"number\" data-label=\"limit\">", out);
    put_member(check, "limit", "", out);
    fputs("</td></tr>\n<tr><td colspan=\"4\" class=\"meaning\">", out);
    put_member(check, "meaning", "", out);
    put_member(check, "advice", " <strong>What to do:</strong> ", out);
    fputs("</td></tr>\n</tbody>\n", out);
}

/* The gravest first. */
static void put_checks(wmi_page *p)
{
    const json_t *checks = json_object_get(p->summary, "checks");
    const size_t n = json_array_size(checks);

    if (n == 0)
        return;
    wmi_page_section(p, "checks", "Checks");
    wmi_html_region("checks", p->out);
    fputs(
        "<table class=\"checks\">\n<caption>What was checked, and what each check means</caption>\n"
        "<thead><tr><th scope=\"col\">check</th><th scope=\"col\">result</th>"
        "<th scope=\"col\" class=\"number\">value</th><th scope=\"col\" class=\"number\">limit</th>"
        "</tr></thead>\n",
        p->out);
    for (int k = 0; k < OUTCOMES; k++)
        for (size_t i = 0; i < n; i++)
            if (outcome_of(json_array_get(checks, i)) == k)
                put_check(json_array_get(checks, i), p->out);
    fputs("</table>\n</div>\n</section>\n", p->out);
}

/* From where to where the bridges lead; without alphas parts of v are exchanged one by one. */
static const char *course(const json_t *summary, const json_t *bridge)
{
    if (json_object_get(summary, "noise_loglik"))
        return "From the data (\xce\xb1 = 0) to the noise (\xce\xb1 = 1) over the waymarks. The "
               "log-density is that of the noise plus the bridges' log-ratios.";
    if (!json_object_get(bridge, "alpha_from"))
        return "From pairs to rows that do not belong together: one part of v after the other is "
               "taken from "
               "another pair. The answer is the sum of the bridges' log-ratios.";
    if (json_object_get(summary, "mi"))
        return "From pairs (p, \xce\xb1 = 0) to rows paired at random (q, \xce\xb1 = 1) over the "
               "waymarks. The log-ratio is the sum of the bridges' log-ratios. Here each is "
               "averaged over the rows of its own waymark, so these means need not sum to the "
               "answer, which asks all bridges about the pairs.";
    return "From p (\xce\xb1 = 0) to q (\xce\xb1 = 1) over the waymarks. The log-ratio is the sum "
           "of the bridges' log-ratios. Here each is averaged over the rows of its own waymark, so "
           "these means need not sum to the answer, which asks all bridges about rows of p.";
}

static void put_bridges(wmi_page *p)
{
    const json_t *bridges = json_object_get(p->summary, "bridges");

    if (!json_is_array(bridges) || !json_is_object(json_array_get(bridges, 0)))
        return;
    wmi_page_section(p, "bridges", "Bridges");
    fprintf(p->out, "<p>%s</p>\n", course(p->summary, json_array_get(bridges, 0)));
    wmi_html_rows(bridges, "Each bridge on held-out rows", p->out);
    fputs("</section>\n", p->out);
}

void wmi_page_answer(wmi_page *p)
{
    bool any = json_is_string(json_object_get(p->summary, "verdict"));

    for (const char *const *key = wmi_page_estimates; *key; key++)
        any = any || json_object_get(p->summary, *key);
    if (any) {
        wmi_page_section(p, "answer", "Answer");
        put_verdict(p);
        fputs("<div class=\"estimates\">\n", p->out);
        for (const char *const *key = wmi_page_estimates; *key; key++)
            if (json_object_get(p->summary, *key))
                put_estimate(p, *key);
        fputs("</div>\n</section>\n", p->out);
    }
}

void wmi_page_reasons(wmi_page *p)
{
    put_checks(p);
    put_bridges(p);
}
