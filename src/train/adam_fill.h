/* adam_fill.h - settings of Adam (fit.h) where the caller left some to the library. */
#ifndef WMI_TRAIN_ADAM_FILL_H
#define WMI_TRAIN_ADAM_FILL_H

#include "waymark/fit.h"

/* Every field of a that is not set becomes that of usual. */
void wmi_adam_fill(wm_adam_opts *a, const wm_adam_opts *usual);

#endif
