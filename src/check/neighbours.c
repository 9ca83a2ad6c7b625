/* neighbours.c - Kraskov's first estimate by a plain search, with its distance from log r
 * (neighbours.h). */
#include "check/neighbours.h"

#include <math.h>

#include "base/alloc.h"
#include "base/special.h"

enum {
    K = 4,           /* neighbours */
    LEAST_ROWS = 50, /* below, distances say nothing */
};
/* Errors of rows that are neighbours of each other go together: the variance of their mean is about
 * twice that of as many independent ones. */
static const double TOGETHER = 2;

static double distance(int64_t d, const double *a, const double *b)
{
    double most = 0;

    for (int64_t j = 0; j < d; j++) {
        const double own = fabs(a[j] - b[j]);

        most = own > most ? own : most;
    }
    return most;
}

/* What row i says; near (2, n) is scratch. */
static double local(const wmi_neighbours_rows *r, int64_t i, double *near)
{
    const int64_t n = r->n, d = r->d;
    double least[K]; /* in order */
    int64_t closer[2] = {0, 0};

    for (int k = 0; k < K; k++)
        least[k] = INFINITY;
    for (int64_t j = 0; j < n; j++) {
        const double *a = r->x + i * d, *b = r->x + j * d;
        const double u = distance(r->pairs, a, b),
                     v = distance(d - r->pairs, a + r->pairs, b + r->pairs);
        const double both = u > v ? u : v;
        int at = K - 1;

        near[j] = u;
        near[n + j] = v;
        if (j == i || both >= least[K - 1])
            continue;
        for (; at > 0 && least[at - 1] > both; at--)
            least[at] = least[at - 1];
        least[at] = both;
    }
    for (int64_t j = 0; j < n; j++)
        if (j != i) {
            closer[0] += near[j] < least[K - 1];
            closer[1] += near[n + j] < least[K - 1];
        }
    return wmi_psi(K) + wmi_psi((double)n) - wmi_psi((double)closer[0] + 1) -
           wmi_psi((double)closer[1] + 1);
}

wm_status wmi_neighbours_ask(wmi_neighbours *out, const wmi_neighbours_rows *rows, wm_error *err)
{
    const int64_t n = rows->n;
    double *near = NULL, *more = NULL, squares = 0;
    wm_status st;

    *out = (wmi_neighbours){0};
    if (n < LEAST_ROWS)
        return WM_OK;
    if ((st = wmi_alloc(&near, 2 * n, sizeof *near, "distances", err)) ||
        (st = wmi_alloc(&more, n, sizeof *more, "neighbours", err)))
        goto done;
    for (int64_t i = 0; i < n; i++) {
        const double own = local(rows, i, near);

        out->value += own / (double)n;
        more[i] = own - rows->log_r[i];
        out->more += more[i] / (double)n;
    }
    for (int64_t i = 0; i < n; i++)
        squares += (more[i] - out->more) * (more[i] - out->more) / (double)n;
    out->se = sqrt(TOGETHER * squares / (double)n);
done:
    wmi_free(more);
    wmi_free(near);
    return st;
}
