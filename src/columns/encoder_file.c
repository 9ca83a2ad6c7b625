/* encoder_file.c - encoders as tensors and back (encoder_file.h). */
#include "columns/encoder_file.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "data/formats/model_file.h"

enum { MOST_LEVELS = 1000000 };

static const char *const names[WMI_ENCODER_TENSORS] = {
    [WMI_ENCODER_KINDS] = "kinds",
    [WMI_ENCODER_LEVELS] = "levels",
    [WMI_ENCODER_SHIFT] = "shift",
    [WMI_ENCODER_SCALE] = "scale",
    [WMI_ENCODER_RANK_VALUES] = "rank_values",
    [WMI_ENCODER_RANK_SCORES] = "rank_scores",
};

static bool tells_features(const wmi_encoder *e)
{
    for (int64_t j = 0; j < e->raw; j++)
        if (e->first[j + 1] - e->first[j] != (e->levels[j] > 2 ? e->levels[j] - 1 : 1))
            return false;
    return true;
}

/* ---- writing ---- */

wm_status wmi_encoder_file_open(wmi_encoder_file *file, const wmi_encoder *e, const char *prefix,
                                int rows, wm_error *err)
{
    const int64_t raw = e->raw;
    wmi_st_tensor *t = file->tensor;
    wm_status st;

    rows = !tells_features(e) ? WMI_KINDS_MOST : e->rank ? WMI_KINDS_LONG : rows;
    if ((st = wmi_alloc(&file->kinds, WMI_KINDS_MOST * raw, sizeof *file->kinds, "kinds", err)))
        return st;
    for (int64_t j = 0; j < raw; j++) {
        file->kinds[j] = e->kind[j];
        if (rows == WMI_KINDS_SHORT) {
            file->kinds[raw + j] = e->levels[j];
            continue;
        }
        file->kinds[raw + j] = e->how[j];
        file->kinds[2 * raw + j] = e->levels[j];
        file->kinds[3 * raw + j] = e->ranked[j];
        file->kinds[4 * raw + j] = e->first[j + 1] - e->first[j];
    }
    t[WMI_ENCODER_KINDS] = (wmi_st_tensor){"", WMI_ST_I64, 2, {rows, raw}, file->kinds};
    t[WMI_ENCODER_LEVELS] = (wmi_st_tensor){"", WMI_ST_F64, 1, {e->dim}, e->level};
    t[WMI_ENCODER_SHIFT] = (wmi_st_tensor){"", WMI_ST_F64, 1, {e->dim}, e->shift};
    t[WMI_ENCODER_SCALE] = (wmi_st_tensor){"", WMI_ST_F64, 1, {e->dim}, e->scale};
    if (e->rank) {
        const int64_t dim = wmi_rank_dim(e->rank), knots = wmi_rank_knots(e->rank);

        t[WMI_ENCODER_RANK_VALUES] =
            (wmi_st_tensor){"", WMI_ST_F64, 2, {dim, knots}, wmi_rank_values(e->rank)};
        t[WMI_ENCODER_RANK_SCORES] =
            (wmi_st_tensor){"", WMI_ST_F64, 2, {dim, knots}, wmi_rank_scores(e->rank)};
    }
    for (int i = 0; i < WMI_ENCODER_TENSORS && t[i].name; i++) {
        snprintf(file->name[i], sizeof file->name[i], "%s%s", prefix, names[i]);
        t[i].name = file->name[i];
    }
    return WM_OK;
}

void wmi_encoder_file_close(wmi_encoder_file *file)
{
    wmi_free(file->kinds);
    *file = (wmi_encoder_file){.kinds = NULL};
}

/* ---- reading ---- */

/* The kinds of a file, in the longest form. */
typedef struct stored_kinds {
    int64_t raw, ranked; /* columns, and those made normal by rank */
    wm_kind *kind;
    int64_t *how, *levels, *rank, *features; /* (raw) in one array, which how owns */
    bool has_features;
} stored_kinds;

static void free_kinds(stored_kinds *k)
{
    wmi_free(k->kind);
    wmi_free(k->how);
}

static wm_status take_kinds(stored_kinds *k, const wmi_st_tensor *t, const char *path,
                            wm_error *err)
{
    const int64_t raw = t->dim[1], rows = t->dim[0], *from = t->data;
    wm_status st;

    if (raw < 1 || (rows != WMI_KINDS_SHORT && rows != WMI_KINDS_LONG && rows != WMI_KINDS_MOST))
        return wmi_fail(err, WM_EFORMAT,
                        "%s: tensor '%s' has %" PRId64 " rows of %" PRId64 " columns", path,
                        t->name, rows, raw);
    k->raw = raw;
    k->has_features = rows == WMI_KINDS_MOST;
    if ((st = wmi_alloc(&k->kind, raw, sizeof *k->kind, "kinds", err)) ||
        (st = wmi_alloc(&k->how, 4 * raw, sizeof *k->how, "kinds", err)))
        return st;
    k->levels = k->how + raw;
    k->rank = k->levels + raw;
    k->features = k->rank + raw;
    for (int64_t j = 0; j < raw; j++) {
        if (rows == WMI_KINDS_SHORT) {
            k->how[j] = from[j] == WM_KIND_CATEGORICAL ? WMI_ENCODE_LEVELS : WMI_ENCODE_SCALE;
            k->levels[j] = from[raw + j];
            k->rank[j] = -1;
        } else {
            k->how[j] = from[raw + j];
            k->levels[j] = from[2 * raw + j];
            k->rank[j] = from[3 * raw + j];
            k->features[j] = k->has_features ? from[4 * raw + j] : 0;
        }
    }
    return WM_OK;
}

