/* npy_read.c - the .npy reader, versions 1 to 3: magic, version, header length, a Python dictionary
 * of type, order and shape, then the values. The dictionary is parsed here, by hand and strictly:
 * what NumPy writes is accepted, with any spaces and order of keys, and no other Python. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "data/formats/array.h"
#include "data/formats/npy.h"

#define MAGIC "\x93NUMPY"
enum { MAX_HEADER = 1 << 20 }; /* bytes; NumPy itself stops at 10,000 */

typedef struct parser {
    const char *label; /* short enough for messages */
    const char *text, *p;
    wm_status st;
    wm_error *err;
} parser;

/* ---- the dictionary ---- */

static bool complain(parser *ps, const char *expected)
{
    if (!ps->st)
        ps->st = wmi_fail(ps->err, WM_EFORMAT,
                          "%s: header, byte %d: expected %s: not as NumPy writes it", ps->label,
                          (int)(ps->p - ps->text) + 1, expected);
    return false;
}

static void skip_space(parser *ps)
{
    while (*ps->p == ' ' || *ps->p == '\n' || *ps->p == '\t' || *ps->p == '\r')
        ps->p++;
}

static bool accept(parser *ps, char c)
{
    skip_space(ps);
    if (*ps->p != c)
        return false;
    ps->p++;
    return true;
}

static bool accept_word(parser *ps, const char *word)
{
    const size_t n = strlen(word);

    skip_space(ps);
    if (strncmp(ps->p, word, n) != 0)
        return false;
    ps->p += n;
    return true;
}

/* A quoted text without escapes into buf; longer ones are cut. */
static bool parse_text(parser *ps, char *buf, size_t size)
{
    const char quote = accept(ps, '\'') ? '\'' : '"';
    size_t n = 0;

    if (quote == '"' && !accept(ps, '"'))
        return complain(ps, "a quoted text");
    for (; *ps->p && *ps->p != quote; ps->p++)
        if (n + 1 < size)
            buf[n++] = *ps->p;
    buf[n] = '\0';
    return accept(ps, quote) || complain(ps, "a closing quote");
}

static bool parse_size(parser *ps, int64_t *size)
{
    const bool negative = accept(ps, '-');
    int64_t x = 0;

    if (*ps->p < '0' || *ps->p > '9')
        return complain(ps, "a size");
    for (; *ps->p >= '0' && *ps->p <= '9'; ps->p++)
        if (__builtin_mul_overflow(x, 10, &x) || __builtin_add_overflow(x, *ps->p - '0', &x))
            return complain(ps, "a size that can be addressed");
    if (*ps->p == 'L') /* Python 2 */
        ps->p++;
    *size = negative ? -x : x;
    return true;
}

static bool parse_shape(parser *ps, wmi_array *a)
{
    a->rank = 0;
    if (!accept(ps, '('))
        return complain(ps, "'(' of the shape");
    while (!accept(ps, ')')) {
        if (a->rank == WMI_ARRAY_MAX_RANK)
            return complain(ps, "at most 32 axes");
        if (!parse_size(ps, &a->dim[a->rank++]))
            return false;
        if (!accept(ps, ',')) {
            if (!accept(ps, ')'))
                return complain(ps, "',' or ')' in the shape");
            if (a->rank == 1) /* (3) is a number in Python, not a shape */
                return complain(ps, "',' after the only size");
            break;
        }
    }
    return true;
}

/* ---- the type ---- */

static const struct {
    char letter;
    int width;
    wmi_element type;
} known[] = {
    {'f', 2, WMI_ELEMENT_F16},  {'f', 4, WMI_ELEMENT_F32}, {'f', 8, WMI_ELEMENT_F64},
    {'b', 1, WMI_ELEMENT_BOOL}, {'i', 1, WMI_ELEMENT_I8},  {'i', 2, WMI_ELEMENT_I16},
    {'i', 4, WMI_ELEMENT_I32},  {'i', 8, WMI_ELEMENT_I64}, {'u', 1, WMI_ELEMENT_U8},
    {'u', 2, WMI_ELEMENT_U16},  {'u', 4, WMI_ELEMENT_U32}, {'u', 8, WMI_ELEMENT_U64},
};

/* What numbers of another type are, and the way out. */
static const struct {
    char letter;
    const char *what;
} foreign[] = {
    {'O', "Python objects (a pickle), which are not read: save numbers, as x.astype(float)"},
    {'c', "complex numbers: save real and imaginary parts as columns"},
    {'S', "texts: save numbers, or a CSV"},
    {'a', "texts: save numbers, or a CSV"},
    {'U', "texts: save numbers, or a CSV"},
    {'M', "dates: save numbers, as x.astype('int64')"},
    {'m', "spans of time: save numbers, as x.astype('int64')"},
    {'V', "raw records: save numbers, or a CSV"},
    {'f', "floats of another width: save x.astype('float64')"},
};

