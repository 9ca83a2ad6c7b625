/* gradient_scene.h - a graph of one output and a few arguments, whose gradients are to be tested.
 */
#ifndef WM_TESTS_GRADIENT_SCENE_H
#define WM_TESTS_GRADIENT_SCENE_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "asserts.h"
#include "base/rng.h"
#include "engine/ops.h"
#include "engine/program.h"

enum { MAX_ARGS = 16 };

typedef enum surroundings { LEAVES, NODES, SHARED, SURROUNDINGS } surroundings;

typedef struct argument {
    char name[8];
    wmi_node *leaf;
    double *x; /* values, (leaf->n) */
    bool differentiated;
    bool may_vanish; /* its gradient may be zero everywhere */
    double *grad;    /* from the program, where differentiated */
} argument;

typedef struct scene {
    wmi_graph *g;
    wmi_program *p;
    surroundings around;
    argument arg[MAX_ARGS];
    int n_args;
    wmi_node *used[MAX_ARGS]; /* what the operation reads: the leaf, or a node after it */
    wmi_node *out, *loss;
    wm_error err;
} scene;

typedef struct test_case {
    const char *op, *label;
    wmi_node *(*build)(scene *s);
} test_case;

/* ---- arguments ---- */

#define DIMS(...)                                                                                  \
    (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), ((const int64_t[]){__VA_ARGS__})

static argument *new_argument(scene *s, int rank, const int64_t *dim)
{
    argument *a = &s->arg[s->n_args];
    assert_true(s->n_args < MAX_ARGS);
    snprintf(a->name, sizeof a->name, "a%d", s->n_args);
    a->leaf = wmi_input(s->g, a->name, rank, dim);
    assert_ok(wmi_graph_status(s->g, &s->err), s->err);
    a->x = calloc((size_t)a->leaf->n + 1, sizeof *a->x);
    assert_non_null(a->x);
    s->used[s->n_args++] = a->leaf;
    return a;
}

static wmi_rng stream(const scene *s)
{
    const wmi_rng rng = wmi_rng_make(20, "gradients");
    return wmi_rng_sub(&rng, (uint64_t)s->n_args);
}

/* What the operation gets to see of the argument made last. */
static wmi_node *hand_out(scene *s)
{
    argument *a = &s->arg[s->n_args - 1];
    a->differentiated = true;
    if (s->around != LEAVES)
        s->used[s->n_args - 1] = wmi_affine(s->g, a->leaf, 1, 0);
    return s->used[s->n_args - 1];
}

/* Magnitudes in [lo, hi] and random signs: away from the kink at 0. */
static wmi_node *either_sign(scene *s, double lo, double hi, int rank, const int64_t *dim)
{
    const wmi_rng rng = stream(s);
    argument *a = new_argument(s, rank, dim);
    for (int64_t i = 0; i < a->leaf->n; i++) {
        double u[2];
        wmi_rng_uniform_f64(&rng, 2 * (uint64_t)i, 2, u);
        a->x[i] = (lo + (hi - lo) * u[0]) * (u[1] < 0.5 ? -1 : 1);
    }
    return hand_out(s);
}

static wmi_node *any(scene *s, int rank, const int64_t *dim)
{
    return either_sign(s, 0.2, 1.2, rank, dim);
}

static wmi_node *positive(scene *s, int rank, const int64_t *dim)
{
    wmi_node *nd = either_sign(s, 0.5, 1.5, rank, dim);
    argument *a = &s->arg[s->n_args - 1];
    for (int64_t i = 0; i < a->leaf->n; i++)
        a->x[i] = fabs(a->x[i]);
    return nd;
}

/* Values 0.1 apart in random order: no two are near a tie, and none is near 0. */
static wmi_node *distinct(scene *s, int rank, const int64_t *dim)
{
    const wmi_rng rng = stream(s);
    argument *a = new_argument(s, rank, dim);
    int64_t *order = calloc((size_t)a->leaf->n, sizeof *order);
    assert_non_null(order);
    wmi_rng_permutation(&rng, a->leaf->n, order);
    for (int64_t i = 0; i < a->leaf->n; i++)
        a->x[i] = 0.1 * (double)(order[i] - a->leaf->n / 2) + 0.05;
    free(order);
    return hand_out(s);
}

/* Given values, no gradient: labels, indices, knots. */
static wmi_node *constant(scene *s, const double *x, int rank, const int64_t *dim)
{
    argument *a = new_argument(s, rank, dim);
    memcpy(a->x, x, (size_t)a->leaf->n * sizeof *x);
    return a->leaf;
}

/* Random, no gradient. */
static wmi_node *weights(scene *s, int rank, const int64_t *dim)
{
    wmi_node *nd;
    const surroundings around = s->around;
    s->around = LEAVES;
    nd = positive(s, rank, dim);
    s->around = around;
    s->arg[s->n_args - 1].differentiated = false;
    return nd;
}

static void last_may_vanish(scene *s)
{
    s->arg[s->n_args - 1].may_vanish = true;
}

/* A case whose output is one expression in the scene s. */
#define BUILD(name, ...)                                                                           \
    static wmi_node *name(scene *s)                                                                \
    {                                                                                              \
        return __VA_ARGS__;                                                                        \
    }

#endif
