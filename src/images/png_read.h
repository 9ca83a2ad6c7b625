/* png_read.h - PNG images in memory, and drawings made of them. */
#ifndef WMI_IMAGES_PNG_READ_H
#define WMI_IMAGES_PNG_READ_H

#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"

#define WMI_PNG_MAX_SIDE 4096 /* pixels: larger ones are refused before anything is allocated */

/* An image of bytes. */
typedef struct wmi_picture {
    int64_t height, width, channels; /* 1: grey, 3: red, green, blue */
    uint8_t *pixels;                 /* (height, width, channels), for wmi_free() */
} wmi_picture;

/* A PNG of any depth, grey, coloured or with a palette; what is transparent lies on white. label
 * names it in messages. A file that is cut short, damaged or too large is a WM_EFORMAT. */
WM_MUST_CHECK wm_status wmi_png_read(wmi_picture *out, const void *bytes, size_t n,
                                     const char *label, wm_error *err);

/* The picture as ink on a canvas of (side, side): 255 minus its brightness, which is the mean of
 * its channels, averaged over the area that each pixel of the canvas covers (exact fractions,
 * rounded to nearest). */
void wmi_picture_ink(const wmi_picture *p, int64_t side, uint8_t *canvas);

#endif
