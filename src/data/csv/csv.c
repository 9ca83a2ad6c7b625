/* csv.c - the formats csv and tsv: text tables as a cursor.
 *
 * Loading (file->schema): the whole table is looked at first, then read. Streaming: once, in
 * constant memory, with the kinds and levels of file->fixed. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "data/csv/csv_keep.h"
#include "data/csv/csv_kinds.h"
#include "data/csv/csv_table.h"
#include "data/formats/reader.h"
#include "data/table/schema.h"

enum { BLOCK_ROWS = 65536 }; /* at most so many a call: their lines are remembered */

typedef struct csv_cursor {
    wmi_cursor base;
    wmi_csv_table table;
    const wm_schema *schema; /* of the levels, or NULL */
    wmi_csv_column *columns; /* (dim) */
    bool unseen;             /* levels that the schema lacks are let pass */
    wmi_csv_keep keep;
    int64_t *line; /* (block_room) of the rows of the latest block */
    int64_t block_first, block_n, block_room;
} csv_cursor;

static void csv_close(wmi_cursor *base)
{
    csv_cursor *c = (csv_cursor *)base;

    wmi_csv_table_close(&c->table);
    wmi_csv_keep_free(&c->keep);
    wmi_free(c->columns);
    wmi_free(c->line);
    wmi_free(c);
}

static void csv_where(const wmi_cursor *base, int64_t row, char *buf, size_t size)
{
    const csv_cursor *c = (const csv_cursor *)base;
    const int64_t i = row - c->block_first;

    if (i >= 0 && i < c->block_n)
        snprintf(buf, size, "line %" PRId64, c->line[i]);
    else
        snprintf(buf, size, "row %" PRId64, row + 1);
}

static const char *csv_kept(const wmi_cursor *base, int64_t row)
{
    const csv_cursor *c = (const csv_cursor *)base;

    return row < 0 ? c->keep.header : wmi_csv_keep_line(&c->keep, row - c->block_first);
}

/* The table's current row as numbers. */
static wm_status read_values(csv_cursor *c, double *x, wm_error *err)
{
    for (int64_t j = 0; j < c->base.dim; j++) {
        const wmi_csv_field *f = &c->table.row[j];
        const wmi_csv_column *is = &c->columns[j];
        const wmi_csv_value v =
            is->idle ? WMI_CSV_MISSING : wmi_csv_read_as(f, &is->written, &x[j]);

        if (is->idle) {
            x[j] = (double)NAN;
        } else if (!is->categorical) {
            if (v == WMI_CSV_TEXT)
                return wmi_csv_not_a_number(&c->table, j, err);
        } else if (v != WMI_CSV_MISSING) {
            const int64_t level = wmi_csv_level(c->schema, j, f);

            if (level < 0 && !c->unseen)
                return wmi_csv_not_a_level(&c->table, c->schema, j, err);
            c->base.unseen += level < 0;
            x[j] = (double)level;
        }
    }
    return WM_OK;
}

static wm_status make_room(csv_cursor *c, int64_t max, wm_error *err)
{
    wm_status st;

    if (c->block_room >= max)
        return WM_OK;
    wmi_free(c->line);
    c->block_room = 0;
    if ((st = wmi_alloc(&c->line, max, sizeof *c->line, "line numbers", err)))
        return st;
    c->block_room = max;
    return WM_OK;
}

static wm_status csv_next(wmi_cursor *base, int64_t max, double *rows, int64_t *got, wm_error *err)
{
    csv_cursor *c = (csv_cursor *)base;
    wm_status st;

    *got = 0;
    c->block_first += c->block_n;
    c->block_n = 0;
    wmi_csv_keep_clear(&c->keep);
    if (max > BLOCK_ROWS)
        max = BLOCK_ROWS;
    if (base->count >= 0 && max > base->count - c->block_first)
        max = base->count - c->block_first;
    if ((st = make_room(c, max, err)))
        return st;
    while (c->block_n < max) {
        bool more = false;

        if ((st = wmi_csv_table_next(&c->table, &more, err)))
            return st;
        if (!more)
            break;
        if ((st = read_values(c, rows + c->block_n * base->dim, err)) ||
            (st = wmi_csv_keep_row(&c->keep, &c->table, err)))
            return st;
        c->line[c->block_n++] = c->table.line;
    }
    if (base->count >= 0 && c->block_n < max)
        return wmi_fail(err, WM_EIO, "%s: has become shorter while it was read",
                        wmi_text_tail(c->table.scan.path));
    *got = c->block_n;
    return WM_OK;
}

