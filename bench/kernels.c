/* kernels.c - speed of the convolution kernels: GFLOP/s (flops of the direct algorithm over time)
 * of the three passes on the shapes of our networks, beside SGEMM of 1024^3 in the same run.
 *     bench_kernels [--json] [--all] [--best] [--seconds S] [--isa base|avx2|avx512]
 * --all times every algorithm that supports a shape, not only the one that the rule picks. Each
 * pass is repeated for S seconds (default 0.3) and the median is shown; --best shows the fastest,
 * for a machine that others use too. */
#include <omp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "engine/backend/blas.h"
#include "engine/conv.h"
#include "engine/op_table.h"
#include "engine/ops.h"
#include "waymark/sink.h"

typedef struct layer {
    const char *net;
    int64_t n, h, ci, co, k;
    int stride;
} layer;

static const layer layers[] = {
    {"paper", 100, 28, 1, 64, 3, 1},   {"paper", 100, 28, 64, 64, 3, 1},
    {"paper", 100, 14, 64, 64, 3, 1},  {"paper", 100, 7, 64, 64, 3, 1},
    {"paper", 100, 7, 64, 128, 3, 1},  {"paper", 100, 7, 128, 128, 3, 1},
    {"paper", 100, 7, 64, 128, 1, 1},  {"paper", 100, 4, 128, 128, 3, 1},
    {"paper", 100, 2, 128, 128, 3, 1}, {"laptop", 320, 28, 1, 32, 5, 2},
    {"laptop", 320, 14, 32, 32, 3, 1}, {"laptop", 320, 7, 32, 32, 3, 1},
    {"laptop", 320, 7, 32, 64, 3, 1},  {"laptop", 320, 7, 64, 64, 3, 1},
    {"laptop", 320, 4, 64, 64, 3, 1},
};

enum { MAX_REPS = 2000 };

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void die(const char *what, const char *why)
{
    fprintf(stderr, "bench_kernels: %s: %s\n", what, why);
    exit(1);
}

typedef struct timing {
    double seconds; /* to spend on each pass */
    bool best;      /* else the median */
} timing;

/* Seconds of one call. */
static double time_call(void (*call)(void *), void *arg, const timing *how)
{
    static double t[MAX_REPS];
    const double start = wm_clock(NULL);
    int reps = 0;

    call(arg); /* pages and caches */
    do {
        const double t0 = wm_clock(NULL);
        call(arg);
        t[reps++] = wm_clock(NULL) - t0;
    } while (reps < MAX_REPS && (reps < 5 || wm_clock(NULL) - start < how->seconds));
    qsort(t, (size_t)reps, sizeof *t, by_value);
    return t[how->best ? 0 : reps / 2];
}

static float *random_floats(int64_t n)
{
    float *p = NULL;
    uint64_t s = 1;
    wm_error err;

    if (wmi_alloc(&p, n, sizeof *p, "benchmark", &err))
        die("memory", err.text);
    for (int64_t i = 0; i < n; i++) {
        s = s * 6364136223846793005u + 1442695040888963407u;
        p[i] = (float)(s >> 40) / (float)(1 << 23) - 1;
    }
    return p;
}

enum { SIDE = 1024 };

static void sgemm(void *arg)
{
    float *const *m = arg;

    wmi_gemm_f32(false, false, SIDE, SIDE, SIDE, 1, m[0], SIDE, m[1], SIDE, 0, m[2], SIDE);
}

static double sgemm_gflops(const timing *how)
{
    float *m[3];

    for (int i = 0; i < 3; i++)
        m[i] = random_floats(SIDE * SIDE);
    const double t = time_call(sgemm, m, how);
    for (int i = 0; i < 3; i++)
        wmi_free(m[i]);
    return 2e-9 * SIDE * SIDE * SIDE / t;
}

/* A conv2d node without a graph. Gradients are switched on one at a time to time the passes. */
typedef struct conv {
    const wmi_op_def *op;
    wmi_run run;
    wmi_conv_attr attr;
    wmi_node x, w, y;
    float *dx, *dw;
} conv;

static void call_forward(void *arg)
{
    conv *c = arg;
    c->op->forward(&c->y);
}

static void call_grad_x(void *arg)
{
    conv *c = arg;
    c->x.grad = c->dx;
    c->w.grad = NULL;
    c->op->backward(&c->y);
}

static void call_grad_w(void *arg)
{
    conv *c = arg;
    c->x.grad = NULL;
    c->w.grad = c->dw;
    c->op->backward(&c->y);
}

static void conv_open(conv *c, const layer *l, wmi_isa isa)
{
    wm_error err;

    memset(c, 0, sizeof *c);
    c->op = wmi_op_find("conv2d", WMI_F32, isa);
    c->run.threads = omp_get_max_threads();
    c->attr = (wmi_conv_attr){.stride = l->stride, .pre_slope = l->ci > 1 ? 0.3 : 1};
    c->x = (wmi_node){.name = "x", .shape = {4, {l->n, l->h, l->h, l->ci}}, .wants_grad = true};
    c->w = (wmi_node){.name = "w", .shape = {4, {l->k, l->k, l->ci, l->co}}, .wants_grad = true};
    c->x.n = l->n * l->h * l->h * l->ci;
    c->w.n = l->k * l->k * l->ci * l->co;
    c->y = (wmi_node){.op = c->op,
                      .name = "y",
                      .in = {&c->x, &c->w},
                      .n_in = 2,
                      .attr = &c->attr,
                      .run = &c->run,
                      .fresh = 3};
    if (c->op->infer(&c->y, &err) || c->op->prepare(&c->y, &err))
        die("conv2d", err.text);
    c->x.val = random_floats(c->x.n);
    c->w.val = random_floats(c->w.n);
    c->y.val = random_floats(c->y.n);
    c->y.grad = random_floats(c->y.n);
    c->dx = random_floats(c->x.n);
    c->dw = random_floats(c->w.n);
}

