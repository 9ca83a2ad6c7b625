/** @file version.h
 * Version of the header; wm_version() gives that of the library that is linked. */
#ifndef WAYMARK_VERSION_H
#define WAYMARK_VERSION_H

#include "waymark/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define WM_VERSION "0.1.0"

/** Version of the linked library, "major.minor.patch". Threads: safe. */
WM_API const char *wm_version(void);

#ifdef __cplusplus
}
#endif
#endif
