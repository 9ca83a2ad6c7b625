/* columns_impl.h - the inside of wm_columns, and their place in the file of a model of pairs. */
#ifndef WMI_COLUMNS_COLUMNS_IMPL_H
#define WMI_COLUMNS_COLUMNS_IMPL_H

#include "columns/encoder_file.h"
#include "waymark/columns.h"

struct wm_columns {
    wmi_encoder encoder;
    char *schema; /* or NULL; of the allocator of alloc.h */
};

/* of: (dim) the person's column, from 0, that each comes from. */
void wmi_columns_origin(const wm_columns *c, int64_t *of);

WM_MUST_CHECK wm_status wmi_columns_copy(wm_columns **out, const wm_columns *c, wm_error *err);

/* What the columns of u and v are in a file: tensors and metadata, to go behind the model's own.
 * Starts as {0}. */
typedef struct wmi_columns_file {
    wmi_encoder_file encoder[2];
    wmi_st_tensor tensor[2 * WMI_ENCODER_TENSORS];
    wmi_st_pair meta[2];
    int n_tensors, n_meta;
} wmi_columns_file;

/* side: of u and v, each may be NULL; must outlive the file. To be closed after a failure too. */
WM_MUST_CHECK wm_status wmi_columns_file_open(wmi_columns_file *file,
                                              const wm_columns *const side[2], wm_error *err);
void wmi_columns_file_close(wmi_columns_file *file);
/* Those of side 0 (u) or 1 (v); NULL where the file has none. WM_EFORMAT, WM_ENOMEM */
WM_MUST_CHECK wm_status wmi_columns_read(wm_columns **out, const wmi_safetensors *f, int side,
                                         const char *path, wm_error *err);

#endif
