/* test_program.c - the compiled program as a whole: pruning, memory, errors, determinism. Gradients
 * of single ops are in test_gradients.c. */
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "asserts.h"
#include "base/alloc.h"
#include "engine/ops.h"
#include "engine/plan.h"

typedef struct net {
    wmi_params *params;
    wmi_graph *graph;
    wmi_program *program;
    wmi_node *x, *hidden, *unused, *scores, *loss;
    float *theta, *grad;
} net;

enum { BRIDGES = 3, ROWS = 8, SIDE = 7, WIDTH = 8 };

static void net_free(net *t)
{
    wmi_program_free(t->program);
    wmi_graph_free(t->graph);
    wmi_params_free(t->params);
    wmi_free(t->theta);
    wmi_free(t->grad);
    *t = (net){0};
}

/* A little of everything: convolution, scale-shift with residual and pooling, product, head, loss.
 */
static wm_status net_new(net *t, bool input_grad, wm_error *err)
{
    const wmi_init glorot = {WMI_INIT_GLOROT, 0, 0}, zero = {WMI_INIT_CONST, 0, 0},
                   one = {WMI_INIT_CONST, 1, 0};
    const int64_t stem[] = {3, 3, 1, WIDTH}, conv[] = {3, 3, WIDTH, WIDTH},
                  unit[] = {BRIDGES, SIDE, SIDE, WIDTH}, a[] = {BRIDGES, WIDTH, WIDTH},
                  c[] = {BRIDGES, 1}, x[] = {BRIDGES * ROWS, SIDE, SIDE, 1},
                  grouped[] = {BRIDGES, ROWS, WIDTH}, lone[] = {5};
    wmi_graph *g;
    wmi_node *h, *s0;
    wm_status st;

    *t = (net){0};
    if ((st = wmi_params_new(&t->params, err)) ||
        (st = wmi_params_add(t->params, "stem", 4, stem, glorot, WMI_GROUP_BODY, err)) ||
        (st = wmi_params_add(t->params, "scale", 4, unit, one, WMI_GROUP_BODY, err)) ||
        (st = wmi_params_add(t->params, "shift", 4, unit, zero, WMI_GROUP_BODY, err)) ||
        (st = wmi_params_add(t->params, "conv", 4, conv, glorot, WMI_GROUP_BODY, err)) ||
        (st = wmi_params_add(t->params, "lone", 1, lone, one, WMI_GROUP_BODY, err)) ||
        (st = wmi_params_add(t->params, "a", 3, a, zero, WMI_GROUP_BODY, err)) ||
        (st = wmi_params_add(t->params, "c", 2, c, zero, WMI_GROUP_CONSTANT, err)) ||
        (st = wmi_graph_new(&t->graph, WMI_F32, t->params, err)))
        return st;
    g = t->graph;
    t->x = wmi_input(g, "x", 4, x);
    h = wmi_conv2d(g, t->x, wmi_param(g, "stem"), 1, 1);
    s0 = wmi_scale_shift(g, h, wmi_param(g, "scale"), wmi_param(g, "shift"), NULL,
                         (wmi_scale_shift_attr){1, 1, false});
    t->hidden = wmi_conv2d(g, s0, wmi_param(g, "conv"), 1, 0.3);
    h = wmi_scale_shift(g, t->hidden, wmi_param(g, "scale"), wmi_param(g, "shift"), s0,
                        (wmi_scale_shift_attr){1, 2, false});
    t->unused = wmi_exp(g, h);
    h = wmi_global_sum_pool(g, wmi_leaky_relu(g, h, 0.3));
    h = wmi_reshape(g, h, 3, grouped);
    h = wmi_add(g, wmi_quadratic(g, h, wmi_param(g, "a"), WMI_QUADRATIC_PSD), wmi_param(g, "c"));
    t->scores = wmi_affine(g, h, -1, 0);
    t->loss = wmi_mean(g, wmi_logistic_loss(g, t->scores, NULL, ROWS / 2), WMI_ALL_AXES);
    if ((st = wmi_graph_status(g, err)))
        return st;
    const int64_t count = wmi_params_count(t->params);

    if ((st = wmi_alloc(&t->theta, count, sizeof *t->theta, "theta", err)) ||
        (st = wmi_alloc(&t->grad, count, sizeof *t->grad, "grad", err)))
        return st;
    wmi_node *outputs[] = {t->scores};

    st = wmi_compile(&t->program, g,
                     &(wmi_compile_opts){.outputs = outputs,
                                         .n_outputs = 1,
                                         .loss = t->loss,
                                         .param_grads = !input_grad,
                                         .grad_inputs = &t->x,
                                         .n_grad_inputs = input_grad},
                     err);
    if (st)
        return st;
    wmi_params_init(t->params, 1, WMI_F32, t->theta);
    wmi_program_bind(t->program, t->theta, input_grad ? NULL : t->grad);
    return WM_OK;
}