/* How a column is written in this file, if the user knows better than an earlier one. */
static wmi_written as_told(wmi_written w, wm_kind kind, const wmi_source_file *file)
{
    const bool numbers = w.script == WMI_DRESSED || w.script == WMI_PLAIN;

    if (file->decimal && numbers && kind != WM_KIND_CATEGORICAL && w.decimal != file->decimal) {
        w.script = WMI_DRESSED;
        w.decimal = file->decimal;
        w.thousands = file->decimal == ',' ? '.' : ',';
    }
    if (w.script == WMI_DATE && file->dates == WM_DATES_DMY)
        w.order = WMI_DMY;
    if (w.script == WMI_DATE && file->dates == WM_DATES_MDY)
        w.order = WMI_MDY;
    return w;
}

/* Streaming: the columns are those of an earlier table, or any numbers. */
static wm_status take_fixed(csv_cursor *c, const wmi_source_file *file, wm_error *err)
{
    wm_status st;

    if (!file->fixed)
        return WM_OK;
    if ((st = wmi_schema_check(file->fixed, file->path, c->base.dim, c->table.names, err)))
        return st;
    for (int64_t j = 0; j < c->base.dim; j++) {
        const wm_kind kind = wm_schema_kind(file->fixed, j);

        c->columns[j].written = as_told(*wmi_schema_written(file->fixed, j), kind, file);
        c->columns[j].categorical = kind == WM_KIND_CATEGORICAL;
    }
    return WM_OK;
}

static wm_status csv_open(wmi_cursor **out, const wmi_source_file *file, int delimiter,
                          wm_error *err)
{
    csv_cursor *c = NULL;
    wm_status st;

    *out = NULL;
    if ((st = wmi_alloc(&c, 1, sizeof *c, "text table", err)))
        return st;
    if (file->schema)
        wmi_bytes_keep(file->bytes);
    c->base.next = csv_next;
    c->base.where = csv_where;
    c->base.kept = csv_kept;
    c->base.close = csv_close;
    c->base.count = -1;
    c->base.kinds_set = true;
    c->unseen = file->unseen;
    c->schema = file->schema ? file->schema : file->fixed;
    if ((st = wmi_csv_table_open(&c->table, file, delimiter, err)))
        goto done;
    c->base.dim = c->table.dim;
    if ((st = wmi_csv_keep_start(&c->keep, &c->table, file->keep, err)) ||
        (st = wmi_alloc(&c->columns, c->base.dim, sizeof *c->columns, "columns", err)))
        goto done;
    if (file->schema) {
        st = wmi_csv_learn(&c->table, file, c->columns, &c->base.count, err);
        c->base.sized = true;
    } else {
        st = take_fixed(c, file, err);
    }
    if (st)
        goto done;
    *out = &c->base;
    c = NULL;
done:
    if (c)
        csv_close(&c->base);
    return st;
}

static wm_status open_any(wmi_cursor **out, const wmi_source_file *file, wm_error *err)
{
    return csv_open(out, file, -1, err);
}

static wm_status open_tsv(wmi_cursor **out, const wmi_source_file *file, wm_error *err)
{
    return csv_open(out, file, '\t', err);
}

static bool sniff_text(const unsigned char *head, size_t n)
{
    return n == 0 || !memchr(head, '\0', n) || wmi_csv_encoding_of(head, n) != WMI_CSV_UTF8;
}

static bool sniff_never(const unsigned char *head, size_t n)
{
    (void)head, (void)n;
    return false;
}

const wmi_format wmi_format_csv = {"csv", sniff_text, open_any};
/* Only by name: csv finds tabs too. */
const wmi_format wmi_format_tsv = {"tsv", sniff_never, open_tsv};
