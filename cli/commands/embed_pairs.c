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

static wm_status take_image(own_pairs *p, const char *text, cli_call *call, wm_error *err)
{
    const size_t first = strcspn(text, ",");
    const char *second = text[first] ? text + first + 1 : text;

    if (parse_shape(&p->shape[0], text, first) && parse_shape(&p->shape[1], second, strlen(second)))
        return WM_OK;
    return cli_usage(
        call, err,
        "--image '%.40s': height x width is wanted, such as 28x28, or no; or both, for "
        "u and v, such as 28x28,no",
        text);
}

/* Without --image the axes of an array say what its rows are. */
static wm_status find_images(own_pairs *p, const pair_flags *f, cli_call *call, wm_error *err)
{
    wm_status st;

    if (f->image)
        return take_image(p, f->image, call, err);
    for (int s = 0; s < 2; s++) {
        int64_t shape[3];
        bool found;

        if ((st = image_find(&found, shape, call->args[s], call->sink, err)))
            return st;
        if (found)
            p->shape[s] = (wm_embed_shape){shape[0], shape[1], shape[2]};
    }
    return WM_OK;
}

/* ---- reading ---- */

static wm_status read_tables(pair_tables *t, const own_pairs *p, const read_flags *flags,
                             cli_call *call, wm_error *err)
{
    const bool image[2] = {p->shape[0].height > 0, p->shape[1].height > 0};
    wm_status st = pair_tables_read(t, flags, image, call, err);

    if (!st && wm_data_count(t->data[0]) != wm_data_count(t->data[1]))
        return opt_fail(err,
                        "%.80s has %" PRId64 " rows and %.80s has %" PRId64
                        ": row i of U and row i of V are a pair",
                        call->args[0], wm_data_count(t->data[0]), call->args[1],
                        wm_data_count(t->data[1]));
    return st;
}

static wm_status check_image(const own_pairs *p, int s, const wm_data *data, const pair_flags *f,
                             cli_call *call, wm_error *err)
{
    const wm_embed_shape is = p->shape[s];
    const int64_t dim = wm_data_dim(data), n = wm_data_count(data) * dim;
    const double *x = wm_data_rows(data);
    double most = 0;

    if (is.height * is.width * is.channels != dim)
        return opt_fail(
            err, "%.100s has %" PRId64 " columns, no image of %" PRId64 " x %" PRId64 " x %" PRId64,
            call->args[s], dim, is.height, is.width, is.channels);
    for (int64_t i = 0; i < n; i++)
        most = fmax(most, fabs(x[i]));
    if (isnan(f->divide) && most > 1)
        return cli_usage(call, err,
                         "%.100s: values reach %g, and networks want pixels about 1: give --divide "
                         "255 for bytes, or --divide 1 to take them as they are",
                         call->args[s], most);
    return WM_OK;
}

/* ---- parts ---- */

/* How many pairs each part gets. */
static wm_status count_parts(int64_t count[PAIR_PARTS], int64_t n, double held_out, wm_error *err)
{
    const int64_t held = llround(held_out * (double)n);

    count[PART_TEST] = held / 2;
    count[PART_VALID] = held - held / 2;
    count[PART_TRAIN] = n - held;
    for (int i = 0; i < PAIR_PARTS; i++)
        if (count[i] < 2)
            return opt_fail(err,
                            "%" PRId64 " pair%s: %" PRId64 " to train on, %" PRId64
                            " to choose the step and %" PRId64
                            " to test it; each needs two at least: bring more pairs, or change "
                            "--held-out",
                            n, n == 1 ? "" : "s", count[PART_TRAIN], count[PART_VALID],
                            count[PART_TEST]);
    return WM_OK;
}

/* The rows of a table in another order. */
static void put_in_order(wm_data *data, const int64_t *order, double *spare)
{
    const int64_t n = wm_data_count(data), dim = wm_data_dim(data);
    double *x = wm_data_rows_mut(data);

    for (int64_t i = 0; i < n; i++)
        memcpy(spare + i * dim, x + order[i] * dim, (size_t)dim * sizeof *x);
    memcpy(x, spare, (size_t)(n * dim) * sizeof *x);
}

