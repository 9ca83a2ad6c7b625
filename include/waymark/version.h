/** @file version.h
 * Version of the header; wm_version() gives that of the library that is linked. */
#ifndef WAYMARK_VERSION_H
#define WAYMARK_VERSION_H

#include "waymark/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define WM_VERSION "0.1.0" /**< major.minor.patch */

/** Version of the linked library, "major.minor.patch". Threads: safe. */
WM_API const char *wm_version(void);
/** What the environment variable OPENBLAS_CORETYPE should say before the program starts, if the
 * OpenBLAS that is loaded has not recognised the processor and runs at a fraction of its speed;
 * NULL: all is well. The command sees to it itself. Threads: safe. */
WM_API const char *wm_blas_core(void);
/** Where memory is limited (ulimit -v): take what OpenBLAS needs for the threads that OpenMP now
 * has, before anything else does; without memory it would hang. Nothing is done without a limit.
 * @return WM_OK, or WM_ENOMEM: do not go on */
WM_API WM_MUST_CHECK wm_status wm_blas_reserve(wm_error *err);

#ifdef __cplusplus
}
#endif
#endif
