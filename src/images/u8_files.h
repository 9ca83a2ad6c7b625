/* u8_files.h - arrays of bytes in npy files: images and their labels. */
#ifndef WMI_IMAGES_U8_FILES_H
#define WMI_IMAGES_U8_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"

/* A file to be written, a block of rows at a time. */
typedef struct wmi_u8_file {
    /* Rows first .. first + n - 1 into to. */
    wm_status (*fill)(const struct wmi_u8_file *file, int64_t first, int64_t n, uint8_t *to,
                      wm_error *err);
    const void *ctx; /* the caller's, for fill */
    int tag;         /* likewise */
    int rank;        /* 1 to 3; rows are the first axis */
    int64_t dim[3];  /* not below 0 */
    char name[32];   /* in the folder, without .npy; may have one folder before it: "train/u" */
} wmi_u8_file;

/* All files (n) into a folder, which is made with those above it. overwrite: replace what is there;
 * else the first file that exists is a WM_EINVAL, and a failure leaves none of them. */
WM_MUST_CHECK wm_status wmi_u8_files_write(const wmi_u8_file *files, int n, const char *folder,
                                           bool overwrite, wm_error *err);

/* A whole array of whole numbers from 0 to 255, of any format and type that readers know, for
 * wmi_free(). *dim: columns that it must have (WM_ESHAPE), or 0 for any, which are then put there.
 * *n: its rows. A value out of range is a WM_EFORMAT that names file and row. */
WM_MUST_CHECK wm_status wmi_u8_read(uint8_t **out, int64_t *n, int64_t *dim, const char *path,
                                    wm_error *err);

/* *block, of `used` bytes, becomes one of `size` bytes with the same beginning. On failure it is as
 * it was. */
WM_MUST_CHECK wm_status wmi_u8_grow(uint8_t **block, int64_t used, int64_t size, wm_error *err);

#endif
