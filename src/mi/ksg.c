/* ksg.c - k-d trees in the maximum norm, counts in the marginals, and the estimate (ksg.h).
 *
 * Distances are compared as the machine rounds them. Rounding keeps order, so the distance to a box
 * is never above that to a point in it, and the tree finds what a plain search over all rows would:
 * to the last bit, which the tests hold it to. */
#include "mi/ksg.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/order.h"
#include "base/rng.h"
#include "base/special.h"
#include "base/sums.h"
#include "waymark/sink.h"

enum {
    LEAF = 16,      /* rows in a leaf, at most */
    MAX_K = 64,     /* neighbours, at most: they are kept in order by insertion */
    CHUNK = 1024,   /* rows between two looks at *stop */
    MIN_BLOCK = 50, /* rows in a block for the standard error */
    MAX_DEPTH = 64  /* of a tree: halves of 2^63 rows */
};

/* ---- a k-d tree ---- */

/* fmax() and fmin() are calls, for the sake of NaN, of which there are none here. */
static inline double larger(double a, double b)
{
    return a > b ? a : b;
}

static inline double smaller(double a, double b)
{
    return a < b ? a : b;
}

/* Nodes stand in the order that visits a node before its children: the left child is the
 * next node, the right one is named. */
typedef struct tree_node {
    int64_t first, count; /* rows of the tree's own order */
    int64_t right;        /* child; 0 in a leaf */
} tree_node;

typedef struct tree {
    int64_t n, dim, n_nodes;
    tree_node *nodes;
    double *boxes; /* (nodes, 2, dim): lowest and highest values */
    double *x;     /* (n, dim) rows in the order of the leaves */
    int64_t *row;  /* (n) which row each of them was */
} tree;

static void tree_free(tree *t)
{
    wmi_free(t->nodes);
    wmi_free(t->boxes);
    wmi_free(t->x);
    wmi_free(t->row);
    *t = (tree){0};
}

/* Rearranges row[lo .. hi) so that row[mid] has its place by column c and smaller ones come before
 * (Hoare's selection). The pivot depends on nothing but the data. */
static void select_row(int64_t *row, int64_t lo, int64_t hi, int64_t mid, const double *x,
                       int64_t dim, int64_t c)
{
    hi--;
    while (lo < hi) {
        const double a = x[row[lo] * dim + c], b = x[row[lo + (hi - lo) / 2] * dim + c],
                     z = x[row[hi] * dim + c];
        const double pivot =
            larger(smaller(a, b), smaller(larger(a, b), z)); /* the median of the three */
        int64_t i = lo, j = hi;

        while (i <= j) {
            while (x[row[i] * dim + c] < pivot)
                i++;
            while (x[row[j] * dim + c] > pivot)
                j--;
            if (i <= j) {
                const int64_t kept = row[i];

                row[i++] = row[j];
                row[j--] = kept;
            }
        }
        if (mid <= j)
            hi = j;
        else if (mid >= i)
            lo = i;
        else
            return;
    }
}

/* The box of rows [first, first + count), and its widest column. */
static int64_t measure(const tree *t, const double *x, int64_t first, int64_t count, double *box)
{
    const int64_t d = t->dim;
    double *lo = box, *hi = box + d, most = -1;
    int64_t widest = 0;

    for (int64_t c = 0; c < d; c++)
        lo[c] = hi[c] = x[t->row[first] * d + c];
    for (int64_t i = first + 1; i < first + count; i++)
        for (int64_t c = 0; c < d; c++) {
            lo[c] = smaller(lo[c], x[t->row[i] * d + c]);
            hi[c] = larger(hi[c], x[t->row[i] * d + c]);
        }
    for (int64_t c = 0; c < d; c++)
        if (hi[c] - lo[c] > most) {
            most = hi[c] - lo[c];
            widest = c;
        }
    return widest;
}