static void fill_input(net *t)
{
    wm_error err;
    void *at;
    float *x;

    assert_ok(wmi_program_input(t->program, "x", &at, &err), err);
    x = at;
    for (int64_t i = 0; i < t->x->n; i++)
        x[i] = (float)sin(0.7 * (double)i);
}

static void steps_allocate_nothing(void **state)
{
    net t;
    wm_error err;

    (void)state;
    assert_ok(net_new(&t, false, &err), err);
    fill_input(&t);
    const int64_t before = wmi_alloc_count();

    for (int i = 0; i < 1000; i++)
        assert_ok(wmi_program_backward(t.program, &err), err);
    assert_int_equal(wmi_alloc_count(), before);
    net_free(&t);
}

static void every_failed_allocation_is_an_error_without_leak(void **state)
{
    const int64_t before = wmi_alloc_live();
    int64_t failures = 0;

    (void)state;
    for (int64_t k = 1;; k++) {
        net t;
        wm_error err = {0};

        wmi_alloc_fail_at(k);
        const wm_status st = net_new(&t, false, &err);
        wmi_alloc_fail_at(0);
        net_free(&t);
        assert_int_equal(wmi_alloc_live(), before);
        if (st == WM_OK)
            break;
        failures++;
        assert_int_equal(st, WM_ENOMEM);
        assert_int_equal(err.code, WM_ENOMEM);
        assert_true(strlen(err.text) > 0);
    }
    assert_true(failures > 20); /* graph, parameters, plan and program all allocate */
}

static void a_repeat_gives_the_same_bits(void **state)
{
    net t;
    wm_error err;
    float *first;

    (void)state;
    assert_ok(net_new(&t, false, &err), err);
    fill_input(&t);
    const size_t bytes = (size_t)wmi_params_count(t.params) * sizeof *first;

    assert_ok(wmi_program_backward(t.program, &err), err);
    first = malloc(bytes);
    assert_non_null(first);
    memcpy(first, t.grad, bytes);
    memset(t.grad, 0x7f, bytes); /* backward overwrites, it does not add */
    for (int64_t i = 0; i < wmi_params_entries(t.params); i++) { /* gaps are nobody's */
        const wmi_param_entry *e = wmi_params_entry(t.params, i);

        assert_ok(i ? WM_OK : wmi_program_backward(t.program, &err), err);
        assert_memory_equal(first + e->offset, t.grad + e->offset,
                            (size_t)e->count * sizeof *first);
    }
    free(first);
    net_free(&t);
}

/* A program may be served by fewer threads than it was made for (base/pace.h). */
static void other_threads_give_the_same_bits(void **state)
{
    static const int threads[] = {5, 1, 2, 4, 9};
    const int before = omp_get_max_threads();
    net t;
    wm_error err;
    float *first;

    (void)state;
    omp_set_num_threads(threads[0]);
    assert_ok(net_new(&t, false, &err), err);
    fill_input(&t);
    assert_ok(wmi_alloc(&first, wmi_params_count(t.params), sizeof *first, "gradient", &err), err);
    for (size_t k = 0; k < sizeof threads / sizeof *threads; k++) {
        omp_set_num_threads(threads[k]);
        assert_ok(wmi_program_backward(t.program, &err), err);
        assert_int_equal(t.program->run.threads, threads[k] < 5 ? threads[k] : 5);
        for (int64_t i = 0; i < wmi_params_entries(t.params); i++) {
            const wmi_param_entry *e = wmi_params_entry(t.params, i);
            const size_t bytes = (size_t)e->count * sizeof *first;

            if (k == 0)
                memcpy(first + e->offset, t.grad + e->offset, bytes);
            assert_memory_equal(first + e->offset, t.grad + e->offset, bytes);
        }
    }
    omp_set_num_threads(before);
    wmi_free(first);
    net_free(&t);
}

