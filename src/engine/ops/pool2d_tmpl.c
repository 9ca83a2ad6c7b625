/* pool2d_tmpl.c - the average or the maximum of size x size windows that do not overlap:
 * (n, h, w, c) -> (n, ceil(h / size), ceil(w / size), c). Windows at the lower and right edge may
 * be cut; the average is over the cells that exist. Loops run over channels inside, LANES of them
 * at a time. */
#include "engine/infer.h"
#include "engine/ops.h"
#include "engine/real.h"

enum { LANES = 64, MAX_SIZE = 256 }; /* 256: a cell of a window is named by 16 bits */

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
    int rows, cols;
} window;

/* Window number i, counted over (n, ho, wo). */
static window window_of(const wmi_node *nd, int64_t i)
{
    const int64_t size = ((const wmi_pool_attr *)nd->attr)->size;
    const int64_t h = nd->in[0]->shape.dim[1], w = nd->in[0]->shape.dim[2];
    const int64_t ho = nd->shape.dim[1], wo = nd->shape.dim[2];
    const int64_t row = i / wo % ho * size, col = i % wo * size;
    return (window){.at = (i / wo / ho * h + row) * w + col,
                    .w = w,
                    .rows = (int)(h - row < size ? h - row : size),
                    .cols = (int)(w - col < size ? w - col : size)};
}

static int64_t cell_at(const window *win, int cell)
{
    return win->at + cell / win->cols * win->w + cell % win->cols;
}

static int64_t window_count(const wmi_node *nd)
{
    return nd->shape.dim[0] * nd->shape.dim[1] * nd->shape.dim[2];
}

static void average(const window *win, int64_t c, int n, const real *x, real *y)
{
    const int cells = win->rows * win->cols;
    double sum[LANES] = {0};
    for (int cell = 0; cell < cells; cell++) {
        const real *v = x + cell_at(win, cell) * c;
        for (int k = 0; k < n; k++)
            sum[k] += (double)v[k];
    }
    for (int k = 0; k < n; k++)
        y[k] = (real)(sum[k] / cells);
}

/* NaN counts as larger than all: a maximum must not hide it. Of equal cells the first counts. */
static void maximum(const window *win, int64_t c, int n, const real *x, real *y, uint16_t *arg)
{
    const int cells = win->rows * win->cols;
    real most[LANES];
    int32_t first[LANES];
    for (int k = 0; k < n; k++) {
        most[k] = x[win->at * c + k];
        first[k] = 0;
    }
    for (int cell = 1; cell < cells; cell++) {
        const real *v = x + cell_at(win, cell) * c;
        for (int k = 0; k < n; k++) {
            const bool larger = (v[k] > most[k]) | (v[k] != v[k]); /* no branch: lanes */
            most[k] = larger ? v[k] : most[k];
            first[k] = larger ? cell : first[k];
        }
    }
    for (int k = 0; k < n; k++)
        y[k] = most[k];
    for (int k = 0; k < n && arg; k++)
        arg[k] = (uint16_t)first[k];
}

static void forward(const wmi_node *nd)
{
    const bool max = ((const wmi_pool_attr *)nd->attr)->max;
    const int64_t c = nd->shape.dim[3], windows = window_count(nd);
    const real *x = nd->in[0]->val; /* (n, h, w, c) */
    real *y = nd->val;              /* (windows, c) */
    uint16_t *arg = nd->saved;      /* (windows, c), or NULL: not max, or no gradient is wanted */
#pragma omp parallel for schedule(static)                                                          \
    num_threads(nd->run->threads) if (nd->in[0]->n >= WMI_OMP_MIN)
    for (int64_t i = 0; i < windows; i++) {
        const window win = window_of(nd, i);
        for (int64_t k = 0; k < c; k += LANES) {
            const int n = (int)(c - k < LANES ? c - k : LANES);
            if (max)
                maximum(&win, c, n, x + k, y + i * c + k, arg ? arg + i * c + k : NULL);
            else
                average(&win, c, n, x + k, y + i * c + k);
        }
    }
}

/* Every cell of the input belongs to one window, so windows write apart from each other. */
static void backward(const wmi_node *nd)
{
    const bool max = ((const wmi_pool_attr *)nd->attr)->max, fresh = nd->fresh & 1u;
    const int64_t c = nd->shape.dim[3], windows = window_count(nd);
    const uint16_t *arg = nd->saved;
    const real *dy = nd->grad;
    real *dx = nd->in[0]->grad;
    if (!dx)
        return;
#pragma omp parallel for schedule(static)                                                          \
    num_threads(nd->run->threads) if (nd->in[0]->n >= WMI_OMP_MIN)
    for (int64_t i = 0; i < windows; i++) {
        const window win = window_of(nd, i);
        const int cells = win.rows * win.cols;
        const real share = R(1.0) / (real)cells;
        for (int cell = 0; cell < cells; cell++) {
            real *restrict d = dx + cell_at(&win, cell) * c;
            const real *restrict g = dy + i * c;
            if (max)
                for (int64_t k = 0; k < c; k++)
                    d[k] = (fresh ? R(0.0) : d[k]) + (arg[i * c + k] == cell ? g[k] : R(0.0));
            else
                for (int64_t k = 0; k < c; k++)
                    d[k] = (fresh ? R(0.0) : d[k]) + share * g[k];
        }
    }
}

static size_t saved(const wmi_node *nd)
{
    return ((const wmi_pool_attr *)nd->attr)->max ? (size_t)nd->n * sizeof(uint16_t) : 0;
}

DEFINE_OP(pool2d, .n_in = 1, .infer = infer, .forward = forward, .backward = backward,
          .flags = WMI_OP_WRITES_FRESH, .saved = saved);
