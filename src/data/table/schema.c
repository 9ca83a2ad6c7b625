/* schema.c - names, kinds and levels of columns.
 *
 * Texts live in an arena and are never removed. Levels are found by a hash table per column: they
 * are looked up once for each field of a categorical column. */
#include "data/table/schema.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/utf8.h"
#include "data/table/column_list.h"

typedef struct level {
    const char *text; /* in the arena */
    size_t n;
} level;

typedef struct column {
    const char *name; /* in the arena, or NULL */
    wm_kind kind;
    bool told;      /* somebody has set the kind */
    bool idle;      /* to be left out */
    int64_t number; /* from 1, in the first table's file */
    wmi_written written;
    level *levels;
    int64_t n_levels, room;
    int32_t *slots; /* (n_slots) a power of two; 0 is free, else the number of a level, from 1 */
    int64_t n_slots;
} column;

struct wm_schema {
    wmi_arena arena;
    column *columns;
    int64_t dim;
    int64_t width; /* columns of the first table's file, of which these are some */
    bool fixed;
};

static const char *const kind_names[] = {
    [WM_KIND_CONTINUOUS] = "continuous",
    [WM_KIND_INTEGER] = "integer",
    [WM_KIND_CATEGORICAL] = "categorical",
};

int wmi_kind_called(const char *name)
{
    for (int k = 0; k <= WM_KIND_CATEGORICAL; k++)
        if (strcmp(name, kind_names[k]) == 0)
            return k;
    return -1;
}

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
    WMI_NEED(err, out);
    return wmi_alloc(out, 1, sizeof **out, "schema", err);
}

static void free_column(column *c)
{
    wmi_free(c->levels);
    wmi_free(c->slots);
}

void wm_schema_free(wm_schema *s)
{
    if (!s)
        return;
    for (int64_t j = 0; j < s->dim; j++)
        free_column(&s->columns[j]);
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
        snprintf(buf, size, "column %" PRId64 " ('%s')", wmi_schema_number(s, j),
                 wmi_text_cut(cut, name, strlen(name)));
    else
        snprintf(buf, size, "column %" PRId64, wmi_schema_number(s, j));
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

void wmi_schema_fix(wm_schema *s)
{
    s->fixed = true;
}

int64_t wmi_schema_number(const wm_schema *s, int64_t j)
{
    return j >= 0 && j < s->dim ? s->columns[j].number : j + 1;
}

int64_t wmi_schema_width(const wm_schema *s)
{
    return s->width;
}

void wmi_schema_place(wm_schema *s, const int64_t *from, int64_t width)
{
    s->width = width;
    for (int64_t j = 0; j < s->dim; j++)
        s->columns[j].number = from[j] + 1;
}

const wmi_written *wmi_schema_written(const wm_schema *s, int64_t j)
{
    return &s->columns[j].written;
}

void wmi_schema_set_written(wm_schema *s, int64_t j, const wmi_written *w)
{
    if (!s->fixed)
        s->columns[j].written = *w;
}

bool wmi_schema_idle(const wm_schema *s, int64_t j)
{
    return s->columns[j].idle;
}

void wmi_schema_set_idle(wm_schema *s, int64_t j)
{
    s->columns[j].idle = true;
}

void wmi_schema_drop_idle(wm_schema *s)
{
    int64_t kept = 0;

    for (int64_t j = 0; j < s->dim; j++)
        if (s->columns[j].idle)
            free_column(&s->columns[j]);
        else
            s->columns[kept++] = s->columns[j];
    s->dim = kept;
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
        s->dim = s->width = dim;
        for (int64_t j = 0; j < dim; j++)
            s->columns[j].number = j + 1;
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
        return wmi_about(wmi_fail(err, WM_EINVAL,
                                  "%s: %s is %s, in the earlier table it is %s: declare what it is",
                                  wmi_text_tail(label), wm_schema_describe(s, j, what, sizeof what),
                                  kind_names[kind], kind_names[c->kind]),
                         err, "categorical");
    if (c->kind != kind)
        c->kind = WM_KIND_CONTINUOUS;
    return WM_OK;
}

/* --- levels ------------------------------------------------------------------------------------*/

uint64_t wmi_text_hash(const char *text, size_t n)
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
    int64_t at = (int64_t)(wmi_text_hash(text, n) & (uint64_t)mask);

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

wm_status wmi_schema_each(const wm_schema *s, const char *list,
                          wm_status (*f)(void *ctx, int64_t column, wm_error *err), void *ctx,
                          wm_error *err)
{
    const char **names = NULL;
    int64_t *numbers = NULL;
    wm_status st;

    if (!(st = wmi_alloc(&names, s->dim, sizeof(const char *), "names", err)) &&
        !(st = wmi_alloc(&numbers, s->dim, sizeof *numbers, "columns", err))) {
        for (int64_t j = 0; j < s->dim; j++) {
            names[j] = s->columns[j].name;
            numbers[j] = s->columns[j].number;
        }
        st = wmi_list_each(&(wmi_listed){s->dim, names, numbers}, list, NULL, f, ctx, err);
    }
    wmi_free(names);
    wmi_free(numbers);
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
