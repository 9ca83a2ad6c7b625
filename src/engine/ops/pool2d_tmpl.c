/* pool2d_tmpl.c - the average or the maximum of size x size windows that do not overlap:
 * (n, h, w, c) -> (n, ceil(h / size), ceil(w / size), c). Windows at the lower and right edge may
 * be cut; the average is over the cells that exist. Loops run over channels inside, a vector of
 * them at a time. */
#include "engine/infer.h"
#include "engine/kernels/conv_lanes.h"
#include "engine/ops.h"

enum { MAX_SIZE = 256 }; /* a cell of a window is named by 16 bits */

typedef uint16_t vcell __attribute__((vector_size(VL * sizeof(uint16_t)), aligned(1), may_alias));

static wm_status infer(wmi_node *nd, wm_error *err)
{
    const int64_t size = ((const wmi_pool_attr *)nd->attr)->size;
    const wmi_shape *x = &nd->in[0]->shape;
    if (x->rank != 4)
        return wmi_infer_fail(nd, err, "wants (n, h, w, c)");
    if (size < 1 || size > MAX_SIZE)
        return wmi_infer_fail(nd, err, "window of %d, from 1 to %d can be", (int)size, MAX_SIZE);
    return wmi_infer_set(nd, 4,
                         (int64_t[]){x->dim[0], (x->dim[1] + size - 1) / size,
                                     (x->dim[2] + size - 1) / size, x->dim[3]},
                         err);
}

/* A window of the input: its first cell, in pixels from the start of the array, and its extent. */
typedef struct window {
    int64_t at, w; /* w: pixels in a row of the image */
    int64_t rows, cols;
} window;

/* Rows of windows are what threads share: row i over (n, ho). */
typedef struct windows {
    int64_t size, h, w, c, ho, wo;
} windows;

static windows windows_of(const wmi_node *nd)
{
    const int64_t *x = nd->in[0]->shape.dim, *y = nd->shape.dim;

    return (windows){.size = ((const wmi_pool_attr *)nd->attr)->size,
                     .h = x[1],
                     .w = x[2],
                     .c = x[3],
                     .ho = y[1],
                     .wo = y[2]};
}

static window window_at(const windows *g, int64_t i, int64_t col)
{
    const int64_t row = i % g->ho * g->size, x = col * g->size;

    return (window){.at = (i / g->ho * g->h + row) * g->w + x,
                    .w = g->w,
                    .rows = min64(g->h - row, g->size),
                    .cols = min64(g->w - x, g->size)};
}

/* `lanes` channels of the mean of a window, in double. */
ALWAYS_INLINE void average(const window *win, int64_t c, const int lanes, const real *x, real *y)
{
    double sum[VL] = {0};

    for (int64_t i = 0; i < win->rows; i++)
        for (int64_t j = 0; j < win->cols; j++)
            for (int k = 0; k < lanes; k++)
                sum[k] += (double)x[(win->at + i * win->w + j) * c + k];
    for (int k = 0; k < lanes; k++)
        y[k] = (real)(sum[k] / (double)(win->rows * win->cols));
}

/* NaN counts as larger than all: a maximum must not hide it. Of equal cells the first counts. arg
 * may be NULL. */
ALWAYS_INLINE void maximum(const window *win, int64_t c, const int lanes, const real *x, real *y,
                           uint16_t *arg)
{
    vreal most = load_lanes(x + win->at * c, lanes);
    vmask first = {0}, cell = {0};

    for (int64_t i = 0; i < win->rows; i++)
        for (int64_t j = 0; j < win->cols; j++, cell += 1) {
            const vreal v = load_lanes(x + (win->at + i * win->w + j) * c, lanes);
            const vmask larger = (v > most) | (v != v);

            most = (vreal)(((vmask)v & larger) | ((vmask)most & ~larger));
            first = (cell & larger) | (first & ~larger);
        }
    store_lanes(y, most, lanes);
    if (arg && lanes == VL)
        *(vcell *)arg = __builtin_convertvector(first, vcell);
    for (int k = 0; arg && lanes < VL && k < lanes; k++)
        arg[k] = (uint16_t)first[k];
}

