/* reader.c - tables from files, whole or a block of rows at a time. What a format yields is looked
 * at here, block by block while its place in the file is known: infinite values are refused,
 * missing ones are treated as asked. */
#include "data/formats/reader.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "data/formats/paths.h"
#include "data/formats/source.h"
#include "data/table/doubt.h"
#include "data/table/kinds.h"
#include "data/table/row_sample.h"
#include "data/table/schema.h"
#include "data/table/table.h"
#include "waymark/sink.h"

enum { BLOCK = 1 << 19 }; /* numbers read at a time: 4 MiB */

void wm_read_opts_init(wm_read_opts *opts)
{
    *opts = (wm_read_opts){.struct_size = sizeof *opts, .header = -1};
}

static int64_t block_rows(int64_t dim)
{
    return dim < BLOCK ? BLOCK / dim : 1;
}

/* ---- values that are none ---- */

static bool all_finite(const double *x, int64_t n)
{
    int bad = 0;

    for (int64_t i = 0; i < n; i++)
        bad |= !(fabs(x[i]) <= DBL_MAX); /* without a branch: vector code */
    return !bad;
}

static const char *describe(const wm_schema *s, int64_t column, char *buf, size_t size)
{
    if (s)
        return wm_schema_describe(s, column, buf, size);
    snprintf(buf, size, "column %" PRId64, column + 1);
    return buf;
}

/* A message about the value at a row of the file. says: its words. */
static wm_status refuse_value(const wmi_stream *src, const wm_schema *s, int64_t row,
                              int64_t column, const char *says, wm_error *err)
{
    char where[64], what[96];

    src->cursor->where(src->cursor, row, where, sizeof where);
    return wmi_fail(err, WM_EINVAL, "%s: %s, %s: %s", src->label, where,
                    describe(s, column, what, sizeof what), says);
}

/* Looks at n rows that were just read, the first of them being this row of the file. Infinite
 * values are refused, and missing ones unless they are allowed. */
static wm_status look(const wmi_stream *src, const wm_schema *s, const double *rows, int64_t n,
                      int64_t first, bool missing_allowed, bool streamed, wm_error *err)
{
    const int64_t dim = src->cursor->dim;

    if (all_finite(rows, n * dim))
        return WM_OK;
    for (int64_t i = 0; i < n * dim; i++) {
        if (isinf(rows[i]))
            return refuse_value(src, s, first + i / dim, i % dim,
                                rows[i] > 0 ? "inf is not a value: remove the row or mark it as "
                                              "missing (NaN)"
                                            : "-inf is not a value: remove the row or mark it as "
                                              "missing (NaN)",
                                err);
        if (isnan(rows[i]) && !missing_allowed)
            return wmi_about(
                refuse_value(src, s, first + i / dim, i % dim,
                             streamed ? "the value is missing (NaN): such rows can be dropped"
                                      : "the value is missing (NaN): such rows can be dropped, or "
                                        "filled in with the mean of the column",
                             err),
                err, "missing");
    }
    return WM_OK;
}

static bool has_missing(const double *row, int64_t dim)
{
    for (int64_t j = 0; j < dim; j++)
        if (isnan(row[j]))
            return true;
    return false;
}

/* Moves the rows without a missing value together; returns how many there are. */
static int64_t drop_rows(double *rows, int64_t n, int64_t dim)
{
    int64_t kept = 0;

    for (int64_t i = 0; i < n; i++) {
        if (has_missing(rows + i * dim, dim))
            continue;
        if (kept < i)
            memcpy(rows + kept * dim, rows + i * dim, (size_t)dim * sizeof *rows);
        kept++;
    }
    return kept;
}

/* ---- pairs ---- */

