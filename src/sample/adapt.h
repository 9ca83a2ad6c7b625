/* adapt.h - what a chain learns while it warms up: its step size by dual averaging, its masses by
 * the variances seen in growing windows. Numbers and constants are Stan's. */
#ifndef WMI_SAMPLE_ADAPT_H
#define WMI_SAMPLE_ADAPT_H

#include <stdbool.h>
#include <stdint.h>

/* Nesterov's dual averaging of log step (Hoffman and Gelman 2014, section 3.2). Plain numbers. */
typedef struct wmi_dual {
    double target, mu;     /* acceptance wanted; where log step is drawn to */
    double deficit;        /* averaged target - acceptance */
    double log_step, mean; /* the last, and the average that is kept in the end */
    double count;
} wmi_dual;

/* Starts around `step`; pull > 1 tries larger steps first (Stan: 10). */
void wmi_dual_start(wmi_dual *d, double step, double pull, double target);
/* After a transition with mean acceptance `accept`; the step of the next. */
double wmi_dual_learn(wmi_dual *d, double accept);
/* The step to freeze; the start's if nothing was learned. */
double wmi_dual_settle(const wmi_dual *d);

/* Running variances of a vector (Welford). Each (dim), the caller's memory. */
typedef struct wmi_variances {
    double count;
    double *mean, *m2;
} wmi_variances;

void wmi_variances_start(wmi_variances *v, int64_t dim);
void wmi_variances_add(wmi_variances *v, int64_t dim, const double *x);
/* Variances, drawn a little towards 1e-3, as inverse masses. */
void wmi_variances_read(const wmi_variances *v, int64_t dim, double *inv_mass);

/* Warm-up of `total` transitions: the step size alone, then windows that double, then the step size
 * alone. Fewer than 20 have no windows. */
typedef struct wmi_windows {
    int64_t total, first, last; /* windows cover transitions [first, last) */
} wmi_windows;

wmi_windows wmi_windows_plan(int64_t total);
/* Is transition t in a window, and is it the last of one? */
bool wmi_windows_has(const wmi_windows *w, int64_t t);
bool wmi_windows_ends(const wmi_windows *w, int64_t t);

#endif
