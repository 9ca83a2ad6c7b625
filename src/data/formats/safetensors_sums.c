/* safetensors_sums.c - written, and looked at again (safetensors_sums.h). */
#include "data/formats/safetensors_sums.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/checksum.h"
#include "base/file.h"

#define META "__metadata__"
#define OF_TENSORS "checksums"
#define OF_HEADER "checksum"

enum { HEX = 17 };

static bool trusted; /* for tests */

void wmi_st_sums_trust(bool trust)
{
    trusted = trust;
}

static int64_t count_of(const wmi_st_tensor *t)
{
    int64_t n = 1;

    for (int i = 0; i < t->rank; i++)
        n *= t->dim[i];
    return n;
}

static void tensor_sum(const wmi_st_tensor *t, char hex[HEX])
{
    const size_t bytes = (size_t)count_of(t) * wmi_st_dtype_size(t->dtype);

    snprintf(hex, HEX, "%016" PRIx64, wmi_checksum(t->data, bytes));
}

/* Of the header without its own checksum, in one order of keys. */
static bool header_sum(const json_t *header, char hex[HEX])
{
    json_t *copy = json_deep_copy(header);
    char *text;

    json_object_del(json_object_get(copy, META), OF_HEADER);
    text = json_dumps(copy, JSON_COMPACT | JSON_SORT_KEYS);
    if (text)
        snprintf(hex, HEX, "%016" PRIx64, wmi_checksum(text, strlen(text)));
    free(text);
    json_decref(copy);
    return text != NULL;
}

bool wmi_st_sums_add(json_t *header, const wmi_st_tensor *tensors, int64_t n)
{
    json_t *sums = json_object(), *meta = json_object_get(header, META);
    char hex[HEX], *text;
    bool good = sums && meta;

    for (int64_t i = 0; i < n && good; i++) {
        tensor_sum(&tensors[i], hex);
        good = json_object_set_new(sums, tensors[i].name, json_string(hex)) == 0;
    }
    text = good ? json_dumps(sums, JSON_COMPACT) : NULL;
    good = text && json_object_set_new(meta, OF_TENSORS, json_string(text)) == 0 &&
           header_sum(header, hex) && json_object_set_new(meta, OF_HEADER, json_string(hex)) == 0;
    free(text);
    json_decref(sums);
    return good;
}

wm_status wmi_st_sums_header(bool *has, const json_t *header, const char *path, wm_error *err)
{
    const char *want = json_string_value(json_object_get(json_object_get(header, META), OF_HEADER));
    char hex[HEX];

    *has = want != NULL;
    if (!want)
        return WM_OK;
    if (!header_sum(header, hex))
        return wmi_fail(err, WM_ENOMEM, "%s: no memory for its header", wmi_path_tail(path));
    if (!trusted && strcmp(want, hex) != 0)
        return wmi_fail(err, WM_EFORMAT,
                        "%s: damaged: its metadata are not those that were written (checksum)",
                        wmi_path_tail(path));
    return WM_OK;
}

wm_status wmi_st_sums_tensor(const json_t *header, const wmi_st_tensor *t, const char *path,
                             wm_error *err)
{
    const char *text =
        json_string_value(json_object_get(json_object_get(header, META), OF_TENSORS));
    json_t *sums = text ? json_loads(text, 0, NULL) : NULL;
    const char *want = json_string_value(json_object_get(sums, t->name));
    char hex[HEX];
    wm_status st = WM_OK;

    tensor_sum(t, hex);
    if (!trusted && (!want || strcmp(want, hex) != 0))
        st = wmi_fail(err, WM_EFORMAT,
                      "%s: damaged: tensor '%.60s' is not the one that was written (checksum)",
                      wmi_path_tail(path), t->name);
    json_decref(sums);
    return st;
}

wm_status wmi_st_finite(const wmi_st_tensor *t, const char *path, wm_error *err)
{
    const int64_t n = count_of(t);
    double bad = 0;

    for (int64_t i = 0; i < n && t->dtype == WMI_ST_F32; i++)
        if (!isfinite(((const float *)t->data)[i]))
            bad++;
    for (int64_t i = 0; i < n && t->dtype == WMI_ST_F64; i++)
        if (!isfinite(((const double *)t->data)[i]))
            bad++;
    if (bad > 0)
        return wmi_fail(err, WM_EFORMAT, "%s: tensor '%.60s' has %.0f numbers that are not finite",
                        wmi_path_tail(path), t->name, bad);
    return WM_OK;
}
