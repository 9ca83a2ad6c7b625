/* ratio_file.c - a wm_ratio as a safetensors file: one tensor for each parameter, and as metadata
 * what is needed to rebuild the network. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "data/safetensors.h"
#include "estimators/ratio_impl.h"
#include "waymark/version.h"

#define FORMAT "waymark ratio 1"

enum { N_OWN = 6, TEXT = 32 }; /* tensors beside the parameters; bytes of a number as text */

static const char *const model_names[] = {"linear", "quadratic", "mlp"};
static const char *const form_names[] = {"free", "posdiag", "semidef"};

/* The tensors that are not parameters; bridges become (m, 3) reals, info its whole numbers. */
static void own_tensors(const wm_ratio *r, double *bridges, int64_t *counts, double *reals,
                        wmi_st_tensor t[N_OWN])
{
    const int64_t m = r->info.bridges, d = r->info.dim;

    t[0] = (wmi_st_tensor){"alphas", WMI_ST_F64, 1, {m + 1}, r->alphas.alpha};
    t[1] = (wmi_st_tensor){"shift", WMI_ST_F64, 1, {d}, r->shift};
    t[2] = (wmi_st_tensor){"scale", WMI_ST_F64, 1, {d}, r->scale};
    t[3] = (wmi_st_tensor){"bridges", WMI_ST_F64, 2, {m, 3}, bridges};
    t[4] = (wmi_st_tensor){"info_counts", WMI_ST_I64, 1, {8}, counts};
    t[5] = (wmi_st_tensor){"info_reals", WMI_ST_F64, 1, {1}, reals};
}

static void pack_info(const wm_ratio *r, double *bridges, int64_t counts[8], double reals[1])
{
    const wm_ratio_info *i = &r->info;
    const int64_t c[8] = {i->n_train,   i->n_held_out, i->convex,           i->steps,
                          i->best_step, i->finished,   i->saturated_bridge, i->refined};

    memcpy(counts, c, sizeof c);
    reals[0] = i->held_out_loss; /* seconds are left out: the same run gives the same file */
    for (int64_t k = 0; k < i->bridges; k++) {
        bridges[3 * k] = r->bridges[k].loss;
        bridges[3 * k + 1] = r->bridges[k].accuracy;
        bridges[3 * k + 2] = r->bridges[k].mean_log_ratio;
    }
}

static void unpack_info(wm_ratio *r, const double *bridges, const int64_t counts[8],
                        const double reals[1])
{
    wm_ratio_info *i = &r->info;

    i->n_train = counts[0];
    i->n_held_out = counts[1];
    i->convex = counts[2] != 0;
    i->steps = counts[3];
    i->best_step = counts[4];
    i->finished = counts[5] != 0;
    i->saturated_bridge = counts[6];
    i->refined = counts[7];
    i->held_out_loss = reals[0];
    for (int64_t k = 0; k < i->bridges; k++) {
        r->bridges[k].loss = bridges[3 * k];
        r->bridges[k].accuracy = bridges[3 * k + 1];
        r->bridges[k].mean_log_ratio = bridges[3 * k + 2];
    }
}

wm_status wm_ratio_save(const wm_ratio *r, const char *path, wm_error *err)
{
    const int64_t n = wmi_params_entries(r->params);
    char bridges_text[TEXT], dim[TEXT], width[TEXT], blocks[TEXT], seed[TEXT];
    const wmi_st_pair meta[] = {
        {"format", FORMAT},
        {"version", wm_version()},
        {"model", model_names[r->model]},
        {"form", form_names[r->form]},
        {"linear_term", r->linear_term ? "1" : "0"},
        {"bridges", bridges_text},
        {"dim", dim},
        {"width", width},
        {"blocks", blocks},
        {"seed", seed},
    };
    wmi_st_tensor *t = NULL;
    double *bridges = NULL, reals[1];
    int64_t counts[8];
    wm_status st;

    snprintf(bridges_text, TEXT, "%" PRId64, r->info.bridges);
    snprintf(dim, TEXT, "%" PRId64, r->info.dim);
    snprintf(width, TEXT, "%" PRId64, r->width);
    snprintf(blocks, TEXT, "%" PRId64, r->blocks);
    snprintf(seed, TEXT, "%" PRIu64, r->seed);
    if ((st = wmi_alloc(&t, n + N_OWN, sizeof *t, "tensors", err)) ||
        (st = wmi_alloc(&bridges, 3 * r->info.bridges, sizeof *bridges, "bridges", err)))
        goto done;
    pack_info(r, bridges, counts, reals);
    own_tensors(r, bridges, counts, reals, t);
    for (int64_t i = 0; i < n; i++) {
        const wmi_param_entry *e = wmi_params_entry(r->params, i);

        t[N_OWN + i] = (wmi_st_tensor){.name = e->name,
                                       .dtype = WMI_ST_F64,
                                       .rank = e->shape.rank,
                                       .data = r->theta + e->offset};
        memcpy(t[N_OWN + i].dim, e->shape.dim, (size_t)e->shape.rank * sizeof *e->shape.dim);
    }
    st =
        wmi_safetensors_write(path, t, n + N_OWN, meta, (int64_t)(sizeof meta / sizeof *meta), err);
done:
    wmi_free(bridges);
    wmi_free(t);
    return st;
}

