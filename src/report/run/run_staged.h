/* run_staged.h - the run that is to replace another. It works in DIR/.next, and the old run stays
 * as it is in DIR; when the new one has finished its files take the place of the old one's. From
 * the moment that DIR/.next/.finished is on the disk, which lists these files, the new run is the
 * one that counts: whoever opens the folder completes an exchange that was cut short. */
#ifndef WMI_REPORT_RUN_STAGED_H
#define WMI_REPORT_RUN_STAGED_H

#include <stdbool.h>

#include "report/json.h"

#define WMI_STAGED ".next"

/* dir/.next, for wmi_free(); made by begin, empty: what an earlier run left in it is removed. */
WM_MUST_CHECK wm_status wmi_staged_path(char **out, const char *dir, wm_error *err);
WM_MUST_CHECK wm_status wmi_staged_begin(const char *dir, wm_error *err);
/* Puts the run in dir/.next in the place of the one in dir, of which `old` names the files. */
WM_MUST_CHECK wm_status wmi_staged_finish(const char *dir, const json_t *old, wm_error *err);
/* Whether an exchange was cut short. */
bool wmi_staged_is_finished(const char *dir);
/* Removes dir/.next and what is in it. */
void wmi_staged_drop(const char *dir);

#endif
