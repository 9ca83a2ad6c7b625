/* checkpoint.c - training state to safetensors and back. Scalars go into one small tensor each way,
 * so that every bit of a double survives. */
#include "train/checkpoint.h"

#include <inttypes.h>
#include <string.h>

#include "base/file.h"
#include "data/formats/model_file.h"

enum { N_COUNTS = 6, N_REALS = 3 };

/* One table for both directions. */
static int64_t list_tensors(const wmi_train_state *s, int64_t *counts, double *reals,
                            wmi_st_tensor *t)
{
    int64_t n = 0;

    t[n++] = (wmi_st_tensor){"counts", WMI_ST_I64, 1, {N_COUNTS}, counts};
    t[n++] = (wmi_st_tensor){"reals", WMI_ST_F64, 1, {N_REALS}, reals};
    t[n++] = (wmi_st_tensor){"theta", WMI_ST_F32, 1, {s->n}, s->theta};
    t[n++] = (wmi_st_tensor){"best", WMI_ST_F32, 1, {s->n}, s->best};
    t[n++] = (wmi_st_tensor){"adam_m", WMI_ST_F32, 1, {s->n}, s->adam->m};
    t[n++] = (wmi_st_tensor){"adam_v", WMI_ST_F32, 1, {s->n}, s->adam->v};
    t[n++] = (wmi_st_tensor){"best_eval", WMI_ST_F64, 2, {s->n_bridges, 3}, s->best_eval};
    t[n++] = (wmi_st_tensor){"saturated", WMI_ST_I64, 1, {s->n_bridges}, s->saturated};
    if (s->average)
        t[n++] = (wmi_st_tensor){"average", WMI_ST_F64, 1, {s->n}, s->average->mean};
    if (s->more)
        t[n++] = (wmi_st_tensor){"more", WMI_ST_F32, 1, {s->n_more}, s->more};
    return n;
}

wm_status wmi_checkpoint_save(const char *path, const wmi_train_state *s, const char *settings,
                              wm_error *err)
{
    int64_t counts[N_COUNTS] = {s->step,        s->best_step, s->stale,
                                s->train_steps, s->adam->t,   s->average ? s->average->count : 0};
    double reals[N_REALS] = {s->best_loss, s->train_sum, s->seconds};
    const wmi_st_pair meta[] = {{"format", "waymark training state 1"}, {"settings", settings}};
    wmi_st_tensor t[10];
    const int64_t n = list_tensors(s, counts, reals, t);

    return wmi_safetensors_write(path, t, n, meta, 2, err);
}

/* Whether a run could have been in this state: else the next steps would say so in stranger words.
 */
static wm_status check_state(const wmi_safetensors *file, const char *path, const int64_t *counts,
                             wm_error *err)
{
    static const char *const finite[] = {"theta", "best", "adam_m", "adam_v", "average", NULL};
    const wmi_st_tensor *v = wmi_safetensors_find(file, "adam_v");
    wm_status st = wmi_tensors_finite(file, finite, err);

    for (int64_t i = 0; !st && i < v->dim[0]; i++)
        if (((const float *)v->data)[i] < 0)
            st = wmi_fail(err, WM_EFORMAT, "%s: adam_v[%" PRId64 "] is %g", path, i,
                          (double)((const float *)v->data)[i]);
    for (int i = 0; !st && i < N_COUNTS; i++)
        if (counts[i] < 0)
            st = wmi_fail(err, WM_EFORMAT, "%s: counts[%d] is %" PRId64, path, i, counts[i]);
    return st;
}

wm_status wmi_checkpoint_load(const char *path, wmi_train_state *s, const char *settings,
                              bool *found, wm_error *err)
{
    int64_t counts[N_COUNTS];
    double reals[N_REALS];
    wmi_st_tensor t[10];
    const wmi_st_tensor *in[10];
    const int64_t n = list_tensors(s, counts, reals, t);
    wmi_safetensors *file = NULL;
    const char *old;
    wm_status st;

    *found = wmi_file_exists(path);
    if (!*found)
        return WM_OK;
    if ((st = wmi_safetensors_open(&file, path, err)))
        return st;
    if ((st = wmi_safetensors_own(file, err)))
        goto done;
    old = wmi_safetensors_meta(file, "settings");
    if (!old || strcmp(old, settings) != 0) {
        st = wmi_fail(err, WM_EINVAL,
                      "%s: made with other settings or data; resume with the same ones, or choose "
                      "another folder",
                      path);
        goto done;
    }
    for (int64_t i = 0; i < n; i++) /* all are looked at before any is taken */
        if ((st = wmi_safetensors_need(&in[i], file, t[i].name, t[i].dtype, t[i].rank, t[i].dim,
                                       err)))
            goto done;
    if ((st = check_state(file, path, in[0]->data, err)))
        goto done;
    for (int64_t i = 0; i < n; i++) {
        size_t bytes = wmi_st_dtype_size(t[i].dtype);

        for (int k = 0; k < t[i].rank; k++)
            bytes *= (size_t)t[i].dim[k];
        memcpy((void *)t[i].data, in[i]->data, bytes);
    }
    s->step = counts[0];
    s->best_step = counts[1];
    s->stale = counts[2];
    s->train_steps = counts[3];
    s->adam->t = counts[4];
    if (s->average)
        s->average->count = counts[5];
    s->best_loss = reals[0];
    s->train_sum = reals[1];
    s->seconds = reals[2];
done:
    wmi_safetensors_close(file);
    return st;
}
