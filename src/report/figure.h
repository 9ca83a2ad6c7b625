/* figure.h - a figure's inside, for the two files that write it. */
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
    int64_t n_ticks;
    const double *tick_at; /* (n_ticks) */
    const char **tick_text;
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
    int64_t n_series;
    wm_error error; /* the first failure */
    wm_status status;
};

/* NAME.gp: settings, then one plot command a panel, reading NAME.csv. */
void wmi_figure_script(const wm_figure *f, FILE *out);

/* Runs gnuplot on folder/NAME.gp, which leaves NAME.svg and NAME.png. *found is false, and the
 * status WM_OK, if there is no gnuplot on the PATH. What it says although it succeeds goes to the
 * sink. */
WM_MUST_CHECK wm_status wmi_gnuplot_run(bool *found, const char *folder, const char *name,
                                        const wm_sink *sink, wm_error *err);

#endif
