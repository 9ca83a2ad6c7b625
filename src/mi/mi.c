/* mi.c - tables of pairs, and the estimators that a mutual information is compared with. */
#include "waymark/mi.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/opts.h"
#include "base/rng.h"
#include "mi/mi_methods.h"
#include "study/study_data.h"

wm_status wm_mi_join(wm_data **out, const wm_data *u, const wm_data *v, wm_error *err)
{
    const int64_t n = wm_data_count(u), du = wm_data_dim(u), dv = wm_data_dim(v);
    wm_status st;

    *out = NULL;
    if (wm_data_count(v) != n)
        return wmi_fail(err, WM_ESHAPE,
                        "u has %" PRId64 " rows and v %" PRId64 ": row i of both must be one pair",
                        n, wm_data_count(v));
    if ((st = wm_data_new(out, n, du + dv, NULL, err)))
        return st;
    for (int64_t i = 0; i < n; i++) {
        double *row = wm_data_rows_mut(*out) + i * (du + dv);

        memcpy(row, wm_data_rows(u) + i * du, (size_t)du * sizeof *row);
        memcpy(row + du, wm_data_rows(v) + i * dv, (size_t)dv * sizeof *row);
    }
    return WM_OK;
}

wm_status wm_mi_shuffle(wm_data **out, const wm_data *joint, int64_t dim_u, uint64_t seed,
                        wm_error *err)
{
    const int64_t n = wm_data_count(joint), d = wm_data_dim(joint), dv = d - dim_u;
    const wmi_rng rng = wmi_rng_make(seed, "mi/shuffle");
    int64_t *order = NULL;
    wm_status st;

    *out = NULL;
    if ((st = wmi_alloc(&order, n, sizeof *order, "order", err)))
        return st;
    wmi_rng_permutation(&rng, n, order);
    if (!(st = wm_data_new(out, n, d, wm_data_rows(joint), err)))
        for (int64_t i = 0; i < n; i++)
            memcpy(wm_data_rows_mut(*out) + i * d + dim_u,
                   wm_data_rows(joint) + order[i] * d + dim_u, (size_t)dv * sizeof(double));
    wmi_free(order);
    return st;
}

const char *wm_mi_method_name(wm_mi_method method)
{
    return wmi_mi_method_name((wmi_mi_method)method);
}

void wm_mi_opts_init(wm_mi_opts *opts)
{
    *opts = (wm_mi_opts){.struct_size = sizeof *opts, .dim_u = 1};
    wm_fit_control_init(&opts->control);
}

wm_status wm_mi_methods_run(wm_mi_by_method *out, int count, const wm_mi_method *methods,
                            const wm_data *joint, const wm_schema *schema, const wm_mi_opts *given,
                            wm_error *err)
{
    wm_mi_opts mine;
    wmi_mi_method_opts o;
    wmi_mi_method kinds[WMI_MI_METHODS];
    wmi_mi_method_result got[WMI_MI_METHODS];
    wmi_study_data data = {0};
    wm_study_opts study;
    double *u = NULL, *v = NULL;
    int64_t du, dv;
    int threads;
    wm_status st;

    wm_mi_opts_init(&mine);
    if ((st = wmi_opts_take(&mine, sizeof mine, given, "wm_mi_opts_init", err)))
        return st;
    wm_study_opts_init(&study);
    study.pairs = mine.dim_u;
    study.by_rank = mine.by_rank;
    study.control = mine.control;
    wmi_mi_method_opts_init(&o);
    o.control = mine.control;
    if (count < 1 || count > WMI_MI_METHODS)
        return wmi_fail(err, WM_EINVAL, "%d methods: 1 to %d are possible", count, WMI_MI_METHODS);
    threads = wmi_threads_use(mine.control.threads);
    for (int i = 0; i < count; i++)
        kinds[i] = (wmi_mi_method)methods[i];
    if ((st = wmi_study_data_new(&data, joint, NULL, schema, &study, err)))
        goto done;
    du = data.encoder.first[mine.dim_u];
    dv = data.dim - du;
    if ((st = wmi_alloc(&u, data.n[0] * du, sizeof *u, "u", err)) ||
        (st = wmi_alloc(&v, data.n[0] * dv, sizeof *v, "v", err)))
        goto done;
    for (int64_t i = 0; i < data.n[0]; i++) {
        memcpy(u + i * du, data.x[0] + i * data.dim, (size_t)du * sizeof *u);
        memcpy(v + i * dv, data.x[0] + i * data.dim + du, (size_t)dv * sizeof *v);
    }
    if ((st = wmi_mi_methods_run(count, kinds,
                                 &(wmi_mi_rows){.n = data.n[0], .du = du, .dv = dv, .u = u, .v = v},
                                 &o, got, err)))
        goto done;
    for (int i = 0; i < count; i++)
        out[i] = (wm_mi_by_method){.mi = got[i].mi,
                                   .se = got[i].se,
                                   .bound = got[i].bound,
                                   .doubtful = got[i].diverged || got[i].doubtful,
                                   .seconds = got[i].seconds};
done:
    wmi_free(v);
    wmi_free(u);
    wmi_study_data_free(&data);
    wmi_threads_restore(threads);
    return st;
}
