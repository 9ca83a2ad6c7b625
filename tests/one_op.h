/* one_op.h - runs a single operation on arrays of double, in any of its builds, without a graph.
 *
 * What the engine promises to an op is made as hard as it can be: memory from the heap in its exact
 * size, scratch and outputs full of NaN before the call, and between forward and backward every
 * value that the op does not keep is overwritten with NaN. */
#ifndef WM_TESTS_ONE_OP_H
#define WM_TESTS_ONE_OP_H

#include <string.h>

#include "asserts.h"
#include "base/alloc.h"
#include "engine/op_table.h"
#include "engine/ops.h"

typedef struct one_build {
    wmi_dtype dtype;
    wmi_isa isa;
    int threads;
} one_build;

typedef struct one_input {
    int64_t rank;
    int64_t dim[WMI_MAX_RANK];
    const double *val;
    bool grad; /* a gradient is wanted */
} one_input;

/* An input of which only the shape matters. */
#define ONE_SHAPE(r, ...)                                                                          \
    {                                                                                              \
        .rank = r, .dim = { __VA_ARGS__ }                                                          \
    }

typedef struct one_op {
    wmi_node nd, in[WMI_MAX_IN];
    wmi_run run;
    double *y, *dx[WMI_MAX_IN]; /* results: value, and gradients that were wanted */
} one_op;

/* What a gradient holds before backward when it is not fresh; exact in float. */
#define ONE_OP_BEFORE 0.5

static inline void *one_op_memory(int64_t count, size_t size)
{
    void *p = NULL;
    wm_error err;

    assert_ok(wmi_alloc(&p, count, size, "one_op", &err), err);
    memset(p, 0xff, (size_t)count * size); /* NaN */
    return p;
}

static inline size_t one_op_size(wmi_dtype t)
{
    return t == WMI_F32 ? sizeof(float) : sizeof(double);
}

static inline void *one_op_reals(wmi_dtype t, int64_t n, const double *from)
{
    void *p = one_op_memory(n, one_op_size(t));

    for (int64_t i = 0; from && i < n; i++)
        if (t == WMI_F32)
            ((float *)p)[i] = (float)from[i];
        else
            ((double *)p)[i] = from[i];
    return p;
}

static inline double *one_op_doubles(wmi_dtype t, int64_t n, const void *from)
{
    double *p = one_op_memory(n, sizeof *p);

    for (int64_t i = 0; i < n; i++)
        p[i] = t == WMI_F32 ? (double)((const float *)from)[i] : ((const double *)from)[i];
    return p;
}

/* Fills o with nodes and infers the shape; the caller looks at the status. */
static inline wm_status one_op_infer(one_op *o, const char *op, one_build b, const void *attr,
                                     int n_in, const one_input *in, wm_error *err)
{
    *o = (one_op){0};
    o->run = (wmi_run){.threads = b.threads, .training = true};
    o->nd = (wmi_node){.op = wmi_op_find(op, b.dtype, b.isa),
                       .name = "tested",
                       .n_in = n_in,
                       .attr = attr,
                       .dtype = b.dtype,
                       .run = &o->run};
    assert_non_null(o->nd.op);
    for (int i = 0; i < n_in; i++) {
        wmi_node *x = &o->in[i];

        x->name = "input";
        x->dtype = b.dtype;
        x->shape.rank = (int)in[i].rank;
        x->n = 1;
        for (int k = 0; k < in[i].rank; k++)
            x->n *= x->shape.dim[k] = in[i].dim[k];
        x->wants_grad = in[i].grad;
        o->nd.wants_grad |= in[i].grad;
        o->nd.in[i] = x;
    }
    return o->nd.op->infer(&o->nd, err);
}

/* Forward, and with dy (of y's shape) backward. A gradient that is not fresh starts at
 * ONE_OP_BEFORE. */
