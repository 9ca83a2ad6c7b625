/* svg_inline.h - a drawing from a file, made fit to stand inside a page of ours. */
#ifndef WMI_REPORT_SVG_INLINE_H
#define WMI_REPORT_SVG_INLINE_H

#include <stddef.h>

#include "base/fail.h"

typedef struct wmi_svg {
    char *body;                 /* markup that stands inside <svg>; for free(), see clear */
    double x, y, width, height; /* of its viewBox */
} wmi_svg;

/* Reads the SVG text (n bytes and a NUL after them). Only drawing elements and attributes that are
 * known to be harmless are kept: no scripts, styles, links, events or foreign content, and no
 * reference beyond the drawing itself. Ids and references get the prefix, so that several drawings
 * can stand in one page. Black, white, the greys of axes and grid and the colours of series become
 * the page's CSS variables (--ink, --paper, --axis, --grid, --blue ...); a background is dropped,
 * and so are font families. name is for messages. WM_EFORMAT for what is no SVG, is cut short or
 * badly nested; WM_ENOMEM. */
WM_MUST_CHECK wm_status wmi_svg_read(wmi_svg *out, const char *text, size_t n, const char *name,
                                     const char *prefix, wm_error *err);
void wmi_svg_clear(wmi_svg *svg);

/* The page's name for a colour of a figure, "#0072B2" to "var(--blue)"; NULL if it has none. */
const char *wmi_svg_theme(const char *colour);

#endif
