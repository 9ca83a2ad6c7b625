/* read_help.h - small files for the tests of the readers, made by hand, and a way to read them. */
#ifndef WM_TESTS_READ_HELP_H
#define WM_TESTS_READ_HELP_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "asserts.h"
#include "base/file.h"
#include "npy_files.h"
#include "scratch.h"
#include "waymark/read.h"

/* A table with a schema of its own, which is freed with it if schema is NULL. */
static inline wm_data *read_table(const char *path, wm_schema **schema, const wm_read_opts *opts)
{
    wm_schema *s;
    wm_error err;
    wm_data *d;

    assert_ok(wm_schema_new(&s, &err), err);
    assert_ok(wm_data_read(&d, path, s, opts, &err), err);
    if (schema)
        *schema = s;
    else
        wm_schema_free(s);
    return d;
}

/* The table at path has these rows; frees nothing that outlives it. */
static inline void expect_rows(const char *path, int64_t n, int64_t dim, const double *rows)
{
    wm_data *d = read_table(path, NULL, NULL);

    assert_int_equal(wm_data_count(d), n);
    assert_int_equal(wm_data_dim(d), dim);
    for (int64_t i = 0; i < n * dim; i++)
        if (wm_data_rows(d)[i] != rows[i])
            fail_msg("%s: row %d, column %d is %.17g, expected %.17g", path, (int)(i / dim) + 1,
                     (int)(i % dim) + 1, wm_data_rows(d)[i], rows[i]);
    wm_data_free(d);
}

/* Reading fails with this status and these words. */
static inline void expect_refused(const char *path, wm_schema *schema, const wm_read_opts *opts,
                                  wm_status st, const char *words)
{
    wm_schema *own = NULL;
    wm_error err = {0};
    wm_data *d = (wm_data *)&err;

    if (!schema)
        assert_ok(wm_schema_new(&own, &err), err);
    assert_int_equal(wm_data_read(&d, path, schema ? schema : own, opts, &err), st);
    assert_null(d);
    if (!strstr(err.text, words))
        fail_msg("said '%s', expected '%s'", err.text, words);
    wm_schema_free(own);
}

#endif
