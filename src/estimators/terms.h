/* terms.h - sums of terms by name: "quadratic+mlp". */
#ifndef WMI_ESTIMATORS_TERMS_H
#define WMI_ESTIMATORS_TERMS_H

#include <stddef.h>

#include "base/fail.h"

typedef struct wmi_term {
    unsigned term; /* one bit */
    const char *name;
} wmi_term;

/* The terms of model in the order of the table (n), joined by '+', in buf. */
const char *wmi_terms_text(const wmi_term *table, int n, unsigned model, char *buf, size_t size);
/* And back. WM_EINVAL names the word that is not in the table, and those that are. */
WM_MUST_CHECK wm_status wmi_terms_parse(const wmi_term *table, int n, const char *text,
                                        unsigned *out, wm_error *err);

#endif