static wm_status read_count(const wmi_safetensors *f, const char *path, const char *key,
                            int64_t max, int64_t *out, wm_error *err)
{
    const char *text = wmi_safetensors_meta(f, key);
    char *end;

    if (!text)
        return wmi_fail(err, WM_EFORMAT, "%s: metadata '%s' is missing", path, key);
    errno = 0;
    *out = strtoll(text, &end, 10);
    if (errno || end == text || *end || *out < 0 || *out > max)
        return wmi_fail(err, WM_EFORMAT, "%s: metadata '%s' is '%s'", path, key, text);
    return WM_OK;
}

static wm_status read_name(const wmi_safetensors *f, const char *path, const char *key,
                           const char *const *names, int n, int *out, wm_error *err)
{
    const char *text = wmi_safetensors_meta(f, key);

    for (*out = 0; text && *out < n; ++*out)
        if (strcmp(text, names[*out]) == 0)
            return WM_OK;
    return wmi_fail(err, WM_EFORMAT, "%s: metadata '%s' is '%s'", path, key,
                    text ? text : "missing");
}

static wm_status read_settings(wm_ratio *r, const wmi_safetensors *f, const char *path,
                               wm_error *err)
{
    const char *format = wmi_safetensors_meta(f, "format");
    int64_t linear, seed;
    int model, form;
    wm_status st;

    if (!format || strcmp(format, FORMAT) != 0)
        return wmi_fail(err, WM_EFORMAT, "%s: format is '%s', expected '%s'", path,
                        format ? format : "not given", FORMAT);
    if ((st = read_name(f, path, "model", model_names, 3, &model, err)) ||
        (st = read_name(f, path, "form", form_names, 3, &form, err)) ||
        (st = read_count(f, path, "linear_term", 1, &linear, err)) ||
        (st = read_count(f, path, "bridges", WM_ALPHAS_MAX - 1, &r->alphas.bridges, err)) ||
        (st = read_count(f, path, "dim", INT32_MAX, &r->info.dim, err)) ||
        (st = read_count(f, path, "width", INT32_MAX, &r->width, err)) ||
        (st = read_count(f, path, "blocks", 1000, &r->blocks, err)) ||
        (st = read_count(f, path, "seed", INT64_MAX, &seed, err)))
        return st;
    if (r->alphas.bridges < 1 || r->info.dim < 1)
        return wmi_fail(err, WM_EFORMAT, "%s: %" PRId64 " bridges of %" PRId64 " columns", path,
                        r->alphas.bridges, r->info.dim);
    r->model = (wm_ratio_model)model;
    r->form = (wm_ratio_form)form;
    r->linear_term = linear != 0;
    r->seed = (uint64_t)seed;
    return WM_OK;
}

/* Copies the tensor `like` describes; it must be there with this type and shape. */
static wm_status read_tensor(const wmi_safetensors *f, const wmi_st_tensor *like, void *to,
                             wm_error *err)
{
    const wmi_st_tensor *t;
    size_t bytes = wmi_st_dtype_size(like->dtype);
    wm_status st = wmi_safetensors_need(&t, f, like->name, like->dtype, like->rank, like->dim, err);

    if (st)
        return st;
    for (int i = 0; i < like->rank; i++)
        bytes *= (size_t)like->dim[i];
    memcpy(to, t->data, bytes);
    return WM_OK;
}

static wm_status read_tensors(wm_ratio *r, const wmi_safetensors *f, wm_error *err)
{
    double *bridges = NULL, reals[1];
    int64_t counts[8];
    wmi_st_tensor own[N_OWN];
    wm_status st;

    if ((st = wmi_alloc(&bridges, 3 * r->info.bridges, sizeof *bridges, "bridges", err)))
        return st;
    own_tensors(r, bridges, counts, reals, own);
    for (int i = 0; !st && i < N_OWN; i++)
        st = read_tensor(f, &own[i], (void *)own[i].data, err);
    for (int64_t i = 0; !st && i < wmi_params_entries(r->params); i++) {
        const wmi_param_entry *e = wmi_params_entry(r->params, i);
        wmi_st_tensor like = {.name = e->name, .dtype = WMI_ST_F64, .rank = e->shape.rank};

        memcpy(like.dim, e->shape.dim, (size_t)e->shape.rank * sizeof *e->shape.dim);
        st = read_tensor(f, &like, r->theta + e->offset, err);
    }
    if (!st)
        unpack_info(r, bridges, counts, reals);
    for (int64_t k = 0; !st && k < r->info.bridges; k++) {
        r->bridges[k].alpha_from = r->alphas.alpha[k];
        r->bridges[k].alpha_to = r->alphas.alpha[k + 1];
    }
    wmi_free(bridges);
    return st;
}

wm_status wm_ratio_load(wm_ratio **out, const char *path, wm_error *err)
{
    wmi_safetensors *f = NULL;
    wm_ratio *r = NULL;
    wm_status st;

    *out = NULL;
    if ((st = wmi_safetensors_open(&f, path, err)))
        return st;
    if ((st = wmi_alloc(&r, 1, sizeof *r, "ratio", err)) || (st = read_settings(r, f, path, err)) ||
        (st = wmi_ratio_open(r, err)) || (st = read_tensors(r, f, err)))
        goto done;
    *out = r;
    r = NULL; /* the caller's now */
done:
    wm_ratio_free(r);
    wmi_safetensors_close(f);
    return st;
}
