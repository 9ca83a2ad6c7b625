/* svg_inline.c - an SVG file as a part of an HTML page. The file may be anybody's: what is kept is
 * listed here, everything else is dropped with all it holds. */
#include "report/page/svg_inline.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/page/page_html.h"

enum { DEPTH = 48, ATTRIBUTES = 40 };

typedef struct slice {
    const char *at;
    size_t n;
} slice;

typedef struct element {
    slice name;
    bool kept, holds_text;
} element;

typedef struct reader {
    const char *start, *at, *end;
    const char *file, *prefix;
    FILE *out;
    wmi_svg *svg;
    element open[DEPTH];
    int depth;
    bool seen_root;
    wm_error *err;
} reader;

static bool is(slice s, const char *text)
{
    return s.n == strlen(text) && memcmp(s.at, text, s.n) == 0;
}

/* strchr() would find the NUL too. */
static bool among(char c, const char *set)
{
    return c && strchr(set, c);
}

static bool is_one_of(slice s, const char *const *list)
{
    for (; *list; list++)
        if (is(s, *list))
            return true;
    return false;
}

static wm_status broken(const reader *r, const char *what)
{
    int line = 1;

    for (const char *p = r->start; p < r->at && p < r->end; p++)
        line += *p == '\n';
    return wmi_fail(r->err, WM_EFORMAT, "%.150s:%d: %s", r->file, line, what);
}

/* --- colours -----------------------------------------------------------------------------------*/

/* Colours of our figures (plot_script.c) and what the page calls them. */
static const struct {
    uint32_t rgb;
    const char *css;
} theme[] = {
    {0x000000, "var(--ink)"},       {0x222222, "var(--ink)"},   {0xffffff, "var(--paper)"},
    {0x555555, "var(--axis)"},      {0xe4e4e4, "var(--grid)"},  {0x0072b2, "var(--blue)"},
    {0xd55e00, "var(--vermilion)"}, {0x009e73, "var(--green)"}, {0xcc79a7, "var(--purple)"},
    {0xe69f00, "var(--orange)"},    {0x56b4e9, "var(--sky)"},   {0x7f7f7f, "var(--grey)"},
};

/* #rgb, #rrggbb, rgb(r, g, b), black or white as a number, or -1. */
static int64_t parse_colour(slice s)
{
    char text[48];
    int r, g, b, used = 0;

    if (s.n >= sizeof text)
        return -1;
    memcpy(text, s.at, s.n);
    text[s.n] = '\0';
    if (strcmp(text, "black") == 0)
        return 0;
    if (strcmp(text, "white") == 0)
        return 0xffffff;
    if (text[0] == '#' && strspn(text + 1, "0123456789abcdefABCDEF") == s.n - 1) {
        const long v = strtol(text + 1, NULL, 16);

        if (s.n == 7)
            return v;
        return s.n == 4 ? (v >> 8) * 0x110000 + (v >> 4 & 15) * 0x1100 + (v & 15) * 0x11 : -1;
    }
    if (sscanf(text, "rgb( %d , %d , %d )%n", &r, &g, &b, &used) == 3 && used == (int)s.n &&
        ((r | g | b) & ~255) == 0)
        return r * 0x10000 + g * 0x100 + b;
    return -1;
}

const char *wmi_svg_theme(const char *colour)
{
    const int64_t rgb = parse_colour((slice){colour, strlen(colour)});

    for (size_t i = 0; i < sizeof theme / sizeof *theme; i++)
        if (rgb == theme[i].rgb)
            return theme[i].css;
    return NULL;
}

/* The id in "#id" or "url(#id)" between so many bytes at either end; false if it is not one. */
static bool find_id(slice *id, slice value, size_t head, size_t tail)
{
    if (value.n <= head + tail)
        return false;
    *id = (slice){value.at + head, value.n - head - tail};
    for (size_t i = 0; i < id->n; i++)
        if (!isalnum((unsigned char)id->at[i]) && !among(id->at[i], "-_."))
            return false;
    return true;
}

static bool find_url(slice *id, slice value)
{
    return value.n > 6 && memcmp(value.at, "url(#", 5) == 0 && value.at[value.n - 1] == ')' &&
           find_id(id, value, 5, 1);
}

static bool is_word(slice s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!isalpha((unsigned char)s.at[i]))
            return false;
    return s.n > 0;
}

/* --- attributes --------------------------------------------------------------------------------*/

typedef struct attribute {
    slice name, value;
} attribute;

typedef struct tag {
    slice name;
    attribute attr[ATTRIBUTES];
    int n;
    bool closed; /* <name/> */
} tag;

