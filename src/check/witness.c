/* witness.c - extremely randomized trees beside log r (witness.h; Geurts, Ernst and Wehenkel 2006).
 */
#include "check/witness.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/order.h"
#include "base/rng.h"
#include "base/sums.h"

enum {
    BINS = 64,   /* of a column */
    TREES = 200, /* each of half the pairs: the others are asked */
    LEAF = 5,    /* rows, at least */
    CUTS = 10,   /* at random, of which the best is made */
    DEPTH = 40,  /* cuts in a row, at most */
    LEAST_PAIRS = 100,
};

typedef struct forest {
    const wmi_witness_rows *rows;
    uint8_t *bin;     /* (d, 2 n) */
    int64_t *list;    /* (2 n) rows of a tree, leaf by leaf, and rows that it is asked about */
    int64_t *scratch; /* (2 n) */
    double *sum;      /* (2 n) of what trees say */
    int64_t *asked;   /* (2 n) how many have said it */
    int64_t cuts;
    wmi_rng rng;
    uint64_t drawn;
} forest;

static int64_t draw_below(forest *f, int64_t bound)
{
    return wmi_rng_below(&f->rng, f->drawn++, bound);
}

/* Every column as the number of quantiles that are below. */
static wm_status fill_bins(forest *f, wm_error *err)
{
    const int64_t n = f->rows->n, d = f->rows->d;
    double *sorted = NULL, edge[BINS - 1];
    wm_status st = wmi_alloc(&sorted, 2 * n, sizeof *sorted, "column", err);

    for (int64_t j = 0; j < d && !st; j++) {
        for (int64_t i = 0; i < 2 * n; i++)
            sorted[i] = f->rows->x[i >= n][(i % n) * d + j];
        wmi_sort_f64(sorted, 2 * n);
        for (int64_t b = 1; b < BINS; b++)
            edge[b - 1] = sorted[2 * n * b / BINS];
        for (int64_t i = 0; i < 2 * n; i++) {
            const double v = f->rows->x[i >= n][(i % n) * d + j];
            int64_t lo = 0, hi = BINS - 1;

            while (lo < hi) {
                const int64_t mid = (lo + hi) / 2;

                if (v < edge[mid])
                    hi = mid;
                else
                    lo = mid + 1;
            }
            f->bin[j * 2 * n + i] = (uint8_t)lo;
        }
    }
    wmi_free(sorted);
    return st;
}

/* ---- one tree ---- */

/* Rows of a node: those that the tree is grown from, and behind them those that it is asked about.
 */
typedef struct node {
    int64_t *list, grown, count;
} node;

static double purity(double own, double all)
{
    return own * own / all + (all - own) * (all - own) / all;
}

/* A cut through one of the rows at random; how pure the two sides are, or -1 if it leaves too few
 * on one. */
static double try_cut(forest *f, const node *w, int64_t *column, uint8_t *cut)
{
    const int64_t n = f->rows->n;
    double all[2] = {0, 0}, own[2] = {0, 0};

    *column = draw_below(f, f->rows->d);
    const uint8_t *bin = f->bin + *column * 2 * n;

    *cut = bin[w->list[draw_below(f, w->grown)]];
    for (int64_t i = 0; i < w->grown; i++) {
        const int64_t r = w->list[i];
        const int side = bin[r] > *cut;

        all[side]++;
        own[side] += r < n;
    }
    return all[0] < LEAF || all[1] < LEAF ? -1 : purity(own[0], all[0]) + purity(own[1], all[1]);
}

/* Rows at most `cut` to the front; how many. */
static int64_t split(const uint8_t *bin, uint8_t cut, int64_t *list, int64_t count)
{
    int64_t at = 0;

    for (int64_t i = 0; i < count; i++)
        if (bin[list[i]] <= cut) {
            const int64_t r = list[i];

            list[i] = list[at];
            list[at++] = r;
        }
    return at;
}

static void answer(forest *f, const node *w)
{
    double own = 0;

    for (int64_t i = 0; i < w->grown; i++)
        own += w->list[i] < f->rows->n;
    for (int64_t i = w->grown; i < w->count; i++) {
        f->sum[w->list[i]] += (own + 1) / (double)(w->grown + 2);
        f->asked[w->list[i]]++;
    }
}

/* Its rows that go below the cut, grown and asked, to the front; those that go above behind them.
 */
