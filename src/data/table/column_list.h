/* column_list.h - "age,3,5-7,price*": columns as a user names them. */
#ifndef WMI_DATA_COLUMN_LIST_H
#define WMI_DATA_COLUMN_LIST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"

/* The columns that a list may name. */
typedef struct wmi_listed {
    int64_t n;
    const char *const *name; /* (n), entries may be NULL; or NULL */
    const int64_t *number;   /* (n) by which they go, ascending; NULL: 1, 2, ... */
} wmi_listed;

/* Calls back for each column (its place, from 0) of a comma-separated list: names; numbers; ranges
 * of numbers; names with * and ? in them; "all". A name comes before a number: a table may well
 * have a column called 3. WM_EINVAL names an entry that is no column, or two of one name, unless
 * unknown is not NULL: then *unknown is the first such entry's place in the list, else NULL. */
WM_MUST_CHECK wm_status wmi_list_each(const wmi_listed *of, const char *list, const char **unknown,
                                      wm_status (*f)(void *ctx, int64_t column, wm_error *err),
                                      void *ctx, wm_error *err);

#endif
