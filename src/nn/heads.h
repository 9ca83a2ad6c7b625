/* heads.h - what turns features h into log-ratios.
 *
 * The sign is that of the paper's code: a head gives an energy E_k, and log r_k = -(E_k + c_k). The
 * heads here give E_k (m, n) without its constant; wmi_log_ratio() adds the one c_k of the model,
 * in the parameter group of its own, and turns the sign. A sum of heads is a sum of energies. All
 * of them are walked (layers.h): NULL comes back while declaring. */
#ifndef WMI_NN_HEADS_H
#define WMI_NN_HEADS_H

#include "nn/layers.h"

/* E_k = [h' Q_k h] + [w_k' h]: the linear head is this without Q_k. */
typedef struct wmi_head_opts {
    bool quadratic;          /* has Q_k */
    wmi_quadratic_kind kind; /* constraint on Q_k */
    bool linear;             /* has w_k */
    bool from_zero;          /* w_k is 0 at the start, also without Q_k */
} wmi_head_opts;

wmi_head_opts wmi_head_linear(void);
wmi_head_opts wmi_head_quadratic(wmi_quadratic_kind kind, bool linear);

/* "a" (m, d, d), zero at the start: Q_k = e^-10 I (PSD), e^-5 I (symmetric) or 0 (free).
 * "w" (m, d, 1), zero at the start beside Q_k; Glorot-normal in the linear head, which needs no
 * symmetry to be broken but starts so in the paper's code. */
wmi_node *wmi_head_energy(wmi_net *net, const wmi_head_opts *opts, wmi_value h);
/* Of levels: "w" is (wmi_net_rows, d), and one product serves all: w (rows, d), x (n, d) -> (m, n).
 */
int64_t wmi_net_rows(const wmi_net *net);
wmi_node *wmi_head_levels(wmi_net *net, wmi_node *w, wmi_node *x);
/* u' W_k v: "w" (m, e, f), N(0, 0.005^2) at the start. u and v may be shared. */
wmi_node *wmi_head_bilinear(wmi_net *net, wmi_value u, wmi_value v);
wmi_node *wmi_head_bilinear_weights(wmi_net *net, int64_t e, int64_t f); /* its W_k alone */
/* Sum over columns j of a cubic spline b_kj(x_j): "coef" (m, d, bases), zero at the start; knots
 * (d, bases + 4) come from the data. Constant beyond the outer knots, hence bounded. */
wmi_node *wmi_head_additive(wmi_net *net, int64_t bases, wmi_node *knots, wmi_value x);

/* a + b, where a may be NULL: the sum so far. */
wmi_node *wmi_energy_add(wmi_net *net, wmi_node *a, wmi_node *b);
/* Energies (m, n), which log-ratios have with a minus, from below: at least -cap[0], with a
 * parabola cap[1] wide for a kink; cap (2, m). */
wmi_node *wmi_energy_capped(wmi_net *net, wmi_node *energy, wmi_node *cap);
/* log r_k = -(E_k + c_k), (m, n): "c" (m), zero at the start, WMI_GROUP_CONSTANT. */
wmi_node *wmi_log_ratio(wmi_net *net, wmi_node *energy);
/* In a net of levels: adds w_k' act(x), from zero, to what the energy reads of the network's
 * layers, so that what is local need not pass through its narrow end. */
void wmi_head_read(wmi_net *net, wmi_value x, double slope);

#endif
