/* run_folder.h - the inside of a run folder, for the files that make it. */
#ifndef WMI_REPORT_RUN_FOLDER_H
#define WMI_REPORT_RUN_FOLDER_H

#include "base/arena.h"
#include "report/json.h"
#include "waymark/report.h"

#define WMI_RUN_METRICS "metrics.jsonl"
#define WMI_RUN_EVENTS "events.out.tfevents.1.waymark"

struct wm_run_folder {
    wmi_arena arena; /* the paths that were asked for */
    char *top, *dir; /* the folder, and where the run works: the same, or run_staged.h's place */
    char *command;
    json_t *manifest; /* of dir (run_manifest.h); NULL: nothing is in it yet */
    int lock;         /* on top's metrics.jsonl, where the run does not work in top; else -1 */
    int metrics;      /* open for appending, and locked as long as the folder is open; else -1 */
    char *waiting;    /* lines that could not be written yet, or NULL */
    json_t *begun;    /* what this process has written lines of (wmi_run_lines_begin), or NULL */
    int events;       /* the same for TensorBoard, once there is a line for it; else -1 */
    bool resumed, staged, wants_events;
};

/* A lock on dir's metrics.jsonl, which is made if it is not there: its descriptor. WM_EIO where
 * another process has it. */
WM_MUST_CHECK wm_status wmi_run_lock(int *out, const char *dir, wm_error *err);
/* Before a line of `name` (the value of `key`: "stage", "model") at a step: where a resumed run
 * writes of it for the first time, drops what it had said of this step and all that came after. */
WM_MUST_CHECK wm_status wmi_run_lines_begin(wm_run_folder *r, const char *key, const char *name,
                                            int64_t step, wm_error *err);
/* After a resume from a checkpoint at a step: drops the lines of later steps, and a last line that
 * was cut short. Lines without a step stay. stage: where a run counts its steps anew in every
 * stage, the "stage" of the lines meant; else NULL. Without a folder nothing is done. */
WM_MUST_CHECK wm_status wmi_run_lines_rewind(wm_run_folder *r, const char *stage, int64_t step,
                                             wm_error *err);
/* All that was appended is on the disk, also what has waited. */
WM_MUST_CHECK wm_status wmi_run_lines_sync(wm_run_folder *r, wm_error *err);

#endif
