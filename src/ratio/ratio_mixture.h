/* ratio_mixture.h - ratios of mixtures of Gaussians: parameters, scores, fit. */
#ifndef WMI_RATIO_RATIO_MIXTURE_H
#define WMI_RATIO_RATIO_MIXTURE_H

#include "moments/mixture.h"
#include "ratio/ratio_impl.h"

/* WM_EINVAL unless there are two tables whose columns all move linearly. */
WM_MUST_CHECK wm_status wmi_ratio_check_mixture(bool two_tables, int64_t dim,
                                                const int64_t *columns, wm_error *err);
/* Numbers of components of p and q: as given, or as held-out rows want them. */
WM_MUST_CHECK wm_status wmi_ratio_choose_components(wm_ratio *r, const wmi_ratio_rows *rows,
                                                    const wm_ratio_opts *opts, wm_error *err);
/* Parameters of r, whose components are known. */
WM_MUST_CHECK wm_status wmi_ratio_declare_mixture(wm_ratio *r, wm_error *err);
/* The mixture of p (side 0) or q (1) of a member, in its parameters. */
wmi_mixture wmi_ratio_mixture(const wm_ratio *r, int64_t member, int side);
/* From the parameters that there are, or afresh where weights are 0. WM_EINVAL for pairs and for
 * columns that do not move linearly. */
WM_MUST_CHECK wm_status wmi_ratio_fit_mixture(wm_ratio *r, const wmi_ratio_rows *rows,
                                              const wm_ratio_opts *opts, wm_error *err);

/* The waymarks of all members, made once. Read only: for any number of threads. */
typedef struct wmi_mixture_scorer wmi_mixture_scorer;

WM_MUST_CHECK wm_status wmi_mixture_scorer_new(wmi_mixture_scorer **out, const wm_ratio *r,
                                               wm_error *err);
void wmi_mixture_scorer_free(wmi_mixture_scorer *s);
/* Bridge k at an encoded row x into out[k stride]; and the sum of all bridges. */
void wmi_mixture_scorer_bridges(const wmi_mixture_scorer *s, const double *x, int64_t stride,
                                double *out);
double wmi_mixture_scorer_sum(const wmi_mixture_scorer *s, const double *x);

#endif
