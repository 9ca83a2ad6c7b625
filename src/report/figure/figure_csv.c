/* figure_csv.c - the numbers of a figure as CSV, for gnuplot and for people. */
#include <math.h>

#include "report/figure/figure.h"
#include "report/text.h"

static void print_field(const char *text, FILE *out)
{
    putc('"', out);
    for (; *text; text++) {
        if (*text == '"')
            putc('"', out);
        putc(*text, out);
    }
    putc('"', out);
}

static void print_real(double x, FILE *out)
{
    char text[WMI_REAL_TEXT];

    fprintf(out, ",%s", wmi_real_text(text, x));
}

static void print_cell(const double *x, int64_t i, FILE *out)
{
    print_real(x ? x[i] : NAN, out);
}

/* Columns of the CSV beyond those that every figure has. */
typedef struct extras {
    bool z, label;
} extras;

static extras find_extras(const wm_figure *f)
{
    extras e = {0};

    for (const wm_panel *p = f->panels; p; p = p->next) {
        e.z = e.z || p->grid;
        e.label = e.label || p->x_ticks.text || p->y_ticks.text;
    }
    return e;
}

const char *wmi_tick_label(const wm_panel *p, const wmi_series *s, int64_t i)
{
    const bool level = s->mark == WM_MARK_LEVEL_BARS;
    const wmi_ticks *t = level ? &p->y_ticks : &p->x_ticks;
    const double at = s->n == 0 ? NAN : level ? s->y[i] : s->x[i];

    for (int64_t k = 0; t->text && k < t->n; k++)
        if (t->at[k] == at)
            return t->text[k];
    return "";
}

static void print_names(const wm_panel *p, const char *name, FILE *out)
{
    print_field(p->title, out);
    putc(',', out);
    print_field(name, out);
}

static void print_series(const wm_panel *p, const wmi_series *s, extras e, FILE *out)
{
    for (int64_t i = 0; i < s->n || i == 0; i++) {
        print_names(p, s->name, out);
        print_cell(s->n ? s->x : NULL, i, out);
        print_cell(s->n ? s->y : NULL, i, out);
        print_cell(s->n ? s->lo : NULL, i, out);
        print_cell(s->n ? s->hi : NULL, i, out);
        fputs(e.z ? "," : "", out);
        if (e.label) {
            putc(',', out);
            print_field(wmi_tick_label(p, s, i), out);
        }
        putc('\n', out);
    }
}

double wmi_grid_at(double from, double to, int64_t n, int64_t i)
{
    return n > 1 ? from + (to - from) * (double)i / (double)(n - 1) : from;
}

/* An empty line after each row of cells is how gnuplot sees that they are rows. */
static void print_grid(const wm_panel *p, const wm_heat_map *g, extras e, FILE *out)
{
    for (int64_t j = 0; j < g->ny; j++) {
        fputs(j ? "\n" : "", out);
        for (int64_t i = 0; i < g->nx; i++) {
            print_names(p, g->name, out);
            print_real(wmi_grid_at(g->x_from, g->x_to, g->nx, i), out);
            print_real(wmi_grid_at(g->y_from, g->y_to, g->ny, j), out);
            fputs(",,", out);
            print_real(g->z[j * g->nx + i], out);
            fputs(e.label ? ",\"\"\n" : "\n", out);
        }
    }
}

/* One row for each point. Series are two empty lines apart, which gnuplot counts as blocks and
 * which readers of CSV skip. A series without points still has its block, of one row. */
void wmi_figure_csv(const wm_figure *f, FILE *out)
{
    const extras e = find_extras(f);

    fprintf(out, "panel,series,x,y,lo,hi%s%s\n", e.z ? ",z" : "", e.label ? ",label" : "");
    for (const wm_panel *p = f->panels; p; p = p->next) {
        if (p->grid) {
            fputs(p->grid->index ? "\n\n" : "", out);
            print_grid(p, &p->grid->g, e, out);
        }
        for (const wmi_series *s = p->series; s; s = s->next) {
            fputs(s->index ? "\n\n" : "", out);
            print_series(p, s, e, out);
        }
    }
}
