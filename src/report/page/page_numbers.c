/* page_numbers.c - from a figure's series and grids to tables. */
#include "report/page/page_numbers.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "report/page/page_html.h"

enum { SHOWN_SIDE = 40, SHOWN_TABLES = 40, SHOWN_SERIES = 24 };

/* --- any table ---------------------------------------------------------------------------------*/

int64_t wmi_numbers_pick(int64_t i, int64_t shown, int64_t n)
{
    return shown < 2 ? 0 : i * (n - 1) / (shown - 1);
}

void wmi_numbers_open(wmi_numbers *t, const char *title, const char *more, int64_t shown, int64_t n,
                      int64_t columns)
{
    t->tables++;
    t->longest = shown > t->longest ? shown : t->longest;
    t->columns = columns > t->columns ? columns : t->columns;
    t->lines += shown + 2;
    wmi_html_region("numbers of the figure", t->out);
    fputs("<table>\n<caption>", t->out);
    wmi_html_text(*title || *more ? title : "Numbers", t->out);
    fputs(*title && *more ? ": " : "", t->out);
    wmi_html_text(more, t->out);
    if (shown < n) {
        fputs(" (", t->out);
        wmi_html_count(shown, t->out);
        fputs(" of ", t->out);
        wmi_html_count(n, t->out);
        fputs(" rows; ", t->out);
        wmi_html_text(t->file, t->out);
        fputs(" has all)", t->out);
    }
    fputs("</caption>\n<thead><tr>", t->out);
}

void wmi_numbers_close(wmi_numbers *t)
{
    fputs("</tbody>\n</table>\n</div>\n", t->out);
}

void wmi_numbers_head(const wmi_numbers *t, const char *text, const char *otherwise)
{
    fputs("<th scope=\"col\">", t->out);
    wmi_html_text(*text ? text : otherwise, t->out);
    fputs("</th>", t->out);
}

/* --- a figure's --------------------------------------------------------------------------------*/

/* Decimals that suit n numbers: none for whole ones. */
static int decimals_of(const double *x, int64_t n)
{
    double largest = 0;
    bool whole = true;

    for (int64_t i = 0; i < n; i++)
        if (isfinite(x[i])) {
            largest = fmax(largest, fabs(x[i]));
            whole = whole && x[i] == floor(x[i]);
        }
    return whole ? 0 : wmi_html_decimals(largest);
}

static void put_number(double x, int decimals, FILE *out)
{
    fputs("<td class=\"number\">", out);
    wmi_html_fixed(x, decimals, out);
    fputs("</td>", out);
}

/* Opens a table of a panel. Its caption is the panel's title and the name of the content, or, where
 * both are empty, the figure's title. */
static void open_table(wmi_numbers *t, const wm_panel *p, const char *more, int64_t shown,
                       int64_t n, int64_t columns)
{
    wmi_numbers_open(t, *p->title || *more ? p->title : p->figure->title, more, shown, n, columns);
}

/* A grid: x along the top, y down the side. */
static void put_grid(wmi_numbers *t, const wm_panel *p)
{
    const wm_heat_map *g = &p->grid->g;
    const int64_t sx = g->nx < SHOWN_SIDE ? g->nx : SHOWN_SIDE / 2;
    const int64_t sy = g->ny < SHOWN_SIDE ? g->ny : SHOWN_SIDE / 2;
    const int decimals = decimals_of(g->z, g->nx * g->ny);

    open_table(t, p, g->name, sy, g->ny, sx + 1);
    fputs("<th scope=\"col\">", t->out);
    wmi_html_text(*p->y_label ? p->y_label : "y", t->out);
    fputs(" \\ ", t->out);
    wmi_html_text(*p->x_label ? p->x_label : "x", t->out);
    fputs("</th>", t->out);
    for (int64_t i = 0; i < sx; i++) {
        fputs("<th scope=\"col\">", t->out);
        wmi_html_real(wmi_grid_at(g->x_from, g->x_to, g->nx, wmi_numbers_pick(i, sx, g->nx)),
                      t->out);
        fputs("</th>", t->out);
    }
    fputs("</tr></thead>\n<tbody>\n", t->out);
    for (int64_t j = 0; j < sy; j++) {
        const int64_t row = wmi_numbers_pick(j, sy, g->ny);

        fputs("<tr><th scope=\"row\">", t->out);
        wmi_html_real(wmi_grid_at(g->y_from, g->y_to, g->ny, row), t->out);
        fputs("</th>", t->out);
        for (int64_t i = 0; i < sx; i++)
            put_number(g->z[row * g->nx + wmi_numbers_pick(i, sx, g->nx)], decimals, t->out);
        fputs("</tr>\n", t->out);
    }
    wmi_numbers_close(t);
}

