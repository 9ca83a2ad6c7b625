/* onednn.c - the one file that knows oneDNN.
 *
 * Images stay in NHWC, which is what the rest of the engine speaks. For the weights oneDNN may
 * choose its own layout; where that is not (kh, kw, ci, co) a reorder into (or out of) the caller's
 * scratch stands beside the convolution. Primitives work in a scratchpad that is the caller's too,
 * and memory objects are made once and only re-pointed, so an execution allocates nothing that
 * grows.
 *
 * The v2 API describes a convolution in a plain struct and then makes a primitive descriptor of it;
 * v3 does both in one call and makes memory descriptors opaque. The difference is in five small
 * functions. */
#include "engine/backend/onednn.h"

#include <inttypes.h>
#include <math.h>
#include <oneapi/dnnl/dnnl.h>
#include <oneapi/dnnl/dnnl_debug.h>
#include <string.h>

#include "base/alloc.h"

#define ROUND64(bytes) (((bytes) + 63) / 64 * 64)

enum { FORWARD, GRAD_X, GRAD_W, PASSES };

typedef struct conv_pass {
    dnnl_primitive_t conv, reorder;  /* reorder is NULL where the layouts agree */
    dnnl_memory_t from, weights, to; /* weights as the convolution wants them */
    dnnl_memory_t plain;             /* weights (kh, kw, ci, co), only with a reorder */
    dnnl_memory_t conv_pad, reorder_pad;
    size_t weights_bytes; /* in scratch, only with a reorder; the scratchpad follows */
    size_t bytes;         /* of scratch */
} conv_pass;

struct wmi_onednn_conv {
    wmi_conv_shape shape;
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    dnnl_primitive_attr_t attr;
    conv_pass pass[PASSES];
};

/* The three tensors of each pass: forward and input gradient read `from` and the weights and write
 * `to`; the weight gradient reads both images and writes the weights. */
static const struct {
    const char *name;
    int from, weights, to;
    dnnl_query_t from_md, weights_md, to_md;
} role[PASSES] = {
    {"forward", DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST, dnnl_query_src_md,
     dnnl_query_weights_md, dnnl_query_dst_md},
    {"input gradient", DNNL_ARG_DIFF_DST, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_SRC,
     dnnl_query_diff_dst_md, dnnl_query_weights_md, dnnl_query_diff_src_md},
    {"weight gradient", DNNL_ARG_SRC, DNNL_ARG_DIFF_WEIGHTS, DNNL_ARG_DIFF_DST, dnnl_query_src_md,
     dnnl_query_diff_weights_md, dnnl_query_diff_dst_md},
};

/* ---- what differs between the versions ---- */

typedef struct geometry {
    dnnl_memory_desc_t src, weights, dst; /* weights in any layout */
    dnnl_memory_desc_t plain;             /* weights (kh, kw, ci, co) */
    dnnl_dims_t stride, dilation, pad_l, pad_r;
} geometry;

#if DNNL_VERSION_MAJOR < 3

typedef const dnnl_memory_desc_t *desc_ref;

static desc_ref ref(const dnnl_memory_desc_t *md)
{
    return md;
}

static dnnl_status_t desc_new(dnnl_memory_desc_t *md, const dnnl_dims_t dims, dnnl_format_tag_t tag)
{
    return dnnl_memory_desc_init_by_tag(md, 4, dims, dnnl_f32, tag);
}

static void desc_free(dnnl_memory_desc_t *md)
{
    (void)md;
}

static dnnl_status_t conv_desc(dnnl_primitive_desc_t *pd, wmi_onednn_conv *c, int kind,
                               const geometry *g, dnnl_primitive_desc_t hint)
{
    dnnl_convolution_desc_t cd;
    dnnl_status_t s;

    if (kind == FORWARD)
        s = dnnl_convolution_forward_desc_init(&cd, dnnl_forward_training, dnnl_convolution_direct,
                                               &g->src, &g->weights, NULL, &g->dst, g->stride,
                                               g->pad_l, g->pad_r);
    else if (kind == GRAD_X)
        s = dnnl_convolution_backward_data_desc_init(&cd, dnnl_convolution_direct, &g->src,
                                                     &g->weights, &g->dst, g->stride, g->pad_l,
                                                     g->pad_r);
    else
        s = dnnl_convolution_backward_weights_desc_init(&cd, dnnl_convolution_direct, &g->src,
                                                        &g->weights, NULL, &g->dst, g->stride,
                                                        g->pad_l, g->pad_r);
    return s ? s : dnnl_primitive_desc_create(pd, &cd, c->attr, c->engine, hint);
}

#else

typedef const_dnnl_memory_desc_t desc_ref;

static desc_ref ref(const dnnl_memory_desc_t *md)
{
    return *md;
}

