/* smooths.h - the columns of a table as features of an additive model: a few smooth curves for
 * every number, a straight line for every indicator.
 *
 * A feature is a cubic spline on the knots of its column, so that any sum of features is one
 * spline for every column: what the additive head of a bridge holds. The curves of a column are
 * uncorrelated, of variance one, and ordered from straight to wiggly; only the smoothest are
 * there. Each has a penalty by its roughness (Demmler and Reinsch's basis), so that a ridge of one
 * strength serves all columns. */
#ifndef WMI_COLUMNS_SMOOTHS_H
#define WMI_COLUMNS_SMOOTHS_H

#include <stdint.h>

#include "base/stop.h"

enum { WMI_SMOOTHS_MAX = 8 }; /* of a column, at most: what is rougher is noise to a ridge */
/* Penalty of the straight part of a curve, in units of the roughness of the next; and of numbers
 * that enter as straight lines. */
#define WMI_STRAIGHT 0.3

typedef struct wmi_smooths {
    int64_t dim, bases, count; /* columns, splines of each, features in all */
    int64_t *first;            /* (dim + 1): column j has features first[j] .. first[j + 1] - 1 */
    double *knots;             /* (dim, bases + 4) */
    double *spline;            /* (count, bases) */
    double *shift;             /* (count): means over the rows it was made from, taken off */
    double *penalty;           /* (count) */
} wmi_smooths;

/* From rows x (n, dim), n >= 2. straight (dim): where it is positive the column enters as a
 * straight line with this penalty; 0: as curves. Columns that do not vary get no feature. */
WM_MUST_CHECK wm_status wmi_smooths_new(wmi_smooths *s, int64_t n, int64_t dim, const double *x,
                                        const double *straight, int64_t bases, const float *knots,
                                        wmi_stop stop, wm_error *err);
void wmi_smooths_free(wmi_smooths *s);
/* Features of n rows x (n, dim) into out (n, count). */
void wmi_smooths_apply(const wmi_smooths *s, int64_t n, const double *x, double *out);
/* sum_j b_j feature_j = sum over columns of splines with coefficients coef (dim, bases), less the
 * constant that is returned. */
double wmi_smooths_sum(const wmi_smooths *s, const double *b, double *coef);

#endif
