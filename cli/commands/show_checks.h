/* show_checks.h - the checks of an answer, and the verdict that they add up to, as every command
 * shows them: in the summary and in words. The library makes them and says what is possible; the
 * command adds its own options. */
#ifndef WM_CLI_SHOW_CHECKS_H
#define WM_CLI_SHOW_CHECKS_H

#include "frame/command.h"
#include "waymark/check.h"

/* What to do about a check that is not ok, by options of the command; tables end with {0}. */
typedef struct check_advice {
    const char *name;   /* of the check */
    const char *advice; /* a sentence */
    wm_outcome outcome; /* only then; WM_CHECK_OK: whatever speaks against the answer */
} check_advice;

/* Rows "checks" of the summary, its "verdict" and "reason", and the exit code of --strict. */
void summary_checks(cli_call *call, const wm_checks *list, const check_advice *advice);
/* The same on stdout; with --quiet the verdict and its reason alone. */
void print_checks(const cli_call *call, const wm_checks *list, const check_advice *advice);

#endif
