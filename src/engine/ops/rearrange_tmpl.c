/* rearrange_tmpl.c - ops that move numbers and compute nothing: permute, slice, concat, gather and
 * the exchange of 2x2 pixels for channels. Their gradients are the same moves the other way. */
#include <inttypes.h>
#include <math.h>

#include "engine/infer.h"
#include "engine/ops.h"
#include "engine/real.h"

/* to = from, or to += from. The arrays do not overlap. */
static void move(int64_t n, const real *restrict from, real *restrict to, bool add)
{
    if (add)
        for (int64_t i = 0; i < n; i++)
            to[i] += from[i];
    else
        for (int64_t i = 0; i < n; i++)
            to[i] = from[i];
}

/* ---- permute ---- */

static wm_status permute_infer(wmi_node *nd, wm_error *err)
{
    const wmi_permute_attr *at = nd->attr;
    const wmi_shape *x = &nd->in[0]->shape;
    int64_t dim[WMI_MAX_RANK];
    unsigned seen = 0;
    for (int i = 0; i < x->rank; i++) {
        const int a = at->axis[i];
        if (a < 0 || a >= x->rank || seen >> a & 1u)
            return wmi_infer_fail(nd, err, "axis %d at place %d is %s", a, i,
                                  a < 0 || a >= x->rank ? "not an axis" : "there twice");
        seen |= 1u << a;
        dim[i] = x->dim[a];
    }
    return wmi_infer_set(nd, x->rank, dim, err);
}

/* The axes of the output, those merged that move together; steps in reals. The two inner loops run
 * along the last axis of the output and along the axis that lies densest in the input, in tiles, so
 * that neither side is read or written one number per cache line. */
typedef struct permutation {
    int rank; /* 2 or more */
    int64_t dim[WMI_MAX_RANK + 1], in[WMI_MAX_RANK + 1], out[WMI_MAX_RANK + 1];
    int dense; /* the axis with in[] == 1; may be the last */
} permutation;

enum { TILE = 32 };

static permutation permute_plan(const wmi_node *nd)
{
    const wmi_permute_attr *at = nd->attr;
    const wmi_shape *x = &nd->in[0]->shape;
    permutation p = {.rank = 1, .dim = {1}}; /* a first axis of 1, so that there are two at least */
    int64_t stride[WMI_MAX_RANK] = {0}, step = 1;
    for (int i = x->rank - 1; i >= 0; i--) {
        stride[i] = step;
        step *= x->dim[i];
    }
    for (int i = 0; i < x->rank; i++) {
        const int64_t dim = nd->shape.dim[i], in = stride[at->axis[i]];
        if (dim == 1)
            continue;
        if (p.rank > 1 && p.in[p.rank - 1] == dim * in) {
            p.dim[p.rank - 1] *= dim;
            p.in[p.rank - 1] = in;
            continue;
        }
        p.dim[p.rank] = dim;
        p.in[p.rank++] = in;
    }
    if (p.rank == 1) { /* one element */
        p.dim[1] = p.in[1] = 1;
        p.rank = 2;
    }
    step = 1;
    for (int i = p.rank - 1; i >= 0; i--) {
        p.out[i] = step;
        step *= p.dim[i];
        if (i > 0 && p.in[i] == 1)
            p.dense = i;
    }
    if (p.dense == p.rank - 1)
        p.dense = p.rank - 2; /* rows are dense on both sides: any other axis will do */
    return p;
}

/* One tile: q along the dense axis, j along the last. Moves x to y, or adds y to x where back is
 * set. */
static void permute_tile(const permutation *p, int64_t nq, int64_t nj, const real *from, real *to,
                         bool back, bool add)
{
    const int64_t last = p->in[p->rank - 1];
    const int64_t iq = back ? p->out[p->dense] : p->in[p->dense], ij = back ? 1 : last;
    const int64_t oq = back ? p->in[p->dense] : p->out[p->dense], oj = back ? last : 1;
    for (int64_t q = 0; q < nq; q++) {
        const real *f = from + q * iq;
        real *t = to + q * oq;
        if (last == 1) {
            move(nj, f, t, add);
        } else if (add) {
            for (int64_t j = 0; j < nj; j++)
                t[j * oj] += f[j * ij];
        } else {
            for (int64_t j = 0; j < nj; j++)
                t[j * oj] = f[j * ij];
        }
    }
}