static const char *const plain_attributes[] = {"d",
                                               "x",
                                               "y",
                                               "x1",
                                               "y1",
                                               "x2",
                                               "y2",
                                               "cx",
                                               "cy",
                                               "r",
                                               "rx",
                                               "ry",
                                               "dx",
                                               "dy",
                                               "width",
                                               "height",
                                               "points",
                                               "fill-opacity",
                                               "fill-rule",
                                               "stroke-width",
                                               "stroke-linecap",
                                               "stroke-linejoin",
                                               "stroke-dasharray",
                                               "stroke-dashoffset",
                                               "stroke-opacity",
                                               "stroke-miterlimit",
                                               "opacity",
                                               "font-size",
                                               "font-style",
                                               "font-weight",
                                               "text-anchor",
                                               "offset",
                                               "stop-opacity",
                                               "gradientUnits",
                                               "spreadMethod",
                                               "preserveAspectRatio",
                                               "shape-rendering",
                                               "xml:space",
                                               NULL};
static const char *const colour_attributes[] = {"fill", "stroke", "color", "stop-color", NULL};
static const char *const call_attributes[] = {"transform", "gradientTransform", NULL};
/* A short file must not be able to draw without end. So nothing here draws many things at once:
 * groups lose their ids, and a <use> can only name a shape or another <use>. */
static const char *const elements[] = {
    "g",        "defs",    "path", "rect",  "circle", "ellipse",        "line",
    "polyline", "polygon", "text", "tspan", "use",    "linearGradient", "radialGradient",
    "stop",     "image",   NULL};
static const char *const containers[] = {"g", "defs", "text", "tspan", NULL};

static const attribute *find(const tag *t, const char *name)
{
    for (int i = 0; i < t->n; i++)
        if (is(t->attr[i].name, name))
            return &t->attr[i];
    return NULL;
}

static double number_of(const tag *t, const char *name, double otherwise)
{
    const attribute *a = find(t, name);
    char text[40];
    char *end;
    double v;

    if (!a || a->value.n >= sizeof text)
        return otherwise;
    memcpy(text, a->value.at, a->value.n);
    text[a->value.n] = '\0';
    v = strtod(text, &end);
    return end > text && isfinite(v) ? v : otherwise;
}

static void put_attribute(const reader *r, slice name, slice value)
{
    fprintf(r->out, " %.*s=\"", (int)name.n, name.at);
    wmi_html_bytes(value.at, value.n, r->out);
    putc('"', r->out);
}

static void put_colour(const reader *r, const attribute *a)
{
    const int64_t rgb = parse_colour(a->value);
    slice id;

    for (size_t i = 0; rgb >= 0 && i < sizeof theme / sizeof *theme; i++)
        if (rgb == theme[i].rgb) {
            fprintf(r->out, " %.*s=\"%s\"", (int)a->name.n, a->name.at, theme[i].css);
            return;
        }
    if (rgb >= 0)
        fprintf(r->out, " %.*s=\"#%06" PRIx64 "\"", (int)a->name.n, a->name.at, (uint64_t)rgb);
    else if (find_url(&id, a->value))
        fprintf(r->out, " %.*s=\"url(#%s%.*s)\"", (int)a->name.n, a->name.at, r->prefix, (int)id.n,
                id.at);
    else if (is_word(a->value)) /* none, currentColor, steelblue */
        put_attribute(r, a->name, a->value);
}

static void put_known(const reader *r, const tag *t, const attribute *a)
{
    slice id;

    if (is_one_of(a->name, colour_attributes)) {
        put_colour(r, a);
    } else if (is(a->name, "id")) {
        if (!is_one_of(t->name, containers) && find_id(&id, a->value, 0, 0))
            fprintf(r->out, " id=\"%s%.*s\"", r->prefix, (int)id.n, id.at);
    } else if (is(a->name, "href") || is(a->name, "xlink:href")) {
        if (is(t->name, "image")) /* allowed() has seen that it is a picture in the text */
            put_attribute(r, (slice){"href", 4}, a->value);
        else if (is(t->name, "use") && a->value.at[0] == '#' && find_id(&id, a->value, 1, 0))
            fprintf(r->out, " href=\"#%s%.*s\"", r->prefix, (int)id.n, id.at);
    } else if (is_one_of(a->name, call_attributes) ||
               (is_one_of(a->name, plain_attributes) && !memchr(a->value.at, '(', a->value.n))) {
        put_attribute(r, a->name, a->value);
    }
}

