/* sweep.h - broadcasting as strides, and sums over the stretched axes. For *_tmpl.c files (real.h).
 *
 * A sweep goes through an array of some shape in memory order and says where two operands of
 * broadcastable shapes stand meanwhile: their stride is 0 along axes where they are stretched.
 * Neighbouring axes that both operands see as one are merged and axes of size 1 dropped, so the
 * usual cases become short: equal shapes are one axis, (n, h, w, c) with (c) is (nhw, c). */
#ifndef WMI_ENGINE_OPS_SWEEP_H
#define WMI_ENGINE_OPS_SWEEP_H

#include "engine/op.h"
#include "engine/real.h"

typedef struct sweep {
    int rank; /* 1 or more */
    int64_t dim[WMI_MAX_RANK];
    int64_t stride[2][WMI_MAX_RANK]; /* of the operands */
} sweep;

/* Strides of an array of shape s, aligned at the right with `over`; 0 where it is stretched. */
static inline void sweep_strides(const wmi_shape *over, const wmi_shape *s, int64_t *stride)
{
    int64_t step = 1;
    for (int i = over->rank - 1; i >= 0; i--) {
        const int k = i - (over->rank - s->rank);
        const int64_t dim = k >= 0 ? s->dim[k] : 1;
        stride[i] = dim == over->dim[i] ? step : 0;
        step *= dim;
    }
}

static inline sweep sweep_make(const wmi_shape *over, const wmi_shape *a, const wmi_shape *b)
{
    int64_t stride[2][WMI_MAX_RANK];
    sweep w = {.rank = 0};
    sweep_strides(over, a, stride[0]);
    sweep_strides(over, b, stride[1]);
    for (int i = 0; i < over->rank; i++) {
        const int64_t dim = over->dim[i];
        const int k = w.rank - 1;
        if (dim == 1)
            continue;
        if (k >= 0 && w.stride[0][k] == dim * stride[0][i] &&
            w.stride[1][k] == dim * stride[1][i]) {
            w.dim[k] *= dim;
            w.stride[0][k] = stride[0][i];
            w.stride[1][k] = stride[1][i];
            continue;
        }
        w.dim[w.rank] = dim;
        w.stride[0][w.rank] = stride[0][i];
        w.stride[1][w.rank] = stride[1][i];
        w.rank++;
    }
    if (w.rank == 0) /* one element */
        w = (sweep){.rank = 1, .dim = {1}, .stride = {{1}, {1}}};
    return w;
}

/* Where operand k stands at the beginning of row `row`, a row being the last axis of the sweep. */
static inline int64_t sweep_row(const sweep *w, int k, int64_t row)
{
    int64_t at = 0;
    for (int i = w->rank - 2; i > 0; i--) {
        at += row % w->dim[i] * w->stride[k][i];
        row /= w->dim[i];
    }
    return w->rank > 1 ? at + row * w->stride[k][0] : 0;
}

/* ---- fold: sums over the axes where operand 0 is stretched ----
 *
 * For each element k of operand 0: out[k] (+)= scale sum x / over[k], the sum running over the
 * places of the sweep where operand 0 stands at k, and x standing for x, x z or x / z with z as
 * operand 1. Sums are double, and cut into chunks whose number depends on the shape alone and which
 * are added in index order: the result has the same bits for any number of threads. */
typedef enum fold_term { FOLD_X, FOLD_X_TIMES_Z, FOLD_X_OVER_Z } fold_term;

typedef struct fold_job {
    const sweep *w;
    fold_term term;
    const real *x, *z; /* x has the sweep's shape; z is operand 1, or NULL with FOLD_X */
    double scale;
    const real *over; /* operand 0's shape, or NULL for none */
    real *out;        /* operand 0 */
    bool fresh;       /* write out, do not add to it */
} fold_job;

enum { FOLD_BLOCK = 256, FOLD_TASKS = 32, FOLD_MIN = 4096, FOLD_LANES = 8 };

