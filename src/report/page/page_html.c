/* page_html.c - HTML from texts, numbers and JSON. */
#include "report/page/page_html.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "report/text.h"
#include "waymark/sink.h"

enum { LINE_LETTERS = 28, LIST_SHOWN = 64, ROWS_SHOWN = 400, COLUMNS_SHOWN = 40, DEPTH = 4 };

/* Marks that turn the direction of writing would let a text change how its neighbours read. */
static bool turns(uint32_t c)
{
    return (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

void wmi_html_bytes(const char *text, size_t n, FILE *out)
{
    const char *end = text + n;

    while (text < end) {
        uint32_t c;
        const int length = wmi_text_letter(text, &c);

        if (length == 0 || length > end - text || turns(c) ||
            (c < 0x20 && c != '\n' && c != '\t') || (c >= 0x7f && c < 0xa0)) {
            fputs("\xef\xbf\xbd", out);
            text += length > 0 && length <= end - text ? length : 1;
            continue;
        }
        switch (c) {
        case '&':
            fputs("&amp;", out);
            break;
        case '<':
            fputs("&lt;", out);
            break;
        case '>':
            fputs("&gt;", out);
            break;
        case '"':
            fputs("&quot;", out);
            break;
        case '\'':
            fputs("&#39;", out);
            break;
        default:
            fwrite(text, 1, (size_t)length, out);
        }
        text += length;
    }
}

void wmi_html_text(const char *text, FILE *out)
{
    wmi_html_bytes(text, strlen(text), out);
}

void wmi_html_real(double x, FILE *out)
{
    char text[WMI_REAL_TEXT];

    if (!isfinite(x)) {
        fputs("\xe2\x80\x93", out);
        return;
    }
    snprintf(text, sizeof text, fabs(x) >= 9999.5 && fabs(x) < 1e6 ? "%.0f" : "%.4g",
             x == 0 ? 0 : x); /* never "-0" */
    fputs(wmi_number_point(text), out);
}

int wmi_html_decimals(double largest)
{
    const int digits = largest > 0 && isfinite(largest) ? 4 - (int)ceil(log10(largest)) : 0;

    return digits < 0 ? 0 : digits > 8 ? 8 : digits;
}

void wmi_html_fixed(double x, int decimals, FILE *out)
{
    char text[WMI_REAL_TEXT];

    /* Where so many decimals would leave fewer than two digits, or the number is huge. */
    if (!isfinite(x) || fabs(x) >= 1e7 || (x != 0 && fabs(x) < 5 * pow(10, -decimals))) {
        wmi_html_real(x, out);
        return;
    }
    snprintf(text, sizeof text, "%.*f", decimals, x == 0 ? 0 : x);
    fputs(wmi_number_point(text), out);
}

void wmi_html_count(int64_t n, FILE *out)
{
    char digits[24];
    const int length = snprintf(digits, sizeof digits, "%" PRId64, n < 0 ? -n : n);

    fputs(n < 0 ? "-" : "", out);
    for (int i = 0; i < length; i++)
        fprintf(out, "%s%c", i && (length - i) % 3 == 0 ? "," : "", digits[i]);
}

/* What keys of summaries are called in the page; others have their underscores replaced. */
static const char *const names[][2] = {
    {"k", "bridge"},
    {"alpha_from", "from \xce\xb1"},
    {"alpha_to", "to \xce\xb1"},
    {"mean_log_ratio", "mean log-ratio"},
    {"mean_log_ratio_se", "standard error"},
    {"n_train", "rows to fit with"},
    {"n_valid", "rows to choose the best step by"},
    {"n_test", "rows held out"},
    {"dim", "columns"},
    {"dim_u", "columns of u"},
    {"dim_v", "columns of v"},
    {"alphas", "waymarks \xce\xb1"},
    {"kl", "KL"},
    {"kl_pq", "KL(p\xc2\xa0\xe2\x80\x96\xc2\xa0q)"},
    {"kl_qp", "KL(q\xc2\xa0\xe2\x80\x96\xc2\xa0p)"},
    {"mi", "mutual information"},
    {"mi_se", "standard error"},
    {"mi_calibrated", "mutual information, calibrated"},
    {"mi_calibrated_se", "its standard error"},
    {"mi_calibrated_ci95", "its 95 % interval"},
    {"batch_pairs", "pairs of a step"},
    {"ok", "passed"},
    {"ess", "effective sample size"},
    {"pareto_k", "Pareto k"},
    {"n", "samples"},
    {"n_p", "rows of p"},
    {"n_q", "rows of q"},
    {"se", "standard error"},
    {"log_mean", "log of the mean"},
    {"lr", "learning rate"},
    {"noise_loglik", "log-likelihood of the noise alone"},
    {"direct", "log-likelihood, Z taken as 1"},
    {"raise", "log-likelihood by RAISE"},
    {"ais", "log-likelihood by AIS"},
    {"log_z", "log Z by AIS"},
    {"log_z_ess", "effective chains of AIS"},
    {"log_z_spread", "spread of AIS' log weights"},
    {"ais_failed", "chains of AIS that failed"},
    {"raise_spread", "spread of RAISE"},
    {"raise_controlled", "RAISE with control variate"},
    {"raise_failed", "chains of RAISE that failed"},
    {"gap", "AIS minus RAISE, nats"},
    {"gap_bpd", "AIS minus RAISE, bits per dimension"},
    {"worst_rhat", "largest R-hat"},
    {"least_ess_bulk", "least effective sample size, bulk"},
    {"least_ess_tail", "least effective sample size, tail"},
    {"least_e_bfmi", "least E-BFMI"},
    {"n_steps", "gradients of a draw"},
    {"diverging", "draws that diverged"},
    {"warnings", "Warnings"},
};

void wmi_html_words(const char *key, FILE *out)
{
    const char *from = key;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(key, names[i][0]) == 0) {
            fputs(names[i][1], out);
            return;
        }
    for (const char *p = key;; p++)
        if (!*p || *p == '_') {
            wmi_html_bytes(from, (size_t)(p - from), out);
            if (!*p)
                break;
            putc(' ', out);
            from = p + 1;
        }
}

static bool is_scalar(const json_t *v)
{
    return !json_is_array(v) && !json_is_object(v);
}

static void put_scalar(const json_t *v, FILE *out)
{
    if (json_is_string(v))
        wmi_html_text(json_string_value(v), out);
    else if (json_is_integer(v))
        fprintf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(v));
    else if (json_is_real(v))
        wmi_html_real(json_real_value(v), out);
    else
        fputs(json_is_true(v) ? "yes" : json_is_false(v) ? "no" : "\xe2\x80\x93", out);
}

