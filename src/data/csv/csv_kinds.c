/* csv_kinds.c - a look at all values before they are read.
 *
 * A column of numbers is continuous, or integer if none is written with a point; dates are
 * continuous; a column with text is categorical. Numbers with a little text among them are more
 * likely a typing error, or a mark for missing values that we do not know, than a category: that is
 * refused, with the place, and
 * --categorical overrules it. Levels are numbered in sorted order, so that the coding does not
 * depend on the order of the rows; those of a later table follow. */
#include "data/csv/csv_kinds.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "data/csv/csv_index.h"
#include "data/csv/csv_script.h"
#include "data/table/number.h"
#include "data/table/schema.h"
#include "waymark/sink.h"

enum {
    TYPO_SHARE = 100, /* text in less than 1 of 100 values is taken for a mistake */
    LONE_AMONG = 10,  /* and so is a single text among 10 numbers or more */
};

/* A value that is worth a word. */
typedef struct example {
    int64_t line; /* 0: none yet */
    bool comma;   /* a number with commas in it */
    char text[WMI_TEXT_CUT];
} example;

/* Values of one column. */
typedef struct tally {
    int64_t n[WMI_CSV_TEXT + 1]; /* by wmi_csv_value, as plain ones */
    example text, fraction;      /* the first of each */
    wmi_csv_script script;
    int family; /* of yes and no */
} tally;

typedef struct look {
    wmi_csv_table *t;
    const wmi_source_file *file;
    tally *tallies;          /* (dim) */
    int *forced;             /* (dim) a wm_kind, or -1 */
    wmi_csv_column *columns; /* (dim) */
    wmi_csv_decimals decimals;
    wmi_csv_index index;
    int64_t dim;
    bool earlier;   /* the schema knows these columns already */
    bool may_leave; /* columns out, that nobody asked for */
} look;

/* --- messages ----------------------------------------------------------------------------------*/

static void take_example(example *e, const wmi_csv_table *t, const wmi_csv_field *f)
{
    e->line = t->line;
    e->comma = wmi_csv_comma_number(f);
    wmi_text_cut(e->text, f->at, f->n);
}

static wm_status refuse_comma(const wmi_csv_table *t, int64_t j, const example *e, wm_error *err)
{
    char place[WMI_CSV_PLACE];

    return wmi_about(wmi_fail(err, WM_EFORMAT,
                              "%s: '%s' has a decimal comma, or commas between thousands, unlike "
                              "other values of the column",
                              wmi_csv_place(t, e->line, j, place), e->text),
                     err, "decimal");
}

static wm_status refuse_text(const wmi_csv_table *t, int64_t j, const example *e, const char *why,
                             wm_error *err)
{
    char place[WMI_CSV_PLACE];

    if (e->comma)
        return refuse_comma(t, j, e, err);
    return wmi_fail(err, WM_EINVAL, "%s: '%s' is not a number%s",
                    wmi_csv_place(t, e->line, j, place), e->text, why);
}

wm_status wmi_csv_not_a_number(const wmi_csv_table *t, int64_t j, wm_error *err)
{
    example e;

    take_example(&e, t, &t->row[j]);
    return refuse_text(t, j, &e, t->known ? ", which this column was before" : "", err);
}

wm_status wmi_csv_not_a_level(const wmi_csv_table *t, const wm_schema *s, int64_t j, wm_error *err)
{
    char place[WMI_CSV_PLACE], cut[WMI_TEXT_CUT], known[64] = "";
    size_t n = 0;

    for (int64_t i = 0; i < wm_schema_levels(s, j); i++) {
        const char *text = wm_schema_level(s, j, i);

        if (n + strlen(text) + 6 > sizeof known) {
            snprintf(known + n, sizeof known - n, ", ...");
            break;
        }
        n += (size_t)snprintf(known + n, sizeof known - n, "%s%s", i ? ", " : "", text);
    }
    return wmi_fail(err, WM_EINVAL, "%s: '%s' is no level of this column (it has %s)",
                    wmi_csv_place(t, t->line, j, place),
                    wmi_text_cut(cut, t->row[j].at, t->row[j].n), known);
}

