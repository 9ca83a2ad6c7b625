/* test_gradients.c - the gradient of every operation of op_list.def against central differences.
 *
 * A case (gradient_cases.h) builds one output from a few arguments; the loss is the sum of the
 * output times fixed random weights. Every case runs in three surroundings, because the planner
 * treats them differently:
 * - LEAVES: arguments are inputs of the graph, and their gradients are fresh;
 * - NODES: arguments are results of other nodes, and values and gradients may be taken over in
 * place;
 * - SHARED: arguments have a second reader later, and gradients are added to what is there.
 *
 * Memory is filled with NaN before the first run, so whatever is read unwritten shows. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "asserts.h"
#include "engine/gradient_cases.h"
#include "engine/op_table.h"
#include "engine/ops.h"
#include "engine/plan.h"
#include "engine/program.h"

/* Truncation is h^2 f''' / 6 and rounding eps f / h: with f and f''' of order 10 both stay below
 * 1e-9, a thousandth of what is allowed below. */
static const double H = 1e-5;
static const double TOLERANCE = 1e-6; /* of |numeric - gradient| / (1 + |numeric|) */

/* ---- running a case ---- */

/* The loss: sum of out times weights, and in SHARED a second reader of every argument, which comes
 * later in the graph and so writes its gradient first. */
static void add_loss(scene *s)
{
    const int n_args = s->n_args;
    wmi_node *w = weights(s, s->out->shape.rank, s->out->shape.dim);
    s->loss = wmi_sum(s->g, wmi_mul(s->g, s->out, w), WMI_ALL_AXES);
    for (int i = 0; i < n_args && s->around == SHARED; i++) {
        if (!s->arg[i].differentiated)
            continue;
        w = weights(s, s->used[i]->shape.rank, s->used[i]->shape.dim);
        s->loss = wmi_add(s->g, s->loss, wmi_sum(s->g, wmi_mul(s->g, w, s->used[i]), WMI_ALL_AXES));
    }
}

static void put(const scene *s, wmi_node *leaf, int64_t i, double x)
{
    if (wmi_graph_dtype(s->g) == WMI_F32)
        ((float *)leaf->val)[i] = (float)x;
    else
        ((double *)leaf->val)[i] = x;
}

static double get(const scene *s, const void *from, int64_t i)
{
    return wmi_graph_dtype(s->g) == WMI_F32 ? (double)((const float *)from)[i]
                                            : ((const double *)from)[i];
}

static void scene_free(scene *s)
{
    wmi_program_free(s->p);
    wmi_graph_free(s->g);
    for (int i = 0; i < s->n_args; i++) {
        free(s->arg[i].x);
        free(s->arg[i].grad);
    }
    free(s);
}

/* Builds, compiles and runs a case; the gradients of argument `only` are taken, or of all with -1.
 */
static scene *scene_new(const test_case *c, wmi_dtype dtype, surroundings around, int only)
{
    scene *s = calloc(1, sizeof *s);
    wmi_node *wanted[MAX_ARGS], *outputs[2];
    wmi_compile_opts opts = {.outputs = outputs, .n_outputs = 2, .grad_inputs = wanted};
    bool built = false;
    assert_non_null(s);
    s->around = around;
    assert_ok(wmi_graph_new(&s->g, dtype, NULL, &s->err), s->err);
    s->out = c->build(s);
    if (wmi_graph_status(s->g, &s->err))
        fail_msg("%s, %s: %s", c->op, c->label, s->err.text);
    for (int64_t id = 0; id < wmi_graph_size(s->g); id++)
        built |= strcmp(wmi_graph_node(s->g, id)->op->name, c->op) == 0;
    if (!built)
        fail_msg("case '%s, %s' contains no such operation", c->op, c->label);
    add_loss(s);
    outputs[0] = s->out;
    outputs[1] = opts.loss = s->loss;
    for (int i = 0; i < s->n_args; i++) {
        s->arg[i].differentiated &= only < 0 || only == i;
        if (s->arg[i].differentiated)
            wanted[opts.n_grad_inputs++] = s->arg[i].leaf;
    }
    if (wmi_compile(&s->p, s->g, &opts, &s->err))
        fail_msg("%s, %s: %s", c->op, c->label, s->err.text);
    memset(s->p->block, 0xff, s->p->bytes); /* NaN: nothing may be read before it is written */
    wmi_program_step(s->p, 5, 3, true);
    for (int i = 0; i < s->n_args; i++)
        for (int64_t k = 0; k < s->arg[i].leaf->n; k++)
            put(s, s->arg[i].leaf, k, s->arg[i].x[k]);
    for (int times = 0; times < 2; times++) /* the second run finds what the first left behind */
        if (wmi_program_backward(s->p, &s->err))
            fail_msg("%s, %s: %s", c->op, c->label, s->err.text);
    for (int i = 0; i < s->n_args; i++) {
        argument *a = &s->arg[i];
        if (!a->differentiated)
            continue;
        a->grad = calloc((size_t)a->leaf->n, sizeof *a->grad);
        assert_non_null(a->grad);
        for (int64_t k = 0; k < a->leaf->n; k++)
            a->grad[k] = get(s, wmi_program_grad(s->p, a->leaf), k);
    }
    return s;
}

