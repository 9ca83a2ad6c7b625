/* op.h - what an operation is, and the node that it works on.
 *
 * A graph is built (graph.h), compiled into a program (program.h) and run many times. The planner
 * decides where every value and gradient lives before the first run, so the functions of an op get
 * pointers that are ready and return void: shapes were settled by infer(), memory by plan.c. */
#ifndef WMI_ENGINE_OP_H
#define WMI_ENGINE_OP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"

#define WMI_MAX_IN 6
#define WMI_MAX_RANK 6
#define WMI_OMP_MIN 16384 /* elements: below, waking the threads costs more than they save */

typedef enum wmi_dtype { WMI_F32, WMI_F64 } wmi_dtype;

typedef struct wmi_shape {
    int rank; /* 0 is a scalar */
    int64_t dim[WMI_MAX_RANK];
} wmi_shape;

typedef struct wmi_node wmi_node;
typedef struct wmi_op_def wmi_op_def;

/* What changes from run to run. */
typedef struct wmi_run {
    int threads;   /* as many as at compile, or fewer: scratch is sized for it */
    uint64_t seed; /* dropout draws are a function of (seed, node, step) */
    uint64_t step;
    bool training; /* dropout acts only in training */
} wmi_run;

struct wmi_node {
    const wmi_op_def *op;
    const char *name; /* for errors: never NULL in a graph */
    wmi_node *in[WMI_MAX_IN];
    int n_in;
    int64_t n; /* product of shape.dim */
    wmi_shape shape;
    const void *attr; /* settings of the op, a struct of ops.h, or NULL */
    int64_t id;       /* position in the graph */
    wmi_dtype dtype;
    bool wants_grad; /* some wanted gradient flows through here */

    /* set by the planner */
    void *val;     /* (shape) */
    void *grad;    /* (shape); NULL where no gradient is wanted */
    void *scratch; /* op->scratch() bytes, alive during this call only */
    void *saved;   /* op->saved() bytes, alive from forward to backward; NULL where no gradient is
                      wanted */
    /* bit i: in[i]->grad holds nothing yet, write it; else add to it. A node that stands twice
     * among the inputs is fresh at the lower place only: write gradients in the order of the
     * inputs. */
    unsigned fresh;
    void *state; /* made by op->prepare(), released by op->release() */
    const wmi_run *run;
};

typedef enum wmi_phase { WMI_FORWARD, WMI_BACKWARD } wmi_phase;

/* Values that backward() reads: the planner keeps these and lets all others die early. */
#define WMI_KEEP_IN(i) (1u << (i))
#define WMI_KEEP_OUT (1u << 15)

/* Flags of an op. */
#define WMI_OP_WRITES_FRESH                                                                        \
    1u                         /* obeys nd->fresh itself; else the engine zeroes fresh gradients   \
                                */
#define WMI_OP_INPLACE 2u      /* val may share in[0]'s memory when nobody else reads in[0] */
#define WMI_OP_INPLACE_GRAD 4u /* in[0]->grad, when fresh, may share grad's memory */
#define WMI_OP_ALIAS 8u        /* val and grad are in[0]'s own: no forward, no backward */
#define WMI_OP_LEAF 16u        /* input, parameter: memory comes from outside the plan */

struct wmi_op_def {
    const char *name;
    int n_in;                                        /* -1: any number up to WMI_MAX_IN */
    wm_status (*infer)(wmi_node *nd, wm_error *err); /* in[], attr -> shape; names op and shapes */
    void (*forward)(const wmi_node *nd);
    /* Adds to (or, where fresh, writes) the gradient of every input whose grad is not NULL. */
    void (*backward)(const wmi_node *nd);
    unsigned no_grad;                      /* bit i: in[i] gets no gradient (labels) */
    unsigned keep;                         /* WMI_KEEP_*, where keeps is NULL */
    unsigned (*keeps)(const wmi_node *nd); /* by wants_grad of the inputs */
    unsigned flags;
    wm_status (*prepare)(wmi_node *nd, wm_error *err); /* at compile: pick algorithms, primitives */
    void (*release)(wmi_node *nd);
    size_t (*scratch)(const wmi_node *nd, wmi_phase phase); /* bytes, after prepare() */
    size_t (*saved)(const wmi_node *nd);
};

#endif
