/* binary_tmpl.c - a + b, a - b, a b, a / b with NumPy's broadcasting.
 * The gradient of a stretched input is a sum over the axes along which it was stretched (sweep.h).
 */
#include "engine/infer.h"
#include "engine/ops.h"
#include "engine/ops/sweep.h"
#include "engine/real.h"

typedef enum kind { ADD, SUB, MUL, DIV } kind;

enum { BLOCK = 4096 }; /* elements that a thread takes at a time */

/* ---- forward ---- */

/* n elements of a row; the strides are 0 or 1, and not both 0. y may be a itself. */
#define ROW(OP)                                                                                    \
    do {                                                                                           \
        if (sa && sb) {                                                                            \
            _Pragma("omp simd") for (int64_t i = 0; i < n; i++) y[i] = a[i] OP b[i];               \
        } else if (sa) {                                                                           \
            const real s = b[0];                                                                   \
            _Pragma("omp simd") for (int64_t i = 0; i < n; i++) y[i] = a[i] OP s;                  \
        } else {                                                                                   \
            const real s = a[0];                                                                   \
            _Pragma("omp simd") for (int64_t i = 0; i < n; i++) y[i] = s OP b[i];                  \
        }                                                                                          \
    } while (0)

static void row(kind op, int64_t n, const real *a, int64_t sa, const real *b, int64_t sb, real *y)
{
    switch (op) {
    case ADD:
        ROW(+);
        break;
    case SUB:
        ROW(-);
        break;
    case MUL:
        ROW(*);
        break;
    case DIV:
        ROW(/);
        break;
    }
}

static void forward(const wmi_node *nd, kind op)
{
    const sweep w = sweep_make(&nd->shape, &nd->in[0]->shape, &nd->in[1]->shape);
    const int64_t len = w.dim[w.rank - 1], sa = w.stride[0][w.rank - 1],
                  sb = w.stride[1][w.rank - 1];
    const int64_t blocks = (nd->n + BLOCK - 1) / BLOCK;
    const real *a = nd->in[0]->val, *b = nd->in[1]->val;
    real *y = nd->val;
#pragma omp parallel for schedule(static) num_threads(nd->run->threads) if (nd->n >= WMI_OMP_MIN)
    for (int64_t k = 0; k < blocks; k++) {
        const int64_t end = (k + 1) * BLOCK < nd->n ? (k + 1) * BLOCK : nd->n;
        for (int64_t i = k * BLOCK; i < end;) {
            const int64_t r = i / len, col = i % len;
            const int64_t n = end - i < len - col ? end - i : len - col;
            row(op, n, a + sweep_row(&w, 0, r) + col * sa, sa, b + sweep_row(&w, 1, r) + col * sb,
                sb, y + i);
            i += n;
        }
    }
}

static void add_forward(const wmi_node *nd)
{
    forward(nd, ADD);
}

static void sub_forward(const wmi_node *nd)
{
    forward(nd, SUB);
}

static void mul_forward(const wmi_node *nd)
{
    forward(nd, MUL);
}

static void div_forward(const wmi_node *nd)
{
    forward(nd, DIV);
}

/* ---- backward ---- */

/* The gradient of one input: sign dy f, summed where the input was stretched, f being 1, z or 1 /
 * z, and divided by the input itself where `over` says so. */
typedef struct slope {
    fold_term term;
    const wmi_shape *zshape;
    const real *z, *over;
    double sign;
} slope;

/* n elements of a row, zstride being 0 or 1. d may be g (add, sub): each element is read before it
 * is written. */
static void slope_row(const slope *s, int64_t n, const real *g, const real *z, int64_t zstride,
                      const real *over, real *d, bool fresh)
{
    const real sign = (real)s->sign;
    if (over) { /* z has dy's shape */
#pragma omp simd
        for (int64_t j = 0; j < n; j++)
            d[j] = (fresh ? R(0.0) : d[j]) + sign * g[j] * z[j] / over[j];
    } else if (s->term == FOLD_X || !zstride) {
        const real f = s->term == FOLD_X           ? sign
                       : s->term == FOLD_X_TIMES_Z ? sign * z[0]
                                                   : sign / z[0];
#pragma omp simd
        for (int64_t j = 0; j < n; j++)
            d[j] = (fresh ? R(0.0) : d[j]) + f * g[j];
    } else if (s->term == FOLD_X_TIMES_Z) {
#pragma omp simd
        for (int64_t j = 0; j < n; j++)
            d[j] = (fresh ? R(0.0) : d[j]) + sign * g[j] * z[j];
    } else {
#pragma omp simd
        for (int64_t j = 0; j < n; j++)
            d[j] = (fresh ? R(0.0) : d[j]) + sign * g[j] / z[j];
    }
}