static double loss_with(scene *s, argument *a, int64_t k, double x)
{
    put(s, a->leaf, k, x);
    assert_ok(wmi_program_forward(s->p, &s->err), s->err);
    put(s, a->leaf, k, a->x[k]);
    return wmi_program_scalar(s->p, s->loss);
}

static const char *const around_name[] = {"leaves", "nodes", "shared"};

static void every_op_has_a_case(void **state)
{
    static const char *const names[] = {
#define OP(name, file) #name,
#include "engine/op_list.def"
#undef OP
    };
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        bool found = strcmp(names[i], "param") == 0; /* parameters_are_differentiated() below */
        for (int k = 0; k < N_CASES; k++)
            found |= strcmp(cases[k].op, names[i]) == 0;
        if (!found)
            fail_msg("operation '%s' has no case here", names[i]);
    }
}

static void gradients_match_central_differences(void **state)
{
    (void)state;
    for (int c = 0; c < N_CASES; c++) {
        for (int around = 0; around < SURROUNDINGS; around++) {
            scene *s = scene_new(&cases[c], WMI_F64, around, -1);
            for (int i = 0; i < s->n_args; i++) {
                argument *a = &s->arg[i];
                double most = 0;
                for (int64_t k = 0; a->differentiated && k < a->leaf->n; k++) {
                    const double up = loss_with(s, a, k, a->x[k] + H);
                    const double num = (up - loss_with(s, a, k, a->x[k] - H)) / (2 * H);
                    if (!(fabs(num - a->grad[k]) <= TOLERANCE * (1 + fabs(num))))
                        fail_msg(
                            "%s, %s, %s: argument %d, element %d: gradient %.12g, expected %.12g",
                            cases[c].op, cases[c].label, around_name[around], i, (int)k, a->grad[k],
                            num);
                    most = fmax(most, fabs(num));
                }
                if (a->differentiated && !a->may_vanish && !(most > 1e-3))
                    fail_msg("%s, %s: argument %d does not matter, so nothing was tested",
                             cases[c].op, cases[c].label, i);
            }
            scene_free(s);
        }
    }
}

/* One argument at a time: values that only the others need are dead then. */
static void subsets_have_the_same_gradients(void **state)
{
    (void)state;
    for (int c = 0; c < N_CASES; c++) {
        for (int around = 0; around < SURROUNDINGS; around++) {
            scene *all = scene_new(&cases[c], WMI_F64, around, -1);
            for (int i = 0; i < all->n_args; i++) {
                scene *one;
                if (!all->arg[i].differentiated)
                    continue;
                one = scene_new(&cases[c], WMI_F64, around, i);
                for (int64_t k = 0; k < all->arg[i].leaf->n; k++)
                    if (!(fabs(one->arg[i].grad[k] - all->arg[i].grad[k]) <= 1e-12))
                        fail_msg(
                            "%s, %s, %s: argument %d alone, element %d: gradient %.12g, not %.12g",
                            cases[c].op, cases[c].label, around_name[around], i, (int)k,
                            one->arg[i].grad[k], all->arg[i].grad[k]);
                scene_free(one);
            }
            scene_free(all);
        }
    }
}

