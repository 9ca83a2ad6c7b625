/* layers.c - dense, convolution, ScaleShift_k and the rest, each in its two readings (layers.h). */
#include "nn/layers.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

wmi_net wmi_net_declare(wmi_params *params, const char *prefix, int64_t m, wm_error *err)
{
    wmi_net net = {.params = params, .m = m, .err = err};

    if (*prefix)
        (void)wmi_net_enter(&net, "%s", prefix);
    return net;
}

wmi_net wmi_net_build(wmi_graph *graph, const char *prefix, int64_t m)
{
    wmi_net net = {.graph = graph, .m = m};

    if (*prefix)
        (void)wmi_net_enter(&net, "%s", prefix);
    return net;
}

wm_status wmi_net_status(const wmi_net *net, wm_error *err)
{
    return net->graph ? wmi_graph_status(net->graph, err) : net->st;
}

void wmi_net_fail(wmi_net *net, wm_status code, const char *fmt, ...)
{
    char text[200], where[WMI_NET_PATH + 2] = "";
    va_list ap;

    if (net->st)
        return;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    net->st = code;
    if (net->path_len) /* "resnet/head: ..." */
        snprintf(where, sizeof where, "%.*s: ", (int)net->path_len - 1, net->path);
    if (net->graph)
        (void)wmi_graph_fail(net->graph, code, "%s%s", where, text);
    else
        (void)wmi_fail(net->err, code, "%s%s", where, text);
}

size_t wmi_net_enter(wmi_net *net, const char *fmt, ...)
{
    const size_t mark = net->path_len, room = sizeof net->path - mark;
    va_list ap;
    int len;

    va_start(ap, fmt);
    len = vsnprintf(net->path + mark, room, fmt, ap);
    va_end(ap);
    if (len < 0 || (size_t)len + 1 >= room) {
        net->path[mark] = '\0';
        wmi_net_fail(net, WM_EINVAL, "the path of a parameter is too long");
        return mark;
    }
    net->path_len = mark + (size_t)len + 1;
    net->path[net->path_len - 1] = '/';
    net->path[net->path_len] = '\0';
    return mark;
}

void wmi_net_leave(wmi_net *net, size_t mark)
{
    net->path_len = mark;
    net->path[mark] = '\0';
}

wmi_node *wmi_net_param(wmi_net *net, const char *name, int rank, const int64_t *dim, wmi_init init,
                        wmi_param_group group)
{
    char path[WMI_NET_PATH + 32];

    if (net->st)
        return NULL;
    snprintf(path, sizeof path, "%s%s", net->path, name);
    if (net->graph)
        return wmi_param(net->graph, path);
    net->st = wmi_params_add(net->params, path, rank, dim, init, group, net->err);
    return NULL;
}

wmi_node *wmi_net_table(wmi_net *net, const char *name, int rank, const int64_t *dim, wmi_init init,
                        wmi_param_group group)
{
    const bool smooth = net->smooth > 0 && group != WMI_GROUP_CONSTANT;
    int64_t rows[WMI_MAX_RANK];
    wmi_node *p;

    memcpy(rows, dim, (size_t)rank * sizeof *rows);
    if (smooth)
        rows[0] = net->smooth;
    p = wmi_net_param(net, name, rank, rows, init, group);
    if (!p)
        return NULL;
    if (!smooth)
        return p->shape.dim[0] > dim[0]
                   ? wmi_slice(net->graph, p, 0, net->first, net->first + dim[0])
                   : p;
    p = wmi_reshape(net->graph, p, 2,
                    (int64_t[]){net->smooth, wmi_shape_count(&p->shape) / net->smooth});
    return wmi_reshape(net->graph, wmi_matmul(net->graph, net->basis, p, false, false), rank, dim);
}

wmi_value wmi_layer_dense(wmi_net *net, const char *name, wmi_value x, int64_t width, wmi_init init)
{
    const wmi_init zero = {.kind = WMI_INIT_CONST};
    const size_t mark = wmi_net_enter(net, "%s", name);
    wmi_node *w = wmi_net_param(net, "w", 2, (int64_t[]){x.c, width}, init, WMI_GROUP_BODY);
    wmi_node *b = wmi_net_param(net, "b", 1, &width, zero, WMI_GROUP_BODY);

    if (net->graph)
        x.node =
            wmi_dense_layer(net->graph, x.node, w, b, NULL, NULL, NULL, (wmi_dense_attr){1, 1});
    wmi_net_leave(net, mark);
    x.c = width;
    return x;
}

wmi_value wmi_layer_conv(wmi_net *net, const char *name, wmi_value x, int window, int stride,
                         int64_t width, double pre_slope)
{
    const wmi_init glorot = {.kind = WMI_INIT_GLOROT};
    const size_t mark = wmi_net_enter(net, "%s", name);
    wmi_node *w =
        wmi_net_param(net, "w", 4, (int64_t[]){window, window, x.c, width}, glorot, WMI_GROUP_BODY);

    if (net->levels)
        x = wmi_layer_leaky_relu(net, x, pre_slope);
    if (net->graph)
        x.node = wmi_conv2d(net->graph, x.node, w, stride, net->levels ? 1 : pre_slope);
    wmi_net_leave(net, mark);
    x.h = (x.h + stride - 1) / stride;
    x.w = (x.w + stride - 1) / stride;
    x.c = width;
    return x;
}