wm_status wm_data_drop_pairs(wm_data *a, wm_data *b, int64_t *dropped, wm_error *err)
{
    WMI_NEED(err, a && b);
    const int64_t n = wm_data_count(a), da = wm_data_dim(a), db = wm_data_dim(b);
    double *x = wm_data_rows_mut(a), *y = wm_data_rows_mut(b);
    int64_t kept = 0;
    wm_status st;

    if (wm_data_count(b) != n)
        return wmi_fail(err, WM_ESHAPE, "%" PRId64 " rows and %" PRId64 " rows do not make pairs",
                        n, wm_data_count(b));
    for (int64_t i = 0; i < n; i++) {
        if (has_missing(x + i * da, da) || has_missing(y + i * db, db))
            continue;
        if (kept < i) {
            memcpy(x + kept * da, x + i * da, (size_t)da * sizeof *x);
            memcpy(y + kept * db, y + i * db, (size_t)db * sizeof *y);
        }
        kept++;
    }
    if (dropped)
        *dropped = n - kept;
    if (!kept)
        return wmi_fail(err, WM_EINVAL, "every one of the %" PRId64 " pairs has a missing value",
                        n);
    if (kept == n)
        return WM_OK;
    st = wmi_data_resize(a, kept, err);
    return st ? st : wmi_data_resize(b, kept, err);
}

/* ---- whole tables ---- */

typedef struct load {
    wmi_stream src;
    wm_schema *schema;
    const wm_read_opts *opts;
    int *forced; /* (dim), arrays: the kinds that the user gives */
    bool any_integer;
    bool first; /* the schema knew no table before this one */
    wm_data *d;
    int64_t row, kept; /* of the file, of the table */
    wmi_row_sample *sample;
    int64_t before; /* rows of the sample that are of other files */
    int64_t whole;  /* rows of the file without a missing value, or all */
    wm_task progress;
    bool spoke;
} load;

/* What must be settled before the first row. */
static wm_status begin(load *l, wm_error *err)
{
    const wmi_cursor *c = l->src.cursor;
    const wm_read_opts *o = l->opts;
    wm_status st;

    if (c->count == 0)
        return wmi_fail(err, WM_ESHAPE, "%s: has no rows", l->src.label);
    wmi_row_sample_begin(l->sample, o->max_rows, c->dim, c->count);
    if (c->kinds_set)
        return WM_OK;
    if ((st = wmi_schema_begin(l->schema, l->src.label, c->dim, NULL, err)))
        return st;
    if (l->first && c->from)
        wmi_schema_place(l->schema, c->from, c->width);
    if ((st = wmi_alloc(&l->forced, c->dim, sizeof *l->forced, "kinds", err)) ||
        (st = wmi_schema_forced(l->schema, o->continuous, o->integer, o->categorical, l->forced,
                                err)))
        return st;
    for (int64_t j = 0; j < c->dim; j++)
        l->any_integer = l->any_integer || l->forced[j] == WM_KIND_INTEGER;
    return WM_OK;
}

/* Columns that are told to be integer must be. */
static wm_status check_integers(const load *l, const double *rows, int64_t n, wm_error *err)
{
    const int64_t dim = l->src.cursor->dim;

    if (!l->any_integer || l->src.cursor->integers)
        return WM_OK;
    for (int64_t i = 0; i < n * dim; i++)
        if (l->forced[i % dim] == WM_KIND_INTEGER && !isnan(rows[i]) && !wmi_is_whole(rows[i])) {
            char says[96];

            snprintf(says, sizeof says, "%.17g is not whole, but the column is to be integer",
                     rows[i]);
            return refuse_value(&l->src, l->schema, l->row + i / dim, i % dim, says, err);
        }
    return WM_OK;
}

/* Columns that will be left out are not looked at. */
static void clear_idle(const load *l, double *rows, int64_t n)
{
    const int64_t dim = l->src.cursor->dim;

    for (int64_t j = 0; j < dim; j++)
        for (int64_t i = 0; i < n && wmi_schema_idle(l->schema, j); i++)
            rows[i * dim + j] = 0;
}

