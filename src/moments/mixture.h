/* mixture.h - mixtures of Gaussians: fitted to rows by expectation and maximisation, and the
 * waymarks between two of them.
 *
 * Where p and q are mixtures, so is every waymark sqrt(1 - a^2) x_p + a x_q: each component of p
 * meets each of q. The log-ratios of all bridges are then known from the two ends, and so is
 * log p/q where only one of them has rows. One component each is the quadratic form by moments. */
#ifndef WMI_MOMENTS_MIXTURE_H
#define WMI_MOMENTS_MIXTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/stop.h"

enum { WMI_MIXTURE_MOST = 12 }; /* components that are tried */

/* Borrowed arrays: where a ratio keeps its parameters. */
typedef struct wmi_mixture {
    int64_t k, d;
    double *weight; /* (k), sum 1 */
    double *mean;   /* (k, d) */
    double *root;   /* (k, d, d) lower triangular: covariance = root root' */
} wmi_mixture;

/* Reals of a mixture; and its arrays in as many of them at `at`. */
int64_t wmi_mixture_count(int64_t k, int64_t d);
void wmi_mixture_place(wmi_mixture *m, int64_t k, int64_t d, double *at);

/* Fits m to rows x (n, d): from what it is (`on`), or from several starts that the seed draws.
 * WM_EINVAL where a covariance has no inverse. Cost: 5 to 200 times n k d^2. */
WM_MUST_CHECK wm_status wmi_mixture_fit(wmi_mixture *m, int64_t n, const double *x, bool on,
                                        uint64_t seed, wmi_stop stop, wm_error *err);
/* How many components describe rows that were held out best: more only where they are clearly
 * better. gain: nats a row that still more, which are not clearly better, seem to
 * win; where the most that are tried, or that there are rows for, were clearly better, what these
 * won last. */
WM_MUST_CHECK wm_status wmi_mixture_choose(int64_t *k, double *gain, int64_t n, int64_t d,
                                           const double *x, uint64_t seed, wmi_stop stop,
                                           wm_error *err);

/* A mixture as it is evaluated. Starts as {0}. */
typedef struct wmi_gaussians {
    int64_t k, d;
    double *constant, *mean, *inverse; /* (k), (k, d), (k, d, d): the inverse of the root */
} wmi_gaussians;

/* The waymark at a between p and q. */
WM_MUST_CHECK wm_status wmi_gaussians_between(wmi_gaussians *g, const wmi_mixture *p,
                                              const wmi_mixture *q, double a, wm_error *err);
void wmi_gaussians_free(wmi_gaussians *g);
/* Log-density at a row x (d); log_each (k), or NULL: of every component, with its weight. */
double wmi_gaussians_log(const wmi_gaussians *g, const double *x, double *log_each);

#endif