wmi_value wmi_layer_scale_shift(wmi_net *net, const char *name, wmi_value x,
                                const wmi_value *residual, wmi_fused fused)
{
    const bool image = x.h > 0;
    const wmi_init one =
        image ? (wmi_init){WMI_INIT_NORMAL, 1, 0.02} : (wmi_init){WMI_INIT_CONST, 1, 0};
    const wmi_init zero = {.kind = WMI_INIT_CONST};
    const int64_t m = net->levels ? 1 : net->m;
    const int64_t per_unit[] = {m, x.h, x.w, x.c}, per_last[] = {m, x.c};
    const int64_t *dim = image && !fused.per_channel && !net->levels ? per_unit : per_last;
    const int rank = dim == per_unit ? 4 : 2;
    const size_t mark = wmi_net_enter(net, "%s", name);
    wmi_node *(*row)(wmi_net *, const char *, int, const int64_t *, wmi_init, wmi_param_group) =
        net->levels ? wmi_net_param : wmi_net_table;
    wmi_node *scale = row(net, "scale", rank, dim, one, WMI_GROUP_BODY);
    wmi_node *shift = row(net, "shift", rank, dim, zero, WMI_GROUP_BODY);

    if (net->graph) {
        const double slope = net->levels ? 1 : fused.slope;
        const wmi_scale_shift_attr attr = {slope, fused.pool, x.shared && !net->levels};

        x.node = wmi_scale_shift(net->graph, x.node, scale, shift, residual ? residual->node : NULL,
                                 attr);
        if (net->levels)
            x = wmi_layer_leaky_relu(net, x, fused.slope);
    }
    wmi_net_leave(net, mark);
    x.shared = net->levels;
    if (fused.pool == 2) {
        x.h = (x.h + 1) / 2;
        x.w = (x.w + 1) / 2;
    }
    return x;
}

wmi_value wmi_layer_conditional(wmi_net *net, const char *name, wmi_value x, int64_t width,
                                wmi_init init, const wmi_value *residual, double pre_slope,
                                double slope)
{
    const wmi_init zero = {.kind = WMI_INIT_CONST}, one = {.kind = WMI_INIT_CONST, .a = 1};
    const int64_t by_bridge[] = {net->m, width};
    wmi_node *w, *b, *scale, *shift;
    size_t mark;

    /* One product for all bridges where they share their rows. */
    if (net->graph && x.shared) {
        x = wmi_layer_dense(net, name, wmi_layer_leaky_relu(net, x, pre_slope), width, init);
        return wmi_layer_scale_shift(net, name, x, residual, (wmi_fused){slope, 1, false});
    }
    mark = wmi_net_enter(net, "%s", name);
    w = wmi_net_param(net, "w", 2, (int64_t[]){x.c, width}, init, WMI_GROUP_BODY);
    b = wmi_net_param(net, "b", 1, &width, zero, WMI_GROUP_BODY);
    scale = wmi_net_table(net, "scale", 2, by_bridge, one, WMI_GROUP_BODY);
    shift = wmi_net_table(net, "shift", 2, by_bridge, zero, WMI_GROUP_BODY);
    if (net->graph)
        x.node =
            wmi_dense_layer(net->graph, x.node, w, b, scale, shift,
                            residual ? residual->node : NULL, (wmi_dense_attr){pre_slope, slope});
    wmi_net_leave(net, mark);
    x.c = width;
    x.shared = false;
    return x;
}

wmi_value wmi_layer_leaky_relu(wmi_net *net, wmi_value x, double slope)
{
    if (net->graph)
        x.node = net->levels ? wmi_bent_relu(net->graph, x.node, slope)
                             : wmi_leaky_relu(net->graph, x.node, slope);
    return x;
}

wmi_value wmi_layer_dropout(wmi_net *net, wmi_value x, double rate)
{
    if (net->graph)
        x.node = wmi_dropout(net->graph, x.node, rate);
    return x;
}

wmi_value wmi_layer_max_pool(wmi_net *net, wmi_value x)
{
    if (net->graph)
        x.node = wmi_pool2d(net->graph, x.node, true, 2);
    x.h = (x.h + 1) / 2;
    x.w = (x.w + 1) / 2;
    return x;
}

wmi_value wmi_layer_add(wmi_net *net, wmi_value x, wmi_value y)
{
    if (net->graph)
        x.node = wmi_add(net->graph, x.node, y.node);
    return x;
}

wmi_node *wmi_value_by_bridge(wmi_net *net, wmi_value x)
{
    const int64_t m = x.shared ? 1 : net->m;
    int64_t rows;

    if (!net->graph || !x.node)
        return NULL;
    rows = x.node->shape.dim[0];
    return wmi_reshape(net->graph, x.node, 3, (int64_t[]){m, rows / m, x.c});
}

wmi_node *wmi_rows_repeat(wmi_graph *g, wmi_node *x, int64_t count)
{
    wmi_node *part[WMI_MAX_IN];
    int n = 0;

    if (count == 1)
        return x;
    /* A concat takes WMI_MAX_IN nodes: join blocks of blocks. */
    for (int64_t at = 0, step = (count + WMI_MAX_IN - 1) / WMI_MAX_IN; at < count; at += step)
        part[n++] = wmi_rows_repeat(g, x, step < count - at ? step : count - at);
    return wmi_concat(g, n, part, 0);
}
