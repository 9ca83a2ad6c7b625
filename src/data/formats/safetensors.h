/* safetensors.h - the safetensors format (github.com/huggingface/safetensors): 8 bytes of header
 * length, a JSON header of names, types, shapes and byte ranges, then the bytes, little-endian and
 * row-major. What we write opens in the Python package and the other way round. */
#ifndef WMI_DATA_SAFETENSORS_H
#define WMI_DATA_SAFETENSORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"

#define WMI_ST_MAX_RANK 8

typedef enum wmi_st_dtype {
    WMI_ST_F32,
    WMI_ST_F64,
    WMI_ST_I64,
    WMI_ST_U64,
    WMI_ST_I32,
    WMI_ST_U8,
    WMI_ST_F16,
    WMI_ST_BF16,
    WMI_ST_I8,
    WMI_ST_I16,
    WMI_ST_U16,
    WMI_ST_U32,
    WMI_ST_BOOL,
} wmi_st_dtype;

typedef struct wmi_st_tensor {
    const char *name; /* unique in its file, not empty, not "__metadata__" */
    wmi_st_dtype dtype;
    int rank; /* 0 is a scalar */
    int64_t dim[WMI_ST_MAX_RANK];
    const void *data; /* row-major; may be NULL when a dimension is 0 */
} wmi_st_tensor;

typedef struct wmi_st_pair {
    const char *key, *value; /* UTF-8 */
} wmi_st_pair;

size_t wmi_st_dtype_size(wmi_st_dtype dtype);
const char *wmi_st_dtype_name(wmi_st_dtype dtype); /* "F32" */

/* Writes path whole or not at all. Where there are metadata, checksums of all tensors and of the
 * header go with them. Data start on a multiple of 64 bytes and the widest types come
 * first, so that every tensor is aligned in a mapped file; otherwise the order is the caller's. */
WM_MUST_CHECK wm_status wmi_safetensors_write(const char *path, const wmi_st_tensor *tensors,
                                              int64_t n_tensors, const wmi_st_pair *meta,
                                              int64_t n_meta, wm_error *err);

typedef struct wmi_safetensors wmi_safetensors;

/* Reads and checks all of path. Refused with WM_EFORMAT, naming file and tensor: a header that is
 * not what the format says, byte ranges that overlap, leave gaps, do not fit the shape or the file,
 * repeated names, trailing bytes, checksums that do not hold; WM_EUNSUPPORTED: other types
 * (F8_E4M3, C64, ...). */
WM_MUST_CHECK wm_status wmi_safetensors_open(wmi_safetensors **out, const char *path,
                                             wm_error *err);
/* The same of a file that is in memory, or mapped: data point into it, aligned as it has them. path
 * is for messages. */
WM_MUST_CHECK wm_status wmi_safetensors_parse(wmi_safetensors **out, const char *path,
                                              const unsigned char *file, int64_t size,
                                              wm_error *err);
void wmi_safetensors_close(wmi_safetensors *s);

/* All that is returned is borrowed from s; data of an opened file are aligned to 64 bytes. */
int64_t wmi_safetensors_count(const wmi_safetensors *s);
const wmi_st_tensor *wmi_safetensors_at(const wmi_safetensors *s, int64_t i); /* in file order */
const wmi_st_tensor *wmi_safetensors_find(const wmi_safetensors *s, const char *name); /* or NULL */
const char *wmi_safetensors_meta(const wmi_safetensors *s, const char *key);           /* or NULL */
/* All metadata into pairs, if that is not NULL; how many there are. */
int64_t wmi_safetensors_pairs(const wmi_safetensors *s, wmi_st_pair *pairs);

/* For files of our own, which have checksums: WM_EFORMAT if this one has none. */
WM_MUST_CHECK wm_status wmi_safetensors_own(const wmi_safetensors *s, wm_error *err);
/* WM_EFORMAT if tensor `name` has numbers that are not finite. */
WM_MUST_CHECK wm_status wmi_safetensors_finite(const wmi_safetensors *s, const char *name,
                                               wm_error *err);
/* Tensor `name`, which must have this type and shape; a negative entry of dim takes any size. */
WM_MUST_CHECK wm_status wmi_safetensors_need(const wmi_st_tensor **out, const wmi_safetensors *s,
                                             const char *name, wmi_st_dtype dtype, int rank,
                                             const int64_t *dim, wm_error *err);

#endif
