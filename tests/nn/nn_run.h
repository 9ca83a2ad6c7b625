/* nn_run.h - a bridge model made ready to run, for the tests of this room: table, graph, program
 * and flat vectors. */
#ifndef WM_TESTS_NN_RUN_H
#define WM_TESTS_NN_RUN_H

#include <stdio.h>
#include <string.h>

#include "asserts.h"
#include "base/alloc.h"
#include "engine/program.h"
#include "named_numbers.h"
#include "nn/bridge_model.h"

typedef struct nn_run {
    wmi_dtype dtype;
    wmi_params *params;
    wmi_graph *graph;
    wmi_program *program;
    wmi_node *x, *u, *scores;   /* (rows, dim), (n_u, dim_u) or NULL, (m, n) */
    void *in_x, *in_u, *in_t;   /* where to write x, u and the weights t (m, n) */
    void *theta, *grad, *knots; /* knots NULL without an additive term */
    int64_t m, n, dim_x;        /* dim_x: columns that the additive term sees */
} nn_run;

static inline double nn_get(wmi_dtype dtype, const void *v, int64_t i)
{
    return dtype == WMI_F32 ? (double)((const float *)v)[i] : ((const double *)v)[i];
}

static inline void nn_set(wmi_dtype dtype, void *v, int64_t i, double value)
{
    if (dtype == WMI_F32)
        ((float *)v)[i] = (float)value;
    else
        ((double *)v)[i] = value;
}

/* Table, graph, program with loss sum t s: n rows for each bridge, or n rows for all. theta starts
 * as wmi_params_init(seed) says. */
static inline void nn_open(nn_run *r, const wmi_model *model, wmi_dtype dtype, wmi_layout layout,
                           int64_t n, int64_t n_u)
{
    const int64_t m = model->bridges, d = model->dim_u + model->dim;
    const size_t size = dtype == WMI_F32 ? sizeof(float) : sizeof(double);
    wmi_model_inputs in = {.layout = layout};
    wmi_node *t, *wanted[2];
    wm_error err = {0};

    *r = (nn_run){.dtype = dtype, .m = m, .n = n, .dim_x = d};
    assert_ok(wmi_params_new(&r->params, &err), err);
    assert_ok(wmi_model_declare(r->params, "", model, &err), err);
    assert_ok(wmi_alloc(&r->theta, wmi_params_count(r->params), size, "theta", &err), err);
    assert_ok(wmi_alloc(&r->grad, wmi_params_count(r->params), size, "gradient", &err), err);
    wmi_params_init(r->params, 1, dtype, r->theta);

    assert_ok(wmi_graph_new(&r->graph, dtype, r->params, &err), err);
    in.x = r->x =
        wmi_input(r->graph, "x", 2, (int64_t[]){layout == WMI_ROWS_SHARED ? n : m * n, model->dim});
    if (n_u)
        in.u = r->u = wmi_input(r->graph, "u", 2, (int64_t[]){n_u, model->dim_u});
    if (model->terms & WMI_TERM_ADDITIVE)
        in.knots = wmi_input(r->graph, "knots", 2, (int64_t[]){d, model->bases + 4});
    t = wmi_input(r->graph, "t", 2, (int64_t[]){m, n});
    r->scores = wmi_model_build(r->graph, "", model, &in);
    assert_ok(wmi_graph_status(r->graph, &err), err);
    wanted[0] = r->x;
    wanted[1] = r->u;
    assert_ok(
        wmi_compile(&r->program, r->graph,
                    &(wmi_compile_opts){
                        .outputs = &r->scores,
                        .n_outputs = 1,
                        .loss = wmi_sum(r->graph, wmi_mul(r->graph, r->scores, t), WMI_ALL_AXES),
                        .param_grads = true,
                        .grad_inputs = wanted,
                        .n_grad_inputs = n_u ? 2 : 1,
                    },
                    &err),
        err);
    wmi_program_bind(r->program, r->theta, r->grad);
    assert_ok(wmi_program_input(r->program, "x", &r->in_x, &err), err);
    assert_ok(wmi_program_input(r->program, "t", &r->in_t, &err), err);
    if (n_u)
        assert_ok(wmi_program_input(r->program, "u", &r->in_u, &err), err);
    if (in.knots)
        assert_ok(wmi_program_input(r->program, "knots", &r->knots, &err), err);
    wmi_program_step(r->program, 1, 0, false);
}

static inline void nn_close(nn_run *r)
{
    wmi_program_free(r->program);
    wmi_graph_free(r->graph);
    wmi_params_free(r->params);
    wmi_free(r->theta);
    wmi_free(r->grad);
}

static inline void nn_forward(nn_run *r)
{
    wm_error err = {0};

    assert_ok(wmi_program_forward(r->program, &err), err);
}

static inline void nn_backward(nn_run *r)
{
    wm_error err = {0};

    assert_ok(wmi_program_backward(r->program, &err), err);
}

static inline double nn_score(const nn_run *r, int64_t k, int64_t j)
{
    return nn_get(r->dtype, wmi_program_value(r->program, r->scores), k * r->n + j);
}

/* The entry i of the parameter `name`. */
static inline void nn_set_param(nn_run *r, const char *name, int64_t i, double value)
{
    const wmi_param_entry *e = wmi_params_find(r->params, name);

    if (!e || i >= e->count)
        fail_msg("no entry %lld of parameter '%s'", (long long)i, name);
    else
        nn_set(r->dtype, r->theta, e->offset + i, value);
}

#endif
