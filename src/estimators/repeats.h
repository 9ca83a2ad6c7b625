/* repeats.h - rows that occur more than once where draws of a continuous density would not. */
#ifndef WMI_ESTIMATORS_REPEATS_H
#define WMI_ESTIMATORS_REPEATS_H

#include "waymark/data.h"

/* Share of the rows of p and q (or NULL) together that are copies of another; 0 where no column is
 * so finely divided that chance could not make them: rounded values, counts, categories, and a
 * single column, of which that cannot be told. */
WM_MUST_CHECK wm_status wmi_repeated_rows(double *share, const wm_data *p, const wm_data *q,
                                          wm_error *err);

#endif
