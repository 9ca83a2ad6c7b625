/* run.c - compiling is planning plus a few checks; running is walking the list forward, and back.
 */
#include <inttypes.h>
#include <math.h>
#include <omp.h>
#include <string.h>

#include "base/alloc.h"
#include "engine/plan.h"

static double real_at(const wmi_node *nd, int64_t i)
{
    return nd->dtype == WMI_F32 ? (double)((const float *)nd->val)[i]
                                : ((const double *)nd->val)[i];
}

wm_status wmi_compile(wmi_program **out, wmi_graph *g, const wmi_compile_opts *opts, wm_error *err)
{
    wmi_program *p = NULL;
    wm_status st;

    *out = NULL;
    if ((st = wmi_graph_status(g, err)))
        return st;
    if ((opts->param_grads || opts->n_grad_inputs) && !opts->loss)
        return wmi_fail(err, WM_EINVAL, "gradients are asked for, but no loss is named");
    for (int i = 0; i < opts->n_grad_inputs; i++)
        if (!opts->grad_inputs[i] || strcmp(opts->grad_inputs[i]->op->name, "input") != 0)
            return wmi_fail(err, WM_EINVAL,
                            "gradient %d is asked for of '%s', which is not an input", i,
                            opts->grad_inputs[i] ? opts->grad_inputs[i]->name : "nothing");
    if ((st = wmi_alloc(&p, 1, sizeof *p, "program", err)))
        return st;
    p->graph = g;
    p->loss = opts->loss;
    p->param_grads = opts->param_grads;
    if ((st = wmi_plan(p, opts, err))) {
        wmi_program_free(p);
        return st;
    }
    *out = p;
    return WM_OK;
}

void wmi_program_free(wmi_program *p)
{
    if (!p)
        return;
    for (int64_t s = 0; p->steps && s < p->n_steps; s++) {
        wmi_node *nd = p->steps[s].nd;

        if (nd && nd->op->release && nd->state)
            nd->op->release(nd);
    }
    wmi_free(p->block);
    wmi_free(p->reached);
    wmi_free(p->steps);
    wmi_free(p);
}

void wmi_program_bind(wmi_program *p, void *theta, void *grad)
{
    const size_t size = wmi_dtype_size(wmi_graph_dtype(p->graph));

    p->theta = theta;
    p->grad = p->param_grads ? grad : NULL;
    for (int64_t s = 0; s < p->n_steps; s++) {
        wmi_node *nd = p->steps[s].nd, *root = wmi_plan_root(nd);
        const wmi_param_entry *e;

        if (strcmp(root->op->name, "param") != 0)
            continue;
        e = wmi_params_find(wmi_graph_params(p->graph), root->name);
        nd->val = (char *)theta + (size_t)e->offset * size;
        nd->grad = nd->wants_grad && p->grad ? (char *)grad + (size_t)e->offset * size : NULL;
    }
}

wm_status wmi_program_input(wmi_program *p, const char *name, void **val, wm_error *err)
{
    *val = NULL;
    for (int64_t s = 0; s < p->n_steps; s++) {
        const wmi_node *nd = p->steps[s].nd;

        if (strcmp(nd->op->name, "input") == 0 && strcmp(nd->name, name) == 0) {
            *val = nd->val;
            return WM_OK;
        }
    }
    return wmi_fail(err, WM_EINVAL, "the program has no input called '%s'", name);
}

void wmi_program_step(wmi_program *p, uint64_t seed, uint64_t step, bool training)
{
    p->run.seed = seed;
    p->run.step = step;
    p->run.training = training;
}

static void call(const wmi_step *step, wmi_phase phase)
{
    wmi_node *nd = step->nd;

    nd->scratch = step->scratch[phase];
    if (phase == WMI_FORWARD) {
        nd->op->forward(nd);
    } else {
        for (int i = 0; i < nd->n_in; i++)
            if (step->zero >> i & 1)
                memset(nd->in[i]->grad, 0, (size_t)nd->in[i]->n * wmi_dtype_size(nd->dtype));
        nd->op->backward(nd);
    }
}

