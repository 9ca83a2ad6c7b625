/* select.c - columns by list, by name and by place. */
#include "data/table/select.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "data/table/column_list.h"
#include "waymark/sink.h"

void wmi_selection_free(wmi_selection *s)
{
    wmi_free(s->from);
    *s = (wmi_selection){0};
}

static const char *name_of(const wmi_choice *c, int64_t column)
{
    const char *name = c->names ? c->names[column] : NULL;

    return name && *name ? name : NULL;
}

/* --- lists -------------------------------------------------------------------------------------*/

typedef struct marks {
    wmi_selection *s; /* takes columns in the list's order, or NULL */
    bool *seen;       /* (width) */
} marks;

static wm_status mark(void *ctx, int64_t column, wm_error *err)
{
    const marks *m = (const marks *)ctx;

    (void)err;
    if (m->s && !m->seen[column])
        m->s->from[m->s->dim++] = column;
    m->seen[column] = true;
    return WM_OK;
}

/* What --columns and --drop leave of the file. */
static wm_status by_lists(wmi_selection *s, const wmi_choice *c, wm_error *err)
{
    const wmi_listed of = {c->width, c->names, NULL};
    marks m = {.s = NULL};
    const char *unknown;
    char cut[WMI_TEXT_CUT];
    wm_status st;

    if ((st = wmi_alloc(&s->from, c->width, sizeof *s->from, "columns", err)) ||
        (st = wmi_alloc(&m.seen, c->width, sizeof *m.seen, "columns", err)))
        return st;
    if (c->columns) {
        m.s = s;
        st = wmi_list_each(&of, c->columns, NULL, mark, &m, err);
    } else {
        for (int64_t j = 0; j < c->width; j++)
            s->from[s->dim++] = j;
    }
    if (!st && c->drop) {
        int64_t kept = 0;

        memset(m.seen, 0, (size_t)c->width * sizeof *m.seen);
        m.s = NULL;
        st = wmi_list_each(&of, c->drop, &unknown, mark, &m, err);
        for (int64_t j = 0; j < s->dim; j++)
            if (!m.seen[s->from[j]])
                s->from[kept++] = s->from[j];
        s->dim = kept;
        if (!st && unknown && !c->known)
            wm_say(c->sink, WM_LOG_WARN, "%s: '%s', which is to be dropped, is not a column of it",
                   wmi_text_tail(c->label), wmi_text_cut(cut, unknown, strcspn(unknown, ",")));
    }
    wmi_free(m.seen);
    if (!st && s->dim == 0)
        st = wmi_fail(err, WM_EINVAL, "%s: no column is left to read", wmi_text_tail(c->label));
    return st;
}

/* --- names -------------------------------------------------------------------------------------*/

static bool all_named(const wm_schema *s)
{
    for (int64_t j = 0; j < wm_schema_dim(s); j++)
        if (!wm_schema_name(s, j))
            return false;
    return true;
}

/* The columns in their places, as far as names tell. */
static bool agrees(const wmi_selection *s, const wmi_choice *c)
{
    if (s->dim != wm_schema_dim(c->known))
        return false;
    for (int64_t j = 0; j < s->dim; j++) {
        const char *theirs = name_of(c, s->from[j]), *ours = wm_schema_name(c->known, j);

        if (theirs && ours && strcmp(theirs, ours) != 0)
            return false;
    }
    return true;
}

/* The place of a name among those that the lists leave; -1: absent; -2: there twice. */
static int64_t find_name(const wmi_selection *s, const wmi_choice *c, const char *name)
{
    int64_t found = -1;

    for (int64_t i = 0; i < s->dim; i++) {
        const char *theirs = name_of(c, s->from[i]);

        if (theirs && strcmp(theirs, name) == 0)
            found = found == -1 ? s->from[i] : -2;
    }
    return found;
}

/* Names of columns of the file that the schema does not have, one after the other; how many. */
static int64_t list_others(const wmi_selection *s, const wmi_choice *c, char *buf, size_t size)
{
    bool cut = false;
    int64_t n = 0;
    size_t at = 0;

    *buf = '\0';
    for (int64_t i = 0; i < s->dim; i++) {
        const char *name = name_of(c, s->from[i]);
        bool ours = !name;

        for (int64_t j = 0; j < wm_schema_dim(c->known) && !ours; j++)
            ours = strcmp(wm_schema_name(c->known, j), name) == 0;
        if (ours)
            continue;
        n++;
        if (!cut && at + strlen(name) + 12 < size)
            at += (size_t)snprintf(buf + at, size - at, "%s'%s'", at ? ", " : "", name);
        else
            cut = true;
    }
    if (cut)
        snprintf(buf + at, size - at, "%s...", at ? ", " : "");
    return n;
}

