/* layers.h - the way through a network, and the layers that every network is made of.
 *
 * A network is one function, walked in two ways: over a parameter table, to declare its parameters,
 * and over a graph, to build it. Values then carry a node as well as a shape. So declaration and
 * graph cannot disagree, and the paper's table of layers stands in the code once.
 *
 * Failures are sticky: the first one stays, later layers do nothing, wmi_net_status() reports it.
 */
#ifndef WMI_NN_LAYERS_H
#define WMI_NN_LAYERS_H

#include "engine/ops.h"

#define WMI_NET_PATH 96 /* bytes of a parameter's path before its last name */

typedef struct wmi_net {
    wmi_params *params; /* declaring: the table; else NULL */
    wmi_graph *graph;   /* building: the graph; else NULL */
    int64_t m;          /* bridges: each has scales, shifts and heads of its own */
    int64_t first;      /* building: the first of them, where tables have more */
    /* Of levels: one network serves all of them at the same rows, and they part in the heads, which
     * read every layer; as gradients are fitted, rectifiers have no kink. */
    bool levels;
    wmi_node *read; /* (m, n), what has been read so far, or NULL */
    /* Of levels that change smoothly: tables have so many rows instead of one a level, and basis
     * (m, smooth), where building, says what of them a level is made of. 0: a row for each. */
    int64_t smooth;
    wmi_node *basis;
    wm_error *err; /* while declaring */
    wm_status st;
    size_t path_len;
    char path[WMI_NET_PATH]; /* where we are: "resnet/block1/" */
} wmi_net;

/* What flows: for each row an image (h, w, c), or a vector of c where h is 0. */
typedef struct wmi_value {
    wmi_node *node; /* (rows, h, w, c) or (rows, c); NULL while declaring */
    int64_t h, w, c;
    bool shared; /* n rows that serve all bridges; else m * n rows, grouped by bridge */
} wmi_value;

wmi_net wmi_net_declare(wmi_params *params, const char *prefix, int64_t m, wm_error *err);
wmi_net wmi_net_build(wmi_graph *graph, const char *prefix, int64_t m);
wm_status wmi_net_status(const wmi_net *net, wm_error *err);
/* Records a failure, unless there was one. */
void wmi_net_fail(wmi_net *net, wm_status code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Parameters between enter and leave lie under the given name. leave() takes what enter() gave. */
size_t wmi_net_enter(wmi_net *net, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void wmi_net_leave(wmi_net *net, size_t mark);

/* A parameter of the present path: declared (NULL comes back), or its node. */
wmi_node *wmi_net_param(wmi_net *net, const char *name, int rank, const int64_t *dim, wmi_init init,
                        wmi_param_group group);
/* One with a row for each bridge, dim[0] = m: those that are built. Constants are never smooth. */
wmi_node *wmi_net_table(wmi_net *net, const char *name, int rank, const int64_t *dim, wmi_init init,
                        wmi_param_group group);

/* x W [+ b]: "name/w" (in, out), "name/b" (out), the bias zero at the start. */
wmi_value wmi_layer_dense(wmi_net *net, const char *name, wmi_value x, int64_t width,
                          wmi_init init);
/* ScaleShift_k(LeakyReLU(x, pre_slope) W + b) [+ residual], then LeakyReLU(slope), of vectors: the
 * parameters of wmi_layer_dense() and of wmi_layer_scale_shift(). Slopes of 1 are no activation. */
wmi_value wmi_layer_conditional(wmi_net *net, const char *name, wmi_value x, int64_t width,
                                wmi_init init, const wmi_value *residual, double pre_slope,
                                double slope);
/* LeakyReLU(pre_slope), then "name/w" (window, window, in, out), Glorot-uniform, SAME, no bias. */
wmi_value wmi_layer_conv(wmi_net *net, const char *name, wmi_value x, int window, int stride,
                         int64_t width, double pre_slope);

/* What a scale-shift does besides, in the same pass over memory. */
typedef struct wmi_fused {
    double slope;     /* LeakyReLU afterwards; 1: none */
    int pool;         /* 2: average 2x2 afterwards; 1: none */
    bool per_channel; /* one scale and shift for each channel, not for each hidden unit */
} wmi_fused;
/* The paper's ScaleShift_k(x) = s_k * x + b_k [+ residual]: "name/scale", "name/shift", (m, h, w,
 * c), (m, c) for vectors and per channel. Scales start as N(1, 0.02^2) on images and 1 on vectors,
 * shifts as 0. Rows that were shared come out grouped: this is where the bridges part. In a net of
 * levels they stay shared: one pair for each channel serves all. */
wmi_value wmi_layer_scale_shift(wmi_net *net, const char *name, wmi_value x,
                                const wmi_value *residual, wmi_fused fused);

/* LeakyReLU, or bent_relu() in a net of levels. */
wmi_value wmi_layer_leaky_relu(wmi_net *net, wmi_value x, double slope);
wmi_value wmi_layer_dropout(wmi_net *net, wmi_value x, double rate);
wmi_value wmi_layer_max_pool(wmi_net *net, wmi_value x); /* 2x2, odd sizes round up */
wmi_value wmi_layer_add(wmi_net *net, wmi_value x, wmi_value y);

/* Rows as (m, n, c) or, shared, (1, n, c): what heads read. NULL while declaring. */
wmi_node *wmi_value_by_bridge(wmi_net *net, wmi_value x);
/* x, x, ... x (count times) along the rows. */
wmi_node *wmi_rows_repeat(wmi_graph *g, wmi_node *x, int64_t count);

#endif