/* Room for a block after the rows that are kept: for all rows where the file is known to have
 * them, else growing by half. */
static wm_status make_room(load *l, int64_t block, wm_error *err)
{
    const wmi_cursor *c = l->src.cursor;
    const int64_t need = l->kept + block;
    int64_t room = c->sized ? c->count : need + l->kept / 2;

    if (l->sample->limit && room > l->sample->limit + block)
        room = l->sample->limit + block;
    if (!c->sized && c->count >= need && room > c->count)
        room = c->count;
    if (!l->d)
        return wm_data_new(&l->d, room, c->dim, NULL, err);
    return need <= wm_data_count(l->d) ? WM_OK : wmi_data_resize(l->d, room, err);
}

static void report(load *l)
{
    const int64_t total = l->src.cursor->count > 0 ? l->src.cursor->count : 0;
    const wm_sink *sink = l->opts->sink;

    if (!sink || !sink->progress)
        return;
    if (!l->spoke && wm_clock(sink) - l->progress.started < WMI_SPEAK_AFTER)
        return;
    l->spoke = true;
    l->progress.total = total;
    wm_task_update(&l->progress, l->row, "reading %s", l->src.label);
}

static wm_status load_rows(load *l, wm_error *err)
{
    wmi_cursor *c = l->src.cursor;
    const int64_t most = block_rows(c->dim);
    wm_status st;

    for (;;) {
        int64_t block = most, got, taken;
        double *rows;

        if (c->count >= 0 && l->row == c->count) /* a stream may have more than it says */
            return c->sized ? WM_OK : c->next(c, 0, NULL, &got, err);
        if (c->count >= 0 && c->count - l->row < block)
            block = c->count - l->row;
        if ((st = make_room(l, block, err)))
            return st;
        rows = wm_data_rows_mut(l->d) + l->kept * c->dim;
        if ((st = c->next(c, block, rows, &got, err)))
            return st;
        if (!got)
            return WM_OK;
        clear_idle(l, rows, got);
        if ((st = look(&l->src, l->schema, rows, got, l->row, l->opts->missing != WM_MISSING_REFUSE,
                       false, err)) ||
            (st = check_integers(l, rows, got, err)))
            return st;
        taken = l->opts->missing == WM_MISSING_DROP ? drop_rows(rows, got, c->dim) : got;
        l->row += got;
        l->whole += taken;
        if ((st = wmi_row_sample_take(l->sample, taken, c->dim, rows, &taken, err)))
            return st;
        l->kept += taken;
        if (l->sample->limit && l->kept > l->sample->limit)
            l->kept = wmi_row_sample_thin(l->sample, l->before, l->sample->limit, c->dim,
                                          wm_data_rows_mut(l->d));
        report(l);
    }
}

/* With all rows read: missing values, kinds and levels, and a word about them. */
static wm_status finish(load *l, wm_error *err)
{
    const wm_sink *sink = l->opts->sink;
    const char *label = l->src.label;
    int64_t filled = 0;
    char text[128];
    wm_status st;

    if (l->spoke)
        wm_task_finish(&l->progress, l->row, "read %s", label);
    if (l->row == 0)
        return wmi_fail(err, WM_ESHAPE, "%s: has no rows", label);
    if (l->whole == 0)
        return wmi_fail(err, WM_EINVAL, "%s: every one of its %" PRId64 " rows has a missing value",
                        label, l->row);
    if ((st = wmi_data_resize(l->d, l->kept, err)) ||
        (!l->src.cursor->kinds_set && (st = wmi_kinds_settle(l->schema, label, l->d, l->src.cursor,
                                                             l->forced, l->first, err))) ||
        (l->opts->missing == WM_MISSING_MEAN &&
         (st = wmi_kinds_fill(l->schema, label, &l->d, 1, &filled, err))))
        return st;
    if (l->whole < l->row)
        wm_say(sink, WM_LOG_WARN,
               "%s: %" PRId64 " of %" PRId64 " rows have a missing value and were left out", label,
               l->row - l->whole, l->row);
    if (filled)
        wm_say(sink, WM_LOG_WARN,
               "%s: %" PRId64 " missing values were filled in with the mean of their column", label,
               filled);
    if (l->first && (st = wmi_drop_idle(l->schema, label, &l->d, 1, err)))
        return st;
    if (wmi_kinds_text(l->schema, text, sizeof text))
        wm_say(sink, WM_LOG_INFO, "%s: %s", label, text);
    return l->first ? wmi_doubt_identifiers(l->schema, label, l->d, sink, err) : WM_OK;
}

