/* alphabets.h - what makes wm_alphabets: readers and the generator fill what is allocated here. */
#ifndef WMI_IMAGES_ALPHABETS_H
#define WMI_IMAGES_ALPHABETS_H

#include "base/fail.h"
#include "waymark/images.h"

enum {
    WMI_DRAWING_PIXELS = WM_DRAWING_SIDE * WM_DRAWING_SIDE,
    WMI_MAX_CHARACTERS = 256, /* of an alphabet: labels are bytes */
    WMI_MAX_ALPHABETS = 4096,
    WMI_MAX_DRAWINGS = 1000,
};

typedef struct wmi_alphabet {
    const char *name; /* copied */
    int64_t size;     /* characters */
} wmi_alphabet;

/* Blank drawings of alphabets (n) in the order that wm_alphabets promises; place (n), or NULL, says
 * where each came to stand. label: what the user calls the source. WM_EINVAL if there are none, or
 * more characters or drawings than the limits above. */
WM_MUST_CHECK wm_status wmi_alphabets_new(wm_alphabets **out, const wmi_alphabet *alphabets,
                                          int64_t n, int64_t drawings, const char *label,
                                          int64_t *place, wm_error *err);
/* The forms of Omniglot that wm_alphabets_open() tells apart. part as there. */
WM_MUST_CHECK wm_status wmi_alphabets_open_packed(wm_alphabets **out, const char *folder,
                                                  const char *part, wm_error *err);
WM_MUST_CHECK wm_status wmi_alphabets_open_folder(wm_alphabets **out, const char *folder,
                                                  const char *part, wm_error *err);
WM_MUST_CHECK wm_status wmi_alphabets_open_zip(wm_alphabets **out, const char *path,
                                               const char *part, wm_error *err);
uint8_t *wmi_alphabets_pixels(wm_alphabets *a, int64_t i, int64_t character, int64_t drawing);

#endif
