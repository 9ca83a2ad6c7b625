/* csv_decode.c - UTF-8 is read straight into its place and only looked at; everything else goes
 * through a buffer, letter by letter. */
#include "data/csv/csv_decode.h"

#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "base/utf8.h"

enum { RAW_ROOM = 64 << 10, LONGEST = 4 /* bytes of a letter, in any encoding */ };

wmi_csv_encoding wmi_csv_encoding_of(const unsigned char *head, size_t n)
{
    bool low_first = true, high_first = true;

    if (n >= 2 && head[0] == 0xff && head[1] == 0xfe)
        return WMI_CSV_UTF16_LOW;
    if (n >= 2 && head[0] == 0xfe && head[1] == 0xff)
        return WMI_CSV_UTF16_HIGH;
    if (n < 4)
        return WMI_CSV_UTF8;
    for (size_t i = 0; i + 1 < n && i < 16;
         i += 2) { /* without a mark: plain letters, NULs between */
        const unsigned char a = head[i], b = head[i + 1];

        low_first &= b == 0 && ((a >= ' ' && a < 0x7f) || a == '\t' || a == '\r' || a == '\n');
        high_first &= a == 0 && ((b >= ' ' && b < 0x7f) || b == '\t' || b == '\r' || b == '\n');
    }
    return low_first ? WMI_CSV_UTF16_LOW : high_first ? WMI_CSV_UTF16_HIGH : WMI_CSV_UTF8;
}

const char *wmi_csv_encoding_text(wmi_csv_encoding encoding)
{
    return encoding == WMI_CSV_UTF8      ? "UTF-8"
           : encoding == WMI_CSV_WINDOWS ? "Windows-1252"
                                         : "UTF-16";
}

void wmi_csv_decoder_start(wmi_csv_decoder *d)
{
    d->encoding = WMI_CSV_UTF8;
    d->at = d->end = 0;
    d->started = d->ended = false;
}

void wmi_csv_decoder_free(wmi_csv_decoder *d)
{
    wmi_free(d->raw);
    *d = (wmi_csv_decoder){0};
}

/* ---- the buffer ---- */

/* Of an empty buffer: for so many bytes, and more. */
static wm_status make_room(wmi_csv_decoder *d, size_t n, wm_error *err)
{
    const size_t room = n < RAW_ROOM ? RAW_ROOM : n;
    unsigned char *raw = NULL;
    wm_status st;

    d->at = d->end = 0;
    if (room <= d->room)
        return WM_OK;
    if ((st = wmi_alloc(&raw, (int64_t)room, 1, "text buffer", err)))
        return st;
    wmi_free(d->raw);
    d->raw = raw;
    d->room = room;
    return WM_OK;
}

/* Whole letters in the buffer, as long as there are any. */
static wm_status refill(wmi_csv_decoder *d, wmi_bytes *bytes, wm_error *err)
{
    size_t got = 0;
    wm_status st;

    if (d->ended || d->end - d->at >= LONGEST)
        return WM_OK;
    memmove(d->raw, d->raw + d->at, d->end - d->at);
    d->end -= d->at;
    d->at = 0;
    if ((st = wmi_bytes_read(bytes, d->raw + d->end, d->room - d->end, &got, err)))
        return st;
    d->ended = got < d->room - d->end;
    d->end += got;
    return WM_OK;
}

/* ---- letters ---- */

/* The letters of Windows-1252 where Latin-1 has controls; five of them are not in use. */
static const uint16_t windows[32] = {
    0x20ac, 0x0081, 0x201a, 0x0192, 0x201e, 0x2026, 0x2020, 0x2021, 0x02c6, 0x2030, 0x0160,
    0x2039, 0x0152, 0x008d, 0x017d, 0x008f, 0x0090, 0x2018, 0x2019, 0x201c, 0x201d, 0x2022,
    0x2013, 0x2014, 0x02dc, 0x2122, 0x0161, 0x203a, 0x0153, 0x009d, 0x017e, 0x0178,
};

