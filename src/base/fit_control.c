/* fit_control.c - what steers a fit, and how Adam trains, before anybody has chosen (fit.h). */
#include "waymark/fit.h"

void wm_fit_control_init(wm_fit_control *control)
{
    *control = (wm_fit_control){.seed = 1, .threads = WM_AUTO, .checkpoint_seconds = 30};
}

void wm_adam_opts_init(wm_adam_opts *adam)
{
    *adam = (wm_adam_opts)WM_ADAM(WM_AUTO, WM_AUTO, WM_UNSET, WM_UNSET);
}