/* Takes the source over. */
static wm_status read_source(wm_data **out, load *l, wm_error *err)
{
    wm_status st;

    wm_task_start(&l->progress, l->opts->sink, "rows", 0, 0);
    if (!(st = begin(l, err)) && !(st = load_rows(l, err)))
        st = finish(l, err);
    wmi_stream_close(&l->src);
    wmi_free(l->forced);
    if (st)
        wm_data_free(l->d);
    else
        *out = l->d;
    return st;
}

/* One file, which goes on with a table that other files have begun, or begins it. */
static wm_status read_file(wm_data **table, const char *path, wmi_row_sample *sample,
                           wm_schema *schema, const wm_read_opts *opts, bool lenient, wm_error *err)
{
    load l = {.schema = schema,
              .opts = opts,
              .first = wm_schema_dim(schema) == 0,
              .sample = sample,
              .before = sample->n};
    wm_data *more = NULL;
    wm_status st;

    if ((st = wmi_stream_open(&l.src, path, schema, NULL, opts, lenient, err)) ||
        (st = read_source(*table ? &more : table, &l, err)) || !more)
        return st;
    if (wm_data_dim(more) != wm_data_dim(*table))
        st = wmi_fail(err, WM_ESHAPE, "%s: %" PRId64 " columns, the files before it have %" PRId64,
                      wmi_text_tail(path), wm_data_dim(more), wm_data_dim(*table));
    if (!st && !(st = wmi_data_append(*table, more, err)) && sample->limit)
        st = wmi_data_resize(*table,
                             wmi_row_sample_thin(sample, 0, sample->limit, wm_data_dim(*table),
                                                 wm_data_rows_mut(*table)),
                             err);
    wm_data_free(more);
    return st;
}

wm_status wmi_data_read_path(wm_data **out, const char *path, wm_schema *schema,
                             const wm_read_opts *opts, bool lenient, wm_error *err)
{
    wmi_row_sample sample = {0};
    wmi_paths files = {0};
    wm_read_opts own;
    wm_status st;

    *out = NULL;
    if (!(st = wmi_read_opts_take(&own, opts, err)))
        st = wmi_paths_find(&files, path, err);
    for (int i = 0; i < files.n && !st; i++)
        st = read_file(out, files.path[i], &sample, schema, &own, lenient, err);
    if (!st && sample.limit && sample.seen > wm_data_count(*out)) {
        wmi_data_set_total(*out, sample.seen);
        wm_say(own.sink, WM_LOG_INFO, "%s: of %" PRId64 " rows a sample of %" PRId64 " is held",
               wmi_text_tail(path), sample.seen, wm_data_count(*out));
    }
    if (st) {
        wm_data_free(*out);
        *out = NULL;
    }
    wmi_paths_free(&files);
    wmi_row_sample_free(&sample);
    return st;
}

wm_status wm_data_read(wm_data **out, const char *path, wm_schema *schema, const wm_read_opts *opts,
                       wm_error *err)
{
    WMI_NEED(err, out && path && schema);
    return wmi_data_read_path(out, path, schema, opts, false, err);
}

