/* conv2d_tmpl.c - y = conv(leaky(x), w): x (n, h, w, ci), w (kh, kw, ci, co), SAME padding, no
 * bias. The op is a door with several algorithms behind it (conv.h); prepare() picks by shape
 * alone, so that a seed keeps its bits. */
#include "engine/conv.h"
#include "engine/infer.h"
#include "engine/op.h"
#include "engine/ops.h"
#include "engine/real.h"

#include "base/alloc.h"
#include "engine/kernels/conv_direct.h"
#include "engine/kernels/conv_gemm.h"
#include "engine/kernels/conv_lanes.h"
#include "engine/kernels/winograd.h"

/* TensorFlow's SAME: ceil(size / stride) outputs, padding shared out evenly, surplus at the end. */
static int64_t same_outputs(int64_t size, int64_t stride)
{
    return ceil_div(size, stride);
}

static int64_t same_pad_before(int64_t size, int64_t window, int64_t stride)
{
    return max64((same_outputs(size, stride) - 1) * stride + window - size, 0) / 2;
}

static wm_status infer(wmi_node *nd, wm_error *err)
{
    const wmi_conv_attr *a = nd->attr;
    const wmi_shape *x = &nd->in[0]->shape, *w = &nd->in[1]->shape;

    if (x->rank != 4 || w->rank != 4)
        return wmi_infer_fail(nd, err, "wants x (n, h, w, ci) and weights (kh, kw, ci, co)");
    if (x->dim[3] != w->dim[2])
        return wmi_infer_fail(nd, err, "x has %lld channels, the weights want %lld",
                              (long long)x->dim[3], (long long)w->dim[2]);
    if (w->dim[0] < 1 || w->dim[1] < 1)
        return wmi_infer_fail(nd, err, "the window is empty");
    if (a->stride < 1)
        return wmi_infer_fail(nd, err, "stride %d, at least 1", a->stride);
    if (!isfinite(a->pre_slope))
        return wmi_infer_fail(nd, err, "pre_slope %g is not finite", a->pre_slope);
    return wmi_infer_set(nd, 4,
                         (const int64_t[]){x->dim[0], same_outputs(x->dim[1], a->stride),
                                           same_outputs(x->dim[2], a->stride), w->dim[3]},
                         err);
}

static wmi_conv_shape shape_of(const wmi_node *nd)
{
    const wmi_conv_attr *a = nd->attr;
    const int64_t *x = nd->in[0]->shape.dim, *w = nd->in[1]->shape.dim, *y = nd->shape.dim;

    return (wmi_conv_shape){.n = x[0],
                            .h = x[1],
                            .w = x[2],
                            .ci = x[3],
                            .oh = y[1],
                            .ow = y[2],
                            .co = y[3],
                            .kh = w[0],
                            .kw = w[1],
                            .stride = a->stride,
                            .pad_top = same_pad_before(x[1], w[0], a->stride),
                            .pad_left = same_pad_before(x[2], w[1], a->stride)};
}

/* Measured (bench_kernels --all): Winograd from 8 channels, the product of windows for all else. */
static wmi_conv_algo choose(const wmi_conv_shape *s)
{
    const bool winograd = wmi_conv_supports(WMI_CONV_WINOGRAD, s) && s->ci >= 8 && s->co >= 8;

    return winograd ? WMI_CONV_WINOGRAD : WMI_CONV_GEMM;
}

static void release(wmi_node *nd)
{
    wmi_free(nd->state);
    nd->state = NULL;
}

static wm_status prepare(wmi_node *nd, wm_error *err)
{
    wmi_conv_state *st = NULL;
    wm_status rc;

    if ((rc = wmi_alloc(&st, 1, sizeof *st, "state of conv2d", err)))
        return rc;
    st->shape = shape_of(nd);
    st->algo = choose(&st->shape);
    nd->state = st;
    return WM_OK;
}

static real slope_of(const wmi_node *nd)
{
    return (real)((const wmi_conv_attr *)nd->attr)->pre_slope;
}

/* x is read for the weights' gradient and for leaky'(x), the weights for x's gradient. */
static unsigned keeps(const wmi_node *nd)
{
    const bool dx = nd->in[0]->wants_grad, dw = nd->in[1]->wants_grad;

    return (dw || (dx && slope_of(nd) != 1) ? WMI_KEEP_IN(0) : 0) | (dx ? WMI_KEEP_IN(1) : 0);
}

