/* page_rest.c - the rest of the page: an experiment's table, whatever else the summary holds, and
 * what is needed to repeat the run. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "report/page/page_html.h"
#include "report/text.h"

/* Keys that other parts show. The estimates' own come with endings. */
static const char *const shown[] = {"command", "verdict", "reason",  "checks",  "bridges", "rows",
                                    "units",   "seed",    "threads", "seconds", "version", "truth"};
static const char *const endings[] = {"",      "_se",   "_ci95",    "_bpd",      "_verdict",
                                      "_lone", "_rest", "_rest_se", "_rest_ci95"};

#define COUNT(list) (sizeof(list) / sizeof *(list))

static bool is_shown(const wmi_page *p, const char *key)
{
    char name[32];

    if (strcmp(key, "pictures") == 0)
        return wmi_page_has_pictures(p);
    if (strcmp(key, "columns") == 0)
        return wmi_page_has_columns(p);
    for (size_t i = 0; i < COUNT(shown); i++)
        if (strcmp(key, shown[i]) == 0) {
            const json_t *v = json_object_get(p->summary, key);

            /* Some runs use the name of a table for a plain number; and a truth stands beside its
             * estimate only if there is one. */
            if (strcmp(key, "bridges") == 0)
                return json_is_object(json_array_get(v, 0));
            if (strcmp(key, "truth") == 0)
                return json_is_number(v) &&
                       (json_object_get(p->summary, "mi") || json_object_get(p->summary, "kl_pq"));
            return true;
        }
    for (const char *const *of = wmi_page_estimates; *of; of++)
        for (size_t k = 0; k < COUNT(endings); k++) {
            snprintf(name, sizeof name, "%s%s", *of, endings[k]);
            if (strcmp(key, name) == 0)
                return true;
        }
    return false;
}

void wmi_page_results(wmi_page *p)
{
    const json_t *rows = json_object_get(p->summary, "rows");

    if (!json_is_object(json_array_get(rows, 0)))
        return;
    wmi_page_section(p, "results", "Results");
    wmi_html_rows(rows, "Every result of the experiment", p->out);
    fputs("</section>\n", p->out);
}

static bool is_table(const json_t *v)
{
    return json_is_object(json_array_get(v, 0));
}

static bool is_count(const char *key, const json_t *v)
{
    return json_is_integer(v) && key[0] == 'n' && key[1] == '_';
}

/* Rows that are sentences, such as warnings: a table of one column would not break their lines. */
static bool only_texts(const json_t *rows)
{
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);

        if (json_object_size(row) != 1 || !json_is_string(json_object_get(row, "text")))
            return false;
    }
    return true;
}

static void put_texts(const char *key, const json_t *rows, FILE *out)
{
    fputs("<h3>", out);
    wmi_html_words(key, out);
    fputs("</h3>\n<ul>\n", out);
    for (size_t i = 0; i < json_array_size(rows); i++) {
        fputs("<li>", out);
        wmi_html_text(json_string_value(json_object_get(json_array_get(rows, i), "text")), out);
        fputs("</li>\n", out);
    }
    fputs("</ul>\n", out);
}

void wmi_page_others(wmi_page *p)
{
    bool open = false;

    for (void *i = json_object_iter(p->summary); i; i = json_object_iter_next(p->summary, i)) {
        const char *key = json_object_iter_key(i);
        const json_t *v = json_object_iter_value(i);

        if (is_shown(p, key) || is_table(v))
            continue;
        if (!open) {
            wmi_page_section(p, "details", "Details");
            fputs("<dl>\n", p->out);
            open = true;
        }
        fputs("<div><dt>", p->out);
        wmi_html_words(key, p->out);
        fputs("</dt><dd>", p->out);
        if (is_count(key, v))
            wmi_html_count(json_integer_value(v), p->out);
        else
            wmi_html_value(v, p->out);
        fputs("</dd></div>\n", p->out);
    }
    fputs(open ? "</dl>\n" : "", p->out);
    for (void *i = json_object_iter(p->summary); i; i = json_object_iter_next(p->summary, i)) {
        const char *key = json_object_iter_key(i);

        if (is_shown(p, key) || !is_table(json_object_iter_value(i)))
            continue;
        if (!open)
            wmi_page_section(p, "details", "Details");
        open = true;
        if (only_texts(json_object_iter_value(i)))
            put_texts(key, json_object_iter_value(i), p->out);
        else
            wmi_html_rows(json_object_iter_value(i), key, p->out);
    }
    fputs(open ? "</section>\n" : "", p->out);
}

