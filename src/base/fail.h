/* fail.h - recording a failure in one line: `return wmi_fail(err, WM_EINVAL, "m = %d", m);` */
#ifndef WMI_BASE_FAIL_H
#define WMI_BASE_FAIL_H

#include "waymark/status.h"

/* The library's own name of it. */
#define wmi_fail WM_FAIL

/* Arguments that may not be NULL, in a public function that returns a status: WMI_NEED(err, out &&
 * path); the message names the function and them. */
#define WMI_NEED(err, GIVEN)                                                                       \
    do {                                                                                           \
        if (!(GIVEN))                                                                              \
            return wmi_fail((err), WM_EINVAL, "%s: NULL where none may be: %s", __func__, #GIVEN); \
    } while (0)

/* Names the setting that would help, in a failure that was just recorded: `return
 * wmi_about(wmi_fail(err, ...), err, "batch");` What a setting is called to a person, its client
 * knows. */
wm_status wmi_about(wm_status st, wm_error *err, const char *topic);

#endif
