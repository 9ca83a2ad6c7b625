/* source.c - finding the format of a file, by what it holds rather than by its name, and the array
 * in it. Formats that other tools write and we do not read are told by name, with a way out. */
#include "data/formats/source.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/opts.h"
#include "base/utf8.h"
#include "data/formats/pick.h"
#include "waymark/sink.h"

/* In the order in which they look at a file. */
static const wmi_format *const formats[] = {
    &wmi_format_npy, &wmi_format_npz, &wmi_format_safetensors,
    &wmi_format_idx, &wmi_format_csv, &wmi_format_tsv,
};
enum { N_FORMATS = sizeof formats / sizeof *formats };

#define JSON                                                                                       \
    "JSON: pandas.read_json(FILE).to_csv(\"table.csv\", index=False) makes a CSV of it, with "     \
    "lines=True where each line is a record"

/* Beginnings of files that are not ours. text: a CSV may begin so too (a column PAR1), so it only
 * counts when the rest is no text. */
static const struct {
    const char *begin;
    size_t n;
    bool text;
    const char *what;
} foreign[] = {
    {"\x89HDF\r\n", 6, false, "an HDF5 file (or .mat 7.3): save the array as .npy"},
    {"PAR1", 4, true,
     "a Parquet file: pandas.read_parquet(FILE).to_csv(\"table.csv\", index=False) makes a CSV of "
     "it"},
    {"ARROW1", 6, true,
     "an Arrow file: pandas.read_feather(FILE).to_csv(\"table.csv\", index=False) makes a CSV of "
     "it"},
    {"FEA1", 4, true,
     "a Feather file: pandas.read_feather(FILE).to_csv(\"table.csv\", index=False) makes a CSV of "
     "it"},
    {"[{", 2, false, JSON},
    {"[[", 2, false, JSON},
    {"[\n", 2, false, JSON},
    {"{\"", 2, false, JSON},
    {"{\n", 2, false, JSON},
    {"<!DOCTYPE", 9, false, "a web page, not a table: was the link to the file itself?"},
    {"<html", 5, false, "a web page, not a table: was the link to the file itself?"},
    {"<?xml", 5, false, "XML: save the table as CSV"},
    {"MATLAB 5.0", 10, true, "a MATLAB file: save the array as .npy or CSV"},
    {"\x80\x02", 2, false, "a Python pickle, which is not read: save the array with numpy.save"},
    {"\x80\x03", 2, false, "a Python pickle, which is not read: save the array with numpy.save"},
    {"\x80\x04", 2, false, "a Python pickle, which is not read: save the array with numpy.save"},
    {"\x80\x05", 2, false, "a Python pickle, which is not read: save the array with numpy.save"},
    {"\xd0\xcf\x11\xe0", 4, false, "an Excel file: save it as CSV"},
    {"RDX", 3, true, "an RData file: save the table as CSV (write.csv)"},
    {"BZh91AY&SY", 10, false, "compressed with bzip2: unpack it, or pipe bzcat into '-'"},
    {"\xfd\x37zXZ", 5, false, "compressed with xz: unpack it, or pipe xzcat into '-'"},
    {"\x28\xb5\x2f\xfd", 4, false, "compressed with zstd: unpack it, or pipe zstdcat into '-'"},
    {"version https://git-lfs", 23, false, "a pointer of Git LFS, not the data: run git lfs pull"},
};

wm_status wmi_read_opts_take(wm_read_opts *opts, const wm_read_opts *given, wm_error *err)
{
    wm_status st;

    wm_read_opts_init(opts);
    if ((st = wmi_opts_take(opts, sizeof *opts, given, "wm_read_opts_init", err)))
        return st;
    if (opts->header < -1 || opts->header > 1)
        return wmi_fail(err, WM_EINVAL, "header is %d, expected 1 (yes), 0 (no) or -1 (look)",
                        opts->header);
    if ((int)opts->missing < WM_MISSING_REFUSE || opts->missing > WM_MISSING_KEEP)
        return wmi_fail(err, WM_EINVAL, "missing is %d, expected refuse, drop, mean or keep",
                        (int)opts->missing);
    if (opts->decimal && opts->decimal != '.' && opts->decimal != ',')
        return wmi_fail(err, WM_EINVAL, "decimal is '%c', expected '.', ',' or 0 (look)",
                        opts->decimal);
    if ((int)opts->dates < WM_DATES_FOUND || opts->dates > WM_DATES_TEXT)
        return wmi_fail(err, WM_EINVAL, "dates is %d, expected found, dmy, mdy or text",
                        (int)opts->dates);
    return WM_OK;
}

