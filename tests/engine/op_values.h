/* op_values.h - a graph of a few operations on given values, for the tests that compare them with
 * plain loops, in float and double. References are computed in double from the inputs as the graph
 * holds them. */
#ifndef WM_TESTS_OP_VALUES_H
#define WM_TESTS_OP_VALUES_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "asserts.h"
#include "base/rng.h"
#include "engine/ops.h"
#include "engine/program.h"

enum { MAX_LEAVES = 6 };

/* A graph with its leaves and their values; made by begin(), run by values() or gradients(). */
typedef struct bench {
    wmi_dtype dtype;
    wmi_graph *g;
    wmi_program *p;
    wmi_node *leaf[MAX_LEAVES];
    double *x[MAX_LEAVES]; /* rounded to dtype */
    int n_leaves;
    double *out; /* what the last run gave */
    bool training;
    uint64_t seed, step;
    wm_error err;
} bench;

#define DIMS(...)                                                                                  \
    (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), ((const int64_t[]){__VA_ARGS__})

static const wmi_dtype dtypes[] = {WMI_F32, WMI_F64};

/* Half a unit in the last place of 1. */
static inline double eps(const bench *b)
{
    return b->dtype == WMI_F32 ? 0x1p-24 : 0x1p-53;
}

static inline bench begin(wmi_dtype dtype)
{
    bench b = {.dtype = dtype};
    assert_ok(wmi_graph_new(&b.g, dtype, NULL, &b.err), b.err);
    return b;
}

static inline void end(bench *b)
{
    wmi_program_free(b->p);
    wmi_graph_free(b->g);
    for (int i = 0; i < b->n_leaves; i++)
        free(b->x[i]);
    free(b->out);
}

static inline double *doubles(int64_t n)
{
    double *x = calloc((size_t)n + 1, sizeof *x);
    assert_non_null(x);
    return x;
}

/* A leaf with the given values, or with uniform draws from (-3, 3) where x is NULL. */
static inline wmi_node *leaf(bench *b, const double *x, int rank, const int64_t *dim)
{
    const int k = b->n_leaves++;
    const wmi_rng root = wmi_rng_make(4, "values"), rng = wmi_rng_sub(&root, (uint64_t)k);
    char name[8];
    assert_true(k < MAX_LEAVES);
    snprintf(name, sizeof name, "x%d", k);
    b->leaf[k] = wmi_input(b->g, name, rank, dim);
    assert_ok(wmi_graph_status(b->g, &b->err), b->err);
    b->x[k] = doubles(b->leaf[k]->n);
    wmi_rng_uniform_f64(&rng, 0, b->leaf[k]->n, b->x[k]);
    for (int64_t i = 0; i < b->leaf[k]->n; i++) {
        b->x[k][i] = x ? x[i] : 6 * b->x[k][i] - 3;
        if (b->dtype == WMI_F32)
            b->x[k][i] = (double)(float)b->x[k][i];
    }
    return b->leaf[k];
}

static inline const double *read_out(bench *b, const void *from, int64_t n)
{
    free(b->out);
    b->out = doubles(n);
    for (int64_t i = 0; i < n; i++)
        b->out[i] =
            b->dtype == WMI_F32 ? (double)((const float *)from)[i] : ((const double *)from)[i];
    return b->out;
}

static inline void compile(bench *b, const wmi_compile_opts *opts)
{
    assert_ok(wmi_compile(&b->p, b->g, opts, &b->err), b->err);
    wmi_program_step(b->p, b->seed, b->step, b->training);
    for (int k = 0; k < b->n_leaves; k++) {
        for (int64_t i = 0; b->leaf[k]->val && i < b->leaf[k]->n; i++) {
            if (b->dtype == WMI_F32)
                ((float *)b->leaf[k]->val)[i] = (float)b->x[k][i];
            else
                ((double *)b->leaf[k]->val)[i] = b->x[k][i];
        }
    }
}

static inline const double *values(bench *b, wmi_node *y)
{
    compile(b, &(wmi_compile_opts){.outputs = &y, .n_outputs = 1});
    assert_ok(wmi_program_forward(b->p, &b->err), b->err);
    return read_out(b, wmi_program_value(b->p, y), y->n);
}

/* Of the sum of y, for leaf 0. */
static inline const double *gradient(bench *b, wmi_node *y)
{
    compile(b, &(wmi_compile_opts){.loss = y, .grad_inputs = &b->leaf[0], .n_grad_inputs = 1});
    assert_ok(wmi_program_backward(b->p, &b->err), b->err);
    return read_out(b, wmi_program_grad(b->p, b->leaf[0]), b->leaf[0]->n);
}

static inline void assert_shape(const wmi_node *nd, int rank, const int64_t *dim)
{
    assert_int_equal(nd->shape.rank, rank);
    for (int i = 0; i < rank; i++)
        assert_int_equal(nd->shape.dim[i], dim[i]);
}

/* Equal, NaN and infinities included. */
#define assert_same(a, b) assert_true((a) == (b) || (isnan(a) && isnan(b)))

#endif
