/* separable.h - the energy g(u)' W_k f_k(v) of the paper's mutual-information bridges. g knows
 * nothing of bridges: it is computed once for a row, and its output is the learned representation
 * of u. */
#ifndef WMI_NN_SEPARABLE_H
#define WMI_NN_SEPARABLE_H

#include "nn/body.h"

typedef struct wmi_separable_opts {
    wmi_body g, f;
} wmi_separable_opts;

void wmi_separable_opts_init(wmi_separable_opts *opts); /* MLPs with their defaults */
/* The paper's SpatialMultiOmniglot: both wmi_resnet_omniglot(n, width). */
void wmi_separable_omniglot(wmi_separable_opts *opts, int64_t n, int64_t width);

/* u: rows that serve every bridge (u.shared), as many as v has for each bridge or a divisor of that
 * number (they are then repeated in order: numerator and denominator of a bridge have the same u);
 * or rows grouped by bridge like those of v. mix: NULL, or the cells that make up the rows, where f
 * is a network of cells (cell_net.h). -> energy (m, n). Walked (layers.h). */
wmi_node *wmi_separable(wmi_net *net, const wmi_separable_opts *opts, bool independent, wmi_value u,
                        wmi_value v, wmi_node *mix);
/* The energies of all pairs of n rows of u and n of v, for one bridge: (n, n), u_i in row i. own
 * receives those of u_i and v_i, (n). The parameters are those of wmi_separable(). */
wmi_node *wmi_separable_pairs(wmi_net *net, const wmi_separable_opts *opts, wmi_value u,
                              wmi_value v, wmi_node **own);
/* g(u) (rows, e), the part of wmi_separable() that does not know v. */
wmi_value wmi_separable_embed(wmi_net *net, const wmi_separable_opts *opts, wmi_value u);

#endif
