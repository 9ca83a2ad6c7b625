/* page_columns.c - which columns differ between p and q: a row for each, the one that matters most
 * first, with a small picture of p against q. Drawn from the summary's "columns":
 *
 *     {"name": "wage", "kind": "continuous", "share": 0.4, "kl": 0.3, "note": "...",
 *      "edges": [0, 1, 2], "p": [0.2, 0.8], "q": [0.5, 0.5]}      a histogram, shares of the bins
 *     {"name": "sex", "kind": "discrete", ..., "levels": ["f", "m"], "p": [...], "q": [...]}
 *
 * share is the part of KL(p, q) that goes without the column, kl the divergence of the column taken
 * alone; either may be null, and so may the picture be missing. */
#include <math.h>
#include <stdlib.h>

#include "report/page/page_html.h"

enum {
    SHOWN_COLUMNS = 60,
    SHOWN_LEVELS = 12, /* the last of them is "other" where there are more */
    MOST_BINS = 400,
    WIDTH = 240, /* of a histogram, in its own units */
    HEIGHT = 64
};

typedef struct column {
    const json_t *row;
    double share, kl; /* NaN where not known */
    size_t place;     /* in the summary */
} column;

/* Larger first, those that are not known last. */
static int compare_reals(double a, double b)
{
    if (isnan(a) || isnan(b))
        return isnan(a) - isnan(b);
    return (a < b) - (a > b);
}

static int compare(const void *a, const void *b)
{
    const column *x = a, *y = b;
    int order = compare_reals(x->share, y->share);

    if (!order)
        order = compare_reals(x->kl, y->kl);
    return order ? order : (x->place > y->place) - (x->place < y->place);
}

/* A share in percent: 42 %, 4.2 %, < 0.1 %. */
static void put_percent(double share, FILE *out)
{
    const double v = 100 * share;

    if (!isfinite(v))
        fputs("\xe2\x80\x93", out);
    else if (v > 0 && v < 0.1)
        fputs("&lt;\xc2\xa0"
              "0.1\xc2\xa0%",
              out);
    else if (v != 0 && fabs(v) < 9.95)
        fprintf(out, "%s%.1f\xc2\xa0%%", v < 0 ? "\xe2\x88\x92" : "", fabs(v));
    else
        fprintf(out, "%s%.0f\xc2\xa0%%", v < 0 ? "\xe2\x88\x92" : "", fabs(v));
}

/* --- pictures ----------------------------------------------------------------------------------*/

/* Share i of p or q; what is not a positive number counts as 0. */
static double share_of(const json_t *shares, size_t i)
{
    const double v = json_number_value(json_array_get(shares, i));

    return v > 0 ? v : 0;
}

/* Steps over the bins, as high as the density, that begin and end at the bottom. */
static void put_steps(const json_t *edges, const json_t *shares, double highest, const char *colour,
                      FILE *out)
{
    const size_t n = json_array_size(shares);
    const double from = wmi_json_real(json_array_get(edges, 0)),
                 to = wmi_json_real(json_array_get(edges, n));

    fprintf(out,
            "<path fill=\"var(--%s)\" fill-opacity=\".25\" stroke=\"var(--%s)\" "
            "stroke-width=\"1.5\" d=\"M0 %d",
            colour, colour, HEIGHT);
    for (size_t i = 0; i < n; i++) {
        const double left = wmi_json_real(json_array_get(edges, i)),
                     right = wmi_json_real(json_array_get(edges, i + 1));

        fprintf(out, "V%.1fH%.1f", HEIGHT - HEIGHT * share_of(shares, i) / (right - left) / highest,
                WIDTH * (right - from) / (to - from));
    }
    fprintf(out, "V%d\"/>", HEIGHT); /* not closed: no line along the bottom */
}

/* Whether edges and shares are a histogram; *highest becomes its largest density. */
static bool study_bins(const json_t *edges, const json_t *p, const json_t *q, double *highest)
{
    const size_t n = json_array_size(p);

    *highest = 0;
    if (n < 1 || n > MOST_BINS || json_array_size(q) != n || json_array_size(edges) != n + 1)
        return false;
    for (size_t i = 0; i < n; i++) {
        const double width =
            wmi_json_real(json_array_get(edges, i + 1)) - wmi_json_real(json_array_get(edges, i));

        if (!(width > 0) || !isfinite(width))
            return false;
        *highest = fmax(*highest, fmax(share_of(p, i), share_of(q, i)) / width);
    }
    return *highest > 0 && isfinite(*highest);
}

