/* schema.c - names, kinds and levels of columns; as JSON for a model file.
 *
 * Texts live in an arena and are never removed. Levels are found by a hash table per column: they
 * are looked up once for each field of a categorical column. */
#include "data/schema.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "data/utf8.h"

typedef struct level {
    const char *text; /* in the arena */
    size_t n;
} level;

typedef struct column {
    const char *name; /* in the arena, or NULL */
    wm_kind kind;
    bool told; /* somebody has set the kind */
    level *levels;
    int64_t n_levels, room;
    int32_t *slots; /* (n_slots) a power of two; 0 is free, else the number of a level, from 1 */
    int64_t n_slots;
} column;

struct wm_schema {
    wmi_arena arena;
    column *columns;
    int64_t dim;
    bool fixed;
};

static const char *const kind_names[] = {
    [WM_KIND_CONTINUOUS] = "continuous",
    [WM_KIND_INTEGER] = "integer",
    [WM_KIND_CATEGORICAL] = "categorical",
};

const char *wmi_kind_name(wm_kind kind)
{
    return (int)kind >= 0 && kind <= WM_KIND_CATEGORICAL ? kind_names[kind] : "of no kind";
}

/* A copy without its NUL being there, or NULL. */
static const char *copy_text(wm_schema *s, const char *text, size_t n, wm_error *err)
{
    char *copy = wmi_arena_alloc(&s->arena, n + 1, err);

    if (copy)
        memcpy(copy, text, n);
    return copy;
}

/* --- the public part ---------------------------------------------------------------------------*/

wm_status wm_schema_new(wm_schema **out, wm_error *err)
{
    return wmi_alloc(out, 1, sizeof **out, "schema", err);
}

void wm_schema_free(wm_schema *s)
{
    if (!s)
        return;
    for (int64_t j = 0; j < s->dim; j++) {
        wmi_free(s->columns[j].levels);
        wmi_free(s->columns[j].slots);
    }
    wmi_free(s->columns);
    wmi_arena_free(&s->arena);
    wmi_free(s);
}

int64_t wm_schema_dim(const wm_schema *s)
{
    return s->dim;
}

const char *wm_schema_name(const wm_schema *s, int64_t j)
{
    return j >= 0 && j < s->dim ? s->columns[j].name : NULL;
}

wm_kind wm_schema_kind(const wm_schema *s, int64_t j)
{
    return j >= 0 && j < s->dim ? s->columns[j].kind : WM_KIND_CONTINUOUS;
}

int64_t wm_schema_levels(const wm_schema *s, int64_t j)
{
    return wm_schema_kind(s, j) == WM_KIND_CATEGORICAL ? s->columns[j].n_levels : 0;
}

const char *wm_schema_level(const wm_schema *s, int64_t j, int64_t number)
{
    return number >= 0 && number < wm_schema_levels(s, j) ? s->columns[j].levels[number].text
                                                          : NULL;
}

const char *wm_schema_describe(const wm_schema *s, int64_t j, char *buf, size_t size)
{
    const char *name = wm_schema_name(s, j);
    char cut[WMI_TEXT_CUT];

    if (name)
        snprintf(buf, size, "column %" PRId64 " ('%s')", j + 1,
                 wmi_text_cut(cut, name, strlen(name)));
    else
        snprintf(buf, size, "column %" PRId64, j + 1);
    return buf;
}

void wm_text_free(char *text)
{
    wmi_free(text);
}

/* --- columns -----------------------------------------------------------------------------------*/

bool wmi_schema_fixed(const wm_schema *s)
{
    return s->fixed;
}

static const char *name_or_null(const char *const *names, int64_t j)
{
    return names && names[j] && *names[j] ? names[j] : NULL;
}

wm_status wmi_schema_check(const wm_schema *s, const char *label, int64_t dim,
                           const char *const *names, wm_error *err)
{
    char ours[WMI_TEXT_CUT], theirs[WMI_TEXT_CUT];

    if (s->dim && dim != s->dim)
        return wmi_fail(err, WM_ESHAPE, "%s: %" PRId64 " column%s, expected %" PRId64,
                        wmi_text_tail(label), dim, dim == 1 ? "" : "s", s->dim);
    for (int64_t j = 0; j < s->dim; j++) {
        const char *name = name_or_null(names, j), *own = s->columns[j].name;

        if (name && own && strcmp(name, own) != 0)
            return wmi_fail(
                err, WM_EINVAL,
                "%s: column %" PRId64
                " is called '%s', expected '%s': columns must be the same, in the same order",
                wmi_text_tail(label), j + 1, wmi_text_cut(theirs, name, strlen(name)),
                wmi_text_cut(ours, own, strlen(own)));
    }
    return WM_OK;
}

