/* csv_guess.c - rules, not statistics: people can see from a file's first lines what they give.
 *
 * Delimiter: the one of tab ; | , and spaces at which most of the first lines split into the same
 * number of fields (more than one), weighed by how many of these fields still hold another of them:
 * 3,14;2,71 splits evenly at both, but at the comma it leaves 14;2. Spaces must split into numbers
 * or quoted texts for the greater part. None: one column.
 *
 * Header: some column is text in the first line and numbers below, and numbers are not the greater
 * part of the line (1,2,x is a row with a mistake) unless they count the columns, as pandas does;
 * or, where no column has numbers, the first line is all text, without repetition, and none of it
 * occurs again in its column. So 0,1,2 is data, and names over columns of text are found. */
#include "data/csv/csv_guess.h"

#include <string.h>

#include "base/alloc.h"

enum { DELIMITER_ROWS = 100, HEADER_ROWS = 1000, CANDIDATES = 5 };

static const char candidates[CANDIDATES] = {'\t', ';', '|', ',', ' '};

/* The next row that is not blank, if the buffer has it. A malformed one ends the look, and is
 * reported when it is read in earnest. */
static wm_status next_row(wmi_csv_scan *look, bool *got, wm_error *err)
{
    wm_error why;
    wm_status st;

    do
        st = wmi_csv_scan_row(look, got, &why);
    while (!st && *got && look->n == 0);
    if (st == WM_EFORMAT)
        return WM_OK; /* *got is false */
    if (st && err)
        *err = why;
    return st;
}

/* --- delimiter ---------------------------------------------------------------------------------*/

static bool only_numbers_and_spaces(const wmi_csv_field *f)
{
    for (uint32_t i = 0; i < f->n; i++)
        if (!f->at[i] || !strchr("0123456789+-.eE \t", f->at[i]))
            return false;
    return true;
}

/* Whether a field is evidence for a delimiter. Any text may have spaces, so for these only numbers
 * and quoted fields are. */
static bool is_clean(const wmi_csv_field *f, char delimiter)
{
    double x;

    if (f->quoted || wmi_csv_read(f, &x) != WMI_CSV_TEXT || wmi_csv_comma_number(f))
        return true;
    for (int k = 0; k < CANDIDATES - 1; k++)
        if (candidates[k] != delimiter && memchr(f->at, candidates[k], f->n))
            return false;
    return delimiter != ' ' && !only_numbers_and_spaces(f);
}

/* A row as it splits. */
typedef struct split {
    int64_t n, clean;
    bool ends_empty; /* perhaps with a delimiter too many */
} split;

static bool ends_empty(const wmi_csv_scan *look)
{
    const wmi_csv_field *last = &look->field[look->n - 1];

    return look->n > 1 && last->n == 0 && !last->quoted;
}

static bool has_width(const split *r, int64_t width)
{
    return r->n == width || (r->ends_empty && r->n == width + 1);
}

/* The share of rows of this width, times the share of clean fields in them. */
static double rate_width(const split *rows, int n, int64_t width, char delimiter)
{
    int64_t same = 0, fields = 0, clean = 0;

    for (int i = 0; i < n; i++)
        if (has_width(&rows[i], width)) {
            same++;
            if (delimiter == ' ' && i == 0 && n > 1)
                continue; /* names */
            fields += rows[i].n;
            clean += rows[i].clean;
        }
    /* A width counts if at least half of the rows have it; of two rows, the first must. */
    if (2 * same < n || (2 * same == n && (delimiter == ' ' || !has_width(&rows[0], width))))
        return 0;
    if (fields == 0 || (delimiter == ' ' && 2 * clean <= fields))
        return 0;
    return (double)same / n * (double)clean / (double)fields;
}

