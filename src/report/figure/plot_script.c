/* plot_script.c - the gnuplot script of a figure. */
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "report/figure/plot_layout.h"
#include "report/text.h"

/* Pixels of the colour bar. */
enum { BAR_GAP = 14, BAR_WIDTH = 12 };

/* Point types in the order of wm_colour: shape tells series apart where colour cannot. */
static const int points[] = {0, 7, 5, 9, 13, 11, 15, 4, 6};

const char *wmi_colour_code(wm_colour colour)
{
    /* Okabe and Ito's, in the order of wm_colour. */
    static const char *const codes[] = {"",        "#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                        "#E69F00", "#56B4E9", "#000000", "#7F7F7F"};

    return codes[colour];
}

int wmi_series_point(const wmi_series *s)
{
    return s->mark == WM_MARK_POINTS || s->mark == WM_MARK_LINE_POINTS ||
                   s->mark == WM_MARK_ERROR_BARS
               ? points[s->colour]
               : 0;
}

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

/* --- places ------------------------------------------------------------------------------------*/

/* A legend whose top centre is at (x, y) of the figure, at most `room` pixels wide. */
static void put_key_below(const wmi_keys *g, double x, double y, int room, FILE *out)
{
    fprintf(out,
            "set key at screen %.4f, screen %.4f center top horizontal maxcols %d maxrows auto "
            "Left reverse noenhanced\n",
            x, y, wmi_keys_columns(g, room));
}

static void put_legend(const wm_panel *p, const wmi_plot_layout *l, int left, int right, int bottom,
                       FILE *out)
{
    static const char *const inside[] = {[WM_LEGEND_TOP_LEFT] = "inside left top",
                                         [WM_LEGEND_TOP_RIGHT] = "inside right top",
                                         [WM_LEGEND_BOTTOM_LEFT] = "inside left bottom",
                                         [WM_LEGEND_BOTTOM_RIGHT] = "inside right bottom"};
    const wm_legend place = wmi_panel_legend_place(p);
    const wmi_keys g = wmi_panel_keys(p);
    double x, y;

    if (place == WM_LEGEND_NONE || !g.entries || l->shared) {
        fputs("unset key\n", out);
        return;
    }
    if (place == WM_LEGEND_RIGHT) {
        x = (double)(right + 12 + (p->grid ? WMI_PLOT_BAR : 0)) / l->total_width;
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
    y = 1 - (double)(bottom + WMI_PLOT_BOTTOM) / l->total_height;
    put_key_below(&g, x, y, right - left, out);
}

/* Margins, legend and colour bar. */
static void put_place(const wm_panel *p, const wmi_plot_layout *l, wmi_place at, FILE *out)
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

/* The name of what is drawn, for the legend. */
static void put_key(const char *name, FILE *out)
{
    if (!*name) {
        fputs(" notitle", out);
        return;
    }
    fputs(" title ", out);
    wmi_gnuplot_text(name, out);
}

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
    else if (s->mark == WM_MARK_BARS && s->n == 1) /* no neighbour tells gnuplot how wide */
        fprintf(out, "csv skip 1 index %" PRId64 " using 3:4:(0.8) %s", s->index,
                strstr(with[s->mark], "with"));
    else
        fprintf(out, "csv skip 1 index %" PRId64 " using %s", s->index, with[s->mark]);
    fprintf(out, " lc rgb '%s'", wmi_colour_code(s->colour));
    if (s->mark != WM_MARK_POINTS && !bars)
        fprintf(out, " lw %g%s", 2 * s->width, s->dashed ? " dt (10,6)" : "");
    if (wmi_series_point(s))
        fprintf(out, " pt %d ps %g", wmi_series_point(s),
                s->mark == WM_MARK_POINTS ? 0.7 * s->width : 0.9);
    put_key(s->name, out);
}

/* put_panel draws an upright line, as an arrow; here it only gets its name in the legend. */
static void put_reference(const wmi_reference *r, bool key_only, FILE *out)
{
    char at[WMI_REAL_TEXT];

    fprintf(out, "%s with lines lc rgb '#555555' lw 1.5 dt (4,4)",
            key_only ? "keyentry" : wmi_real_text(at, r->at));
    put_key(r->label, out);
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
static void put_plot(const wm_panel *p, int k, wmi_place at, FILE *out)
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
                    between, s->index, filling(columns, p, s), wmi_colour_code(s->colour),
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

static void put_panel(const wm_panel *p, const wmi_plot_layout *l, int k, FILE *out)
{
    const wmi_place at = wmi_panel_place(p, l, k);

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
static void put_shared_legend(const wm_panel *p, const wmi_plot_layout *l, FILE *out)
{
    const wmi_keys g = wmi_panel_keys(p);

    fputs("\n# The legend.\n"
          "set lmargin at screen 0; set rmargin at screen 1\n"
          "set bmargin at screen 0; set tmargin at screen 1\n"
          "unset title; unset xlabel; unset ylabel; unset tics; unset border; unset grid\n"
          "unset arrow; unset logscale; unset colorbox; set xrange [0:1]; set yrange [0:1]\n",
          out);
    put_key_below(&g, 0.5, (double)(l->legend - 2) / l->total_height,
                  l->total_width - 2 * WMI_PLOT_LEFT, out);
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

void wmi_figure_script(const wm_figure *f, FILE *out)
{
    const wmi_plot_layout l = wmi_figure_layout(f);
    int k = 0;

    assert(f->panels); /* wm_figure_write() refuses a figure without */
    fprintf(out,
            "# Draws %s.svg and %s.png: run `gnuplot %s.gp` in this folder. Change it at will.\n"
            "# The numbers are in %s.csv, one block for each series, counted from 0 by `index`.\n",
            f->name, f->name, f->name, f->name);
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
