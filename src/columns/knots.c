/* knots.c - knots between quantiles and an even grid: where rows crowd a spline must follow the
 * density, and where they are few it must not swing. */
#include "columns/knots.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"

static int by_value(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;

    return (x > y) - (x < y);
}

/* Breaks (count) of the sorted values v (n): equal steps of G(v) = F(v) / 2 + (v - lo) / (hi - lo)
 * / 2, where F is the empirical distribution function between the ends lo and hi. */
static void set_breaks(int64_t n, const float *v, int64_t count, float *at)
{
    const int64_t cut = n / 2000, last = n - 1 - cut;
    const double lo = (double)v[cut], hi = (double)v[last], range = hi - lo;
    int64_t i = cut;

    for (int64_t b = 0; b < count; b++) {
        const double want = (double)b / (double)(count - 1);

        if (!(range > 0)) {
            at[b] = (float)(lo + 2 * want - 1);
            continue;
        }
        while (i < last && 0.5 * (double)(i + 1 - cut) / (double)(last - cut) +
                                   0.5 * ((double)v[i + 1] - lo) / range <
                               want)
            i++;
        /* between rows i and i + 1 */
        const int64_t j = i < last ? i + 1 : i;
        const double g0 =
            0.5 * (double)(i - cut) / (double)(last - cut) + 0.5 * ((double)v[i] - lo) / range;
        const double g1 =
            0.5 * (double)(j - cut) / (double)(last - cut) + 0.5 * ((double)v[j] - lo) / range;
        const double t = g1 > g0 ? fmin(fmax((want - g0) / (g1 - g0), 0), 1) : 0;

        at[b] = (float)((double)v[i] + t * ((double)v[j] - (double)v[i]));
    }
    /* Ties would make a knot of no width. */
    for (int64_t b = 1; b < count; b++) {
        const float least = (float)(range > 0 ? range : 2) * 1e-3f / (float)count;

        at[b] = fmaxf(at[b], at[b - 1] + least);
    }
}

/* Three more knots before the first break and after the last. */
static void set_ends(float *k, int64_t count)
{
    for (int64_t e = 1; e <= 3; e++) {
        k[-e] = k[0] - (float)e * (k[1] - k[0]);
        k[count - 1 + e] = k[count - 1] + (float)e * (k[count - 1] - k[count - 2]);
    }
}

void wmi_knots_even(double lo, double hi, int64_t bases, float *knots)
{
    const int64_t count = bases - 2;

    for (int64_t b = 0; b < count; b++)
        knots[3 + b] = (float)(lo + (hi - lo) * (double)b / (double)(count - 1));
    set_ends(knots + 3, count);
}

wm_status wmi_knots_of(int64_t n, int64_t dim, const float *x, int64_t bases, float *knots,
                       wm_error *err)
{
    const int64_t count = bases - 2, per = bases + 4; /* breaks, of which the ends count too */
    float *v = NULL;
    wm_status st;

    if (n < 2 || bases < 4)
        return wmi_fail(err, WM_EINVAL, "splines of %lld bases from %lld rows: at least 4 and 2",
                        (long long)bases, (long long)n);
    if ((st = wmi_alloc(&v, n, sizeof *v, "column", err)))
        return st;
    for (int64_t j = 0; j < dim; j++) {
        float *k = knots + j * per + 3;

        for (int64_t i = 0; i < n; i++)
            v[i] = x[i * dim + j];
        qsort(v, (size_t)n, sizeof *v, by_value);
        set_breaks(n, v, count, k);
        set_ends(k, count);
    }
    wmi_free(v);
    return WM_OK;
}
