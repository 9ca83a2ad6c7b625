/* ratio_turn.c - coordinates in which the covariances of p and q are both diagonal, and with them
 * those of every waymark between them: there the ratio of two Gaussians is a sum over columns. */
#include <string.h>

#include "base/alloc.h"
#include "columns/whiten.h"
#include "engine/backend/linalg.h"
#include "ratio/ratio_impl.h"

/* q = N(0, I) looks the same in every direction: those of p's covariance do. */
static wm_status turn_to_p(double **mix, const wmi_ratio_rows *rows, wm_error *err)
{
    const int64_t d = rows->dim;
    double *mean = NULL, *value = NULL;
    wm_status st;

    if ((st = wmi_alloc(mix, d * d, sizeof **mix, "coordinates", err)) ||
        (st = wmi_alloc(&mean, d, sizeof *mean, "coordinates", err)) ||
        (st = wmi_alloc(&value, d, sizeof *value, "coordinates", err)))
        goto done;
    wmi_column_means(rows->n_train[0], d, rows->train[0], mean);
    if (!(st = wmi_scatter(rows->n_train[0], d, rows->train[0], mean, *mix, err)))
        st = wmi_eigen(d, *mix, value, err);
done:
    wmi_free(value);
    wmi_free(mean);
    return st;
}

static wm_status turn_to_both(double **mix, const wmi_ratio_rows *rows, wm_error *err)
{
    const wmi_whiten_end end[] = {{rows->n_train[0], rows->train[0], NULL},
                                  {rows->n_train[1], rows->train[1], NULL}};
    wmi_whitening w = {0};
    bool *takes = NULL;
    wm_status st = wmi_alloc(&takes, rows->dim, sizeof *takes, "coordinates", err);

    for (int64_t j = 0; !st && j < rows->dim; j++)
        takes[j] = true;
    if (!st && !(st = wmi_whitening_of(&w, rows->dim, takes, 0, end, err))) {
        *mix = w.mix;
        w.mix = NULL;
    }
    wmi_whitening_free(&w);
    wmi_free(takes);
    return st;
}

/* Rows x (n, d) become x mix, a block at a time. */
static wm_status turn_rows(int64_t n, int64_t d, double *x, const double *mix, wm_error *err)
{
    enum { BLOCK = 1024 };
    double *plain = NULL;
    wm_status st = wmi_alloc(&plain, BLOCK * d, sizeof *plain, "rows", err);

    for (int64_t first = 0; !st && first < n; first += BLOCK) {
        const int64_t some = n - first < BLOCK ? n - first : BLOCK;

        memcpy(plain, x + first * d, (size_t)(some * d) * sizeof *plain);
        wmi_product(some, d, d, 1, plain, mix, 0, x + first * d);
    }
    wmi_free(plain);
    return st;
}

wm_status wmi_ratio_turn(double **mix, const wm_ratio *r, const wmi_ratio_rows *rows,
                         double *const x[2], wm_error *err)
{
    wm_status st;

    for (int64_t j = 0; j < rows->dim; j++)
        if (r->columns[j] != WM_COLUMN_LINEAR)
            return wmi_fail(err, WM_EINVAL,
                            "the diagonal form needs columns that all move linearly");
    st = rows->normal_q ? turn_to_p(mix, rows, err) : turn_to_both(mix, rows, err);
    for (int t = 0; t < 2 && !st && *mix; t++)
        if (x[t])
            st = turn_rows(rows->n_train[t] + rows->n_valid[t], rows->dim, x[t], *mix, err);
    return st;
}