/* --- first pass: kinds -------------------------------------------------------------------------*/

static wm_status tally_all(look *l, int64_t *count, wm_error *err)
{
    wmi_csv_table *t = l->t;
    bool got = true;
    wm_status st;

    for (int64_t j = 0; j < l->dim; j++)
        wmi_csv_script_start(&l->tallies[j].script, l->file);
    while (!(st = wmi_csv_table_next(t, &got, err)) && got) {
        for (int64_t j = 0; j < l->dim; j++) {
            tally *c = &l->tallies[j];
            double x = 0;
            const wmi_csv_value v = wmi_csv_read(&t->row[j], &x);

            c->n[v]++;
            wmi_csv_script_see(&c->script, &t->row[j], v);
            if (j == 0 && l->index.may && (st = wmi_csv_index_see(&l->index, &t->row[0], v, err)))
                return st;
            if (v == WMI_CSV_TEXT && !c->text.line)
                take_example(&c->text, t, &t->row[j]);
            if (v == WMI_CSV_REAL && !c->fraction.line && x != floor(x))
                take_example(&c->fraction, t, &t->row[j]);
        }
    }
    *count = t->count;
    return st;
}

/* Text where the user, or an earlier table, says that there are numbers. */
static wm_status check_numbers(const look *l, int64_t j, wm_error *err)
{
    const tally *c = &l->tallies[j];
    char place[WMI_CSV_PLACE];

    if (c->text.line) {
        const bool free = l->forced[j] < 0 && !wmi_schema_fixed(l->file->schema);

        return wmi_about(
            refuse_text(l->t, j, &c->text,
                        free ? ", which this column was before: declare it categorical for both"
                        : l->forced[j] >= 0 ? ": drop the column if it is not needed"
                                            : ", which this column was before",
                        err),
            err,
            free                ? "categorical"
            : l->forced[j] >= 0 ? "drop"
                                : NULL);
    }
    if (l->forced[j] == WM_KIND_INTEGER && c->fraction.line)
        return wmi_fail(err, WM_EINVAL, "%s: '%s' is not a whole number",
                        wmi_csv_place(l->t, c->fraction.line, j, place), c->fraction.text);
    return WM_OK;
}

/* The only text of a column, in a first line that might be a header but has numbers too. */
static bool is_damaged_first(const look *l, const tally *c)
{
    return c->n[WMI_CSV_TEXT] == 1 && c->text.line == l->t->first_line && l->t->shape.doubtful &&
           !l->t->shape.header;
}

/* Numbers and text in one column: a category, or a mistake? */
static wm_status check_mixture(const look *l, int64_t j, wm_error *err)
{
    const tally *c = &l->tallies[j];
    const int64_t text = c->n[WMI_CSV_TEXT], numbers = c->n[WMI_CSV_WHOLE] + c->n[WMI_CSV_REAL];
    const bool first = is_damaged_first(l, c);
    char why[200];

    if (c->text.comma)
        return refuse_comma(l->t, j, &c->text, err);
    if (!(text * TYPO_SHARE < text + numbers || (text == 1 && numbers >= LONE_AMONG) ||
          (c->fraction.line && numbers > text) || first))
        return WM_OK;
    snprintf(why, sizeof why,
             ", but %" PRId64 " of %" PRId64
             " values are: correct it, write NA if it is missing, or declare %s",
             numbers, text + numbers,
             first ? "that the first line has names" : "the column categorical");
    return wmi_about(refuse_text(l->t, j, &c->text, why, err), err,
                     first ? "header" : "categorical");
}

/* What a column of yes and no becomes a number for. */
static bool is_numeric(wmi_notation script, int forced)
{
    return script == WMI_YES_NO ? forced == WM_KIND_CONTINUOUS || forced == WM_KIND_INTEGER
                                : script != WMI_PLAIN;
}