/* The axes of a sweep sorted into those that stay and those that are summed; the last axis of
 * either kind is taken whole by the inner loops and not listed. */
typedef struct fold_plan {
    bool columns; /* the last axis stays: sum whole rows; else sum along rows */
    int n_kept, n_summed;
    int kept[WMI_MAX_RANK], summed[WMI_MAX_RANK];
    int64_t xstride[WMI_MAX_RANK]; /* of the sweep itself */
    int64_t len;                   /* of the last axis */
    int64_t outer;                 /* product of the kept axes but the last */
    int64_t terms;                 /* that make one element of operand 0 */
    int64_t blocks;                /* of columns: FOLD_BLOCK sums are under way at a time */
    int64_t chunks;                /* that the terms are cut into */
    int64_t n_out;
} fold_plan;

static inline fold_plan fold_make(const sweep *w)
{
    const int last = w->rank - 1;
    fold_plan p = {.columns = w->stride[0][last] != 0, .len = w->dim[last], .outer = 1, .terms = 1};
    int64_t step = 1, tasks;
    for (int i = last; i >= 0; i--) {
        p.xstride[i] = step;
        step *= w->dim[i];
    }
    for (int i = 0; i < last; i++) {
        if (w->stride[0][i] != 0) {
            p.kept[p.n_kept++] = i;
            p.outer *= w->dim[i];
        } else {
            p.summed[p.n_summed++] = i;
            p.terms *= w->dim[i];
        }
    }
    if (!p.columns)
        p.terms *= p.len;
    p.n_out = p.columns ? p.outer * p.len : p.outer;
    p.blocks = p.columns ? (p.len + FOLD_BLOCK - 1) / FOLD_BLOCK : 1;
    tasks = p.outer * p.blocks;
    p.chunks = 1;
    if (tasks > 0 && tasks < FOLD_TASKS) {
        p.chunks = step / (tasks * FOLD_MIN);
        if (p.chunks > FOLD_TASKS / tasks)
            p.chunks = FOLD_TASKS / tasks;
        if (p.chunks < 1)
            p.chunks = 1;
    }
    return p;
}

static inline size_t fold_scratch(const sweep *w)
{
    const fold_plan p = fold_make(w);
    return p.chunks > 1 ? (size_t)(p.chunks * p.n_out) * sizeof(double) : 0;
}

typedef struct fold_place {
    int64_t out, x, z; /* offsets */
} fold_place;

/* Moves a place by index `at` along the listed axes, the last varying fastest. */
static inline void fold_move(const sweep *w, const fold_plan *p, int n, const int *axis, int64_t at,
                             fold_place *to)
{
    for (int i = n - 1; i >= 0; i--) {
        const int k = axis[i];
        const int64_t step = i > 0 ? at % w->dim[k] : at;
        to->out += step * w->stride[0][k];
        to->z += step * w->stride[1][k];
        to->x += step * p->xstride[k];
        at /= w->dim[k];
    }
}

/* acc[j] += term j of n along a row, where zstride is 0 or 1. */
static inline void fold_add_row(fold_term term, int64_t n, const real *x, const real *z,
                                int64_t zstride, double *restrict acc)
{
    switch (term) {
    case FOLD_X:
        for (int64_t j = 0; j < n; j++)
            acc[j] += (double)x[j];
        break;
    case FOLD_X_TIMES_Z:
        if (zstride)
            for (int64_t j = 0; j < n; j++)
                acc[j] += (double)x[j] * (double)z[j];
        else
            for (int64_t j = 0; j < n; j++)
                acc[j] += (double)x[j] * (double)z[0];
        break;
    case FOLD_X_OVER_Z:
        if (zstride)
            for (int64_t j = 0; j < n; j++)
                acc[j] += (double)x[j] / (double)z[j];
        else
            for (int64_t j = 0; j < n; j++)
                acc[j] += (double)x[j] / (double)z[0];
        break;
    }
}