/* Those of the plan, or fewer, if OpenMP has been told so since. */
static void count_threads(wmi_program *p)
{
    const int now = omp_in_parallel() ? 1 : omp_get_max_threads();

    p->run.threads = now < p->threads ? now : p->threads;
}

wm_status wmi_program_forward(wmi_program *p, wm_error *err)
{
    count_threads(p);
    for (int64_t s = 0; s < p->n_steps; s++) {
        const wmi_node *nd = p->steps[s].nd;

        if (!nd->val)
            return wmi_fail(err, WM_EINVAL, "%s '%s' has no memory: bind the parameters first",
                            nd->op->name, nd->name);
        if (wmi_plan_calls(nd))
            call(&p->steps[s], WMI_FORWARD);
    }
    return WM_OK;
}

/* Says where a loss that is not finite came from, as far as the leaves can tell. */
static wm_status diverged(const wmi_program *p, double loss, wm_error *err)
{
    for (int64_t s = 0; s < p->n_steps; s++) {
        const wmi_node *nd = p->steps[s].nd;

        for (int64_t i = 0; nd->op->flags & WMI_OP_LEAF && i < nd->n; i++)
            if (!isfinite(real_at(nd, i)))
                return wmi_fail(err, WM_EDIVERGED,
                                "loss is %g at step %" PRIu64 ": element %" PRId64
                                " of %s '%s' is %g",
                                loss, p->run.step, i, nd->op->name, nd->name, real_at(nd, i));
    }
    return wmi_fail(err, WM_EDIVERGED,
                    "loss is %g at step %" PRIu64
                    " though inputs and parameters are finite: lower the learning rate",
                    loss, p->run.step);
}

static void fill_ones(const wmi_node *nd)
{
    for (int64_t i = 0; i < nd->n; i++)
        if (nd->dtype == WMI_F32)
            ((float *)nd->grad)[i] = 1;
        else
            ((double *)nd->grad)[i] = 1;
}

/* Parameters that the loss does not depend on have gradient zero. */
static void zero_unreached(const wmi_program *p)
{
    const wmi_params *params = wmi_graph_params(p->graph);

    for (int64_t i = 0; params && i < wmi_params_entries(params); i++) {
        const wmi_param_entry *e = wmi_params_entry(params, i);

        if (!p->reached[i])
            memset((char *)p->grad + (size_t)e->offset * wmi_dtype_size(wmi_graph_dtype(p->graph)),
                   0, (size_t)e->count * wmi_dtype_size(wmi_graph_dtype(p->graph)));
    }
}

wm_status wmi_program_backward(wmi_program *p, wm_error *err)
{
    wm_status st;

    if (!p->loss)
        return wmi_fail(err, WM_EINVAL, "the program was compiled without a loss");
    if (p->param_grads && !p->grad)
        return wmi_fail(err, WM_EINVAL,
                        "parameter gradients are asked for: bind a vector for them");
    if ((st = wmi_program_forward(p, err)))
        return st;
    for (int64_t i = 0; i < p->loss->n; i++)
        if (!isfinite(real_at(p->loss, i)))
            return diverged(p, real_at(p->loss, i), err);
    if (p->grad)
        zero_unreached(p);
    if (!p->loss->wants_grad)
        return WM_OK;
    fill_ones(p->loss);
    for (int64_t s = p->n_steps - 1; s >= 0; s--) {
        const wmi_node *nd = p->steps[s].nd;

        if (wmi_plan_calls(nd) && nd->wants_grad)
            call(&p->steps[s], WMI_BACKWARD);
    }
    return WM_OK;
}

const void *wmi_program_value(const wmi_program *p, const wmi_node *nd)
{
    (void)p;
    return nd->val;
}

double wmi_program_scalar(const wmi_program *p, const wmi_node *nd)
{
    (void)p;
    return nd->n > 0 ? real_at(nd, 0) : NAN;
}

const void *wmi_program_grad(const wmi_program *p, const wmi_node *nd)
{
    (void)p;
    return nd->grad;
}

size_t wmi_program_bytes(const wmi_program *p)
{
    return p->bytes;
}
