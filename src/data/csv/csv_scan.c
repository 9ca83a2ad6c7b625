/* csv_scan.c - one buffer, one pass over each row. A row that does not end in the buffer is moved
 * to its front, more bytes are read behind it, and the row is begun again: once in a buffer. */
#include "data/csv/csv_scan.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/utf8.h"

enum {
    FIRST_ROOM = 256 << 10,
    LEAST_ROOM = 64,
    GROWTH = 3, /* bytes of UTF-8 that a byte of another encoding may become */
};

/* --- the buffer --------------------------------------------------------------------------------*/

/* Letters that are not UTF-8 are told of once. */
static void tell_encoding(wmi_csv_scan *s)
{
    if (s->told || s->decoder.encoding == WMI_CSV_UTF8)
        return;
    s->told = true;
    if (s->decoder.encoding == WMI_CSV_WINDOWS)
        wm_say(s->sink, WM_LOG_WARN,
               "%s: not UTF-8: letters are read as Windows-1252 (Latin-1); if they are others, "
               "convert the file (iconv -f CODE -t utf-8)",
               wmi_text_tail(s->path));
    else
        wm_say(s->sink, WM_LOG_INFO, "%s: read as UTF-16", wmi_text_tail(s->path));
}

/* Fills what is free behind the row that is being read. */
static wm_status fill(wmi_csv_scan *s, wm_error *err)
{
    size_t got = 0;
    wm_status st = WM_OK;

    memmove(s->buf, s->buf + s->begin, s->end - s->begin);
    s->end -= s->begin;
    s->begin = 0;
    if (s->end < s->room) {
        st = wmi_csv_decode(&s->decoder, s->bytes, s->path, s->buf + s->end, s->room - s->end, &got,
                            &s->ended, err);
        s->end += got;
        tell_encoding(s);
    }
    s->buf[s->end] = '\n';
    return st;
}

static wm_status set_room(wmi_csv_scan *s, size_t room, wm_error *err)
{
    char *buf = NULL;
    const wm_status st = wmi_alloc(&buf, (int64_t)room + 1, 1, "text buffer", err);

    if (st)
        return st;
    if (s->buf)
        memcpy(buf, s->buf + s->begin, s->end - s->begin);
    wmi_free(s->buf);
    s->buf = buf;
    s->end -= s->begin;
    s->begin = 0;
    s->room = room;
    return WM_OK;
}

wm_status wmi_csv_scan_more(wmi_csv_scan *s, wm_error *err)
{
    wm_status st = WM_OK;

    if (s->room == 0) {
        const int64_t size = wmi_bytes_size(s->bytes);

        /* A file that ends in this buffer ends there from a pipe too: looks see the same rows. */
        st = set_room(s,
                      size < 0 || size >= FIRST_ROOM / GROWTH ? FIRST_ROOM
                      : size < LEAST_ROOM / GROWTH            ? LEAST_ROOM
                                                              : GROWTH * (size_t)size + 1,
                      err);
    } else if (s->end - s->begin > s->room / 2) {
        st = set_room(s, 2 * s->room, err);
    }
    return st ? st : fill(s, err);
}

void wmi_csv_scan_close(wmi_csv_scan *s)
{
    wmi_free(s->buf);
    wmi_free(s->field);
    wmi_csv_decoder_free(&s->decoder);
    *s = (wmi_csv_scan){
        .path = s->path, .bytes = s->bytes, .sink = s->sink, .delimiter = s->delimiter};
}

void wmi_csv_scan_delimiter(wmi_csv_scan *s, char delimiter)
{
    s->delimiter = delimiter;
    memset(s->stop, 0, sizeof s->stop);
    s->stop['\n'] = s->stop['\r'] = s->stop['\0'] = 1;
    s->stop[(unsigned char)delimiter] = 1;
    if (delimiter == ' ')
        s->stop['\t'] = 1;
}

/* --- the start of a file -----------------------------------------------------------------------*/