/* Sum of n terms along a row: FOLD_LANES sums side by side, then those in order. */
static inline double fold_along(fold_term term, int64_t n, const real *x, const real *z,
                                int64_t zstride)
{
    double acc[FOLD_LANES] = {0}, sum = 0;
    int64_t i = 0;
    for (; i + FOLD_LANES <= n; i += FOLD_LANES)
        fold_add_row(term, FOLD_LANES, x + i, z ? z + i * zstride : NULL, zstride, acc);
    fold_add_row(term, n - i, x + i, z ? z + i * zstride : NULL, zstride, acc);
    for (int j = 0; j < FOLD_LANES; j++)
        sum += acc[j];
    return sum;
}

static inline void fold_put(const fold_job *job, int64_t k, double sum)
{
    double v = job->scale * sum;
    if (job->over)
        v /= (double)job->over[k];
    job->out[k] = (real)(job->fresh ? v : (double)job->out[k] + v);
}

/* Terms [lo, hi) of up to FOLD_BLOCK elements of operand 0 that start at `at`. */
static inline void fold_task(const fold_job *job, const fold_plan *p, fold_place at, int64_t width,
                             int64_t lo, int64_t hi, double *acc)
{
    const int64_t zstride = job->w->stride[1][job->w->rank - 1];
    for (int64_t j = 0; j < width; j++)
        acc[j] = 0;
    while (lo < hi) {
        fold_place here = at;
        if (p->columns) {
            fold_move(job->w, p, p->n_summed, p->summed, lo, &here);
            fold_add_row(job->term, width, job->x + here.x, job->z ? job->z + here.z : NULL,
                         zstride, acc);
            lo++;
        } else { /* width is 1 */
            const int64_t row = lo / p->len, col = lo % p->len;
            const int64_t n = hi - lo < p->len - col ? hi - lo : p->len - col;
            fold_move(job->w, p, p->n_summed, p->summed, row, &here);
            acc[0] += fold_along(job->term, n, job->x + here.x + col,
                                 job->z ? job->z + here.z + col * zstride : NULL, zstride);
            lo += n;
        }
    }
}

/* scratch: fold_scratch() bytes. */
static inline void fold(const fold_job *job, void *scratch, int threads)
{
    const fold_plan p = fold_make(job->w);
    const int64_t per = p.outer * p.blocks, tasks = per * p.chunks;
    double *partial = scratch; /* (chunks, n_out) when there is more than one chunk */
#pragma omp parallel for schedule(static) num_threads(threads) if (p.n_out * p.terms >= WMI_OMP_MIN)
    for (int64_t t = 0; t < tasks; t++) {
        const int64_t chunk = t / per, col = t % p.blocks * FOLD_BLOCK;
        const int64_t lo = p.terms * chunk / p.chunks, hi = p.terms * (chunk + 1) / p.chunks;
        const int64_t rest = p.len - col;
        const int64_t width = !p.columns ? 1 : rest < FOLD_BLOCK ? rest : FOLD_BLOCK;
        fold_place at = {col, col, col * job->w->stride[1][job->w->rank - 1]};
        double acc[FOLD_BLOCK];
        fold_move(job->w, &p, p.n_kept, p.kept, t % per / p.blocks, &at);
        fold_task(job, &p, at, width, lo, hi, acc);
        for (int64_t j = 0; j < width; j++) {
            if (p.chunks > 1)
                partial[chunk * p.n_out + at.out + j] = acc[j];
            else
                fold_put(job, at.out + j, acc[j]);
        }
    }
    if (p.chunks == 1)
        return;
    for (int64_t k = 0; k < p.n_out; k++) {
        double sum = 0;
        for (int64_t c = 0; c < p.chunks; c++)
            sum += partial[c * p.n_out + k];
        fold_put(job, k, sum);
    }
}

#endif
