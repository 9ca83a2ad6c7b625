/* group_moments.h - moments of a table in groups of rows, and of groups together
 * (waymark/moments.h). */
#ifndef WMI_MOMENTS_GROUP_MOMENTS_H
#define WMI_MOMENTS_GROUP_MOMENTS_H

#include "waymark/moments.h"

/* Of some rows. */
typedef struct wmi_row_moments {
    double n;
    double *mean;    /* (d) */
    double *scatter; /* (d, d): sum of (x - mean)(x - mean)' */
} wmi_row_moments;

struct wm_moments {
    int64_t dim, groups, n;
    wmi_row_moments *group; /* (groups) */
    double *store;
};

/* Empty ones, and rows x (n, dim) that come next, numbered on from those before. shift (dim): a
 * point in their midst, the same in all calls; scratch is grown as needed. */
WM_MUST_CHECK wm_status wmi_moments_new(wm_moments **out, int64_t dim, wm_error *err);
typedef struct wmi_moments_work {
    double *shift;         /* (dim) */
    double *sorted, *part; /* (room, dim) rows by group; (dim, dim) */
    int64_t *which;        /* (room) groups of rows */
    int64_t room;
} wmi_moments_work;
WM_MUST_CHECK wm_status wmi_moments_add(wm_moments *m, wmi_moments_work *w, int64_t n,
                                        const double *x, wm_error *err);
/* After the last rows: from sums about the shift to means and scatters. */
void wmi_moments_finish(wm_moments *m, wmi_moments_work *w);

/* Of groups from .. to - 1 together; out has its arrays. */
void wmi_moments_join(wmi_row_moments *out, const wm_moments *m, int64_t from, int64_t to);
/* As if each column had been (x - shift) / scale; column (dim): which of m it is. */
WM_MUST_CHECK wm_status wmi_moments_scaled(wm_moments **out, const wm_moments *m, int64_t dim,
                                           const int64_t *column, const double *shift,
                                           const double *scale, wm_error *err);

#endif
