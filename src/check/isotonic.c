/* isotonic.c - pool adjacent violators over scores in ascending order (isotonic.h). */
#include "check/isotonic.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/alloc.h"

typedef struct scored {
    double score;
    int64_t num, den; /* rows of either side that have it */
} scored;

static int by_score(const void *a, const void *b)
{
    const double x = ((const scored *)a)->score, y = ((const scored *)b)->score;

    return (x > y) - (x < y);
}

/* Rows with the same score are one: no step parts them. Returns how many are left. */
static int64_t merge_equal(scored *s, int64_t n)
{
    int64_t kept = 0;

    for (int64_t i = 1; i < n; i++)
        if (s[i].score == s[kept].score) {
            s[kept].num += s[i].num;
            s[kept].den += s[i].den;
        } else {
            s[++kept] = s[i];
        }
    return kept + 1;
}

/* Half a row on each side: a step without rows of one side has a finite ratio. */
static double rows_of(int64_t count)
{
    return (double)count + 0.5;
}

/* Whether a, which stands before b, has at least its ratio: then they are one step. */
static bool violates(const scored *a, const scored *b)
{
    return rows_of(a->num) * rows_of(b->den) >= rows_of(b->num) * rows_of(a->den);
}

static int64_t pool(scored *s, int64_t n)
{
    int64_t top = 0;

    for (int64_t i = 1; i < n; i++) {
        s[++top] = s[i];
        while (top > 0 && violates(&s[top - 1], &s[top])) {
            s[top - 1].num += s[top].num;
            s[top - 1].den += s[top].den;
            top--;
        }
    }
    return top + 1;
}

wm_status wmi_isotonic_fit(wmi_isotonic *f, int64_t n_num, const double *num, int64_t n_den,
                           const double *den, wm_error *err)
{
    const int64_t n = n_num + n_den;
    scored *s = NULL;
    wm_status st = wmi_alloc(&s, n, sizeof *s, "scores", err);

    if (st)
        return st;
    for (int64_t i = 0; i < n; i++)
        s[i] = i < n_num ? (scored){num[i], 1, 0} : (scored){den[i - n_num], 0, 1};
    qsort(s, (size_t)n, sizeof *s, by_score);
    f->steps = pool(s, merge_equal(s, n));
    if ((st = wmi_alloc(&f->from, f->steps, sizeof *f->from, "steps", err)) ||
        (st = wmi_alloc(&f->log_r, f->steps, sizeof *f->log_r, "steps", err)) ||
        (st = wmi_alloc(&f->var, f->steps, sizeof *f->var, "steps", err)))
        goto done;
    for (int64_t b = 0; b < f->steps; b++) {
        const double p = rows_of(s[b].num), q = rows_of(s[b].den);

        f->from[b] = s[b].score;
        f->log_r[b] = log(p / (double)(n_num + 1)) - log(q / (double)(n_den + 1));
        f->var[b] = 1 / p + 1 / q;
    }
done:
    wmi_free(s);
    return st;
}

void wmi_isotonic_free(wmi_isotonic *f)
{
    wmi_free(f->from);
    wmi_free(f->log_r);
    wmi_free(f->var);
    *f = (wmi_isotonic){0};
}

int64_t wmi_isotonic_step(const wmi_isotonic *f, double score)
{
    int64_t lo = 0, hi = f->steps; /* from[lo] <= score < from[hi] */

    while (hi - lo > 1) {
        const int64_t mid = lo + (hi - lo) / 2;

        if (f->from[mid] <= score)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}