/* A failure about columns, with the file that they are of. */
static wm_status in_file(wm_status st, const char *path, const wm_error *why, wm_error *err)
{
    if (st && err) {
        *err = *why;
        snprintf(err->text, sizeof err->text, "%.100s: %.140s", path, why->text);
    }
    return st;
}

/* One side as the network sees it. Scales are learned from the pairs that are trained on. */
static wm_status encode(own_pairs *p, int s, const wm_data *data, const wm_schema *schema,
                        int64_t n_train, const pair_flags *f, cli_call *call, wm_error *err)
{
    const int64_t n = wm_data_count(data);
    wm_error why = {0};
    wm_status st;

    if (!p->shape[s].height)
        st = in_file(wm_columns_fit(&p->columns[s], n_train, wm_data_rows(data), schema, &why),
                     call->args[s], &why, err);
    else if (!(st = check_image(p, s, data, f, call, err)))
        st = wm_columns_divide(&p->columns[s], wm_data_dim(data), isnan(f->divide) ? 1 : f->divide,
                               err);
    if (st)
        return st;
    if (!(p->rows[s] = malloc(sizeof *p->rows[s] * (size_t)(n * wm_columns_dim(p->columns[s])))))
        return WM_ENOMEM;
    return wm_columns_apply(p->columns[s], n, wm_data_rows(data), p->rows[s], err);
}

static void lay_parts(own_pairs *p, const int64_t count[PAIR_PARTS])
{
    const int64_t du = wm_columns_dim(p->columns[0]), dv = wm_columns_dim(p->columns[1]);
    int64_t at = 0;

    for (int i = 0; i < PAIR_PARTS; i++) {
        p->part[i] = (wm_pair_rows){.n = count[i],
                                    .dim_u = du,
                                    .dim_v = dv,
                                    .u = p->rows[0] + at * du,
                                    .v = p->rows[1] + at * dv};
        at += count[i];
    }
}

static wm_status split(own_pairs *p, pair_tables *t, const pair_flags *f, cli_call *call,
                       wm_error *err)
{
    const int64_t n = wm_data_count(t->data[0]);
    const int64_t du = wm_data_dim(t->data[0]), dv = wm_data_dim(t->data[1]);
    int64_t count[PAIR_PARTS], *order = NULL;
    double *spare = NULL;
    wm_status st;

    if ((st = count_parts(count, n, f->held_out, err)))
        return st;
    order = malloc(sizeof *order * (size_t)n);
    spare = malloc(sizeof *spare * (size_t)(n * (du > dv ? du : dv)));
    if (!order || !spare) {
        st = WM_ENOMEM;
        goto done;
    }
    wm_pairing_draw((uint64_t)call->common->seed, 0, n, 1, n, order, NULL);
    for (int s = 0; s < 2; s++) {
        put_in_order(t->data[s], order, spare);
        if ((st = encode(p, s, t->data[s], t->schema[s], count[PART_TRAIN], f, call, err)))
            goto done;
    }
    lay_parts(p, count);
done:
    free(order);
    free(spare);
    return st;
}

/* ---- blocks ---- */

static wm_status bad_blocks(const char *text, const own_pairs *p, cli_call *call, wm_error *err)
{
    const wm_embed_shape is = p->shape[1];

    if (is.height)
        return cli_usage(call, err,
                         "--blocks '%.40s': tiles of an image of %" PRId64 " x %" PRId64
                         " are wanted as rows x columns, such as 2x2, or N bands",
                         text, is.height, is.width);
    return cli_usage(call, err,
                     "--blocks '%.40s': v has %" PRId64 " columns; a number of runs is wanted, or "
                     "their sizes, which add up to that, as in 3,3,2",
                     text, wm_columns_raw(p->columns[1]));
}

