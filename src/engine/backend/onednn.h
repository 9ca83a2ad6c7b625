/* onednn.h - direct convolution by oneDNN, f32, NHWC, weights (kh, kw, ci, co): what is left when
 * no kernel of ours fits. An object holds the three primitives of one shape; all memory is the
 * caller's. */
#ifndef WMI_ENGINE_ONEDNN_H
#define WMI_ENGINE_ONEDNN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"

typedef struct wmi_onednn_conv wmi_onednn_conv;

typedef struct wmi_conv_shape {
    int64_t n, h, w, ci; /* input */
    int64_t oh, ow, co;  /* output */
    int64_t kh, kw;      /* window */
    int64_t stride;
    int64_t pad_top, pad_left; /* the bottom and right padding follow from the sizes */
} wmi_conv_shape;

/* passes to prepare: bit 0 forward, bit 1 gradient of the input, bit 2 gradient of the weights */
WM_MUST_CHECK wm_status wmi_onednn_conv_new(wmi_onednn_conv **out, const wmi_conv_shape *s,
                                            unsigned passes, wm_error *err);
void wmi_onednn_conv_free(wmi_onednn_conv *c);
/* Bytes (a multiple of 64) that each pass needs beside its arguments, aligned to 64. */
size_t wmi_onednn_conv_scratch(const wmi_onednn_conv *c, unsigned pass);
void wmi_onednn_conv_forward(wmi_onednn_conv *c, const float *x, const float *w, float *y,
                             void *scratch);
void wmi_onednn_conv_grad_x(wmi_onednn_conv *c, const float *dy, const float *w, float *dx,
                            void *scratch);
void wmi_onednn_conv_grad_w(wmi_onednn_conv *c, const float *x, const float *dy, float *dw,
                            void *scratch);

#endif
