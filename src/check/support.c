/* support.c - company and borders (support.h). */
#include "check/support.h"

#include <math.h>
#include <string.h>

#include "base/order.h"

enum {
    COMPANY = 20,       /* neighbours, and rows on either side of a border */
    ASKED = 500,        /* rows of p whose company is looked for */
    AMONG = 4000,       /* rows of each table that it is looked for among */
    MOST_COLUMNS = 10,  /* distances say nothing in more */
    BORDER_COLUMNS = 3, /* in more, a ball at the rim of any cloud holds many rows */
    LEAST_BORDER = 100  /* one of so many rows is next to it: less may be a rim's chance */
};

/* The least k of the values that it is shown, ascending. */
typedef struct lowest {
    int64_t k, n;
    double value[3 * COMPANY];
} lowest;

static void show(lowest *l, double v)
{
    int64_t at;

    if (l->n == l->k && v >= l->value[l->n - 1])
        return;
    at = l->n < l->k ? l->n++ : l->n - 1;
    for (; at > 0 && l->value[at - 1] > v; at--)
        l->value[at] = l->value[at - 1];
    l->value[at] = v;
}

/* ---- one column ---- */

/* A column of a table, seen from one of its ends. */
typedef struct column {
    int64_t n, stride;
    const double *x;
    double sign;
} column;

static double value_at(const column *c, int64_t i)
{
    return c->sign * c->x[i * c->stride];
}

/* How many values lie in (from, to]. */
static int64_t count_between(const column *c, double from, double to)
{
    int64_t count = 0;

    for (int64_t i = 0; i < c->n; i++)
        count += value_at(c, i) > from && value_at(c, i) <= to;
    return count;
}

/* Rows of p that lie above the largest of q, where q ends abruptly and p goes on as before. Near an
 * abrupt end rows are as many in the last half of a stretch as in the one before; in a tail, where
 * 40 rows thin out to one, there are a seventh of them. */
static int64_t behind_the_end(const column *p, const column *q)
{
    lowest next = {.k = 3 * COMPANY};
    double last = -INFINITY, reach;
    int64_t above = 0, below;

    for (int64_t i = 0; i < q->n; i++)
        last = fmax(last, value_at(q, i));
    for (int64_t i = 0; i < p->n; i++)
        if (value_at(p, i) > last) {
            above++;
            show(&next, value_at(p, i));
        }
    if (above < next.k)
        return 0;
    reach = next.value[next.k - 1] - last; /* so far beyond p has 60 rows */
    below = count_between(q, last - reach, last);
    return below >= 2 * COMPANY && 3 * count_between(q, last - reach / 2, last) >= below &&
                   count_between(p, last - reach, last) >= COMPANY
               ? above
               : 0;
}

/* The same of column j at both ends. */
static int64_t behind_ends(const int64_t n[2], int64_t d, const double *const x[2], int64_t j)
{
    int64_t most = 0;

    for (int sign = 1; sign >= -1; sign -= 2) {
        const int64_t count =
            behind_the_end(&(column){n[0], d, x[0] + j, sign}, &(column){n[1], d, x[1] + j, sign});

        most = count > most ? count : most;
    }
    return most;
}

/* ---- all columns ---- */

static double distance2(int64_t d, const double *a, const double *b)
{
    double sum = 0;

    for (int64_t j = 0; j < d; j++)
        sum += (a[j] - b[j]) * (a[j] - b[j]);
    return sum;
}

/* Squared distance of row `from` to its COMPANY-th neighbour among n rows. Rows at the same place
 * are none: where many share their values they say nothing of how far the next ones are. */
static double reach_of(int64_t n, int64_t d, const double *x, int64_t from)
{
    lowest nearest = {.k = COMPANY};

    for (int64_t i = 0; i < n; i++) {
        const double r2 = distance2(d, x + i * d, x + from * d);

        if (r2 > 0)
            show(&nearest, r2);
    }
    return nearest.n == COMPANY ? nearest.value[COMPANY - 1] : INFINITY;
}

/* How many of n rows are no farther from a point than that, and which is the nearest of all. */
static int64_t count_near(int64_t n, int64_t d, const double *x, const double *point, double reach2,
                          int64_t *nearest, double *least)
{
    int64_t count = 0;

    *least = INFINITY;
    for (int64_t i = 0; i < n; i++) {
        const double r2 = distance2(d, x + i * d, point);

        count += r2 <= reach2;
        if (r2 < *least) {
            *least = r2;
            *nearest = i;
        }
    }
    return count;
}

/* Shares of the rows of p that are alone, and that are next to a border: the nearest row of q is
 * no farther than twice the reach, and has as many rows of q within the reach as p has here; and
 * the reach is no more than usual, as it is at the rim of p. Neighbours in p are looked for among
 * as many rows as q has: where p has sixty times as many, its twenty nearest are nearer than any of
 * q, were the two the same. */
static void look_around(wmi_support *out, const int64_t n[2], int64_t d, const double *const x[2])
{
    const int64_t among[] = {n[0] < AMONG ? n[0] : AMONG, n[1] < AMONG ? n[1] : AMONG};
    const int64_t asked = among[0] < ASKED ? among[0] : ASKED;
    const int64_t fewer = among[0] < among[1] ? among[0] : among[1];
    int64_t alone = 0, border = 0;
    double reach2[ASKED] = {0}, sorted[ASKED], usual2;

    for (int64_t i = 0; i < asked; i++)
        reach2[i] = reach_of(fewer, d, x[0], i);
    memcpy(sorted, reach2, (size_t)asked * sizeof *sorted);
    wmi_sort_f64(sorted, asked);
    usual2 = sorted[asked / 2];
    for (int64_t i = 0; i < asked; i++) {
        int64_t nearest = 0, ignored;
        double least, own;

        if (count_near(among[1], d, x[1], x[0] + i * d, reach2[i], &nearest, &least))
            continue;
        alone++;
        border +=
            d <= BORDER_COLUMNS && least < 4 * reach2[i] && reach2[i] < 2 * usual2 &&
            count_near(among[1], d, x[1], x[1] + nearest * d, reach2[i], &ignored, &own) > COMPANY;
    }
    out->alone = (double)alone / (double)asked;
    if ((double)border > out->beyond * (double)asked && border * LEAST_BORDER >= asked) {
        out->beyond = (double)border / (double)asked;
        out->column = -1;
    }
}

void wmi_support_of(wmi_support *out, const int64_t n[2], int64_t d, const double *const x[2])
{
    *out = (wmi_support){.column = -1};
    if (n[0] <= COMPANY || n[1] <= COMPANY)
        return;
    for (int64_t j = 0; j < d; j++) {
        const double share = (double)behind_ends(n, d, x, j) / (double)n[0];

        if (share > out->beyond) {
            out->beyond = share;
            out->column = j;
        }
    }
    if (d <= MOST_COLUMNS)
        look_around(out, n, d, x);
}
