/* refine.h - one convex bridge against held-out rows: keep the moments, or move by ridge-logistic
 * regression. */
#ifndef WMI_MOMENTS_REFINE_H
#define WMI_MOMENTS_REFINE_H

#include "moments/convex.h"

/* bridge holds the moment solution of bridge k and receives the better of the two. */
WM_MUST_CHECK wm_status wmi_refine_bridge(const wmi_convex_data *data, const wm_chain *chain,
                                          const wmi_convex_opts *opts, int64_t k,
                                          wmi_convex_bridge *bridge, wm_error *err);

#endif
