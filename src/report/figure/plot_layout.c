/* plot_layout.c - see plot_layout.h. Every place is worked out here, rather than by gnuplot, so
 * that panels line up whatever their tick labels and legends are. */
#include "report/figure/plot_layout.h"

#include <string.h>

#include "report/text.h"

enum { TITLE = 28, KEY_LINE = 22, KEY_PAD = 10 }; /* pixels */

/* --- legends -----------------------------------------------------------------------------------*/

static void count_entry(wmi_keys *g, const char *name)
{
    if (!*name)
        return;
    g->entries++;
    if (wmi_text_width(name) > g->widest)
        g->widest = wmi_text_width(name);
}

wmi_keys wmi_panel_keys(const wm_panel *p)
{
    wmi_keys g = {0};

    for (const wmi_series *s = p->series; s; s = s->next)
        count_entry(&g, s->name);
    for (const wmi_reference *r = p->references; r; r = r->next)
        count_entry(&g, r->label);
    return g;
}

int wmi_keys_columns(const wmi_keys *g, int room)
{
    const int fit = room / (g->widest * 8 + 62);

    return fit < 1 ? 1 : fit > g->entries ? g->entries : fit;
}

static int keys_height(const wmi_keys *g, int room)
{
    const int columns = g->entries ? wmi_keys_columns(g, room) : 1;

    return g->entries ? (g->entries + columns - 1) / columns * KEY_LINE + KEY_PAD : 0;
}

wm_legend wmi_panel_legend_place(const wm_panel *p)
{
    if (p->legend != WM_LEGEND_AUTO)
        return p->legend;
    return wmi_panel_keys(p).entries > 1 || p->references ? WM_LEGEND_BELOW : WM_LEGEND_NONE;
}

/* The names, colours and marks of two panels agree: one legend can serve both. */
static bool same_legend(const wm_panel *a, const wm_panel *b)
{
    const wmi_series *s = a->series, *t = b->series;
    const wmi_reference *q = a->references, *r = b->references;

    for (; s && t; s = s->next, t = t->next)
        if (strcmp(s->name, t->name) != 0 || s->colour != t->colour || s->mark != t->mark ||
            s->dashed != t->dashed)
            return false;
    for (; q && r; q = q->next, r = r->next)
        if (strcmp(q->label, r->label) != 0)
            return false;
    return !s && !t && !q && !r;
}

/* --- the layout --------------------------------------------------------------------------------*/

wmi_plot_layout wmi_figure_layout(const wm_figure *f)
{
    wmi_plot_layout l = {.width = f->width, .height = f->height, .columns = f->columns};
    const wmi_keys g = wmi_panel_keys(f->panels);

    if (!l.columns)
        l.columns = f->n_panels == 4 ? 2 : f->n_panels > 3 ? 3 : f->n_panels;
    l.rows = (f->n_panels + l.columns - 1) / l.columns;
    if (!l.width)
        l.width = f->n_panels == 1 ? 640 : 480;
    if (!l.height)
        l.height = f->n_panels == 1 ? 440 : 380;
    l.shared = f->n_panels > 1;
    l.left = WMI_PLOT_LEFT;
    for (const wm_panel *p = f->panels; p; p = p->next) {
        l.shared =
            l.shared && wmi_panel_legend_place(p) == WM_LEGEND_BELOW && same_legend(p, f->panels);
        if (*p->title)
            l.titles = TITLE;
        if (wmi_plot_y_letters(p) * 8 + 48 > l.left) /* long labels at the y axis */
            l.left = wmi_plot_y_letters(p) * 8 + 48;
    }
    if (l.left > l.width / 2)
        l.left = l.width / 2;
    l.title = *f->title ? TITLE + 8 : 0;
    l.total_width = l.columns * l.width;
    l.legend = l.shared ? keys_height(&g, l.total_width - 2 * WMI_PLOT_LEFT) : 0;
    l.total_height = l.title + l.rows * l.height + l.legend;
    return l;
}

/* Pixels that legends take below the axes of a row: the same for all of its panels. */
static int row_legend(const wm_figure *f, const wmi_plot_layout *l, int row)
{
    int most = 0, k = 0;

    for (const wm_panel *p = f->panels; p && !l->shared; p = p->next, k++)
        if (k / l->columns == row && wmi_panel_legend_place(p) == WM_LEGEND_BELOW) {
            const wmi_keys g = wmi_panel_keys(p);
            const int height = keys_height(&g, l->width - l->left - WMI_PLOT_RIGHT);

            most = height > most ? height : most;
        }
    return most;
}

wmi_place wmi_panel_place(const wm_panel *p, const wmi_plot_layout *l, int k)
{
    const wmi_keys g = wmi_panel_keys(p);
    const int beside = (wmi_panel_legend_place(p) == WM_LEGEND_RIGHT ? g.widest * 8 + 62 : 0) +
                       (p->grid ? WMI_PLOT_BAR - WMI_PLOT_RIGHT / 2 : 0);
    const int row = k / l->columns, column = k % l->columns;

    return (wmi_place){.left = column * l->width + l->left,
                       .right = (column + 1) * l->width - WMI_PLOT_RIGHT - beside,
                       .top = l->title + row * l->height + WMI_PLOT_TOP + l->titles,
                       .bottom = l->title + (row + 1) * l->height - WMI_PLOT_BOTTOM -
                                 row_legend(p->figure, l, row)};
}
