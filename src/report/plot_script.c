/* plot_script.c - the gnuplot script of a figure. Every panel's place is worked out here in pixels,
 * so that panels line up whatever their tick labels and legends are. */
#include <math.h>
#include <string.h>

#include "report/figure.h"
#include "report/text.h"

/* Pixels around the axes, at the fonts below. */
enum { LEFT = 84, RIGHT = 22, BOTTOM = 60, TOP = 14, TITLE = 28, KEY_LINE = 22, KEY_PAD = 10 };

/* Okabe and Ito's colours, in the order of wm_colour. */
static const char *const colours[] = {"",        "#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                      "#E69F00", "#56B4E9", "#000000", "#7F7F7F"};
/* Point types in the same order: shape tells series apart where colour cannot. */
static const int points[] = {0, 7, 5, 9, 13, 11, 15, 4, 6};

/* A text in single quotes, in which gnuplot interprets nothing. */
static void put_text(const char *text, FILE *out)
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
    for (const wm_panel *p = f->panels; p; p = p->next) {
        l.shared = l.shared && legend_place(p) == WM_LEGEND_BELOW && same_legend(p, f->panels);
        if (*p->title)
            l.titles = TITLE;
    }
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
        x = (double)(right + 12) / l->total_width;
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
            const int height = legend_height(&g, l->width - LEFT - RIGHT);

            most = height > most ? height : most;
        }
    return most;
}

/* Where panel number k stands, and its legend. */
static void put_place(const wm_panel *p, const layout *l, int k, FILE *out)
{
    const legend g = panel_legend(p);
    const int beside = legend_place(p) == WM_LEGEND_RIGHT ? g.widest * 8 + 62 : 0;
    const int row = k / l->columns, column = k % l->columns;
    const int left = column * l->width + LEFT, right = (column + 1) * l->width - RIGHT - beside;
    const int top = l->title + row * l->height + TOP + l->titles;
    const int bottom = l->title + (row + 1) * l->height - BOTTOM - row_legend(p->figure, l, row);

    fprintf(out, "set lmargin at screen %.4f; set rmargin at screen %.4f\n",
            (double)left / l->total_width, (double)right / l->total_width);
    fprintf(out, "set tmargin at screen %.4f; set bmargin at screen %.4f\n",
            1 - (double)top / l->total_height, 1 - (double)bottom / l->total_height);
    put_legend(p, l, left, right, bottom, out);
}

/* --- axes --------------------------------------------------------------------------------------*/

typedef struct span {
    double lo, hi;
} span;

static void widen(span *s, double v, bool log_axis)
{
    if (!isfinite(v) || (log_axis && v <= 0))
        return;
    s->lo = v < s->lo ? v : s->lo;
    s->hi = v > s->hi ? v : s->hi;
}

/* What the data and reference lines cover along an axis. */
static span cover(const wm_panel *p, bool upright, bool log_axis)
{
    span s = {INFINITY, -INFINITY};

    for (const wmi_series *r = p->series; r; r = r->next) {
        const bool boxes = r->mark == WM_MARK_BARS || r->mark == WM_MARK_STEPS;

        if (boxes && !upright)
            widen(&s, 0, log_axis);
        if (boxes && upright && r->n > 1) { /* they reach half a step beyond their points */
            widen(&s, r->x[0] - (r->x[1] - r->x[0]) / 2, log_axis);
            widen(&s, r->x[r->n - 1] + (r->x[r->n - 1] - r->x[r->n - 2]) / 2, log_axis);
        }
        for (int64_t i = 0; i < r->n; i++) {
            widen(&s, upright ? r->x[i] : r->y[i], log_axis);
            if (!upright && r->lo)
                widen(&s, r->lo[i], log_axis);
            if (!upright && r->hi)
                widen(&s, r->hi[i], log_axis);
        }
    }
    for (const wmi_reference *r = p->references; r; r = r->next)
        if (r->upright == upright)
            widen(&s, r->at, log_axis);
    return s;
}

/* Ticks of a logarithmic axis with too few powers of ten to read: some of each decade, the more the
 * shorter the axis; below a factor of two, evenly spaced ones. */