static void conv_close(conv *c)
{
    c->op->release(&c->y);
    wmi_free(c->x.val);
    wmi_free(c->w.val);
    wmi_free(c->y.val);
    wmi_free(c->y.grad);
    wmi_free(c->dx);
    wmi_free(c->dw);
}

/* One algorithm on one layer: GFLOP/s of the three passes. */
static void time_algo(conv *c, const layer *l, wmi_conv_algo algo, const timing *how,
                      double rate[3])
{
    static void (*const pass[3])(void *) = {call_forward, call_grad_x, call_grad_w};
    const wmi_shape *y = &c->y.shape;
    const double flops = 2.0 * (double)(y->dim[0] * y->dim[1] * y->dim[2] * y->dim[3]) *
                         (double)(l->k * l->k * l->ci);
    size_t bytes;
    wm_error err;

    wmi_conv_use(&c->y, algo);
    bytes = c->op->scratch(&c->y, WMI_FORWARD);
    if (bytes < c->op->scratch(&c->y, WMI_BACKWARD))
        bytes = c->op->scratch(&c->y, WMI_BACKWARD);
    if (wmi_alloc(&c->y.scratch, (int64_t)bytes, 1, "scratch", &err))
        die("memory", err.text);
    for (int i = 0; i < 3; i++)
        rate[i] = 1e-9 * flops / time_call(pass[i], c, how);
    wmi_free(c->y.scratch);
}

int main(int argc, char **argv)
{
    bool json = false, all = false;
    timing how = {.seconds = 0.3};
    wmi_isa isa = wmi_isa_best();
    const char *comma = "";

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--json") == 0) {
            json = true;
        } else if (strcmp(argv[i], "--all") == 0) {
            all = true;
        } else if (strcmp(argv[i], "--seconds") == 0 && i + 1 < argc) {
            how.seconds = strtod(argv[++i], NULL);
        } else if (strcmp(argv[i], "--best") == 0) {
            how.best = true;
        } else if (strcmp(argv[i], "--isa") == 0 && i + 1 < argc) {
            const char *name = argv[++i];
            for (isa = WMI_ISA_BASE; isa < WMI_ISA_COUNT && strcmp(name, wmi_isa_name(isa)) != 0;)
                isa = (wmi_isa)(isa + 1);
            if (isa == WMI_ISA_COUNT || !wmi_isa_usable(isa))
                die(name, "not built or not for this processor");
        } else {
            fprintf(stderr,
                    "usage: bench_kernels [--json] [--all] [--best] [--seconds S] [--isa NAME]\n");
            return 2;
        }
    }
    if (json)
        printf("{\"isa\": \"%s\", \"threads\": %d, \"kernels\": [", wmi_isa_name(isa),
               omp_get_max_threads());
    else
        printf("%s, %d threads; GFLOP/s, and the ratio to SGEMM 1024^3 timed beside\n"
               "%-7s %-28s %-9s %15s %15s %15s %7s\n",
               wmi_isa_name(isa), omp_get_max_threads(), "net", "layer", "algorithm", "forward",
               "grad x", "grad w", "sgemm");
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) {
        const layer *l = &layers[i];
        conv c;

        conv_open(&c, l, isa);
        const wmi_conv_state *st = c.y.state;
        const wmi_conv_algo chosen = st->algo;
        for (int algo = WMI_CONV_GEMM; algo < WMI_CONV_ALGO_COUNT; algo++) {
            double r[3];

            if (all ? !wmi_conv_supports((wmi_conv_algo)algo, &st->shape) : algo != (int)chosen)
                continue;
            const double s = sgemm_gflops(&how);
            time_algo(&c, l, (wmi_conv_algo)algo, &how, r);
            const char *name = wmi_conv_algo_name((wmi_conv_algo)algo);
            if (json) {
                printf(
                    "%s\n  {\"net\": \"%s\", \"n\": %d, \"h\": %d, \"ci\": %d, \"co\": %d, \"k\": "
                    "%d, \"stride\": %d, \"algorithm\": \"%s\", \"forward\": %.1f, \"grad_x\": "
                    "%.1f, \"grad_w\": %.1f, \"sgemm\": %.1f}",
                    comma, l->net, (int)l->n, (int)l->h, (int)l->ci, (int)l->co, (int)l->k,
                    l->stride, name, r[0], r[1], r[2], s);
                comma = ",";
            } else {
                char text[64];
                snprintf(text, sizeof text, "%dx%d/%d %3d>%3d at %dx%d rows %d", (int)l->k,
                         (int)l->k, l->stride, (int)l->ci, (int)l->co, (int)l->h, (int)l->h,
                         (int)l->n);
                printf("%-7s %-28s %-9s %7.0f (%4.2f)  %7.0f (%4.2f)  %7.0f (%4.2f)  %6.1f\n",
                       l->net, text, name, r[0], r[0] / s, r[1], r[1] / s, r[2], r[2] / s, s);
            }
        }
        conv_close(&c);
    }
    if (json)
        printf("\n]}\n");
    return 0;
}
