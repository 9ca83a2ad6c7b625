/* graph.h - a network before it is compiled: nodes in an arena, in the order in which they were
 * built, which is a topological order. One graph, one dtype. Not for threads. */
#ifndef WMI_ENGINE_GRAPH_H
#define WMI_ENGINE_GRAPH_H

#include "base/arena.h"
#include "engine/op.h"
#include "engine/params.h"

typedef struct wmi_graph wmi_graph;

/* params may be NULL for a graph without parameters; it is kept, and must outlive the graph. */
WM_MUST_CHECK wm_status wmi_graph_new(wmi_graph **out, wmi_dtype dtype, const wmi_params *params,
                                      wm_error *err);
void wmi_graph_free(wmi_graph *g);

wmi_dtype wmi_graph_dtype(const wmi_graph *g);
const wmi_params *wmi_graph_params(const wmi_graph *g);
int64_t wmi_graph_size(const wmi_graph *g);
wmi_node *wmi_graph_node(const wmi_graph *g, int64_t id);
/* The first failure of a builder, or WM_OK. */
wm_status wmi_graph_status(const wmi_graph *g, wm_error *err);

/* Records a failure of a builder outside the engine (nn/) in the same sticky way; returns NULL. */
wmi_node *wmi_graph_fail(wmi_graph *g, wm_status code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Names the newest node, for errors and look-ups. */
void wmi_node_rename(wmi_graph *g, wmi_node *nd, const char *name);

/* What builders call: appends a node of op `op` with attr copied. Any NULL input is a sticky
 * failure. */
wmi_node *wmi_graph_append(wmi_graph *g, const char *op, int n_in, wmi_node *const *in,
                           const void *attr, size_t attr_size);

/* "(2, 3, 4)" into buf, for messages. */
const char *wmi_shape_text(const wmi_shape *s, char buf[96]);
int64_t wmi_shape_count(const wmi_shape *s);

#endif
