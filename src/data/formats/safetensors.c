/* safetensors.c - writer and reader. The header is jansson's; everything it claims is checked
 * against the file's size before memory is taken. */
#include "data/formats/safetensors.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "data/formats/bytes.h"
#include "data/formats/safetensors_sums.h"

#define MAX_HEADER 100000000 /* bytes, the limit of the reference implementation */
#define ALIGN 64
#define META "__metadata__"

static const struct {
    const char *name;
    size_t size;
} dtypes[] = {
    [WMI_ST_F32] = {"F32", 4},   [WMI_ST_F64] = {"F64", 8},   [WMI_ST_I64] = {"I64", 8},
    [WMI_ST_U64] = {"U64", 8},   [WMI_ST_I32] = {"I32", 4},   [WMI_ST_U8] = {"U8", 1},
    [WMI_ST_F16] = {"F16", 2},   [WMI_ST_BF16] = {"BF16", 2}, [WMI_ST_I8] = {"I8", 1},
    [WMI_ST_I16] = {"I16", 2},   [WMI_ST_U16] = {"U16", 2},   [WMI_ST_U32] = {"U32", 4},
    [WMI_ST_BOOL] = {"BOOL", 1},
};
#define N_DTYPES ((int)(sizeof dtypes / sizeof *dtypes))

size_t wmi_st_dtype_size(wmi_st_dtype dtype)
{
    return dtypes[dtype].size;
}

const char *wmi_st_dtype_name(wmi_st_dtype dtype)
{
    return dtypes[dtype].name;
}

/* The format is little-endian and we copy bytes as they are. */
static wm_status check_machine(const char *path, wm_error *err)
{
    const uint16_t one = 1;
    unsigned char low;

    memcpy(&low, &one, 1);
    return low ? WM_OK
               : wmi_fail(err, WM_EUNSUPPORTED, "%s: safetensors on a big-endian machine",
                          wmi_path_tail(path));
}

/* Bytes of a tensor; false if they cannot be counted. */
static bool tensor_bytes(const wmi_st_tensor *t, int64_t *bytes)
{
    *bytes = (int64_t)dtypes[t->dtype].size;
    for (int i = 0; i < t->rank; i++)
        if (t->dim[i] < 0 || __builtin_mul_overflow(*bytes, t->dim[i], bytes))
            return false;
    return true;
}

/* "F32 [3, 4]" */
static const char *describe(char *buf, size_t size, wmi_st_dtype dtype, int rank,
                            const int64_t *dim)
{
    int n = snprintf(buf, size, "%s [", dtypes[dtype].name);

    for (int i = 0; i < rank && n < (int)size; i++) {
        char number[24] = "any";

        if (dim[i] >= 0)
            snprintf(number, sizeof number, "%" PRId64, dim[i]);
        n += snprintf(buf + n, size - (size_t)n, "%s%s", i ? ", " : "", number);
    }
    if (n < (int)size)
        snprintf(buf + n, size - (size_t)n, "]");
    return buf;
}

/* --- writing -----------------------------------------------------------------------------------*/

static wm_status check_tensor(const char *path, const wmi_st_tensor *t, wm_error *err)
{
    int64_t bytes;

    if (!t->name || !*t->name || strcmp(t->name, META) == 0)
        return wmi_fail(err, WM_EINVAL, "%s: '%s' cannot name a tensor", wmi_path_tail(path),
                        t->name ? t->name : "");
    if (t->rank < 0 || t->rank > WMI_ST_MAX_RANK || (int)t->dtype < 0 || (int)t->dtype >= N_DTYPES)
        return wmi_fail(err, WM_EINVAL, "%s: tensor '%s': rank %d, type %d", wmi_path_tail(path),
                        t->name, t->rank, (int)t->dtype);
    if (!tensor_bytes(t, &bytes))
        return wmi_fail(err, WM_EINVAL, "%s: tensor '%s': its shape is negative or too large",
                        wmi_path_tail(path), t->name);
    if (bytes && !t->data)
        return wmi_fail(err, WM_EINVAL, "%s: tensor '%s' has no data", wmi_path_tail(path),
                        t->name);
    return WM_OK;
}

static json_t *tensor_entry(const wmi_st_tensor *t, int64_t begin, int64_t end)
{
    json_t *shape = json_array(), *entry;

    for (int i = 0; i < t->rank; i++)
        json_array_append_new(shape, json_integer(t->dim[i]));
    entry = json_pack("{s:s, s:o, s:[I, I]}", "dtype", dtypes[t->dtype].name, "shape", shape,
                      "data_offsets", (json_int_t)begin, (json_int_t)end);
    return entry; /* NULL when any part of it is */
}

