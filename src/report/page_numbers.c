/* page_numbers.c - from one row a point, as gnuplot wants it, to tables as people want them. */
#include "report/page_numbers.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "report/page_html.h"

enum { MAX_COLUMNS = 64, SHOWN_ROWS = 200, SHOWN_SIDE = 40, SHOWN_TABLES = 40, SHOWN_SERIES = 24 };
#define MAX_CELLS 4000000

/* --- reading -----------------------------------------------------------------------------------*/

typedef struct scanner {
    char *at, *end;
    int64_t line;
} scanner;

/* The next field, ended with NUL in place; *last when the row ends with it. NULL for a quote that
 * is never closed. */
static const char *next_field(scanner *s, bool *last)
{
    char *from = s->at, *to = s->at;

    if (s->at < s->end && *s->at == '"') {
        for (s->at++;; *to++ = *s->at++) {
            if (s->at >= s->end)
                return NULL;
            s->line += *s->at == '\n';
            if (*s->at == '"' && *++s->at != '"')
                break;
        }
    } else {
        while (s->at < s->end && *s->at != ',' && *s->at != '\n')
            s->at++;
        to = s->at;
    }
    while (s->at < s->end && *s->at != ',' && *s->at != '\n') /* after a closing quote: \r */
        s->at++;
    *last = s->at >= s->end || *s->at == '\n';
    s->line += s->at < s->end && *s->at == '\n';
    if (s->at < s->end)
        s->at++;
    if (to > from && to[-1] == '\r')
        to--;
    *to = '\0';
    return from;
}

/* Empty lines from here on, which separate blocks. */
static int skip_empty(scanner *s)
{
    int n = 0;

    for (;;) {
        char *p = s->at + (s->at < s->end && *s->at == '\r');

        if (p >= s->end || *p != '\n')
            return n;
        s->at = p + 1;
        s->line++;
        n++;
    }
}

/* The fields of a row into cells (room for width); how many there are, or -1 for an open quote. */
static int64_t read_row(scanner *s, const char **cells, int64_t width)
{
    int64_t n = 0;

    for (bool last = false; !last; n++) {
        const char *field = next_field(s, &last);

        if (!field)
            return -1;
        if (n < width)
            cells[n] = field;
    }
    return n;
}