/* A picture whose bytes stand in the attribute itself. */
static bool is_embedded_png(slice value)
{
    static const char head[] = "data:image/png;base64,";
    const size_t n = sizeof head - 1;

    if (value.n <= n || memcmp(value.at, head, n) != 0)
        return false;
    for (size_t i = n; i < value.n; i++)
        if (!isalnum((unsigned char)value.at[i]) && !among(value.at[i], "+/= \t\r\n"))
            return false;
    return true;
}

static bool allowed(const reader *r, const tag *t)
{
    const attribute *href = find(t, "xlink:href"), *fill = find(t, "fill");

    if (!is_one_of(t->name, elements))
        return false;
    if (!href)
        href = find(t, "href");
    if (is(t->name, "image"))
        return href && is_embedded_png(href->value);
    /* The background: a white sheet under all. */
    return !(is(t->name, "rect") && fill && parse_colour(fill->value) == 0xffffff &&
             number_of(t, "width", 0) >= r->svg->width &&
             number_of(t, "height", 0) >= r->svg->height);
}

/* --- reading -----------------------------------------------------------------------------------*/

static bool starts(const reader *r, const char *text)
{
    const size_t n = strlen(text);

    return (size_t)(r->end - r->at) >= n && memcmp(r->at, text, n) == 0;
}

/* Goes behind the next `text`; false if there is none. */
static bool skip_past(reader *r, const char *text)
{
    for (; r->at < r->end; r->at++)
        if (starts(r, text)) {
            r->at += strlen(text);
            return true;
        }
    return false;
}

static bool is_name(char c)
{
    return isalnum((unsigned char)c) || among(c, ":_.-");
}

static void skip_space(reader *r)
{
    while (r->at < r->end && isspace((unsigned char)*r->at))
        r->at++;
}

static slice read_name(reader *r)
{
    slice s = {r->at, 0};

    while (r->at < r->end && is_name(*r->at))
        r->at++;
    s.n = (size_t)(r->at - s.at);
    return s;
}

/* From behind '<' to behind '>'. */
static wm_status read_tag(reader *r, tag *t)
{
    t->name = read_name(r);
    t->n = 0;
    t->closed = false;
    if (!t->name.n)
        return broken(r, "'<' without a name");
    for (;;) {
        attribute a;
        char quote;

        skip_space(r);
        if (r->at >= r->end)
            return broken(r, "ends inside a tag");
        if (*r->at == '>') {
            r->at++;
            return WM_OK;
        }
        if (starts(r, "/>")) {
            r->at += 2;
            t->closed = true;
            return WM_OK;
        }
        a.name = read_name(r);
        skip_space(r);
        if (!a.name.n || r->at >= r->end || *r->at != '=')
            return broken(r, "an attribute without a value");
        r->at++;
        skip_space(r);
        quote = r->at < r->end ? *r->at : '\0';
        if (quote != '"' && quote != '\'')
            return broken(r, "an attribute without quotes");
        a.value.at = ++r->at;
        while (r->at < r->end && *r->at != quote && *r->at != '<')
            r->at++;
        if (r->at >= r->end || *r->at != quote)
            return broken(r, "an attribute without its closing quote");
        a.value.n = (size_t)(r->at++ - a.value.at);
        if (t->n == ATTRIBUTES)
            return broken(r, "too many attributes");
        t->attr[t->n++] = a;
    }
}

/* viewBox, or width and height, of the outermost element. */
static wm_status read_root(reader *r, const tag *t)
{
    const attribute *box = find(t, "viewBox");
    wmi_svg *s = r->svg;
    char text[120];

    if (!is(t->name, "svg"))
        return broken(r, "not an SVG drawing");
    s->width = number_of(t, "width", 0);
    s->height = number_of(t, "height", 0);
    if (box && box->value.n < sizeof text) {
        memcpy(text, box->value.at, box->value.n);
        text[box->value.n] = '\0';
        for (char *p = text; *p; p++)
            *p = *p == ',' ? ' ' : *p;
        if (sscanf(text, "%lf %lf %lf %lf", &s->x, &s->y, &s->width, &s->height) != 4)
            return broken(r, "the viewBox is not four numbers");
    }
    if (!(s->width > 0 && s->width < 1e6 && s->height > 0 && s->height < 1e6 && fabs(s->x) < 1e6 &&
          fabs(s->y) < 1e6))
        return broken(r, "a drawing without a size");
    r->seen_root = true;
    return WM_OK;
}

