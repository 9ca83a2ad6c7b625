/* param_tensors.c - parameters as tensors of a model file (param_tensors.h). */
#include "train/param_tensors.h"

#include <string.h>

wmi_st_tensor wmi_tensor_of_param(const wmi_params *params, int64_t i, wmi_st_dtype type,
                                  const void *theta)
{
    const wmi_param_entry *e = wmi_params_entry(params, i);
    wmi_st_tensor t = {.name = e->name, .dtype = type, .rank = e->shape.rank};

    memcpy(t.dim, e->shape.dim, (size_t)e->shape.rank * sizeof *e->shape.dim);
    t.data = (const char *)theta + (size_t)e->offset * wmi_st_dtype_size(type);
    return t;
}

wm_status wmi_params_read(const wmi_safetensors *f, const wmi_params *params, wmi_st_dtype type,
                          void *theta, wm_error *err)
{
    wm_status st = WM_OK;

    for (int64_t i = 0; !st && i < wmi_params_entries(params); i++) {
        const wmi_st_tensor like = wmi_tensor_of_param(params, i, type, theta);

        if (!(st = wmi_tensor_read(f, &like, (void *)like.data, err)))
            st = wmi_safetensors_finite(f, like.name, err);
    }
    return st;
}
