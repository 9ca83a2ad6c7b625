/* flow.h - inside noise/: the spline flows (Durkan et al. 2019; Kingma and Dhariwal 2018), which
 * noise.c serves for WMI_NOISE_FLOW, and the pieces that those of images and of tables share.
 *
 * A flow takes x to z in stages, each a linear map (actnorm and an LU-parametrised matrix) and a
 * coupling: a network of one half of the numbers gives the splines of the other half. One function
 * goes through a stage for declaring it and for building it in either direction (nn/layers.h). */
#ifndef WMI_NOISE_FLOW_H
#define WMI_NOISE_FLOW_H

#include "nn/layers.h"
#include "noise/noise.h"

/* ---- what noise.h promises, for this kind ---- */

WM_MUST_CHECK wm_status wmi_flow_declare(wmi_params *params, const char *prefix,
                                         const wmi_noise_opts *opts, wm_error *err);
WM_MUST_CHECK wm_status wmi_flow_start(const wmi_noise_opts *opts, const char *prefix,
                                       const wmi_params *params, int64_t n, const double *x,
                                       uint64_t seed, double *theta, wm_error *err);
WM_MUST_CHECK wm_status wmi_flow_finish(const wmi_noise_opts *opts, const char *prefix,
                                        const wmi_params *params, double *theta, wm_error *err);
wmi_node *wmi_flow_to_z(wmi_graph *g, const char *prefix, const wmi_noise_opts *opts, wmi_node *x,
                        wmi_node **log_det);
wmi_node *wmi_flow_to_x(wmi_graph *g, const char *prefix, const wmi_noise_opts *opts, wmi_node *z,
                        wmi_node **log_det);

/* ---- the way through ---- */

/* An actnorm y = (x + b) exp(s) whose b and s the start sets by the data: so that `node`, as it is
 * while both are 0, gets mean 0 and deviation 1 in each of its channels (last axis). */
typedef struct wmi_flow_norm {
    char path[WMI_NET_PATH]; /* parameters path/b and path/s */
    wmi_node *node;
} wmi_flow_norm;

#define WMI_FLOW_NORMS 3 /* of a stage, at most */

typedef struct wmi_flow {
    wmi_net net;
    const wmi_noise_opts *opts;
    int64_t rows;
    bool inverse;                       /* from z to x */
    wmi_node *log_det;                  /* (rows), of the couplings so far; NULL: none yet */
    wmi_node *constant;                 /* scalar, of the linear maps so far; NULL: none yet */
    wmi_flow_norm norm[WMI_FLOW_NORMS]; /* in the order in which they are passed */
    int n_norms;
} wmi_flow;

int64_t wmi_flow_stages(const wmi_noise_opts *opts);
/* Stage i, 0 being next to x, in the direction of the flow. Images are (rows, h, w, c). */
wmi_value wmi_flow_image_stage(wmi_flow *f, int64_t i, wmi_value x);
wmi_value wmi_flow_table_stage(wmi_flow *f, int64_t i, wmi_value x);

/* ---- pieces ---- */

/* x W [after (x + b) exp(s)], for every pixel; or its inverse. */
wmi_value wmi_flow_linear(wmi_flow *f, const char *name, bool actnorm, wmi_value x);
/* The second part of the channels, or with `swap` the first, through splines that the other part
 * gives. `network` makes the raw values of `count` numbers a pixel, (rows, h, w, count * values) or
 * (rows, count * values), of what it is given. */
typedef wmi_value wmi_flow_network(wmi_flow *f, wmi_value given, int64_t count, int64_t values);
wmi_value wmi_flow_coupling(wmi_flow *f, wmi_value x, bool swap, wmi_flow_network *network);
/* b and s (c) of the actnorm `name` under the present path, and exp(s). Whoever applies them also
 * says where: wmi_flow_note() gives the start the node that they are to standardise. */
typedef struct wmi_flow_actnorm {
    wmi_node *b, *s, *scale;
} wmi_flow_actnorm;
wmi_flow_actnorm wmi_flow_actnorm_params(wmi_flow *f, const char *name, int64_t c);
void wmi_flow_note(wmi_flow *f, const char *name, wmi_node *node);

#endif