static void permute(const wmi_node *nd, const real *from, real *to, bool back, bool add)
{
    const permutation p = permute_plan(nd);
    const int last = p.rank - 1;
    const int64_t nq = p.dim[p.dense], nj = p.dim[last];
    const int64_t tiles = (nq + TILE - 1) / TILE;
    const int64_t tasks = nd->n ? nd->n / (nq * nj) * tiles : 0;
#pragma omp parallel for schedule(static) num_threads(nd->run->threads) if (nd->n >= WMI_OMP_MIN)
    for (int64_t t = 0; t < tasks; t++) {
        const int64_t q = t % tiles * TILE, width = nq - q < TILE ? nq - q : TILE;
        int64_t rest = t / tiles, in = q * p.in[p.dense], out = q * p.out[p.dense];
        for (int i = last - 1; i >= 0; i--) {
            if (i == p.dense)
                continue;
            in += rest % p.dim[i] * p.in[i];
            out += rest % p.dim[i] * p.out[i];
            rest /= p.dim[i];
        }
        for (int64_t j = 0; j < nj; j += p.in[last] == 1 ? nj : TILE) {
            const int64_t n = p.in[last] == 1 || nj - j < TILE ? nj - j : TILE;
            const int64_t x = in + j * p.in[last], y = out + j;
            permute_tile(&p, width, n, from + (back ? y : x), to + (back ? x : y), back, add);
        }
    }
}

static void permute_forward(const wmi_node *nd)
{
    permute(nd, nd->in[0]->val, nd->val, false, false);
}

static void permute_backward(const wmi_node *nd)
{
    if (nd->in[0]->grad)
        permute(nd, nd->grad, nd->in[0]->grad, true, !(nd->fresh & 1u));
}

/* ---- slice and concat: runs of numbers, (outer, axis, inner) seen as (outer, axis * inner) ----
 */

typedef struct runs {
    int64_t outer, inner; /* products of the axes before and after `axis` */
} runs;

static runs runs_of(const wmi_shape *s, int axis)
{
    runs r = {1, 1};
    for (int i = 0; i < s->rank; i++) {
        if (i < axis)
            r.outer *= s->dim[i];
        else if (i > axis)
            r.inner *= s->dim[i];
    }
    return r;
}

/* `outer` runs of n numbers, each side with its own distance between runs. Long runs are cut up, so
 * that a single one still serves all threads. */
static void move_runs(const wmi_node *nd, int64_t outer, int64_t n, const real *from,
                      int64_t from_step, real *to, int64_t to_step, bool add)
{
    enum { PIECE = 8192 };
    const int64_t pieces = (n + PIECE - 1) / PIECE;
#pragma omp parallel for schedule(static)                                                          \
    num_threads(nd->run->threads) if (outer * n >= WMI_OMP_MIN)
    for (int64_t t = 0; t < outer * pieces; t++) {
        const int64_t i = t / pieces, at = t % pieces * PIECE;
        move(n - at < PIECE ? n - at : PIECE, from + i * from_step + at, to + i * to_step + at,
             add);
    }
}

static wm_status slice_infer(wmi_node *nd, wm_error *err)
{
    const wmi_slice_attr *at = nd->attr;
    const wmi_shape *x = &nd->in[0]->shape;
    wmi_shape y = *x;
    if (at->axis < 0 || at->axis >= x->rank)
        return wmi_infer_fail(nd, err, "axis %d does not exist", at->axis);
    if (at->start < 0 || at->stop < at->start || at->stop > x->dim[at->axis])
        return wmi_infer_fail(nd, err, "[%" PRId64 ", %" PRId64 ") is not within axis %d",
                              at->start, at->stop, at->axis);
    y.dim[at->axis] = at->stop - at->start;
    return wmi_infer_set(nd, y.rank, y.dim, err);
}

/* Between the slice and its place in the input. Going back adds: the rest of dx gets nothing, and
 * the engine has zeroed it where it is fresh. */
static void slice_move(const wmi_node *nd, const real *from, real *to, bool back)
{
    const wmi_slice_attr *at = nd->attr;
    const runs r = runs_of(&nd->shape, at->axis);
    const int64_t step = nd->in[0]->shape.dim[at->axis] * r.inner, first = at->start * r.inner;
    const int64_t n = nd->shape.dim[at->axis] * r.inner;
    if (back)
        move_runs(nd, r.outer, n, from, n, to + first, step, true);
    else
        move_runs(nd, r.outer, n, from + first, step, to, n, false);
}

static void slice_forward(const wmi_node *nd)
{
    slice_move(nd, nd->in[0]->val, nd->val, false);
}

