/* plot_layout.h - where everything in a figure stands, in pixels. The gnuplot script is written by
 * it, and the page takes the drawing apart by it. */
#ifndef WMI_REPORT_PLOT_LAYOUT_H
#define WMI_REPORT_PLOT_LAYOUT_H

#include "report/figure/figure.h"

/* Pixels around the axes, at the fonts that plot_script.c sets. */
enum {
    WMI_PLOT_LEFT = 84,
    WMI_PLOT_RIGHT = 22,
    WMI_PLOT_BOTTOM = 60,
    WMI_PLOT_TOP = 14,
    WMI_PLOT_BAR = 96, /* colour bar with its gap, ticks and name */
};

typedef struct wmi_keys {
    int entries, widest; /* widest: letters of the longest name */
} wmi_keys;

typedef struct wmi_plot_layout {
    int columns, rows, width, height; /* width and height: of a panel */
    int left;                         /* of the axes in their panel */
    int title, titles, legend;        /* heights: above all, above each panel, below all */
    int total_width, total_height;
    bool shared; /* one legend for all panels, below them */
} wmi_plot_layout;

/* Where the axes of a panel stand, from the left and from the top of the figure. */
typedef struct wmi_place {
    int left, right, top, bottom;
} wmi_place;

/* The figure must have a panel. */
wmi_plot_layout wmi_figure_layout(const wm_figure *f);
/* Panel k, counted from 0. */
wmi_place wmi_panel_place(const wm_panel *p, const wmi_plot_layout *l, int k);

wmi_keys wmi_panel_keys(const wm_panel *p);
/* Where its legend goes; never AUTO. */
wm_legend wmi_panel_legend_place(const wm_panel *p);
/* Entries side by side in a legend of at most `room` pixels. */
int wmi_keys_columns(const wmi_keys *g, int room);

#endif
