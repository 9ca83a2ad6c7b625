/* alphabets.c - alphabets in memory: one block of drawings, the largest alphabet first. */
#include "images/alphabets.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/utf8.h"

struct wm_alphabets {
    int64_t n, drawings;
    char **names;   /* (n) */
    int64_t *sizes; /* (n) */
    int64_t *first; /* (n): characters of the alphabets before */
    uint8_t *pixels;
};

/* --- making ------------------------------------------------------------------------------------*/

typedef struct ranked {
    wmi_alphabet alphabet;
    int64_t from;
} ranked;

static int by_size_then_name(const void *a, const void *b)
{
    const ranked *x = a, *y = b;

    if (x->alphabet.size != y->alphabet.size)
        return x->alphabet.size > y->alphabet.size ? -1 : 1;
    return strcmp(x->alphabet.name, y->alphabet.name);
}

static wm_status check_sizes(const wmi_alphabet *alphabets, int64_t n, int64_t drawings,
                             const char *label, wm_error *err)
{
    if (n < 1 || n > WMI_MAX_ALPHABETS)
        return wmi_fail(err, WM_EINVAL, "%s: %" PRId64 " alphabets, expected 1 to %d",
                        wmi_text_tail(label), n, WMI_MAX_ALPHABETS);
    if (drawings < 1 || drawings > WMI_MAX_DRAWINGS)
        return wmi_fail(err, WM_EINVAL, "%s: %" PRId64 " drawings of each character, at most %d",
                        wmi_text_tail(label), drawings, WMI_MAX_DRAWINGS);
    for (int64_t i = 0; i < n; i++)
        if (alphabets[i].size < 1 || alphabets[i].size > WMI_MAX_CHARACTERS)
            return wmi_fail(
                err, WM_EINVAL, "%s: alphabet '%.60s' has %" PRId64 " characters, expected 1 to %d",
                wmi_text_tail(label), alphabets[i].name, alphabets[i].size, WMI_MAX_CHARACTERS);
    return WM_OK;
}

wm_status wmi_alphabets_new(wm_alphabets **out, const wmi_alphabet *alphabets, int64_t n,
                            int64_t drawings, const char *label, int64_t *place, wm_error *err)
{
    wm_alphabets *a = NULL;
    ranked *order = NULL;
    int64_t total = 0;
    wm_status st;

    *out = NULL;
    if ((st = check_sizes(alphabets, n, drawings, label, err)) ||
        (st = wmi_alloc(&order, n, sizeof *order, "alphabets", err)) ||
        (st = wmi_alloc(&a, 1, sizeof *a, "alphabets", err)))
        goto done;
    a->n = n;
    a->drawings = drawings;
    if ((st = wmi_alloc(&a->names, n, sizeof *a->names, "alphabets", err)) ||
        (st = wmi_alloc(&a->sizes, n, sizeof *a->sizes, "alphabets", err)) ||
        (st = wmi_alloc(&a->first, n, sizeof *a->first, "alphabets", err)))
        goto done;
    for (int64_t i = 0; i < n; i++)
        order[i] = (ranked){alphabets[i], i};
    qsort(order, (size_t)n, sizeof *order, by_size_then_name);
    for (int64_t i = 0; i < n; i++) {
        if ((st = wmi_alloc_text(&a->names[i], order[i].alphabet.name, "name", err)))
            goto done;
        a->sizes[i] = order[i].alphabet.size;
        a->first[i] = total;
        total += a->sizes[i];
        if (place)
            place[order[i].from] = i;
    }
    if ((st = wmi_alloc(&a->pixels, total * drawings, WMI_DRAWING_PIXELS, "drawings", err)))
        goto done;
    *out = a;
    a = NULL;
done:
    wmi_free(order);
    wm_alphabets_free(a);
    return st;
}

void wm_alphabets_free(wm_alphabets *a)
{
    if (!a)
        return;
    for (int64_t i = 0; a->names && i < a->n; i++)
        wmi_free(a->names[i]);
    wmi_free(a->names);
    wmi_free(a->sizes);
    wmi_free(a->first);
    wmi_free(a->pixels);
    wmi_free(a);
}

uint8_t *wmi_alphabets_pixels(wm_alphabets *a, int64_t i, int64_t character, int64_t drawing)
{
    const int64_t number = (a->first[i] + character) * a->drawings + drawing;

    return a->pixels + number * WMI_DRAWING_PIXELS;
}

/* --- looking -----------------------------------------------------------------------------------*/

int64_t wm_alphabets_count(const wm_alphabets *a)
{
    return a->n;
}

int64_t wm_alphabets_drawings(const wm_alphabets *a)
{
    return a->drawings;
}

const char *wm_alphabets_name(const wm_alphabets *a, int64_t i)
{
    return a->names[i];
}

int64_t wm_alphabets_size(const wm_alphabets *a, int64_t i)
{
    return a->sizes[i];
}

const uint8_t *wm_alphabets_drawing(const wm_alphabets *a, int64_t i, int64_t character,
                                    int64_t drawing)
{
    const int64_t number = (a->first[i] + character) * a->drawings + drawing;

    return a->pixels + number * WMI_DRAWING_PIXELS;
}

/* --- any source --------------------------------------------------------------------------------*/

wm_status wm_alphabets_open(wm_alphabets **out, const char *path, const char *part, wm_error *err)
{
    struct stat info;
    char *list = NULL;
    wm_status st;
    bool packed;

    *out = NULL;
    if (stat(path, &info) == 0 && S_ISREG(info.st_mode))
        return wmi_alphabets_open_zip(out, path, part, err);
    if ((st = wmi_path_join(&list, path, "alphabets.txt", err)))
        return st;
    packed = wmi_file_exists(list);
    wmi_free(list);
    return packed ? wmi_alphabets_open_packed(out, path, part, err)
                  : wmi_alphabets_open_folder(out, path, part, err);
}