static bool put_histogram(const json_t *row, FILE *out)
{
    const json_t *edges = json_object_get(row, "edges"), *p = json_object_get(row, "p"),
                 *q = json_object_get(row, "q");
    const json_t *last;
    double highest;

    if (!study_bins(edges, p, q, &highest))
        return false;
    last = json_array_get(edges, json_array_size(p));
    fprintf(out,
            "<svg class=\"bins\" viewBox=\"0 -1 %d %d\" preserveAspectRatio=\"none\" role=\"img\" "
            "aria-label=\"Histograms of p and of q from ",
            WIDTH, HEIGHT + 2);
    wmi_html_real(wmi_json_real(json_array_get(edges, 0)), out);
    fputs(" to ", out);
    wmi_html_real(wmi_json_real(last), out);
    fputs(".\">", out);
    put_steps(edges, q, highest, "vermilion", out);
    put_steps(edges, p, highest, "blue", out);
    fputs("</svg><div class=\"ends\"><span>", out);
    wmi_html_real(wmi_json_real(json_array_get(edges, 0)), out);
    fputs("</span><span>", out);
    wmi_html_real(wmi_json_real(last), out);
    fputs("</span></div>", out);
    return true;
}

/* A line of the levels: one of them, or all others together. */
typedef struct level {
    const json_t *name; /* NULL: others */
    double p, q;
    size_t place;
} level;

static double larger(const level *l)
{
    return fmax(l->p, l->q);
}

static int compare_places(const void *a, const void *b)
{
    const level *x = a, *y = b;

    return (x->place > y->place) - (x->place < y->place);
}

/* The levels to show, in their order, at most SHOWN_LEVELS; how many. Where there are more, those
 * with the largest share in p or q stand alone and the last is the sum of the others. */
static size_t pick_levels(level out[SHOWN_LEVELS], const json_t *row)
{
    const json_t *names = json_object_get(row, "levels"), *p = json_object_get(row, "p"),
                 *q = json_object_get(row, "q");
    const size_t n = json_array_size(names);
    const size_t alone = n > SHOWN_LEVELS ? SHOWN_LEVELS - 1 : n;
    level others = {.place = n};

    if (json_array_size(p) != n || json_array_size(q) != n)
        return 0;
    for (size_t i = 0; i < n; i++) {
        const level l = {json_array_get(names, i), share_of(p, i), share_of(q, i), i};
        size_t k = i < alone ? i : alone - 1; /* the list falls; its end makes room */
        const level *out_of_it = i < alone ? NULL : larger(&l) > larger(&out[k]) ? &out[k] : &l;

        if (out_of_it) {
            others.p += out_of_it->p;
            others.q += out_of_it->q;
        }
        if (out_of_it == &l)
            continue;
        for (; k > 0 && larger(&out[k - 1]) < larger(&l); k--)
            out[k] = out[k - 1];
        out[k] = l;
    }
    qsort(out, alone, sizeof *out, compare_places);
    if (alone == n)
        return n;
    out[alone] = others;
    return alone + 1;
}

/* A level with a bar of p above one of q, both as parts of the longest bar. The others together
 * have no bar: it would dwarf the rest. */
static void put_level(const level *l, double longest, size_t others, FILE *out)
{
    fputs("<li><span class=\"level\">", out);
    if (!l->name)
        fprintf(out, "other (%zu levels)", others);
    else if (json_is_string(l->name) && !*json_string_value(l->name))
        fputs("(empty)", out);
    else
        wmi_html_value(l->name, out);
    fputs("</span><svg viewBox=\"0 0 100 16\" preserveAspectRatio=\"none\" aria-hidden=\"true\">",
          out);
    if (l->name)
        fprintf(out,
                "<rect width=\"%.2f\" height=\"7\" fill=\"var(--blue)\"/><rect y=\"9\" "
                "width=\"%.2f\" height=\"7\" fill=\"var(--vermilion)\"/>",
                100 * l->p / longest, 100 * l->q / longest);
    fputs("</svg><span>", out);
    put_percent(l->p, out);
    fputs(" against ", out);
    put_percent(l->q, out);
    fputs("</span></li>\n", out);
}

static bool put_levels(const json_t *row, FILE *out)
{
    level list[SHOWN_LEVELS];
    const size_t n = pick_levels(list, row), all = json_array_size(json_object_get(row, "levels"));
    double longest = 0;

    for (size_t i = 0; i < n; i++)
        if (list[i].name)
            longest = fmax(longest, larger(&list[i]));
    if (!(longest > 0))
        return false;
    fputs("<ul class=\"levels\">\n", out);
    for (size_t i = 0; i < n; i++)
        put_level(&list[i], longest, all - (SHOWN_LEVELS - 1), out);
    fputs("</ul>\n", out);
    return true;
}

/* --- the table ---------------------------------------------------------------------------------*/

