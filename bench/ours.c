/* ours.c - our side of the benchmark: a server for bench/run, like bench/peer_torch.py.
 * One command a line on stdin, one JSON object a line on stdout:
 *
 * - setup NAME [THREADS]: build the step of that row of the table, for its number of threads
 * - step K: run K steps, {"seconds": ...}
 * - score: the scalar that the last step differentiated, {"value": ...}
 * - save FILE: parameters, and the rows that they see, as safetensors, for the peer to start from
 * - sgemm: this machine's limit, 1024 x 1024 x 1024, {"gflops": ...}
 * - peak: memory of this process and of the planned block, {"peak_kb": ...}
 * - quit
 *
 * bench_ours THREADS. While it waits for a command nothing runs, so the peer has both cores. */
#include <inttypes.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/pace.h"
#include "base/rng.h"
#include "data/formats/safetensors.h"
#include "engine/backend/blas.h"
#include "engine/program.h"
#include "nn/bridge_model.h"
#include "nn/loss.h"
#include "noise/flow.h"
#include "optim/adam.h"
#include "train/param_tensors.h"
#include "waymark/sink.h"

/* Both sides step over one fixed batch. At a real learning rate they would learn it by heart within
 * a few steps, gradients would underflow, and the clock would show the price of denormal numbers.
 */
#define LEARNING_RATE 1e-7

typedef struct bench_row {
    const char *name;
    void (*model)(wmi_model *model);
    int64_t n;       /* rows for each bridge, half of them of the numerator */
    bool input_only; /* gradient of the summed log-ratios for x; else a training step */
    int64_t pairs;   /* rows of u, which serve numerator and denominator of every bridge; 0: none */
    void (*flow)(wmi_noise_opts *opts); /* instead of a model: a step of maximum likelihood */
} bench_row;

typedef struct bench {
    bool input_only;
    wmi_params *params;
    wmi_graph *graph;
    wmi_program *program;
    wmi_node *loss;
    wmi_adam *adam;
    wmi_pace pace;
    float *theta, *grad;
    struct {
        const char *name;
        int64_t rows, dim;
        float *at;
    } input[2]; /* "x", and "u" where the model has one */
} bench;

static void mnist_paper(wmi_model *model)
{
    wmi_model_mnist(model, 10);
    model->resnet.attention = 0;
}

static void laptop(wmi_model *model)
{
    wmi_model_mnist(model, 10);
    wmi_resnet_laptop(&model->resnet);
}

static void quadratic_320(wmi_model *model)
{
    wmi_model_gaussian(model, 8, 320);
}

static void mlp_table(wmi_model *model)
{
    wmi_model_init(model, 4, 10);
    model->terms = WMI_TERM_MLP;
    model->mlp.blocks = 2;
}

/* SpatialMultiOmniglot with the widths of the authors' code: n x n characters, a bridge for each.
 */
static void omniglot(wmi_model *model, int64_t n)
{
    wmi_model_init(model, n * n, 784 * n * n);
    model->dim_u = model->dim;
    model->terms = WMI_TERM_SEPARABLE;
    wmi_separable_omniglot(&model->separable, n, 32);
}

static void omniglot_1(wmi_model *model)
{
    omniglot(model, 1);
}

static void omniglot_4(wmi_model *model)
{
    omniglot(model, 2);
}

static void image_flow(wmi_noise_opts *opts)
{
    *opts = (wmi_noise_opts){.kind = WMI_NOISE_FLOW,
                             .dim = 784,
                             .height = 28,
                             .width = 28,
                             .channels = 1,
                             .bins = 8,
                             .bound = 3,
                             .levels = 2,
                             .steps = 8,
                             .hidden = 64,
                             .dropout = 0.1};
}

static const bench_row rows[] = {
    {"train_mnist_paper", mnist_paper, 10, false, 0, NULL},
    {"inputgrad_mnist_paper", mnist_paper, 10, true, 0, NULL},
    {"train_laptop", laptop, 32, false, 0, NULL},
    {"train_quadratic_320", quadratic_320, 226, false, 0, NULL},
    {"train_mlp_table", mlp_table, 408, false, 0, NULL},
    {"train_omniglot_1", omniglot_1, 128, false, 64, NULL},
    {"train_omniglot_4", omniglot_4, 32, false, 16, NULL},
    {"train_flow", NULL, 256, false, 0, image_flow},
};

