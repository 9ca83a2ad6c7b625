/* param_tensors.h - the parameters of a network as the tensors of a model file. */
#ifndef WMI_TRAIN_PARAM_TENSORS_H
#define WMI_TRAIN_PARAM_TENSORS_H

#include "data/formats/model_file.h"
#include "engine/params.h"

/* Parameter i of a table as a tensor of `type`, with its values in the flat vector theta of that
 * type. */
wmi_st_tensor wmi_tensor_of_param(const wmi_params *params, int64_t i, wmi_st_dtype type,
                                  const void *theta);
/* All parameters of a table from a file, into the flat vector theta of `type`. */
WM_MUST_CHECK wm_status wmi_params_read(const wmi_safetensors *f, const wmi_params *params,
                                        wmi_st_dtype type, void *theta, wm_error *err);

#endif
