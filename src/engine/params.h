/* params.h - the name/offset table of a model's parameters. Values, gradients and optimiser state
 * are flat vectors of wmi_params_count() reals owned by whoever trains; the table says what lies
 * where. */
#ifndef WMI_ENGINE_PARAMS_H
#define WMI_ENGINE_PARAMS_H

#include "engine/op.h"

typedef struct wmi_params wmi_params;

typedef enum wmi_init_kind {
    WMI_INIT_CONST,         /* a */
    WMI_INIT_NORMAL,        /* N(a, b^2) */
    WMI_INIT_GLOROT,        /* uniform +- sqrt(6 / (fan_in + fan_out)) */
    WMI_INIT_GLOROT_NORMAL, /* N(0, 2 / (fan_in + fan_out)) */
    WMI_INIT_HE             /* N(0, a / fan_in) */
} wmi_init_kind;

typedef struct wmi_init {
    wmi_init_kind kind;
    double a, b;
} wmi_init;

/* Learning-rate groups: the constants c_k move at ten times the rate (facts of the paper's code);
 * splines at a rate of their own beside networks whose gradients are fitted (trainer.h). */
typedef enum wmi_param_group {
    WMI_GROUP_BODY,
    WMI_GROUP_SPLINE,
    WMI_GROUP_CONSTANT
} wmi_param_group;

typedef struct wmi_param_entry {
    const char *name; /* "body/stem/w": a path, unique */
    wmi_shape shape;
    int64_t offset, count; /* in reals; offsets are multiples of 16, gaps stay zero */
    wmi_init init;
    wmi_param_group group;
} wmi_param_entry;

WM_MUST_CHECK wm_status wmi_params_new(wmi_params **out, wm_error *err);
void wmi_params_free(wmi_params *p);
/* Adds an entry; a name that exists is WM_EINVAL unless shape, init and group agree (several graphs
 * may declare the same network). */
WM_MUST_CHECK wm_status wmi_params_add(wmi_params *p, const char *name, int rank,
                                       const int64_t *dim, wmi_init init, wmi_param_group group,
                                       wm_error *err);
const wmi_param_entry *wmi_params_find(const wmi_params *p, const char *name); /* or NULL */
/* Whether the name begins with prefix; nothing begins with NULL or "". */
bool wmi_param_is_under(const char *name, const char *prefix);
int64_t wmi_params_entries(const wmi_params *p);
const wmi_param_entry *wmi_params_entry(const wmi_params *p, int64_t i);
int64_t wmi_params_count(const wmi_params *p); /* reals in the flat vectors */
/* Draws every entry from its init; the draws depend on (seed, name) only. theta is float or double.
 */
void wmi_params_init(const wmi_params *p, uint64_t seed, wmi_dtype dtype, void *theta);

#endif
