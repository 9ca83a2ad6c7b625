/* combinations.h - levels of two columns that one sample has together and the other only apart:
 * children in the second class among those who lived, and none among those who died, who had
 * children and had a second class. A divergence may be infinite for it, and no column by itself
 * says so. */
#ifndef WMI_CHECK_COMBINATIONS_H
#define WMI_CHECK_COMBINATIONS_H

#include "check/levels.h"

/* "combinations_pq": some pair of levels of the n columns is found in p and never in q, although q
 * has both levels so often that chance does not explain it; "combinations_qp" the other way round.
 * Failed where such a pair is lone (levels.h), and its rows are marked in lone (rows of p; of q);
 * else in doubt. Cost: rows times pairs of columns, of which there are at most 300. WM_ENOMEM. */
WM_MUST_CHECK wm_status wmi_check_combinations(wm_checks *list, const wm_data *const table[2],
                                               int64_t n, const wmi_level_counts column[],
                                               bool *const lone[2], wm_error *err);

#endif