static wm_status refuse_absent(const wmi_selection *s, const wmi_choice *c, const char *name,
                               int64_t found, wm_error *err)
{
    const bool model = wmi_schema_fixed(c->known);
    char cut[WMI_TEXT_CUT], others[80];

    wmi_text_cut(cut, name, strlen(name));
    if (found == -2)
        return wmi_about(wmi_fail(err, WM_EINVAL,
                                  "%s: two columns are called '%s': rename one, or drop it by its "
                                  "number",
                                  wmi_text_tail(c->label), cut),
                         err, "drop");
    list_others(s, c, others, sizeof others);
    return wmi_about(wmi_fail(err, s->dim < wm_schema_dim(c->known) ? WM_ESHAPE : WM_EINVAL,
                              "%s: has no column '%s', which %s%s%s", wmi_text_tail(c->label), cut,
                              model ? "the model was fitted on" : "the earlier table has: drop it",
                              *others ? "; it has " : "", others),
                     err, model ? NULL : "drop");
}

static wm_status by_name(wmi_selection *s, const wmi_choice *c, wm_error *err)
{
    const int64_t dim = wm_schema_dim(c->known);
    int64_t *from = NULL, common = 0;
    char others[120];
    wm_status st = wmi_alloc(&from, dim, sizeof *from, "columns", err);

    for (int64_t j = 0; j < dim && !st; j++) {
        const char *name = wm_schema_name(c->known, j);

        from[j] = find_name(s, c, name);
        common += from[j] >= 0;
        if (from[j] == -2 || (from[j] < 0 && (!c->lenient || c->columns)))
            st = refuse_absent(s, c, name, from[j], err);
    }
    if (!st && common == 0)
        st = wmi_about(wmi_fail(err, WM_EINVAL,
                                "%s: no column of it is called as in the earlier table ('%.40s', "
                                "...): has its first line names?",
                                wmi_text_tail(c->label), wm_schema_name(c->known, 0)),
                       err, "header");
    if (st) {
        wmi_free(from);
        return st;
    }
    for (int64_t j = 0; j < dim; j++)
        if (from[j] < 0)
            wm_say(c->sink, WM_LOG_WARN,
                   "%s: has no column '%s', which the earlier table has: left out of both",
                   wmi_text_tail(c->label), wm_schema_name(c->known, j));
    if (!wmi_schema_fixed(c->known) && list_others(s, c, others, sizeof others))
        wm_say(c->sink, WM_LOG_WARN, "%s: left out, as the earlier table does not have them: %s",
               wmi_text_tail(c->label), others);
    wmi_free(s->from);
    s->from = from;
    s->dim = dim;
    return WM_OK;
}

/* --- places ------------------------------------------------------------------------------------*/

static wm_status by_place(wmi_selection *s, const wmi_choice *c, wm_error *err)
{
    const int64_t dim = wm_schema_dim(c->known);
    wm_status st;

    if (s->dim == dim)
        return wmi_schema_check(c->known, c->label, dim, NULL, err);
    if (c->columns || c->drop || c->width != wmi_schema_width(c->known))
        return wmi_schema_check(c->known, c->label, s->dim, NULL, err);
    wmi_free(s->from); /* the file has all the columns that the first one had */
    if ((st = wmi_alloc(&s->from, dim, sizeof *s->from, "columns", err)))
        return st;
    for (int64_t j = 0; j < dim; j++)
        s->from[j] = wmi_schema_number(c->known, j) - 1;
    s->dim = dim;
    return WM_OK;
}

wm_status wmi_select(wmi_selection *out, const wmi_choice *c, wm_error *err)
{
    wm_status st;

    *out = (wmi_selection){0};
    if (!(st = by_lists(out, c, err)) && c->known && !agrees(out, c))
        st = c->names && all_named(c->known) ? by_name(out, c, err) : by_place(out, c, err);
    if (st) {
        wmi_selection_free(out);
        return st;
    }
    out->whole = out->dim == c->width;
    for (int64_t j = 0; j < out->dim && out->whole; j++)
        out->whole = out->from[j] == j;
    return WM_OK;
}
