/* conv.h - the algorithms behind conv2d, and which shapes each can do. The op picks one by a fixed
 * rule (conv2d_tmpl.c); tests and benchmarks run every one that supports a shape. */
#ifndef WMI_ENGINE_CONV_H
#define WMI_ENGINE_CONV_H

#include <assert.h>

#include "engine/op.h"

typedef struct wmi_conv_shape {
    int64_t n, h, w, ci; /* input */
    int64_t oh, ow, co;  /* output */
    int64_t kh, kw;      /* window */
    int64_t stride;
    int64_t pad_top, pad_left; /* the bottom and right padding follow from the sizes */
} wmi_conv_shape;

typedef enum wmi_conv_algo {
    WMI_CONV_DIRECT,   /* plain loops, sums in double: the yardstick */
    WMI_CONV_GEMM,     /* windows gathered into rows of a matrix, block by block in cache */
    WMI_CONV_WINOGRAD, /* 3x3, stride 1 */
    WMI_CONV_ALGO_COUNT
} wmi_conv_algo;

typedef enum wmi_conv_pass { WMI_CONV_FORWARD, WMI_CONV_GRAD_X, WMI_CONV_GRAD_W } wmi_conv_pass;

/* What prepare() hangs on the node. */
typedef struct wmi_conv_state {
    wmi_conv_shape shape;
    wmi_conv_algo algo;
} wmi_conv_state;

static inline const char *wmi_conv_algo_name(wmi_conv_algo algo)
{
    static const char *const names[WMI_CONV_ALGO_COUNT] = {"direct", "gemm", "winograd"};

    return names[algo];
}

static inline bool wmi_conv_supports(wmi_conv_algo algo, const wmi_conv_shape *s)
{
    return algo != WMI_CONV_WINOGRAD || (s->kh == 3 && s->kw == 3 && s->stride == 1);
}

/* Makes a prepared node use `algo`, which must support its shape. Scratch sizes change with it: to
 * be called between prepare() and the planning of memory. */
static inline void wmi_conv_use(wmi_node *nd, wmi_conv_algo algo)
{
    wmi_conv_state *st = (wmi_conv_state *)nd->state;

    assert(wmi_conv_supports(algo, &st->shape));
    st->algo = algo;
}

#endif
