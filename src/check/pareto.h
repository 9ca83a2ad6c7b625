/* pareto.h - the tail of importance weights: how heavy it is, and what it would be without luck.
 *
 * The largest M weights, less the largest that is not among them, are fitted by a generalised
 * Pareto distribution (Zhang and Stephens 2009), whose shape k says how many moments the weights
 * have: below 1/2 the mean has a variance, above 0.7 means of samples of any usual size cannot be
 * relied on, from 1 on there is no mean. Its quantiles in place of the M weights are
 * Pareto-smoothed importance sampling (Vehtari, Simpson, Gelman, Yao and Gabry 2024). All is done
 * with logarithms of weights: their differences may be thousands. */
#ifndef WMI_CHECK_PARETO_H
#define WMI_CHECK_PARETO_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"

enum { WMI_PARETO_LEAST = 5 }; /* weights in the tail, below which there is no fit */

/* M: a fifth of n, at most 3 sqrt(n), rounded up. */
int64_t wmi_pareto_length(int64_t n);
/* The k that a sample of n should not exceed: 1 - 1 / log10(n), at most 0.7. */
double wmi_pareto_limit(int64_t n);

/* Excesses over a cutoff, P(X > x) = (1 + k x / sigma)^(-1/k). */
typedef struct wmi_pareto {
    double k; /* drawn to 1/2 as if by ten more weights; -inf: the tail does not spread; NaN: too
                 few weights */
    double log_sigma;
} wmi_pareto;

/* Fit to exp(log_w) - exp(cutoff); log_w (m) ascends from cutoff or more, and its last is finite.
 * scratch (m). Cost: m (30 + sqrt(m)) logarithms. */
wmi_pareto wmi_pareto_fit(int64_t m, const double *log_w, double cutoff, double *scratch);
/* log(exp(cutoff) + quantile p of the excess), p in (0, 1); for a finite k. */
double wmi_pareto_log_quantile(const wmi_pareto *fit, double cutoff, double p);

/* Shape k of the upper tail of exp(log_w), (n), in any order; -inf entries are weights of 0. -inf
 * where the largest weights are all the same, or have few values many times over (there is no tail
 * among these), NaN where n is below 21 or one is NaN or +inf. WM_ENOMEM. */
WM_MUST_CHECK wm_status wmi_pareto_k(double *k, int64_t n, const double *log_w, wm_error *err);

/* --- the largest of a sequence -----------------------------------------------------------------*/

/* The largest `room` numbers of those pushed, x (n) as a heap with the least in front. */
typedef struct wmi_top {
    int64_t room, n;
    double *x; /* (room), the caller's */
} wmi_top;

/* Takes x in. True if one falls out (x itself, or the least of those kept): *out. */
bool wmi_top_push(wmi_top *t, double x, double *out);
/* x ascending; no more pushes after it. */
void wmi_top_sort(wmi_top *t);

#endif
