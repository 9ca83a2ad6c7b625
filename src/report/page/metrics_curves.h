/* metrics_curves.h - the lines of metrics.jsonl sorted into curves. */
#ifndef WMI_REPORT_METRICS_CURVES_H
#define WMI_REPORT_METRICS_CURVES_H

#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"

enum { WMI_CURVES = 256, WMI_CURVE_NAME = 64 };

typedef struct wmi_curve {
    char chart[WMI_CURVE_NAME]; /* curves of one chart are drawn together */
    char name[WMI_CURVE_NAME];
    double *x, *y; /* (n) each */
    int64_t n, room;
} wmi_curve;

typedef struct wmi_curves {
    wmi_curve curve[WMI_CURVES];
    int n;
    char stage[32];               /* of the line that is being read, or "" */
    const char *x_name;           /* "step", "iteration", "epoch" or "line" */
    int64_t lines, bad, left_out; /* lines read; lines that are not JSON; values without a curve */
} wmi_curves;

/* Every number of every line against its step. Keys that end in "loss" share a chart, as do those
 * that end in "loglik"; the elements of a list are curves of one chart; texts and the integers
 * bridge, fold and member name the curves. A text "stage" has charts of its own: stages count their
 * steps from 0, and what they call a loss need not be the same. A last line that is cut short is
 * passed over: a run may be writing it. */
WM_MUST_CHECK wm_status wmi_curves_read(wmi_curves *out, const char *text, size_t n, wm_error *err);
void wmi_curves_clear(wmi_curves *c);

#endif
