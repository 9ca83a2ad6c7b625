/* combinations.h - levels of two columns that one sample has together and the other only apart:
 * children in the second class among those who lived, and none among those who died, who had
 * children and had a second class. A divergence may be infinite for it, and no column by itself
 * says so. */
#ifndef WMI_CHECK_COMBINATIONS_H
#define WMI_CHECK_COMBINATIONS_H

#include "check/impossible.h"
#include "waymark/data.h"

/* "combinations": adds a doubt where some pair of levels of the n columns is found in one table and
 * never in the other, although that has both levels so often that chance does not explain it;
 * nothing otherwise. Cost: rows times pairs of columns, of which there are at most 300. WM_ENOMEM.
 */
WM_MUST_CHECK wm_status wmi_check_combinations(wm_checks *list, const wm_data *const table[2],
                                               int64_t n, const wmi_level_counts column[],
                                               wm_error *err);

#endif
