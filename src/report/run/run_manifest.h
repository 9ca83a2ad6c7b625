/* run_manifest.h - DIR/.manifest.json, the names of all files that a run makes. Each name is on the
 * disk before its file is, so that what it does not name belongs to somebody else and is never
 * removed. */
#ifndef WMI_REPORT_RUN_MANIFEST_H
#define WMI_REPORT_RUN_MANIFEST_H

#include <stdbool.h>

#include "report/json.h"

#define WMI_MANIFEST ".manifest.json"

/* The manifest of a folder; NULL where it has none, or one that cannot be read. For json_decref().
 */
json_t *wmi_manifest_load(const char *dir);
/* What a run without a manifest is known to have made: files that any run has. */
json_t *wmi_manifest_of_any_run(void);
/* Adds a name to *manifest, which is made where it is NULL, and writes it to dir if it is new.
 * "figures/NAME" stands for all files of that figure, "state-" for state-*.safetensors,
 * "a.safetensors" also for a.*.safetensors. */
WM_MUST_CHECK wm_status wmi_manifest_add(json_t **manifest, const char *dir, const char *name,
                                         wm_error *err);
/* Whether it names a file (a path in the folder); NULL names none. */
bool wmi_manifest_names(const json_t *manifest, const char *file);

#endif