/* ---- which format ---- */

static const wmi_format *format_called(const char *name, size_t n)
{
    for (int i = 0; i < N_FORMATS; i++)
        if (strncmp(formats[i]->name, name, n) == 0 && formats[i]->name[n] == '\0')
            return formats[i];
    return NULL;
}

/* By the ending of the name, without .gz. */
static const wmi_format *format_by_ending(const char *path)
{
    size_t n = strlen(path), dot;

    if (n > 3 && strcmp(path + n - 3, ".gz") == 0)
        n -= 3;
    for (dot = n; dot > 0 && path[dot - 1] != '.'; dot--)
        if (path[dot - 1] == '/')
            return NULL;
    return dot ? format_called(path + dot, n - dot) : NULL;
}

static wm_status choose_format(const wmi_format **out, const wmi_stream *s, const char *named,
                               wm_error *err)
{
    const unsigned char *head;
    size_t n;
    wm_status st;

    *out = named ? format_called(named, strlen(named)) : NULL;
    if (named && !*out)
        return wmi_fail(err, WM_EINVAL,
                        "no format is called '%.40s'; there are npy, npz, csv, tsv, idx and "
                        "safetensors",
                        named);
    if ((st = wmi_bytes_peek(s->bytes, &head, &n, err)))
        return st;
    if (!n)
        return wmi_fail(err, WM_EFORMAT, "%s: the file is empty", s->label);
    if (*out)
        return WM_OK;
    for (int i = 0; i < N_FORMATS && formats[i] != &wmi_format_csv; i++)
        if (formats[i]->sniff(head, n)) {
            *out = formats[i];
            return WM_OK;
        }
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
        if (n >= foreign[i].n && memcmp(head, foreign[i].begin, foreign[i].n) == 0 &&
            !(foreign[i].text && wmi_format_csv.sniff(head, n)))
            return wmi_fail(err, WM_EUNSUPPORTED, "%s: is %s", s->label, foreign[i].what);
    /* A damaged x.npy is reported as a damaged npy file, not as bad CSV. */
    *out = format_by_ending(s->path);
    if (!*out && wmi_format_csv.sniff(head, n))
        *out = &wmi_format_csv;
    if (!*out)
        return wmi_fail(err, WM_EUNSUPPORTED,
                        "%s: neither npy, npz, IDX, safetensors nor text, so not CSV", s->label);
    return WM_OK;
}

/* ---- opening ---- */

static wm_status copy_text(char **out, const char *text, size_t n, wm_error *err)
{
    const wm_status st = wmi_alloc(out, (int64_t)n + 1, 1, "path", err);

    if (!st)
        memcpy(*out, text, n);
    return st;
}

/* Sets path and array from "FILE", or from "FILE:NAME" where no file has that whole name. */
static wm_status split_path(wmi_stream *s, const char *path, const char *array, wm_error *err)
{
    const size_t n = strlen(path);
    size_t cut = n;
    struct stat info;
    wm_status st;

    if (!n)
        return wmi_fail(err, WM_EINVAL, "the name of a file is empty");
    if ((st = copy_text(&s->path, path, n, err)))
        return st;
    if (strcmp(path, "-") != 0 && stat(path, &info))
        for (const char *p = strchr(path, ':'); p && cut == n; p = strchr(p + 1, ':')) {
            s->path[p - path] = '\0';
            if (p > path && stat(s->path, &info) == 0)
                cut = (size_t)(p - path);
            else
                s->path[p - path] = ':';
        }
    if (cut < n && array && strcmp(array, path + cut + 1) != 0)
        return wmi_fail(err, WM_EINVAL, "%s: array '%.40s' is asked for too: say one",
                        wmi_text_tail(path), array);
    if (cut < n)
        array = path + cut + 1;
    return array ? copy_text(&s->array, array, strlen(array), err) : WM_OK;
}

/* Text tables have done this themselves. */
static wm_status pick_of_array(wmi_stream *s, const wmi_source_file *file, wm_error *err)
{
    const wm_schema *known = file->schema ? file->schema : file->fixed;
    const wmi_choice choice = {.label = s->label,
                               .width = s->cursor->dim,
                               .known = known && wm_schema_dim(known) ? known : NULL,
                               .columns = file->columns,
                               .drop = file->drop,
                               .sink = file->sink};
    wmi_selection selection;
    wm_status st;

    if (file->keep)
        return wmi_fail(err, WM_EINVAL, "%s: only columns of a text table can be kept", s->label);
    if ((st = wmi_select(&selection, &choice, err)))
        return st;
    return wmi_pick_columns(&s->cursor, &selection, err);
}

