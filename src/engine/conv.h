/* conv.h - the algorithms behind conv2d, and which shapes each can do. The op picks one by a fixed
 * rule (conv2d_tmpl.c); tests, benchmarks and tuning run every one that supports a shape. */
#ifndef WMI_ENGINE_CONV_H
#define WMI_ENGINE_CONV_H

#include "engine/backend/onednn.h" /* wmi_conv_shape */
#include "engine/op.h"

typedef enum wmi_conv_algo {
    WMI_CONV_DIRECT,   /* plain loops, sums in double: the yardstick */
    WMI_CONV_GEMM,     /* windows gathered into rows of a matrix, block by block in cache */
    WMI_CONV_WINOGRAD, /* 3x3, stride 1 */
    WMI_CONV_ONEDNN,   /* f32 */
    WMI_CONV_ALGO_COUNT
} wmi_conv_algo;

/* Bits, as in wmi_onednn_conv_new(). */
typedef enum wmi_conv_pass {
    WMI_CONV_FORWARD = 1,
    WMI_CONV_GRAD_X = 2,
    WMI_CONV_GRAD_W = 4
} wmi_conv_pass;

/* What prepare() hangs on the node. */
typedef struct wmi_conv_state {
    wmi_conv_shape shape;
    wmi_conv_algo algo;
    wmi_onednn_conv *onednn; /* of WMI_CONV_ONEDNN, else NULL */
} wmi_conv_state;

static inline const char *wmi_conv_algo_name(wmi_conv_algo algo)
{
    static const char *const names[WMI_CONV_ALGO_COUNT] = {"direct", "gemm", "winograd", "onednn"};

    return names[algo];
}

static inline bool wmi_conv_supports(wmi_conv_algo algo, const wmi_conv_shape *s, wmi_dtype dtype)
{
    switch (algo) {
    case WMI_CONV_DIRECT:
    case WMI_CONV_GEMM:
        return true;
    case WMI_CONV_WINOGRAD:
        return s->kh == 3 && s->kw == 3 && s->stride == 1;
    case WMI_CONV_ONEDNN: /* a primitive for nothing is not worth having */
        return dtype == WMI_F32 && s->n > 0 && s->h > 0 && s->w > 0 && s->ci > 0 && s->co > 0;
    default:
        return false;
    }
}

/* Makes a prepared node use `algo`, which must support its shape. Scratch sizes change with it: to
 * be called between prepare() and the planning of memory. On failure the node keeps what it had. */
static inline WM_MUST_CHECK wm_status wmi_conv_use(wmi_node *nd, wmi_conv_algo algo, wm_error *err)
{
    wmi_conv_state *st = (wmi_conv_state *)nd->state;
    wmi_onednn_conv *made = NULL;
    unsigned passes = WMI_CONV_FORWARD;
    wm_status rc;

    if (!wmi_conv_supports(algo, &st->shape, nd->dtype))
        return wmi_fail(err, WM_EUNSUPPORTED, "conv2d '%s': %s does not do this shape", nd->name,
                        wmi_conv_algo_name(algo));
    if (nd->in[0]->wants_grad)
        passes |= WMI_CONV_GRAD_X;
    if (nd->in[1]->wants_grad)
        passes |= WMI_CONV_GRAD_W;
    if (algo == WMI_CONV_ONEDNN && (rc = wmi_onednn_conv_new(&made, &st->shape, passes, err)))
        return rc;
    if (st->onednn)
        wmi_onednn_conv_free(st->onednn);
    st->onednn = made;
    st->algo = algo;
    return WM_OK;
}

#endif
