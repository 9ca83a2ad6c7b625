/* plot_script.c - the gnuplot script of a figure. Every panel's place is worked out here in pixels,
 * so that panels line up whatever their tick labels and legends are. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "report/figure.h"
#include "report/text.h"

/* Pixels around the axes, at the fonts below. */
enum {
    LEFT = 84,
    RIGHT = 22,
    BOTTOM = 60,
    TOP = 14,
    TITLE = 28,
    KEY_LINE = 22,
    KEY_PAD = 10,
    BAR = 96, /* colour bar with its gap, ticks and name */
    BAR_GAP = 14,
    BAR_WIDTH = 12,
};

/* Okabe and Ito's colours, in the order of wm_colour. */
static const char *const colours[] = {"",        "#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                      "#E69F00", "#56B4E9", "#000000", "#7F7F7F"};
/* Point types in the same order: shape tells series apart where colour cannot. */
static const int points[] = {0, 7, 5, 9, 13, 11, 15, 4, 6};

void wmi_gnuplot_text(const char *text, FILE *out)
{
    putc('\'', out);
    for (; *text; text++) {
        if (*text == '\'')
            putc('\'', out);
        putc(*text, out);
    }
    putc('\'', out);
}

/* --- legends -----------------------------------------------------------------------------------*/

typedef struct legend {
    int entries, widest; /* letters of the longest name */
} legend;

static void count_entry(legend *g, const char *name)
{
    if (!*name)
        return;
    g->entries++;
    if (wmi_text_width(name) > g->widest)
        g->widest = wmi_text_width(name);
}

static legend panel_legend(const wm_panel *p)
{
    legend g = {0};

    for (const wmi_series *s = p->series; s; s = s->next)
        count_entry(&g, s->name);
    for (const wmi_reference *r = p->references; r; r = r->next)
        count_entry(&g, r->label);
    return g;
}

/* Entries side by side in a legend that may be so many pixels wide. */
static int legend_columns(const legend *g, int room)
{
    const int fit = room / (g->widest * 8 + 62);

    return fit < 1 ? 1 : fit > g->entries ? g->entries : fit;
}

static int legend_height(const legend *g, int room)
{
    const int columns = g->entries ? legend_columns(g, room) : 1;

    return g->entries ? (g->entries + columns - 1) / columns * KEY_LINE + KEY_PAD : 0;
}

static wm_legend legend_place(const wm_panel *p)
{
    if (p->legend != WM_LEGEND_AUTO)
        return p->legend;
    return panel_legend(p).entries > 1 || p->references ? WM_LEGEND_BELOW : WM_LEGEND_NONE;
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

typedef struct layout {
    int columns, rows, width, height; /* of a panel */
    int left;                         /* of the axes in their panel */
    int title, titles, legend;        /* heights: above all, above each panel, below all */
    int total_width, total_height;
    bool shared; /* one legend for all panels, below them */
} layout;

static layout make_layout(const wm_figure *f)
{
    layout l = {.width = f->width, .height = f->height, .columns = f->columns};
    const legend g = panel_legend(f->panels);

    if (!l.columns)
        l.columns = f->n_panels == 4 ? 2 : f->n_panels > 3 ? 3 : f->n_panels;
    l.rows = (f->n_panels + l.columns - 1) / l.columns;
    if (!l.width)
        l.width = f->n_panels == 1 ? 640 : 480;
    if (!l.height)
        l.height = f->n_panels == 1 ? 440 : 380;
    l.shared = f->n_panels > 1;
    l.left = LEFT;
    for (const wm_panel *p = f->panels; p; p = p->next) {
        l.shared = l.shared && legend_place(p) == WM_LEGEND_BELOW && same_legend(p, f->panels);
        if (*p->title)
            l.titles = TITLE;
        if (wmi_plot_y_letters(p) * 8 + 48 > l.left) /* long labels at the y axis */
            l.left = wmi_plot_y_letters(p) * 8 + 48;
    }
    if (l.left > l.width / 2)
        l.left = l.width / 2;
    l.title = *f->title ? TITLE + 8 : 0;
    l.total_width = l.columns * l.width;
    l.legend = l.shared ? legend_height(&g, l.total_width - 2 * LEFT) : 0;
    l.total_height = l.title + l.rows * l.height + l.legend;
    return l;
}

/* A legend whose top stands in the middle at (x, y) of the figure, so many pixels wide. */
static void put_key_below(const legend *g, double x, double y, int room, FILE *out)
{
    fprintf(out,
            "set key at screen %.4f, screen %.4f center top horizontal maxcols %d maxrows auto "
            "Left reverse noenhanced\n",
            x, y, legend_columns(g, room));
}

static void put_legend(const wm_panel *p, const layout *l, int left, int right, int bottom,
                       FILE *out)
{
    static const char *const inside[] = {[WM_LEGEND_TOP_LEFT] = "inside left top",
                                         [WM_LEGEND_TOP_RIGHT] = "inside right top",
                                         [WM_LEGEND_BOTTOM_LEFT] = "inside left bottom",
                                         [WM_LEGEND_BOTTOM_RIGHT] = "inside right bottom"};
    const wm_legend place = legend_place(p);
    const legend g = panel_legend(p);
    double x, y;

    if (place == WM_LEGEND_NONE || !g.entries || l->shared) {
        fputs("unset key\n", out);
        return;
    }
    if (place == WM_LEGEND_RIGHT) {
        x = (double)(right + 12 + (p->grid ? BAR : 0)) / l->total_width;
        fprintf(out,
                "set key at screen %.4f, graph 1 left top vertical maxrows 0 maxcols 1 "
                "Left reverse noenhanced\n",
                x);
        return;
    }
    if (place != WM_LEGEND_BELOW) {
        fprintf(out, "set key %s vertical maxcols auto maxrows auto Left reverse noenhanced\n",
                inside[place]);
        return;
    }
    x = (left + right) / 2.0 / l->total_width;
    y = 1 - (double)(bottom + BOTTOM) / l->total_height;
    put_key_below(&g, x, y, right - left, out);
}

/* Pixels that legends take below the axes of a row: the same for all of its panels. */
static int row_legend(const wm_figure *f, const layout *l, int row)
{
    int most = 0, k = 0;

    for (const wm_panel *p = f->panels; p && !l->shared; p = p->next, k++)
        if (k / l->columns == row && legend_place(p) == WM_LEGEND_BELOW) {
            const legend g = panel_legend(p);
            const int height = legend_height(&g, l->width - l->left - RIGHT);

            most = height > most ? height : most;
        }
    return most;
}

/* Where the axes of a panel stand, in pixels from the left and from the top. */
typedef struct place {
    int left, right, top, bottom;
} place;

static place find_place(const wm_panel *p, const layout *l, int k)
{
    const legend g = panel_legend(p);
    const int beside = (legend_place(p) == WM_LEGEND_RIGHT ? g.widest * 8 + 62 : 0) +
                       (p->grid ? BAR - RIGHT / 2 : 0);
    const int row = k / l->columns, column = k % l->columns;

    return (place){.left = column * l->width + l->left,
                   .right = (column + 1) * l->width - RIGHT - beside,
                   .top = l->title + row * l->height + TOP + l->titles,
                   .bottom =
                       l->title + (row + 1) * l->height - BOTTOM - row_legend(p->figure, l, row)};
}

/* Margins, legend and colour bar. */
static void put_place(const wm_panel *p, const layout *l, place at, FILE *out)
{
    const double width = l->total_width, height = l->total_height;

    fprintf(out, "set lmargin at screen %.4f; set rmargin at screen %.4f\n", at.left / width,
            at.right / width);
    fprintf(out, "set tmargin at screen %.4f; set bmargin at screen %.4f\n", 1 - at.top / height,
            1 - at.bottom / height);
    put_legend(p, l, at.left, at.right, at.bottom, out);
    wmi_grid_palette(p, (at.right + BAR_GAP) / width, 1 - at.bottom / height, BAR_WIDTH / width,
                     (at.bottom - at.top) / height, out);
}

/* --- what is drawn -----------------------------------------------------------------------------*/

#define LEVEL_BOXES "3:4:(0):3:($4 - 0.36):($4 + 0.36) with boxxyerror fill solid 0.6 noborder"

static void put_series(const wmi_series *s, bool key_only, FILE *out)
{
    static const char *const with[] = {
        [WM_MARK_LINE] = "3:4 with lines",
        [WM_MARK_POINTS] = "3:4 with points",
        [WM_MARK_LINE_POINTS] = "3:4 with linespoints",
        [WM_MARK_ERROR_BARS] = "3:4:5:6 with yerrorlines",
        [WM_MARK_BAND] = "3:4 with lines",
        [WM_MARK_STEPS] = "3:4 with histeps",
        [WM_MARK_BARS] = "3:4 with boxes fill solid 0.6 noborder",
        [WM_MARK_FILLED_STEPS] = "3:4 with histeps",
        [WM_MARK_AREA] = "3:4 with lines",
        [WM_MARK_LEVEL_BARS] = LEVEL_BOXES,
    };
    const bool bars = s->mark == WM_MARK_BARS || s->mark == WM_MARK_LEVEL_BARS;

    if (key_only) /* the style alone, without the columns */
        fprintf(out, "keyentry %s", strstr(with[s->mark], "with"));
    else
        fprintf(out, "csv skip 1 index %" PRId64 " using %s", s->index, with[s->mark]);
    fprintf(out, " lc rgb '%s'", colours[s->colour]);
    if (s->mark != WM_MARK_POINTS && !bars)
        fprintf(out, " lw %g%s", 2 * s->width, s->dashed ? " dt (10,6)" : "");
    if (s->mark == WM_MARK_POINTS || s->mark == WM_MARK_LINE_POINTS ||
        s->mark == WM_MARK_ERROR_BARS)
        fprintf(out, " pt %d ps %g", points[s->colour],
                s->mark == WM_MARK_POINTS ? 0.7 * s->width : 0.9);
    if (*s->name) {
        fputs(" title ", out);
        wmi_gnuplot_text(s->name, out);
    } else {
        fputs(" notitle", out);
    }
}

/* An upright one is an arrow (put_panel) and stands here for its name only. */
static void put_reference(const wmi_reference *r, bool key_only, FILE *out)
{
    char at[WMI_REAL_TEXT];

    fprintf(out, "%s with lines lc rgb '#555555' lw 1.5 dt (4,4)",
            key_only ? "keyentry" : wmi_real_text(at, r->at));
    if (*r->label) {
        fputs(" title ", out);
        wmi_gnuplot_text(r->label, out);
    } else {
        fputs(" notitle", out);
    }
}

/* Whether a point of the series can be seen at all: gnuplot complains of data without one. */
static bool has_points(const wm_panel *p, const wmi_series *s)
{
    for (int64_t i = 0; i < s->n; i++)
        if (isfinite(s->x[i]) && isfinite(s->y[i]) && (s->x[i] > 0 || !(p->flags & WM_LOG_X)) &&
            (s->y[i] > 0 || !(p->flags & WM_LOG_Y)))
            return true;
    return false;
}

/* What is filled lightly under a series' own mark: gnuplot's columns and style, or NULL. A step is
 * a box of the width of its bin; a box has a width column because the default leaves gaps. */
static const char *filling(char out[96], const wm_panel *p, const wmi_series *s)
{
    char number[WMI_REAL_TEXT];

    switch (s->mark) {
    case WM_MARK_BAND:
        return "3:5:6 with filledcurves";
    case WM_MARK_AREA:
        return p->flags & WM_LOG_Y ? "3:4 with filledcurves x1" : "3:4 with filledcurves y1=0";
    case WM_MARK_FILLED_STEPS:
        snprintf(out, 96, "3:4:(%s) with boxes",
                 wmi_real_text(number, s->n > 1 ? fabs(s->x[1] - s->x[0]) : 1));
        return out;
    default:
        return NULL;
    }
}

static void put_whiskers(const wm_panel *p, const char *between, FILE *out)
{
    for (const wmi_series *s = p->series; s; s = s->next)
        if (s->mark == WM_MARK_LEVEL_BARS && s->lo && s->hi && has_points(p, s))
            fprintf(out,
                    "%scsv skip 1 index %" PRId64 " using 3:4:5:6 with xerrorbars lc rgb '#555555' "
                    "lw 1.5 pt -1 notitle",
                    between, s->index);
}

/* The grid at the bottom, then fillings, so that no line is under one; then the series in their
 * order, then references. */
static void put_plot(const wm_panel *p, int k, place at, FILE *out)
{
    const char *between = "plot ";
    char columns[96];

    if (p->grid) {
        fputs(between, out);
        wmi_grid_cells(p, out);
        wmi_grid_overlay(p, k, (double)(at.right - at.left) / (double)p->grid->g.nx,
                         (double)(at.bottom - at.top) / (double)p->grid->g.ny, out);
        between = ", \\\n     ";
    }
    for (const wmi_series *s = p->series; s; s = s->next)
        if (filling(columns, p, s) && has_points(p, s)) {
            fprintf(out,
                    "%scsv skip 1 index %" PRId64 " using %s lc rgb '%s' fill transparent solid "
                    "%s noborder notitle",
                    between, s->index, filling(columns, p, s), colours[s->colour],
                    s->mark == WM_MARK_FILLED_STEPS ? "0.30" : "0.18");
            between = ", \\\n     ";
        }
    for (const wmi_series *s = p->series; s; s = s->next) {
        fputs(between, out);
        put_series(s, !has_points(p, s), out);
        between = ", \\\n     ";
    }
    put_whiskers(p, between, out);
    for (const wmi_reference *r = p->references; r; r = r->next) {
        fputs(between, out);
        put_reference(r, r->upright, out);
        between = ", \\\n     ";
    }
    fprintf(out, "%sNaN notitle\n", between); /* for a panel that has nothing else */
}

static void put_panel(const wm_panel *p, const layout *l, int k, FILE *out)
{
    const place at = find_place(p, l, k);

    fprintf(out, "\n# Panel %d.\n", k + 1);
    put_place(p, l, at, out);
    fputs("set title ", out);
    wmi_gnuplot_text(p->title, out);
    fputs(" noenhanced\n", out);
    wmi_plot_axes(p, out);
    fputs("unset arrow\n", out);
    for (const wmi_reference *r = p->references; r; r = r->next)
        if (r->upright) {
            char number[WMI_REAL_TEXT];

            wmi_real_text(number, r->at);
            fprintf(out,
                    "set arrow from first %s, graph 0 to first %s, graph 1 nohead lc rgb "
                    "'#555555' lw 1.5 dt (4,4)\n",
                    number, number);
        }
    put_plot(p, k, at, out);
}

/* One legend for all panels: a plot of nothing, as wide as the figure, since gnuplot folds a legend
 * to the width of its plot. */
static void put_shared_legend(const wm_panel *p, const layout *l, FILE *out)
{
    const legend g = panel_legend(p);

    fputs("\n# The legend.\n"
          "set lmargin at screen 0; set rmargin at screen 1\n"
          "set bmargin at screen 0; set tmargin at screen 1\n"
          "unset title; unset xlabel; unset ylabel; unset tics; unset border; unset grid\n"
          "unset arrow; unset logscale; unset colorbox; set xrange [0:1]; set yrange [0:1]\n",
          out);
    put_key_below(&g, 0.5, (double)(l->legend - 2) / l->total_height, l->total_width - 2 * LEFT,
                  out);
    fputs("plot 2 notitle", out);
    for (const wmi_series *s = p->series; s; s = s->next) {
        fputs(", \\\n     ", out);
        put_series(s, true, out);
    }
    for (const wmi_reference *r = p->references; r; r = r->next) {
        fputs(", \\\n     ", out);
        put_reference(r, true, out);
    }
    fputs("\n", out);
}

/* How the picture is laid out, in comments: `waymark report` takes it apart by them, so that its
 * panels can stand below each other on a small screen. (page_figure.c reads these lines.) */
static void put_plan(const wm_figure *f, const layout *l, FILE *out)
{
    fprintf(out,
            "# Panels: %d in rows of %d, %d x %d each, %d of title above, %d of legend below.\n",
            f->n_panels, l->columns, l->width, l->height, l->title, l->legend);
    for (const wmi_series *s = f->panels->series; l->shared && s; s = s->next)
        if (*s->name)
            fprintf(out, "# Legend: %s %d %s %s\n", colours[s->colour],
                    s->mark == WM_MARK_POINTS || s->mark == WM_MARK_LINE_POINTS ||
                            s->mark == WM_MARK_ERROR_BARS
                        ? points[s->colour]
                        : 0,
                    s->mark == WM_MARK_POINTS ? "none"
                    : s->dashed               ? "dashed"
                                              : "solid",
                    s->name);
    for (const wmi_reference *r = f->panels->references; l->shared && r; r = r->next)
        if (*r->label)
            fprintf(out, "# Legend: #555555 0 dotted %s\n", r->label);
}

void wmi_figure_script(const wm_figure *f, FILE *out)
{
    const layout l = make_layout(f);
    int k = 0;

    fprintf(out,
            "# Draws %s.svg and %s.png: run `gnuplot %s.gp` in this folder. Change it at will.\n"
            "# The numbers are in %s.csv, one block for each series, counted from 0 by `index`.\n",
            f->name, f->name, f->name, f->name);
    put_plan(f, &l, out);
    fprintf(out,
            "csv = '%s.csv'\n"
            "if (!exists('out')) { out = '%s' }\n"
            "if (!exists('format')) { format = 'svg' }\n"
            "reset\n"
            "set encoding utf8\n"
            "set datafile separator ','\n",
            f->name, f->name);
    fprintf(out,
            "if (format eq 'svg') { set terminal svg size %d,%d dynamic enhanced font "
            "'sans-serif,13' background '#ffffff' }\n"
            "if (format eq 'png') { set terminal pngcairo size %d,%d enhanced font 'sans,10' "
            "fontscale 2 linewidth 2 pointscale 2 background '#ffffff' }\n"
            "set output out.'.'.format\n",
            l.total_width, l.total_height, 2 * l.total_width, 2 * l.total_height);
    fputs("set border 3 lc rgb '#555555' lw 1\n"
          "set tics nomirror out scale 0.6 textcolor rgb '#222222'\n"
          "set xtics offset 0,0.3\n"
          "set grid lt 1 lc rgb '#E4E4E4' lw 1\n"
          "set style fill noborder\n"
          "set boxwidth 0.8 relative\n"
          "set bars small\n"
          "set key samplen 2 spacing 1.1\n",
          out);
    for (const wm_panel *p = f->panels; p; p = p->next)
        wmi_grid_prepare(p, k++, out);
    k = 0;
    fputs("set multiplot", out);
    if (*f->title) {
        fputs(" title ", out);
        wmi_gnuplot_text(f->title, out);
        fputs(" noenhanced font ',15'", out);
    }
    fputs("\n", out);
    for (const wm_panel *p = f->panels; p; p = p->next)
        put_panel(p, &l, k++, out);
    if (l.shared)
        put_shared_legend(f->panels, &l, out);
    fprintf(out,
            "\nunset multiplot\n"
            "unset output\n"
            "if (format eq 'svg') { format = 'png'; load '%s.gp' }\n",
            f->name);
}