static dnnl_status_t desc_new(dnnl_memory_desc_t *md, const dnnl_dims_t dims, dnnl_format_tag_t tag)
{
    return dnnl_memory_desc_create_with_tag(md, 4, dims, dnnl_f32, tag);
}

static void desc_free(dnnl_memory_desc_t *md)
{
    if (*md)
        dnnl_memory_desc_destroy(*md);
    *md = NULL;
}

static dnnl_status_t conv_desc(dnnl_primitive_desc_t *pd, wmi_onednn_conv *c, int kind,
                               const geometry *g, dnnl_primitive_desc_t hint)
{
    if (kind == FORWARD)
        return dnnl_convolution_forward_primitive_desc_create(
            pd, c->engine, dnnl_forward_training, dnnl_convolution_direct, g->src, g->weights, NULL,
            g->dst, g->stride, g->dilation, g->pad_l, g->pad_r, c->attr);
    if (kind == GRAD_X)
        return dnnl_convolution_backward_data_primitive_desc_create(
            pd, c->engine, dnnl_convolution_direct, g->src, g->weights, g->dst, g->stride,
            g->dilation, g->pad_l, g->pad_r, hint, c->attr);
    return dnnl_convolution_backward_weights_primitive_desc_create(
        pd, c->engine, dnnl_convolution_direct, g->src, g->weights, NULL, g->dst, g->stride,
        g->dilation, g->pad_l, g->pad_r, hint, c->attr);
}

#endif

static dnnl_status_t attr_new(dnnl_primitive_attr_t *attr)
{
    dnnl_status_t s = dnnl_primitive_attr_create(attr);

    if (!s)
        s = dnnl_primitive_attr_set_scratchpad_mode(*attr, dnnl_scratchpad_mode_user);
#if DNNL_VERSION_MAJOR > 3 || (DNNL_VERSION_MAJOR == 3 && DNNL_VERSION_MINOR >= 4)
    if (!s) /* 2.6 repeats its bits without being asked (measured) */
        s = dnnl_primitive_attr_set_deterministic(*attr, 1);
#endif
    return s;
}

/* ---- building ---- */

static wm_status failed(const wmi_onednn_conv *c, dnnl_status_t s, const char *what, wm_error *err)
{
    const wmi_conv_shape *p = &c->shape;
    const wm_status code = s == dnnl_out_of_memory       ? WM_ENOMEM
                           : s == dnnl_invalid_arguments ? WM_EINVAL
                                                         : WM_EUNSUPPORTED;

    return wmi_fail(
        err, code,
        "oneDNN convolution (%" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64 ") * (%" PRId64
        ", %" PRId64 ", %" PRId64 ", %" PRId64 ") stride %" PRId64 ": %s: %s",
        p->n, p->h, p->w, p->ci, p->kh, p->kw, p->ci, p->co, p->stride, what, dnnl_status2str(s));
}

static int64_t trailing_pad(int64_t in, int64_t out, int64_t window, int64_t stride, int64_t lead)
{
    const int64_t pad = (out - 1) * stride + window - in - lead;
    return pad > 0 ? pad : 0; /* negative: the last cells are never read */
}

static dnnl_status_t geometry_new(geometry *g, const wmi_conv_shape *s)
{
    const dnnl_dims_t src = {s->n, s->ci, s->h, s->w}, dst = {s->n, s->co, s->oh, s->ow},
                      weights = {s->co, s->ci, s->kh, s->kw};
    dnnl_status_t st;

    g->stride[0] = g->stride[1] = s->stride;
    g->pad_l[0] = s->pad_top;
    g->pad_l[1] = s->pad_left;
    g->pad_r[0] = trailing_pad(s->h, s->oh, s->kh, s->stride, s->pad_top);
    g->pad_r[1] = trailing_pad(s->w, s->ow, s->kw, s->stride, s->pad_left);
    if ((st = desc_new(&g->src, src, dnnl_nhwc)) || (st = desc_new(&g->dst, dst, dnnl_nhwc)) ||
        (st = desc_new(&g->weights, weights, dnnl_format_tag_any)))
        return st;
    return desc_new(&g->plain, weights, dnnl_hwio);
}

static void geometry_free(geometry *g)
{
    desc_free(&g->src);
    desc_free(&g->dst);
    desc_free(&g->weights);
    desc_free(&g->plain);
}

static dnnl_status_t memory_new(dnnl_memory_t *m, wmi_onednn_conv *c, desc_ref md)
{
    return dnnl_memory_create(m, md, c->engine, DNNL_MEMORY_NONE);
}

