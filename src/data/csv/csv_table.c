/* csv_table.c - the rows of a text table, and messages that name their place. */
#include "data/csv/csv_table.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "waymark/sink.h"

static const wmi_csv_field blank_field = {.at = ""};

const char *wmi_csv_place(const wmi_csv_table *t, int64_t line, int64_t column,
                          char buf[WMI_CSV_PLACE])
{
    const char *name = t->names ? t->names[column] : NULL;
    char cut[WMI_TEXT_CUT];
    int n = snprintf(
        buf, WMI_CSV_PLACE, "%s:%" PRId64 ": column %" PRId64, wmi_text_tail(t->scan.path), line,
        t->pick.from && t->pick.from[column] >= 0 ? t->pick.from[column] + 1 : column + 1);

    if (!name && t->known)
        name = wm_schema_name(t->known, column);
    if (name)
        snprintf(buf + n, WMI_CSV_PLACE - (size_t)n, " ('%s')",
                 wmi_text_cut(cut, name, strlen(name)));
    return buf;
}

/* --- opening -----------------------------------------------------------------------------------*/

/* The scan's next row that is not blank. */
static wm_status first_row(wmi_csv_table *t, bool *got, wm_error *err)
{
    wm_status st;

    do
        st = wmi_csv_scan_row(&t->scan, got, err);
    while (!st && *got && t->scan.n == 0);
    return st;
}

/* A first column without a name, above which rows are one field wider than the header, is named by
 * nothing. */
static wm_status take_names(wmi_csv_table *t, wm_error *err)
{
    const int64_t skip = t->shape.row_names ? 1 : 0;
    const char **names = wmi_arena_alloc(&t->arena, (size_t)t->shape.dim * sizeof *names, err);
    char text[WMI_CSV_MAX_TEXT + 1];
    size_t n;

    if (!names)
        return WM_ENOMEM;
    for (int64_t j = skip; j < t->shape.dim; j++) {
        if (!wmi_csv_text(&t->scan.field[j - skip], text, &n))
            return wmi_fail(err, WM_EFORMAT,
                            "%s:%" PRId64 ": column %" PRId64 ": a name of more than %d bytes",
                            wmi_text_tail(t->scan.path), t->first_line, j + 1, WMI_CSV_MAX_TEXT);
        if (n && !(names[j] = wmi_arena_strdup(&t->arena, text, err)))
            return WM_ENOMEM;
    }
    t->all_names = names;
    return WM_OK;
}

/* The columns that were asked for, or that an earlier table had. */
static wm_status pick_columns(wmi_csv_table *t, const wmi_source_file *file, wm_error *err)
{
    const wmi_choice choice = {.label = t->scan.path,
                               .width = t->shape.dim,
                               .names = t->all_names,
                               .known = t->known,
                               .columns = file->columns,
                               .drop = file->drop,
                               .lenient = file->lenient,
                               .sink = file->sink};
    const char **names;
    wm_status st;

    if ((st = wmi_select(&t->pick, &choice, err)))
        return st;
    t->dim = t->pick.dim;
    t->names = t->all_names;
    if (t->pick.whole)
        return WM_OK;
    names = wmi_arena_alloc(&t->arena, (size_t)t->dim * sizeof *names, err);
    t->picked = wmi_arena_alloc(&t->arena, (size_t)t->dim * sizeof *t->picked, err);
    if (!names || !t->picked)
        return WM_ENOMEM;
    for (int64_t j = 0; j < t->dim; j++)
        names[j] = t->all_names && t->pick.from[j] >= 0 ? t->all_names[t->pick.from[j]] : NULL;
    t->names = t->all_names ? names : NULL;
    return WM_OK;
}

/* From the first byte to the first row. */
static wm_status start(wmi_csv_table *t, wm_error *err)
{
    bool got = true;
    wm_status st;

    if ((st = wmi_csv_scan_start(&t->scan, err)))
        return st;
    wmi_csv_scan_delimiter(&t->scan, t->shape.delimiter);
    t->count = t->blanks = 0;
    t->held = false;
    return t->shape.header ? first_row(t, &got, err) : WM_OK;
}