static void put_value(const json_t *v, int depth, FILE *out)
{
    json_t *object = (json_t *)v; /* the iterators are not const, and change nothing */
    size_t n = json_array_size(v);

    if (is_scalar(v)) {
        put_scalar(v, out);
    } else if (depth >= DEPTH) {
        fputs("\xe2\x80\xa6", out);
    } else if (json_is_array(v)) {
        for (size_t i = 0; i < n && i < LIST_SHOWN; i++) {
            fputs(i ? ", " : "", out);
            put_value(json_array_get(v, i), depth + 1, out);
        }
        if (n > LIST_SHOWN)
            fprintf(out, ", \xe2\x80\xa6 (%d of %zu)", LIST_SHOWN, n);
        fputs(n ? "" : "none", out);
    } else {
        fputs("<dl>", out);
        for (void *i = json_object_iter(object); i; i = json_object_iter_next(object, i)) {
            fputs("<div><dt>", out);
            wmi_html_words(json_object_iter_key(i), out);
            fputs("</dt><dd>", out);
            put_value(json_object_iter_value(i), depth + 1, out);
            fputs("</dd></div>", out);
        }
        fputs("</dl>", out);
    }
}

void wmi_html_value(const json_t *v, FILE *out)
{
    put_value(v, 0, out);
}

/* With a name and a place in the tab order, so that the keyboard can scroll it too. */
static void put_region(const char *class, const char *label, FILE *out)
{
    fprintf(out, "<div class=\"%s\" role=\"region\" tabindex=\"0\" aria-label=\"", class);
    wmi_html_text(label, out);
    fputs("\">\n", out);
}

void wmi_html_region(const char *label, FILE *out)
{
    put_region("scroll", label, out);
}

void wmi_html_sheet(const char *label, FILE *out)
{
    put_region("scroll sheet", label, out);
}

void wmi_html_figure(const char *title, const char *caption, FILE *out)
{
    fputs("<figure>\n<figcaption><h3>", out);
    wmi_html_text(title, out);
    fputs(*caption ? "</h3><p>" : "</h3>", out);
    wmi_html_text(caption, out);
    fputs(*caption ? "</p></figcaption>\n" : "</figcaption>\n", out);
}

void wmi_html_no_numbers(FILE *out)
{
    fputs("<p class=\"note\">The numbers of this figure are not in the run folder.</p>\n", out);
}

