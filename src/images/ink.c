/* ink.c - a stroke is cut into short straight pieces; a pixel is covered as far as the pen reaches
 * over its middle, within half a pixel of the edge linearly. */
#include "images/ink.h"

#include <math.h>

enum { SIDE = WM_DRAWING_SIDE, PIECES = 8 }; /* pieces from a point of a curve to the next */

void wmi_stroke_at(const wmi_stroke *s, double t, double *x, double *y)
{
    int i = (int)t;
    double f, a, b, c, d;
    int before, after;

    i = i < 0 ? 0 : i > s->n - 2 ? s->n - 2 : i;
    f = t - i;
    if (!s->smooth) {
        *x = s->x[i] + f * (s->x[i + 1] - s->x[i]);
        *y = s->y[i] + f * (s->y[i + 1] - s->y[i]);
        return;
    }
    before = i > 0 ? i - 1 : 0; /* the ends are doubled */
    after = i < s->n - 2 ? i + 2 : i + 1;
    a = 0.5 * f * (f * (2 - f) - 1);
    b = 0.5 * (f * f * (3 * f - 5) + 2);
    c = 0.5 * f * (f * (4 - 3 * f) + 1);
    d = 0.5 * f * f * (f - 1);
    *x = a * s->x[before] + b * s->x[i] + c * s->x[i + 1] + d * s->x[after];
    *y = a * s->y[before] + b * s->y[i] + c * s->y[i + 1] + d * s->y[after];
}

static int clip(double pixel)
{
    return pixel < 0 ? 0 : pixel > SIDE ? SIDE : (int)pixel;
}

/* One straight piece; coordinates in pixels. */
static void draw_piece(double x0, double y0, double x1, double y1, double radius, float *canvas)
{
    const double reach = radius + 0.5, dx = x1 - x0, dy = y1 - y0, length2 = dx * dx + dy * dy;
    const int left = clip(fmin(x0, x1) - reach), right = clip(fmax(x0, x1) + reach + 1);
    const int top = clip(fmin(y0, y1) - reach), bottom = clip(fmax(y0, y1) + reach + 1);

    for (int r = top; r < bottom; r++)
        for (int c = left; c < right; c++) {
            const double px = c + 0.5 - x0, py = r + 0.5 - y0;
            const double t = length2 > 0 ? fmin(fmax((px * dx + py * dy) / length2, 0), 1) : 0;
            const double ex = px - t * dx, ey = py - t * dy, gap = sqrt(ex * ex + ey * ey);
            const float cover = (float)fmin(fmax(reach - gap, 0), 1);

            if (cover > canvas[r * SIDE + c])
                canvas[r * SIDE + c] = cover;
        }
}

void wmi_ink_draw(const wmi_stroke *strokes, int n, double radius, float *canvas)
{
    for (int i = 0; i < n; i++) {
        const wmi_stroke *s = &strokes[i];
        const int pieces = (s->n - 1) * (s->smooth ? PIECES : 1);
        double x0, y0;

        wmi_stroke_at(s, 0, &x0, &y0);
        for (int k = 1; k <= pieces; k++) {
            double x, y;

            wmi_stroke_at(s, (double)k * (s->n - 1) / pieces, &x, &y);
            draw_piece(x0 * SIDE, y0 * SIDE, x * SIDE, y * SIDE, radius, canvas);
            x0 = x;
            y0 = y;
        }
    }
}

void wmi_ink_bytes(const float *canvas, uint8_t *pixels)
{
    for (int i = 0; i < WMI_CANVAS; i++)
        pixels[i] = (uint8_t)(255 * canvas[i] + 0.5F);
}
