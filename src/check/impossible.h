/* impossible.h - answers that cannot be, whatever the data: a divergence below 0, a mutual
 * information above an entropy, a number without sense. Nothing is added where all is possible. */
#ifndef WMI_CHECK_IMPOSSIBLE_H
#define WMI_CHECK_IMPOSSIBLE_H

#include "check/checks.h"

/* A KL divergence, or a mutual information, in nats. */
typedef struct wmi_divergence {
    const char *name; /* "KL(p, q)" */
    wm_estimate found;
} wmi_divergence;

/* "impossible": one of n divergences, by so many rows, is not finite, absurdly large, or below 0
 * beyond its error; or one is negative and another large. */
void wmi_check_divergences(wm_checks *list, int n, const wmi_divergence d[], int64_t rows);

/* "impossible": a mutual information above the entropy of a side that has levels only, count
 * (levels) rows each. what: what messages call the side. */
void wmi_check_entropy(wm_checks *list, const wm_estimate *mi, const char *what, int64_t levels,
                       const int64_t *count);

#endif
