/* steps.h - columns of a table that have no density of their own, made continuous.
 *
 * Values that come again and again (categories, yes and no, few numbers) are each given the share
 * of (0, 1) that they have among the rows, v = below + share u with u uniform, and become normal by
 * v -> Phi^-1(v): the noise of such a column is the table of its shares, exactly. Other whole
 * numbers become x + u. With u drawn afresh a log-density is, in expectation, a lower bound of the
 * log-probability of the value. Constant columns are left out. */
#ifndef WMI_COLUMNS_STEPS_H
#define WMI_COLUMNS_STEPS_H

#include "base/fail.h"
#include "waymark/read.h"

typedef enum wmi_column_step {
    WMI_STEP_NUMBER, /* has a density */
    WMI_STEP_WHOLE,
    WMI_STEP_SHARES,
    WMI_STEP_CONSTANT,
} wmi_column_step;

typedef struct wmi_steps {
    int64_t raw;    /* columns of the person */
    int64_t dim;    /* that are not constant */
    int64_t *how;   /* (raw) wmi_column_step */
    int64_t *first; /* (raw + 1): column j has the values first[j] .. first[j + 1] - 1 */
    double *value;  /* (first[raw]) ascending in each column; of a constant one its value */
    double *share;  /* (first[raw]) of the rows, smoothed; they add up to 1 in each column */
    double *below;  /* (first[raw]) sum of the shares before it */
} wmi_steps;

/* From rows of training x[0] and others x[1] (n, raw), which may be NULL and only add values; kind
 * (raw) as read. WM_EINVAL where every column is constant. */
WM_MUST_CHECK wm_status wmi_steps_fit(wmi_steps *s, int64_t raw, const int64_t n[2],
                                      const double *const x[2], const wm_kind *kind, wm_error *err);
/* Zeros, with room for so many values. */
WM_MUST_CHECK wm_status wmi_steps_new(wmi_steps *s, int64_t raw, int64_t values, wm_error *err);
/* Once how, first, value and share are there: dim and below. False if they make no sense. */
bool wmi_steps_settle(wmi_steps *s);
WM_MUST_CHECK wm_status wmi_steps_copy(wmi_steps *to, const wmi_steps *s, wm_error *err);
void wmi_steps_free(wmi_steps *s);

/* Whether a value of a column is one that it may have. */
bool wmi_steps_knows(const wmi_steps *s, int64_t column, double x);
/* A value that is known, of a column that is not constant, and the log derivative added. */
double wmi_steps_up(const wmi_steps *s, int64_t column, double x, double u, double *log_det);
/* And back, to a value that the column may have. */
double wmi_steps_down(const wmi_steps *s, int64_t column, double y);

#endif
