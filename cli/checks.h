/* checks.h - the checks that a command makes of its own result: in the summary, in words, and the
 * verdict that follows from them. */
#ifndef WM_CLI_CHECKS_H
#define WM_CLI_CHECKS_H

#include "command.h"
#include "waymark/study.h"

/* Whether the easiest bridge of a telescope, `at` with `loss`, is hard enough to be learned; remedy
 * is what to do if not, and ends the sentence "Use more ...". */
wm_check check_chasm(double loss, int64_t at, const char *remedy);
/* Whether all steps of a fit were made. */
wm_check check_finished(bool finished);

/* Rows of the summary's "checks". */
void summary_checks(wm_summary *s, const wm_check *c, int64_t n);
/* "verdict" and "reason" of the summary: doubt where a check failed, by the first that did. */
void summary_verdict(cli_call *call, const wm_check *c, int64_t n);
/* A line of stdout for each. */
void print_checks(const wm_check *c, int64_t n);

#endif