/* order[] holds the tensors' numbers as they will stand in the file: by width, else as given. */
static void sort_by_width(const wmi_st_tensor *tensors, int64_t n, int64_t *order)
{
    int64_t k = 0;

    for (size_t width = 8; width >= 1; width /= 2)
        for (int64_t i = 0; i < n; i++)
            if (dtypes[tensors[i].dtype].size == width)
                order[k++] = i;
}

static wm_status build_header(char **out, const char *path, const wmi_st_tensor *tensors,
                              int64_t n_tensors, const int64_t *order, const wmi_st_pair *meta,
                              int64_t n_meta, wm_error *err)
{
    wm_status st = WM_OK;
    json_t *root = json_object(), *pairs = json_object();
    int64_t at = 0;

    *out = NULL;
    for (int64_t i = 0; i < n_meta; i++)
        if (json_object_set_new(pairs, meta[i].key, json_string(meta[i].value))) {
            st = wmi_fail(err, WM_EINVAL, "%s: metadata '%s' is not UTF-8, or no memory",
                          wmi_path_tail(path), meta[i].key);
            goto done;
        }
    if (n_meta)
        json_object_set(root, META, pairs);
    for (int64_t k = 0; k < n_tensors; k++) {
        const wmi_st_tensor *t = &tensors[order[k]];
        int64_t bytes, end;

        if (json_object_get(root, t->name)) {
            st = wmi_fail(err, WM_EINVAL, "%s: tensor '%s' is there twice", wmi_path_tail(path),
                          t->name);
            goto done;
        }
        if (!tensor_bytes(t, &bytes) || __builtin_add_overflow(at, bytes, &end)) {
            st = wmi_fail(err, WM_EINVAL, "%s: tensor '%s': too large", wmi_path_tail(path),
                          t->name);
            goto done;
        }
        if (json_object_set_new(root, t->name, tensor_entry(t, at, end))) {
            st = wmi_fail(err, WM_EINVAL, "%s: tensor '%s': name is not UTF-8, or no memory",
                          wmi_path_tail(path), t->name);
            goto done;
        }
        at = end;
    }
    if (!n_meta || wmi_st_sums_add(root, tensors, n_tensors))
        *out = json_dumps(root, JSON_COMPACT);
    if (!*out)
        st = wmi_fail(err, WM_ENOMEM, "%s: no memory for the header", wmi_path_tail(path));
done:
    json_decref(pairs);
    json_decref(root);
    return st;
}

wm_status wmi_safetensors_write(const char *path, const wmi_st_tensor *tensors, int64_t n_tensors,
                                const wmi_st_pair *meta, int64_t n_meta, wm_error *err)
{
    wm_status st;
    int64_t *order = NULL;
    char *header = NULL;
    size_t length, pad;
    wmi_file *f = NULL;
    FILE *out;

    if ((st = check_machine(path, err)))
        return st;
    for (int64_t i = 0; i < n_tensors; i++)
        if ((st = check_tensor(path, &tensors[i], err)))
            return st;
    if ((st = wmi_alloc(&order, n_tensors, sizeof *order, "safetensors", err)))
        return st;
    sort_by_width(tensors, n_tensors, order);
    st = build_header(&header, path, tensors, n_tensors, order, meta, n_meta, err);
    if (st || (st = wmi_file_open(&f, path, err)))
        goto done;
    out = wmi_file_stream(f);
    length = strlen(header);
    pad = (ALIGN - (8 + length) % ALIGN) % ALIGN;
    for (int i = 0; i < 8; i++)
        putc((int)(((uint64_t)(length + pad) >> (8 * i)) & 0xff), out);
    fprintf(out, "%s%*s", header, (int)pad, "");
    for (int64_t k = 0; k < n_tensors; k++) {
        const wmi_st_tensor *t = &tensors[order[k]];
        int64_t bytes = 0;

        if (tensor_bytes(t, &bytes) && bytes)
            fwrite(t->data, 1, (size_t)bytes, out);
    }
    st = wmi_file_commit(f, err); /* finds what the writes above did not say */
done:
    free(header);
    wmi_free(order);
    return st;
}

/* --- reading -----------------------------------------------------------------------------------*/

typedef struct range {
    int64_t begin, end; /* in the file's data part */
} range;

typedef struct item {
    wmi_st_tensor t;
    range at;
} item;

struct wmi_safetensors {
    char *path;
    json_t *root; /* owns names and metadata */
    int64_t n;
    item *items;          /* (n), in file order */
    unsigned char *block; /* all data, each tensor on a multiple of ALIGN; NULL: parsed only */
    bool has_sums;        /* and they hold */
};

