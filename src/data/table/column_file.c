/* column_file.c - the three ways to write a column down. */
#include "data/table/column_file.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/file.h"
#include "data/formats/npy.h"
#include "data/table/number.h"

struct wmi_column_file {
    wmi_file *file; /* NULL: standard output */
    FILE *stream;
    const char *label; /* of messages, in path */
    char *path;
    wmi_column_format format;
    int64_t n, written;
    FILE *beside; /* lines, or NULL */
    char *line;   /* (line_room) the latest of them, of getdelim() */
    size_t line_room;
};

static bool is_stdout(const char *path)
{
    return strcmp(path, "-") == 0;
}

wm_status wmi_column_file_check(const char *path, wm_error *err)
{
    struct stat info;
    wmi_file *f;
    wm_status st;

    /* Not a pipe: its reader would take our opening and closing it for the whole of the data. */
    if (is_stdout(path) ||
        (stat(path, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)))
        return WM_OK;
    if ((st = wmi_file_open(&f, path, err)))
        return st;
    wmi_file_abandon(f);
    return WM_OK;
}

static wm_status refuse_write(const wmi_column_file *c, int number, wm_error *err)
{
    return wmi_fail(err, WM_EIO, "%s: cannot write: %s", c->label, strerror(number ? number : EIO));
}

static wm_status write_head(wmi_column_file *c, const char *name, const char *beside, wm_error *err)
{
    errno = 0;
    if (c->format == WMI_COLUMN_NPY) {
        char head[WMI_NPY_HEAD];
        const int size = wmi_npy_header(head, sizeof(double), 1, &c->n);

        fwrite(head, 1, (size_t)size, c->stream);
    } else if (c->format == WMI_COLUMN_CSV)
        fprintf(c->stream, "row,%s%s%s\n", beside ? beside : "", beside ? "," : "", name);
    return ferror(c->stream) ? refuse_write(c, errno, err) : WM_OK;
}

wm_status wmi_column_file_open(wmi_column_file **out, const char *path, wmi_column_format format,
                               const char *name, int64_t n, const wmi_column_beside *beside,
                               wm_error *err)
{
    wmi_column_file *c = NULL;
    wm_status st;

    *out = NULL;
    if ((st = wmi_alloc(&c, 1, sizeof *c, "output", err)))
        return st;
    c->format = format;
    c->n = n;
    c->beside = beside ? beside->lines : NULL;
    if ((st = wmi_path_join(&c->path, "", is_stdout(path) ? "standard output" : path, err)) ||
        (!is_stdout(path) && (st = wmi_file_open(&c->file, path, err))))
        goto failed;
    c->label = wmi_path_tail(c->path);
    c->stream = c->file ? wmi_file_stream(c->file) : stdout;
    if ((st = write_head(c, name, beside ? beside->names : NULL, err)))
        goto failed;
    *out = c;
    return WM_OK;
failed:
    wmi_column_file_abandon(c);
    return st;
}

/* The number of a row and what stands beside it. */
static wm_status write_front(wmi_column_file *c, int64_t row, wm_error *err)
{
    fprintf(c->stream, "%" PRId64 ",", row + 1);
    if (!c->beside)
        return WM_OK;
    if (getdelim(&c->line, &c->line_room, '\0', c->beside) < 0)
        return wmi_fail(err, WM_EIO, "%s: the columns to be kept cannot be read back", c->label);
    fprintf(c->stream, "%s,", c->line);
    return WM_OK;
}

wm_status wmi_column_file_write(wmi_column_file *c, const double *x, const int64_t *rows, int64_t n,
                                wm_error *err)
{
    char text[WMI_NUMBER_TEXT];
    wm_status st;

    assert(n <= c->n - c->written);
    errno = 0;
    if (c->format == WMI_COLUMN_NPY && n)
        fwrite(x, sizeof *x, (size_t)n, c->stream);
    for (int64_t i = 0; c->format != WMI_COLUMN_NPY && i < n; i++) {
        if (c->format == WMI_COLUMN_CSV &&
            (st = write_front(c, rows ? rows[i] : c->written + i, err)))
            return st;
        fputs(wmi_number_text(x[i], text), c->stream);
        fputc('\n', c->stream);
    }
    c->written += n;
    return ferror(c->stream) ? refuse_write(c, errno, err) : WM_OK;
}

static void drop(wmi_column_file *c)
{
    free(c->line);
    wmi_free(c->path);
    wmi_free(c);
}

wm_status wmi_column_file_commit(wmi_column_file *c, wm_error *err)
{
    wm_status st = WM_OK;

    assert(c->written == c->n);
    if (c->file) {
        st = wmi_file_commit(c->file, err);
    } else {
        errno = 0;
        if (fflush(c->stream))
            st = refuse_write(c, errno, err);
    }
    drop(c);
    return st;
}

void wmi_column_file_abandon(wmi_column_file *c)
{
    if (!c)
        return;
    wmi_file_abandon(c->file);
    drop(c);
}