/* Passes one line, of which nothing is wanted. */
static wm_status skip_line(wmi_csv_scan *s, wm_error *err)
{
    for (;;) {
        const char *p = s->buf + s->begin, *const end = s->buf + s->end;
        wm_status st;

        while (*p != '\n' && *p != '\r') /* the stop at the end is a newline */
            p++;
        s->begin = (size_t)(p - s->buf);
        if (p + 1 < end || s->ended) {
            s->begin += p < end;
            s->begin += p + 1 < end && p[0] == '\r' && p[1] == '\n';
            s->line++;
            return WM_OK;
        }
        if ((st = fill(s, err)))
            return st;
    }
}

wm_status wmi_csv_scan_start(wmi_csv_scan *s, wm_error *err)
{
    wm_status st;

    s->begin = s->end = 0;
    s->ended = false;
    s->line = s->row_line = 1;
    s->n = 0;
    wmi_csv_decoder_start(&s->decoder);
    st = s->room ? fill(s, err) : wmi_csv_scan_more(s, err);
    if (st)
        return st;
    if (s->end >= 3 && memcmp(s->buf, "\xef\xbb\xbf", 3) == 0)
        s->begin = 3;
    while (!st && s->begin < s->end && strchr("#\r\n", s->buf[s->begin]) && s->buf[s->begin])
        st = skip_line(s, err);
    return st;
}

wmi_csv_scan wmi_csv_scan_look(const wmi_csv_scan *s, char delimiter)
{
    wmi_csv_scan look = *s;

    look.field = NULL;
    look.field_room = look.n = 0;
    look.frozen = true;
    wmi_csv_scan_delimiter(&look, delimiter);
    return look;
}

void wmi_csv_scan_unlook(wmi_csv_scan *look)
{
    wmi_free(look->field);
    look->field = NULL;
}

/* --- rows --------------------------------------------------------------------------------------*/

/* Where the row that is being read stands. */
typedef struct place {
    const char *p, *end;
    int64_t line;
    bool more; /* the buffer ends before the row does */
} place;

static wm_status more_fields(wmi_csv_scan *s, wm_error *err)
{
    const int64_t room = s->field_room ? 2 * s->field_room : 64;
    wmi_csv_field *more = NULL;
    wm_status st;

    if (s->n >= WMI_CSV_MAX_COLUMNS)
        return wmi_fail(err, WM_EFORMAT,
                        "%s:%" PRId64 ": more than %d columns: is this a table of text?",
                        wmi_text_tail(s->path), s->line, WMI_CSV_MAX_COLUMNS);
    if ((st = wmi_alloc(&more, room, sizeof *more, "fields", err)))
        return st;
    if (s->n)
        memcpy(more, s->field, (size_t)s->n * sizeof *more);
    wmi_free(s->field);
    s->field = more;
    s->field_room = room;
    return WM_OK;
}

static inline wm_status add_field(wmi_csv_scan *s, wmi_csv_field field, wm_error *err)
{
    wm_status st;

    if (s->n == s->field_room && (st = more_fields(s, err)))
        return st;
    s->field[s->n++] = field;
    return WM_OK;
}

static bool is_space(const wmi_csv_scan *s, char c)
{
    return c == ' ' || (c == '\t' && s->delimiter != '\t');
}

static void skip_spaces(const wmi_csv_scan *s, place *at)
{
    while (is_space(s, *at->p))
        at->p++;
}

/* \n, \r\n and \r alone each end a line. */
static int64_t count_lines(const char *p, const char *end)
{
    int64_t n = 0;

    for (; p < end; p++)
        n += *p == '\n' || (*p == '\r' && p[1] != '\n');
    return n;
}

static wm_status refuse_nul(const wmi_csv_scan *s, int64_t line, int64_t column, wm_error *err)
{
    return wmi_fail(err, WM_EFORMAT,
                    "%s:%" PRId64 ": column %" PRId64 ": a NUL byte: not a table of text",
                    wmi_text_tail(s->path), line, column);
}

