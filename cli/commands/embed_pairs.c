/* embed_pairs.c - pairs from two files: their shapes, parts and blocks. */
#include "commands/embed_pairs.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options/fitting.h"
#include "waymark/waymarks.h"

#define OPTS pair_flags

const opt_row pair_rows[] = {
    TEXT(blocks, "blocks", "HOW",
         "parts of v that change together: N runs of columns, or their sizes as 3,3,2; images: RxC "
         "tiles",
         .unset = "each column, or 2x2 tiles"),
    REAL(held_out, "held-out", "SHARE", 0, 0.9,
         "of the pairs, drawn by the seed: half of them choose the best step, half test it",
         .above = true),
    TEXT(image, "image", "HxW[xC]",
         "rows are images: 28x28; no: they are not; 28x28,no: u is one and v is not",
         .unset = "by the axes of the arrays"),
    REAL(divide, "divide", "D", 0, 1e300, "values of images are divided by it: 255 for bytes",
         .above = true, .unset = "1"),
    {0},
};

/* ---- images ---- */

/* "28x28", "32x32x3" or "no", which ends at the end of the text or at a comma. */
static bool parse_shape(wm_embed_shape *out, const char *text, size_t n)
{
    int64_t shape[3];
    char word[64];

    if (n >= sizeof word)
        return false;
    memcpy(word, text, n);
    word[n] = '\0';
    *out = (wm_embed_shape){0};
    if (strcmp(word, "no") == 0)
        return true;
    if (!image_parse(shape, word))
        return false;
    *out = (wm_embed_shape){shape[0], shape[1], shape[2]};
    return true;
}

static wm_status take_image(wm_embed_shape shape[2], const char *text, cli_call *call,
                            wm_error *err)
{
    const size_t first = strcspn(text, ",");
    const char *second = text[first] ? text + first + 1 : text;

    if (parse_shape(&shape[0], text, first) && parse_shape(&shape[1], second, strlen(second)))
        return WM_OK;
    return cli_usage(
        call, err,
        "--image '%.40s': height x width is wanted, such as 28x28, or no; or both, for "
        "u and v, such as 28x28,no",
        text);
}

/* Without --image the axes of an array say what its rows are. */
static wm_status find_images(wm_embed_shape shape[2], const pair_flags *f, cli_call *call,
                             wm_error *err)
{
    wm_status st;

    if (f->image)
        return take_image(shape, f->image, call, err);
    for (int s = 0; s < 2; s++) {
        int64_t size[3];
        bool found;

        if ((st = image_find(&found, size, call->args[s], call->sink, err)))
            return st;
        if (found)
            shape[s] = (wm_embed_shape){size[0], size[1], size[2]};
    }
    return WM_OK;
}

/* ---- reading ---- */

wm_status check_pixels(const wm_data *data, const char *path, const char *why, cli_call *call,
                       wm_error *err)
{
    const int64_t n = wm_data_count(data) * wm_data_dim(data);
    double most = 0;

    for (int64_t i = 0; i < n; i++)
        most = fmax(most, fabs(wm_data_rows(data)[i]));
    if (most > 1)
        return cli_usage(call, err,
                         "%.100s: values reach %g, and %s: give --divide 255 for bytes, or "
                         "--divide 1 to take them as they are",
                         path, most, why);
    return WM_OK;
}

/* How the columns of a side are to be taken. Scales are learned from the pairs that are trained on.
 */
static wm_status find_columns(wm_columns **out, const own_pairs *p, int s, const wm_data *data,
                              const wm_schema *schema, double divide, cli_call *call, wm_error *err)
{
    const wm_embed_shape is = p->shape[s];
    const int64_t dim = wm_data_dim(data);
    wm_error why = {0};
    wm_status st;

    if (!is.height) {
        st = wm_columns_fit(out, p->of.part[WM_PART_TRAIN].n, wm_data_rows(data), schema, &why);
        if (st && err) {
            *err = why;
            snprintf(err->text, sizeof err->text, "%.100s: %.140s", call->args[s], why.text);
        }
        return st;
    }
    if (is.height * is.width * is.channels != dim)
        return opt_fail(
            err, "%.100s has %" PRId64 " columns, no image of %" PRId64 " x %" PRId64 " x %" PRId64,
            call->args[s], dim, is.height, is.width, is.channels);
    if (isnan(divide) &&
        (st = check_pixels(data, call->args[s], "networks want pixels about 1", call, err)))
        return st;
    return wm_columns_divide(out, dim, isnan(divide) ? 1 : divide, err);
}

/* Rows in another order: the parts are drawn by the seed. */
static wm_status put_in_order(wm_data *data, const int64_t *order)
{
    const int64_t n = wm_data_count(data), dim = wm_data_dim(data);
    double *x = wm_data_rows_mut(data), *copy = malloc(sizeof *copy * (size_t)(n * dim));

    if (!copy)
        return WM_ENOMEM;
    memcpy(copy, x, sizeof *x * (size_t)(n * dim));
    for (int64_t i = 0; i < n; i++)
        memcpy(x + i * dim, copy + order[i] * dim, (size_t)dim * sizeof *x);
    free(copy);
    return WM_OK;
}

static wm_status encode(own_pairs *p, const pair_tables *t, const pair_flags *f, cli_call *call,
                        wm_error *err)
{
    const int64_t n = wm_data_count(t->data[0]);
    int64_t *order = malloc(sizeof *order * (size_t)n);
    wm_status st = order ? WM_OK : WM_ENOMEM;

    if (!st)
        wm_pairing_draw((uint64_t)call->common->seed, 0, n, 1, n, order, NULL);
    for (int s = 0; s < 2 && !st; s++) {
        wm_columns *columns = NULL;

        if (!(st = put_in_order(t->data[s], order)) &&
            !(st = find_columns(&columns, p, s, t->data[s], t->schema[s], f->divide, call, err)))
            st = wm_own_pairs_side(&p->of, s, wm_data_rows(t->data[s]), columns, err);
    }
    free(order);
    return st;
}

wm_status own_pairs_read(own_pairs *p, const pair_flags *f, const read_flags *read, cli_call *call,
                         wm_error *err)
{
    wm_error why = {0};
    pair_tables t = {0};
    wm_status st;

    if ((st = find_images(p->shape, f, call, err)))
        return st;
    if (!isnan(f->divide) && !p->shape[0].height && !p->shape[1].height)
        return cli_usage(call, err, "--divide is for images: say what they are by --image HxW");
    if ((st = pair_tables_read(
             &t, read, (const bool[]){p->shape[0].height > 0, p->shape[1].height > 0}, call, err)))
        goto done;
    if (wm_data_count(t.data[0]) != wm_data_count(t.data[1])) {
        st = opt_fail(err,
                      "%.80s has %" PRId64 " rows and %.80s has %" PRId64
                      ": row i of U and row i of V are a pair",
                      call->args[0], wm_data_count(t.data[0]), call->args[1],
                      wm_data_count(t.data[1]));
        goto done;
    }
    if ((st = wm_own_pairs_start(&p->of, wm_data_count(t.data[0]), f->held_out, err)) ||
        (st = encode(p, &t, f, call, err)))
        goto done;
    if ((st = wm_own_pairs_blocks(&p->of, p->shape[1], f->blocks, &why)) == WM_EINVAL)
        st = cli_usage(call, err, "--blocks %s", why.text);
done:
    pair_tables_free(&t);
    return st;
}
