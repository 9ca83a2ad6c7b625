/* flow_table.c - the flow of vectors: steps of linear map and coupling, the halves taking turns.
 * The splines of one half come from a residual MLP of the other. A single column has no other half:
 * its splines are parameters. */
#include "noise/flow.h"

static const wmi_init zero = {.kind = WMI_INIT_CONST};

enum { BLOCKS = 2 };

/* relu(x) W + b, through "name" */
static wmi_value layer(wmi_flow *f, const char *name, wmi_value x, int64_t width, wmi_init init,
                       double pre_slope)
{
    const size_t mark = wmi_net_enter(&f->net, "%s", name);
    wmi_node *w = wmi_net_param(&f->net, "w", 2, (int64_t[]){x.c, width}, init, WMI_GROUP_BODY);
    wmi_node *b = wmi_net_param(&f->net, "b", 1, &width, zero, WMI_GROUP_BODY);

    if (f->net.graph)
        x.node = wmi_dense_layer(f->net.graph, x.node, w, b, NULL, NULL, NULL,
                                 (wmi_dense_attr){pre_slope, 1});
    wmi_net_leave(&f->net, mark);
    x.c = width;
    return x;
}

static wmi_value network(wmi_flow *f, wmi_value x, int64_t count, int64_t values)
{
    const wmi_init glorot = {.kind = WMI_INIT_GLOROT}, he = {.kind = WMI_INIT_HE, .a = 2};
    const wmi_init weak = {.kind = WMI_INIT_HE, .a = 0.1};

    x = layer(f, "first", x, f->opts->hidden, glorot, 1);
    for (int i = 0; i < BLOCKS; i++) {
        const size_t mark = wmi_net_enter(&f->net, "block%d", i + 1);
        wmi_value h = layer(f, "dense1", x, f->opts->hidden, he, 0);

        h = wmi_layer_dropout(&f->net, h, f->opts->dropout);
        x = wmi_layer_add(&f->net, x, layer(f, "dense2", h, f->opts->hidden, weak, 0));
        wmi_net_leave(&f->net, mark);
    }
    return layer(f, "last", x, count * values, zero, 0);
}

/* Without anything given: the same raw values in every row. `given` still has the node of x. */
static wmi_value constants(wmi_flow *f, wmi_value given, int64_t count, int64_t values)
{
    wmi_graph *g = f->net.graph;
    const int64_t out = count * values;
    wmi_node *raw = wmi_net_param(&f->net, "raw", 1, &out, zero, WMI_GROUP_BODY);

    if (g) { /* a column of zeros, one for each row */
        wmi_node *none = wmi_affine(g, wmi_slice(g, given.node, 1, 0, 1), 0, 0);

        given.node = wmi_add(g, none, raw);
    }
    given.c = out;
    return given;
}

wmi_value wmi_flow_table_stage(wmi_flow *f, int64_t i, wmi_value x)
{
    const size_t mark = wmi_net_enter(&f->net, "step%d", (int)i + 1);

    if (!f->inverse)
        x = wmi_flow_linear(f, "mix", true, x);
    x = x.c == 1 ? wmi_flow_coupling(f, x, false, constants)
                 : wmi_flow_coupling(f, x, i % 2, network);
    if (f->inverse)
        x = wmi_flow_linear(f, "mix", true, x);
    wmi_net_leave(&f->net, mark);
    return x;
}
