/* csv_kinds.c - a look at all values before they are read.
 *
 * A column of numbers is continuous, or integer if none is written with a point; a column with text
 * is categorical. Numbers with a little text among them are more likely a typing error, or a mark
 * for missing values that we do not know, than a category: that is refused, with the place, and
 * --categorical overrules it. Levels are numbered in sorted order, so that the coding does not
 * depend on the order of the rows; those of a later table follow. */
#include "data/csv_kinds.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "data/number.h"
#include "data/schema.h"
#include "data/utf8.h"

enum {
    TYPO_SHARE = 100, /* text in less than one of so many values is no category */
    LONE_AMONG = 10,  /* nor is a single one among so many numbers */
};

/* A value that is worth a word. */
typedef struct example {
    int64_t line; /* 0: none yet */
    bool comma;   /* a number with commas in it */
    char text[WMI_TEXT_CUT];
} example;

/* Values of one column. */
typedef struct tally {
    int64_t n[WMI_CSV_TEXT + 1]; /* by wmi_csv_value */
    example text, fraction;      /* the first of each */
} tally;

typedef struct look {
    wmi_csv_table *t;
    const wmi_source_file *file;
    tally *columns;    /* (dim) */
    int *forced;       /* (dim) a wm_kind, or -1 */
    bool *categorical; /* (dim) */
    int64_t dim;
    bool earlier; /* the schema knows these columns already */
} look;

/* --- messages ----------------------------------------------------------------------------------*/

static void take_example(example *e, const wmi_csv_table *t, const wmi_csv_field *f)
{
    e->line = t->line;
    e->comma = wmi_csv_comma_number(f);
    wmi_text_cut(e->text, f->at, f->n);
}

/* How the user may name a column. */
static const char *option_name(const wmi_csv_table *t, int64_t j, char buf[WMI_TEXT_CUT])
{
    const char *name = t->names ? t->names[j] : NULL;

    if (name && strlen(name) < WMI_TEXT_CUT && !strpbrk(name, ", '\""))
        return name;
    snprintf(buf, WMI_TEXT_CUT, "%" PRId64, j + 1);
    return buf;
}