/* Finds how a column is written; that of a fixed schema stands. */
static wmi_written find_script(look *l, int64_t j)
{
    const wm_schema *s = l->file->schema;
    const bool names =
        l->forced[j] == WM_KIND_CATEGORICAL ||
        (l->forced[j] < 0 && l->earlier && wm_schema_kind(s, j) == WM_KIND_CATEGORICAL);
    const wmi_written *before = l->earlier ? wmi_schema_written(s, j) : NULL;
    tally *c = &l->tallies[j];
    const char *unsure;
    wmi_written w;

    if (before && wmi_schema_fixed(s)) /* a fixed schema has columns */
        return *before;
    w = wmi_csv_script_settle(&c->script, &l->decimals, before, &c->family, &unsure);
    if (names && w.script != WMI_YES_NO)
        return before ? *before : (wmi_written){.script = WMI_PLAIN};
    l->columns[j].unsure = unsure;
    return w;
}

/* An earlier table's column may have been plain, or less dressed. */
static void keep_script(wm_schema *s, int64_t j, bool earlier, const wmi_written *w)
{
    wmi_written both = *wmi_schema_written(s, j);

    if (!earlier || both.script == WMI_PLAIN)
        wmi_schema_set_written(s, j, w);
    else if (both.script == WMI_DRESSED && w->script == WMI_DRESSED && both.decimal == w->decimal &&
             wmi_written_merge(&both, w))
        wmi_schema_set_written(s, j, &both);
}

/* A column that is written as numbers in some other way than plainly. */
static wm_status decide_written(look *l, int64_t j, const wmi_written *w, wm_kind *kind,
                                wm_error *err)
{
    const tally *c = &l->tallies[j];
    const bool real =
        w->script == WMI_DRESSED ? c->script.real[w->decimal == ','] : w->script != WMI_YES_NO;
    char place[WMI_CSV_PLACE];

    if (l->forced[j] == WM_KIND_INTEGER && real)
        return wmi_fail(err, WM_EINVAL, "%s: '%s' is not a whole number",
                        wmi_csv_place(l->t, c->text.line, j, place), c->text.text);
    if (l->forced[j] < 0 && !real)
        *kind = WM_KIND_INTEGER;
    return WM_OK;
}

static wm_status decide(look *l, int64_t j, wm_error *err)
{
    const tally *c = &l->tallies[j];
    wm_schema *s = l->file->schema;
    const bool was_level = l->earlier && wm_schema_kind(s, j) == WM_KIND_CATEGORICAL;
    const wmi_written w = find_script(l, j);
    int as = l->forced[j];
    wm_kind kind = as >= 0 ? (wm_kind)as : WM_KIND_CONTINUOUS;
    wm_status st = WM_OK;

    if (as < 0 && l->earlier && !was_level)
        as = WM_KIND_CONTINUOUS; /* of yes and no: the numbers that it was before */
    if (l->forced[j] < 0 && was_level) {
        kind = WM_KIND_CATEGORICAL;
    } else if (kind != WM_KIND_CATEGORICAL && is_numeric(w.script, as)) {
        st = decide_written(l, j, &w, &kind, err);
    } else if (l->forced[j] < 0 && !l->earlier && c->n[WMI_CSV_TEXT]) {
        st = w.script == WMI_YES_NO ? WM_OK : check_mixture(l, j, err);
        kind = WM_KIND_CATEGORICAL;
    } else if (kind != WM_KIND_CATEGORICAL) {
        st = check_numbers(l, j, err);
        if (l->forced[j] < 0 && c->n[WMI_CSV_WHOLE] && !c->n[WMI_CSV_REAL])
            kind = WM_KIND_INTEGER;
    }
    l->columns[j].written = w;
    l->columns[j].categorical = kind == WM_KIND_CATEGORICAL;
    if (st || (st = wmi_schema_set_kind(s, l->file->path, j, kind, err)))
        return st;
    keep_script(s, j, l->earlier, &w);
    return WM_OK;
}

