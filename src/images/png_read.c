/* png_read.c - the other file that knows libpng. Its chunks are walked before it is asked to decode
 * them: sizes are checked before they allocate, and a file without its end is cut short even where
 * its pixels happen to be whole. */
#include "images/png_read.h"

#include <inttypes.h>
#include <png.h>
#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "base/utf8.h"

enum { SIGNATURE = 8, AROUND = 12 }; /* bytes of a chunk besides its content */

static uint32_t big_endian(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | (uint32_t)p[3];
}

/* Whether all chunks up to IEND are there, and the size is one that we read. */
static wm_status check_chunks(const unsigned char *p, size_t n, const char *label, wm_error *err)
{
    size_t at = SIGNATURE;
    uint32_t width, height;

    if (n < SIGNATURE || memcmp(p, "\x89PNG\r\n\x1a\n", SIGNATURE) != 0)
        return wmi_fail(err, WM_EFORMAT, "%s: does not begin as a PNG image does",
                        wmi_text_tail(label));
    if (n < SIGNATURE + AROUND + 13)
        return wmi_fail(err, WM_EFORMAT, "%s: cut short: ends within its header",
                        wmi_text_tail(label));
    if (memcmp(p + 12, "IHDR", 4) != 0)
        return wmi_fail(err, WM_EFORMAT, "%s: a PNG without a header", wmi_text_tail(label));
    width = big_endian(p + 16);
    height = big_endian(p + 20);
    if (!width || !height || width > WMI_PNG_MAX_SIDE || height > WMI_PNG_MAX_SIDE)
        return wmi_fail(err, WM_EFORMAT,
                        "%s: says it has %" PRIu32 " x %" PRIu32 " pixels, expected 1 to %d a side",
                        wmi_text_tail(label), width, height, WMI_PNG_MAX_SIDE);
    for (;;) {
        const size_t left = n - at;

        if (left < AROUND || big_endian(p + at) > left - AROUND)
            return wmi_fail(err, WM_EFORMAT, "%s: cut short: ends after %zu bytes, before its end",
                            wmi_text_tail(label), n);
        if (memcmp(p + at + 4, "IEND", 4) == 0)
            return WM_OK;
        at += AROUND + big_endian(p + at);
    }
}

wm_status wmi_png_read(wmi_picture *out, const void *bytes, size_t n, const char *label,
                       wm_error *err)
{
    const png_color white = {255, 255, 255};
    png_image image = {.version = PNG_IMAGE_VERSION};
    wm_status st;

    *out = (wmi_picture){0};
    if ((st = check_chunks(bytes, n, label, err)))
        return st;
    if (!png_image_begin_read_from_memory(&image, bytes, n))
        return wmi_fail(err, WM_EFORMAT, "%s: damaged: %s", wmi_text_tail(label), image.message);
    out->height = image.height;
    out->width = image.width;
    out->channels = image.format & PNG_FORMAT_FLAG_COLOR ? 3 : 1;
    image.format = out->channels == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
    if ((st = wmi_alloc(&out->pixels, out->height * out->width, (size_t)out->channels, "image",
                        err))) {
        png_image_free(&image);
        return st;
    }
    if (!png_image_finish_read(&image, &white, out->pixels, 0, NULL)) {
        wmi_free(out->pixels);
        *out = (wmi_picture){0};
        return wmi_fail(err, WM_EFORMAT, "%s: damaged: %s", wmi_text_tail(label), image.message);
    }
    return WM_OK;
}

/* In units in which a pixel of the picture is `side` long and one of the canvas `length`: how much
 * of both pixel i and cell k there is. */
static int64_t overlap(int64_t i, int64_t k, int64_t side, int64_t length)
{
    const int64_t lo = i * side > k * length ? i * side : k * length;
    const int64_t hi = (i + 1) * side < (k + 1) * length ? (i + 1) * side : (k + 1) * length;

    return hi > lo ? hi - lo : 0;
}

void wmi_picture_ink(const wmi_picture *p, int64_t side, uint8_t *canvas)
{
    const int64_t h = p->height, w = p->width, c = p->channels, area = h * w * c;

    for (int64_t r = 0; r < side; r++)
        for (int64_t k = 0; k < side; k++) {
            int64_t sum = 0; /* at most 255 area */

            for (int64_t y = r * h / side; y * side < (r + 1) * h; y++) {
                int64_t line = 0;

                for (int64_t x = k * w / side; x * side < (k + 1) * w; x++) {
                    const uint8_t *pixel = p->pixels + (y * w + x) * c;
                    int64_t light = 0;

                    for (int64_t j = 0; j < c; j++)
                        light += pixel[j];
                    line += overlap(x, k, side, w) * (255 * c - light);
                }
                sum += overlap(y, r, side, h) * line;
            }
            canvas[r * side + k] = (uint8_t)((2 * sum + area) / (2 * area));
        }
}
