/* npy.h - NumPy's .npy, version 1.0, little-endian, row-major. */
#ifndef WMI_DATA_NPY_H
#define WMI_DATA_NPY_H

#include <stdint.h>

#include "base/fail.h"

/* x as an array of rank 1 to 3 with these dimensions, into path, whole or not at all. */
WM_MUST_CHECK wm_status wmi_npy_write_f64(const char *path, const double *x, int rank,
                                          const int64_t *dim, wm_error *err);
WM_MUST_CHECK wm_status wmi_npy_write_f32(const char *path, const float *x, int rank,
                                          const int64_t *dim, wm_error *err);

#endif
