/* computable.c - least squares by orthogonal columns (modified Gram-Schmidt, each subtracted
 * twice), which keep their digits where normal equations would lose half of them. */
#include "check/computable.h"

#include <math.h>
#include <stdbool.h>

#include "base/alloc.h"

enum { MANY_ROWS = 2000, MOST_ROWS = 20000, ROWS_EACH = 10 };
static const double NOTHING_NEW = 1e-12; /* of the variance of a column beside those before it */
static const double ROUNDING = 1e-26;    /* mean squares of a constant, as a share of its square */

/* Column j of every step-th row, with mean 0 and mean square 1; false if it is constant. */
static bool take_column(double *out, int64_t n, int64_t d, const double *x, int64_t step, int64_t j)
{
    double mean = 0, square = 0;

    for (int64_t i = 0; i < n; i++)
        mean += x[i * step * d + j] / (double)n;
    for (int64_t i = 0; i < n; i++) {
        out[i] = x[i * step * d + j] - mean;
        square += out[i] * out[i] / (double)n;
    }
    if (!(square > ROUNDING * mean * mean) || !isfinite(square))
        return false;
    for (int64_t i = 0; i < n; i++)
        out[i] /= sqrt(square);
    return true;
}

/* What `basis` (many, n), of mean square 1 each, leaves of column: its mean square. */
static double subtract(double *column, int64_t n, int64_t many, const double *basis)
{
    double square = 0;

    for (int64_t k = 0; k < 2 * many; k++) {
        const double *b = basis + k % many * n;
        double along = 0;

        for (int64_t i = 0; i < n; i++)
            along += column[i] * b[i] / (double)n;
        for (int64_t i = 0; i < n; i++)
            column[i] -= along * b[i];
    }
    for (int64_t i = 0; i < n; i++)
        square += column[i] * column[i] / (double)n;
    return square;
}

wm_status wmi_unexplained(double *share, int64_t n, int64_t d, const double *x, int64_t first,
                          int64_t count, wm_error *err)
{
    const int64_t wanted = ROWS_EACH * count < MANY_ROWS   ? MANY_ROWS
                           : ROWS_EACH * count > MOST_ROWS ? MOST_ROWS
                                                           : ROWS_EACH * count;
    const int64_t step = n > wanted ? n / wanted : 1; /* at least as many, less than twice */
    const int64_t rows = (n + step - 1) / step;
    double *basis = NULL; /* (count + 1, rows): the last is for the column at hand */
    int64_t many = 0;
    wm_status st;

    for (int64_t j = 0; j < d; j++)
        share[j] = NAN;
    if (rows < ROWS_EACH * count)
        return WM_OK;
    if ((st = wmi_alloc(&basis, (count + 1) * rows, sizeof *basis, "columns", err)))
        return st;
    for (int64_t j = first; j < first + count; j++) {
        double *column = basis + many * rows, left;

        if (!take_column(column, rows, d, x, step, j))
            continue;
        left = subtract(column, rows, many, basis);
        if (left < NOTHING_NEW)
            continue;
        for (int64_t i = 0; i < rows; i++)
            column[i] /= sqrt(left);
        many++;
    }
    for (int64_t j = 0; j < d; j++) {
        double *column = basis + many * rows;

        if ((j < first || j >= first + count) && take_column(column, rows, d, x, step, j))
            share[j] = subtract(column, rows, many, basis);
    }
    wmi_free(basis);
    return WM_OK;
}