static wm_status open_element(reader *r)
{
    element *e = &r->open[r->depth];
    tag t;
    wm_status st = read_tag(r, &t);

    if (st)
        return st;
    if (r->depth == DEPTH)
        return broken(r, "too deeply nested");
    *e = (element){.name = t.name, .kept = r->depth == 0 || r->open[r->depth - 1].kept};
    if (r->depth == 0) {
        if (r->seen_root)
            return broken(r, "a second drawing");
        if ((st = read_root(r, &t)))
            return st;
    } else if (e->kept && (e->kept = allowed(r, &t))) {
        fprintf(r->out, "<%.*s", (int)t.name.n, t.name.at);
        for (int i = 0; i < t.n; i++)
            put_known(r, &t, &t.attr[i]);
        fputs(t.closed ? "/>" : ">", r->out);
        e->holds_text = is(t.name, "text") || is(t.name, "tspan");
    }
    r->depth += !t.closed;
    return WM_OK;
}

static wm_status close_element(reader *r)
{
    const slice name = read_name(r);
    const element *e = r->depth ? &r->open[r->depth - 1] : NULL;

    skip_space(r);
    if (!e || name.n != e->name.n || memcmp(name.at, e->name.at, name.n) != 0 || r->at >= r->end ||
        *r->at != '>')
        return broken(r, "a closing tag that nothing opened");
    r->at++;
    r->depth--;
    if (e->kept && r->depth)
        fprintf(r->out, "</%.*s>%s", (int)name.n, name.at, e->holds_text ? "" : "\n");
    return WM_OK;
}

/* Bytes of an entity that HTML reads in the same way, at p; 0 if it is none. */
static size_t entity(const char *p, const char *end)
{
    static const char *const known[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;", "&#160;"};

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if ((size_t)(end - p) >= strlen(known[i]) && memcmp(p, known[i], strlen(known[i])) == 0)
            return strlen(known[i]);
    return 0;
}

static void read_text(reader *r)
{
    const bool kept = r->depth && r->open[r->depth - 1].kept && r->open[r->depth - 1].holds_text;

    while (r->at < r->end && *r->at != '<') {
        const char *from = r->at;
        const size_t n = *from == '&' ? entity(from, r->end) : 0;

        if (n) {
            r->at += n;
            if (kept)
                fwrite(from, 1, n, r->out);
            continue;
        }
        for (r->at++; r->at < r->end && *r->at != '<' && *r->at != '&'; r->at++) {
        }
        if (kept)
            wmi_html_bytes(from, (size_t)(r->at - from), r->out);
    }
}

static wm_status read_all(reader *r)
{
    wm_status st = WM_OK;

    if (starts(r, "\xef\xbb\xbf"))
        r->at += 3;
    while (!st && r->at < r->end) {
        if (*r->at != '<') {
            read_text(r);
        } else if (starts(r, "<!--")) {
            st = skip_past(r, "-->") ? WM_OK : broken(r, "ends inside a comment");
        } else if (starts(r, "<?")) {
            st = skip_past(r, "?>") ? WM_OK : broken(r, "ends inside <?");
        } else if (starts(r, "<![CDATA[")) {
            st = skip_past(r, "]]>") ? WM_OK : broken(r, "ends inside CDATA");
        } else if (starts(r, "<!")) { /* a document type: its entities are not read */
            const char *from = r->at;

            st = skip_past(r, ">") ? WM_OK : broken(r, "ends inside <!");
            if (!st && memchr(from, '[', (size_t)(r->at - from)))
                st = broken(r, "declares entities of its own");
        } else if (starts(r, "</")) {
            r->at += 2;
            st = close_element(r);
        } else {
            r->at++;
            st = open_element(r);
        }
    }
    if (st)
        return st;
    return r->depth || !r->seen_root
               ? broken(r, r->seen_root ? "ends before the drawing does" : "not an SVG drawing")
               : WM_OK;
}

wm_status wmi_svg_read(wmi_svg *out, const char *text, size_t n, const char *name,
                       const char *prefix, wm_error *err)
{
    reader r = {.start = text,
                .at = text,
                .end = text + n,
                .file = name,
                .prefix = prefix,
                .svg = out,
                .err = err};
    size_t size = 0;
    wm_status st;

    *out = (wmi_svg){0};
    if (!(r.out = open_memstream(&out->body, &size)))
        return wmi_fail(err, WM_ENOMEM, "%s: no memory to read it", name);
    st = read_all(&r);
    if (fclose(r.out) && !st)
        st = wmi_fail(err, WM_ENOMEM, "%s: no memory to read it", name);
    if (st)
        wmi_svg_clear(out);
    return st;
}

void wmi_svg_clear(wmi_svg *svg)
{
    free(svg->body);
    *svg = (wmi_svg){0};
}