/* One word for all columns that are written in one way. */
static void say_scripts(const look *l)
{
    char place[WMI_CSV_PLACE], text[160], other[160], more[48];

    for (int64_t j = 0; j < l->dim; j++) {
        const wmi_csv_column *c = &l->columns[j];
        bool said = c->idle || c->categorical || c->written.script == WMI_PLAIN;
        int64_t others = 0;

        wmi_written_text(&c->written, text, sizeof text);
        for (int64_t k = 0; k < l->dim && !said; k++)
            if (k != j && !l->columns[k].idle && l->columns[k].unsure == c->unsure &&
                strcmp(wmi_written_text(&l->columns[k].written, other, sizeof other), text) == 0) {
                said = k < j;
                others++;
            }
        if (said)
            continue;
        snprintf(more, sizeof more, others ? " and %" PRId64 " more" : "", others);
        wm_say(l->file->sink, c->unsure ? WM_LOG_WARN : WM_LOG_INFO, "%s%s: %s%s%s",
               wmi_csv_place(l->t,
                             l->tallies[j].text.line ? l->tallies[j].text.line : l->t->first_line,
                             j, place),
               more, text, c->unsure ? "; " : "", c->unsure ? c->unsure : "");
    }
}

/* --- columns that are left out -----------------------------------------------------------------*/

static bool has_values(const tally *c)
{
    return c->n[WMI_CSV_WHOLE] + c->n[WMI_CSV_REAL] + c->n[WMI_CSV_TEXT] > 0;
}

static bool is_all(const char *list)
{
    return list && strcmp(list, "all") == 0;
}

/* Unless they were asked for: an index; and, where later tables may leave out columns too, those
 * without any value. */
static void find_idle(look *l)
{
    const wmi_source_file *file = l->file;
    const bool may = !file->columns && !wmi_schema_fixed(file->schema);
    const bool lists = !is_all(file->continuous) && !is_all(file->integer) &&
                       !is_all(file->categorical); /* "all" names no column in particular */
    char what[96];

    l->may_leave = may && (!l->earlier || file->lenient);
    for (int64_t j = 0; j < l->dim; j++) {
        const bool absent = l->t->pick.from[j] < 0, listed = lists && l->forced[j] >= 0;
        const bool index = j == 0 && l->index.may && wmi_csv_index_found(&l->index);
        const bool empty = !has_values(&l->tallies[j]) && (!l->earlier || file->lenient);

        l->columns[j].idle =
            absent || wmi_schema_idle(file->schema, j) || (may && !listed && (index || empty));
        if (!l->columns[j].idle)
            continue;
        if (!wmi_schema_idle(file->schema, j) && !absent)
            wm_say(file->sink, index ? WM_LOG_INFO : WM_LOG_WARN, "%s: %s %s: left out",
                   wmi_text_tail(file->path),
                   wm_schema_describe(file->schema, j, what, sizeof what),
                   index ? "has no name and tells rows apart" : "has no value at all");
        wmi_schema_set_idle(file->schema, j);
    }
}

/* --- second pass: levels -----------------------------------------------------------------------*/

int64_t wmi_csv_level(const wm_schema *s, int64_t j, const wmi_csv_field *f)
{
    const wmi_written *w = wmi_schema_written(s, j);
    char text[WMI_CSV_MAX_TEXT + 1], shortest[WMI_NUMBER_TEXT];
    int64_t number = -1;
    double x;
    size_t n;

    if (w->script == WMI_YES_NO && wmi_csv_read_as(f, w, &x) == WMI_CSV_WHOLE && (x == 0 || x == 1))
        return (int64_t)x;

    if (!f->doubled)
        number = wmi_schema_level_find_n(s, j, f->at, f->n);
    else if (wmi_csv_text(f, text, &n))
        number = wmi_schema_level_find_n(s, j, text, n);
    if (number < 0 && wmi_csv_read(f, &x) != WMI_CSV_TEXT)
        number = wmi_schema_level_find(s, j, wmi_number_text(x, shortest));
    return number;
}