/* Tiles of an image, by rows. */
static bool tile(int64_t *blocks, wm_embed_shape is, int64_t rows, int64_t columns)
{
    if (rows < 1 || columns < 1 || rows > is.height || columns > is.width)
        return false;
    for (int64_t y = 0; y < is.height; y++)
        for (int64_t x = 0; x < is.width; x++)
            for (int64_t c = 0; c < is.channels; c++)
                blocks[(y * is.width + x) * is.channels + c] =
                    y * rows / is.height * columns + x * columns / is.width;
    return true;
}

/* The run of each column, of (raw), from a number of runs or from their sizes. */
static bool cut_runs(int64_t *run, int64_t raw, const char *text)
{
    const bool sizes = strchr(text, ',') != NULL;
    int64_t at = 0, k = 0;

    for (const char *p = text;; k++) {
        char *end;
        const long long x = strtoll(p, &end, 10);

        if (end == p || *p == '+' || *p == ' ' || x < 1 || x > raw || (sizes && x > raw - at) ||
            (*end && *end != ','))
            return false;
        if (!sizes) {
            for (int64_t j = 0; j < raw; j++)
                run[j] = j * x / raw;
            return true;
        }
        for (int64_t j = 0; j < x; j++)
            run[at++] = k;
        if (!*end)
            return at == raw;
        p = end + 1;
    }
}

static bool cut_image(int64_t *blocks, wm_embed_shape is, const char *text)
{
    long long rows = 2, columns = 2;
    int used = 0;

    if (!text)
        return tile(blocks, is, is.height < 2 ? 1 : 2, is.width < 2 ? 1 : 2);
    if (sscanf(text, "%lldx%lld%n", &rows, &columns, &used) == 2 && !text[used])
        return tile(blocks, is, rows, columns);
    return sscanf(text, "%lld%n", &rows, &used) == 1 && !text[used] && tile(blocks, is, rows, 1);
}

static wm_status make_blocks(own_pairs *p, const pair_flags *f, cli_call *call, wm_error *err)
{
    const int64_t dim = wm_columns_dim(p->columns[1]), raw = wm_columns_raw(p->columns[1]);
    int64_t *run = NULL;
    wm_status st = WM_OK;

    p->blocks = malloc(sizeof *p->blocks * (size_t)dim);
    run = malloc(sizeof *run * (size_t)raw);
    if (!p->blocks || !run) {
        st = WM_ENOMEM;
    } else if (p->shape[1].height) {
        if (!cut_image(p->blocks, p->shape[1], f->blocks))
            st = bad_blocks(f->blocks, p, call, err);
    } else {
        for (int64_t j = 0; j < raw; j++)
            run[j] = j;
        wm_columns_origin(p->columns[1], p->blocks);
        if (f->blocks && !cut_runs(run, raw, f->blocks))
            st = bad_blocks(f->blocks, p, call, err);
        for (int64_t j = 0; !st && j < dim; j++)
            p->blocks[j] = run[p->blocks[j]];
    }
    free(run);
    return st;
}

wm_status own_pairs_read(own_pairs *p, const pair_flags *f, const read_flags *read, cli_call *call,
                         wm_error *err)
{
    pair_tables t = {0};
    wm_status st;

    if ((st = find_images(p, f, call, err)))
        return st;
    if (!isnan(f->divide) && !p->shape[0].height && !p->shape[1].height)
        return cli_usage(call, err, "--divide is for images: say what they are by --image HxW");
    if (!(st = read_tables(&t, p, read, call, err)) && !(st = split(p, &t, f, call, err)))
        st = make_blocks(p, f, call, err);
    pair_tables_free(&t);
    return st;
}

void own_pairs_free(own_pairs *p)
{
    for (int s = 0; s < 2; s++) {
        wm_columns_free(p->columns[s]);
        free(p->rows[s]);
    }
    free(p->blocks);
}
