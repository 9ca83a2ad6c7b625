/* model_file.c - metadata and tensors of model files (model_file.h). */
#include "data/formats/model_file.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "waymark/read.h"

static wm_status wrong(const char *path, const char *key, const char *text, wm_error *err)
{
    return wmi_fail(err, WM_EFORMAT, "%s: metadata '%s' is %s%.60s%s", path, key, text ? "'" : "",
                    text ? text : "missing", text ? "'" : "");
}

wm_status wmi_meta_count(const wmi_safetensors *f, const char *path, const char *key, int64_t least,
                         int64_t most, int64_t *out, wm_error *err)
{
    const char *text = wmi_safetensors_meta(f, key);
    char *end;

    if (!text)
        return wrong(path, key, NULL, err);
    errno = 0;
    *out = strtoll(text, &end, 10);
    if (errno || end == text || *end || *out < least || *out > most)
        return wrong(path, key, text, err);
    return WM_OK;
}

wm_status wmi_meta_real(const wmi_safetensors *f, const char *path, const char *key, double *out,
                        wm_error *err)
{
    const char *text = wmi_safetensors_meta(f, key);
    char *end;

    if (!text)
        return wrong(path, key, NULL, err);
    *out = strtod(text, &end);
    if (end == text || *end || !isfinite(*out))
        return wrong(path, key, text, err);
    return WM_OK;
}

wm_status wmi_meta_word(const wmi_safetensors *f, const char *path, const char *key,
                        const char *const *words, int n, int *out, wm_error *err)
{
    const char *text = wmi_safetensors_meta(f, key);

    for (*out = 0; text && *out < n; ++*out)
        if (strcmp(text, words[*out]) == 0)
            return WM_OK;
    return wrong(path, key, text, err);
}

wm_status wmi_meta_format(const wmi_safetensors *f, const char *path, const char *want,
                          wm_error *err)
{
    const char *format = wmi_safetensors_meta(f, "format"),
               *version = wmi_safetensors_meta(f, "version");
    const size_t name = strcspn(want, "0123456789"); /* "waymark ebm 1" up to its number */

    if (format && strcmp(format, want) == 0)
        return wmi_safetensors_own(f, err);
    if (format && strncmp(format, want, name) == 0)
        return wmi_fail(err, WM_EFORMAT,
                        "%s: written by waymark %.20s as '%.40s', this one reads '%s': use that "
                        "version, or fit again",
                        path, version ? version : "?", format, want);
    return wmi_fail(err, WM_EFORMAT, "%s: format is '%.40s', not '%s': this is no model of `%.*s`",
                    path, format ? format : "not given", want, (int)name - 1, want);
}

wm_status wmi_meta_schema(const wmi_safetensors *f, const char *path, const char *key, int64_t dim,
                          char **out, wm_error *err)
{
    const char *text = wmi_safetensors_meta(f, key);
    wm_schema *schema = NULL;
    wm_error why = {0};
    wm_status st;

    *out = NULL;
    if (!text)
        return WM_OK;
    if ((st = wm_schema_parse(&schema, text, &why)))
        return wmi_fail(err, st, "%s: metadata '%s': %.160s", path, key, why.text);
    if (wm_schema_dim(schema) != dim)
        st = wmi_fail(err, WM_EFORMAT,
                      "%s: metadata '%s' is of %" PRId64 " columns, the model of %" PRId64, path,
                      key, wm_schema_dim(schema), dim);
    else
        st = wmi_alloc_text(out, text, "schema", err);
    wm_schema_free(schema);
    return st;
}

wm_status wmi_meta_blame(wm_status st, const char *path, wm_error *err)
{
    char why[sizeof err->text];

    if (!st || !err)
        return st;
    memcpy(why, err->text, sizeof why);
    return wmi_fail(err, st, "%s: %.160s", wmi_path_tail(path), why);
}

wm_status wmi_tensors_finite(const wmi_safetensors *f, const char *const *names, wm_error *err)
{
    wm_status st = WM_OK;

    for (int i = 0; !st && names[i]; i++)
        st = wmi_safetensors_finite(f, names[i], err);
    return st;
}

wm_status wmi_tensor_read(const wmi_safetensors *f, const wmi_st_tensor *like, void *to,
                          wm_error *err)
{
    const wmi_st_tensor *t;
    size_t bytes = wmi_st_dtype_size(like->dtype);
    wm_status st = wmi_safetensors_need(&t, f, like->name, like->dtype, like->rank, like->dim, err);

    if (st)
        return st;
    for (int i = 0; i < like->rank; i++)
        bytes *= (size_t)like->dim[i];
    if (bytes)
        memcpy(to, t->data, bytes);
    return WM_OK;
}
