/* column_list.c - lists of columns in a user's words. */
#include "data/table/column_list.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

typedef struct entry {
    const char *at; /* without spaces around it */
    size_t n;
} entry;

typedef struct caller {
    wm_status (*f)(void *ctx, int64_t column, wm_error *err);
    void *ctx;
} caller;

static const char *name_of(const wmi_listed *of, int64_t j)
{
    return of->name ? of->name[j] : NULL;
}

static int64_t number_of(const wmi_listed *of, int64_t j)
{
    return of->number ? of->number[j] : j + 1;
}

/* The entry that begins at p; what follows it is at p + *skip. */
static entry next_entry(const char *p, size_t *skip)
{
    entry e = {p, strcspn(p, ",")};

    *skip = e.n;
    while (e.n && *e.at == ' ')
        e.at++, e.n--;
    while (e.n && e.at[e.n - 1] == ' ')
        e.n--;
    return e;
}

/* Whole numbers from 1, or 0 if it is none. */
static int64_t parse_number(const char *text, size_t n)
{
    int64_t number = 0;

    for (size_t i = 0; i < n; i++) {
        if (text[i] < '0' || text[i] > '9' || number > INT64_MAX / 10 - 1)
            return 0;
        number = 10 * number + (text[i] - '0');
    }
    return number;
}

/* "5", "2-5". */
static bool parse_range(entry e, int64_t *lo, int64_t *hi)
{
    const char *dash = memchr(e.at, '-', e.n);
    const size_t head = dash ? (size_t)(dash - e.at) : e.n;

    *lo = parse_number(e.at, head);
    *hi = dash ? parse_number(dash + 1, e.n - head - 1) : *lo;
    return *lo >= 1 && *hi >= *lo;
}

static wm_status each_named(const wmi_listed *of, entry e, const caller *c, int64_t *found,
                            wm_error *err)
{
    char cut[WMI_TEXT_CUT];
    int64_t first = -1;

    for (int64_t j = 0; j < of->n; j++) {
        const char *name = name_of(of, j);

        if (!name || strlen(name) != e.n || memcmp(name, e.at, e.n) != 0)
            continue;
        if (first >= 0)
            return wmi_fail(err, WM_EINVAL,
                            "columns %" PRId64 " and %" PRId64
                            " are both called '%s': give the number",
                            number_of(of, first), number_of(of, j), wmi_text_cut(cut, e.at, e.n));
        first = j;
    }
    *found = first >= 0;
    return first >= 0 ? c->f(c->ctx, first, err) : WM_OK;
}

/* The whole of a range must be there: 2-50 of ten columns is a mistake. */
static wm_status each_numbered(const wmi_listed *of, entry e, const caller *c, int64_t *found,
                               wm_error *err)
{
    wm_status st = WM_OK;
    int64_t lo, hi;

    *found = 0;
    if (!parse_range(e, &lo, &hi) || of->n == 0 || hi > number_of(of, of->n - 1))
        return WM_OK;
    for (int64_t j = 0; j < of->n && !st; j++)
        if (number_of(of, j) >= lo && number_of(of, j) <= hi) {
            ++*found;
            st = c->f(c->ctx, j, err);
        }
    return st;
}

static wm_status each_like(const wmi_listed *of, entry e, const caller *c, int64_t *found,
                           wm_error *err)
{
    char pattern[256];
    wm_status st = WM_OK;

    *found = 0;
    if (e.n >= sizeof pattern)
        return WM_OK;
    memcpy(pattern, e.at, e.n);
    pattern[e.n] = '\0';
    if (!strpbrk(pattern, "*?["))
        return WM_OK;
    for (int64_t j = 0; j < of->n && !st; j++)
        if (name_of(of, j) && fnmatch(pattern, name_of(of, j), 0) == 0) {
            ++*found;
            st = c->f(c->ctx, j, err);
        }
    return st;
}

/* Some of the names there are, for a message. */
static const char *some_names(const wmi_listed *of, char *buf, size_t size)
{
    size_t at = 0;

    *buf = '\0';
    for (int64_t j = 0; j < of->n; j++) {
        const char *name = name_of(of, j);

        if (!name)
            continue;
        if (at + strlen(name) + 8 > size) {
            snprintf(buf + at, size - at, "%s...", at ? ", " : "");
            break;
        }
        at += (size_t)snprintf(buf + at, size - at, "%s%s", at ? ", " : "", name);
    }
    return buf;
}

static wm_status refuse_entry(const wmi_listed *of, entry e, wm_error *err)
{
    const int64_t last = of->n ? number_of(of, of->n - 1) : 0;
    char cut[WMI_TEXT_CUT], names[80];

    some_names(of, names, sizeof names);
    return wmi_fail(err, WM_EINVAL,
                    "'%s' is no column: give names, or numbers from 1 to %" PRId64
                    ", separated by commas%s%s%s",
                    wmi_text_cut(cut, e.at, e.n), last, *names ? " (there are " : "", names,
                    *names ? ")" : "");
}

wm_status wmi_list_each(const wmi_listed *of, const char *list, const char **unknown,
                        wm_status (*f)(void *ctx, int64_t column, wm_error *err), void *ctx,
                        wm_error *err)
{
    const caller c = {f, ctx};
    wm_status st = WM_OK;

    if (unknown)
        *unknown = NULL;
    if (strcmp(list, "all") == 0) {
        for (int64_t j = 0; j < of->n && !st; j++)
            st = f(ctx, j, err);
        return st;
    }
    for (const char *p = list; !st; p++) {
        int64_t found = 0;
        size_t skip;
        const entry e = next_entry(p, &skip);

        if ((st = each_named(of, e, &c, &found, err)) ||
            (!found && (st = each_numbered(of, e, &c, &found, err))) ||
            (!found && (st = each_like(of, e, &c, &found, err))))
            return st;
        if (!found && !unknown)
            return refuse_entry(of, e, err);
        if (!found && !*unknown)
            *unknown = e.at;
        p += skip;
        if (!*p)
            break;
    }
    return st;
}
