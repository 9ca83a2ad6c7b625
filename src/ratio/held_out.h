/* held_out.h - what held-out rows say about the bridges of a ratio. */
#ifndef WMI_RATIO_HELD_OUT_H
#define WMI_RATIO_HELD_OUT_H

#include "ratio/ratio_impl.h"

/* Scores of the bridges at held-out rows of their own waymarks. */
typedef struct wmi_held_out {
    int64_t n;
    double *num, *den; /* (m, n): bridge k at waymark k, and at waymark k + 1 */
} wmi_held_out;

WM_MUST_CHECK wm_status wmi_held_out_score(wmi_held_out *h, const wm_ratio *r,
                                           const wmi_ratio_rows *rows, wm_error *err);
void wmi_held_out_free(wmi_held_out *h);
/* Loss, accuracy and mean log-ratio of every bridge into r. */
void wmi_held_out_evaluate(wm_ratio *r, const wmi_held_out *h);
/* The constant of every bridge that is not saturated (there held-out rows cannot tell) refitted, in
 * r and in the scores. */
void wmi_held_out_calibrate(wm_ratio *r, wmi_held_out *h);

#endif
