/* noise_impl.h - inside noise/: what a kind of noise consists of, and what the kinds share. */
#ifndef WMI_NOISE_NOISE_IMPL_H
#define WMI_NOISE_NOISE_IMPL_H

#include "noise/noise.h"

/* The functions of noise.h for one kind; log_det is never NULL here. */
typedef struct wmi_noise_def {
    bool closed; /* the start is the whole fit */
    wm_status (*declare)(wmi_params *params, const char *prefix, const wmi_noise_opts *opts,
                         wm_error *err);
    wm_status (*start)(const wmi_noise_opts *opts, const char *prefix, const wmi_params *params,
                       int64_t n, const double *x, uint64_t seed, double *theta, wm_error *err);
    wm_status (*finish)(const wmi_noise_opts *opts, const char *prefix, const wmi_params *params,
                        double *theta, wm_error *err);
    wmi_node *(*to_z)(wmi_graph *g, const char *prefix, const wmi_noise_opts *opts, wmi_node *x,
                      wmi_node **log_det);
    wmi_node *(*to_x)(wmi_graph *g, const char *prefix, const wmi_noise_opts *opts, wmi_node *z,
                      wmi_node **log_det);
} wmi_noise_def;

extern const wmi_noise_def wmi_noise_gaussian, wmi_noise_copula;

/* Parameters by the last part of their name: zeros into the table; their node; their values. */
WM_MUST_CHECK wm_status wmi_noise_add(wmi_params *params, const char *prefix, const char *name,
                                      int rank, const int64_t *dim, wm_error *err);
wmi_node *wmi_noise_param(wmi_graph *g, const char *prefix, const char *name);
WM_MUST_CHECK wm_status wmi_noise_values(double **out, const wmi_params *params, const char *prefix,
                                         const char *name, double *theta, wm_error *err);

/* A (d, d) = L^-1 of a lower triangular L, or the other way round. */
void wmi_noise_invert_lower(int64_t d, const double *l, double *a);

/* The start of a copula's column: a spline that makes sorted values (n) nearly standard normal but
 * for a linear map. v = exp(log_scale) x + shift, then the spline of raw (3 bins - 1) on [-bound,
 * bound]. WM_ENOMEM. */
typedef struct wmi_marginal {
    double log_scale, shift;
    double *raw;
} wmi_marginal;
/* What the fits of columns of n values share, for wmi_free(). */
WM_MUST_CHECK wm_status wmi_marginal_scores(double **out, int64_t n, wm_error *err);
WM_MUST_CHECK wm_status wmi_marginal_fit(int64_t n, const double *sorted, const double *scores,
                                         int64_t bins, double bound, wmi_marginal *out,
                                         wm_error *err);

#endif