static wm_status bad(const wmi_safetensors *s, const char *name, const char *what, wm_error *err)
{
    return wmi_fail(err, WM_EFORMAT, "%s: tensor '%.60s': %s", wmi_path_tail(s->path), name, what);
}

/* The 8 bytes of length and the JSON after them. */
static wm_status read_header(wmi_safetensors *s, const unsigned char *file, int64_t size,
                             int64_t *data_at, wm_error *err)
{
    const char *path = wmi_path_tail(s->path);
    uint64_t length = 0;
    json_error_t why;

    if (size < 8)
        return wmi_fail(err, WM_EFORMAT, "%s: %" PRId64 " bytes, too short for a safetensors file",
                        path, size);
    for (int i = 0; i < 8; i++)
        length |= (uint64_t)file[i] << (8 * i);
    if (length > MAX_HEADER)
        return wmi_fail(err, WM_EFORMAT,
                        "%s: says its header has %" PRIu64 " bytes: not a safetensors file", path,
                        length);
    if ((int64_t)length > size - 8)
        return wmi_fail(err, WM_EFORMAT,
                        "%s: cut short: a header of %" PRIu64 " bytes in a file of %" PRId64, path,
                        length, size);
    if (length == 0 || file[8] != '{')
        return wmi_fail(err, WM_EFORMAT,
                        "%s: header does not begin with '{': not a safetensors file", path);
    s->root = json_loadb((const char *)file + 8, length, JSON_REJECT_DUPLICATES, &why);
    if (!s->root)
        return wmi_fail(err, WM_EFORMAT, "%s: header, byte %d: %.80s", path, why.position,
                        why.text);
    *data_at = 8 + (int64_t)length;
    return WM_OK;
}

static wm_status check_metadata(const wmi_safetensors *s, wm_error *err)
{
    json_t *meta = json_object_get(s->root, META);

    if (!meta)
        return WM_OK;
    if (!json_is_object(meta))
        return wmi_fail(err, WM_EFORMAT, "%s: " META " is not an object", wmi_path_tail(s->path));
    for (void *i = json_object_iter(meta); i; i = json_object_iter_next(meta, i))
        if (!json_is_string(json_object_iter_value(i)))
            return wmi_fail(err, WM_EFORMAT, "%s: " META " '%.60s' is not a text",
                            wmi_path_tail(s->path), json_object_iter_key(i));
    return WM_OK;
}

/* One entry of the header, on its own: type, shape, and a range that fits both. */
static wm_status parse_entry(const wmi_safetensors *s, item *it, const char *name,
                             const json_t *entry, int64_t data_size, wm_error *err)
{
    const json_t *dtype = json_object_get(entry, "dtype"), *shape = json_object_get(entry, "shape"),
                 *offsets = json_object_get(entry, "data_offsets");
    int64_t bytes;
    char want[128];
    int d = 0;

    if (!*name)
        return bad(s, name, "its name is empty", err);
    if (!json_is_object(entry) || !json_is_string(dtype) || !json_is_array(shape) ||
        !json_is_array(offsets) || json_object_size(entry) != 3)
        return bad(s, name, "needs exactly dtype, shape and data_offsets", err);
    while (d < N_DTYPES && strcmp(dtypes[d].name, json_string_value(dtype)) != 0)
        d++;
    if (d == N_DTYPES)
        return wmi_fail(err, WM_EUNSUPPORTED, "%s: tensor '%.60s': type %.20s is not supported",
                        wmi_path_tail(s->path), name, json_string_value(dtype));
    if (json_array_size(shape) > WMI_ST_MAX_RANK)
        return bad(s, name, "has more than 8 dimensions", err);
    it->t = (wmi_st_tensor){
        .name = name, .dtype = (wmi_st_dtype)d, .rank = (int)json_array_size(shape)};
    for (int i = 0; i < it->t.rank; i++) {
        const json_t *dim = json_array_get(shape, (size_t)i);

        it->t.dim[i] = json_integer_value(dim);
        if (!json_is_integer(dim) || it->t.dim[i] < 0)
            return bad(s, name, "its shape is not made of integers from 0 up", err);
    }
    if (!tensor_bytes(&it->t, &bytes))
        return bad(s, name, "its shape is too large", err);
    if (json_array_size(offsets) != 2 || !json_is_integer(json_array_get(offsets, 0)) ||
        !json_is_integer(json_array_get(offsets, 1)))
        return bad(s, name, "data_offsets are not two integers", err);
    it->at.begin = json_integer_value(json_array_get(offsets, 0));
    it->at.end = json_integer_value(json_array_get(offsets, 1));
    if (it->at.begin < 0 || it->at.end < it->at.begin)
        return bad(s, name, "data_offsets do not increase", err);
    if (it->at.end > data_size)
        return wmi_fail(err, WM_EFORMAT,
                        "%s: tensor '%.60s': ends at byte %" PRId64 " of %" PRId64
                        " data bytes: the file is cut short",
                        wmi_path_tail(s->path), name, it->at.end, data_size);
    if (it->at.end - it->at.begin != bytes)
        return wmi_fail(err, WM_EFORMAT, "%s: tensor '%.60s': %" PRId64 " bytes for %s",
                        wmi_path_tail(s->path), name, it->at.end - it->at.begin,
                        describe(want, sizeof want, it->t.dtype, it->t.rank, it->t.dim));
    return WM_OK;
}