wm_status wmi_csv_table_open(wmi_csv_table *t, const wmi_source_file *file, int delimiter,
                             wm_error *err)
{
    const wm_schema *known = file->schema ? file->schema : file->fixed;
    bool got = false;
    wm_status st;

    t->scan.path = file->path;
    t->scan.bytes = file->bytes;
    t->scan.sink = file->sink;
    t->known = known && wm_schema_dim(known) ? known : NULL;
    if ((st = wmi_csv_scan_start(&t->scan, err)) ||
        (st = wmi_csv_guess(&t->shape, &t->scan, delimiter, file->header, t->known, err)))
        return st;
    wmi_csv_scan_delimiter(&t->scan, t->shape.delimiter);
    if (t->shape.header || t->shape.dim == 0) {
        if ((st = first_row(t, &got, err)))
            return st;
        if (!got)
            return wmi_fail(err, WM_EFORMAT, "%s: the file is empty", wmi_text_tail(file->path));
        if (t->shape.dim == 0)
            return wmi_fail(err, WM_EFORMAT, "%s: no columns found", wmi_text_tail(file->path));
    }
    t->first_line = t->shape.header ? t->scan.row_line : t->scan.line;
    if (t->shape.header && (st = take_names(t, err)))
        return st;
    if (t->shape.header && t->shape.doubtful)
        wm_say(file->sink, WM_LOG_WARN,
               "%s:%" PRId64
               ": taken for names, although it has numbers: set header to no if it is data",
               wmi_text_tail(file->path), t->first_line);
    return pick_columns(t, file, err);
}

void wmi_csv_table_close(wmi_csv_table *t)
{
    wmi_selection_free(&t->pick);
    wmi_csv_scan_close(&t->scan);
    wmi_arena_free(&t->arena);
}

wm_status wmi_csv_table_rewind(wmi_csv_table *t, bool last, wm_error *err)
{
    wm_status st;

    if ((st = wmi_bytes_rewind(t->scan.bytes, err)))
        return st;
    if (!last)
        wmi_bytes_keep(t->scan.bytes);
    return start(t, err);
}

/* --- rows --------------------------------------------------------------------------------------*/

static wm_status check_width(const wmi_csv_table *t, wm_error *err)
{
    const wmi_csv_scan *s = &t->scan;
    const int64_t dim = t->shape.dim;

    if (s->n == dim || (t->shape.trailing && s->n == dim + 1 && s->field[dim].n == 0))
        return WM_OK;
    return wmi_fail(
        err, WM_EFORMAT,
        "%s:%" PRId64 ": %" PRId64 " column%s, expected %" PRId64 " as in line %" PRId64 "%s",
        wmi_text_tail(s->path), s->row_line, s->n, s->n == 1 ? "" : "s", dim, t->first_line,
        t->shape.header && t->count == 0 && s->n == dim + 1
            ? "; if the first column holds names of rows, write the table without them"
            : "");
}

static void yield(wmi_csv_table *t, const wmi_csv_field *row, int64_t line)
{
    t->row = t->fields = row;
    if (!t->pick.whole) {
        for (int64_t j = 0; j < t->dim; j++)
            t->picked[j] = t->pick.from[j] >= 0 ? row[t->pick.from[j]] : blank_field;
        t->row = t->picked;
    }
    t->line = line;
    t->count++;
}

wm_status wmi_csv_table_next(wmi_csv_table *t, bool *got, wm_error *err)
{
    wm_status st = WM_OK;

    *got = true;
    while (!t->held) {
        if ((st = wmi_csv_scan_row(&t->scan, got, err)) || !*got)
            return st; /* blank lines at the end mean nothing */
        if (t->scan.n) {
            if ((st = check_width(t, err)))
                return st;
            t->held = true;
        } else if (t->shape.dim == 1 && (t->shape.header || t->count)) {
            t->blank_line = t->blanks ? t->blank_line : t->scan.row_line;
            t->blanks++;
        }
    }
    if (t->blanks) {
        t->blanks--;
        yield(t, &blank_field, t->blank_line++);
        return WM_OK;
    }
    t->held = false;
    yield(t, t->scan.field, t->scan.row_line);
    return WM_OK;
}
