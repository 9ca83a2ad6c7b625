/* flow_run.h - a flow made ready to run, for the tests of this room: table, parameters away from
 * their start, and both directions as programs. */
#ifndef WM_TESTS_FLOW_RUN_H
#define WM_TESTS_FLOW_RUN_H

#include <string.h>

#include "asserts.h"
#include "base/alloc.h"
#include "base/rng.h"
#include "engine/program.h"
#include "noise/flow.h"

typedef struct flow_run {
    wmi_noise_opts opts;
    wmi_params *params;
    double *theta; /* and as float: */
    float *theta_f32;
} flow_run;

static inline wmi_noise_opts flow_table(int64_t dim, int steps, int64_t hidden)
{
    return (wmi_noise_opts){.kind = WMI_NOISE_FLOW,
                            .dim = dim,
                            .bins = 5,
                            .bound = 3,
                            .levels = 1,
                            .steps = steps,
                            .hidden = hidden};
}

static inline wmi_noise_opts flow_image(int64_t h, int64_t w, int64_t c, int levels, int steps,
                                        int64_t hidden)
{
    return (wmi_noise_opts){.kind = WMI_NOISE_FLOW,
                            .dim = h * w * c,
                            .height = h,
                            .width = w,
                            .channels = c,
                            .bins = 4,
                            .bound = 3,
                            .levels = levels,
                            .steps = steps,
                            .hidden = hidden};
}

static inline bool flow_is_trained(const char *name)
{
    const char *last = strrchr(name, '/');

    return last && strcmp(last, "/sign") != 0 && strcmp(last, "/order") != 0 &&
           strcmp(last, "/inverse") != 0;
}

static inline void flow_to_float(flow_run *r)
{
    for (int64_t i = 0; i < wmi_params_count(r->params); i++)
        r->theta_f32[i] = (float)r->theta[i];
}

/* How far a parameter is moved, of how far it might: matrices by fan-in, so that the sums do not
 * grow with it, and those of an image's network less, for they start small and actnorms make up for
 * it. Else raw values would be hundreds, where splines are steps, and triangles ill-conditioned. */
static inline double flow_step(const wmi_param_entry *e)
{
    const int rank = e->shape.rank;
    const double fan = rank > 1 ? (double)e->shape.dim[rank - 2] : 1;

    return (strstr(e->name, "/conv3/") ? 0.4 : strstr(e->name, "/conv") ? 0.1 : 1) / sqrt(fan);
}

/* Started from normal rows of deviation 2, then every trained parameter moved by N(0, move^2), or
 * less: flow_step(). */
static inline void flow_open(flow_run *r, const wmi_noise_opts *opts, double move)
{
    enum { ROWS = 64 };
    const wmi_rng rng = wmi_rng_make(7, "flow test"), data = wmi_rng_sub(&rng, 1);
    double *x = NULL, *noise = NULL;
    int64_t n;
    wm_error err = {0};

    *r = (flow_run){.opts = *opts};
    assert_ok(wmi_params_new(&r->params, &err), err);
    assert_ok(wmi_flow_declare(r->params, "q", opts, &err), err);
    n = wmi_params_count(r->params);
    assert_ok(wmi_alloc(&r->theta, n, sizeof *r->theta, "theta", &err), err);
    assert_ok(wmi_alloc(&r->theta_f32, n, sizeof *r->theta_f32, "theta", &err), err);
    assert_ok(wmi_alloc(&x, ROWS * opts->dim, sizeof *x, "x", &err), err);
    assert_ok(wmi_alloc(&noise, n, sizeof *noise, "noise", &err), err);
    wmi_rng_normal_f64(&data, 0, ROWS * opts->dim, x);
    for (int64_t i = 0; i < ROWS * opts->dim; i++)
        x[i] *= 2;
    assert_ok(wmi_flow_start(opts, "q", r->params, ROWS, x, 3, r->theta, &err), err);
    wmi_rng_normal_f64(&rng, 0, n, noise);
    for (int64_t i = 0; i < wmi_params_entries(r->params); i++) {
        const wmi_param_entry *e = wmi_params_entry(r->params, i);

        for (int64_t k = e->offset; k < e->offset + e->count && flow_is_trained(e->name); k++)
            r->theta[k] += move * flow_step(e) * noise[k];
    }
    assert_ok(wmi_flow_finish(opts, "q", r->params, r->theta, &err), err);
    flow_to_float(r);
    wmi_free(noise);
    wmi_free(x);
}

