/* study_data.h - the samples of a study: encoded, in random order, so that fold f is a run of rows.
 */
#ifndef WMI_STUDY_STUDY_DATA_H
#define WMI_STUDY_STUDY_DATA_H

#include "columns/encode.h"
#include "columns/whiten.h"
#include "moments/mixture.h"
#include "waymark/study.h"

typedef struct wmi_study_data {
    int64_t n[2], dim;       /* rows of p and q; encoded columns. With pairs there is no q */
    double *x[2];            /* (n, dim) */
    double *weight[2];       /* (n) of mean one, or NULL */
    int64_t *order[2];       /* (n) which row of the table each is */
    wmi_found_columns found; /* of two tables; of pairs nothing */
    double *straight;        /* (dim) see wmi_ratio_rows; or NULL */
    wmi_encoder encoder;
    int64_t *columns;  /* (dim) what columns do in a chain */
    int64_t blocks;    /* of columns */
    bool linear;       /* some columns move linearly */
    bool levels;       /* pairs of levels: of u and v there is one column each, and its features
                          tell all values: a form of them is a table of counts */
    int64_t kinds[2];  /* how many values u and v have then */
    int64_t *level[2]; /* (n) which of them each row has */
    char *schema;      /* or NULL */
    wmi_whitening whitening; /* of continuous columns, for networks */
    double repeated;         /* share of rows that are copies of others */
    wmi_mixture mixture[2];  /* of p and q, from which the fits of a mixture start; k = 0: none */
    double *mixture_store;
    double mixture_gain; /* nats of KL(p, q) that more components would add, by what is seen */
} wmi_study_data;

/* data starts as {0}, and is freed also on failure. WM_EINVAL, WM_ESHAPE for what cannot be
 * compared: too few rows, NaN, widths that differ, constant columns, bad weights. */
WM_MUST_CHECK wm_status wmi_study_data_new(wmi_study_data *data, const wm_data *p, const wm_data *q,
                                           const wm_schema *schema, const wm_study_opts *opts,
                                           wm_error *err);
/* Mixtures of Gaussians for both tables, whose columns are all continuous. WM_EINVAL where a
 * covariance has no inverse. */
WM_MUST_CHECK wm_status wmi_study_data_mixtures(wmi_study_data *data, uint64_t seed, wmi_stop stop,
                                                wm_error *err);
/* Sets levels, kinds and level; rows are in order (study_counts.c). */
WM_MUST_CHECK wm_status wmi_study_find_levels(wmi_study_data *data, const wm_data *joint,
                                              int64_t pairs, wm_error *err);
void wmi_study_data_free(wmi_study_data *data);

#endif
