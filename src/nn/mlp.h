/* mlp.h - the conditional multi-layer perceptron: shared dense layers, a ScaleShift_k after each.
 */
#ifndef WMI_NN_MLP_H
#define WMI_NN_MLP_H

#include "nn/layers.h"

typedef struct wmi_mlp_opts {
    int64_t width;  /* of the hidden layers: 128 */
    int64_t out;    /* features: 128 */
    int blocks;     /* residual blocks of two layers, or plain hidden layers: 1 */
    bool residual;  /* true */
    double slope;   /* of LeakyReLU: 0.3 */
    double dropout; /* rate, in [0, 1): 0 */
} wmi_mlp_opts;

void wmi_mlp_opts_init(wmi_mlp_opts *opts);
/* x (rows, d) -> features (m * n, out). Walked (layers.h). */
wmi_value wmi_mlp(wmi_net *net, const wmi_mlp_opts *opts, wmi_value x);

#endif
