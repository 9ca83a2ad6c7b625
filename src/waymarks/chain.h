/* chain.h - a chain's tables, and its waymarks in the order of training. */
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

/* All waymarks in the order in which bridges train: out (m, 2 rows, dim), for bridge k first the
 * rows of waymark k, then those of waymark k + 1. */
void wmi_chain_bridges_f64(const wm_chain *chain, const wm_ends_f64 *ends, double *out);
void wmi_chain_bridges_f32(const wm_chain *chain, const wm_ends_f32 *ends, float *out);

/* Row i of x is the image of row i of z, (n, dim) both; z may be overwritten. */
typedef wm_status wmi_map_f64(void *ctx, int64_t n, int64_t dim, double *z, double *x,
                              wm_error *err);
typedef wm_status wmi_map_f32(void *ctx, int64_t n, int64_t dim, float *z, float *x, wm_error *err);

/* The same from ends in z-space: each waymark is mapped once, in one call of (m + 1) rows rows,
 * and then put in its two places; work is (2, m + 1, rows, dim) scratch. Gives WM_OK or what the
 * map reports. */
WM_MUST_CHECK wm_status wmi_chain_bridges_mapped_f64(const wm_chain *chain, const wm_ends_f64 *ends,
                                                     wmi_map_f64 *map, void *ctx, double *work,
                                                     double *out, wm_error *err);
WM_MUST_CHECK wm_status wmi_chain_bridges_mapped_f32(const wm_chain *chain, const wm_ends_f32 *ends,
                                                     wmi_map_f32 *map, void *ctx, float *work,
                                                     float *out, wm_error *err);

#endif
