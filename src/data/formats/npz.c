/* npz.c - NumPy's .npz: a zip of .npy files, stored or deflated. The one file that knows libzip,
 * which reads the directory at the end of the archive (sizes, ZIP64 included) and checks the sums;
 * the members are streamed through the npy reader. */
#include <stdio.h>
#include <string.h>
#include <zip.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/utf8.h"
#include "data/formats/npy.h"

enum { FORGET_EVERY = 8 << 20 }; /* bytes decoded before the archive's pages are given back */

/* An array of an archive while it is read; owns the archive. */
typedef struct member {
    zip_t *archive;
    zip_file_t *file;
    const wmi_bytes *bytes; /* of the archive, borrowed */
    int64_t since;          /* bytes since the last forget */
    char *label;
} member;

static wm_status member_read(void *ctx, void *buf, size_t n, size_t *got, wm_error *err)
{
    member *m = (member *)ctx;
    const zip_int64_t k = zip_fread(m->file, buf, n);

    *got = k > 0 ? (size_t)k : 0;
    if (k < 0)
        return wmi_fail(err, WM_EFORMAT, "%s: damaged: %s", m->label,
                        zip_error_strerror(zip_file_get_error(m->file)));
    m->since += k;
    if (m->since > FORGET_EVERY) {
        wmi_bytes_forget(m->bytes);
        m->since = 0;
    }
    return WM_OK;
}

static void member_close(void *ctx)
{
    member *m = (member *)ctx;

    if (m->file)
        zip_fclose(m->file);
    if (m->archive)
        zip_discard(m->archive);
    wmi_free(m->label);
    wmi_free(m);
}

static wm_status open_archive(zip_t **out, const wmi_source_file *file, wm_error *err)
{
    const char *path = wmi_text_tail(file->path);
    const int64_t size = wmi_bytes_size(file->bytes);
    const unsigned char *all;
    zip_source_t *source;
    zip_error_t why;
    wm_status st;

    *out = NULL;
    if (!wmi_bytes_mapped(file->bytes))
        return wmi_fail(err, WM_EUNSUPPORTED,
                        "%s: an npz is read from a file, not from a pipe or through gzip", path);
    if ((st = wmi_bytes_at(file->bytes, 0, size, &all, err)))
        return st;
    zip_error_init(&why);
    source = zip_source_buffer_create(all, (zip_uint64_t)size, 0, &why);
    if (source && !(*out = zip_open_from_source(source, ZIP_RDONLY, &why)))
        zip_source_free(source);
    if (!*out)
        st = wmi_fail(err, zip_error_code_zip(&why) == ZIP_ER_MEMORY ? WM_ENOMEM : WM_EFORMAT,
                      "%s: not a zip file, or cut short: %s", path, zip_error_strerror(&why));
    zip_error_fini(&why);
    return st;
}

/* Letters of a member's name without ".npy"; 0 if it is no array. */
static int array_name(const char *name)
{
    const size_t n = name ? strlen(name) : 0;

    return n > 4 && n < 4096 && strcmp(name + n - 4, ".npy") == 0 ? (int)n - 4 : 0;
}

/* "a, b, c, ..." */
static void list_names(zip_t *archive, char *buf, size_t size)
{
    const zip_int64_t n = zip_get_num_entries(archive, 0);
    size_t at = 0;

    *buf = '\0';
    for (zip_int64_t i = 0; i < n; i++) {
        const char *name = zip_get_name(archive, (zip_uint64_t)i, 0);
        const int length = array_name(name);

        if (!length)
            continue;
        if (at + (size_t)length + 8 > size) {
            snprintf(buf + at, size - at, "%s...", at ? ", " : "");
            return;
        }
        at += (size_t)snprintf(buf + at, size - at, "%s%.*s", at ? ", " : "", length, name);
    }
}

/* The member that file->array names, with or without ".npy", or the only one. */
static wm_status find_member(zip_uint64_t *out, zip_t *archive, const wmi_source_file *file,
                             wm_error *err)
{
    const zip_int64_t n = zip_get_num_entries(archive, 0);
    const char *path = wmi_text_tail(file->path), *want = file->array;
    zip_int64_t arrays = 0, found = -1;
    char names[80];

    for (zip_int64_t i = 0; i < n; i++) {
        const char *name = zip_get_name(archive, (zip_uint64_t)i, 0);
        const int length = array_name(name);

        if (!length)
            continue;
        arrays++;
        if (!want || strcmp(name, want) == 0 ||
            (strncmp(name, want, (size_t)length) == 0 && want[length] == '\0'))
            found = i;
    }
    list_names(archive, names, sizeof names);
    if (!arrays)
        return wmi_fail(err, WM_EFORMAT, "%s: a zip file without an .npy array in it", path);
    if (found < 0)
        return wmi_fail(err, WM_EINVAL, "%s: has no array '%.40s'; it has %s", path, want, names);
    if (!want && arrays > 1)
        return wmi_fail(err, WM_EINVAL, "%s: has %d arrays: say which, as in FILE:NAME; %s", path,
                        (int)arrays, names);
    *out = (zip_uint64_t)found;
    return WM_OK;
}

static wm_status open_member(member *m, zip_uint64_t index, const char *path, int64_t *size,
                             wm_error *err)
{
    const char *name = zip_get_name(m->archive, index, 0);
    char label[512];
    zip_stat_t info;
    wm_status st;

    snprintf(label, sizeof label, "%.200s:%.*s", wmi_text_tail(path),
             array_name(name) < 60 ? array_name(name) : 60, name);
    if ((st = wmi_path_join(&m->label, "", wmi_text_tail(label), err)))
        return st;
    zip_stat_init(&info);
    *size = -1;
    if (zip_stat_index(m->archive, index, 0, &info) == 0 && info.valid & ZIP_STAT_SIZE &&
        info.size <= INT64_MAX)
        *size = (int64_t)info.size;
    m->file = zip_fopen_index(m->archive, index, 0);
    if (!m->file)
        return wmi_fail(err, WM_EFORMAT, "%s: cannot be opened: %s", m->label,
                        zip_error_strerror(zip_get_error(m->archive)));
    return WM_OK;
}

static wm_status open_file(wmi_cursor **out, const wmi_source_file *file, wm_error *err)
{
    static const wmi_bytes_stream stream = {member_read, NULL, member_close};
    wmi_bytes *bytes = NULL;
    zip_uint64_t index;
    member *m = NULL;
    int64_t size;
    wm_status st;

    *out = NULL;
    if ((st = wmi_alloc(&m, 1, sizeof *m, "npz", err)))
        return st;
    m->bytes = file->bytes;
    if ((st = open_archive(&m->archive, file, err)) ||
        (st = find_member(&index, m->archive, file, err)) ||
        (st = open_member(m, index, file->path, &size, err))) {
        member_close(m);
        return st;
    }
    if ((st = wmi_bytes_from(&bytes, m->label, &stream, m, size, err))) /* closes m on failure */
        return st;
    return wmi_npy_open(out, m->label, bytes, true, err);
}

static bool sniff(const unsigned char *head, size_t n)
{
    return n >= 4 && (memcmp(head, "PK\3\4", 4) == 0 || memcmp(head, "PK\5\6", 4) == 0);
}

const wmi_format wmi_format_npz = {"npz", sniff, open_file};