/* --- settings ----------------------------------------------------------------------------------*/

/* A word as a shell takes it, escaped for HTML. */
static void put_word(const char *text, FILE *out)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_./:,=+@%";

    if (*text && text[strspn(text, plain)] == '\0') {
        wmi_html_text(text, out);
        return;
    }
    fputs("&#39;", out);
    for (const char *from = text;;) {
        const size_t n = strcspn(from, "'");

        wmi_html_bytes(from, n, out);
        if (!from[n])
            break;
        fputs("&#39;\\&#39;&#39;", out); /* '\'' */
        from += n + 1;
    }
    fputs("&#39;", out);
}

static void put_number(const json_t *v, FILE *out)
{
    char text[WMI_REAL_TEXT];

    if (json_is_integer(v))
        fprintf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(v));
    else
        fputs(wmi_real_text(text, json_number_value(v)), out);
}

/* One setting as an option; what was not set needs none. */
static void put_option(const char *key, const json_t *v, FILE *out)
{
    const bool list = json_array_size(v) > 0 && json_is_number(json_array_get(v, 0));

    if (!json_is_boolean(v) && !json_is_number(v) && !json_is_string(v) && !list)
        return;
    fputs(json_is_false(v) ? " <span>--no-" : " <span>--", out); /* lines break between options */
    wmi_html_text(key, out);
    if (json_is_string(v)) {
        putc(' ', out);
        put_word(json_string_value(v), out);
    } else if (json_is_number(v)) {
        putc(' ', out);
        put_number(v, out);
    }
    for (size_t i = 0; list && i < json_array_size(v); i++) {
        putc(i ? ',' : ' ', out);
        put_number(json_array_get(v, i), out);
    }
    fputs("</span>", out);
}

static void put_command(const wmi_page *p, const char *command)
{
    const json_t *arguments = json_object_get(p->config, "arguments");

    fputs(
        "<p>This repeats the run, to the same numbers on the same machine with the same number of "
        "threads:</p>\n<pre tabindex=\"0\"><code>waymark ",
        p->out);
    wmi_html_text(command, p->out);
    for (size_t i = 0; i < json_array_size(arguments); i++)
        if (json_is_string(json_array_get(arguments, i))) {
            fputs(" <span>", p->out);
            put_word(json_string_value(json_array_get(arguments, i)), p->out);
            fputs("</span>", p->out);
        }
    for (void *i = json_object_iter(p->config); i; i = json_object_iter_next(p->config, i)) {
        const char *key = json_object_iter_key(i);

        if (strcmp(key, "command") != 0 && strcmp(key, "version") != 0 &&
            strcmp(key, "arguments") != 0)
            put_option(key, json_object_iter_value(i), p->out);
    }
    fputs("</code></pre>\n<p>So does <code>waymark ", p->out);
    wmi_html_text(command, p->out);
    fputs(" --config config.json</code> with the config.json of the run folder.</p>\n", p->out);
}

static void put_fact(const wmi_page *p, const char *name, const json_t *v)
{
    if (!v || json_is_null(v))
        return;
    fprintf(p->out, "<div><dt>%s</dt><dd>", name);
    wmi_html_value(v, p->out);
    fputs("</dd></div>\n", p->out);
}

void wmi_page_settings(wmi_page *p)
{
    const char *command = json_string_value(json_object_get(p->config, "command"));
    const json_t *seconds = json_object_get(p->summary, "seconds"),
                 *seed = json_object_get(p->summary, "seed");

    wmi_page_section(p, "run", "The run");
    if (command)
        put_command(p, command);
    fputs("<dl>\n", p->out);
    put_fact(p, "waymark", json_object_get(p->config, "version"));
    put_fact(p, "seed", seed ? seed : json_object_get(p->config, "seed"));
    put_fact(p, "threads", json_object_get(p->summary, "threads"));
    if (json_is_number(seconds)) {
        const double s = json_number_value(seconds);

        fputs("<div><dt>time</dt><dd>", p->out);
        if (s >= 120)
            fprintf(p->out, "%.0f min %.0f s", floor(s / 60), s - 60 * floor(s / 60));
        else
            fprintf(p->out, "%.*f s", s < 10 ? 2 : 1, s);
        fputs("</dd></div>\n", p->out);
    }
    fputs("</dl>\n</section>\n", p->out);
}
