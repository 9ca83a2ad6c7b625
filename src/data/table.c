/* table.c - wm_data: the samples, owned, as one block. */
#include "waymark/data.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "data/table.h"

struct wm_data {
    int64_t n, dim;
    int64_t room; /* rows that x can hold */
    double *x;    /* (n, dim) */
};

wm_status wm_data_new(wm_data **out, int64_t n, int64_t dim, const double *rows, wm_error *err)
{
    wm_data *d = NULL;
    int64_t size;
    wm_status st;

    *out = NULL;
    if (n < 1 || dim < 1)
        return wmi_fail(err, WM_EINVAL,
                        "a table of %" PRId64 " rows and %" PRId64
                        " columns: at least one of each is needed",
                        n, dim);
    if (__builtin_mul_overflow(n, dim, &size))
        return wmi_fail(err, WM_ENOMEM,
                        "a table of %" PRId64 " rows and %" PRId64
                        " columns is more than can be addressed",
                        n, dim);
    if ((st = wmi_alloc(&d, 1, sizeof *d, "table", err)))
        return st;
    if ((st = wmi_alloc(&d->x, size, sizeof *d->x, "table", err))) {
        wm_data_free(d);
        return st;
    }
    d->n = d->room = n;
    d->dim = dim;
    if (rows)
        memcpy(d->x, rows, (size_t)size * sizeof *rows);
    *out = d;
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

void wm_data_free(wm_data *d)
{
    if (!d)
        return;
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
