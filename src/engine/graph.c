/* graph.c - nodes in an arena. The first failure sticks, so that builders can be nested freely. */
#include "engine/graph.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "engine/infer.h"
#include "engine/op_table.h"

struct wmi_graph {
    wmi_arena arena;
    wmi_node **nodes;
    int64_t n, capacity;
    wmi_dtype dtype;
    wmi_isa isa;
    const wmi_params *params;
    wm_error first; /* code WM_OK while all is well */
};

wm_status wmi_graph_new(wmi_graph **out, wmi_dtype dtype, const wmi_params *params, wm_error *err)
{
    wm_status st = wmi_alloc(out, 1, sizeof **out, "graph", err);

    if (st)
        return st;
    (*out)->dtype = dtype;
    (*out)->isa = wmi_isa_best();
    (*out)->params = params;
    return WM_OK;
}

void wmi_graph_free(wmi_graph *g)
{
    if (!g)
        return;
    wmi_arena_free(&g->arena);
    wmi_free(g->nodes);
    wmi_free(g);
}

wmi_dtype wmi_graph_dtype(const wmi_graph *g)
{
    return g->dtype;
}

const wmi_params *wmi_graph_params(const wmi_graph *g)
{
    return g->params;
}

int64_t wmi_graph_size(const wmi_graph *g)
{
    return g->n;
}

wmi_node *wmi_graph_node(const wmi_graph *g, int64_t id)
{
    return g->nodes[id];
}

wm_status wmi_graph_status(const wmi_graph *g, wm_error *err)
{
    if (g->first.code && err)
        *err = g->first;
    return g->first.code;
}

wmi_node *wmi_graph_fail(wmi_graph *g, wm_status code, const char *fmt, ...)
{
    char text[sizeof g->first.text];
    va_list ap;

    if (g->first.code)
        return NULL;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    (void)wmi_fail(&g->first, code, "%s", text);
    return NULL;
}

void wmi_node_rename(wmi_graph *g, wmi_node *nd, const char *name)
{
    char *copy;

    if (g->first.code || !nd)
        return;
    copy = wmi_arena_strdup(&g->arena, name, &g->first);
    if (copy)
        nd->name = copy;
}

static wm_status grow(wmi_graph *g, wm_error *err)
{
    const int64_t capacity = g->capacity ? 2 * g->capacity : 64;
    wmi_node **nodes;
    wm_status st = wmi_alloc(&nodes, capacity, sizeof *nodes, "graph nodes", err);

    if (st)
        return st;
    if (g->n)
        memcpy(nodes, g->nodes, (size_t)g->n * sizeof *nodes);
    wmi_free(g->nodes);
    g->nodes = nodes;
    g->capacity = capacity;
    return WM_OK;
}

wmi_node *wmi_graph_append(wmi_graph *g, const char *op, int n_in, wmi_node *const *in,
                           const void *attr, size_t attr_size)
{
    const wmi_op_def *def = wmi_op_find(op, g->dtype, g->isa);
    char name[64];
    wmi_node *nd;

    if (g->first.code)
        return NULL;
    if (!def)
        return wmi_graph_fail(g, WM_EINVAL, "no operation is called '%s'", op);
    if (n_in > WMI_MAX_IN || (def->n_in >= 0 && n_in != def->n_in))
        return wmi_graph_fail(g, WM_EINVAL, "%s: %d inputs", op, n_in);
    for (int i = 0; i < n_in; i++)
        if (!in[i])
            return wmi_graph_fail(g, WM_EINVAL, "%s: input %d is missing", op, i);
    if (g->n == g->capacity && grow(g, &g->first))
        return NULL;
    nd = wmi_arena_alloc(&g->arena, sizeof *nd, &g->first);
    snprintf(name, sizeof name, "%s_%" PRId64, op, g->n);
    if (nd)
        nd->name = wmi_arena_strdup(&g->arena, name, &g->first);
    if (nd && attr_size) {
        void *copy = wmi_arena_alloc(&g->arena, attr_size, &g->first);

        if (copy)
            memcpy(copy, attr, attr_size);
        nd->attr = copy;
    }
    if (!nd || g->first.code)
        return NULL;
    nd->op = def;
    nd->n_in = n_in;
    for (int i = 0; i < n_in; i++)
        nd->in[i] = in[i];
    nd->id = g->n;
    nd->dtype = g->dtype;
    if (def->infer(nd, &g->first))
        return NULL;
    g->nodes[g->n++] = nd;
    return nd;
}

int64_t wmi_shape_count(const wmi_shape *s)
{
    int64_t n = 1;

    for (int i = 0; i < s->rank; i++)
        n *= s->dim[i];
    return n;
}

const char *wmi_shape_text(const wmi_shape *s, char buf[96])
{
    int at = snprintf(buf, 96, "(");

    for (int i = 0; i < s->rank && at < 90; i++)
        at += snprintf(buf + at, 96 - (size_t)at, "%s%" PRId64, i ? ", " : "", s->dim[i]);
    if (at < 95)
        snprintf(buf + at, 96 - (size_t)at, ")");
    return buf;
}
