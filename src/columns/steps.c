/* steps.c - shares of values, and uniform numbers within them (steps.h). */
#include "columns/steps.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/order.h"
#include "base/special.h"
#include "columns/discover.h"

static const double HALF_LOG_TWO_PI = 0.918938533204672742;
static const double MORE = 0.5;   /* rows that every value has beside those that were seen */
static const double NEAR = 1e-15; /* v stays this far from 0 and 1, where the normal is infinite */

wm_status wmi_steps_new(wmi_steps *s, int64_t raw, int64_t values, wm_error *err)
{
    wm_status st;

    *s = (wmi_steps){.raw = raw};
    if ((st = wmi_alloc(&s->how, raw, sizeof *s->how, "columns", err)) ||
        (st = wmi_alloc(&s->first, raw + 1, sizeof *s->first, "columns", err)) ||
        (st = wmi_alloc(&s->value, values, sizeof *s->value, "values", err)) ||
        (st = wmi_alloc(&s->share, values, sizeof *s->share, "values", err)))
        return st;
    return wmi_alloc(&s->below, values, sizeof *s->below, "values", err);
}

void wmi_steps_free(wmi_steps *s)
{
    wmi_free(s->how);
    wmi_free(s->first);
    wmi_free(s->value);
    wmi_free(s->share);
    wmi_free(s->below);
    *s = (wmi_steps){0};
}

wm_status wmi_steps_copy(wmi_steps *to, const wmi_steps *s, wm_error *err)
{
    const int64_t values = s->first[s->raw];
    wm_status st = wmi_steps_new(to, s->raw, values, err);

    if (st)
        return st;
    to->dim = s->dim;
    memcpy(to->how, s->how, (size_t)s->raw * sizeof *s->how);
    memcpy(to->first, s->first, (size_t)(s->raw + 1) * sizeof *s->first);
    memcpy(to->value, s->value, (size_t)values * sizeof *s->value);
    memcpy(to->share, s->share, (size_t)values * sizeof *s->share);
    memcpy(to->below, s->below, (size_t)values * sizeof *s->below);
    return WM_OK;
}

bool wmi_steps_settle(wmi_steps *s)
{
    s->dim = 0;
    if (s->first[0] != 0)
        return false;
    for (int64_t j = 0; j < s->raw; j++) {
        const bool constant = s->how[j] == WMI_STEP_CONSTANT, shares = s->how[j] == WMI_STEP_SHARES;
        const int64_t n = s->first[j + 1] - s->first[j];
        double sum = 0;

        if (s->how[j] < 0 || s->how[j] > WMI_STEP_CONSTANT ||
            !(shares ? n >= 2 : n == (constant ? 1 : 0)))
            return false;
        for (int64_t k = s->first[j]; k < s->first[j + 1]; k++) {
            if (!isfinite(s->value[k]) || !(s->share[k] > 0 && s->share[k] <= 1) ||
                (k > s->first[j] && !(s->value[k] > s->value[k - 1])))
                return false;
            s->below[k] = sum;
            sum += s->share[k];
        }
        if (n > 0 && !(fabs(sum - 1) < 1e-9))
            return false;
        s->dim += !constant;
    }
    return s->dim > 0;
}

/* ---- looking ---- */

/* Column j of both tables, ascending, into v; how many. */
static int64_t sort_column(double *v, int64_t raw, int64_t j, const int64_t n[2],
                           const double *const x[2])
{
    int64_t at = 0;

    for (int side = 0; side < 2 && x[side]; side++)
        for (int64_t i = 0; i < n[side]; i++)
            v[at++] = x[side][i * raw + j];
    wmi_sort_f64(v, at);
    return at;
}

/* What column j is: a category, a number that discover.h finds discrete, a whole number or one on a
 * continuum. */
static wmi_column_step look(const wmi_found_columns *found, const wm_kind *kind, int64_t j,
                            const double *sorted, int64_t n)
{
    if (sorted[0] == sorted[n - 1])
        return WMI_STEP_CONSTANT;
    if (found->kind[j] != WM_KIND_CONTINUOUS)
        return WMI_STEP_SHARES;
    return kind[j] == WM_KIND_INTEGER ? WMI_STEP_WHOLE : WMI_STEP_NUMBER;
}

static int64_t place(const wmi_steps *s, int64_t column, double x)
{
    const double *at =
        bsearch(&x, s->value + s->first[column], (size_t)(s->first[column + 1] - s->first[column]),
                sizeof *at, wmi_rising_f64);

    return at ? at - s->value : -1;
}