static long memory_kb(const char *field) /* "VmHWM:" is the peak, "VmRSS:" what is resident */
{
    FILE *f = fopen("/proc/self/status", "r");
    char line[256];
    long kb = 0;

    while (f && fgets(line, sizeof line, f))
        if (!strncmp(line, field, strlen(field)))
            kb = strtol(line + strlen(field), NULL, 10);
    if (f)
        fclose(f);
    return kb;
}

/* One group for each run of parameters at the same rate: the constants c_k move at ten times it. */
static wm_status adam_new(wmi_adam **out, const wmi_params *params, wm_error *err)
{
    const int64_t entries = wmi_params_entries(params), n = wmi_params_count(params);
    wmi_adam_group *groups;
    int64_t count = 0;
    wm_status st;

    if ((st = wmi_alloc(&groups, entries, sizeof *groups, "groups", err)))
        return st;
    for (int64_t i = 0; i < entries; i++) {
        const wmi_param_entry *e = wmi_params_entry(params, i);
        const double mult = e->group == WMI_GROUP_CONSTANT ? 10 : 1;
        const int64_t end = i + 1 < entries ? wmi_params_entry(params, i + 1)->offset : n;
        if (!count || groups[count - 1].lr_mult != mult)
            groups[count++] = (wmi_adam_group){.first = e->offset, .lr_mult = mult};
        groups[count - 1].count = end - groups[count - 1].first;
    }
    st = wmi_adam_new(out, n, 32, groups, count, NULL, err);
    wmi_free(groups);
    return st;
}

static void bench_free(bench *b)
{
    wmi_adam_free(b->adam);
    wmi_program_free(b->program);
    wmi_graph_free(b->graph);
    wmi_params_free(b->params);
    wmi_free(b->theta);
    wmi_free(b->grad);
    *b = (bench){0};
}

/* A flow started from the batch that it will see. */
static wm_status bench_open_flow(bench *b, const bench_row *row, wm_error *err)
{
    const wmi_rng rng = wmi_rng_make(1, "bench");
    wmi_noise_opts o;
    wmi_node *x, *z, *log_det;
    double *theta = NULL, *rows_f64 = NULL;
    int64_t count, n;
    void *in;
    wm_status st;

    row->flow(&o);
    n = row->n * o.dim;
    if ((st = wmi_params_new(&b->params, err)) ||
        (st = wmi_flow_declare(b->params, "q", &o, err)) ||
        (st = wmi_alloc(&theta, count = wmi_params_count(b->params), sizeof *theta, "t", err)) ||
        (st = wmi_alloc(&rows_f64, n, sizeof *rows_f64, "rows", err)) ||
        (st = wmi_alloc(&b->theta, count, sizeof(float), "theta", err)) ||
        (st = wmi_alloc(&b->grad, count, sizeof(float), "grad", err)) ||
        (st = adam_new(&b->adam, b->params, err)) ||
        (st = wmi_graph_new(&b->graph, WMI_F32, b->params, err)))
        goto done;
    wmi_rng_normal_f64(&rng, 0, n, rows_f64);
    if ((st = wmi_flow_start(&o, "q", b->params, row->n, rows_f64, 1, theta, err)))
        goto done;
    for (int64_t i = 0; i < count; i++)
        b->theta[i] = (float)theta[i];
    x = wmi_input(b->graph, "x", 2, (int64_t[]){row->n, o.dim});
    z = wmi_flow_to_z(b->graph, "q", &o, x, &log_det);
    z = wmi_affine(b->graph, wmi_sum(b->graph, wmi_mul(b->graph, z, z), 1u << 1), 0.5, 0);
    b->loss = wmi_mean(b->graph, wmi_sub(b->graph, z, log_det), WMI_ALL_AXES);
    if ((st = wmi_compile(
             &b->program, b->graph,
             &(wmi_compile_opts){
                 .outputs = &b->loss, .n_outputs = 1, .loss = b->loss, .param_grads = true},
             err)) ||
        (st = wmi_program_input(b->program, "x", &in, err)))
        goto done;
    wmi_program_bind(b->program, b->theta, b->grad);
    for (int64_t i = 0; i < n; i++)
        ((float *)in)[i] = (float)rows_f64[i];
done:
    wmi_free(rows_f64);
    wmi_free(theta);
    return st;
}