/* A field from after its opening quote; at->p is left at what ends it. */
static wm_status quoted_field(wmi_csv_scan *s, place *at, wm_error *err)
{
    const char *const start = at->p, *q = start;
    const int64_t opened = at->line;
    wmi_csv_field field = {.at = start, .quoted = true};

    for (;; q += 2, field.doubled = true) {
        q = memchr(q, '"', (size_t)(at->end - q));
        at->more = !q;
        if (!q || q[1] != '"') /* at the buffer's end stands the stop, and the row is begun again */
            break;
    }
    if (!q && !s->frozen && (s->ended || s->end - s->begin >= WMI_CSV_MAX_ROW))
        return wmi_fail(err, WM_EFORMAT,
                        "%s:%" PRId64 ": column %" PRId64 ": the quote that opens here is not "
                        "closed%s",
                        wmi_text_tail(s->path), opened, s->n + 1, s->ended ? "" : " within 64 MiB");
    if (at->more)
        return WM_OK;
    if (memchr(start, '\0', (size_t)(q - start)))
        return refuse_nul(s, at->line, s->n + 1, err);
    at->line += count_lines(start, q);
    at->p = q + 1;
    skip_spaces(s, at);
    if (s->delimiter == ' ' && at->p > q + 1)
        at->p--; /* the space that ends it */
    if (!s->stop[(unsigned char)*at->p])
        return wmi_fail(err, WM_EFORMAT,
                        "%s:%" PRId64 ": column %" PRId64 ": text after the closing quote; inside "
                        "quotes a quote is written twice",
                        wmi_text_tail(s->path), at->line, s->n + 1);
    while (field.at < q && is_space(s, *field.at))
        field.at++;
    while (q > field.at && is_space(s, q[-1]))
        q--;
    field.n = (uint32_t)(q - field.at);
    return add_field(s, field, err);
}

static wm_status plain_field(wmi_csv_scan *s, place *at, wm_error *err)
{
    const char *const start = at->p, *q;

    while (!s->stop[(unsigned char)*at->p])
        at->p++;
    q = at->p;
    while (q > start && is_space(s, q[-1]))
        q--;
    return add_field(s, (wmi_csv_field){.at = start, .n = (uint32_t)(q - start)}, err);
}

/* Passes the end of a line; at->more if the buffer ends where its second byte may be. */
static void end_line(const wmi_csv_scan *s, place *at)
{
    if (at->p == at->end) {
        at->more = !s->ended;
        return;
    }
    at->line++;
    if (*at->p == '\r' && at->p + 1 == at->end && !s->ended)
        at->more = true;
    at->p += *at->p == '\r' && at->p + 1 < at->end && at->p[1] == '\n' ? 2 : 1;
}

/* One row, or as much of it as the buffer holds. */
static wm_status read_row(wmi_csv_scan *s, place *at, wm_error *err)
{
    wm_status st = WM_OK;

    s->n = 0;
    skip_spaces(s, at);
    for (bool first = true; !st && !at->more; first = false) {
        const char c = *at->p;

        if ((c == '\n' || c == '\r') && (first || s->delimiter == ' '))
            break; /* a blank line, or spaces at the end of one */
        st = c == '"' ? (at->p++, quoted_field(s, at, err)) : plain_field(s, at, err);
        if (st || at->more || *at->p == '\n' || *at->p == '\r')
            break;
        if (*at->p == '\0')
            return refuse_nul(s, at->line, s->n, err);
        at->p++; /* the delimiter */
        skip_spaces(s, at);
    }
    if (!st && !at->more)
        end_line(s, at);
    return st;
}

wm_status wmi_csv_scan_row(wmi_csv_scan *s, bool *got, wm_error *err)
{
    *got = false;
    for (;;) {
        place at = {s->buf + s->begin, s->buf + s->end, s->line, false};
        wm_status st;

        if (s->begin == s->end && s->ended)
            return WM_OK;
        if ((st = read_row(s, &at, err)))
            return st;
        if (!at.more) {
            s->row_line = s->line;
            s->line = at.line;
            s->begin = (size_t)(at.p - s->buf);
            *got = true;
            return WM_OK;
        }
        if (s->frozen)
            return WM_OK;
        if (s->end - s->begin >= WMI_CSV_MAX_ROW)
            return wmi_fail(err, WM_EFORMAT,
                            "%s:%" PRId64 ": a line of more than 64 MiB: is this a table of text?",
                            wmi_text_tail(s->path), s->line);
        if ((st = wmi_csv_scan_more(s, err)))
            return st;
    }
}