/* Sums of up to a few hundred terms of order 1 in float, and slopes of exponentials up to 20. */
static void float_gradients_agree_with_double(void **state)
{
    (void)state;
    for (int c = 0; c < N_CASES; c++) {
        for (int around = 0; around < SURROUNDINGS; around++) {
            scene *d = scene_new(&cases[c], WMI_F64, around, -1);
            scene *f = scene_new(&cases[c], WMI_F32, around, -1);
            for (int i = 0; i < d->n_args; i++) {
                double most = 1;
                for (int64_t k = 0; d->arg[i].differentiated && k < d->arg[i].leaf->n; k++)
                    most = fmax(most, fabs(d->arg[i].grad[k]));
                for (int64_t k = 0; d->arg[i].differentiated && k < d->arg[i].leaf->n; k++)
                    if (!(fabs(f->arg[i].grad[k] - d->arg[i].grad[k]) <= 1e-5 * most))
                        fail_msg(
                            "%s, %s, %s: argument %d, element %d: gradient %.9g in float, %.9g in "
                            "double",
                            cases[c].op, cases[c].label, around_name[around], i, (int)k,
                            f->arg[i].grad[k], d->arg[i].grad[k]);
            }
            scene_free(f);
            scene_free(d);
        }
    }
}

/* ---- an op by hand: every instruction set, and what backward may not read ---- */

typedef struct clone {
    wmi_node nd, in[WMI_MAX_IN];
    double *grad[WMI_MAX_IN]; /* by argument position; one for a node that stands twice */
} clone;

static double *doubles(int64_t n, double fill)
{
    double *x = calloc((size_t)n + 1, sizeof *x);
    assert_non_null(x);
    for (int64_t i = 0; i < n; i++)
        x[i] = fill;
    return x;
}

static void *poisoned(size_t bytes)
{
    void *p = NULL;
    if (bytes == 0)
        return NULL;
    assert_int_equal(posix_memalign(&p, 64, bytes), 0);
    memset(p, 0xff, bytes);
    return p;
}

static const argument *argument_of(const scene *s, const wmi_node *leaf)
{
    for (int i = 0; i < s->n_args; i++)
        if (s->arg[i].leaf == leaf)
            return &s->arg[i];
    return NULL;
}

/* Forward, then all values that op->keep does not name become NaN, then backward into gradients
 * that are NaN where the op says that it writes them. dy is the weight of the loss. */
static void run_by_hand(const scene *s, const wmi_op_def *op, int threads, clone *c)
{
    const wmi_node *from = s->out;
    const argument *w = &s->arg[s->n_args - 1];
    wmi_run run = s->p->run;
    wm_error err;
    unsigned kept;
    run.threads = threads;
    *c = (clone){.nd = *from};
    c->nd.op = op;
    c->nd.run = &run;
    c->nd.state = NULL;
    c->nd.fresh = 0;
    for (int i = 0; i < from->n_in; i++) {
        const argument *a = argument_of(s, from->in[i]);
        int same = 0;
        while (from->in[same] != from->in[i])
            same++;
        c->nd.in[i] = &c->in[same];
        if (same < i)
            continue;
        c->in[i] = *from->in[i];
        c->in[i].val = doubles(from->in[i]->n, 0);
        memcpy(c->in[i].val, a->x, (size_t)a->leaf->n * sizeof *a->x);
        c->in[i].grad = NULL;
        if (a->differentiated) {
            c->in[i].grad = doubles(a->leaf->n, op->flags & WMI_OP_WRITES_FRESH ? NAN : 0);
            c->nd.fresh |= 1u << i;
        }
        c->grad[i] = c->in[i].grad;
    }
    c->nd.val = doubles(from->n, NAN);
    c->nd.grad = doubles(from->n, 0);
    memcpy(c->nd.grad, w->x, (size_t)from->n * sizeof(double));
    if (op->prepare)
        assert_ok(op->prepare(&c->nd, &err), err);
    c->nd.saved = poisoned(op->saved ? op->saved(&c->nd) : 0);
    c->nd.scratch = poisoned(op->scratch ? op->scratch(&c->nd, WMI_FORWARD) : 0);
    op->forward(&c->nd);
    free(c->nd.scratch);
    c->nd.scratch = poisoned(op->scratch ? op->scratch(&c->nd, WMI_BACKWARD) : 0);
    kept = op->keeps ? op->keeps(&c->nd) : op->keep;
    for (int i = 0; i < from->n_in; i++)
        for (int k = i; k < from->n_in; k++)
            if (c->nd.in[k] == c->nd.in[i] && kept & WMI_KEEP_IN(k))
                kept |= WMI_KEEP_IN(i); /* the same node is kept under another number */
    for (int i = 0; i < from->n_in; i++)
        for (int64_t k = 0; !(kept & WMI_KEEP_IN(i)) && c->nd.in[i] == &c->in[i] && k < c->in[i].n;
             k++)
            ((double *)c->in[i].val)[k] = NAN;
    for (int64_t k = 0; !(kept & WMI_KEEP_OUT) && k < from->n; k++)
        ((double *)c->nd.val)[k] = NAN;
    op->backward(&c->nd);
    if (op->release && c->nd.state)
        op->release(&c->nd);
    free(c->nd.scratch);
    free(c->nd.saved);
    free(c->nd.val);
    free(c->nd.grad);
    for (int i = 0; i < from->n_in; i++)
        if (c->nd.in[i] == &c->in[i])
            free(c->in[i].val);
}

