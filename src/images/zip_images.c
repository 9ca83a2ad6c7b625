/* zip_images.c - image files in a zip file; with npz.c what knows libzip. */
#include <zip.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "images/image_files.h"

static void close_archive(wmi_image_files *f)
{
    if (f->archive)
        zip_discard(f->archive);
}

static wm_status list_members(wmi_image_files *f, wm_error *err)
{
    const zip_int64_t n = zip_get_num_entries(f->archive, 0);
    wm_status st = WM_OK;

    for (zip_int64_t i = 0; i < n && !st; i++) {
        const char *name = zip_get_name(f->archive, (zip_uint64_t)i, 0);

        if (name && wmi_image_files_wanted(name))
            st = wmi_image_files_add(f, name, i, err);
    }
    if (!st && !f->n)
        st = wmi_fail(err, WM_EFORMAT, "%s: no PNG images in this zip file",
                      wmi_text_tail(f->place));
    return st;
}

static wm_status read_member(wmi_image_files *f, int64_t i, uint8_t **out, size_t *n, wm_error *err)
{
    const zip_uint64_t at = (zip_uint64_t)f->entries[i];
    zip_file_t *member = NULL;
    char label[512];
    zip_stat_t info;
    zip_int64_t got = -1;
    wm_status st;

    wmi_image_files_label(f, i, label, sizeof label);
    zip_stat_init(&info);
    if (zip_stat_index(f->archive, at, 0, &info) != 0 || !(info.valid & ZIP_STAT_SIZE))
        return wmi_fail(err, WM_EFORMAT, "%s: %s", wmi_text_tail(label),
                        zip_error_strerror(zip_get_error(f->archive)));
    if (info.size > WMI_IMAGE_MAX_BYTES)
        return wmi_fail(err, WM_EFORMAT, "%s: has %llu bytes, at most %d", wmi_text_tail(label),
                        (unsigned long long)info.size, WMI_IMAGE_MAX_BYTES);
    if ((st = wmi_alloc(out, (int64_t)info.size + 1, 1, "image file", err)))
        return st;
    member = zip_fopen_index(f->archive, at, 0);
    if (member) /* one byte more than it should have: reaching the end checks its sum */
        got = zip_fread(member, *out, info.size + 1);
    if (got != (zip_int64_t)info.size)
        st = wmi_fail(err, WM_EFORMAT, "%s: damaged: %s", wmi_text_tail(label),
                      member ? zip_error_strerror(zip_file_get_error(member))
                             : zip_error_strerror(zip_get_error(f->archive)));
    if (member)
        zip_fclose(member);
    if (st) {
        wmi_free(*out);
        *out = NULL;
        return st;
    }
    *n = (size_t)info.size;
    return WM_OK;
}

wm_status wmi_image_files_zip(wmi_image_files **out, const char *path, wm_error *err)
{
    wm_status st = wmi_image_files_new(out, path, err);
    int code = 0;

    if (st)
        return st;
    (*out)->read = read_member;
    (*out)->close = close_archive;
    (*out)->archive = zip_open(path, ZIP_RDONLY, &code);
    if (!(*out)->archive) {
        zip_error_t why;

        zip_error_init_with_code(&why, code);
        st = wmi_fail(err, code == ZIP_ER_OPEN || code == ZIP_ER_NOENT ? WM_EIO : WM_EFORMAT,
                      "%s: not a zip file, or cut short: %s", wmi_text_tail(path),
                      zip_error_strerror(&why));
        zip_error_fini(&why);
    } else if (!(st = list_members(*out, err))) {
        st = wmi_image_files_sort(*out, err);
    }
    if (st) {
        wmi_image_files_close(*out);
        *out = NULL;
    }
    return st;
}