/* The letter at n bytes into out; how many of these it takes, 0: it is damaged. */
static size_t take_utf16(const unsigned char *p, size_t n, bool high_first, uint32_t *letter)
{
    uint32_t unit[2] = {0, 0};

    for (size_t i = 0; i < 2 && 2 * i + 1 < n; i++)
        unit[i] = high_first ? (uint32_t)p[2 * i] << 8 | p[2 * i + 1]
                             : (uint32_t)p[2 * i + 1] << 8 | p[2 * i];
    *letter = unit[0];
    if (n < 2)
        return 0;
    if (unit[0] < 0xd800 || unit[0] > 0xdfff)
        return 2;
    if (unit[0] > 0xdbff || unit[1] < 0xdc00 || unit[1] > 0xdfff)
        return 0;
    *letter = 0x10000 + ((unit[0] - 0xd800) << 10) + (unit[1] - 0xdc00);
    return 4;
}

/* One letter of the buffer as UTF-8, of which *k bytes; how many it takes there. */
static size_t take_letter(const wmi_csv_decoder *d, char out[LONGEST], size_t *k)
{
    const unsigned char *p = d->raw + d->at;
    const size_t n = d->end - d->at;
    uint32_t letter;
    size_t used;

    if (d->encoding == WMI_CSV_WINDOWS) {
        if ((used = wmi_utf8_letter((const char *)p, n))) {
            memcpy(out, p, used);
            *k = used;
            return used;
        }
        letter = *p < 0xa0 ? windows[*p - 0x80] : *p;
        used = 1;
    } else {
        used = take_utf16(p, n, d->encoding == WMI_CSV_UTF16_HIGH, &letter);
    }
    *k = wmi_utf8_write(letter, out);
    return used;
}

static wm_status decode_letters(wmi_csv_decoder *d, wmi_bytes *bytes, const char *path, char *out,
                                size_t n, size_t *got, wm_error *err)
{
    char letter[LONGEST];
    size_t k;
    wm_status st;

    for (;;) {
        size_t used;

        if ((st = refill(d, bytes, err)))
            return st;
        if (d->at == d->end)
            return WM_OK;
        if (!(used = take_letter(d, letter, &k)))
            return wmi_fail(err, WM_EFORMAT, "%s: damaged UTF-16: %s", wmi_text_tail(path),
                            d->end - d->at < 2 ? "it ends within a letter" : "half of a letter");
        if (*got + k > n)
            return WM_OK;
        memcpy(out + *got, letter, k);
        *got += k;
        d->at += used;
    }
}

/* ---- UTF-8 ---- */

/* What is UTF-8 of the next bytes, into out; the rest, if any, into the buffer. */
static wm_status look_through(wmi_csv_decoder *d, wmi_bytes *bytes, char *out, size_t n,
                              size_t *got, wm_error *err)
{
    size_t have = d->end - d->at, good, more = 0;
    wm_status st;

    if (have)
        memcpy(out, d->raw + d->at, have); /* of a letter that the bytes before ended in */
    if ((st = wmi_bytes_read(bytes, out + have, n - have, &more, err)))
        return st;
    d->ended = more < n - have;
    have += more;
    good = wmi_utf8_prefix(out, have);
    if (d->ended ? good < have : have - good >= LONGEST)
        d->encoding = WMI_CSV_WINDOWS;
    *got = good;
    d->at = d->end = 0;
    if (good == have)
        return WM_OK;
    if ((st = make_room(d, have - good, err)))
        return st;
    d->end = have - good;
    memcpy(d->raw, out + good, d->end);
    return WM_OK;
}

wm_status wmi_csv_decode(wmi_csv_decoder *d, wmi_bytes *bytes, const char *path, char *out,
                         size_t n, size_t *got, bool *ended, wm_error *err)
{
    const unsigned char *head;
    size_t head_n;
    wm_status st = WM_OK;

    *got = 0;
    *ended = false;
    if (!d->started) {
        if ((st = wmi_bytes_peek(bytes, &head, &head_n, err)))
            return st;
        d->encoding = wmi_csv_encoding_of(head, head_n);
        if (d->encoding != WMI_CSV_UTF8 && (st = make_room(d, 0, err)))
            return st;
        d->started = true;
    }
    if (n < LONGEST)
        return WM_OK;
    if (d->encoding == WMI_CSV_UTF8)
        st = look_through(d, bytes, out, n, got, err);
    if (!st && d->encoding != WMI_CSV_UTF8)
        st = decode_letters(d, bytes, path, out, n, got, err);
    *ended = !st && d->ended && d->at == d->end;
    return st;
}
