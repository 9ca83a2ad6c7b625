/* csv_index.c - whole numbers without a name are an index even if they do not count, because rows
 * may have been drawn from a larger table; texts must differ, else they are a category. */
#include "data/csv/csv_index.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "data/table/schema.h"

void wmi_csv_index_start(wmi_csv_index *x, const wmi_csv_table *t)
{
    const char *const *names = t->all_names;

    x->may = names && t->shape.dim > 1 && t->pick.from[0] == 0 &&
             (!names[0] || strcmp(names[0], "Unnamed: 0") == 0);
    for (int64_t j = 1; j < t->shape.dim && x->may; j++)
        x->may = names[j] != NULL;
}

void wmi_csv_index_free(wmi_csv_index *x)
{
    wmi_free(x->hash);
    *x = (wmi_csv_index){0};
}

static wm_status remember(wmi_csv_index *x, uint64_t hash, wm_error *err)
{
    uint64_t *grown = NULL;
    wm_status st;

    if (x->n == x->room) {
        const int64_t room = x->room ? 2 * x->room : 1024;

        if ((st = wmi_alloc(&grown, room, sizeof *grown, "names of rows", err)))
            return st;
        if (x->n)
            memcpy(grown, x->hash, (size_t)x->n * sizeof *grown);
        wmi_free(x->hash);
        x->hash = grown;
        x->room = room;
    }
    x->hash[x->n++] = hash;
    return WM_OK;
}

wm_status wmi_csv_index_see(wmi_csv_index *x, const wmi_csv_field *f, wmi_csv_value v,
                            wm_error *err)
{
    x->may = x->may && v != WMI_CSV_REAL && v != WMI_CSV_MISSING;
    return x->may && v == WMI_CSV_TEXT ? remember(x, wmi_text_hash(f->at, f->n), err) : WM_OK;
}

static int by_value(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

bool wmi_csv_index_found(wmi_csv_index *x)
{
    if (x->may && x->n)
        qsort(x->hash, (size_t)x->n, sizeof *x->hash, by_value);
    for (int64_t i = 1; i < x->n && x->may; i++)
        x->may = x->hash[i] != x->hash[i - 1];
    return x->may;
}
