/* paths.h - several files that are one table: "p-*.npy". */
#ifndef WMI_DATA_PATHS_H
#define WMI_DATA_PATHS_H

#include "base/fail.h"

typedef struct wmi_paths {
    char **path; /* (n) */
    int n;
} wmi_paths;

/* The files that a path with *, ? or [ in it stands for, by name; itself where it has none, or
 * where a file has that very name. Starts as {0}, and is freed also on failure. WM_EIO where no
 * file matches. */
WM_MUST_CHECK wm_status wmi_paths_find(wmi_paths *p, const char *path, wm_error *err);
void wmi_paths_free(wmi_paths *p);

#endif
