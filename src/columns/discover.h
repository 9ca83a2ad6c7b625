/* discover.h - what the columns of one or two tables really are, whatever they were read as.
 *
 * A number that takes few values, or the same ones again and again, is discrete: half way between
 * two of its values there is nothing, and no covariance describes it. Values that many rows share
 * get an indicator of their own (also the zeros of an otherwise continuous column), rare levels
 * of a category are pooled, constant columns are left aside. */
#ifndef WMI_COLUMNS_DISCOVER_H
#define WMI_COLUMNS_DISCOVER_H

#include <stdbool.h>

#include "base/fail.h"
#include "waymark/read.h"

enum { WMI_FEW = 16 }; /* distinct values that are told apart one by one: a discrete number */

/* Why a column is left out. */
typedef enum wmi_aside {
    WMI_ASIDE_NOT,
    WMI_ASIDE_CONSTANT, /* one value in all rows */
    WMI_ASIDE_RARE,     /* a category of which no level but one has more than a few rows */
    WMI_ASIDE_SPLIT, /* levels, a few values, the only value of one table, or whole numbers of which
                        one table has the low ones, the other the high: what they were split by */
} wmi_aside;

typedef struct wmi_found_columns {
    int64_t raw;
    wm_kind *kind;    /* (raw) WM_KIND_INTEGER for discrete numbers */
    wmi_aside *aside; /* (raw) */
    bool *curved;     /* (raw) a number with more values than its indicators can tell apart */
    int64_t *first;   /* (raw + 1): column j has indicators of value[first[j]] and on */
    double *value;    /* (first[raw]) */
    int64_t discrete; /* columns, of those not left aside, that are not continuous */
    bool mixed;       /* moments do not describe the table: discrete columns, or indicators */
} wmi_found_columns;

/* From tables x (n, raw) of which the second may be NULL; kind (raw) as read, or NULL: all
 * continuous. */
WM_MUST_CHECK wm_status wmi_discover(wmi_found_columns *found, int64_t raw, const int64_t n[2],
                                     const double *const x[2], const wm_kind *kind, wm_error *err);
void wmi_found_free(wmi_found_columns *found);

#endif
