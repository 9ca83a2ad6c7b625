/* figure_plan.h - how a figure is laid out and what its axes are called, read back from the
 * comments and settings of its NAME.gp. */
#ifndef WMI_REPORT_FIGURE_PLAN_H
#define WMI_REPORT_FIGURE_PLAN_H

#include "base/arena.h"
#include "base/fail.h"

enum { WMI_PLAN_PANELS = 24, WMI_PLAN_KEYS = 16 };

typedef struct wmi_plan {
    const char *title;                       /* of the figure; "" if it has none */
    int n_panels;                            /* 0: the layout is not known */
    int columns, width, height, top, legend; /* pixels, as plot_script.c says them */
    struct {
        const char *title, *x, *y, *z; /* labels of the axes; "" where there are none */
    } panel[WMI_PLAN_PANELS];
    int n_keys; /* of the legend that all panels share */
    struct {
        char colour[8];
        int point; /* gnuplot's point type; 0: none */
        char style[8];
        const char *name;
    } key[WMI_PLAN_KEYS];
} wmi_plan;

/* Reads the script (NUL-terminated); whatever it does not know it leaves out. Texts live in a. */
WM_MUST_CHECK wm_status wmi_plan_read(wmi_plan *out, const char *script, wmi_arena *a,
                                      wm_error *err);

#endif