/* The union of the rows' keys in the order of their first appearance, into keys; returns how many.
 * Keys that are null, empty or structured in every row are left out. */
static int find_columns(const json_t *rows, const char *keys[COLUMNS_SHOWN])
{
    int n = 0;

    for (size_t r = 0; r < json_array_size(rows) && r < ROWS_SHOWN; r++) {
        json_t *row = json_array_get(rows, r);

        for (void *i = json_object_iter(row); i && n < COLUMNS_SHOWN;
             i = json_object_iter_next(row, i)) {
            const json_t *v = json_object_iter_value(i);
            bool seen = json_is_null(v) || !is_scalar(v);

            for (int k = 0; k < n && !seen; k++)
                seen = strcmp(keys[k], json_object_iter_key(i)) == 0;
            if (!seen)
                keys[n++] = json_object_iter_key(i);
        }
    }
    return n;
}

/* How a column is set: its name, decimals for its reals, and whether its first value is a number.
 */
typedef struct column {
    const char *key;
    int decimals;
    bool number;
} column;

static column study_column(const json_t *rows, const char *key)
{
    column c = {.key = key};
    double largest = 0;
    bool seen = false;

    for (size_t r = 0; r < json_array_size(rows); r++) {
        const json_t *v = json_object_get(json_array_get(rows, r), key);

        if (json_is_real(v))
            largest = fmax(largest, fabs(json_real_value(v)));
        if (v && !json_is_null(v) && !seen) {
            c.number = json_is_number(v);
            seen = true;
        }
    }
    c.decimals = wmi_html_decimals(largest);
    return c;
}

static void put_table_cell(const json_t *v, const column *c, FILE *out)
{
    const char *text = json_string_value(v);

    fputs(json_is_number(v)                     ? "<td class=\"number\">"
          : text && strlen(text) > LINE_LETTERS ? "<td>"
                                                : "<td class=\"short\">",
          out);
    if (json_is_real(v))
        wmi_html_fixed(json_real_value(v), c->decimals, out);
    else if (v && is_scalar(v))
        put_scalar(v, out);
    else
        fputs(v ? "\xe2\x80\xa6" : "", out);
    fputs("</td>", out);
}

void wmi_html_rows(const json_t *rows, const char *caption, FILE *out)
{
    const char *keys[COLUMNS_SHOWN];
    column c[COLUMNS_SHOWN];
    const int n = find_columns(rows, keys);
    const size_t all = json_array_size(rows);

    wmi_html_region(caption, out);
    fputs("<table>\n<caption>", out);
    wmi_html_text(caption, out);
    if (all > ROWS_SHOWN)
        fprintf(out, " (the first %d of %zu rows)", ROWS_SHOWN, all);
    fputs("</caption>\n<thead><tr>", out);
    for (int k = 0; k < n; k++) {
        c[k] = study_column(rows, keys[k]);
        fputs(k > 0 && c[k].number ? "<th scope=\"col\" class=\"number\">" : "<th scope=\"col\">",
              out);
        wmi_html_words(keys[k], out);
        fputs("</th>", out);
    }
    fputs("</tr></thead>\n<tbody>\n", out);
    for (size_t r = 0; r < all && r < ROWS_SHOWN; r++) {
        const json_t *row = json_array_get(rows, r);

        fputs("<tr>", out);
        for (int k = 0; k < n; k++) {
            const json_t *v = json_object_get(row, keys[k]);

            if (k > 0) {
                put_table_cell(v, &c[k], out);
                continue;
            }
            fputs("<th scope=\"row\">", out);
            if (v && is_scalar(v))
                put_scalar(v, out);
            fputs("</th>", out);
        }
        fputs("</tr>\n", out);
    }
    fputs("</tbody>\n</table>\n</div>\n", out);
}

void wmi_page_section(wmi_page *p, const char *id, const char *title)
{
    if (p->n_sections < WMI_PAGE_SECTIONS) {
        p->section[p->n_sections].id = id;
        p->section[p->n_sections++].title = title;
    }
    fprintf(p->out,
            "<section id=\"%s\" aria-labelledby=\"%s-title\">\n<h2 id=\"%s-title\">%s</h2>\n", id,
            id, id, title);
}

void wmi_page_problem(wmi_page *p, const char *fmt, ...)
{
    char text[400];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    p->problems++;
    wm_say(p->sink, WM_LOG_WARN, "%s", text);
    fputs("<p class=\"problem\">", p->out);
    wmi_html_text(text, p->out);
    fputs("</p>\n", p->out);
}
