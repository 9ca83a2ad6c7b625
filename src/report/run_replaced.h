/* run_replaced.h - the run that an overwriting one replaces. Its files wait in DIR/.replaced, with
 * those of its figures, until the new run ends: one that fails before it has made anything, as by a
 * file name with a typing error, gives them back. */
#ifndef WMI_REPORT_RUN_REPLACED_H
#define WMI_REPORT_RUN_REPLACED_H

#include <stdbool.h>

#include "base/fail.h"

/* The marks of a run, and what a resume could take for its own. */
enum { WMI_RUN_FILES = 6 };
extern const char *const wmi_run_files[WMI_RUN_FILES];

/* Files of dir, and of dir/figures, that belong to the run go to dir/.replaced; what an earlier one
 * left there is removed. */
WM_MUST_CHECK wm_status wmi_replaced_keep(const char *dir, wm_error *err);
/* Whether a run has made any such file but config.json and an empty metrics.jsonl. */
bool wmi_run_has_results(const char *dir);
/* All of them back. */
void wmi_replaced_restore(const char *dir);
/* The end of them; nothing where there are none. */
void wmi_replaced_drop(const char *dir);

#endif
