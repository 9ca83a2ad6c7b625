/* csv_fixture.h - a text as a table, for the tests of CSV files. */
#ifndef TESTS_CSV_FIXTURE_H
#define TESTS_CSV_FIXTURE_H

#include "asserts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "data/formats/reader.h"
#include "data/table/schema.h"
#include "scratch.h"

enum { MAX_VALUES = 4096 };

/* What one look at a text gives. */
typedef struct table {
    wm_schema *schema;
    int64_t dim, n, count; /* n rows were read */
    double x[MAX_VALUES];
    char where[32]; /* of the last row that begins with a missing value, or of the last row */
    bool gap;
    wm_error err;
} table;

/* Reads a text to its end. schema: learns, or NULL to stream against fixed. */
static inline wm_status read_text(table *t, const char *text, size_t n, wmi_source_file file,
                                  const wmi_format *format)
{
    wmi_cursor *c = NULL;
    int64_t got = 1;
    wm_status st;

    t->n = t->dim = 0;
    t->gap = false;
    t->err = (wm_error){0};
    file.path = "t.csv";
    assert_ok(wmi_bytes_memory(&file.bytes, "t.csv", text, n, &t->err), t->err);
    st = format->open(&c, &file, &t->err);
    if (!st) {
        assert_true(c->kinds_set);
        t->dim = c->dim;
        t->count = c->count;
    }
    while (!st && got) {
        const int64_t room = (MAX_VALUES - t->n * t->dim) / t->dim;

        assert_true(room > 0);
        st = c->next(c, room < 3 ? room : 3, t->x + t->n * t->dim, &got, &t->err);
        t->n += got;
        for (int64_t i = t->n - got; i < t->n; i++)
            if (isnan(t->x[i * t->dim]) || !*t->where || !t->gap) {
                t->gap |= isnan(t->x[i * t->dim]);
                c->where(c, i, t->where, sizeof t->where);
            }
    }
    if (c)
        c->close(c);
    wmi_bytes_close(file.bytes);
    return st;
}

/* A first table with these options; freed with drop(). */
static inline wm_status load_with(table *t, const char *text, wmi_source_file file)
{
    wm_error err;

    assert_ok(wm_schema_new(&t->schema, &err), err);
    file.schema = t->schema;
    return read_text(t, text, strlen(text), file, &wmi_format_csv);
}

static inline void load(table *t, const char *text)
{
    if (load_with(t, text, (wmi_source_file){.header = -1}))
        fail_msg("%s\n%s", text, t->err.text);
}

static inline void drop(table *t)
{
    wm_schema_free(t->schema);
    t->schema = NULL;
}

static inline void refused(const table *t, wm_status st, const char *words)
{
    if (st == WM_OK)
        fail_msg("was read, expected '%s'", words);
    if (!strstr(t->err.text, words) || t->err.code != st)
        fail_msg("'%s', expected '%s'", t->err.text, words);
}

/* The columns in one line: "age:integer colour:categorical[blue red] -:continuous". */
static inline const char *columns(const wm_schema *s)
{
    static char out[2048];

    out[0] = '\0';
    for (int64_t j = 0; j < wm_schema_dim(s); j++) {
        const char *name = wm_schema_name(s, j);

        sprintf(out + strlen(out), "%s%s:%s", j ? " " : "", name ? name : "-",
                wmi_kind_name(wm_schema_kind(s, j)));
        for (int64_t i = 0; i < wm_schema_levels(s, j); i++)
            sprintf(out + strlen(out), "%c%s%s", i ? ' ' : '[', wm_schema_level(s, j, i),
                    i + 1 == wm_schema_levels(s, j) ? "]" : "");
    }
    return out;
}

static inline void values_are(const table *t, int64_t dim, int64_t n, const double *want)
{
    assert_int_equal(t->dim, dim);
    assert_int_equal(t->n, n);
    for (int64_t i = 0; i < n * dim; i++)
        if (!(t->x[i] == want[i] || (isnan(t->x[i]) && isnan(want[i]))))
            fail_msg("value %" PRId64 " is %.17g, expected %.17g", i, t->x[i], want[i]);
}

#endif