/* With path, array and bytes in place. */
static wm_status open_cursor(wmi_stream *s, wm_schema *schema, const wm_schema *fixed,
                             const wm_read_opts *opts, bool lenient, wm_error *err)
{
    const wmi_format *format;
    wmi_source_file file = {
        .path = s->label,
        .array = s->array,
        .bytes = s->bytes,
        .header = opts->header,
        .schema = schema,
        .fixed = fixed,
        .continuous = schema ? opts->continuous : NULL,
        .integer = schema ? opts->integer : NULL,
        .categorical = schema ? opts->categorical : NULL,
        .columns = opts->columns,
        .drop = opts->drop,
        .keep = schema ? NULL : opts->keep,
        .decimal = opts->decimal,
        .dates = opts->dates,
        .unseen = fixed && opts->unseen,
        .lenient = lenient,
        .sink = opts->sink,
    };
    wm_status st = choose_format(&format, s, opts->format, err);

    if (st)
        return st;
    if (s->array && format != &wmi_format_npz && format != &wmi_format_safetensors)
        return wmi_fail(err, WM_EINVAL, "%s: %s files have no named arrays, so no '%.40s'",
                        s->label, format->name, s->array);
    if ((st = format->open(&s->cursor, &file, err)) || s->cursor->kinds_set)
        return st;
    return pick_of_array(s, &file, err);
}

/* ---- progress of a format that looks through its file before the first row ---- */

typedef struct looking {
    const wmi_stream *source;
    const wm_sink *sink;
    wm_task progress;
    int64_t done; /* MiB */
    bool spoke;
} looking;

static void look_on(void *ctx, int64_t done, int64_t total)
{
    looking *l = (looking *)ctx;

    if (!l->spoke && wm_clock(l->sink) - l->progress.started < WMI_SPEAK_AFTER)
        return;
    l->spoke = true;
    l->done = done >> 20;
    l->progress.total = total > 0 ? total >> 20 : 0;
    wm_task_update(&l->progress, l->done, "looking through %s", l->source->label);
}

static wm_status open_speaking(wmi_stream *s, wm_schema *schema, const wm_schema *fixed,
                               const wm_read_opts *opts, bool lenient, wm_error *err)
{
    looking l = {.source = s, .sink = opts->sink};
    wm_status st;

    wm_task_start(&l.progress, opts->sink, "MiB", 0, 0);
    if (opts->sink && opts->sink->progress)
        wmi_bytes_watch(s->bytes, look_on, &l);
    st = open_cursor(s, schema, fixed, opts, lenient, err);
    wmi_bytes_watch(s->bytes, NULL, NULL);
    if (l.spoke)
        wm_task_finish(&l.progress, l.done, "looked through %s", s->label);
    return st;
}

static void set_label(wmi_stream *s)
{
    s->label = wmi_text_tail(strcmp(s->path, "-") == 0 ? "standard input" : s->path);
}

wm_status wmi_stream_open(wmi_stream *s, const char *path, wm_schema *schema,
                          const wm_schema *fixed, const wm_read_opts *opts, bool lenient,
                          wm_error *err)
{
    wm_status st;

    *s = (wmi_stream){0};
    if ((st = split_path(s, path, opts->array, err)))
        goto done;
    set_label(s);
    if ((st = wmi_bytes_open(&s->bytes, s->path, opts->stop, err)))
        goto done;
    st = open_speaking(s, schema, fixed, opts, lenient, err);
done:
    if (st)
        wmi_stream_close(s);
    return st;
}

wm_status wmi_stream_open_bytes(wmi_stream *s, wmi_bytes *bytes, const char *path,
                                wm_schema *schema, const wm_schema *fixed, const wm_read_opts *opts,
                                wm_error *err)
{
    wm_status st;

    *s = (wmi_stream){.bytes = bytes};
    if ((st = copy_text(&s->path, path, strlen(path), err)) ||
        (opts->array && (st = copy_text(&s->array, opts->array, strlen(opts->array), err))))
        goto done;
    set_label(s);
    st = open_speaking(s, schema, fixed, opts, false, err);
done:
    if (st)
        wmi_stream_close(s);
    return st;
}

void wmi_stream_close(wmi_stream *s)
{
    if (s->cursor)
        s->cursor->close(s->cursor);
    wmi_bytes_close(s->bytes);
    wmi_free(s->path);
    wmi_free(s->array);
    *s = (wmi_stream){0};
}
