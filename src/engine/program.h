/* program.h - a compiled graph: pruned to what is asked for, one aligned block of memory, and a
 * list of calls. After wmi_compile() nothing allocates. A program is for one thread at a time (its
 * kernels use several); several programs may share parameters, and run at once, each in a thread of
 * an OpenMP region: compiled there, a program is for one thread altogether. */
#ifndef WMI_ENGINE_PROGRAM_H
#define WMI_ENGINE_PROGRAM_H

#include "engine/graph.h"

typedef struct wmi_program wmi_program;

typedef struct wmi_compile_opts {
    wmi_node *const *outputs; /* values that can be read after a run */
    int n_outputs;
    wmi_node *loss;               /* differentiated (summed where it is not a scalar), or NULL */
    bool param_grads;             /* gradient of the loss for every parameter ... */
    const char *frozen;           /* ... but those whose name begins so (zero); NULL: for all */
    wmi_node *const *grad_inputs; /* and for these inputs */
    int n_grad_inputs;
} wmi_compile_opts;

/* The graph must outlive the program and belongs to it alone. */
WM_MUST_CHECK wm_status wmi_compile(wmi_program **out, wmi_graph *g, const wmi_compile_opts *opts,
                                    wm_error *err);
void wmi_program_free(wmi_program *p);

/* Flat vectors of wmi_params_count() reals, kept by pointer; grad may be NULL without param_grads.
 */
void wmi_program_bind(wmi_program *p, void *theta, void *grad);
/* Where to write an input's values before a run; NULL and WM_EINVAL for an unknown name. */
WM_MUST_CHECK wm_status wmi_program_input(wmi_program *p, const char *name, void **val,
                                          wm_error *err);
void wmi_program_step(wmi_program *p, uint64_t seed, uint64_t step, bool training);

WM_MUST_CHECK wm_status wmi_program_forward(wmi_program *p, wm_error *err);
/* Forward, then backward. Overwrites the bound gradient vector. A loss that is not finite is
 * WM_EDIVERGED and leaves the gradients alone. */
WM_MUST_CHECK wm_status wmi_program_backward(wmi_program *p, wm_error *err);

const void *wmi_program_value(const wmi_program *p, const wmi_node *nd); /* of an output */
double wmi_program_scalar(const wmi_program *p, const wmi_node *nd); /* of an output, its first */
const void *wmi_program_grad(const wmi_program *p, const wmi_node *nd); /* of a grad_input */
size_t wmi_program_bytes(const wmi_program *p);                         /* of the planned block */

#endif
