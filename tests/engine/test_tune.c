/* test_tune.c - measured choices are taken up, written down and read back, and change no result
 * beyond rounding. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "check.h"
#include "engine/ops.h"
#include "engine/program.h"

typedef struct conv {
    wmi_graph *g;
    wmi_program *p;
    wmi_node *x, *w, *y, *loss;
} conv;

static conv conv_new(wmi_tuning *tuning)
{
    const int64_t x[] = {3, 9, 9, 8}, w[] = {3, 3, 8, 16};
    wm_error err;
    conv c;

    assert_ok(wmi_graph_new(&c.g, WMI_F32, NULL, &err), err);
    c.x = wmi_input(c.g, "x", 4, x);
    c.w = wmi_input(c.g, "w", 4, w);
    c.y = wmi_conv2d(c.g, c.x, c.w, 1, 0.3);
    c.loss = wmi_sum(c.g, wmi_mul(c.g, c.y, c.y), WMI_ALL_AXES);
    wmi_node *const grads[] = {c.x, c.w};

    assert_ok(wmi_compile(&c.p, c.g,
                          &(wmi_compile_opts){.outputs = &c.y,
                                              .n_outputs = 1,
                                              .loss = c.loss,
                                              .grad_inputs = grads,
                                              .n_grad_inputs = 2,
                                              .tuning = tuning},
                          &err),
              err);
    for (int64_t i = 0; i < c.x->n; i++)
        ((float *)c.x->val)[i] = (float)sin(0.3 * (double)i);
    for (int64_t i = 0; i < c.w->n; i++)
        ((float *)c.w->val)[i] = (float)cos(0.7 * (double)i);
    assert_ok(wmi_program_backward(c.p, &err), err);
    return c;
}

static void conv_free(conv *c)
{
    wmi_program_free(c->p);
    wmi_graph_free(c->g);
}

/* Largest difference over the largest value. */
static double apart(int64_t n, const float *a, const float *b)
{
    double diff = 0, size = 0;

    for (int64_t i = 0; i < n; i++) {
        diff = fmax(diff, fabs((double)a[i] - (double)b[i]));
        size = fmax(size, fabs((double)b[i]));
    }
    return diff / size;
}

static void a_measured_choice_is_kept_and_changes_nothing(void **state)
{
    wmi_tuning *t;
    wm_error err;
    char *text = NULL;
    size_t size;
    FILE *f;

    (void)state;
    assert_ok(wmi_tuning_new(&t, &err), err);
    conv ruled = conv_new(NULL), tuned = conv_new(t), again = conv_new(t);

    assert_int_equal(wmi_tuning_count(t), 1);
    assert_true(apart(ruled.y->n, tuned.y->val, ruled.y->val) < 1e-5);
    assert_true(apart(ruled.x->n, tuned.x->grad, ruled.x->grad) < 1e-5);
    assert_true(apart(ruled.w->n, tuned.w->grad, ruled.w->grad) < 1e-5);
    assert_memory_equal(tuned.w->grad, again.w->grad, (size_t)tuned.w->n * sizeof(float));
    f = open_memstream(&text, &size);
    assert_non_null(f);
    wmi_tuning_print(t, f);
    fclose(f);
    assert_int_equal(strncmp(text, "3 9 9 8 16 3 3 1 7 ", 19), 0);
    free(text);
    conv_free(&again);
    conv_free(&tuned);
    conv_free(&ruled);
    wmi_tuning_free(t);
}

static void a_text_of_choices_is_obeyed(void **state)
{
    static const char *const names[] = {"direct", "gemm", "winograd", "onednn"};

    (void)state;
    for (int a = 0; a < 4; a++) {
        wmi_tuning *t;
        wm_error err;
        char text[64];

        snprintf(text, sizeof text, "3 9 9 8 16 3 3 1 7 %s\n", names[a]);
        assert_ok(wmi_tuning_new(&t, &err), err);
        assert_ok(wmi_tuning_read(t, text, &err), err);
        conv c = conv_new(t);

        assert_string_equal(wmi_conv_algo_name(((const wmi_conv_state *)c.y->state)->algo),
                            names[a]);
        assert_int_equal(wmi_tuning_count(t), 1);
        conv_free(&c);
        wmi_tuning_free(t);
    }
}

static void a_bad_line_is_named(void **state)
{
    static const char *const bad[] = {"3 9 9 8 16 3 3 1 7 gemm\nx\n", "\n1 2 3\n",
                                      "3 9 9 8 16 3 3 1 7 fft\n", "3 9 9 8 16 3 3 1 7 gemm more\n"};
    static const char *const line[] = {"line 2", "line 1", "line 1", "line 1"};

    (void)state;
    for (int i = 0; i < 4; i++) {
        wmi_tuning *t;
        wm_error err;

        assert_ok(wmi_tuning_new(&t, &err), err);
        assert_int_equal(wmi_tuning_read(t, bad[i], &err), WM_EFORMAT);
        assert_non_null(strstr(err.text, line[i]));
        wmi_tuning_free(t);
    }
}

static void allocation_failures_leak_nothing(void **state)
{
    const int64_t x[] = {2, 5, 5, 8}, w[] = {3, 3, 8, 8}, before = wmi_alloc_live();
    int failures = 0;

    (void)state;
    for (int64_t k = 1;; k++) {
        wmi_graph *g = NULL;
        wmi_program *p = NULL;
        wmi_tuning *t = NULL;
        wm_error err = {0};
        wm_status st;

        wmi_alloc_fail_at(k);
        if (!(st = wmi_tuning_new(&t, &err)) && !(st = wmi_graph_new(&g, WMI_F32, NULL, &err))) {
            wmi_node *y = wmi_conv2d(g, wmi_input(g, "x", 4, x), wmi_input(g, "w", 4, w), 1, 1);

            st = wmi_compile(&p, g, &(wmi_compile_opts){.outputs = &y, .n_outputs = 1, .tuning = t},
                             &err);
        }
        wmi_alloc_fail_at(0);
        wmi_program_free(p);
        wmi_graph_free(g);
        wmi_tuning_free(t);
        assert_int_equal(wmi_alloc_live(), before);
        if (!st)
            break;
        assert_int_equal(st, WM_ENOMEM);
        failures++;
    }
    assert_true(failures > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_measured_choice_is_kept_and_changes_nothing),
        cmocka_unit_test(a_text_of_choices_is_obeyed),
        cmocka_unit_test(a_bad_line_is_named),
        cmocka_unit_test(allocation_failures_leak_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
