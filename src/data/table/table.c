/* table.c - wm_data: the samples, owned, as one block. */
#include "waymark/data.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "data/table/table.h"

struct wm_data {
    int64_t n, dim;
    int64_t room;  /* rows that x can hold */
    int64_t total; /* rows of which these are a sample; 0: these */
    double *x;     /* (n, dim) */
    bool lent;     /* x is the caller's */
};

/* A table without rows, of a size that can be addressed. */
static wm_status new_table(wm_data **out, int64_t n, int64_t dim, int64_t *size, wm_error *err)
{
    WMI_NEED(err, out);
    wm_data *d = NULL;
    wm_status st;

    *out = NULL;
    if (n < 1 || dim < 1)
        return wmi_fail(err, WM_EINVAL,
                        "a table of %" PRId64 " rows and %" PRId64
                        " columns: at least one of each is needed",
                        n, dim);
    if (__builtin_mul_overflow(n, dim, size))
        return wmi_fail(err, WM_ENOMEM,
                        "a table of %" PRId64 " rows and %" PRId64
                        " columns is more than can be addressed",
                        n, dim);
    if ((st = wmi_alloc(&d, 1, sizeof *d, "table", err)))
        return st;
    d->n = d->room = n;
    d->dim = dim;
    *out = d;
    return WM_OK;
}

wm_status wm_data_new(wm_data **out, int64_t n, int64_t dim, const double *rows, wm_error *err)
{
    int64_t size;
    wm_status st = new_table(out, n, dim, &size, err);

    if (st)
        return st;
    if ((st = wmi_alloc(&(*out)->x, size, sizeof *rows, "table", err))) {
        wm_data_free(*out);
        *out = NULL;
        return st;
    }
    if (rows)
        memcpy((*out)->x, rows, (size_t)size * sizeof *rows);
    return WM_OK;
}

wm_status wm_data_borrow(wm_data **out, int64_t n, int64_t dim, const double *rows, wm_error *err)
{
    int64_t size;
    wm_status st = new_table(out, n, dim, &size, err);

    if (st)
        return st;
    memcpy(&(*out)->x, &rows, sizeof rows); /* read only, as the header asks */
    (*out)->lent = true;
    return WM_OK;
}

wm_status wmi_data_resize(wm_data *d, int64_t n, wm_error *err)
{
    int64_t size;
    double *x = NULL;
    wm_status st;

    if (n > d->room) {
        if (__builtin_mul_overflow(n, d->dim, &size))
            return wmi_fail(err, WM_ENOMEM, "a table of %" PRId64 " rows cannot be addressed", n);
        if ((st = wmi_alloc(&x, size, sizeof *x, "table", err)))
            return st;
        memcpy(x, d->x, (size_t)(d->n * d->dim) * sizeof *x);
        wmi_free(d->x);
        d->x = x;
        d->room = n;
    } else if (n > d->n) {
        memset(d->x + d->n * d->dim, 0, (size_t)((n - d->n) * d->dim) * sizeof *x);
    }
    d->n = n;
    return WM_OK;
}

wm_status wmi_data_append(wm_data *d, const wm_data *more, wm_error *err)
{
    const int64_t n = d->n;
    const wm_status st = wmi_data_resize(d, n + more->n, err);

    if (!st)
        memcpy(d->x + n * d->dim, more->x, (size_t)(more->n * d->dim) * sizeof *d->x);
    return st;
}

void wmi_data_set_total(wm_data *d, int64_t total)
{
    d->total = total;
}

void wmi_data_keep_columns(wm_data *d, const bool *keep)
{
    int64_t at = 0, dim = 0;

    for (int64_t j = 0; j < d->dim; j++)
        dim += keep[j];
    for (int64_t i = 0; i < d->n; i++)
        for (int64_t j = 0; j < d->dim; j++)
            if (keep[j])
                d->x[at++] = d->x[i * d->dim + j];
    d->dim = dim;
}

void wm_data_free(wm_data *d)
{
    if (!d)
        return;
    if (!d->lent)
        wmi_free(d->x);
    wmi_free(d);
}

int64_t wm_data_count(const wm_data *d)
{
    return d->n;
}

int64_t wm_data_dim(const wm_data *d)
{
    return d->dim;
}

int64_t wm_data_total(const wm_data *d)
{
    return d->total > d->n ? d->total : d->n;
}

const double *wm_data_rows(const wm_data *d)
{
    return d->x;
}

double *wm_data_rows_mut(wm_data *d)
{
    return d->x;
}

wm_status wm_data_check_finite(const wm_data *d, const char *label, wm_error *err)
{
    WMI_NEED(err, d);
    int64_t first = -1, bad = 0;

    for (int64_t i = 0; i < d->n * d->dim; i++)
        if (!isfinite(d->x[i])) {
            first = bad ? first : i;
            bad++;
        }
    if (!bad)
        return WM_OK;
    return wmi_fail(err, WM_EINVAL,
                    "%.80s: row %" PRId64 ", column %" PRId64 " is %s (%" PRId64
                    " such value%s in all): remove or impute these rows",
                    label, first / d->dim + 1, first % d->dim + 1,
                    isnan(d->x[first]) ? "NaN"
                    : d->x[first] > 0  ? "inf"
                                       : "-inf",
                    bad, bad == 1 ? "" : "s");
}
