/* repeats.h - rows that occur more than once: copies, where draws of a continuous density would not
 * be equal, and how often each kind occurs. */
#ifndef WMI_CHECK_REPEATS_H
#define WMI_CHECK_REPEATS_H

#include "waymark/data.h"
#include "waymark/read.h"

/* Share of the rows of p and q (or NULL) together that are copies of another; 0 where no column is
 * so finely divided that chance could not make them: rounded values, counts, categories (schema, or
 * NULL: none is known to be one), and a single column, of which that cannot be told. */
WM_MUST_CHECK wm_status wmi_repeated_rows(double *share, const wm_data *p, const wm_data *q,
                                          const wm_schema *schema, wm_error *err);
/* How often each kind of row occurs in d, going by `columns` of them from `first`: *count (*kinds),
 * which is the caller's. */
WM_MUST_CHECK wm_status wmi_row_kinds(int64_t **count, int64_t *kinds, const wm_data *d,
                                      int64_t first, int64_t columns, wm_error *err);

#endif
