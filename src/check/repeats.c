/* repeats.c - copies among the rows of two tables (repeats.h): rows are sorted by their bytes. */
#include "check/repeats.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

static const double FINE = 0.99; /* of different rows, those that a fine column tells apart */
/* Values that come again by themselves: so few, or each so often (as columns/discover.c has it). */
enum { FEW = 16, MANY = 1000, EACH = 20 };

typedef struct row {
    const double *x;
    size_t bytes;
} row;

static int by_bytes(const void *a, const void *b)
{
    const row *r = a, *s = b;

    return memcmp(r->x, s->x, r->bytes);
}

/* Sorts the rows, moves one of each kind to the front, and counts these. */
static int64_t sort_distinct(row *r, int64_t n)
{
    int64_t kept = 0;

    qsort(r, (size_t)n, sizeof *r, by_bytes);
    for (int64_t i = 0; i < n; i++)
        if (i == 0 || by_bytes(&r[kept - 1], &r[i]) != 0)
            r[kept++] = r[i];
    return kept;
}

/* Whether some column differs in nearly all of n rows, all of which differ, of `all` rows. Not one
 * of levels: where they go with each other, as towns and their names do, rows are the same. */
static wm_status has_fine_column(bool *fine, const row *r, int64_t n, int64_t all, int64_t dim,
                                 const wm_schema *schema, wm_error *err)
{
    row *value = NULL;
    wm_status st = wmi_alloc(&value, n, sizeof *value, "rows", err);

    *fine = false;
    for (int64_t j = 0; !st && !*fine && j < dim; j++) {
        int64_t kinds;

        if (schema && wm_schema_kind(schema, j) == WM_KIND_CATEGORICAL)
            continue;
        for (int64_t i = 0; i < n; i++)
            value[i] = (row){r[i].x + j, sizeof(double)};
        kinds = sort_distinct(value, n);
        *fine = (double)kinds >= FINE * (double)n && kinds > FEW &&
                (kinds > MANY || kinds * EACH > all);
    }
    wmi_free(value);
    return st;
}

wm_status wmi_repeated_rows(double *share, const wm_data *p, const wm_data *q,
                            const wm_schema *schema, wm_error *err)
{
    const wm_data *const table[] = {p, q};
    const int64_t dim = wm_data_dim(p), n = wm_data_count(p) + (q ? wm_data_count(q) : 0);
    int64_t taken = 0, distinct;
    bool fine;
    row *r = NULL;
    wm_status st;

    *share = 0;
    if (dim < 2)
        return WM_OK;
    if ((st = wmi_alloc(&r, n, sizeof *r, "rows", err)))
        return st;
    for (int t = 0; t < 2 && table[t]; t++)
        for (int64_t i = 0; i < wm_data_count(table[t]); i++)
            r[taken++] = (row){wm_data_rows(table[t]) + i * dim, (size_t)dim * sizeof(double)};
    distinct = sort_distinct(r, n);
    if (distinct < n && !(st = has_fine_column(&fine, r, distinct, n, dim, schema, err)) && fine)
        *share = (double)(n - distinct) / (double)n;
    wmi_free(r);
    return st;
}

wm_status wmi_row_kinds(int64_t **count, int64_t *kinds, const wm_data *d, int64_t first,
                        int64_t columns, wm_error *err)
{
    const int64_t dim = wm_data_dim(d), n = wm_data_count(d);
    row *r = NULL;
    wm_status st;

    *count = NULL;
    *kinds = 0;
    if ((st = wmi_alloc(&r, n, sizeof *r, "rows", err)) ||
        (st = wmi_alloc(count, n, sizeof **count, "counts", err)))
        goto done;
    for (int64_t i = 0; i < n; i++)
        r[i] = (row){wm_data_rows(d) + i * dim + first, (size_t)columns * sizeof(double)};
    qsort(r, (size_t)n, sizeof *r, by_bytes);
    for (int64_t i = 0; i < n; i++) {
        if (i == 0 || by_bytes(&r[i - 1], &r[i]) != 0)
            (*kinds)++;
        (*count)[*kinds - 1]++;
    }
done:
    wmi_free(r);
    return st;
}
