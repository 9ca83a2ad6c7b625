/* columns.c - the encoder of encode.h for models of pairs, and its place in their files. */
#include "columns/columns_impl.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "data/formats/model_file.h"

void wm_columns_free(wm_columns *c)
{
    if (!c)
        return;
    wmi_encoder_free(&c->encoder);
    wmi_free(c->schema);
    wmi_free(c);
}

int64_t wm_columns_raw(const wm_columns *c)
{
    return c->encoder.raw;
}

int64_t wm_columns_dim(const wm_columns *c)
{
    return c->encoder.dim;
}

const char *wm_columns_schema(const wm_columns *c)
{
    return c->schema;
}

void wmi_columns_origin(const wm_columns *c, int64_t *of)
{
    for (int64_t j = 0; j < c->encoder.raw; j++)
        for (int64_t f = c->encoder.first[j]; f < c->encoder.first[j + 1]; f++)
            of[f] = j;
}

/* ---- learning ---- */

static wm_status keep_schema(wm_columns *c, const char *text, wm_error *err)
{
    return wmi_alloc_text(&c->schema, text, "schema", err);
}

/* What messages call the columns. */
typedef struct names {
    char (*text)[96];
    const char **at;
} names;

static wm_status name_columns(names *n, const wm_schema *s, wm_error *err)
{
    const int64_t dim = wm_schema_dim(s);
    wm_status st;

    if ((st = wmi_alloc(&n->text, dim, sizeof *n->text, "names", err)) ||
        (st = wmi_alloc(&n->at, dim, sizeof *n->at, "names", err)))
        return st;
    for (int64_t j = 0; j < dim; j++)
        n->at[j] = wm_schema_describe(s, j, n->text[j], sizeof n->text[j]);
    return WM_OK;
}

wm_status wm_columns_fit(wm_columns **out, int64_t n, const double *rows, const wm_schema *schema,
                         wm_error *err)
{
    const int64_t dim = wm_schema_dim(schema), count[2] = {n, 0};
    const double *const tables[2] = {rows, NULL};
    wmi_encode_opts o = {.standardize = true};
    names called = {0};
    wm_columns *c = NULL;
    wm_kind *kind = NULL;
    int64_t *levels = NULL;
    char *text = NULL;
    wm_status st;

    *out = NULL;
    if (n < 1 || dim < 1)
        return wmi_fail(err, WM_EINVAL, "%" PRId64 " rows of %" PRId64 " columns", n, dim);
    if ((st = wmi_alloc(&c, 1, sizeof *c, "columns", err)) ||
        (st = wmi_alloc(&kind, dim, sizeof *kind, "columns", err)) ||
        (st = wmi_alloc(&levels, dim, sizeof *levels, "columns", err)) ||
        (st = name_columns(&called, schema, err)) || (st = wm_schema_write(schema, &text, err)) ||
        (st = keep_schema(c, text, err)))
        goto done;
    for (int64_t j = 0; j < dim; j++) {
        kind[j] = wm_schema_kind(schema, j);
        levels[j] = wm_schema_levels(schema, j);
    }
    o.kind = kind;
    o.levels = levels;
    o.label = called.at;
    if ((st = wmi_encoder_fit(&c->encoder, dim, count, tables, &o, err)))
        goto done;
    *out = c;
    c = NULL;
done:
    wm_text_free(text);
    wmi_free(called.text);
    wmi_free(called.at);
    wmi_free(levels);
    wmi_free(kind);
    wm_columns_free(c);
    return st;
}

wm_status wm_columns_divide(wm_columns **out, int64_t dim, double by, wm_error *err)
{
    wm_columns *c = NULL;
    wm_status st;

    *out = NULL;
    if (dim < 1 || !isfinite(by) || by == 0)
        return wmi_fail(err, WM_EINVAL, "%" PRId64 " columns divided by %g", dim, by);
    if ((st = wmi_alloc(&c, 1, sizeof *c, "columns", err)))
        return st;
    if ((st = wmi_encoder_new(&c->encoder, dim, &(wmi_encode_opts){0}, err))) {
        wm_columns_free(c);
        return st;
    }
    for (int64_t j = 0; j < dim; j++)
        c->encoder.scale[j] = by;
    *out = c;
    return WM_OK;
}

wm_status wmi_columns_copy(wm_columns **out, const wm_columns *c, wm_error *err)
{
    wm_columns *own = NULL;
    wm_status st;

    *out = NULL;
    if (!c)
        return WM_OK;
    if ((st = wmi_alloc(&own, 1, sizeof *own, "columns", err)))
        return st;
    if ((st = wmi_encoder_copy(&own->encoder, &c->encoder, err)) ||
        (c->schema && (st = keep_schema(own, c->schema, err)))) {
        wm_columns_free(own);
        return st;
    }
    *out = own;
    return WM_OK;
}

/* ---- applying ---- */

enum { BLOCK = 256 }; /* rows at once, as doubles */

wm_status wm_columns_apply(const wm_columns *c, int64_t n, const double *rows, float *out,
                           wm_error *err)
{
    const int64_t raw = c->encoder.raw, dim = c->encoder.dim;
    double *x = NULL;
    wm_status st = wmi_alloc(&x, BLOCK * dim, sizeof *x, "rows", err);

    for (int64_t i = 0; !st && i < n; i += BLOCK) {
        const int64_t take = n - i < BLOCK ? n - i : BLOCK;

        if ((st = wmi_encoder_apply(&c->encoder, take, rows + i * raw, x, err)))
            break;
        for (int64_t k = 0; k < take * dim; k++)
            out[i * dim + k] = (float)x[k];
    }
    wmi_free(x);
    return st;
}

/* ---- files ---- */

static const char *const schema_keys[2] = {"schema_u", "schema_v"};
static const char *const prefixes[2] = {"columns_u.", "columns_v."};

wm_status wmi_columns_file_open(wmi_columns_file *file, const wm_columns *const side[2],
                                wm_error *err)
{
    wm_status st;

    for (int s = 0; s < 2; s++) {
        if (!side[s])
            continue;
        if ((st = wmi_encoder_file_open(&file->encoder[s], &side[s]->encoder, prefixes[s],
                                        WMI_KINDS_SHORT, err)))
            return st;
        for (int i = 0; i < WMI_ENCODER_TENSORS; i++)
            if (file->encoder[s].tensor[i].name)
                file->tensor[file->n_tensors++] = file->encoder[s].tensor[i];
        if (side[s]->schema)
            file->meta[file->n_meta++] = (wmi_st_pair){schema_keys[s], side[s]->schema};
    }
    return WM_OK;
}

void wmi_columns_file_close(wmi_columns_file *file)
{
    wmi_encoder_file_close(&file->encoder[0]);
    wmi_encoder_file_close(&file->encoder[1]);
}

wm_status wmi_columns_read(wm_columns **out, const wmi_safetensors *f, int side, const char *path,
                           wm_error *err)
{
    char kinds[WMI_ENCODER_NAME];
    wm_columns *c = NULL;
    wm_status st;

    *out = NULL;
    snprintf(kinds, sizeof kinds, "%skinds", prefixes[side]);
    if (!wmi_safetensors_find(f, kinds))
        return WM_OK;
    if ((st = wmi_alloc(&c, 1, sizeof *c, "columns", err)) ||
        (st = wmi_encoder_read(&c->encoder, f, prefixes[side], path, side ? " of v" : " of u",
                               err)) ||
        (st = wmi_meta_schema(f, path, schema_keys[side], c->encoder.raw, &c->schema, err))) {
        wm_columns_free(c);
        return st;
    }
    *out = c;
    return WM_OK;
}
