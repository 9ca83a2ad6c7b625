/* ebm_result.h - what `waymark ebm` says of a model that it has fitted. */
#ifndef WM_CLI_EBM_RESULT_H
#define WM_CLI_EBM_RESULT_H

#include "checks.h"
#include "command.h"
#include "waymark/ebm.h"

extern const char *const ebm_noise_names[];              /* by wm_ebm_noise, ends with NULL */
extern const char *const ebm_stage_names[WM_EBM_STAGES]; /* by wm_ebm_stage */

enum { EBM_MAX_CHECKS = 3 };

/* Starts with model, info and, where the normaliser was looked at, ais. */
typedef struct ebm_result {
    const wm_ebm *model;
    wm_ebm_info info;
    bool has_ais;
    wm_ais ais;
    wm_check check[EBM_MAX_CHECKS];
    int n_checks;
} ebm_result;

/* Fills check and n_checks. */
void ebm_result_check(ebm_result *r);
/* All of it as the summary of the call. */
void ebm_result_summary(cli_call *call, const ebm_result *r);
/* And as tables on stdout. */
WM_MUST_CHECK wm_status ebm_result_print(const cli_call *call, const ebm_result *r, wm_error *err);

#endif