wm_status wmi_data_read_bytes(wm_data **out, wmi_bytes *bytes, const char *label, wm_schema *schema,
                              const wm_read_opts *opts, wm_error *err)
{
    wmi_row_sample all = {0};
    load l = {.schema = schema, .opts = opts, .first = wm_schema_dim(schema) == 0, .sample = &all};
    const wm_status st = wmi_stream_open_bytes(&l.src, bytes, label, schema, NULL, opts, err);

    *out = NULL;
    return st ? st : read_source(out, &l, err);
}

/* ---- streaming ---- */

struct wm_reader {
    wmi_stream src;
    const wm_schema *schema; /* or NULL */
    wmi_level_map *levels;   /* arrays with a schema */
    bool drop, pass_unseen;
    int64_t unseen; /* of arrays */
    int64_t row;    /* of the file, the next that the cursor yields */
    /* Dropping: rows that were read and not yet returned, from row held_row of the file. */
    double *held; /* (block_rows, dim) */
    int64_t held_row, held_n, held_at;
};

static wm_status start_reader(wm_reader *r, wm_error *err)
{
    const wmi_cursor *c = r->src.cursor;
    wm_status st;

    if (r->schema && !c->kinds_set &&
        ((st = wmi_schema_check(r->schema, r->src.label, c->dim, NULL, err)) ||
         (st = wmi_level_map_new(&r->levels, r->schema, err))))
        return st;
    if (r->drop)
        return wmi_alloc(&r->held, block_rows(c->dim) * c->dim, sizeof *r->held, "rows", err);
    return WM_OK;
}

static wm_status check_streamed(const wm_schema *schema, const wm_read_opts *opts, wm_error *err)
{
    if (opts->missing == WM_MISSING_KEEP)
        return wmi_fail(err, WM_EINVAL,
                        "missing values are kept in whole tables only: refuse or drop them");
    if (opts->missing == WM_MISSING_MEAN)
        return wmi_fail(err, WM_EINVAL,
                        "a mean for missing values is not known while a file is streamed: refuse "
                        "or drop them");
    if (schema && wm_schema_dim(schema) == 0)
        return wmi_fail(err, WM_EINVAL, "the schema knows no table yet, which streaming needs");
    return WM_OK;
}

/* From bytes, which are taken over, or else from the path. */
static wm_status open_reader(wm_reader **out, wmi_bytes *bytes, const char *path,
                             const wm_schema *schema, const wm_read_opts *opts, wm_error *err)
{
    wm_reader *r = NULL;
    wm_read_opts own;
    wm_status st;

    if ((st = wmi_read_opts_take(&own, opts, err)) || (st = check_streamed(schema, &own, err)) ||
        (st = wmi_alloc(&r, 1, sizeof *r, "reader", err))) {
        wmi_bytes_close(bytes);
        return st;
    }
    r->schema = schema;
    r->drop = own.missing == WM_MISSING_DROP;
    r->pass_unseen = own.unseen;
    st = bytes ? wmi_stream_open_bytes(&r->src, bytes, path, NULL, schema, &own, err)
               : wmi_stream_open(&r->src, path, NULL, schema, &own, false, err);
    if (st || (st = start_reader(r, err)))
        wm_reader_close(r);
    else
        *out = r;
    return st;
}

wm_status wm_reader_open(wm_reader **out, const char *path, const wm_schema *schema,
                         const wm_read_opts *opts, wm_error *err)
{
    WMI_NEED(err, out && path);
    *out = NULL;
    return open_reader(out, NULL, path, schema, opts, err);
}

wm_status wmi_reader_open_bytes(wm_reader **out, wmi_bytes *bytes, const char *label,
                                const wm_schema *schema, const wm_read_opts *opts, wm_error *err)
{
    *out = NULL;
    return open_reader(out, bytes, label, schema, opts, err);
}

void wm_reader_close(wm_reader *r)
{
    if (!r)
        return;
    wmi_stream_close(&r->src);
    wmi_level_map_free(r->levels);
    wmi_free(r->held);
    wmi_free(r);
}

