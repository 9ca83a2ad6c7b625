/* mi_critic.c - networks and losses of mi_critic.h. */
#include "mi/mi_critic.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "nn/layers.h"

static const double SLOPE = 0.1; /* of LeakyReLU */
static const double CLIP = 5;    /* norm of a gradient that has e^T in it, which has heavy tails */

/* ---- networks ---- */

static wmi_value dense(wmi_net *net, const char *name, wmi_value x, int64_t width, double start)
{
    return wmi_layer_dense(net, name, x, width, (wmi_init){.kind = WMI_INIT_HE, .a = start});
}

static wmi_value hidden(wmi_net *net, wmi_value x, int64_t width)
{
    x = wmi_layer_leaky_relu(net, dense(net, "hidden1", x, width, 2), SLOPE);
    return wmi_layer_leaky_relu(net, dense(net, "hidden2", x, width, 2), SLOPE);
}

static void score_joint(wmi_critic *c, wmi_net *net, int64_t width, wmi_value u, wmi_value v)
{
    wmi_node *const both[] = {u.node, v.node};
    wmi_value x = {.c = u.c + v.c};

    if (net->graph)
        x.node = wmi_concat(net->graph, 2, both, 1);
    x = dense(net, "out", hidden(net, x, width), 1, 0);
    if (net->graph)
        c->scores = wmi_reshape(net->graph, x.node, 2, (int64_t[]){1, c->slots});
}

/* g(u_i)' f(v_j) + b(v_j) costs a pass for each row, not for each pair. A function of u_i alone
 * would cancel in the loss, so there is none. */
static void score_separable(wmi_critic *c, wmi_net *net, const wmi_mi_method_opts *o, wmi_value u,
                            wmi_value v)
{
    const int64_t n = c->batch;
    wmi_graph *g = net->graph;
    wmi_value e, f, b;
    wmi_node *own; /* (n) T(u_i, v_i) */
    size_t mark = wmi_net_enter(net, "g");

    e = dense(net, "out", hidden(net, u, o->width), o->embed, 1);
    wmi_net_leave(net, mark);
    mark = wmi_net_enter(net, "f");
    v = hidden(net, v, o->width);
    f = dense(net, "out", v, o->embed, 0);
    b = dense(net, "bias", v, 1, 0);
    wmi_net_leave(net, mark);
    if (!g)
        return;
    own = wmi_add(g, wmi_sum(g, wmi_mul(g, e.node, f.node), 2u), wmi_reshape(g, b.node, 1, &n));
    c->scores = wmi_add(g, wmi_matmul(g, e.node, f.node, false, true),
                        wmi_reshape(g, b.node, 2, (int64_t[]){1, n}));
    c->loss = wmi_mean(g, wmi_sub(g, wmi_logsumexp(g, c->scores), own), WMI_ALL_AXES);
}

static void score(wmi_critic *c, wmi_net *net, const wmi_mi_method_opts *o, wmi_node *u,
                  wmi_node *v)
{
    const wmi_value x = {.node = u, .c = c->du}, y = {.node = v, .c = c->dv};

    if (c->kind == WMI_MI_INFONCE)
        score_separable(c, net, o, x, y);
    else
        score_joint(c, net, o->width, x, y);
}

/* ---- losses ---- */

/* MINE's gradient, E_q[e^T dT] / a - E_p[dT] with the moving average a = (1 - r) a_before + r
 * E_q[e^T], is that of log(a) / r - E_p[T]: nothing is seeded by hand, and log a is there for the
 * next step. */
static wmi_node *dv_loss(wmi_critic *c)
{
    wmi_graph *g = c->graph;
    wmi_node *of_p = wmi_slice(g, c->scores, 1, 0, c->batch);
    wmi_node *of_q = wmi_affine(g, wmi_slice(g, c->scores, 1, c->batch, c->slots), 1,
                                log(c->mine / (double)c->batch));
    wmi_node *const terms[] = {of_q, wmi_input(g, "past", 2, (int64_t[]){1, 1})};

    c->average = wmi_logsumexp(g, wmi_concat(g, 2, terms, 1));
    return wmi_sub(g, wmi_affine(g, c->average, 1 / c->mine, 0), wmi_mean(g, of_p, WMI_ALL_AXES));
}

static void add_loss(wmi_critic *c)
{
    switch (c->kind) {
    case WMI_MI_DV:
        c->loss = dv_loss(c);
        break;
    case WMI_MI_NWJ: /* of scores that are T - 1 in the usual notation */
        c->loss = wmi_nwj_loss(c->graph, c->scores, NULL, c->batch);
        break;
    case WMI_MI_JS:
    case WMI_MI_SMILE:
        c->loss = wmi_logistic_loss(c->graph, c->scores, NULL, c->batch);
        break;
    case WMI_MI_INFONCE: /* has its loss from its building */
    case WMI_MI_KSG:
        break;
    }
}

