/** @file status.h
 * Status codes and the caller-owned error record: the one way in which Waymark reports failure. */
#ifndef WAYMARK_STATUS_H
#define WAYMARK_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

/** @def WM_API
 * Exported by the shared library. */
/** @def WM_MUST_CHECK
 * Its result must be looked at. */
/** @def WM_PRINTF
 * Takes a format, and values for it, as printf() does. */
#if defined(__GNUC__)
#define WM_API __attribute__((visibility("default")))
#define WM_MUST_CHECK __attribute__((warn_unused_result))
#define WM_PRINTF(format_at, values_at) __attribute__((format(printf, format_at, values_at)))
#else
#define WM_API
#define WM_MUST_CHECK
#define WM_PRINTF(format_at, values_at)
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

/** How a function ended; WM_OK is 0. */
typedef enum wm_status {
#define WM_STATUS_ENUM(code, text) code,
    WM_STATUS_LIST(WM_STATUS_ENUM)
#undef WM_STATUS_ENUM
} wm_status;

/** Detail of a failure, in the caller's memory. Written by the function that first fails and never
 * re-worded on the way up; untouched on success. */
typedef struct wm_error {
    wm_status code;    /**< what the function returned */
    const char *file;  /**< source file that failed, a string literal */
    int line;          /**< in it */
    char text[256];    /**< names the thing and the value, always terminated */
    const char *topic; /**< the setting that would help, as options call it ("missing"), or NULL */
} wm_error;

/** One line of meaning for a code, never NULL. Threads: safe. */
WM_API const char *wm_status_text(wm_status code);

/** Record a failure, as the library does and as its clients may: cut to what the record holds,
 * without a topic. See WM_FAIL().
 * @param err        or NULL: then nothing happens
 * @param file,line  where it failed; file is kept as a pointer */
WM_API void wm_error_set(wm_error *err, wm_status code, const char *file, int line, const char *fmt,
                         ...) WM_PRINTF(5, 6);

/** Record a failure of this line and yield its code: `return WM_FAIL(err, WM_EINVAL, "m = %d", m);`
 * A macro, so that analyzers see that the value is never WM_OK. */
#define WM_FAIL(err, code, ...)                                                                    \
    (wm_error_set((err), (code), __FILE__, __LINE__, __VA_ARGS__), (code))

#ifdef __cplusplus
}
#endif
#endif
