/* text.c - shortest exact numbers, clean UTF-8, and JSON that a person can read.
 * jansson prints a double with a fixed number of digits (0.10000000000000001) and an array with one
 * number to a line; summaries are read by people too, so the printing is ours. */
#include "report/text.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define LINE 100 /* columns */

const char *wmi_real_text(char out[WMI_REAL_TEXT], double x)
{
    out[0] = '\0';
    if (!isfinite(x))
        return out;
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(out, WMI_REAL_TEXT, "%.*g", digits, x);
        if (strtod(out, NULL) == x)
            break;
    }
    for (char *p = out; *p; p++) /* the one other character is the locale's decimal point */
        if (!strchr("0123456789+-e", *p))
            *p = '.';
    return out;
}

int wmi_text_letter(const char *text, uint32_t *point)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *s = (const unsigned char *)text;
    const int n = s[0] < 0x80       ? 1
                  : s[0] >> 5 == 6  ? 2
                  : s[0] >> 4 == 14 ? 3
                  : s[0] >> 3 == 30 ? 4
                                    : 0;

    if (n <= 1) {
        *point = s[0];
        return n;
    }
    *point = s[0] & (0xffU >> (n + 1));
    for (int i = 1; i < n; i++) {
        if ((s[i] & 0xc0) != 0x80) /* also the end of the text */
            return 0;
        *point = *point << 6 | (s[i] & 0x3fU);
    }
    return *point < least[n] || *point > 0x10ffff || (*point >= 0xd800 && *point <= 0xdfff) ? 0 : n;
}

char *wmi_text_clean(wmi_arena *a, const char *s, wm_error *err)
{
    char *out = wmi_arena_alloc(a, 3 * strlen(s) + 1, err); /* U+FFFD takes three bytes */
    char *to = out;

    if (!out)
        return NULL;
    while (*s) {
        uint32_t point;
        const int n = wmi_text_letter(s, &point);

        if (n == 0) {
            memcpy(to, "\xef\xbf\xbd", 3);
            to += 3;
            s++;
        } else if (point < 0x20 || point == 0x7f) {
            *to++ = ' ';
            s++;
        } else {
            memcpy(to, s, (size_t)n);
            to += n;
            s += n;
        }
    }
    *to = '\0';
    return out;
}

int wmi_text_width(const char *s)
{
    int width = 0;

    while (*s) {
        uint32_t c;
        const int n = wmi_text_letter(s, &c);

        s += n ? n : 1;
        if ((c >= 0x300 && c <= 0x36f) || c == 0x200d || (c >= 0xfe00 && c <= 0xfe0f))
            continue;
        width += (c >= 0x1100 && c <= 0x115f) || (c >= 0x2e80 && c <= 0xa4cf) ||
                         (c >= 0xac00 && c <= 0xd7a3) || (c >= 0xf900 && c <= 0xfaff) ||
                         (c >= 0xff00 && c <= 0xff60) || (c >= 0x1f300 && c <= 0x1faff)
                     ? 2
                     : 1;
    }
    return width;
}

/* --- JSON --------------------------------------------------------------------------------------*/

static void print_text(const json_t *v, FILE *f)
{
    char *text = json_dumps(v, JSON_ENCODE_ANY);

    fputs(text ? text : "null", f);
    free(text);
}

static void print_key(const char *key, FILE *f)
{
    json_t *v = json_string(key);

    print_text(v, f);
    fputs(": ", f);
    json_decref(v);
}

static void print_scalar(const json_t *v, FILE *f)
{
    char number[WMI_REAL_TEXT];

    if (json_is_real(v)) {
        wmi_real_text(number, json_real_value(v));
        fputs(number, f);
        if (!strpbrk(number, ".e")) /* a real stays a real when it is read again */
            fputs(".0", f);
    } else if (json_is_integer(v)) {
        fprintf(f, "%" JSON_INTEGER_FORMAT, json_integer_value(v));
    } else {
        print_text(v, f);
    }
}

void wmi_json_line(const json_t *v, FILE *f)
{
    if (json_is_array(v)) {
        putc('[', f);
        for (size_t i = 0; i < json_array_size(v); i++) {
            fputs(i ? ", " : "", f);
            wmi_json_line(json_array_get(v, i), f);
        }
        putc(']', f);
    } else if (json_is_object(v)) {
        json_t *o = (json_t *)v; /* the iterators are not const, and change nothing */

        putc('{', f);
        for (void *i = json_object_iter(o); i; i = json_object_iter_next(o, i)) {
            fputs(i == json_object_iter(o) ? "" : ", ", f);
            print_key(json_object_iter_key(i), f);
            wmi_json_line(json_object_iter_value(i), f);
        }
        putc('}', f);
    } else {
        print_scalar(v, f);
    }
}

/* Whether v fits on what is left of a line. */
static bool fits(const json_t *v, int room)
{
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);
    int width = LINE + 1;

    if (f) {
        wmi_json_line(v, f);
        if (fclose(f) == 0 && text)
            width = wmi_text_width(text);
        free(text);
    }
    return width <= room;
}

static void print_value(const json_t *v, int indent, int used, FILE *f)
{
    if (!(json_is_array(v) || json_is_object(v)) || (indent && fits(v, LINE - used))) {
        wmi_json_line(v, f);
    } else if (json_is_array(v)) {
        bool scalars = true;
        int column = LINE;

        for (size_t i = 0; i < json_array_size(v); i++)
            scalars = scalars && !json_is_object(json_array_get(v, i)) &&
                      !json_is_array(json_array_get(v, i));
        putc('[', f);
        for (size_t i = 0; i < json_array_size(v); i++) {
            /* Numbers fill their lines; 30 columns hold any of them. */
            if (!scalars || column + 30 > LINE) {
                fprintf(f, "%s\n%*s", i ? "," : "", indent + 2, "");
                column = indent + 2;
            } else {
                fputs(", ", f);
            }
            print_value(json_array_get(v, i), indent + 2, indent + 2, f);
            column += 24;
        }
        fprintf(f, "\n%*s]", indent, "");
    } else {
        json_t *o = (json_t *)v;

        putc('{', f);
        for (void *i = json_object_iter(o); i; i = json_object_iter_next(o, i)) {
            const char *key = json_object_iter_key(i);

            fprintf(f, "%s\n%*s", i == json_object_iter(o) ? "" : ",", indent + 2, "");
            print_key(key, f);
            print_value(json_object_iter_value(i), indent + 2, indent + 7 + wmi_text_width(key), f);
        }
        if (json_object_size(v))
            fprintf(f, "\n%*s", indent, "");
        putc('}', f);
    }
}

void wmi_json_print(const json_t *v, FILE *f)
{
    print_value(v, 0, 0, f);
    putc('\n', f);
}