static void a_parameter_outside_the_loss_has_gradient_zero(void **state)
{
    net t;
    wm_error err;

    (void)state;
    assert_ok(net_new(&t, false, &err), err);
    fill_input(&t);
    const wmi_param_entry *e = wmi_params_find(t.params, "lone");

    for (int64_t i = 0; i < e->count; i++)
        t.grad[e->offset + i] = 3;
    assert_ok(wmi_program_backward(t.program, &err), err);
    for (int64_t i = 0; i < e->count; i++)
        assert_true(t.grad[e->offset + i] == 0);
    net_free(&t);
}

/* Two layers, of which the first is frozen or not. */
static wmi_program *two_layers(wmi_graph *g, const char *frozen, wmi_node **hidden)
{
    wmi_node *x = wmi_input(g, "x", 2, (int64_t[]){4, 2}), *loss;
    wmi_program *p;
    wm_error err;

    *hidden = wmi_matmul(g, x, wmi_param(g, "base/w"), false, false);
    loss = wmi_sum(g, wmi_exp(g, wmi_matmul(g, *hidden, wmi_param(g, "top/w"), false, false)),
                   WMI_ALL_AXES);
    assert_ok(wmi_compile(&p, g,
                          &(wmi_compile_opts){.loss = loss, .param_grads = true, .frozen = frozen},
                          &err),
              err);
    return p;
}

static void frozen_parameters_have_gradient_zero_and_cost_nothing(void **state)
{
    const wmi_init normal = {WMI_INIT_NORMAL, 0, 1};
    float theta[64], grad[2][64];
    wmi_params *params;
    wm_error err;

    (void)state;
    assert_ok(wmi_params_new(&params, &err), err);
    assert_ok(wmi_params_add(params, "base/w", 2, (int64_t[]){2, 3}, normal, WMI_GROUP_BODY, &err),
              err);
    assert_ok(wmi_params_add(params, "top/w", 2, (int64_t[]){3, 1}, normal, WMI_GROUP_BODY, &err),
              err);
    assert_int_equal(wmi_params_count(params), 32);
    wmi_params_init(params, 1, WMI_F32, theta);
    for (int frozen = 0; frozen < 2; frozen++) {
        wmi_graph *g;
        wmi_node *hidden;
        void *x;

        assert_ok(wmi_graph_new(&g, WMI_F32, params, &err), err);
        wmi_program *p = two_layers(g, frozen ? "base" : NULL, &hidden);

        memset(grad[frozen], 0xff, sizeof grad[frozen]);
        wmi_program_bind(p, theta, grad[frozen]);
        assert_ok(wmi_program_input(p, "x", &x, &err), err);
        for (int i = 0; i < 8; i++)
            ((float *)x)[i] = (float)(i - 3);
        assert_ok(wmi_program_backward(p, &err), err);
        assert_int_equal(hidden->wants_grad, !frozen);
        wmi_program_free(p);
        wmi_graph_free(g);
    }
    for (int i = 0; i < 6; i++)
        assert_true(grad[0][i] != 0 && grad[1][i] == 0);
    assert_memory_equal(grad[0] + 16, grad[1] + 16, 3 * sizeof(float));
    wmi_params_free(params);
}

static void a_program_made_in_a_parallel_region_is_serial(void **state)
{
    int threads[2] = {0};

    (void)state;
#pragma omp parallel for schedule(static, 1) num_threads(2)
    for (int i = 0; i < 2; i++) {
        net t;

        if (!net_new(&t, false, NULL))
            threads[i] = t.program->run.threads;
        net_free(&t);
    }
    assert_int_equal(threads[0], 1);
    assert_int_equal(threads[1], 1);
}

