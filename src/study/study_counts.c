/* study_counts.c - pairs of levels, whose ratio is a table of counts (moments/count_table.h): which
 * they are, and the mean of r, which needs no drawn pairs since it is a sum over the cells. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/order.h"
#include "base/sums.h"
#include "study/study_impl.h"

static int64_t level_of(int64_t n, const double *value, double v)
{
    int64_t lo = 0, hi = n - 1;

    while (lo < hi) {
        const int64_t mid = (lo + hi) / 2;

        if (value[mid] < v)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* The distinct values of column j of the table, ascending; how many. */
static int64_t distinct_values(const wm_data *joint, int64_t j, double *value)
{
    const int64_t n = wm_data_count(joint), raw = wm_data_dim(joint);
    int64_t kinds = 0;

    for (int64_t i = 0; i < n; i++)
        value[i] = wm_data_rows(joint)[i * raw + j];
    wmi_sort_f64(value, n);
    for (int64_t i = 0; i < n; i++)
        if (kinds == 0 || value[i] != value[kinds - 1])
            value[kinds++] = value[i];
    return kinds;
}

wm_status wmi_study_find_levels(wmi_study_data *data, const wm_data *joint, int64_t pairs,
                                wm_error *err)
{
    const wmi_encoder *e = &data->encoder;
    const int64_t n = data->n[0];
    double *value = NULL;
    wm_status st = WM_OK;

    if (pairs != 1 || e->raw != 2)
        return WM_OK;
    if ((st = wmi_alloc(&value, n, sizeof *value, "levels", err)))
        return st;
    data->levels = true;
    for (int t = 0; t < 2 && data->levels && !st; t++) {
        const int64_t kinds = distinct_values(joint, t, value);

        /* two values have a feature, and others an indicator each, but for one or two */
        data->levels = kinds <= e->first[t + 1] - e->first[t] + 1;
        data->kinds[t] = kinds;
        if (!data->levels ||
            (st = wmi_alloc(&data->level[t], n, sizeof *data->level[t], "levels", err)))
            break;
        for (int64_t i = 0; i < n; i++)
            data->level[t][i] =
                level_of(kinds, value, wm_data_rows(joint)[2 * data->order[0][i] + t]);
    }
    wmi_free(value);
    return st;
}

/* Some row of each level of side t, its features of that side alone, (kinds, d). */
static wm_status rows_of_levels(double **out, const wmi_study_data *data, int t, wm_error *err)
{
    const int64_t first = data->encoder.first[t], d = data->encoder.first[t + 1] - first;
    wm_status st = wmi_alloc(out, data->kinds[t] * d, sizeof **out, "levels", err);

    for (int64_t i = 0; i < data->n[0] && !st; i++)
        memcpy(*out + data->level[t][i] * d, data->x[0] + i * data->dim + first,
               (size_t)d * sizeof **out);
    return st;
}

/* Features of the levels, log r of all cells, shares of a fold's rows. */
typedef struct work {
    double *features[2], *log_r, *share[2];
} work;

static void free_work(work *k)
{
    for (int t = 0; t < 2; t++) {
        wmi_free(k->features[t]);
        wmi_free(k->share[t]);
    }
    wmi_free(k->log_r);
}

static wm_status new_work(work *k, const wmi_study_data *data, wm_error *err)
{
    wm_status st;

    for (int t = 0; t < 2; t++)
        if ((st = rows_of_levels(&k->features[t], data, t, err)) ||
            (st = wmi_alloc(&k->share[t], data->kinds[t], sizeof *k->share[t], "levels", err)))
            return st;
    return wmi_alloc(&k->log_r, data->kinds[0] * data->kinds[1], sizeof *k->log_r, "cells", err);
}

/* The mean of r, by the fit that has not seen them, over all pairs of u and v of different rows of
 * fold f: those of a row with itself would make it too large. */
static wm_status mean_of_fold(double *mean, const wm_study *s, const wm_study_opts *o, int64_t f,
                              work *k, wm_error *err)
{
    const wmi_study_data *data = &s->data;
    const int64_t nv = data->kinds[1], *u = data->level[0], *v = data->level[1];
    int64_t first, count;
    double sum_w = 0, all = 0, own = 0, squares = 0;
    wm_status st;

    if ((st = wmi_ratio_of_levels(s->trial.fit[f], data->kinds,
                                  (const double *const[]){k->features[0], k->features[1]}, k->log_r,
                                  err)))
        return st;
    wmi_fold_rows(data->n[0], o->folds, f, &first, &count);
    for (int t = 0; t < 2; t++)
        memset(k->share[t], 0, (size_t)data->kinds[t] * sizeof **k->share);
    for (int64_t i = first; i < first + count; i++)
        sum_w += data->weight[0] ? data->weight[0][i] : 1;
    for (int64_t i = first; i < first + count; i++) {
        const double w = (data->weight[0] ? data->weight[0][i] : 1) / sum_w;

        k->share[0][u[i]] += w;
        k->share[1][v[i]] += w;
        own += w * w * exp(k->log_r[u[i] * nv + v[i]]);
        squares += w * w;
    }
    for (int64_t i = 0; i < data->kinds[0]; i++)
        for (int64_t j = 0; j < nv; j++)
            all += k->share[0][i] * k->share[1][j] * exp(k->log_r[i * nv + j]);
    *mean = (all - own) / (1 - squares);
    return WM_OK;
}

wm_status wmi_study_counted_mean(double *log_mean, const wm_study *s, const wm_study_opts *o,
                                 wm_error *err)
{
    double of_r = 0;
    work k = {0};
    wm_status st = new_work(&k, &s->data, err);

    for (int64_t f = 0; f < s->trial.folds && !st; f++) {
        double mean;

        if (!(st = mean_of_fold(&mean, s, o, f, &k, err)))
            of_r += mean / (double)s->trial.folds;
    }
    *log_mean = log(of_r);
    free_work(&k);
    return st;
}
