/* ratio_impl.h - the inside of a wm_ratio, shared by the files that fit, evaluate and store it. */
#ifndef WMI_ESTIMATORS_RATIO_IMPL_H
#define WMI_ESTIMATORS_RATIO_IMPL_H

#include "nn/bridge_model.h"
#include "waymark/ratio.h"

struct wm_ratio {
    wm_ratio_model model;
    wm_ratio_form form;
    bool linear_term;
    int64_t width, blocks;
    uint64_t seed;
    wm_alphas alphas;
    wm_ratio_info info;
    wm_ratio_bridge *bridges; /* (m) */
    double *shift, *scale;    /* (dim): the model sees (x - shift) / scale */
    wmi_model net;            /* made from the fields above by wmi_ratio_open() */
    wmi_params *params;
    double *theta; /* (wmi_params_count) */
};

/* Standardised samples, cut into training and held-out rows. q's arrays are NULL with normal_q. */
typedef struct wmi_ratio_rows {
    int64_t dim;
    int64_t n_train[2], n_valid[2]; /* of p, of q */
    double *train[2], *valid[2];    /* (n, dim) */
    bool normal_q;
    uint64_t seed;
} wmi_ratio_rows;

/* From model, form, ..., alphas.bridges and info.dim: the network, its table, and zeroed theta,
 * bridges, shift and scale (1). */
WM_MUST_CHECK wm_status wmi_ratio_open(wm_ratio *r, wm_error *err);

/* All bridges at n rows that are standardised already, (m, n). */
WM_MUST_CHECK wm_status wmi_ratio_scores(const wm_ratio *r, int64_t n, const double *x,
                                         double *scores, wm_error *err);

/* n rows of q: of its table in order, or of N(0, I); validation and training rows differ. */
void wmi_ratio_rows_q(const wmi_ratio_rows *rows, bool valid, int64_t first, int64_t n,
                      double *out);

WM_MUST_CHECK wm_status wmi_ratio_fit_adam(wm_ratio *r, const wmi_ratio_rows *rows,
                                           const wm_ratio_opts *opts, wm_error *err);
WM_MUST_CHECK wm_status wmi_ratio_fit_convex(wm_ratio *r, const wmi_ratio_rows *rows,
                                             const wm_ratio_opts *opts, wm_error *err);

#endif
