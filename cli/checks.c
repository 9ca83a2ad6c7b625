/* checks.c - checks, verdict and their words (checks.h). */
#include "checks.h"

#include <inttypes.h>
#include <stdio.h>

wm_check check_chasm(double loss, int64_t at, const char *remedy)
{
    const double least = 0.1; /* of 2 log 2, which is chance */
    wm_check c = {.name = "chasm", .value = loss, .limit = least, .ok = loss >= least};

    if (c.ok)
        snprintf(c.meaning, sizeof c.meaning,
                 "No bridge is so easy that its ratio cannot be learned.");
    else
        snprintf(c.meaning, sizeof c.meaning,
                 "Bridge %" PRId64 " is classified almost perfectly: its ratio is not learned. "
                 "Use more %s.",
                 at, remedy);
    return c;
}

wm_check check_finished(bool finished)
{
    wm_check c = {.name = "finished", .value = finished, .limit = 1, .ok = finished};

    snprintf(c.meaning, sizeof c.meaning, "%s",
             finished ? "All steps were made."
                      : "Fitting ended early: --resume goes on, or allow more time.");
    return c;
}

void summary_checks(wm_summary *s, const wm_check *c, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        wm_summary *row = wm_summary_row(s, "checks");

        wm_summary_text(row, "name", c[i].name);
        wm_summary_real(row, "value", c[i].value);
        wm_summary_real(row, "limit", c[i].limit);
        wm_summary_bool(row, "ok", c[i].ok);
        wm_summary_text(row, "meaning", c[i].meaning);
    }
}

void summary_verdict(cli_call *call, const wm_check *c, int64_t n)
{
    const wm_check *failed = NULL;

    for (int64_t i = 0; i < n && !failed; i++)
        if (!c[i].ok)
            failed = &c[i];
    wm_summary_text(call->summary, "verdict", wm_verdict_text(failed ? WM_DOUBT : WM_TRUST));
    wm_summary_text(call->summary, "reason", failed ? failed->meaning : "No check failed.");
    call->doubt = failed != NULL;
}

void print_checks(const wm_check *c, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        printf("%s %s: %s\n", c[i].ok ? "ok  " : "FAIL", c[i].name, c[i].meaning);
}
