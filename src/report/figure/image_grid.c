/* image_grid.c - pictures side by side in one PNG: samples of a model, drawings of a data set. One
 * of the two files that know libpng; its simplified interface needs no setjmp. */
#include <inttypes.h>
#include <math.h>
#include <png.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "report/text.h"
#include "waymark/report.h"

#define MAX_SIDE 30000 /* pixels of the whole picture: what viewers open */
#define GAP_SHADE 128  /* grey: pictures are mostly near black or near white */

/* Where things stand in the picture. */
typedef struct layout {
    int64_t columns, rows, scale, gap;
    int64_t width, height; /* pixels in all */
} layout;

static wm_status plan(layout *l, const wm_image_grid *g, const char *path, wm_error *err)
{
    if (g->n < 1 || g->height < 1 || g->width < 1 || g->height > MAX_SIDE || g->width > MAX_SIDE ||
        g->n > (int64_t)MAX_SIDE * MAX_SIDE)
        return wmi_fail(err, WM_EINVAL,
                        "%s: %" PRId64 " images of %" PRId64 " x %" PRId64 " pixels: each must be "
                        "at least 1, a side at most %d",
                        wmi_path_tail(path), g->n, g->height, g->width, MAX_SIDE);
    if (g->channels != 1 && g->channels != 3)
        return wmi_fail(err, WM_EINVAL, "%s: images of %" PRId64 " channels, expected 1 or 3",
                        wmi_path_tail(path), g->channels);
    if (!isfinite(g->lo) || !isfinite(g->hi) || g->lo == g->hi)
        return wmi_fail(err, WM_EINVAL, "%s: black at %g and white at %g: must be two numbers",
                        wmi_path_tail(path), g->lo, g->hi);
    if (g->columns < 0 || g->scale < 0 || g->scale > MAX_SIDE)
        return wmi_fail(err, WM_EINVAL, "%s: %" PRId64 " columns at scale %" PRId64,
                        wmi_path_tail(path), g->columns, g->scale);
    l->scale = g->scale ? g->scale : 1;
    l->gap = l->scale > 1 ? 2 : 1;
    l->columns = g->columns ? g->columns : (int64_t)ceil(sqrt((double)g->n));
    if (l->columns > g->n)
        l->columns = g->n;
    l->rows = (g->n + l->columns - 1) / l->columns;
    l->width = l->gap + l->columns * (l->gap + g->width * l->scale);
    l->height = l->gap + l->rows * (l->gap + g->height * l->scale);
    if (l->width > MAX_SIDE || l->height > MAX_SIDE)
        return wmi_fail(err, WM_EINVAL,
                        "%s: a picture of %" PRId64 " x %" PRId64
                        " pixels, at most %d a side: take fewer images or a smaller scale",
                        wmi_path_tail(path), l->width, l->height, MAX_SIDE);
    return WM_OK;
}

static wm_status refuse_nan(const wm_image_grid *g, const char *path, wm_error *err)
{
    const int64_t size = g->height * g->width * g->channels;

    for (int64_t i = 0; i < g->n * size; i++)
        if (isnan(g->x[i])) {
            const int64_t pixel = i % size / g->channels;

            return wmi_fail(
                err, WM_EINVAL, "%s: image %" PRId64 ", row %" PRId64 ", column %" PRId64 " is NaN",
                wmi_path_tail(path), i / size + 1, pixel / g->width + 1, pixel % g->width + 1);
        }
    return WM_OK;
}

static unsigned char shade(const wm_image_grid *g, double x)
{
    const double t = (x - g->lo) / (g->hi - g->lo);

    return (unsigned char)(fmin(fmax(t, 0), 1) * 255 + 0.5);
}

/* The image at a place of the picture. */
typedef struct placed {
    double key;
    int64_t image;
} placed;

static int by_key(const void *a, const void *b)
{
    const placed *x = a, *y = b;

    return x->key != y->key ? (x->key > y->key) - (x->key < y->key)
                            : (x->image > y->image) - (x->image < y->image);
}

static wm_status arrange(placed **out, const wm_image_grid *g, wm_error *err)
{
    wm_status st = wmi_alloc(out, g->n, sizeof **out, "order of images", err);

    if (st)
        return st;
    for (int64_t i = 0; i < g->n; i++) {
        const double key = g->sorted && g->values ? g->values[(i + 1) * g->n_values - 1] : 0;

        (*out)[i] = (placed){isnan(key) ? -INFINITY : key, i};
    }
    qsort(*out, (size_t)g->n, sizeof **out, by_key);
    return WM_OK;
}