/* Halves the rows by the widest column until they fit a leaf. Returns the node. */
static int64_t grow(tree *t, const double *x, int64_t first, int64_t count)
{
    const int64_t at = t->n_nodes++, half = count / 2;
    const int64_t c = measure(t, x, first, count, t->boxes + at * 2 * t->dim);

    t->nodes[at] = (tree_node){first, count, 0};
    if (count > LEAF) {
        select_row(t->row, first, first + count, first + half, x, t->dim, c);
        (void)grow(t, x, first, half);
        t->nodes[at].right = grow(t, x, first + half, count - half);
    }
    return at;
}

static wm_status tree_make(tree *t, int64_t n, int64_t dim, const double *x, wm_error *err)
{
    const int64_t most = 4 * (n / LEAF + 1); /* leaves hold more than LEAF / 2 rows */
    wm_status st;

    *t = (tree){.n = n, .dim = dim};
    if ((st = wmi_alloc(&t->nodes, most, sizeof *t->nodes, "tree", err)) ||
        (st = wmi_alloc(&t->boxes, most * 2 * dim, sizeof *t->boxes, "tree", err)) ||
        (st = wmi_alloc(&t->x, n * dim, sizeof *t->x, "rows of a tree", err)) ||
        (st = wmi_alloc(&t->row, n, sizeof *t->row, "rows of a tree", err)))
        return st;
    for (int64_t i = 0; i < n; i++)
        t->row[i] = i;
    (void)grow(t, x, 0, n);
    for (int64_t i = 0; i < n; i++)
        memcpy(t->x + i * dim, x + t->row[i] * dim, (size_t)dim * sizeof *x);
    return WM_OK;
}

/* Distance of two rows; once above `enough` its exact value does not matter. */
static double distance(int64_t dim, const double *a, const double *b, double enough)
{
    double d = 0;

    for (int64_t c = 0; c < dim && d <= enough; c++)
        d = larger(d, fabs(a[c] - b[c]));
    return d;
}

/* Nearest and farthest distance of q from a point of the box. */
static double box_near(int64_t dim, const double *box, const double *q)
{
    double d = 0;

    for (int64_t c = 0; c < dim; c++)
        d = larger(d, larger(box[c] - q[c], q[c] - box[dim + c]));
    return d;
}

static double box_far(int64_t dim, const double *box, const double *q)
{
    double d = 0;

    for (int64_t c = 0; c < dim; c++)
        d = larger(d, larger(q[c] - box[c], box[dim + c] - q[c]));
    return d;
}

/* ---- what is asked of it ---- */

/* The k smallest distances so far, increasing. */
typedef struct nearest {
    int64_t k, self; /* self: the row that asks, which does not count */
    double d[MAX_K];
} nearest;

static void take(nearest *s, double d)
{
    int64_t i = s->k - 1;

    for (; i > 0 && s->d[i - 1] > d; i--)
        s->d[i] = s->d[i - 1];
    s->d[i] = d;
}

static void search_leaf(const tree *t, const tree_node *nd, const double *q, nearest *s)
{
    for (int64_t i = nd->first; i < nd->first + nd->count; i++) {
        const double worst = s->d[s->k - 1], d = distance(t->dim, t->x + i * t->dim, q, worst);

        if (d < worst && t->row[i] != s->self)
            take(s, d);
    }
}

/* Distance of the k-th nearest row to q, the row `self` itself left out. */
static double kth_distance(const tree *t, const double *q, int64_t self, int64_t k)
{
    int64_t open[MAX_DEPTH]; /* nodes to look at */
    double bound[MAX_DEPTH]; /* and how near they come */
    int depth = 0;
    nearest s = {.k = k, .self = self};

    for (int64_t i = 0; i < k; i++)
        s.d[i] = INFINITY;
    open[depth] = 0;
    bound[depth++] = 0;
    while (depth > 0) {
        const int64_t at = open[--depth];
        const tree_node *nd = &t->nodes[at];
        double left, right;

        if (bound[depth] >= s.d[k - 1])
            continue;
        if (!nd->right) {
            search_leaf(t, nd, q, &s);
            continue;
        }
        left = box_near(t->dim, t->boxes + (at + 1) * 2 * t->dim, q);
        right = box_near(t->dim, t->boxes + nd->right * 2 * t->dim, q);
        open[depth] = left <= right ? nd->right : at + 1; /* the nearer is looked at first */
        bound[depth++] = larger(left, right);
        open[depth] = left <= right ? at + 1 : nd->right;
        bound[depth++] = smaller(left, right);
    }
    return s.d[k - 1];
}