static void put_short_log_ticks(char axis, span s, FILE *out)
{
    static const double many[] = {1, 2, 3, 4, 5, 7}, few[] = {1, 2, 5};
    const double ratio = s.hi / s.lo, *digits = ratio < 6 ? many : few;
    const int n = ratio < 6 ? 6 : 3;
    const char *between = "";

    fprintf(out, "set format %c '%%g'\nset m%ctics 1\nset %ctics (", axis, axis, axis);
    if (ratio < 2) {
        const double rough = (s.hi - s.lo) / 4, unit = pow(10, floor(log10(rough)));
        const double step = unit * (rough < 2 * unit ? 1 : rough < 5 * unit ? 2 : 5);

        for (double k = floor(s.lo / step); step > 0 && k <= ceil(s.hi / step); k++) {
            fprintf(out, "%s%.10g", between, k * step);
            between = ", ";
        }
    } else {
        for (int k = (int)floor(log10(s.lo)) - 1; k <= (int)ceil(log10(s.hi)); k++)
            for (int j = 0; j < n; j++) {
                fprintf(out, "%s%.10g", between, digits[j] * pow(10, k));
                between = ", ";
            }
    }
    fputs(")\n", out);
}

/* Range, scale and ticks of axis 'x' or 'y'. The ends are set here, with a little room, because
 * gnuplot rounds them outward to the next tick: on a logarithmic axis half of the panel is then
 * empty. */
static void put_axis(const wm_panel *p, char axis, FILE *out)
{
    const bool is_x = axis == 'x', log_axis = p->flags & (is_x ? WM_LOG_X : WM_LOG_Y);
    const double *range = is_x ? p->x_range : p->y_range;
    span s = cover(p, is_x, log_axis), end;
    char number[WMI_REAL_TEXT];

    if (isfinite(range[0]))
        s.lo = range[0];
    if (isfinite(range[1]))
        s.hi = range[1];
    fprintf(out, "set %clabel ", axis);
    put_text(is_x ? p->x_label : p->y_label, out);
    fprintf(out, " noenhanced\n%s logscale %c%s\n", log_axis ? "set" : "unset", axis,
            log_axis ? " 10" : "");
    end = s;
    if (log_axis && s.lo > 0 && s.hi > s.lo) {
        end.lo = s.lo * pow(s.hi / s.lo, -0.04);
        end.hi = s.hi * pow(s.hi / s.lo, 0.04);
    } else if (!log_axis && s.hi > s.lo) {
        end.lo = s.lo - 0.04 * (s.hi - s.lo);
        end.hi = s.hi + 0.04 * (s.hi - s.lo);
        if (!is_x && s.lo >= 0 && end.lo < 0)
            end.lo = 0; /* counts and errors do not go below zero */
    } else if (isfinite(s.lo) && (!log_axis || s.lo > 0)) { /* a single value */
        end.lo = log_axis ? s.lo / 2 : s.lo - 0.5 * fmax(1, fabs(s.lo));
        end.hi = log_axis ? s.lo * 2 : s.lo + 0.5 * fmax(1, fabs(s.lo));
    } else { /* no data: gnuplot wants a range all the same */
        end = (span){log_axis ? 1 : 0, log_axis ? 10 : 1};
    }
    fprintf(out, "set %crange [%s:", axis,
            wmi_real_text(number, isfinite(range[0]) ? range[0] : end.lo));
    fprintf(out, "%s]\n", wmi_real_text(number, isfinite(range[1]) ? range[1] : end.hi));

    if (is_x && p->n_ticks) {
        fputs("set xtics (", out);
        for (int64_t i = 0; i < p->n_ticks; i++) {
            char text[WMI_REAL_TEXT];

            wmi_real_text(text, p->tick_at[i]);
            fputs(i ? ", " : "", out);
            put_text(p->tick_text ? p->tick_text[i] : text, out);
            fprintf(out, " %s", text);
        }
        fputs(") noenhanced\nset mxtics 1\n", out);
    } else if (log_axis && s.lo > 0 && s.hi / s.lo < 30) {
        put_short_log_ticks(axis, s, out);
    } else {
        fprintf(out, "set %ctics auto enhanced\nset m%ctics default\nset format %c '%s'\n", axis,
                axis, axis, log_axis ? "10^{%L}" : "%g");
    }
}