/* Normal numbers into the inputs of a compiled program. */
static wm_status fill_inputs(bench *b, const wmi_model *model, const bench_row *row, wm_error *err)
{
    const int64_t rows_of[2] = {model->bridges * row->n, row->pairs};
    const int64_t dim[2] = {model->dim, model->dim_u};

    for (int i = 0; i < 1 + (row->pairs > 0); i++) {
        const wmi_rng rng = wmi_rng_make(1, i ? "bench u" : "bench");
        const char *name = i ? "u" : "x";
        void *at;
        wm_status st = wmi_program_input(b->program, name, &at, err);

        if (st)
            return st;
        wmi_rng_normal_f32(&rng, 0, rows_of[i] * dim[i], at);
        b->input[i].name = name;
        b->input[i].rows = rows_of[i];
        b->input[i].dim = dim[i];
        b->input[i].at = at;
    }
    return WM_OK;
}

static wm_status bench_open(bench *b, const bench_row *row, wm_error *err)
{
    wmi_model model;
    wmi_node *x, *u = NULL, *scores;
    wm_status st;

    if (row->flow)
        return bench_open_flow(b, row, err);
    row->model(&model);
    b->input_only = row->input_only;
    if ((st = wmi_params_new(&b->params, err)) ||
        (st = wmi_model_declare(b->params, "", &model, err)) ||
        (st = wmi_alloc(&b->theta, wmi_params_count(b->params), sizeof(float), "theta", err)) ||
        (st = wmi_graph_new(&b->graph, WMI_F32, b->params, err)))
        return st;
    wmi_params_init(b->params, 1, WMI_F32, b->theta);

    x = wmi_input(b->graph, "x", 2, (int64_t[]){model.bridges * row->n, model.dim});
    if (row->pairs)
        u = wmi_input(b->graph, "u", 2, (int64_t[]){row->pairs, model.dim_u});
    scores = wmi_model_build(b->graph, "", &model,
                             &(wmi_model_inputs){.layout = WMI_ROWS_GROUPED, .x = x, .u = u});
    b->loss = row->input_only
                  ? wmi_sum(b->graph, scores, WMI_ALL_AXES)
                  : wmi_loss_bridges(b->graph, WMI_LOGISTIC, scores, NULL, row->n / 2, NULL);
    if ((st = wmi_compile(&b->program, b->graph,
                          &(wmi_compile_opts){
                              .outputs = &b->loss,
                              .n_outputs = 1,
                              .loss = b->loss,
                              .param_grads = !row->input_only,
                              .grad_inputs = &x,
                              .n_grad_inputs = row->input_only,
                          },
                          err)))
        return st;
    if (!row->input_only &&
        ((st = wmi_alloc(&b->grad, wmi_params_count(b->params), sizeof(float), "grad", err)) ||
         (st = adam_new(&b->adam, b->params, err))))
        return st;
    wmi_program_bind(b->program, b->theta, b->grad);
    return fill_inputs(b, &model, row, err);
}

static wm_status bench_save(const bench *b, const char *path, wm_error *err)
{
    const int64_t n = wmi_params_entries(b->params);
    int64_t count = 0;
    wmi_st_tensor *t;
    wm_status st = wmi_alloc(&t, n + 2, sizeof *t, "tensors", err);

    if (st)
        return st;
    for (int64_t i = 0; i < n; i++)
        t[count++] = wmi_tensor_of_param(b->params, i, WMI_ST_F32, b->theta);
    for (int i = 0; i < 2 && b->input[i].name; i++)
        t[count++] = (wmi_st_tensor){
            b->input[i].name, WMI_ST_F32, 2, {b->input[i].rows, b->input[i].dim}, b->input[i].at};
    st = wmi_safetensors_write(path, t, count, NULL, 0, err);
    wmi_free(t);
    return st;
}