static inline void one_op_run(one_op *o, const char *op, one_build b, const void *attr, int n_in,
                              const one_input *in, const double *dy, bool fresh)
{
    wmi_node *nd = &o->nd;
    const wmi_op_def *def;
    size_t bytes;
    unsigned kept;
    wm_error err;

    assert_ok(one_op_infer(o, op, b, attr, n_in, in, &err), err);
    def = nd->op;
    nd->wants_grad &= dy != NULL;
    for (int i = 0; i < n_in; i++)
        o->in[i].val = one_op_reals(b.dtype, o->in[i].n, in[i].val);
    nd->val = one_op_reals(b.dtype, nd->n, NULL);
    nd->saved = nd->wants_grad && def->saved ? one_op_memory((int64_t)def->saved(nd), 1) : NULL;
    bytes = def->scratch ? def->scratch(nd, WMI_FORWARD) : 0;
    nd->scratch = bytes ? one_op_memory((int64_t)bytes, 1) : NULL;
    def->forward(nd);
    wmi_free(nd->scratch);
    o->y = one_op_doubles(b.dtype, nd->n, nd->val);
    if (!dy)
        return;

    kept = def->keeps ? def->keeps(nd) : def->keep;
    for (int i = 0; i < n_in; i++) {
        wmi_node *x = &o->in[i];

        if (!(kept & WMI_KEEP_IN(i)))
            memset(x->val, 0xff, (size_t)x->n * one_op_size(b.dtype));
        if (!in[i].grad)
            continue;
        x->grad = one_op_reals(b.dtype, x->n, NULL);
        nd->fresh |= (unsigned)fresh << i;
        for (int64_t j = 0; j < x->n && !(fresh && def->flags & WMI_OP_WRITES_FRESH); j++)
            if (b.dtype == WMI_F32)
                ((float *)x->grad)[j] = fresh ? 0 : (float)ONE_OP_BEFORE;
            else
                ((double *)x->grad)[j] = fresh ? 0 : ONE_OP_BEFORE;
    }
    if (!(kept & WMI_KEEP_OUT))
        memset(nd->val, 0xff, (size_t)nd->n * one_op_size(b.dtype));
    nd->grad = one_op_reals(b.dtype, nd->n, dy);
    bytes = def->scratch ? def->scratch(nd, WMI_BACKWARD) : 0;
    nd->scratch = bytes ? one_op_memory((int64_t)bytes, 1) : NULL;
    def->backward(nd);
    wmi_free(nd->scratch);
    for (int i = 0; i < n_in; i++)
        if (in[i].grad)
            o->dx[i] = one_op_doubles(b.dtype, o->in[i].n, o->in[i].grad);
}

static inline void one_op_free(one_op *o)
{
    for (int i = 0; i < o->nd.n_in; i++) {
        wmi_free(o->in[i].val);
        wmi_free(o->in[i].grad);
        wmi_free(o->dx[i]);
    }
    wmi_free(o->nd.val);
    wmi_free(o->nd.grad);
    wmi_free(o->nd.saved);
    wmi_free(o->y);
    *o = (one_op){0};
}

/* Every build that this processor runs: b counts from 0, false past the last. */
static inline bool one_op_build(int b, int threads, one_build *out)
{
    for (int isa = 0; isa < WMI_ISA_COUNT; isa++) {
        if (!wmi_isa_usable((wmi_isa)isa))
            continue;
        if (b < 2) {
            *out = (one_build){b == 0 ? WMI_F32 : WMI_F64, (wmi_isa)isa, threads};
            return true;
        }
        b -= 2;
    }
    return false;
}

/* got and want agree to tol, in units of 1 + |want|; the message says where and in which build. */
static inline void assert_array(const char *what, one_build b, const double *got,
                                const double *want, int64_t n, double tol)
{
    for (int64_t i = 0; i < n; i++)
        if (!(fabs(got[i] - want[i]) <= tol * (1 + fabs(want[i]))))
            fail_msg("%s[%lld] = %.17g, expected %.17g within %g (f%d, %s, %d threads)", what,
                     (long long)i, got[i], want[i], tol, b.dtype == WMI_F32 ? 32 : 64,
                     wmi_isa_name(b.isa), b.threads);
}

/* A value that float holds exactly, about uniform in [-1, 1], a function of (seed, i). */
static inline double one_op_value(uint64_t seed, int64_t i)
{
    uint64_t z = (seed + 1) * 0x9e3779b97f4a7c15u + (uint64_t)i * 0xbf58476d1ce4e5b9u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    z ^= z >> 31;
    return (double)(int64_t)(z >> 44) / (double)(1 << 19) - 1;
}

static inline double *one_op_values(uint64_t seed, int64_t n)
{
    double *p = one_op_memory(n, sizeof *p);

    for (int64_t i = 0; i < n; i++)
        p[i] = one_op_value(seed, i);
    return p;
}

static inline double *one_op_zeros(int64_t n)
{
    double *p = one_op_memory(n, sizeof *p);

    memset(p, 0, (size_t)n * sizeof *p);
    return p;
}

#endif
