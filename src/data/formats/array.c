/* array.c - rows from bytes. Nothing here trusts a header: memory is taken for bytes that are
 * there, or as they come. */
#include "data/formats/array.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/utf8.h"

enum {
    SCRATCH = 1 << 16,        /* bytes of a stream decoded at a time: a multiple of every width */
    FORGET_EVERY = 16 << 20,  /* bytes of a mapping that may be in memory */
    PIECE_ROWS = SCRATCH / 8, /* of a column in Fortran order, copied at a time */
    MAX_DIM = 1 << 24,        /* columns; a row is memory that a header can ask for */
};

typedef struct cursor {
    wmi_cursor base; /* first: the two are one pointer */
    wmi_array a;
    wmi_bytes *bytes;
    bool own, swap, ended;
    int64_t row;          /* the next */
    int64_t touched;      /* bytes of the mapping since it was last given back */
    int64_t *places;      /* (dim), Fortran: where among the columns of the file a column stands */
    unsigned char *whole; /* a Fortran array that came as a stream */
    char *label;
    unsigned char scratch[SCRATCH];
} cursor;

const char *wmi_array_shape_text(char *buf, size_t size, int rank, const int64_t *dim)
{
    size_t n = 1;

    snprintf(buf, size, "(");
    for (int i = 0; i < rank && n + 30 < size; i++)
        n += (size_t)snprintf(buf + n, size - n, "%s%" PRId64, i ? ", " : "", dim[i]);
    snprintf(buf + n, size - n, rank == 1 ? ",)" : ")");
    return buf;
}

/* ---- opening ---- */

/* Rows, columns and bytes of the array; the product of all of them can be counted. */
static wm_status measure(const char *label, const wmi_array *a, int64_t *dim, int64_t *bytes,
                         wm_error *err)
{
    char shape[128];
    int64_t doubles;

    wmi_array_shape_text(shape, sizeof shape, a->rank, a->dim);
    if (a->rank == 0)
        return wmi_fail(err, WM_ESHAPE, "%s: a single number; rows of samples are needed", label);
    *dim = 1;
    for (int i = 0; i < a->rank; i++)
        if (a->dim[i] < 0)
            return wmi_fail(err, WM_EFORMAT, "%s: shape %s: a size is negative", label, shape);
    for (int i = 1; i < a->rank; i++)
        if (__builtin_mul_overflow(*dim, a->dim[i], dim))
            return wmi_fail(err, WM_EFORMAT, "%s: shape %s is more than can be addressed", label,
                            shape);
    if (*dim == 0)
        return wmi_fail(err, WM_ESHAPE, "%s: shape %s: its rows have no columns", label, shape);
    if (*dim > MAX_DIM)
        return wmi_fail(err, WM_ESHAPE,
                        "%s: shape %s: rows of more than %d columns are not supported; the first "
                        "axis counts samples",
                        label, shape, MAX_DIM);
    if (__builtin_mul_overflow(*dim, a->dim[0], bytes) ||
        __builtin_mul_overflow(*bytes, (int64_t)sizeof(double), &doubles))
        return wmi_fail(err, WM_EFORMAT, "%s: shape %s is more than can be addressed", label,
                        shape);
    *bytes *= wmi_element_width(a->type);
    return WM_OK;
}

static wm_status check_size(const char *label, const wmi_array *a, int64_t has, int64_t needs,
                            wm_error *err)
{
    char shape[128];

    wmi_array_shape_text(shape, sizeof shape, a->rank, a->dim);
    if (has < needs)
        return wmi_fail(err, WM_EFORMAT,
                        "%s: shape %s of %s needs %" PRId64 " bytes, %" PRId64
                        " are there: it is cut short",
                        label, shape, wmi_element_name(a->type), needs, has);
    if (has > needs && a->last)
        return wmi_fail(err, WM_EFORMAT,
                        "%s: shape %s of %s needs %" PRId64 " bytes, %" PRId64
                        " are there: too many",
                        label, shape, wmi_element_name(a->type), needs, has);
    return WM_OK;
}

/* Column c of a row counts the later axes in C order, the file in Fortran order. */
static wm_status find_places(cursor *c, wm_error *err)
{
    const wm_status st =
        wmi_alloc(&c->places, c->base.dim, sizeof *c->places, "order of columns", err);

    if (st)
        return st;
    for (int64_t k = 0; k < c->base.dim; k++) {
        int64_t rest = k, place = 0;

        for (int i = c->a.rank - 1; i >= 1; i--) {
            int64_t step = 1;

            for (int j = 1; j < i; j++)
                step *= c->a.dim[j];
            place += rest % c->a.dim[i] * step;
            rest /= c->a.dim[i];
        }
        c->places[k] = place;
    }
    return WM_OK;
}