static size_t pass_scratch(const wmi_node *nd, wmi_conv_pass pass)
{
    const wmi_conv_state *st = nd->state;

    switch (st->algo) {
    case WMI_CONV_GEMM:
        return cg_scratch(&st->shape, pass, nd->run->threads);
    case WMI_CONV_WINOGRAD:
        return VNAME(winograd_scratch)(&st->shape, pass, nd->run->threads);
    default:
        return 0;
    }
}

static size_t scratch(const wmi_node *nd, wmi_phase phase)
{
    size_t dx = 0, dw = 0;

    if (phase == WMI_FORWARD)
        return pass_scratch(nd, WMI_CONV_FORWARD);
    if (nd->in[0]->wants_grad)
        dx = pass_scratch(nd, WMI_CONV_GRAD_X);
    if (nd->in[1]->wants_grad)
        dw = pass_scratch(nd, WMI_CONV_GRAD_W);
    return dx > dw ? dx : dw;
}

static void forward(const wmi_node *nd)
{
    const wmi_conv_state *st = nd->state;
    const wmi_conv_shape *s = &st->shape;
    const real *x = nd->in[0]->val, *w = nd->in[1]->val, slope = slope_of(nd);
    real *y = nd->val;
    const int threads = nd->run->threads;

    switch (nd->n > 0 ? st->algo : WMI_CONV_ALGO_COUNT) {
    case WMI_CONV_DIRECT:
        direct_forward(s, x, w, y, slope, threads);
        break;
    case WMI_CONV_GEMM:
        cg_forward(s, x, w, y, slope, nd->scratch, threads);
        break;
    case WMI_CONV_WINOGRAD:
        VNAME(winograd_forward)(s, x, w, y, slope, nd->scratch, threads);
        break;
    default:
        break;
    }
}

static void backward_x(const wmi_node *nd, real *dx, bool add)
{
    const wmi_conv_state *st = nd->state;
    const wmi_conv_shape *s = &st->shape;
    const real *x = nd->in[0]->val, *w = nd->in[1]->val, *dy = nd->grad, slope = slope_of(nd);
    const int threads = nd->run->threads;

    switch (st->algo) {
    case WMI_CONV_DIRECT:
        direct_grad_x(s, dy, w, x, slope, dx, add, threads);
        break;
    case WMI_CONV_GEMM:
        cg_grad_x(s, dy, w, x, slope, dx, add, nd->scratch, threads);
        break;
    case WMI_CONV_WINOGRAD:
        VNAME(winograd_grad_x)(s, dy, w, x, slope, dx, add, nd->scratch, threads);
        break;
    default:
        break;
    }
}

static void backward_w(const wmi_node *nd, real *dw, bool add)
{
    const wmi_conv_state *st = nd->state;
    const wmi_conv_shape *s = &st->shape;
    const real *x = nd->in[0]->val, *dy = nd->grad, slope = slope_of(nd);
    const int threads = nd->run->threads;

    switch (st->algo) {
    case WMI_CONV_DIRECT:
        direct_grad_w(s, x, dy, slope, dw, add, threads);
        break;
    case WMI_CONV_GEMM:
        cg_grad_w(s, x, dy, slope, dw, add, nd->scratch, threads);
        break;
    case WMI_CONV_WINOGRAD:
        VNAME(winograd_grad_w)(s, x, dy, slope, dw, add, nd->scratch, threads);
        break;
    default:
        break;
    }
}

static void backward(const wmi_node *nd)
{
    for (int i = 0; i < 2; i++) {
        real *grad = nd->in[i]->grad;
        const bool add = !(nd->fresh >> i & 1u);

        if (!grad || nd->in[i]->n == 0)
            continue;
        if (nd->n == 0) { /* an empty batch: no output, no gradient */
            if (!add)
                memset(grad, 0, (size_t)nd->in[i]->n * sizeof *grad);
        } else if (i == 0) {
            backward_x(nd, grad, add);
        } else {
            backward_w(nd, grad, add);
        }
    }
}

DEFINE_OP(conv2d, .n_in = 2, .infer = infer, .forward = forward, .backward = backward,
          .keeps = keeps, .flags = WMI_OP_WRITES_FRESH, .prepare = prepare, .release = release,
          .scratch = scratch);