/* An image into place i of the picture. */
static void put_image(const wm_image_grid *g, const layout *l, int64_t i, int64_t image,
                      unsigned char *picture)
{
    const int64_t c = g->channels, stride = l->width * c;
    const int64_t top = l->gap + i / l->columns * (l->gap + g->height * l->scale);
    const int64_t left = l->gap + i % l->columns * (l->gap + g->width * l->scale);
    const double *x = g->x + image * g->height * g->width * c;

    for (int64_t r = 0; r < g->height; r++) {
        unsigned char *row = picture + (top + r * l->scale) * stride + left * c;

        for (int64_t k = 0; k < g->width * l->scale; k++)
            for (int64_t j = 0; j < c; j++)
                row[k * c + j] = shade(g, x[(r * g->width + k / l->scale) * c + j]);
        for (int64_t s = 1; s < l->scale; s++)
            memcpy(row + s * stride, row, (size_t)(g->width * l->scale * c));
    }
}

static wm_status write_png(const char *path, const wm_image_grid *g, const layout *l,
                           const unsigned char *picture, wm_error *err)
{
    png_image image = {.version = PNG_IMAGE_VERSION,
                       .width = (png_uint_32)l->width,
                       .height = (png_uint_32)l->height,
                       .format = g->channels == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY};
    wmi_file *f = NULL;
    wm_status st = wmi_file_open(&f, path, err);

    if (st)
        return st;
    if (!png_image_write_to_stdio(&image, wmi_file_stream(f), 0, picture, 0, NULL)) {
        /* A full disk leaves an error on the stream, and commit has the better message for it. */
        if (ferror(wmi_file_stream(f)))
            return wmi_file_commit(f, err);
        wmi_file_abandon(f);
        return wmi_fail(err, WM_EIO, "%s: cannot write: %s", wmi_path_tail(path), image.message);
    }
    return wmi_file_commit(f, err);
}

/* path with .csv for .png, for wmi_free(). */
static wm_status numbers_path(char **out, const char *path, wm_error *err)
{
    const size_t n = strlen(path);
    wm_status st;

    *out = NULL;
    if (n < 5 || strcmp(path + n - 4, ".png") != 0)
        return wmi_fail(err, WM_EINVAL, "%s: a picture with values must be called NAME.png",
                        wmi_path_tail(path));
    if ((st = wmi_alloc(out, (int64_t)n + 1, 1, "path", err)))
        return st;
    memcpy(*out, path, n - 4);
    memcpy(*out + n - 4, ".csv", 5);
    return WM_OK;
}

static wm_status write_values(const char *path, const wm_image_grid *g, const layout *l,
                              const placed *order, wm_error *err)
{
    char *csv, text[WMI_REAL_TEXT];
    wmi_file *file = NULL;
    wm_status st = numbers_path(&csv, path, err);
    FILE *out;

    if (st || (st = wmi_file_open(&file, csv, err)))
        goto done;
    out = wmi_file_stream(file);
    fputs("row,column", out);
    for (int64_t k = 0; k < g->n_values; k++)
        fprintf(out, ",%s", g->value_names[k]);
    for (int64_t i = 0; i < g->n; i++) {
        fprintf(out, "\n%" PRId64 ",%" PRId64, i / l->columns + 1, i % l->columns + 1);
        for (int64_t k = 0; k < g->n_values; k++)
            fprintf(out, ",%s", wmi_real_text(text, g->values[order[i].image * g->n_values + k]));
    }
    putc('\n', out);
    st = wmi_file_commit(file, err);
done:
    wmi_free(csv);
    return st;
}

wm_status wm_image_grid_write(const wm_image_grid *g, const char *path, wm_error *err)
{
    unsigned char *picture = NULL;
    placed *order = NULL;
    layout l;
    wm_status st;

    if ((st = plan(&l, g, path, err)) || (st = refuse_nan(g, path, err)) ||
        (st = arrange(&order, g, err)) ||
        (g->values && (st = write_values(path, g, &l, order, err))) ||
        (st = wmi_alloc(&picture, l.width * l.height, (size_t)g->channels, "picture", err)))
        goto done;
    memset(picture, GAP_SHADE, (size_t)(l.width * l.height * g->channels));
    for (int64_t i = 0; i < g->n; i++)
        put_image(g, &l, i, order[i].image, picture);
    st = write_png(path, g, &l, picture, err);
done:
    wmi_free(order);
    wmi_free(picture);
    return st;
}
