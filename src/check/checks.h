/* checks.h - the list that an estimator fills with what it finds about its own answer, and the
 * checks that every telescope has. Limits that one estimator alone uses stand with it. */
#ifndef WMI_CHECK_CHECKS_H
#define WMI_CHECK_CHECKS_H

#include "waymark/check.h"

/* Adds a check; fmt makes its meaning, which says what was found and what is possible, and no
 * option of any command. value and limit are the numbers that it speaks of. */
void wmi_checks_add(wm_checks *list, const char *name, double value, double limit,
                    wm_outcome outcome, const char *fmt, ...) __attribute__((format(printf, 6, 7)));
/* The same of something that the data cannot tell; needed: the answer is doubted for it. */
void wmi_checks_add_unknown(wm_checks *list, const char *name, double value, double limit,
                            bool needed, const char *fmt, ...)
    __attribute__((format(printf, 6, 7)));

/* The check that was added last speaks of one number alone. */
void wmi_checks_about(wm_checks *list, wm_about about);

/* The bridge of a telescope whose two waymarks are told apart most easily. */
typedef struct wmi_easiest {
    int64_t at;
    double loss, accuracy;
    double alpha_from, alpha_to; /* NaN: its waymarks have no alphas */
} wmi_easiest;

/* Before the first bridge. */
#define WMI_EASIEST_NONE ((wmi_easiest){.loss = INFINITY})

/* Takes in a bridge. */
void wmi_easiest_see(wmi_easiest *e, const wmi_easiest *bridge);
/* "chasm": whether the easiest bridge is hard enough to be learned. It fails below failed_loss (0:
 * never); more is what to use more of. */
void wmi_check_chasm(wm_checks *list, const wmi_easiest *e, double failed_loss, const char *more);
/* "finished": whether all steps of a fit were made. */
void wmi_check_finished(wm_checks *list, bool finished);

#endif