static wm_status bench_steps(bench *b, int64_t k, double *seconds, wm_error *err)
{
    const double start = wm_clock(NULL);
    wm_status st;

    for (int64_t i = 0; i < k; i++) {
        wmi_program_step(b->program, 1, (uint64_t)i, true);
        wmi_pace_begin(&b->pace); /* as the loop of training does */
        if (!(st = wmi_program_backward(b->program, err)) && b->adam)
            st = wmi_adam_step_f32(b->adam, LEARNING_RATE, b->grad, b->theta, err);
        wmi_pace_end(&b->pace);
        if (st)
            return st;
    }
    *seconds = wm_clock(NULL) - start;
    return WM_OK;
}

/* The best of a third of a second of calls. */
static wm_status sgemm_gflops(double *gflops, wm_error *err)
{
    enum { N = 1024 };
    const wmi_rng rng = wmi_rng_make(1, "sgemm");
    double best = 1e9;
    float *a;
    wm_status st;

    if ((st = wmi_alloc(&a, 3 * N * N, sizeof *a, "matrices", err)))
        return st;
    wmi_rng_normal_f32(&rng, 0, 2 * N * N, a);
    for (const double start = wm_clock(NULL); wm_clock(NULL) - start < 0.33;) {
        const double t = wm_clock(NULL);
        wmi_gemm_f32(false, false, N, N, N, 1, a, N, a + N * N, N, 0, a + 2 * N * N, N);
        if (wm_clock(NULL) - t < best)
            best = wm_clock(NULL) - t;
    }
    *gflops = 2.0 * N * N * N / best / 1e9;
    wmi_free(a);
    return WM_OK;
}

static wm_status command(bench *b, const char *word, const char *arg, int threads, long base_kb,
                         wm_error *err)
{
    double value;
    wm_status st;

    if (!strcmp(word, "setup")) {
        bench_free(b);
        omp_set_num_threads(threads);
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
            if (!strcmp(rows[i].name, arg)) {
                if ((st = bench_open(b, &rows[i], err))) {
                    bench_free(b);
                    return st;
                }
                printf("{\"block_kb\": %zu}\n", wmi_program_bytes(b->program) / 1024);
                return WM_OK;
            }
        return wmi_fail(err, WM_EINVAL, "unknown row '%s'", arg);
    }
    if (!strcmp(word, "sgemm")) {
        if (!(st = sgemm_gflops(&value, err)))
            printf("{\"gflops\": %.3f}\n", value);
        return st;
    }
    if (!strcmp(word, "peak")) {
        printf("{\"peak_kb\": %ld, \"base_kb\": %ld}\n", memory_kb("VmHWM:"), base_kb);
        return WM_OK;
    }
    if (!b->program)
        return wmi_fail(err, WM_EINVAL, "'%s' before setup", word);
    if (!strcmp(word, "step")) {
        if (!(st = bench_steps(b, strtol(arg, NULL, 10), &value, err)))
            printf("{\"seconds\": %.9f}\n", value);
        return st;
    }
    if (!strcmp(word, "save")) {
        if (!(st = bench_save(b, arg, err)))
            printf("{\"parameters\": %" PRId64 "}\n", wmi_params_count(b->params));
        return st;
    }
    if (!strcmp(word, "score")) {
        printf("{\"value\": %.9g}\n", wmi_program_scalar(b->program, b->loss));
        return WM_OK;
    }
    return wmi_fail(err, WM_EINVAL, "unknown command '%s'", word);
}

int main(int argc, char **argv)
{
    bench b = {0};
    char line[512], word[32], arg[400];
    const int threads = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 2;
    long base_kb;

    omp_set_num_threads(threads);
#pragma omp parallel /* the threads belong to the base, as imports do in the peer */
    {
    }
    base_kb = memory_kb("VmRSS:");
    while (fgets(line, sizeof line, stdin)) {
        wm_error err = {0};
        int given = threads;

        word[0] = arg[0] = 0;
        if (sscanf(line, "%31s %399s %d", word, arg, &given) < 1)
            continue;
        if (!strcmp(word, "quit"))
            break;
        if (command(&b, word, arg, given > 0 ? given : threads, base_kb, &err))
            printf("{\"error\": \"%s: %s\"}\n", wm_status_text(err.code), err.text);
        fflush(stdout);
    }
    bench_free(&b);
    return 0;
}
