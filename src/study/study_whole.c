/* study_whole.c - tables of which only a sample is held: the moments of all of their rows, and the
 * quadratic ratio that these make. */
#include <math.h>

#include "base/alloc.h"
#include "moments/group_moments.h"
#include "study/study_impl.h"

/* The column that each feature is, scaled: false where one is anything else. */
static bool plain_columns(const wmi_encoder *e, int64_t *column)
{
    for (int64_t j = 0; j < e->raw; j++)
        for (int64_t f = e->first[j]; f < e->first[j + 1]; f++) {
            if (e->how[j] != WMI_ENCODE_SCALE || !isnan(e->level[f]))
                return false;
            column[f] = j;
        }
    return true;
}

wm_status wmi_study_take_moments(wm_study *s, const wm_study_opts *opts, wm_error *err)
{
    const wmi_encoder *e = &s->data.encoder;
    const wm_moments *const *given = opts->moments;
    int64_t *column = NULL;
    wm_status st;

    if (!given[0] || !given[1] || s->pairs || s->data.found.mixed || given[0]->dim != e->raw ||
        given[1]->dim != e->raw || opts->folds > given[0]->groups)
        return WM_OK;
    if ((st = wmi_alloc(&column, e->dim, sizeof *column, "columns", err)))
        return st;
    if (plain_columns(e, column))
        for (int t = 0; t < 2 && !st; t++)
            st =
                wmi_moments_scaled(&s->whole[t], given[t], e->dim, column, e->shift, e->scale, err);
    wmi_free(column);
    return st;
}

static wm_status end_of(wmi_end_moments *end, const wm_moments *m, wm_error *err)
{
    const int64_t d = m->dim;
    wmi_row_moments all = {0};
    wm_status st;

    if ((st = wmi_end_moments_new(end, d, err)))
        return st;
    all.mean = end->mean;
    all.scatter = end->cov;
    wmi_moments_join(&all, m, 0, m->groups);
    for (int64_t i = 0; i < d * d; i++)
        end->cov[i] /= all.n;
    return WM_OK;
}

wm_status wmi_study_use_moments(wm_study *s, wm_error *err)
{
    const wmi_trial *t = &s->trial;
    wmi_end_moments end[2] = {{0}, {0}};
    wm_status st;

    if (!s->whole[0] || t->model != WM_RATIO_QUADRATIC || !wmi_trial_only_moments(t))
        return WM_OK;
    for (int64_t f = 0; f < t->folds; f++)
        if (t->fit[f]->info.refined > 0)
            return WM_OK; /* a bridge that left the moments is the sample's */
    if (!(st = end_of(&end[0], s->whole[0], err)) && !(st = end_of(&end[1], s->whole[1], err)))
        st = wmi_ratio_set_ends(s->ratio, &end[0], &end[1], err);
    wmi_end_moments_free(&end[0]);
    wmi_end_moments_free(&end[1]);
    return st;
}