/* The level's text of a field: as it stands, or, in a column of numbers only, in shortest form. */
static wm_status level_text(const look *l, int64_t j, char buf[WMI_CSV_MAX_TEXT + 1], wm_error *err)
{
    const wmi_csv_field *f = &l->t->row[j];
    char place[WMI_CSV_PLACE];
    size_t n = 0;
    double x;

    if (!l->tallies[j].n[WMI_CSV_TEXT] && wmi_csv_read(f, &x) != WMI_CSV_TEXT) {
        wmi_number_text(x, buf);
        return WM_OK;
    }
    if (!wmi_csv_text(f, buf, &n))
        return wmi_fail(err, WM_EINVAL,
                        "%s: a text of %u bytes is too long for a level: leave the column out",
                        wmi_csv_place(l->t, l->t->line, j, place), (unsigned)f->n);
    return WM_OK;
}

/* A column of names, or of free text, says nothing by its levels: it is left out where that is
 * allowed and nobody asked for it. */
static bool leave_out(const look *l, int64_t j, const char *why)
{
    char what[96];

    if (!l->may_leave || l->forced[j] >= 0)
        return false;
    l->columns[j].idle = true;
    l->columns[j].categorical = false;
    wmi_schema_set_idle(l->file->schema, j);
    wm_say(l->file->sink, WM_LOG_WARN, "%s: %s has %s, as an identifier or free text has: left out",
           wmi_text_tail(l->file->path), wm_schema_describe(l->file->schema, j, what, sizeof what),
           why);
    return true;
}