static wm_status cut_short(const cursor *c, int64_t row, wm_error *err)
{
    return wmi_fail(err, WM_EFORMAT, "%s: ends within row %" PRId64 " of %" PRId64, c->label,
                    row + 1, c->base.count);
}

/* A stream is over when its array is: asks for one byte more, which also lets a zip check its sum.
 */
static wm_status check_end(cursor *c, wm_error *err)
{
    unsigned char one;
    size_t got;
    wm_status st;

    if (c->ended || !c->a.last || wmi_bytes_mapped(c->bytes))
        return WM_OK;
    c->ended = true;
    if ((st = wmi_bytes_read(c->bytes, &one, 1, &got, err)))
        return st;
    if (got)
        return wmi_fail(err, WM_EFORMAT, "%s: bytes after the last row, %" PRId64, c->label,
                        c->base.count);
    return WM_OK;
}

/* All of a stream, in memory that grows with what comes. */
static wm_status read_whole(cursor *c, int64_t bytes, wm_error *err)
{
    int64_t have = 0, room = 0;

    while (have < bytes) {
        size_t got;
        wm_status st;

        if (have == room) {
            unsigned char *more = NULL;

            room = room ? 2 * room : 1 << 20;
            room = room < bytes ? room : bytes;
            if ((st = wmi_alloc(&more, room, 1, "array in Fortran order", err)))
                return st;
            if (have)
                memcpy(more, c->whole, (size_t)have);
            wmi_free(c->whole);
            c->whole = more;
        }
        if ((st = wmi_bytes_read(c->bytes, c->whole + have, (size_t)(room - have), &got, err)))
            return st;
        if ((int64_t)got < room - have)
            return wmi_fail(err, WM_EFORMAT, "%s: ends after %" PRId64 " of %" PRId64 " bytes",
                            c->label, have + (int64_t)got, bytes);
        have = room;
    }
    return check_end(c, err);
}

/* ---- rows ---- */

/* Names the value that decode refused. */
static wm_status refuse(const cursor *c, int64_t row, int64_t column, const unsigned char *value,
                        wm_error *err)
{
    char text[40];

    wmi_element_text(c->a.type, c->swap, value, text, sizeof text);
    if (c->a.type == WMI_ELEMENT_BOOL)
        return wmi_fail(err, WM_EFORMAT,
                        "%s: row %" PRId64 ", column %" PRId64 ": %s is no bool, which is 0 or 1",
                        c->label, row + 1, column + 1, text);
    return wmi_fail(err, WM_EINVAL,
                    "%s: row %" PRId64 ", column %" PRId64
                    ": %s cannot be held exactly (beyond 2^53): subtract an offset or divide first",
                    c->label, row + 1, column + 1, text);
}

static void touch(cursor *c, int64_t bytes)
{
    c->touched += bytes;
    if (c->touched > FORGET_EVERY) {
        wmi_bytes_forget(c->bytes);
        c->touched = 0;
    }
}

static wm_status next_mapped(cursor *c, int64_t n, double *rows, wm_error *err)
{
    const int64_t width = wmi_element_width(c->a.type), dim = c->base.dim;
    const int64_t piece = FORGET_EVERY / width; /* elements */
    int64_t done = 0;

    while (done < n * dim) {
        const int64_t k = n * dim - done < piece ? n * dim - done : piece;
        const unsigned char *from;
        wm_status st;
        int64_t good;

        if ((st = wmi_bytes_at(c->bytes, c->a.at + (c->row * dim + done) * width, k * width, &from,
                               err)))
            return st;
        good = wmi_elements_decode(c->a.type, c->swap, from, k, rows + done, 1);
        if (good < k)
            return refuse(c, c->row + (done + good) / dim, (done + good) % dim, from + good * width,
                          err);
        done += k;
        touch(c, k * width);
    }
    return WM_OK;
}