/* Whether column j can be as the file says; ranks come in order. */
static bool makes_sense(stored_kinds *k, int64_t j, int64_t kind)
{
    const bool ranked = k->how[j] == WMI_ENCODE_RANK;

    return kind >= 0 && kind <= WM_KIND_CATEGORICAL && k->how[j] >= 0 &&
           k->how[j] <= WMI_ENCODE_LEVELS && k->levels[j] >= 0 && k->levels[j] <= MOST_LEVELS &&
           k->features[j] >= 0 && k->features[j] <= MOST_LEVELS &&
           (ranked ? k->rank[j] == k->ranked++ : k->rank[j] < 0) &&
           (k->how[j] == WMI_ENCODE_LEVELS) == (kind == WM_KIND_CATEGORICAL);
}

static wm_status read_rank(wmi_encoder *e, const wmi_encoder_file *like, int64_t ranked,
                           const wmi_safetensors *f, const char *path, wm_error *err)
{
    const int64_t columns[] = {ranked, -1};
    const wmi_st_tensor *values, *scores;
    wm_status st;

    if (!ranked)
        return WM_OK;
    if ((st = wmi_safetensors_need(&values, f, like->name[WMI_ENCODER_RANK_VALUES], WMI_ST_F64, 2,
                                   columns, err)) ||
        (st = wmi_safetensors_need(&scores, f, like->name[WMI_ENCODER_RANK_SCORES], WMI_ST_F64, 2,
                                   values->dim, err)))
        return st;
    return wmi_meta_blame(
        wmi_rank_from_knots(&e->rank, ranked, values->dim[1], values->data, scores->data, err),
        path, err);
}

static wm_status read_numbers(wmi_encoder *e, const wmi_encoder_file *like,
                              const wmi_safetensors *f, const char *path, wm_error *err)
{
    double *const to[] = {e->level, e->shift, e->scale};
    wm_status st = WM_OK;

    for (int i = 0; !st && i < 3; i++)
        st = wmi_tensor_read(
            f, &(wmi_st_tensor){like->name[WMI_ENCODER_LEVELS + i], WMI_ST_F64, 1, {e->dim}, NULL},
            to[i], err);
    for (int64_t j = 0; !st && j < e->dim; j++)
        if (!isfinite(e->shift[j]) || !isfinite(e->scale[j]) || e->scale[j] == 0)
            st = wmi_fail(err, WM_EFORMAT, "%s: %s[%" PRId64 "] is %g", path,
                          like->name[WMI_ENCODER_SCALE], j, e->scale[j]);
    return st;
}

wm_status wmi_encoder_read(wmi_encoder *e, const wmi_safetensors *f, const char *prefix,
                           const char *path, const char *of, wm_error *err)
{
    const int64_t any[] = {-1, -1};
    wmi_encoder_file like = {.kinds = NULL}; /* for its names */
    const wmi_st_tensor *t;
    stored_kinds k = {0};
    wm_status st;

    for (int i = 0; i < WMI_ENCODER_TENSORS; i++)
        snprintf(like.name[i], sizeof like.name[i], "%s%s", prefix, names[i]);
    if ((st = wmi_safetensors_need(&t, f, like.name[WMI_ENCODER_KINDS], WMI_ST_I64, 2, any, err)) ||
        (st = take_kinds(&k, t, path, err)))
        goto done;
    for (int64_t j = 0; j < k.raw; j++) {
        const int64_t kind = ((const int64_t *)t->data)[j];

        if (!makes_sense(&k, j, kind)) {
            st = wmi_fail(err, WM_EFORMAT,
                          "%s: column %" PRId64 "%s has kind %" PRId64 ", encoding %" PRId64
                          " and %" PRId64 " levels",
                          path, j + 1, of, kind, k.how[j], k.levels[j]);
            goto done;
        }
        k.kind[j] = (wm_kind)kind;
    }
    if ((st = wmi_encoder_new(e, k.raw,
                              &(wmi_encode_opts){.kind = k.kind,
                                                 .levels = k.levels,
                                                 .features = k.has_features ? k.features : NULL},
                              err)))
        goto done;
    memcpy(e->how, k.how, (size_t)k.raw * sizeof *e->how);
    memcpy(e->ranked, k.rank, (size_t)k.raw * sizeof *e->ranked);
    if (!(st = read_rank(e, &like, k.ranked, f, path, err)))
        st = read_numbers(e, &like, f, path, err);
done:
    free_kinds(&k);
    return st;
}
