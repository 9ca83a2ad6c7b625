/* text_table.c - columns of text for a terminal: measured in letters, coloured only where seen. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "report/text.h"
#include "waymark/report.h"

#define GAP 2 /* spaces between columns */
#define RULE "\xe2\x94\x80"
#define PLUS_MINUS " \xc2\xb1 "

typedef struct cell {
    const char *text;
    wm_tone tone;
    bool rule_above; /* of the row's first cell */
    struct cell *next;
} cell;

typedef struct column {
    const char *header;
    wm_align align;
    struct column *next;
} column;

struct wm_text_table {
    wmi_arena arena; /* all texts, cells and columns */
    const char *title;
    column *columns, *last_column;
    cell *cells, *last_cell;
    int64_t n_columns, n_cells;
    bool rule_next;
    wm_error error; /* the first failure */
    wm_status status;
};

wm_text_table *wm_text_table_new(const char *title, const char *headers)
{
    wm_text_table *t = NULL;

    if (wmi_alloc(&t, 1, sizeof *t, "table", NULL))
        return NULL;
    if (title && !(t->title = wmi_text_clean(&t->arena, title, &t->error)))
        t->status = WM_ENOMEM;
    if (headers)
        wm_text_table_columns(t, headers);
    return t;
}

void wm_text_table_free(wm_text_table *t)
{
    if (!t)
        return;
    wmi_arena_free(&t->arena);
    wmi_free(t);
}

void wm_text_table_columns(wm_text_table *t, const char *headers)
{
    for (const char *p = headers; *p; p += strcspn(p, "|"), p += *p == '|') {
        const bool left = *p == '<';
        char header[64];

        snprintf(header, sizeof header, "%.*s", (int)strcspn(p, "|") - left, p + left);
        wm_text_table_column(t, header, left ? WM_ALIGN_LEFT : WM_ALIGN_RIGHT);
    }
}

void wm_text_table_column(wm_text_table *t, const char *header, wm_align align)
{
    column *c;

    if (!t || t->status)
        return;
    if (t->n_cells) {
        t->status =
            wmi_fail(&t->error, WM_EINVAL, "table: column '%.60s' after the first cell", header);
        return;
    }
    c = wmi_arena_alloc(&t->arena, sizeof *c, &t->error);
    if (!c || !(c->header = wmi_text_clean(&t->arena, header, &t->error))) {
        t->status = WM_ENOMEM;
        return;
    }
    c->align = align;
    *(t->last_column ? &t->last_column->next : &t->columns) = c;
    t->last_column = c;
    t->n_columns++;
}

static void add_text(wm_text_table *t, const char *text)
{
    cell *c;

    if (!t || t->status)
        return;
    if (!t->n_columns) {
        t->status = wmi_fail(&t->error, WM_EINVAL, "table: a cell before the first column");
        return;
    }
    c = wmi_arena_alloc(&t->arena, sizeof *c, &t->error);
    if (!c || !(c->text = wmi_text_clean(&t->arena, text ? text : "", &t->error))) {
        t->status = WM_ENOMEM;
        return;
    }
    if (t->n_cells % t->n_columns == 0) {
        c->rule_above = t->rule_next;
        t->rule_next = false;
    }
    *(t->last_cell ? &t->last_cell->next : &t->cells) = c;
    t->last_cell = c;
    t->n_cells++;
}

/* Fixed digits where they say something, else two significant ones with an exponent. */
static void format_real(char *out, size_t size, double x, int digits)
{
    const int d = digits < 0 ? 0 : digits > 17 ? 17 : digits;

    if (!isfinite(x))
        snprintf(out, size, "-");
    else if (fabs(x) >= 1e9 || (x != 0 && fabs(x) < 0.5 * pow(10, -d)))
        snprintf(out, size, "%.1e", x);
    else
        snprintf(out, size, "%.*f", d, x);
}

