/* winograd.h - 3x3 convolution, stride 1, SAME padding, NHWC, by Winograd's minimal filtering: all
 * three passes. For *_tmpl.c files (real.h). Results are the same bits for any number of threads.
 */
#ifndef WMI_ENGINE_WINOGRAD_H
#define WMI_ENGINE_WINOGRAD_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/conv.h"
#include "engine/real.h"

/* Bytes of scratch, aligned to 64, that a pass needs when it runs on `threads` threads. */
size_t VNAME(winograd_scratch)(const wmi_conv_shape *s, wmi_conv_pass pass, int threads);

/* y = conv(leaky(x), w); slope 1 is no activation. */
void VNAME(winograd_forward)(const wmi_conv_shape *s, const real *x, const real *w, real *y,
                             real slope, void *scratch, int threads);
/* dx = or += leaky'(x) * (gradient of conv's input); x may be NULL when slope is 1. */
void VNAME(winograd_grad_x)(const wmi_conv_shape *s, const real *dy, const real *w, const real *x,
                            real slope, real *dx, bool add, void *scratch, int threads);
/* dw = or += gradient of the weights. */
void VNAME(winograd_grad_w)(const wmi_conv_shape *s, const real *x, const real *dy, real slope,
                            real *dw, bool add, void *scratch, int threads);

#endif
