/* json.c - JSON that a person can read.
 * jansson prints a double with a fixed number of digits (0.10000000000000001) and an array with one
 * number to a line; people read these files too, so the printing is ours. */
#include "report/json.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "report/text.h"

#define LINE 100 /* columns */

wm_status wmi_json_read(json_t **out, const char *text, size_t n, const char *name, wm_error *err)
{
    json_error_t why;

    *out = json_loadb(text, n, 0, &why);
    if (!*out)
        return wmi_fail(err, WM_EFORMAT, "%s:%d:%d: %.120s", name, why.line, why.column,
                        n ? why.text : "the file is empty");
    if (!json_is_object(*out)) {
        json_decref(*out);
        *out = NULL;
        return wmi_fail(err, WM_EFORMAT, "%s: not an object of names and values", name);
    }
    return WM_OK;
}

const char *wmi_json_text(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

double wmi_json_real(const json_t *v)
{
    return json_is_number(v) ? json_number_value(v) : (double)NAN;
}

/* --- printing ----------------------------------------------------------------------------------*/

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
