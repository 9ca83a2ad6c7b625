/* noise.h - the noise densities q(x) of energy-based models: an invertible map x = F(z) of z ~
 * N(0, I), so that log q(x) = log N(F^-1(x)) + log |det dF^-1/dx|.
 *
 * A noise is a network like those of nn/: its parameters lie in a table under a prefix, beside
 * those of the bridges if need be, and it is built into graphs of any batch shape and either dtype.
 *
 *   wmi_noise_opts_init(&o, WMI_NOISE_COPULA, dim);
 *   st = wmi_noise_declare(params, "noise", &o, err);            parameters into the table
 *   st = wmi_noise_start(&o, "noise", params, n, x, seed, theta, err);   a start from the data
 *   log_q = wmi_noise_log_density(g, "noise", &o, x);            fitted by train/likelihood.h
 *   st = wmi_noise_finish(&o, "noise", params, theta, err);      once fitted, before F is used
 *   x = wmi_noise_to_x(g, "noise", &o, z, NULL);
 *
 * Parameters of which a density has no gradient (inverse matrices, fixed scales) are kept in the
 * same table: training leaves them alone, wmi_noise_finish() makes them from the trained ones.
 * Those that the density reads all the same lie under prefix/fixed/, which train/likelihood.h
 * freezes. */
#ifndef WMI_NOISE_NOISE_H
#define WMI_NOISE_NOISE_H

#include "engine/ops.h"

typedef enum wmi_noise_kind {
    WMI_NOISE_GAUSSIAN, /* full covariance: x = mean + L z */
    WMI_NOISE_COPULA,   /* one spline for each column over a Gaussian: Gaussian copula */
    WMI_NOISE_FLOW      /* spline couplings: convolutional for images, dense for tables */
} wmi_noise_kind;

typedef struct wmi_noise_opts {
    wmi_noise_kind kind;
    int64_t dim;                     /* columns of x: height * width * channels of an image */
    int64_t height, width, channels; /* of an image; height 0: x is a vector */
    int64_t bins;                    /* of a spline; copula 128, flow 8 */
    double bound;                    /* splines act on [-bound, bound], identity outside; 3 */
    int levels, steps; /* flow: couplings = levels * steps. Image 2 x 8; table 1 x 8 */
    int64_t hidden;    /* flow: width of the couplings' networks; 64 */
    double dropout;    /* flow: in the couplings' networks, in training; 0.1 */
} wmi_noise_opts;

void wmi_noise_opts_init(wmi_noise_opts *opts, wmi_noise_kind kind, int64_t dim);
/* The same for images; the paper's flow. */
void wmi_noise_opts_image(wmi_noise_opts *opts, wmi_noise_kind kind, int64_t height, int64_t width,
                          int64_t channels);

/* Adds the parameters to the table. WM_EINVAL, WM_ESHAPE for settings that make no noise. */
WM_MUST_CHECK wm_status wmi_noise_declare(wmi_params *params, const char *prefix,
                                          const wmi_noise_opts *opts, wm_error *err);
/* Parameters under prefix from the rows x (n, dim): the whole fit of a Gaussian (maximum
 * likelihood); empirical marginals and their correlation for a copula; data-dependent scales of a
 * flow. Finishes them too. WM_EINVAL for data of which there is no density: a constant column
 * (named), fewer rows than the covariance needs, values that are not finite. */
WM_MUST_CHECK wm_status wmi_noise_start(const wmi_noise_opts *opts, const char *prefix,
                                        const wmi_params *params, int64_t n, const double *x,
                                        uint64_t seed, double *theta, wm_error *err);
/* Whether wmi_noise_start() is the whole fit. */
bool wmi_noise_is_closed(const wmi_noise_opts *opts);
/* The parameters that only wmi_noise_to_x() reads, from those that training changed. */
WM_MUST_CHECK wm_status wmi_noise_finish(const wmi_noise_opts *opts, const char *prefix,
                                         const wmi_params *params, double *theta, wm_error *err);

/* log q at the rows of x (n, dim): (n). */
wmi_node *wmi_noise_log_density(wmi_graph *g, const char *prefix, const wmi_noise_opts *opts,
                                wmi_node *x);
/* z = F^-1(x), (n, dim); *log_det (n), where it is not NULL, is log |det dz/dx|. */
wmi_node *wmi_noise_to_z(wmi_graph *g, const char *prefix, const wmi_noise_opts *opts, wmi_node *x,
                         wmi_node **log_det);
/* x = F(z), and log |det dx/dz|. Differentiable in z; no gradient for the parameters. */
wmi_node *wmi_noise_to_x(wmi_graph *g, const char *prefix, const wmi_noise_opts *opts, wmi_node *z,
                         wmi_node **log_det);

#endif
