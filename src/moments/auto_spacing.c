/* auto_spacing.c - the length of the curve of waymarks, by halving segments until they are short.
 */
#include "moments/auto_spacing.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"

enum {
    COARSE = 8,  /* segments to begin with: a curve that comes back is not taken for a short one */
    DEPTH = 44,  /* halvings: waymarks as near to an end as 1e-14 */
    MOST = 1000, /* segments in all; columns of many dimensions get fewer */
};
static const double SHORT = 0.5; /* length that a segment may have */

typedef struct divider {
    wmi_alpha_path *path;
    int64_t d, room; /* segments that the path can hold */
    const wmi_end_moments *m0, *mm;
    const int64_t *columns;
    double *coef; /* (2, d) */
    wmi_gaussian at[DEPTH + 2];
} divider;

static wm_status place(divider *w, int depth, double alpha, wm_error *err)
{
    double *a = w->coef, *b = w->coef + w->d;

    for (int64_t j = 0; j < w->d; j++) {
        const bool linear = !w->columns || w->columns[j] == WM_COLUMN_LINEAR;

        a[j] = linear ? sqrt(1 - alpha * alpha) : 1;
        b[j] = linear ? alpha : 0;
    }
    if (!w->at[depth].mean) {
        wm_status st = wmi_gaussian_new(&w->at[depth], w->d, err);

        if (st)
            return st;
    }
    return wmi_gaussian_at(&w->at[depth], w->d, w->m0, w->mm, a, b, 0, err);
}

static void add_segment(wmi_alpha_path *p, double to, double length)
{
    p->n++;
    p->length += length;
    p->alpha[p->n] = to;
    p->until[p->n] = p->length;
}

/* From the Gaussian in slot `lo` at alpha `from` to that in slot 1 + depth at `to`: halves the way
 * until it is short. Slot 0 always holds the end of what has been walked. */
static wm_status divide(divider *w, double from, double to, int depth, wm_error *err)
{
    const double length = sqrt(wmi_gaussian_divergence(w->d, &w->at[0], &w->at[1 + depth]));
    const double half = 0.5 * (from + to);
    wm_status st;

    if (length > SHORT && depth < DEPTH - 1 && w->path->n + depth + COARSE < w->room &&
        half > from && half < to) {
        if ((st = place(w, 2 + depth, half, err)) || (st = divide(w, from, half, depth + 1, err)))
            return st;
        return divide(w, half, to, depth, err);
    }
    add_segment(w->path, to, length);
    const wmi_gaussian was = w->at[0];

    w->at[0] = w->at[1 + depth]; /* the next segment begins here */
    w->at[1 + depth] = was;
    return WM_OK;
}

wm_status wmi_alpha_path_new(wmi_alpha_path *p, int64_t d, const wmi_end_moments *m0,
                             const wmi_end_moments *mm, const int64_t *columns, wm_error *err)
{
    const int64_t affordable = (int64_t)(4e9 / ((double)d * (double)d * (double)d + 1));
    divider w = {.path = p, .d = d, .m0 = m0, .mm = mm, .columns = columns};
    wm_status st;

    *p = (wmi_alpha_path){0};
    w.room = affordable < 5 * COARSE ? 5 * COARSE : affordable > MOST ? MOST : affordable;
    if ((st = wmi_alloc(&p->alpha, w.room + DEPTH, sizeof *p->alpha, "path", err)) ||
        (st = wmi_alloc(&p->until, w.room + DEPTH, sizeof *p->until, "path", err)) ||
        (st = wmi_alloc(&w.coef, 2 * d, sizeof *w.coef, "path", err)) ||
        (st = place(&w, 0, 0, err)))
        goto done;
    for (int64_t i = 0; i < COARSE; i++) {
        const double from = (double)i / COARSE, to = (double)(i + 1) / COARSE;

        if ((st = place(&w, 1, to, err)) || (st = divide(&w, from, to, 0, err)))
            goto done;
    }
done:
    for (int i = 0; i < DEPTH + 2; i++)
        wmi_gaussian_free(&w.at[i]);
    wmi_free(w.coef);
    if (st)
        wmi_alpha_path_free(p);
    return st;
}

void wmi_alpha_path_free(wmi_alpha_path *p)
{
    wmi_free(p->alpha);
    wmi_free(p->until);
    *p = (wmi_alpha_path){0};
}

int64_t wmi_alpha_path_bridges(const wmi_alpha_path *p, int64_t most)
{
    const double m = ceil(p->length / WMI_BRIDGE_LENGTH);

    return m < 1 ? 1 : m > (double)most ? most : (int64_t)m;
}

/* Length of curve up to alpha, and back. */
static double length_at(const wmi_alpha_path *p, double alpha)
{
    int64_t i = 0;

    while (i < p->n - 1 && p->alpha[i + 1] < alpha)
        i++;
    return p->until[i] + (p->until[i + 1] - p->until[i]) * (alpha - p->alpha[i]) /
                             (p->alpha[i + 1] - p->alpha[i]);
}

static double alpha_at(const wmi_alpha_path *p, double length)
{
    int64_t i = 0;

    while (i < p->n - 1 && p->until[i + 1] < length)
        i++;
    const double share = (length - p->until[i]) / fmax(p->until[i + 1] - p->until[i], 1e-300);

    return p->alpha[i] + fmin(share, 1) * (p->alpha[i + 1] - p->alpha[i]);
}

double wmi_alpha_path_between(const wmi_alpha_path *p, double from, double to)
{
    return length_at(p, to) - length_at(p, from);
}

double wmi_alpha_path_half(const wmi_alpha_path *p, double from, double to)
{
    const double a = length_at(p, from), b = length_at(p, to);
    const double half =
        b - a > 0.1 ? alpha_at(p, 0.5 * (a + b)) : sin(0.5 * (asin(from) + asin(to)));

    return half > from && half < to ? half : 0.5 * (from + to);
}

void wmi_alpha_path_alphas(const wmi_alpha_path *p, int64_t m, wm_alphas *out)
{
    out->bridges = m;
    out->alpha[0] = 0;
    for (int64_t k = 1; k < m; k++) {
        const double share = (double)k / (double)m;

        /* the ends are the same: any spacing will do */
        out->alpha[k] = p->length > 1e-9 ? alpha_at(p, p->length * share) : share;
        if (!(out->alpha[k] > out->alpha[k - 1])) /* many bridges in one tiny segment */
            out->alpha[k] = out->alpha[k - 1] + (1 - out->alpha[k - 1]) * 1e-9;
    }
    out->alpha[m] = 1;
}