static wm_status learn_names(wm_schema *s, const char *label, const char *const *names,
                             wm_error *err)
{
    for (int64_t j = 0; j < s->dim; j++) {
        const char *name = name_or_null(names, j);

        if (!name || s->columns[j].name)
            continue;
        if (!wmi_text_is_utf8(name, strlen(name)))
            return wmi_fail(err, WM_EFORMAT,
                            "%s: the name of column %" PRId64
                            " is not UTF-8: convert the file (iconv -f latin1 -t utf-8)",
                            wmi_text_tail(label), j + 1);
        if (!(s->columns[j].name = copy_text(s, name, strlen(name), err)))
            return WM_ENOMEM;
    }
    return WM_OK;
}

wm_status wmi_schema_begin(wm_schema *s, const char *label, int64_t dim, const char *const *names,
                           wm_error *err)
{
    wm_status st = wmi_schema_check(s, label, dim, names, err);

    if (st || s->fixed)
        return st;
    if (!s->dim) {
        if (dim < 1)
            return wmi_fail(err, WM_ESHAPE, "%s: a table without columns", wmi_text_tail(label));
        if ((st = wmi_alloc(&s->columns, dim, sizeof *s->columns, "columns", err)))
            return st;
        s->dim = dim;
    }
    return learn_names(s, label, names, err);
}

wm_status wmi_schema_set_kind(wm_schema *s, const char *label, int64_t j, wm_kind kind,
                              wm_error *err)
{
    column *c = &s->columns[j];
    char what[80];

    if (s->fixed || !c->told) {
        c->kind = s->fixed ? c->kind : kind;
        c->told = true;
        return WM_OK;
    }
    if ((c->kind == WM_KIND_CATEGORICAL) != (kind == WM_KIND_CATEGORICAL))
        return wmi_fail(err, WM_EINVAL,
                        "%s: %s is %s, in the earlier table it is %s: name it in --continuous, "
                        "--integer or --categorical",
                        wmi_text_tail(label), wm_schema_describe(s, j, what, sizeof what),
                        kind_names[kind], kind_names[c->kind]);
    if (c->kind != kind)
        c->kind = WM_KIND_CONTINUOUS;
    return WM_OK;
}

/* --- levels ------------------------------------------------------------------------------------*/

static uint64_t hash_text(const char *text, size_t n)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325); /* FNV-1a */

    for (size_t i = 0; i < n; i++)
        h = (h ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
    return h ^ (h >> 32);
}

/* The slot that holds this text, or the free one where it belongs. */
static int64_t find_slot(const column *c, const char *text, size_t n)
{
    const int64_t mask = c->n_slots - 1;
    int64_t at = (int64_t)(hash_text(text, n) & (uint64_t)mask);

    for (; c->slots[at]; at = (at + 1) & mask) {
        const level *l = &c->levels[c->slots[at] - 1];

        if (l->n == n && memcmp(l->text, text, n) == 0)
            break;
    }
    return at;
}

/* Room for one more level, with at least half of the slots free. */
static wm_status make_room(column *c, wm_error *err)
{
    const int64_t room = c->room ? 2 * c->room : 8;
    level *levels = NULL;
    int32_t *slots = NULL;
    wm_status st;

    if (c->n_levels < c->room)
        return WM_OK;
    if ((st = wmi_alloc(&levels, room, sizeof *levels, "levels", err)))
        return st;
    if ((st = wmi_alloc(&slots, 2 * room, sizeof *slots, "levels", err))) {
        wmi_free(levels);
        return st;
    }
    if (c->n_levels)
        memcpy(levels, c->levels, (size_t)c->n_levels * sizeof *levels);
    wmi_free(c->levels);
    wmi_free(c->slots);
    c->levels = levels;
    c->slots = slots;
    c->room = room;
    c->n_slots = 2 * room;
    for (int64_t i = 0; i < c->n_levels; i++)
        c->slots[find_slot(c, levels[i].text, levels[i].n)] = (int32_t)(i + 1);
    return WM_OK;
}

int64_t wmi_schema_level_find_n(const wm_schema *s, int64_t j, const char *text, size_t n)
{
    const column *c = &s->columns[j];

    return c->n_slots ? (int64_t)c->slots[find_slot(c, text, n)] - 1 : -1;
}

int64_t wmi_schema_level_find(const wm_schema *s, int64_t j, const char *text)
{
    return wmi_schema_level_find_n(s, j, text, strlen(text));
}