wm_status wmi_numbers_read(wmi_numbers *out, char *text, size_t n, const char *name, wm_error *err)
{
    scanner s = {text, text + n, 1};
    const char *header[MAX_COLUMNS];
    int64_t lines = 1, got, block = 0;
    wm_status st;

    *out = (wmi_numbers){0};
    for (size_t i = 0; i < n; i++)
        lines += text[i] == '\n';
    if (n > 2 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
        s.at += 3;
    got = n ? read_row(&s, header, MAX_COLUMNS) : 0;
    if (got < 1 || got > MAX_COLUMNS)
        return wmi_fail(err, WM_EFORMAT, "%.150s:1: %s", name,
                        n == 0    ? "the file is empty"
                        : got < 0 ? "a quote that is never closed"
                                  : "too many columns");
    if (lines * got > MAX_CELLS)
        return wmi_fail(err, WM_EFORMAT, "%.150s: %" PRId64 " lines are more than a page can show",
                        name, lines);
    out->n_columns = got;
    if ((st = wmi_alloc(&out->cell, (lines + 1) * got, sizeof *out->cell, "cells", err)) ||
        (st = wmi_alloc(&out->block, lines, sizeof *out->block, "blocks", err)))
        goto done;
    memcpy(out->cell, header, (size_t)got * sizeof *header);
    for (;;) {
        int64_t at;

        block += skip_empty(&s) >= 2;
        if (s.at >= s.end)
            break;
        at = s.line;
        got = read_row(&s, out->cell + (out->n_rows + 1) * out->n_columns, out->n_columns);
        if (got != out->n_columns) {
            st = got < 0 ? wmi_fail(err, WM_EFORMAT,
                                    "%.150s:%" PRId64 ": a quote that is never closed", name, at)
                         : wmi_fail(err, WM_EFORMAT,
                                    "%.150s:%" PRId64 ": %" PRId64 " columns, expected %" PRId64,
                                    name, at, got, out->n_columns);
            goto done;
        }
        out->block[out->n_rows++] = (int32_t)block;
    }
done:
    if (st)
        wmi_numbers_clear(out);
    return st;
}

void wmi_numbers_clear(wmi_numbers *numbers)
{
    wmi_free(numbers->cell);
    wmi_free(numbers->block);
    *numbers = (wmi_numbers){0};
}

/* --- printing ----------------------------------------------------------------------------------*/

/* Our own columns; -1 where the file has none. */
typedef struct columns {
    int panel, series, x, y, lo, hi, z, label;
} columns;

typedef struct printer {
    const wmi_numbers *numbers;
    const wmi_plan *plan;
    columns c;
    const char *name; /* of the CSV */
    FILE *out;
    wmi_numbers_size size;
    int tables;
} printer;

/* Rows from first to last (not included) that are one series or one grid. */
typedef struct run {
    int64_t first, last;
} run;

static const char *cell(const printer *p, int64_t row, int column)
{
    return column < 0 ? "" : p->numbers->cell[(row + 1) * p->numbers->n_columns + column];
}

static int find_column(const wmi_numbers *numbers, const char *name)
{
    for (int i = 0; i < (int)numbers->n_columns; i++)
        if (strcmp(numbers->cell[i], name) == 0)
            return i;
    return -1;
}

static bool any(const printer *p, run r, int column)
{
    for (int64_t i = r.first; i < r.last && column >= 0; i++)
        if (*cell(p, i, column))
            return true;
    return false;
}

/* A cell as a number with so many decimals (below 0: as short as it goes), or as the text it is. */
static void put_cell(const char *text, int decimals, FILE *out)
{
    char *end;
    const double v = strtod(text, &end);

    if (!*text)
        fputs("\xe2\x80\x93", out);
    else if (*end)
        wmi_html_text(text, out);
    else if (decimals < 0)
        wmi_html_real(v, out);
    else
        wmi_html_fixed(v, decimals, out);
}

/* Decimals that suit a column of a run: none for whole numbers. */
static int decimals_of(const printer *p, run r, int column)
{
    double largest = 0;
    bool whole = true;

    for (int64_t i = r.first; i < r.last && column >= 0; i++) {
        const double v = fabs(strtod(cell(p, i, column), NULL));

        if (isfinite(v)) {
            largest = fmax(largest, v);
            whole = whole && v == floor(v);
        }
    }
    return whole ? 0 : wmi_html_decimals(largest);
}

/* The i-th of `shown` rows that stand for n: the first, the last, and evenly between. */
static int64_t pick(int64_t i, int64_t shown, int64_t n)
{
    return shown < 2 ? 0 : i * (n - 1) / (shown - 1);
}

/* Opens a table; what names it: the panel, then more. */
static void open_table(printer *p, const char *panel, const char *more, int64_t shown, int64_t n,
                       int64_t width)
{
    p->tables++;
    p->size.longest = shown > p->size.longest ? shown : p->size.longest;
    p->size.columns = width > p->size.columns ? width : p->size.columns;
    p->size.lines += shown + 2;
    wmi_html_region("numbers of the figure", p->out);
    fputs("<table>\n<caption>", p->out);
    wmi_html_text(*panel ? panel : *more ? more : p->plan->title, p->out);
    if (*panel && *more) {
        fputs(": ", p->out);
        wmi_html_text(more, p->out);
    }
    if (!*panel && !*more && !*p->plan->title)
        fputs("Numbers", p->out);
    if (shown < n) {
        fputs(" (", p->out);
        wmi_html_count(shown, p->out);
        fputs(" of ", p->out);
        wmi_html_count(n, p->out);
        fputs(" rows; ", p->out);
        wmi_html_text(p->name, p->out);
        fputs(" has all)", p->out);
    }
    fputs("</caption>\n<thead><tr>", p->out);
}

static void close_table(const printer *p)
{
    fputs("</tbody>\n</table>\n</div>\n", p->out);
}

static void put_head(const printer *p, const char *text, const char *otherwise)
{
    fputs("<th scope=\"col\">", p->out);
    wmi_html_text(*text ? text : otherwise, p->out);
    fputs("</th>", p->out);
}

/* Panel number of the plan with this title, for the names of its axes; the first if none is. */
static int plan_panel(const printer *p, const char *title)
{
    for (int i = 0; i < p->plan->n_panels; i++)
        if (strcmp(p->plan->panel[i].title, title) == 0)
            return i;
    return 0;
}

/* A grid: x along the top, y down the side. */
static void put_grid(printer *p, run r)
{
    const columns *c = &p->c;
    const char *panel = cell(p, r.first, c->panel);
    const int k = plan_panel(p, panel);
    const int64_t n = r.last - r.first;
    const int decimals = decimals_of(p, r, c->z);
    int64_t nx = 1, ny, sx, sy;

    while (nx < n && strcmp(cell(p, r.first + nx, c->y), cell(p, r.first, c->y)) == 0)
        nx++;
    ny = n / nx;
    sx = nx < SHOWN_SIDE ? nx : SHOWN_SIDE / 2;
    sy = ny < SHOWN_SIDE ? ny : SHOWN_SIDE / 2;
    open_table(p, panel, cell(p, r.first, c->series), sy, ny, sx + 1);
    fputs("<th scope=\"col\">", p->out);
    wmi_html_text(*p->plan->panel[k].y ? p->plan->panel[k].y : "y", p->out);
    fputs(" \\ ", p->out);
    wmi_html_text(*p->plan->panel[k].x ? p->plan->panel[k].x : "x", p->out);
    fputs("</th>", p->out);
    for (int64_t i = 0; i < sx; i++) {
        fputs("<th scope=\"col\">", p->out);
        put_cell(cell(p, r.first + pick(i, sx, nx), c->x), -1, p->out);
        fputs("</th>", p->out);
    }
    fputs("</tr></thead>\n<tbody>\n", p->out);
    for (int64_t j = 0; j < sy; j++) {
        const int64_t row = r.first + pick(j, sy, ny) * nx;

        fputs("<tr><th scope=\"row\">", p->out);
        put_cell(cell(p, row, c->y), -1, p->out);
        fputs("</th>", p->out);
        for (int64_t i = 0; i < sx; i++) {
            fputs("<td class=\"number\">", p->out);
            put_cell(cell(p, row + pick(i, sx, nx), c->z), decimals, p->out);
            fputs("</td>", p->out);
        }
        fputs("</tr>\n", p->out);
    }
    close_table(p);
}

/* Whether a column only counts its rows: 0, 1, 2, ... */
static bool counts(const printer *p, run r, int column)
{
    for (int64_t i = r.first; i < r.last; i++)
        if (strtod(cell(p, i, column), NULL) != (double)(i - r.first))
            return false;
    return true;
}

static bool same_x(const printer *p, run a, run b)
{
    if (a.last - a.first != b.last - b.first ||
        strcmp(cell(p, a.first, p->c.panel), cell(p, b.first, p->c.panel)) != 0 ||
        any(p, b, p->c.z))
        return false;
    for (int64_t i = 0; i < a.last - a.first; i++)
        if (strcmp(cell(p, a.first + i, p->c.x), cell(p, b.first + i, p->c.x)) != 0)
            return false;
    return true;
}

static void put_number(const printer *p, int64_t row, int column, int decimals)
{
    fputs("<td class=\"number\">", p->out);
    put_cell(cell(p, row, column), decimals, p->out);
    fputs("</td>", p->out);
}

/* Series r[0 .. n-1], which have the same x, side by side. */
static void put_series(printer *p, const run *r, int n)
{
    const columns *c = &p->c;
    const char *panel = cell(p, r->first, c->panel);
    const int k = plan_panel(p, panel);
    const int64_t rows = r->last - r->first, shown = rows < SHOWN_ROWS ? rows : SHOWN_ROWS;
    const bool labelled = any(p, *r, c->label);
    /* Level bars have their value in x, and count in y. */
    const bool level = labelled && !counts(p, *r, c->x) && counts(p, *r, c->y);
    const bool place = !labelled || (!level && !counts(p, *r, c->x));
    const int value = level ? c->x : c->y;
    const char *y_name = level ? p->plan->panel[k].x : p->plan->panel[k].y;
    const int x_decimals = decimals_of(p, *r, c->x);
    int decimals[SHOWN_SERIES];
    bool ranged[SHOWN_SERIES];
    int64_t width = labelled ? 4 : 1; /* names are wide */

    for (int s = 0; s < n; s++) {
        ranged[s] = any(p, r[s], c->lo);
        decimals[s] = decimals_of(p, r[s], value);
        width += ranged[s] ? 3 : 1;
    }
    open_table(p, panel, n == 1 ? cell(p, r->first, c->series) : "", shown, rows, width);
    if (labelled)
        put_head(p, "", "name");
    if (place)
        put_head(p, p->plan->panel[k].x, "x");
    for (int s = 0; s < n; s++) {
        put_head(p, n > 1 ? cell(p, r[s].first, c->series) : y_name, *y_name ? y_name : "y");
        if (ranged[s]) {
            put_head(p, "low", "");
            put_head(p, "high", "");
        }
    }
    fputs("</tr></thead>\n<tbody>\n", p->out);
    for (int64_t i = 0; i < shown; i++) {
        const int64_t row = pick(i, shown, rows);

        fputs("<tr><th scope=\"row\">", p->out);
        if (labelled)
            wmi_html_text(cell(p, r->first + row, c->label), p->out);
        else
            put_cell(cell(p, r->first + row, c->x), x_decimals, p->out);
        fputs("</th>", p->out);
        if (labelled && place)
            put_number(p, r->first + row, c->x, x_decimals);
        for (int s = 0; s < n; s++) {
            put_number(p, r[s].first + row, value, decimals[s]);
            if (ranged[s]) {
                put_number(p, r[s].first + row, c->lo, decimals[s]);
                put_number(p, r[s].first + row, c->hi, decimals[s]);
            }
        }
        fputs("</tr>\n", p->out);
    }
    close_table(p);
}

static run next_run(const printer *p, int64_t first)
{
    const int32_t *block = p->numbers->block;
    run r = {first, first};

    while (r.last < p->numbers->n_rows && block[r.last] == block[first])
        r.last++;
    return r;
}

static void put_ours(printer *p)
{
    for (int64_t at = 0; at < p->numbers->n_rows && p->tables < SHOWN_TABLES;) {
        run r[SHOWN_SERIES];
        int n = 1;

        r[0] = next_run(p, at);
        at = r[0].last;
        if (any(p, r[0], p->c.z)) {
            put_grid(p, r[0]);
            continue;
        }
        while (n < SHOWN_SERIES && at < p->numbers->n_rows) {
            r[n] = next_run(p, at);
            if (!same_x(p, r[0], r[n]))
                break;
            at = r[n++].last;
        }
        put_series(p, r, n);
    }
}

/* Somebody else's table, as it is. */
static void put_plain(printer *p)
{
    const wmi_numbers *t = p->numbers;
    const int64_t shown = t->n_rows < SHOWN_ROWS ? t->n_rows : SHOWN_ROWS;
    int decimals[MAX_COLUMNS];

    open_table(p, "", "", shown, t->n_rows, t->n_columns);
    for (int k = 0; k < (int)t->n_columns; k++) {
        put_head(p, t->cell[k], "\xe2\x80\x93");
        decimals[k] = decimals_of(p, (run){0, t->n_rows}, k);
    }
    fputs("</tr></thead>\n<tbody>\n", p->out);
    for (int64_t i = 0; i < shown; i++) {
        fputs("<tr>", p->out);
        for (int k = 0; k < (int)t->n_columns; k++)
            put_number(p, pick(i, shown, t->n_rows), k, decimals[k]);
        fputs("</tr>\n", p->out);
    }
    close_table(p);
}

wmi_numbers_size wmi_numbers_print(const wmi_numbers *numbers, const wmi_plan *plan,
                                   const char *name, FILE *out)
{
    printer p = {.numbers = numbers, .plan = plan, .name = name, .out = out};

    p.c = (columns){find_column(numbers, "panel"), find_column(numbers, "series"),
                    find_column(numbers, "x"),     find_column(numbers, "y"),
                    find_column(numbers, "lo"),    find_column(numbers, "hi"),
                    find_column(numbers, "z"),     find_column(numbers, "label")};
    if (p.c.panel == 0 && p.c.series == 1 && p.c.x == 2 && p.c.y == 3 && p.c.lo == 4 && p.c.hi == 5)
        put_ours(&p);
    else
        put_plain(&p);
    return p.size;
}