static void backward_reads_only_what_is_kept(void **state)
{
    static const int threads[] = {1, 2, 7};
    bool checked[N_CASES] = {false};
    (void)state;
    for (int c = 0; c < N_CASES; c++) {
        scene *s = scene_new(&cases[c], WMI_F64, LEAVES, -1);
        bool by_hand = strcmp(s->out->op->name, cases[c].op) == 0 &&
                       !(s->out->op->flags & (WMI_OP_LEAF | WMI_OP_ALIAS));
        for (int i = 0; i < s->out->n_in; i++)
            by_hand &= argument_of(s, s->out->in[i]) != NULL;
        checked[c] = by_hand;
        for (int isa = 0; by_hand && isa < WMI_ISA_COUNT; isa++) {
            for (int t = 0; wmi_isa_usable((wmi_isa)isa) && t < 3; t++) {
                clone h;
                run_by_hand(s, wmi_op_find(cases[c].op, WMI_F64, (wmi_isa)isa), threads[t], &h);
                for (int i = 0; i < s->out->n_in; i++) {
                    const argument *a = argument_of(s, s->out->in[i]);
                    for (int64_t k = 0; h.grad[i] && k < a->leaf->n; k++)
                        if (!(fabs(h.grad[i][k] - a->grad[k]) <= 1e-10 * (1 + fabs(a->grad[k]))))
                            fail_msg(
                                "%s, %s, %s, %d threads: input %d, element %d: gradient %.12g, "
                                "not %.12g; read a value that is not kept?",
                                cases[c].op, cases[c].label, wmi_isa_name((wmi_isa)isa), threads[t],
                                i, (int)k, h.grad[i][k], a->grad[k]);
                    free(h.grad[i]);
                }
            }
        }
        scene_free(s);
    }
    for (int c = 0; c < N_CASES; c++) { /* each op that computes was checked in some case */
        const wmi_op_def *op = wmi_op_find(cases[c].op, WMI_F64, WMI_ISA_BASE);
        bool found = op->flags & (WMI_OP_LEAF | WMI_OP_ALIAS);
        for (int k = 0; k < N_CASES; k++)
            found |= checked[k] && strcmp(cases[k].op, cases[c].op) == 0;
        if (!found)
            fail_msg("%s: no case runs by hand", cases[c].op);
    }
}

/* ---- parameters ---- */