/* ---- the whole ---- */

static wm_status build(wmi_critic *c, const wmi_mi_method_opts *o, wm_error *err)
{
    wmi_net net = wmi_net_declare(c->params, "", 1, err);
    wmi_node *u, *v, *outputs[2];
    wm_status st;

    score(c, &net, o, NULL, NULL);
    if ((st = wmi_net_status(&net, err)) ||
        (st = wmi_graph_new(&c->graph, WMI_F32, c->params, err)))
        return st;
    u = wmi_input(c->graph, "u", 2, (int64_t[]){c->slots, c->du});
    v = wmi_input(c->graph, "v", 2, (int64_t[]){c->slots, c->dv});
    net = wmi_net_build(c->graph, "", 1);
    score(c, &net, o, u, v);
    add_loss(c);
    outputs[0] = c->scores;
    outputs[1] = c->average;
    return wmi_compile(&c->program, c->graph,
                       &(wmi_compile_opts){.outputs = outputs,
                                           .n_outputs = c->average ? 2 : 1,
                                           .loss = c->loss,
                                           .param_grads = true},
                       err);
}

static wm_status find_input(const wmi_critic *c, const char *name, float **out, wm_error *err)
{
    void *at;
    const wm_status st = wmi_program_input(c->program, name, &at, err);

    *out = at;
    return st;
}

wm_status wmi_critic_open(wmi_critic *c, wmi_mi_method kind, int64_t du, int64_t dv, int64_t batch,
                          const wmi_mi_method_opts *opts, wm_error *err)
{
    wmi_adam_opts adam;
    wm_status st;

    *c = (wmi_critic){.kind = kind, .du = du, .dv = dv, .batch = batch, .mine = opts->mine};
    c->slots = kind == WMI_MI_INFONCE ? batch : 2 * batch;
    if (kind == WMI_MI_KSG)
        return wmi_fail(err, WM_EINVAL, "%s has no critic", wmi_mi_method_name(kind));
    if ((st = wmi_params_new(&c->params, err)) || (st = build(c, opts, err)) ||
        (st = find_input(c, "u", &c->u, err)) || (st = find_input(c, "v", &c->v, err)) ||
        (kind == WMI_MI_DV && (st = find_input(c, "past", &c->past, err))))
        return st;
    c->n = wmi_params_count(c->params);
    wmi_adam_opts_init(&adam);
    adam.clip = kind == WMI_MI_NWJ || kind == WMI_MI_DV ? CLIP : 0;
    if ((st = wmi_alloc(&c->theta, c->n, sizeof *c->theta, "parameters", err)) ||
        (st = wmi_alloc(&c->grad, c->n, sizeof *c->grad, "gradient", err)) ||
        (st = wmi_adam_new(&c->adam, c->n, 32, NULL, 0, &adam, err)))
        return st;
    wmi_params_init(c->params, opts->control.seed, WMI_F32, c->theta);
    wmi_program_bind(c->program, c->theta, c->grad);
    if (c->past)
        *c->past = (float)log1p(-c->mine); /* E_q[e^T] is 1 at the start; -inf without a past */
    return WM_OK;
}

void wmi_critic_close(wmi_critic *c)
{
    wmi_program_free(c->program);
    wmi_graph_free(c->graph);
    wmi_params_free(c->params);
    wmi_adam_free(c->adam);
    wmi_free(c->theta);
    wmi_free(c->grad);
    *c = (wmi_critic){0};
}

void wmi_critic_put(const wmi_critic *c, int64_t slot, const float *u, const float *v)
{
    memcpy(c->u + slot * c->du, u, (size_t)c->du * sizeof *u);
    memcpy(c->v + slot * c->dv, v, (size_t)c->dv * sizeof *v);
}

wm_status wmi_critic_scores(const wmi_critic *c, const float **scores, wm_error *err)
{
    const wm_status st = wmi_program_forward(c->program, err);

    *scores = st ? NULL : wmi_program_value(c->program, c->scores);
    return st;
}

wm_status wmi_critic_step(wmi_critic *c, int64_t step, double lr, wm_error *err)
{
    wm_status st;

    wmi_program_step(c->program, 0, (uint64_t)step, true); /* the number is for messages */
    if ((st = wmi_program_backward(c->program, err)) ||
        (st = wmi_adam_step_f32(c->adam, lr, c->grad, c->theta, err)))
        return st;
    if (c->past)
        *c->past = (float)(wmi_program_scalar(c->program, c->average) + log1p(-c->mine));
    return WM_OK;
}