/* The reorder between the caller's weights and the convolution's, if it needs one. */
static dnnl_status_t reorder_new(conv_pass *p, wmi_onednn_conv *c, int kind, desc_ref plain,
                                 desc_ref weights)
{
    const desc_ref from = kind == GRAD_W ? weights : plain, to = kind == GRAD_W ? plain : weights;
    dnnl_primitive_desc_t pd = NULL;
    dnnl_status_t s;
    desc_ref pad;

    if (dnnl_memory_desc_equal(plain, weights))
        return dnnl_success;
    if ((s = memory_new(&p->plain, c, plain)) ||
        (s = dnnl_reorder_primitive_desc_create(&pd, from, c->engine, to, c->engine, c->attr)))
        return s;
    pad = dnnl_primitive_desc_query_md(pd, dnnl_query_scratchpad_md, 0);
    s = dnnl_primitive_create(&p->reorder, pd);
    if (!s)
        s = memory_new(&p->reorder_pad, c, pad);
    p->weights_bytes = ROUND64(dnnl_memory_desc_get_size(weights));
    p->bytes = dnnl_memory_desc_get_size(pad);
    dnnl_primitive_desc_destroy(pd);
    return s;
}

static dnnl_status_t pass_new(conv_pass *p, wmi_onednn_conv *c, int kind, const geometry *g,
                              dnnl_primitive_desc_t pd)
{
    const desc_ref weights = dnnl_primitive_desc_query_md(pd, role[kind].weights_md, 0),
                   pad = dnnl_primitive_desc_query_md(pd, dnnl_query_scratchpad_md, 0);
    const size_t pad_bytes = dnnl_memory_desc_get_size(pad);
    dnnl_status_t s;

    if ((s = dnnl_primitive_create(&p->conv, pd)) ||
        (s = memory_new(&p->from, c, dnnl_primitive_desc_query_md(pd, role[kind].from_md, 0))) ||
        (s = memory_new(&p->to, c, dnnl_primitive_desc_query_md(pd, role[kind].to_md, 0))) ||
        (s = memory_new(&p->weights, c, weights)) || (s = memory_new(&p->conv_pad, c, pad)) ||
        (s = reorder_new(p, c, kind, ref(&g->plain), weights)))
        return s;
    if (p->bytes < pad_bytes) /* the two scratchpads are never in use together */
        p->bytes = pad_bytes;
    p->bytes = p->weights_bytes + ROUND64(p->bytes);
    return dnnl_success;
}

static void pass_free(conv_pass *p)
{
    dnnl_memory_t memories[] = {p->from, p->weights, p->to, p->plain, p->conv_pad, p->reorder_pad};

    for (size_t i = 0; i < sizeof memories / sizeof *memories; i++)
        if (memories[i])
            dnnl_memory_destroy(memories[i]);
    if (p->conv)
        dnnl_primitive_destroy(p->conv);
    if (p->reorder)
        dnnl_primitive_destroy(p->reorder);
}

static bool is_empty(const wmi_conv_shape *s)
{
    return !s->n || !s->h || !s->w || !s->ci || !s->oh || !s->ow || !s->co || !s->kh || !s->kw;
}

static wm_status build(wmi_onednn_conv *c, unsigned passes, wm_error *err)
{
    dnnl_primitive_desc_t forward = NULL, pd = NULL;
    geometry g = {0};
    const char *what = "set up";
    dnnl_status_t s;

    if ((s = dnnl_engine_create(&c->engine, dnnl_cpu, 0)) ||
        (s = dnnl_stream_create(&c->stream, c->engine, dnnl_stream_default_flags)) ||
        (s = attr_new(&c->attr)) || (s = geometry_new(&g, &c->shape)))
        goto done;
    what = role[FORWARD].name; /* its descriptor is the hint that both gradients ask for */
    if ((s = conv_desc(&forward, c, FORWARD, &g, NULL)))
        goto done;
    for (int kind = FORWARD; kind < PASSES; kind++) {
        if (!(passes & 1u << kind))
            continue;
        what = role[kind].name;
        if (kind != FORWARD && (s = conv_desc(&pd, c, kind, &g, forward)))
            goto done;
        if ((s = pass_new(&c->pass[kind], c, kind, &g, kind == FORWARD ? forward : pd)))
            goto done;
        if (pd)
            dnnl_primitive_desc_destroy(pd);
        pd = NULL;
    }
done:
    if (pd)
        dnnl_primitive_desc_destroy(pd);
    if (forward)
        dnnl_primitive_desc_destroy(forward);
    geometry_free(&g);
    return s ? failed(c, s, what, err) : WM_OK;
}

wm_status wmi_onednn_conv_new(wmi_onednn_conv **out, const wmi_conv_shape *shape, unsigned passes,
                              wm_error *err)
{
    wmi_onednn_conv *c;
    wm_status st;

    *out = NULL;
    if ((st = wmi_alloc(&c, 1, sizeof *c, "convolution", err)))
        return st;
    c->shape = *shape;
    if (!is_empty(shape) && (st = build(c, passes, err))) {
        wmi_onednn_conv_free(c);
        return st;
    }
    *out = c;
    return WM_OK;
}

