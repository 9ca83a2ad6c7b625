/* alloc.h - the only door to the heap. Sizes are products checked for overflow; a test can make the
 * k-th call fail and can count the calls. */
#ifndef WMI_BASE_ALLOC_H
#define WMI_BASE_ALLOC_H

#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"

#define WMI_ALIGN 64 /* bytes: a cache line, and the widest vector */

/* count * size zeroed bytes into *out, aligned to WMI_ALIGN; NULL and WM_ENOMEM on failure or
 * overflow. what names the thing in the error. A count of 0 gives a pointer that can be freed. */
WM_MUST_CHECK wm_status wmi_alloc(void *out, int64_t count, size_t size, const char *what,
                                  wm_error *err);
/* A copy of text. */
WM_MUST_CHECK wm_status wmi_alloc_text(char **out, const char *text, const char *what,
                                       wm_error *err);
void wmi_free(void *p);

/* Test hook: the k-th call from now fails (k >= 1); 0 switches it off. */
void wmi_alloc_fail_at(int64_t k);
int64_t wmi_alloc_count(void); /* calls so far, failed ones included */
int64_t wmi_alloc_live(void);  /* blocks not yet freed */

#endif
