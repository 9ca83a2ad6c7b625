/** @file check.h
 * What every estimator says about its own answer: numbers with intervals, checks in plain words,
 * and one verdict. */
#ifndef WAYMARK_CHECK_H
#define WAYMARK_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "waymark/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A number with its uncertainty. */
typedef struct wm_estimate {
    double value;  /**< in the units of what is estimated */
    double se;     /**< standard error, of rows and of fits together */
    double lo, hi; /**< 95 % interval */
} wm_estimate;

/** The mean of x (n) with its standard error, NaN for a single value, and the normal interval. */
WM_API wm_estimate wm_mean(const double *x, int64_t n);

/** How a check ended. */
typedef enum wm_outcome {
    WM_CHECK_OK,
    WM_CHECK_DOUBT,     /**< the answer may be off by more than its interval says */
    WM_CHECK_FAILED,    /**< the answer means nothing */
    WM_CHECK_NOT_KNOWN, /**< the data cannot tell */
} wm_outcome;

/** "ok", "doubt", "failed", "not known". */
WM_API const char *wm_outcome_text(wm_outcome outcome);

/** What to think of an answer. */
typedef enum wm_verdict {
    WM_TRUST,  /**< no check speaks against the answer */
    WM_DOUBT,  /**< it may be off by more than its interval says */
    WM_REJECT, /**< it means nothing */
} wm_verdict;

/** "trust", "doubt", "reject". */
WM_API const char *wm_verdict_text(wm_verdict v);

/** Which number a check speaks of, where there are two. */
typedef enum wm_about {
    WM_ABOUT_ALL,
    WM_ABOUT_PQ, /**< KL(p, q) alone */
    WM_ABOUT_QP, /**< KL(q, p) alone */
} wm_about;

/** One question that an answer was asked. */
typedef struct wm_check {
    const char *name;    /**< one word */
    double value, limit; /**< the numbers that the meaning speaks of */
    wm_outcome outcome;  /**< how it ended */
    bool needed;         /**< without knowing it the answer is doubted; of outcome not known */
    wm_about about;      /**< the number that it speaks of */
    char meaning[400];   /**< what was found and what is possible, one or two sentences */
} wm_check;

#define WM_CHECKS_MAX 24 /**< checks that a list can hold */

/** All checks of one answer, in the order in which they are told; {0} is an empty list. */
typedef struct wm_checks {
    int64_t n;                     /**< checks that were made */
    wm_check check[WM_CHECKS_MAX]; /**< (n) */
} wm_checks;

/** What the checks add up to: reject if one failed; else doubt if one is in doubt, or is needed and
 * not known. */
WM_API wm_verdict wm_checks_verdict(const wm_checks *list);
/** The same for one number: checks that speak of the other one alone have no say. */
WM_API wm_verdict wm_checks_verdict_about(const wm_checks *list, wm_about about);
/** The first check that made the verdict what it is; NULL where that is trust. Borrowed. */
WM_API const wm_check *wm_checks_reason(const wm_checks *list);
/** The check of that name; NULL if it was not made. Borrowed. */
WM_API const wm_check *wm_checks_find(const wm_checks *list, const char *name);

/** Logistic loss of a bridge below which its ratio is hardly learned: its waymarks are a chasm
 * apart. Chance is 1.386. */
#define WM_CHASM_LOSS 0.1

#ifdef __cplusplus
}
#endif
#endif
