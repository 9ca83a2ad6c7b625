/* ink.h - strokes of a round pen on a small canvas, with soft edges. */
#ifndef WMI_IMAGES_INK_H
#define WMI_IMAGES_INK_H

#include <stdbool.h>
#include <stdint.h>

#include "waymark/images.h"

enum { WMI_STROKE_POINTS = 10, WMI_CANVAS = WM_DRAWING_SIDE * WM_DRAWING_SIDE };

/* A stroke through its points, in order; (0, 0) is the top left of the canvas, (1, 1) the bottom
 * right. */
typedef struct wmi_stroke {
    int n;       /* 2 to WMI_STROKE_POINTS */
    bool smooth; /* a Catmull-Rom curve through the points; else straight from each to the next */
    double x[WMI_STROKE_POINTS], y[WMI_STROKE_POINTS];
} wmi_stroke;

/* Draws strokes (n) onto a canvas (28, 28) that holds coverage in [0, 1]: a pixel that several
 * strokes touch has the most that one gives it. radius: half the pen's width, in pixels. */
void wmi_ink_draw(const wmi_stroke *strokes, int n, double radius, float *canvas);
/* Coverage to bytes, 255 is ink. */
void wmi_ink_bytes(const float *canvas, uint8_t *pixels);

/* The point of a stroke at t in [0, n - 1], point by point. */
void wmi_stroke_at(const wmi_stroke *s, double t, double *x, double *y);

#endif