static wm_status next_stream(cursor *c, int64_t n, double *rows, wm_error *err)
{
    const int64_t width = wmi_element_width(c->a.type), dim = c->base.dim;
    int64_t done = 0;

    while (done < n * dim) {
        const int64_t piece = SCRATCH / width;
        const int64_t k = n * dim - done < piece ? n * dim - done : piece;
        wm_status st;
        int64_t good;
        size_t got;

        if ((st = wmi_bytes_read(c->bytes, c->scratch, (size_t)(k * width), &got, err)))
            return st;
        if ((int64_t)got < k * width)
            return cut_short(c, c->row + (done + (int64_t)got / width) / dim, err);
        good = wmi_elements_decode(c->a.type, c->swap, c->scratch, k, rows + done, 1);
        if (good < k)
            return refuse(c, c->row + (done + good) / dim, (done + good) % dim,
                          c->scratch + good * width, err);
        done += k;
    }
    return WM_OK;
}

/* Rows from..from + n of the block in rows, column by column: small pieces, copied one by one. */
static wm_status next_fortran(cursor *c, int64_t from, int64_t n, double *rows, wm_error *err)
{
    const int64_t width = wmi_element_width(c->a.type), dim = c->base.dim, row = c->row + from;

    for (int64_t j = 0; j < dim; j++) {
        const int64_t at = (c->places[j] * c->base.count + row) * width;
        const unsigned char *piece = c->whole ? c->whole + at : c->scratch;
        wm_status st;
        int64_t good;

        if (!c->whole && (st = wmi_bytes_copy(c->bytes, c->a.at + at, n * width, c->scratch, err)))
            return st;
        good = wmi_elements_decode(c->a.type, c->swap, piece, n, rows + from * dim + j, dim);
        if (good < n)
            return refuse(c, row + good, j, piece + good * width, err);
    }
    return WM_OK;
}

static wm_status next(wmi_cursor *base, int64_t max, double *rows, int64_t *got, wm_error *err)
{
    cursor *c = (cursor *)base;
    const int64_t left = base->count - c->row, n = max < left ? max : left;
    wm_status st;

    *got = 0;
    if (left == 0)
        return check_end(c, err);
    if (!c->a.fortran && (st = wmi_bytes_mapped(c->bytes) ? next_mapped(c, n, rows, err)
                                                          : next_stream(c, n, rows, err)))
        return st;
    for (int64_t done = 0; c->a.fortran && done < n; done += PIECE_ROWS)
        if ((st = next_fortran(c, done, n - done < PIECE_ROWS ? n - done : PIECE_ROWS, rows, err)))
            return st;
    c->row += n;
    *got = n;
    return WM_OK;
}

static void where(const wmi_cursor *base, int64_t row, char *buf, size_t size)
{
    (void)base;
    snprintf(buf, size, "row %" PRId64, row + 1);
}

static void close_cursor(wmi_cursor *base)
{
    cursor *c = (cursor *)base;

    if (!c)
        return;
    if (c->own)
        wmi_bytes_close(c->bytes);
    wmi_free(c->places);
    wmi_free(c->whole);
    wmi_free(c->label);
    wmi_free(c);
}

wm_status wmi_array_open(wmi_cursor **out, const char *label, wmi_bytes *bytes, bool own,
                         const wmi_array *a, wm_error *err)
{
    const char *name = wmi_text_tail(label);
    const int64_t size = wmi_bytes_size(bytes);
    const bool mapped = wmi_bytes_mapped(bytes);
    int64_t dim, needs;
    cursor *c = NULL;
    wm_status st;

    *out = NULL;
    if ((st = measure(name, a, &dim, &needs, err)) ||
        (size >= 0 && (st = check_size(name, a, size - a->at, needs, err))))
        goto done;
    if ((st = wmi_alloc(&c, 1, sizeof *c, "array", err)))
        goto done;
    c->base = (wmi_cursor){
        .dim = dim,
        .count = a->dim[0],
        .sized = mapped,
        .integers = wmi_element_integer(a->type),
        .bools = a->type == WMI_ELEMENT_BOOL,
        .axes = a->rank - 1,
        .next = next,
        .where = where,
        .close = close_cursor,
    };
    for (int i = 0; i < 3 && i + 1 < a->rank; i++)
        c->base.shape[i] = a->dim[i + 1];
    c->a = *a;
    c->a.fortran = a->fortran && a->rank > 1; /* a vector has one order */
    c->swap = a->big_endian != wmi_machine_is_big();
    c->bytes = bytes;
    if ((st = wmi_path_join(&c->label, "", name, err)) ||
        (c->a.fortran && !mapped && (st = read_whole(c, needs, err))) ||
        (c->a.fortran && (st = find_places(c, err))))
        goto done;
    c->own = own;
    *out = &c->base;
    c = NULL;
    own = false; /* the cursor's now */
done:
    if (c)
        close_cursor(&c->base);
    if (own)
        wmi_bytes_close(bytes);
    return st;
}
