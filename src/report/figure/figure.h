/* figure.h - a figure's inside, for the files that write it and for the page that shows it. */
#ifndef WMI_REPORT_FIGURE_H
#define WMI_REPORT_FIGURE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/arena.h"
#include "waymark/report.h"

typedef struct wmi_series {
    const char *name;
    wm_mark mark;
    wm_colour colour; /* never AUTO */
    bool dashed;
    double width;
    int64_t n;
    const double *x, *y, *lo, *hi; /* (n) each; lo and hi may be NULL */
    int64_t index;                 /* block of the CSV */
    struct wmi_series *next;
} wmi_series;

enum { WMI_GRID_SIDE = 2000 }; /* the most cells along a side of a grid */

typedef struct wmi_grid {
    wm_heat_map g; /* name, z and contours are the figure's */
    int64_t index; /* block of the CSV */
    bool whole;    /* all z are finite */
    double lo, hi; /* ends of the colours, lo < hi */
} wmi_grid;

typedef struct wmi_ticks {
    int64_t n;
    const double *at;  /* (n) */
    const char **text; /* (n), or NULL for the numbers */
} wmi_ticks;

typedef struct wmi_reference {
    double at;
    bool upright;
    const char *label;
    struct wmi_reference *next;
} wmi_reference;

struct wm_panel {
    wm_figure *figure;
    const char *title, *x_label, *y_label;
    unsigned flags;
    double x_range[2], y_range[2]; /* NaN: from the data */
    wm_legend legend;
    wmi_ticks x_ticks, y_ticks; /* n = 0: gnuplot's own */
    wmi_grid *grid;             /* or NULL */
    wmi_series *series, *last_series;
    wmi_reference *references, *last_reference;
    int colours; /* taken by AUTO so far */
    struct wm_panel *next;
};

struct wm_figure {
    wmi_arena arena; /* everything below */
    const char *name, *title;
    wm_panel *panels, *last_panel;
    int n_panels, columns, width, height; /* 0: default */
    wm_error error;                       /* the first failure */
    wm_status status;
};

/* Whether a series of this mark must have lo and hi. */
bool wmi_mark_is_ranged(wm_mark mark);
/* Middle of cell i of n along an axis. */
double wmi_grid_at(double from, double to, int64_t n, int64_t i);

/* A colour, which must not be AUTO, as "#0072B2". */
const char *wmi_colour_code(wm_colour colour);
/* The type of gnuplot's points that mark a series, or 0. */
int wmi_series_point(const wmi_series *s);
/* The label of the tick at point i of a series: what the point is, to a reader of the numbers; ""
 * where there is none. */
const char *wmi_tick_label(const wm_panel *p, const wmi_series *s, int64_t i);

/* A text in single quotes, in which gnuplot interprets nothing. */
void wmi_gnuplot_text(const char *text, FILE *out);

/* Range, scale, label and ticks of both axes (plot_axis.c). */
void wmi_plot_axes(const wm_panel *p, FILE *out);
/* Whether the panel has level bars; the first of them stands at the top. */
bool wmi_plot_is_level(const wm_panel *p);
/* Letters of the longest label at the y axis, as far as it is shown. */
int wmi_plot_y_letters(const wm_panel *p);

/* Parts of a panel with a grid (plot_grid.c): contour lines as data blocks, before anything is
 * drawn; palette and colour bar; the cells, which begin the plot command, and what lies on them. */
void wmi_grid_prepare(const wm_panel *p, int k, FILE *out);
void wmi_grid_palette(const wm_panel *p, double left, double bottom, double width, double height,
                      FILE *out);
void wmi_grid_cells(const wm_panel *p, FILE *out);
void wmi_grid_overlay(const wm_panel *p, int k, double cell_width, double cell_height, FILE *out);

/* NAME.csv: one row for each point. */
void wmi_figure_csv(const wm_figure *f, FILE *out);
/* NAME.gp: settings, then one plot command a panel, reading NAME.csv. */
void wmi_figure_script(const wm_figure *f, FILE *out);

/* The whole figure as a JSON file: labels, marks, numbers, and the size of its panels
 * (figure_json.c). */
WM_MUST_CHECK wm_status wmi_figure_describe(const wm_figure *f, const char *path, wm_error *err);
/* A figure from such a description (n bytes), freed with wm_figure_free(). name is for messages.
 * WM_EFORMAT for a text that does not describe a figure, WM_ENOMEM. */
WM_MUST_CHECK wm_status wmi_figure_read(wm_figure **out, const char *text, size_t n,
                                        const char *name, wm_error *err);

/* Runs gnuplot on folder/NAME.gp, which leaves NAME.svg and NAME.png. *found is false, and the
 * status WM_OK, if there is no gnuplot on the PATH. What gnuplot prints, also where it succeeds,
 * goes to the sink. */
WM_MUST_CHECK wm_status wmi_gnuplot_run(bool *found, const char *folder, const char *name,
                                        const wm_sink *sink, wm_error *err);

#endif