/* --- what is drawn -----------------------------------------------------------------------------*/

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
    };

    if (key_only) /* the style alone, without the columns */
        fprintf(out, "keyentry %s", strchr(with[s->mark], ' ') + 1);
    else
        fprintf(out, "csv skip 1 index %d using %s", (int)s->index, with[s->mark]);
    fprintf(out, " lc rgb '%s'", colours[s->colour]);
    if (s->mark != WM_MARK_POINTS && s->mark != WM_MARK_BARS)
        fprintf(out, " lw %g%s", 2 * s->width, s->dashed ? " dt (10,6)" : "");
    if (s->mark == WM_MARK_POINTS || s->mark == WM_MARK_LINE_POINTS ||
        s->mark == WM_MARK_ERROR_BARS)
        fprintf(out, " pt %d ps %g", points[s->colour], s->mark == WM_MARK_POINTS ? 0.7 : 0.9);
    if (*s->name) {
        fputs(" title ", out);
        put_text(s->name, out);
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
        put_text(r->label, out);
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

/* Bands first, so that no line is under one; then references, then the series in their order. */
static void put_plot(const wm_panel *p, FILE *out)
{
    const char *between = "plot ";

    for (const wmi_series *s = p->series; s; s = s->next)
        if (s->mark == WM_MARK_BAND && has_points(p, s)) {
            fprintf(out,
                    "%scsv skip 1 index %d using 3:5:6 with filledcurves lc rgb '%s' fill "
                    "transparent solid 0.18 noborder notitle",
                    between, (int)s->index, colours[s->colour]);
            between = ", \\\n     ";
        }
    for (const wmi_series *s = p->series; s; s = s->next) {
        fputs(between, out);
        put_series(s, !has_points(p, s), out);
        between = ", \\\n     ";
    }
    for (const wmi_reference *r = p->references; r; r = r->next) {
        fputs(between, out);
        put_reference(r, r->upright, out);
        between = ", \\\n     ";
    }
    fprintf(out, "%sNaN notitle\n", between); /* for a panel that has nothing else */
}

static void put_panel(const wm_panel *p, const layout *l, int k, FILE *out)
{
    fprintf(out, "\n# Panel %d.\n", k + 1);
    put_place(p, l, k, out);
    fputs("set title ", out);
    put_text(p->title, out);
    fputs(" noenhanced\n", out);
    put_axis(p, 'x', out);
    put_axis(p, 'y', out);
    fputs("unset arrow\n", out);
    for (const wmi_reference *r = p->references; r; r = r->next)
        if (r->upright) {
            char at[WMI_REAL_TEXT];

            wmi_real_text(at, r->at);
            fprintf(out,
                    "set arrow from first %s, graph 0 to first %s, graph 1 nohead lc rgb "
                    "'#555555' lw 1.5 dt (4,4)\n",
                    at, at);
        }
    put_plot(p, out);
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
          "unset arrow; unset logscale; set xrange [0:1]; set yrange [0:1]\n",
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

void wmi_figure_script(const wm_figure *f, FILE *out)
{
    const layout l = make_layout(f);
    int k = 0;

    fprintf(out,
            "# Draws %s.svg and %s.png: run `gnuplot %s.gp` in this folder. Change it at will.\n"
            "# The numbers are in %s.csv, one block for each series, counted from 0 by `index`.\n"
            "csv = '%s.csv'\n"
            "if (!exists('out')) { out = '%s' }\n"
            "if (!exists('format')) { format = 'svg' }\n"
            "reset\n"
            "set encoding utf8\n"
            "set datafile separator ','\n",
            f->name, f->name, f->name, f->name, f->name, f->name);
    fprintf(out,
            "if (format eq 'svg') { set terminal svg size %d,%d dynamic enhanced font "
            "'sans-serif,13' background '#ffffff' }\n"
            "if (format eq 'png') { set terminal pngcairo size %d,%d enhanced font 'sans,10' "
            "fontscale 2 linewidth 2 pointscale 2 background '#ffffff' }\n"
            "set output out.'.'.format\n",
            l.total_width, l.total_height, 2 * l.total_width, 2 * l.total_height);
    fputs("set border 3 lc rgb '#555555' lw 1\n"
          "set tics nomirror out scale 0.6 textcolor rgb '#222222'\n"
          "set grid lt 1 lc rgb '#E4E4E4' lw 1\n"
          "set style fill noborder\n"
          "set boxwidth 0.8 relative\n"
          "set bars small\n"
          "set key samplen 2 spacing 1.1\n"
          "set multiplot",
          out);
    if (*f->title) {
        fputs(" title ", out);
        put_text(f->title, out);
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
