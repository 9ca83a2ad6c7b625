/* body.c - one network for all bridges, or one for each (body.h). */
#include "nn/body.h"

#include <inttypes.h>

#include "nn/cell_net.h"

static wmi_value one_body(wmi_net *net, const wmi_body *body, wmi_value x)
{
    switch (body->kind) {
    case WMI_BODY_NONE:
        return x;
    case WMI_BODY_MLP:
        return wmi_mlp(net, &body->mlp, x);
    case WMI_BODY_RESNET:
        if (net->levels && wmi_resnet_has_cells(&body->resnet)) {
            wmi_net_fail(net, WM_EINVAL, "cells are not for networks of levels");
            return x;
        }
        return wmi_resnet_has_cells(&body->resnet) ? wmi_cell_net(net, &body->resnet, x, NULL)
                                                   : wmi_cond_resnet(net, &body->resnet, x);
    }
    wmi_net_fail(net, WM_EINVAL, "no body is of kind %d", (int)body->kind);
    return x;
}

/* The network of bridge k alone, on its rows of x: (n, d) -> (n, e). */
static wmi_value body_of_bridge(wmi_net *net, const wmi_body *body, wmi_value x, int64_t k)
{
    const int64_t m = net->m;
    const size_t mark = wmi_net_enter(net, "bridge%" PRId64, net->first + k);

    if (x.node && !x.shared) {
        const int64_t n = x.node->shape.dim[0] / m;

        x.node = wmi_slice(net->graph, x.node, 0, k * n, (k + 1) * n);
    }
    x.shared = false;
    net->m = 1;
    x = one_body(net, body, x);
    net->m = m;
    wmi_net_leave(net, mark);
    return x;
}

/* Bridges first .. first + count - 1, their rows joined. A concat takes WMI_MAX_IN nodes: blocks of
 * blocks. */
static wmi_value bodies(wmi_net *net, const wmi_body *body, wmi_value x, int64_t first,
                        int64_t count)
{
    const int64_t step = (count + WMI_MAX_IN - 1) / WMI_MAX_IN;
    wmi_node *part[WMI_MAX_IN];
    wmi_value h = x;
    int n = 0;

    if (count == 1)
        return body_of_bridge(net, body, x, first);
    for (int64_t at = 0; at < count && !net->st; at += step) {
        h = bodies(net, body, x, first + at, step < count - at ? step : count - at);
        part[n++] = h.node;
    }
    if (net->graph)
        h.node = wmi_concat(net->graph, n, part, 0);
    return h;
}

wmi_value wmi_body_features(wmi_net *net, const wmi_body *body, bool independent, wmi_value x)
{
    if (body->kind == WMI_BODY_NONE || !independent)
        return one_body(net, body, x);
    return bodies(net, body, x, 0, net->m);
}