/* Shares of the values of column j among the rows of training. */
static void count_shares(wmi_steps *s, int64_t j, int64_t n, const double *x)
{
    const int64_t values = s->first[j + 1] - s->first[j];
    const double total = (double)n + MORE * (double)values;

    for (int64_t k = s->first[j]; k < s->first[j + 1]; k++)
        s->share[k] = MORE;
    for (int64_t i = 0; i < n; i++)
        s->share[place(s, j, x[i * s->raw + j])] += 1; /* exact: halves */
    for (int64_t k = s->first[j]; k < s->first[j + 1]; k++)
        s->share[k] /= total;
}

/* Distinct values of a column that keeps them, to value where it is not NULL; how many. */
static int64_t list_values(wmi_column_step how, int64_t rows, const double *sorted, double *value)
{
    int64_t n = 0;

    if (how == WMI_STEP_NUMBER || how == WMI_STEP_WHOLE)
        return 0;
    for (int64_t i = 0; i < rows; i++)
        if (i == 0 || sorted[i] != sorted[i - 1]) {
            if (value)
                value[n] = sorted[i];
            n++;
        }
    return n;
}

static wm_status fit(wmi_steps *s, int64_t raw, const int64_t n[2], const double *const x[2],
                     const wm_kind *kind, const wmi_found_columns *found, double *v, wm_error *err)
{
    int64_t values = 0;
    wm_status st;

    for (int64_t j = 0; j < raw; j++) {
        const int64_t rows = sort_column(v, raw, j, n, x);

        values += list_values(look(found, kind, j, v, rows), rows, v, NULL);
    }
    if ((st = wmi_steps_new(s, raw, values, err)))
        return st;
    for (int64_t j = 0; j < raw; j++) {
        const int64_t rows = sort_column(v, raw, j, n, x);

        s->how[j] = look(found, kind, j, v, rows);
        s->first[j + 1] =
            s->first[j] + list_values((wmi_column_step)s->how[j], rows, v, s->value + s->first[j]);
        if (s->first[j + 1] > s->first[j])
            count_shares(s, j, n[0], x[0]);
    }
    if (!wmi_steps_settle(s))
        return wmi_fail(err, WM_EINVAL, "every column is constant: there is no density");
    return WM_OK;
}

wm_status wmi_steps_fit(wmi_steps *s, int64_t raw, const int64_t n[2], const double *const x[2],
                        const wm_kind *kind, wm_error *err)
{
    const int64_t rows = n[0] + (x[1] ? n[1] : 0);
    wmi_found_columns found = {0};
    wm_kind *read = NULL;
    double *v = NULL;
    wm_status st;

    *s = (wmi_steps){0};
    if ((st = wmi_alloc(&read, raw, sizeof *read, "columns", err)) ||
        (st = wmi_alloc(&v, rows, sizeof *v, "rows", err)))
        goto done;
    /* Whole numbers are looked at like others: are they few? */
    for (int64_t j = 0; j < raw; j++)
        read[j] = kind[j] == WM_KIND_CATEGORICAL ? WM_KIND_CATEGORICAL : WM_KIND_CONTINUOUS;
    if (!(st = wmi_discover(&found, raw, n, x, read, err)))
        st = fit(s, raw, n, x, kind, &found, v, err);
done:
    wmi_free(v);
    wmi_free(read);
    wmi_found_free(&found);
    if (st)
        wmi_steps_free(s);
    return st;
}

/* ---- values ---- */

bool wmi_steps_knows(const wmi_steps *s, int64_t column, double x)
{
    return s->how[column] == WMI_STEP_WHOLE    ? x == floor(x)
           : s->how[column] == WMI_STEP_SHARES ? place(s, column, x) >= 0
                                               : true;
}

double wmi_steps_up(const wmi_steps *s, int64_t column, double x, double u, double *log_det)
{
    int64_t k;
    double y;

    if (s->how[column] != WMI_STEP_SHARES)
        return s->how[column] == WMI_STEP_WHOLE ? x + u : x;
    k = place(s, column, x);
    y = wmi_normal_inverse(fmin(fmax(s->below[k] + s->share[k] * u, NEAR), 1 - NEAR));
    *log_det += log(s->share[k]) + HALF_LOG_TWO_PI + 0.5 * y * y;
    return y;
}

double wmi_steps_down(const wmi_steps *s, int64_t column, double y)
{
    int64_t k = s->first[column];
    double v;

    if (s->how[column] != WMI_STEP_SHARES)
        return s->how[column] == WMI_STEP_WHOLE ? floor(y) : y;
    v = wmi_normal_cdf(y);
    while (k + 1 < s->first[column + 1] && v >= s->below[k + 1])
        k++;
    return s->value[k];
}
