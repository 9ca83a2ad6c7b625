/* summary.h - what the run folder needs of a summary's inside. */
#ifndef WMI_REPORT_SUMMARY_H
#define WMI_REPORT_SUMMARY_H

#include "report/json.h"
#include "waymark/report.h"

/* The object, borrowed, or the first failure of its building. */
WM_MUST_CHECK wm_status wmi_summary_json(json_t **out, const wm_summary *s, wm_error *err);

#endif