/* A field of a categorical column: its level goes to found if it is new. */
static wm_status collect(const look *l, wm_schema *found, int64_t j, wm_error *err)
{
    const wm_schema *s = l->file->schema;
    char text[WMI_CSV_MAX_TEXT + 1], place[WMI_CSV_PLACE], cut[WMI_TEXT_CUT];
    int64_t number;
    double x;
    wm_status st;

    if (wmi_csv_read(&l->t->row[j], &x) == WMI_CSV_MISSING ||
        wmi_csv_level(s, j, &l->t->row[j]) >= 0)
        return WM_OK;
    if (wmi_schema_fixed(s))
        return wmi_csv_not_a_level(l->t, s, j, err);
    if (l->t->row[j].n > WMI_CSV_MAX_TEXT && leave_out(l, j, "very long texts"))
        return WM_OK;
    if ((st = level_text(l, j, text, err)))
        return st;
    if (wmi_schema_level_find(found, j, text) >= 0)
        return WM_OK;
    if (wm_schema_levels(s, j) + wm_schema_levels(found, j) >= WMI_MAX_LEVELS &&
        leave_out(l, j, "more than 1000 different texts"))
        return WM_OK;
    if (wm_schema_levels(s, j) + wm_schema_levels(found, j) >= WMI_MAX_LEVELS)
        return wmi_about(wmi_fail(err, WM_EINVAL,
                                  "%s: '%s' is level number %d, more than make sense: drop the "
                                  "column if it is an identifier or free text",
                                  wmi_csv_place(l->t, l->t->line, j, place),
                                  wmi_text_cut(cut, text, strlen(text)), WMI_MAX_LEVELS + 1),
                         err, "drop");
    return wmi_schema_level_number(found, j, text, &number, err);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int by_number(const void *a, const void *b)
{
    const char *s = *(const char *const *)a, *t = *(const char *const *)b;
    double x = 0, y = 0;
    bool whole;

    (void)wmi_number_parse(s, strlen(s), &x, &whole);
    (void)wmi_number_parse(t, strlen(t), &y, &whole);
    return (x > y) - (x < y);
}

static wm_status add_sorted(const look *l, const wm_schema *found, int64_t j, wm_error *err)
{
    const char *text[WMI_MAX_LEVELS];
    const int64_t n = wm_schema_levels(found, j);
    int64_t number;
    wm_status st = WM_OK;

    if (n == 0)
        return WM_OK;
    for (int64_t i = 0; i < n; i++)
        text[i] = wm_schema_level(found, j, i);
    qsort(text, (size_t)n, sizeof *text, l->tallies[j].n[WMI_CSV_TEXT] ? by_text : by_number);
    for (int64_t i = 0; i < n && !st; i++)
        st = wmi_schema_level_number(l->file->schema, j, text[i], &number, err);
    return st;
}

/* Both levels of yes and no are known, whatever the table holds; no is 0. */
static wm_status add_yes_no(const look *l, int64_t j, wm_error *err)
{
    const tally *c = &l->tallies[j];
    char text[WMI_YES_NO_TEXT];
    wm_status st = WM_OK;
    int64_t number;

    for (int value = 0; value < 2 && !st; value++)
        st = wmi_schema_level_number(l->file->schema, j,
                                     wmi_yes_no_text(c->family, value, c->text.text, text), &number,
                                     err);
    return st;
}

static wm_status find_levels(look *l, wm_error *err)
{
    wm_schema *found = NULL;
    bool got = true;
    wm_status st;

    if ((st = wmi_csv_table_rewind(l->t, false, err)) || (st = wm_schema_new(&found, err)) ||
        (st = wmi_schema_begin(found, l->file->path, l->dim, NULL, err)))
        goto done;
    for (int64_t j = 0; j < l->dim && !st; j++)
        if (!(st = wmi_schema_set_kind(found, l->file->path, j, WM_KIND_CATEGORICAL, err)) &&
            l->columns[j].categorical && l->columns[j].written.script == WMI_YES_NO && !l->earlier)
            st = add_yes_no(l, j, err);
    while (!st && !(st = wmi_csv_table_next(l->t, &got, err)) && got)
        for (int64_t j = 0; j < l->dim && !st; j++)
            if (l->columns[j].categorical)
                st = collect(l, found, j, err);
    for (int64_t j = 0; j < l->dim && !st; j++)
        if (l->columns[j].categorical)
            st = add_sorted(l, found, j, err);
done:
    wm_schema_free(found);
    return st;
}

/* --- both --------------------------------------------------------------------------------------*/

/* A schema that is new learns which columns of the file these are. */
static wm_status begin(look *l, wm_error *err)
{
    wm_schema *s = l->file->schema;
    wm_status st = wmi_schema_begin(s, l->file->path, l->dim, l->t->names, err);

    if (!st && !l->earlier)
        wmi_schema_place(s, l->t->pick.from, l->t->shape.dim);
    return st;
}

wm_status wmi_csv_learn(wmi_csv_table *t, const wmi_source_file *file, wmi_csv_column *columns,
                        int64_t *count, wm_error *err)
{
    look l = {.t = t,
              .file = file,
              .columns = columns,
              .dim = t->dim,
              .decimals = {.comma = file->decimal == ',',
                           .point = file->decimal == '.',
                           .delimiter = t->shape.delimiter}};
    bool levels = false;
    wm_status st;

    l.earlier = wm_schema_dim(file->schema) > 0;
    if (!l.earlier && !file->columns)
        wmi_csv_index_start(&l.index, t);
    if ((st = begin(&l, err)) ||
        (st = wmi_alloc(&l.tallies, l.dim, sizeof *l.tallies, "columns", err)) ||
        (st = wmi_alloc(&l.forced, l.dim, sizeof *l.forced, "columns", err)) ||
        (st = wmi_schema_forced(file->schema, file->continuous, file->integer, file->categorical,
                                l.forced, err)) ||
        (st = tally_all(&l, count, err)))
        goto done;
    if (wmi_schema_fixed(file->schema)) /* nobody overrules a model */
        for (int64_t j = 0; j < l.dim; j++)
            l.forced[j] = -1;
    if (*count == 0) {
        st = wmi_fail(err, WM_EFORMAT, "%s: no rows below the header", wmi_text_tail(file->path));
        goto done;
    }
    find_idle(&l);
    for (int64_t j = 0; j < l.dim; j++)
        wmi_csv_script_vote(&l.decimals, &l.tallies[j].script);
    for (int64_t j = 0; j < l.dim && !st; j++)
        if (!columns[j].idle) {
            st = decide(&l, j, err);
            levels |= columns[j].categorical;
        }
    if (!st && !wmi_schema_fixed(file->schema))
        say_scripts(&l);
    if (!st && levels)
        st = find_levels(&l, err);
    if (!st)
        st = wmi_csv_table_rewind(t, true, err);
done:
    wmi_csv_index_free(&l.index);
    wmi_free(l.tallies);
    wmi_free(l.forced);
    return st;
}