static void forward(const wmi_node *nd)
{
    const bool max = ((const wmi_pool_attr *)nd->attr)->max;
    const windows g = windows_of(nd);
    const real *x = nd->in[0]->val; /* (n, h, w, c) */
    real *y = nd->val;              /* (n, ho, wo, c) */
    uint16_t *arg = nd->saved;      /* the same, or NULL: not max, or no gradient is wanted */

#pragma omp parallel for schedule(static)                                                          \
    num_threads(nd->run->threads) if (nd->in[0]->n >= WMI_OMP_MIN)
    for (int64_t i = 0; i < nd->shape.dim[0] * g.ho; i++)
        for (int64_t col = 0; col < g.wo; col++) {
            const window win = window_at(&g, i, col);
            const int64_t at = (i * g.wo + col) * g.c;

            for (int64_t k = 0; k < g.c; k += VL) {
                const int lanes = (int)min64(g.c - k, VL);
                uint16_t *to = arg ? arg + at + k : NULL;

                if (!max && lanes == VL)
                    average(&win, g.c, VL, x + k, y + at + k);
                else if (!max)
                    average(&win, g.c, lanes, x + k, y + at + k);
                else if (lanes == VL)
                    maximum(&win, g.c, VL, x + k, y + at + k, to);
                else
                    maximum(&win, g.c, lanes, x + k, y + at + k, to);
            }
        }
}

/* One cell of a window: dx = or += what it gets of dy. */
static void cell_gradient(int64_t c, int64_t cell, const uint16_t *restrict arg, real share,
                          const real *restrict dy, bool fresh, real *restrict dx)
{
    if (arg && fresh)
        for (int64_t k = 0; k < c; k++)
            dx[k] = arg[k] == cell ? dy[k] : R(0.0);
    else if (arg)
        for (int64_t k = 0; k < c; k++)
            dx[k] += arg[k] == cell ? dy[k] : R(0.0);
    else if (fresh)
        for (int64_t k = 0; k < c; k++)
            dx[k] = share * dy[k];
    else
        for (int64_t k = 0; k < c; k++)
            dx[k] += share * dy[k];
}

/* Every cell of the input belongs to one window, so windows write apart from each other. */
static void backward(const wmi_node *nd)
{
    const windows g = windows_of(nd);
    const uint16_t *arg = ((const wmi_pool_attr *)nd->attr)->max ? nd->saved : NULL;
    const real *dy = nd->grad;
    real *dx = nd->in[0]->grad;

    if (!dx)
        return;
#pragma omp parallel for schedule(static)                                                          \
    num_threads(nd->run->threads) if (nd->in[0]->n >= WMI_OMP_MIN)
    for (int64_t i = 0; i < nd->shape.dim[0] * g.ho; i++)
        for (int64_t col = 0; col < g.wo; col++) {
            const window win = window_at(&g, i, col);
            const int64_t at = (i * g.wo + col) * g.c, cells = win.rows * win.cols;

            for (int64_t cell = 0; cell < cells; cell++)
                cell_gradient(g.c, cell, arg ? arg + at : NULL, R(1.0) / (real)cells, dy + at,
                              nd->fresh & 1u,
                              dx + (win.at + cell / win.cols * win.w + cell % win.cols) * g.c);
        }
}

static size_t saved(const wmi_node *nd)
{
    return ((const wmi_pool_attr *)nd->attr)->max ? (size_t)nd->n * sizeof(uint16_t) : 0;
}

DEFINE_OP(pool2d, .n_in = 1, .infer = infer, .forward = forward, .backward = backward,
          .flags = WMI_OP_WRITES_FRESH, .saved = saved);
