/* u8_files.c - arrays of bytes into npy files and back. Files are written in blocks, so that a
 * data set that is drawn as it is written takes no memory. */
#include "images/u8_files.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/utf8.h"
#include "data/formats/npy.h"
#include "waymark/read.h"

enum { BLOCK = 4 << 20 }; /* bytes: large enough for two threads to fill */

/* The folder that a file stands in. */
static wm_status make_place(const char *path, wm_error *err)
{
    char *folder = NULL;
    wm_status st = wmi_path_join(&folder, "", path, err);

    if (!st) {
        char *slash = strrchr(folder, '/');

        if (slash && slash != folder) {
            *slash = '\0';
            st = wmi_folder_make(folder, err);
        }
    }
    wmi_free(folder);
    return st;
}

static wm_status write_rows(const wmi_u8_file *file, FILE *stream, uint8_t *block, wm_error *err)
{
    int64_t width = 1, at_once;
    wm_status st;

    for (int i = 1; i < file->rank; i++)
        width *= file->dim[i];
    at_once = width < BLOCK ? BLOCK / (width ? width : 1) : 1;
    for (int64_t i = 0; i < file->dim[0]; i += at_once) {
        const int64_t n = file->dim[0] - i < at_once ? file->dim[0] - i : at_once;

        if ((st = file->fill(file, i, n, block, err)))
            return st;
        if (fwrite(block, 1, (size_t)(n * width), stream) != (size_t)(n * width))
            return WM_OK; /* the stream remembers, and commit says why */
    }
    return WM_OK;
}

static wm_status write_one(const wmi_u8_file *file, const char *folder, uint8_t *block,
                           wm_error *err)
{
    char head[WMI_NPY_HEAD], *path = NULL;
    wmi_file *f = NULL;
    wm_status st;
    int size;

    if ((st = wmi_path_end(&path, folder, file->name, ".npy", err)) ||
        (st = make_place(path, err)) || (st = wmi_file_open(&f, path, err)))
        goto done;
    size = wmi_npy_header_of(head, "|u1", file->rank, file->dim);
    fwrite(head, 1, (size_t)size, wmi_file_stream(f));
    if ((st = write_rows(file, wmi_file_stream(f), block, err)))
        wmi_file_abandon(f);
    else
        st = wmi_file_commit(f, err);
done:
    wmi_free(path);
    return st;
}

wm_status wmi_u8_files_write(const wmi_u8_file *files, int n, const char *folder, bool overwrite,
                             wm_error *err)
{
    int64_t widest = BLOCK;
    uint8_t *block = NULL;
    wm_status st;
    int done = 0;

    for (int i = 0; i < n; i++) {
        int64_t width = 1;

        for (int k = 1; k < files[i].rank; k++)
            width *= files[i].dim[k];
        widest = width > widest ? width : widest;
    }
    for (int i = 0; i < n && !overwrite; i++)
        if ((st = wmi_file_absent(folder, files[i].name, ".npy", err)))
            return st;
    if ((st = wmi_folder_make(folder, err)) || (st = wmi_alloc(&block, widest, 1, "rows", err)))
        return st;
    for (; done < n && !st; done += !st)
        st = write_one(&files[done], folder, block, err);
    while (st && !overwrite && done-- > 0) /* a part of a data set is none */
        wmi_file_remove(folder, files[done].name, ".npy");
    wmi_free(block);
    return st;
}

/* --- reading -----------------------------------------------------------------------------------*/

wm_status wmi_u8_grow(uint8_t **block, int64_t used, int64_t size, wm_error *err)
{
    uint8_t *larger = NULL;
    wm_status st = wmi_alloc(&larger, size, 1, "bytes of a file", err);

    if (st)
        return st;
    if (*block && used)
        memcpy(larger, *block, (size_t)used);
    wmi_free(*block);
    *block = larger;
    return WM_OK;
}

static wm_status narrow(uint8_t *to, const double *from, int64_t n, int64_t dim, int64_t first,
                        const char *path, wm_error *err)
{
    for (int64_t i = 0; i < n * dim; i++) {
        if (!(from[i] >= 0 && from[i] <= 255) || from[i] != (double)(uint8_t)from[i])
            return wmi_fail(err, WM_EFORMAT,
                            "%s: row %" PRId64 ", column %" PRId64
                            " is %g, expected a whole number from 0 to 255",
                            wmi_text_tail(path), first + i / dim + 1, i % dim + 1, from[i]);
        to[i] = (uint8_t)from[i];
    }
    return WM_OK;
}

wm_status wmi_u8_read(uint8_t **out, int64_t *n, int64_t *dim, const char *path, wm_error *err)
{
    enum { AT_ONCE = 64 };
    int64_t room = 0, used = 0, got = 1, first, width;
    wm_reader *r = NULL;
    double *rows = NULL;
    wm_status st;

    *out = NULL;
    *n = 0;
    if ((st = wm_reader_open(&r, path, NULL, NULL, err)))
        return st;
    width = wm_reader_dim(r);
    if (*dim && width != *dim) {
        st = wmi_fail(err, WM_ESHAPE, "%s: rows of %" PRId64 " values, expected %" PRId64,
                      wmi_text_tail(path), width, *dim);
        goto done;
    }
    *dim = width;
    if ((st = wmi_alloc(&rows, AT_ONCE * width, sizeof *rows, "rows", err)))
        goto done;
    while (!(st = wm_reader_next(r, AT_ONCE, rows, &got, &first, err)) && got) {
        if ((used + got) * width > room) { /* as it comes: what a header says may be a lie */
            room = 2 * (used + AT_ONCE) * width;
            if ((st = wmi_u8_grow(out, used * width, room, err)))
                goto done;
        }
        if ((st = narrow(*out + used * width, rows, got, width, first, path, err)))
            goto done;
        used += got;
    }
    *n = used;
done:
    if (st) {
        wmi_free(*out);
        *out = NULL;
        *n = 0;
    }
    wmi_free(rows);
    wm_reader_close(r);
    return st;
}