/* Rows nearer than e, or, with e = 0, at distance 0. */
static bool is_near(double d, double e)
{
    return d < e || (e == 0 && d == 0);
}

/* How many rows are near q; the one that asks is among them. */
static int64_t count_near(const tree *t, const double *q, double e)
{
    int64_t open[MAX_DEPTH], found = 0;
    int depth = 0;

    open[depth++] = 0;
    while (depth > 0) {
        const int64_t at = open[--depth];
        const tree_node *nd = &t->nodes[at];
        const double *box = t->boxes + at * 2 * t->dim;

        if (!is_near(box_near(t->dim, box, q), e))
            continue;
        if (is_near(box_far(t->dim, box, q), e)) {
            found += nd->count;
        } else if (nd->right) {
            open[depth++] = nd->right;
            open[depth++] = at + 1;
        } else {
            for (int64_t i = nd->first; i < nd->first + nd->count; i++)
                found += is_near(distance(t->dim, t->x + i * t->dim, q, e), e);
        }
    }
    return found;
}

/* The same for one sorted column: the near rows are a run, whose ends two bisections find. */
static int64_t count_near_sorted(const double *x, int64_t n, double q, double e)
{
    int64_t lo = 0, hi = n, first;

    while (lo < hi) { /* the first row that is not too small */
        const int64_t mid = lo + (hi - lo) / 2;

        if (x[mid] < q && !is_near(q - x[mid], e))
            lo = mid + 1;
        else
            hi = mid;
    }
    first = lo;
    hi = n;
    while (lo < hi) { /* the first row that is too large */
        const int64_t mid = lo + (hi - lo) / 2;

        if (x[mid] <= q || is_near(x[mid] - q, e))
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo - first;
}

/* ---- the estimate ---- */

/* One side, u or v: a tree, or a sorted column. */
typedef struct marginal {
    int64_t n, dim;
    const double *x; /* (n, dim) */
    double *sorted;  /* (n) if dim is 1 */
    tree tree;
} marginal;

static wm_status marginal_make(marginal *m, int64_t n, int64_t dim, const double *x, wm_error *err)
{
    wm_status st;

    *m = (marginal){.n = n, .dim = dim, .x = x};
    if (dim > 1)
        return tree_make(&m->tree, n, dim, x, err);
    if ((st = wmi_alloc(&m->sorted, n, sizeof *m->sorted, "sorted column", err)))
        return st;
    memcpy(m->sorted, x, (size_t)n * sizeof *x);
    wmi_sort_f64(m->sorted, n);
    return WM_OK;
}

static void marginal_free(marginal *m)
{
    wmi_free(m->sorted);
    tree_free(&m->tree);
}

static int64_t marginal_count(const marginal *m, int64_t i, double e)
{
    return m->dim == 1 ? count_near_sorted(m->sorted, m->n, m->x[i], e)
                       : count_near(&m->tree, m->x + i * m->dim, e);
}

typedef struct sample {
    int64_t n, k, du, dv;
    const double *u, *v; /* (n, du), (n, dv) */
    double *w;           /* (n, du + dv) */
    double *local;       /* (n) psi of the counts of a row */
    bool *repeated;      /* (n) e_i = 0 */
    tree joint;
    marginal side[2];
} sample;

/* psi(k) - psi(n_u + 1) - psi(n_v + 1); counts include the row itself, which is the + 1. */
static void local_value(const sample *s, int64_t i)
{
    const double *q = s->w + i * (s->du + s->dv);
    const double e = kth_distance(&s->joint, q, i, s->k);
    const int64_t k = e > 0 ? s->k : count_near(&s->joint, q, 0) - 1;

    s->repeated[i] = e == 0;
    s->local[i] = wmi_psi((double)k) - wmi_psi((double)marginal_count(&s->side[0], i, e)) -
                  wmi_psi((double)marginal_count(&s->side[1], i, e));
}

static wm_status sample_open(sample *s, wm_error *err)
{
    const int64_t n = s->n, du = s->du, dv = s->dv;
    wm_status st;

    if ((st = wmi_alloc(&s->w, n * (du + dv), sizeof *s->w, "joint rows", err)) ||
        (st = wmi_alloc(&s->local, n, sizeof *s->local, "local values", err)) ||
        (st = wmi_alloc(&s->repeated, n, sizeof *s->repeated, "local values", err)))
        return st;
    for (int64_t i = 0; i < n; i++) {
        memcpy(s->w + i * (du + dv), s->u + i * du, (size_t)du * sizeof *s->w);
        memcpy(s->w + i * (du + dv) + du, s->v + i * dv, (size_t)dv * sizeof *s->w);
    }
    if ((st = tree_make(&s->joint, n, du + dv, s->w, err)) ||
        (st = marginal_make(&s->side[0], n, du, s->u, err)))
        return st;
    return marginal_make(&s->side[1], n, dv, s->v, err);
}

static void sample_close(sample *s)
{
    wmi_free(s->w);
    wmi_free(s->local);
    wmi_free(s->repeated);
    tree_free(&s->joint);
    marginal_free(&s->side[0]);
    marginal_free(&s->side[1]);
}

/* The estimate of n rows; *repeats may be NULL. done: rows that progress counts before these. */
static wm_status estimate(double *mi, double *repeats, int64_t n, int64_t du, const double *u,
                          int64_t dv, const double *v, const wmi_ksg_opts *o, wm_task *progress,
                          int64_t done, wm_error *err)
{
    sample s = {.n = n, .k = o->k, .du = du, .dv = dv, .u = u, .v = v};
    int64_t zero = 0;
    wm_status st = sample_open(&s, err);

    for (int64_t first = 0; !st && first < n; first += CHUNK) {
        const int64_t end = n - first < CHUNK ? n : first + CHUNK;

        if (o->control.stop && *o->control.stop) {
            st = wmi_fail(err, WM_EINTERRUPTED, "stopped at row %" PRId64 " of %" PRId64, first, n);
            break;
        }
#pragma omp parallel for schedule(static)
        for (int64_t i = first; i < end; i++)
            local_value(&s, s.joint.row[i]); /* neighbours in turn: their leaves are in cache */
        wm_task_update(progress, done + end, "nearest neighbours");
    }
    if (!st) {
        *mi = wmi_psi((double)n) + wmi_sum_f64(s.local, n) / (double)n;
        for (int64_t i = 0; i < n; i++)
            zero += s.repeated[i];
        if (repeats)
            *repeats = (double)zero / (double)n;
    }
    sample_close(&s);
    return st;
}

/* The standard error from estimates of disjoint blocks (ksg.h). */
static wm_status block_error(double *se, int64_t blocks, int64_t n, int64_t du, const double *u,
                             int64_t dv, const double *v, const wmi_ksg_opts *o, wm_task *progress,
                             wm_error *err)
{
    const wmi_rng rng = wmi_rng_make(o->control.seed, "ksg/blocks");
    const int64_t rows = n / blocks;
    double *bu = NULL, *bv = NULL, *mi = NULL;
    int64_t *order = NULL;
    wm_status st;

    if ((st = wmi_alloc(&bu, rows * du, sizeof *bu, "block of rows", err)) ||
        (st = wmi_alloc(&bv, rows * dv, sizeof *bv, "block of rows", err)) ||
        (st = wmi_alloc(&mi, blocks, sizeof *mi, "blocks", err)) ||
        (st = wmi_alloc(&order, n, sizeof *order, "order of rows", err)))
        goto done;
    wmi_rng_permutation(&rng, n, order);
    for (int64_t b = 0; b < blocks && !st; b++) {
        for (int64_t i = 0; i < rows; i++) {
            const int64_t from = order[b * rows + i];

            memcpy(bu + i * du, u + from * du, (size_t)du * sizeof *bu);
            memcpy(bv + i * dv, v + from * dv, (size_t)dv * sizeof *bv);
        }
        st = estimate(&mi[b], NULL, rows, du, bu, dv, bv, o, progress, n + b * rows, err);
    }
    if (!st)
        *se = sqrt(wmi_moments_f64(mi, blocks).var * ((double)rows / (double)n));
done:
    wmi_free(order);
    wmi_free(mi);
    wmi_free(bv);
    wmi_free(bu);
    return st;
}

/* Largest share over columns of rows whose value occurs again. */
static wm_status tied_share(double *tied, int64_t n, int64_t dim, const double *x, wm_error *err)
{
    double *column = NULL;
    wm_status st = wmi_alloc(&column, n, sizeof *column, "sorted column", err);

    for (int64_t c = 0; !st && c < dim; c++) {
        int64_t count = 0;

        for (int64_t i = 0; i < n; i++)
            column[i] = x[i * dim + c];
        wmi_sort_f64(column, n);
        for (int64_t i = 0; i < n; i++)
            count +=
                (i > 0 && column[i] == column[i - 1]) || (i + 1 < n && column[i] == column[i + 1]);
        *tied = fmax(*tied, (double)count / (double)n);
    }
    wmi_free(column);
    return st;
}

static wm_status check(int64_t n, int64_t du, const double *u, int64_t dv, const double *v,
                       const wmi_ksg_opts *o, wm_error *err)
{
    if (du < 1 || dv < 1)
        return wmi_fail(err, WM_ESHAPE,
                        "%" PRId64 " and %" PRId64 " columns: both sides need at least 1", du, dv);
    if (o->k < 1 || o->k > MAX_K || n <= o->k)
        return wmi_fail(err, WM_EINVAL,
                        "%" PRId64 " neighbours among %" PRId64
                        " rows: from 1 to %d are possible, and fewer than there are rows",
                        o->k, n, MAX_K);
    for (int side = 0; side < 2; side++) {
        const int64_t d = side ? dv : du;

        for (int64_t i = 0; i < n * d; i++)
            if (!isfinite((side ? v : u)[i]))
                return wmi_fail(err, WM_EINVAL,
                                "%s: row %" PRId64 ", column %" PRId64
                                " is %g: neighbours need finite values",
                                side ? "v" : "u", i / d + 1, i % d + 1, (side ? v : u)[i]);
    }
    return WM_OK;
}

void wmi_ksg_opts_init(wmi_ksg_opts *opts)
{
    *opts = (wmi_ksg_opts){.k = 3};
    wm_fit_control_init(&opts->control);
}

wm_status wmi_ksg(wmi_ksg_result *out, int64_t n, int64_t du, const double *u, int64_t dv,
                  const double *v, const wmi_ksg_opts *opts, wm_error *err)
{
    const int64_t blocks = n >= 20 * MIN_BLOCK ? 20 : n >= 10 * MIN_BLOCK ? 10 : 5;
    wmi_ksg_result r = {.se = (double)NAN};
    wm_task progress;
    wmi_ksg_opts o;
    wm_status st;

    wmi_ksg_opts_init(&o);
    if (opts)
        o = *opts;
    if ((st = check(n, du, u, dv, v, &o, err)))
        return st;
    wm_task_start(&progress, o.control.sink, "rows", 0, 2 * n);
    if ((st = tied_share(&r.tied, n, du, u, err)) || (st = tied_share(&r.tied, n, dv, v, err)) ||
        (st = estimate(&r.mi, &r.repeats, n, du, u, dv, v, &o, &progress, 0, err)))
        return st;
    if (n >= 5 * MIN_BLOCK && n / blocks > o.k &&
        (st = block_error(&r.se, blocks, n, du, u, dv, v, &o, &progress, err)))
        return st;
    wm_task_finish(&progress, 2 * n, "nearest neighbours: %.4f nats", r.mi);
    r.doubtful = r.tied > WMI_KSG_TIED_LIMIT || r.repeats > 0.01;
    *out = r;
    return WM_OK;
}
