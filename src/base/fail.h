/* fail.h - recording a failure in one line: `return wmi_fail(err, WM_EINVAL, "m = %d", m);` */
#ifndef WMI_BASE_FAIL_H
#define WMI_BASE_FAIL_H

#include "waymark/status.h"

void wmi_error_set(wm_error *err, wm_status code, const char *file, int line, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));

/* A macro, so that analyzers see that the value is never WM_OK. err may be NULL. */
#define wmi_fail(err, code, ...)                                                                   \
    (wmi_error_set((err), (code), __FILE__, __LINE__, __VA_ARGS__), (code))

#endif
