/* chain.h - what the files of waymarks/ share: a chain's tables. */
#ifndef WMI_WAYMARKS_CHAIN_H
#define WMI_WAYMARKS_CHAIN_H

#include "waymark/waymarks.h"

/* Consecutive columns that do the same. */
typedef struct wmi_column_run {
    int64_t from, count;
    int64_t kind; /* WM_COLUMN_LINEAR, WM_COLUMN_KEPT or a block */
} wmi_column_run;

struct wm_chain {
    int64_t bridges, dim, blocks, n_runs;
    double *alpha;        /* (bridges + 1) */
    wmi_column_run *runs; /* (n_runs), covering the columns in order */
    int64_t *switches;    /* (blocks): the block in place t is x_m's from waymark switches[t] on */
};

/* First waymark at which the block in place t of `blocks` is x_m's, 1 .. bridges. */
int64_t wmi_chain_switch(int64_t t, int64_t blocks, int64_t bridges);
/* Waymark k is x_k = a * x_0 + b * x_m, column by column, with blocks in the order of their
 * numbers: a and b are (dim). */
void wmi_chain_coefficients(const wm_chain *chain, int64_t k, double *a, double *b);

#endif