static wm_status refuse_comma(const wmi_csv_table *t, int64_t j, const example *e, wm_error *err)
{
    char place[WMI_CSV_PLACE];

    return wmi_fail(err, WM_EFORMAT,
                    "%s: '%s' has a decimal comma, or commas between thousands: write numbers "
                    "with a point and without commas",
                    wmi_csv_place(t, e->line, j, place), e->text);
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

    while (!(st = wmi_csv_table_next(t, &got, err)) && got) {
        for (int64_t j = 0; j < l->dim; j++) {
            tally *c = &l->columns[j];
            double x = 0;
            const wmi_csv_value v = wmi_csv_read(&t->row[j], &x);

            c->n[v]++;
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
    const tally *c = &l->columns[j];
    char place[WMI_CSV_PLACE], why[160], buf[WMI_TEXT_CUT];

    if (c->text.line) {
        snprintf(why, sizeof why, ", which this column was before: say --categorical %s for both",
                 option_name(l->t, j, buf));
        return refuse_text(l->t, j, &c->text,
                           l->forced[j] >= 0                   ? ""
                           : wmi_schema_fixed(l->file->schema) ? ", which this column was before"
                                                               : why,
                           err);
    }
    if (l->forced[j] == WM_KIND_INTEGER && c->fraction.line)
        return wmi_fail(err, WM_EINVAL, "%s: '%s' is not a whole number",
                        wmi_csv_place(l->t, c->fraction.line, j, place), c->fraction.text);
    return WM_OK;
}

/* Numbers and text in one column: a category, or a mistake? */
static wm_status check_mixture(const look *l, int64_t j, wm_error *err)
{
    const tally *c = &l->columns[j];
    const int64_t text = c->n[WMI_CSV_TEXT], numbers = c->n[WMI_CSV_WHOLE] + c->n[WMI_CSV_REAL];
    char why[160], buf[WMI_TEXT_CUT];

    if (c->text.comma)
        return refuse_comma(l->t, j, &c->text, err);
    if (!(text * TYPO_SHARE < text + numbers || (text == 1 && numbers >= LONE_AMONG) ||
          (c->fraction.line && numbers > text)))
        return WM_OK;
    snprintf(why, sizeof why,
             ", but %" PRId64 " of %" PRId64 " values are: correct it, write NA if it is missing "
             "(see --missing), or say --categorical %s",
             numbers, text + numbers, option_name(l->t, j, buf));
    return refuse_text(l->t, j, &c->text, why, err);
}

static wm_status decide(look *l, int64_t j, wm_error *err)
{
    const tally *c = &l->columns[j];
    wm_schema *s = l->file->schema;
    wm_kind kind = l->forced[j] >= 0 ? (wm_kind)l->forced[j] : WM_KIND_CONTINUOUS;
    wm_status st = WM_OK;

    if (l->forced[j] < 0 && l->earlier && wm_schema_kind(s, j) == WM_KIND_CATEGORICAL) {
        kind = WM_KIND_CATEGORICAL;
    } else if (l->forced[j] < 0 && !l->earlier && c->n[WMI_CSV_TEXT]) {
        st = check_mixture(l, j, err);
        kind = WM_KIND_CATEGORICAL;
    } else if (kind != WM_KIND_CATEGORICAL) {
        st = check_numbers(l, j, err);
        if (l->forced[j] < 0 && c->n[WMI_CSV_WHOLE] && !c->n[WMI_CSV_REAL])
            kind = WM_KIND_INTEGER;
    }
    l->categorical[j] = kind == WM_KIND_CATEGORICAL;
    return st ? st : wmi_schema_set_kind(s, l->file->path, j, kind, err);
}

/* --- second pass: levels -----------------------------------------------------------------------*/

int64_t wmi_csv_level(const wm_schema *s, int64_t j, const wmi_csv_field *f)
{
    char text[WMI_CSV_MAX_TEXT + 1], shortest[WMI_NUMBER_TEXT];
    int64_t number = -1;
    double x;
    size_t n;

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
    char place[WMI_CSV_PLACE], cut[WMI_TEXT_CUT];
    size_t n = 0;
    double x;

    if (!l->columns[j].n[WMI_CSV_TEXT] && wmi_csv_read(f, &x) != WMI_CSV_TEXT) {
        wmi_number_text(x, buf);
        return WM_OK;
    }
    if (!wmi_csv_text(f, buf, &n))
        return wmi_fail(err, WM_EINVAL, "%s: a text of %u bytes is no level: leave the column out",
                        wmi_csv_place(l->t, l->t->line, j, place), (unsigned)f->n);
    if (!wmi_text_is_utf8(buf, n))
        return wmi_fail(err, WM_EFORMAT,
                        "%s: '%s' is not UTF-8: convert the file (iconv -f latin1 -t utf-8)",
                        wmi_csv_place(l->t, l->t->line, j, place), wmi_text_cut(cut, buf, n));
    return WM_OK;
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
    if ((st = level_text(l, j, text, err)))
        return st;
    if (wmi_schema_level_find(found, j, text) >= 0)
        return WM_OK;
    if (wm_schema_levels(s, j) + wm_schema_levels(found, j) >= WMI_MAX_LEVELS)
        return wmi_fail(err, WM_EINVAL,
                        "%s: '%s' is level number %d, more than make sense: leave the column out "
                        "if it is an identifier or free text",
                        wmi_csv_place(l->t, l->t->line, j, place),
                        wmi_text_cut(cut, text, strlen(text)), WMI_MAX_LEVELS + 1);
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
    qsort(text, (size_t)n, sizeof *text, l->columns[j].n[WMI_CSV_TEXT] ? by_text : by_number);
    for (int64_t i = 0; i < n && !st; i++)
        st = wmi_schema_level_number(l->file->schema, j, text[i], &number, err);
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
        st = wmi_schema_set_kind(found, l->file->path, j, WM_KIND_CATEGORICAL, err);
    while (!st && !(st = wmi_csv_table_next(l->t, &got, err)) && got)
        for (int64_t j = 0; j < l->dim && !st; j++)
            if (l->categorical[j])
                st = collect(l, found, j, err);
    for (int64_t j = 0; j < l->dim && !st; j++)
        if (l->categorical[j])
            st = add_sorted(l, found, j, err);
done:
    wm_schema_free(found);
    return st;
}

/* --- both --------------------------------------------------------------------------------------*/

wm_status wmi_csv_learn(wmi_csv_table *t, const wmi_source_file *file, bool *categorical,
                        int64_t *count, wm_error *err)
{
    look l = {.t = t, .file = file, .categorical = categorical, .dim = t->shape.dim};
    bool levels = false;
    wm_status st;

    l.earlier = wm_schema_dim(file->schema) > 0;
    if ((st = wmi_schema_begin(file->schema, file->path, l.dim, t->names, err)) ||
        (st = wmi_alloc(&l.columns, l.dim, sizeof *l.columns, "columns", err)) ||
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
    for (int64_t j = 0; j < l.dim && !st; j++) {
        st = decide(&l, j, err);
        levels |= categorical[j];
    }
    if (!st && levels)
        st = find_levels(&l, err);
    if (!st)
        st = wmi_csv_table_rewind(t, true, err);
done:
    wmi_free(l.columns);
    wmi_free(l.forced);
    return st;
}