static bool parse_type(parser *ps, wmi_array *a)
{
    char text[32], *end;
    const char *p = text;
    long width;

    if (accept(ps, '[')) {
        ps->st = wmi_fail(ps->err, WM_EUNSUPPORTED,
                          "%s: a structured array (named fields): save its fields as the columns "
                          "of a plain array, or a CSV",
                          ps->label);
        return false;
    }
    if (!parse_text(ps, text, sizeof text))
        return false;
    a->big_endian = *p == '>' || (*p != '<' && wmi_machine_is_big());
    if (*p && strchr("<>=|", *p))
        p++;
    width = *p ? strtol(p + 1, &end, 10) : 0;
    for (size_t i = 0; *p && *end == '\0' && i < sizeof known / sizeof *known; i++)
        if (known[i].letter == *p && known[i].width == width) {
            a->type = known[i].type;
            return true;
        }
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
        if (foreign[i].letter == *p) {
            ps->st = wmi_fail(ps->err, WM_EUNSUPPORTED, "%s: type '%s' is %s", ps->label, text,
                              foreign[i].what);
            return false;
        }
    ps->st = wmi_fail(ps->err, WM_EUNSUPPORTED,
                      "%s: type '%s' is not known: save x.astype('float64')", ps->label, text);
    return false;
}

static bool parse_entry(parser *ps, wmi_array *a, unsigned *seen)
{
    static const char *const keys[] = {"descr", "fortran_order", "shape"};
    char key[24];
    unsigned k = 0;

    if (!parse_text(ps, key, sizeof key))
        return false;
    while (k < 3 && strcmp(key, keys[k]) != 0)
        k++;
    if (k == 3 || *seen & 1U << k)
        return complain(ps, "descr, fortran_order and shape, once each,");
    *seen |= 1U << k;
    if (!accept(ps, ':'))
        return complain(ps, "':'");
    if (k == 0)
        return parse_type(ps, a);
    if (k == 2)
        return parse_shape(ps, a);
    a->fortran = accept_word(ps, "True");
    return a->fortran || accept_word(ps, "False") || complain(ps, "True or False");
}

static wm_status parse_header(wmi_array *a, const char *label, const char *text, wm_error *err)
{
    parser ps = {.label = label, .text = text, .p = text, .err = err};
    unsigned seen = 0;

    if (!accept(&ps, '{'))
        complain(&ps, "'{'");
    while (!ps.st && !accept(&ps, '}')) {
        if (!parse_entry(&ps, a, &seen))
            break;
        if (!accept(&ps, ',')) {
            if (!accept(&ps, '}'))
                complain(&ps, "',' or '}'");
            break;
        }
    }
    skip_space(&ps);
    if (!ps.st && seen != 7)
        complain(&ps, "descr, fortran_order and shape");
    if (!ps.st && *ps.p)
        complain(&ps, "the end");
    return ps.st;
}

/* ---- the file ---- */

/* n bytes, all of which must be there. */
static wm_status read_part(const char *label, wmi_bytes *bytes, void *buf, size_t n, wm_error *err)
{
    size_t got;
    const wm_status st = wmi_bytes_read(bytes, buf, n, &got, err);

    if (st)
        return st;
    return got == n ? WM_OK
                    : wmi_fail(err, WM_EFORMAT, "%s: cut short: ends within its header", label);
}

static wm_status read_header(wmi_array *a, const char *label, wmi_bytes *bytes, wm_error *err)
{
    unsigned char head[8], length[4] = {0};
    const unsigned char *peeked;
    char *text = NULL;
    uint32_t n;
    size_t width;
    wm_status st;

    if ((st = wmi_bytes_peek(bytes, &peeked, &width, err)))
        return st;
    if (width < 6 || memcmp(peeked, MAGIC, 6) != 0)
        return wmi_fail(err, WM_EFORMAT, "%s: does not begin as an npy file does", label);
    if ((st = read_part(label, bytes, head, 8, err)))
        return st;
    if (head[6] < 1 || head[6] > 3)
        return wmi_fail(err, WM_EUNSUPPORTED, "%s: npy version %d.%d, expected 1 to 3", label,
                        head[6], head[7]);
    width = head[6] == 1 ? 2 : 4;
    if ((st = read_part(label, bytes, length, width, err)))
        return st;
    n = (uint32_t)length[0] | (uint32_t)length[1] << 8 | (uint32_t)length[2] << 16 |
        (uint32_t)length[3] << 24;
    if (n > MAX_HEADER)
        return wmi_fail(err, WM_EFORMAT, "%s: says its header has %" PRIu32 " bytes", label, n);
    if ((st = wmi_alloc(&text, (int64_t)n + 1, 1, "npy header", err)))
        return st;
    *a = (wmi_array){.at = 8 + (int64_t)width + (int64_t)n, .last = true};
    if (!(st = read_part(label, bytes, text, n, err)))
        st = parse_header(a, label, text, err);
    wmi_free(text);
    return st;
}

wm_status wmi_npy_open(wmi_cursor **out, const char *label, wmi_bytes *bytes, bool own,
                       wm_error *err)
{
    wmi_array a;
    wm_status st;

    *out = NULL;
    st = read_header(&a, wmi_text_tail(label), bytes, err);
    if (!st)
        return wmi_array_open(out, label, bytes, own, &a, err);
    if (own)
        wmi_bytes_close(bytes);
    return st;
}

static bool sniff(const unsigned char *head, size_t n)
{
    return n >= 6 && memcmp(head, MAGIC, 6) == 0;
}

static wm_status open_file(wmi_cursor **out, const wmi_source_file *file, wm_error *err)
{
    return wmi_npy_open(out, file->path, file->bytes, false, err);
}

const wmi_format wmi_format_npy = {"npy", sniff, open_file};