static void put_share(double share, FILE *out)
{
    fputs("<td data-label=\"share\"><span class=\"number\">", out);
    put_percent(share, out);
    if (isnan(share)) {
        fputs("</span></td>", out);
        return;
    }
    fprintf(out,
            "</span><svg class=\"meter\" viewBox=\"0 0 100 8\" preserveAspectRatio=\"none\" "
            "aria-hidden=\"true\"><rect width=\"100\" height=\"8\" fill=\"var(--grid)\"/>"
            "<rect width=\"%.1f\" height=\"8\" fill=\"var(--accent)\"/></svg></td>",
            100 * (share > 0 ? fmin(share, 1) : 0));
}

static void put_column(const column *c, bool shares, int decimals, const char *units, FILE *out)
{
    const char *name = wmi_json_text(c->row, "name"), *note = wmi_json_text(c->row, "note");

    fputs("<tr><th scope=\"row\">", out);
    wmi_html_text(*name ? name : "(no name)", out);
    fputs("</th>", out);
    if (shares)
        put_share(c->share, out);
    fputs("<td class=\"number\" data-label=\"its own KL, ", out);
    wmi_html_text(units, out);
    fputs("\">", out);
    wmi_html_fixed(c->kl, decimals, out);
    fputs("</td><td>", out);
    if (!put_histogram(c->row, out) && !put_levels(c->row, out))
        fputs("\xe2\x80\x93", out);
    if (*note) {
        fputs("<p class=\"note\">", out);
        wmi_html_text(note, out);
        fputs("</p>", out);
    }
    fputs("</td></tr>\n", out);
}

static void put_legend(FILE *out)
{
    static const char *const keys[][2] = {{"blue", "rows of p"}, {"vermilion", "rows of q"}};

    fputs("<ul class=\"legend\">\n", out);
    for (int i = 0; i < 2; i++)
        fprintf(out,
                "<li><svg class=\"key\" viewBox=\"0 0 30 14\" aria-hidden=\"true\"><rect "
                "width=\"30\" height=\"14\" fill=\"var(--%s)\"/></svg>%s</li>\n",
                keys[i][0], keys[i][1]);
    fputs("</ul>\n", out);
}

static void put_table(const wmi_page *p, const column *list, size_t n, bool shares)
{
    const char *units = wmi_json_text(p->summary, "units");
    double largest = 0;

    units = *units ? units : "nats";
    for (size_t i = 0; i < n; i++)
        largest = isfinite(list[i].kl) ? fmax(largest, fabs(list[i].kl)) : largest;
    wmi_html_region("columns that differ", p->out);
    fprintf(
        p->out,
        "<table class=\"differ\">\n<caption>The columns, those that matter most first</caption>\n"
        "<thead><tr><th scope=\"col\">column</th>%s<th scope=\"col\" class=\"number\">its own "
        "KL (",
        shares ? "<th scope=\"col\">share</th>" : "");
    wmi_html_text(units, p->out);
    fputs(")</th><th scope=\"col\">p against q</th></tr></thead>\n<tbody>\n", p->out);
    for (size_t i = 0; i < n && i < SHOWN_COLUMNS; i++)
        put_column(&list[i], shares, wmi_html_decimals(largest), units, p->out);
    fputs("</tbody>\n</table>\n</div>\n", p->out);
    if (n > SHOWN_COLUMNS)
        fprintf(p->out, "<p class=\"note\">%d of %zu columns; summary.json has all.</p>\n",
                SHOWN_COLUMNS, n);
}

bool wmi_page_has_columns(const wmi_page *p)
{
    return json_is_object(json_array_get(json_object_get(p->summary, "columns"), 0));
}

wm_status wmi_page_columns(wmi_page *p, wm_error *err)
{
    const json_t *rows = json_object_get(p->summary, "columns");
    const size_t n = json_array_size(rows);
    bool shares = false;
    column *list;

    if (!wmi_page_has_columns(p))
        return WM_OK;
    if (!(list = wmi_arena_alloc(&p->arena, n * sizeof *list, err)))
        return WM_ENOMEM;
    for (size_t i = 0; i < n; i++) {
        const json_t *row = json_array_get(rows, i);

        list[i] = (column){row, wmi_json_real(json_object_get(row, "share")),
                           wmi_json_real(json_object_get(row, "kl")), i};
        shares = shares || !isnan(list[i].share);
    }
    qsort(list, n, sizeof *list, compare);
    wmi_page_section(p, "columns", "Which columns differ");
    fprintf(p->out, "<p>%sIts own KL compares p and q in that column alone.</p>\n",
            shares
                ? "The share is the part of KL(p\xc2\xa0\xe2\x80\x96\xc2\xa0q) that is lost when "
                  "rows of p get this column from rows of q that are like them in the others. "
                  "Columns that say the same thing have small shares, because each can stand in "
                  "for the other; those that say it only together have large ones. "
                : "");
    put_legend(p->out);
    put_table(p, list, n, shares);
    fputs("</section>\n", p->out);
    return WM_OK;
}
