/* plan.h - where everything in a program lives: made by plan.c, used by run.c. */
#ifndef WMI_ENGINE_PLAN_H
#define WMI_ENGINE_PLAN_H

#include "engine/program.h"

/* One call of a program. Scratch differs between the two phases of a node. */
typedef struct wmi_step {
    wmi_node *nd;
    void *scratch[2]; /* by wmi_phase; NULL where none is needed */
    unsigned zero;    /* bit i: in[i]->grad is zeroed before backward */
} wmi_step;

struct wmi_program {
    wmi_graph *graph;
    wmi_step *steps; /* live nodes in order, leaves and aliases included */
    int64_t n_steps;
    wmi_node *loss; /* or NULL */
    bool param_grads;
    bool *reached; /* by parameter entry: some step writes its gradient */
    char *block;
    size_t bytes;
    void *grad; /* bound flat vector, or NULL */
    const void *theta;
    int threads; /* that scratch has room for */
    wmi_run run;
};

static inline size_t wmi_dtype_size(wmi_dtype dtype)
{
    return dtype == WMI_F32 ? sizeof(float) : sizeof(double);
}

/* Whether the node computes: it is neither a leaf nor another node's memory under another shape. */
static inline bool wmi_plan_calls(const wmi_node *nd)
{
    return !(nd->op->flags & (WMI_OP_LEAF | WMI_OP_ALIAS));
}

/* Fills steps, reached, block and all pointers of the live nodes. */
wm_status wmi_plan(wmi_program *p, const wmi_compile_opts *opts, wm_error *err);

/* The node that owns the memory: nd, or what it is a reshape of. */
wmi_node *wmi_plan_root(wmi_node *nd);

#endif
