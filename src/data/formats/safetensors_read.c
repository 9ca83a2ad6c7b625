/* safetensors_read.c - a tensor of a safetensors file as a table. The file is mapped; the header is
 * that of safetensors.c, which has checked every range by the time a tensor is chosen. */
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "data/formats/array.h"
#include "data/formats/safetensors.h"

static const wmi_element elements[] = {
    [WMI_ST_F32] = WMI_ELEMENT_F32,   [WMI_ST_F64] = WMI_ELEMENT_F64,
    [WMI_ST_I64] = WMI_ELEMENT_I64,   [WMI_ST_U64] = WMI_ELEMENT_U64,
    [WMI_ST_I32] = WMI_ELEMENT_I32,   [WMI_ST_U8] = WMI_ELEMENT_U8,
    [WMI_ST_F16] = WMI_ELEMENT_F16,   [WMI_ST_BF16] = WMI_ELEMENT_BF16,
    [WMI_ST_I8] = WMI_ELEMENT_I8,     [WMI_ST_I16] = WMI_ELEMENT_I16,
    [WMI_ST_U16] = WMI_ELEMENT_U16,   [WMI_ST_U32] = WMI_ELEMENT_U32,
    [WMI_ST_BOOL] = WMI_ELEMENT_BOOL,
};

/* "a, b, c, ..." */
static void list_names(const wmi_safetensors *s, char *buf, size_t size)
{
    size_t at = 0;

    *buf = '\0';
    for (int64_t i = 0; i < wmi_safetensors_count(s); i++) {
        const char *name = wmi_safetensors_at(s, i)->name;

        if (at + strlen(name) + 8 > size) {
            snprintf(buf + at, size - at, "%s...", at ? ", " : "");
            return;
        }
        at += (size_t)snprintf(buf + at, size - at, "%s%s", at ? ", " : "", name);
    }
}

static wm_status choose(const wmi_st_tensor **out, const wmi_safetensors *s,
                        const wmi_source_file *file, wm_error *err)
{
    const char *path = wmi_text_tail(file->path);
    const int64_t n = wmi_safetensors_count(s);
    char names[80];

    list_names(s, names, sizeof names);
    if (n == 0)
        return wmi_fail(err, WM_EFORMAT, "%s: a safetensors file without a tensor", path);
    *out = file->array ? wmi_safetensors_find(s, file->array) : wmi_safetensors_at(s, 0);
    if (!*out)
        return wmi_fail(err, WM_EINVAL, "%s: has no tensor '%.40s'; it has %s", path, file->array,
                        names);
    if (!file->array && n > 1)
        return wmi_fail(err, WM_EINVAL, "%s: has %d tensors: say which, as in FILE:NAME; %s", path,
                        (int)n, names);
    return WM_OK;
}

static wm_status open_file(wmi_cursor **out, const wmi_source_file *file, wm_error *err)
{
    const char *path = wmi_text_tail(file->path);
    const int64_t size = wmi_bytes_size(file->bytes);
    const unsigned char *all;
    const wmi_st_tensor *t;
    wmi_safetensors *s = NULL;
    wmi_array a = {0};
    char label[512];
    wm_status st;

    *out = NULL;
    if (!wmi_bytes_mapped(file->bytes))
        return wmi_fail(err, WM_EUNSUPPORTED,
                        "%s: a safetensors file is read from a file, not from a pipe or through "
                        "gzip",
                        path);
    if ((st = wmi_bytes_at(file->bytes, 0, size, &all, err)) ||
        (st = wmi_safetensors_parse(&s, file->path, all, size, err)))
        return st;
    if ((st = choose(&t, s, file, err)))
        goto done;
    a.type = elements[t->dtype];
    a.rank = t->rank;
    memcpy(a.dim, t->dim, sizeof t->dim);
    a.at = (const unsigned char *)t->data - all;
    snprintf(label, sizeof label, "%.200s:%.60s", path, t->name);
    st = wmi_array_open(out, label, file->bytes, false, &a, err);
done:
    wmi_safetensors_close(s);
    return st;
}

/* A length that makes sense, and the brace of its JSON. */
static bool sniff(const unsigned char *head, size_t n)
{
    uint64_t length = 0;

    if (n < 10 || head[8] != '{')
        return false;
    for (int i = 0; i < 8; i++)
        length |= (uint64_t)head[i] << (8 * i);
    return length <= 100000000;
}

const wmi_format wmi_format_safetensors = {"safetensors", sniff, open_file};