/* Whether positions only count the points: 0, 1, 2, ... */
static bool counts(const double *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (x[i] != (double)i)
            return false;
    return true;
}

static bool same_x(const wmi_series *a, const wmi_series *b)
{
    if (a->n != b->n)
        return false;
    for (int64_t i = 0; i < a->n; i++)
        if (!(a->x[i] == b->x[i] || (!isfinite(a->x[i]) && !isfinite(b->x[i]))))
            return false;
    return true;
}

static bool any_label(const wm_panel *p, const wmi_series *s)
{
    for (int64_t i = 0; i < s->n; i++)
        if (*wmi_tick_label(p, s, i))
            return true;
    return false;
}

static bool has_range(const wmi_series *s)
{
    for (int64_t i = 0; s->lo && i < s->n; i++)
        if (isfinite(s->lo[i]))
            return true;
    return false;
}

/* n series from `first` on, which have the same x, side by side. */
static void put_series(wmi_numbers *t, const wm_panel *p, const wmi_series *first, int n)
{
    const int64_t rows = first->n, shown = rows < WMI_NUMBERS_ROWS ? rows : WMI_NUMBERS_ROWS;
    const bool labelled = any_label(p, first);
    /* Level bars have their value in x, and their place in y. */
    const bool level = labelled && first->mark == WM_MARK_LEVEL_BARS;
    const bool place = !labelled || (!level && !counts(first->x, rows));
    const char *y_name = level ? p->x_label : p->y_label;
    const int x_decimals = decimals_of(first->x, rows);
    int64_t width = labelled ? 4 : 1; /* names are wide */
    int decimals[SHOWN_SERIES];
    bool ranged[SHOWN_SERIES];
    const wmi_series *s = first;

    for (int k = 0; k < n; k++, s = s->next) {
        ranged[k] = has_range(s);
        decimals[k] = decimals_of(level ? s->x : s->y, rows);
        width += ranged[k] ? 3 : 1;
    }
    open_table(t, p, n == 1 ? first->name : "", shown, rows, width);
    if (labelled)
        wmi_numbers_head(t, "name", "");
    if (place)
        wmi_numbers_head(t, p->x_label, "x");
    s = first;
    for (int k = 0; k < n; k++, s = s->next) {
        wmi_numbers_head(t, n > 1 ? s->name : y_name, *y_name ? y_name : "y");
        if (ranged[k]) {
            wmi_numbers_head(t, "low", "");
            wmi_numbers_head(t, "high", "");
        }
    }
    fputs("</tr></thead>\n<tbody>\n", t->out);
    for (int64_t i = 0; i < shown; i++) {
        const int64_t row = wmi_numbers_pick(i, shown, rows);

        fputs("<tr><th scope=\"row\">", t->out);
        if (labelled)
            wmi_html_text(wmi_tick_label(p, first, row), t->out);
        else
            wmi_html_fixed(first->x[row], x_decimals, t->out);
        fputs("</th>", t->out);
        if (labelled && place)
            put_number(first->x[row], x_decimals, t->out);
        s = first;
        for (int k = 0; k < n; k++, s = s->next) {
            put_number(level ? s->x[row] : s->y[row], decimals[k], t->out);
            if (ranged[k]) {
                put_number(s->lo[row], decimals[k], t->out);
                put_number(s->hi ? s->hi[row] : (double)NAN, decimals[k], t->out);
            }
        }
        fputs("</tr>\n", t->out);
    }
    wmi_numbers_close(t);
}

void wmi_numbers_of_figure(wmi_numbers *t, const wm_figure *f)
{
    for (const wm_panel *p = f->panels; p && t->tables < SHOWN_TABLES; p = p->next) {
        if (p->grid)
            put_grid(t, p);
        for (const wmi_series *s = p->series, *next; s && t->tables < SHOWN_TABLES; s = next) {
            int n = 1;

            next = s->next;
            while (next && n < SHOWN_SERIES && same_x(s, next)) {
                next = next->next;
                n++;
            }
            if (s->n)
                put_series(t, p, s, n);
        }
    }
}