/* exp(x w + b), then w' again: w has two readers, b one, spare none. */
static void parameters_are_differentiated(void **state)
{
    static const wmi_init zero = {WMI_INIT_CONST, 0, 0};
    wmi_params *table = NULL;
    wmi_graph *g = NULL;
    wmi_program *p = NULL;
    wmi_node *x, *w, *h, *loss;
    wm_error err;
    void *val;
    double *theta, *grad;
    int64_t n;
    (void)state;
    assert_ok(wmi_params_new(&table, &err), err);
    assert_ok(wmi_params_add(table, "w", DIMS(3, 4), zero, WMI_GROUP_BODY, &err), err);
    assert_ok(wmi_params_add(table, "spare", DIMS(2), zero, WMI_GROUP_BODY, &err), err);
    assert_ok(wmi_params_add(table, "b", DIMS(4), zero, WMI_GROUP_CONSTANT, &err), err);
    assert_ok(wmi_graph_new(&g, WMI_F64, table, &err), err);
    x = wmi_input(g, "x", DIMS(5, 3));
    w = wmi_param(g, "w");
    h = wmi_exp(g, wmi_add(g, wmi_matmul(g, x, w, false, false), wmi_param(g, "b")));
    /* asked for again by name: one node, or one reader's gradient would be lost */
    loss = wmi_sum(g, wmi_matmul(g, h, wmi_exp(g, wmi_param(g, "w")), false, true), WMI_ALL_AXES);
    assert_ok(wmi_compile(&p, g,
                          &(wmi_compile_opts){
                              .outputs = &loss, .n_outputs = 1, .loss = loss, .param_grads = true},
                          &err),
              err);
    n = wmi_params_count(table);
    theta = doubles(n, 0);
    grad = doubles(n, NAN);
    for (int64_t i = 0; i < n; i++)
        theta[i] = sin((double)(3 * i + 1));
    wmi_program_bind(p, theta, grad);
    assert_ok(wmi_program_input(p, "x", &val, &err), err);
    for (int i = 0; i < 15; i++)
        ((double *)val)[i] = cos((double)(2 * i));
    for (int times = 0; times < 2; times++)
        assert_ok(wmi_program_backward(p, &err), err);
    for (int64_t e = 0; e < wmi_params_entries(table); e++) {
        const wmi_param_entry *entry = wmi_params_entry(table, e);
        for (int64_t i = entry->offset; i < entry->offset + entry->count; i++) {
            const double at = theta[i];
            double up, num;
            theta[i] = at + H;
            assert_ok(wmi_program_forward(p, &err), err);
            up = wmi_program_scalar(p, loss);
            theta[i] = at - H;
            assert_ok(wmi_program_forward(p, &err), err);
            num = (up - wmi_program_scalar(p, loss)) / (2 * H);
            theta[i] = at;
            assert_near(grad[i], num, TOLERANCE * (1 + fabs(num)));
            assert_true(strcmp(entry->name, "spare") == 0 ? grad[i] == 0 : fabs(num) > 1e-6);
        }
    }
    wmi_program_free(p);
    wmi_graph_free(g);
    wmi_params_free(table);
    free(theta);
    free(grad);
}

/* An index computed from an input: the input gets its gradient through the rows alone. */
static void an_index_passes_no_gradient(void **state)
{
    wmi_graph *g = NULL;
    wmi_program *p = NULL;
    wmi_node *x, *rows, *loss, *wanted[2];
    const double *dx, *drows;
    wm_error err;
    void *val;
    (void)state;
    assert_ok(wmi_graph_new(&g, WMI_F64, NULL, &err), err);
    x = wmi_input(g, "x", DIMS(3));
    rows = wmi_input(g, "rows", DIMS(2, 2));
    loss = wmi_sum(g, wmi_gather(g, rows, wmi_affine(g, x, 2, 1)), WMI_ALL_AXES);
    wanted[0] = x;
    wanted[1] = rows;
    assert_ok(
        wmi_compile(&p, g,
                    &(wmi_compile_opts){.loss = loss, .grad_inputs = wanted, .n_grad_inputs = 2},
                    &err),
        err);
    assert_ok(wmi_program_input(p, "x", &val, &err), err);
    memcpy(val, (const double[]){-0.5, 0, 0}, 3 * sizeof(double)); /* rows 0, 1, 1 */
    assert_ok(wmi_program_input(p, "rows", &val, &err), err);
    memcpy(val, (const double[]){1, 2, 3, 4}, 4 * sizeof(double));
    for (int times = 0; times < 2; times++)
        assert_ok(wmi_program_backward(p, &err), err);
    dx = wmi_program_grad(p, x);
    drows = wmi_program_grad(p, rows);
    for (int i = 0; i < 3; i++)
        assert_near(dx[i], 0, 0);
    for (int i = 0; i < 4; i++)
        assert_near(drows[i], i < 2 ? 1 : 2, 0);
    wmi_program_free(p);
    wmi_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_op_has_a_case),
        cmocka_unit_test(gradients_match_central_differences),
        cmocka_unit_test(subsets_have_the_same_gradients),
        cmocka_unit_test(float_gradients_agree_with_double),
        cmocka_unit_test(backward_reads_only_what_is_kept),
        cmocka_unit_test(parameters_are_differentiated),
        cmocka_unit_test(an_index_passes_no_gradient),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