/* How well the first rows split at a delimiter into more than one field, in [0, 1]. */
static wm_status rate(double *out, const wmi_csv_scan *s, char delimiter, wm_error *err)
{
    wmi_csv_scan look = wmi_csv_scan_look(s, delimiter);
    split rows[DELIMITER_ROWS];
    bool got = true;
    wm_status st = WM_OK;
    int n = 0;

    *out = 0;
    for (; n < DELIMITER_ROWS; n++) {
        if ((st = next_row(&look, &got, err)) || !got)
            break;
        rows[n] = (split){.n = look.n, .ends_empty = ends_empty(&look)};
        for (int64_t j = 0; j < look.n; j++)
            rows[n].clean += is_clean(&look.field[j], delimiter);
    }
    wmi_csv_scan_unlook(&look);
    for (int i = 0; i < n; i++)
        if (rows[i].n > 1) {
            const double r = rate_width(rows, n, rows[i].n, delimiter);

            *out = r > *out ? r : *out;
        }
    return st;
}

static wm_status find_delimiter(char *out, const wmi_csv_scan *s, wm_error *err)
{
    double best = 0;
    wm_status st = WM_OK;

    *out = '\0';
    for (int k = 0; k < CANDIDATES && !st; k++) {
        double r = 0;

        st = rate(&r, s, candidates[k], err);
        if (r > best) {
            best = r;
            *out = candidates[k];
        }
    }
    return st;
}

/* --- header ------------------------------------------------------------------------------------*/

/* What the rows below the first hold, by column. */
typedef struct below {
    bool numbers, text, again; /* again: the first row's text occurs in it */
} below;

static bool same_field(const wmi_csv_field *a, const wmi_csv_field *b)
{
    return a->n == b->n && memcmp(a->at, b->at, a->n) == 0;
}

static bool has_name(const wmi_csv_field *first, int64_t n, const char *name)
{
    for (int64_t j = 0; j < n; j++)
        if (wmi_csv_same(&first[j], name))
            return true;
    return false;
}

/* Whether a line has the names of an earlier table, or the greater part of them, in any order. In
 * tables that are very wide only the first are looked for. */
static bool has_names_of(const wm_schema *known, const wmi_csv_field *first, int64_t n)
{
    int64_t named = 0, found = 0;

    for (int64_t j = 0; known && j < wm_schema_dim(known) && named < 1000; j++) {
        const char *name = wm_schema_name(known, j);

        named += name != NULL;
        found += name && has_name(first, n, name);
    }
    return found > 0 && 2 * found > named;
}

/* Compared pairwise where that is cheap; wider tables have columns of numbers, or names. */
static bool all_different(const wmi_csv_field *first, int64_t n)
{
    for (int64_t j = 0; j < n && n <= 2000; j++)
        for (int64_t k = 0; k < j; k++)
            if (first[j].n && same_field(&first[j], &first[k]))
                return false;
    return true;
}

/* Numbers that are names: those of the columns, from 0, as pandas has them (a column of row names
 * aside), or rising years. */
static bool numbers_name(const wmi_csv_field *first, int64_t n)
{
    const int64_t skip = first[0].n == 0;
    bool places = true, years = true;
    double x, before = -1;
    int64_t numbers = 0;

    for (int64_t j = 0; j < n; j++) {
        const wmi_csv_value v = wmi_csv_read(&first[j], &x);

        if (v == WMI_CSV_REAL)
            return false;
        if (v != WMI_CSV_WHOLE)
            continue;
        numbers++;
        places &= x == (double)(j - skip);
        years &= x > before && x >= 1800 && x <= 2100;
        before = x;
    }
    return numbers > 1 && (places || years);
}

static bool all_texts(const wmi_csv_field *first, int64_t n)
{
    for (int64_t j = 0; j < n; j++)
        if (wmi_csv_glance(&first[j]) != WMI_CSV_TEXT)
            return false;
    return true;
}