static void slice_backward(const wmi_node *nd)
{
    if (nd->in[0]->grad)
        slice_move(nd, nd->grad, nd->in[0]->grad, true);
}

static wm_status concat_infer(wmi_node *nd, wm_error *err)
{
    const int axis = ((const wmi_concat_attr *)nd->attr)->axis;
    wmi_shape y;
    if (nd->n_in < 1)
        return wmi_infer_fail(nd, err, "nothing to join");
    y = nd->in[0]->shape;
    if (axis < 0 || axis >= y.rank)
        return wmi_infer_fail(nd, err, "axis %d does not exist", axis);
    for (int k = 1; k < nd->n_in; k++) {
        const wmi_shape *x = &nd->in[k]->shape;
        for (int i = 0; i < y.rank; i++)
            if (x->rank != y.rank || (i != axis && x->dim[i] != y.dim[i]))
                return wmi_infer_fail(nd, err, "input %d differs outside axis %d", k, axis);
        y.dim[axis] += x->dim[axis];
    }
    return wmi_infer_set(nd, y.rank, y.dim, err);
}

/* Between the inputs and their places in the output. */
static void concat_move(const wmi_node *nd, bool back)
{
    const int axis = ((const wmi_concat_attr *)nd->attr)->axis;
    const runs r = runs_of(&nd->shape, axis);
    const int64_t step = nd->shape.dim[axis] * r.inner;
    int64_t at = 0;
    for (int k = 0; k < nd->n_in; k++) {
        const wmi_node *in = nd->in[k];
        const int64_t n = in->shape.dim[axis] * r.inner;
        if (!back)
            move_runs(nd, r.outer, n, in->val, n, (real *)nd->val + at, step, false);
        else if (in->grad)
            move_runs(nd, r.outer, n, (const real *)nd->grad + at, step, in->grad, n,
                      !(nd->fresh >> k & 1u));
        at += n;
    }
}

static void concat_forward(const wmi_node *nd)
{
    concat_move(nd, false);
}

static void concat_backward(const wmi_node *nd)
{
    concat_move(nd, true);
}

/* ---- gather ---- */

static wm_status gather_infer(wmi_node *nd, wm_error *err)
{
    const wmi_shape *x = &nd->in[0]->shape, *index = &nd->in[1]->shape;
    const int64_t most = WMI_REAL_BITS == 32 ? INT64_C(1) << 24 : INT64_C(1) << 53;
    wmi_shape y = *x;
    if (x->rank < 1 || index->rank != 1)
        return wmi_infer_fail(nd, err, "wants rows (n, ...) and an index (k)");
    if (x->dim[0] > most)
        return wmi_infer_fail(nd, err, "a float index counts to %" PRId64 " only", most);
    y.dim[0] = index->dim[0];
    return wmi_infer_set(nd, y.rank, y.dim, err);
}

/* The row that v names, or -1. */
static int64_t row_of(real v, int64_t rows)
{
    return v >= 0 && v < (real)rows && v == floor(v) ? (int64_t)v : -1;
}

static void gather_forward(const wmi_node *nd)
{
    const int64_t rows = nd->in[0]->shape.dim[0], k = nd->shape.dim[0], n = k ? nd->n / k : 0;
    const real *x = nd->in[0]->val, *index = nd->in[1]->val; /* (rows, n), (k) */
    real *y = nd->val;                                       /* (k, n) */
#pragma omp parallel for schedule(static) num_threads(nd->run->threads) if (nd->n >= WMI_OMP_MIN)
    for (int64_t i = 0; i < k; i++) {
        const int64_t from = row_of(index[i], rows);
        if (from >= 0)
            move(n, x + from * n, y + i * n, false);
        else
            for (int64_t j = 0; j < n; j++)
                y[i * n + j] = (real)NAN;
    }
}

/* Several places may name one row. Each thread owns a range of rows of dx and reads the whole
 * index, so a row's sum is taken in index order by whichever thread has it. */
static void gather_backward(const wmi_node *nd)
{
    const int64_t rows = nd->in[0]->shape.dim[0], k = nd->shape.dim[0], n = k ? nd->n / k : 0;
    const int parts = nd->n >= WMI_OMP_MIN ? nd->run->threads : 1;
    const real *dy = nd->grad, *index = nd->in[1]->val;
    real *dx = nd->in[0]->grad;
    if (!dx)
        return;
#pragma omp parallel for schedule(static) num_threads(nd->run->threads) if (parts > 1)
    for (int part = 0; part < parts; part++) {
        const int64_t lo = rows * part / parts, hi = rows * (part + 1) / parts;
        for (int64_t i = 0; i < k; i++) {
            const int64_t to = row_of(index[i], rows);
            if (to >= lo && to < hi)
                move(n, dy + i * n, dx + to * n, true);
        }
    }
}

