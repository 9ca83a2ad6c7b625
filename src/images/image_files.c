/* image_files.c - the list itself, and folders. */
#include "images/image_files.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/utf8.h"

enum { MAX_DEPTH = 8, FIRST_ROOM = 1024 };

/* --- the list ----------------------------------------------------------------------------------*/

wm_status wmi_image_files_new(wmi_image_files **out, const char *place, wm_error *err)
{
    wm_status st;

    *out = NULL;
    if ((st = wmi_alloc(out, 1, sizeof **out, "list of images", err)))
        return st;
    if ((st = wmi_alloc_text(&(*out)->place, place, "path", err))) {
        wmi_free(*out);
        *out = NULL;
    }
    return st;
}

static wm_status grow(wmi_image_files *f, wm_error *err)
{
    const int64_t room = f->room ? 2 * f->room : FIRST_ROOM;
    int64_t *entries = NULL;
    char **names = NULL;
    wm_status st;

    if ((st = wmi_alloc(&names, room, sizeof *names, "list of images", err)) ||
        (st = wmi_alloc(&entries, room, sizeof *entries, "list of images", err))) {
        wmi_free(names);
        return st;
    }
    if (f->n) {
        memcpy(names, f->names, (size_t)f->n * sizeof *names);
        memcpy(entries, f->entries, (size_t)f->n * sizeof *entries);
    }
    wmi_free(f->names);
    wmi_free(f->entries);
    f->names = names;
    f->entries = entries;
    f->room = room;
    return WM_OK;
}

wm_status wmi_image_files_add(wmi_image_files *f, const char *name, int64_t entry, wm_error *err)
{
    wm_status st;

    if (f->n == WMI_IMAGE_MAX_FILES)
        return wmi_fail(err, WM_EFORMAT, "%s: more than %d images", wmi_text_tail(f->place),
                        WMI_IMAGE_MAX_FILES);
    if (f->n == f->room && (st = grow(f, err)))
        return st;
    if ((st = wmi_alloc_text(&f->names[f->n], name, "path", err)))
        return st;
    f->entries[f->n++] = entry;
    return WM_OK;
}

void wmi_image_files_close(wmi_image_files *f)
{
    if (!f)
        return;
    if (f->close)
        f->close(f);
    for (int64_t i = 0; i < f->n; i++)
        wmi_free(f->names[i]);
    wmi_free(f->names);
    wmi_free(f->entries);
    wmi_free(f->place);
    wmi_free(f);
}

wm_status wmi_image_files_read(wmi_image_files *f, int64_t i, uint8_t **out, size_t *n,
                               wm_error *err)
{
    *out = NULL;
    *n = 0;
    return f->read(f, i, out, n, err);
}

const char *wmi_image_files_label(const wmi_image_files *f, int64_t i, char *buf, size_t size)
{
    snprintf(buf, size, "%s/%s", f->place, f->names[i]);
    return buf;
}

bool wmi_image_files_wanted(const char *path)
{
    const size_t n = strlen(path);

    if (n < 5 || (strcmp(path + n - 4, ".png") != 0 && strcmp(path + n - 4, ".PNG") != 0))
        return false;
    return path[0] != '.' && !strstr(path, "/.") && !strstr(path, "__MACOSX");
}

/* Names and entries side by side, because they are sorted together. */
typedef struct named {
    char *name;
    int64_t entry;
} named;

static int by_name(const void *a, const void *b)
{
    return strcmp(((const named *)a)->name, ((const named *)b)->name);
}

wm_status wmi_image_files_sort(wmi_image_files *f, wm_error *err)
{
    named *list = NULL;
    wm_status st = wmi_alloc(&list, f->n, sizeof *list, "list of images", err);

    if (st)
        return st;
    for (int64_t i = 0; i < f->n; i++)
        list[i] = (named){f->names[i], f->entries[i]};
    qsort(list, (size_t)f->n, sizeof *list, by_name);
    for (int64_t i = 0; i < f->n; i++) {
        f->names[i] = list[i].name;
        f->entries[i] = list[i].entry;
    }
    wmi_free(list);
    return WM_OK;
}

/* --- folders -----------------------------------------------------------------------------------*/

/* Adds the images below f->place/below; below is "" for the place itself. */
static wm_status list_below(wmi_image_files *f, const char *below, int depth, wm_error *err)
{
    const struct dirent *entry;
    char *folder = NULL;
    DIR *dir = NULL;
    bool empty = true;
    wm_status st;

    if ((st = *below ? wmi_path_join(&folder, f->place, below, err)
                     : wmi_alloc_text(&folder, f->place, "path", err)))
        return st;
    dir = opendir(folder);
    if (!dir) {
        st = wmi_fail(err, WM_EIO, "%s: %s", wmi_text_tail(folder), strerror(errno));
        goto done;
    }
    while (!st && (entry = readdir(dir))) {
        char *name = NULL, *path = NULL;
        struct stat info;

        if (entry->d_name[0] == '.')
            continue;
        empty = false;
        if (!(st = wmi_path_join(&name, below, entry->d_name, err)) &&
            !(st = wmi_path_join(&path, folder, entry->d_name, err)) && stat(path, &info) == 0) {
            if (S_ISDIR(info.st_mode) && depth < MAX_DEPTH)
                st = list_below(f, name, depth + 1, err);
            else if (S_ISREG(info.st_mode) && wmi_image_files_wanted(name))
                st = wmi_image_files_add(f, name, 0, err);
        }
        wmi_free(name);
        wmi_free(path);
    }
    if (!st && (empty || (!*below && !f->n)))
        st = wmi_fail(err, WM_EFORMAT, "%s: no PNG images in this folder", wmi_text_tail(folder));
done:
    if (dir)
        closedir(dir);
    wmi_free(folder);
    return st;
}

static wm_status read_file(wmi_image_files *f, int64_t i, uint8_t **out, size_t *n, wm_error *err)
{
    char *path = NULL;
    wm_status st = wmi_path_join(&path, f->place, f->names[i], err);

    if (!st)
        st = wmi_file_read((char **)out, n, path, WMI_IMAGE_MAX_BYTES, err);
    wmi_free(path);
    return st;
}

wm_status wmi_image_files_folder(wmi_image_files **out, const char *folder, wm_error *err)
{
    wm_status st = wmi_image_files_new(out, folder, err);

    if (st)
        return st;
    (*out)->read = read_file;
    if ((st = list_below(*out, "", 0, err)) || (st = wmi_image_files_sort(*out, err))) {
        wmi_image_files_close(*out);
        *out = NULL;
    }
    return st;
}
