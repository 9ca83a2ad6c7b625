/* encoder_file.h - an encoder (encode.h) in the file of its model, for every model that has one. */
#ifndef WMI_COLUMNS_ENCODER_FILE_H
#define WMI_COLUMNS_ENCODER_FILE_H

#include "columns/encode.h"
#include "data/formats/safetensors.h"

/* Its tensors; a model puts them where its format has them. */
typedef enum wmi_encoder_tensor {
    WMI_ENCODER_KINDS, /* (rows, raw) of int64; see below */
    WMI_ENCODER_LEVELS,
    WMI_ENCODER_SHIFT,
    WMI_ENCODER_SCALE,
    WMI_ENCODER_RANK_VALUES, /* and scores: only where columns are made normal by rank */
    WMI_ENCODER_RANK_SCORES,
    WMI_ENCODER_TENSORS
} wmi_encoder_tensor;

/* Rows of kinds: kind and levels; or kind, encoding, levels, rank; or those and how many features a
 * column has, where kind and levels do not tell. */
enum { WMI_KINDS_SHORT = 2, WMI_KINDS_LONG = 4, WMI_KINDS_MOST = 5, WMI_ENCODER_NAME = 32 };

/* The tensors of an encoder, and what they point to; starts as {0}. */
typedef struct wmi_encoder_file {
    wmi_st_tensor tensor[WMI_ENCODER_TENSORS]; /* by wmi_encoder_tensor; no name: there is none */
    char name[WMI_ENCODER_TENSORS][WMI_ENCODER_NAME];
    int64_t *kinds;
} wmi_encoder_file;

/* prefix comes before the names ("columns_u."); rows of kinds are WMI_KINDS_SHORT, for encoders
 * that were fitted without ranks, or WMI_KINDS_LONG, and more where that is needed. To be closed
 * after a failure too. */
WM_MUST_CHECK wm_status wmi_encoder_file_open(wmi_encoder_file *file, const wmi_encoder *e,
                                              const char *prefix, int rows, wm_error *err);
void wmi_encoder_file_close(wmi_encoder_file *file);

/* Reads any of the three. path and of ("", " of u": whose columns they are) are for messages.
 * WM_EFORMAT, WM_ENOMEM; e is to be freed then, too. */
WM_MUST_CHECK wm_status wmi_encoder_read(wmi_encoder *e, const wmi_safetensors *f,
                                         const char *prefix, const char *path, const char *of,
                                         wm_error *err);

#endif
