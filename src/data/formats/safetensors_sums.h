/* safetensors_sums.h - checksums in the metadata of files of our own: "checksums", those of the
 * tensors, as a JSON object in a text, and "checksum", that of the header with all metadata. */
#ifndef WMI_DATA_SAFETENSORS_SUMS_H
#define WMI_DATA_SAFETENSORS_SUMS_H

#include <stdbool.h>

#include "data/formats/safetensors.h"

struct json_t;

/* Adds both to a header that is complete but for them; false: no memory. */
bool wmi_st_sums_add(struct json_t *header, const wmi_st_tensor *tensors, int64_t n);
/* Whether the header is as it was written: WM_EFORMAT names the file. A header without checksums
 * passes, with *has false. */
WM_MUST_CHECK wm_status wmi_st_sums_header(bool *has, const struct json_t *header, const char *path,
                                           wm_error *err);
/* The same of a tensor with its data. */
WM_MUST_CHECK wm_status wmi_st_sums_tensor(const struct json_t *header, const wmi_st_tensor *t,
                                           const char *path, wm_error *err);
/* For tests: from now on files pass whose checksums do not hold, as those of a forger would. */
void wmi_st_sums_trust(bool trust);
/* WM_EFORMAT, naming file and tensor, unless all floating-point numbers of it are finite. */
WM_MUST_CHECK wm_status wmi_st_finite(const wmi_st_tensor *t, const char *path, wm_error *err);

#endif
