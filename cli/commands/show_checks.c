/* show_checks.c - checks and verdict in the summary and on stdout (show_checks.h). */
#include "commands/show_checks.h"

#include <stdio.h>
#include <string.h>

static const char *advice_on(const wm_check *c, const check_advice *advice)
{
    static const check_advice everywhere[] = {
        {"finished", "--resume goes on; --time-limit gives it more time.", WM_CHECK_OK}, {0}};
    const check_advice *const tables[] = {advice, everywhere};

    for (int t = 0; c->outcome != WM_CHECK_OK && t < 2; t++)
        for (const check_advice *a = tables[t]; a && a->name; a++)
            if (strcmp(a->name, c->name) == 0 &&
                (a->outcome == WM_CHECK_OK || a->outcome == c->outcome))
                return a->advice;
    return NULL;
}

void summary_checks(cli_call *call, const wm_checks *list, const check_advice *advice)
{
    const wm_check *reason = wm_checks_reason(list);
    const char *more = reason ? advice_on(reason, advice) : NULL;
    wm_summary *s = call->summary;
    char text[sizeof reason->meaning + 200];

    for (int64_t i = 0; i < list->n; i++) {
        const wm_check *c = &list->check[i];
        const char *what = advice_on(c, advice);
        wm_summary *row = wm_summary_row(s, "checks");

        WM_PUT(row, WM_TEXT("name", c->name), WM_REAL("value", c->value),
               WM_REAL("limit", c->limit), WM_BOOL("ok", c->outcome == WM_CHECK_OK),
               WM_TEXT("outcome", wm_outcome_text(c->outcome)), WM_TEXT("meaning", c->meaning));
        if (what)
            wm_summary_text(row, "advice", what);
    }
    snprintf(text, sizeof text, "%s%s%s", reason ? reason->meaning : "No check failed.",
             more ? " " : "", more ? more : "");
    wm_summary_text(s, "verdict", wm_verdict_text(wm_checks_verdict(list)));
    wm_summary_text(s, "reason", text);
    call->doubt = reason != NULL;
}

void print_checks(const cli_call *call, const wm_checks *list, const check_advice *advice)
{
    static const char *const say[] = {"", " The truth may lie outside the interval.",
                                      " Do not use this number."};
    const wm_check *reason = wm_checks_reason(list);
    const wm_verdict verdict = wm_checks_verdict(list),
                     pq = wm_checks_verdict_about(list, WM_ABOUT_PQ),
                     qp = wm_checks_verdict_about(list, WM_ABOUT_QP);

    if (call->common->quiet) {
        printf("Verdict: %s.%s%s\n", wm_verdict_text(verdict), reason ? " " : "",
               reason ? reason->meaning : "");
        return;
    }
    printf("\nChecks\n");
    for (int64_t i = 0; i < list->n; i++) {
        const wm_check *c = &list->check[i];
        const char *what = advice_on(c, advice);
        char text[sizeof c->meaning + 200];

        snprintf(text, sizeof text, "%s%s%s", c->meaning, what ? " " : "", what ? what : "");
        printf("  %-9s  %s\n", wm_outcome_text(c->outcome), c->name);
        opt_print_wrapped(text, 8, 0, stdout);
    }
    if (pq == qp)
        printf("\nVerdict: %s.%s\n", wm_verdict_text(verdict), say[verdict]);
    else
        printf("\nVerdict: %s for KL(p, q), %s for KL(q, p).\n", wm_verdict_text(pq),
               wm_verdict_text(qp));
}
