/* infer.h - what the infer() functions of ops share. */
#ifndef WMI_ENGINE_INFER_H
#define WMI_ENGINE_INFER_H

#include "engine/op.h"

#define WMI_MAX_DIM INT32_MAX /* of one axis: BLAS counts in int */

wm_status wmi_infer_same(wmi_node *nd, wm_error *err);      /* shape of in[0] */
wm_status wmi_infer_broadcast(wmi_node *nd, wm_error *err); /* NumPy's rule for in[0] and in[1] */

bool wmi_shape_equal(const wmi_shape *a, const wmi_shape *b);
/* Sets shape and n. WM_ESHAPE for a negative or too large axis or an overflowing product. */
wm_status wmi_infer_set(wmi_node *nd, int rank, const int64_t *dim, wm_error *err);
/* WM_ESHAPE with "op 'name': (2, 3), (4, 5): " and then the reason. */
wm_status wmi_infer_fail(const wmi_node *nd, wm_error *err, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#endif