static void cut_node(const forest *f, const node *w, int64_t column, uint8_t cut, node below[1],
                     node above[1])
{
    const uint8_t *bin = f->bin + column * 2 * f->rows->n;
    const int64_t grown = split(bin, cut, w->list, w->grown);
    const int64_t asked = split(bin, cut, w->list + w->grown, w->count - w->grown);
    const size_t rest = (size_t)(w->grown - grown) * sizeof *w->list;

    memcpy(f->scratch, w->list + grown, rest);
    memmove(w->list + grown, w->list + w->grown, (size_t)asked * sizeof *w->list);
    memcpy(w->list + grown + asked, f->scratch, rest);
    *below = (node){w->list, grown, grown + asked};
    *above = (node){w->list + grown + asked, w->grown - grown, w->count - grown - asked};
}

static void grow(forest *f, const node *w, int depth)
{
    double best = -1;
    int64_t column = -1;
    uint8_t cut = 0;
    node below, above;

    if (w->count == w->grown) /* nobody asks */
        return;
    for (int64_t c = 0; c < f->cuts && depth < DEPTH && w->grown >= 2 * LEAF; c++) {
        int64_t j;
        uint8_t at;
        const double own = try_cut(f, w, &j, &at);

        if (own > best) {
            best = own;
            column = j;
            cut = at;
        }
    }
    if (column < 0) {
        answer(f, w);
        return;
    }
    cut_node(f, w, column, cut, &below, &above);
    grow(f, &below, depth + 1);
    grow(f, &above, depth + 1);
}

static void add_tree(forest *f)
{
    const int64_t n = f->rows->n;
    node root = {.list = f->list};
    int64_t *others = f->scratch, count = 0;

    for (int64_t i = 0; i < n; i++)
        if (draw_below(f, 2)) {
            f->list[root.grown++] = i;
            f->list[root.grown++] = n + i;
        } else {
            others[count++] = i;
            others[count++] = n + i;
        }
    memcpy(f->list + root.grown, others, (size_t)count * sizeof *others);
    root.count = 2 * n;
    grow(f, &root, 0);
}

/* log-ratio by the trees that have not seen the row. */
static double forest_at(const forest *f, int64_t r)
{
    const double p = f->asked[r] ? f->sum[r] / (double)f->asked[r] : 0.5; /* never 0 or 1 */

    return log(p / (1 - p));
}

wm_status wmi_witness_ask(wmi_witness *out, const wmi_witness_rows *rows, uint64_t seed,
                          wm_error *err)
{
    const int64_t n = rows->n;
    forest f = {.rows = rows,
                .cuts = rows->d < CUTS ? rows->d : CUTS,
                .rng = wmi_rng_make(seed, "witness")};
    double *gain = NULL, mean = 0, var = 0;
    wm_status st;

    *out = (wmi_witness){0};
    if (n < LEAST_PAIRS)
        return WM_OK;
    if ((st = wmi_alloc(&f.bin, rows->d * 2 * n, 1, "bins", err)) ||
        (st = wmi_alloc(&f.list, 2 * n, sizeof *f.list, "rows", err)) ||
        (st = wmi_alloc(&f.scratch, 2 * n, sizeof *f.scratch, "rows", err)) ||
        (st = wmi_alloc(&f.sum, 2 * n, sizeof *f.sum, "answers", err)) ||
        (st = wmi_alloc(&f.asked, 2 * n, sizeof *f.asked, "answers", err)) ||
        (st = wmi_alloc(&gain, n, sizeof *gain, "gains", err)) || (st = fill_bins(&f, err)))
        goto done;
    for (int k = 0; k < TREES; k++)
        add_tree(&f);
    for (int64_t i = 0; i < n; i++) {
        const double a = rows->log_r[0][i], b = rows->log_r[1][i];

        gain[i] = wmi_log1pexp(-a) + wmi_log1pexp(b) - wmi_log1pexp(-0.5 * (a + forest_at(&f, i))) -
                  wmi_log1pexp(0.5 * (b + forest_at(&f, n + i)));
        mean += gain[i] / (double)n;
    }
    for (int64_t i = 0; i < n; i++)
        var += (gain[i] - mean) * (gain[i] - mean) / (double)n;
    *out = (wmi_witness){mean, sqrt(var / (double)n)};
done:
    wmi_free(gain);
    wmi_free(f.asked);
    wmi_free(f.sum);
    wmi_free(f.scratch);
    wmi_free(f.list);
    wmi_free(f.bin);
    return st;
}
