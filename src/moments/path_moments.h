/* path_moments.h - the Gaussians along a chain: mean and covariance of every waymark follow from
 * those of its two ends, since a waymark is x_k = a x_0 + b x_m column by column with x_0 and x_m
 * independent: mean a mu_0 + b mu_m, covariance a S_0 a + b S_m b. */
#ifndef WMI_MOMENTS_PATH_MOMENTS_H
#define WMI_MOMENTS_PATH_MOMENTS_H

#include "base/fail.h"
#include "waymark/waymarks.h"

/* Moments of one end. */
typedef struct wmi_end_moments {
    double *mean; /* (d) */
    double *cov;  /* (d, d) */
} wmi_end_moments;

/* A Gaussian with the moments of one waymark, ready for log-densities. */
typedef struct wmi_gaussian {
    double *mean;      /* (d) */
    double *precision; /* (d, d) inverse of the covariance */
    double *pm;        /* (d) precision times mean */
    double *cov;       /* (d, d) */
    double logdet;     /* of the covariance */
} wmi_gaussian;

WM_MUST_CHECK wm_status wmi_end_moments_new(wmi_end_moments *m, int64_t d, wm_error *err);
void wmi_end_moments_free(wmi_end_moments *m);
/* Mean and covariance of x (n, d). */
WM_MUST_CHECK wm_status wmi_end_moments_of(wmi_end_moments *m, int64_t n, int64_t d,
                                           const double *x, wm_error *err);
/* Covariance shrunk to its diagonal as much as held-out rows x (n, d) clearly like; *weight, if not
 * NULL, receives the weight of the diagonal. */
WM_MUST_CHECK wm_status wmi_end_moments_shrink(wmi_end_moments *m, int64_t d, int64_t n,
                                               const double *x, double *weight, wm_error *err);

WM_MUST_CHECK wm_status wmi_gaussian_new(wmi_gaussian *g, int64_t d, wm_error *err);
void wmi_gaussian_free(wmi_gaussian *g);
/* The waymark with coefficients a and b (d). WM_EINVAL where its covariance is singular; k is for
 * the message. */
WM_MUST_CHECK wm_status wmi_gaussian_at(wmi_gaussian *g, int64_t d, const wmi_end_moments *m0,
                                        const wmi_end_moments *mm, const double *a, const double *b,
                                        int64_t k, wm_error *err);
/* Symmetrised KL divergence KL(f, g) + KL(g, f), nats. */
double wmi_gaussian_divergence(int64_t d, const wmi_gaussian *f, const wmi_gaussian *g);

#endif