static int by_offset(const void *a, const void *b)
{
    const range *p = &((const item *)a)->at, *q = &((const item *)b)->at;

    if (p->begin != q->begin)
        return p->begin < q->begin ? -1 : 1;
    return (p->end > q->end) - (p->end < q->end);
}

/* The ranges, sorted, must tile the data part. */
static wm_status check_ranges(const wmi_safetensors *s, int64_t data_size, wm_error *err)
{
    int64_t at = 0;

    for (int64_t i = 0; i < s->n; i++) {
        const item *it = &s->items[i];

        if (it->at.begin < at)
            return bad(s, it->t.name, "its bytes overlap those of another", err);
        if (it->at.begin > at)
            return bad(s, it->t.name, "bytes before it belong to no tensor", err);
        at = it->at.end;
    }
    if (at != data_size)
        return wmi_fail(err, WM_EFORMAT, "%s: %" PRId64 " bytes after the last tensor",
                        wmi_path_tail(s->path), data_size - at);
    return WM_OK;
}

/* Data in a block of our own: in a file they stand where they will, and we promise alignment. */
static wm_status copy_data(wmi_safetensors *s, wm_error *err)
{
    wm_status st;
    int64_t total = 0;

    for (int64_t i = 0; i < s->n; i++) /* cannot overflow: the ranges lie within the file */
        total += (s->items[i].at.end - s->items[i].at.begin + ALIGN - 1) / ALIGN * ALIGN;
    if ((st = wmi_alloc(&s->block, total, 1, "safetensors data", err)))
        return st;
    total = 0;
    for (int64_t i = 0; i < s->n; i++) {
        const int64_t bytes = s->items[i].at.end - s->items[i].at.begin;

        if (bytes)
            memcpy(s->block + total, s->items[i].t.data, (size_t)bytes);
        s->items[i].t.data = s->block + total;
        total += (bytes + ALIGN - 1) / ALIGN * ALIGN;
    }
    return WM_OK;
}

static wm_status parse_file(wmi_safetensors *s, const unsigned char *file, int64_t size,
                            wm_error *err)
{
    int64_t data_at = 0;
    wm_status st;

    if ((st = read_header(s, file, size, &data_at, err)) || (st = check_metadata(s, err)) ||
        (st = wmi_alloc(&s->items, (int64_t)json_object_size(s->root), sizeof *s->items,
                        "safetensors", err)))
        return st;
    for (void *i = json_object_iter(s->root); i; i = json_object_iter_next(s->root, i)) {
        const char *name = json_object_iter_key(i);

        if (strcmp(name, META) == 0)
            continue;
        if ((st = parse_entry(s, &s->items[s->n], name, json_object_iter_value(i), size - data_at,
                              err)))
            return st;
        s->items[s->n].t.data = file + data_at + s->items[s->n].at.begin;
        s->n++;
    }
    qsort(s->items, (size_t)s->n, sizeof *s->items, by_offset);
    return check_ranges(s, size - data_at, err);
}

wm_status wmi_safetensors_parse(wmi_safetensors **out, const char *path, const unsigned char *file,
                                int64_t size, wm_error *err)
{
    wmi_safetensors *s = NULL;
    wm_status st;

    *out = NULL;
    if ((st = wmi_alloc(&s, 1, sizeof *s, "safetensors", err)))
        return st;
    if ((st = wmi_path_join(&s->path, "", path, err)) || (st = parse_file(s, file, size, err)))
        wmi_safetensors_close(s);
    else
        *out = s;
    return st;
}