void wmi_onednn_conv_free(wmi_onednn_conv *c)
{
    if (!c)
        return;
    for (int kind = FORWARD; kind < PASSES; kind++)
        pass_free(&c->pass[kind]);
    if (c->attr)
        dnnl_primitive_attr_destroy(c->attr);
    if (c->stream)
        dnnl_stream_destroy(c->stream);
    if (c->engine)
        dnnl_engine_destroy(c->engine);
    wmi_free(c);
}

/* pass is a bit, or several: then enough for any of them. */
size_t wmi_onednn_conv_scratch(const wmi_onednn_conv *c, unsigned pass)
{
    size_t bytes = 0;

    for (int kind = FORWARD; kind < PASSES; kind++)
        if (pass & 1u << kind && bytes < c->pass[kind].bytes)
            bytes = c->pass[kind].bytes;
    return bytes;
}

/* ---- running ---- */

static dnnl_status_t reorder(const wmi_onednn_conv *c, const conv_pass *p, dnnl_memory_t from,
                             dnnl_memory_t to)
{
    const dnnl_exec_arg_t args[] = {
        {DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}, {DNNL_ARG_SCRATCHPAD, p->reorder_pad}};

    return dnnl_primitive_execute(p->reorder, c->stream, 3, args);
}

static dnnl_status_t run(const wmi_onednn_conv *c, int kind, const float *from,
                         const float *weights, const float *to, void *scratch)
{
    const conv_pass *p = &c->pass[kind];
    const dnnl_exec_arg_t args[] = {{role[kind].from, p->from},
                                    {role[kind].weights, p->weights},
                                    {role[kind].to, p->to},
                                    {DNNL_ARG_SCRATCHPAD, p->conv_pad}};
    void *pad = (char *)scratch + p->weights_bytes;
    dnnl_status_t s;

    /* oneDNN's handles are not const; which of them it writes is in the table of roles. */
    if ((s = dnnl_memory_set_data_handle(p->from, (void *)from)) ||
        (s = dnnl_memory_set_data_handle(p->to, (void *)to)) ||
        (s = dnnl_memory_set_data_handle(p->conv_pad, pad)) ||
        (s = dnnl_memory_set_data_handle(p->weights, p->reorder ? scratch : (void *)weights)))
        return s;
    if (p->reorder && ((s = dnnl_memory_set_data_handle(p->plain, (void *)weights)) ||
                       (s = dnnl_memory_set_data_handle(p->reorder_pad, pad))))
        return s;
    if (p->reorder && kind != GRAD_W && (s = reorder(c, p, p->plain, p->weights)))
        return s;
    if ((s = dnnl_primitive_execute(p->conv, c->stream, 4, args)))
        return s;
    if (p->reorder && kind == GRAD_W && (s = reorder(c, p, p->weights, p->plain)))
        return s;
    return dnnl_stream_wait(c->stream);
}

/* Kernels return void. Nothing here can fail but oneDNN's own small bookkeeping when the heap is
 * exhausted; then the result is marked NaN, which the loss check reports. */
static void mark(dnnl_status_t s, float *out, int64_t count)
{
    for (int64_t i = 0; s && i < count; i++)
        out[i] = NAN;
}

/* A sum over nothing is zero: a convolution without input channels or a gradient without rows. */
static bool ran_empty(const wmi_onednn_conv *c, float *out, int64_t count)
{
    if (!is_empty(&c->shape))
        return false;
    for (int64_t i = 0; i < count; i++)
        out[i] = 0;
    return true;
}

void wmi_onednn_conv_forward(wmi_onednn_conv *c, const float *x, const float *w, float *y,
                             void *scratch)
{
    const wmi_conv_shape *s = &c->shape;
    const int64_t count = s->n * s->oh * s->ow * s->co;

    if (!ran_empty(c, y, count))
        mark(run(c, FORWARD, x, w, y, scratch), y, count);
}

void wmi_onednn_conv_grad_x(wmi_onednn_conv *c, const float *dy, const float *w, float *dx,
                            void *scratch)
{
    const wmi_conv_shape *s = &c->shape;
    const int64_t count = s->n * s->h * s->w * s->ci;

    if (!ran_empty(c, dx, count))
        mark(run(c, GRAD_X, dy, w, dx, scratch), dx, count);
}

void wmi_onednn_conv_grad_w(wmi_onednn_conv *c, const float *x, const float *dy, float *dw,
                            void *scratch)
{
    const wmi_conv_shape *s = &c->shape;
    const int64_t count = s->kh * s->kw * s->ci * s->co;

    if (!ran_empty(c, dw, count))
        mark(run(c, GRAD_W, x, dw, dy, scratch), dw, count);
}
