/* ebm_result.h - what `waymark ebm` says of a model that it has fitted. */
#ifndef WM_CLI_EBM_RESULT_H
#define WM_CLI_EBM_RESULT_H

#include "frame/command.h"
#include "waymark/ebm.h"

extern const char *const ebm_noise_names[];          /* by wm_ebm_noise, ends with NULL */
extern const char *const ebm_stage_names[WM_STAGES]; /* by wm_stage */

typedef struct ebm_result {
    const wm_ebm *model;
    wm_ebm_info info;
    bool has_ais; /* the normaliser was looked at */
    wm_ais ais;
    wm_checks checks;
} ebm_result;

/* All of it as the summary of the call. */
void ebm_result_summary(cli_call *call, const ebm_result *r);
/* And as tables on stdout. */
WM_MUST_CHECK wm_status ebm_result_print(const cli_call *call, const ebm_result *r, wm_error *err);

#endif
