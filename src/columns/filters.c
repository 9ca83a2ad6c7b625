/* filters.c - principal components and whitened columns (filters.h). */
#include "columns/filters.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "engine/backend/linalg.h"

/* Scatter matrix of the rows, in double. */
static wm_status scatter(int64_t n, int64_t d, const float *x, double *s, wm_error *err)
{
    double *rows = NULL, *mean = NULL;
    wm_status st;

    if ((st = wmi_alloc(&rows, n * d, sizeof *rows, "rows", err)) ||
        (st = wmi_alloc(&mean, d, sizeof *mean, "moments", err)))
        goto done;
    for (int64_t i = 0; i < n * d; i++) {
        rows[i] = (double)x[i];
        mean[i % d] += rows[i] / (double)n;
    }
    st = wmi_scatter(n, d, rows, mean, s, err);
done:
    wmi_free(mean);
    wmi_free(rows);
    return st;
}

wm_status wmi_filters_make(int64_t n, int64_t d, const float *x, float *filter, wm_error *err)
{
    double *v = NULL, *turned = NULL, *white = NULL, *w = NULL;
    wm_status st;

    if ((st = wmi_alloc(&v, d * d, sizeof *v, "moments", err)) ||
        (st = wmi_alloc(&turned, d * d, sizeof *turned, "moments", err)) ||
        (st = wmi_alloc(&white, d * d, sizeof *white, "filters", err)) ||
        (st = wmi_alloc(&w, d, sizeof *w, "moments", err)) || (st = scatter(n, d, x, v, err)) ||
        (st = wmi_eigen(d, v, w, err)))
        goto done;
    for (int64_t j = 0; j < d; j++) {
        const double sd = sqrt(fmax(w[j], 1e-9 * w[d - 1]) / (double)n);

        for (int64_t i = 0; i < d; i++) {
            turned[j * d + i] = v[i * d + j];
            v[i * d + j] /= sd;
        }
    }
    wmi_product(d, d, d, 1, v, turned, 0, white);
    for (int64_t i = 0; i < d; i++)
        for (int64_t j = 0; j < d; j++) {
            filter[i * 2 * d + j] = (float)v[i * d + j];
            filter[i * 2 * d + d + j] = (float)white[i * d + j];
        }
done:
    wmi_free(w);
    wmi_free(white);
    wmi_free(turned);
    wmi_free(v);
    return st;
}

wm_status wmi_filters_rows(int64_t n, int64_t d, const float *x, const float *filter, float *out,
                           wm_error *err)
{
    const int64_t k = 2 * d, columns = d + k;
    double *a = NULL, *b = NULL, *c = NULL;
    wm_status st;

    if ((st = wmi_alloc(&a, n * d, sizeof *a, "rows", err)) ||
        (st = wmi_alloc(&b, d * k, sizeof *b, "filters", err)) ||
        (st = wmi_alloc(&c, n * k, sizeof *c, "rows", err)))
        goto done;
    for (int64_t i = 0; i < n * d; i++)
        a[i] = (double)x[i];
    for (int64_t i = 0; i < d * k; i++)
        b[i] = (double)filter[i];
    wmi_product(n, k, d, 1, a, b, 0, c);
    for (int64_t i = 0; i < n; i++) {
        memcpy(out + i * columns, x + i * d, (size_t)d * sizeof *out);
        for (int64_t j = 0; j < k; j++)
            out[i * columns + d + j] = (float)c[i * k + j];
    }
done:
    wmi_free(c);
    wmi_free(b);
    wmi_free(a);
    return st;
}
