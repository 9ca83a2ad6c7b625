/* schema_json.c - a schema as JSON, for a model file:
 *
 *     {"columns": [{"name": "age", "kind": "integer"},
 *                  {"kind": "categorical", "levels": ["f", "m"]}]}
 *
 * Name and levels only where there are some; "number" where a column does not stand at its place in
 * the file, which then has a "width"; "written" where it is not plainly, as {"decimal": ",",
 * "thousands": ".", "currency": "$", "percent": true}, {"date": "dmy"}, {"clock": true} or
 * {"yes_no": true}. */
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "data/table/schema.h"

/* ---- writing ---- */

static json_t *written_json(const wmi_written *w)
{
    json_t *object = json_object();

    if (w->script == WMI_DATE)
        json_object_set_new(object, "date", json_string(wmi_date_order_name(w->order)));
    if (w->script == WMI_CLOCK)
        json_object_set_new(object, "clock", json_true());
    if (w->script == WMI_YES_NO)
        json_object_set_new(object, "yes_no", json_true());
    if (w->script != WMI_DRESSED)
        return object;
    json_object_set_new(object, "decimal", json_stringn(&w->decimal, 1));
    if (w->thousands)
        json_object_set_new(object, "thousands", json_stringn(&w->thousands, 1));
    if (w->currency)
        json_object_set_new(object, "currency", json_string(w->currency));
    if (w->percent)
        json_object_set_new(object, "percent", json_true());
    return object;
}

static json_t *levels_json(const wm_schema *s, int64_t j)
{
    json_t *levels = json_array();

    for (int64_t i = 0; i < wm_schema_levels(s, j); i++)
        if (json_array_append_new(levels, json_string(wm_schema_level(s, j, i)))) {
            json_decref(levels);
            return NULL;
        }
    return levels;
}

static json_t *column_json(const wm_schema *s, int64_t j)
{
    const wmi_written *written = wmi_schema_written(s, j);
    const wm_kind kind = wm_schema_kind(s, j);
    json_t *object = json_object();

    if (wm_schema_name(s, j))
        json_object_set_new(object, "name", json_string(wm_schema_name(s, j)));
    json_object_set_new(object, "kind", json_string(wmi_kind_name(kind)));
    if (wmi_schema_number(s, j) != j + 1)
        json_object_set_new(object, "number", json_integer(wmi_schema_number(s, j)));
    if (written->script != WMI_PLAIN)
        json_object_set_new(object, "written", written_json(written));
    if (kind == WM_KIND_CATEGORICAL && json_object_set_new(object, "levels", levels_json(s, j))) {
        json_decref(object);
        return NULL;
    }
    return object;
}

wm_status wm_schema_write(const wm_schema *s, char **out, wm_error *err)
{
    WMI_NEED(err, s && out);
    json_t *root = json_object(), *columns = json_array();
    const int64_t dim = wm_schema_dim(s);
    wm_status st = WM_OK;
    char *text = NULL;

    *out = NULL;
    for (int64_t j = 0; j < dim && !st; j++)
        if (json_array_append_new(columns, column_json(s, j)))
            st = wmi_fail(err, WM_ENOMEM, "schema: no memory for column %" PRId64, j + 1);
    if (wmi_schema_width(s) != dim)
        json_object_set_new(root, "width", json_integer(wmi_schema_width(s)));
    if (json_object_set_new(root, "columns", columns) && !st)
        st = wmi_fail(err, WM_ENOMEM, "schema: no memory");
    if (!st && !(text = json_dumps(root, JSON_COMPACT)))
        st = wmi_fail(err, WM_ENOMEM, "schema: no memory");
    if (!st && !(st = wmi_alloc(out, (int64_t)strlen(text) + 1, 1, "schema", err)))
        memcpy(*out, text, strlen(text));
    free(text);
    json_decref(root);
    return st;
}

/* ---- reading ---- */

static wm_status parse_levels(wm_schema *s, int64_t j, const json_t *levels, wm_error *err)
{
    const size_t n = json_array_size(levels);
    int64_t number;
    wm_status st;

    if (!json_is_array(levels))
        return wmi_fail(err, WM_EFORMAT, "schema: column %" PRId64 " has no list of levels", j + 1);
    for (size_t i = 0; i < n; i++) {
        const char *text = json_string_value(json_array_get(levels, i));

        if (!text || wmi_schema_level_find(s, j, text) >= 0)
            return wmi_fail(err, WM_EFORMAT,
                            "schema: column %" PRId64
                            ": level %zu is not a text, or stands there twice",
                            j + 1, i + 1);
        if ((st = wmi_schema_level_number(s, j, text, &number, err)))
            return st;
    }
    return WM_OK;
}

/* The one character of a text that is among `of`, or 0. */
static char parse_char(const json_t *text, const char *of)
{
    const char *value = json_string_value(text);

    return value && *value && !value[1] && strchr(of, *value) ? *value : '\0';
}

