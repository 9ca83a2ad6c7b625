/* loss.h - objectives by name, and the scalar that training minimises. The mathematics is in the
 * ops (engine/ops/bridge_loss_tmpl.c, multinomial_loss_tmpl.c); this room puts them together. */
#ifndef WMI_NN_LOSS_H
#define WMI_NN_LOSS_H

#include "engine/ops.h"

typedef enum wmi_objective {
    WMI_LOGISTIC,
    WMI_NWJ,
    WMI_LSQ,
    WMI_MULTINOMIAL,
    WMI_INFONCE,
    WMI_DENOISE
} wmi_objective;

/* "logistic", "nwj", "lsq", "multinomial", "infonce", "denoise" */
const char *wmi_objective_name(wmi_objective o);

/* The objective of bridges that are learned side by side: the arithmetic mean over bridges of their
 * losses (L_TRE of the paper). scores (m, n), of which n_num columns belong to the numerator;
 * weights (m, n) or NULL. per_bridge, if not NULL, receives the node of the m losses. Multinomial
 * is no sum over bridges and wants every bridge at every row: wmi_multinomial_loss() builds it,
 * InfoNCE wants all pairs, denoising the gradients of levels (train/denoiser.h):
 * here they are failures. */
wmi_node *wmi_loss_bridges(wmi_graph *g, wmi_objective o, wmi_node *scores, wmi_node *weights,
                           int64_t n_num, wmi_node **per_bridge);

/* InfoNCE, the loss of contrastive predictive coding: scores (n, n) of all pairs (u_i, v_j), own
 * (n) those of the true ones -> mean_i [log sum_j exp(s_ij) - s_ii]. log n less it is a lower bound
 * of the mutual information, which cannot exceed log n. */
wmi_node *wmi_infonce_loss(wmi_graph *g, wmi_node *scores, wmi_node *own);

#endif
