/* status.c - texts of the status codes, and the record that a failing function leaves behind. */
#include <stdarg.h>
#include <stdio.h>

#include "base/fail.h"
#include "base/utf8.h"
#include "waymark/version.h"

const char *wm_status_text(wm_status code)
{
    switch (code) {
#define TEXT(name, text)                                                                           \
    case name:                                                                                     \
        return text;
        WM_STATUS_LIST(TEXT)
#undef TEXT
    }
    return "unknown status";
}

const char *wm_version(void)
{
    return WM_VERSION;
}

void wm_error_set(wm_error *err, wm_status code, const char *file, int line, const char *fmt, ...)
{
    va_list ap;

    if (!err)
        return;
    err->code = code;
    err->file = file;
    err->line = line;
    err->topic = NULL;
    va_start(ap, fmt);
    vsnprintf(err->text, sizeof err->text, fmt, ap);
    va_end(ap);
    wmi_text_plain(err->text);
}

wm_status wmi_about(wm_status st, wm_error *err, const char *topic)
{
    if (err)
        err->topic = topic;
    return st;
}
