/* resnet_text.c - a CondResNet as a line of text, for options and model files:
 *
 *   "stem 5/2 32, 32, 32 down, attention, 64, 64 down, dense 128"
 *
 * The stem's window, stride and width; blocks by their width in order, with `down` for 2x2 pooling
 * and `project` for a convolution in the shortcut; then the dense layer. Words of their own:
 * `max` (pooling), `flat` (the dense layer reads positions, not their sum), `per-channel` (scales
 * and shifts), `dropout RATE`; for a grid of pictures `cells 3x3`, beside which `dense` is a cell's
 * code, and `join WIDTH` for a layer that reads all codes.
 * "laptop" and "paper" are the networks of cond_resnet.h. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nn/cond_resnet.h"

/* One item between commas, without blanks around it. */
static bool take_item(wmi_resnet_opts *o, const char *item)
{
    char rest[16] = "";
    int64_t width = 0;
    int window = 0, stride = 0, used = 0;
    double rate = 0;

    if (sscanf(item, "stem %d/%d %" SCNd64 "%n", &window, &stride, &width, &used) == 3 &&
        !item[used]) {
        o->stem.window = window;
        o->stem.stride = stride;
        o->stem.width = width;
        return window > 0 && stride > 0 && width > 0;
    }
    if (sscanf(item, "dense %" SCNd64 "%n", &width, &used) == 1 && !item[used]) {
        o->dense = width;
        return width > 0;
    }
    if (sscanf(item, "join %" SCNd64 "%n", &width, &used) == 1 && !item[used]) {
        o->join = width;
        return width > 0;
    }
    if (sscanf(item, "cells %" SCNd64 "x%" SCNd64 "%n", &o->cells_down, &o->cells_across, &used) ==
            2 &&
        !item[used])
        return o->cells_down > 0 && o->cells_across > 0;
    if (sscanf(item, "dropout %lf%n", &rate, &used) == 1 && !item[used]) {
        o->dropout = rate;
        return rate >= 0 && rate < 1;
    }
    if (strcmp(item, "attention") == 0) {
        o->attention = o->n_blocks;
        return o->n_blocks > 0;
    }
    if (strcmp(item, "max") == 0)
        return o->max_pool = true;
    if (strcmp(item, "flat") == 0)
        return o->flat = true;
    if (strcmp(item, "per-channel") == 0)
        return o->per_channel = true;
    if (o->n_blocks < WMI_RESNET_MAX_BLOCKS && sscanf(item, "%" SCNd64 "%n", &width, &used) == 1) {
        wmi_resnet_block *b = &o->block[o->n_blocks++];

        *b = (wmi_resnet_block){.width = width};
        for (const char *p = item + used; *p; p += used) {
            used = 0;
            if (sscanf(p, " %15[a-z]%n", rest, &used) != 1 || !used)
                return false;
            if (strcmp(rest, "down") == 0)
                b->down = true;
            else if (strcmp(rest, "project") == 0)
                b->project = true;
            else
                return false;
        }
        return width > 0;
    }
    return false;
}

wm_status wmi_resnet_parse(wmi_resnet_opts *o, const char *text, wm_error *err)
{
    const int64_t height = o->height, width = o->width, channels = o->channels;
    char item[64];

    if (strcmp(text, "laptop") == 0) {
        wmi_resnet_laptop(o);
    } else if (strcmp(text, "paper") == 0) {
        wmi_resnet_mnist(o);
    } else {
        *o = (wmi_resnet_opts){.slope = 0.3};
        for (const char *p = text; *p;) {
            size_t n;

            p += strspn(p, " ");
            n = strcspn(p, ",");
            snprintf(item, sizeof item, "%.*s", (int)n, p);
            for (size_t end = strlen(item); end && item[end - 1] == ' ';)
                item[--end] = 0;
            if (n >= sizeof item || !take_item(o, item))
                return wmi_fail(err, WM_EINVAL,
                                "network '%.100s': '%.40s' is not understood; an example: stem 5/2 "
                                "32, 32, 32 down, 64, 64 down, dense 128",
                                text, item);
            p += n;
            p += *p == ',';
        }
        if (!o->stem.width || !o->dense)
            return wmi_fail(err, WM_EINVAL, "network '%.100s' has no %s", text,
                            o->stem.width ? "dense layer" : "stem");
    }
    if (o->join && !wmi_resnet_has_cells(o))
        return wmi_fail(err, WM_EINVAL, "network '%.100s' joins cells, but has none: cells 3x3",
                        text);
    o->height = height;
    o->width = width;
    o->channels = channels;
    return WM_OK;
}

const char *wmi_resnet_text(const wmi_resnet_opts *o, char *buf, size_t size)
{
    size_t at = 0;
#define PUT(...)                                                                                   \
    do {                                                                                           \
        const int n_ = at < size ? snprintf(buf + at, size - at, __VA_ARGS__) : 0;                 \
        at += n_ > 0 ? (size_t)n_ : 0;                                                             \
    } while (0)

    PUT("stem %d/%d %" PRId64, o->stem.window, o->stem.stride, o->stem.width);
    for (int i = 0; i < o->n_blocks; i++) {
        PUT(", %" PRId64 "%s%s", o->block[i].width, o->block[i].down ? " down" : "",
            o->block[i].project ? " project" : "");
        if (o->attention == i + 1)
            PUT(", attention");
    }
    if (o->max_pool)
        PUT(", max");
    if (o->per_channel)
        PUT(", per-channel");
    if (o->flat)
        PUT(", flat");
    if (o->dropout > 0)
        PUT(", dropout %g", o->dropout);
    PUT(", dense %" PRId64, o->dense);
    if (wmi_resnet_has_cells(o))
        PUT(", cells %" PRId64 "x%" PRId64, o->cells_down, o->cells_across);
    if (o->join)
        PUT(", join %" PRId64, o->join);
#undef PUT
    return buf;
}
