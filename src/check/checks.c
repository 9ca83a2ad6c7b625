/* checks.c - the list of checks, their words, and the verdict that they add up to (checks.h). */
#include "check/checks.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

const char *wm_outcome_text(wm_outcome outcome)
{
    static const char *const words[] = {"ok", "doubt", "failed", "not known"};

    return words[outcome];
}

const char *wm_verdict_text(wm_verdict v)
{
    static const char *const words[] = {"trust", "doubt", "reject"};

    return words[v];
}

/* ---- the list ---- */

static void add(wm_checks *list, wm_check c, const char *fmt, va_list args)
    __attribute__((format(printf, 3, 0)));

static void add(wm_checks *list, wm_check c, const char *fmt, va_list args)
{
    assert(list->n < WM_CHECKS_MAX);
    if (list->n == WM_CHECKS_MAX)
        return;
    vsnprintf(c.meaning, sizeof c.meaning, fmt, args);
    wmi_text_plain(c.meaning);
    list->check[list->n++] = c;
}

void wmi_checks_add(wm_checks *list, const char *name, double value, double limit,
                    wm_outcome outcome, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    add(list, (wm_check){.name = name, .value = value, .limit = limit, .outcome = outcome}, fmt,
        args);
    va_end(args);
}

void wmi_checks_add_unknown(wm_checks *list, const char *name, double value, double limit,
                            bool needed, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    add(list,
        (wm_check){.name = name,
                   .value = value,
                   .limit = limit,
                   .outcome = WM_CHECK_NOT_KNOWN,
                   .needed = needed},
        fmt, args);
    va_end(args);
}

void wmi_checks_about(wm_checks *list, wm_about about)
{
    list->check[list->n - 1].about = about;
}

/* ---- the verdict ---- */

static wm_verdict verdict_by(const wm_check *c)
{
    if (c->outcome == WM_CHECK_FAILED)
        return WM_REJECT;
    return c->outcome == WM_CHECK_DOUBT || (c->outcome == WM_CHECK_NOT_KNOWN && c->needed)
               ? WM_DOUBT
               : WM_TRUST;
}

const wm_check *wm_checks_reason(const wm_checks *list)
{
    const wm_check *reason = NULL;

    for (int64_t i = 0; i < list->n; i++)
        if (verdict_by(&list->check[i]) > (reason ? verdict_by(reason) : WM_TRUST))
            reason = &list->check[i];
    return reason;
}

wm_verdict wm_checks_verdict(const wm_checks *list)
{
    const wm_check *reason = wm_checks_reason(list);

    return reason ? verdict_by(reason) : WM_TRUST;
}

wm_verdict wm_checks_verdict_about(const wm_checks *list, wm_about about)
{
    wm_verdict worst = WM_TRUST;

    for (int64_t i = 0; i < list->n; i++) {
        const wm_check *c = &list->check[i];

        if ((c->about == WM_ABOUT_ALL || c->about == about) && verdict_by(c) > worst)
            worst = verdict_by(c);
    }
    return worst;
}

const wm_check *wm_checks_find(const wm_checks *list, const char *name)
{
    for (int64_t i = 0; i < list->n; i++)
        if (strcmp(list->check[i].name, name) == 0)
            return &list->check[i];
    return NULL;
}

/* ---- what every telescope is asked ---- */

void wmi_easiest_see(wmi_easiest *e, const wmi_easiest *bridge)
{
    if (bridge->loss < e->loss)
        *e = *bridge;
}

void wmi_check_chasm(wm_checks *list, const wmi_easiest *e, double failed_loss, const char *more)
{
    const bool has_alphas = isfinite(e->alpha_from) && isfinite(e->alpha_to);
    char where[64] = "";

    if (e->loss >= WM_CHASM_LOSS) {
        if (e->accuracy > 0.5)
            wmi_checks_add(list, "chasm", e->loss, WM_CHASM_LOSS, WM_CHECK_OK,
                           "Neighbouring waymarks overlap: the classifier of the hardest bridge "
                           "(%" PRId64 ") is right %.1f times in 100, with a loss of %.3f (below "
                           "%.1f is a chasm).",
                           e->at, 100 * e->accuracy, e->loss, WM_CHASM_LOSS);
        else /* a ratio of 1 decides for neither, which counts as wrong */
            wmi_checks_add(list, "chasm", e->loss, WM_CHASM_LOSS, WM_CHECK_OK,
                           "Neighbouring waymarks overlap: the classifier of the hardest bridge "
                           "(%" PRId64 ") is right no more often than chance, with a loss of %.3f "
                           "(below %.1f is a chasm).",
                           e->at, e->loss, WM_CHASM_LOSS);
        return;
    }
    if (has_alphas)
        snprintf(where, sizeof where, " (alpha %.4g to %.4g)", e->alpha_from, e->alpha_to);
    wmi_checks_add(list, "chasm", e->loss, WM_CHASM_LOSS,
                   e->loss < failed_loss ? WM_CHECK_FAILED : WM_CHECK_DOUBT,
                   "Bridge %" PRId64 "%s tells its two waymarks apart %.2f times in 100 (loss "
                   "%.4f, below %.1f), so that it learns little about by how much: use more %s%s.",
                   e->at, where, 100 * e->accuracy, e->loss, WM_CHASM_LOSS, more,
                   has_alphas ? ", or a spacing with a smaller gap there" : "");
}

void wmi_check_finished(wm_checks *list, bool finished)
{
    wmi_checks_add(list, "finished", finished, 1, finished ? WM_CHECK_OK : WM_CHECK_DOUBT, "%s",
                   finished ? "All steps were made."
                            : "Training was cut short: the best so far is the answer. Give it more "
                              "time, or go on from its checkpoint.");
}