/* dx has the shape of dy. */
static void add_same(const wmi_node *nd, const slope *s, const sweep *w, real *dx, bool fresh)
{
    const int64_t len = w->dim[w->rank - 1], zstride = w->stride[1][w->rank - 1];
    const int64_t blocks = (nd->n + BLOCK - 1) / BLOCK;
    const real *dy = nd->grad;
#pragma omp parallel for schedule(static) num_threads(nd->run->threads) if (nd->n >= WMI_OMP_MIN)
    for (int64_t k = 0; k < blocks; k++) {
        const int64_t end = (k + 1) * BLOCK < nd->n ? (k + 1) * BLOCK : nd->n;
        for (int64_t i = k * BLOCK; i < end;) {
            const int64_t col = i % len, n = end - i < len - col ? end - i : len - col;
            slope_row(s, n, dy + i, s->z ? s->z + sweep_row(w, 1, i / len) + col * zstride : NULL,
                      zstride, s->over ? s->over + i : NULL, dx + i, fresh);
            i += n;
        }
    }
}

static void add_gradient(const wmi_node *nd, int i, const slope *s)
{
    const bool fresh = nd->fresh >> i & 1u;
    const wmi_node *in = nd->in[i];
    const sweep w = sweep_make(&nd->shape, &in->shape, s->zshape);
    if (!in->grad)
        return;
    if (in->n == nd->n) {
        add_same(nd, s, &w, in->grad, fresh);
        return;
    }
    fold(&(fold_job){&w, s->term, nd->grad, s->z, s->sign, s->over, in->grad, fresh}, nd->scratch,
         nd->run->threads);
}

static void add_backward(const wmi_node *nd)
{
    const slope plus = {.term = FOLD_X, .zshape = &nd->shape, .sign = 1};
    add_gradient(nd, 0, &plus);
    add_gradient(nd, 1, &plus);
}

static void sub_backward(const wmi_node *nd)
{
    const slope plus = {.term = FOLD_X, .zshape = &nd->shape, .sign = 1};
    const slope minus = {.term = FOLD_X, .zshape = &nd->shape, .sign = -1};
    add_gradient(nd, 0, &plus);
    add_gradient(nd, 1, &minus);
}

static void mul_backward(const wmi_node *nd)
{
    for (int i = 0; i < 2; i++) {
        const wmi_node *other = nd->in[1 - i];
        const slope s = {
            .term = FOLD_X_TIMES_Z, .zshape = &other->shape, .z = other->val, .sign = 1};
        add_gradient(nd, i, &s);
    }
}

static unsigned mul_keeps(const wmi_node *nd)
{
    return (nd->in[0]->wants_grad ? WMI_KEEP_IN(1) : 0u) |
           (nd->in[1]->wants_grad ? WMI_KEEP_IN(0) : 0u);
}

/* y = a / b: da = dy / b, db = -dy y / b. */
static void div_backward(const wmi_node *nd)
{
    const wmi_node *b = nd->in[1];
    const slope sa = {.term = FOLD_X_OVER_Z, .zshape = &b->shape, .z = b->val, .sign = 1};
    const slope sb = {
        .term = FOLD_X_TIMES_Z, .zshape = &nd->shape, .z = nd->val, .over = b->val, .sign = -1};
    add_gradient(nd, 0, &sa);
    add_gradient(nd, 1, &sb);
}

static unsigned div_keeps(const wmi_node *nd)
{
    return WMI_KEEP_IN(1) | (nd->in[1]->wants_grad ? WMI_KEEP_OUT : 0u);
}

static size_t scratch(const wmi_node *nd, wmi_phase phase)
{
    size_t most = 0;
    for (int i = 0; i < 2 && phase == WMI_BACKWARD; i++) {
        const wmi_node *in = nd->in[i], *other = nd->in[1 - i];
        if (in->wants_grad && in->n != nd->n) {
            const sweep full = sweep_make(&nd->shape, &in->shape, &nd->shape);
            const sweep pair = sweep_make(&nd->shape, &in->shape, &other->shape);
            const size_t f = fold_scratch(&full), p = fold_scratch(&pair);
            most = f > most ? f : most;
            most = p > most ? p : most;
        }
    }
    return most;
}

/* In place where a has y's size, which is the planner's to see. mul and div spoil dy for the other
 * input if they wrote da over it, so only add and sub pass the gradient on in place. */
DEFINE_OP(add, .n_in = 2, .infer = wmi_infer_broadcast, .forward = add_forward,
          .backward = add_backward,
          .flags = WMI_OP_WRITES_FRESH | WMI_OP_INPLACE | WMI_OP_INPLACE_GRAD, .scratch = scratch);
DEFINE_OP(sub, .n_in = 2, .infer = wmi_infer_broadcast, .forward = sub_forward,
          .backward = sub_backward,
          .flags = WMI_OP_WRITES_FRESH | WMI_OP_INPLACE | WMI_OP_INPLACE_GRAD, .scratch = scratch);
DEFINE_OP(mul, .n_in = 2, .infer = wmi_infer_broadcast, .forward = mul_forward,
          .backward = mul_backward, .keeps = mul_keeps,
          .flags = WMI_OP_WRITES_FRESH | WMI_OP_INPLACE, .scratch = scratch);
DEFINE_OP(div, .n_in = 2, .infer = wmi_infer_broadcast, .forward = div_forward,
          .backward = div_backward, .keeps = div_keeps,
          .flags = WMI_OP_WRITES_FRESH | WMI_OP_INPLACE, .scratch = scratch);
