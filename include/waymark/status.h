/** @file status.h
 * Status codes and the caller-owned error record: the one way in which Waymark reports failure. */
#ifndef WAYMARK_STATUS_H
#define WAYMARK_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define WM_API __attribute__((visibility("default")))
#define WM_MUST_CHECK __attribute__((warn_unused_result))
#else
#define WM_API
#define WM_MUST_CHECK
#endif

/** Every status with its one-line meaning; the enum and wm_status_text() both come from here. */
#define WM_STATUS_LIST(X)                                                                          \
    X(WM_OK, "success")                                                                            \
    X(WM_EINVAL, "invalid argument")                                                               \
    X(WM_ESHAPE, "shapes do not fit")                                                              \
    X(WM_ENOMEM, "out of memory")                                                                  \
    X(WM_EIO, "input or output failed")                                                            \
    X(WM_EFORMAT, "malformed file")                                                                \
    X(WM_EDIVERGED, "a loss or gradient is not finite")                                            \
    X(WM_EUNSUPPORTED, "not supported by this build or machine")                                   \
    X(WM_EINTERRUPTED, "stopped on request")

typedef enum wm_status {
#define WM_STATUS_ENUM(code, text) code,
    WM_STATUS_LIST(WM_STATUS_ENUM)
#undef WM_STATUS_ENUM
} wm_status;

/** Detail of a failure, in the caller's memory. Written by the function that first fails and never
 * re-worded on the way up; untouched on success. */
typedef struct wm_error {
    wm_status code;
    const char *file; /**< source file that failed, a string literal */
    int line;
    char text[256]; /**< names the thing and the value, always terminated */
} wm_error;

/** One line of meaning for a code, never NULL. Threads: safe. */
WM_API const char *wm_status_text(wm_status code);

#ifdef __cplusplus
}
#endif
#endif