/* A chain of n layers x exp(x) needs every value for its gradient, but only two without. */
static void memory_is_reused(void **state)
{
    enum { DEPTH = 20, N = 10000 };
    size_t bytes[2];

    (void)state;
    for (int grad = 0; grad < 2; grad++) {
        const int64_t dim[] = {N};
        wm_error err;
        wmi_graph *g;
        wmi_program *p;
        wmi_node *x, *h, *loss;

        assert_ok(wmi_graph_new(&g, WMI_F32, NULL, &err), err);
        h = x = wmi_input(g, "x", 1, dim);
        for (int i = 0; i < DEPTH; i++)
            h = wmi_mul(g, wmi_exp(g, h), h);
        loss = wmi_sum(g, h, WMI_ALL_AXES);
        assert_ok(wmi_compile(&p, g,
                              &(wmi_compile_opts){.outputs = &loss,
                                                  .n_outputs = 1,
                                                  .loss = grad ? loss : NULL,
                                                  .grad_inputs = &x,
                                                  .n_grad_inputs = grad},
                              &err),
                  err);
        bytes[grad] = wmi_program_bytes(p);
        wmi_program_free(p);
        wmi_graph_free(g);
    }
    assert_true(bytes[0] <= 5 * N * sizeof(float));
    assert_true(bytes[1] >= 2 * DEPTH * N * sizeof(float));
    assert_true(bytes[1] <= (2 * DEPTH + 6) * N * sizeof(float));
}

static void what_is_not_asked_for_is_pruned(void **state)
{
    net t;
    wm_error err;

    (void)state;
    assert_ok(net_new(&t, false, &err), err);
    assert_null(t.unused->val);
    assert_null(t.x->grad);
    net_free(&t);
    assert_ok(net_new(&t, true, &err), err);
    fill_input(&t);
    assert_ok(wmi_program_backward(t.program, &err), err);
    assert_non_null(wmi_program_grad(t.program, t.x));
    net_free(&t);
}

static void errors_are_clear(void **state)
{
    const int64_t two[] = {2, 3}, other[] = {4, 5};
    wm_error err;
    wmi_graph *g;
    wmi_program *p;
    wmi_node *a, *b;
    net t;
    void *at;

    (void)state;
    assert_ok(wmi_graph_new(&g, WMI_F64, NULL, &err), err);
    a = wmi_input(g, "a", 2, two);
    b = wmi_input(g, "b", 2, other);
    b = wmi_exp(g, wmi_matmul(g, a, b, false, false)); /* the failure sticks, exp stays quiet */
    assert_null(b);
    assert_int_equal(wmi_compile(&p, g, &(wmi_compile_opts){.outputs = &a, .n_outputs = 1}, &err),
                     WM_ESHAPE);
    assert_null(p);
    assert_non_null(strstr(err.text, "matmul"));
    assert_non_null(strstr(err.text, "(2, 3), (4, 5)"));
    wmi_graph_free(g);

    assert_ok(wmi_graph_new(&g, WMI_F64, NULL, &err), err);
    assert_null(wmi_param(g, "nobody"));
    assert_int_equal(wmi_graph_status(g, &err), WM_EINVAL);
    assert_non_null(strstr(err.text, "nobody"));
    wmi_graph_free(g);

    assert_ok(net_new(&t, false, &err), err);
    assert_int_equal(wmi_program_input(t.program, "y", &at, &err), WM_EINVAL);
    assert_non_null(strstr(err.text, "'y'"));
    net_free(&t);
}

static void a_loss_that_is_not_finite_is_an_error(void **state)
{
    net t;
    wm_error err;
    void *at;

    (void)state;
    assert_ok(net_new(&t, false, &err), err);
    fill_input(&t);
    assert_ok(wmi_program_input(t.program, "x", &at, &err), err);
    ((float *)at)[17] = NAN;
    t.grad[0] = 42;
    assert_int_equal(wmi_program_backward(t.program, &err), WM_EDIVERGED);
    assert_non_null(strstr(err.text, "element 17 of input 'x'"));
    assert_true(t.grad[0] == 42);
    net_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_allocate_nothing),
        cmocka_unit_test(every_failed_allocation_is_an_error_without_leak),
        cmocka_unit_test(a_repeat_gives_the_same_bits),
        cmocka_unit_test(other_threads_give_the_same_bits),
        cmocka_unit_test(a_parameter_outside_the_loss_has_gradient_zero),
        cmocka_unit_test(frozen_parameters_have_gradient_zero_and_cost_nothing),
        cmocka_unit_test(a_program_made_in_a_parallel_region_is_serial),
        cmocka_unit_test(memory_is_reused),
        cmocka_unit_test(what_is_not_asked_for_is_pruned),
        cmocka_unit_test(errors_are_clear),
        cmocka_unit_test(a_loss_that_is_not_finite_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