int64_t wm_reader_dim(const wm_reader *r)
{
    return r->src.cursor->dim;
}

int64_t wm_reader_count(const wm_reader *r)
{
    return r->src.cursor->count;
}

int wm_reader_shape(const wm_reader *r, int64_t shape[3])
{
    const wmi_cursor *c = r->src.cursor;
    const bool known = c->axes >= 1 && c->axes <= 3;

    for (int i = 0; i < 3; i++)
        shape[i] = known && i < c->axes ? c->shape[i] : 1;
    if (!known)
        shape[0] = c->dim;
    return known ? c->axes : 1;
}

int64_t wm_reader_unseen(const wm_reader *r)
{
    return r->src.cursor->unseen + r->unseen;
}

const char *wm_reader_kept(const wm_reader *r, int64_t row)
{
    const wmi_cursor *c = r->src.cursor;

    return c->kept ? c->kept(c, row) : NULL;
}

static wm_status number_levels(wm_reader *r, double *rows, int64_t n, wm_error *err)
{
    const int64_t dim = r->src.cursor->dim;

    if (!r->levels)
        return WM_OK;
    for (int64_t j = 0; j < dim; j++) {
        if (wm_schema_kind(r->schema, j) != WM_KIND_CATEGORICAL)
            continue;
        for (int64_t i = 0; i < n; i++) {
            const double x = rows[i * dim + j];
            const double level = wmi_level_map_find(r->levels, j, x);
            char where[64];

            if (level < 0 && !r->pass_unseen) {
                r->src.cursor->where(r->src.cursor, r->row + i, where, sizeof where);
                return wmi_refuse_level(r->schema, r->src.label, where, j, x, err);
            }
            r->unseen += level < 0;
            rows[i * dim + j] = level;
        }
    }
    return WM_OK;
}

/* The cursor's next rows, looked at and with levels numbered. */
static wm_status next_rows(wm_reader *r, int64_t max, double *rows, int64_t *got, wm_error *err)
{
    wmi_cursor *c = r->src.cursor;
    wm_status st;

    if ((st = c->next(c, max, rows, got, err)) ||
        (st = look(&r->src, r->schema, rows, *got, r->row, r->drop, true, err)) ||
        (st = number_levels(r, rows, *got, err))) {
        *got = 0;
        return st;
    }
    r->row += *got;
    return WM_OK;
}

/* A run of rows without a missing value, up to max, from those that are held. */
static int64_t take_run(wm_reader *r, int64_t max, double *rows, int64_t *first)
{
    const int64_t dim = r->src.cursor->dim;
    int64_t n = 0;

    while (r->held_at < r->held_n && has_missing(r->held + r->held_at * dim, dim))
        r->held_at++;
    while (n < max && r->held_at + n < r->held_n &&
           !has_missing(r->held + (r->held_at + n) * dim, dim))
        n++;
    memcpy(rows, r->held + r->held_at * dim, (size_t)(n * dim) * sizeof *rows);
    *first = r->held_row + r->held_at;
    r->held_at += n;
    return n;
}

wm_status wm_reader_next(wm_reader *r, int64_t max, double *rows, int64_t *got, int64_t *first,
                         wm_error *err)
{
    WMI_NEED(err, r && rows && got);
    int64_t at = r->row;
    wm_status st = WM_OK;

    *got = 0;
    if (max < 1)
        return wmi_fail(err, WM_EINVAL, "a block of %" PRId64 " rows: at least one is needed", max);
    if (!r->drop)
        st = next_rows(r, max, rows, got, err);
    while (r->drop && !st) {
        if ((*got = take_run(r, max, rows, &at)))
            break;
        r->held_row = r->row;
        r->held_at = r->held_n = 0;
        st = next_rows(r, block_rows(r->src.cursor->dim), r->held, &r->held_n, err);
        if (!r->held_n)
            break;
    }
    if (first)
        *first = at;
    return st;
}
