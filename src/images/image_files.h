/* image_files.h - many small image files, in folders or in a zip file: listed, then read one by
 * one.
 */
#ifndef WMI_IMAGES_IMAGE_FILES_H
#define WMI_IMAGES_IMAGE_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"

#define WMI_IMAGE_MAX_BYTES (64 << 20) /* of one file */
#define WMI_IMAGE_MAX_FILES 10000000

typedef struct wmi_image_files wmi_image_files;

struct wmi_image_files {
    char **names; /* (n) paths below the folder, or in the zip file; sorted */
    int64_t n, room;
    char *place;      /* the folder or zip file, for messages */
    int64_t *entries; /* zip: (n) where each name stands in the archive */
    void *archive;    /* zip: its handle */
    wm_status (*read)(wmi_image_files *f, int64_t i, uint8_t **out, size_t *n, wm_error *err);
    void (*close)(wmi_image_files *f); /* the archive alone */
};

/* All files whose names end in .png, hidden ones left out. An empty folder is a WM_EFORMAT that
 * names it: something was lost. */
WM_MUST_CHECK wm_status wmi_image_files_folder(wmi_image_files **out, const char *folder,
                                               wm_error *err);
WM_MUST_CHECK wm_status wmi_image_files_zip(wmi_image_files **out, const char *path, wm_error *err);
void wmi_image_files_close(wmi_image_files *f); /* NULL is fine */

/* The bytes of file i, for wmi_free(). */
WM_MUST_CHECK wm_status wmi_image_files_read(wmi_image_files *f, int64_t i, uint8_t **out,
                                             size_t *n, wm_error *err);
/* Its path as messages say it, into buf. */
const char *wmi_image_files_label(const wmi_image_files *f, int64_t i, char *buf, size_t size);

/* For those who list: a new, empty list, and one more name; entry is kept for a zip. */
WM_MUST_CHECK wm_status wmi_image_files_new(wmi_image_files **out, const char *place,
                                            wm_error *err);
WM_MUST_CHECK wm_status wmi_image_files_add(wmi_image_files *f, const char *name, int64_t entry,
                                            wm_error *err);
/* Into the order of the names. */
WM_MUST_CHECK wm_status wmi_image_files_sort(wmi_image_files *f, wm_error *err);
/* Whether a path is one of an image: ends in .png, no part of it is hidden or a Mac's shadow. */
bool wmi_image_files_wanted(const char *path);

#endif