static wm_status add_level(wm_schema *s, int64_t j, const char *text, wm_error *err)
{
    column *c = &s->columns[j];
    const size_t n = strlen(text);
    const char *copy;
    wm_status st;

    if ((st = make_room(c, err)))
        return st;
    if (!(copy = copy_text(s, text, n, err)))
        return WM_ENOMEM;
    c->levels[c->n_levels++] = (level){copy, n};
    c->slots[find_slot(c, text, n)] = (int32_t)c->n_levels;
    return WM_OK;
}

wm_status wmi_schema_level_number(wm_schema *s, int64_t j, const char *text, int64_t *number,
                                  wm_error *err)
{
    char what[80], cut[WMI_TEXT_CUT];
    const size_t n = strlen(text);

    *number = wmi_schema_level_find_n(s, j, text, n);
    if (*number >= 0 || s->fixed)
        return WM_OK;
    if (s->columns[j].n_levels >= WMI_MAX_LEVELS)
        return wmi_fail(err, WM_EINVAL,
                        "%s: '%s' is one level too many, at most %d make sense: leave the column "
                        "out if it is an identifier or free text",
                        wm_schema_describe(s, j, what, sizeof what), wmi_text_cut(cut, text, n),
                        WMI_MAX_LEVELS);
    if (!wmi_text_is_utf8(text, n))
        return wmi_fail(err, WM_EFORMAT,
                        "%s: '%s' is not UTF-8: convert the file (iconv -f latin1 -t utf-8)",
                        wm_schema_describe(s, j, what, sizeof what), wmi_text_cut(cut, text, n));
    *number = s->columns[j].n_levels;
    return add_level(s, j, text, err);
}

/* --- lists of columns --------------------------------------------------------------------------*/

/* Number from 1 as text of n bytes, or 0. */
static int64_t column_number(const char *text, size_t n)
{
    int64_t number = 0;

    for (size_t i = 0; i < n; i++) {
        if (text[i] < '0' || text[i] > '9' || number > INT64_MAX / 10 - 1)
            return 0;
        number = 10 * number + (text[i] - '0');
    }
    return number;
}

/* A name comes before a number: a table may well have a column called 3. */
static wm_status find_column(const wm_schema *s, const char *text, size_t n, int64_t *found,
                             wm_error *err)
{
    const int64_t number = column_number(text, n);
    char cut[WMI_TEXT_CUT];

    *found = -1;
    for (int64_t j = 0; j < s->dim; j++) {
        const char *name = s->columns[j].name;

        if (!name || strlen(name) != n || memcmp(name, text, n) != 0)
            continue;
        if (*found >= 0)
            return wmi_fail(err, WM_EINVAL,
                            "columns %" PRId64 " and %" PRId64
                            " are both called '%s': give the number",
                            *found + 1, j + 1, wmi_text_cut(cut, text, n));
        *found = j;
    }
    if (*found < 0 && number >= 1 && number <= s->dim)
        *found = number - 1;
    if (*found < 0)
        return wmi_fail(err, WM_EINVAL,
                        "'%s' is no column: give names, or numbers from 1 to %" PRId64
                        ", separated by commas",
                        wmi_text_cut(cut, text, n), s->dim);
    return WM_OK;
}

wm_status wmi_schema_each(const wm_schema *s, const char *list,
                          wm_status (*f)(void *ctx, int64_t column, wm_error *err), void *ctx,
                          wm_error *err)
{
    wm_status st = WM_OK;

    if (strcmp(list, "all") == 0) {
        for (int64_t j = 0; j < s->dim && !st; j++)
            st = f(ctx, j, err);
        return st;
    }
    for (const char *p = list; !st; p++) {
        size_t n = strcspn(p, ",");
        const char *entry = p;
        int64_t j = -1;

        p += n;
        while (n && *entry == ' ')
            entry++, n--;
        while (n && entry[n - 1] == ' ')
            n--;
        if (!(st = find_column(s, entry, n, &j, err)))
            st = f(ctx, j, err);
        if (!*p)
            break;
    }
    return st;
}

typedef struct force {
    const wm_schema *schema;
    int *kind;
    wm_kind now;
} force;

static wm_status force_one(void *ctx, int64_t j, wm_error *err)
{
    const force *f = (const force *)ctx;
    const int before = f->kind[j];
    char what[80];

    if (before >= 0 && before != (int)f->now)
        return wmi_fail(err, WM_EINVAL, "%s is said to be %s and %s",
                        wm_schema_describe(f->schema, j, what, sizeof what),
                        wmi_kind_name((wm_kind)before), wmi_kind_name(f->now));
    f->kind[j] = (int)f->now;
    return WM_OK;
}