/* ---- 2x2 pixels to channels and back ---- */

static wm_status squeeze_infer(wmi_node *nd, wm_error *err)
{
    const wmi_shape *x = &nd->in[0]->shape;
    if (x->rank != 4 || x->dim[1] % 2 || x->dim[2] % 2)
        return wmi_infer_fail(nd, err, "wants (n, h, w, c) with even h and w");
    return wmi_infer_set(nd, 4, (int64_t[]){x->dim[0], x->dim[1] / 2, x->dim[2] / 2, 4 * x->dim[3]},
                         err);
}

static wm_status unsqueeze_infer(wmi_node *nd, wm_error *err)
{
    const wmi_shape *x = &nd->in[0]->shape;
    if (x->rank != 4 || x->dim[3] % 4)
        return wmi_infer_fail(nd, err, "wants (n, h, w, c) with c a multiple of 4");
    return wmi_infer_set(nd, 4, (int64_t[]){x->dim[0], 2 * x->dim[1], 2 * x->dim[2], x->dim[3] / 4},
                         err);
}

/* s is the shape with few pixels, (n, h, w, 4c); the other array is (n, 2h, 2w, c). */
static void exchange(const wmi_node *nd, const wmi_shape *s, const real *from, real *to,
                     bool squeeze, bool add)
{
    const int64_t rows = s->dim[0] * s->dim[1], w = s->dim[2], c = s->dim[3] / 4;
#pragma omp parallel for schedule(static) num_threads(nd->run->threads) if (nd->n >= WMI_OMP_MIN)
    for (int64_t i = 0; i < rows * w; i++) {
        for (int cell = 0; cell < 4; cell++) { /* 2 dy + dx */
            const int64_t row = 2 * (i / w) + cell / 2, col = 2 * (i % w) + cell % 2;
            const int64_t many = (row * 2 * w + col) * c, few = i * 4 * c + cell;
            if (squeeze && add)
                for (int64_t k = 0; k < c; k++)
                    to[few + 4 * k] += from[many + k];
            else if (squeeze)
                for (int64_t k = 0; k < c; k++)
                    to[few + 4 * k] = from[many + k];
            else if (add)
                for (int64_t k = 0; k < c; k++)
                    to[many + k] += from[few + 4 * k];
            else
                for (int64_t k = 0; k < c; k++)
                    to[many + k] = from[few + 4 * k];
        }
    }
}

static void squeeze_forward(const wmi_node *nd)
{
    exchange(nd, &nd->shape, nd->in[0]->val, nd->val, true, false);
}

static void squeeze_backward(const wmi_node *nd)
{
    if (nd->in[0]->grad)
        exchange(nd, &nd->shape, nd->grad, nd->in[0]->grad, false, !(nd->fresh & 1u));
}

static void unsqueeze_forward(const wmi_node *nd)
{
    exchange(nd, &nd->in[0]->shape, nd->in[0]->val, nd->val, false, false);
}

static void unsqueeze_backward(const wmi_node *nd)
{
    if (nd->in[0]->grad)
        exchange(nd, &nd->in[0]->shape, nd->grad, nd->in[0]->grad, true, !(nd->fresh & 1u));
}

DEFINE_OP(permute, .n_in = 1, .infer = permute_infer, .forward = permute_forward,
          .backward = permute_backward, .flags = WMI_OP_WRITES_FRESH);
DEFINE_OP(slice, .n_in = 1, .infer = slice_infer, .forward = slice_forward,
          .backward = slice_backward);
DEFINE_OP(concat, .n_in = -1, .infer = concat_infer, .forward = concat_forward,
          .backward = concat_backward, .flags = WMI_OP_WRITES_FRESH);
DEFINE_OP(gather, .n_in = 2, .infer = gather_infer, .forward = gather_forward,
          .backward = gather_backward, .keep = WMI_KEEP_IN(1), .no_grad = 1u << 1);
DEFINE_OP(squeeze2x2, .n_in = 1, .infer = squeeze_infer, .forward = squeeze_forward,
          .backward = squeeze_backward, .flags = WMI_OP_WRITES_FRESH);
DEFINE_OP(unsqueeze2x2, .n_in = 1, .infer = unsqueeze_infer, .forward = unsqueeze_forward,
          .backward = unsqueeze_backward, .flags = WMI_OP_WRITES_FRESH);
