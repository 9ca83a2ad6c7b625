/* body.h - the features that a head reads: f_k(x), by any of the networks. */
#ifndef WMI_NN_BODY_H
#define WMI_NN_BODY_H

#include "nn/cond_resnet.h"
#include "nn/mlp.h"

typedef enum wmi_body_kind {
    WMI_BODY_NONE, /* x itself */
    WMI_BODY_MLP,
    WMI_BODY_RESNET
} wmi_body_kind;

typedef struct wmi_body {
    wmi_body_kind kind;
    wmi_mlp_opts mlp;       /* read where kind says so */
    wmi_resnet_opts resnet; /* likewise */
} wmi_body;

/* x (rows, d) -> features (m * n, e), or x as it is. Bridges share all but scales and shifts;
 * independent, each has a whole network of its own, under "bridge<k>". Walked (layers.h). */
wmi_value wmi_body_features(wmi_net *net, const wmi_body *body, bool independent, wmi_value x);

#endif
