/* stop.h - between two pieces of long work: has the caller asked for its end? */
#ifndef WMI_BASE_STOP_H
#define WMI_BASE_STOP_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/fail.h"

typedef const volatile sig_atomic_t *wmi_stop; /* NULL: nobody asks */

static inline bool wmi_asked(wmi_stop stop)
{
    return stop && *stop;
}

WM_MUST_CHECK static inline wm_status wmi_heed(wmi_stop stop, wm_error *err)
{
    return wmi_asked(stop) ? wmi_fail(err, WM_EINTERRUPTED, "stopped on request") : WM_OK;
}

#endif