static bool is_header(const wmi_csv_field *first, int64_t n, const below *under, bool *doubtful)
{
    int64_t texts = 0, values = 0;
    bool above = false, numbers = false, again = false;

    for (int64_t j = 0; j < n; j++) {
        const wmi_csv_value v = wmi_csv_glance(&first[j]);
        const bool column = under[j].numbers && !under[j].text;

        texts += v == WMI_CSV_TEXT;
        values += v == WMI_CSV_WHOLE || v == WMI_CSV_REAL;
        above |= v == WMI_CSV_TEXT && column;
        numbers |= column;
        again |= under[j].again;
    }
    if (above) {
        const bool named = numbers_name(first, n);

        *doubtful = values > 0 && !named;
        return values <= texts || named;
    }
    return texts && !values && !numbers && !again && all_different(first, n);
}

/* --- both --------------------------------------------------------------------------------------*/

/* Two rows at least, so that there is something to compare. */
static wm_status see_enough(wmi_csv_scan *s, wm_error *err)
{
    for (;;) {
        wmi_csv_scan look = wmi_csv_scan_look(s, '\0');
        bool got = false;
        wm_status st = next_row(&look, &got, err);

        if (!st && got)
            st = next_row(&look, &got, err);
        wmi_csv_scan_unlook(&look);
        if (st || got || s->ended || s->end - s->begin >= WMI_CSV_MAX_ROW)
            return st;
        if ((st = wmi_csv_scan_more(s, err)))
            return st;
    }
}

static wm_status look_below(wmi_csv_shape *out, const wmi_csv_scan *head, int header,
                            const wm_schema *known, wm_error *err)
{
    wmi_csv_scan look = wmi_csv_scan_look(head, head->delimiter);
    const int64_t n = head->n;
    const int64_t full = n + !ends_empty(head); /* fields, if rows end with a delimiter */
    int64_t rows = 0, fitting = 0, full_rows = 0, wider = 0;
    below *under = NULL;
    bool got = true;
    wm_status st;

    if ((st = wmi_alloc(&under, n, sizeof *under, "columns", err)))
        return st;
    for (; rows < HEADER_ROWS; rows++) {
        if ((st = next_row(&look, &got, err)) || !got)
            break;
        full_rows += look.n == full && ends_empty(&look);
        fitting += look.n == full - 1;
        wider += look.n == n + 1 && !ends_empty(&look);
        for (int64_t j = 0; j < n && j < look.n; j++) {
            const wmi_csv_value v = wmi_csv_glance(&look.field[j]);

            under[j].numbers |= v == WMI_CSV_WHOLE || v == WMI_CSV_REAL;
            under[j].text |= v == WMI_CSV_TEXT;
            under[j].again |= same_field(&look.field[j], &head->field[j]) && look.field[j].n;
        }
    }
    out->header = header >= 0 ? header != 0
                              : has_names_of(known, head->field, n) ||
                                    is_header(head->field, n, under, &out->doubtful);
    /* A header, and the last row, may do without the delimiter that ends the others. */
    out->trailing = head->delimiter != ' ' && full > 1 && full_rows + fitting == rows &&
                    (ends_empty(head) || (out->header && full_rows > 0));
    out->dim = out->trailing ? full - 1 : n;
    out->row_names = rows > 0 && wider == rows && header != 0 && all_texts(head->field, n);
    if (out->row_names) { /* as R's write.table() has them */
        out->header = true;
        out->dim = n + 1;
    }
    wmi_csv_scan_unlook(&look);
    wmi_free(under);
    return st;
}

wm_status wmi_csv_guess(wmi_csv_shape *out, wmi_csv_scan *s, int delimiter, int header,
                        const wm_schema *known, wm_error *err)
{
    wmi_csv_scan head;
    bool got = false;
    wm_status st;

    *out = (wmi_csv_shape){0};
    if ((st = see_enough(s, err)))
        return st;
    out->delimiter = (char)delimiter;
    if (delimiter < 0 && (st = find_delimiter(&out->delimiter, s, err)))
        return st;
    head = wmi_csv_scan_look(s, out->delimiter);
    if (!(st = next_row(&head, &got, err)) && got)
        st = look_below(out, &head, header, known, err);
    wmi_csv_scan_unlook(&head);
    return st;
}