static inline void flow_close(flow_run *r)
{
    wmi_free(r->theta_f32);
    wmi_free(r->theta);
    wmi_params_free(r->params);
}

/* One direction for n rows: out (n, dim), log_det (n). With a gradient, of the loss sum of out
 * times weights t (n, dim) plus sum of log_det. */
typedef struct flow_map {
    wmi_dtype dtype;
    wmi_graph *graph;
    wmi_program *program;
    wmi_node *x, *out, *log_det, *loss;
    void *in, *t; /* t NULL without a gradient */
    double *grad; /* of the parameters, likewise; double graphs alone have one */
    int64_t n, dim;
} flow_map;

static inline void flow_map_open(flow_map *m, flow_run *r, wmi_dtype dtype, int64_t n, bool to_x,
                                 bool gradient)
{
    const int64_t dim[] = {n, r->opts.dim};
    wmi_compile_opts opts = {0};
    wmi_node *outputs[3];
    wm_error err = {0};

    *m = (flow_map){.dtype = dtype, .n = n, .dim = r->opts.dim};
    assert_ok(wmi_graph_new(&m->graph, dtype, r->params, &err), err);
    m->x = wmi_input(m->graph, "x", 2, dim);
    m->out = to_x ? wmi_flow_to_x(m->graph, "q", &r->opts, m->x, &m->log_det)
                  : wmi_flow_to_z(m->graph, "q", &r->opts, m->x, &m->log_det);
    assert_ok(wmi_graph_status(m->graph, &err), err);
    outputs[0] = m->out;
    outputs[1] = m->log_det;
    opts = (wmi_compile_opts){.outputs = outputs, .n_outputs = 2};
    if (gradient) {
        wmi_node *t = wmi_input(m->graph, "t", 2, dim);
        wmi_node *a = wmi_sum(m->graph, wmi_mul(m->graph, m->out, t), WMI_ALL_AXES);

        m->loss = wmi_add(m->graph, a, wmi_sum(m->graph, m->log_det, WMI_ALL_AXES));
        outputs[opts.n_outputs++] = opts.loss = m->loss;
        opts.grad_inputs = &m->x;
        opts.n_grad_inputs = 1;
        opts.param_grads = !to_x;
        assert_ok(wmi_alloc(&m->grad, wmi_params_count(r->params), sizeof *m->grad, "g", &err),
                  err);
    }
    assert_ok(wmi_compile(&m->program, m->graph, &opts, &err), err);
    wmi_program_bind(m->program, dtype == WMI_F32 ? (void *)r->theta_f32 : r->theta, m->grad);
    assert_ok(wmi_program_input(m->program, "x", &m->in, &err), err);
    if (gradient)
        assert_ok(wmi_program_input(m->program, "t", &m->t, &err), err);
}

static inline void flow_map_close(flow_map *m)
{
    wmi_program_free(m->program);
    wmi_graph_free(m->graph);
    wmi_free(m->grad);
}

static inline double flow_at(const flow_map *m, const void *v, int64_t i)
{
    return m->dtype == WMI_F32 ? (double)((const float *)v)[i] : ((const double *)v)[i];
}

static inline double flow_get(const flow_map *m, const wmi_node *nd, int64_t i)
{
    return flow_at(m, wmi_program_value(m->program, nd), i);
}

static inline void flow_put(const flow_map *m, void *to, int64_t i, double v)
{
    if (m->dtype == WMI_F32)
        ((float *)to)[i] = (float)v;
    else
        ((double *)to)[i] = v;
}

static inline void flow_run_map(flow_map *m)
{
    wm_error err = {0};

    assert_ok(wmi_program_forward(m->program, &err), err);
}

#endif