/* In an opened file: before, data may stand where no number can be read. */
static wm_status check_sums(wmi_safetensors *s, wm_error *err)
{
    wm_status st = wmi_st_sums_header(&s->has_sums, s->root, s->path, err);

    for (int64_t i = 0; i < s->n && !st && s->has_sums; i++)
        st = wmi_st_sums_tensor(s->root, &s->items[i].t, s->path, err);
    return st;
}

wm_status wmi_safetensors_open(wmi_safetensors **out, const char *path, wm_error *err)
{
    wm_status st;
    wmi_safetensors *s = NULL;
    wmi_bytes *bytes = NULL;
    const unsigned char *file;
    int64_t size;

    *out = NULL;
    if ((st = check_machine(path, err)) || (st = wmi_file_size(&size, path, err)) ||
        (st = wmi_bytes_open(&bytes, path, NULL, err)))
        return st;
    if (!wmi_bytes_mapped(bytes)) {
        st = wmi_fail(err, WM_EFORMAT, "%s: is gzipped, which models are not", wmi_path_tail(path));
        goto done;
    }
    if ((st = wmi_bytes_at(bytes, 0, wmi_bytes_size(bytes), &file, err)) ||
        (st = wmi_safetensors_parse(&s, path, file, wmi_bytes_size(bytes), err)) ||
        (st = copy_data(s, err)) || (st = check_sums(s, err)))
        goto done;
    *out = s;
    s = NULL;
done:
    wmi_safetensors_close(s);
    wmi_bytes_close(bytes);
    return st;
}

void wmi_safetensors_close(wmi_safetensors *s)
{
    if (!s)
        return;
    json_decref(s->root);
    wmi_free(s->items);
    wmi_free(s->block);
    wmi_free(s->path);
    wmi_free(s);
}

int64_t wmi_safetensors_count(const wmi_safetensors *s)
{
    return s->n;
}

const wmi_st_tensor *wmi_safetensors_at(const wmi_safetensors *s, int64_t i)
{
    return &s->items[i].t;
}

const wmi_st_tensor *wmi_safetensors_find(const wmi_safetensors *s, const char *name)
{
    for (int64_t i = 0; i < s->n; i++)
        if (strcmp(s->items[i].t.name, name) == 0)
            return &s->items[i].t;
    return NULL;
}

const char *wmi_safetensors_meta(const wmi_safetensors *s, const char *key)
{
    return json_string_value(json_object_get(json_object_get(s->root, META), key));
}

int64_t wmi_safetensors_pairs(const wmi_safetensors *s, wmi_st_pair *pairs)
{
    json_t *meta = json_object_get(s->root, META);
    int64_t n = 0;

    for (void *i = json_object_iter(meta); i; i = json_object_iter_next(meta, i)) {
        const char *key = json_object_iter_key(i);

        if (s->has_sums && strncmp(key, "checksum", 8) == 0)
            continue; /* the file's, not the writer's */
        if (pairs)
            pairs[n] = (wmi_st_pair){key, json_string_value(json_object_iter_value(i))};
        n++;
    }
    return n;
}

wm_status wmi_safetensors_own(const wmi_safetensors *s, wm_error *err)
{
    if (!s->has_sums)
        return wmi_fail(err, WM_EFORMAT,
                        "%s: damaged, or written by an earlier version: it has no checksums",
                        wmi_path_tail(s->path));
    return WM_OK;
}

wm_status wmi_safetensors_finite(const wmi_safetensors *s, const char *name, wm_error *err)
{
    const wmi_st_tensor *t = wmi_safetensors_find(s, name);

    return t ? wmi_st_finite(t, s->path, err) : WM_OK;
}

wm_status wmi_safetensors_need(const wmi_st_tensor **out, const wmi_safetensors *s,
                               const char *name, wmi_st_dtype dtype, int rank, const int64_t *dim,
                               wm_error *err)
{
    const wmi_st_tensor *t = wmi_safetensors_find(s, name);
    char has[96], wants[96];
    bool fits;

    *out = NULL;
    if (!t)
        return wmi_fail(err, WM_EFORMAT, "%s: tensor '%.60s' is missing", wmi_path_tail(s->path),
                        name);
    fits = t->dtype == dtype && t->rank == rank;
    for (int i = 0; fits && i < rank; i++)
        fits = dim[i] < 0 || dim[i] == t->dim[i];
    if (!fits)
        return wmi_fail(err, WM_ESHAPE, "%s: tensor '%.60s' is %s, expected %s",
                        wmi_path_tail(s->path), name,
                        describe(has, sizeof has, t->dtype, t->rank, t->dim),
                        describe(wants, sizeof wants, dtype, rank, dim));
    *out = t;
    return WM_OK;
}
