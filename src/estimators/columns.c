/* columns.c - the encoder of encode.h for models of pairs, and its place in their files. */
#include "waymark/columns.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "data/safetensors.h"
#include "estimators/encode.h"
#include "estimators/model_file.h"

struct wm_columns {
    wmi_encoder encoder;
    char *schema; /* or NULL; of the allocator of alloc.h */
};

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

void wm_columns_origin(const wm_columns *c, int64_t *of)
{
    for (int64_t j = 0; j < c->encoder.raw; j++)
        for (int64_t f = c->encoder.first[j]; f < c->encoder.first[j + 1]; f++)
            of[f] = j;
}

/* ---- learning ---- */

static wm_status keep_schema(wm_columns *c, const char *text, wm_error *err)
{
    const size_t bytes = strlen(text) + 1;
    const wm_status st = wmi_alloc(&c->schema, (int64_t)bytes, 1, "schema", err);

    if (!st)
        memcpy(c->schema, text, bytes);
    return st;
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
    wmi_encode_opts o = {.standardise = true};
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

/* The four tensors of a side, by names with its letter. */
enum { N_TENSORS = 4, KIND_ROWS = 2 }; /* kinds are (2, raw): the kind and its levels */
static const char *const tensor_names[2][N_TENSORS] = {
    {"columns_u.kinds", "columns_u.levels", "columns_u.shift", "columns_u.scale"},
    {"columns_v.kinds", "columns_v.levels", "columns_v.shift", "columns_v.scale"}};
static const char *const schema_keys[2] = {"schema_u", "schema_v"};

static void list_tensors(const wmi_encoder *e, int side, const int64_t *kinds,
                         wmi_st_tensor t[N_TENSORS])
{
    const char *const *name = tensor_names[side];

    t[0] = (wmi_st_tensor){name[0], WMI_ST_I64, 2, {KIND_ROWS, e->raw}, kinds};
    t[1] = (wmi_st_tensor){name[1], WMI_ST_F64, 1, {e->dim}, e->level};
    t[2] = (wmi_st_tensor){name[2], WMI_ST_F64, 1, {e->dim}, e->shift};
    t[3] = (wmi_st_tensor){name[3], WMI_ST_F64, 1, {e->dim}, e->scale};
}

static wm_status pack_kinds(int64_t **out, const wmi_encoder *e, wm_error *err)
{
    wm_status st = wmi_alloc(out, KIND_ROWS * e->raw, sizeof **out, "kinds", err);

    for (int64_t j = 0; !st && j < e->raw; j++) {
        (*out)[j] = e->kind[j];
        (*out)[e->raw + j] = e->levels[j];
    }
    return st;
}

wm_status wm_columns_store(const wm_columns *u, const wm_columns *v, const char *path,
                           wm_error *err)
{
    const wm_columns *const side[2] = {u, v};
    int64_t *kinds[2] = {NULL, NULL}, n, n_meta;
    wmi_safetensors *f = NULL;
    wmi_st_tensor *t = NULL;
    wmi_st_pair *meta = NULL;
    wm_status st;

    if ((st = wmi_safetensors_open(&f, path, err)))
        return st;
    n = wmi_safetensors_count(f);
    n_meta = wmi_safetensors_pairs(f, NULL);
    if ((st = wmi_alloc(&t, n + 2 * N_TENSORS, sizeof *t, "tensors", err)) ||
        (st = wmi_alloc(&meta, n_meta + 2, sizeof *meta, "metadata", err)))
        goto done;
    for (int64_t i = 0; i < n; i++)
        t[i] = *wmi_safetensors_at(f, i);
    wmi_safetensors_pairs(f, meta);
    for (int s = 0; s < 2; s++) {
        if ((st = pack_kinds(&kinds[s], &side[s]->encoder, err)))
            goto done;
        list_tensors(&side[s]->encoder, s, kinds[s], t + n);
        n += N_TENSORS;
        if (side[s]->schema)
            meta[n_meta++] = (wmi_st_pair){schema_keys[s], side[s]->schema};
    }
    st = wmi_safetensors_write(path, t, n, meta, n_meta, err);
done:
    wmi_free(kinds[0]);
    wmi_free(kinds[1]);
    wmi_free(meta);
    wmi_free(t);
    wmi_safetensors_close(f);
    return st;
}

/* An encoder of the kinds and levels that the file has. */
static wm_status open_encoder(wmi_encoder *e, const wmi_safetensors *f, int side, const char *path,
                              wm_error *err)
{
    const int64_t any[2] = {KIND_ROWS, -1}, *kinds;
    const wmi_st_tensor *t;
    wm_kind *kind = NULL;
    int64_t raw;
    wm_status st;

    if ((st = wmi_safetensors_need(&t, f, tensor_names[side][0], WMI_ST_I64, 2, any, err)))
        return st;
    raw = t->dim[1];
    kinds = t->data;
    if ((st = wmi_alloc(&kind, raw, sizeof *kind, "kinds", err)))
        return st;
    for (int64_t j = 0; !st && j < raw; j++) {
        if (kinds[j] < 0 || kinds[j] > WM_KIND_CATEGORICAL || kinds[raw + j] < 0 ||
            kinds[raw + j] > 1000000)
            st =
                wmi_fail(err, WM_EFORMAT,
                         "%s: column %" PRId64 " of %c has kind %" PRId64 " and %" PRId64 " levels",
                         path, j + 1, side ? 'v' : 'u', kinds[j], kinds[raw + j]);
        else
            kind[j] = (wm_kind)kinds[j];
    }
    if (!st && raw < 1)
        st = wmi_fail(err, WM_EFORMAT, "%s: %c has no columns", path, side ? 'v' : 'u');
    if (!st)
        st = wmi_encoder_new(e, raw, &(wmi_encode_opts){.kind = kind, .levels = kinds + raw}, err);
    wmi_free(kind);
    return st;
}

static wm_status read_side(wm_columns **out, const wmi_safetensors *f, int side, const char *path,
                           wm_error *err)
{
    const char *schema = wmi_safetensors_meta(f, schema_keys[side]);
    wmi_st_tensor t[N_TENSORS];
    wm_columns *c = NULL;
    wm_status st;

    if ((st = wmi_alloc(&c, 1, sizeof *c, "columns", err)) ||
        (st = open_encoder(&c->encoder, f, side, path, err)) ||
        (schema && (st = keep_schema(c, schema, err))))
        goto done;
    list_tensors(&c->encoder, side, NULL, t);
    if ((st = wmi_tensor_read(f, &t[1], c->encoder.level, err)) ||
        (st = wmi_tensor_read(f, &t[2], c->encoder.shift, err)) ||
        (st = wmi_tensor_read(f, &t[3], c->encoder.scale, err)))
        goto done;
    for (int64_t j = 0; j < c->encoder.dim; j++)
        if (!isfinite(c->encoder.shift[j]) || !isfinite(c->encoder.scale[j]) ||
            c->encoder.scale[j] == 0) {
            st = wmi_fail(err, WM_EFORMAT, "%s: %s[%" PRId64 "] is %g", path, t[3].name, j,
                          c->encoder.scale[j]);
            goto done;
        }
    *out = c;
    c = NULL;
done:
    wm_columns_free(c);
    return st;
}

wm_status wm_columns_load(wm_columns **u, wm_columns **v, const char *path, wm_error *err)
{
    wmi_safetensors *f = NULL;
    wm_status st;

    *u = NULL;
    if (v)
        *v = NULL;
    if ((st = wmi_safetensors_open(&f, path, err)))
        return st;
    if (!wmi_safetensors_find(f, tensor_names[0][0]))
        goto done;
    if ((st = read_side(u, f, 0, path, err)) || (v && (st = read_side(v, f, 1, path, err)))) {
        wm_columns_free(*u);
        *u = NULL;
    }
done:
    wmi_safetensors_close(f);
    return st;
}
