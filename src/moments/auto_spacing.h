/* auto_spacing.h - where to put waymarks, from the moments of the two ends.
 *
 * Gaussians with the moments of the waymarks form a curve from p0 to pm; sqrt(KL(f, g) + KL(g, f))
 * of two near ones is the length of curve between them (Fisher-Rao). Waymarks at equal lengths make
 * bridges that are equally hard for a classifier, and the whole length says how many are needed. It
 * is a start: what moments do not see, held-out losses will (estimators/study.c). */
#ifndef WMI_MOMENTS_AUTO_SPACING_H
#define WMI_MOMENTS_AUTO_SPACING_H

#include "moments/path_moments.h"

/* Two unit Gaussians one and a half standard deviations apart: a classifier is right 77 times in
 * 100, and the variance of their ratio is small enough to be judged from some thousand rows. */
#define WMI_BRIDGE_LENGTH 1.5

typedef struct wmi_alpha_path {
    double length; /* of the whole curve */
    int64_t n;     /* segments */
    double *alpha; /* (n + 1) their ends */
    double *until; /* (n + 1) length of curve from 0 to alpha */
} wmi_alpha_path;

/* The curve between two ends of d columns. columns (d) as in waymarks.h: those in blocks, and those
 * kept, stay as they are; NULL: all are linear. */
WM_MUST_CHECK wm_status wmi_alpha_path_new(wmi_alpha_path *p, int64_t d, const wmi_end_moments *m0,
                                           const wmi_end_moments *mm, const int64_t *columns,
                                           wm_error *err);
void wmi_alpha_path_free(wmi_alpha_path *p);
/* Bridges of at most WMI_BRIDGE_LENGTH each, 1 .. most. */
int64_t wmi_alpha_path_bridges(const wmi_alpha_path *p, int64_t most);
/* Length of curve between two alphas. */
double wmi_alpha_path_between(const wmi_alpha_path *p, double from, double to);
/* The alpha half-way between two others, by length, and by angle where the curve does not move. */
double wmi_alpha_path_half(const wmi_alpha_path *p, double from, double to);
/* m + 1 alphas at equal lengths. */
void wmi_alpha_path_alphas(const wmi_alpha_path *p, int64_t m, wm_alphas *out);

#endif