wm_status wmi_schema_forced(const wm_schema *s, const char *continuous, const char *integer,
                            const char *categorical, int *kind, wm_error *err)
{
    const char *const lists[] = {
        [WM_KIND_CONTINUOUS] = continuous,
        [WM_KIND_INTEGER] = integer,
        [WM_KIND_CATEGORICAL] = categorical,
    };
    wm_status st = WM_OK;

    for (int64_t j = 0; j < s->dim; j++)
        kind[j] = -1;
    for (int k = 0; k < (int)(sizeof lists / sizeof *lists) && !st; k++) {
        force f = {s, kind, (wm_kind)k};

        if (lists[k])
            st = wmi_schema_each(s, lists[k], force_one, &f, err);
    }
    return st;
}

/* --- JSON: {"columns": [{"name": "age", "kind": "integer"}, {"kind": "categorical",
 *     "levels": ["f", "m"]}]}; name and levels only where there are some ------------------------*/

static json_t *column_json(const column *c)
{
    json_t *object = json_object(), *levels = NULL;

    if (c->name)
        json_object_set_new(object, "name", json_string(c->name));
    json_object_set_new(object, "kind", json_string(kind_names[c->kind]));
    if (c->kind == WM_KIND_CATEGORICAL) {
        levels = json_array();
        for (int64_t i = 0; i < c->n_levels; i++)
            if (json_array_append_new(levels, json_string(c->levels[i].text))) {
                json_decref(levels);
                levels = NULL;
                break;
            }
        if (json_object_set_new(object, "levels", levels)) {
            json_decref(object);
            return NULL;
        }
    }
    return object;
}

wm_status wm_schema_write(const wm_schema *s, char **out, wm_error *err)
{
    json_t *root = json_object(), *columns = json_array();
    wm_status st = WM_OK;
    char *text = NULL;

    *out = NULL;
    for (int64_t j = 0; j < s->dim && !st; j++)
        if (json_array_append_new(columns, column_json(&s->columns[j])))
            st = wmi_fail(err, WM_ENOMEM, "schema: no memory for column %" PRId64, j + 1);
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

static wm_status parse_levels(wm_schema *s, int64_t j, const json_t *levels, wm_error *err)
{
    const size_t n = json_array_size(levels);
    wm_status st;

    if (!json_is_array(levels) || n > INT32_MAX / 4)
        return wmi_fail(err, WM_EFORMAT, "schema: column %" PRId64 " has no list of levels", j + 1);
    for (size_t i = 0; i < n; i++) {
        const char *text = json_string_value(json_array_get(levels, i));

        if (!text || wmi_schema_level_find(s, j, text) >= 0)
            return wmi_fail(err, WM_EFORMAT,
                            "schema: column %" PRId64 ": level %zu is no text, or there twice",
                            j + 1, i + 1);
        if ((st = add_level(s, j, text, err)))
            return st;
    }
    return WM_OK;
}

static wm_status parse_column(wm_schema *s, int64_t j, const json_t *object, wm_error *err)
{
    const json_t *name = json_object_get(object, "name");
    const char *kind = json_string_value(json_object_get(object, "kind"));
    int k = 0;

    while (k <= WM_KIND_CATEGORICAL && kind && strcmp(kind, kind_names[k]) != 0)
        k++;
    if (!kind || k > WM_KIND_CATEGORICAL)
        return wmi_fail(err, WM_EFORMAT,
                        "schema: column %" PRId64 ": kind '%.40s', expected continuous, integer or "
                        "categorical",
                        j + 1, kind ? kind : "");
    if (name && !json_is_string(name))
        return wmi_fail(err, WM_EFORMAT, "schema: column %" PRId64 ": its name is no text", j + 1);
    s->columns[j].kind = (wm_kind)k;
    s->columns[j].told = true;
    if (name && json_string_length(name) &&
        !(s->columns[j].name =
              copy_text(s, json_string_value(name), json_string_length(name), err)))
        return WM_ENOMEM;
    return k == WM_KIND_CATEGORICAL ? parse_levels(s, j, json_object_get(object, "levels"), err)
                                    : WM_OK;
}

wm_status wm_schema_parse(wm_schema **out, const char *text, wm_error *err)
{
    json_error_t why;
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &why);
    const json_t *columns = json_object_get(root, "columns");
    const size_t dim = json_array_size(columns);
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
        (st = wmi_alloc(&s->columns, (int64_t)dim, sizeof *s->columns, "columns", err)))
        goto done;
    s->dim = (int64_t)dim;
    for (int64_t j = 0; j < s->dim; j++)
        if ((st = parse_column(s, j, json_array_get(columns, (size_t)j), err)))
            goto done;
    s->fixed = true;
    *out = s;
    s = NULL;
done:
    wm_schema_free(s);
    json_decref(root);
    return st;
}
