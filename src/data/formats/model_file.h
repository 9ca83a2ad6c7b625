/* model_file.h - what the files of fitted models have in common: numbers as metadata, tensors whose
 * shape is known. */
#ifndef WMI_DATA_MODEL_FILE_H
#define WMI_DATA_MODEL_FILE_H

#include <stdbool.h>

#include "data/formats/safetensors.h"

enum { WMI_META_BYTES = 40 }; /* of a number as text */

/* Whole numbers from least to most, reals, and one of the words (n) as its index. WM_EFORMAT names
 * path, key and what stands there. */
WM_MUST_CHECK wm_status wmi_meta_count(const wmi_safetensors *f, const char *path, const char *key,
                                       int64_t least, int64_t most, int64_t *out, wm_error *err);
WM_MUST_CHECK wm_status wmi_meta_real(const wmi_safetensors *f, const char *path, const char *key,
                                      double *out, wm_error *err);
WM_MUST_CHECK wm_status wmi_meta_word(const wmi_safetensors *f, const char *path, const char *key,
                                      const char *const *words, int n, int *out, wm_error *err);
/* WM_EFORMAT unless the file's "format" is the one wanted and it has checksums; says what to do
 * about another version. */
WM_MUST_CHECK wm_status wmi_meta_format(const wmi_safetensors *f, const char *path,
                                        const char *want, wm_error *err);

/* A copy of the schema of `dim` columns under key; *out is NULL where there is none. */
WM_MUST_CHECK wm_status wmi_meta_schema(const wmi_safetensors *f, const char *path, const char *key,
                                        int64_t dim, char **out, wm_error *err);

/* st, the status of a model that was to be made as the metadata say; the file is named in its
 * words. */
WM_MUST_CHECK wm_status wmi_meta_blame(wm_status st, const char *path, wm_error *err);

/* WM_EFORMAT, naming file and tensor, unless the tensors of these names (ending with NULL), where
 * the file has them, are finite. */
WM_MUST_CHECK wm_status wmi_tensors_finite(const wmi_safetensors *f, const char *const *names,
                                           wm_error *err);
/* Copies the tensor that `like` describes; it must be there with this type and shape. */
WM_MUST_CHECK wm_status wmi_tensor_read(const wmi_safetensors *f, const wmi_st_tensor *like,
                                        void *to, wm_error *err);

#endif