/* False if it says nothing that we know. */
static bool parse_written(wmi_written *w, const json_t *object)
{
    const char *date = json_string_value(json_object_get(object, "date"));
    const json_t *thousands = json_object_get(object, "thousands");
    const json_t *currency = json_object_get(object, "currency");

    if (date) {
        const int order = wmi_date_order_called(date);

        *w =
            (wmi_written){.script = WMI_DATE, .order = order < 0 ? WMI_YMD : (wmi_date_order)order};
        return order >= 0;
    }
    w->script = json_is_true(json_object_get(object, "clock"))    ? WMI_CLOCK
                : json_is_true(json_object_get(object, "yes_no")) ? WMI_YES_NO
                                                                  : WMI_DRESSED;
    if (w->script != WMI_DRESSED)
        return true;
    w->decimal = parse_char(json_object_get(object, "decimal"), ".,");
    w->thousands = parse_char(thousands, ",.' ");
    w->currency =
        json_is_string(currency) ? wmi_currency_called(json_string_value(currency)) : NULL;
    w->percent = json_is_true(json_object_get(object, "percent"));
    return w->decimal && (w->thousands || !thousands) && (w->currency || !currency);
}

/* Where the columns stood in a file: numbers within its width. */
static wm_status parse_places(wm_schema *s, const json_t *root, const json_t *columns,
                              wm_error *err)
{
    const json_t *said = json_object_get(root, "width");
    const int64_t dim = wm_schema_dim(s), width = said ? json_integer_value(said) : dim;
    int64_t *from = NULL;
    wm_status st = wmi_alloc(&from, dim, sizeof *from, "columns", err);

    for (int64_t j = 0; j < dim && !st; j++) {
        const json_t *number = json_object_get(json_array_get(columns, (size_t)j), "number");

        from[j] = (number ? json_integer_value(number) : j + 1) - 1;
        if (from[j] < 0 || from[j] >= width)
            st = wmi_fail(err, WM_EFORMAT,
                          "schema: column %" PRId64 " is number %" PRId64 " of %" PRId64, j + 1,
                          from[j] + 1, width);
    }
    if (!st)
        wmi_schema_place(s, from, width);
    wmi_free(from);
    return st;
}

static wm_status parse_column(wm_schema *s, int64_t j, const json_t *object, wm_error *err)
{
    const char *kind = json_string_value(json_object_get(object, "kind"));
    const json_t *written = json_object_get(object, "written");
    const int k = kind ? wmi_kind_called(kind) : -1;
    wmi_written w = {.script = WMI_PLAIN};
    wm_status st;

    if (k < 0)
        return wmi_fail(err, WM_EFORMAT,
                        "schema: column %" PRId64 ": kind '%.40s', expected continuous, integer or "
                        "categorical",
                        j + 1, kind ? kind : "");
    if (written && !parse_written(&w, written))
        return wmi_fail(err, WM_EFORMAT,
                        "schema: column %" PRId64 ": how it is written is not known here", j + 1);
    wmi_schema_set_written(s, j, &w);
    if ((st = wmi_schema_set_kind(s, "schema", j, (wm_kind)k, err)))
        return st;
    return k == WM_KIND_CATEGORICAL ? parse_levels(s, j, json_object_get(object, "levels"), err)
                                    : WM_OK;
}

/* names: (dim), borrowed from the columns. */
static wm_status parse_names(const char **names, const json_t *columns, wm_error *err)
{
    for (size_t j = 0; j < json_array_size(columns); j++) {
        const json_t *name = json_object_get(json_array_get(columns, j), "name");

        if (name && !json_is_string(name))
            return wmi_fail(err, WM_EFORMAT, "schema: column %zu: its name is no text", j + 1);
        names[j] = name ? json_string_value(name) : NULL;
    }
    return WM_OK;
}

wm_status wm_schema_parse(wm_schema **out, const char *text, wm_error *err)
{
    WMI_NEED(err, out && text);
    json_error_t why;
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &why);
    const json_t *columns = json_object_get(root, "columns");
    const int64_t dim = (int64_t)json_array_size(columns);
    const char **names = NULL;
    wm_schema *s = NULL;
    wm_status st;

    *out = NULL;
    if (!root) {
        st = wmi_fail(err, WM_EFORMAT, "schema: byte %d: %.120s", why.position, why.text);
        goto done;
    }
    if (dim == 0) {
        st = wmi_fail(err, WM_EFORMAT, "schema: no list of columns");
        goto done;
    }
    if ((st = wm_schema_new(&s, err)) ||
        (st = wmi_alloc(&names, dim, sizeof(const char *), "names", err)) ||
        (st = parse_names(names, columns, err)) ||
        (st = wmi_schema_begin(s, "schema", dim, names, err)))
        goto done;
    for (int64_t j = 0; j < dim; j++)
        if ((st = parse_column(s, j, json_array_get(columns, (size_t)j), err)))
            goto done;
    if ((st = parse_places(s, root, columns, err)))
        goto done;
    wmi_schema_fix(s);
    *out = s;
    s = NULL;
done:
    wm_schema_free(s);
    wmi_free(names);
    json_decref(root);
    return st;
}