void wm_text_table_cells(wm_text_table *t, const wm_cell *cells)
{
    for (const wm_cell *c = cells; c->kind != WM_AS_END; c++) {
        char text[160] = "", error[64];

        if (c->kind == WM_AS_INTEGER)
            snprintf(text, sizeof text, "%" PRId64, c->integer);
        else if (c->kind != WM_AS_TEXT && !(c->kind == WM_AS_KNOWN && isnan(c->real)))
            format_real(text, 64, c->real, c->digits);
        if (c->kind == WM_AS_SE && isfinite(c->real) && isfinite(c->se)) {
            format_real(error, sizeof error, c->se, c->digits);
            snprintf(text + strlen(text), sizeof text - strlen(text), PLUS_MINUS "%s", error);
        }
        add_text(t, c->kind == WM_AS_TEXT ? c->text : text);
    }
}

void wm_text_table_tone(wm_text_table *t, wm_tone tone)
{
    if (t && t->last_cell)
        t->last_cell->tone = tone;
}

void wm_text_table_rule(wm_text_table *t)
{
    if (t)
        t->rule_next = true;
}

/* --- printing ----------------------------------------------------------------------------------*/

static bool wants_colour(FILE *f)
{
    const char *none = getenv("NO_COLOR"), *term = getenv("TERM");

    return isatty(fileno(f)) && !(none && *none) && !(term && strcmp(term, "dumb") == 0);
}

/* A cell in its column; a line does not end in spaces. */
static void print_cell(const char *text, int width, const column *c, const char *colour, FILE *f)
{
    const int room = width - wmi_text_width(text);
    const int before = c->align == WM_ALIGN_RIGHT    ? room
                       : c->align == WM_ALIGN_CENTRE ? room / 2
                                                     : 0;

    fprintf(f, "%*s%s%s%s", before, "", colour, text, *colour ? "\033[0m" : "");
    if (c->next)
        fprintf(f, "%*s", room - before + GAP, "");
}

static void print_rule(int width, bool colour, FILE *f)
{
    fputs(colour ? "\033[2m" : "", f);
    for (int i = 0; i < width; i++)
        fputs(RULE, f);
    fputs(colour ? "\033[0m\n" : "\n", f);
}

wm_status wm_text_table_print(const wm_text_table *t, FILE *f, wm_error *err)
{
    static const char *const tones[] = {"", "\033[32m", "\033[33m", "\033[31m"};
    const bool colour = wants_colour(f);
    const cell *c;
    int *widths = NULL, total = 0;
    int64_t k = 0;
    wm_status st;

    if (!t)
        return wmi_fail(err, WM_ENOMEM, "out of memory: table");
    if (t->status) {
        if (err)
            *err = t->error;
        return t->status;
    }
    if ((st = wmi_alloc(&widths, t->n_columns, sizeof *widths, "table", err)))
        return st;
    for (const column *col = t->columns; col; col = col->next)
        widths[k++] = wmi_text_width(col->header);
    for (c = t->cells, k = 0; c; c = c->next, k = (k + 1) % t->n_columns)
        if (wmi_text_width(c->text) > widths[k])
            widths[k] = wmi_text_width(c->text);
    for (k = 0; k < t->n_columns; k++)
        total += widths[k] + (k ? GAP : 0);

    if (t->title)
        fprintf(f, "%s%s%s\n", colour ? "\033[1m" : "", t->title, colour ? "\033[0m" : "");
    k = 0;
    for (const column *col = t->columns; col; col = col->next)
        print_cell(col->header, widths[k++], col, colour ? "\033[1m" : "", f);
    fputs(t->columns ? "\n" : "", f);
    print_rule(total, colour, f);
    for (c = t->cells; c;) {
        if (c->rule_above)
            print_rule(total, colour, f);
        k = 0;
        for (const column *col = t->columns; c && col; col = col->next, c = c->next)
            print_cell(c->text, widths[k++], col, colour ? tones[c->tone] : "", f);
        putc('\n', f);
    }
    wmi_free(widths);
    if (ferror(f)) /* what is still in its buffer is the caller's to see to */
        return wmi_fail(err, WM_EIO, "cannot write the table");
    return WM_OK;
}

wm_status wm_text_table_finish(wm_text_table *t, FILE *f, wm_error *err)
{
    const wm_status st = wm_text_table_print(t, f, err);

    wm_text_table_free(t);
    return st;
}
